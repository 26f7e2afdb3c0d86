// SPDX-License-Identifier: GPL-2.0
/*
 * Hands over every completed request of one device, with the time from its
 * hand-over to the driver (block_rq_issue) to its completion
 * (block_rq_complete), which is what the kernel's own statistics count.
 */
#include "q2c.h"

struct completion {
	u64 at_ns;	/* CLOCK_MONOTONIC */
	u64 latency_ns;
	u32 bytes;
	u32 op;		/* enum req_op */
	u32 tid;	/* of the thread that issued it */
	u32 polled;	/* 1 when its submitter polls for it */
};

#define OP_MASK 255U /* REQ_OP_MASK */

struct begun {
	u64 at_ns;
	u64 tid;
};

struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, struct begun);
} issued SEC(".maps");

struct {
	__uint(type, MAP_RINGBUF);
	__uint(max_entries, 1 << 20);
} completions SEC(".maps");

struct lost {
	/* requests without room, in the table when issued or in the ring */
	u64 no_room;
	/* requests that completed and were not seen issued */
	u64 unpaired;
};

ONE_PER_CPU(losses, struct lost);

static __always_inline int issue(struct request *rq)
{
	struct begun begun = { ktime_get_ns(), (u32)get_current_pid_tgid() };
	u64 key = (u64)rq;
	struct lost *lost;

	if (!is_wanted(rq))
		return 0;
	if (map_update(&issued, &key, &begun, ANY) != 0) {
		lost = of_this_cpu(&losses);
		if (lost)
			lost->no_room++;
	}
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

SEC("raw_tp/complete")
int complete(u64 *args)
{
	struct request *rq = (void *)args[0];
	u64 key = (u64)rq;
	struct completion done = {};
	struct begun *begun;
	u32 flags;
	struct lost *lost;

	if (!is_wanted(rq))
		return 0;
	lost = of_this_cpu(&losses);
	begun = map_lookup(&issued, &key);
	if (!begun) {
		if (lost)
			lost->unpaired++;
		return 0;
	}
	done.at_ns = ktime_get_ns();
	done.latency_ns = done.at_ns - begun->at_ns;
	done.bytes = (u32)args[2];
	flags = READ(rq, cmd_flags);
	done.op = flags & OP_MASK;
	done.tid = begun->tid;
	done.polled = is_polled(flags);
	map_delete(&issued, &key);
	if (ringbuf_output(&completions, &done, sizeof(done), RB_NO_WAKEUP) &&
	    lost)
		lost->no_room++;
	return 0;
}
