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
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "index/term_block.h"
#include "index/tid_list.h"
#include "settings.h"

/* A term of the dictionary. */
typedef struct BlockTerm
{
	Term		term;
	uint32		count;			/* rows that have it */
	union
	{
		struct
		{
			uint32		hash;
			uint32		last_row;	/* number of the last row that has it */
		};
		uint64		place;		/* while rows are sorted: where the next TID
								 * goes, and behind the last one in the end */
	};
} BlockTerm;

/* A place in the hash table. */
typedef struct Slot
{
	uint32		hash;
	uint32		number;			/* number of the term, from 1; 0: free */
} Slot;

/* A term in the order of terms. */
typedef struct SortedTerm
{
	uint64		word;
	uint32		number;
} SortedTerm;

/*
 * A row consists of numbers of 32 bits: two for its TID, and one for each
 * term.  This bit marks the last term.
 */
#define LAST_TERM			((uint32) 1 << 31)
#define MOST_TERMS			(LAST_TERM - 1)

/* Memory for a part of all rows, or of all values of terms. */
typedef struct Piece
{
	struct Piece *next;
	char		bytes[FLEXIBLE_ARRAY_MEMBER];
} Piece;

/* Memory that grows piece by piece. */
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

/* Terms that a new dictionary has room for. */
#define FIRST_TERMS			128

struct TermBlock
{
	Terms	   *terms;
	Size		limit;
	Size		piece_bytes;
	MemoryContext context;		/* owns everything but this struct */

	BlockTerm  *dictionary;		/* number 0 is free */
	uint32		nterms;
	uint32		max_terms;
	Slot	   *slots;			/* NULL while rows are sorted */
	uint32		nslots;			/* a power of two */
	Pieces		values;			/* of terms that are passed by reference */
	Pieces		rows;
	uint32		nrows;
	uint64		npairs;
	uint32	   *last_number;	/* the last number of the present row */

	/* the order */
	SortedTerm *sorted;
	uint32		next;			/* next term in the order */
	ItemPointerData *tids;
};

/* Returns room for these bytes, one behind the other within a piece. */
static inline void *
pieces_reserve(TermBlock *block, Pieces *pieces, Size bytes)
{
	void	   *room;

	if (unlikely(pieces->end - pieces->next < bytes))
	{
		Size		piece_bytes = Max(block->piece_bytes, bytes);
		Piece	   *piece = MemoryContextAllocHuge(block->context,
												   offsetof(Piece, bytes) + piece_bytes);

		piece->next = NULL;
		if (pieces->last != NULL)
			pieces->last->next = piece;
		else
			pieces->first = piece;
		pieces->last = piece;
		pieces->bytes += piece_bytes;
		pieces->next = piece->bytes;
		pieces->end = piece->bytes + piece_bytes;
	}
	room = pieces->next;
	pieces->next += bytes;
	return room;
}

/* Makes an empty hash table. */
static void
make_slots(TermBlock *block, uint32 nslots)
{
	block->nslots = nslots;
	block->slots = MemoryContextAllocExtended(block->context,
											  sizeof(Slot) * (Size) nslots,
											  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

/* Makes an empty dictionary, and begins without rows. */
static void
begin_dictionary(TermBlock *block)
{
	block->nterms = 0;
	block->max_terms = FIRST_TERMS;
	block->dictionary = MemoryContextAlloc(block->context,
										   sizeof(BlockTerm) * (block->max_terms + 1));
	make_slots(block, FIRST_TERMS * 2);
	memset(&block->values, 0, sizeof(Pieces));
	memset(&block->rows, 0, sizeof(Pieces));
	block->nrows = 0;
	block->npairs = 0;
	block->sorted = NULL;
	block->next = 0;
	block->tids = NULL;
}

TermBlock *
term_block_begin(Terms *terms, Size limit)
{
	TermBlock  *block = palloc0(sizeof(TermBlock));

	block->terms = terms;
	block->limit = limit;
	/* numbers and values fill a piece without a rest */
	block->piece_bytes = MAXALIGN(Min(Max(limit / PIECES_OF_LIMIT,
										  LEAST_PIECE_BYTES),
									  MOST_PIECE_BYTES));
	block->context = AllocSetContextCreate(CurrentMemoryContext,
										   "gpusort block of terms",
										   ALLOCSET_DEFAULT_SIZES);
	begin_dictionary(block);
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

/* Doubles the room for terms. */
static void
grow_dictionary(TermBlock *block)
{
	if (block->max_terms > MOST_TERMS / 2)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("gpusort: a row has too many different terms for an index")));
	block->max_terms *= 2;
	block->dictionary = repalloc_huge(block->dictionary,
									  sizeof(BlockTerm) * (block->max_terms + 1));
	pfree(block->slots);
	make_slots(block, block->max_terms * 2);
	for (uint32 number = 1; number <= block->nterms; number++)
	{
		uint32		hash = block->dictionary[number].hash;
		uint32		slot = first_slot(block, hash);

		while (block->slots[slot].number != 0)
			slot = next_slot(block, slot);
		block->slots[slot] = (Slot)
		{
			hash, number
		};
	}
}

/* Hashes the bytes of a term. */
static inline uint32
hash_term(const Term *term, Size bytes)
{
	uint32		seed = (uint32) term->column << 8 | (uint8) term->category;

	if (bytes == 0)
		return murmurhash32(murmurhash32((uint32) term->value ^ seed) ^
							(uint32) ((uint64) term->value >> 32));
	return hash_bytes((const unsigned char *) DatumGetPointer(term->value),
					  bytes) ^ murmurhash32(seed);
}

/* Has a term of the dictionary the same bytes as this one? */
static inline bool
is_same(const TermBlock *block, const Term *known, const Term *term, Size bytes)
{
	if (known->column != term->column || known->category != term->category)
		return false;
	if (bytes == 0)
		return known->value == term->value;
	return terms_bytes(block->terms, known) == bytes &&
		memcmp(DatumGetPointer(known->value), DatumGetPointer(term->value),
			   bytes) == 0;
}

/* Puts a term into the dictionary, and returns its number. */
static uint32
put_term(TermBlock *block, const Term *term, Size bytes, uint32 hash,
		 uint32 slot)
{
	uint32		number = ++block->nterms;
	BlockTerm  *added = &block->dictionary[number];

	added->term = *term;
	if (bytes > 0)
	{
		void	   *copy = pieces_reserve(block, &block->values,
										  MAXALIGN(bytes));

		memcpy(copy, DatumGetPointer(term->value), bytes);
		added->term.value = PointerGetDatum(copy);
	}
	added->count = 0;
	added->hash = hash;
	added->last_row = 0;
	block->slots[slot] = (Slot)
	{
		hash, number
	};
	if (unlikely(block->nterms == block->max_terms))
		grow_dictionary(block);
	return number;
}

/* Returns the number of a term, which may be a new one. */
static inline uint32
find_term(TermBlock *block, const Term *term)
{
	Size		bytes = terms_bytes(block->terms, term);
	uint32		hash = hash_term(term, bytes);
	uint32		slot = first_slot(block, hash);

	for (; block->slots[slot].number != 0; slot = next_slot(block, slot))
	{
		uint32		number = block->slots[slot].number;

		if (block->slots[slot].hash == hash &&
			is_same(block, &block->dictionary[number].term, term, bytes))
			return number;
	}
	return put_term(block, term, bytes, hash, slot);
}

static inline void
put_number(TermBlock *block, uint32 number)
{
	block->last_number = pieces_reserve(block, &block->rows, sizeof(uint32));
	*block->last_number = number;
}

void
term_block_begin_row(TermBlock *block, const ItemPointerData *tid)
{
	block->nrows++;
	put_number(block, GinItemPointerGetBlockNumber(tid));
	put_number(block, GinItemPointerGetOffsetNumber(tid));
}

void
term_block_add(TermBlock *block, const Term *term)
{
	uint32		number = find_term(block, term);
	BlockTerm  *found = &block->dictionary[number];

	if (found->last_row == block->nrows)
		return;
	found->last_row = block->nrows;
	found->count++;
	block->npairs++;
	put_number(block, number);
}

void
term_block_end_row(TermBlock *block)
{
	*block->last_number |= LAST_TERM;
}

uint32
term_block_rows(const TermBlock *block)
{
	return block->nrows;
}

/* Returns the bytes that the block takes while it is sorted, if that is more. */
Size
term_block_bytes(const TermBlock *block)
{
	Size		slots = block->nslots * sizeof(Slot);
	Size		order = block->nterms * sizeof(SortedTerm) +
		block->npairs * sizeof(ItemPointerData);

	return block->values.bytes + block->rows.bytes +
		block->max_terms * sizeof(BlockTerm) + Max(slots, order);
}

bool
term_block_is_full(const TermBlock *block)
{
	Size		bytes = term_block_bytes(block);

	/* the dictionary doubles when it is full */
	if (block->nterms > block->max_terms / 8 * 7)
		bytes += block->max_terms * (sizeof(BlockTerm) + 2 * sizeof(Slot));
	return bytes > block->limit || block->nrows == PG_UINT32_MAX ||
		block->nterms > MOST_TERMS / 4;
}

/*
 * Compares two terms by their order, and terms that are equal by their
 * numbers: the term that came first is the one that the index gets.
 */
static inline int
compare_sorted(const SortedTerm *a, const SortedTerm *b,
			   const TermBlock *block)
{
	int			result;

	if (a->word != b->word)
		return a->word < b->word ? -1 : 1;
	result = terms_compare_rest(block->terms,
								&block->dictionary[a->number].term,
								&block->dictionary[b->number].term);
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
	pfree(block->slots);
	block->slots = NULL;
	block->sorted = MemoryContextAllocHuge(block->context,
										   sizeof(SortedTerm) * ((Size) block->nterms + 1));
	for (uint32 i = 0; i < block->nterms; i++)
	{
		block->sorted[i].number = i + 1;
		block->sorted[i].word = terms_word(block->terms,
										   &block->dictionary[i + 1].term);
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
		BlockTerm  *term = &block->dictionary[block->sorted[i].number];

		term->place = place;
		place += term->count;
	}
}

/* Puts the TIDs of all rows in their places, and frees the rows. */
static void
place_rows(TermBlock *block)
{
	BlockTerm  *dictionary = block->dictionary;
	ItemPointerData *tids = MemoryContextAllocHuge(block->context,
												   sizeof(ItemPointerData) * (block->npairs + 1));
	ItemPointerData tid = {0};
	int			position = 0;	/* of a number in its row: 0 and 1 are the TID */

	block->tids = tids;
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
				tids[dictionary[*number & ~LAST_TERM].place++] = tid;
			position = position >= 2 && (*number & LAST_TERM) != 0 ? 0 :
				Min(position + 1, 2);
		}
		pfree(piece);
		piece = next;
	}
	memset(&block->rows, 0, sizeof(Pieces));
}

void
term_block_sort(TermBlock *block)
{
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
	const Term *previous_term = &block->dictionary[previous->number].term;
	const Term *term = &block->dictionary[sorted->number].term;
	bool		is_equal = previous->word == sorted->word &&
		terms_compare_rest(block->terms, previous_term, term) == 0;

	if (unlikely(gpusort_verify))
		terms_verify(block->terms, previous_term, term, is_equal);
	return is_equal;
}

bool
term_block_next(TermBlock *block, TermRows *rows)
{
	const BlockTerm *first;
	uint64		begin;
	uint64		end;

	if (block->next == block->nterms)
		return false;
	first = &block->dictionary[block->sorted[block->next].number];
	begin = first->place - first->count;
	do
	{
		end = block->dictionary[block->sorted[block->next].number].place;
		block->next++;
	} while (block->next < block->nterms &&
			 equals_previous(block, block->next));
	rows->term = first->term;
	rows->tids = block->tids + begin;
	rows->count = tid_list_sort(rows->tids, end - begin);
	return true;
}

void
term_block_empty(TermBlock *block)
{
	MemoryContextReset(block->context);
	begin_dictionary(block);
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
