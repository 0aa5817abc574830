/*-------------------------------------------------------------------------
 *
 * take_keys.h
 *	  The keys of a job, from the ring to the devices.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORTD_TAKE_KEYS_H
#define GPUSORTD_TAKE_KEYS_H

#include "job.h"

/* MSG_KEYS: begins the copy of a chunk of keys. */
extern bool take_keys(Job *job, const Message *message);

/* Waits for the oldest copy under way, and gives its chunk back. */
extern bool take_keys_finish_one(Job *job);

/* The same for all copies under way. */
extern bool take_keys_finish(Job *job);

#endif							/* GPUSORTD_TAKE_KEYS_H */
