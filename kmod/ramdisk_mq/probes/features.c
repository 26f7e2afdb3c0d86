// SPDX-License-Identifier: GPL-2.0
/* Are a disk's features a part of its limits (since 6.11)? */
#include <linux/blkdev.h>

void probe(struct queue_limits *limits)
{
	limits->features = BLK_FEAT_IO_STAT | BLK_FEAT_NOWAIT;
}
