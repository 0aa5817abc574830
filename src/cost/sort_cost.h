/*-------------------------------------------------------------------------
 *
 * sort_cost.h
 *	  What a sort costs, in the planner's units.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SORT_COST_H
#define GPUSORT_SORT_COST_H

#include "nodes/nodes.h"

#include "cost/table_order.h"

/* How many rows may be wanted of a sort: all. */
#define NO_BOUND			(-1.0)

/* What the cost of a sort depends on. */
typedef struct SortSize
{
	double		rows;
	int			width;			/* bytes of a row's values */
	double		key_words;		/* words of 8 bytes in a key */
	double		ordered_part;	/* of the rows, come in the order wanted */
	double		tied_rows;		/* among these may be in any order */
} SortSize;

/*
 * The size of a sort of a path's rows by these expressions, and of a node that
 * sorts by columns of these numbers.  The operator and the collation are those
 * of the first.
 */
extern SortSize sort_size_of_path(PlannerInfo *root, const Path *input,
								  const List *columns, Oid sort_operator,
								  Oid collation);
extern SortSize sort_size_of_plan(const Plan *sort, const List *attnos,
								  Oid sort_operator, Oid collation,
								  const List *range_table);

/* Bytes that so many rows of this width take in memory, about. */
extern double sort_rows_bytes(double rows, int width);

/* Do so many rows of this width fit the memory for a sort? */
extern bool sort_fits_memory(double rows, int width);

/*
 * A GpuSort in one process: until its first row can be handed on, and in all.
 * That of its input is not in it.
 */
extern void cost_sort_alone(const SortSize *size, Cost *startup, Cost *total);

/*
 * The same by a leader and its workers, who take their rows in the time in
 * which one process takes a "participants"th of them.
 */
extern void cost_sort_together(const SortSize *size, double participants,
							   Cost *startup, Cost *total);

/*
 * Does core take less time to find only the first "bound" rows?  "participants"
 * processes that could sort together, with so many rows each, find those of their
 * own at the same time; of one process it is 1.
 */
extern bool first_rows_are_few(const SortSize *size, double participants,
							   double bound);

/* By what core divides the rows that so many workers and their leader take. */
extern double sort_participants(int nworkers);

/*
 * What core's hashing costs more than core expects, when rows are looked up so
 * many times in a table of so many entries of this width.
 */
extern Cost cost_hashing_more(double lookups, double entries, int width);

#endif							/* GPUSORT_SORT_COST_H */
