/*-------------------------------------------------------------------------
 *
 * merge_plan.h
 *	  From which sorted run each next row is, as gpusortd knows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_MERGE_PLAN_H
#define GPUSORT_MERGE_PLAN_H

#include "device/sort_job.h"
#include "spill/run_tape.h"

typedef struct MergePlan MergePlan;

/*
 * Begins without a run; keys will be of this shape, and exact.  NULL if
 * gpusortd does not take so many.  Allocates in the current memory context, in
 * which all that follows has to be called, too.
 */
extern MergePlan *merge_plan_begin(const KeyShape *shape, uint64 expected_rows);

/* The key of the next row; false if gpusortd has been lost, and all keys. */
extern bool merge_plan_add(MergePlan *plan, const uint64_t *words, int nwords);

/*
 * The rows since the last call are in this run; false if there are not so many
 * of them.
 */
extern bool merge_plan_end_run(MergePlan *plan, RunTape *run, uint64 nrows);

/* Rows that were in the one run are in the other now. */
extern void merge_plan_replace(MergePlan *plan, const RunTape *run,
							   RunTape *replacement);

/*
 * After the last run: makes the order, and writes it to the file; false if
 * gpusortd has been lost.
 */
extern bool merge_plan_make(MergePlan *plan, RunFile *file);

/*
 * After that, and run_file_flush(): the run that has the next row, NULL after
 * the last one.  All runs must be being read.
 */
extern RunTape *merge_plan_next(MergePlan *plan);

/* Ends it, made or not.  The runs stay. */
extern void merge_plan_free(MergePlan *plan);

#endif							/* GPUSORT_MERGE_PLAN_H */
