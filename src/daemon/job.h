/*-------------------------------------------------------------------------
 *
 * job.h
 *	  The job of a client: its stage, its keys, and the parts that have them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORTD_JOB_H
#define GPUSORTD_JOB_H

#include "../common/protocol.h"
#include "devices.h"
#include "engine.h"
#include "ring.h"
#include "wire.h"

typedef enum JobStage
{
	JOB_TAKES_KEYS,				/* keys may come; also before the first job */
	JOB_SENDS_ORDER,			/* the order is made and sent */
	JOB_DONE,					/* the whole order has been sent */
	JOB_BROKEN					/* the client has broken the protocol */
} JobStage;

/* The part of a job that one device has. */
typedef struct Part
{
	Reservation reservation;	/* memory of the device */
	EngineJob  *job;			/* the engine's job, NULL before the first row */
	uint64_t	first_row;		/* rows in the parts before */
	uint64_t	first_word;		/* words in the parts before */
	uint64_t	nrows;			/* rows pushed so far */
	uint64_t	nwords;			/* words pushed so far */
	bool		is_sorted;
	DeviceError error;			/* error of a part that could not be sorted */
} Part;

/* The copy of a chunk of keys to a device, under way. */
typedef struct Push
{
	uint32_t	chunk;
	int			part;			/* part that takes the keys */
	uint64_t	ticket;			/* argument of the engine's wait_pushed() */
} Push;

typedef struct Job
{
	const Engine *engine;
	Wire	   *wire;
	Ring	   *ring;			/* ring of the connection, also for the next
								 * job */
	JobStage	stage;

	KeyShape	shape;
	DeviceAlgorithm algorithm;
	Owner		owner;
	bool		long_lived;

	uint64_t	nrows;			/* rows pushed so far */
	uint64_t	nwords;			/* words pushed so far */
	uint32_t	longest_key;	/* words of the longest key */

	Part		parts[MAX_PARTS];
	int			nparts;			/* parts that have memory */
	int			part;			/* number of the part that takes rows */
	bool		in_place;		/* memory suffices for a sort in place only */

	Push	   *pushes;			/* queue with room for all chunks of the ring */
	uint32_t	first_push;		/* the oldest push under way */
	uint32_t	npushes;		/* pushes under way */
	uint64_t	chunks_taken;	/* chunks of keys so far */

	uint64_t	sent;			/* chunks of the order sent so far */
	uint64_t	returned;		/* chunks of the order that came back */
} Job;

/*
 * Begins the engine's job for the part that takes rows.  If a function here,
 * or in the headers of the stages, returns false, it has told the client why.
 */
extern bool job_begin_part(Job *job, MessageKind if_failed);

/* Removes parts without rows, except one if no part has any. */
extern void job_drop_empty_parts(Job *job);

/* Frees everything of the job but the ring. */
extern void job_end(Job *job);

/* Ends the job by an error of the device of one of its parts. */
extern bool job_fail(Job *job, int part, MessageKind kind,
					 const DeviceError *error);

/* Ends the job by an error for which no device is to blame. */
extern bool job_fail_without_device(Job *job, const DeviceError *error);

/* Ends the job because its client does not keep to the protocol. */
extern bool job_fail_unexpected(Job *job);

/* Ends the job because its client is idle and others wait for what it has. */
extern bool job_give_way(Job *job);

/*
 * Waits for a message of the client; false if the job gave way or the client
 * is gone.
 */
extern bool job_receive(Job *job, Message *message);

#endif							/* GPUSORTD_JOB_H */
