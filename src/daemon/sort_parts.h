/*-------------------------------------------------------------------------
 *
 * sort_parts.h
 *	  Sorting a job that has all its keys.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORTD_SORT_PARTS_H
#define GPUSORTD_SORT_PARTS_H

#include "job.h"

/* Sorts the parts of a job at the same time, and sends MSG_SORTED. */
extern bool sort_parts(Job *job);

#endif							/* GPUSORTD_SORT_PARTS_H */
