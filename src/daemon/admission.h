/*-------------------------------------------------------------------------
 *
 * admission.h
 *	  The device memory of a job, from its beginning to its end.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORTD_ADMISSION_H
#define GPUSORTD_ADMISSION_H

#include "job.h"

/*
 * Reserves memory for the first keys of a job, if need be after a wait in the
 * queue.  Returns false if there could never be enough for the expected rows,
 * if the client is gone, or if the job ends otherwise.  A function here that
 * returns false has told the client why.
 */
extern bool admission_begin(Job *job, uint64_t expected_rows);

/*
 * Reserves memory for more keys, in the part that takes rows or in another part,
 * which takes rows from then on.
 */
extern bool admission_find_room(Job *job, uint64_t nrows, uint64_t nwords);

/* Reserves memory for a sort that is not in place, if there is enough. */
extern void admission_before_sort(Job *job);

/* Gives back memory that parts do not need after their sort. */
extern void admission_after_sort(Job *job);

#endif							/* GPUSORTD_ADMISSION_H */
