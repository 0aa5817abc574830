/*-------------------------------------------------------------------------
 *
 * group_limit.c
 *	  The first rows of each group of an order.
 *
 * DISTINCT ON takes one row of each group.  A window function that counts
 * rows, with a limit on its result, takes the first few.  The other rows need
 * not be emitted, nor written to runs.
 *
 * In an order the rows of a group follow one another.  If the rows of a group
 * are equal in all sort columns, the order itself tells groups apart, by the
 * marks of ties.  If the beginnings of keys tell groups apart (group_keys.c),
 * the beginnings of all keys are read in turn.
 *
 * Otherwise rows are compared, by the equality that the node above uses;
 * most rows of a large group are never looked at (equal_rows.h).  An order
 * may keep too many rows.  If groups turn out to be small, hardly any row is
 * left out, and finding it takes longer than emitting it.  Then a stretch of
 * the order is kept as it is before the next groups are tried.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "settings.h"
#include "sort/equal_rows.h"
#include "sort/group_limit.h"
#include "sort/group_starts.h"

/* Groups that are tried to see whether the limit pays. */
#define TRIED_GROUPS		256

/*
 * The limit pays if at most this part of the rows is kept, one in KEPT_PART:
 * with strings in groups of three rows, one of them kept, it took a tenth
 * longer than to emit all, in groups of five about as long, in groups of ten a
 * sixth less (docs/notes/2026-11-consumers.md).
 */
#define KEPT_PART			6

/*
 * Entries that are kept as they are if the limit does not pay; and entries
 * between two checks for interrupts.
 */
#define STRETCH_ENTRIES		16384

/* Groups of fewer rows than these are found by fetching rows ahead. */
#define SMALL_GROUP			16

/* Entries whose keys are prefetched. */
#define PREFETCHED_ENTRIES	16

/* A walk through the groups of an order. */
typedef struct GroupWalk
{
	const GroupLimit *limit;
	RowOrder   *order;
	MemoryContext value_context;	/* values that are detoasted */
	uint64		nrows;
	uint64		nkept;			/* entries that have been moved */
	bool		small_groups;	/* the last group was small */
} GroupWalk;

/* A row, and the sort columns in which other rows are compared with it. */
typedef struct EqualRows
{
	GroupWalk  *walk;
	uint64		entry;			/* entry of the row */
	int			first;			/* first of these columns */
	int			ncolumns;		/* end of these columns */
} EqualRows;

static inline bool
is_row_equal(void *argument, uint64 entry)
{
	const EqualRows *rows = argument;
	RowOrder   *order = rows->walk->order;
	const void *row_a = row_order_get(order, rows->entry);
	const void *row_b = rows->walk->small_groups ?
		row_order_get_forward(order, entry, CACHE_LINE_BYTES) :
		row_order_get(order, entry);
	int			column = rows->first;

	while (column < rows->ncolumns &&
		   group_columns_equal(order, rows->walk->limit->equal, column,
							   row_a, row_b))
		column++;
	return column == rows->ncolumns;
}

/*
 * The first entry behind the rows that are equal to the row of entry "start"
 * in these columns; "end" if there is no such entry before.
 */
static uint64
find_end(GroupWalk *walk, int first, int ncolumns, uint64 start, uint64 end)
{
	EqualRows	rows = {walk, start, first, ncolumns};

	return equal_rows_end(start, end, is_row_equal, &rows);
}

/*
 * The first entry behind the peers of an entry, in a group that ends at
 * "group_end".
 */
static uint64
find_peers_end(GroupWalk *walk, uint64 entry, uint64 group_end)
{
	const GroupLimit *limit = walk->limit;

	return find_end(walk, limit->ngroup_columns, limit->npeer_columns, entry,
					group_end);
}

/* The first entry behind the wanted entries of a group. */
static uint64
find_wanted_end(GroupWalk *walk, uint64 start, uint64 group_end)
{
	const GroupLimit *limit = walk->limit;
	uint64		wanted_end = start;

	switch (limit->unit)
	{
		case LIMITS_ROWS:
			wanted_end += Min(limit->count, group_end - start);
			break;
		case LIMITS_ROWS_WITH_PEERS:
			wanted_end = limit->count >= group_end - start ? group_end :
				find_peers_end(walk, start + limit->count - 1, group_end);
			break;
		case LIMITS_PEER_GROUPS:
			for (uint64 i = 0; i < limit->count && wanted_end < group_end; i++)
				wanted_end = find_peers_end(walk, wanted_end, group_end);
			break;
	}
	return wanted_end;
}

/* Moves entries to the place behind those moved before. */
static void
keep_entries(GroupWalk *walk, uint64 start, uint64 end)
{
	uint32	   *entries = walk->order->entries;

	if (start > walk->nkept)
		memmove(entries + walk->nkept, entries + start,
				(end - start) * sizeof(uint32));
	walk->nkept += end - start;
}

/* Keeps the wanted entries of the group that begins here; returns its end. */
static uint64
keep_group(GroupWalk *walk, uint64 start)
{
	uint64		group_end = find_end(walk, 0, walk->limit->ngroup_columns,
									 start, walk->nrows);

	CHECK_FOR_INTERRUPTS();
	keep_entries(walk, start, find_wanted_end(walk, start, group_end));
	walk->small_groups = group_end - start < SMALL_GROUP;
	MemoryContextReset(walk->value_context);
	return group_end;
}

/*
 * Keeps the wanted entries of some groups, and all of the next entries if most
 * of those were wanted; returns the first entry that it has not looked at.
 */
static uint64
keep_groups(GroupWalk *walk, uint64 start)
{
	uint64		nkept = walk->nkept;
	uint64		end = start;

	for (int i = 0; i < TRIED_GROUPS && end < walk->nrows; i++)
		end = keep_group(walk, end);
	if ((walk->nkept - nkept) * KEPT_PART > end - start)
	{
		start = end;
		end = Min(walk->nrows, start + STRETCH_ENTRIES);
		keep_entries(walk, start, end);
	}
	return end;
}

/*
 * Moves the wanted entries to the beginning by comparing rows; returns their
 * number.
 */
static uint64
apply_by_rows(const GroupLimit *limit, RowOrder *order)
{
	GroupWalk	walk = {
		.limit = limit,
		.order = order,
		.nrows = order->store->nrows,
		.small_groups = true
	};
	MemoryContext caller_context;
	uint64		entry = 0;

	walk.value_context = AllocSetContextCreate(CurrentMemoryContext,
											   "gpusort groups",
											   ALLOCSET_SMALL_SIZES);
	caller_context = MemoryContextSwitchTo(walk.value_context);
	while (entry < walk.nrows)
		entry = keep_groups(&walk, entry);
	MemoryContextSwitchTo(caller_context);
	MemoryContextDelete(walk.value_context);
	return walk.nkept;
}

/* The counts of a group up to a row. */
typedef struct GroupCount
{
	uint64		nrows;			/* rows */
	uint64		rank;			/* rows up to the first of its peers */
	uint64		npeer_groups;	/* groups of peers */
} GroupCount;

static const GroupCount first_row = {1, 1, 1};

/* Is a row wanted with this count up to it? */
static inline bool
is_wanted(const GroupLimit *limit, const GroupCount *count)
{
	switch (limit->unit)
	{
		case LIMITS_ROWS:
			return count->nrows <= limit->count;
		case LIMITS_ROWS_WITH_PEERS:
			return count->rank <= limit->count;
		default:
			return count->npeer_groups <= limit->count;
	}
}

/* Counts the row of an entry, which is not the first one of the order. */
static inline void
count_row(GroupCount *count, const GroupKeys *keys, uint32 previous, uint32 row)
{
	if (!group_keys_equal(keys, keys->group_mask, previous, row))
		*count = first_row;
	else
	{
		count->nrows++;
		if (!group_keys_equal(keys, keys->peer_mask, previous, row))
		{
			count->rank = count->nrows;
			count->npeer_groups++;
		}
	}
}

/* The same by the beginnings of keys. */
static uint64
apply_by_keys(const GroupLimit *limit, RowOrder *order)
{
	const GroupKeys *keys = order->group_keys;
	uint64		nrows = order->store->nrows;
	uint32	   *entries = order->entries;
	uint32		previous = ORDER_ROW(entries[0]);
	uint64		nkept = 1;
	GroupCount	count = first_row;

	for (uint64 entry = 1; entry < nrows; entry++)
	{
		uint32		row = ORDER_ROW(entries[entry]);

		if (entry % STRETCH_ENTRIES == 0)
			CHECK_FOR_INTERRUPTS();
		if (entry + PREFETCHED_ENTRIES < nrows)
			__builtin_prefetch(keys->words +
							   (uint64) ORDER_ROW(entries[entry + PREFETCHED_ENTRIES]) *
							   keys->nwords);
		count_row(&count, keys, previous, row);
		previous = row;
		if (is_wanted(limit, &count))
			entries[nkept++] = row;
	}
	return nkept;
}

/* The same by the marks of ties, where a group's rows are equal. */
static uint64
apply_by_ties(const GroupLimit *limit, RowOrder *order)
{
	uint64		nrows = order->store->nrows;
	uint32	   *entries = order->entries;
	uint64		nkept = 0;
	uint64		ngroup_rows = 0;

	for (uint64 entry = 0; entry < nrows; entry++)
	{
		if (entry % STRETCH_ENTRIES == 0)
			CHECK_FOR_INTERRUPTS();
		ngroup_rows = row_order_is_tie(order, entry) ? ngroup_rows + 1 : 1;
		entries[nkept] = entries[entry];
		nkept += ngroup_rows <= limit->count;
	}
	return nkept;
}

/* Are the rows of a group equal by all sort columns, and counted one by one? */
static bool
counts_ties(const GroupLimit *limit, const RowOrder *order)
{
	return limit->unit == LIMITS_ROWS &&
		limit->ngroup_columns == order->ncolumns;
}

void
group_limit_prepare(const GroupLimit *limit, RowOrder *order)
{
	order->limited = true;
	if (counts_ties(limit, order))
		row_order_mark_ties(order);
	else
		row_order_keep_groups(order, limit->ngroup_columns,
							  limit->npeer_columns);
}

uint64
group_limit_count(GroupLimit *limit)
{
	if (limit->count == 0)
		limit->count = limit->find_count(limit->finder);
	return limit->count;
}

uint64
group_limit_of_nulls(GroupLimit *limit, uint64 nnulls)
{
	if (nnulls == 0)
		return 0;
	/* all NULLs are peers */
	return limit->unit == LIMITS_ROWS ?
		Min(nnulls, group_limit_count(limit)) : nnulls;
}

void
group_limit_apply(GroupLimit *limit, RowOrder *order)
{
	uint64		nrows = order->store->nrows;

	if (nrows == 0)
		return;
	/* rows that are left out are not emitted, and so not looked at later */
	if (gpusort_verify)
		row_order_verify_all(order);
	(void) group_limit_count(limit);
	order->limited_exactly = true;
	order->prefetched.count = 0;
	/* rows that came in order have no keys */
	if (order->has_ties && counts_ties(limit, order))
		order->nentries = apply_by_ties(limit, order);
	else if (order->group_keys != NULL && order->group_keys->nrows == nrows &&
			 group_keys_tell_peers(order->group_keys))
		order->nentries = apply_by_keys(limit, order);
	else
	{
		order->nentries = apply_by_rows(limit, order);
		order->limited_exactly = false;
	}
	/* a row before may be gone */
	order->has_ties = false;
}
