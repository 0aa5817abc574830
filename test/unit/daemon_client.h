/*-------------------------------------------------------------------------
 *
 * daemon_client.h
 *	  gpusortd and its clients, for programs without PostgreSQL.
 *
 * A program starts a gpusortd in a directory of its own and is its launcher
 * and its clients.  Unless a comment says otherwise, a function that returns
 * false has told what went wrong to daemon_client_wrong(), which each program
 * has.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_DAEMON_CLIENT_H
#define GPUSORT_DAEMON_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "../../src/common/protocol.h"

/*
 * Notes what has gone wrong.  If it returns, it returns false, as its caller
 * then does.
 */
extern bool daemon_client_wrong(const char *problem);

/* How long anything that should happen may take; -1 for ever. */
extern int	patience_ms;

extern uint64_t milliseconds(void);


/*
 * gpusortd
 */

#define LINE_SIZE		1024

typedef struct Daemon
{
	char		directory[64];
	pid_t		pid;
	int			life_line;		/* what its standard input reads from */
	int			reports;		/* what its standard output writes to */
} Daemon;

extern void make_directory(Daemon *daemon);
extern void remove_directory(const Daemon *daemon);

/* Starts a program with these arguments, and NULL, in the daemon's directory. */
extern void spawn_program(Daemon *daemon, char *const *arguments);

/*
 * Reads a line of gpusortd's reports; false at their end, which is not noted.
 */
extern bool read_report(Daemon *daemon, char *line);

/* Waits for the end of gpusortd; -1 if it was not an exit. */
extern int	exit_status(Daemon *daemon);

/*
 * Starts gpusortd with these arguments, and NULL, in a directory of its own, and
 * waits until it is ready.  Its reports until then go to a file, or, with NULL,
 * nowhere.
 */
extern void start_gpusortd(Daemon *daemon, char *const *arguments,
						   FILE *reports);

/*
 * Lets gpusortd end, prints the reports that it still has, and removes its
 * directory.
 */
extern void end_gpusortd(Daemon *daemon);


/*
 * Clients
 */

typedef struct Client
{
	int			socket;
	int			ring_descriptor;
	char	   *ring;			/* the ring, NULL before MSG_WELCOME */
	uint32_t	nchunks;
	bool	   *chunk_is_ours;	/* chunks that gpusortd does not have */
	bool		may_fail;		/* lack of memory is not noted as wrong */
} Client;

extern bool connect_client(const Daemon *daemon, Client *client);
extern void hang_up(Client *client);
extern bool send_message(Client *client, const Message *message);

/* Receives a message; false at the end, which is not noted. */
extern bool try_receive(Client *client, Message *message);

/* Receives a message that is no refusal, or receives one of this kind. */
extern bool receive_message(Client *client, Message *message);
extern bool receive_kind(Client *client, Message *message, MessageKind kind);

/* The first message of a job, as of a well-behaved client. */
extern Message hello_message(uint32_t fixed_words, uint64_t expected_rows);
extern bool say_hello(Client *client, uint32_t fixed_words,
					  uint64_t expected_rows);

/* Takes the ring that comes with MSG_WELCOME, when it is the job's turn. */
extern bool receive_welcome(Client *client);

/* Connects and begins a job. */
extern bool begin(const Daemon *daemon, Client *client, uint32_t fixed_words,
				  uint64_t expected_rows);

/* Waits until a chunk is the client's. */
extern bool await_chunk(Client *client, uint32_t chunk);

/* Writes the keys of "count" rows from this one on, one behind the other. */
typedef void (*KeyWriter) (uint64_t row, uint32_t count, uint64_t *words);

/*
 * Pushes the keys of all rows, each of key_words words, chunk by chunk, and
 * waits until all chunks are the client's again.
 */
extern void push_rows(Client *client, uint64_t nrows, uint32_t key_words,
					  KeyWriter write);

extern bool send_run(Client *client, uint64_t nrows);

/* Receives up to MSG_SORTED. */
extern bool receive_sorted(Client *client);
extern bool receive_order(Client *client, uint32_t *order, uint64_t nrows);

#endif							/* GPUSORT_DAEMON_CLIENT_H */
