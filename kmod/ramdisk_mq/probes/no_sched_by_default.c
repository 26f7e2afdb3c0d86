// SPDX-License-Identifier: GPL-2.0
/* Can a tag set ask to begin without a scheduler (since 5.14)? */
#include <linux/blk-mq.h>

int probe = BLK_MQ_F_NO_SCHED_BY_DEFAULT;
