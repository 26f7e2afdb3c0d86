// SPDX-License-Identifier: GPL-2.0
/* Does add_disk tell whether it succeeded (since 5.15)? */
#include <linux/blkdev.h>

int probe(struct gendisk *disk)
{
	return add_disk(disk);
}
