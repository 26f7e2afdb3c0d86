// SPDX-License-Identifier: GPL-2.0
/* What differs most between kernels: a disk's limits, and how it is had. */
#include "ramdisk_mq.h"

#define CLEAR_MAX_SECTORS (RAMDISK_MQ_CLEAR_MAX >> SECTOR_SHIFT)

#ifdef HAVE_ALLOC_DISK_LIMITS
static struct gendisk *alloc(struct ramdisk_mq *device)
{
	const struct ramdisk_mq_options *options = device->options;
	struct queue_limits limits = {
		.logical_block_size = options->block_size,
		.physical_block_size = PAGE_SIZE,
		.max_hw_discard_sectors = CLEAR_MAX_SECTORS,
		.discard_granularity = options->block_size,
		.max_write_zeroes_sectors = CLEAR_MAX_SECTORS,
	};

	if (options->mode == RAMDISK_MQ_MODE_MQ)
		return blk_mq_alloc_disk(&device->tags, &limits, device);
#ifdef HAVE_FEATURES
	limits.features = BLK_FEAT_IO_STAT | BLK_FEAT_NOWAIT;
#endif
	return blk_alloc_disk(&limits, options->node);
}
#elif defined(HAVE_ALLOC_DISK)
static struct gendisk *alloc(struct ramdisk_mq *device)
{
	if (device->options->mode == RAMDISK_MQ_MODE_MQ)
		return blk_mq_alloc_disk(&device->tags, device);
	return blk_alloc_disk(device->options->node);
}
#else
static struct request_queue *alloc_queue(struct ramdisk_mq *device)
{
	if (device->options->mode == RAMDISK_MQ_MODE_MQ)
		return blk_mq_init_queue(&device->tags);
	return blk_alloc_queue(device->options->node);
}

static struct gendisk *alloc(struct ramdisk_mq *device)
{
	struct request_queue *queue = alloc_queue(device);
	struct gendisk *disk;

	if (IS_ERR_OR_NULL(queue))
		return NULL;
	disk = alloc_disk_node(1, device->options->node);
	if (!disk) {
		blk_cleanup_queue(queue);
		return NULL;
	}
	queue->queuedata = device;
	disk->queue = queue;
	return disk;
}
#endif

#ifdef HAVE_FEATURES
static void limit(struct ramdisk_mq *device)
{
}
#else
static void limit(struct ramdisk_mq *device)
{
	struct request_queue *queue = device->disk->queue;

#ifndef HAVE_ALLOC_DISK_LIMITS
	blk_queue_logical_block_size(queue, device->options->block_size);
	blk_queue_physical_block_size(queue, PAGE_SIZE);
	blk_queue_max_discard_sectors(queue, CLEAR_MAX_SECTORS);
	blk_queue_max_write_zeroes_sectors(queue, CLEAR_MAX_SECTORS);
	queue->limits.discard_granularity = device->options->block_size;
#endif
#ifdef HAVE_QUEUE_FLAG_DISCARD
	blk_queue_flag_set(QUEUE_FLAG_DISCARD, queue);
#endif
	blk_queue_flag_set(QUEUE_FLAG_NONROT, queue);
	blk_queue_flag_clear(QUEUE_FLAG_ADD_RANDOM, queue);
	blk_queue_flag_set(QUEUE_FLAG_IO_STAT, queue);
	blk_queue_flag_set(QUEUE_FLAG_NOWAIT, queue);
}
#endif

/* Allocates the disk, with its limits set. */
int ramdisk_mq_disk_alloc(struct ramdisk_mq *device)
{
	struct gendisk *disk = alloc(device);

	if (IS_ERR(disk))
		return PTR_ERR(disk);
	if (!disk)
		return -ENOMEM;
	device->disk = disk;
	limit(device);
	return 0;
}

/* Gives back a disk that is not shown, or not any more. */
void ramdisk_mq_disk_release(struct gendisk *disk)
{
#if !defined(HAVE_ALLOC_DISK_LIMITS) && !defined(HAVE_ALLOC_DISK)
	blk_cleanup_queue(disk->queue);
#endif
	put_disk(disk);
}

/*
 * Shows the disk to programs. It begins without a scheduler. Where the tag set
 * cannot ask for that, a demand that no scheduler meets does it.
 */
int ramdisk_mq_disk_show(struct gendisk *disk)
{
#ifdef HAVE_ADD_DISK_STATUS
	return add_disk(disk);
#else
	disk->queue->required_elevator_features = UINT_MAX;
	add_disk(disk);
	disk->queue->required_elevator_features = 0;
	return 0;
#endif
}
