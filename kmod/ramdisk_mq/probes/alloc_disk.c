// SPDX-License-Identifier: GPL-2.0
/* Does blk_mq_alloc_disk take a tag set and data (5.14 to 6.8)? */
#include <linux/blk-mq.h>

struct gendisk *probe(struct blk_mq_tag_set *tags)
{
	return blk_mq_alloc_disk(tags, NULL);
}
