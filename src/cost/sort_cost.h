/*-------------------------------------------------------------------------
 *
 * sort_cost.h
 *	  The cost of a sort, in the planner's units.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SORT_COST_H
#define GPUSORT_SORT_COST_H

#include "nodes/nodes.h"

#include "cost/table_order.h"

/*
 * The bound of a sort of which all rows are wanted; other bounds are in rows.
 */
#define NO_BOUND			(-1.0)

/* The input of a sort, as far as the cost depends on it. */
typedef struct SortSize
{
	double		rows;
	int			width;			/* bytes of a row's values */
	bool		is_of_values;	/* rows are of one column, by value */
	double		null_part;		/* fraction of the values that is NULL */
	double		key_words;		/* words of 8 bytes in a key, about */
	double		ordered_part;	/* fraction of the rows that come in order */
	double		tied_rows;		/* rows of one value of the first column */
} SortSize;

/*
 * The size of a sort of a path's rows by these expressions, and of a node
 * that sorts by columns of these numbers.  The operator and the collation
 * are those of the first sort column.  The number of rows that come in order
 * follows from this column.  The number is set for a path only if some of the
 * rows are wanted; otherwise it makes no difference.
 */
extern SortSize sort_size_of_path(PlannerInfo *root, const Path *input,
								  const List *columns, Oid sort_operator,
								  Oid collation, double bound);
extern SortSize sort_size_of_plan(const Plan *sort, const List *attnos,
								  Oid sort_operator, Oid collation,
								  const List *range_table);

/* Bytes of memory of this many rows of this width: an estimate. */
extern double sort_rows_bytes(double rows, int width);

/* Do this many rows of this width fit the memory for a sort? */
extern bool sort_fits_memory(double rows, int width);

/*
 * If processes write rows of this size as runs, are these few enough to be merged
 * at once?
 */
extern bool sort_merges_at_once(const SortSize *size, double members);

/*
 * Does temp_file_limit leave room for what a process is expected to write for
 * a sort of this size, alone or as one of several?  An estimate, with some to
 * spare.
 */
extern bool sort_has_file_space(const SortSize *share);

/*
 * The cost of a GpuSort in one process: until its first row can be emitted, and
 * in all.  The cost of its input is not included.
 */
extern void cost_sort_alone(const SortSize *size, Cost *startup, Cost *total);

/*
 * The cost of a GpuSort of a leader and its workers, which take their rows in
 * the time in which one process takes a fraction 1 / members of them.
 */
extern void cost_sort_together(const SortSize *size, double members,
							   Cost *startup, Cost *total);

/*
 * The same where all processes emit rows, by groups.  The busiest one emits a
 * fraction "busiest" of them.
 */
extern void cost_sort_in_groups(const SortSize *size, double members,
								double busiest, Cost *startup, Cost *total);

/*
 * The number of first columns from which a sort should make its keys: the
 * other columns would hardly be looked at, and take long to encode.
 */
extern int	sort_key_columns(const Sort *sort, const List *range_table);

/* From this number of rows on core's own sorts find few rows in the caches. */
#define MANY_ROWS			50000

/* Core's sorts inside an aggregate, one of each group. */
typedef struct InnerSize
{
	double		rows;			/* rows in all groups */
	double		group_rows;		/* rows of a group, on average */
	double		group_values;	/* different values in each, on average */
	bool		is_of_rows;		/* rows of several columns are sorted, not
								 * single values */
} InnerSize;

/*
 * The cost of the comparisons that these sorts save if each group comes in
 * order.  The type and the collation are those of the first sort column.
 */
extern Cost cost_comparisons_inside(const InnerSize *size, Oid type,
									Oid collation);

/* The cost of these sorts, beside what core charges for an aggregate. */
extern Cost cost_sorts_inside(const InnerSize *size, Oid type, Oid collation);

/*
 * The cost of comparing each of this many sorted values with the one before.
 */
extern Cost cost_counting(double values);

/* The divisor by which core estimates the rows of each member. */
extern double sort_members(int nworkers);

/*
 * The cost of comparing this many rows by this type in a merge join, beyond
 * what core charges.
 */
extern Cost cost_merging_more(double rows, Oid type);

/*
 * The cost of hashing beyond what core expects: of this many look-ups in a
 * table of this many entries of this width, in bytes.
 */
extern Cost cost_hashing_more(double lookups, double entries, int width);

#endif							/* GPUSORT_SORT_COST_H */
