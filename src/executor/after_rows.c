/*-------------------------------------------------------------------------
 *
 * after_rows.c
 *	  What a parallel worker does when it has emitted its last row.
 *
 * A Gather Merge emits its second row only when each worker has sent a row or
 * has ended.  So a worker that emits no rows is of no use to a leader that
 * emits rows, unless the worker has detached from its tuple queue.  A worker
 * detaches when its plan has been executed, and before the plan is finished.
 * So what is left to do is done when the plan is finished (ExecutorFinish, see
 * hooks.c).  EXPLAIN counts this time for the Gather Merge, not for the nodes
 * of the worker.
 *
 * When the leader ends a Gather Merge, it waits until workers have finished.
 * So it has to end their work first.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "executor/executor.h"

#include "executor/after_rows.h"

/* What is left to do, and in which plan.  A worker that fails is gone. */
static const EState *awaited_estate;
static AfterRows awaited_function;
static void *awaited_arg;

void
after_rows_perform(EState *estate)
{
	if (unlikely(awaited_estate != NULL) && estate == awaited_estate)
	{
		MemoryContext caller_context =
			MemoryContextSwitchTo(estate->es_query_cxt);

		awaited_estate = NULL;
		awaited_function(awaited_arg);
		MemoryContextSwitchTo(caller_context);
	}
}

void
after_rows_do(EState *estate, AfterRows function, void *arg)
{
	Assert(IsParallelWorker() && awaited_estate == NULL);
	awaited_estate = estate;
	awaited_function = function;
	awaited_arg = arg;
}
