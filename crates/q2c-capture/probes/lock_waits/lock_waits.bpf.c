// SPDX-License-Identifier: GPL-2.0
/*
 * Adds up how long threads of a process waited for locks of the kernel, by the
 * stack that wanted the lock.
 *
 * The kernel tells only of waits: a lock that is free is taken without a word.
 * A thread can wait for a second lock while it waits for a first one, as for the
 * spin lock within a mutex, so that each wait is known by its lock, too.
 */
#include "q2c.h"

#define MAP_STACK_TRACE 7
#define WAITING 16384
#define STACKS 8192
#define DEPTH 32 /* frames: locks, tracing and a file system need less */
#define SITES 16384

static long (*get_stackid)(void *ctx, void *map, u64 flags) = (void *)27;

/* Set before the program is loaded: threads of this process are watched. */
volatile const u32 wanted_pid = 0;

struct wait {
	u64 lock;
	u64 tid;
};

struct begun {
	u64 ns;
	u32 stack;
	u32 flags;
};

struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, WAITING);
	__type(key, struct wait);
	__type(value, struct begun);
} waiting SEC(".maps");

struct {
	__uint(type, MAP_STACK_TRACE);
	__uint(max_entries, STACKS);
	__uint(key_size, sizeof(u32));
	__uint(value_size, DEPTH * sizeof(u64));
} stacks SEC(".maps");

struct site {
	u32 stack;
	u32 flags;
};

struct waited {
	u64 waits;
	u64 ns;
};

struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, SITES);
	__type(key, struct site);
	__type(value, struct waited);
} waited SEC(".maps");

/* Waits that found no room in a table. */
ONE_PER_CPU(lost, u64);

static __always_inline void lose(void)
{
	u64 *count = of_this_cpu(&lost);

	if (count)
		*count += 1;
}

SEC("raw_tp/contention_begin")
int contention_begin(u64 *args)
{
	u64 id = get_current_pid_tgid();
	struct wait wait = { args[0], (u32)id };
	struct begun begun = {};
	long stack;

	if (id >> 32 != wanted_pid)
		return 0;
	/*
	 * A mutex tells of a second begin when its waiter stops spinning and goes
	 * to sleep: it is the same wait.
	 */
	if (map_lookup(&waiting, &wait))
		return 0;
	stack = get_stackid(args, &stacks, 0);
	if (stack < 0) {
		lose();
		return 0;
	}
	begun.stack = stack;
	begun.flags = args[1];
	begun.ns = ktime_get_ns();
	if (map_update(&waiting, &wait, &begun, ANY))
		lose();
	return 0;
}

SEC("raw_tp/contention_end")
int contention_end(u64 *args)
{
	u64 id = get_current_pid_tgid();
	struct wait wait = { args[0], (u32)id };
	struct waited none = {}, *all;
	struct begun *begun;
	struct site site;

	if (id >> 32 != wanted_pid)
		return 0;
	begun = map_lookup(&waiting, &wait);
	if (!begun)
		return 0;
	site.stack = begun->stack;
	site.flags = begun->flags;
	all = map_lookup(&waited, &site);
	if (!all) {
		/* Another thread may be first, which is as good. */
		map_update(&waited, &site, &none, NOEXIST);
		all = map_lookup(&waited, &site);
	}
	if (all) {
		__sync_fetch_and_add(&all->waits, 1);
		__sync_fetch_and_add(&all->ns, ktime_get_ns() - begun->ns);
	} else {
		lose();
	}
	map_delete(&waiting, &wait);
	return 0;
}
