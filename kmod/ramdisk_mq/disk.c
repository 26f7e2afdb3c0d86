// SPDX-License-Identifier: GPL-2.0
/* The disk itself: its queues, and how it comes and goes. */
#include <linux/module.h>
#include <linux/slab.h>
#include "ramdisk_mq.h"

#ifdef CONFIG_HIGHMEM
#error "ramdisk_mq reads buffers by their address, so it needs a 64-bit kernel"
#endif

static const struct block_device_operations mq_operations = {
	.owner = THIS_MODULE,
};

static int make_tags(struct ramdisk_mq *device)
{
	const struct ramdisk_mq_options *options = device->options;
	struct blk_mq_tag_set *tags = &device->tags;

	tags->ops = &ramdisk_mq_ops;
	tags->nr_hw_queues = options->queues + options->poll_queues;
	tags->nr_maps = options->poll_queues ? HCTX_MAX_TYPES : 1;
	tags->queue_depth = options->depth;
	tags->numa_node = options->node;
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
	const struct ramdisk_mq_options *options = device->options;
	unsigned int count = options->queues + options->poll_queues, number;

	device->queues = kcalloc(count, sizeof(*device->queues), GFP_KERNEL);
	if (!device->queues)
		return -ENOMEM;
	for (number = 0; number < count; number++) {
		struct ramdisk_mq_queue *queue = &device->queues[number];

		queue->seed = options->seed + ((u64)device->number << 32) +
			      number;
		spin_lock_init(&queue->lock);
		INIT_LIST_HEAD(&queue->waiting);
	}
	return 0;
}

static int make_disk(struct ramdisk_mq *device, int major)
{
	bool mq = device->options->mode == RAMDISK_MQ_MODE_MQ;
	int error = ramdisk_mq_disk_alloc(device);
	struct gendisk *disk = device->disk;

	if (error)
		return error;
	disk->major = major;
	disk->first_minor = device->number;
	disk->minors = 1;
	disk->fops = mq ? &mq_operations : &ramdisk_mq_bio_operations;
	disk->private_data = device;
	snprintf(disk->disk_name, DISK_NAME_LEN, RAMDISK_MQ_NAME "%u",
		 device->number);
	set_capacity(disk, device->options->capacity >> SECTOR_SHIFT);
	error = ramdisk_mq_disk_show(disk);
	if (error)
		ramdisk_mq_disk_release(disk);
	return error;
}

static int make_mq(struct ramdisk_mq *device, int major)
{
	int error = make_queues(device);

	if (error)
		return error;
	error = make_tags(device);
	if (error)
		goto free_queues;
	error = make_disk(device, major);
	if (!error)
		return 0;

	blk_mq_free_tag_set(&device->tags);
free_queues:
	kfree(device->queues);
	return error;
}

/* Makes the disk and shows it. On an error nothing is left. */
int ramdisk_mq_disk_make(struct ramdisk_mq *device, int major)
{
	if (device->options->mode == RAMDISK_MQ_MODE_MQ)
		return make_mq(device, major);
	return make_disk(device, major);
}

void ramdisk_mq_disk_free(struct ramdisk_mq *device)
{
	del_gendisk(device->disk);
	ramdisk_mq_disk_release(device->disk);
	if (device->options->mode != RAMDISK_MQ_MODE_MQ)
		return;
	blk_mq_free_tag_set(&device->tags);
	kfree(device->queues);
}
