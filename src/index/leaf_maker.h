/*-------------------------------------------------------------------------
 *
 * leaf_maker.h
 *	  Making the leaf pages of a B-tree from rows that are in its order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LEAF_MAKER_H
#define GPUSORT_LEAF_MAKER_H

#include "storage/bufpage.h"
#include "utils/rel.h"

#include "index/index_rows.h"
#include "index/tuple_source.h"

typedef struct LeafMaker LeafMaker;

/* The most rows that do not fill a page; a place in a posting list is least. */
#define LEAF_MAX_PENDING	(BLCKSZ / 4)

/*
 * Rows that are measured, and are the first ones of a page that has not been
 * laid out yet.  Zero at the beginning.
 */
typedef struct PendingRows
{
	uint32		nrows;
	uint16		measures[LEAF_MAX_PENDING];
} PendingRows;

/* What is to be built. */
typedef struct LeafDefinition
{
	Relation	heap;
	Relation	index;
	bool		unique;
	bool		nulls_not_distinct;
	bool		unproved;		/* whether the rows are in order */
} LeafDefinition;

/* How many rows are best taken at a time. */
extern uint32 leaf_maker_chunk_rows(uint64 nrows, int nparticipants);

/*
 * Prepares to make leaves of chunks of at most so many rows.  Allocates in the
 * current memory context.
 */
extern LeafMaker *leaf_maker_begin(const LeafDefinition *definition,
								   const IndexRows *index_rows,
								   const TupleSource *rows,
								   uint32 chunk_rows);

/*
 * Takes the chunk of rows that begins at this position: checks and measures
 * them.  False if they are not in order.
 */
extern bool leaf_maker_take(LeafMaker *maker, uint64 position, uint32 nrows);

/*
 * Finds which rows each page has, of those that are pending from the chunks
 * before, which are taken over, and of the chunk; those of the last page,
 * which is not full, become pending, unless they are the very last.  Returns
 * the number of pages.  Raises core's error if one of the chunk's rows must not
 * be in the index.
 */
extern uint32 leaf_maker_lay_out(LeafMaker *maker, PendingRows *pending);

/*
 * Fills one of the pages.  The very last has no high key, but room for the
 * pointer to one, as pages do that are being filled.  Returns how many rows
 * it has.
 */
extern uint32 leaf_maker_fill(LeafMaker *maker, uint32 number, Page page);

#endif							/* GPUSORT_LEAF_MAKER_H */
