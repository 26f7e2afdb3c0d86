// SPDX-License-Identifier: GPL-2.0
/* Is discard a flag of the queue (up to 5.18)? */
#include <linux/blkdev.h>

int probe(void)
{
	return QUEUE_FLAG_DISCARD;
}
