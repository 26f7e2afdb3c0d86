// SPDX-License-Identifier: GPL-2.0
/* The disk itself: its limits, and how it comes and goes. */
#include <linux/blkdev.h>
#include <linux/module.h>
#include "ramdisk_mq.h"

#ifdef CONFIG_HIGHMEM
#error "ramdisk_mq reads buffers by their address, so it needs a 64-bit kernel"
#endif

#define DISK_NAME "rdmq"

static const struct block_device_operations operations = {
	.owner = THIS_MODULE,
};

#if defined(HAVE_ALLOC_DISK_LIMITS)
static int alloc(struct ramdisk_mq *device)
{
	struct queue_limits limits = {
		.logical_block_size = device->options.block_size,
		.physical_block_size = PAGE_SIZE,
	};

	device->disk = blk_mq_alloc_disk(&device->tags, &limits, device);
	return PTR_ERR_OR_ZERO(device->disk);
}
#elif defined(HAVE_ALLOC_DISK)
static int alloc(struct ramdisk_mq *device)
{
	device->disk = blk_mq_alloc_disk(&device->tags, device);
	return PTR_ERR_OR_ZERO(device->disk);
}
#else
static int alloc(struct ramdisk_mq *device)
{
	struct request_queue *queue = blk_mq_init_queue(&device->tags);

	if (IS_ERR(queue))
		return PTR_ERR(queue);
	device->disk = alloc_disk(1);
	if (!device->disk) {
		blk_cleanup_queue(queue);
		return -ENOMEM;
	}
	queue->queuedata = device;
	device->disk->queue = queue;
	return 0;
}
#endif

#ifndef HAVE_ALLOC_DISK_LIMITS
static void limit(struct ramdisk_mq *device)
{
	struct request_queue *queue = device->disk->queue;

	blk_queue_logical_block_size(queue, device->options.block_size);
	blk_queue_physical_block_size(queue, PAGE_SIZE);
	blk_queue_flag_set(QUEUE_FLAG_NONROT, queue);
	blk_queue_flag_clear(QUEUE_FLAG_ADD_RANDOM, queue);
}
#else
static void limit(struct ramdisk_mq *device)
{
}
#endif

static void release(struct gendisk *disk)
{
#if defined(HAVE_ALLOC_DISK_LIMITS) || defined(HAVE_ALLOC_DISK)
	put_disk(disk);
#else
	blk_cleanup_queue(disk->queue);
	put_disk(disk);
#endif
}

static int appear(struct gendisk *disk)
{
#ifdef HAVE_ADD_DISK_STATUS
	return add_disk(disk);
#else
	add_disk(disk);
	return 0;
#endif
}

static int make_tags(struct ramdisk_mq *device)
{
	struct ramdisk_mq_options *options = &device->options;
	struct blk_mq_tag_set *tags = &device->tags;

	tags->ops = &ramdisk_mq_ops;
	tags->nr_hw_queues = options->queues + options->poll_queues;
	tags->nr_maps = options->poll_queues ? HCTX_MAX_TYPES : 1;
	tags->queue_depth = options->depth;
	tags->numa_node = NUMA_NO_NODE;
	tags->cmd_size = sizeof(struct ramdisk_mq_request);
	tags->driver_data = device;
#ifdef HAVE_SHOULD_MERGE
	tags->flags |= BLK_MQ_F_SHOULD_MERGE;
#endif
#ifdef HAVE_NO_SCHED_BY_DEFAULT
	tags->flags |= BLK_MQ_F_NO_SCHED_BY_DEFAULT;
#endif
	return blk_mq_alloc_tag_set(tags);
}

static int make_queues(struct ramdisk_mq *device)
{
	struct ramdisk_mq_options *options = &device->options;
	unsigned int count = options->queues + options->poll_queues, number;

	device->queues = kcalloc(count, sizeof(*device->queues), GFP_KERNEL);
	if (!device->queues)
		return -ENOMEM;
	for (number = 0; number < count; number++) {
		device->queues[number].number = number;
		spin_lock_init(&device->queues[number].lock);
		INIT_LIST_HEAD(&device->queues[number].waiting);
	}
	return 0;
}

static int make_disk(struct ramdisk_mq *device)
{
	int error = alloc(device);

	if (error)
		return error;
	limit(device);
	device->disk->major = device->major;
	device->disk->first_minor = 0;
	device->disk->minors = 1;
	device->disk->fops = &operations;
	device->disk->private_data = device;
	strscpy(device->disk->disk_name, DISK_NAME "0", DISK_NAME_LEN);
	set_capacity(device->disk, device->options.capacity >> SECTOR_SHIFT);
	error = appear(device->disk);
	if (error)
		release(device->disk);
	return error;
}

/* Makes the disk and shows it. On an error nothing is left. */
int ramdisk_mq_disk_make(struct ramdisk_mq *device)
{
	int error = make_queues(device);

	if (error)
		return error;
	device->major = register_blkdev(0, DISK_NAME);
	if (device->major < 0) {
		error = device->major;
		goto free_queues;
	}
	error = make_tags(device);
	if (error)
		goto unregister;
	error = make_disk(device);
	if (!error)
		return 0;

	blk_mq_free_tag_set(&device->tags);
unregister:
	unregister_blkdev(device->major, DISK_NAME);
free_queues:
	kfree(device->queues);
	return error;
}

void ramdisk_mq_disk_free(struct ramdisk_mq *device)
{
	del_gendisk(device->disk);
	release(device->disk);
	blk_mq_free_tag_set(&device->tags);
	unregister_blkdev(device->major, DISK_NAME);
	kfree(device->queues);
}
