/*-------------------------------------------------------------------------
 *
 * wire.h
 *	  The socket of one client: sending, receiving and waiting for messages.
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
	bool		has[SCARCE_COUNT];	/* scarce resources that the client has */
	bool		gives_way;		/* the connection ends, for others that wait */
} Wire;

typedef enum Received
{
	RECEIVED,
	RECEIVED_NOTHING,			/* no message yet, without waiting */
	RECEIVED_END,				/* the client has closed the connection */
	RECEIVED_GIVE_WAY			/* no message, and the client is to give way */
} Received;

/*
 * Begin and end of a connection; the end closes the socket.  Before the end
 * the caller calls wire_has_given_way(), when the client has nothing left that
 * others may wait for.
 */
extern void wire_begin(Wire *wire, int socket);
extern void wire_has_given_way(Wire *wire);
extern void wire_end(Wire *wire);

/*
 * True if the client has closed the connection.  Used as a callback by other
 * waits.
 */
extern bool wire_client_is_gone(void *wire);

/*
 * Sends a message; false if the client is gone, or is to give way without
 * having been told.
 */
extern bool wire_send(Wire *wire, const Message *message);

/* The same with a descriptor, which stays the caller's. */
extern bool wire_send_descriptor(Wire *wire, const Message *message,
								 int descriptor);

/*
 * Tells the client why its job ends.  Always returns false, so that callers can
 * return that.
 */
extern bool wire_refuse(Wire *wire, MessageKind kind, FailureCause cause,
						const char *format,...)
			__attribute__((format(printf, 4, 5)));

/*
 * Receives a message, and waits for it if "wait".  A message of a wrong size
 * gets the kind 0, which no message has.
 */
extern Received wire_receive(Wire *wire, Message *message, bool wait);

/* Waits this long for a message; false if none comes. */
extern bool wire_receive_within(Wire *wire, Message *message,
								uint64_t milliseconds);

#endif							/* GPUSORTD_WIRE_H */
