/*-------------------------------------------------------------------------
 *
 * key_words.cuh
 *	  From keys to working words.
 *
 * The keys of a job lie in slab arrays: their words, and where they vary in
 * length the ends (key_format.h).  Only here and in key_survey.cuh keys are
 * read.
 *
 * A sort compares one working word of each key at a time.  It holds only the
 * bits that are not the same in all keys, up to 64 of them from any number of
 * the key's words: a small integer and a timestamp go into one.  A WordPlan
 * says where the bits of one working word are, as fields: bits that stand
 * together in a word of the key.  Bits are taken in the order of their
 * significance, so words compare as the keys do as far as these bits go.  Of
 * keys that have ended nothing is known to be zero; but they differ from all
 * longer ones before that, so zero is as good as anything.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_KEY_WORDS_CUH
#define GPUSORT_KEY_WORDS_CUH

#include "workspace.cuh"

namespace gpusort
{

/*
 * The keys of a job as kernels see them, or a batch of them: neighbouring rows
 * that are sorted like a job of their own, and are numbered from zero then.
 */
struct Keys
{
	SlabView	words;
	SlabView	ends;			/* not used if fixed_words is not 0 */
	uint64_t	nwords;			/* that the job has */
	uint32_t	nrows;
	uint32_t	fixed_words;
	uint32_t	first_row;		/* number that row 0 has in the job */
	bool		has_last_row;	/* of the job */

	__device__ __forceinline__ uint64_t
	begin(uint32_t row) const
	{
		uint32_t	job_row = first_row + row;

		return fixed_words != 0 ? static_cast<uint64_t>(job_row) * fixed_words :
			job_row == 0 ? 0 : ends[job_row - 1];
	}

	__device__ __forceinline__ uint64_t
	end(uint32_t row) const
	{
		return fixed_words != 0 ? begin(row) + fixed_words :
			ends[first_row + row];
	}
};

/*
 * Less than, equal to or greater than 0, as the key of row a is to that of row
 * b from their words number "word" on.
 */
static __device__ __forceinline__ int
compare_keys(const Keys &keys, uint32_t a, uint32_t b, unsigned word)
{
	uint64_t	a_begin = keys.begin(a);
	uint64_t	b_begin = keys.begin(b);
	uint64_t	a_end = keys.end(a);
	uint64_t	b_end = keys.end(b);

	for (; a_begin + word < a_end && b_begin + word < b_end; word++)
	{
		uint64_t	a_word = keys.words[a_begin + word];
		uint64_t	b_word = keys.words[b_begin + word];

		if (a_word != b_word)
			return a_word < b_word ? -1 : 1;
	}
	return 0;
}

/* "width" bits of a word of the key, of which "shift" is the lowest. */
struct Field
{
	uint8_t		word;
	uint8_t		shift;
	uint8_t		width;
};

/* More make a working word end early. */
constexpr unsigned max_fields = 32;

struct WordPlan
{
	Field		fields[max_fields]; /* the most significant first */
	unsigned	nfields;
	unsigned	bits;			/* of all fields together */

	/* The first word of the key that is needed; keys that end before it are out. */
	__host__ __device__ unsigned
	first_word() const
	{
		return fields[0].word;
	}

	/* The key's only word, or a whole one of its words, as it is. */
	__host__ __device__ bool
	is_whole_word() const
	{
		return nfields == 1 && bits == 64;
	}

	__device__ __forceinline__ uint64_t
	gather(const Keys &keys, uint32_t row) const
	{
		uint64_t	begin = keys.begin(row);
		uint64_t	end = keys.end(row);
		uint64_t	gathered = 0;
		uint64_t	word = 0;
		unsigned	loaded = KEY_MAX_WORDS;

		if (is_whole_word())
			return begin + first_word() < end ? keys.words[begin + first_word()] : 0;
		for (unsigned i = 0; i < nfields; i++)
		{
			Field		field = fields[i];

			if (field.word != loaded)
			{
				loaded = field.word;
				word = begin + loaded < end ? keys.words[begin + loaded] : 0;
			}
			if (field.width == 64)
				gathered = word;
			else
				gathered = gathered << field.width |
					(word >> field.shift & ((UINT64_C(1) << field.width) - 1));
		}
		return gathered;
	}
};

/*
 * Where a sort reads pairs from: the words of fixed-width keys as they are, at
 * some distance from each other; working words in an array; or pairs.  In the
 * first two the place is the row's number.
 */
struct KeySource
{
	SlabView	words;
	uint32_t	distance;
	uint64_t	first;

	__device__ __forceinline__ uint64_t
	word(uint32_t place) const
	{
		return words[static_cast<uint64_t>(place) * distance + first];
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
};

}								/* namespace gpusort */

#endif							/* GPUSORT_KEY_WORDS_CUH */
