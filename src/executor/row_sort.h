/*-------------------------------------------------------------------------
 *
 * row_sort.h
 *	  Sorting rows: put them, sort, get them in order.
 *
 * A RowSort is the counterpart of core's tuplesort, and is used in the same
 * way: begin, put all rows, perform, get the rows in order, end.  If keys
 * cannot sort the rows, the sort falls back to core's tuplesort; users need
 * not know.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ROW_SORT_H
#define GPUSORT_ROW_SORT_H

#include "nodes/execnodes.h"

#include "executor/input_rows.h"
#include "keys/sort_keys.h"
#include "sort/group_limit.h"
#include "spill/sorted_runs.h"
#include "team/team.h"

/* A sort, with a memory context of its own. */
typedef struct RowSort RowSort;

/*
 * The report of a sort, for EXPLAIN and the statistics.  It has no pointers,
 * since it outlives the sort and is copied between processes.
 */
typedef struct RowSortReport
{
	char		method[REPORT_TEXT_SIZE];	/* method, in a few words */
	char		device[REPORT_TEXT_SIZE];	/* device; empty for core's sort */
	bool		on_device;		/* some rows were sorted by gpusortd */
	uint64		nrows;			/* rows sorted by keys */
	Size		memory;			/* most bytes in memory, or bytes in files */
	bool		on_disk;		/* "memory" counts bytes in files */
	uint64		fill_microseconds;	/* time of the source, and of putting rows */
	uint64		sort_microseconds;	/* time from the last row to the order */
	uint64		device_microseconds;	/* part of that time on the device */
	int			workers;		/* workers that have had rows */
	uint64		kept_rows;		/* rows that workers have kept */
	uint64		gathered_rows;	/* rows that workers have sent in their order,
								 * set by the user */
	int			workers_alone;	/* workers that have sorted for themselves,
								 * set by the user */
	uint64		left_out_rows;	/* rows that were not sorted, as nobody wants
								 * them */
} RowSortReport;

/*
 * Begins a sort of rows of this descriptor, in this much memory in bytes.  The
 * descriptor and the columns must stay.
 * Rows can be fetched backward or again only with random_access.  Only the
 * first "bound" rows can be fetched; NO_BOUND: all rows.  Allocates in a child
 * of the current memory context.
 */
extern RowSort *row_sort_begin(TupleDesc descriptor, const SortColumn *columns,
							   int ncolumns, Size memory,
							   double expected_rows, double bound,
							   bool random_access);

/*
 * Begins a sort of few rows, which core's sort does from the beginning.
 * *emptied is NULL, or a sort that row_sort_empty() has left.  That sort is
 * used again if it has the same bound and memory, and is ended otherwise.
 * *emptied becomes NULL.
 */
extern RowSort *row_sort_begin_few(RowSort **emptied, TupleDesc descriptor,
								   const SortColumn *columns, int ncolumns,
								   Size memory, double expected_rows,
								   double bound, bool random_access);

/*
 * row_sort_of_team() makes the order of the rows of a team, in the collector,
 * which has put its last row, as team_order() does.  The team has to end after
 * the sort.
 * row_sort_prepare() prepares what the team does with parts of the order: the
 * wished work, or whatever pays and fits memory in its place.  It returns what
 * it has prepared, and from then on there is a report.  row_sort_announce()
 * announces the work to the other members.  Then rows can be fetched, unless
 * all members emit parts.
 */
extern RowSort *row_sort_of_team(Team *team, bool in_slices);
extern TeamWork row_sort_prepare(RowSort *sort, TeamWork wish);
extern void row_sort_announce(RowSort *sort);

/*
 * Returns whether rows that are sorted by ncolumns columns are one value each,
 * passed by value.
 */
extern bool row_sort_is_of_values(TupleDesc descriptor, int ncolumns);

/*
 * Lets the sort leave out rows that are not among the first of their group,
 * unless "limit" is NULL.  Has to be called before the first row.  "limit"
 * must stay as it is.
 */
extern void row_sort_limit_groups(RowSort *sort, GroupLimit *limit);

/*
 * Keeps what tells in which of the first ncolumns sort columns a row in memory
 * differs from the row before it (group_starts.h).  Has to be called before
 * the first row.
 */
extern void row_sort_keep_starts(RowSort *sort, int ncolumns);

/*
 * Lets rows in memory be marked that are equal to the row before them
 * (row_order_mark_ties()).  Has to be called before the first row.
 */
extern void row_sort_mark_ties(RowSort *sort);

/*
 * Says that only rows at single places of the order will be fetched, which
 * row_sort_skip() goes to.  Has to be called before the first row, or right
 * after row_sort_of_team().
 */
extern void row_sort_want_places(RowSort *sort);

/* Puts a row. */
extern void row_sort_put(RowSort *sort, TupleTableSlot *slot);

/* Puts all rows of the input; returns their number. */
extern uint64 row_sort_take(RowSort *sort, const InputRows *input);

/* Sorts, after the last row.  Rows can be fetched only after that. */
extern void row_sort_perform(RowSort *sort);

/*
 * Stores the next row, or the previous one, in the slot, which has to be one
 * for minimal tuples, and returns true.  If there is none, clears the slot and
 * returns false.  The row is valid until the next call.
 */
extern bool row_sort_get(RowSort *sort, bool forward, TupleTableSlot *slot);

/* Skips the next nrows rows, or as many as there are. */
extern void row_sort_skip(RowSort *sort, uint64 nrows);

/*
 * row_sort_order() returns the order of the rows that can be fetched, after
 * row_sort_perform(), if they all are minimal tuples in memory; NULL
 * otherwise.  A user that reads the rows by that order, instead of fetching
 * them, shows by row_sort_show_emitted() how many it has emitted.
 */
extern RowOrder *row_sort_order(const RowSort *sort);
extern void row_sort_show_emitted(RowSort *sort, uint64 nrows);

/*
 * Sets *ngroups to the number of groups, after row_sort_perform() of a sort
 * with a limit of one row of each group.  Returns false if the number is not
 * known, since the order may have further rows.
 */
extern bool row_sort_count_groups(const RowSort *sort, uint64 *ngroups);

/*
 * Returns whether the first "bound" rows can be fetched, or all if that is
 * NO_BOUND.
 */
extern bool row_sort_suffices(const RowSort *sort, double bound);

/*
 * Go back to the first row, mark the position, and go back to the mark.
 * Allowed only with random_access, as in core's tuplesort.
 */
extern void row_sort_rescan(RowSort *sort);
extern void row_sort_mark(RowSort *sort);
extern void row_sort_restore(RowSort *sort);

/* Fills the report, after row_sort_perform(). */
extern void row_sort_report(RowSort *sort, RowSortReport *report);

/* Ends the sort, at any time: closes files, frees memory and the rows. */
extern void row_sort_end(RowSort *sort);

/*
 * Ends the sort, unless row_sort_begin_few() has begun it: then only drops the
 * rows, and sets *emptied to the sort, for the next call of that function.
 */
extern void row_sort_empty(RowSort *sort, RowSort **emptied);

#endif							/* GPUSORT_ROW_SORT_H */
