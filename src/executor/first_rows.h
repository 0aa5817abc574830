/*-------------------------------------------------------------------------
 *
 * first_rows.h
 *	  PostgreSQL's Sort for a few first rows, in the place of a GpuSort.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_FIRST_ROWS_H
#define GPUSORT_FIRST_ROWS_H

#include "executor/execdesc.h"
#include "nodes/plannodes.h"

/*
 * Returns the number of rows that a Limit of constants and parameters of the
 * query wants, with the rows ahead of its OFFSET; NO_BOUND if it wants all, or
 * if the number is not known.
 */
extern double first_rows_wanted(const Limit *limit, ParamListInfo params);

/*
 * Returns the plan by which to execute a query that is about to begin.  The
 * plan is the query's own, or a copy that has a Sort in the place of a
 * GpuSort.  It is a copy if the topmost Limit wants only a few first rows, and
 * the GpuSort is right below the Limit or its Gather Merge.  The copy is
 * allocated where the query is, and shares what it can with the query's own
 * plan, which stays as it is.
 */
extern PlannedStmt *first_rows_choose_plan(const QueryDesc *query);

#endif							/* GPUSORT_FIRST_ROWS_H */
