// SPDX-License-Identifier: GPL-2.0
/*
 * A scheduler for machines with SMT cores: polling tasks are spread over the
 * cores, and stay on one logical CPU of each.
 *
 * Every CPU has a queue. A task waits in the queue of its home; the rules of
 * rules.h change homes when a CPU balances. A task that waits is moved at once,
 * one that runs when it is next put into a queue.
 */
#include "scx.h"
#include "machine.h"

#define SLICE_NS 5000000ULL
#define BALANCE_NS 32000000ULL /* between two balances of a busy CPU */
#define MOST_MOVES 4 /* of one balance */
#define PF_KTHREAD 0x00200000

/* Set by the loader (src/scx/settings.rs), and alone in its section. */
struct settings {
	u64 window_ns; /* of the predictor */
	struct machine machine;
};
SEC(".rodata.settings") const volatile struct settings settings;

struct tally tally;

/* The compiler must not take the settings for the zeros that they are here. */
static __always_inline const struct machine *the_machine(void)
{
	const struct machine *loaded = (const struct machine *)&settings.machine;

	asm volatile("" : "+r"(loaded));
	return loaded;
}

#define M the_machine()
#define T (&tally)
#include "rules.h"

/* What the loader reads (src/scx/report.rs), alone in its section. */
struct report {
	u64 steals;
	u64 swaps;
	u64 redirects;
	u64 classes; /* changes of a task's class */
	/* Why the kernel ended the scheduler. */
	s64 code;
	u32 kind;
	u32 unused;
	char reason[128];
	char msg[256];
};
SEC(".data.report") struct report report = {};

/* A running task of the class is to leave the CPU for another home. */
struct redirect {
	u32 to; /* NO_CPU, plus 1, so that 0 is none */
	u32 polling;
};
struct redirect redirects[MAX_CPUS];

u64 balanced_ns[MAX_CPUS];

struct known {
	u64 polled_ns;
	u64 polled_tick;
	u64 window_ends;
	u32 home;
	u32 counter;
	u32 counted; /* whether the tally has the task */
	u32 unused;
};

struct {
	__uint(type, MAP_TASK_STORAGE);
	__uint(map_flags, NO_PREALLOC);
	__type(key, int);
	__type(value, struct known);
} tasks SEC(".maps");

static __always_inline struct known *known_of(struct task_struct *p)
{
	return task_storage_get(&tasks, p, NULL, 0);
}

static __always_inline void count(u32 cpu, int polling, int more)
{
	struct queue *queue = &tally.of_cpu[INDEX(cpu)];
	u32 core = M->core_of[INDEX(cpu)];

	if (!polling) {
		__sync_fetch_and_add(&queue->compute, more);
		return;
	}
	__sync_fetch_and_add(&queue->polling, more);
	__sync_fetch_and_add(&tally.polling, more);
	if (core != NO_CPU)
		__sync_fetch_and_add(&tally.polling_of_core[INDEX(core)], more);
}

static __always_inline void set_home(struct known *known, u32 home)
{
	int polling = is_polling(known->counter);

	if (known->home == home)
		return;
	if (known->counted) {
		count(known->home, polling, -1);
		count(home, polling, 1);
	}
	known->home = home;
}

/* Tasks of one CPU, and the kernel's threads, are never placed. */
static __always_inline bool is_placed(struct task_struct *p)
{
	return p->nr_cpus_allowed > 1 && !(p->flags & PF_KTHREAD);
}

static __always_inline bool may_run_on(struct task_struct *p, u32 cpu)
{
	return cpu < MAX_CPUS && bpf_cpumask_test_cpu(cpu, p->cpus_ptr);
}

/* Threads of io_uring that poll a submission queue have this name. */
static __always_inline bool is_submission_thread(struct task_struct *p)
{
	return p->comm[0] == 'i' && p->comm[1] == 'o' && p->comm[2] == 'u' &&
	       p->comm[3] == '-' && p->comm[4] == 's' && p->comm[5] == 'q' &&
	       p->comm[6] == 'p';
}

/* Which tasks poll; see crates/q2c-capture/probes/polls. */
static __always_inline int note(void)
{
	struct task_struct *p = get_current_task_btf();
	struct known *known = task_storage_get(&tasks, p, NULL, 0);
	u64 tick = jiffies64();

	if (!known || known->polled_tick == tick)
		return 0;
	known->polled_tick = tick;
	known->polled_ns = ktime_get_ns();
	return 0;
}

SEC("fentry/blk_mq_poll")
int blk_mq_poll(void *args)
{
	(void)args;
	return note();
}

SEC("fentry/blk_hctx_poll")
int blk_hctx_poll(void *args)
{
	(void)args;
	return note();
}

/* Moves a waiting task of the class from one queue to another. */
SEPARATE int move_waiting(u32 from, u32 to, u32 polling)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;
	bool moved = 0;
	int n;

	if (bpf_iter_scx_dsq_new(&it, from, 0)) {
		bpf_iter_scx_dsq_destroy(&it);
		return 0;
	}
	EACH(n, 64) {
		struct known *known;

		p = bpf_iter_scx_dsq_next(&it);
		if (!p)
			break;
		known = known_of(p);
		if (!known || is_polling(known->counter) != (int)polling)
			continue;
		if (!is_placed(p) || !may_run_on(p, to))
			continue;
		if (scx_bpf_dsq_move(&it, p, to, 0)) {
			set_home(known, to);
			moved = 1;
			break;
		}
	}
	bpf_iter_scx_dsq_destroy(&it);
	if (moved)
		scx_bpf_kick_cpu(to, KICK_IDLE);
	return moved;
}

/* Moves a task of the class: a waiting one now, else the running one soon. */
static __always_inline int move(u32 from, u32 to, u32 polling)
{
	if (move_waiting(from, to, polling))
		return 1;
	redirects[INDEX(from)].polling = polling;
	redirects[INDEX(from)].to = to + 1;
	__sync_fetch_and_add(&report.redirects, 1);
	return 0;
}

/*
 * What the rules ask of a CPU. After a few moves, or where a running task has to
 * leave its CPU first, the next balance goes on.
 */
SEPARATE int balance(u32 cpu)
{
	struct swap swap;
	/* A counter would keep the verifier from seeing that the loop ends. */
	int n, stole = 0;

	EACH(n, MOST_MOVES) {
		u64 steal = next_steal(cpu);

		if (steal == NONE)
			break;
		stole = 1;
		__sync_fetch_and_add(&report.steals, 1);
		if (!move((u32)steal, cpu, steal >> 32))
			break;
	}
	if (stole)
		return 1;
	swap = next_swap(M->core_of[INDEX(cpu)]);
	if (swap.from == NO_CPU || swap.to == NO_CPU)
		return 0;
	__sync_fetch_and_add(&report.swaps, 1);
	move(swap.from, swap.to, 1);
	if (swap.back != NO_CPU)
		move(swap.back, swap.from, 0);
	return 1;
}

SEC("struct_ops/q2c_select_cpu")
s32 q2c_select_cpu(u64 *args)
{
	struct task_struct *p = (void *)args[0];
	s32 prev_cpu = args[1], cpu;
	struct known *known = known_of(p);
	bool idle = 0;

	if (known && is_polling(known->counter) && may_run_on(p, known->home))
		return known->home;
	cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, args[2], &idle);
	if (idle) {
		if (known)
			set_home(known, cpu);
		insert(p, DSQ_LOCAL, SLICE_NS, 0);
	}
	return cpu;
}

/* A running task that a balance redirected gets its new home here. */
static __always_inline void follow_redirect(struct task_struct *p,
					    struct known *known)
{
	struct redirect *redirect = &redirects[INDEX(known->home)];
	u32 to = redirect->to;

	if (!to || is_polling(known->counter) != (int)redirect->polling)
		return;
	redirect->to = 0;
	if (may_run_on(p, to - 1))
		set_home(known, to - 1);
}

SEC("struct_ops/q2c_enqueue")
int q2c_enqueue(u64 *args)
{
	struct task_struct *p = (void *)args[0];
	struct known *known = known_of(p);

	if (!known || !is_placed(p)) {
		insert(p, DSQ_LOCAL, SLICE_NS, args[1]);
		return 0;
	}
	follow_redirect(p, known);
	if (!may_run_on(p, known->home))
		set_home(known, scx_bpf_task_cpu(p));
	insert(p, known->home, SLICE_NS, args[1]);
	if (known->home != get_smp_processor_id())
		scx_bpf_kick_cpu(known->home, KICK_IDLE);
	return 0;
}

SEC("struct_ops/q2c_dispatch")
int q2c_dispatch(u64 *args)
{
	u32 cpu = (s32)args[0];
	u64 now = ktime_get_ns();

	if (cpu >= MAX_CPUS || M->core_of[INDEX(cpu)] == NO_CPU) {
		move_to_local(cpu);
		return 0;
	}
	if (now >= balanced_ns[INDEX(cpu)] + BALANCE_NS) {
		balanced_ns[INDEX(cpu)] = now;
		balance(cpu);
	}
	if (move_to_local(cpu))
		return 0;
	balance(cpu);
	move_to_local(cpu);
	return 0;
}

/* Ends a window of the predictor. */
static __always_inline void predict(struct task_struct *p, struct known *known,
				    u64 now)
{
	bool polled = known->polled_ns + settings.window_ns >= now ||
		      is_submission_thread(p);
	int before = is_polling(known->counter);
	int after;

	known->window_ends = now + settings.window_ns;
	known->counter = after_window(known->counter, polled);
	after = is_polling(known->counter);
	if (before == after)
		return;
	__sync_fetch_and_add(&report.classes, 1);
	if (known->counted) {
		count(known->home, before, -1);
		count(known->home, after, 1);
	}
}

SEC("struct_ops/q2c_tick")
int q2c_tick(u64 *args)
{
	struct task_struct *p = (void *)args[0];
	struct known *known = known_of(p);
	struct redirect *redirect;
	u64 now = ktime_get_ns();

	if (!known || !is_placed(p))
		return 0;
	if (now >= known->window_ends)
		predict(p, known, now);
	redirect = &redirects[INDEX(known->home)];
	if (redirect->to && is_polling(known->counter) == (int)redirect->polling) {
		if (EXISTS(scx_bpf_task_set_slice))
			scx_bpf_task_set_slice(p, 0);
		else
			p->scx.slice = 0;
	}
	return 0;
}

SEC("struct_ops/q2c_runnable")
int q2c_runnable(u64 *args)
{
	struct task_struct *p = (void *)args[0];
	struct known *known = known_of(p);

	if (known && is_placed(p) && !known->counted) {
		known->counted = 1;
		count(known->home, is_polling(known->counter), 1);
	}
	return 0;
}

SEC("struct_ops/q2c_quiescent")
int q2c_quiescent(u64 *args)
{
	struct task_struct *p = (void *)args[0];
	struct known *known = known_of(p);

	if (known && known->counted) {
		known->counted = 0;
		count(known->home, is_polling(known->counter), -1);
	}
	return 0;
}

SEC("struct_ops.s/q2c_init_task")
s32 q2c_init_task(u64 *args)
{
	struct task_struct *p = (void *)args[0];
	struct known *known;

	known = task_storage_get(&tasks, p, NULL, STORAGE_CREATE);
	if (!known)
		return -12; /* ENOMEM */
	known->counter = 1;
	known->home = scx_bpf_task_cpu(p);
	return 0;
}

SEC("struct_ops.s/q2c_init")
s32 q2c_init(u64 *args)
{
	int cpu, error = 0;

	(void)args;
	EACH(cpu, M->cpus) {
		error = scx_bpf_create_dsq(cpu, -1);
		if (error)
			break;
	}
	return error;
}

SEC("struct_ops/q2c_exit")
int q2c_exit(u64 *args)
{
	struct scx_exit_info *info = (void *)args[0];

	probe_read_kernel_str(report.reason, sizeof(report.reason), info->reason);
	probe_read_kernel_str(report.msg, sizeof(report.msg), info->msg);
	report.code = info->exit_code;
	report.kind = info->kind;
	return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops q2c = {
	.select_cpu = (void *)q2c_select_cpu,
	.enqueue = (void *)q2c_enqueue,
	.dispatch = (void *)q2c_dispatch,
	.tick = (void *)q2c_tick,
	.runnable = (void *)q2c_runnable,
	.quiescent = (void *)q2c_quiescent,
	.init_task = (void *)q2c_init_task,
	.init = (void *)q2c_init,
	.exit = (void *)q2c_exit,
	.flags = OPS_ENQ_LAST,
	.timeout_ms = 10000,
	.name = "q2c",
};
