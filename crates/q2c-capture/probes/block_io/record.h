/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The data that leave the kernel: one record per I/O, read by these offsets in
 * src/block_io/raw.rs, and counts, read in src/block_io/counts.rs.
 */
#ifndef RECORD_H
#define RECORD_H

/* One bio from queued to complete. Times on CLOCK_MONOTONIC, 0: none. */
struct io {
	/* key: address of the bio, or of the request of passthrough */
	u64 bio;
	/* key of the I/O whose request carried it; 0: it had its own request */
	u64 lead;
	u64 queue_ns;	/* Q */
	u64 getrq_ns;	/* G; M where @lead is set */
	u64 insert_ns;	/* I, the first one */
	u64 issue_ns;	/* D, the last one */
	u64 complete_ns; /* C, of its last byte */
	u64 sector;
	u64 cgroup;	/* of the task that queued it */
	u32 bytes;
	u32 device;	/* major << 20 | minor */
	u32 pid;	/* process and thread of the task that queued it */
	u32 tid;
	u32 cpu_submit;
	u32 cpu_complete;
	u32 hctx;	/* NO_QUEUE: none */
	s32 tag;
	s32 error;	/* errno, negative; or blk_status_t, positive */
	u8 op;		/* enum op */
	u8 carries;	/* 1: others were merged into its request */
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
	FLAG_SPLIT = 32, /* a part of a bio that was split */
};

#define NO_QUEUE 0xffffffffU

/* Counts of one CPU. */
struct counts {
	u64 records;	/* I/Os whose record was put into the ring */
	u64 filtered;	/* I/Os that completed, of unwanted size or latency */
	/* I/Os lost at their completion: no room in the CPU's ring */
	u64 ring_full;
	/* I/Os lost when they were queued: too many in flight */
	u64 map_full;
	/* I/Os of a wanted size that completed and were not seen queued */
	u64 unqueued;
	/* I/Os whose bio was queued again and whose end was not seen */
	u64 unended;
	/* requests with more bios than are walked */
	u64 too_merged;
	u64 merges;	/* I/Os carried by another's request */
	u64 splits;	/* bios cut in two */
	u64 requeues;	/* requests given back by the driver */
	u64 parts;	/* partial completions */
	/* flushes of the kernel's own, which carry out those asked for */
	u64 flushes;
	/* I/Os that ended without a request: they might not wait (REQ_NOWAIT) */
	u64 refused;
};

#endif
