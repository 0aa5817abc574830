/*-------------------------------------------------------------------------
 *
 * protocol.h
 *	  The messages between a backend and gpusortd.
 *
 * gpusortd listens on a unix socket of type SOCK_SEQPACKET, so a message is
 * received whole or not at all.  Every message is one Message structure; both
 * ends run on one machine and come from one build, which MSG_HELLO checks.
 * Across an upgrade the builds may differ.  So the kind of a message, and the
 * version in MSG_HELLO, are in the same place in all versions; and a message
 * of another size, or a first message of unknown kind, is one of another
 * version.
 *
 * A connection has one job after another.  Keys and order travel through a
 * ring.  The ring is memory that gpusortd makes and pins for the device, and
 * that both sides map: a memfd, passed along with MSG_WELCOME.  The ring is
 * divided into chunks of equal size, each of which belongs to one side at a
 * time: to the client until the client announces it with MSG_KEYS, then to
 * gpusortd until MSG_KEYS_TAKEN; the other way round with MSG_ORDER and
 * MSG_ORDER_TAKEN.  After MSG_SORT all chunks belong to gpusortd.
 *
 *		client						gpusortd
 *		HELLO		->
 *								<-	QUEUED, if others are first
 *								<-	WELCOME (with the ring) or REFUSED
 *		KEYS ...	->			<-	KEYS_TAKEN ...
 *		SORT		->
 *								<-	SORTED
 *								<-	ORDER ...
 *		ORDER_TAKEN ...	->
 *
 * When the whole order has come the client may say HELLO again for another job.
 * All chunks of the ring belong to the client then, and the next MSG_WELCOME
 * comes without a ring.  Before that HELLO, and after the last chunk of the order
 * was given back, gpusortd may close the connection.
 *
 * MSG_QUEUED says that there is too little device memory for now; MSG_WELCOME
 * follows when it is the job's turn.  A client that gives up waiting closes the
 * connection.  A job that is going to last says so in MSG_HELLO (long_lived).
 * Such a job is not queued, and gets at most a small part of a device's
 * memory, so that other jobs find memory beside it.
 *
 * Device memory is reserved as keys come.  A job fails when there is no more
 * device memory, and when its client says nothing for a second while others wait
 * for memory that the job has.  The jobs of a role share a limit, on all
 * devices together, which MSG_HELLO has.  If a job would exceed it when it
 * begins, the job is refused, not queued; if it would exceed it later, the job
 * fails.  The first message has to come within a few seconds.
 *
 * Instead of any answer MSG_FAILED may come, and the connection ends: gpusortd
 * closes it when the client has closed it, or after two seconds.  Closing the
 * connection, on either side and at any time, ends the job and frees
 * everything it had.  There is no other way to end a job before its whole
 * order has come.
 *
 * A client that only wants to know the devices sends MSG_LIST_DEVICES.  It
 * gets a MSG_DEVICE for each device and then MSG_END_OF_LIST.
 *
 * A chunk of keys of fixed width holds their words.  With keys of varying
 * width the first quarter of the chunk holds the ends of its keys, counted in
 * words from the first key of the job, and their words follow.  A chunk of
 * the order holds uint32_t entries.  See key_format.h.
 *
 * Either side can write to all of the ring at any time.  So data in the ring is
 * copied, and the copy is checked and used.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_PROTOCOL_H
#define GPUSORT_PROTOCOL_H

#include "key_format.h"

/* Changes whenever anything in this file or key_format.h does. */
#define PROTOCOL_VERSION	10

/* The text of an error when HELLO has another version, on either side. */
#define VERSIONS_DIFFER \
	"gpusortd and the extension are of different versions, restart the server"

/*
 * Where the socket and the lock are, relative to the data directory, which is
 * the working directory of all processes concerned.  Base backups leave this
 * directory out.
 */
#define SOCKET_PATH			"pg_stat_tmp/gpusortd.sock"
#define LOCK_PATH			"pg_stat_tmp/gpusortd.lock"

/* Bytes of a chunk; a multiple of the page size. */
#define CHUNK_BYTES			(1u << 20)

/*
 * The size of a ring.  A socket's buffer holds more messages than there are
 * chunks; otherwise both sides could be sending and neither receiving.
 */
#define RING_MB				16

/* Keys of varying width in a chunk: their ends must fit its first quarter. */
#define CHUNK_VARIABLE_ROWS	(CHUNK_BYTES / 4 / sizeof(uint64_t))

#define MESSAGE_TEXT_SIZE	256

typedef enum MessageKind
{
	MSG_HELLO = 1,
	MSG_QUEUED,
	MSG_WELCOME,
	MSG_REFUSED,
	MSG_KEYS,
	MSG_KEYS_TAKEN,
	MSG_SORT,
	MSG_SORTED,
	MSG_ORDER,
	MSG_ORDER_TAKEN,
	MSG_FAILED,
	MSG_LIST_DEVICES,
	MSG_DEVICE,
	MSG_END_OF_LIST
} MessageKind;

/* The state of a device. */
typedef enum DeviceState
{
	DEVICE_READY = 1,
	DEVICE_UNUSED,				/* gpusort.devices does not name it */
	DEVICE_UNUSABLE,
	DEVICE_FAILED				/* a job on it has failed: no other jobs now */
} DeviceState;

/* Why a job failed or was refused, as far as the client acts on it. */
typedef enum FailureCause
{
	FAILURE_FAULT,				/* an error of gpusortd, a device or a client */
	FAILURE_FULL,				/* too little memory for the job */
	FAILURE_ELSEWHERE			/* the job may succeed on another device */
} FailureCause;

typedef struct Message
{
	uint32_t	kind;			/* a MessageKind */
	union
	{
		struct
		{
			uint32_t	version;	/* PROTOCOL_VERSION */
			uint32_t	fixed_words;
			uint32_t	mark_ties;
			uint32_t	algorithm;	/* a DeviceAlgorithm */
			uint32_t	long_lived; /* a bool */
			uint32_t	role;	/* OID of the session's role */
			uint64_t	role_limit; /* bytes of the role's jobs, or UINT64_MAX */
			uint64_t	expected_rows;
		}			hello;
		struct
		{
			uint32_t	chunks; /* chunks of the ring, CHUNK_BYTES each */
		}			welcome;
		struct
		{
			uint32_t	chunk;	/* number in the ring */
			uint32_t	nrows;
			uint64_t	nwords; /* words of all keys in the chunk */
		}			keys;		/* MSG_KEYS_TAKEN has the chunk only */
		struct
		{
			uint64_t	nrows;	/* rows of the whole job */
		}			sort;
		struct
		{
			uint64_t	sort_microseconds;	/* time on the device alone */
			char		device[MESSAGE_TEXT_SIZE];	/* names of the devices */
			char		method[MESSAGE_TEXT_SIZE];	/* the way of sorting, for
													 * EXPLAIN */
		}			sorted;
		struct
		{
			uint32_t	chunk;
			uint32_t	count;	/* entries, which follow those sent before */
		}			order;		/* MSG_ORDER_TAKEN has the chunk only */
		struct
		{
			uint32_t	cause;	/* a FailureCause */
			char		text[MESSAGE_TEXT_SIZE];	/* a sentence, no full
													 * stop */
		}			failed;		/* also of MSG_REFUSED */
		struct
		{
			int32_t		number;
			uint32_t	state;	/* a DeviceState */
			uint64_t	memory_bytes;
			uint64_t	reserved_bytes; /* bytes reserved by jobs */
			uint32_t	jobs;
			uint64_t	sorts;	/* jobs sorted since gpusortd started */
			uint64_t	busy_microseconds;	/* time in which any job sorted */
			int32_t		capability_major;
			int32_t		capability_minor;
			int32_t		driver_version;
			char		name[MESSAGE_TEXT_SIZE];
			char		uuid[MESSAGE_TEXT_SIZE];	/* empty for a device
													 * without one */
			char		reason[MESSAGE_TEXT_SIZE];	/* of DEVICE_UNUSABLE and
													 * DEVICE_FAILED */
		}			device;
	}			u;
} Message;

#endif							/* GPUSORT_PROTOCOL_H */
