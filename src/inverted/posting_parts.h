/*-------------------------------------------------------------------------
 *
 * posting_parts.h
 *	  Parts of the merge of all runs, with joined lists.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_POSTING_PARTS_H
#define GPUSORT_POSTING_PARTS_H

#include "inverted/posting_rows.h"
#include "team/merged_runs.h"

/*
 * Lets the merge join the lists of each term: whoever makes a part makes rows
 * of joined lists.  Lists take about "limit" bytes of memory.  "wrapper" must
 * stay.
 */
typedef struct PostingWrapper
{
	PartWrapper wrapper;		/* must be first */
	Terms	   *terms;
	Size		limit;
} PostingWrapper;

extern void posting_wrapper_init(PostingWrapper *wrapper, Terms *terms,
								 Size limit);

#endif							/* GPUSORT_POSTING_PARTS_H */
