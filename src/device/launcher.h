/*-------------------------------------------------------------------------
 *
 * launcher.h
 *	  The background worker that keeps gpusortd running.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LAUNCHER_H
#define GPUSORT_LAUNCHER_H

/*
 * Registers the launcher with the server; from shared_preload_libraries only.
 */
extern void launcher_register(void);

/*
 * Notes whether the postmaster is about to start the launcher.  To be called
 * when the postmaster has made shared memory, at its start or after a crash.
 */
extern void launcher_expect(void);

/* Starts the launcher if there is none yet; does not wait for it. */
extern void launcher_start(void);

/*
 * Can gpusortd be asked to take a job, by the settings and by its state?  If
 * not, *failure is the reason.  It is NULL if that is no failure: with
 * gpusort.device = auto there is no GPU, or gpusortd is starting.  Starts the
 * launcher if there is none; never waits.
 */
extern bool launcher_device_ready(const char **failure);

/* Milliseconds without an answer after which a query asks the launcher. */
#define QUIET_MILLISECONDS	500

/* The background worker's entry point. */
extern PGDLLEXPORT void gpusort_launcher_main(Datum argument);

#endif							/* GPUSORT_LAUNCHER_H */
