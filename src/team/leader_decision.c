/*-------------------------------------------------------------------------
 *
 * leader_decision.c
 *	  What the collector of a team tells the other members to do after the
 *	  last row.
 *
 * A member that has put its last row waits for the decision of the collector.
 * In an index build, and below a Gather Merge, the collector is the leader.
 * The collector decides when it has taken the last row of all members, and
 * before it emits its first row.  A member that sleeps until then holds
 * nothing that the collector waits for.  If the collector fails, its error
 * ends the others.
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

void
leader_decision_wake(LeaderDecision *decision)
{
	ConditionVariableBroadcast(&decision->made);
}

TeamWork
leader_decision_await_or(LeaderDecision *decision, pg_atomic_uint32 *wake)
{
	static uint32 wait_event = 0;

	if (wait_event == 0)
		wait_event = WaitEventExtensionNew("GpusortDecision");
	while (leader_decision_is_open(decision) &&
		   (wake == NULL || pg_atomic_read_u32(wake) == 0))
		ConditionVariableSleep(&decision->made, wait_event);
	ConditionVariableCancelSleep();
	pg_read_barrier();
	return pg_atomic_read_u32(&decision->work);
}

TeamWork
leader_decision_await(LeaderDecision *decision)
{
	return leader_decision_await_or(decision, NULL);
}
