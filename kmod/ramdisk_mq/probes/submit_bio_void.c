// SPDX-License-Identifier: GPL-2.0
/* Does submit_bio return nothing (since 5.16)? */
#include <linux/blkdev.h>

static void submit(struct bio *bio)
{
}

const struct block_device_operations probe = { .submit_bio = submit };
