/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Decides from four events whether a sleep of the kernel's hybrid polling was
 * too long. The code uses no map and no clock, so that tests run it outside the
 * kernel.
 *
 * A request that was slept for is a miss when it was complete by the end of
 * the first poll after the sleep. A task does not poll while it sleeps, so the
 * number of its polls from the start of the sleep to the completion decides:
 * with one poll it is a miss, with more it is not. Another task that polls the
 * same queue can also reap the request: before the first poll of the task that
 * slept it is a miss, later it is not.
 *
 * Known limit: polls are counted by task, so those of a task that has
 * requests in two poll queues at once count for both.
 */
#ifndef PAIRING_H
#define PAIRING_H

/* A task that polls; the key in the map is its thread id. */
struct task {
	u64 polls;  /* calls of the driver's poll function so far */
	/* queue and cookie of its request; queue 0: of another device */
	u64 queue;
	u64 cookie;
	/* 1 from the start of a sleep until the task is seen again */
	u64 asleep;
};

/* A request that was slept for. */
struct slept {
	u64 began_ns;
	u64 asked_ns;
	/* 0: still asleep, or its wake-up was not seen */
	u64 slept_ns;
	u64 polls;    /* those of the task when the sleep began */
	u64 tid;
};

/* Counts of one CPU. */
struct counts {
	u64 polled;	/* polled requests that completed */
	u64 slept;	/* those of them that were slept for */
	u64 missed;	/* those slept for too long */
	u64 unknown;	/* slept for, outcome not known */
	u64 asked_ns;	/* sum of the sleeps asked */
	u64 timed;	/* sleeps whose end was seen */
	u64 slept_ns;	/* sum of their lengths, to the next poll call */
	u64 not_kept;	/* sleeps for which there was no room */
};

/* Whether the task polls for our device, so that a sleep now is for it. */
static __always_inline int polls_here(const struct task *task)
{
	return task->queue != 0;
}

static __always_inline void sleep_begins(struct task *task,
					 struct slept *slept, u64 tid,
					 u64 asked_ns, u64 now_ns)
{
	slept->began_ns = now_ns;
	slept->asked_ns = asked_ns;
	slept->slept_ns = 0;
	slept->polls = task->polls;
	slept->tid = tid;
	task->asleep = 1;
}

/*
 * Counts a sleep whose request was never seen to complete. Called when a sleep
 * begins for a request of the same queue and cookie while the earlier sleep is
 * still kept: the earlier request completed unseen, or another task had reaped
 * it when its owner went to sleep.
 */
static __always_inline void forgotten(const struct slept *earlier,
				      struct counts *counts)
{
	counts->slept++;
	counts->unknown++;
	counts->asked_ns += earlier->asked_ns;
}

/*
 * The task enters the block layer's poll function, for any device. @slept is
 * the task's last sleep, or NULL when the request slept for is complete.
 */
static __always_inline void enters(struct task *task, struct slept *slept,
				   u64 tid, u64 now_ns)
{
	if (task->asleep && slept && slept->tid == tid && !slept->slept_ns)
		slept->slept_ns = now_ns - slept->began_ns;
	task->asleep = 0;
}

static __always_inline void polls(struct task *task)
{
	task->polls++;
}

/*
 * A polled request completes, found by task @by. @slept is NULL when nobody
 * slept for it; @owner is the task that slept, or NULL when it is not known any
 * more.
 */
static __always_inline void completes(const struct slept *slept,
				      const struct task *owner, u64 by,
				      struct counts *counts)
{
	u64 polls;

	counts->polled++;
	if (!slept)
		return;
	counts->slept++;
	counts->asked_ns += slept->asked_ns;
	if (slept->slept_ns) {
		counts->timed++;
		counts->slept_ns += slept->slept_ns;
	}
	if (!owner || owner->polls < slept->polls) {
		counts->unknown++;
		return;
	}
	polls = owner->polls - slept->polls;
	if (by == slept->tid && polls == 0)
		counts->unknown++; /* the polls are not seen */
	else if (polls <= (by == slept->tid ? 1 : 0))
		counts->missed++;
}

#endif
