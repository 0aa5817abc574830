/*-------------------------------------------------------------------------
 *
 * key_array.cuh
 *	  Keys to be sorted, of any width, for host and device.
 *
 * A key is an unsigned number of 4, 8, 16 or 32 bytes, in words of 64 bits with
 * the most significant one first where it has more than 8; or it is a text of
 * any length, in the words that src/common/key_format.h describes.  Keys of 8 bytes
 * and more are thus in memory what the product sorts.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_BENCH_KEY_ARRAY_CUH
#define GPUSORT_BENCH_KEY_ARRAY_CUH

#include <cuda_runtime.h>

#include <cstdint>

namespace bench
{

/* The width of keys that vary in length. */
constexpr unsigned text_width = 0;

/* A key of 16 or 32 bytes as one object. */
template <unsigned nwords>
struct alignas(16) WideKey
{
	uint64_t	words[nwords];

	__host__ __device__ bool
	operator<(const WideKey &other) const
	{
		for (unsigned i = 0; i < nwords; i++)
			if (words[i] != other.words[i])
				return words[i] < other.words[i];
		return false;
	}
};

struct KeyArray
{
	const void *keys;
	const uint64_t *ends;		/* as in key_format.h; null for numbers */
	uint64_t	bytes;			/* of all keys together */
	uint32_t	n;
	unsigned	width;			/* bytes of each, or text_width */

	/* A key's words, numbered through all keys; one of 4 bytes is a word. */
	__host__ __device__ uint64_t
	begin(uint32_t row) const
	{
		return width != text_width ? row * fixed_words() :
			row == 0 ? 0 : ends[row - 1];
	}

	__host__ __device__ uint64_t
	end(uint32_t row) const
	{
		return width != text_width ? begin(row) + fixed_words() : ends[row];
	}

	__host__ __device__ uint64_t
	word(uint64_t number) const
	{
		return width == 4 ? static_cast<const uint32_t *>(keys)[number] :
			static_cast<const uint64_t *>(keys)[number];
	}

	/* Less than, equal to or greater than 0, as a key is to another's. */
	__host__ __device__ int
	compare(uint32_t row, const KeyArray &other, uint32_t other_row) const
	{
		uint64_t	place = begin(row);
		uint64_t	stop = end(row);
		uint64_t	other_place = other.begin(other_row);
		uint64_t	other_stop = other.end(other_row);

		for (; place < stop && other_place < other_stop; place++, other_place++)
		{
			uint64_t	own_word = word(place);
			uint64_t	other_word = other.word(other_place);

			if (own_word != other_word)
				return own_word < other_word ? -1 : 1;
		}
		return place < stop ? 1 : other_place < other_stop ? -1 : 0;
	}

private:
	__host__ __device__ uint64_t
	fixed_words() const
	{
		return width == 4 ? 1 : width / 8;
	}
};

/* What contenders sort: keys on the device, which they leave as they are. */
struct Input
{
	KeyArray	keys;
	bool		has_rows;		/* a key's value is its row number */

	/* Bytes of the keys and the row numbers, if there are any. */
	uint64_t
	bytes() const
	{
		return keys.bytes + (has_rows ? keys.n * sizeof(uint32_t) : 0);
	}
};

}								/* namespace bench */

#endif							/* GPUSORT_BENCH_KEY_ARRAY_CUH */
