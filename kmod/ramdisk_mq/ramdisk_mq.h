/* SPDX-License-Identifier: GPL-2.0 */
/* A RAM disk with several hardware queues, poll queues and service times. */
#ifndef RAMDISK_MQ_H
#define RAMDISK_MQ_H

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/types.h>

struct io_comp_batch;

/* Longest service time. The block layer's timeout of 30 s is not reached. */
#define RAMDISK_MQ_SERVICE_MAX NSEC_PER_SEC
#define RAMDISK_MQ_SERVICES 1024

/* Most bytes that one request clears, which takes about a millisecond. */
#define RAMDISK_MQ_CLEAR_MAX (4U << 20)

/* How the block layer hands over what a program wants. */
enum ramdisk_mq_mode {
	RAMDISK_MQ_MODE_MQ, /* requests, by hardware queues */
	RAMDISK_MQ_MODE_BIO, /* bios, without requests or queues */
};

/* How a request ends that no program polls for. */
enum ramdisk_mq_irq {
	RAMDISK_MQ_IRQ_INLINE, /* where it was queued, at once */
	RAMDISK_MQ_IRQ_SOFTIRQ, /* by the block layer's completion */
	RAMDISK_MQ_IRQ_TIMER, /* by a timer, after its service time */
};

/* What the user asked for; the same for all devices. */
struct ramdisk_mq_options {
	enum ramdisk_mq_mode mode;
	enum ramdisk_mq_irq irq;
	unsigned int devices;
	u64 capacity; /* bytes of each device */
	unsigned int block_size; /* bytes */
	unsigned int queues; /* that end requests without being asked */
	unsigned int poll_queues;
	unsigned int depth; /* requests per hardware queue */
	int node; /* of the memory; NUMA_NO_NODE: page by page in turn */
	bool copy; /* else requests move no data */
	const unsigned int *service_ns;
	unsigned int services; /* length of service_ns; 0: no delay */
	bool in_turn; /* else each of service_ns is equally likely */
	u64 seed;
};

/*
 * The stored data. A slot is the address of a page; its lowest bit is the
 * page's own lock, so that readers and writers of other pages never meet.
 */
struct ramdisk_mq_store {
	unsigned long *slots;
	unsigned long pages;
};

/*
 * A request's way through the store. The page that it is in stays locked until
 * the next page begins: the bytes of a page may come from several segments, and
 * nobody sees some of them without the others.
 */
struct ramdisk_mq_way {
	struct ramdisk_mq_store *store;
	u64 at; /* bytes from the start of the disk */
	unsigned long *locked; /* NULL: none */
};

/* A hardware queue of ours. */
struct ramdisk_mq_queue {
	u64 seed; /* of its drawn service times */
	atomic64_t served; /* requests so far, for the service time */
	spinlock_t lock; /* of waiting */
	struct list_head waiting; /* requests of a poll queue */
} ____cacheline_aligned_in_smp;

/* What we keep beside each request. */
struct ramdisk_mq_request {
	struct list_head waiting;
	struct hrtimer timer;
	ktime_t due;
	blk_status_t status;
};

struct ramdisk_mq {
	const struct ramdisk_mq_options *options;
	unsigned int number;
	struct ramdisk_mq_store store;
	struct ramdisk_mq_queue *queues;
	struct blk_mq_tag_set tags;
	struct gendisk *disk;
};

/* store.c */
int ramdisk_mq_store_make(struct ramdisk_mq_store *store, u64 capacity,
			  int node);
void ramdisk_mq_store_free(struct ramdisk_mq_store *store);
void ramdisk_mq_copy(struct ramdisk_mq_way *way, void *buffer,
		     unsigned int length, bool write);
void ramdisk_mq_clear(struct ramdisk_mq_way *way, unsigned int length);
void ramdisk_mq_leave(struct ramdisk_mq_way *way);

/* service.c */
u64 ramdisk_mq_service(const struct ramdisk_mq_options *options,
		       struct ramdisk_mq_queue *queue);

/* queue.c */
extern const struct blk_mq_ops ramdisk_mq_ops;

/* bio.c */
extern const struct block_device_operations ramdisk_mq_bio_operations;

/* limits.c */
int ramdisk_mq_disk_alloc(struct ramdisk_mq *device);
void ramdisk_mq_disk_release(struct gendisk *disk);
int ramdisk_mq_disk_show(struct gendisk *disk);

/* disk.c */
#define RAMDISK_MQ_NAME "rdmq"
int ramdisk_mq_disk_make(struct ramdisk_mq *device, int major);
void ramdisk_mq_disk_free(struct ramdisk_mq *device);

#endif
