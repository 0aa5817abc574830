/*-------------------------------------------------------------------------
 *
 * watch.h
 *	  Noticing that a job hangs in its device.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORTD_WATCH_H
#define GPUSORTD_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * What is known of a connection's thread.  Each step ends with one in which it
 * waits for its client, or in the queue, which may take any time.
 */
typedef struct Watch
{
	struct Watch *next;
	struct Watch **link;		/* pointer to this watch */
	atomic_ullong steps;		/* an odd number while the thread waits */
	atomic_ullong rows;			/* rows of the thread's job */
	unsigned long long seen_steps;	/* steps at the last look */
	unsigned int looks;			/* looks since steps were seen to change */
} Watch;

/* From now on, and no more, there is this connection. */
extern void watch_begin(Watch *watch);
extern void watch_end(Watch *watch);

/* The job that the thread serves has so many rows now. */
static inline void
watch_note_rows(Watch *watch, uint64_t rows)
{
	atomic_store(&watch->rows, rows);
}

/* The thread begins to wait, and goes on. */
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

/* Is there any connection? */
extern bool watch_is_needed(void);

/*
 * Looks at all connections.  True if the thread of one has made no step for so
 * long that it hangs.
 */
extern bool watch_finds_hanging(void);

/* Between two looks. */
#define WATCH_MILLISECONDS	1000

#endif							/* GPUSORTD_WATCH_H */
