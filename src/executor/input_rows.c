/*-------------------------------------------------------------------------
 *
 * input_rows.c
 *	  The rows of the plan below a node.
 *
 * Below most sorts a table is scanned, and then the scan takes a third of the
 * time, more than the sort.  Core's scan knows which rows of a page are visible
 * as soon as it has read the page.  But it gives them one at a time, through
 * three functions, a slot that pins the page again, and a projection, which
 * first takes apart all columns up to the last one that is wanted.
 *
 * Here core's scan reads a page, and gives the page's first row.  The other
 * rows of the page are taken straight from it, in the order in which core
 * would give them.  Of a row only the columns that are wanted are taken, and
 * put where the projection would put them.
 *
 * The scan's own position tells which row is the next, so that core goes on
 * wherever this ends.  Thus rescans, parallel scans and the end of a scan need
 * no care.  All that core does for a page, it does as ever: locks, visibility,
 * prefetching, conflicts of serializable transactions.
 *
 * The scan may be one of several that an Append takes one after the other, as
 * those of a table's partitions.  A row of another kind of plan is given by the
 * plan.  So is every row if something looks at the scan while it gives them:
 * EXPLAIN ANALYZE, which takes its times, or EvalPlanQual, which puts other rows
 * in their place.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relscan.h"
#include "access/sysattr.h"
#include "access/tupmacs.h"
#include "executor/executor.h"
#include "optimizer/optimizer.h"
#include "pgstat.h"
#include "utils/rel.h"

#include "executor/input_rows.h"
#include "port/cache_lines.h"
#include "port/compat.h"
#include "port/is_heap.h"

/* How many rows ahead a row is prefetched, and the most bytes of it. */
#define PREFETCH_ROWS		4
#define PREFETCH_MAX_BYTES	256

/* A column of the table, up to the last one that is wanted. */
typedef struct TableColumn
{
	int16		length;			/* attlen */
	uint8		alignment;		/* bytes */
	bool		by_value;
	int16		place;			/* place in the slot, or -1: not wanted */
} TableColumn;

struct PageRows
{
	SeqScanState *scan;

	/*
	 * The columns of the table, which are put into the slot; no columns if
	 * the whole row is stored in the scan's slot.
	 */
	TableColumn *columns;
	int			ncolumns;
	TupleTableSlot *slot;		/* the result's, if that is nothing but
								 * columns and constants; otherwise the scan's */
	bool		projects;		/* it is the scan's: the result is projected */

	/* the first columns, whose offsets are the same in rows without NULLs */
	int			nfixed;
	uint32		fixed_end;		/* offset at which the last of them ends */
	int			nwanted;		/* number of those that are wanted */
	int		   *wanted;			/* their numbers, from 0 */
	uint32	   *offsets;		/* their offsets */
};

/*
 * ---- preparation
 */

/*
 * Is the plan a scan of a heap whose rows nobody but the node above looks at?
 */
static bool
is_plain_scan(const PlanState *plan)
{
	return IsA(plan, SeqScanState) &&
		(plan->state->es_instrument & INSTRUMENT_TIMER) == 0 &&
		plan->state->es_epq_active == NULL &&
		is_heap(((const ScanState *) plan)->ss_currentRelation);
}

/* The column of the table that is the result's; 0 if it is something else. */
static AttrNumber
column_of_entry(const TargetEntry *entry)
{
	const Var  *column = (const Var *) entry->expr;

	return IsA(column, Var) && column->varattno > 0 ? column->varattno : 0;
}

/*
 * Does the result have the same value in all rows?  The plan puts it there with
 * the first row.  It stays, unless it points to memory: whoever keeps a row
 * makes the slot point to a copy.
 */
static bool
is_constant(const TargetEntry *entry)
{
	const Const *constant = (const Const *) entry->expr;

	return IsA(constant, Const) &&
		(constant->constisnull || constant->constbyval);
}

/*
 * Finds the places of the table's columns in the result; returns the number of
 * the last column, or 0 if the result has anything but columns and constants,
 * or has a column twice.
 */
static int
find_places_in_result(const List *result, int16 *places)
{
	int			last = 0;
	ListCell   *cell;

	foreach(cell, result)
	{
		AttrNumber	column = column_of_entry(lfirst(cell));

		if (column == 0 && is_constant(lfirst(cell)))
			continue;
		if (column == 0 || places[column - 1] >= 0)
			return 0;
		places[column - 1] = foreach_current_index(cell);
		last = Max(last, column);
	}
	return last;
}

/*
 * Finds the places in the scan's slot of the columns from which the result is
 * made; returns the number of the last column, or 0 if it takes the whole row,
 * or no column.
 */
static int
find_places_in_row(const Scan *scan, int16 *places)
{
	Bitmapset  *columns = NULL;
	int			column = -1;
	int			last = 0;

	pull_varattnos((Node *) scan->plan.targetlist, scan->scanrelid, &columns);
	while ((column = bms_next_member(columns, column)) >= 0)
	{
		last = column + FirstLowInvalidHeapAttributeNumber;
		if (last <= 0)
			return 0;
		places[last - 1] = last - 1;
	}
	return last;
}

static uint8
bytes_of_alignment(char alignment)
{
	switch (alignment)
	{
		case TYPALIGN_CHAR:
			return 1;
		case TYPALIGN_SHORT:
			return ALIGNOF_SHORT;
		case TYPALIGN_INT:
			return ALIGNOF_INT;
		default:
			return ALIGNOF_DOUBLE;
	}
}

/*
 * Finds the offsets that are the same in all rows without NULLs: those of the
 * columns ahead of the first one of varying length.
 */
static void
find_offsets(PageRows *rows)
{
	uint32		end = 0;
	int			i;

	rows->wanted = palloc(rows->ncolumns * sizeof(int));
	rows->offsets = palloc(rows->ncolumns * sizeof(uint32));
	for (i = 0; i < rows->ncolumns && rows->columns[i].length > 0; i++)
	{
		const TableColumn *column = &rows->columns[i];
		uint32		offset = TYPEALIGN(column->alignment, end);

		end = offset + column->length;
		if (column->place < 0)
			continue;
		rows->wanted[rows->nwanted] = i;
		rows->offsets[rows->nwanted++] = offset;
	}
	rows->nfixed = i;
	rows->fixed_end = end;
}

/*
 * Finds the columns that are taken, and their places: in the result, if that is
 * nothing else.  Otherwise they are taken for the projection, unless there is a
 * filter, which may take fewer columns of most rows.
 */
static void
place_columns(PageRows *rows, int16 *places, int nplaces)
{
	const PlanState *plan = &rows->scan->ss.ps;

	memset(places, -1, nplaces * sizeof(int16));
	rows->slot = plan->ps_ResultTupleSlot;
	rows->ncolumns = find_places_in_result(plan->plan->targetlist, places);
	if (rows->ncolumns > 0 || plan->qual != NULL)
		return;
	memset(places, -1, nplaces * sizeof(int16));
	rows->slot = rows->scan->ss.ss_ScanTupleSlot;
	rows->ncolumns = find_places_in_row((const Scan *) plan->plan, places);
	rows->projects = rows->ncolumns > 0;
}

/* Prepares to take columns. */
static void
find_columns(PageRows *rows)
{
	TupleDesc	descriptor = RelationGetDescr(rows->scan->ss.ss_currentRelation);
	int16	   *places = palloc(descriptor->natts * sizeof(int16));

	place_columns(rows, places, descriptor->natts);
	rows->columns = palloc(rows->ncolumns * sizeof(TableColumn));
	for (int i = 0; i < rows->ncolumns; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(descriptor, i);

		rows->columns[i] = (TableColumn)
		{
			.length = attribute->attlen,
				.alignment = bytes_of_alignment(attribute->attalign),
				.by_value = attribute->attbyval,
				.place = places[i]
		};
	}
	pfree(places);
	find_offsets(rows);
}

/* Prepares to read the rows of a scan; NULL if the plan has to give them. */
static PageRows *
rows_of_plan(PlanState *plan)
{
	PageRows   *rows;

	if (!is_plain_scan(plan))
		return NULL;
	rows = palloc0(sizeof(PageRows));
	rows->scan = (SeqScanState *) plan;
	if (plan->ps_ProjInfo != NULL)
		find_columns(rows);
	return rows;
}

void
input_rows_init(InputRows *rows, PlanState *plan)
{
	static const int only_scan = 0;

	rows->plan = plan;
	if (IsA(plan, AppendState))
	{
		const AppendState *append = (const AppendState *) plan;

		rows->scan = &append->as_whichplan;
		rows->scans = palloc(append->as_nplans * sizeof(PageRows *));
		for (int i = 0; i < append->as_nplans; i++)
			rows->scans[i] = rows_of_plan(append->appendplans[i]);
	}
	else
	{
		rows->scan = &only_scan;
		rows->scans = palloc(sizeof(PageRows *));
		rows->scans[0] = rows_of_plan(plan);
	}
}

/*
 * ---- the columns of a row
 */

/* Puts a column into the slot. */
static inline void
put_column(TupleTableSlot *slot, const TableColumn *column, const char *place)
{
	slot->tts_values[column->place] =
		fetch_att(place, column->by_value, column->length);
	slot->tts_isnull[column->place] = false;
}

/*
 * Takes the columns from "first" on; "end" is the offset at which the column
 * before it ends.
 */
static pg_attribute_always_inline void
take_columns_from(const PageRows *rows, const HeapTupleHeaderData *header,
				  int first, uint32 end, bool has_nulls)
{
	const char *data = (const char *) header + header->t_hoff;

	for (int i = first; i < rows->ncolumns; i++)
	{
		const TableColumn *column = &rows->columns[i];

		if (has_nulls && att_isnull(i, header->t_bits))
		{
			if (column->place >= 0)
			{
				rows->slot->tts_values[column->place] = (Datum) 0;
				rows->slot->tts_isnull[column->place] = true;
			}
			continue;
		}
		/* a string with a short header is not aligned */
		if (column->length != -1 || !VARATT_NOT_PAD_BYTE(data + end))
			end = TYPEALIGN(column->alignment, end);
		if (column->place >= 0)
			put_column(rows->slot, column, data + end);
		if (column->length > 0)
			end += column->length;
		else if (column->length == -1)
			end += VARSIZE_ANY(data + end);
		else
			end += strlen(data + end) + 1;
	}
}

/* Takes the columns of a row that has no NULL. */
static inline void
take_all_columns(const PageRows *rows, const HeapTupleHeaderData *header)
{
	const char *data = (const char *) header + header->t_hoff;

	for (int i = 0; i < rows->nwanted; i++)
		put_column(rows->slot, &rows->columns[rows->wanted[i]],
				   data + rows->offsets[i]);
	take_columns_from(rows, header, rows->nfixed, rows->fixed_end, false);
}

/*
 * Takes the columns of a row that is older than the last of them: a column
 * that was added has the value that the table's descriptor keeps for it.
 */
static pg_noinline void
take_columns_of_old_row(const PageRows *rows, HeapTuple row)
{
	TupleDesc	descriptor = RelationGetDescr(rows->scan->ss.ss_currentRelation);

	for (int i = 0; i < rows->ncolumns; i++)
	{
		int16		place = rows->columns[i].place;

		if (place >= 0)
			rows->slot->tts_values[place] =
				heap_getattr(row, i + 1, descriptor,
							 &rows->slot->tts_isnull[place]);
	}
}

#ifdef USE_ASSERT_CHECKING
/* Checks that core takes the same columns from the row. */
static void
check_columns(const PageRows *rows, HeapTuple row)
{
	TupleDesc	descriptor = RelationGetDescr(rows->scan->ss.ss_currentRelation);

	for (int i = 0; i < rows->ncolumns; i++)
	{
		int16		place = rows->columns[i].place;
		Datum		value;
		bool		isnull;

		if (place < 0)
			continue;
		value = heap_getattr(row, i + 1, descriptor, &isnull);
		Assert(rows->slot->tts_isnull[place] == isnull);
		Assert(isnull || rows->slot->tts_values[place] == value);
	}
}
#endif

/*
 * Prepares the slot, in which the row before still is, for the columns of
 * another row.
 */
static inline void
clear_columns(const PageRows *rows)
{
	TupleTableSlot *slot = rows->slot;

	Assert(!TTS_EMPTY(slot));
	if (rows->projects)
		slot->tts_nvalid = rows->ncolumns;
	else if (unlikely(TTS_SHOULDFREE(slot)))
	{
		/* it is a copy */
		ExecClearTuple(slot);
		ExecStoreVirtualTuple(slot);
	}
}

/* Puts the columns of a row into the slot. */
static inline void
take_columns(const PageRows *rows, HeapTuple row)
{
	clear_columns(rows);
	if (unlikely(HeapTupleHeaderGetNatts(row->t_data) < rows->ncolumns))
		take_columns_of_old_row(rows, row);
	else if (HeapTupleHasNulls(row))
		take_columns_from(rows, row->t_data, 0, 0, true);
	else
		take_all_columns(rows, row->t_data);
#ifdef USE_ASSERT_CHECKING
	check_columns(rows, row);
#endif
}

/*
 * ---- the rows of a page
 */

/* Prefetches a row of the page by its number, if there is one. */
static inline void
prefetch_row(HeapScanDesc scan, Page page, uint32 number)
{
	ItemId		item;
	const char *row;

	if (number >= (uint32) scan->rs_ntuples)
		return;
	item = PageGetItemId(page, scan->rs_vistuples[number]);
	row = (const char *) PageGetItem(page, item);
	for (Size i = 0; i < Min(ItemIdGetLength(item), PREFETCH_MAX_BYTES);
		 i += CACHE_LINE_BYTES)
		__builtin_prefetch(row + i);
}

/* Prefetches the row PREFETCH_ROWS ahead; on a new page those before it, too. */
static inline void
prefetch_rows(HeapScanDesc scan, Page page)
{
	uint32		number = scan->rs_cindex;

	if (unlikely(number == 1))
		for (uint32 i = 1; i < PREFETCH_ROWS; i++)
			prefetch_row(scan, page, number + i);
	prefetch_row(scan, page, number + PREFETCH_ROWS);
}

/* Moves the scan to its next row on the page that it has read. */
static inline HeapTuple
next_on_page(HeapScanDesc scan)
{
	HeapTuple	row = &scan->rs_ctup;
	Page		page = BufferGetPage(scan->rs_cbuf);
	OffsetNumber offset = scan->rs_vistuples[++scan->rs_cindex];
	ItemId		item = PageGetItemId(page, offset);

	prefetch_rows(scan, page);
	row->t_data = (HeapTupleHeader) PageGetItem(page, item);
	row->t_len = ItemIdGetLength(item);
	ItemPointerSetOffsetNumber(&row->t_self, offset);
	pgstat_count_heap_getnext(scan->rs_base.rs_rd);
	return row;
}

/*
 * Returns the scan's row as its plan gives it; NULL if the filter leaves it
 * out.
 */
static inline TupleTableSlot *
give_row(PageRows *rows, HeapScanDesc scan, HeapTuple row)
{
	ScanState  *node = &rows->scan->ss;
	ExprContext *context = node->ps.ps_ExprContext;
	bool		stores = node->ps.qual != NULL || rows->ncolumns == 0;

	if (stores)
		ExecStoreBufferHeapTuple(row, node->ss_ScanTupleSlot, scan->rs_cbuf);
	if (stores || rows->projects)
	{
		ResetExprContext(context);
		context->ecxt_scantuple = node->ss_ScanTupleSlot;
	}
	if (node->ps.qual != NULL && !ExecQual(node->ps.qual, context))
	{
		InstrCountFiltered1(node, 1);
		return NULL;
	}
	if (rows->ncolumns > 0)
	{
		take_columns(rows, row);
		if (!rows->projects)
			return rows->slot;
	}
	return node->ps.ps_ProjInfo == NULL ? node->ss_ScanTupleSlot :
		ExecProject(node->ps.ps_ProjInfo);
}

/* Has the scan read a page that has rows behind the present one? */
static inline bool
has_next_on_page(HeapScanDesc scan)
{
	return scan != NULL && scan->rs_inited &&
		(scan->rs_base.rs_flags & SO_ALLOW_PAGEMODE) != 0 &&
		scan->rs_base.rs_nkeys == 0 &&
		scan->rs_cindex + 1 < scan->rs_ntuples;
}

TupleTableSlot *
input_rows_on_page(PageRows *rows)
{
	HeapScanDesc scan = (HeapScanDesc) rows->scan->ss.ss_currentScanDesc;
	TupleTableSlot *slot = NULL;

	Assert(ScanDirectionIsForward(rows->scan->ss.ps.state->es_direction));
	/* a rescan for other parameters begins with the plan's next row */
	if (unlikely(rows->scan->ss.ps.chgParam != NULL))
		return NULL;
	while (slot == NULL && has_next_on_page(scan))
		slot = give_row(rows, scan, next_on_page(scan));
	if (unlikely(rows->scan->ss.ps.instrument != NULL) && slot != NULL)
		rows->scan->ss.ps.instrument->tuplecount++;
	return slot;
}
