/* SPDX-License-Identifier: GPL-2.0 */
/* A RAM disk with several hardware queues, poll queues and service times. */
#ifndef RAMDISK_MQ_H
#define RAMDISK_MQ_H

#include <linux/blk-mq.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/types.h>

/* Longest service time. The block layer's timeout of 30 s is not reached. */
#define RAMDISK_MQ_SERVICE_MAX NSEC_PER_SEC
#define RAMDISK_MQ_SERVICES 1024

/* What the user asked for. */
struct ramdisk_mq_options {
	u64 capacity; /* bytes */
	unsigned int block_size; /* bytes */
	unsigned int queues; /* that end requests without being asked */
	unsigned int poll_queues;
	unsigned int depth; /* requests per hardware queue */
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

/* A hardware queue of ours. */
struct ramdisk_mq_queue {
	unsigned int number;
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
	struct ramdisk_mq_options options;
	struct ramdisk_mq_store store;
	struct ramdisk_mq_queue *queues;
	struct blk_mq_tag_set tags;
	struct gendisk *disk;
	int major;
};

/* store.c */
int ramdisk_mq_store_make(struct ramdisk_mq_store *store, u64 capacity);
void ramdisk_mq_store_free(struct ramdisk_mq_store *store);
void ramdisk_mq_store_copy(struct ramdisk_mq_store *store, void *buffer,
			   u64 at, unsigned int length, bool write);

/* service.c */
u64 ramdisk_mq_service(const struct ramdisk_mq_options *options,
		       struct ramdisk_mq_queue *queue);

/* queue.c */
extern const struct blk_mq_ops ramdisk_mq_ops;

/* disk.c */
int ramdisk_mq_disk_make(struct ramdisk_mq *device);
void ramdisk_mq_disk_free(struct ramdisk_mq *device);

#endif
