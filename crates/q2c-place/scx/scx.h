/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parts of the kernel's interface that the scheduler uses. Names, fields and
 * functions are found in the running kernel's type information when the program
 * is loaded, so that one object serves several kernels. A name of a function
 * that ends with ___ and more is looked up without that.
 */
#ifndef Q2C_SCX_H
#define Q2C_SCX_H

typedef unsigned char u8;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;
typedef _Bool bool;

#define NULL ((void *)0)
#define SEC(name) __attribute__((section(name), used))
#define __always_inline inline __attribute__((always_inline))
#define __uint(name, val) int(*name)[val]
#define __type(name, val) typeof(val) *name
#define KFUNC extern __attribute__((section(".ksyms"), weak))
#define EXISTS(kfunc) (!!(kfunc))

/* uapi/linux/bpf.h */
#define MAP_TASK_STORAGE 29
#define NO_PREALLOC 1
#define STORAGE_CREATE 1

static u64 (*ktime_get_ns)(void) = (void *)5;
static u32 (*get_smp_processor_id)(void) = (void *)8;
static long (*probe_read_kernel_str)(void *to, u32 size,
				     const void *from) = (void *)115;
static u64 (*jiffies64)(void) = (void *)118;
static void *(*task_storage_get)(void *map, void *task, void *value,
				 u64 flags) = (void *)156;
static void *(*get_current_task_btf)(void) = (void *)158;

struct bpf_iter_num {
	u64 opaque[1];
} __attribute__((aligned(8)));
KFUNC int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end);
KFUNC int *bpf_iter_num_next(struct bpf_iter_num *it);
KFUNC void bpf_iter_num_destroy(struct bpf_iter_num *it);

/* A loop that the verifier need not unroll; leave it by break only. */
#define EACH(i, n)                                                             \
	for (struct bpf_iter_num it_##i __attribute__((                        \
		     aligned(8), cleanup(bpf_iter_num_destroy))),              \
	     *go_##i __attribute__((unused)) =                                 \
		     (bpf_iter_num_new(&it_##i, 0, (n)),                       \
		      (void)bpf_iter_num_destroy, (void *)0);                  \
	     ({                                                                \
		     int *next = bpf_iter_num_next(&it_##i);                   \
		     (next && ((i = *next), 1));                               \
	     });)

#pragma clang attribute push(__attribute__((preserve_access_index)),           \
			     apply_to = record)
/* A declaration alone would not be taken for the kernel's type. */
struct cpumask {
	unsigned long bits[1];
};

struct sched_ext_entity {
	u64 slice;
};

struct task_struct {
	u32 flags;
	s32 pid;
	s32 nr_cpus_allowed;
	const struct cpumask *cpus_ptr;
	char comm[16];
	struct sched_ext_entity scx;
};

enum scx_exit_kind { SCX_EXIT_NONE };

struct scx_exit_info {
	enum scx_exit_kind kind;
	s64 exit_code;
	const char *reason;
	const char *msg;
};
#pragma clang attribute pop

struct scx_init_task_args;

/* kernel/sched/ext_internal.h: the operations and settings that are used. */
struct sched_ext_ops {
	s32 (*select_cpu)(struct task_struct *p, s32 prev_cpu, u64 wake_flags);
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*tick)(struct task_struct *p);
	void (*runnable)(struct task_struct *p, u64 enq_flags);
	void (*quiescent)(struct task_struct *p, u64 deq_flags);
	s32 (*init_task)(struct task_struct *p, struct scx_init_task_args *args);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *info);
	u64 flags;
	u32 timeout_ms;
	char name[128];
};

#define DSQ_LOCAL 0x8000000000000002ULL
#define OPS_ENQ_LAST 2 /* a task is enqueued even if its CPU has no other */
#define KICK_IDLE 1

KFUNC s32 scx_bpf_create_dsq(u64 dsq, s32 node);
KFUNC void scx_bpf_kick_cpu(s32 cpu, u64 flags);
KFUNC s32 scx_bpf_task_cpu(const struct task_struct *p);
KFUNC s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 prev_cpu,
				 u64 wake_flags, bool *is_idle);
KFUNC void scx_bpf_dsq_insert___v1(struct task_struct *p, u64 dsq, u64 slice,
				   u64 enq_flags);
KFUNC bool scx_bpf_dsq_insert___v2___compat(struct task_struct *p, u64 dsq,
					    u64 slice, u64 enq_flags);
KFUNC bool scx_bpf_dsq_move_to_local___v1(u64 dsq);
KFUNC bool scx_bpf_dsq_move_to_local___v2___compat(u64 dsq, u64 enq_flags);
KFUNC bool scx_bpf_task_set_slice(struct task_struct *p, u64 slice);
KFUNC bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *cpumask);

struct bpf_iter_scx_dsq {
	u64 opaque[6];
} __attribute__((aligned(8)));
KFUNC int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq, u64 flags);
KFUNC struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it);
KFUNC void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it);
KFUNC bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *it, struct task_struct *p,
			    u64 dsq, u64 enq_flags);

static __always_inline void insert(struct task_struct *p, u64 dsq, u64 slice,
				   u64 flags)
{
	if (EXISTS(scx_bpf_dsq_insert___v2___compat))
		scx_bpf_dsq_insert___v2___compat(p, dsq, slice, flags);
	else
		scx_bpf_dsq_insert___v1(p, dsq, slice, flags);
}

static __always_inline bool move_to_local(u64 dsq)
{
	if (EXISTS(scx_bpf_dsq_move_to_local___v2___compat))
		return scx_bpf_dsq_move_to_local___v2___compat(dsq, 0);
	return scx_bpf_dsq_move_to_local___v1(dsq);
}

char gpl[] SEC("license") = "GPL";

#endif
