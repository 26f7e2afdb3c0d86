// SPDX-License-Identifier: GPL-2.0
/*
 * Notes of each task when it last polled a block device.
 *
 * Until Linux 6.18 the kernel calls the poll functions once in each turn of a
 * polling loop, so a turn must cost next to nothing: where this CPU noted the
 * same task within the same tick of the kernel's timer, the program ends after
 * one lookup in an array, which the kernel's compiler turns into a few
 * instructions. Later kernels call them once for an I/O, or for two ticks.
 */
#include "q2c.h"

#define TASKS 16384

static u64 (*jiffies64)(void) = (void *)118;

struct noted {
	u64 tick;
	u32 tid;
	u32 unused;
};

/* The last note of each CPU. */
ONE_PER_CPU(last, struct noted);

/* When a task was last noted, by CLOCK_MONOTONIC. */
struct {
	__uint(type, MAP_LRU_HASH);
	__uint(max_entries, TASKS);
	__type(key, u32);
	__type(value, u64);
} polled SEC(".maps");

static __always_inline int note(void)
{
	struct noted *last_note = of_this_cpu(&last);
	u32 tid = (u32)get_current_pid_tgid();
	u64 tick = jiffies64(), now;

	if (!last_note || (last_note->tid == tid && last_note->tick == tick))
		return 0;
	last_note->tid = tid;
	last_note->tick = tick;
	now = ktime_get_ns();
	map_update(&polled, &tid, &now, ANY);
	return 0;
}

/* A program is on one function, so each function has its own. */
SEC("fentry/blk_mq_poll")
int blk_mq_poll(void *args)
{
	(void)args;
	return note();
}

/* Polling of requests without an I/O of the block layer: NVMe passthrough. */
SEC("fentry/blk_hctx_poll")
int blk_hctx_poll(void *args)
{
	(void)args;
	return note();
}

/* Until Linux 5.15. */
SEC("fentry/blk_poll")
int blk_poll(void *args)
{
	(void)args;
	return note();
}
