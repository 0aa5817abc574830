/*-------------------------------------------------------------------------
 *
 * explain_sort.h
 *	  What EXPLAIN shows of a sort: its keys and its report.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_EXPLAIN_SORT_H
#define GPUSORT_EXPLAIN_SORT_H

#include "nodes/extensible.h"

#include "executor/row_sort.h"

struct ExplainState;

/*
 * Returns the sort keys of a node as EXPLAIN shows them: a string for each
 * column.  "plan" is the plan that is being explained.  "ancestors" are the
 * nodes above it.
 */
extern List *explain_sort_describe_keys(Plan *plan, const List *target_list,
										const SortColumn *columns, int ncolumns,
										List *ancestors, struct ExplainState *es);

/* Shows the first ncolumns columns by which a node sorts. */
extern void explain_sort_keys(const char *name,
							  const CustomScanState *node,
							  const SortColumn *columns, int ncolumns,
							  List *ancestors, struct ExplainState *es);

/* Shows the report of a finished sort. */
extern void explain_sort_report(const RowSortReport *report,
								struct ExplainState *es);

#endif							/* GPUSORT_EXPLAIN_SORT_H */
