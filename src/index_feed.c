/*-------------------------------------------------------------------------
 *
 * index_feed.c
 *	  Feeding a B-tree build with rows in the order of the index.
 *
 * btbuild() has the table scanned, and is called back for each row; it puts
 * the rows into a tuplesort, and loads what comes out into pages.  We stand
 * between scan and callback.  The rows of the scan are collected, with their
 * keys, and when the last one has come the callback is called for all of them
 * in order.
 *
 * Then the tuplesort has nothing to do but to see that its input is sorted,
 * in one pass, and all the rest is core's as ever: the check for uniqueness
 * and its message, rows that are dead to the unique check, deduplication,
 * pages, WAL.  A wrong order would cost time, not the index.
 *
 * The scan is the table access method's.  So for the time until it is called
 * the table's relcache entry points to a copy of its access method, with our
 * function for the scan.
 *
 * Core's sort needs memory while we still hold the rows, so the limit is for
 * both together.  When the rows turn out to exceed it they are handed to core
 * as they came, the store shrinking as they go, and core sorts as ever.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heaptoast.h"
#include "access/itup.h"
#include "access/nbtree.h"
#include "access/tableam.h"
#include "catalog/pg_index.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "commands/progress.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "utils/backend_progress.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compat.h"
#include "index_feed.h"
#include "row_order.h"
#include "row_store.h"
#include "settings.h"
#include "shared_state.h"

/* What core's sort holds for each row, beside the index tuple. */
#define CORE_ROW_BYTES		(24 + CORE_TUPLE_HEADER_BYTES)

/*
 * Rows in the store are index tuples.  The bit that is the access method's
 * notes that nobody will see the row any more, as the scan tells us.
 */
#define ROW_IS_DEAD			INDEX_AM_RESERVED_BIT

typedef struct IndexFeed
{
	TableAmRoutine table_am;	/* must be first: what the table points to */
	const TableAmRoutine *original_table_am;
	int			maintenance_work_mem;	/* as it was set */
	double		expected_rows;
	Size		limit;			/* bytes, for us and core's sort */

	/* the scan's caller */
	Relation	index;
	IndexBuildCallback callback;
	void	   *callback_state;

	/* while rows are collected, and until they have been fed */
	MemoryContext context;		/* holds all of it */
	RowStore   *store;
	RowOrder   *order;			/* NULL: core sorts */
	TupleTableSlot *slot;		/* the row at hand, for its key */
	Datum	   *values;			/* the row at hand, for the callback */
	bool	   *isnull;
	Size		core_bytes;		/* what core's sort will need for the rows */

	uint64		collect_microseconds;
	uint64		sort_microseconds;
	uint64		feed_microseconds;
} IndexFeed;

SortColumn *
index_feed_columns(Relation index, int *ncolumns)
{
	int			nkeys = IndexRelationGetNumberOfKeyAttributes(index);
	SortColumn *columns = palloc0((nkeys + 1) * sizeof(SortColumn));

	for (int i = 0; i < nkeys; i++)
	{
		int16		option = index->rd_indoption[i];
		Oid			type = index->rd_opcintype[i];

		columns[i].attno = i + 1;
		columns[i].sort_operator =
			get_opfamily_member(index->rd_opfamily[i], type, type,
								(option & INDOPTION_DESC) != 0 ?
								BTGreaterStrategyNumber : BTLessStrategyNumber);
		columns[i].collation = index->rd_indcollation[i];
		columns[i].nulls_first = (option & INDOPTION_NULLS_FIRST) != 0;
	}
	columns[nkeys].attno = IndexRelationGetNumberOfAttributes(index) + 1;
	columns[nkeys].sort_operator = TIDLessOperator;
	*ncolumns = nkeys + 1;
	return columns;
}

Oid
index_feed_column_type(Relation index, int column)
{
	Oid			type = TupleDescAttr(RelationGetDescr(index), column)->atttypid;

	/* names are stored as far as they go, which is all that encoders read */
	return type == CSTRINGOID ? index->rd_opcintype[column] : type;
}

double
index_feed_least_memory(double rows)
{
	const Size	tuple_bytes = MAXALIGN(sizeof(IndexTupleData) + 1);

	/* the row and its place, its entry in the order; and core's copy */
	return rows * (tuple_bytes + sizeof(void *) + sizeof(uint32) +
				   tuple_bytes + CORE_ROW_BYTES);
}

/* The columns of the index, and one more for the place of the row. */
static TupleDesc
describe_rows(Relation index)
{
	TupleDesc	of_index = RelationGetDescr(index);
	TupleDesc	result = CreateTemplateTupleDesc(of_index->natts + 1);

	for (int i = 0; i < of_index->natts; i++)
	{
		TupleDescCopyEntry(result, i + 1, of_index, i + 1);
		if (i < IndexRelationGetNumberOfKeyAttributes(index))
			TupleDescAttr(result, i)->atttypid =
				index_feed_column_type(index, i);
	}
	TupleDescInitEntry(result, result->natts, "ctid", TIDOID, -1, 0);
	return result;
}

/* A column of a stored row that describe_rows() describes. */
static Datum
row_column(const void *row, AttrNumber attno, TupleDesc descriptor,
		   bool *isnull)
{
	IndexTuple	tuple = (IndexTuple) row;

	if (attno == descriptor->natts)
	{
		*isnull = false;
		return PointerGetDatum(&tuple->t_tid);
	}
	return index_getattr(tuple, attno, descriptor, isnull);
}

/* Makes what is needed to collect rows. */
static void
begin_collecting(IndexFeed *feed)
{
	MemoryContext caller_context;
	TupleDesc	descriptor;
	SortColumn *columns;
	int			ncolumns;

	feed->context = AllocSetContextCreate(CurrentMemoryContext,
										  "gpusort index build",
										  ALLOCSET_SMALL_SIZES);
	caller_context = MemoryContextSwitchTo(feed->context);
	descriptor = describe_rows(feed->index);
	columns = index_feed_columns(feed->index, &ncolumns);
	feed->store = row_store_create(descriptor, feed->limit);
	feed->order = row_order_begin(feed->store, descriptor, row_column,
								  columns, ncolumns, feed->expected_rows);
	feed->values = palloc(descriptor->natts * sizeof(Datum));
	feed->isnull = palloc(descriptor->natts * sizeof(bool));

	/* filled once and for all; from then on only its values change */
	feed->slot = MakeSingleTupleTableSlot(descriptor, &TTSOpsVirtual);
	ExecStoreAllNullTuple(feed->slot);
	feed->slot->tts_isnull[descriptor->natts - 1] = false;
	MemoryContextSwitchTo(caller_context);
}

/* Calls core for a row of the store. */
static inline void
feed_row(IndexFeed *feed, IndexTuple tuple)
{
	CHECK_FOR_INTERRUPTS();
	index_deform_tuple(tuple, RelationGetDescr(feed->index), feed->values,
					   feed->isnull);
	feed->callback(feed->index, &tuple->t_tid, feed->values, feed->isnull,
				   (tuple->t_info & ROW_IS_DEAD) == 0, feed->callback_state);
}

/* Gives the rows collected so far to core as they came; and so it goes on. */
static void
hand_over(IndexFeed *feed)
{
	row_order_drop_keys(feed->order);
	feed->order = NULL;
	for (uint64 row = 0; row < feed->store->nrows; row++)
	{
		row_store_forget_before(feed->store, row);
		feed_row(feed, row_store_get(feed->store, row));
	}
	row_store_free(feed->store);
	feed->store = NULL;
}

/* Bytes that are needed beside the store when the rows are fed. */
static inline Size
memory_when_fed(const IndexFeed *feed)
{
	return feed->store->nrows * sizeof(uint32) + feed->core_bytes;
}

/* The same, now or then. */
static inline Size
other_memory(const IndexFeed *feed)
{
	return Max(row_order_memory(feed->order), memory_when_fed(feed));
}

/*
 * Stores a row that is formed by index_form_tuple().  That fetches values that
 * are stored elsewhere, compresses large ones, and raises core's error for a
 * row too large for an index.  NULL if over the limit.
 */
static IndexTuple
store_toasted_row(IndexFeed *feed, Datum *values, bool *isnull)
{
	IndexTuple	formed = index_form_tuple(RelationGetDescr(feed->index),
										  values, isnull);
	Size		bytes = IndexTupleSize(formed);
	IndexTuple	tuple = row_store_reserve(feed->store, bytes,
										  other_memory(feed));

	if (tuple != NULL)
		memcpy(tuple, formed, bytes);
	pfree(formed);
	return tuple;
}

/* Would index_form_tuple() do more with this value than copy it? */
static inline bool
needs_toasting(Datum value)
{
	struct varlena *varlena = (struct varlena *) DatumGetPointer(value);

	return VARATT_IS_EXTERNAL(varlena) ||
		VARSIZE_ANY(varlena) > TOAST_INDEX_TARGET;
}

/*
 * Stores a row as index_form_tuple() would form it, in place, and without its
 * place in the table; NULL if over the limit.  What is stored is also what the
 * values are to be taken from, if *toasted.
 */
static inline IndexTuple
store_row(IndexFeed *feed, Datum *values, bool *isnull, bool *toasted)
{
	TupleDesc	descriptor = RelationGetDescr(feed->index);
	uint16		info = 0;
	uint16		infomask = 0;
	Size		header_bytes;
	Size		data_bytes;
	Size		bytes;
	IndexTuple	tuple;

	*toasted = false;
	for (int i = 0; i < descriptor->natts; i++)
	{
		if (isnull[i])
			info = INDEX_NULL_MASK;
		else if (TupleDescAttr(descriptor, i)->attlen == -1 &&
				 needs_toasting(values[i]))
			*toasted = true;
	}
	header_bytes = IndexInfoFindDataOffset(info);
	data_bytes = heap_compute_data_size(descriptor, values, isnull);
	bytes = MAXALIGN(header_bytes + data_bytes);
	if (unlikely(*toasted || bytes > INDEX_SIZE_MASK))
		return store_toasted_row(feed, values, isnull);

	tuple = row_store_reserve(feed->store, bytes, other_memory(feed));
	if (unlikely(tuple == NULL))
		return NULL;

	/* heap_fill_tuple() leaves the padding as it is */
	memset(tuple, 0, bytes);
	heap_fill_tuple(descriptor, values, isnull,
					(char *) tuple + header_bytes, data_bytes, &infomask,
					info != 0 ?
					(bits8 *) ((char *) tuple + sizeof(IndexTupleData)) : NULL);
	if ((infomask & HEAP_HASVARWIDTH) != 0)
		info |= INDEX_VAR_MASK;
	tuple->t_info = info | bytes;
	return tuple;
}

/*
 * The scan's callback: collects a row.  Once the rows have been handed over
 * this passes on to core's.
 */
static void
collect(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		bool is_alive, void *state)
{
	IndexFeed  *feed = state;
	int			natts = RelationGetDescr(index)->natts;
	TupleTableSlot *slot = feed->slot;
	IndexTuple	tuple = NULL;
	bool		toasted;

	if (likely(feed->order != NULL && feed->store->nrows < SORT_MAX_ROWS))
		tuple = store_row(feed, values, isnull, &toasted);
	if (unlikely(tuple == NULL))
	{
		if (feed->order != NULL)
			hand_over(feed);
		feed->callback(index, tid, values, isnull, is_alive,
					   feed->callback_state);
		return;
	}

	tuple->t_tid = *tid;
	if (!is_alive)
		tuple->t_info |= ROW_IS_DEAD;
	feed->core_bytes += IndexTupleSize(tuple) + CORE_ROW_BYTES;

	if (unlikely(toasted))
		index_deform_tuple(tuple, RelationGetDescr(index), slot->tts_values,
						   slot->tts_isnull);
	else
	{
		for (int i = 0; i < natts; i++)
		{
			slot->tts_values[i] = values[i];
			slot->tts_isnull[i] = isnull[i];
		}
	}
	slot->tts_values[natts] = PointerGetDatum(tid);
	row_order_add(feed->order, slot);
}

/* Adds to a time what has passed since "since", and moves that to now. */
static void
take_time(instr_time *since, uint64 *microseconds)
{
	instr_time	now;
	instr_time	passed;

	INSTR_TIME_SET_CURRENT(now);
	passed = now;
	INSTR_TIME_SUBTRACT(passed, *since);
	*microseconds += INSTR_TIME_GET_MICROSEC(passed);
	*since = now;
}

/* Feeds all rows in their order. */
static void
feed_in_order(IndexFeed *feed)
{
	for (uint64 entry = 0; entry < feed->store->nrows; entry++)
	{
		if (unlikely(gpusort_verify))
			row_order_verify(feed->order, entry);
		feed_row(feed, row_order_get_forward(feed->order, entry));
	}
}

/* Adds a build to the server's statistics. */
static void
count_build(const IndexFeed *feed)
{
	if (feed->order == NULL)
	{
		shared_count(STAT_INDEXES_NATIVE, 1);
		return;
	}
	shared_count(feed->order->on_device ? STAT_INDEXES_DEVICE :
				 STAT_INDEXES_HOST, 1);
	shared_count(STAT_INDEX_ROWS, feed->store->nrows);
	shared_count(STAT_INDEX_BYTES,
				 Max(feed->order->memory,
					 feed->store->memory + memory_when_fed(feed)));
	shared_count(STAT_INDEX_COLLECT_MICROSECONDS, feed->collect_microseconds);
	shared_count(STAT_INDEX_SORT_MICROSECONDS, feed->sort_microseconds);
	shared_count(STAT_INDEX_FEED_MICROSECONDS, feed->feed_microseconds);
}

/*
 * Stands in the place of the table's index_build_range_scan: the scan, but
 * with its rows in order.
 */
static double
scan_in_order(Relation heap, Relation index, IndexInfo *info,
			  bool allow_sync, bool anyvisible, bool progress,
			  BlockNumber start_block, BlockNumber nblocks,
			  IndexBuildCallback callback, void *callback_state,
			  TableScanDesc scan)
{
	IndexFeed  *feed = (IndexFeed *) heap->rd_tableam;
	instr_time	since;
	double		rows;

	/* this was all of the interlude; core's sort has begun, too */
	heap->rd_tableam = feed->original_table_am;
	maintenance_work_mem = feed->maintenance_work_mem;

	INSTR_TIME_SET_CURRENT(since);
	feed->index = index;
	feed->callback = callback;
	feed->callback_state = callback_state;
	begin_collecting(feed);
	rows = heap->rd_tableam->index_build_range_scan(heap, index, info,
													allow_sync, anyvisible,
													progress, start_block,
													nblocks, collect, feed,
													scan);
	take_time(&since, &feed->collect_microseconds);

	if (feed->order != NULL)
	{
		if (progress)
			pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
										 PROGRESS_BTREE_PHASE_PERFORMSORT_1);
		if (!row_order_make(feed->order, feed->limit))
			hand_over(feed);
		take_time(&since, &feed->sort_microseconds);
	}
	if (feed->order != NULL)
	{
		feed_in_order(feed);
		take_time(&since, &feed->feed_microseconds);
	}
	count_build(feed);

	ExecDropSingleTupleTableSlot(feed->slot);
	MemoryContextDelete(feed->context);
	return rows;
}

IndexBuildResult *
index_feed_build(Relation heap, Relation index, IndexInfo *info,
				 double expected_rows)
{
	IndexBuildResult *volatile result;
	IndexFeed	feed = {
		.table_am = *heap->rd_tableam,
		.original_table_am = heap->rd_tableam,
		.maintenance_work_mem = maintenance_work_mem,
		.expected_rows = expected_rows,
		.limit = gpusort_index_memory_limit()
	};

	feed.table_am.index_build_range_scan = scan_in_order;
	info->ii_ParallelWorkers = 0;
	PG_TRY();
	{
		/*
		 * Core's sort reads its setting when it begins, which is before the
		 * scan.  It may have what we leave, and if the rows are handed over,
		 * all of it.
		 */
		maintenance_work_mem = Max(maintenance_work_mem, feed.limit / 1024);
		heap->rd_tableam = &feed.table_am;
		result = btbuild(heap, index, info);
	}
	PG_FINALLY();
	{
		/* an error may have come before the scan */
		maintenance_work_mem = feed.maintenance_work_mem;
		if (heap->rd_tableam == &feed.table_am)
			heap->rd_tableam = feed.original_table_am;
	}
	PG_END_TRY();

	/* the table's relcache entry may have been rebuilt ahead of the scan */
	if (feed.callback == NULL)
		shared_count(STAT_INDEXES_NATIVE, 1);
	return result;
}
