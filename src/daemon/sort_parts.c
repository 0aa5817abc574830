/*-------------------------------------------------------------------------
 *
 * sort_parts.c
 *	  Sorting a job that has all its keys.
 *
 * All parts of a job are sorted at the same time: one by the connection's own
 * thread, each of the others by a thread that ends after its sort.
 *
 *-------------------------------------------------------------------------
 */
#include "sort_parts.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "admission.h"
#include "clock.h"
#include "thread.h"

/* The argument of a thread that sorts a part. */
typedef struct PartSort
{
	const Engine *engine;
	Part	   *part;
	pthread_t	thread;
	bool		has_thread;
} PartSort;

/* Sorts a part; allowed in a thread of its own. */
static void *
sort_part(void *argument)
{
	const PartSort *sort = argument;
	Part	   *part = sort->part;

	devices_begin_sort(&part->reservation);
	part->is_sorted = sort->engine->perform(part->job, part->reservation.bytes,
											&part->error);
	devices_end_sort(&part->reservation, part->is_sorted);
	return NULL;
}

/* Sorts all parts, at the same time if there can be threads for them. */
static void
sort_all(Job *job)
{
	PartSort	sorts[MAX_PARTS];

	for (int i = 0; i < job->nparts; i++)
	{
		PartSort   *sort = &sorts[i];

		sort->engine = job->engine;
		sort->part = &job->parts[i];
		sort->has_thread = i > 0 && start_thread(&sort->thread, sort_part, sort);
	}
	for (int i = 0; i < job->nparts; i++)
	{
		if (sorts[i].has_thread)
			pthread_join(sorts[i].thread, NULL);
		else
			(void) sort_part(&sorts[i]);
	}
}

/* True if each part is sorted; otherwise the job has failed. */
static bool
are_sorted(Job *job)
{
	for (int i = 0; i < job->nparts; i++)
	{
		const Part *part = &job->parts[i];

		if (!part->is_sorted)
			return job_fail(job, i, MSG_FAILED, &part->error);
	}
	return true;
}

/*
 * Makes the parts keep the keys by which they are merged, if there are
 * several.
 */
static void
keep_keys(Job *job)
{
	for (int i = 0; i < job->nparts && job->nparts > 1; i++)
		job->engine->keep_keys(job->parts[i].job);
}

/* Writes the names of the devices that have sorted. */
static void
name_devices(const Job *job, char *names, size_t size)
{
	size_t		length = 0;

	for (int i = 0; i < job->nparts && length < size; i++)
	{
		if (i > 0)
			length += snprintf(names + length, size - length, " and ");
		if (length < size)
			length += devices_name_one(job->parts[i].reservation.device,
									   names + length, size - length);
	}
}

/*
 * Writes the methods by which the parts were sorted; mostly there is only one.
 */
static void
name_methods(const Job *job, char *names, size_t size)
{
	const char *method = job->engine->method(job->parts[0].job);
	size_t		length = snprintf(names, size, "%s", method);

	for (int i = 1; i < job->nparts && length < size; i++)
	{
		const char *next = job->engine->method(job->parts[i].job);

		if (strcmp(next, method) != 0)
			length += snprintf(names + length, size - length, " and %s", next);
		method = next;
	}
	if (job->nparts > 1 && length < size)
		snprintf(names + length, size - length, ", %d parts merged",
				 job->nparts);
}

static bool
send_sorted(Job *job, uint64_t microseconds)
{
	Message		message = {.kind = MSG_SORTED};

	message.u.sorted.sort_microseconds = microseconds;
	name_devices(job, message.u.sorted.device,
				 sizeof(message.u.sorted.device));
	name_methods(job, message.u.sorted.method,
				 sizeof(message.u.sorted.method));
	return wire_send(job->wire, &message);
}

bool
sort_parts(Job *job)
{
	uint64_t	start;
	uint64_t	microseconds;

	job_drop_empty_parts(job);
	keep_keys(job);
	admission_before_sort(job);
	start = microseconds_now();
	sort_all(job);
	microseconds = microseconds_now() - start;
	if (!are_sorted(job))
		return false;
	admission_after_sort(job);
	return send_sorted(job, microseconds);
}
