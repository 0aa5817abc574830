/*-------------------------------------------------------------------------
 *
 * shortage.h
 *	  Jobs of idle clients, which give way to others that wait for a resource.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORTD_SHORTAGE_H
#define GPUSORTD_SHORTAGE_H

#include <stdbool.h>

/* The resources that may be scarce. */
typedef enum Scarce
{
	SCARCE_DEVICE_MEMORY,
	SCARCE_STAGING,				/* rings, each of which a connection has */
	SCARCE_COUNT
} Scarce;

/* Sets up the module early; otherwise its first use does. */
extern void shortage_init(void);

/* Begin and end of a thread's wait for a resource. */
extern void shortage_begin(Scarce what);
extern void shortage_end(Scarce what);

/*
 * The number of clients that have been idle long enough to give up the
 * resource, or are giving up what they have.  If it is 0, and afterwards there
 * is none of the resource, there is nothing to wait for.
 */
extern int	shortage_idle(Scarce what);

typedef enum Waited
{
	WAITED_READY,				/* the socket is ready, or the client gone */
	WAITED_GIVE_WAY				/* the client is to give up what it has */
} Waited;

/*
 * Waits until a client's socket is ready for these events of poll(), or until
 * the client has been idle for some time while others wait for a resource that
 * it has. "has" is an array by Scarce.  A caller that is to give way frees all
 * these resources, and calls shortage_has_given_way() at once.
 */
extern Waited shortage_wait(int socket, short events, const bool *has);
extern void shortage_has_given_way(void);

#endif							/* GPUSORTD_SHORTAGE_H */
