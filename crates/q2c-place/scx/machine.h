/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The machine and its run queues, as the rules see them. Who includes it defines
 * u32 and u64.
 */
#ifndef Q2C_PLACE_MACHINE_H
#define Q2C_PLACE_MACHINE_H

#define MAX_CPUS 1024
#define NO_CPU 0xffffffffU
#define INDEX(n) ((n) & (MAX_CPUS - 1))
#define MOST_THREADS 8

/* The tasks of a run queue, by class. */
struct queue {
	u32 compute;
	u32 polling;
};

/* The machine. CPUs that tasks may not be placed on have no core. */
struct machine {
	u32 cpus; /* the highest number, plus 1 */
	u32 cores;
	/* A load exceeds another when it is larger by this many tasks. */
	u32 threshold;
	u32 swaps; /* 0: the published rules alone */
	u32 core_of[MAX_CPUS];
	u32 cache_of[MAX_CPUS]; /* of a CPU */
	u32 first_cpu[MAX_CPUS]; /* of a core */
	u32 next_cpu[MAX_CPUS]; /* the next CPU of the same core, or NO_CPU */
};

/* The tasks of all run queues. */
struct tally {
	struct queue of_cpu[MAX_CPUS];
	u32 polling_of_core[MAX_CPUS];
	u32 polling;
};

struct swap {
	u32 from; /* the CPU that a P task leaves; NO_CPU: none does */
	u32 to;
	u32 back; /* the CPU whose C task moves to @from, or NO_CPU */
};

#endif
