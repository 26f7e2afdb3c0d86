// SPDX-License-Identifier: GPL-2.0
/*
 * The data path. No lock and no shared counter is device-wide here: a request
 * takes the locks of the pages that it copies, with service times its queue's
 * counter, and in a poll queue the queue's lock.
 */
#include "ramdisk_mq.h"

static void end(struct request *rq)
{
	struct ramdisk_mq_request *own = blk_mq_rq_to_pdu(rq);

	blk_mq_end_request(rq, own->status);
}

static void copy(struct ramdisk_mq_way *way, struct request *rq)
{
	bool write = req_op(rq) == REQ_OP_WRITE;
	struct req_iterator each;
	struct bio_vec part;

	rq_for_each_segment(part, rq, each)
		ramdisk_mq_copy(way, page_address(part.bv_page) +
				part.bv_offset, part.bv_len, write);
}

static blk_status_t transfer(struct ramdisk_mq *device, struct request *rq)
{
	struct ramdisk_mq_way way = {
		.store = &device->store,
		.at = (u64)blk_rq_pos(rq) << SECTOR_SHIFT,
	};

	if (way.at + blk_rq_bytes(rq) > device->options->capacity)
		return BLK_STS_IOERR;
	switch (req_op(rq)) {
	case REQ_OP_READ:
	case REQ_OP_WRITE:
		if (device->options->copy)
			copy(&way, rq);
		break;
	case REQ_OP_DISCARD:
	case REQ_OP_WRITE_ZEROES:
		ramdisk_mq_clear(&way, blk_rq_bytes(rq));
		break;
	default:
		return BLK_STS_NOTSUPP;
	}
	ramdisk_mq_leave(&way);
	return BLK_STS_OK;
}

/* Ends a request, or has it ended, as the user asked for. */
static void finish(struct ramdisk_mq *device, struct request *rq)
{
	struct ramdisk_mq_request *own = blk_mq_rq_to_pdu(rq);

	switch (device->options->irq) {
	case RAMDISK_MQ_IRQ_INLINE:
		end(rq);
		break;
	case RAMDISK_MQ_IRQ_SOFTIRQ:
		blk_mq_complete_request(rq);
		break;
	case RAMDISK_MQ_IRQ_TIMER:
		hrtimer_start(&own->timer, own->due, HRTIMER_MODE_ABS);
		break;
	}
}

/* A request of a poll queue waits until somebody polls. */
static void wait_for_poll(struct ramdisk_mq_queue *queue,
			  struct ramdisk_mq_request *own)
{
	spin_lock(&queue->lock);
	list_add_tail(&own->waiting, &queue->waiting);
	spin_unlock(&queue->lock);
}

static blk_status_t queue_rq(struct blk_mq_hw_ctx *hctx,
			     const struct blk_mq_queue_data *given)
{
	struct request *rq = given->rq;
	struct ramdisk_mq_request *own = blk_mq_rq_to_pdu(rq);
	struct ramdisk_mq_queue *queue = hctx->driver_data;
	struct ramdisk_mq *device = hctx->queue->queuedata;

	blk_mq_start_request(rq);
	/* The copy is a part of the service time, not an addition to it. */
	if (device->options->services)
		own->due = ktime_add_ns(ktime_get(),
					ramdisk_mq_service(device->options,
							   queue));
	own->status = transfer(device, rq);
	if (hctx->type == HCTX_TYPE_POLL)
		wait_for_poll(queue, own);
	else
		finish(device, rq);
	return BLK_STS_OK;
}

/* Takes the requests of a poll queue whose time has come. */
static void take_due(struct ramdisk_mq_queue *queue, struct list_head *due,
		     bool timed)
{
	ktime_t now = timed ? ktime_get() : 0;
	struct ramdisk_mq_request *own, *next;

	spin_lock(&queue->lock);
	list_for_each_entry_safe(own, next, &queue->waiting, waiting)
		if (!timed || !ktime_after(own->due, now))
			list_move_tail(&own->waiting, due);
	spin_unlock(&queue->lock);
}

/* Where the block layer collects polled requests, they end together. */
static void end_polled(struct request *rq, struct io_comp_batch *batch)
{
#ifdef HAVE_POLL_BATCH
	struct ramdisk_mq_request *own = blk_mq_rq_to_pdu(rq);

	if (blk_mq_add_to_batch(rq, batch, own->status != BLK_STS_OK,
				blk_mq_end_request_batch))
		return;
#endif
	end(rq);
}

/* Ends the requests whose time has come; returns how many. */
static int reap(struct blk_mq_hw_ctx *hctx, struct io_comp_batch *batch)
{
	struct ramdisk_mq *device = hctx->queue->queuedata;
	struct ramdisk_mq_request *own, *next;
	LIST_HEAD(due);
	int ended = 0;

	take_due(hctx->driver_data, &due, device->options->services > 0);
	list_for_each_entry_safe(own, next, &due, waiting) {
		list_del_init(&own->waiting);
		end_polled(blk_mq_rq_from_pdu(own), batch);
		ended++;
	}
	return ended;
}

#ifdef HAVE_POLL_BATCH
static int ramdisk_mq_poll(struct blk_mq_hw_ctx *hctx,
			   struct io_comp_batch *batch)
{
	return reap(hctx, batch);
}
#else
static int ramdisk_mq_poll(struct blk_mq_hw_ctx *hctx)
{
	return reap(hctx, NULL);
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

static int make_request(struct request *rq)
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

#ifdef HAVE_INIT_REQUEST_NODE_INT
static int init_request(struct blk_mq_tag_set *tags, struct request *rq,
			unsigned int hctx, int node)
{
	return make_request(rq);
}
#else
static int init_request(struct blk_mq_tag_set *tags, struct request *rq,
			unsigned int hctx, unsigned int node)
{
	return make_request(rq);
}
#endif

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
		[HCTX_TYPE_DEFAULT] = device->options->queues,
		[HCTX_TYPE_POLL] = device->options->poll_queues,
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
