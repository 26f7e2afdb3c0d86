/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What leaves the kernel: one record per I/O, and counts. src/block_io/raw.rs
 * reads both by these offsets.
 */
#ifndef RECORD_H
#define RECORD_H

/* One bio from queued to complete. Times on CLOCK_MONOTONIC, 0: none. */
struct io {
	u64 bio;	/* its bio; of passthrough its request: unique at a time */
	u64 lead;	/* the bio whose request carried it; 0: it was its own */
	u64 queue_ns;	/* Q */
	u64 getrq_ns;	/* G; M where @lead is set */
	u64 insert_ns;	/* I, the first */
	u64 issue_ns;	/* D, the last */
	u64 complete_ns; /* C, of its last byte */
	u64 sector;
	u64 cgroup;	/* of the task that queued it */
	u32 bytes;
	u32 device;	/* major << 20 | minor */
	u32 pid;	/* of the task that queued it: process, thread */
	u32 tid;
	u32 cpu_submit;
	u32 cpu_complete;
	u32 hctx;	/* NO_QUEUE: none */
	s32 tag;
	s32 error;	/* errno, negative; or blk_status_t, positive */
	u8 op;		/* enum op */
	u8 carries;	/* others were merged into it */
	u16 flags;	/* enum flag */
	char comm[16];
};

enum op { READ_OP, WRITE_OP, FLUSH_OP, DISCARD_OP, OTHER_OP };

enum flag {
	FLAG_SYNC = 1,
	FLAG_META = 2,
	FLAG_FUA = 4,
	FLAG_READAHEAD = 8,
	FLAG_POLLED = 16,
};

#define NO_QUEUE 0xffffffffU

/* By CPU. */
struct counts {
	u64 records;	/* handed over */
	u64 filtered;	/* complete, and not wanted */
	u64 ring_full;	/* complete, and lost: no room in the CPU's ring */
	u64 map_full;	/* queued, and lost: no room for it in flight */
	u64 unqueued;	/* complete, of the size wanted, and its Q was not seen */
	u64 unended;	/* its bio was queued anew, and its end was not seen */
	u64 too_merged;	/* more bios in a request than are looked at */
	u64 merges;	/* I/Os that another's request carried */
	u64 splits;	/* bios cut in two */
	u64 requeues;	/* requests taken back by the driver */
	u64 parts;	/* completions that were not a request's last */
	u64 flushes;	/* the kernel's own, which carry out those asked for */
};

#endif
