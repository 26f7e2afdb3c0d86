// SPDX-License-Identifier: GPL-2.0
/* Does a timer get its function when it is made (since 6.13)? */
#include <linux/hrtimer.h>

void probe(struct hrtimer *timer, enum hrtimer_restart (*call)(struct hrtimer *))
{
	hrtimer_setup(timer, call, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
}
