// SPDX-License-Identifier: GPL-2.0
/* What the user can ask for, and whether it can be had. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include "ramdisk_mq.h"

static unsigned int size_mb = 256;
module_param(size_mb, uint, 0444);
MODULE_PARM_DESC(size_mb, "capacity in MiB (256)");

static unsigned int block_bytes = 512;
module_param_named(block_size, block_bytes, uint, 0444);
MODULE_PARM_DESC(block_size, "logical block in bytes, 512 to 4096 (512)");

static unsigned int queues;
module_param(queues, uint, 0444);
MODULE_PARM_DESC(queues, "hardware queues, up to the number of CPUs (0: one per CPU)");

static unsigned int poll_queues;
module_param(poll_queues, uint, 0444);
MODULE_PARM_DESC(poll_queues, "further queues for polled requests, up to the number of CPUs (0)");

static unsigned int depth = 256;
module_param(depth, uint, 0444);
MODULE_PARM_DESC(depth, "requests per hardware queue, 1 to 10240 (256)");

static unsigned int service_ns[RAMDISK_MQ_SERVICES];
static unsigned int services;
module_param_array(service_ns, uint, &services, 0444);
MODULE_PARM_DESC(service_ns, "service times in ns, up to 1024 (none: no delay)");

static bool in_turn;
module_param(in_turn, bool, 0444);
MODULE_PARM_DESC(in_turn, "each queue takes service_ns in turn (no: drawn, each equally likely)");

static ulong seed = 1;
module_param(seed, ulong, 0444);
MODULE_PARM_DESC(seed, "of the drawn service times (1)");

static struct ramdisk_mq *device;

static bool within(const char *name, unsigned int value, unsigned int least,
		   unsigned int most)
{
	if (value >= least && value <= most)
		return true;
	pr_err("%s=%u is refused: expected %u to %u\n", name, value, least,
	       most);
	return false;
}

static bool services_valid(void)
{
	unsigned int i;

	for (i = 0; i < services; i++)
		if (!within("service_ns", service_ns[i], 0,
			    RAMDISK_MQ_SERVICE_MAX))
			return false;
	return true;
}

static bool block_size_valid(void)
{
	if (!within("block_size", block_bytes, 512, PAGE_SIZE))
		return false;
	if (is_power_of_2(block_bytes))
		return true;
	pr_err("block_size=%u is refused: expected a power of two\n",
	       block_bytes);
	return false;
}

/* Memory is compared before any is taken, so that no program is killed for it. */
static bool size_valid(void)
{
	u64 pages = ((u64)size_mb << 20) >> PAGE_SHIFT;
	long available = si_mem_available();

	if (!within("size_mb", size_mb, 1, UINT_MAX))
		return false;
	if (available > 0 && pages < available)
		return true;
	pr_err("size_mb=%u is refused: %ld MiB of memory are available\n",
	       size_mb, max(available, 0L) >> (20 - PAGE_SHIFT));
	return false;
}

static bool options_valid(void)
{
	return within("queues", queues, 1, nr_cpu_ids) &&
	       within("poll_queues", poll_queues, 0, nr_cpu_ids) &&
	       within("depth", depth, 1, BLK_MQ_MAX_DEPTH) &&
	       services_valid() && block_size_valid() && size_valid();
}

static void take_options(struct ramdisk_mq_options *options)
{
	options->capacity = (u64)size_mb << 20;
	options->block_size = block_bytes;
	options->queues = queues;
	options->poll_queues = poll_queues;
	options->depth = depth;
	options->service_ns = service_ns;
	options->services = services;
	options->in_turn = in_turn;
	options->seed = seed;
}

static int __init ramdisk_mq_init(void)
{
	int error;

	if (!queues)
		queues = num_online_cpus();
	if (!options_valid())
		return -EINVAL;
	device = kzalloc(sizeof(*device), GFP_KERNEL);
	if (!device)
		return -ENOMEM;
	take_options(&device->options);
	error = ramdisk_mq_store_make(&device->store, device->options.capacity);
	if (error)
		goto free_device;
	error = ramdisk_mq_disk_make(device);
	if (!error)
		return 0;

	ramdisk_mq_store_free(&device->store);
free_device:
	kfree(device);
	return error;
}

static void __exit ramdisk_mq_exit(void)
{
	ramdisk_mq_disk_free(device);
	ramdisk_mq_store_free(&device->store);
	kfree(device);
}

module_init(ramdisk_mq_init);
module_exit(ramdisk_mq_exit);
MODULE_DESCRIPTION("RAM disk with several hardware queues, poll queues and service times");
MODULE_LICENSE("GPL");
