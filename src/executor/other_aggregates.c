/*-------------------------------------------------------------------------
 *
 * other_aggregates.c
 *	  Core's aggregates beside those of sorted values.
 *
 * If several processes read rows of one group, each has states of its own.  It
 * puts them, as bytes where core does so too, into the memory that the
 * processes of the query share, and the process that emits the result combines
 * them.  These are the functions by which core aggregates in workers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/planner.h"
#include "port/atomics.h"

#include "executor/other_aggregates.h"
#include "port/compat.h"

struct SharedStates
{
	pg_atomic_uint32 count;		/* processes that have shared their states */
	dsa_pointer rows[FLEXIBLE_ARRAY_MEMBER];	/* a minimal tuple of each, in
												 * the memory of the query */
};

/*
 * Returns an Agg that emits the states of these aggregates.  Their types are
 * those of its target list.
 */
static Agg *
make_emitting_states(Agg *agg)
{
	Agg		   *made = copyObject(agg);
	ListCell   *cell;

	made->aggsplit = AGGSPLIT_INITIAL_SERIAL;
	foreach(cell, made->plan.targetlist)
	{
		const TargetEntry *entry = lfirst(cell);

		mark_partial_aggref((Aggref *) entry->expr, made->aggsplit);
	}
	return made;
}

/* Returns an Agg that reads the states which another one emits. */
static Agg *
make_reading_states(Agg *agg, const Agg *emitting)
{
	Agg		   *made = copyObject(agg);
	ListCell   *cell;
	ListCell   *emitted;

	made->aggsplit = AGGSPLIT_FINAL_DESERIAL;
	forboth(cell, made->plan.targetlist, emitted, emitting->plan.targetlist)
	{
		Aggref	   *aggregate = (Aggref *) lfirst_node(TargetEntry, cell)->expr;
		Var		   *state = makeVarFromTargetEntry(OUTER_VAR, lfirst(emitted));

		aggregate->args = list_make1(makeTargetEntry((Expr *) state, 1, NULL,
													 false));
		aggregate->aggfilter = NULL;
		mark_partial_aggref(aggregate, made->aggsplit);
	}
	return made;
}

/* Begins the aggregates that read rows, and totals if these do instead. */
static void
begin_rows(OtherAggregates *others, Agg *agg, const List *columns,
		   const TupleTableSlotOps *kind, EState *estate, int eflags)
{
	GroupTotals *totals = palloc0(sizeof(GroupTotals));

	others->rows = core_aggregates_begin(agg, columns, kind, estate, eflags);
	if (group_totals_init(totals, others->rows, 0))
		others->totals = totals;
}

OtherAggregates *
other_aggregates_begin(Agg *agg, const List *columns,
					   const TupleTableSlotOps *kind, bool in_processes,
					   EState *estate, int eflags)
{
	OtherAggregates *others = palloc0(sizeof(OtherAggregates));
	Agg		   *emitting;
	Agg		   *reading;

	if (!in_processes)
	{
		begin_rows(others, copyObject(agg), columns, kind, estate, eflags);
		return others;
	}
	emitting = make_emitting_states(agg);
	reading = make_reading_states(agg, emitting);
	begin_rows(others, emitting, columns, kind, estate, eflags);
	others->states = core_aggregates_begin(reading, emitting->plan.targetlist,
										   &TTSOpsMinimalTuple, estate, eflags);
	others->state_row =
		ExecInitExtraTupleSlot(estate,
							   ExecGetResultType(&others->rows->ss.ps),
							   &TTSOpsMinimalTuple);
	return others;
}

void
other_aggregates_end(OtherAggregates *others)
{
	ExecEndAgg(others->rows);
	if (others->states != NULL)
		ExecEndAgg(others->states);
}

void
other_aggregates_begin_group(OtherAggregates *others)
{
	core_aggregates_begin_group(others->rows, 0);
	if (others->totals != NULL)
		group_totals_begin_group(others->totals);
}

/* Returns the memory that the processes of the query share. */
static dsa_area *
query_area(const OtherAggregates *others)
{
	return others->rows->ss.ps.state->es_query_dsa;
}

/*
 * Returns what the aggregates that read rows emit for their group, of which
 * "first" is a row, or NULL.
 */
static TupleTableSlot *
emit_rows(OtherAggregates *others, TupleTableSlot *first)
{
	if (first == NULL)
		first = others->rows->ss.ss_ScanTupleSlot;
	if (others->totals == NULL)
		return core_aggregates_emit(others->rows, 0, first);
	group_totals_store(others->totals);
	return group_totals_emit(others->totals, first);
}

void
other_aggregates_share(OtherAggregates *others)
{
	SharedStates *shared = others->shared;
	dsa_area   *area = query_area(others);
	MinimalTuple row;
	dsa_pointer place;
	bool		should_free;

	if (shared == NULL)
		return;
	row = ExecFetchSlotMinimalTuple(emit_rows(others, NULL), &should_free);
	place = dsa_allocate(area, row->t_len);
	memcpy(dsa_get_address(area, place), row, row->t_len);
	shared->rows[pg_atomic_fetch_add_u32(&shared->count, 1)] = place;
	if (should_free)
		heap_free_minimal_tuple(row);
}

/* Combines the states of all processes that have shared theirs. */
static void
combine_shared(OtherAggregates *others)
{
	dsa_area   *area = query_area(others);
	uint32		count = pg_atomic_read_u32(&others->shared->count);

	for (uint32 i = 0; i < count; i++)
	{
		ExecStoreMinimalTuple(dsa_get_address(area, others->shared->rows[i]),
							  others->state_row, false);
		core_aggregates_add(others->states, others->state_row);
	}
	ExecClearTuple(others->state_row);
}

/* Reads the states of this process, the only one. */
static void
combine_own(OtherAggregates *others)
{
	ExecCopySlot(others->state_row, emit_rows(others, NULL));
	core_aggregates_add(others->states, others->state_row);
	ExecClearTuple(others->state_row);
}

const TupleTableSlot *
other_aggregates_results(OtherAggregates *others, TupleTableSlot *first)
{
	if (others->states == NULL)
		return emit_rows(others, first);
	core_aggregates_begin_group(others->states, 0);
	if (others->shared != NULL)
		combine_shared(others);
	else
		combine_own(others);
	return core_aggregates_emit(others->states, 0,
								others->states->ss.ss_ScanTupleSlot);
}

Size
shared_states_size(int nprocesses)
{
	return add_size(offsetof(SharedStates, rows),
					mul_size(nprocesses, sizeof(dsa_pointer)));
}

void
shared_states_init(SharedStates *shared)
{
	pg_atomic_init_u32(&shared->count, 0);
}

void
shared_states_reset(SharedStates *shared, dsa_area *area)
{
	uint32		count = pg_atomic_read_u32(&shared->count);

	for (uint32 i = 0; i < count; i++)
		dsa_free(area, shared->rows[i]);
	pg_atomic_write_u32(&shared->count, 0);
}
