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
 * The rows that a Limit of constants and parameters of the query wants, those ahead
 * of its OFFSET included; NO_BOUND if it wants all, or that is not known.
 */
extern double first_rows_wanted(const Limit *limit, ParamListInfo params);

/*
 * The plan with which a query that is about to begin is executed: its own, or one
 * that has a Sort in the place of the GpuSort below its topmost Limit, or the Gather
 * Merge there, if the Limit wants only a few first rows.  Such a plan is allocated
 * where the query is, and shares what it can with the query's own, which stays as it
 * is.
 */
extern PlannedStmt *first_rows_choose_plan(const QueryDesc *query);

#endif							/* GPUSORT_FIRST_ROWS_H */
