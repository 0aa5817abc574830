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
 * Makes what every job needs, once: a ring, which is left for the first job, its
 * passing to a client, and a thread.  False with the reason if there is something
 * without which no job can be done.
 */
extern bool trial_succeeds(DeviceError *error);

#endif							/* GPUSORTD_TRIAL_H */
