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

/* What the leader says before it launches workers. */
typedef struct TeamTerms
{
	int			nparticipants;	/* leader, whose number is the last, and
								 * planned workers */
	bool		keep_rows;		/* each member keeps all of its rows, as more
								 * are expected than fit memory */
	bool		elects;			/* the first to come collects the rows, and
								 * all may emit them; otherwise the leader
								 * does both */
	double		expected_to_send;	/* rows that workers may be asked to send
									 * in their order; 0: none */
} TeamTerms;

/* A member. */
typedef struct Team Team;

typedef enum TeamRole
{
	TEAM_COLLECTS,				/* puts rows, and sorts those of all */
	TEAM_DEPOSITS,				/* puts rows */
	TEAM_LATE					/* the others have had all rows */
} TeamRole;

/* Bytes of shared memory. */
extern Size team_size(int nparticipants);

/*
 * In the leader, before workers are launched: initializes the shared state; or resets
 * it, when all workers have ended and no file is open.
 */
extern void team_init(TeamShared *shared, ParallelContext *context,
					  const TeamTerms *terms);
extern void team_reset(TeamShared *shared, const TeamTerms *terms);

/* In a worker: attaches to the files. */
extern void team_attach(TeamShared *shared);

/* Is this process one of several?  The context is the leader's. */
extern bool team_has_others(const TeamShared *shared,
							const ParallelContext *context);

/*
 * Makes this process a member.  "rows" is copied; what it refers to must stay.  The
 * progress, which has to stay, or is NULL, gets the rows that are sent.  Allocates in a
 * memory context that is a child of the current one; every function below allocates
 * there.
 */
extern Team *team_begin(TeamShared *shared, const TeamRows *rows,
						SortProgress *progress);

/*
 * Takes part in the team, before the first row of a shared scan; "nworkers" is how many
 * workers were launched, for the leader.  One member collects.
 */
extern TeamRole team_join(Team *team, int nworkers);

/* Puts a row; it is in shared memory then, in a run, or in the collector's sort. */
extern void team_put(Team *team, TupleTableSlot *slot);

/* Ends the rows of this member.  All counts that others need are noted before. */
extern void team_finish(Team *team);

/*
 * For the collector: waits for the rows of all, and sorts them.  False if keys are of no
 * use.  Then team_take_back() returns the rows of all, in any order, one a call, each
 * valid until the next call, and NULL at the end.
 */
extern bool team_order(Team *team);
extern MinimalTuple team_take_back(Team *team);

/*
 * For the collector: the sort of the rows of all, which stays the team's; and whether the
 * rows are in runs, which is not for that sort to merge.
 */
extern ExternalSort *team_sort(Team *team);
extern bool team_has_runs(const Team *team);

/* What there is to tell of that; without pointers. */
typedef struct TeamReport
{
	int			workers;		/* workers that have had rows */
	uint64		kept_rows;		/* rows that members have kept */
	uint64		fill_microseconds;	/* time up to the last row of all */
	uint64		sort_microseconds;	/* time from there to the order */
} TeamReport;

extern TeamReport team_report(const Team *team);

/* What this member was begun with. */
extern const TeamRows *team_rows(const Team *team);

/* Bytes for rows that a member sorts by itself. */
extern Size team_kept_bytes(const Team *team);

/*
 * For the collector, when it has the order: decides, once, what all do with the parts of
 * it.  team_prepare() prepares what is wished, or what pays and memory allows in its
 * place, and returns that.  team_announce() tells it to the others.
 */
extern TeamWork team_prepare(Team *team, TeamWork wish);
extern void team_announce(Team *team);

/* The parts in which runs are merged; 0 if this process merges all of them. */
extern int	team_merged_parts(const Team *team);

/*
 * For the collector, after that, unless all emit parts: the rows of all parts in order, or
 * NULL if the order is in team_sort(); the rows so far that members have sent of those in
 * shared memory; and the end of sending, at any time, when no more rows are wanted.
 */
extern RowReader *team_rows_in_order(const Team *team);
extern uint64 team_rows_sent(const Team *team);
extern void team_stop(Team *team);

/*
 * For other members, after team_finish(): waits until the collector has what this member
 * has put.  True if there may be work for it.  Then team_work() is to follow, when nobody
 * waits for this process any more: it waits for the decision, and writes or sends parts.
 */
extern bool team_hand_over(Team *team);
extern void team_work(Team *team);

/* True until the collector has decided. */
extern bool team_is_undecided(TeamShared *shared);

/* Waits for the decision, and returns it. */
extern TeamWork team_await(TeamShared *shared);

/*
 * After WORK_EMIT_PARTS, in any member, also a late one: the parts that this member takes,
 * which end where groups do; ends before the team.  NULL if there are none for it.
 */
extern PartReader *team_parts(Team *team, const RowComparator *groups);

/* The parts of all members. */
extern SharedParts *team_shared_parts(TeamShared *shared);

/* Leaves the team at any time, when nobody here reads its rows. */
extern void team_leave(Team *team);

#endif							/* GPUSORT_TEAM_H */
