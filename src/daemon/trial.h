/*-------------------------------------------------------------------------
 *
 * trial.h
 *	  A trial of what jobs need of the system.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORTD_TRIAL_H
#define GPUSORTD_TRIAL_H

#include <stdbool.h>

#include "engine.h"

/*
 * Tries once what every job needs: makes a ring, which is left for the first
 * job, passes it to a client, and starts a thread.  False with the reason if
 * one of them fails.
 */
extern bool trial_succeeds(DeviceError *error);

#endif							/* GPUSORTD_TRIAL_H */
