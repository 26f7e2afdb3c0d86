// SPDX-License-Identifier: GPL-2.0
/* Does the timeout function get the request alone (since 6.0)? */
#include <linux/blk-mq.h>

enum blk_eh_timer_return probe(const struct blk_mq_ops *ops, struct request *rq)
{
	return ops->timeout(rq);
}
