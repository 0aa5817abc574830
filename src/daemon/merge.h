/*-------------------------------------------------------------------------
 *
 * merge.h
 *	  One order of a job whose parts were sorted by different devices.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORTD_MERGE_H
#define GPUSORTD_MERGE_H

#include "devices.h"
#include "engine.h"

/* A part of a job that is sorted, and keeps its keys. */
typedef struct MergePart
{
	EngineJob  *job;
	uint64_t	nrows;			/* at least one */
	uint64_t	first_row;		/* number of the part's row 0 in the whole job */
} MergePart;

typedef struct Merge Merge;

/* Why a merge has failed. */
typedef struct MergeFailure
{
	int			part;			/* number of the part whose device failed, or
								 * -1 */
	DeviceError error;
} MergeFailure;

/*
 * Begins to merge parts whose keys have up to key_words words.  Until the
 * merge ends, only its threads may use the jobs of the parts.  Returns NULL on
 * failure, and sets *failure.
 */
extern Merge *merge_begin(const Engine *engine, const MergePart *parts,
						  int nparts, uint32_t key_words, bool mark_ties,
						  MergeFailure *failure);

/*
 * Writes the next "count" entries of the order.  Returns false on failure, and
 * sets *failure.  A wrong entry may be noticed only by a later call: the order
 * is right when the last entries have come without failure.
 */
extern bool merge_next(Merge *merge, uint32_t count, uint32_t *order,
					   MergeFailure *failure);

/* Ends a merge, at any time, and its threads.  Allowed for NULL. */
extern void merge_end(Merge *merge);

#endif							/* GPUSORTD_MERGE_H */
