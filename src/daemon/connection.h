/*-------------------------------------------------------------------------
 *
 * connection.h
 *	  Serving one client.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORTD_CONNECTION_H
#define GPUSORTD_CONNECTION_H

#include "engine.h"

/* Sets the engine of all connections; once, before the first. */
extern void connection_init(const Engine *engine);

/* Serves the client of this socket until either side ends the connection. */
extern void connection_serve(int socket);

#endif							/* GPUSORTD_CONNECTION_H */
