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
	JOB_TAKES_KEYS,				/* keys may come; so it is before the first job */
	JOB_SENDS_ORDER,			/* all keys have come: the order is made and sent */
	JOB_DONE,					/* all of the order has been sent */
	JOB_BROKEN					/* the client does not keep to the protocol */
} JobStage;

/* What one device has of a job. */
typedef struct Part
{
	Reservation reservation;	/* memory of the device */
	EngineJob  *job;			/* the engine's job, NULL before rows go here */
	uint64_t	first_row;		/* rows in the parts before */
	uint64_t	first_word;		/* words in the parts before */
	uint64_t	nrows;			/* rows pushed so far */
	uint64_t	nwords;			/* words pushed so far */
	bool		is_sorted;
	DeviceError error;			/* why it is not sorted */
} Part;

/* A chunk of keys that is being copied. */
typedef struct Push
{
	uint32_t	chunk;
	int			part;			/* part that has the keys */
	uint64_t	ticket;			/* what wait_pushed() of the engine takes */
} Push;

typedef struct Job
{
	const Engine *engine;
	Wire	   *wire;
	Ring	   *ring;			/* memory that the next job has too */
	JobStage	stage;

	KeyShape	shape;
	DeviceAlgorithm algorithm;
	Owner		owner;
	bool		long_lived;
	bool		gives_way;		/* the job ends for others that wait */

	uint64_t	nrows;			/* rows pushed so far */
	uint64_t	nwords;			/* words pushed so far */
	uint32_t	longest_key;	/* words of the longest key */

	Part		parts[MAX_PARTS];
	int			nparts;			/* parts that have memory */
	int			part;			/* the part that rows go to */
	bool		in_place;		/* memory is for a sort in place only */

	Push	   *pushes;			/* queue with room for all chunks of the ring */
	uint32_t	first_push;		/* the oldest push under way */
	uint32_t	npushes;		/* pushes under way */
	uint64_t	chunks_taken;	/* chunks of keys so far */

	uint64_t	sent;			/* chunks of the order sent so far */
	uint64_t	returned;		/* chunks of the order that came back */
} Job;

/*
 * Makes a job of the engine for the part that rows go to from now on.  Whatever
 * is false here and in the headers of the stages, the client has been told why.
 */
extern bool job_begin_part(Job *job, MessageKind if_failed);

/* Leaves out parts that got no rows, but for one if none has any. */
extern void job_drop_empty_parts(Job *job);

/* Frees all that the job has; the ring stays. */
extern void job_end(Job *job);

/* The job ends by an error of the device of one of its parts. */
extern bool job_fail(Job *job, int part, MessageKind kind,
					 const DeviceError *error);

/* The job ends by an error for which no device is to blame. */
extern bool job_fail_without_device(Job *job, const DeviceError *error);

/* The job ends because its client does not keep to the protocol. */
extern bool job_fail_unexpected(Job *job);

/* The job ends because its client is idle and others wait for what it has. */
extern bool job_give_way(Job *job);

/* Waits for a message of the client, or gives way. */
extern bool job_receive(Job *job, Message *message);

#endif							/* GPUSORTD_JOB_H */
