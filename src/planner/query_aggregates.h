/*-------------------------------------------------------------------------
 *
 * query_aggregates.h
 *	  The aggregates of a query, as a GpuSortAggregate makes them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_QUERY_AGGREGATES_H
#define GPUSORT_QUERY_AGGREGATES_H

#include "nodes/pathnodes.h"

/* Values in one order, and their aggregates. */
typedef struct QueryOrder
{
	List	   *aggregates;		/* each once */
	Expr	   *value;			/* NULL where an aggregate's filter leaves a
								 * row out */
	int			column;			/* number of the value among all values */
	SortGroupClause *clause;	/* sort clause of the values; NULL if they are
								 * only counted */
	List	   *pathkeys;
	List	   *sort_keys;		/* pathkeys of the groups, and of the value */
	double		selectivity;	/* part of the rows that the filter leaves */
	int			nsorts;			/* sorts that core makes, of unsorted input */
	bool		is_presorted;	/* core sorts its input so */
	bool		counts_distinct;
	bool		finds_percentiles;
} QueryOrder;

/* The aggregates of a query. */
typedef struct QueryAggregates
{
	List	   *orders;			/* QueryOrders; those with a clause come first */
	List	   *values;			/* values, all different */
	List	   *row_counts;		/* aggregates that count rows */
	List	   *others;			/* aggregates that core's functions make */
	bool		need_order;		/* the order of the rows matters to one */
	bool		need_one_process;	/* states of several processes cannot be
									 * combined */
	List	   *carried;		/* columns that these need beside groups and
								 * values */
	List	   *groups;			/* grouping expressions; NIL: all rows are one
								 * group */
	List	   *group_keys;		/* their pathkeys */
	double		ngroups;
} QueryAggregates;

/*
 * Finds the groups and the aggregates of a query whose input this is.  Returns
 * false if the query is left to core.
 */
extern bool query_aggregates_find(PlannerInfo *root, const RelOptInfo *grouped,
								  const Path *input,
								  const GroupPathExtraData *extra,
								  QueryAggregates *all);

#endif							/* GPUSORT_QUERY_AGGREGATES_H */
