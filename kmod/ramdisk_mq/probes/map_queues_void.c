// SPDX-License-Identifier: GPL-2.0
/* Does the function that maps queues return nothing (since 6.1)? */
#include <linux/blk-mq.h>

static void map(struct blk_mq_tag_set *tags)
{
}

const struct blk_mq_ops probe = { .map_queues = map };
