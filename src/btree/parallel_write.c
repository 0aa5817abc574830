/*-------------------------------------------------------------------------
 *
 * parallel_write.c
 *	  Making the leaf pages of an index with parallel workers.
 *
 * The rows in their order are divided into chunks.  Members take chunk
 * after chunk.  Each measures the rows of its chunk, lays out the chunk's
 * pages when the pages of the chunk before are laid out, and fills the pages
 * (leaf_maker.c).  Only laying out has to go in turn, and takes a small part
 * of the time of the other steps.
 *
 * Pages are filled in a ring in shared memory, where the number of a page
 * gives its slot.  The leader takes the pages from there in order, gives them
 * their places in the tree, logs and writes them, as in one process.  When
 * there is no page to write, the leader makes pages itself.  A member
 * whose page has no slot yet waits; the leader writes while it waits.  Nobody
 * waits for ever, since the next page to be written always has a slot, and a
 * member needs no slot to lay out its chunk.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/progress.h"
#include "miscadmin.h"
#include "utils/backend_progress.h"
#include "utils/wait_event.h"

#include "btree/parallel_write.h"
#include "port/shared_memory.h"

/* The ring, in pages: for two chunks of each member, within bounds. */
#define RING_MIN_PAGES		16
#define RING_MAX_PAGES		2048

/* After this many pages members that may wait for pages are woken. */
#define PAGES_AT_ONCE		16

typedef struct WriteMember
{
	WriteShared *shared;
	LeafMaker  *maker;
	uint64		nrows;
	char	   *pages;
	LeafSlot   *slots;
	TreeWriter *writer;			/* writer of the tree, in the leader */
	uint32		npages_written; /* by the leader, and the rows on them */
	uint64		nrows_written;
	uint64		nrows_made;		/* rows on the pages of a worker */
	SortProgress *progress;
} WriteMember;

void
parallel_write_init(WriteShared *shared)
{
	pg_atomic_init_u32(&shared->next_chunk, 0);
	pg_atomic_init_u32(&shared->turn, 0);
	pg_atomic_init_u32(&shared->nwritten, 0);
	pg_atomic_init_u32(&shared->worker_pages, 0);
	pg_atomic_init_u32(&shared->abandoned, 0);
	shared->pending.nrows = 0;
	shared->npages = 0;
	ConditionVariableInit(&shared->turn_passed);
	ConditionVariableInit(&shared->slots_freed);
	ConditionVariableInit(&shared->for_leader);
}

/* Bytes of the ring: its pages, and behind them their slots. */
static Size
ring_bytes(const WriteShared *shared)
{
	return shared->nslots * (BLCKSZ + sizeof(LeafSlot));
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

/* The slots, in the segment of the ring behind its pages. */
static LeafSlot *
ring_slots(const WriteShared *shared, dsm_segment *ring)
{
	return (LeafSlot *)
		((char *) dsm_segment_address(ring) + (Size) shared->nslots * BLCKSZ);
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

static inline char *
slot_page(const WriteMember *member, uint32 slot)
{
	return member->pages + (Size) slot * BLCKSZ;
}

/* For the leader: writes the next page; false if it is not there yet. */
static bool
write_page(WriteMember *leader)
{
	WriteShared *shared = leader->shared;
	uint32		number = leader->npages_written % shared->nslots;
	LeafSlot   *slot = &leader->slots[number];

	if (pg_atomic_read_u32(&slot->page) != leader->npages_written + 1)
		return false;
	pg_read_barrier();
	memcpy(tree_writer_next_leaf(leader->writer), slot_page(leader, number),
		   BLCKSZ);
	leader->nrows_written += slot->nrows;
	leader->npages_written++;
	pg_memory_barrier();
	pg_atomic_write_u32(&shared->nwritten, leader->npages_written);
	return true;
}

/*
 * For the leader: writes the next pages that are there; false if there is
 * none.
 */
static bool
write_pages(WriteMember *leader)
{
	uint32		before = leader->npages_written;

	while (write_page(leader))
	{
		if (leader->npages_written % PAGES_AT_ONCE == 0)
		{
			CHECK_FOR_INTERRUPTS();
			ConditionVariableBroadcast(&leader->shared->slots_freed);
			pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE,
										 leader->nrows_written);
			sort_progress_emitted(leader->progress, leader->nrows_written);
		}
	}
	if (leader->npages_written == before)
		return false;
	ConditionVariableBroadcast(&leader->shared->slots_freed);
	return true;
}

/* Makes all members end, since rows are out of order. */
static void
abandon(WriteShared *shared)
{
	pg_atomic_write_u32(&shared->abandoned, 1);
	pg_memory_barrier();
	ConditionVariableBroadcast(&shared->turn_passed);
	ConditionVariableBroadcast(&shared->slots_freed);
	ConditionVariableBroadcast(&shared->for_leader);
}

static void
wake_leader(WriteMember *member)
{
	if (member->writer == NULL)
		ConditionVariableSignal(&member->shared->for_leader);
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
	WriteShared *shared = member->shared;

	return page - pg_atomic_read_u32(&shared->nwritten) < shared->nslots;
}

/* A WriteCondition: all pages have been written.  Ignores the number. */
static bool
is_complete(WriteMember *leader, uint32 number)
{
	return all_laid_out(leader->shared) &&
		leader->npages_written == leader->shared->npages;
}

/*
 * Waits for the condition, which this variable signals.  The leader waits on
 * its own variable instead, and writes pages while it waits.  Returns false if
 * the write is abandoned.
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
		if (leads && write_pages(member))
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
		uint32		number = page % shared->nslots;
		LeafSlot   *slot = &member->slots[number];

		if (!wait_for(member, has_slot, page, &shared->slots_freed))
			return false;
		slot->nrows = leaf_maker_fill(member->maker, i,
									  slot_page(member, number));
		nrows += slot->nrows;
		pg_write_barrier();
		pg_atomic_write_u32(&slot->page, page + 1);
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

/* Makes pages, in a worker, or makes and writes all; false as parallel_write_share(). */
static bool
take_part(WriteMember *member)
{
	if (member->writer == NULL)
	{
		while (make_chunk(member))
			;
		return !is_abandoned(member->shared);
	}
	while (write_pages(member) || make_chunk(member))
		;
	return wait_for(member, is_complete, 0, NULL);
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
		.maker = leaf_maker_begin(definition, index_rows, rows,
								  shared->chunk_rows),
		.nrows = rows->nrows,
		.writer = writer,
		.progress = progress
	};
	bool		in_order;

	if (ring == NULL)
		return true;
	member.pages = dsm_segment_address(ring);
	member.slots = ring_slots(shared, ring);
	sort_progress_emitted(progress, 0);
	in_order = take_part(&member);
	dsm_detach(ring);
	return in_order;
}
