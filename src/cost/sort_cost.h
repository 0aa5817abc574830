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

/* The bound of a sort of which all rows are wanted; others are in rows. */
#define NO_BOUND			(-1.0)

/* The input of a sort, as far as the cost depends on it. */
typedef struct SortSize
{
	double		rows;
	int			width;			/* bytes of a row's values */
	bool		is_of_values;	/* rows are of one column, by value */
	double		null_part;		/* fraction of these that is NULL */
	double		key_words;		/* words of 8 bytes in a key, about */
	double		ordered_part;	/* fraction of the rows that come in order */
	double		tied_rows;		/* rows of one value of the first column */
} SortSize;

/*
 * The size of a sort of a path's rows by these expressions, and of a node that
 * sorts by columns of these numbers.  The operator and the collation are those
 * of the first sort column, by which it is estimated how many rows come in
 * order; of a path only if some rows are wanted, as of all it makes no difference.
 */
extern SortSize sort_size_of_path(PlannerInfo *root, const Path *input,
								  const List *columns, Oid sort_operator,
								  Oid collation, double bound);
extern SortSize sort_size_of_plan(const Plan *sort, const List *attnos,
								  Oid sort_operator, Oid collation,
								  const List *range_table);

/*
 * Of processes that sort together, each a sort of this size: are the rows to be
 * written as runs, since they do not fit the memory?  And can they sort together,
 * for which rows that are not written need shared memory, and runs must be so few that
 * they are merged at once?
 */
extern bool sort_together_spills(const SortSize *share);
extern bool sort_together_has_room(const SortSize *share,
								   double participants);

/*
 * Does temp_file_limit leave room for what a process is expected to write that has
 * a sort of this size, alone or as one of several?  An estimate, with some to spare.
 */
extern bool sort_has_file_space(const SortSize *share);

/*
 * The cost of a GpuSort in one process: until its first row can be emitted, and
 * in all.  The cost of its input is not included.
 */
extern void cost_sort_alone(const SortSize *size, Cost *startup, Cost *total);

/*
 * The cost of a GpuSort of a leader and its workers, which take their rows in
 * the time in which one process takes a fraction 1 / participants of them.
 */
extern void cost_sort_together(const SortSize *size, double participants,
							   Cost *startup, Cost *total);

/*
 * The same where all of them emit rows, by groups, and one emits a fraction
 * "busiest" of them, more than any other.
 */
extern void cost_sort_in_groups(const SortSize *size, double participants,
								double busiest, Cost *startup, Cost *total);

/*
 * Is a plan with workers, of this cost, expected to gain too little over one of
 * that cost without?
 */
extern bool workers_hardly_gain(Cost together, Cost alone);

/*
 * Does core's sort find the first "bound" rows in less time than a GpuSort of
 * all?  "participants" is the number of processes that could sort together, each
 * of which has a sort of this size; it is 1 for a sort in one process.
 */
extern bool first_rows_are_few(const SortSize *size, double participants,
							   double bound);

/*
 * Does core's sort of rows with a single column of this type, which has these values,
 * take less time?
 */
extern bool values_are_few(Oid type, ColumnValues values);

/* The same where it keeps them in memory, and ours would write them. */
extern bool values_are_kept(const SortSize *size, Oid type);

/*
 * Of how many of its first columns the keys of a sort should be made: the others
 * would hardly be looked at, and take long to encode.
 */
extern int	sort_key_columns(const Sort *sort, const List *range_table);

/* The sorts of core's inside an aggregate, one of each group. */
typedef struct InnerSize
{
	double		rows;			/* rows in all groups */
	double		group_rows;		/* rows of a group, on average */
	double		group_values;	/* different ones in each, on average */
	bool		is_of_rows;		/* rows of several columns are sorted, not
								 * single values */
} InnerSize;

/*
 * What these sorts cost less if each group comes in order: the comparisons that
 * are spared.  The type and the collation are those of the first sort column.
 */
extern Cost cost_comparisons_inside(const InnerSize *size, Oid type,
									Oid collation);

/* What these sorts cost in all, beside what core charges an aggregate. */
extern Cost cost_sorts_inside(const InnerSize *size, Oid type, Oid collation);

/* What it costs to compare each of so many sorted values with the one before. */
extern Cost cost_counting(double values);

/* The divisor by which core estimates the rows of each participant. */
extern double sort_participants(int nworkers);

/* The cost of comparing so many rows by this type in a merge join, beyond the same. */
extern Cost cost_merging_more(double rows, Oid type);

/*
 * The cost of hashing beyond what core expects: of so many lookups in a table of
 * so many entries of this width, in bytes.
 */
extern Cost cost_hashing_more(double lookups, double entries, int width);

#endif							/* GPUSORT_SORT_COST_H */
