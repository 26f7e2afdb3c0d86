// SPDX-License-Identifier: GPL-2.0
/* Does blk_mq_alloc_disk take the limits, too (since 6.9)? */
#include <linux/blk-mq.h>

struct gendisk *probe(struct blk_mq_tag_set *tags, struct queue_limits *limits)
{
	return blk_mq_alloc_disk(tags, limits, NULL);
}
