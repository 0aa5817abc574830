/*-------------------------------------------------------------------------
 *
 * posting_parts.c
 *	  Parts of the merge of all runs, written to the index.
 *
 * Parts end where terms do (compare_groups in run_order.h), so whoever makes a
 * part has all rows of its terms, can join their lists, form entries, and write
 * the leaves of the index.  Then the leader gets one row for each leaf, and
 * only has to write the inner pages.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "inverted/entry_leaves.h"
#include "inverted/posting_parts.h"
#include "settings.h"
#include "spill/row_check.h"

/* A maker of parts that writes the rows of another one to the index. */
typedef struct LeafMaker
{
	PartMaker	maker;			/* must be first */
	RowReader	merged;			/* reads the rows of the other maker */
	PartMaker  *inner;
	PostingWrapper *wrapper;
	MemoryContext part_context; /* memory of one part */
	RowCheck	check;			/* of the present part */
	RowReader  *leaves;			/* leaves of the present part */
} LeafMaker;

/* Reads the next row of the other maker. */
static void *
next_merged(RowReader *reader)
{
	LeafMaker  *leaf_maker = (LeafMaker *)
		((char *) reader - offsetof(LeafMaker, merged));
	void	   *row = leaf_maker->inner->methods->next(leaf_maker->inner);

	if (row != NULL && gpusort_verify)
		row_check(&leaf_maker->check, row);
	return row;
}

static void
open_part(PartMaker *maker, int part)
{
	LeafMaker  *leaf_maker = (LeafMaker *) maker;
	PostingWrapper *wrapper = leaf_maker->wrapper;
	MemoryContext caller_context;
	RowReader  *joined;

	leaf_maker->inner->methods->open(leaf_maker->inner, part);
	caller_context = MemoryContextSwitchTo(leaf_maker->part_context);
	row_check_begin(&leaf_maker->check, run_order_of_own(&wrapper->order->own),
					POSTING_ROW_FORMAT);
	joined = posting_rows_join(wrapper->order->terms, &leaf_maker->merged,
							   wrapper->limit);
	leaf_maker->leaves = entry_leaves_begin(wrapper->writer, joined);
	MemoryContextSwitchTo(caller_context);
}

static void *
next_of_part(PartMaker *maker)
{
	LeafMaker  *leaf_maker = (LeafMaker *) maker;

	return leaf_maker->leaves->next(leaf_maker->leaves);
}

static void
close_part(PartMaker *maker)
{
	LeafMaker  *leaf_maker = (LeafMaker *) maker;

	leaf_maker->inner->methods->close(leaf_maker->inner);
	MemoryContextReset(leaf_maker->part_context);
	leaf_maker->leaves = NULL;
}

static void
end_maker(PartMaker *maker, bool at_end)
{
	LeafMaker  *leaf_maker = (LeafMaker *) maker;

	leaf_maker->inner->methods->end(leaf_maker->inner, at_end);
	MemoryContextDelete(leaf_maker->part_context);
	pfree(leaf_maker);
}

static const PartMakerMethods leaf_maker_methods = {
	.open = open_part,
	.next = next_of_part,
	.close = close_part,
	.end = end_maker
};

static PartMaker *
wrap_maker(PartWrapper *wrapper, PartMaker *inner)
{
	LeafMaker  *leaf_maker = palloc0(sizeof(LeafMaker));

	leaf_maker->maker.methods = &leaf_maker_methods;
	/* rows of both kinds have the same format */
	leaf_maker->maker.row_bytes = inner->row_bytes;
	leaf_maker->merged.next = next_merged;
	leaf_maker->inner = inner;
	leaf_maker->wrapper = (PostingWrapper *) wrapper;
	leaf_maker->part_context = AllocSetContextCreate(CurrentMemoryContext,
													 "gpusort part of an index",
													 ALLOCSET_DEFAULT_SIZES);
	return &leaf_maker->maker;
}

void
posting_wrapper_init(PostingWrapper *wrapper, PostingOrder *order,
					 GinWriter *writer, Size limit)
{
	wrapper->wrapper.wrap = wrap_maker;
	wrapper->order = order;
	wrapper->writer = writer;
	wrapper->limit = limit;
}
