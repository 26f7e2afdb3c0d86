// SPDX-License-Identifier: GPL-2.0
/*
 * Makes one record of each I/O of some devices, when it is complete.
 *
 * An I/O is a bio. Its address is its key from queued (block_bio_queue) to
 * complete. Events of requests find the I/O through the request's first bio. A
 * request that carries several bios (after merges) is walked when it completes,
 * and each bio becomes a record of its own.
 */
#include "q2c.h"
#include "record.h"

#define DEVICES 8
/* bios; the kernel takes the memory at the start: 14 MB */
#define IN_FLIGHT 65536
#define CPUS 4096
#define HARDWARE_QUEUES 1024
#define MOST_MERGED 256 /* bios of one request that are walked */
/* A placeholder: block_io.rs makes the rings before the start. */
#define RING (1 << 16)

#define OP_MASK 255U /* REQ_OP_MASK */
#define PREFLUSH_OP 2U
#define ERRNO_EXISTS -17

#pragma clang attribute push(__attribute__((preserve_access_index)),         \
			     apply_to = record)
struct bvec_iter {
	u64 bi_sector;
	u32 bi_size;
};

struct block_device {
	struct gendisk *bd_disk;
};

struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev; /* since 5.12 */
	u32 bi_opf;
	u8 bi_status;
	struct bvec_iter bi_iter;
	void *bi_private;
};

struct bio___disk { /* until 5.11 */
	struct gendisk *bi_disk;
};
#pragma clang attribute pop

/* The loader replaces these numbers by those of the running kernel. */
enum req_flag_bits {
	__REQ_SYNC = 11,
	__REQ_META = 12,
	__REQ_FUA = 17,
	__REQ_PREFLUSH = 18,
	__REQ_RAHEAD = 19,
};
enum rqf_flags { __RQF_FLUSH_SEQ = 0 };

/* Set before the programs are loaded. */
volatile const u32 devices[DEVICES] = {}; /* major << 20 | minor; 0: none */
volatile const u32 ops = 0; /* wanted operations, a bit for each enum op */
volatile const u32 least_bytes = 0;
volatile const u32 most_bytes = 0;
volatile const u32 wanted_pid = 0; /* 0: all */
volatile const u64 latency_above = 0;
volatile const u32 all_have_requests = 0; /* no disk takes bios alone */
/* RQF_FLUSH_SEQ, where the kernel's types do not name it */
volatile const u32 flush_sequence = 0;

/*
 * The one wanted disk and its number, once it was seen, so that most bios need
 * one comparison. Both stay 0 when several disks are wanted.
 */
u64 known_disk = 0;
u32 known_device = 0;

struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, IN_FLIGHT);
	__type(key, u64);
	__type(value, struct io);
} ios SEC(".maps");

/* Each CPU has a ring of its own, so that none waits for another. */
struct ring {
	__uint(type, MAP_RINGBUF);
	__uint(max_entries, RING);
};

struct {
	__uint(type, MAP_ARRAY_OF_MAPS);
	__uint(max_entries, CPUS);
	__type(key, u32);
	__type(value, u32);
	__array(values, struct ring);
} rings SEC(".maps");

ONE_PER_CPU(counted, struct counts);

/* Time when the kernel's own flush was issued last, by hardware queue. */
struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, HARDWARE_QUEUES);
	__type(key, u32);
	__type(value, u64);
} flushes SEC(".maps");

/* The addition is atomic, because programs may interrupt each other. */
#define COUNT(field)                                                         \
	({                                                                   \
		u32 __zero = 0;                                              \
		struct counts *__counts = map_lookup(&counted, &__zero);     \
		if (__counts)                                                \
			__sync_fetch_and_add(&__counts->field, 1);           \
	})

#define ALIGNED __attribute__((aligned(8)))
#define BIO_BYTES 64
#define REQUEST_BYTES 96

static __always_inline u32 device_of(struct gendisk *disk)
{
	u32 device, i;

	if (!disk)
		return 0;
	if (known_disk == (u64)disk)
		return known_device;
	device = (u32)READ(disk, major) << 20 | (u32)READ(disk, first_minor);
#pragma unroll
	for (i = 0; i < DEVICES; i++)
		if (device && device == devices[i]) {
			if (!devices[1]) {
				known_device = device;
				known_disk = (u64)disk;
			}
			return device;
		}
	return 0;
}

static __always_inline u32 bit(u32 flags, u64 number, u32 as)
{
	return flags >> number & 1 ? as : 0;
}

#define FLAG(name) ENUM_VALUE(enum req_flag_bits, name)

static __always_inline u32 flags_of(u32 opf)
{
	return bit(opf, FLAG(__REQ_SYNC), FLAG_SYNC) |
	       bit(opf, FLAG(__REQ_META), FLAG_META) |
	       bit(opf, FLAG(__REQ_FUA), FLAG_FUA) |
	       bit(opf, FLAG(__REQ_RAHEAD), FLAG_READAHEAD);
}

static __always_inline u32 polled(u32 flags)
{
	return is_polled(flags) ? FLAG_POLLED : 0;
}

static __always_inline u8 op_of(u32 opf, u32 bytes)
{
	switch (opf & OP_MASK) {
	case 0:
		return READ_OP;
	case 1:
		return !bytes && bit(opf, FLAG(__REQ_PREFLUSH), 1) ? FLUSH_OP :
								     WRITE_OP;
	case PREFLUSH_OP:
		return FLUSH_OP;
	case 3: /* discard */
	case 5: /* secure erase */
		return DISCARD_OP;
	default:
		return OTHER_OP;
	}
}

static __always_inline int is_passthrough(u32 opf)
{
	u32 op = opf & OP_MASK;

	return op >= 32 && op <= 35; /* SCSI_IN to DRV_OUT */
}

static __always_inline int is_flush_sequence(u32 rq_flags)
{
	if (ENUM_EXISTS(enum rqf_flags, __RQF_FLUSH_SEQ))
		return rq_flags >> ENUM_VALUE(enum rqf_flags, __RQF_FLUSH_SEQ) &
		       1;
	return (rq_flags & flush_sequence) != 0;
}

/* Fills in who queues the I/O. False: the process is not a wanted one. */
static __always_inline int by_whom(struct io *io)
{
	u64 id = get_current_pid_tgid();

	io->pid = id >> 32;
	io->tid = (u32)id;
	if (wanted_pid && wanted_pid != io->pid)
		return 0;
	io->cpu_submit = get_smp_processor_id();
	io->cgroup = get_current_cgroup_id();
	get_current_comm(io->comm, sizeof(io->comm));
	return 1;
}

static __always_inline struct io *found(u64 key)
{
	return key ? map_lookup(&ios, &key) : NULL;
}

/*
 * The bio is queued again, and the end of the I/O that it was before was not
 * seen. An I/O that may not wait ends without a request when it would have to
 * wait for one, or would have to be split; its submitter queues it again.
 */
static __always_inline void was_over(u64 key)
{
	struct io *before = found(key);

	if (before && all_have_requests && !before->getrq_ns &&
	    !before->issue_ns)
		COUNT(refused);
	else
		COUNT(unended);
}

static __always_inline void keep(u64 key, struct io *io)
{
	int failed = map_update(&ios, &key, io, NOEXIST);

	if (failed == ERRNO_EXISTS) {
		was_over(key);
		failed = map_update(&ios, &key, io, ANY);
	}
	if (failed)
		COUNT(map_full);
}

static __always_inline int queue(struct bio *bio)
{
	struct bio___disk *old = (void *)bio;
	struct io io = {};
	u8 bytes[BIO_BYTES] ALIGNED;
	u32 opf;

	if (probe_read_kernel(bytes, sizeof(bytes), bio))
		return 0;
	if (FIELD_EXISTS(old->bi_disk)) {
		io.device = device_of(IN(bytes, old, bi_disk));
	} else {
		struct block_device *bdev = IN(bytes, bio, bi_bdev);

		io.device = device_of(READ(bdev, bd_disk));
	}
	if (!io.device)
		return 0;
	opf = IN(bytes, bio, bi_opf);
	io.bytes = IN(bytes, bio, bi_iter.bi_size);
	io.op = op_of(opf, io.bytes);
	if (!(ops >> io.op & 1) || !by_whom(&io))
		return 0;
	io.queue_ns = ktime_get_ns();
	io.bio = (u64)bio;
	io.sector = IN(bytes, bio, bi_iter.bi_sector);
	io.flags = flags_of(opf);
	io.hctx = NO_QUEUE;
	io.tag = -1;
	keep((u64)bio, &io);
	return 0;
}

/* The bio joins another's request (M), or gets one of its own (G). */
static __always_inline int merges(struct bio *bio)
{
	struct io *io = found((u64)bio);

	if (io)
		io->getrq_ns = ktime_get_ns();
	return 0;
}

static __always_inline int gets_request(struct bio *bio)
{
	return merges(bio);
}

/*
 * A bio was cut in two: the front part has a new bio, the rest keeps the old
 * one. Both take the time queued of the whole.
 */
static __always_inline int split(struct bio *front)
{
	struct bio *rest = READ(front, bi_private);
	struct io *io = found((u64)rest);
	struct io part;

	if (!io)
		return 0;
	COUNT(splits);
	io->flags |= FLAG_SPLIT;
	part = *io;
	part.bio = (u64)front;
	part.sector = READ(front, bi_iter.bi_sector);
	part.bytes = READ(front, bi_iter.bi_size);
	io->sector = READ(rest, bi_iter.bi_sector);
	io->bytes = READ(rest, bi_iter.bi_size);
	keep((u64)front, &part);
	return 0;
}

static __always_inline int insert(struct request *rq)
{
	struct io *io = found((u64)READ(rq, bio));

	if (io && !io->insert_ns)
		io->insert_ns = ktime_get_ns();
	return 0;
}

static __always_inline int requeue(struct request *rq)
{
	if (found((u64)READ(rq, bio)))
		COUNT(requeues);
	return 0;
}

/*
 * The issue of a request whose bio was not seen queued. Two kinds matter:
 * passthrough, which begins here, and the kernel's own flushes.
 */
static __always_inline int issue_other(struct request *rq)
{
	u32 opf = READ(rq, cmd_flags);
	u32 device = device_of(disk_of(rq)), queue;
	struct io io = {};
	u64 now;

	if (!device)
		return 0;
	if (is_passthrough(opf)) {
		io.op = OTHER_OP;
		if (!(ops >> io.op & 1) || !by_whom(&io))
			return 0;
		io.issue_ns = ktime_get_ns();
		io.bio = (u64)rq;
		io.device = device;
		io.bytes = READ(rq, __data_len);
		io.hctx = NO_QUEUE;
		keep((u64)rq, &io);
	} else if (!READ(rq, bio) && (opf & OP_MASK) == PREFLUSH_OP) {
		struct blk_mq_hw_ctx *hctx = READ(rq, mq_hctx);

		COUNT(flushes);
		now = ktime_get_ns();
		queue = READ(hctx, queue_num);
		map_update(&flushes, &queue, &now, ANY);
	}
	return 0;
}

static __always_inline int issue(struct request *rq)
{
	struct io *io = found((u64)READ(rq, bio));

	if (!io)
		return issue_other(rq);
	io->issue_ns = ktime_get_ns();
	return 0;
}

/*
 * Whether no filter by operation can have hidden the bios of a completing
 * request. One without data is a flush, or the end of a write's flush sequence:
 * the kernel has taken off the flags that would tell.
 */
static __always_inline int are_known(u32 flags, u32 bytes)
{
	u32 either = 1U << FLUSH_OP | 1U << WRITE_OP;
	u32 wanted = bytes ? 1U << op_of(flags, bytes) : either;

	return (ops & wanted) == wanted;
}

/* Facts that all bios of a completing request share. */
struct end {
	u64 now;
	u64 issue_ns;
	u64 lead;
	u64 how; /* see how_of() */
	/* 1: no filter by process or operation hid the queueing of its bios */
	u32 known;
};

/*
 * Hardware queue, tag, error and flags in one number, because a function that
 * the kernel verifies by itself can take no more than five arguments.
 */
#define HCTX(how) ((u32)((how) & 0xffff))
#define TAG(how) ((u32)((how) >> 16 & 0xffff))
#define ERROR(how) ((s32)((how) >> 32 & 0xffff)) /* its sign is in bit 15 */
#define FLAGS(how) ((u32)((how) >> 48 & 0xff))
#define SHARED (1ULL << 56) /* the request carries several bios */
#define NOTHING 0xffffU /* no hardware queue, or no tag */

static __always_inline u64 how_of(u32 hctx, s32 tag, s32 error, u32 flags)
{
	return (hctx & 0xffff) | (u64)(tag & 0xffff) << 16 |
	       (u64)(error & 0xffff) << 32 | (u64)flags << 48;
}

/*
 * The time when a flush without data was issued: that of the kernel's own flush
 * which carries it out; 0 when none was issued since it was queued.
 */
static __always_inline u64 flush_issued(struct io *io, u32 queue)
{
	u64 *at = map_lookup(&flushes, &queue);

	return at && *at >= io->getrq_ns && *at >= io->queue_ns ? *at : 0;
}

static __always_inline int is_of_size(u32 bytes)
{
	return bytes >= least_bytes && bytes <= most_bytes;
}

static __always_inline int is_wanted_at_end(struct io *io, u64 now)
{
	u64 from = io->queue_ns ? io->queue_ns : io->issue_ns;

	return is_of_size(io->bytes) &&
	       (!latency_above || now - from > latency_above);
}

/*
 * Ends an I/O: hands its record over if it is wanted, and forgets it. Returns
 * whether it was seen queued. The function is not static, so that the kernel
 * verifies it once and not for each bio of a request.
 */
__attribute__((noinline)) int over(u64 key, u64 now, u64 issue_ns, u64 lead,
				   u64 how)
{
	u32 cpu = get_smp_processor_id();
	struct io *io = found(key);
	void *ring;

	if (!io)
		return 0;
	io->complete_ns = now;
	io->issue_ns = issue_ns;
	if (!issue_ns && io->op == FLUSH_OP && !io->bytes)
		io->issue_ns = flush_issued(io, HCTX(how));
	io->lead = lead == key ? 0 : lead;
	io->carries = how & SHARED && !io->lead;
	if (io->lead)
		COUNT(merges);
	io->hctx = HCTX(how) == NOTHING ? NO_QUEUE : HCTX(how);
	io->tag = TAG(how) == NOTHING ? -1 : (s32)TAG(how);
	io->error = ERROR(how) >= 0x8000 ? ERROR(how) - 0x10000 : ERROR(how);
	io->flags |= FLAGS(how);
	io->cpu_complete = cpu;
	if (is_wanted_at_end(io, now)) {
		ring = map_lookup(&rings, &cpu);
		if (ring && !ringbuf_output(ring, io, sizeof(*io), RB_NO_WAKEUP))
			COUNT(records);
		else
			COUNT(ring_full);
	} else {
		COUNT(filtered);
	}
	map_delete(&ios, &key);
	return 1;
}

/*
 * The I/O that carries the others of a request: the oldest, or, after a partial
 * completion, the one that was the oldest then, which the rest remembers.
 */
static __always_inline u64 lead_of(struct bio *bio, struct bio *tail)
{
	u64 oldest = ~0ULL, lead = 0;
	struct io *io;
	u32 i;

#pragma clang loop unroll(disable)
	for (i = 0; i < MOST_MERGED && bio; i++) {
		io = found((u64)bio);
		if (io && io->lead)
			return io->lead;
		if (io && io->queue_ns < oldest) {
			oldest = io->queue_ns;
			lead = (u64)bio;
		}
		if (bio == tail)
			break;
		bio = READ(bio, bi_next);
	}
	return lead;
}

static __always_inline int end_one(u64 key, struct end *end)
{
	return over(key, end->now, end->issue_ns, end->lead, end->how);
}

/*
 * After a partial completion: @bio is the first that is not over. It takes the
 * issue time and the lead from those before it.
 */
static __always_inline void goes_on(u64 bio, struct end *end)
{
	struct io *io = found(bio);

	if (!io)
		return;
	io->issue_ns = end->issue_ns;
	if (end->lead != bio)
		io->lead = end->lead;
}

/*
 * Ends the bios that the first @done bytes of a request cover, or all of them
 * when @whole is set.
 */
static __always_inline void end_each(struct bio *bio, struct bio *tail, u32 done,
				     int whole, struct end *end)
{
	struct bio *next;
	u32 i, size;

#pragma clang loop unroll(disable)
	for (i = 0; i < MOST_MERGED && bio; i++) {
		next = bio == tail ? NULL : READ(bio, bi_next);
		size = READ(bio, bi_iter.bi_size);
		if (!whole && size > done)
			break;
		done -= size;
		if (!end_one((u64)bio, end) && end->known && is_of_size(size))
			COUNT(unqueued);
		bio = next;
	}
	if (!bio)
		return;
	if (i == MOST_MERGED)
		COUNT(too_merged);
	else
		goes_on((u64)bio, end);
}

/* The end of a request whose one bio, if it has any, was not seen queued. */
static __always_inline void complete_other(struct request *rq, struct bio *bio,
					   u32 opf, struct end *end)
{
	struct io *io;

	if (is_passthrough(opf)) {
		io = found((u64)rq);
		if (io) {
			end->issue_ns = io->issue_ns;
			end_one((u64)rq, end);
		}
	} else if (bio && end->known && is_of_size(READ(rq, __data_len))) {
		COUNT(unqueued);
	}
}

SEC("raw_tp/complete")
int complete(u64 *args)
{
	struct request *rq = (void *)args[0];
	struct blk_mq_hw_ctx *hctx;
	u8 bytes[REQUEST_BYTES] ALIGNED;
	struct end end = {};
	struct bio *bio, *tail;
	u32 done = (u32)args[2], flags;
	struct io *io;
	int whole;

	if (probe_read_kernel(bytes, sizeof(bytes), rq))
		return 0;
	bio = IN(bytes, rq, bio);
	tail = IN(bytes, rq, biotail);
	flags = IN(bytes, rq, cmd_flags);
	io = found((u64)bio);
	if (!io && !device_of(disk_of(rq)))
		return 0;
	end.now = ktime_get_ns();
	hctx = IN(bytes, rq, mq_hctx);
	end.how = how_of(READ(hctx, queue_num), IN(bytes, rq, tag),
			 (s32)args[1], polled(flags));
	end.known = !wanted_pid && are_known(flags, IN(bytes, rq, __data_len));
	if (!io && bio == tail) {
		complete_other(rq, bio, flags, &end);
		return 0;
	}
	/* Only the data of a flush sequence is done; its last flush follows. */
	if (is_flush_sequence(IN(bytes, rq, rq_flags)))
		return 0;
	if (io)
		end.issue_ns = io->issue_ns;
	whole = done >= IN(bytes, rq, __data_len);
	if (!whole)
		COUNT(parts);
	if (bio == tail) {
		if (whole) {
			end.lead = io ? io->lead : 0;
			end_one((u64)bio, &end);
		}
		return 0;
	}
	end.how |= SHARED;
	end.lead = lead_of(bio, tail);
	end_each(bio, tail, done, whole, &end);
	return 0;
}

/* The end of a bio on a device that has no requests. */
SEC("raw_tp/bio_complete")
int bio_complete(u64 *args)
{
	struct bio *bio = (void *)args[1];
	struct io *io = found((u64)bio);
	struct end end = {};

	if (!io)
		return 0;
	end.now = ktime_get_ns();
	end.how = how_of(NOTHING, -1, READ(bio, bi_status), 0);
	end_one((u64)bio, &end);
	return 0;
}

/*
 * NAME_one is for tracepoints since 5.11. Before, their first argument was the
 * queue: NAME_two is for those.
 */
#define ON(name, type)                                                       \
	SEC("raw_tp/" #name "_one")                                          \
	int name##_one(u64 *args)                                            \
	{                                                                    \
		return name((struct type *)args[0]);                         \
	}                                                                    \
	SEC("raw_tp/" #name "_two")                                          \
	int name##_two(u64 *args)                                            \
	{                                                                    \
		return name((struct type *)args[1]);                         \
	}

/* Until 5.10 the arguments of a merge were queue, request and bio. */
SEC("raw_tp/merges_three")
int merges_three(u64 *args)
{
	return merges((struct bio *)args[2]);
}

ON(queue, bio)
ON(gets_request, bio)
ON(merges, bio)
ON(split, bio)
ON(insert, request)
ON(issue, request)
ON(requeue, request)
