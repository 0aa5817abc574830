/*-------------------------------------------------------------------------
 *
 * device_client.h
 *	  A backend's side of the conversation with gpusortd.
 *
 * See protocol.h for what is said.  A client is one connection, which may have
 * another job when its last one has ended.  It lives in a memory context: deleting that, as an aborted query
 * does, closes the connection and unmaps the ring.
 *
 * Whatever goes wrong with gpusortd or the device is not an error here: the
 * functions return false or NULL, and device_client_failure() has a sentence
 * that says why.  While waiting they serve interrupts as any wait in a
 * backend does.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_DEVICE_CLIENT_H
#define GPUSORT_DEVICE_CLIENT_H

#include "nodes/pg_list.h"

#include "common/key_format.h"
#include "common/protocol.h"

typedef struct DeviceClient DeviceClient;

/* Where keys are written: a chunk of the ring, or memory of this process. */
typedef struct KeyBatch
{
	uint64_t   *words;
	uint64_t   *ends;			/* NULL for keys of fixed width */
	uint64		nwords;			/* in use */
	uint64		nrows;
	uint64		max_words;		/* room */
	uint64		max_rows;
} KeyBatch;

/* Why a job is not done by gpusortd. */
typedef struct DeviceFailure
{
	FailureCause cause;
	const char *reason;			/* a sentence, no full stop; NULL for none */
} DeviceFailure;

/*
 * Begins a job, in a memory context that is a child of the current one; NULL
 * if gpusortd does not take it, the reason then in *failure.  While jobs
 * before it leave too little device memory the job is queued, and all that can
 * be done with it is to look, or to end it.  One that will last for long is
 * not, and takes a small part of the memory.
 */
extern DeviceClient *device_client_begin(const KeyShape *shape,
										 uint64 expected_rows,
										 bool long_lived,
										 DeviceFailure *failure);
extern bool device_client_is_queued(const DeviceClient *client);

/*
 * When the whole order of its job has come: begins another one, which takes
 * less than with another client.  False if gpusortd does not take it.
 */
extern bool device_client_again(DeviceClient *client, const KeyShape *shape,
								uint64 expected_rows);

/* Looks whether it is a queued job's turn, or waits for that for so long. */
extern bool device_client_await_turn(DeviceClient *client, uint64 milliseconds);

/*
 * When it has sorted: the names of the devices and of how; they live as long as
 * the client.
 */
extern const char *device_client_device(const DeviceClient *client);
extern const char *device_client_method(const DeviceClient *client);

/* Makes *batch an empty chunk of the ring. */
extern bool device_client_next_batch(DeviceClient *client, KeyBatch *batch);

/* Hands over the batch that device_client_next_batch() gave last. */
extern bool device_client_push(DeviceClient *client, const KeyBatch *batch);

/* After the last batch: sorts the nrows rows. */
extern bool device_client_perform(DeviceClient *client, uint64 nrows,
								  uint64 *sort_microseconds);

/* Entries of the order that come at a time, at the most. */
#define ORDER_PART_ENTRIES	(CHUNK_BYTES / sizeof(uint32))

/*
 * After that, until there were all rows: copies the next so many entries of the
 * order, for all of which or ORDER_PART_ENTRIES there is room.  Each is the
 * number of a row, but the same may have come before.  False if gpusortd is
 * lost.
 */
extern bool device_client_order_part(DeviceClient *client, uint32 *part,
									 uint32 *count);

/* Why the last call failed. */
extern DeviceFailure device_client_failure(const DeviceClient *client);

/* Ends the job and frees everything; allowed at any time. */
extern void device_client_end(DeviceClient *client);

/*
 * Asks gpusortd for its devices: a list of palloc'd Message of kind
 * MSG_DEVICE.  False, with the reason, if it does not answer.
 */
extern bool device_client_list_devices(List **devices, const char **failure);

#endif							/* GPUSORT_DEVICE_CLIENT_H */
