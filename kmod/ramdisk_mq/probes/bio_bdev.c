// SPDX-License-Identifier: GPL-2.0
/* Does a bio name its block device (since 5.12)? */
#include <linux/blkdev.h>

struct gendisk *probe(struct bio *bio)
{
	return bio->bi_bdev->bd_disk;
}
