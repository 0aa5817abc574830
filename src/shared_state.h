/*-------------------------------------------------------------------------
 *
 * shared_state.h
 *	  The state that all processes of the server share: the status of gpusortd,
 *	  and the counters.
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
	STAT_SORTS_DEVICE,			/* sorts, by the engine */
	STAT_SORTS_HOST,
	STAT_SORTS_SPILLED,			/* sorts of both that exceeded their memory */
	STAT_SORTS_NATIVE,			/* taken over, then given to core's sort */
	STAT_ROWS,
	STAT_SORTS_TOGETHER,		/* sorts with parallel workers, of any kind */
	STAT_SORT_WORKERS,			/* workers that sent rows in these */
	STAT_SORTS_IN_PARTS,		/* sorts whose rows several processes emit */
	STAT_WINDOWS,				/* executions of a GpuSortWindow */
	STAT_AGGREGATES,			/* executions of a GpuSortAggregate */
	STAT_SET_OPERATIONS,		/* executions of a GpuSortSetOp */
	STAT_ROWS_LEFT_OUT,			/* rows that limits of groups left out early */
	STAT_BYTES,
	STAT_FILL_MICROSECONDS,
	STAT_SORT_MICROSECONDS,
	STAT_DEVICE_FAULTS,
	STAT_DEVICE_FULL,
	STAT_REFUSED_SMALL,			/* refused sorts of plans, see refusal.h */
	STAT_REFUSED_BOUNDED,
	STAT_REFUSED_TYPE,
	STAT_REFUSED_COLLATION,
	STAT_REFUSED_OPERATOR,
	STAT_REFUSED_INCREMENTAL,
	STAT_REFUSED_AGGREGATE,
	STAT_REFUSED_FOREIGN,
	STAT_INDEXES_DEVICE,		/* index builds, by the engine */
	STAT_INDEXES_HOST,
	STAT_INDEXES_SPILLED,		/* builds of both that spilled to files */
	STAT_INDEXES_INVERTED,		/* builds of GIN indexes among those */
	STAT_INDEXES_NATIVE,		/* taken over, then given to core's sort */
	STAT_INDEX_WORKERS,			/* workers that collected rows in these */
	STAT_INDEX_WORKER_PAGES,	/* leaf pages that they made */
	STAT_INDEX_ROWS,
	STAT_INDEX_BYTES,
	STAT_INDEX_COLLECT_MICROSECONDS,
	STAT_INDEX_SORT_MICROSECONDS,
	STAT_INDEX_WRITE_MICROSECONDS,
	STAT_INDEX_REFUSED_SMALL,	/* refused index builds */
	STAT_INDEX_REFUSED_TYPE,
	STAT_INDEX_REFUSED_COLLATION,
	STAT_INDEX_REFUSED_OPERATOR,
	STAT_COUNT
} Statistic;

typedef enum DaemonState
{
	DAEMON_NOT_STARTED,			/* there is no launcher */
	DAEMON_STARTING,
	DAEMON_READY,
	DAEMON_SILENT,				/* ready before, but does not answer */
	DAEMON_UNUSABLE,			/* found no device; started again, seldom */
	DAEMON_FAILED				/* died; will be started again */
} DaemonState;

#define STATE_REASON_SIZE	256

/* The status of gpusortd, a copy. */
typedef struct DaemonStatus
{
	DaemonState state;
	bool		has_gpu;		/* gpusortd sorts on a GPU */
	char		reason[STATE_REASON_SIZE];	/* the reason of a state that is
											 * not ready */
} DaemonStatus;

/*
 * Reserves the shared memory, if the library is in shared_preload_libraries.
 * Otherwise the first use takes it from the server's reserve.
 */
/* Asks for the shared memory, if the server preloads the library. */
extern void shared_state_request(void);

/* Is the postmaster about to start a launcher?  To be called before the first use. */
extern void shared_expect_launcher(bool expected);

extern DaemonStatus shared_daemon_status(void);
extern void shared_set_daemon_status(DaemonState state, bool has_gpu,
									 const char *reason);

/*
 * Change the state of gpusortd from ready to silent, when a process waits for
 * an answer of gpusortd, and back, when the answer has come.
 */
extern void shared_note_silence(void);
extern void shared_note_answer(void);

/*
 * True for a caller that may start a launcher, since there is none: the first
 * time at once, then after delays that grow until a launcher has reported a
 * status of gpusortd.
 */
extern bool shared_claim_launcher(void);

/*
 * Begin and end of a launcher; false if there is another one.
 */
extern bool shared_begin_launcher(void);
extern void shared_end_launcher(void);

/*
 * Ask the launcher to check that gpusortd answers, and tell whether it was
 * asked.
 */
extern void shared_ask_launcher(void);
extern bool shared_launcher_is_asked(void);

/*
 * True for the one caller that may tell the log that memory for parallel sorts
 * could be set aside.
 */
extern bool shared_claim_memory_hint(void);

/*
 * True for the first caller of a statement, among all of its processes: it may
 * warn the client that something was done otherwise than asked for.
 */
extern bool shared_claim_warning(void);

/*
 * Begin, end and number of the jobs of all processes that gpusortd has to
 * sort.  The jobs of a process that exits end by themselves.
 */
extern void shared_begin_device_job(void);
extern void shared_end_device_job(void);
extern uint32 shared_device_jobs(void);

/* Adds to a counter, and to that of the database if there is one for it. */
extern void shared_count(Statistic statistic, uint64 amount);

extern uint64 shared_counter(Statistic statistic);
extern const char *shared_counter_name(Statistic statistic);

#endif							/* GPUSORT_SHARED_STATE_H */
