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

#include "btree/index_rows.h"
#include "btree/tuple_source.h"

typedef struct LeafMaker LeafMaker;

/* The most rows that do not fill a page; each takes 6 bytes or more. */
#define LEAF_MAX_PENDING	(BLCKSZ / 4)

/*
 * Measured rows at the beginning of a page that has not been laid out yet.
 * All zeros at first.
 */
typedef struct PendingRows
{
	uint32		nrows;
	uint16		measures[LEAF_MAX_PENDING];
} PendingRows;

/* The index whose leaves are made. */
typedef struct LeafDefinition
{
	Relation	heap;
	Relation	index;
	bool		unique;
	bool		nulls_not_distinct;
	bool		check_order;	/* a device has made the order of the rows */
} LeafDefinition;

/* The best number of rows in a chunk. */
extern uint32 leaf_maker_chunk_rows(uint64 nrows, int nmembers);

/*
 * Prepares to make leaves of chunks of at most max_rows rows.  Allocates in
 * the current memory context.
 */
extern LeafMaker *leaf_maker_begin(const LeafDefinition *definition,
								   const IndexRows *index_rows,
								   const TupleSource *rows,
								   uint32 chunk_rows);

/*
 * Takes the chunk of rows that begins at this position of the order: checks
 * and measures the rows.  False if the rows are not in order.
 */
extern bool leaf_maker_take(LeafMaker *maker, uint64 position, uint32 nrows);

/*
 * Divides rows into pages: first the pending rows of the chunks before, then
 * the rows of the chunk.  Rows that do not fill a page become pending, unless
 * they are the last of the index.  Returns the number of pages.  Raises core's
 * error if a row of the chunk is a duplicate or too large.
 */
extern uint32 leaf_maker_lay_out(LeafMaker *maker, PendingRows *pending);

/*
 * Fills one of these pages, and returns the number of its rows.  The last page of
 * the index has no high key, but a line pointer that is free for one.
 */
extern uint32 leaf_maker_fill(LeafMaker *maker, uint32 number, Page page);

#endif							/* GPUSORT_LEAF_MAKER_H */
