/*-------------------------------------------------------------------------
 *
 * node_stream.c
 *	  The GpuSortReceive and GpuSortSend plan nodes: many rows through a Gather.
 *
 * If many rows leave the workers, their passage takes most of the time: core
 * has a tuple queue for each worker, and its Gather looks for a row in all
 * queues before it lets the leader make one.  The two nodes of this file stand
 * around a Gather:
 *
 *	GpuSortReceive -> Gather -> GpuSortSend -> partial plan
 *
 * In a worker, the GpuSortSend takes all rows of its child, sends them in
 * chunks (row_stream.c), and puts none into the tuple queue.  In the leader,
 * the GpuSortSend emits the rows that have come.  If there are none, it emits
 * the next row of its own child, as the leader runs the plan, too.  The Gather
 * starts the workers, and asks for the first row.  Then the GpuSortReceive
 * asks the GpuSortSend itself, and comes back to the Gather at the end.
 *
 * If the leader does not run the plan, or has no workers, rows take core's
 * way.
 *
 * The leader waits only after its last own row.  A worker waits only for the
 * leader's next look at the chunks, as it would wait for room in a tuple
 * queue.  A stream is closed before the Gather waits for workers to end.  When
 * nodes are shut down or ended, the GpuSortSend closes it, since a child comes
 * first.  When nodes are rescanned, the GpuSortReceive closes it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/execParallel.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"

#include "executor/gpusort_plan.h"
#include "executor/node_stream.h"
#include "executor/row_stream.h"
#include "port/compat.h"

/* The state that leader and workers share, in the parallel context. */
typedef struct SharedSend
{
	bool		streams;		/* rows are sent in chunks */
} SharedSend;

/* State of a GpuSortSend. */
typedef struct SendState
{
	CustomScanState css;		/* must be first */
	bool		is_received;	/* in the leader: a GpuSortReceive asks for
								 * its rows */
	SharedSend *shared;			/* NULL in a single process */
	ParallelContext *context;	/* parallel context, in the leader */

	/* in the leader, from its first row on */
	RowReceiver *receiver;		/* rows of workers; NULL: none are sent */
	bool		child_ended;	/* the leader has had its last own row */
	TupleTableSlot *row;		/* row of a worker */
} SendState;

/* State of a GpuSortReceive. */
typedef struct ReceiveState
{
	CustomScanState css;		/* must be first */
	SendState  *send;			/* NULL: rows take core's way */

	/* counts of rows that came directly, not yet shown: */
	uint64		nrows;			/* all of these rows, which the Gather has not
								 * seen */
	uint64		nown;			/* those that are the leader's own rows */
} ReceiveState;

static const CustomExecMethods receive_exec_methods;
static const CustomExecMethods send_exec_methods;

/*
 * ---- plans
 */

bool
is_gpusort_receive(const Plan *plan)
{
	return IsA(plan, CustomScan) &&
		((const CustomScan *) plan)->methods == &receive_scan_methods;
}

bool
is_gpusort_send(const Plan *plan)
{
	return IsA(plan, CustomScan) &&
		((const CustomScan *) plan)->methods == &send_scan_methods;
}

CustomScan *
stream_make_plan(const CustomScanMethods *methods, List *target_list,
				 Plan *child)
{
	CustomScan *scan = makeNode(CustomScan);

	scan->methods = methods;
	emit_child(scan, target_list, child);
	return scan;
}

void
stream_refer_to_children(CustomScan *receive)
{
	Plan	   *gather = receive->scan.plan.lefttree;

	refer_to_child(receive);
	refer_to_columns(gather->targetlist, OUTER_VAR);
	refer_to_child((CustomScan *) gather->lefttree);
}

/*
 * ---- GpuSortSend
 */

static Node *
create_send_state(CustomScan *scan)
{
	SendState  *send = palloc0(sizeof(SendState));

	NodeSetTag(send, T_CustomScanState);
	send->css.methods = &send_exec_methods;
	return (Node *) send;
}

/* Begins a node whose rows are in slots of different kinds. */
static void
begin_node(CustomScanState *node, EState *estate, int eflags)
{
	outerPlanState(node) = ExecInitNode(outerPlan(node->ss.ps.plan), estate,
										eflags & ~(EXEC_FLAG_REWIND |
												   EXEC_FLAG_BACKWARD |
												   EXEC_FLAG_MARK));
	node->ss.ps.resultopsset = true;
	node->ss.ps.resultopsfixed = false;
}

static void
begin_send(CustomScanState *node, EState *estate, int eflags)
{
	begin_node(node, estate, eflags);
	((SendState *) node)->row =
		ExecInitExtraTupleSlot(estate, ExecGetResultType(outerPlanState(node)),
							   &TTSOpsMinimalTuple);
}

static RowStream *
stream_of(const SendState *send)
{
	return (RowStream *) ((char *) send->shared +
						  MAXALIGN(sizeof(SharedSend)));
}

/* Returns whether there are workers that send rows in chunks. */
static bool
has_senders(const SendState *send)
{
	return send->shared != NULL && send->shared->streams &&
		send->context->nworkers_launched > 0;
}

/* Counts rows that the executor has not seen the node emit. */
static void
count_rows(PlanState *node, double nrows)
{
	if (node->instrument != NULL)
		InstrUpdateTupleCount(node->instrument, nrows);
}

/* Sends all rows of the child, in a worker. */
static void
send_rows(SendState *send)
{
	PlanState  *child = outerPlanState(send);
	RowSender  *sender = row_sender_begin(stream_of(send),
										  ParallelWorkerNumber,
										  ExecGetResultType(child));
	TupleTableSlot *slot;
	uint64		nrows = 0;

	if (sender == NULL)
		return;
	do
		slot = ExecProcNode(child);
	while (!TupIsNull(slot) && ++nrows > 0 && row_sender_put(sender, slot));
	row_sender_end(sender);
	count_rows(&send->css.ss.ps, nrows);
}

/*
 * Returns a row of a worker, or of the child, in the leader; NULL if there is
 * none.
 */
static TupleTableSlot *
receive_row(SendState *send)
{
	for (;;)
	{
		MinimalTuple row = row_receiver_next(send->receiver);
		TupleTableSlot *slot;

		if (row != NULL)
			return ExecStoreMinimalTuple(row, send->row, false);
		if (!send->child_ended)
		{
			slot = ExecProcNode(outerPlanState(send));
			if (!TupIsNull(slot))
				return slot;
			send->child_ended = true;
		}
		else if (!row_receiver_wait(send->receiver))
			return ExecClearTuple(send->row);
	}
}

/* Returns the first row, in the leader, for which the Gather asks. */
static TupleTableSlot *
receive_first_row(SendState *send)
{
	PlanState  *node = &send->css.ss.ps;
	MemoryContext caller_context =
		MemoryContextSwitchTo(node->state->es_query_cxt);
	TupleTableSlot *slot;

	if (send->receiver == NULL)
		send->receiver = row_receiver_begin(stream_of(send));
	MemoryContextSwitchTo(caller_context);
	slot = receive_row(send);
	/* the worker has counted its row */
	if (slot == send->row && !TupIsNull(slot))
		count_rows(node, -1);
	return slot;
}

static TupleTableSlot *
exec_send(CustomScanState *node)
{
	SendState  *send = (SendState *) node;

	if (!IsParallelWorker())
		return has_senders(send) ? receive_first_row(send) :
			ExecProcNode(outerPlanState(node));
	if (!send->shared->streams)
		return ExecProcNode(outerPlanState(node));
	send_rows(send);
	return NULL;
}

/*
 * Makes workers end, in the leader, and forgets the row that was emitted last.
 */
static void
end_stream(SendState *send)
{
	if (IsParallelWorker())
		return;
	ExecClearTuple(send->row);
	if (send->shared != NULL && send->shared->streams)
		row_stream_close(stream_of(send));
	if (send->receiver != NULL)
		row_receiver_end(send->receiver);
	send->receiver = NULL;
	send->child_ended = false;
}

static void
end_send(CustomScanState *node)
{
	end_stream((SendState *) node);
	ExecEndNode(outerPlanState(node));
}

static void
rescan_send(CustomScanState *node)
{
	/* with changed parameters the child is rescanned at its first fetch */
	if (outerPlanState(node)->chgParam == NULL)
		ExecReScan(outerPlanState(node));
}

static Size
estimate_send(CustomScanState *node, ParallelContext *context)
{
	return MAXALIGN(sizeof(SharedSend)) + row_stream_size(context->nworkers);
}

static void
init_shared(CustomScanState *node, ParallelContext *context, void *place)
{
	SendState  *send = (SendState *) node;

	send->context = context;
	/* without shared memory there will be no workers */
	if (context->seg == NULL)
		return;
	send->shared = place;
	send->shared->streams = send->is_received && parallel_leader_participation;
	row_stream_init(stream_of(send), context->nworkers);
}

static void
init_worker(CustomScanState *node, shm_toc *contents, void *place)
{
	((SendState *) node)->shared = place;
}

/*
 * Closes the stream, when no more rows will be wanted, and before the parallel
 * context goes.  Also called between fetches from a cursor, which has no
 * workers.
 */
static void
shut_down_send(CustomScanState *node)
{
	SendState  *send = (SendState *) node;

	end_stream(send);
	send->shared = NULL;
	send->context = NULL;
}

/*
 * ---- GpuSortReceive
 */

static Node *
create_receive_state(CustomScan *scan)
{
	ReceiveState *receive = palloc0(sizeof(ReceiveState));

	NodeSetTag(receive, T_CustomScanState);
	receive->css.methods = &receive_exec_methods;
	return (Node *) receive;
}

static void
begin_receive(CustomScanState *node, EState *estate, int eflags)
{
	PlanState  *gather;

	begin_node(node, estate, eflags);
	gather = outerPlanState(node);
	/* a plan that gpusort has not finished has a Gather with a projection */
	if (gather->ps_ProjInfo == NULL)
	{
		SendState  *send = (SendState *) outerPlanState(gather);

		send->is_received = true;
		((ReceiveState *) node)->send = send;
	}
}

/*
 * Returns the next row of the GpuSortSend, which is run as the Gather would
 * run it.
 */
static TupleTableSlot *
receive_directly(ReceiveState *receive)
{
	EState	   *estate = receive->css.ss.ps.state;
	GatherState *gather = (GatherState *) outerPlanState(receive);
	TupleTableSlot *slot;

	estate->es_query_dsa = gather->pei->area;
	slot = receive_row(receive->send);
	estate->es_query_dsa = NULL;
	if (!TupIsNull(slot))
	{
		receive->nrows++;
		if (slot != receive->send->row)
			receive->nown++;
	}
	return slot;
}

static TupleTableSlot *
exec_receive(CustomScanState *node)
{
	ReceiveState *receive = (ReceiveState *) node;

	if (receive->send != NULL && receive->send->receiver != NULL)
	{
		TupleTableSlot *slot = receive_directly(receive);

		if (!TupIsNull(slot))
			return slot;
	}
	return ExecProcNode(outerPlanState(node));
}

/* Adds the rows that have come directly to the counts of the nodes below. */
static void
count_direct_rows(ReceiveState *receive)
{
	if (receive->nrows == 0)
		return;
	count_rows(outerPlanState(receive), receive->nrows);
	count_rows(&receive->send->css.ss.ps, receive->nown);
	receive->nrows = 0;
	receive->nown = 0;
}

static void
end_receive(CustomScanState *node)
{
	ExecEndNode(outerPlanState(node));
}

static void
rescan_receive(CustomScanState *node)
{
	ReceiveState *receive = (ReceiveState *) node;

	count_direct_rows(receive);
	if (receive->send != NULL)
		end_stream(receive->send);
	/* with changed parameters the Gather is rescanned at its first fetch */
	if (outerPlanState(node)->chgParam == NULL)
		ExecReScan(outerPlanState(node));
}

static void
shut_down_receive(CustomScanState *node)
{
	count_direct_rows((ReceiveState *) node);
}

/*
 * ---- methods
 */

const CustomScanMethods receive_scan_methods = {
	.CustomName = "GpuSortReceive",
	.CreateCustomScanState = create_receive_state
};

const CustomScanMethods send_scan_methods = {
	.CustomName = "GpuSortSend",
	.CreateCustomScanState = create_send_state
};

static const CustomExecMethods receive_exec_methods = {
	.CustomName = "GpuSortReceive",
	.BeginCustomScan = begin_receive,
	.ExecCustomScan = exec_receive,
	.EndCustomScan = end_receive,
	.ReScanCustomScan = rescan_receive,
	.ShutdownCustomScan = shut_down_receive
};

static const CustomExecMethods send_exec_methods = {
	.CustomName = "GpuSortSend",
	.BeginCustomScan = begin_send,
	.ExecCustomScan = exec_send,
	.EndCustomScan = end_send,
	.ReScanCustomScan = rescan_send,
	.EstimateDSMCustomScan = estimate_send,
	.InitializeDSMCustomScan = init_shared,
	.ReInitializeDSMCustomScan = init_shared,
	.InitializeWorkerCustomScan = init_worker,
	.ShutdownCustomScan = shut_down_send
};
