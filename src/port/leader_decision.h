/*-------------------------------------------------------------------------
 *
 * leader_decision.h
 *	  What a leader decides for processes that wait to help it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LEADER_DECISION_H
#define GPUSORT_LEADER_DECISION_H

#include "port/atomics.h"
#include "storage/condition_variable.h"

/* A decision in shared memory: one of its user's values, or 0 before it is made. */
typedef struct LeaderDecision
{
	pg_atomic_uint32 nhelpers;	/* processes that wait to help the leader */
	pg_atomic_uint32 value;
	ConditionVariable made;
} LeaderDecision;

/* Initializes a decision, also anew when nobody waits any more. */
extern void leader_decision_init(LeaderDecision *decision);

/*
 * Offers the leader the help of this process, which then has to wait for the
 * decision.  To be called before the leader knows of the process's last row.
 */
extern void leader_decision_offer_help(LeaderDecision *decision);

/* Processes that have offered help. */
extern int	leader_decision_helpers(LeaderDecision *decision);

/* For the leader: decides, unless it has decided before. */
extern void leader_decision_make(LeaderDecision *decision, uint32 value);

/* For the others: waits for the decision, and returns it. */
extern uint32 leader_decision_await(LeaderDecision *decision);

#endif							/* GPUSORT_LEADER_DECISION_H */
