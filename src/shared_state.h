/*-------------------------------------------------------------------------
 *
 * shared_state.h
 *	  What all processes of the server know together: how gpusortd is, and
 *	  what has been counted.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SHARED_STATE_H
#define GPUSORT_SHARED_STATE_H

#include "port/atomics.h"
#include "storage/spin.h"

/* Counters of gpusort_stats(); their names are in shared_state.c. */
typedef enum Statistic
{
	STAT_SORTS_DEVICE,			/* sorts by what did them */
	STAT_SORTS_HOST,
	STAT_SORTS_SPILLED,			/* those of both that exceeded their memory */
	STAT_SORTS_NATIVE,			/* taken over, then given to core's sort */
	STAT_ROWS,
	STAT_SORTS_TOGETHER,		/* with parallel workers, of any of these */
	STAT_SORT_WORKERS,			/* that handed over rows in these */
	STAT_BYTES,
	STAT_FILL_MICROSECONDS,
	STAT_SORT_MICROSECONDS,
	STAT_DEVICE_FAULTS,
	STAT_DEVICE_FULL,
	STAT_NATIVE_SMALL,			/* refused sorts of plans, see refusal.h */
	STAT_NATIVE_BOUNDED,
	STAT_NATIVE_TYPE,
	STAT_NATIVE_COLLATION,
	STAT_NATIVE_OPERATOR,
	STAT_NATIVE_INCREMENTAL,
	STAT_NATIVE_AGGREGATE,
	STAT_NATIVE_FOREIGN,
	STAT_INDEXES_DEVICE,		/* index builds by what sorted their rows */
	STAT_INDEXES_HOST,
	STAT_INDEXES_SPILLED,		/* those of both that used files */
	STAT_INDEXES_NATIVE,		/* taken over, then given to core's sort */
	STAT_INDEX_WORKERS,			/* that collected rows beside the leaders */
	STAT_INDEX_WORKER_PAGES,	/* leaves that they made */
	STAT_INDEX_ROWS,
	STAT_INDEX_BYTES,
	STAT_INDEX_COLLECT_MICROSECONDS,
	STAT_INDEX_SORT_MICROSECONDS,
	STAT_INDEX_WRITE_MICROSECONDS,
	STAT_INDEX_NATIVE_SMALL,	/* refused index builds */
	STAT_INDEX_NATIVE_TYPE,
	STAT_INDEX_NATIVE_COLLATION,
	STAT_INDEX_NATIVE_OPERATOR,
	STAT_COUNT
} Statistic;

typedef enum DaemonState
{
	DAEMON_NOT_STARTED,			/* and there is no launcher */
	DAEMON_STARTING,
	DAEMON_READY,
	DAEMON_SILENT,				/* it was ready, and does not answer */
	DAEMON_UNUSABLE,			/* it found no device, and is tried seldom */
	DAEMON_FAILED				/* it died, and will be started again */
} DaemonState;

#define STATE_REASON_SIZE	256

/* A copy of the state of gpusortd. */
typedef struct DaemonStatus
{
	DaemonState state;
	bool		has_gpu;		/* it sorts on a GPU */
	char		reason[STATE_REASON_SIZE];	/* why it is not ready */
} DaemonStatus;

/*
 * Asks for the shared memory: the whole of it in shared_preload_libraries, on
 * first use out of the server's reserve if loaded later.
 */
extern void shared_state_init(void);

extern DaemonStatus shared_daemon_status(void);
extern void shared_set_daemon_status(DaemonState state, bool has_gpu,
									 const char *reason);

/*
 * gpusortd keeps a process waiting; or has answered.  That matters only while
 * it counts as ready, which it is again when it has answered.
 */
extern void shared_note_silence(void);
extern void shared_note_answer(void);

/*
 * True for a caller that finds no launcher and may start one: at once, then
 * after delays that grow until a launcher has had gpusortd say how it is.
 */
extern bool shared_claim_launcher(void);

/*
 * For a launcher: at its start, false if there is another one; and at its end.
 */
extern bool shared_begin_launcher(void);
extern void shared_end_launcher(void);

/* Asks the launcher to see whether gpusortd answers; and is it asked to? */
extern void shared_ask_launcher(void);
extern bool shared_launcher_is_asked(void);

/*
 * True for the one caller that may tell the log that memory for parallel sorts
 * could be set aside.
 */
extern bool shared_claim_memory_hint(void);

/*
 * Jobs that gpusortd has of all processes, until it has sorted them.  Those that
 * a process has when it exits end then.
 */
extern void shared_begin_device_job(void);
extern void shared_end_device_job(void);
extern uint32 shared_device_jobs(void);

/* Adds to a counter. */
extern void shared_count(Statistic statistic, uint64 amount);

extern uint64 shared_counter(Statistic statistic);
extern const char *shared_counter_name(Statistic statistic);

#endif							/* GPUSORT_SHARED_STATE_H */
