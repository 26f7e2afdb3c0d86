// SPDX-License-Identifier: GPL-2.0
/* What the user can ask for, and whether it can be had. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/nodemask.h>
#include <linux/string.h>
#include "options.h"

/* First minors are taken by devices; so many are never needed. */
#define DEVICES_MAX 256

static unsigned int devices = 1;
module_param(devices, uint, 0444);
MODULE_PARM_DESC(devices, "number of devices, /dev/rdmq0 and so on (1)");

static unsigned int size_mb = 256;
module_param(size_mb, uint, 0444);
MODULE_PARM_DESC(size_mb, "capacity of each device in MiB (256)");

static unsigned int block_bytes = 512;
module_param_named(block_size, block_bytes, uint, 0444);
MODULE_PARM_DESC(block_size, "logical block in bytes, 512 to 4096 (512)");

static char *queue_mode = "mq";
module_param(queue_mode, charp, 0444);
MODULE_PARM_DESC(queue_mode, "mq: requests by hardware queues; bio: neither (mq)");

static unsigned int queues;
module_param(queues, uint, 0444);
MODULE_PARM_DESC(queues, "hardware queues, up to the number of CPUs (one per CPU)");

static unsigned int poll_queues;
module_param(poll_queues, uint, 0444);
MODULE_PARM_DESC(poll_queues, "further queues for polled requests, up to the number of CPUs (0)");

static unsigned int depth = 256;
module_param(depth, uint, 0444);
MODULE_PARM_DESC(depth, "requests per hardware queue, 1 to 10240 (256)");

static char *irq_mode;
module_param(irq_mode, charp, 0444);
MODULE_PARM_DESC(irq_mode, "how requests end: inline, softirq, or timer, which needs service_ns (inline; with service_ns timer)");

static int home_node = NUMA_NO_NODE;
module_param(home_node, int, 0444);
MODULE_PARM_DESC(home_node, "node of the memory; -1: each page from the next node (-1)");

static bool copy = true;
module_param(copy, bool, 0444);
MODULE_PARM_DESC(copy, "whether reads and writes move data (yes)");

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
	u64 pages = (((u64)size_mb << 20) >> PAGE_SHIFT) * devices;
	long available = si_mem_available();

	if (!within("size_mb", size_mb, 1, UINT_MAX))
		return false;
	if (available > 0 && pages < available)
		return true;
	pr_err("size_mb=%u of %u device(s) is refused: %ld MiB of memory are available\n",
	       size_mb, devices, max(available, 0L) >> (20 - PAGE_SHIFT));
	return false;
}

static bool node_valid(void)
{
	if (home_node == NUMA_NO_NODE)
		return true;
	if (home_node >= 0 && home_node < MAX_NUMNODES &&
	    node_state(home_node, N_MEMORY))
		return true;
	pr_err("home_node=%d is refused: this machine has no memory on it\n",
	       home_node);
	return false;
}

/* The number of @name's value in the list of words, or -EINVAL. */
static int word(const char *name, const char *value, const char *const *words,
		size_t count)
{
	int found = match_string(words, count, value);

	if (found < 0)
		pr_err("%s=%s is refused: expected one of the words that modinfo shows\n",
		       name, value);
	return found;
}

/* Without requests and queues, nothing of them can be asked for. */
static bool bio_valid(const struct ramdisk_mq_options *options)
{
	const char *name = NULL;

	if (options->mode != RAMDISK_MQ_MODE_BIO)
		return true;
	if (queues)
		name = "queues";
	else if (poll_queues)
		name = "poll_queues";
	else if (options->irq != RAMDISK_MQ_IRQ_INLINE)
		name = services ? "service_ns" : "irq_mode";
	if (!name)
		return true;
	pr_err("%s is refused with queue_mode=bio, which has no requests\n",
	       name);
	return false;
}

static bool irq_valid(const struct ramdisk_mq_options *options)
{
	bool timer = options->irq == RAMDISK_MQ_IRQ_TIMER;
	bool delays = services > 0;

	if (timer == delays)
		return true;
	pr_err("irq_mode=%s is refused %s service_ns\n", irq_mode,
	       services ? "with" : "without");
	return false;
}

static int words_taken(struct ramdisk_mq_options *options)
{
	static const char *const modes[] = { "mq", "bio" };
	static const char *const irqs[] = { "inline", "softirq", "timer" };
	int mode = word("queue_mode", queue_mode, modes, ARRAY_SIZE(modes));
	int irq = services ? RAMDISK_MQ_IRQ_TIMER : RAMDISK_MQ_IRQ_INLINE;

	if (irq_mode)
		irq = word("irq_mode", irq_mode, irqs, ARRAY_SIZE(irqs));
	if (mode < 0 || irq < 0)
		return -EINVAL;
	options->mode = mode;
	options->irq = irq;
	return 0;
}

/* Fills @options from the parameters. What cannot be had is in the log. */
int ramdisk_mq_options_take(struct ramdisk_mq_options *options)
{
	if (words_taken(options))
		return -EINVAL;
	if (!bio_valid(options) || !irq_valid(options))
		return -EINVAL;
	if (!queues)
		queues = num_online_cpus();
	if (!within("devices", devices, 1, DEVICES_MAX) ||
	    !within("queues", queues, 1, nr_cpu_ids) ||
	    !within("poll_queues", poll_queues, 0, nr_cpu_ids) ||
	    !within("depth", depth, 1, BLK_MQ_MAX_DEPTH) ||
	    !services_valid() || !block_size_valid() || !node_valid() ||
	    !size_valid())
		return -EINVAL;
	options->devices = devices;
	options->capacity = (u64)size_mb << 20;
	options->block_size = block_bytes;
	options->queues = queues;
	options->poll_queues = poll_queues;
	options->depth = depth;
	options->node = home_node;
	options->copy = copy;
	options->service_ns = service_ns;
	options->services = services;
	options->in_turn = in_turn;
	options->seed = seed;
	return 0;
}
