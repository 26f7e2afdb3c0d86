/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs scripted events through block_io.bpf.c and prints its records and its
 * counts. Standard input has one event per line; its number is its time. BIO
 * and REQUEST are small numbers, which stand for addresses:
 *
 *   queue BIO SECTOR BYTES      the bio is queued (Q)
 *   getrq BIO REQUEST           it gets a request (G)
 *   merge BIO REQUEST           it joins the end of a request (M)
 *   split FRONT REST BYTES      the first BYTES of REST become the bio FRONT
 *   issue REQUEST               (D)
 *   requeue REQUEST
 *   complete REQUEST            (C), of the whole request
 *   refuse BIO                  it ends without a request, of which the block
 *                               layer tells nothing to this program
 *   hidden REQUEST              it completes, and the program is not run
 *
 * The kernel's types are those that the program reads, and a small table takes
 * the place of its map.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

#define Q2C_H
#define SEC(name)
#undef __always_inline
#define __always_inline inline
#define __uint(name, val) int(*name)[val]
#define __type(name, val) typeof(val) *name
#define __array(name, val) typeof(val) *name[]
#define MAP_HASH 1
#define MAP_ARRAY 2
#define MAP_ARRAY_OF_MAPS 12
#define MAP_RINGBUF 27
#define ANY 0
#define NOEXIST 1
#define RB_NO_WAKEUP 1ULL
#define ONE_PER_CPU(name, held) held name
#define READ(from, field) ((from)->field)
#define IN(bytes, from, field) ((void)(bytes), (from)->field)
#define FIELD_EXISTS(field) 0
#define ENUM_EXISTS(type, value) 0
#define ENUM_VALUE(type, value) value

struct gendisk {
	int major;
	int first_minor;
};

struct blk_mq_hw_ctx {
	unsigned int queue_num;
};

struct bio;

struct request {
	struct blk_mq_hw_ctx *mq_hctx;
	unsigned int cmd_flags;
	unsigned int rq_flags;
	int tag;
	unsigned int __data_len;
	struct bio *bio;
	struct bio *biotail;
	char rest[64]; /* the program reads 96 bytes at once */
};

static struct gendisk disk = { 259, 1 };
static u64 event_time;

static struct gendisk *disk_of(struct request *rq)
{
	(void)rq;
	return &disk;
}

static int is_polled(u32 flags)
{
	(void)flags;
	return 0;
}

static void *map_lookup(void *map, const void *key);
static long map_update(void *map, const void *key, const void *value, u64 how);
static long map_delete(void *map, const void *key);
static long ringbuf_output(void *ring, void *data, u64 size, u64 flags);

static long probe_read_kernel(void *to, u32 size, const void *from)
{
	memcpy(to, from, size);
	return 0;
}

#define ktime_get_ns() event_time
#define get_smp_processor_id() 0
#define get_current_pid_tgid() ((u64)42 << 32 | 43)
#define get_current_cgroup_id() 1
#define get_current_comm(to, size) ((void)(to), (void)(size))

/* The settings are constants for the program, and are set here. */
#define const
#include "../probes/block_io/block_io.bpf.c"
#undef const

#define MOST 4096
static struct bio bios[MOST];
static struct request requests[MOST];
static struct {
	u64 key;
	struct io io;
} table[MOST];

static struct io *entry(u64 key)
{
	for (unsigned int n = 0; n < MOST; n++)
		if (table[n].key == key)
			return &table[n].io;
	return NULL;
}

static void *map_lookup(void *map, const void *key)
{
	if (map == &ios)
		return entry(*(u64 *)key);
	return map == &flushes ? NULL : map;
}

/* An int in a register of 64 bits, as kernels until Linux 6.3 leave it. */
static long as_int(int error)
{
	return (long)(u64)(u32)error;
}

static long map_update(void *map, const void *key, const void *value, u64 how)
{
	struct io *at = entry(*(u64 *)key);
	unsigned int n;

	if (map != &ios)
		return 0;
	if (at && how == NOEXIST)
		return as_int(-EEXIST);
	for (n = 0; !at && n < MOST; n++)
		if (!table[n].key) {
			table[n].key = *(u64 *)key;
			at = &table[n].io;
		}
	if (!at)
		return as_int(-E2BIG);
	*at = *(struct io *)value;
	return 0;
}

static long map_delete(void *map, const void *key)
{
	(void)map;
	for (unsigned int n = 0; n < MOST; n++)
		if (table[n].key == *(u64 *)key)
			table[n].key = 0;
	return 0;
}

static long ringbuf_output(void *ring, void *data, u64 size, u64 flags)
{
	struct io *io = data;

	(void)ring, (void)size, (void)flags;
	printf("record %llu %llu %llu %llu %llu %u %d\n", io->queue_ns,
	       io->getrq_ns, io->issue_ns, io->complete_ns, io->sector,
	       io->bytes, !!(io->flags & FLAG_SPLIT));
	return 0;
}

static void queues(struct bio *bio, u64 sector, u32 bytes)
{
	static struct block_device device = { .bd_disk = &disk };
	u64 args[] = { (u64)bio };

	*bio = (struct bio){ .bi_bdev = &device };
	bio->bi_iter.bi_sector = sector;
	bio->bi_iter.bi_size = bytes;
	queue_one(args);
}

static void gets(struct bio *bio, struct request *rq)
{
	static struct blk_mq_hw_ctx hctx;
	u64 args[] = { (u64)bio };

	gets_request_one(args);
	*rq = (struct request){ .mq_hctx = &hctx, .bio = bio, .biotail = bio };
	rq->__data_len = bio->bi_iter.bi_size;
}

static void joins(struct bio *bio, struct request *rq)
{
	u64 args[] = { (u64)bio };

	merges_one(args);
	rq->biotail->bi_next = bio;
	rq->biotail = bio;
	rq->__data_len += bio->bi_iter.bi_size;
}

/* As the kernel does: both have their parts when it tells of the split. */
static void splits(struct bio *front, struct bio *rest, u32 bytes)
{
	u64 args[] = { (u64)front };

	*front = *rest;
	front->bi_iter.bi_size = bytes;
	rest->bi_iter.bi_size -= bytes;
	rest->bi_iter.bi_sector += bytes >> 9;
	front->bi_private = rest;
	split_one(args);
}

static void completes(struct request *rq)
{
	u64 args[] = { (u64)rq, 0, rq->__data_len };

	complete(args);
}

static int event(char *word, unsigned int one, unsigned int two, u32 three)
{
	u64 args[] = { (u64)&requests[one] };

	if (one >= MOST || (strcmp(word, "queue") && two >= MOST))
		return 2;
	if (!strcmp(word, "queue"))
		queues(&bios[one], two, three);
	else if (!strcmp(word, "getrq"))
		gets(&bios[one], &requests[two]);
	else if (!strcmp(word, "merge"))
		joins(&bios[one], &requests[two]);
	else if (!strcmp(word, "split"))
		splits(&bios[one], &bios[two], three);
	else if (!strcmp(word, "issue"))
		issue_one(args);
	else if (!strcmp(word, "requeue"))
		requeue_one(args);
	else if (!strcmp(word, "complete"))
		completes(&requests[one]);
	else if (strcmp(word, "refuse") && strcmp(word, "hidden"))
		return 2;
	return 0;
}

int main(void)
{
	unsigned int one, two, three, queued = 0, given = 0;
	char word[16], line[80];

	devices[0] = 259 << 20 | 1;
	ops = ~0U;
	most_bytes = ~0U;
	all_have_requests = 1;
	while (fgets(line, sizeof(line), stdin)) {
		two = three = 0;
		if (sscanf(line, "%15s %u %u %u", word, &one, &two, &three) < 2)
			return 2;
		event_time++;
		if (event(word, one, two, three))
			return 2;
	}
	for (unsigned int n = 0; n < MOST; n++)
		if (table[n].key && !table[n].io.issue_ns)
			queued++;
		else if (table[n].key)
			given++;
	printf("counts %llu %llu %llu %llu %llu %u %u\n", counted.unqueued,
	       counted.unended, counted.refused, counted.map_full,
	       counted.ring_full, queued, given);
	return 0;
}
