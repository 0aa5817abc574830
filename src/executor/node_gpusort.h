/*-------------------------------------------------------------------------
 *
 * node_gpusort.h
 *	  The GpuSort plan node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_NODE_GPUSORT_H
#define GPUSORT_NODE_GPUSORT_H

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

#include "cost/sort_cost.h"
#include "sort/group_limit.h"

struct ExplainState;
struct RowSortReport;

extern const CustomScanMethods gpusort_scan_methods;
extern const CustomExecMethods gpusort_exec_methods;

extern bool is_gpusort(const Plan *plan);

/* The custom_private of a GpuSort in the place of this Sort. */
extern List *gpusort_scan_private(const Sort *sort);

/* The numbers of the columns by which a GpuSort sorts. */
extern List *gpusort_sort_columns(const CustomScan *scan);

/* A limit of the rows of each group, as a plan has it. */
typedef struct PlannedGroupLimit
{
	GroupLimitUnit unit;
	int			ngroup_columns; /* first sort columns, which make a group */
	List	   *equal;			/* equality operators of the first sort
								 * columns, which make peers */
	Expr	   *count;			/* units that are wanted, an integer */
	bool		fewer;			/* one less than that */
} PlannedGroupLimit;

/* Lets a GpuSort leave out rows that are not among the first of their group. */
extern void gpusort_limit_groups(CustomScan *scan,
								 const PlannedGroupLimit *limit);

/* The columns by which it sorts, and their number. */
extern SortColumn *gpusort_make_columns(const CustomScan *scan,
										int *ncolumns);

/* The size of a GpuSort's input, in a plan with this range table. */
extern SortSize gpusort_size(const CustomScan *scan, const List *range_table);

/*
 * The keys of a node that sorts, as EXPLAIN shows them, a string each; to be
 * called while its plan is explained.  "ancestors" are the nodes above it.
 */
extern List *gpusort_describe_keys(Plan *plan, const SortColumn *columns,
								   int ncolumns, List *ancestors,
								   struct ExplainState *es);

/* Has EXPLAIN show what a finished sort was like. */
extern void gpusort_explain_report(const struct RowSortReport *report,
								   struct ExplainState *es);

#endif							/* GPUSORT_NODE_GPUSORT_H */
