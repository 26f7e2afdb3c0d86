// SPDX-License-Identifier: GPL-2.0
/* Does the poll function get a batch of completions (since 5.16)? */
#include <linux/blk-mq.h>

int probe(const struct blk_mq_ops *ops, struct blk_mq_hw_ctx *hctx)
{
	return ops->poll(hctx, (struct io_comp_batch *)NULL);
}
