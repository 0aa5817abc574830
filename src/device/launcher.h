/*-------------------------------------------------------------------------
 *
 * launcher.h
 *	  The background worker that keeps gpusortd running.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LAUNCHER_H
#define GPUSORT_LAUNCHER_H

/* In shared_preload_libraries: makes the launcher start with the server. */
extern void launcher_register(void);

/* Starts the launcher if there is none yet; does not wait for it. */
extern void launcher_start(void);

/*
 * Would gpusortd take a job that the settings let it have?  If not, *failure
 * is the reason, or NULL where that is nothing to be told: no GPU, or not
 * yet, and gpusort.device = auto.  Starts the launcher if there is none yet;
 * never waits.
 */
extern bool launcher_device_ready(const char **failure);

/* How long a query may go without an answer before the launcher is asked. */
#define QUIET_MILLISECONDS	500

/* The background worker's entry point. */
extern PGDLLEXPORT void gpusort_launcher_main(Datum argument);

#endif							/* GPUSORT_LAUNCHER_H */
