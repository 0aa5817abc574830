/*-------------------------------------------------------------------------
 *
 * posting_parts.c
 *	  Parts of the merge of all runs, with joined lists.
 *
 * Parts end where terms do (compare_groups in run_order.h), so whoever makes a
 * part has all rows of its terms, and can join their lists and form entries.
 * Then the leader only copies these to the pages of the index.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "inverted/posting_parts.h"

/* A row with an entry has its term twice. */
#define ENTRIES_GROWTH	2

/* A maker of parts that joins the rows of another one. */
typedef struct JoiningMaker
{
	PartMaker	maker;			/* must be first */
	RowReader	merged;			/* reads the rows of the other maker */
	PartMaker  *inner;
	const PostingWrapper *wrapper;
	MemoryContext part_context; /* memory of one part */
	RowReader  *joined;			/* rows of the present part */
} JoiningMaker;

/* Reads the next row of the other maker. */
static void *
next_merged(RowReader *reader)
{
	JoiningMaker *joining = (JoiningMaker *)
		((char *) reader - offsetof(JoiningMaker, merged));

	return joining->inner->methods->next(joining->inner);
}

static void
open_part(PartMaker *maker, int part)
{
	JoiningMaker *joining = (JoiningMaker *) maker;
	MemoryContext caller_context;

	joining->inner->methods->open(joining->inner, part);
	caller_context = MemoryContextSwitchTo(joining->part_context);
	joining->joined = posting_rows_join(joining->wrapper->terms,
										&joining->merged,
										joining->wrapper->limit);
	MemoryContextSwitchTo(caller_context);
}

static void *
next_of_part(PartMaker *maker)
{
	JoiningMaker *joining = (JoiningMaker *) maker;

	return joining->joined->next(joining->joined);
}

static void
close_part(PartMaker *maker)
{
	JoiningMaker *joining = (JoiningMaker *) maker;

	joining->inner->methods->close(joining->inner);
	MemoryContextReset(joining->part_context);
	joining->joined = NULL;
}

static void
end_maker(PartMaker *maker, bool at_end)
{
	JoiningMaker *joining = (JoiningMaker *) maker;

	joining->inner->methods->end(joining->inner, at_end);
	MemoryContextDelete(joining->part_context);
	pfree(joining);
}

static const PartMakerMethods joining_methods = {
	.open = open_part,
	.next = next_of_part,
	.close = close_part,
	.end = end_maker
};

static PartMaker *
wrap_maker(PartWrapper *wrapper, PartMaker *inner)
{
	JoiningMaker *joining = palloc0(sizeof(JoiningMaker));

	joining->maker.methods = &joining_methods;
	joining->maker.row_bytes = inner->row_bytes;
	joining->merged.next = next_merged;
	joining->inner = inner;
	joining->wrapper = (PostingWrapper *) wrapper;
	joining->part_context = AllocSetContextCreate(CurrentMemoryContext,
												  "gpusort part of an index",
												  ALLOCSET_DEFAULT_SIZES);
	return &joining->maker;
}

void
posting_wrapper_init(PostingWrapper *wrapper, Terms *terms, Size limit)
{
	wrapper->wrapper.wrap = wrap_maker;
	wrapper->wrapper.growth = ENTRIES_GROWTH;
	wrapper->terms = terms;
	wrapper->limit = limit;
}
