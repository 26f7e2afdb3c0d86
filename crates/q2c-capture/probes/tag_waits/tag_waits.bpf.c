// SPDX-License-Identifier: GPL-2.0
/*
 * Counts how often and how long threads of a process slept because all requests
 * (tags) of a hardware queue were in use.
 *
 * blk_mq_get_tag() prepares to wait at a bitmap of tags (sbitmap_prepare_to_wait),
 * sleeps (io_schedule) and ends the wait (sbitmap_finish_wait). An I/O that finds
 * a free tag calls none of them and costs nothing here. Which hardware queue a
 * bitmap belongs to is learnt from the requests that are issued.
 */
#include "q2c.h"

#define SLICE_NS 10000000ULL
#define THREADS 16384
#define BITMAPS 16384
#define COUNTS 262144 /* threads times slices in which they slept */

#pragma clang attribute push(__attribute__((preserve_access_index)),         \
			     apply_to = record)
struct sbitmap_queue {
	unsigned int wake_batch;
};

struct blk_mq_tags {
	struct sbitmap_queue bitmap_tags;
};

struct blk_mq_tags___pointer { /* Linux 5.10 to 5.15 */
	struct sbitmap_queue *bitmap_tags;
	struct sbitmap_queue __bitmap_tags;
};

struct blk_mq_hw_ctx___tags {
	unsigned int queue_num;
	struct blk_mq_tags *tags;
	struct blk_mq_tags *sched_tags;
};
#pragma clang attribute pop

/* Set before the program is loaded: threads of this process are watched. */
volatile const u32 wanted_pid = 0;

struct wait {
	u64 bitmap;
	u64 begin_ns;
	u64 slept; /* 1 once it sleeps */
};

/* The wait of each thread that is at one. */
struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, THREADS);
	__type(key, u32);
	__type(value, struct wait);
} waiting SEC(".maps");

struct place {
	u64 bitmap;
	u32 tid;
	u32 slice; /* of CLOCK_MONOTONIC, when the wait began */
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

struct owner {
	u32 queue;
	u32 of_scheduler; /* 1: tags of the I/O scheduler */
};

/* The hardware queue of each bitmap of the wanted device. */
struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, BITMAPS);
	__type(key, u64);
	__type(value, struct owner);
} owners SEC(".maps");

/* Sleeps that found no room in a table. */
ONE_PER_CPU(lost, u64);

static __always_inline void lose(void)
{
	u64 *count = of_this_cpu(&lost);

	if (count)
		(*count)++;
}

SEC("kprobe/prepare")
int prepare(struct registers *regs)
{
	u64 id = get_current_pid_tgid();
	u32 tid = (u32)id;
	struct wait wait = {};

	if (id >> 32 != wanted_pid)
		return 0;
	wait.bitmap = ARG1(regs);
	wait.begin_ns = ktime_get_ns();
	if (map_update(&waiting, &tid, &wait, ANY))
		lose();
	return 0;
}

SEC("kprobe/sleeps")
int sleeps(struct registers *regs __attribute__((unused)))
{
	u64 id = get_current_pid_tgid();
	u32 tid = (u32)id;
	struct wait *wait;

	if (id >> 32 != wanted_pid)
		return 0;
	wait = map_lookup(&waiting, &tid);
	if (wait)
		wait->slept = 1;
	return 0;
}

static __always_inline void count(struct wait *wait, u32 tid)
{
	struct place place = { wait->bitmap, tid,
			       (u32)(wait->begin_ns / SLICE_NS) };
	u64 ns = ktime_get_ns() - wait->begin_ns;
	struct slept first = { 1, ns };
	struct slept *slept = map_lookup(&counted, &place);

	/* Nobody else writes the counts of this thread. */
	if (slept) {
		slept->sleeps++;
		slept->ns += ns;
	} else if (map_update(&counted, &place, &first, ANY)) {
		lose();
	}
}

SEC("kprobe/finish")
int finish(struct registers *regs __attribute__((unused)))
{
	u64 id = get_current_pid_tgid();
	u32 tid = (u32)id;
	struct wait *wait;

	if (id >> 32 != wanted_pid)
		return 0;
	wait = map_lookup(&waiting, &tid);
	if (!wait)
		return 0;
	if (wait->slept)
		count(wait, tid);
	map_delete(&waiting, &tid);
	return 0;
}

static __always_inline u64 bitmap_of(struct blk_mq_tags *tags)
{
	struct blk_mq_tags___pointer *old = (void *)tags;

	if (!tags)
		return 0;
	if (FIELD_EXISTS(old->__bitmap_tags))
		return (u64)READ(old, bitmap_tags);
	return (u64)tags + FIELD_OFFSET(tags->bitmap_tags);
}

static __always_inline void owns(u64 bitmap, u32 queue, u32 of_scheduler)
{
	struct owner owner = { queue, of_scheduler };

	if (bitmap && !map_lookup(&owners, &bitmap))
		map_update(&owners, &bitmap, &owner, ANY);
}

static __always_inline int issue(struct request *rq)
{
	struct blk_mq_hw_ctx___tags *hctx;
	u32 queue;

	if (!is_wanted(rq))
		return 0;
	hctx = (void *)READ(rq, mq_hctx);
	queue = READ(hctx, queue_num);
	owns(bitmap_of(READ(hctx, tags)), queue, 0);
	owns(bitmap_of(READ(hctx, sched_tags)), queue, 1);
	return 0;
}

/* Since 5.11 the tracepoint has one argument; before, it had two. */
SEC("raw_tp/issue_one")
int issue_one(u64 *args)
{
	return issue((void *)args[0]);
}

SEC("raw_tp/issue_two")
int issue_two(u64 *args)
{
	return issue((void *)args[1]);
}
