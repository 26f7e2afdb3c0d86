// SPDX-License-Identifier: GPL-2.0
/* Stored data: pages that are allocated before the disk appears. */
#include <linux/mm.h>
#include <linux/bit_spinlock.h>
#include <linux/nodemask.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>
#include "ramdisk_mq.h"

#define SLOT_LOCK 0
#define SLOT_LOCK_BIT BIT(SLOT_LOCK)

/* A page of the node, and of no other one; without a node from any. */
static unsigned long zeroed_page(int node)
{
	gfp_t flags = GFP_KERNEL | __GFP_ZERO | __GFP_NORETRY | __GFP_NOWARN;
	struct page *page;

	if (node != NUMA_NO_NODE)
		flags |= __GFP_THISNODE;
	page = alloc_pages_node(node, flags, 0);
	return page ? (unsigned long)page_address(page) : 0;
}

/* Allocates all pages: from @node, or page by page from each node in turn. */
int ramdisk_mq_store_make(struct ramdisk_mq_store *store, u64 capacity,
			  int node)
{
	int next = first_node(node_states[N_MEMORY]);
	unsigned long page;

	store->pages = capacity >> PAGE_SHIFT;
	store->slots = vzalloc(array_size(store->pages, sizeof(*store->slots)));
	if (!store->slots)
		return -ENOMEM;
	for (page = 0; page < store->pages; page++) {
		bool in_turn = node == NUMA_NO_NODE;

		store->slots[page] = zeroed_page(in_turn ? next : node);
		if (!store->slots[page] && in_turn)
			store->slots[page] = zeroed_page(NUMA_NO_NODE);
		if (!store->slots[page]) {
			ramdisk_mq_store_free(store);
			return -ENOMEM;
		}
		next = next_node_in(next, node_states[N_MEMORY]);
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

/* Unlocks the page that the way is in. A way ends with this. */
void ramdisk_mq_leave(struct ramdisk_mq_way *way)
{
	if (way->locked)
		bit_spin_unlock(SLOT_LOCK, way->locked);
	way->locked = NULL;
}

/*
 * Locks the page where the way is, and returns the address of its next byte.
 * @length is cut to what is left of the page.
 */
static void *enter(struct ramdisk_mq_way *way, unsigned int *length)
{
	unsigned int offset = offset_in_page(way->at);
	unsigned long *slot = &way->store->slots[way->at >> PAGE_SHIFT];

	if (slot != way->locked) {
		ramdisk_mq_leave(way);
		bit_spin_lock(SLOT_LOCK, slot);
		way->locked = slot;
	}
	*length = min_t(unsigned int, *length, PAGE_SIZE - offset);
	return (void *)(*slot & ~SLOT_LOCK_BIT) + offset;
}

/* Copies the way's next @length bytes from or to @buffer. */
void ramdisk_mq_copy(struct ramdisk_mq_way *way, void *buffer,
		     unsigned int length, bool write)
{
	while (length) {
		unsigned int part = length;
		void *stored = enter(way, &part);

		if (write)
			memcpy(stored, buffer, part);
		else
			memcpy(buffer, stored, part);
		way->at += part;
		buffer += part;
		length -= part;
	}
}

/* Makes the way's next @length bytes zeros. */
void ramdisk_mq_clear(struct ramdisk_mq_way *way, unsigned int length)
{
	while (length) {
		unsigned int part = length;
		void *stored = enter(way, &part);

		memset(stored, 0, part);
		way->at += part;
		length -= part;
	}
}
