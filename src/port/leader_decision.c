/*-------------------------------------------------------------------------
 *
 * leader_decision.c
 *	  What a leader decides for processes that wait to help it.
 *
 * A process that has no more rows may wait to help: it sleeps until the leader
 * has taken the last row of all processes, and has decided what there is to
 * do.  Meanwhile it holds nothing that the leader waits for.  The leader
 * decides before it emits its first row, or fails, which ends the others.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/compat.h"
#include "port/leader_decision.h"

#define UNDECIDED	0

void
leader_decision_init(LeaderDecision *decision)
{
	pg_atomic_init_u32(&decision->nhelpers, 0);
	pg_atomic_init_u32(&decision->value, UNDECIDED);
	ConditionVariableInit(&decision->made);
}

void
leader_decision_offer_help(LeaderDecision *decision)
{
	pg_atomic_fetch_add_u32(&decision->nhelpers, 1);
}

int
leader_decision_helpers(LeaderDecision *decision)
{
	return pg_atomic_read_u32(&decision->nhelpers);
}

void
leader_decision_make(LeaderDecision *decision, uint32 value)
{
	if (pg_atomic_read_u32(&decision->value) != UNDECIDED)
		return;
	pg_write_barrier();
	pg_atomic_write_u32(&decision->value, value);
	ConditionVariableBroadcast(&decision->made);
}

uint32
leader_decision_await(LeaderDecision *decision)
{
	static uint32 wait_event = 0;
	uint32		value;

	if (wait_event == 0)
		wait_event = WaitEventExtensionNew("GpusortDecision");
	while ((value = pg_atomic_read_u32(&decision->value)) == UNDECIDED)
		ConditionVariableSleep(&decision->made, wait_event);
	ConditionVariableCancelSleep();
	pg_read_barrier();
	return value;
}
