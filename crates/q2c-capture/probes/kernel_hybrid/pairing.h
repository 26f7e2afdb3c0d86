/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whether a sleep of the kernel's hybrid polling was too long, from four
 * events. Pure: no map, no clock; tests run it outside the kernel.
 *
 * A request that was slept for is a miss when it was complete by the end of
 * the first poll after the sleep. A task does not poll while it sleeps, so the
 * number of its polls from the sleep's begin to the completion tells: one poll
 * of its own found it (miss), or more were needed (hit). A request can also be
 * reaped by another task that polls the same queue: before the first poll of
 * the task that slept (miss), or later (hit).
 *
 * Known limit: polls are counted by task, so those of a task that has
 * requests in two poll queues at once count for both.
 */
#ifndef PAIRING_H
#define PAIRING_H

/* A task that polls. */
struct task {
	u64 polls;  /* of the driver, so far */
	u64 queue;  /* the request it polls for: queue (0: another device's) */
	u64 cookie; /* and cookie */
	u64 asleep; /* since its last sleep began it has not been seen again */
};

/* A request that was slept for. */
struct slept {
	u64 began_ns;
	u64 asked_ns;
	u64 slept_ns; /* 0: not awake yet, or not seen to wake */
	u64 polls;    /* of the task, when the sleep began */
	u64 tid;
};

/* What was counted, by CPU. */
struct counts {
	u64 polled;	/* polled requests that completed */
	u64 slept;	/* slept for */
	u64 missed;	/* too long */
	u64 unknown;	/* slept for; not known whether too long */
	u64 asked_ns;	/* sum of the sleeps asked */
	u64 timed;	/* sleeps whose end was seen */
	u64 slept_ns;	/* sum of their lengths, to the next poll call */
	u64 not_kept;	/* sleeps for which there was no room */
};

/* Whether a sleep that begins now in the poll function is for our device. */
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
 * A sleep begins for a request while the sleep for an earlier one of its name
 * is still kept: that one completed unseen, or had been reaped by another task
 * when its owner went to sleep.
 */
static __always_inline void forgotten(const struct slept *earlier,
				      struct counts *counts)
{
	counts->slept++;
	counts->unknown++;
	counts->asked_ns += earlier->asked_ns;
}

/*
 * The task enters the block layer's poll function, for any device; @slept is its last sleep,
 * or NULL when that request is complete and forgotten.
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
 * A polled request completes, found by task @by; @slept is NULL when nobody
 * slept for it, @owner when the task that did is not known any more.
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
		counts->unknown++; /* its polls are not seen */
	else if (polls <= (by == slept->tid ? 1 : 0))
		counts->missed++;
}

#endif
