// SPDX-License-Identifier: GPL-2.0
/*
 * Runs scx/rules.h on machines from standard input, and prints what it decides.
 *
 * A machine is: cores threads cores_per_cache threshold swaps, then for each
 * CPU its C and P tasks. The answer is a line for each CPU, "from polling", and a line for each
 * core, "from to back"; -1 stands for none.
 */
#include <stdio.h>

typedef unsigned int u32;
typedef unsigned long long u64;
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define EACH(i, n) for (i = 0; i < (int)(n); i++)
#include "../scx/machine.h"

static struct machine m;
static struct tally t;

#define M (&m)
#define T (&t)
#include "../scx/rules.h"

static int number(u32 of)
{
	return of == NO_CPU ? -1 : (int)of;
}

static int read_machine(void)
{
	u32 cores, threads, per_cache, core, n;

	if (scanf("%u %u %u %u %u", &cores, &threads, &per_cache,
		  &m.threshold, &m.swaps) != 5)
		return 0;
	m.cores = cores;
	m.cpus = cores * threads;
	t.polling = 0;
	for (core = 0; core < cores; core++) {
		m.first_cpu[core] = core * threads;
		t.polling_of_core[core] = 0;
		for (n = 0; n < threads; n++) {
			u32 cpu = core * threads + n;
			struct queue *queue = &t.of_cpu[cpu];

			m.core_of[cpu] = core;
			m.cache_of[cpu] = core / per_cache;
			m.next_cpu[cpu] = n + 1 < threads ? cpu + 1 : NO_CPU;
			if (scanf("%u %u", &queue->compute, &queue->polling) != 2)
				return 0;
			t.polling_of_core[core] += queue->polling;
			t.polling += queue->polling;
		}
	}
	return 1;
}

int main(void)
{
	int n;

	while (read_machine()) {
		EACH(n, m.cpus) {
			u64 steal = next_steal(n);
			u32 from = steal == NONE ? NO_CPU : (u32)steal;

			printf("%d %d\n", number(from), steal != NONE && steal >> 32);
		}
		EACH(n, m.cores) {
			struct swap swap = next_swap(n);

			if (swap.from == NO_CPU)
				printf("-1 -1 -1\n");
			else
				printf("%d %d %d\n", number(swap.from),
				       number(swap.to), number(swap.back));
		}
	}
	return 0;
}
