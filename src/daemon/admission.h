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
 * Gets a job memory for its first keys, for which it may have to wait, unless it
 * could never be as large as expected.
 */
extern bool admission_begin(Job *job, uint64_t expected_rows);

/*
 * Makes sure that the part that rows go to has enough memory for these keys
 * too; or goes on to another part.
 */
extern bool admission_find_room(Job *job, uint64_t nrows, uint64_t nwords);

/* Reserves what it takes not to sort in place, if there is so much. */
extern void admission_before_sort(Job *job);

/* Gives back the memory that parts that have sorted need no more. */
extern void admission_after_sort(Job *job);

#endif							/* GPUSORTD_ADMISSION_H */
