/*-------------------------------------------------------------------------
 *
 * team.h
 *	  Processes that sort the rows of one plan node together.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_TEAM_H
#define GPUSORT_TEAM_H

#include "access/parallel.h"

#include "team/member_sort.h"
#include "team/merged_runs.h"
#include "team/sorted_slices.h"

/* The state that all members share, in the parallel context. */
typedef struct TeamShared TeamShared;

/* The terms of a team, which the leader sets before it launches workers. */
typedef struct TeamTerms
{
	int			nmembers;		/* the planned workers and the leader, whose
								 * number is the last */
	Size		memory;			/* memory of each member, in bytes */
	bool		keep_rows;		/* all members keep their rows, since more are
								 * expected than fit memory */
	bool		limits_groups;	/* TeamRows has a limit of groups */
	bool		elects;			/* the first member to come is the collector,
								 * and all may emit rows; otherwise the leader
								 * collects and emits */
	double		expected_to_send;	/* rows that workers may have to send in
									 * their order; 0: none */
} TeamTerms;

/* A process of a team. */
typedef struct Team Team;

typedef enum TeamRole
{
	TEAM_COLLECTS,				/* the collector: puts rows, and sorts the
								 * rows of all */
	TEAM_DEPOSITS,				/* puts rows */
	TEAM_LATE					/* puts none: the others have had all rows */
} TeamRole;

/* Returns the bytes of shared memory that a team takes. */
extern Size team_size(int nmembers);

/*
 * team_init() initializes the shared state, in the leader, before workers are
 * launched.  team_reset() resets it when all workers have ended and no file is
 * open.
 */
extern void team_init(TeamShared *shared, ParallelContext *context,
					  const TeamTerms *terms);
extern void team_reset(TeamShared *shared, const TeamTerms *terms);

/* Attaches a worker to the files of the team. */
extern void team_attach(TeamShared *shared);

/*
 * Returns whether this process is one of several.  The context is the
 * leader's.
 */
extern bool team_has_others(const TeamShared *shared,
							const ParallelContext *context);

/*
 * Makes this process a member.  "rows" is copied; what it points to must stay.
 * "progress", which must stay or is NULL, counts the rows that are sent.
 * Allocates in a child of the current memory context, as all functions below
 * do.
 */
extern Team *team_begin(TeamShared *shared, const TeamRows *rows,
						SortProgress *progress);

/*
 * Joins the team, before this member takes its first row of a shared scan.  In
 * a leader that emits all rows, "nworkers" is the number of workers launched;
 * others need not know it.  Returns the role of this member; one member is the
 * collector.
 */
extern TeamRole team_join(Team *team, int nworkers);

/*
 * Joins a further team of the same processes, between team_join() and
 * team_finish() of the first, unless this member is late there.  One member is
 * the collector of all these teams.
 */
extern void team_join_beside(Team *team, bool is_collector);

/* Puts a row: into shared memory, a run, or the collector's sort. */
extern void team_put(Team *team, TupleTableSlot *slot);

/*
 * Says that this member has put its last row.  Whatever others need to know of
 * its rows is in shared memory before they learn that.
 */
extern void team_finish(Team *team);

/*
 * Waits, in the collector, until all members have finished, and sorts their
 * rows.  With in_slices all members are likely to emit or send slices of the
 * order, and find the rows meanwhile.  Returns false if the rows cannot be
 * sorted by keys.  Then team_take_back() returns the rows of all, in any order,
 * one a call, and NULL after the last one.  A row is valid until the next call.
 */
extern bool team_order(Team *team, bool in_slices);
extern MinimalTuple team_take_back(Team *team);

/*
 * team_sort() returns the collector's sort of all rows, which stays the
 * team's.  team_has_runs() returns whether the rows are in runs, which that
 * sort does not merge.
 */
extern ExternalSort *team_sort(Team *team);
extern bool team_has_runs(const Team *team);

/* A report of team_order(), without pointers. */
typedef struct TeamReport
{
	int			workers;		/* workers that have had rows */
	uint64		kept_rows;		/* rows that members have kept */
	uint64		left_out_rows;	/* rows that members have left out, as nobody
								 * wants them */
	uint64		fill_microseconds;	/* time up to the last row of all */
	uint64		sort_microseconds;	/* time from there to the order */
} TeamReport;

extern TeamReport team_report(const Team *team);

/* Returns the copy of the rows given to team_begin(). */
extern const TeamRows *team_rows(const Team *team);

/* Returns the bytes of memory that a member has for rows that it keeps. */
extern Size team_kept_bytes(const Team *team);

/*
 * Decides, in the collector, once it has the order, what all members do with
 * the parts.  team_prepare() prepares the wished work, or whatever pays and
 * fits memory in its place, and returns what it has prepared.  team_announce()
 * announces that to the other members.
 */
extern TeamWork team_prepare(Team *team, TeamWork wish);
extern void team_announce(Team *team);

/*
 * Returns the number of parts in which runs are merged; 0 if this process
 * merges all runs by itself.
 */
extern int	team_merged_parts(const Team *team);

/*
 * For the collector, after team_announce(), unless all members emit parts.
 * team_rows_in_order() reads the rows of all parts in order; it is NULL if the
 * order is in team_sort().  team_rows_sent() returns how many of the rows read
 * so far lay in shared memory and were sent by members.  team_stop() ends the
 * sending, at any time, when no more rows are wanted.
 */
extern RowReader *team_rows_in_order(const Team *team);
extern uint64 team_rows_sent(const Team *team);
extern void team_stop(Team *team);

/*
 * For other members, after team_finish().  team_hand_over() waits until the
 * collector has taken all that this member has put, and returns whether there
 * may be work for it.  If so, team_work() has to be called once nobody waits
 * for this process any more: it waits for the decision, and writes or sends
 * parts.
 */
extern bool team_hand_over(Team *team);
extern void team_work(Team *team);

/* Returns true until the collector has decided. */
extern bool team_is_undecided(TeamShared *shared);

/*
 * Waits for the decision, and returns it.  Meanwhile finds the rows of slices,
 * once there is room for the order.
 */
extern TeamWork team_await(Team *team);

/*
 * Returns a reader of the parts that this member takes, after the decision
 * WORK_EMIT_PARTS, in any member, late ones too.  Parts end where groups do.
 * Returns NULL if there are no parts for this member.  The reader has to be
 * ended before the team.
 */
extern PartReader *team_parts(Team *team, const RowComparator *groups);

/* Returns the shared state of the parts. */
extern SharedParts *team_shared_parts(TeamShared *shared);

/* Leaves the team, at any time, when nobody in this process reads its rows. */
extern void team_leave(Team *team);

#endif							/* GPUSORT_TEAM_H */
