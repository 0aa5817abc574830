/*-------------------------------------------------------------------------
 *
 * device_client.h
 *	  A backend's side of the conversation with gpusortd.
 *
 * The messages are in protocol.h.  A client is one connection, which has one
 * job after another.  It lives in a memory context of its own: deleting the
 * context, as an aborted query does, closes the connection and unmaps the
 * ring.
 *
 * A failure of gpusortd or of the device raises no error: the functions return
 * false or NULL, and device_client_failure() has the reason.  Functions that
 * wait serve interrupts, as any wait in a backend.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_DEVICE_CLIENT_H
#define GPUSORT_DEVICE_CLIENT_H

#include "nodes/pg_list.h"

#include "common/key_format.h"
#include "common/protocol.h"

typedef struct DeviceClient DeviceClient;

/* A batch of keys: a chunk of the ring, or memory of this process. */
typedef struct KeyBatch
{
	uint64_t   *words;
	uint64_t   *ends;			/* NULL for keys of fixed width */
	uint64		nwords;			/* words written so far */
	uint64		nrows;			/* keys written so far */
	uint64		max_words;		/* room for words */
	uint64		max_rows;		/* room for keys */
} KeyBatch;

/* The reason why gpusortd does not do a job. */
typedef struct DeviceFailure
{
	FailureCause cause;
	const char *reason;			/* a sentence, no full stop; NULL for none */
} DeviceFailure;

/*
 * Begins a job, in a memory context that is a child of the current one.  NULL
 * if gpusortd does not take the job, with the reason in *failure.  A job is
 * queued while there is too little device memory; a queued job can only await
 * its turn or be ended.  A long_lived job is never queued, and gets a small
 * part of the memory.
 */
extern DeviceClient *device_client_begin(const KeyShape *shape,
										 uint64 expected_rows,
										 bool long_lived,
										 DeviceFailure *failure);
extern bool device_client_is_queued(const DeviceClient *client);

/*
 * Begins another job, when the whole order of the last one has come.  That takes
 * less time than a new client.  False if gpusortd does not take the job.
 */
extern bool device_client_again(DeviceClient *client, const KeyShape *shape,
								uint64 expected_rows);

/*
 * Waits for a queued job's turn, but not longer than this; the job may still
 * be queued then.  False if gpusortd does not take the job.
 */
extern bool device_client_await_turn(DeviceClient *client, uint64 milliseconds);

/*
 * After device_client_await_sort(): the names of the devices that have sorted,
 * and of the method.  The strings live as long as the client.
 */
extern const char *device_client_device(const DeviceClient *client);
extern const char *device_client_method(const DeviceClient *client);

/* Makes *batch an empty chunk of the ring. */
extern bool device_client_next_batch(DeviceClient *client, KeyBatch *batch);

/* Sends the batch that device_client_next_batch() has made last. */
extern bool device_client_push(DeviceClient *client, const KeyBatch *batch);

/*
 * The first function begins to sort the nrows rows, after the last batch was
 * sent; the second waits until they are sorted.
 */
extern bool device_client_begin_sort(DeviceClient *client, uint64 nrows);
extern bool device_client_await_sort(DeviceClient *client,
									 uint64 *sort_microseconds);

/* Entries of the order in one part, at the most. */
#define ORDER_PART_ENTRIES	(CHUNK_BYTES / sizeof(uint32))

/*
 * Copies the next part of the order to "part", which has room for all rows or
 * for ORDER_PART_ENTRIES, and sets *count to its entries.  The caller repeats
 * that until all rows have come.  Each entry is the number of a row.  False if
 * gpusortd is lost, or if what it sends is no order of the rows: at the last
 * part also if a row has come twice.
 */
extern bool device_client_order_part(DeviceClient *client, uint32 *part,
									 uint32 *count);

/* The reason why the last call failed. */
extern DeviceFailure device_client_failure(const DeviceClient *client);

/* Ends the job and frees everything; allowed at any time. */
extern void device_client_end(DeviceClient *client);

/*
 * Asks gpusortd for its devices: sets *devices to a list of palloc'd Message of
 * kind MSG_DEVICE.  False if gpusortd does not answer, with the reason in
 * *failure.
 */
extern bool device_client_list_devices(List **devices, const char **failure);

#endif							/* GPUSORT_DEVICE_CLIENT_H */
