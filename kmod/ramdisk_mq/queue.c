// SPDX-License-Identifier: GPL-2.0
/*
 * The data path. No lock and no shared counter is device-wide here: a request
 * takes the locks of the pages that it copies, its queue's counter, and in a
 * poll queue the queue's lock.
 */
#include "ramdisk_mq.h"

static void end(struct request *rq)
{
	struct ramdisk_mq_request *own = blk_mq_rq_to_pdu(rq);

	blk_mq_end_request(rq, own->status);
}

static blk_status_t transfer(struct ramdisk_mq *device, struct request *rq)
{
	bool write = req_op(rq) == REQ_OP_WRITE;
	u64 at = (u64)blk_rq_pos(rq) << SECTOR_SHIFT;
	struct req_iterator each;
	struct bio_vec part;

	if (!write && req_op(rq) != REQ_OP_READ)
		return BLK_STS_NOTSUPP;
	if (at + blk_rq_bytes(rq) > device->options.capacity)
		return BLK_STS_IOERR;
	rq_for_each_segment(part, rq, each) {
		void *buffer = page_address(part.bv_page) + part.bv_offset;

		ramdisk_mq_store_copy(&device->store, buffer, at, part.bv_len,
				      write);
		at += part.bv_len;
	}
	return BLK_STS_OK;
}

static blk_status_t queue_rq(struct blk_mq_hw_ctx *hctx,
			     const struct blk_mq_queue_data *given)
{
	struct request *rq = given->rq;
	struct ramdisk_mq_request *own = blk_mq_rq_to_pdu(rq);
	struct ramdisk_mq_queue *queue = hctx->driver_data;
	struct ramdisk_mq *device = hctx->queue->queuedata;
	u64 service = ramdisk_mq_service(&device->options, queue);

	blk_mq_start_request(rq);
	/* The copy is a part of the service time, not an addition to it. */
	own->due = ktime_add_ns(ktime_get(), service);
	own->status = transfer(device, rq);
	if (hctx->type == HCTX_TYPE_POLL) {
		spin_lock(&queue->lock);
		list_add_tail(&own->waiting, &queue->waiting);
		spin_unlock(&queue->lock);
	} else if (service) {
		hrtimer_start(&own->timer, own->due, HRTIMER_MODE_ABS);
	} else {
		end(rq);
	}
	return BLK_STS_OK;
}

/* Ends the requests of a poll queue whose time has come; returns how many. */
static int reap(struct ramdisk_mq_queue *queue)
{
	struct ramdisk_mq_request *own, *next;
	ktime_t now = ktime_get();
	LIST_HEAD(due);
	int ended = 0;

	spin_lock(&queue->lock);
	list_for_each_entry_safe(own, next, &queue->waiting, waiting)
		if (!ktime_after(own->due, now))
			list_move_tail(&own->waiting, &due);
	spin_unlock(&queue->lock);

	list_for_each_entry_safe(own, next, &due, waiting) {
		list_del_init(&own->waiting);
		end(blk_mq_rq_from_pdu(own));
		ended++;
	}
	return ended;
}

#ifdef HAVE_POLL_BATCH
static int ramdisk_mq_poll(struct blk_mq_hw_ctx *hctx,
			   struct io_comp_batch *batch)
{
	return reap(hctx->driver_data);
}
#else
static int ramdisk_mq_poll(struct blk_mq_hw_ctx *hctx)
{
	return reap(hctx->driver_data);
}
#endif

/*
 * Nobody polls for a request whose submitter is gone, so the block layer's
 * timeout ends it. A request that is not due has a new timeout.
 */
static enum blk_eh_timer_return expired(struct request *rq)
{
	struct ramdisk_mq_request *own = blk_mq_rq_to_pdu(rq);
	struct ramdisk_mq_queue *queue = rq->mq_hctx->driver_data;
	bool ours = false;

	if (rq->mq_hctx->type != HCTX_TYPE_POLL)
		return BLK_EH_RESET_TIMER;
	spin_lock(&queue->lock);
	if (!list_empty(&own->waiting)) {
		list_del_init(&own->waiting);
		ours = true;
	}
	spin_unlock(&queue->lock);
	if (ours)
		end(rq);
	return BLK_EH_DONE;
}

#ifdef HAVE_TIMEOUT_WITHOUT_FLAG
static enum blk_eh_timer_return timeout(struct request *rq)
{
	return expired(rq);
}
#else
static enum blk_eh_timer_return timeout(struct request *rq, bool reserved)
{
	return expired(rq);
}
#endif

static enum hrtimer_restart served(struct hrtimer *timer)
{
	struct ramdisk_mq_request *own =
		container_of(timer, struct ramdisk_mq_request, timer);

	blk_mq_complete_request(blk_mq_rq_from_pdu(own));
	return HRTIMER_NORESTART;
}

static int init_request(struct blk_mq_tag_set *tags, struct request *rq,
			unsigned int hctx, unsigned int node)
{
	struct ramdisk_mq_request *own = blk_mq_rq_to_pdu(rq);

	INIT_LIST_HEAD(&own->waiting);
#ifdef HAVE_HRTIMER_SETUP
	hrtimer_setup(&own->timer, served, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
#else
	hrtimer_init(&own->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	own->timer.function = served;
#endif
	return 0;
}

static int init_hctx(struct blk_mq_hw_ctx *hctx, void *data,
		     unsigned int number)
{
	struct ramdisk_mq *device = data;

	hctx->driver_data = &device->queues[number];
	return 0;
}

/* Poll queues come after the others, as in the NVMe driver. */
static void spread(struct blk_mq_tag_set *tags)
{
	struct ramdisk_mq *device = tags->driver_data;
	unsigned int counts[HCTX_MAX_TYPES] = {
		[HCTX_TYPE_DEFAULT] = device->options.queues,
		[HCTX_TYPE_POLL] = device->options.poll_queues,
	};
	unsigned int type, first = 0;

	for (type = 0; type < tags->nr_maps; type++) {
		tags->map[type].nr_queues = counts[type];
		tags->map[type].queue_offset = first;
		first += counts[type];
		if (counts[type])
			blk_mq_map_queues(&tags->map[type]);
	}
}

#ifdef HAVE_MAP_QUEUES_VOID
static void map_queues(struct blk_mq_tag_set *tags)
{
	spread(tags);
}
#else
static int map_queues(struct blk_mq_tag_set *tags)
{
	spread(tags);
	return 0;
}
#endif

const struct blk_mq_ops ramdisk_mq_ops = {
	.queue_rq = queue_rq,
	.complete = end,
	.poll = ramdisk_mq_poll,
	.timeout = timeout,
	.init_request = init_request,
	.init_hctx = init_hctx,
	.map_queues = map_queues,
};
