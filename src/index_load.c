/*-------------------------------------------------------------------------
 *
 * index_load.c
 *	  Building a B-tree in one go: its rows are collected, sorted and written.
 *
 * The table access method scans the table and calls back for each row that
 * the index is to have.  The row is stored as the index tuple that it will be,
 * and its key goes to the sort.  When the last row has come the tuples are
 * handed to the leaf writer in order, from where they are.
 *
 * What core sees to in its sort is to be seen to here: that a unique index has
 * no two rows with equal keys, but for those that are dead to everybody who
 * will use the index.
 *
 * When the rows turn out to exceed the memory setting, what has been collected
 * is dropped, and core builds the index as ever.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
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
#include "index_load.h"
#include "leaf_writer.h"
#include "row_order.h"
#include "row_store.h"
#include "settings.h"
#include "shared_state.h"

/*
 * Rows in the store are index tuples.  In unique indexes the bit that is the
 * access method's notes that the row is dead to the check for uniqueness.
 */
#define ROW_IS_DEAD			INDEX_AM_RESERVED_BIT

/* After how many rows, while they are written, progress is reported. */
#define PROGRESS_ROWS		1024

typedef struct IndexLoad
{
	Relation	heap;
	Relation	index;
	bool		unique;
	bool		nulls_not_distinct;
	Size		limit;			/* bytes for all of it */

	MemoryContext context;		/* holds everything below */
	RowStore   *store;
	RowOrder   *order;			/* NULL: over the limit */
	TupleTableSlot *slot;		/* the row at hand, for its key */

	instr_time	since;			/* when the present phase began */
	uint64		collect_microseconds;
	uint64		sort_microseconds;
	uint64		write_microseconds;
} IndexLoad;

SortColumn *
index_load_columns(Relation index, int *ncolumns)
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
index_load_column_type(Relation index, int column)
{
	Oid			type = TupleDescAttr(RelationGetDescr(index), column)->atttypid;

	/* names are stored as far as they go, which is all that encoders read */
	return type == CSTRINGOID ? index->rd_opcintype[column] : type;
}

double
index_load_least_memory(double rows)
{
	/* the tuple and its place, and the entry of the order */
	return rows * (MAXALIGN(sizeof(IndexTupleData) + 1) + sizeof(void *) +
				   sizeof(uint32));
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
				index_load_column_type(index, i);
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
begin_collecting(IndexLoad *load, double expected_rows)
{
	MemoryContext caller_context;
	TupleDesc	descriptor;
	SortColumn *columns;
	int			ncolumns;

	load->context = AllocSetContextCreate(CurrentMemoryContext,
										  "gpusort index build",
										  ALLOCSET_SMALL_SIZES);
	caller_context = MemoryContextSwitchTo(load->context);
	descriptor = describe_rows(load->index);
	columns = index_load_columns(load->index, &ncolumns);
	load->store = row_store_create(descriptor, load->limit);
	load->order = row_order_begin(load->store, descriptor, row_column,
								  columns, ncolumns, expected_rows);

	/* filled once and for all; from then on only its values change */
	load->slot = MakeSingleTupleTableSlot(descriptor, &TTSOpsVirtual);
	ExecStoreAllNullTuple(load->slot);
	load->slot->tts_isnull[descriptor->natts - 1] = false;
	MemoryContextSwitchTo(caller_context);
}

/*
 * Frees all rows, which are more than the limit allows.  The scan goes on, for
 * it cannot be ended, but its rows are not looked at.
 */
static void
give_up(IndexLoad *load)
{
	ExecDropSingleTupleTableSlot(load->slot);
	MemoryContextDelete(load->context);
	load->context = NULL;
	load->order = NULL;
}

/*
 * Stores a row that is formed by index_form_tuple().  That fetches values that
 * are stored elsewhere, compresses large ones, and raises core's error for a
 * row too large for an index.  NULL if over the limit.
 */
static IndexTuple
store_toasted_row(IndexLoad *load, Datum *values, bool *isnull)
{
	IndexTuple	formed = index_form_tuple(RelationGetDescr(load->index),
										  values, isnull);
	Size		bytes = IndexTupleSize(formed);
	IndexTuple	tuple = row_store_reserve(load->store, bytes,
										  row_order_memory(load->order));

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
store_row(IndexLoad *load, Datum *values, bool *isnull, bool *toasted)
{
	TupleDesc	descriptor = RelationGetDescr(load->index);
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
		return store_toasted_row(load, values, isnull);

	tuple = row_store_reserve(load->store, bytes, row_order_memory(load->order));
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

/* The scan's callback: collects a row. */
static void
collect(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		bool is_alive, void *state)
{
	IndexLoad  *load = state;
	int			natts = RelationGetDescr(index)->natts;
	TupleTableSlot *slot = load->slot;
	IndexTuple	tuple = NULL;
	bool		toasted;

	if (unlikely(load->order == NULL))
		return;
	if (likely(load->store->nrows < SORT_MAX_ROWS))
		tuple = store_row(load, values, isnull, &toasted);
	if (unlikely(tuple == NULL))
	{
		give_up(load);
		return;
	}

	tuple->t_tid = *tid;
	if (load->unique && !is_alive)
		tuple->t_info |= ROW_IS_DEAD;

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
	row_order_add(load->order, slot);
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

/* Raises core's error for a row whose key another has. */
static void
report_duplicate(const IndexLoad *load, IndexTuple tuple)
{
	TupleDesc	descriptor = RelationGetDescr(load->index);
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	char	   *key;

	index_deform_tuple(tuple, descriptor, values, isnull);
	key = BuildIndexValueDescription(load->index, values, isnull);
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("could not create unique index \"%s\"",
					RelationGetRelationName(load->index)),
			 key != NULL ? errdetail("Key %s is duplicated.", key) :
			 errdetail("Duplicate keys exist."),
			 errtableconstraint(load->heap,
								RelationGetRelationName(load->index))));
}

/* Is some key column NULL, so that the row is unlike any other? */
static bool
has_null_key(const IndexLoad *load, IndexTuple tuple)
{
	TupleDesc	descriptor = RelationGetDescr(load->index);
	int			nkeys = IndexRelationGetNumberOfKeyAttributes(load->index);
	bool		isnull = false;

	if (!IndexTupleHasNulls(tuple))
		return false;
	for (int i = 1; i <= nkeys && !isnull; i++)
		(void) index_getattr(tuple, i, descriptor, &isnull);
	return isnull;
}

/*
 * Sees to it that a row that comes in order does not have the key of the one
 * before it, *previous, which it then takes the place of.  Dead rows do not
 * count.
 */
static void
check_unique(IndexLoad *load, const RowComparator *comparator,
			 IndexTuple *previous, IndexTuple tuple)
{
	if ((tuple->t_info & ROW_IS_DEAD) != 0)
	{
		tuple->t_info &= ~ROW_IS_DEAD;
		return;
	}
	if (*previous != NULL && row_compare(comparator, *previous, tuple) == 0 &&
		(load->nulls_not_distinct || !has_null_key(load, tuple)))
		report_duplicate(load, tuple);
	*previous = tuple;
}

/* Writes all rows in their order. */
static void
write_in_order(IndexLoad *load)
{
	uint64		nrows = load->store->nrows;
	LeafWriter *writer;
	RowComparator *comparator = NULL;
	IndexTuple	previous = NULL;

	if (load->unique)
		comparator =
			row_comparator_create(load->order->descriptor, row_column,
								  load->order->columns,
								  IndexRelationGetNumberOfKeyAttributes(load->index));
	writer = leaf_writer_begin(load->heap, load->index, !load->unique);
	for (uint64 entry = 0; entry < nrows; entry++)
	{
		IndexTuple	tuple = row_order_get_forward(load->order, entry);

		if (unlikely(entry % PROGRESS_ROWS == 0))
		{
			CHECK_FOR_INTERRUPTS();
			pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE,
										 entry);
		}
		if (unlikely(gpusort_verify))
			row_order_verify(load->order, entry);
		if (comparator != NULL)
			check_unique(load, comparator, &previous, tuple);
		leaf_writer_add(writer, tuple);
	}
	leaf_writer_finish(writer);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, nrows);
}

/* Sorts the rows and writes the index; false if the sort is over the limit. */
static bool
sort_and_write(IndexLoad *load)
{
	MemoryContext caller_context;

	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL,
								 load->store->nrows);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
								 PROGRESS_BTREE_PHASE_PERFORMSORT_1);
	if (!row_order_make(load->order, load->limit))
		return false;
	take_time(&load->since, &load->sort_microseconds);

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
								 PROGRESS_BTREE_PHASE_LEAF_LOAD);
	caller_context = MemoryContextSwitchTo(load->context);
	write_in_order(load);
	MemoryContextSwitchTo(caller_context);
	take_time(&load->since, &load->write_microseconds);
	return true;
}

/* Adds a build to the server's statistics. */
static void
count_build(const IndexLoad *load)
{
	shared_count(load->order->on_device ? STAT_INDEXES_DEVICE :
				 STAT_INDEXES_HOST, 1);
	shared_count(STAT_INDEX_ROWS, load->store->nrows);
	shared_count(STAT_INDEX_BYTES, load->order->memory);
	shared_count(STAT_INDEX_COLLECT_MICROSECONDS, load->collect_microseconds);
	shared_count(STAT_INDEX_SORT_MICROSECONDS, load->sort_microseconds);
	shared_count(STAT_INDEX_WRITE_MICROSECONDS, load->write_microseconds);
}

IndexBuildResult *
index_load_build(Relation heap, Relation index, IndexInfo *info,
				 double expected_rows)
{
	IndexLoad	load = {
		.heap = heap,
		.index = index,
		.unique = info->ii_Unique,
		.nulls_not_distinct = info->ii_NullsNotDistinct,
		.limit = gpusort_index_memory_limit()
	};
	IndexBuildResult *result;

	/* core has an error for that */
	if (RelationGetNumberOfBlocks(index) != 0)
		return btbuild(heap, index, info);

	result = palloc(sizeof(IndexBuildResult));
	INSTR_TIME_SET_CURRENT(load.since);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
								 PROGRESS_BTREE_PHASE_INDEXBUILD_TABLESCAN);
	begin_collecting(&load, expected_rows);
	result->heap_tuples = table_index_build_scan(heap, index, info, true, true,
												 collect, &load, NULL);
	take_time(&load.since, &load.collect_microseconds);

	if (load.order != NULL && !sort_and_write(&load))
		give_up(&load);
	if (load.order == NULL)
	{
		pfree(result);
		result = btbuild(heap, index, info);
		shared_count(STAT_INDEXES_NATIVE, 1);
		return result;
	}

	result->index_tuples = load.store->nrows;
	count_build(&load);
	ExecDropSingleTupleTableSlot(load.slot);
	MemoryContextDelete(load.context);
	return result;
}
