/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs scripted events through pairing.h and prints the counts. Standard input
 * has one event per line:
 *
 *   TIME enter TASK REQUEST      the task polls for the request
 *   TIME elsewhere TASK          the task polls another device
 *   TIME sleep TASK ASKED        it goes to sleep for its request
 *   TIME poll TASK               it calls the driver's poll function
 *   TIME complete REQUEST BY     the request completes, reaped by task BY
 *   TIME forget TASK             the table drops it, as a full one does
 *
 * Small tables take the place of the kernel program's maps.
 */
#include <stdio.h>
#include <string.h>

typedef unsigned long long u64;
#include "../probes/kernel_hybrid/pairing.h"

#define MOST 16
static struct task tasks[MOST];
static struct slept sleeps[MOST];
static int known[MOST], slept_for[MOST];
static struct counts counts;

static void enter(u64 now, unsigned int task, unsigned int request, int here)
{
	unsigned int last = tasks[task].cookie;

	if (known[task] && tasks[task].asleep)
		enters(&tasks[task], slept_for[last] ? &sleeps[last] : NULL,
		       task, now);
	known[task] = 1;
	tasks[task].queue = here;
	tasks[task].cookie = request;
}

static void begin_sleep(u64 now, unsigned int task, unsigned int asked)
{
	unsigned int request = tasks[task].cookie;

	if (!polls_here(&tasks[task]))
		return;
	if (slept_for[request])
		forgotten(&sleeps[request], &counts);
	sleep_begins(&tasks[task], &sleeps[request], task, asked, now);
	slept_for[request] = 1;
}

static void complete(unsigned int request, unsigned int by)
{
	struct slept *slept = slept_for[request] ? &sleeps[request] : NULL;
	int owned = slept && known[slept->tid];

	completes(slept, owned ? &tasks[slept->tid] : NULL, by, &counts);
	slept_for[request] = 0;
}

int main(void)
{
	unsigned int one, two;
	char word[16], line[80];
	u64 now;

	while (fgets(line, sizeof(line), stdin)) {
		two = 0;
		if (sscanf(line, "%llu %15s %u %u", &now, word, &one, &two) < 3)
			return 2;
		if (one >= MOST)
			return 2;
		if (!strcmp(word, "enter") && two < MOST)
			enter(now, one, two, 1);
		else if (!strcmp(word, "elsewhere"))
			enter(now, one, two, 0);
		else if (!strcmp(word, "poll"))
			polls(&tasks[one]);
		else if (!strcmp(word, "complete"))
			complete(one, two);
		else if (!strcmp(word, "forget"))
			memset(&tasks[one], 0, sizeof(tasks[one])), known[one] = 0;
		else if (!strcmp(word, "sleep"))
			begin_sleep(now, one, two);
		else
			return 2;
	}
	printf("%llu %llu %llu %llu %llu %llu %llu\n", counts.polled,
	       counts.slept, counts.missed, counts.unknown, counts.asked_ns,
	       counts.timed, counts.slept_ns);
	return 0;
}
