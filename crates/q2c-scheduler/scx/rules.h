/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The placement rules, as crates/q2c-place/src/rules has them in Rust, with the
 * swap step that makes room (SwapStep::ForRoom). A test compiles this header for
 * the host and compares both on generated machines.
 *
 * Who includes it defines u32 and EACH(i, n), a loop over 0 .. n-1.
 */
#ifndef Q2C_PLACE_RULES_H
#define Q2C_PLACE_RULES_H

#define MAX_CPUS 1024
#define NO_CPU 0xffffffffU
#define INDEX(n) ((n) & (MAX_CPUS - 1))
/* A load exceeds another when it is larger by this many tasks. */
#define THRESHOLD 2
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

struct steal {
	u32 from; /* NO_CPU: nothing is to be taken */
	u32 polling; /* whether a P task is */
};

struct swap {
	u32 from; /* the CPU that a P task leaves; NO_CPU: none does */
	u32 to;
	u32 back; /* the CPU whose C task moves to @from, or NO_CPU */
};

static __always_inline u32 load_of(const struct queue *queue)
{
	return queue->compute + queue->polling;
}

/* Rule 1: whether CPU @to takes a P task from CPU @from; else a C task. */
static __always_inline int takes_polling(const struct machine *m,
					 const struct tally *t, u32 to,
					 u32 from)
{
	u32 to_core = m->core_of[INDEX(to)], from_core = m->core_of[INDEX(from)];
	u32 p_d, p_s;

	if (to_core == from_core)
		return t->of_cpu[INDEX(to)].polling >=
		       t->of_cpu[INDEX(from)].polling;
	p_d = t->polling_of_core[INDEX(to_core)];
	p_s = t->polling_of_core[INDEX(from_core)];
	/*
	 * P_D < P_T / N_P < P_S. With the swap step a P task also moves only
	 * where the cores become more even.
	 */
	return (unsigned long long)p_d * m->cores < t->polling &&
	       (unsigned long long)p_s * m->cores > t->polling &&
	       p_s >= p_d + 2;
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
static __always_inline int may_take(const struct machine *m,
				    const struct tally *t, u32 to, u32 from,
				    u32 *polling)
{
	const struct queue *d = &t->of_cpu[INDEX(to)];
	const struct queue *s = &t->of_cpu[INDEX(from)];
	int siblings = m->core_of[INDEX(to)] == m->core_of[INDEX(from)];

	if (siblings && is_colocated(d, s))
		return 0;
	*polling = takes_polling(m, t, to, from) && s->polling;
	return *polling || s->compute;
}

/* How far apart two CPUs are: 0 for siblings, 1 for the same cache, else 2. */
static __always_inline u32 distance(const struct machine *m, u32 a, u32 b)
{
	if (m->core_of[INDEX(a)] == m->core_of[INDEX(b)])
		return 0;
	return m->cache_of[INDEX(a)] == m->cache_of[INDEX(b)] ? 1 : 2;
}

/*
 * The task that CPU @to takes over now. The nearest CPU comes first, then the
 * most loaded one, then the one with the lowest number.
 */
static __always_inline struct steal next_steal(const struct machine *m,
					       const struct tally *t, u32 to)
{
	struct steal found = { NO_CPU, 0 };
	u32 own = load_of(&t->of_cpu[INDEX(to)]);
	u32 near = 3, most = 0;
	int from;

	EACH(from, m->cpus) {
		u32 load = load_of(&t->of_cpu[INDEX(from)]), apart, polling = 0;

		if (m->core_of[INDEX(from)] == NO_CPU || load < own + THRESHOLD)
			continue;
		apart = distance(m, to, from);
		if (apart > near || (apart == near && load <= most))
			continue;
		if (!may_take(m, t, to, from, &polling))
			continue;
		near = apart;
		most = load;
		found.from = from;
		found.polling = polling;
	}
	return found;
}

/* The CPU whose C task makes room for a P task that comes to @to. */
static __always_inline u32 giver(const struct machine *m, const struct tally *t,
				 u32 from, u32 to)
{
	u32 cpu = m->first_cpu[INDEX(m->core_of[INDEX(to)])];
	int n;

	if (t->of_cpu[INDEX(to)].compute)
		return to;
	EACH(n, MOST_THREADS) {
		if (cpu == NO_CPU)
			break;
		if (cpu != to && cpu != from && t->of_cpu[INDEX(cpu)].compute)
			return cpu;
		cpu = m->next_cpu[INDEX(cpu)];
	}
	return NO_CPU;
}

/* Of a core: its CPU with the fewest P tasks but at least one, or NO_CPU. */
static __always_inline u32 fewest_polling(const struct machine *m,
					  const struct tally *t, u32 core,
					  u32 but)
{
	u32 cpu = m->first_cpu[INDEX(core)], found = NO_CPU, fewest = NO_CPU;
	int n;

	EACH(n, MOST_THREADS) {
		u32 polling;

		if (cpu == NO_CPU)
			break;
		polling = t->of_cpu[INDEX(cpu)].polling;
		if (polling && cpu != but && polling <= fewest) {
			fewest = polling;
			found = cpu;
		}
		cpu = m->next_cpu[INDEX(cpu)];
	}
	return found;
}

/*
 * Of a core: its CPU with the most P tasks; of those the one with the lowest
 * load where @by_load, then the first.
 */
static __always_inline u32 most_polling(const struct machine *m,
					const struct tally *t, u32 core,
					int by_load)
{
	u32 cpu = m->first_cpu[INDEX(core)], found = NO_CPU, most = 0, least = 0;
	int n;

	EACH(n, MOST_THREADS) {
		u32 polling, load;

		if (cpu == NO_CPU)
			break;
		polling = t->of_cpu[INDEX(cpu)].polling;
		load = by_load ? load_of(&t->of_cpu[INDEX(cpu)]) : 0;
		if (found == NO_CPU || polling > most ||
		    (polling == most && load < least)) {
			most = polling;
			least = load;
			found = cpu;
		}
		cpu = m->next_cpu[INDEX(cpu)];
	}
	return found;
}

/* The core with the most P tasks, if it has two more than @core at least. */
static __always_inline u32 richest(const struct machine *m,
				   const struct tally *t, u32 core)
{
	u32 most = t->polling_of_core[INDEX(core)] + 1, found = NO_CPU;
	int other;

	EACH(other, m->cores) {
		if (t->polling_of_core[INDEX(other)] > most) {
			most = t->polling_of_core[INDEX(other)];
			found = other;
		}
	}
	return found;
}

/* Whether a C task shares its CPU, so that it could come to @cpu. */
static __always_inline int is_wanted(const struct machine *m,
				     const struct tally *t, u32 cpu)
{
	int other, found = 0;

	EACH(other, m->cpus) {
		const struct queue *queue = &t->of_cpu[INDEX(other)];

		if ((u32)other != cpu && m->core_of[INDEX(other)] != NO_CPU &&
		    queue->compute && load_of(queue) > 1)
			found = 1;
	}
	return found;
}

/* The next swap of @core: it takes a P task over, or gathers its own. */
static __always_inline struct swap next_swap(const struct machine *m,
					     const struct tally *t, u32 core)
{
	struct swap swap = { NO_CPU, NO_CPU, NO_CPU };
	u32 rich = richest(m, t, core);

	if (rich != NO_CPU) {
		swap.from = fewest_polling(m, t, rich, NO_CPU);
		swap.to = most_polling(m, t, core, 1);
		swap.back = giver(m, t, swap.from, swap.to);
		return swap;
	}
	swap.to = most_polling(m, t, core, 0);
	swap.from = fewest_polling(m, t, core, swap.to);
	if (swap.from == NO_CPU)
		return swap;
	swap.back = giver(m, t, swap.from, swap.to);
	if (swap.back == NO_CPU && load_of(&t->of_cpu[INDEX(swap.from)]) == 1 &&
	    !is_wanted(m, t, swap.from))
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
