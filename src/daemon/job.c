/*-------------------------------------------------------------------------
 *
 * job.c
 *	  The job of a client: its stage, its keys, and the parts that have them.
 *
 * A job that has no room on one device has several parts, each a job of the
 * engine on another device.  Rows go to the first part until it is full, then
 * to the second one, and so on; so a row's number is its number within its
 * part plus the rows of the parts before.  All parts are sorted at the same
 * time, and their orders are merged while the order is sent (merge.c).
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "job.h"

bool
job_begin_part(Job *job, MessageKind if_failed)
{
	Part	   *part = &job->parts[job->part];
	DeviceError error = {.is_full = false};

	part->first_row = job->nrows;
	part->first_word = job->nwords;
	part->job = job->engine->begin(part->reservation.device, &job->shape,
								   job->algorithm, wire_client_is_gone,
								   job->wire, &error);
	return part->job != NULL || job_fail(job, job->part, if_failed, &error);
}

static void
end_part(const Job *job, Part *part)
{
	job->engine->end(part->job);
	devices_release(&part->reservation);
}

void
job_drop_empty_parts(Job *job)
{
	int			kept = 0;

	for (int i = 0; i < job->nparts; i++)
	{
		Part	   *part = &job->parts[i];

		if (part->nrows > 0 || (i == 0 && job->nrows == 0))
			job->parts[kept++] = *part;
		else
			end_part(job, part);
	}
	job->nparts = kept;
}

void
job_end(Job *job)
{
	/* ends copies from and to the ring */
	for (int i = 0; i < job->nparts; i++)
	{
		end_part(job, &job->parts[i]);
		memset(&job->parts[i], 0, sizeof(Part));
	}
	job->nparts = 0;
	job->part = 0;
	job->nrows = 0;
	job->nwords = 0;
	job->in_place = false;
	job->first_push = 0;
	job->npushes = 0;
	job->chunks_taken = 0;
	job->wire->has[SCARCE_DEVICE_MEMORY] = false;
	watch_note_rows(&job->wire->watch, 0);
}

/*
 * Ends the job by an error of the device of one of its parts.  A device is not
 * to blame if the client is gone, as the job may have been given up then, or
 * if other processes have taken its memory.  Where a job of several parts
 * could go is found out when it begins anew.
 */
bool
job_fail(Job *job, int part, MessageKind kind, const DeviceError *error)
{
	const Reservation *reservation = &job->parts[part].reservation;
	FailureCause cause = FAILURE_FAULT;

	if (wire_client_is_gone(job->wire))
		return false;
	if (error->is_full)
	{
		cause = FAILURE_FULL;
		devices_note_full(reservation);
	}
	else if (!job->engine->is_lost())
	{
		if (devices_other_has(reservation,
							  job->nparts == 1 ? reservation->bytes : 0))
			cause = FAILURE_ELSEWHERE;
		devices_blame(reservation, error->text);
	}
	return wire_refuse(job->wire, kind, cause, "%.*s", MESSAGE_TEXT_SIZE - 1,
					   error->text);
}

bool
job_fail_without_device(Job *job, const DeviceError *error)
{
	return wire_refuse(job->wire, MSG_FAILED,
					   error->is_full ? FAILURE_FULL : FAILURE_FAULT, "%.*s",
					   MESSAGE_TEXT_SIZE - 1, error->text);
}

bool
job_fail_unexpected(Job *job)
{
	job->stage = JOB_BROKEN;
	return wire_refuse(job->wire, MSG_FAILED, FAILURE_FAULT,
					   "gpusortd received an unexpected message");
}

bool
job_give_way(Job *job)
{
	return wire_refuse(job->wire, MSG_FAILED, FAILURE_FULL,
					   "the sort was idle while others waited for what it had");
}

bool
job_receive(Job *job, Message *message)
{
	Received	received = wire_receive(job->wire, message, true);

	if (received == RECEIVED_GIVE_WAY)
		return job_give_way(job);
	return received == RECEIVED;
}
