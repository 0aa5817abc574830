/*-------------------------------------------------------------------------
 *
 * protocol.h
 *	  What a backend and gpusortd say to each other.
 *
 * gpusortd listens on a unix socket of type SOCK_SEQPACKET, so a message is
 * received whole or not at all.  Every message is one Message structure; both
 * ends run on one machine and come from one build, which MSG_HELLO checks.
 * Across an upgrade they may not.  So the kind of a message, and the version
 * in MSG_HELLO, are in the same place in all versions; and a message of
 * another size, or a first one of unknown kind, is one of another version.
 *
 * A connection is one job, or several one after the other.  Keys and order
 * travel through a ring: memory that gpusortd makes (a memfd, passed along with
 * MSG_WELCOME), pins for the device, and both sides map.  It is divided into
 * chunks of equal size, and a chunk belongs to one side at a time: to the
 * client until it announces it with MSG_KEYS, then to gpusortd until
 * MSG_KEYS_TAKEN; the other way round with MSG_ORDER and MSG_ORDER_TAKEN.
 * After MSG_SORT all chunks belong to gpusortd.
 *
 *		client						gpusortd
 *		HELLO		->
 *								<-	QUEUED, if it is not its turn
 *								<-	WELCOME (with the ring) or REFUSED
 *		KEYS ...	->			<-	KEYS_TAKEN ...
 *		RUN			->
 *								<-	SORTED
 *								<-	ORDER ...
 *		ORDER_TAKEN ...	->
 *
 * When the whole order has come the client may say HELLO again for another job.
 * All chunks of the ring belong to it then, and the next MSG_WELCOME comes
 * without one.  Until then gpusortd may close the connection if it has given
 * back the last chunk of the order too.
 *
 * MSG_QUEUED says that there is too little device memory for now; MSG_WELCOME
 * follows when it is the job's turn.  A client that does not want to wait, or
 * not any longer, closes the connection.  A job that is going to last for long
 * says so: it is not queued, and gets a small part of a device's memory at the
 * most, so that it is in nobody's way.
 *
 * Device memory is reserved as keys come.  If there is no more the job fails;
 * and so it does if its client says nothing for a second while others wait for
 * what the job has.  All jobs of a role have no more of it together, on all
 * devices, than the job that asks for more says in MSG_HELLO; one that begins is
 * refused beyond that, not queued.  The first message has to come within a few
 * seconds.
 *
 * Instead of any answer MSG_FAILED may come, and the connection ends: gpusortd
 * closes it when the client has, or after two seconds.  Closing the connection,
 * on either side and at any time, ends the job and frees everything it had.  A
 * job whose order has not come in full ends in no other way.
 *
 * A client that only wants to know the devices sends MSG_LIST_DEVICES and
 * gets one MSG_DEVICE for each and then MSG_END_OF_LIST.
 *
 * A chunk of keys of fixed width holds their words.  With keys of varying
 * width the first chunk_bytes / 4 bytes hold the ends of its keys, counted in
 * words from the first key of the job, and their words follow.  A chunk of
 * the order holds uint32_t entries.  See key_format.h.
 *
 * Either side can write to all of the ring at any time, so what is in it is
 * copied before it is believed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_PROTOCOL_H
#define GPUSORT_PROTOCOL_H

#include "key_format.h"

/* Changes whenever anything in this file or key_format.h does. */
#define PROTOCOL_VERSION	10

/* Said by whichever side notices. */
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
 * Largest ring.  With more chunks than a socket's buffer holds messages, both
 * sides could be sending and neither receiving.
 */
#define LARGEST_RING_MB		64

/* Keys a chunk can hold: their ends must fit into its first quarter. */
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

/* How a device is. */
typedef enum DeviceState
{
	DEVICE_READY = 1,
	DEVICE_UNUSED,				/* gpusort.devices is without it */
	DEVICE_UNUSABLE,
	DEVICE_FAILED				/* a job on it has: it gets no others now */
} DeviceState;

/* Why a job failed or was refused, as far as it matters what to do now. */
typedef enum FailureCause
{
	FAILURE_FAULT,				/* something is wrong */
	FAILURE_FULL,				/* it needs more memory than it can have */
	FAILURE_ELSEWHERE			/* on another device it may succeed */
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
			uint32_t	long_lived;
			uint32_t	role;	/* of the session */
			uint64_t	role_limit; /* bytes; UINT64_MAX is none */
			uint64_t	expected_rows;
		}			hello;
		struct
		{
			uint32_t	chunks; /* in the ring, of CHUNK_BYTES each */
		}			welcome;
		struct
		{
			uint32_t	chunk;	/* which one of the ring */
			uint32_t	nrows;
			uint64_t	nwords; /* of all keys in the chunk */
		}			keys;		/* also keys_taken: chunk only */
		struct
		{
			uint64_t	nrows;	/* of the whole job */
		}			sort;
		struct
		{
			uint64_t	sort_microseconds;	/* on the device alone */
			char		device[MESSAGE_TEXT_SIZE];	/* what has sorted */
			char		method[MESSAGE_TEXT_SIZE];	/* how it was sorted */
		}			sorted;
		struct
		{
			uint32_t	chunk;
			uint32_t	count;	/* entries; they follow the ones before */
		}			order;		/* also order_taken: chunk only */
		struct
		{
			uint32_t	cause;	/* a FailureCause */
			char		text[MESSAGE_TEXT_SIZE];	/* a sentence, no full stop */
		}			failed;		/* also refused */
		struct
		{
			int32_t		number;
			uint32_t	state;	/* a DeviceState */
			uint64_t	memory_bytes;
			uint64_t	reserved_bytes; /* by the jobs that it has */
			uint32_t	jobs;
			uint64_t	sorts;	/* that it has done */
			uint64_t	busy_microseconds;	/* in which it did any */
			int32_t		capability_major;
			int32_t		capability_minor;
			int32_t		driver_version;
			char		name[MESSAGE_TEXT_SIZE];
			char		uuid[MESSAGE_TEXT_SIZE];	/* empty if it has none */
			char		reason[MESSAGE_TEXT_SIZE];	/* if unusable or failed */
		}			device;
	}			u;
} Message;

#endif							/* GPUSORT_PROTOCOL_H */
