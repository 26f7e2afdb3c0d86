// SPDX-License-Identifier: GPL-2.0
/*
 * Looks for torn writes: two threads write a block of 4 KiB again and again,
 * each all of one letter, while a third reads it. A block with both letters is
 * torn. The writers' buffers lie across two pages, so that a block comes to the
 * driver in two segments.
 *
 *	torn DEVICE SECONDS
 *
 * Ends with 1 when a block was torn, and with 2 when it could not look. It
 * overwrites the first block of the device.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BLOCK 4096
#define ACROSS 512 /* a buffer begins so far before or after a page's start */

static atomic_bool over;
static const char *path;
static unsigned long reads, torn;

static void fail(const char *what)
{
	perror(what);
	exit(2);
}

static int opened(void)
{
	int fd = open(path, O_RDWR | O_DIRECT);

	if (fd < 0)
		fail(path);
	return fd;
}

static char *buffer(void)
{
	char *pages = aligned_alloc(BLOCK, 2 * BLOCK);

	if (!pages)
		fail("aligned_alloc");
	return pages + ACROSS;
}

static void *write_letter(void *letter)
{
	char *block = buffer();
	int fd = opened();

	memset(block, *(char *)letter, BLOCK);
	while (!over)
		if (pwrite(fd, block, BLOCK, 0) != BLOCK)
			fail("pwrite");
	return NULL;
}

static void *read_letters(void *unused)
{
	char *block = buffer();
	int fd = opened();

	while (!over) {
		if (pread(fd, block, BLOCK, 0) != BLOCK)
			fail("pread");
		/* All bytes are the same when each equals the next one. */
		torn += memcmp(block, block + 1, BLOCK - 1) != 0;
		reads++;
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];
	int i;

	if (argc != 3) {
		fprintf(stderr, "usage: torn DEVICE SECONDS\n");
		return 2;
	}
	path = argv[1];
	if (pthread_create(&threads[0], NULL, write_letter, "a") ||
	    pthread_create(&threads[1], NULL, write_letter, "b"))
		fail("pthread_create");
	usleep(100000); /* the first write is over */
	if (pthread_create(&threads[2], NULL, read_letters, NULL))
		fail("pthread_create");
	sleep(atoi(argv[2]));
	over = true;
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("%lu of %lu reads saw a torn block\n", torn, reads);
	return torn > 0;
}
