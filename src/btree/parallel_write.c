/*-------------------------------------------------------------------------
 *
 * parallel_write.c
 *	  Making and writing the leaf pages of an index with parallel workers.
 *
 * The rows in their order are divided into chunks.  Members take chunk
 * after chunk.  Each measures the rows of its chunk, lays out the chunk's
 * pages when the pages of the chunk before are laid out, and fills the pages
 * (leaf_maker.c).  Only laying out has to go in turn, and takes a small part
 * of the time of the other steps.
 *
 * Pages are filled in a ring in shared memory, where the number of a page
 * gives its slot.  The leader adds them to the tree in order, where they are:
 * it sets their links, and gives them their blocks in the index.  A page is
 * complete when the next one is added.  Members take batches of complete pages,
 * and log and write these, each for itself (page_writer.c).  The leader does so
 * only if there is nothing to be added, and makes pages itself if there is no
 * batch.
 *
 * A member whose page has no slot yet writes what is complete, or waits.
 * Nobody waits for ever, since the next page to be added always has a slot, and
 * a member needs no slot to lay out its chunk.  The leader adds no page that
 * might begin another file of the index while somebody writes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/progress.h"
#include "miscadmin.h"
#include "utils/backend_progress.h"
#include "utils/wait_event.h"

#include "btree/page_writer.h"
#include "btree/parallel_write.h"
#include "port/compat.h"
#include "port/shared_memory.h"

/* The ring, in pages: for two chunks of each member, within bounds. */
#define RING_MIN_PAGES		16
#define RING_MAX_PAGES		2048

/* After this many pages members that may wait for these are woken. */
#define PAGES_AT_ONCE		16

typedef struct WriteMember
{
	WriteShared *shared;
	Relation	index;
	LeafMaker  *maker;
	uint64		nrows;
	char	   *pages;
	LeafSlot   *slots;
	TreeWriter *writer;			/* writer of the tree, in the leader */
	uint32		nadded;			/* pages that the leader has added to the
								 * tree, of which the last is not complete */
	uint64		nrows_added;
	uint64		nrows_made;		/* rows on the pages of a worker */
	SortProgress *progress;
} WriteMember;

void
parallel_write_init(WriteShared *shared)
{
	pg_atomic_init_u32(&shared->next_chunk, 0);
	pg_atomic_init_u32(&shared->turn, 0);
	pg_atomic_init_u32(&shared->ncomplete, 0);
	pg_atomic_init_u32(&shared->ntaken, 0);
	pg_atomic_init_u32(&shared->nwritten, 0);
	pg_atomic_init_u32(&shared->worker_pages, 0);
	pg_atomic_init_u32(&shared->abandoned, 0);
	shared->pending.nrows = 0;
	shared->npages = 0;
	ConditionVariableInit(&shared->turn_passed);
	ConditionVariableInit(&shared->ring_changed);
	ConditionVariableInit(&shared->for_leader);
}

/* Bytes of the ring: its pages, aligned, and behind them their slots. */
static Size
ring_bytes(const WriteShared *shared)
{
	return shared->nslots * (BLCKSZ + sizeof(LeafSlot)) + PG_IO_ALIGN_SIZE;
}

Size
parallel_write_plan(WriteShared *shared, uint64 nrows, uint64 row_bytes,
					int nmembers)
{
	double		pages;

	shared->chunk_rows = leaf_maker_chunk_rows(nrows, nmembers);
	shared->nchunks = (nrows + shared->chunk_rows - 1) / shared->chunk_rows;
	pages = (double) row_bytes / nrows * shared->chunk_rows / BLCKSZ;
	shared->nslots = Min(Max(2 * nmembers * pages, RING_MIN_PAGES),
						 RING_MAX_PAGES);
	return ring_bytes(shared);
}

/* The pages of the ring, which are aligned alike in all processes. */
static char *
ring_pages(dsm_segment *ring)
{
	return (char *) TYPEALIGN(PG_IO_ALIGN_SIZE, dsm_segment_address(ring));
}

static LeafSlot *
ring_slots(const WriteShared *shared, dsm_segment *ring)
{
	return (LeafSlot *) (ring_pages(ring) + (Size) shared->nslots * BLCKSZ);
}

bool
parallel_write_make_ring(WriteShared *shared)
{
	dsm_segment *ring = shared_memory_create(ring_bytes(shared));

	if (ring == NULL)
		return false;
	/* the leader finds it, as it writes */
	dsm_unpin_mapping(ring);
	memset(ring_slots(shared, ring), 0, shared->nslots * sizeof(LeafSlot));
	shared->ring = dsm_segment_handle(ring);
	return true;
}

/* True if all chunks have been laid out. */
static inline bool
all_laid_out(WriteShared *shared)
{
	return pg_atomic_read_u32(&shared->turn) == shared->nchunks;
}

static inline bool
is_abandoned(WriteShared *shared)
{
	return pg_atomic_read_u32(&shared->abandoned) != 0;
}

static inline LeafSlot *
slot_of(const WriteMember *member, uint32 page)
{
	return &member->slots[page % member->shared->nslots];
}

static inline Page
page_of(const WriteMember *member, uint32 page)
{
	return member->pages + (Size) (page % member->shared->nslots) * BLCKSZ;
}

/* The states of a page's slot. */
static inline uint32
state_free(const WriteMember *member, uint32 page)
{
	return 2 * (page / member->shared->nslots);
}

static inline uint32
state_full(const WriteMember *member, uint32 page)
{
	return state_free(member, page) + 1;
}

static inline bool
has_state(const WriteMember *member, uint32 page, uint32 state)
{
	return pg_atomic_read_u32(&slot_of(member, page)->state) == state;
}

/* Wakes the leader, in a worker. */
static void
wake_leader(WriteMember *member)
{
	if (member->writer == NULL)
		ConditionVariableSignal(&member->shared->for_leader);
}

/*
 * For the leader: adds the next page to the tree, which completes the page
 * before it; false if it is not full yet, or may not be added now.
 */
static bool
add_page(WriteMember *leader)
{
	WriteShared *shared = leader->shared;
	uint32		page = leader->nadded;
	BlockNumber block;

	if (!has_state(leader, page, state_full(leader, page)))
		return false;
	pg_read_barrier();
	if (unlikely(tree_writer_may_begin_file(leader->writer)) &&
		pg_atomic_read_u32(&shared->nwritten) != pg_atomic_read_u32(&shared->ncomplete))
		return false;
	block = tree_writer_add_leaf(leader->writer, page_of(leader, page));
	leader->nrows_added += slot_of(leader, page)->nrows;
	leader->nadded++;
	if (page > 0)
	{
		slot_of(leader, page - 1)->block = block;
		pg_write_barrier();
		pg_atomic_write_u32(&shared->ncomplete, page);
	}
	return true;
}

/* For the leader: adds the pages that are full; false if there is none. */
static bool
add_pages(WriteMember *leader)
{
	uint32		before = leader->nadded;

	while (add_page(leader))
	{
		if (leader->nadded % PAGES_AT_ONCE == 0)
		{
			CHECK_FOR_INTERRUPTS();
			ConditionVariableBroadcast(&leader->shared->ring_changed);
			pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE,
										 leader->nrows_added);
			sort_progress_emitted(leader->progress, leader->nrows_added);
		}
	}
	if (leader->nadded == before)
		return false;
	ConditionVariableBroadcast(&leader->shared->ring_changed);
	return true;
}

/*
 * Takes complete pages, from *first on, at least this number; returns how many,
 * or 0.
 */
static uint32
take_complete(WriteShared *shared, uint32 least, uint32 *first)
{
	uint32		npages;

	*first = pg_atomic_read_u32(&shared->ntaken);
	do
	{
		npages = Min(pg_atomic_read_u32(&shared->ncomplete) - *first, PAGE_BATCH);
		if (npages < least)
			return 0;
	} while (!pg_atomic_compare_exchange_u32(&shared->ntaken, first,
											 *first + npages));
	return npages;
}

/* Writes complete pages, at least this number; false if there are fewer. */
static bool
write_pages(WriteMember *member, uint32 least)
{
	WriteShared *shared = member->shared;
	uint32		first;
	uint32		npages = take_complete(shared, least, &first);
	BlockNumber blocks[PAGE_BATCH];
	Page		pages[PAGE_BATCH];

	if (npages == 0)
		return false;
	CHECK_FOR_INTERRUPTS();
	for (uint32 i = 0; i < npages; i++)
	{
		blocks[i] = slot_of(member, first + i)->block;
		pages[i] = page_of(member, first + i);
	}
	page_writer_write(member->index, blocks, pages, npages);
	pg_memory_barrier();
	for (uint32 i = 0; i < npages; i++)
		pg_atomic_write_u32(&slot_of(member, first + i)->state,
							state_full(member, first + i) + 1);
	pg_atomic_fetch_add_u32(&shared->nwritten, npages);
	ConditionVariableBroadcast(&shared->ring_changed);
	wake_leader(member);
	return true;
}

/* Makes all members end, since rows are out of order. */
static void
abandon(WriteShared *shared)
{
	pg_atomic_write_u32(&shared->abandoned, 1);
	pg_memory_barrier();
	ConditionVariableBroadcast(&shared->turn_passed);
	ConditionVariableBroadcast(&shared->ring_changed);
	ConditionVariableBroadcast(&shared->for_leader);
}

/*
 * A condition for which a member waits; the number is of a chunk or a
 * page.
 */
typedef bool (*WriteCondition) (WriteMember *member, uint32 number);

static bool
has_turn(WriteMember *member, uint32 chunk)
{
	return pg_atomic_read_u32(&member->shared->turn) == chunk;
}

static bool
has_slot(WriteMember *member, uint32 page)
{
	return has_state(member, page, state_free(member, page));
}

/*
 * A WriteCondition: all pages have been written, but the last, which the leader
 * keeps.  Ignores the number.
 */
static bool
is_complete(WriteMember *member, uint32 number)
{
	WriteShared *shared = member->shared;

	return all_laid_out(shared) &&
		pg_atomic_read_u32(&shared->nwritten) == shared->npages - 1 &&
		(member->writer == NULL || member->nadded == shared->npages);
}

/*
 * Waits for the condition, which this variable signals, and writes complete
 * pages while it waits.  The leader waits on its own variable instead, and adds
 * pages to the tree, too.  Returns false if the write is abandoned.
 */
static bool
wait_for(WriteMember *member, WriteCondition condition, uint32 number,
		 ConditionVariable *variable)
{
	bool		leads = member->writer != NULL;

	if (condition(member, number))
		return true;
	/* the leader may not have been woken for all pages so far */
	wake_leader(member);
	while (!condition(member, number) && !is_abandoned(member->shared))
	{
		if ((leads && add_pages(member)) || write_pages(member, 1))
			continue;
		ConditionVariableSleep(leads ? &member->shared->for_leader :
							   variable,
							   WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
	}
	ConditionVariableCancelSleep();
	pg_read_barrier();
	return !is_abandoned(member->shared);
}

/* Lays out the chunk in its turn, from *first_page on; false as wait_for(). */
static bool
lay_out_chunk(WriteMember *member, uint32 chunk, uint32 *first_page,
			  uint32 *npages)
{
	WriteShared *shared = member->shared;

	if (!wait_for(member, has_turn, chunk, &shared->turn_passed))
		return false;
	*first_page = shared->npages;
	*npages = leaf_maker_lay_out(member->maker, &shared->pending);
	shared->npages += *npages;
	pg_memory_barrier();
	pg_atomic_write_u32(&shared->turn, chunk + 1);
	ConditionVariableBroadcast(&shared->turn_passed);
	wake_leader(member);
	return true;
}

/* Fills the pages of a chunk; false as wait_for(). */
static bool
fill_pages(WriteMember *member, uint32 first_page, uint32 npages)
{
	WriteShared *shared = member->shared;
	uint64		nrows = 0;

	for (uint32 i = 0; i < npages; i++)
	{
		uint32		page = first_page + i;
		LeafSlot   *slot = slot_of(member, page);

		if (!wait_for(member, has_slot, page, &shared->ring_changed))
			return false;
		slot->nrows = leaf_maker_fill(member->maker, i,
									  page_of(member, page));
		nrows += slot->nrows;
		pg_write_barrier();
		pg_atomic_write_u32(&slot->state, state_full(member, page));
		if (i % PAGES_AT_ONCE == PAGES_AT_ONCE - 1)
			wake_leader(member);
	}
	wake_leader(member);
	if (member->writer == NULL)
	{
		pg_atomic_fetch_add_u32(&shared->worker_pages, npages);
		member->nrows_made += nrows;
		sort_progress_emitted(member->progress, member->nrows_made);
	}
	return true;
}

/*
 * Takes a chunk and makes its pages; false if none is left, or the write is
 * abandoned.
 */
static bool
make_chunk(WriteMember *member)
{
	WriteShared *shared = member->shared;
	uint32		chunk = pg_atomic_fetch_add_u32(&shared->next_chunk, 1);
	uint64		position = (uint64) chunk * shared->chunk_rows;
	uint32		first_page;
	uint32		npages;

	if (chunk >= shared->nchunks)
		return false;
	if (!leaf_maker_take(member->maker, position,
						 Min(shared->chunk_rows,
							 member->nrows - position)))
	{
		abandon(shared);
		return false;
	}
	return lay_out_chunk(member, chunk, &first_page, &npages) &&
		fill_pages(member, first_page, npages);
}

/* Makes and writes pages until all are written; false as parallel_write_share(). */
static bool
take_part(WriteMember *member)
{
	bool		leads = member->writer != NULL;

	while ((leads && add_pages(member)) || write_pages(member, PAGE_BATCH) ||
		   make_chunk(member))
		;
	if (!wait_for(member, is_complete, 0, &member->shared->ring_changed))
		return false;
	if (leads)
		tree_writer_keep_leaf(member->writer);
	return true;
}

bool
parallel_write_share(WriteShared *shared, const LeafDefinition *definition,
					 const IndexRows *index_rows, const TupleSource *rows,
					 TreeWriter *writer, SortProgress *progress)
{
	dsm_segment *ring = writer != NULL ? dsm_find_mapping(shared->ring) :
		dsm_attach(shared->ring);
	WriteMember member = {
		.shared = shared,
		.index = definition->index,
		.maker = leaf_maker_begin(definition, index_rows, rows,
								  shared->chunk_rows),
		.nrows = rows->nrows,
		.writer = writer,
		.progress = progress
	};
	bool		in_order;

	if (ring == NULL)
		return true;
	member.pages = ring_pages(ring);
	member.slots = ring_slots(shared, ring);
	sort_progress_emitted(progress, 0);
	in_order = take_part(&member);
	dsm_detach(ring);
	return in_order;
}
