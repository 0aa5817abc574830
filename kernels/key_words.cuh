/*-------------------------------------------------------------------------
 *
 * key_words.cuh
 *	  From keys to working words.
 *
 * The keys of a job lie in slab arrays: their words, and where they vary in
 * length the ends (key_format.h).  Keys are read only here, in key_survey.cuh
 * and in in_place_sort.cuh.
 *
 * A sort compares one working word of each key at a time.  A working word
 * holds only bits that are not the same in all keys, up to 64 of them, from
 * any number of the key's words: a small integer and a timestamp fit into one.
 * A WordPlan says where the bits of one working word are, as fields.  A field
 * is bits that stand together in a word of the key.  Bits are taken in the
 * order of their significance, so words compare as the keys do as far as these
 * bits go.  Bits beyond a key's end count as zero.  Any value would do, as the
 * key differs from all longer keys before its end.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_KEY_WORDS_CUH
#define GPUSORT_KEY_WORDS_CUH

#include "workspace.cuh"

namespace gpusort
{

/* The keys of a job as kernels see them. */
struct Keys
{
	SlabView	words;
	SlabView	ends;			/* not used if fixed_words is not 0 */
	uint64_t	nwords;
	uint32_t	nrows;
	uint32_t	fixed_words;

	__device__ __forceinline__ uint64_t
	begin(uint32_t row) const
	{
		return fixed_words != 0 ? static_cast<uint64_t>(row) * fixed_words :
			row == 0 ? 0 : ends[row - 1];
	}

	__device__ __forceinline__ uint64_t
	end(uint32_t row) const
	{
		return fixed_words != 0 ? begin(row) + fixed_words : ends[row];
	}

	/*
	 * Less than, equal to or greater than 0, as key a is to key b from their
	 * words number "word" on.
	 */
	__device__ __forceinline__ int
	compare(uint32_t a, uint32_t b, unsigned word) const
	{
		uint64_t	a_word = begin(a) + word;
		uint64_t	b_word = begin(b) + word;
		uint64_t	a_end = end(a);
		uint64_t	b_end = end(b);

		for (; a_word < a_end && b_word < b_end; a_word++, b_word++)
		{
			uint64_t	ours = words[a_word];
			uint64_t	theirs = words[b_word];

			if (ours != theirs)
				return ours < theirs ? -1 : 1;
		}
		return 0;
	}
};

/* Keys of fixed width in few slabs, as a kernel takes them as a parameter. */
struct FewKeys
{
	FewSlabs	words;
	uint64_t	nwords;
	uint32_t	nrows;
	uint32_t	fixed_words;

	__device__ __forceinline__ Keys
	view() const
	{
		return {{words.slabs}, {nullptr}, nwords, nrows, fixed_words};
	}
};

/* "width" bits of a word of the key, of which "shift" is the lowest. */
struct Field
{
	uint8_t		word;
	uint8_t		shift;
	uint8_t		width;

	__host__ __device__ uint64_t
	mask() const
	{
		return UINT64_MAX >> (64 - width);
	}
};

/* More make a working word end early. */
constexpr unsigned max_fields = 32;

struct WordPlan
{
	Field		fields[max_fields]; /* the most significant first */
	unsigned	nfields;
	unsigned	bits;			/* of all fields together */

	/*
	 * The first word of the key that is needed; keys that end before it are
	 * left out.
	 */
	__host__ __device__ unsigned
	first_word() const
	{
		return fields[0].word;
	}

	/* The last word of the key of which the plan has bits. */
	unsigned
	last_word() const
	{
		return fields[nfields - 1].word;
	}

	__device__ __forceinline__ uint64_t
	gather(const Keys &keys, uint32_t row) const
	{
		uint64_t	begin = keys.begin(row);
		uint64_t	end = keys.end(row);
		uint64_t	gathered = 0;
		uint64_t	word = 0;
		unsigned	loaded = KEY_MAX_WORDS;

		for (unsigned i = 0; i < nfields; i++)
		{
			Field		field = fields[i];

			if (field.word != loaded)
			{
				loaded = field.word;
				word = begin + loaded < end ? keys.words[begin + loaded] : 0;
			}
			gathered = (field.width == 64 ? 0 : gathered << field.width) |
				(word >> field.shift & field.mask());
		}
		return gathered;
	}
};

/*
 * The sources from which a sort reads pairs: keys, by one field or by a plan;
 * working words in an array; or pairs.  In all but the last the place is the
 * number of the row.
 */
struct FieldSource
{
	SlabView	words;
	uint64_t	first;			/* the first word of it that is read */
	uint32_t	distance;		/* from key to key, in words */
	Field		field;

	/* Whether one field is all that a plan asks for. */
	static bool
	suffices(const Keys &keys, const WordPlan &plan)
	{
		return keys.fixed_words != 0 && plan.nfields == 1;
	}

	FieldSource(const Keys &keys, const WordPlan &plan)
		: words(keys.words), first(plan.fields[0].word),
		  distance(keys.fixed_words), field(plan.fields[0])
	{
	}

	__device__ __forceinline__ uint64_t
	word(uint32_t place) const
	{
		return words[first + static_cast<uint64_t>(place) * distance] >>
			field.shift & field.mask();
	}

	__device__ __forceinline__ uint32_t
	row(uint32_t place) const
	{
		return place;
	}

	/* Has a warp read the words of neighbouring places into the cache. */
	__device__ __forceinline__ void
	prefetch(uint32_t place, uint32_t length) const
	{
		if (distance == 1 && place / slab_words ==
			(static_cast<uint64_t>(place) + length - 1) / slab_words)
			prefetch_into_cache(words.address(place),
								length * sizeof(uint64_t));
	}
};

struct PlanSource
{
	Keys		keys;
	WordPlan	plan;

	__device__ __forceinline__ uint64_t
	word(uint32_t place) const
	{
		return plan.gather(keys, place);
	}

	__device__ __forceinline__ uint32_t
	row(uint32_t place) const
	{
		return place;
	}
};

struct WordSource
{
	const uint64_t *words;

	__device__ __forceinline__ uint64_t
	word(uint32_t place) const
	{
		return words[place];
	}

	__device__ __forceinline__ uint32_t
	row(uint32_t place) const
	{
		return place;
	}

	__device__ __forceinline__ void
	prefetch(uint32_t, uint32_t) const
	{
	}
};

struct PairSource
{
	Pairs		pairs;

	__device__ __forceinline__ uint64_t
	word(uint32_t place) const
	{
		return pairs.words[place];
	}

	__device__ __forceinline__ uint32_t
	row(uint32_t place) const
	{
		return pairs.rows[place];
	}

	/* Pairs that were read ahead were mostly read twice. */
	__device__ __forceinline__ void
	prefetch(uint32_t, uint32_t) const
	{
	}
};

/* Reads elements of an array that are "step" apart, from the first on. */
template <unsigned items, unsigned step, typename Element>
static __device__ __forceinline__ void
load_apart(const Element *array, Element (&elements)[items])
{
#pragma unroll
	for (unsigned i = 0; i < items; i++)
		elements[i] = array[i * step];
}

/*
 * Reads the words of places that are "step" apart, from "first" on.  Addresses
 * are computed once, where a source can do that.
 */
template <unsigned items, unsigned step, typename Source>
static __device__ __forceinline__ void
load_words_apart(const Source &source, uint32_t first, uint64_t (&words)[items])
{
#pragma unroll
	for (unsigned i = 0; i < items; i++)
		words[i] = source.word(first + i * step);
}

template <unsigned items, unsigned step>
static __device__ __forceinline__ void
load_words_apart(const FieldSource &source, uint32_t first,
				 uint64_t (&words)[items])
{
	uint64_t	begin = source.first +
		static_cast<uint64_t>(first) * source.distance;
	uint64_t	last = begin +
		static_cast<uint64_t>((items - 1) * step) * source.distance;
	bool		is_one_slab = begin >> slab_shift == last >> slab_shift;
	const uint64_t *own = source.words.address(begin);
	uint64_t	own_step = is_one_slab ?
		static_cast<uint64_t>(step) * source.distance : 0;

#pragma unroll
	for (unsigned i = 0; i < items; i++)
		words[i] = own[i * own_step];
	if (!is_one_slab)
#pragma unroll
		for (unsigned i = 0; i < items; i++)
			words[i] = source.words[begin + i * static_cast<uint64_t>(step) *
									source.distance];
#pragma unroll
	for (unsigned i = 0; i < items; i++)
		words[i] = words[i] >> source.field.shift & source.field.mask();
}

template <unsigned items, unsigned step>
static __device__ __forceinline__ void
load_words_apart(const PairSource &source, uint32_t first,
				 uint64_t (&words)[items])
{
	load_apart<items, step>(source.pairs.words + first, words);
}

/* The same for the rows. */
template <unsigned items, unsigned step, typename Source>
static __device__ __forceinline__ void
load_rows_apart(const Source &source, uint32_t first, uint32_t (&rows)[items])
{
#pragma unroll
	for (unsigned i = 0; i < items; i++)
		rows[i] = source.row(first + i * step);
}

template <unsigned items, unsigned step>
static __device__ __forceinline__ void
load_rows_apart(const PairSource &source, uint32_t first,
				uint32_t (&rows)[items])
{
	load_apart<items, step>(source.pairs.rows + first, rows);
}

}								/* namespace gpusort */

#endif							/* GPUSORT_KEY_WORDS_CUH */
