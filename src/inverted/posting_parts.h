/*-------------------------------------------------------------------------
 *
 * posting_parts.h
 *	  Parts of the merge of all runs, written to the index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_POSTING_PARTS_H
#define GPUSORT_POSTING_PARTS_H

#include "inverted/gin_pages.h"
#include "inverted/posting_rows.h"
#include "team/merged_runs.h"

/*
 * Lets whoever makes a part of the merge join the lists of its terms, and
 * write its leaves with "writer": the rows of parts are LeafRows.  Lists take
 * about "limit" bytes of memory.  "wrapper", "order" and "writer" must stay.
 */
typedef struct PostingWrapper
{
	PartWrapper wrapper;		/* must be first */
	PostingOrder *order;
	GinWriter  *writer;
	Size		limit;
} PostingWrapper;

extern void posting_wrapper_init(PostingWrapper *wrapper, PostingOrder *order,
								 GinWriter *writer, Size limit);

#endif							/* GPUSORT_POSTING_PARTS_H */
