/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RAMDISK_MQ_OPTIONS_H
#define RAMDISK_MQ_OPTIONS_H

#include "ramdisk_mq.h"

int ramdisk_mq_options_take(struct ramdisk_mq_options *options);

#endif
