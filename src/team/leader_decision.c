/*-------------------------------------------------------------------------
 *
 * leader_decision.c
 *	  What the leader of a team tells the workers to do after the
 *	  last row.
 *
 * A process that has put its last row waits for the decision.  It sleeps until
 * the leader has taken the last row of all processes, and has decided.
 * Meanwhile the process holds nothing that the leader waits for.  The leader
 * decides before it emits its first row.  If the leader fails, that ends the
 * others.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/compat.h"
#include "team/leader_decision.h"

void
leader_decision_init(LeaderDecision *decision)
{
	pg_atomic_init_u32(&decision->work, WORK_UNDECIDED);
	ConditionVariableInit(&decision->made);
}

bool
leader_decision_is_open(LeaderDecision *decision)
{
	return pg_atomic_read_u32(&decision->work) == WORK_UNDECIDED;
}

void
leader_decision_make(LeaderDecision *decision, TeamWork work)
{
	if (!leader_decision_is_open(decision))
		return;
	pg_write_barrier();
	pg_atomic_write_u32(&decision->work, work);
	ConditionVariableBroadcast(&decision->made);
}

TeamWork
leader_decision_await(LeaderDecision *decision)
{
	static uint32 wait_event = 0;

	if (wait_event == 0)
		wait_event = WaitEventExtensionNew("GpusortDecision");
	while (leader_decision_is_open(decision))
		ConditionVariableSleep(&decision->made, wait_event);
	ConditionVariableCancelSleep();
	pg_read_barrier();
	return pg_atomic_read_u32(&decision->work);
}
