/*-------------------------------------------------------------------------
 *
 * wire.h
 *	  The line to one client: messages, and waiting for them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORTD_WIRE_H
#define GPUSORTD_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "../common/protocol.h"
#include "shortage.h"
#include "watch.h"

typedef struct Wire
{
	int			socket;
	Watch		watch;			/* steps of the thread that serves the client */
	bool		has[SCARCE_COUNT];	/* what the client could give up now */
} Wire;

typedef enum Received
{
	RECEIVED,
	RECEIVED_NOTHING,			/* nothing yet, where that is not waited for */
	RECEIVED_END,				/* the client has hung up */
	RECEIVED_GIVE_WAY			/* nothing, and others wait for what it has */
} Received;

/* The line is there from now on, and no more. */
extern void wire_begin(Wire *wire, int socket);
extern void wire_end(Wire *wire);

/* Has the client hung up?  For those who wait for something else. */
extern bool wire_client_is_gone(void *wire);

/*
 * Sends a message; false if the client is gone, or if what it has is to be
 * given up, of which it has not been told.
 */
extern bool wire_send(Wire *wire, const Message *message);

/* The same for the first message of a job, with a descriptor. */
extern bool wire_send_descriptor(Wire *wire, const Message *message,
								 int descriptor);

/*
 * Tells the client why its job ends.  This, and whatever calls it, returns
 * false for the caller to.
 */
extern bool wire_refuse(Wire *wire, MessageKind kind, FailureCause cause,
						const char *format,...)
			__attribute__((format(printf, 4, 5)));

/*
 * Receives a message, waiting for it if so.  One of another size than all have
 * gets a kind that none has.
 */
extern Received wire_receive(Wire *wire, Message *message, bool wait);

/* Receives a message, or waits for so long; false if none comes. */
extern bool wire_receive_within(Wire *wire, Message *message,
								uint64_t milliseconds);

#endif							/* GPUSORTD_WIRE_H */
