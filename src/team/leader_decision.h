/*-------------------------------------------------------------------------
 *
 * leader_decision.h
 *	  What the leader of a team tells the workers to do after the
 *	  last row.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LEADER_DECISION_H
#define GPUSORT_LEADER_DECISION_H

#include "port/atomics.h"
#include "storage/condition_variable.h"

/* What the processes do when the leader has taken the last row of all (parts.h). */
typedef enum TeamWork
{
	WORK_UNDECIDED = 0,			/* rows are still taken */
	WORK_NONE,					/* the leader emits all rows by itself */
	WORK_WRITE_PARTS,			/* all write parts to files, before the leader
								 * emits rows */
	WORK_SEND_PARTS,			/* the others send parts to the leader, while
								 * that emits rows */
	WORK_EMIT_PARTS				/* all emit the parts that they take */
} TeamWork;

/* A decision in shared memory. */
typedef struct LeaderDecision
{
	pg_atomic_uint32 work;		/* a TeamWork */
	ConditionVariable made;
} LeaderDecision;

/*
 * Initializes a decision.  May be called again when nobody waits for the last
 * decision any more.
 */
extern void leader_decision_init(LeaderDecision *decision);

/* True until the leader has decided. */
extern bool leader_decision_is_open(LeaderDecision *decision);

/* For the leader: decides, unless it has decided before. */
extern void leader_decision_make(LeaderDecision *decision, TeamWork work);

/* For the others: waits for the decision, and returns it. */
extern TeamWork leader_decision_await(LeaderDecision *decision);

#endif							/* GPUSORT_LEADER_DECISION_H */
