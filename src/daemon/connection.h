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

/* Sets what all connections use; once, before the first. */
extern void connection_init(const Engine *engine);

/* Serves the client behind this socket until either side ends it. */
extern void connection_serve(int socket);

#endif							/* GPUSORTD_CONNECTION_H */
