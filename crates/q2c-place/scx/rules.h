/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The placement rules, as crates/q2c-place/src/rules has them in Rust: Rules::Proposed,
 * or Rules::Literal where the machine has no swaps. A test compiles this header for
 * the host and compares both on generated machines.
 *
 * Who includes it defines EACH(i, n), a loop over 0 .. n-1, and M and T, pointers
 * to the machine and to the tally. Functions marked SEPARATE have
 * numbers for arguments and are not inlined: the kernel's verifier looks at
 * each of them once, and knows nothing of what they return.
 */
#ifndef Q2C_PLACE_RULES_H
#define Q2C_PLACE_RULES_H

#include "machine.h"

#define SEPARATE __attribute__((noinline))
#define NONE (~0ULL)

static __always_inline u32 load_of(const struct queue *queue)
{
	return queue->compute + queue->polling;
}

/* Rule 1: whether CPU @to takes a P task from CPU @from; else a C task. */
static __always_inline int takes_polling(u32 to,
					 u32 from)
{
	u32 to_core = M->core_of[INDEX(to)], from_core = M->core_of[INDEX(from)];
	u32 p_d, p_s;

	if (to_core == from_core)
		return T->of_cpu[INDEX(to)].polling >=
		       T->of_cpu[INDEX(from)].polling;
	p_d = T->polling_of_core[INDEX(to_core)];
	p_s = T->polling_of_core[INDEX(from_core)];
	/*
	 * P_D < P_T / N_P < P_S. With the swap step a P task also moves only
	 * where the cores become more even.
	 */
	return (unsigned long long)p_d * M->cores < T->polling &&
	       (unsigned long long)p_s * M->cores > T->polling &&
	       (!M->swaps || p_s >= p_d + 2);
}

/* Rule 2: whether the core of the siblings @d and @s is colocated already. */
static __always_inline int is_colocated(const struct queue *d,
					const struct queue *s)
{
	int only_s = s->polling && !s->compute;
	int only_d = d->polling && !d->compute;

	return (only_s && d->polling < s->polling) || (only_d && !s->polling);
}

/* Whether @to may take a task from @from, and of which class. */
static __always_inline int may_take(u32 to, u32 from,
				    u32 *polling)
{
	const struct queue *d = &T->of_cpu[INDEX(to)];
	const struct queue *s = &T->of_cpu[INDEX(from)];
	int siblings = M->core_of[INDEX(to)] == M->core_of[INDEX(from)];

	if (siblings && is_colocated(d, s))
		return 0;
	*polling = takes_polling(to, from) && s->polling;
	return *polling || s->compute;
}

/* How far apart two CPUs are: 0 for siblings, 1 for the same cache, else 2. */
static __always_inline u32 distance(u32 a, u32 b)
{
	if (M->core_of[INDEX(a)] == M->core_of[INDEX(b)])
		return 0;
	return M->cache_of[INDEX(a)] == M->cache_of[INDEX(b)] ? 1 : 2;
}

/*
 * The order of CPU @from among those that @to may take a task from, the first
 * one lowest: the nearest, then the most loaded. The last bit says whether it is
 * a P task. NONE where @to takes nothing from it.
 */
SEPARATE u64 candidate(u32 to, u32 from)
{
	u32 own = load_of(&T->of_cpu[INDEX(to)]);
	u32 load = load_of(&T->of_cpu[INDEX(from)]), polling = 0;

	/* The only task of a CPU runs; on an idle CPU it would gain nothing. */
	if (M->core_of[INDEX(from)] == NO_CPU || load < 2 ||
	    load < own + M->threshold)
		return NONE;
	if (!may_take(to, from, &polling))
		return NONE;
	return (u64)distance(to, from) << 34 | (u64)(~load) << 1 | polling;
}

/*
 * The task that CPU @to takes over now: the CPU that it leaves, and above that
 * number whether it is a P task. NONE when nothing is to be taken.
 */
SEPARATE u64 next_steal(u32 to)
{
	u64 best = NONE;
	u32 found = 0;
	int from;

	EACH(from, M->cpus) {
		u64 own = candidate(to, from);

		/* Of equals the one with the lowest number stays. */
		if (own >> 1 < best >> 1) {
			best = own;
			found = from;
		}
	}
	return best == NONE ? NONE : (best & 1) << 32 | found;
}

/* The CPU whose C task makes room for a P task that comes to @to. */
SEPARATE u32 giver(u32 from, u32 to)
{
	u32 cpu = M->first_cpu[INDEX(M->core_of[INDEX(to)])];
	int n;

	if (T->of_cpu[INDEX(to)].compute)
		return to;
	EACH(n, MOST_THREADS) {
		if (cpu == NO_CPU)
			break;
		if (cpu != to && cpu != from && T->of_cpu[INDEX(cpu)].compute)
			return cpu;
		cpu = M->next_cpu[INDEX(cpu)];
	}
	return NO_CPU;
}

/* Of a core: its CPU with the fewest P tasks but at least one, or NO_CPU. */
SEPARATE u32 fewest_polling(u32 core,
					  u32 but)
{
	u32 cpu = M->first_cpu[INDEX(core)], found = NO_CPU, fewest = NO_CPU;
	int n;

	EACH(n, MOST_THREADS) {
		u32 polling;

		if (cpu == NO_CPU)
			break;
		polling = T->of_cpu[INDEX(cpu)].polling;
		if (polling && cpu != but && polling <= fewest) {
			fewest = polling;
			found = cpu;
		}
		cpu = M->next_cpu[INDEX(cpu)];
	}
	return found;
}

/*
 * Of a core: its CPU with the most P tasks; of those the one with the lowest
 * load where @by_load, then the first.
 */
SEPARATE u32 most_polling(u32 core,
					int by_load)
{
	u32 cpu = M->first_cpu[INDEX(core)], found = NO_CPU, most = 0, least = 0;
	int n;

	EACH(n, MOST_THREADS) {
		u32 polling, load;

		if (cpu == NO_CPU)
			break;
		polling = T->of_cpu[INDEX(cpu)].polling;
		load = by_load ? load_of(&T->of_cpu[INDEX(cpu)]) : 0;
		if (found == NO_CPU || polling > most ||
		    (polling == most && load < least)) {
			most = polling;
			least = load;
			found = cpu;
		}
		cpu = M->next_cpu[INDEX(cpu)];
	}
	return found;
}

/* The core with the most P tasks, if it has two more than @core at least. */
SEPARATE u32 richest(u32 core)
{
	u32 most = T->polling_of_core[INDEX(core)] + 1, found = NO_CPU;
	int other;

	EACH(other, M->cores) {
		if (T->polling_of_core[INDEX(other)] > most) {
			most = T->polling_of_core[INDEX(other)];
			found = other;
		}
	}
	return found;
}

/* Whether a C task shares its CPU, so that it could come to @cpu. */
SEPARATE u32 is_wanted(u32 cpu)
{
	int other, found = 0;

	EACH(other, M->cpus) {
		const struct queue *queue = &T->of_cpu[INDEX(other)];

		if ((u32)other != cpu && M->core_of[INDEX(other)] != NO_CPU &&
		    queue->compute && load_of(queue) > 1)
			found = 1;
	}
	return found;
}

/* The next swap of @core: it takes a P task over, or gathers its own. */
static __always_inline struct swap next_swap(u32 core)
{
	struct swap swap = { NO_CPU, NO_CPU, NO_CPU };
	u32 rich;

	if (!M->swaps)
		return swap;
	rich = richest(core);
	if (rich != NO_CPU) {
		swap.from = fewest_polling(rich, NO_CPU);
		swap.to = most_polling(core, 1);
		swap.back = giver(swap.from, swap.to);
		return swap;
	}
	swap.to = most_polling(core, 0);
	swap.from = fewest_polling(core, swap.to);
	if (swap.from == NO_CPU)
		return swap;
	swap.back = giver(swap.from, swap.to);
	if (swap.back == NO_CPU && load_of(&T->of_cpu[INDEX(swap.from)]) == 1 &&
	    !is_wanted(swap.from))
		swap.from = NO_CPU;
	return swap;
}

/* The 2-bit predictor: the counter after a window in which the task polled. */
static __always_inline u32 after_window(u32 counter, int polled)
{
	if (polled)
		return counter < 3 ? counter + 1 : 3;
	return counter ? counter - 1 : 0;
}

static __always_inline int is_polling(u32 counter)
{
	return counter >= 2;
}

#endif
