// SPDX-License-Identifier: GPL-2.0
/*
 * Counts how often and how long threads of a process slept because all requests
 * (tags) of a hardware queue were in use.
 *
 * A thread looks for a tag in blk_mq_get_tag(). While it finds none it sleeps in
 * io_schedule(). With a tag its bio gets a request (block_getrq). Other sleeps
 * before that, as for the throttling of writes, are over before it looks for a
 * tag. The functions of the bitmaps of tags (lib/sbitmap.c) cannot be watched:
 * the kernel is built without tracing of lib/.
 */
#include "q2c.h"

#define SLICE_NS 10000000ULL
#define THREADS 16384
#define COUNTS 262144 /* threads times slices in which they slept */
#define OF_SCHEDULER (1U << 31)

#pragma clang attribute push(__attribute__((preserve_access_index)),         \
			     apply_to = record)
struct blk_mq_hw_ctx___tags {
	unsigned int queue_num;
	void *sched_tags;
};

struct blk_mq_alloc_data {
	struct request_queue *q;
	struct blk_mq_hw_ctx *hctx;
};
#pragma clang attribute pop

/* Set before the program is loaded: threads of this process are watched. */
volatile const u32 wanted_pid = 0;

struct look {
	u64 begin_ns; /* when it first slept; 0: it did not */
	u64 sleeps;
	u64 queue; /* OF_SCHEDULER: the tags are those of the I/O scheduler */
};

/* The look for a tag of each thread that is at one. */
struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, THREADS);
	__type(key, u32);
	__type(value, struct look);
} looking SEC(".maps");

struct place {
	u32 queue; /* as in struct look */
	u32 tid;
	u64 slice; /* of CLOCK_MONOTONIC, when the wait began */
};

struct slept {
	u64 sleeps;
	u64 ns;
};

struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, COUNTS);
	__type(key, struct place);
	__type(value, struct slept);
} counted SEC(".maps");

/* Sleeps that found no room in a table. */
ONE_PER_CPU(lost, u64);

static __always_inline void lose(u64 sleeps)
{
	u64 *count = of_this_cpu(&lost);

	if (count)
		*count += sleeps;
}

SEC("kprobe/look_for_tag")
int look_for_tag(struct registers *regs)
{
	struct blk_mq_alloc_data *data = (void *)ARG1(regs);
	u64 id = get_current_pid_tgid();
	struct blk_mq_hw_ctx___tags *hctx;
	u32 tid = (u32)id;
	struct look look = {};

	if (id >> 32 != wanted_pid || !wanted_queue ||
	    (u64)READ(data, q) != wanted_queue)
		return 0;
	hctx = (void *)READ(data, hctx);
	look.queue = READ(hctx, queue_num);
	if (READ(hctx, sched_tags))
		look.queue |= OF_SCHEDULER;
	map_update(&looking, &tid, &look, ANY);
	return 0;
}

SEC("kprobe/sleeps")
int sleeps(struct registers *regs __attribute__((unused)))
{
	u64 id = get_current_pid_tgid();
	u32 tid = (u32)id;
	struct look *look;

	if (id >> 32 != wanted_pid)
		return 0;
	look = map_lookup(&looking, &tid);
	if (!look)
		return 0;
	if (!look->sleeps)
		look->begin_ns = ktime_get_ns();
	look->sleeps++;
	return 0;
}

static __always_inline void count(struct look *look, u32 tid)
{
	struct place place = { look->queue, tid, look->begin_ns / SLICE_NS };
	u64 ns = ktime_get_ns() - look->begin_ns;
	struct slept first = { look->sleeps, ns };
	struct slept *slept = map_lookup(&counted, &place);

	/* Nobody else writes the counts of this thread. */
	if (slept) {
		slept->sleeps += look->sleeps;
		slept->ns += ns;
	} else if (map_update(&counted, &place, &first, ANY)) {
		lose(look->sleeps);
	}
}

SEC("raw_tp/has_request")
int has_request(u64 *args __attribute__((unused)))
{
	u64 id = get_current_pid_tgid();
	u32 tid = (u32)id;
	struct look *look;

	if (id >> 32 != wanted_pid)
		return 0;
	look = map_lookup(&looking, &tid);
	if (!look)
		return 0;
	if (look->sleeps)
		count(look, tid);
	map_delete(&looking, &tid);
	return 0;
}

/* The device's queue is learnt from the first request. */
SEC("raw_tp/issue_one")
int issue_one(u64 *args)
{
	return is_wanted((void *)args[0]) && 0;
}

/* Until 5.10 the tracepoint had two arguments. */
SEC("raw_tp/issue_two")
int issue_two(u64 *args)
{
	return is_wanted((void *)args[1]) && 0;
}
