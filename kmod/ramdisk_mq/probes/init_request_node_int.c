// SPDX-License-Identifier: GPL-2.0
/* Is the node that init_request gets an int (in kernels after 6.12)? */
#include <linux/blk-mq.h>

static int init_request(struct blk_mq_tag_set *tags, struct request *rq,
			unsigned int hctx, int node)
{
	return 0;
}

const struct blk_mq_ops probe = { .init_request = init_request };
