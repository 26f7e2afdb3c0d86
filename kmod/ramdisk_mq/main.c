// SPDX-License-Identifier: GPL-2.0
/* The module: it makes all devices when it is loaded, and takes them back. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/slab.h>
#include "options.h"

static struct ramdisk_mq_options options;
static struct ramdisk_mq *devices;
static int major;

static void free_devices(unsigned int count)
{
	while (count--) {
		ramdisk_mq_disk_free(&devices[count]);
		ramdisk_mq_store_free(&devices[count].store);
	}
}

static int make_device(struct ramdisk_mq *device)
{
	int error = ramdisk_mq_store_make(&device->store, options.capacity,
					  options.node);

	if (error) {
		pr_err("the memory of device %u cannot be had\n",
		       device->number);
		return error;
	}
	error = ramdisk_mq_disk_make(device, major);
	if (error)
		ramdisk_mq_store_free(&device->store);
	return error;
}

static int make_devices(void)
{
	unsigned int number;

	for (number = 0; number < options.devices; number++) {
		int error;

		devices[number].options = &options;
		devices[number].number = number;
		error = make_device(&devices[number]);
		if (error) {
			free_devices(number);
			return error;
		}
	}
	return 0;
}

static int __init ramdisk_mq_init(void)
{
	int error = ramdisk_mq_options_take(&options);

	if (error)
		return error;
	devices = kcalloc(options.devices, sizeof(*devices), GFP_KERNEL);
	if (!devices)
		return -ENOMEM;
	major = register_blkdev(0, RAMDISK_MQ_NAME);
	error = major < 0 ? major : make_devices();
	if (!error)
		return 0;

	if (major >= 0)
		unregister_blkdev(major, RAMDISK_MQ_NAME);
	kfree(devices);
	return error;
}

static void __exit ramdisk_mq_exit(void)
{
	free_devices(options.devices);
	unregister_blkdev(major, RAMDISK_MQ_NAME);
	kfree(devices);
}

module_init(ramdisk_mq_init);
module_exit(ramdisk_mq_exit);
MODULE_DESCRIPTION("RAM disk with several hardware queues, poll queues and service times");
MODULE_VERSION("0.2");
MODULE_LICENSE("GPL");
