// SPDX-License-Identifier: GPL-2.0
/* Service times: one of a list per request, drawn or in turn. */
#include <linux/math64.h>
#include "ramdisk_mq.h"

/*
 * A well mixed number for each counter value (splitmix64), so that queues share
 * no state and the times of a queue are the same in each run of the same seed.
 */
static u64 mixed(u64 counter)
{
	u64 z = counter * 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* The time in ns that the queue's next request takes; there are some. */
u64 ramdisk_mq_service(const struct ramdisk_mq_options *options,
		       struct ramdisk_mq_queue *queue)
{
	u64 served, drawn;
	u32 turn;

	served = atomic64_inc_return(&queue->served) - 1;
	if (options->in_turn) {
		div_u64_rem(served, options->services, &turn);
		return options->service_ns[turn];
	}
	drawn = mixed(mixed(queue->seed) + served);
	return options->service_ns[(drawn >> 32) * options->services >> 32];
}
