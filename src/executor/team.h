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

#include "executor/row_sort.h"
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

/* The rows of a member, and how they are sorted. */
typedef struct TeamRows
{
	TupleDesc	descriptor;
	const SortColumn *columns;
	int			ncolumns;
	double		expected_rows;	/* estimate, of this member */
	double		bound;			/* first rows that are wanted, or NO_BOUND */
	GroupLimit *limit;			/* limit of each group's rows, or NULL */
	MergeHelp	help;			/* when members can help to merge runs */
} TeamRows;

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
 * For the collector: waits for the rows of all, sorts them, and returns the sort, which
 * the caller ends.
 */
extern RowSort *team_order(Team *team);

/*
 * For the collector, when it has the order: decides, once, what the members do.  That
 * is the wish, or what was decided for the merge of runs, or nothing if memory does not
 * suffice for the wish: then the collector emits all rows, with what help there is.
 */
extern TeamWork team_decide(Team *team, TeamWork wish);

/*
 * For other members, after team_finish(): merges runs to files, if the collector wants
 * that, and waits until the collector has what this member has put.  True if the member
 * may have to help while the collector emits rows: team_help_later() is to follow, when
 * the collector no longer waits for this process.
 */
extern bool team_help(Team *team);
extern void team_help_later(Team *team);

/* True until the collector has decided. */
extern bool team_is_undecided(TeamShared *shared);

/* Waits for the decision, and returns it. */
extern TeamWork team_await(TeamShared *shared);

/*
 * After WORK_EMIT_SLICES, in any member, also a late one: begins to emit slices, which
 * end where groups do.  NULL if all rows have been emitted.
 */
extern SliceReader *team_slices(Team *team, const RowComparator *groups);

/* The slices of all members. */
extern SharedSlices *team_shared_slices(TeamShared *shared);

/* Leaves the team at any time, when the sort and the slices have ended. */
extern void team_leave(Team *team);

#endif							/* GPUSORT_TEAM_H */
