// SPDX-License-Identifier: GPL-2.0
/* Stored data: pages that are allocated before the disk appears. */
#include <linux/bit_spinlock.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>
#include "ramdisk_mq.h"

#define SLOT_LOCK 0
#define SLOT_LOCK_BIT BIT(SLOT_LOCK)

int ramdisk_mq_store_make(struct ramdisk_mq_store *store, u64 capacity)
{
	unsigned long page;

	store->pages = capacity >> PAGE_SHIFT;
	store->slots = vzalloc(array_size(store->pages, sizeof(*store->slots)));
	if (!store->slots)
		return -ENOMEM;
	for (page = 0; page < store->pages; page++) {
		store->slots[page] = get_zeroed_page(GFP_KERNEL |
						     __GFP_NORETRY |
						     __GFP_NOWARN);
		if (!store->slots[page]) {
			ramdisk_mq_store_free(store);
			return -ENOMEM;
		}
		cond_resched();
	}
	return 0;
}

void ramdisk_mq_store_free(struct ramdisk_mq_store *store)
{
	unsigned long page;

	for (page = 0; store->slots && page < store->pages; page++) {
		free_page(store->slots[page]);
		cond_resched();
	}
	vfree(store->slots);
	store->slots = NULL;
}

/* Copies within one page. Its lock keeps a block from being torn. */
static void copy_in_page(unsigned long *slot, unsigned int offset, void *buffer,
			 unsigned int length, bool write)
{
	void *stored;

	bit_spin_lock(SLOT_LOCK, slot);
	stored = (void *)(*slot & ~SLOT_LOCK_BIT) + offset;
	if (write)
		memcpy(stored, buffer, length);
	else
		memcpy(buffer, stored, length);
	bit_spin_unlock(SLOT_LOCK, slot);
}

/* Copies @length bytes between @buffer and the place @at of the disk. */
void ramdisk_mq_store_copy(struct ramdisk_mq_store *store, void *buffer,
			   u64 at, unsigned int length, bool write)
{
	while (length) {
		unsigned int offset = offset_in_page(at);
		unsigned int part =
			min_t(unsigned int, length, PAGE_SIZE - offset);

		copy_in_page(&store->slots[at >> PAGE_SHIFT], offset, buffer,
			     part, write);
		at += part;
		buffer += part;
		length -= part;
	}
}
