/*-------------------------------------------------------------------------
 *
 * merge_plan.h
 *	  A merge of sorted runs in an order that gpusortd has made of all keys.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_MERGE_PLAN_H
#define GPUSORT_MERGE_PLAN_H

#include "device/sort_job.h"
#include "spill/run_tape.h"

typedef struct MergePlan MergePlan;

/*
 * Begins a plan without runs.  All keys have this shape and are exact.
 * Returns NULL if gpusortd does not take a job of the expected rows.
 * Allocates in the current memory context, in which the functions below have
 * to be called, too.
 */
extern MergePlan *merge_plan_begin(const KeyShape *shape, uint64 expected_rows);

/*
 * Adds the key of the next row.  Returns false if gpusortd is lost, and with
 * it all keys.
 */
extern bool merge_plan_add(MergePlan *plan, const uint64_t *words, int nwords);

/*
 * Ends a run, which has the nrows rows since the last call.  Returns false if
 * that is not the number of keys added since, or if there are too many rows or
 * runs.
 */
extern bool merge_plan_end_run(MergePlan *plan, RunTape *run, uint64 nrows);

/* Notes that the rows of "run" are in "replacement" now. */
extern void merge_plan_replace(MergePlan *plan, const RunTape *run,
							   RunTape *replacement);

/*
 * Makes the order, after the last run, and writes it to the file.  Returns
 * false if gpusortd is lost.
 */
extern bool merge_plan_make(MergePlan *plan, RunFile *file);

/*
 * Returns the run that has the next row; NULL after the last row.  Has to be
 * called after merge_plan_make() and run_file_flush(), when reading has begun
 * in all runs.
 */
extern RunTape *merge_plan_next(MergePlan *plan);

/* Frees a plan, at any time.  The runs stay. */
extern void merge_plan_free(MergePlan *plan);

#endif							/* GPUSORT_MERGE_PLAN_H */
