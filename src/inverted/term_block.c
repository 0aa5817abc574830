/*-------------------------------------------------------------------------
 *
 * term_block.c
 *	  A block of pairs (term, row), which is sorted in memory.
 *
 * This is the sort of a block in the paper's pipelined indexing.  The order of
 * terms is expensive, as the operator class compares terms, and rows have the
 * same terms again and again.  So a dictionary gives each different term a
 * number: it is a hash table over the bytes of terms, and compares none by its
 * order.
 * A row is noted as its TID and the numbers of its terms.
 *
 * Only the terms of the dictionary are sorted by comparisons.  Then the rank
 * of each term is known, and the number of its rows, so all rows of a term
 * have their place in one array of TIDs.  As rows come in the order of their
 * TIDs, or almost so, one pass over the rows puts each TID in its place.  That
 * is a counting sort (Knuth, The Art of Computer Programming, volume 3,
 * algorithm 5.2D).
 *
 * Terms may be equal without equal bytes, under some collations, or with
 * trailing zeros.  These are neighbours in the order, so their rows lie one
 * behind the other, and are joined to one list.
 *
 * A large dictionary does not fit the caches of a processor, and neither does
 * the array of TIDs.  So terms are searched, and TIDs are placed, in groups:
 * the memory that a group will need is prefetched step by step, and the
 * processor waits for all of it at once (group prefetching, Chen, Ailamaki,
 * Gibbons and Mowry 2004).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "inverted/term_block.h"
#include "inverted/tid_list.h"
#include "port/huge_pages.h"
#include "settings.h"

/* A term of the dictionary. */
typedef struct BlockTerm
{
	union
	{
		struct
		{
			uint32		count;	/* rows that have it */
			uint32		last_row;	/* number of the last row that has it */
		};
		uint64		place;		/* while rows are sorted: where the next TID
								 * goes, and behind the last one in the end */
	};
	uint16		column;
	GinNullCategory category;
	char		value[FLEXIBLE_ARRAY_MEMBER];	/* a Datum, or bytes; see
												 * value_offset() */
} BlockTerm;

/*
 * Terms lie one behind the other.  The number of a term is its offset, in units
 * of these bytes.
 */
#define NUMBER_BYTES		MAXIMUM_ALIGNOF

/* A place in the hash table. */
typedef struct Slot
{
	uint32		hash;
	uint32		number;			/* number of the term; 0: free */
} Slot;

/* A term in the order of terms. */
typedef struct SortedTerm
{
	uint64		word;
	uint32		number;
} SortedTerm;

/* Terms, or TIDs, whose memory is prefetched together. */
#define GROUP		32

/* A term of the present row, which has not been searched yet. */
typedef struct NewTerm
{
	Term		term;
	Size		bytes;			/* see terms_bytes() */
	uint32		hash;
} NewTerm;

/* A TID, and the number of the term to which it belongs. */
typedef struct NumberedTid
{
	ItemPointerData tid;
	uint32		number;
} NumberedTid;

/*
 * A row consists of numbers of 32 bits: two for its TID, and one for each
 * term.  This bit marks the last term.
 */
#define LAST_TERM			((uint32) 1 << 31)
#define MOST_DICTIONARY_BYTES	((Size) LAST_TERM * NUMBER_BYTES)

/* Memory for a part of all rows. */
typedef struct Piece
{
	struct Piece *next;
	char		bytes[FLEXIBLE_ARRAY_MEMBER];
} Piece;

/* Memory for rows, which grows piece by piece. */
typedef struct Pieces
{
	Piece	   *first;
	Piece	   *last;
	Size		bytes;			/* of all pieces */
	char	   *next;			/* free bytes of the last piece */
	char	   *end;
} Pieces;

/*
 * A piece takes one part in this many of the memory, and at least and at most
 * these bytes.
 */
#define PIECES_OF_LIMIT		64
#define LEAST_PIECE_BYTES	((Size) 1024)
#define MOST_PIECE_BYTES	((Size) 256 * 1024)

/* Bytes of a new dictionary, and places of its hash table. */
#define FIRST_BYTES			((Size) 4096)
#define FIRST_SLOTS			256

struct TermBlock
{
	Terms	   *terms;
	Size		limit;
	Size		piece_bytes;
	MemoryContext context;		/* owns everything but this struct */

	char	   *dictionary;		/* all terms; number 0 is free; NULL: there
								 * are no rows */
	Size		used_bytes;
	Size		max_bytes;
	uint32		nterms;
	Slot	   *slots;			/* NULL while rows are sorted */
	uint32		nslots;			/* a power of two */
	uint32		expected_terms; /* terms of the rows before, and bytes of
								 * these terms */
	Size		expected_bytes;
	Pieces		rows;
	uint32		nrows;
	uint64		npairs;
	uint32	   *last_number;	/* the last number of the present row */
	ItemPointerData last_tid;	/* that row's TID */
	NewTerm		group[GROUP];	/* terms of the present row */
	int			ngroup;

	/* the order */
	SortedTerm *sorted;
	uint32		next;			/* next term in the order */
	uint64		next_tid;		/* its first TID */
	ItemPointerData *tids;
};

/* Returns room for a number of a row. */
static inline uint32 *
reserve_number(TermBlock *block)
{
	Pieces	   *rows = &block->rows;
	uint32	   *room;

	if (unlikely(rows->next == rows->end))
	{
		Piece	   *piece = MemoryContextAlloc(block->context,
											   offsetof(Piece, bytes) +
											   block->piece_bytes);

		piece->next = NULL;
		if (rows->last != NULL)
			rows->last->next = piece;
		else
			rows->first = piece;
		rows->last = piece;
		rows->bytes += block->piece_bytes;
		rows->next = piece->bytes;
		rows->end = piece->bytes + block->piece_bytes;
	}
	room = (uint32 *) rows->next;
	rows->next += sizeof(uint32);
	return room;
}

/* Returns a term of the dictionary. */
static inline BlockTerm *
numbered_term(const TermBlock *block, uint32 number)
{
	return (BlockTerm *) (block->dictionary + (Size) number * NUMBER_BYTES);
}

/* Returns where the values of a column lie in a term of the dictionary. */
static inline Size
value_offset(const TermType *type)
{
	return type->by_value || type->int_aligned ?
		offsetof(BlockTerm, value) : MAXALIGN(offsetof(BlockTerm, value));
}

/* Returns a term of the dictionary as a Term, which may point there. */
static inline Term
term_of(const TermBlock *block, const BlockTerm *known)
{
	const TermType *type = &block->terms->types[known->column - 1];
	char	   *value = (char *) known + value_offset(type);
	Term		term = {.column = known->column,.category = known->category};

	if (known->category != GIN_CAT_NORM_KEY)
		return term;
	if (type->by_value)
		memcpy(&term.value, value, sizeof(Datum));
	else
		term.value = PointerGetDatum(value);
	return term;
}

/* Returns the bytes of a term in the dictionary, whose value has "bytes". */
static inline Size
known_bytes(const TermBlock *block, const Term *term, Size bytes)
{
	Size		value_bytes = term->category != GIN_CAT_NORM_KEY ? 0 :
		bytes > 0 ? bytes : sizeof(Datum);

	return MAXALIGN(value_offset(&block->terms->types[term->column - 1]) +
					value_bytes);
}

/* Makes an empty hash table. */
static void
make_slots(TermBlock *block, uint32 nslots)
{
	Size		bytes = sizeof(Slot) * (Size) nslots;

	block->nslots = nslots;
	block->slots = MemoryContextAllocHuge(block->context, bytes);
	(void) huge_pages_advise(block->slots, bytes);
	memset(block->slots, 0, bytes);
}

/* Makes an empty dictionary. */
static void
make_dictionary(TermBlock *block)
{
	block->max_bytes = Max(block->expected_bytes, FIRST_BYTES);
	block->used_bytes = NUMBER_BYTES;
	block->dictionary = MemoryContextAllocHuge(block->context,
											   block->max_bytes);
	(void) huge_pages_advise(block->dictionary, block->max_bytes);
	make_slots(block, pg_nextpower2_32(Max(block->expected_terms / 3 * 4,
										   FIRST_SLOTS)));
}

/* Begins without rows. */
static void
begin_rows(TermBlock *block)
{
	block->dictionary = NULL;
	block->used_bytes = 0;
	block->max_bytes = 0;
	block->nterms = 0;
	block->slots = NULL;
	block->nslots = 0;
	memset(&block->rows, 0, sizeof(Pieces));
	block->nrows = 0;
	block->npairs = 0;
	block->ngroup = 0;
	block->sorted = NULL;
	block->next = 0;
	block->next_tid = 0;
	block->tids = NULL;
}

TermBlock *
term_block_begin(Terms *terms, Size limit)
{
	TermBlock  *block = palloc0(sizeof(TermBlock));

	block->terms = terms;
	block->limit = limit;
	/* numbers fill a piece without a rest */
	block->piece_bytes = MAXALIGN(Min(Max(limit / PIECES_OF_LIMIT,
										  LEAST_PIECE_BYTES),
									  MOST_PIECE_BYTES));
	block->context = AllocSetContextCreate(CurrentMemoryContext,
										   "gpusort block of terms",
										   ALLOCSET_DEFAULT_SIZES);
	begin_rows(block);
	return block;
}

/* Returns the place of a hash value, or the one behind another place. */
static inline uint32
first_slot(const TermBlock *block, uint32 hash)
{
	return hash & (block->nslots - 1);
}

static inline uint32
next_slot(const TermBlock *block, uint32 slot)
{
	return (slot + 1) & (block->nslots - 1);
}

/* Returns the bytes of a dictionary that has grown. */
static inline Size
more_bytes(Size max_bytes)
{
	return max_bytes + max_bytes / 4;
}

/* Does a hash table with one more term need more places? */
static inline bool
slots_are_full(const TermBlock *block)
{
	return block->nterms >= block->nslots / 4 * 3;
}

/* Makes room in the dictionary for these bytes. */
static void
grow_dictionary(TermBlock *block, Size bytes)
{
	Size		old_bytes = block->max_bytes;

	block->max_bytes = Max(more_bytes(old_bytes), block->used_bytes + bytes);
	block->max_bytes = MAXALIGN(block->max_bytes);
	if (block->max_bytes > MOST_DICTIONARY_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("gpusort: a row has too many different terms for an index")));
	block->dictionary = repalloc_huge(block->dictionary, block->max_bytes);
	(void) huge_pages_advise(block->dictionary + old_bytes,
							 block->max_bytes - old_bytes);
}

/* Doubles the hash table. */
static void
grow_slots(TermBlock *block)
{
	Slot	   *old = block->slots;
	uint32		nold = block->nslots;

	make_slots(block, nold * 2);
	for (uint32 i = 0; i < nold; i++)
	{
		uint32		slot = first_slot(block, old[i].hash);

		if (old[i].number == 0)
			continue;
		while (block->slots[slot].number != 0)
			slot = next_slot(block, slot);
		block->slots[slot] = old[i];
	}
	pfree(old);
}

/* Is a term of the dictionary this one? */
static inline bool
is_same(const TermBlock *block, const BlockTerm *known, const NewTerm *new)
{
	Term		term = term_of(block, known);

	return terms_are_same(block->terms, &term, &new->term, new->bytes);
}

/* Puts a term into the dictionary, and returns its number. */
static uint32
put_term(TermBlock *block, const NewTerm *new, uint32 slot)
{
	const Term *term = &new->term;
	Size		bytes = known_bytes(block, term, new->bytes);
	uint32		number;
	BlockTerm  *added;
	char	   *value;

	if (unlikely(block->max_bytes - block->used_bytes < bytes))
		grow_dictionary(block, bytes);
	number = block->used_bytes / NUMBER_BYTES;
	block->used_bytes += bytes;
	block->nterms++;
	added = numbered_term(block, number);
	memset(added, 0, bytes);
	added->column = term->column;
	added->category = term->category;
	value = (char *) added +
		value_offset(&block->terms->types[term->column - 1]);
	if (new->bytes > 0)
		memcpy(value, DatumGetPointer(term->value), new->bytes);
	else if (term->category == GIN_CAT_NORM_KEY)
		memcpy(value, &term->value, sizeof(Datum));
	block->slots[slot] = (Slot)
	{
		new->hash, number
	};
	if (unlikely(slots_are_full(block)))
		grow_slots(block);
	return number;
}

/* Returns the number of a term, which may be a new one. */
static inline uint32
find_term(TermBlock *block, const NewTerm *new)
{
	uint32		slot = first_slot(block, new->hash);

	for (; block->slots[slot].number != 0; slot = next_slot(block, slot))
	{
		uint32		number = block->slots[slot].number;

		if (block->slots[slot].hash == new->hash &&
			is_same(block, numbered_term(block, number), new))
			return number;
	}
	return put_term(block, new, slot);
}

static inline void
put_number(TermBlock *block, uint32 number)
{
	block->last_number = reserve_number(block);
	*block->last_number = number;
}

/* Prefetches what a group needs of the dictionary. */
static inline void
prefetch_group(const TermBlock *block)
{
	for (int i = 0; i < block->ngroup; i++)
	{
		uint32		slot = first_slot(block, block->group[i].hash);

		__builtin_prefetch(numbered_term(block, block->slots[slot].number), 1);
	}
}

/* Notes a term of the present row, unless the row has it already. */
static inline void
put_new_term(TermBlock *block, const NewTerm *new)
{
	uint32		number = find_term(block, new);
	BlockTerm  *found = numbered_term(block, number);

	if (found->last_row == block->nrows)
		return;
	found->last_row = block->nrows;
	found->count++;
	block->npairs++;
	put_number(block, number);
}

/* Notes the terms of a group. */
static void
put_group(TermBlock *block)
{
	prefetch_group(block);
	for (int i = 0; i < block->ngroup; i++)
		put_new_term(block, &block->group[i]);
	block->ngroup = 0;
}

void
term_block_begin_row(TermBlock *block, const ItemPointerData *tid)
{
	if (block->nrows > 0 &&
		tid_number(tid) == tid_number(&block->last_tid))
	{
		*block->last_number &= ~LAST_TERM;
		return;
	}
	if (block->nrows == 0)
		make_dictionary(block);
	block->nrows++;
	block->last_tid = *tid;
	put_number(block, GinItemPointerGetBlockNumber(tid));
	put_number(block, GinItemPointerGetOffsetNumber(tid));
}

void
term_block_add(TermBlock *block, const Term *term)
{
	NewTerm    *new = &block->group[block->ngroup++];

	new->term = *term;
	new->bytes = terms_bytes(block->terms, term);
	new->hash = terms_hash(term, new->bytes);
	__builtin_prefetch(&block->slots[first_slot(block, new->hash)]);
	if (block->ngroup == GROUP)
		put_group(block);
}

void
term_block_end_row(TermBlock *block)
{
	put_group(block);
	*block->last_number |= LAST_TERM;
}

uint32
term_block_rows(const TermBlock *block)
{
	return block->nrows;
}

Size
term_block_limit(const TermBlock *block)
{
	return block->limit;
}

double
term_block_rows_of_term(const TermBlock *block)
{
	return (double) block->npairs / Max(block->nterms, 1);
}

/* Returns the bytes that the block takes while it is sorted, if that is more. */
Size
term_block_bytes(const TermBlock *block)
{
	Size		slots = block->nslots * sizeof(Slot);
	Size		order = block->nterms * sizeof(SortedTerm) +
		block->npairs * sizeof(ItemPointerData);

	return block->max_bytes + block->rows.bytes + Max(slots, order);
}

bool
term_block_is_full(const TermBlock *block)
{
	Size		bytes = term_block_bytes(block);

	/* both grow when full, the dictionary in place */
	if (block->used_bytes > block->max_bytes / 8 * 7)
		bytes += more_bytes(block->max_bytes) - block->max_bytes;
	if (block->nterms > block->nslots / 16 * 11)
		bytes += block->nslots * 2 * sizeof(Slot);
	return bytes > block->limit || block->nrows == PG_UINT32_MAX ||
		block->max_bytes > MOST_DICTIONARY_BYTES / 4;
}

/*
 * Compares two terms by their order, and terms that are equal by their
 * numbers: the term that came first is the one that the index gets.
 */
static inline int
compare_sorted(const SortedTerm *a, const SortedTerm *b,
			   const TermBlock *block)
{
	Term		term_a;
	Term		term_b;
	int			result;

	if (a->word != b->word)
		return a->word < b->word ? -1 : 1;
	term_a = term_of(block, numbered_term(block, a->number));
	term_b = term_of(block, numbered_term(block, b->number));
	result = terms_compare_rest(block->terms, &term_a, &term_b);
	if (result != 0)
		return result;
	return (a->number > b->number) - (a->number < b->number);
}

#define ST_SORT sort_terms
#define ST_ELEMENT_TYPE SortedTerm
#define ST_COMPARE(a, b, block) compare_sorted(a, b, block)
#define ST_COMPARE_ARG_TYPE const TermBlock
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Sorts the terms of the dictionary. */
static void
sort_dictionary(TermBlock *block)
{
	Size		offset = NUMBER_BYTES;

	pfree(block->slots);
	block->slots = NULL;
	block->sorted = MemoryContextAllocHuge(block->context,
										   sizeof(SortedTerm) * ((Size) block->nterms + 1));
	for (uint32 i = 0; i < block->nterms; i++)
	{
		SortedTerm *sorted = &block->sorted[i];
		Term		term;

		sorted->number = offset / NUMBER_BYTES;
		term = term_of(block, numbered_term(block, sorted->number));
		sorted->word = terms_word(block->terms, &term);
		offset += known_bytes(block, &term, terms_bytes(block->terms, &term));
	}
	sort_terms(block->sorted, block->nterms, block);
}

/* Gives each term its place in the array of TIDs. */
static void
make_places(TermBlock *block)
{
	uint64		place = 0;

	for (uint32 i = 0; i < block->nterms; i++)
	{
		BlockTerm  *term = numbered_term(block, block->sorted[i].number);
		uint32		count = term->count;

		term->place = place;
		place += count;
	}
}

/* Puts the TIDs of a group in their places. */
static void
place_group(TermBlock *block, const NumberedTid *group, int count)
{
	for (int i = 0; i < count; i++)
		__builtin_prefetch(numbered_term(block, group[i].number), 1);
	for (int i = 0; i < count; i++)
		__builtin_prefetch(&block->tids[numbered_term(block, group[i].number)->place], 1);
	for (int i = 0; i < count; i++)
		block->tids[numbered_term(block, group[i].number)->place++] = group[i].tid;
}

/* Puts the TIDs of all rows in their places, and frees the rows. */
static void
place_rows(TermBlock *block)
{
	Size		bytes = sizeof(ItemPointerData) * (block->npairs + 1);
	NumberedTid group[GROUP];
	int			ngroup = 0;
	ItemPointerData tid = {0};
	int			position = 0;	/* of a number in its row: 0 and 1 are the TID */

	block->tids = MemoryContextAllocHuge(block->context, bytes);
	(void) huge_pages_advise(block->tids, bytes);
	for (Piece *piece = block->rows.first; piece != NULL;)
	{
		Piece	   *next = piece->next;
		const uint32 *number = (const uint32 *) piece->bytes;
		const uint32 *end = (const uint32 *)
			(next != NULL ? piece->bytes + block->piece_bytes : block->rows.next);

		CHECK_FOR_INTERRUPTS();
		for (; number < end; number++)
		{
			if (position == 0)
				ItemPointerSetBlockNumber(&tid, *number);
			else if (position == 1)
				ItemPointerSetOffsetNumber(&tid, *number);
			else
				group[ngroup++] = (NumberedTid)
			{
				tid, *number & ~LAST_TERM
			};
			position = position >= 2 && (*number & LAST_TERM) != 0 ? 0 :
				Min(position + 1, 2);
			if (ngroup == GROUP)
			{
				place_group(block, group, ngroup);
				ngroup = 0;
			}
		}
		pfree(piece);
		piece = next;
	}
	place_group(block, group, ngroup);
	memset(&block->rows, 0, sizeof(Pieces));
}

void
term_block_sort(TermBlock *block)
{
	if (block->nrows == 0)
		return;
	sort_dictionary(block);
	make_places(block);
	place_rows(block);
}

/* Returns whether a term of the order is equal to the one before it. */
static bool
equals_previous(const TermBlock *block, uint32 position)
{
	const SortedTerm *previous = &block->sorted[position - 1];
	const SortedTerm *sorted = &block->sorted[position];
	Term		previous_term = term_of(block, numbered_term(block, previous->number));
	Term		term = term_of(block, numbered_term(block, sorted->number));
	bool		is_equal = previous->word == sorted->word &&
		terms_compare_rest(block->terms, &previous_term, &term) == 0;

	if (unlikely(gpusort_verify))
		terms_verify(block->terms, &previous_term, &term, is_equal);
	return is_equal;
}

bool
term_block_next(TermBlock *block, TermRows *rows)
{
	const BlockTerm *first;
	uint64		begin = block->next_tid;
	uint64		end;

	if (block->next == block->nterms)
		return false;
	first = numbered_term(block, block->sorted[block->next].number);
	do
	{
		end = numbered_term(block, block->sorted[block->next].number)->place;
		block->next++;
	} while (block->next < block->nterms &&
			 equals_previous(block, block->next));
	block->next_tid = end;
	rows->term = term_of(block, first);
	rows->tids = block->tids + begin;
	rows->count = tid_list_sort(rows->tids, end - begin);
	return true;
}

int
term_block_split(const TermBlock *block, int wanted, uint64 *words)
{
	int			nparts = 1;
	uint64		last_word = 0;
	uint64		begin = 0;

	for (uint32 i = 0; i < block->nterms && nparts < wanted; i++)
	{
		uint64		word = block->sorted[i].word;

		if (begin >= block->npairs / wanted * nparts && word != last_word)
			words[nparts++ - 1] = word;
		last_word = word;
		begin = numbered_term(block, block->sorted[i].number)->place;
	}
	return nparts;
}

void
term_block_empty(TermBlock *block)
{
	block->expected_terms = block->nterms;
	block->expected_bytes = block->used_bytes;
	MemoryContextReset(block->context);
	begin_rows(block);
}

MemoryContext
term_block_context(const TermBlock *block)
{
	return block->context;
}

void
term_block_end(TermBlock *block)
{
	MemoryContextDelete(block->context);
	pfree(block);
}
