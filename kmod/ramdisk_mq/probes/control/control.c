// SPDX-License-Identifier: GPL-2.0
/* This compiles with every kernel. Where it does not, no probe means anything. */
#include <linux/blk-mq.h>
#include <linux/blkdev.h>

int probe(struct request *rq)
{
	return blk_rq_bytes(rq);
}
