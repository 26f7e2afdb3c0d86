// SPDX-License-Identifier: GPL-2.0
/*
 * The data path without requests: the same pages, reached by bios. What it is
 * faster than queue.c is what the block layer's requests and queues cost.
 */
#include <linux/sched.h>
#include "ramdisk_mq.h"

#ifdef HAVE_BIO_BDEV
#define bio_disk(bio) ((bio)->bi_bdev->bd_disk)
#else
#define bio_disk(bio) ((bio)->bi_disk)
#endif

static void copy(struct ramdisk_mq_way *way, struct bio *bio)
{
	bool write = op_is_write(bio_op(bio));
	struct bvec_iter each;
	struct bio_vec part;

	bio_for_each_segment(part, bio, each)
		ramdisk_mq_copy(way, page_address(part.bv_page) +
				part.bv_offset, part.bv_len, write);
}

/* A bio may clear gigabytes; nobody waits for a CPU that long. */
static void clear(struct ramdisk_mq_way *way, unsigned int length)
{
	while (length) {
		unsigned int part = min(length, RAMDISK_MQ_CLEAR_MAX);

		ramdisk_mq_clear(way, part);
		ramdisk_mq_leave(way);
		cond_resched();
		length -= part;
	}
}

static blk_status_t transfer(struct ramdisk_mq *device, struct bio *bio)
{
	struct ramdisk_mq_way way = {
		.store = &device->store,
		.at = (u64)bio->bi_iter.bi_sector << SECTOR_SHIFT,
	};

	switch (bio_op(bio)) {
	case REQ_OP_READ:
	case REQ_OP_WRITE:
		if (device->options->copy)
			copy(&way, bio);
		break;
	case REQ_OP_DISCARD:
	case REQ_OP_WRITE_ZEROES:
		clear(&way, bio->bi_iter.bi_size);
		break;
	default:
		return BLK_STS_NOTSUPP;
	}
	ramdisk_mq_leave(&way);
	return BLK_STS_OK;
}

static void serve(struct bio *bio)
{
	struct gendisk *disk = bio_disk(bio);
	bool counted = blk_queue_io_stat(disk->queue);
	unsigned long started = 0;

	if (counted)
		started = bio_start_io_acct(bio);
	bio->bi_status = transfer(disk->private_data, bio);
	if (counted)
		bio_end_io_acct(bio, started);
	bio_endio(bio);
}

#ifdef HAVE_SUBMIT_BIO_VOID
static void submit(struct bio *bio)
{
	serve(bio);
}
#else
static blk_qc_t submit(struct bio *bio)
{
	serve(bio);
	return BLK_QC_T_NONE;
}
#endif

const struct block_device_operations ramdisk_mq_bio_operations = {
	.owner = THIS_MODULE,
	.submit_bio = submit,
};
