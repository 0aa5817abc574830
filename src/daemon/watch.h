/*-------------------------------------------------------------------------
 *
 * watch.h
 *	  Detecting a job that hangs in its device.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORTD_WATCH_H
#define GPUSORTD_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The steps of a connection's thread.  The thread works in one step; in the
 * next it waits, for its client or in the queue, for any time.
 */
typedef struct Watch
{
	struct Watch *next;
	struct Watch **link;		/* pointer to this watch */
	atomic_ullong steps;		/* steps so far; odd while the thread waits */
	atomic_ullong rows;			/* rows of the thread's job */
	unsigned long long seen_steps;	/* steps at the last check */
	unsigned int checks;		/* checks since the steps changed */
} Watch;

/* Begin and end of watching a connection's thread, which owns the watch. */
extern void watch_begin(Watch *watch);
extern void watch_end(Watch *watch);

/* Notes the rows of the thread's job, by which its time is estimated. */
static inline void
watch_note_rows(Watch *watch, uint64_t rows)
{
	atomic_store(&watch->rows, rows);
}

/* Begin and end of a wait of the thread. */
static inline void
watch_wait(Watch *watch)
{
	atomic_fetch_or(&watch->steps, 1);
}

static inline void
watch_go_on(Watch *watch)
{
	atomic_store(&watch->steps, (atomic_load(&watch->steps) | 1) + 1);
}

/* Is there any connection to be watched? */
extern bool watch_is_needed(void);

/*
 * Checks all threads; called every WATCH_MILLISECONDS.  True if a thread has
 * made no step for longer than it may take.
 */
extern bool watch_finds_hanging(void);

/* Milliseconds between two checks. */
#define WATCH_MILLISECONDS	1000

#endif							/* GPUSORTD_WATCH_H */
