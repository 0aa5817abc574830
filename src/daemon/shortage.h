/*-------------------------------------------------------------------------
 *
 * shortage.h
 *	  Jobs whose client is idle, and others that lack what these have.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORTD_SHORTAGE_H
#define GPUSORTD_SHORTAGE_H

#include <stdbool.h>

/* What there may be too little of. */
typedef enum Scarce
{
	SCARCE_DEVICE_MEMORY,
	SCARCE_STAGING,				/* rings, and the connections that have them */
	SCARCE_COUNT
} Scarce;

/* Makes what it takes; otherwise that is made when it is needed. */
extern void shortage_init(void);

/* From now on someone waits for it; and does no more. */
extern void shortage_begin(Scarce what);
extern void shortage_end(Scarce what);

/* How many clients have been idle for so long that they would give it up? */
extern int	shortage_idle(Scarce what);

typedef enum Waited
{
	WAITED_READY,				/* the client is heard of, or gone */
	WAITED_GIVE_WAY				/* what it has is to be given up */
} Waited;

/*
 * Waits until a client's socket is ready for these events of poll(); or until
 * it has been idle for some time while others wait for something of which
 * "has", an array by what it is, says that it has some.
 */
extern Waited shortage_wait(int socket, short events, const bool *has);

#endif							/* GPUSORTD_SHORTAGE_H */
