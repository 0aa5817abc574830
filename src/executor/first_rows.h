/*-------------------------------------------------------------------------
 *
 * first_rows.h
 *	  PostgreSQL's Sort for a few first rows, in the place of a GpuSort.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_FIRST_ROWS_H
#define GPUSORT_FIRST_ROWS_H

#include "nodes/plannodes.h"

/*
 * The rows that a Limit of constants and parameters of the query wants, those ahead
 * of its OFFSET included; NO_BOUND if it wants all, or that is not known.
 */
extern double first_rows_wanted(const Limit *limit, ParamListInfo params);

/* Registers the hook that puts core's Sort back. */
extern void first_rows_init(void);

#endif							/* GPUSORT_FIRST_ROWS_H */
