// SPDX-License-Identifier: GPL-2.0
/* Must a tag set ask for merges (until 6.13)? */
#include <linux/blk-mq.h>

int probe = BLK_MQ_F_SHOULD_MERGE;
