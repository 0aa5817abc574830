/*-------------------------------------------------------------------------
 *
 * parallel_write.c
 *	  Making the leaf pages of an index with parallel workers.
 *
 * The rows in their order are divided into chunks.  Participants take chunk
 * after chunk.  Each measures the rows of its chunk, lays out the chunk's
 * pages when the pages of the chunk before are laid out, and fills the pages
 * (leaf_maker.c).  Only laying out has to go in turn, and takes a small part
 * of the time of the other steps.
 *
 * Pages are filled in a ring in shared memory, where the number of a page
 * gives its slot.  The leader takes the pages from there in order, gives them
 * their places in the tree, logs and writes them, as in one process.  When
 * there is no page to write, the leader makes pages itself.  A participant
 * whose page has no slot yet waits; the leader writes while it waits.  Nobody
 * waits for ever, since the next page to be written always has a slot, and a
 * participant needs no slot to lay out its chunk.
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

/* The ring, in pages: for two chunks of each participant, within bounds. */
#define RING_MIN_PAGES		16
#define RING_MAX_PAGES		2048

/* After this many pages participants that may wait for pages are woken. */
#define PAGES_AT_ONCE		16

typedef struct Participant
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
} Participant;

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
					int nparticipants)
{
	double		pages;

	shared->chunk_rows = leaf_maker_chunk_rows(nrows, nparticipants);
	shared->nchunks = (nrows + shared->chunk_rows - 1) / shared->chunk_rows;
	pages = (double) row_bytes / nrows * shared->chunk_rows / BLCKSZ;
	shared->nslots = Min(Max(2 * nparticipants * pages, RING_MIN_PAGES),
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
slot_page(const Participant *participant, uint32 slot)
{
	return participant->pages + (Size) slot * BLCKSZ;
}

/* For the leader: writes the next page; false if it is not there yet. */
static bool
write_page(Participant *leader)
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
write_pages(Participant *leader)
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

/* Makes all participants end, since rows are out of order. */
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
wake_leader(Participant *participant)
{
	if (participant->writer == NULL)
		ConditionVariableSignal(&participant->shared->for_leader);
}

/*
 * A condition for which a participant waits; the number is of a chunk or a
 * page.
 */
typedef bool (*WriteCondition) (Participant *participant, uint32 number);

static bool
has_turn(Participant *participant, uint32 chunk)
{
	return pg_atomic_read_u32(&participant->shared->turn) == chunk;
}

static bool
has_slot(Participant *participant, uint32 page)
{
	WriteShared *shared = participant->shared;

	return page - pg_atomic_read_u32(&shared->nwritten) < shared->nslots;
}

/* A WriteCondition: all pages have been written.  Ignores the number. */
static bool
is_complete(Participant *leader, uint32 number)
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
wait_for(Participant *participant, WriteCondition condition, uint32 number,
		 ConditionVariable *variable)
{
	bool		leads = participant->writer != NULL;

	if (condition(participant, number))
		return true;
	/* the leader may not have been woken for all pages so far */
	wake_leader(participant);
	while (!condition(participant, number) && !is_abandoned(participant->shared))
	{
		if (leads && write_pages(participant))
			continue;
		ConditionVariableSleep(leads ? &participant->shared->for_leader :
							   variable,
							   WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
	}
	ConditionVariableCancelSleep();
	pg_read_barrier();
	return !is_abandoned(participant->shared);
}

/* Lays out the chunk in its turn, from *first_page on; false as wait_for(). */
static bool
lay_out_chunk(Participant *participant, uint32 chunk, uint32 *first_page,
			  uint32 *npages)
{
	WriteShared *shared = participant->shared;

	if (!wait_for(participant, has_turn, chunk, &shared->turn_passed))
		return false;
	*first_page = shared->npages;
	*npages = leaf_maker_lay_out(participant->maker, &shared->pending);
	shared->npages += *npages;
	pg_memory_barrier();
	pg_atomic_write_u32(&shared->turn, chunk + 1);
	ConditionVariableBroadcast(&shared->turn_passed);
	wake_leader(participant);
	return true;
}

/* Fills the pages of a chunk; false as wait_for(). */
static bool
fill_pages(Participant *participant, uint32 first_page, uint32 npages)
{
	WriteShared *shared = participant->shared;
	uint64		nrows = 0;

	for (uint32 i = 0; i < npages; i++)
	{
		uint32		page = first_page + i;
		uint32		number = page % shared->nslots;
		LeafSlot   *slot = &participant->slots[number];

		if (!wait_for(participant, has_slot, page, &shared->slots_freed))
			return false;
		slot->nrows = leaf_maker_fill(participant->maker, i,
									  slot_page(participant, number));
		nrows += slot->nrows;
		pg_write_barrier();
		pg_atomic_write_u32(&slot->page, page + 1);
		if (i % PAGES_AT_ONCE == PAGES_AT_ONCE - 1)
			wake_leader(participant);
	}
	wake_leader(participant);
	if (participant->writer == NULL)
	{
		pg_atomic_fetch_add_u32(&shared->worker_pages, npages);
		participant->nrows_made += nrows;
		sort_progress_emitted(participant->progress, participant->nrows_made);
	}
	return true;
}

/*
 * Takes a chunk and makes its pages; false if none is left, or the write is
 * abandoned.
 */
static bool
make_chunk(Participant *participant)
{
	WriteShared *shared = participant->shared;
	uint32		chunk = pg_atomic_fetch_add_u32(&shared->next_chunk, 1);
	uint64		position = (uint64) chunk * shared->chunk_rows;
	uint32		first_page;
	uint32		npages;

	if (chunk >= shared->nchunks)
		return false;
	if (!leaf_maker_take(participant->maker, position,
						 Min(shared->chunk_rows,
							 participant->nrows - position)))
	{
		abandon(shared);
		return false;
	}
	return lay_out_chunk(participant, chunk, &first_page, &npages) &&
		fill_pages(participant, first_page, npages);
}

/* Makes pages, in a worker, or makes and writes all; false as parallel_write_share(). */
static bool
take_part(Participant *participant)
{
	if (participant->writer == NULL)
	{
		while (make_chunk(participant))
			;
		return !is_abandoned(participant->shared);
	}
	while (write_pages(participant) || make_chunk(participant))
		;
	return wait_for(participant, is_complete, 0, NULL);
}

bool
parallel_write_share(WriteShared *shared, const LeafDefinition *definition,
					 const IndexRows *index_rows, const TupleSource *rows,
					 TreeWriter *writer, SortProgress *progress)
{
	dsm_segment *ring = writer != NULL ? dsm_find_mapping(shared->ring) :
		dsm_attach(shared->ring);
	Participant participant = {
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
	participant.pages = dsm_segment_address(ring);
	participant.slots = ring_slots(shared, ring);
	sort_progress_emitted(progress, 0);
	in_order = take_part(&participant);
	dsm_detach(ring);
	return in_order;
}
