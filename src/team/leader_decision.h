/*-------------------------------------------------------------------------
 *
 * leader_decision.h
 *	  What the collector of a team tells the other members to do after the
 *	  last row.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LEADER_DECISION_H
#define GPUSORT_LEADER_DECISION_H

#include "port/atomics.h"
#include "storage/condition_variable.h"

/*
 * What the members do when the collector has taken the last row of all
 * (parts.h).
 */
typedef enum TeamWork
{
	WORK_UNDECIDED = 0,			/* rows are still taken */
	WORK_NONE,					/* the collector emits all rows by itself */
	WORK_WRITE_PARTS,			/* members write parts to files, before the
								 * collector emits rows */
	WORK_SEND_PARTS,			/* members send parts to the collector, while
								 * it emits rows */
	WORK_EMIT_PARTS				/* each member emits parts that it takes, or
								 * makes pages of an index */
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

/* Returns true until the collector has decided. */
extern bool leader_decision_is_open(LeaderDecision *decision);

/* Decides, in the collector, unless it has decided before. */
extern void leader_decision_make(LeaderDecision *decision, TeamWork work);

/* Waits for the decision, in another member, and returns it. */
extern TeamWork leader_decision_await(LeaderDecision *decision);

/*
 * The same, but returns WORK_UNDECIDED as soon as "wake" is not 0.  The
 * collector calls leader_decision_wake() when it has set that.
 */
extern TeamWork leader_decision_await_or(LeaderDecision *decision,
										 pg_atomic_uint32 *wake);
extern void leader_decision_wake(LeaderDecision *decision);

#endif							/* GPUSORT_LEADER_DECISION_H */
