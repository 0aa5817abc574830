/*-------------------------------------------------------------------------
 *
 * host_sort.c
 *	  Sorting keys on the CPU: the host engine.
 *
 * Keys are not moved.  The sort moves entries of 16 bytes: a working word,
 * taken from the key, and the row number.  The working word holds the first 64
 * bits of the key that differ between rows.  One pass over the keys finds
 * these bits.  Bits that all keys have in common (the upper half of small
 * integers, a shared beginning of texts, the bytes between two columns) are
 * left out.  Rows whose working words are equal are sorted again by the next
 * 64 bits, and so on.  So a sort has levels, and almost always the first one
 * decides nearly everything.  If many rows tie, levels whose words are the
 * same in all of them are left out.
 *
 * A level is a radix sort from the most significant bits down, because that
 * needs no second buffer and works on ever smaller pieces, which soon fit the
 * caches.  Its first pass distributes the entries while they are made from
 * the keys.  Further passes permute the entries of a piece in place.  A piece
 * of at most LEAF_MAX entries is finished with the help of a small buffer.
 * One pass spreads it over about as many buckets as it has entries, which
 * mostly leaves next to nothing to do.  If the values are uneven and much is
 * left, a merge sort bounds the work.
 *
 * Input in order, or in reverse order, is detected by a comparison of
 * neighbours, which ends almost at once for other inputs.
 *
 * Every function here that works on more than a few thousand entries calls the
 * caller's poll function once in a while.  The poll function may leave by
 * longjmp(); nothing is allocated that would be lost.
 *
 *-------------------------------------------------------------------------
 */
#include "host_sort.h"

#include <string.h>

#define WORD_BITS		64

/* Entries handled between two calls of the poll function. */
#define POLL_ENTRIES	(1 << 15)

/* Bits by which the passes of the radix sort divide. */
#define FIRST_PASS_BITS	10
#define PASS_BITS		8

/* Largest pieces that are finished in the buffer, and by insertion sort. */
#define LEAF_MAX		8192
#define LEAF_MAX_BITS	13
#define INSERTION_MAX	12

/* Entries by which keys that lie scattered in memory are prefetched. */
#define FETCH_AHEAD		16

/* Words of a key in a line of the cache. */
#define LINE_WORDS		8

/* Keys in the sample that tells how many of their words are needed. */
#define SAMPLE_ROWS		1024

/*
 * Adjacent bits of one word of the keys, and their place in a working word:
 * A shift to the left by "left" makes them the highest bits; then "mask"
 * applies, and then a shift to the right by "right".
 */
typedef struct WordSlice
{
	uint64_t	mask;
	uint32_t	word;
	uint8_t		left;
	uint8_t		right;
} WordSlice;

/* The slices that make up the working word of one level. */
#define LEVEL_SLICES	8

typedef struct SortLevel
{
	int			nslices;
	int			nbits;			/* bits of all slices together */
	WordSlice	slices[LEVEL_SLICES];
} SortLevel;

/*
 * Bits that do not vary are left out where at least SLICE_GAP of them are
 * adjacent, so a word has at most eight slices.  A level ends when it has 64
 * bits, or when it has LEVEL_SLICES slices.  At most KEY_MAX_WORDS levels end
 * for the first reason.  Since a level that is full may split a slice, fewer
 * than twice KEY_MAX_WORDS levels end for the second.
 */
#define SLICE_GAP		8
#define MAX_LEVELS		(3 * KEY_MAX_WORDS)

typedef struct HostSort
{
	const HostKeys *keys;
	HostSortPoll poll;
	void	   *poll_argument;
	uint64_t	work;			/* entries handled since the last poll */

	int			nlevels;
	SortLevel	levels[MAX_LEVELS];

	/*
	 * Small pieces are finished in it; its contents never outlive one piece.
	 */
	HostSortEntry buffer[LEAF_MAX];
	uint16_t	buckets[1 << LEAF_MAX_BITS];
} HostSort;

/* Counts work done and calls the caller's poll function when it is time. */
static inline void
count_work(HostSort *sort, uint64_t entries)
{
	sort->work += entries;
	if (sort->work >= POLL_ENTRIES)
	{
		sort->work = 0;
		sort->poll(sort->poll_argument);
	}
}

static inline uint64_t
smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The lowest n bits, for n of 0 to 64. */
static inline uint64_t
low_bits(int n)
{
	return n == WORD_BITS ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1;
}

/* The number of bits from the highest bit that is set down. */
static inline int
width_of(uint64_t number)
{
	return number == 0 ? 0 : WORD_BITS - __builtin_clzll(number);
}


/*
 * Keys
 */

/* Like memcmp() on the keys of two rows, from the given word on. */
static inline int
compare_keys(const HostKeys *keys, uint64_t left_row, uint64_t right_row,
			 uint32_t word)
{
	uint64_t	left_words;
	uint64_t	right_words;
	const uint64_t *left = host_key(keys, left_row, &left_words);
	const uint64_t *right = host_key(keys, right_row, &right_words);

	for (uint64_t i = word; i < left_words && i < right_words; i++)
	{
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	}
	return 0;
}

/* The working word of a row at one level.  Words a key lacks count as zero. */
static inline uint64_t
load_word(const HostKeys *keys, const SortLevel *level, uint64_t row)
{
	uint64_t	nwords;
	const uint64_t *words = host_key(keys, row, &nwords);
	uint64_t	result = 0;

	for (int i = 0; i < level->nslices; i++)
	{
		const WordSlice *slice = &level->slices[i];
		uint64_t	word = slice->word < nwords ? words[slice->word] : 0;

		result |= ((word << slice->left) & slice->mask) >> slice->right;
	}
	return result;
}

/*
 * Does a key have words for this level?  If not, the keys that are equal to it
 * so far have none either, and all these keys are equal.
 */
static inline bool
key_reaches_level(const HostKeys *keys, const SortLevel *level, uint64_t row)
{
	uint64_t	nwords;

	(void) host_key(keys, row, &nwords);
	return level->slices[0].word < nwords;
}


/*
 * Input in order
 */

/*
 * If the keys are in ascending order, or descending order if "reversed", then
 * writes the order and returns true.
 */
static bool
take_existing_order(HostSort *sort, bool reversed, uint32_t *order)
{
	const HostKeys *keys = sort->keys;
	uint32_t	tie = keys->shape.mark_ties ? ORDER_TIE : 0;

	order[reversed ? keys->nrows - 1 : 0] = 0;
	for (uint64_t row = 1; row < keys->nrows; row++)
	{
		int			comparison = compare_keys(keys, row - 1, row, 0);

		if (reversed ? comparison < 0 : comparison > 0)
			return false;

		if (reversed)
		{
			/* The row before is the one that comes after an equal row. */
			if (comparison == 0)
				order[keys->nrows - row] |= tie;
			order[keys->nrows - 1 - row] = (uint32_t) row;
		}
		else
			order[row] = (uint32_t) row | (comparison == 0 ? tie : 0);

		count_work(sort, 1);
	}
	return true;
}


/*
 * Levels
 */

/* What a survey of keys has seen of each of their words. */
typedef struct WordSurvey
{
	uint64_t	any[KEY_MAX_WORDS]; /* bits that are set in some key */
	uint64_t	all[KEY_MAX_WORDS]; /* bits that are set in all keys */
} WordSurvey;

static void
survey_init(WordSurvey *survey)
{
	memset(survey->any, 0, sizeof(survey->any));
	memset(survey->all, 0xff, sizeof(survey->all));
}

/* Adds one word of the keys of rows first to end - 1 to a survey. */
static void
survey_rows(const HostKeys *keys, WordSurvey *survey, uint32_t word,
			uint64_t first, uint64_t end)
{
	uint64_t	any = 0;
	uint64_t	all = ~UINT64_C(0);

	for (uint64_t row = first; row < end; row++)
	{
		uint64_t	nwords;
		const uint64_t *words = host_key(keys, row, &nwords);
		uint64_t	value = word < nwords ? words[word] : 0;

		any |= value;
		all &= value;
	}
	survey->any[word] |= any;
	survey->all[word] &= all;
}

/*
 * Guesses from a sample how many words of the keys suffice for the working
 * word of the first level.  Only speed depends on the guess.
 */
static uint32_t
guess_first_words(const HostKeys *keys, uint32_t most)
{
	WordSurvey	survey;
	uint64_t	step = keys->nrows / SAMPLE_ROWS + 1;
	int			varying = 0;

	survey_init(&survey);
	for (uint32_t word = 0; word < most; word++)
	{
		for (uint64_t row = 0; row < keys->nrows; row += step)
			survey_rows(keys, &survey, word, row, row + 1);

		varying += __builtin_popcountll(survey.any[word] & ~survey.all[word]);
		/* keys that vary in length seem to end where there are only zeros */
		if (varying >= WORD_BITS || (keys->ends && survey.any[word] == 0))
			return word + 1;
	}
	return most;
}

/* The last level, if it has room for another slice, else a new one. */
static SortLevel *
level_with_room(HostSort *sort)
{
	SortLevel  *level = &sort->levels[sort->nlevels];

	if (sort->nlevels > 0 && level[-1].nbits < WORD_BITS &&
		level[-1].nslices < LEVEL_SLICES)
		return level - 1;

	sort->nlevels++;
	level->nslices = 0;
	level->nbits = 0;
	return level;
}

/* Adds the bits of a word from "high" down to "low" to the levels. */
static void
add_slice(HostSort *sort, uint32_t word, int high, int low)
{
	while (high >= low)
	{
		SortLevel  *level = level_with_room(sort);
		WordSlice  *slice = &level->slices[level->nslices++];
		int			room = WORD_BITS - level->nbits;
		int			width = high - low + 1 < room ? high - low + 1 : room;

		slice->word = word;
		slice->mask = ~low_bits(WORD_BITS - width);
		slice->left = (uint8_t) (WORD_BITS - 1 - high);
		slice->right = (uint8_t) level->nbits;
		level->nbits += width;
		high -= width;
	}
}

/* Adds the bits of a word that vary to the levels. */
static void
add_word(HostSort *sort, uint32_t word, uint64_t varying)
{
	while (varying != 0)
	{
		int			high = width_of(varying) - 1;
		int			low = high;

		for (;;)
		{
			varying &= low_bits(low);
			if (varying == 0 || low - width_of(varying) >= SLICE_GAP)
				break;
			low = width_of(varying) - 1;
		}

		add_slice(sort, word, high, low);
	}
}

/*
 * Plans the levels.  Surveys only the words that the first level is likely to
 * need; takes all bits of the others.
 */
static void
plan_levels(HostSort *sort)
{
	const HostKeys *keys = sort->keys;
	uint32_t	nwords = keys->ends ? KEY_MAX_WORDS : keys->shape.fixed_words;
	uint32_t	surveyed = guess_first_words(keys, nwords);
	WordSurvey	survey;
	uint64_t	end;

	survey_init(&survey);
	for (uint64_t first = 0; first < keys->nrows; first = end)
	{
		end = smaller(first + LEAF_MAX, keys->nrows);
		for (uint32_t word = 0; word < surveyed; word++)
			survey_rows(keys, &survey, word, first, end);
		count_work(sort, end - first);
	}

	sort->nlevels = 0;
	for (uint32_t word = 0; word < nwords; word++)
		add_word(sort, word, word < surveyed ?
				 survey.any[word] & ~survey.all[word] : ~UINT64_C(0));
}


/*
 * Small pieces
 */

/* Sorts a few entries. */
static void
insertion_sort(HostSortEntry *entries, uint64_t nentries)
{
	for (uint64_t i = 1; i < nentries; i++)
	{
		HostSortEntry entry = entries[i];
		uint64_t	place = i;

		while (place > 0 && entry.word < entries[place - 1].word)
		{
			entries[place] = entries[place - 1];
			place--;
		}
		entries[place] = entry;
	}
}

/* Like insertion_sort(), into other memory. */
static void
insertion_copy(const HostSortEntry *from, HostSortEntry *to, uint64_t nentries)
{
	for (uint64_t i = 0; i < nentries; i++)
	{
		HostSortEntry entry = from[i];
		uint64_t	place = i;

		while (place > 0 && entry.word < to[place - 1].word)
		{
			to[place] = to[place - 1];
			place--;
		}
		to[place] = entry;
	}
}

/* One of two entries, without a branch that would often be mispredicted. */
static inline const HostSortEntry *
choose(bool second, const HostSortEntry *a, const HostSortEntry *b)
{
	uintptr_t	select = -(uintptr_t) second;

	return (const HostSortEntry *)
		((uintptr_t) a ^ (((uintptr_t) a ^ (uintptr_t) b) & select));
}

/* Copies by members: a copy of the whole would wait until both are written. */
static inline void
copy_entry(HostSortEntry *to, const HostSortEntry *from)
{
	to->word = from->word;
	to->row = from->row;
}

/*
 * Merges two sorted runs, which lie one after the other and whose lengths
 * differ by at most one.  Half of the entries are taken from the front and
 * half from the back, so no end of a run can be passed, and the two halves
 * keep the processor busy at once.
 */
static inline void
merge_runs(const HostSortEntry *runs, uint64_t nleft, uint64_t nright,
		   HostSortEntry *merged)
{
	uint64_t	n = nleft + nright;
	const HostSortEntry *left = runs;
	const HostSortEntry *right = runs + nleft;
	const HostSortEntry *left_back = right - 1;
	const HostSortEntry *right_back = runs + n - 1;
	HostSortEntry *front = merged;
	HostSortEntry *back = merged + n - 1;

	for (uint64_t i = 0; i < n / 2; i++)
	{
		bool		second = right->word < left->word;

		copy_entry(front++, choose(second, left, right));
		right += second;
		left += !second;

		second = right_back->word < left_back->word;
		copy_entry(back--, choose(second, right_back, left_back));
		left_back -= second;
		right_back -= !second;
	}
	if (n % 2 != 0)
		copy_entry(front, left <= left_back ? left : right);
}

/*
 * Sorts a small piece, whatever its values.  The piece is divided into a power of
 * two of runs of two or three entries; adjacent ones are merged between the
 * piece and the buffer, from one into the other and back.
 */
static void
merge_sort(HostSort *sort, HostSortEntry *entries, uint64_t nentries)
{
	HostSortEntry *from = entries;
	HostSortEntry *to = sort->buffer;
	int			depth = width_of(nentries) - 2;

	/* Begin where the last merge will end in the piece. */
	if (depth % 2 != 0)
	{
		memcpy(sort->buffer, entries, nentries * sizeof(HostSortEntry));
		from = sort->buffer;
		to = entries;
	}

	for (uint64_t run = 0; run < UINT64_C(1) << depth; run++)
	{
		uint64_t	begin = (run * nentries) >> depth;
		uint64_t	end = ((run + 1) * nentries) >> depth;

		insertion_sort(from + begin, end - begin);
	}

	for (; depth > 0; depth--)
	{
		HostSortEntry *merged = to;

		for (uint64_t run = 0; run < UINT64_C(1) << depth; run += 2)
		{
			uint64_t	begin = (run * nentries) >> depth;
			uint64_t	middle = ((run + 1) * nentries) >> depth;
			uint64_t	end = ((run + 2) * nentries) >> depth;

			merge_runs(from + begin, middle - begin, end - middle,
					   to + begin);
		}
		to = from;
		from = merged;
	}
}

/* The bits in which the words of some entries differ. */
static uint64_t
differing_bits(HostSort *sort, const HostSortEntry *entries, uint64_t nentries)
{
	uint64_t	word = entries[0].word;
	uint64_t	differing = 0;
	uint64_t	end;

	for (uint64_t first = 0; first < nentries; first = end)
	{
		end = smaller(first + LEAF_MAX, nentries);
		for (uint64_t i = first; i < end; i++)
			differing |= entries[i].word ^ word;
		count_work(sort, end - first);
	}
	return differing;
}

/* Sorts a piece of INSERTION_MAX to LEAF_MAX entries. */
static void
sort_leaf(HostSort *sort, HostSortEntry *entries, uint64_t nentries)
{
	uint16_t   *buckets = sort->buckets;
	HostSortEntry *buffer = sort->buffer;
	uint64_t	differing = differing_bits(sort, entries, nentries);
	int			width = width_of(differing);
	int			bits = width_of(nentries - 1);
	int			shift = width > bits ? width - bits : 0;
	uint64_t	mask = low_bits(bits);
	uint64_t	nbuckets = mask + 1;
	uint32_t	begin = 0;
	uint32_t	largest = 0;

	if (differing == 0)
		return;

	/* Count, and let each bucket begin where the one before it ends. */
	memset(buckets, 0, nbuckets * sizeof(*buckets));
	for (uint64_t i = 0; i < nentries; i++)
		buckets[(entries[i].word >> shift) & mask]++;
	for (uint64_t i = 0; i < nbuckets; i++)
	{
		uint32_t	count = buckets[i];

		buckets[i] = (uint16_t) begin;
		begin += count;
		largest = count > largest ? count : largest;
	}

	for (uint64_t i = 0; i < nentries; i++)
	{
		uint64_t	bucket = (entries[i].word >> shift) & mask;

		buffer[buckets[bucket]++] = entries[i];
	}

	if (largest <= INSERTION_MAX)
	{
		insertion_copy(buffer, entries, nentries);
		return;
	}

	memcpy(entries, buffer, nentries * sizeof(HostSortEntry));
	if (shift == 0)
		return;
	begin = 0;
	for (uint64_t i = 0; i < nbuckets; i++)
	{
		uint32_t	count = buckets[i] - begin;

		if (count <= INSERTION_MAX)
			insertion_sort(entries + begin, count);
		else
			merge_sort(sort, entries + begin, count);
		begin = buckets[i];
	}
}


/*
 * Large pieces
 */

/*
 * Brings each entry into the bucket of its digit.  "next" holds where each
 * bucket begins, and "ends" where it ends.
 *
 * A round swaps every entry of an incomplete bucket into its own bucket.  The
 * entry that comes back may be wrong here, so a bucket may need another round.
 * But no swap has to wait for the one before, as it would if the entry that
 * comes back was moved on at once.
 */
static void
permute(HostSort *sort, HostSortEntry *entries, int shift, uint32_t *next,
		const uint32_t *ends)
{
	uint32_t	mask = (1 << PASS_BITS) - 1;
	bool		complete;

	do
	{
		complete = true;
		for (uint32_t bucket = 0; bucket <= mask; bucket++)
		{
			uint64_t	end;

			for (uint64_t first = next[bucket]; first < ends[bucket];
				 first = end)
			{
				end = smaller(first + LEAF_MAX, ends[bucket]);
				for (uint64_t i = first; i < end; i++)
				{
					HostSortEntry entry = entries[i];
					HostSortEntry *place =
						&entries[next[(entry.word >> shift) & mask]++];

					entries[i] = *place;
					*place = entry;
				}
				count_work(sort, end - first);
			}
			if (next[bucket] < ends[bucket])
				complete = false;
		}
	} while (!complete);
}

/* Counts the entries of each digit. */
static void
count_digits(HostSort *sort, const HostSortEntry *entries, uint64_t nentries,
			 int shift, uint32_t *counts)
{
	uint64_t	end;

	memset(counts, 0, sizeof(*counts) << PASS_BITS);
	for (uint64_t first = 0; first < nentries; first = end)
	{
		end = smaller(first + LEAF_MAX, nentries);
		for (uint64_t i = first; i < end; i++)
			counts[(entries[i].word >> shift) & ((1 << PASS_BITS) - 1)]++;
		count_work(sort, end - first);
	}
}

/*
 * Sorts a piece whose words agree in all but the lowest "width" bits.  Each
 * recursive call has at least PASS_BITS fewer bits, so there are at most eight
 * levels.
 */
static void
sort_piece(HostSort *sort, HostSortEntry *entries, uint64_t nentries,
		   int width)
{
	uint32_t	next[1 << PASS_BITS];
	uint32_t	ends[1 << PASS_BITS];
	uint32_t	begin = 0;
	int			shift = width > PASS_BITS ? width - PASS_BITS : 0;

	if (nentries <= INSERTION_MAX)
	{
		insertion_sort(entries, nentries);
		return;
	}
	if (nentries <= LEAF_MAX)
	{
		sort_leaf(sort, entries, nentries);
		return;
	}
	if (width == 0)
		return;

	count_digits(sort, entries, nentries, shift, next);
	if (next[(entries[0].word >> shift) & ((1 << PASS_BITS) - 1)] == nentries)
	{
		/* All in one bucket; go on with the highest bit that differs. */
		sort_piece(sort, entries, nentries,
				   width_of(differing_bits(sort, entries, nentries)));
		return;
	}

	for (int digit = 0; digit < 1 << PASS_BITS; digit++)
	{
		uint32_t	count = next[digit];

		next[digit] = begin;
		begin += count;
		ends[digit] = begin;
	}
	permute(sort, entries, shift, next, ends);

	begin = 0;
	for (int digit = 0; digit < 1 << PASS_BITS; digit++)
	{
		sort_piece(sort, entries + begin, ends[digit] - begin, shift);
		begin = ends[digit];
	}
}

/*
 * Makes the entries of all rows and sorts them by the first level.  The first
 * pass makes the entries: it writes each straight into its bucket.
 */
static void
sort_first_level(HostSort *sort, HostSortEntry *entries)
{
	const HostKeys *keys = sort->keys;
	const SortLevel *level = &sort->levels[0];
	int			shift = WORD_BITS - FIRST_PASS_BITS;
	uint32_t	buckets[1 << FIRST_PASS_BITS];
	uint32_t	begin = 0;
	uint64_t	end;

	memset(buckets, 0, sizeof(buckets));
	for (uint64_t first = 0; first < keys->nrows; first = end)
	{
		end = smaller(first + LEAF_MAX, keys->nrows);
		for (uint64_t row = first; row < end; row++)
			buckets[load_word(keys, level, row) >> shift]++;
		count_work(sort, end - first);
	}

	for (int bucket = 0; bucket < 1 << FIRST_PASS_BITS; bucket++)
	{
		uint32_t	count = buckets[bucket];

		buckets[bucket] = begin;
		begin += count;
	}

	for (uint64_t first = 0; first < keys->nrows; first = end)
	{
		end = smaller(first + LEAF_MAX, keys->nrows);
		for (uint64_t row = first; row < end; row++)
		{
			uint64_t	word = load_word(keys, level, row);
			HostSortEntry *entry = &entries[buckets[word >> shift]++];

			entry->word = word;
			entry->row = (uint32_t) row;
		}
		count_work(sort, end - first);
	}

	begin = 0;
	for (int bucket = 0; bucket < 1 << FIRST_PASS_BITS; bucket++)
	{
		sort_piece(sort, entries + begin, buckets[bucket] - begin, shift);
		begin = buckets[bucket];
	}
}


/*
 * Ties, and the order
 */

/*
 * Begins to fetch the end of a row's key, which tells where the key is.
 *
 * Functions that only prefetch have to be inlined early: later gcc takes them
 * for functions without effect, and drops the calls.
 */
static inline void
__attribute__((always_inline))
fetch_end(const HostKeys *keys, uint64_t row)
{
	if (keys->ends != NULL)
		__builtin_prefetch(&keys->ends[row]);
}

/* Begins to fetch the words of a row's key that a level takes. */
static inline void
__attribute__((always_inline))
fetch_key(const HostKeys *keys, const SortLevel *level, uint64_t row)
{
	uint64_t	nwords;
	const uint64_t *words = host_key(keys, row, &nwords);

	__builtin_prefetch(words + level->slices[0].word);
}

/* Like fetch_key(), and fetches the words up to "end", too. */
static inline void
__attribute__((always_inline))
fetch_words(const HostKeys *keys, const SortLevel *level, uint64_t end,
			uint64_t row)
{
	uint64_t	nwords;
	const uint64_t *words = host_key(keys, row, &nwords);

	for (uint64_t word = level->slices[0].word; word < end; word += LINE_WORDS)
		__builtin_prefetch(words + word);
}

/* Sorts entries that tie so far by the given level. */
static void
sort_ties(HostSort *sort, HostSortEntry *entries, uint64_t nentries,
		  const SortLevel *level)
{
	const HostKeys *keys = sort->keys;
	uint64_t	end;

	for (uint64_t first = 0; first < nentries; first = end)
	{
		end = smaller(first + LEAF_MAX, nentries);
		for (uint64_t i = first; i < end; i++)
		{
			if (i + 2 * FETCH_AHEAD < nentries)
				fetch_end(keys, entries[i + 2 * FETCH_AHEAD].row);
			if (i + FETCH_AHEAD < nentries)
				fetch_key(keys, level, entries[i + FETCH_AHEAD].row);
			entries[i].word = load_word(keys, level, entries[i].row);
		}
		count_work(sort, end - first);
	}
	sort_piece(sort, entries, nentries, WORD_BITS);
}

/*
 * Writes the order of a few entries that tie so far.  Compares their keys from
 * the given word on.  Returns where the order goes on.
 */
static uint32_t *
order_few_ties(const HostKeys *keys, const HostSortEntry *entries,
			   uint64_t nentries, uint32_t word, uint32_t *order)
{
	uint32_t	rows[INSERTION_MAX];
	uint32_t	tie = keys->shape.mark_ties ? ORDER_TIE : 0;

	rows[0] = entries[0].row;
	for (uint64_t i = 1; i < nentries; i++)
	{
		uint32_t	row = entries[i].row;
		uint64_t	place = i;

		while (place > 0 && compare_keys(keys, row, rows[place - 1], word) < 0)
		{
			rows[place] = rows[place - 1];
			place--;
		}
		rows[place] = row;
	}

	*order++ = rows[0];
	for (uint64_t i = 1; i < nentries; i++)
	{
		bool		equal = tie != 0 &&
			compare_keys(keys, rows[i - 1], rows[i], word) == 0;

		*order++ = rows[i] | (equal ? tie : 0);
	}
	return order;
}

/* Does a level take nothing but words ahead of the given one? */
static inline bool
ends_ahead_of(const SortLevel *level, uint64_t word)
{
	return level->slices[level->nslices - 1].word < word;
}

/*
 * The level that comes next for entries that tie so far: the given one, or the
 * first one that can tell them apart.  NULL if their keys are equal.
 *
 * Keys that tie often have many more words in common, as when a few values
 * have very many rows each, or a long value stands ahead of the one that
 * differs.  One pass finds that out, and not one for each word.  If there are
 * no levels to leave out, the first keys mostly show it.
 */
static const SortLevel *
find_next_level(HostSort *sort, const HostSortEntry *entries,
				uint64_t nentries, const SortLevel *level)
{
	const HostKeys *keys = sort->keys;
	uint64_t	nwords;
	const uint64_t *first = host_key(keys, entries[0].row, &nwords);
	uint64_t	common = nwords;

	for (uint64_t i = 1; i < nentries; i++)
	{
		uint64_t	row_words;
		const uint64_t *words = host_key(keys, entries[i].row, &row_words);
		uint64_t	word = level->slices[0].word;

		if (i + 2 * FETCH_AHEAD < nentries)
			fetch_end(keys, entries[i + 2 * FETCH_AHEAD].row);
		if (i + FETCH_AHEAD < nentries)
			fetch_words(keys, level, common, entries[i + FETCH_AHEAD].row);
		if (i % LEAF_MAX == 0)
			count_work(sort, LEAF_MAX);

		while (word < common && word < row_words && words[word] == first[word])
			word++;
		if (word < common)
		{
			common = word;
			if (!ends_ahead_of(level, common))
				return level;
		}
	}
	if (common == nwords)
		return NULL;
	while (ends_ahead_of(level, common))
		level++;
	return level;
}

/* Does an entry, which is not the first, have the same word as a neighbour? */
static inline bool
is_tied(const HostSortEntry *entries, uint64_t nentries, uint64_t i)
{
	return entries[i].word == entries[i - 1].word ||
		(i + 1 < nentries && entries[i].word == entries[i + 1].word);
}

/*
 * Begins to fetch the keys of entries some way behind entry i, if they tie.
 * Without this, many small ties would each wait for the memory.
 */
static inline void
__attribute__((always_inline))
fetch_ties(const HostKeys *keys, const HostSortEntry *entries,
		   uint64_t nentries, uint64_t i, const SortLevel *level)
{
	uint64_t	near = i + FETCH_AHEAD;
	uint64_t	far = i + 2 * FETCH_AHEAD;

	if (keys->ends != NULL && far < nentries && is_tied(entries, nentries, far))
		fetch_end(keys, entries[far].row);
	if (near < nentries && is_tied(entries, nentries, near))
		fetch_key(keys, level, entries[near].row);
}

/*
 * Writes the order of entries that are sorted by levels 0 to "level", and tie
 * in all levels before that.  First sorts entries that still tie by the next
 * levels.  The order may be written over entries that come before.  Returns
 * where the order goes on.
 */
static uint32_t *
write_order(HostSort *sort, HostSortEntry *entries, uint64_t nentries,
			int level, uint32_t *order)
{
	const HostKeys *keys = sort->keys;
	uint32_t	tie = keys->shape.mark_ties ? ORDER_TIE : 0;
	const SortLevel *next_level =
		level + 1 < sort->nlevels ? &sort->levels[level + 1] : NULL;
	uint64_t	end;

	for (uint64_t begin = 0; begin < nentries; begin = end)
	{
		HostSortEntry first = entries[begin];
		const SortLevel *deciding;
		uint64_t	nequal;

		for (end = begin; end < nentries && entries[end].word == first.word;
			 end++)
		{
			if (next_level != NULL)
				fetch_ties(keys, entries, nentries, end, next_level);
		}
		nequal = end - begin;
		count_work(sort, nequal);

		if (nequal == 1)
		{
			*order++ = first.row;
			continue;
		}

		/* keys without words for the next level are equal */
		deciding = next_level;
		if (next_level != NULL && !key_reaches_level(keys, next_level, first.row))
			deciding = NULL;
		if (deciding != NULL && nequal > INSERTION_MAX)
			deciding = find_next_level(sort, entries + begin, nequal,
									   next_level);

		if (deciding == NULL)
		{
			*order++ = first.row;
			for (uint64_t i = begin + 1; i < end; i++)
				*order++ = entries[i].row | tie;
		}
		else if (nequal <= INSERTION_MAX)
			order = order_few_ties(keys, entries + begin, nequal,
								   deciding->slices[0].word, order);
		else
		{
			sort_ties(sort, entries + begin, nequal, deciding);
			order = write_order(sort, entries + begin, nequal,
								(int) (deciding - sort->levels), order);
		}
	}
	return order;
}

uint32_t *
host_sort(const HostKeys *keys, HostSortEntry *entries, HostSortPoll poll,
		  void *argument)
{
	uint32_t   *order = (uint32_t *) entries;
	HostSort	sort;

	sort.keys = keys;
	sort.poll = poll;
	sort.poll_argument = argument;
	sort.work = 0;

	if (keys->nrows == 0 ||
		take_existing_order(&sort, false, order) ||
		take_existing_order(&sort, true, order))
		return order;

	plan_levels(&sort);
	sort_first_level(&sort, entries);
	write_order(&sort, entries, keys->nrows, 0, order);
	return order;
}
