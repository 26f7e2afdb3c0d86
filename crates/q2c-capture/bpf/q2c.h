/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parts of the kernel's interface that q2c's BPF programs use: helpers by
 * their numbers, map types, registers, and the fields of kernel types that are
 * read. The offsets of fields come from the running kernel's type information
 * when a program is loaded. No header of the system is included, so that a
 * build needs clang and nothing else.
 */
#ifndef Q2C_H
#define Q2C_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

#define NULL ((void *)0)
#define SEC(name) __attribute__((section(name), used))
#define __always_inline inline __attribute__((always_inline))
#define __uint(name, val) int(*name)[val]
#define __type(name, val) typeof(val) *name
#define __array(name, val) typeof(val) *name[]

/* uapi/linux/bpf.h: enum bpf_map_type, enum bpf_func_id, flags */
#define MAP_HASH 1
#define MAP_ARRAY 2
#define MAP_PERCPU_ARRAY 6
#define MAP_LRU_HASH 9
#define MAP_ARRAY_OF_MAPS 12
#define MAP_RINGBUF 27
#define ANY 0
#define NOEXIST 1
#define RB_NO_WAKEUP 1ULL

static void *(*map_lookup)(void *map, const void *key) = (void *)1;
/*
 * The helpers of maps return an int: until Linux 6.3 the kernel calls functions
 * that leave the upper half of the register undefined, so that an error does
 * not compare as a negative long.
 */
static int (*map_update)(void *map, const void *key, const void *value,
			 u64 flags) = (void *)2;
static int (*map_delete)(void *map, const void *key) = (void *)3;
static u64 (*ktime_get_ns)(void) = (void *)5;
static u32 (*get_smp_processor_id)(void) = (void *)8;
static u64 (*get_current_pid_tgid)(void) = (void *)14;
static long (*get_current_comm)(void *to, u32 size) = (void *)16;
static u64 (*get_current_cgroup_id)(void) = (void *)80;
static long (*probe_read_kernel)(void *to, u32 size,
				 const void *from) = (void *)113;
static long (*ringbuf_output)(void *ring, void *data, u64 size,
			      u64 flags) = (void *)130;

/* Defines a map that holds one @held for each CPU. */
#define ONE_PER_CPU(name, held)                                              \
	struct {                                                             \
		__uint(type, MAP_PERCPU_ARRAY);                              \
		__uint(max_entries, 1);                                      \
		__type(key, u32);                                            \
		__type(value, held);                                         \
	} name SEC(".maps")

/* The value of this CPU in a map that ONE_PER_CPU defined. */
static __always_inline void *of_this_cpu(void *map)
{
	u32 zero = 0;

	return map_lookup(map, &zero);
}

/* Reads a field of a kernel type, at its offset in the running kernel. */
#define READ(from, field)                                                    \
	({                                                                   \
		typeof((from)->field) __value = 0;                           \
		probe_read_kernel(&__value, sizeof(__value),                 \
				  __builtin_preserve_access_index(           \
					  &(from)->field));                  \
		__value;                                                     \
	})
#define FIELD_EXISTS(field) __builtin_preserve_field_info(field, 2)
#define FIELD_OFFSET(field) __builtin_preserve_field_info(field, 0)
/*
 * Takes a field from @bytes, the first bytes of the kernel object @from, which
 * were read at once.
 */
#define IN(bytes, from, field)                                               \
	(*(typeof((from)->field) *)((bytes) + FIELD_OFFSET((from)->field)))
#define ENUM_EXISTS(type, value)                                             \
	__builtin_preserve_enum_value(*(typeof(type) *)value, 0)
#define ENUM_VALUE(type, value)                                              \
	__builtin_preserve_enum_value(*(typeof(type) *)value, 1)

#if defined(Q2C_X86_64)
struct registers {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8;
	unsigned long ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};
#define ARG1(regs) ((regs)->di)
#define ARG2(regs) ((regs)->si)
/* At a function's entry the return address is on top of the stack. */
#define RETURNS_TO(regs)                                                     \
	({                                                                   \
		u64 __to = 0;                                                \
		probe_read_kernel(&__to, sizeof(__to), (void *)(regs)->sp);  \
		__to;                                                        \
	})
#elif defined(Q2C_ARM64)
struct registers {
	unsigned long regs[31], sp, pc, pstate;
};
#define ARG1(regs) ((regs)->regs[0])
#define ARG2(regs) ((regs)->regs[1])
#define RETURNS_TO(regs) ((u64)(regs)->regs[30])
#else
#error "no registers known for this processor"
#endif

#pragma clang attribute push(__attribute__((preserve_access_index)),         \
			     apply_to = record)
struct gendisk {
	int major;
	int first_minor;
};

struct request_queue {
	struct gendisk *disk; /* since 5.15 */
};

struct blk_mq_hw_ctx {
	struct request_queue *queue;
	unsigned int queue_num;
};

struct bio;

struct request {
	struct request_queue *q;
	struct blk_mq_hw_ctx *mq_hctx;
	unsigned int cmd_flags;
	unsigned int rq_flags;
	int tag;
	int internal_tag;
	unsigned int __data_len;
	struct bio *bio;
	struct bio *biotail;
};

struct request___disk { /* until 5.16 */
	struct gendisk *rq_disk;
};
#pragma clang attribute pop

/* The device to watch; set before the program is loaded. */
volatile const u32 wanted_major = 0;
volatile const u32 wanted_minor = 0;

/*
 * The request queue of that device, learnt from its first request; 0 before.
 * From then on a request of another device costs one comparison.
 */
u64 wanted_queue = 0;

static __always_inline struct gendisk *disk_of(struct request *rq)
{
	struct request___disk *old = (void *)rq;
	struct request_queue *q;

	if (FIELD_EXISTS(old->rq_disk))
		return READ(old, rq_disk);
	q = READ(rq, q);
	if (FIELD_EXISTS(q->disk))
		return READ(q, disk);
	return NULL;
}

static __always_inline int is_wanted(struct request *rq)
{
	u64 queue = (u64)READ(rq, q);
	struct gendisk *disk;

	if (wanted_queue)
		return queue == wanted_queue;
	disk = disk_of(rq);
	if (!disk || (u32)READ(disk, major) != wanted_major ||
	    (u32)READ(disk, first_minor) != wanted_minor)
		return 0;
	wanted_queue = queue;
	return 1;
}

enum req_flag_bits___until_515 { __REQ_HIPRI = 0 };
enum req_flag_bits___since_516 { __REQ_POLLED = 0 };

/* Whether the request's submitter polls for it, by its flags (cmd_flags). */
static __always_inline int is_polled(u32 flags)
{
	u64 bit = 64;

	if (ENUM_EXISTS(enum req_flag_bits___since_516, __REQ_POLLED))
		bit = ENUM_VALUE(enum req_flag_bits___since_516, __REQ_POLLED);
	else if (ENUM_EXISTS(enum req_flag_bits___until_515, __REQ_HIPRI))
		bit = ENUM_VALUE(enum req_flag_bits___until_515, __REQ_HIPRI);
	return bit < 64 && ((u64)flags >> bit) & 1;
}

char gpl[] SEC("license") = "GPL";

#endif
