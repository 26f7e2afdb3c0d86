// SPDX-License-Identifier: GPL-2.0
/*
 * Watches the kernel's own hybrid polling (4.10 to 5.18) without a patch:
 *
 *   blk_poll or blk_mq_poll        a task polls for a request, or is back
 *                                  from its sleep
 *   hrtimer_sleeper_start_expires  called from there: the sleep begins
 *   the driver's poll function     it looks for completions
 *   block_rq_complete              a request was found complete
 */
#include "q2c.h"
#include "pairing.h"

#pragma clang attribute push(__attribute__((preserve_access_index)),         \
			     apply_to = record)
struct timerqueue_node {
	s64 expires;
};

struct hrtimer {
	struct timerqueue_node node;
};

struct hrtimer_sleeper {
	struct hrtimer timer;
};
#pragma clang attribute pop

#define MODE_RELATIVE 1U /* HRTIMER_MODE_REL: a restart is absolute */
#define COOKIE_INTERNAL (1U << 31) /* BLK_QC_T_INTERNAL */
#define COOKIE_SHIFT 16 /* BLK_QC_T_SHIFT */
#define CALLERS 8

/* Code from which such a sleep may begin: first address, and end. */
volatile const u64 callers[CALLERS][2] = {};

struct key {
	u64 queue;
	u64 cookie;
};

struct {
	__uint(type, MAP_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, u32);
	__type(value, struct task);
} tasks SEC(".maps");

struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, 16384);
	__type(key, struct key);
	__type(value, struct slept);
} sleeps SEC(".maps");

ONE_PER_CPU(counted, struct counts);

static __always_inline u32 current_tid(void)
{
	return (u32)get_current_pid_tgid();
}

SEC("kprobe/enter_poll")
int enter_poll(struct registers *regs)
{
	struct key last, key = { ARG1(regs), (u32)ARG2(regs) };
	u32 tid = current_tid();
	struct task *task, fresh = {};

	if (!wanted_queue)
		return 0;
	task = map_lookup(&tasks, &tid);
	if (!task && key.queue != wanted_queue)
		return 0;
	if (!task) {
		fresh.queue = key.queue;
		fresh.cookie = key.cookie;
		map_update(&tasks, &tid, &fresh, ANY);
		return 0;
	}
	if (task->asleep) {
		last.queue = task->queue;
		last.cookie = task->cookie;
		enters(task, map_lookup(&sleeps, &last), tid, ktime_get_ns());
	}
	task->queue = key.queue == wanted_queue ? key.queue : 0;
	task->cookie = key.cookie;
	return 0;
}

static __always_inline int called_by_poll(struct registers *regs)
{
	u64 from = RETURNS_TO(regs);
	int i;

#pragma unroll
	for (i = 0; i < CALLERS; i++)
		if (from >= callers[i][0] && from < callers[i][1])
			return 1;
	return 0;
}

SEC("kprobe/start_sleep")
int start_sleep(struct registers *regs)
{
	struct hrtimer_sleeper *sleeper = (void *)ARG1(regs);
	struct slept *earlier, slept = {};
	u32 tid = current_tid();
	struct counts *counts;
	struct task *task;
	struct key key;

	task = map_lookup(&tasks, &tid);
	if (!task || !polls_here(task) || !((u32)ARG2(regs) & MODE_RELATIVE) ||
	    !called_by_poll(regs))
		return 0;
	key.queue = task->queue;
	key.cookie = task->cookie;
	counts = of_this_cpu(&counted);
	earlier = map_lookup(&sleeps, &key);
	if (earlier && counts)
		forgotten(earlier, counts);
	sleep_begins(task, &slept, tid, READ(sleeper, timer.node.expires),
		     ktime_get_ns());
	if (map_update(&sleeps, &key, &slept, ANY) != 0 && counts)
		counts->not_kept++;
	return 0;
}

SEC("kprobe/driver_poll")
int driver_poll(struct registers *regs)
{
	struct blk_mq_hw_ctx *hctx = (void *)ARG1(regs);
	u32 tid = current_tid();
	struct task *task;

	if (!wanted_queue || (u64)READ(hctx, queue) != wanted_queue)
		return 0;
	task = map_lookup(&tasks, &tid);
	if (task)
		polls(task);
	return 0;
}

/*
 * The sleep for @rq, or NULL. The request's cookie has the scheduler's tag when
 * there is a scheduler, else the driver's.
 */
static __always_inline struct slept *sleep_for(struct request *rq,
					       struct key *key)
{
	struct blk_mq_hw_ctx *hctx = READ(rq, mq_hctx);
	u32 queue = (u32)READ(hctx, queue_num) << COOKIE_SHIFT;
	struct slept *slept;

	key->queue = wanted_queue;
	key->cookie = (u32)READ(rq, tag) | queue;
	slept = map_lookup(&sleeps, key);
	if (slept)
		return slept;
	key->cookie = (u32)READ(rq, internal_tag) | queue | COOKIE_INTERNAL;
	return map_lookup(&sleeps, key);
}

SEC("raw_tp/block_rq_complete")
int complete(u64 *args)
{
	struct request *rq = (void *)args[0];
	struct task *owner = NULL;
	struct counts *counts;
	struct slept *slept;
	struct key key = {};
	u32 tid;

	if (!is_wanted(rq) || !is_polled(READ(rq, cmd_flags)))
		return 0;
	counts = of_this_cpu(&counted);
	if (!counts)
		return 0;
	slept = sleep_for(rq, &key);
	if (slept) {
		tid = slept->tid;
		owner = map_lookup(&tasks, &tid);
	}
	completes(slept, owner, current_tid(), counts);
	if (slept)
		map_delete(&sleeps, &key);
	return 0;
}
