// SPDX-License-Identifier: GPL-2.0
/*
 * Counts where in the kernel the threads of a process were when a counter of
 * their CPU ran over.
 */
#include "q2c.h"

#define MAP_STACK_TRACE 7
#define STACKS 16384
#define DEPTH 32

static long (*get_stackid)(void *ctx, void *map, u64 flags) = (void *)27;

/* Set before the program is loaded: threads of this process are watched. */
volatile const u32 wanted_pid = 0;

struct {
	__uint(type, MAP_STACK_TRACE);
	__uint(max_entries, STACKS);
	__uint(key_size, sizeof(u32));
	__uint(value_size, DEPTH * sizeof(u64));
} stacks SEC(".maps");

struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, STACKS);
	__type(key, u32);
	__type(value, u64);
} samples SEC(".maps");

/* Samples outside of the kernel, and those that found no room. */
ONE_PER_CPU(user, u64);
ONE_PER_CPU(lost, u64);

static __always_inline void add(void *map)
{
	u64 *count = of_this_cpu(map);

	if (count)
		*count += 1;
}

/* No stack of the kernel: the thread was not in it (EFAULT). */
#define NOT_IN_KERNEL (-14)

SEC("perf_event")
int sample(void *ctx)
{
	u64 none = 0, *count;
	long found;
	u32 stack;

	if (get_current_pid_tgid() >> 32 != wanted_pid)
		return 0;
	found = get_stackid(ctx, &stacks, 0);
	if (found < 0) {
		add(found == NOT_IN_KERNEL ? (void *)&user : (void *)&lost);
		return 0;
	}
	stack = found;
	count = map_lookup(&samples, &stack);
	if (!count) {
		/* Another CPU may be first, which is as good. */
		map_update(&samples, &stack, &none, NOEXIST);
		count = map_lookup(&samples, &stack);
	}
	if (count)
		__sync_fetch_and_add(count, 1);
	else
		add(&lost);
	return 0;
}
