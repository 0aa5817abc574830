/*-------------------------------------------------------------------------
 *
 * test_keys.h
 *	  Keys for tests, of any number, width and distribution.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_TEST_KEYS_H
#define GPUSORT_TEST_KEYS_H

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "../../kernels/tuning.cuh"
#include "../../src/common/key_format.h"

using gpusort::leaf_rows;
using gpusort::medium_leaf_rows;
using gpusort::small_leaf_rows;
using gpusort::tile_rows;
using gpusort::tiny_leaf_rows;

/* Numbers as good as random (splitmix64 of Steele, Lea and Flood 2014). */
struct Random
{
	uint64_t	state;

	uint64_t
	next()
	{
		uint64_t	z = state += UINT64_C(0x9e3779b97f4a7c15);

		z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
		return z ^ (z >> 31);
	}

	uint64_t
	below(uint64_t limit)
	{
		return next() % limit;
	}
};

struct TestKeys
{
	KeyShape	shape;
	std::vector<uint64_t> words;
	std::vector<uint64_t> ends;	/* empty for fixed width */
	uint64_t	nrows;

	uint64_t
	begin(uint64_t row) const
	{
		return shape.fixed_words != 0 ? row * shape.fixed_words :
			row == 0 ? 0 : ends[row - 1];
	}

	uint64_t
	end(uint64_t row) const
	{
		return shape.fixed_words != 0 ? begin(row) + shape.fixed_words :
			ends[row];
	}

	/* Less than, equal to or greater than 0, as key a is to key b. */
	int
	compare(uint64_t a, uint64_t b) const
	{
		uint64_t	a_length = end(a) - begin(a);
		uint64_t	b_length = end(b) - begin(b);

		for (uint64_t i = 0; i < a_length && i < b_length; i++)
		{
			uint64_t	a_word = words[begin(a) + i];
			uint64_t	b_word = words[begin(b) + i];

			if (a_word != b_word)
				return a_word < b_word ? -1 : 1;
		}
		return a_length == b_length ? 0 : a_length < b_length ? -1 : 1;
	}
};

/* A distribution: the value of a word of one row among n. */
typedef uint64_t (*Distribution) (Random &random, uint64_t row, uint64_t n);

inline uint64_t
uniform(Random &random, uint64_t, uint64_t)
{
	return random.next();
}

/* Encodes an integer of 4 bytes as the encoder does. */
inline uint64_t
uniform_4_bytes(Random &random, uint64_t, uint64_t)
{
	return random.next() << 32;
}

inline uint64_t
constant(Random &, uint64_t, uint64_t)
{
	return 42;
}

inline uint64_t
all_ones(Random &, uint64_t, uint64_t)
{
	return UINT64_MAX;
}

inline uint64_t
sorted(Random &, uint64_t row, uint64_t)
{
	return row * 1000;
}

inline uint64_t
reversed(Random &, uint64_t row, uint64_t n)
{
	return (n - row) * 1000;
}

inline uint64_t
two_valued(Random &random, uint64_t, uint64_t)
{
	return random.below(2) * UINT64_MAX;
}

inline uint64_t
organ_pipe(Random &, uint64_t row, uint64_t n)
{
	return row < n / 2 ? row : n - row;
}

inline uint64_t
zipf(Random &random, uint64_t, uint64_t)
{
	double		uniform = static_cast<double>(random.next() >> 11) * 0x1p-53;

	return static_cast<uint64_t>(1 / (uniform + 1e-6));
}

inline uint64_t
few(Random &random, uint64_t, uint64_t)
{
	return random.below(100);
}

inline uint64_t
pairs(Random &random, uint64_t, uint64_t n)
{
	return random.below(n / 2 + 1);
}

inline uint64_t
nearly_sorted(Random &random, uint64_t row, uint64_t)
{
	return random.below(100) == 0 ? random.next() >> 32 : row;
}

/* Sorted runs one after another, as in a table filled in batches. */
inline uint64_t
sawtooth(Random &, uint64_t row, uint64_t)
{
	return row % 1000;
}

/* The last key is the smallest, all others are as they should be. */
inline uint64_t
rotated(Random &, uint64_t row, uint64_t n)
{
	return (row + 1) % n;
}

/* All keys are equal, except one smaller and one greater. */
inline uint64_t
outliers(Random &, uint64_t row, uint64_t n)
{
	return row == n / 2 ? 41 : row == n / 3 ? 43 : 42;
}

inline const struct
{
	const char *name;
	Distribution value;
}			distributions[] = {
	{"uniform", uniform},
	{"uniform, 4 bytes", uniform_4_bytes},
	{"constant", constant},
	{"all ones", all_ones},
	{"sorted", sorted},
	{"reversed", reversed},
	{"two-valued", two_valued},
	{"organ pipe", organ_pipe},
	{"zipf", zipf},
	{"few", few},
	{"pairs", pairs},
	{"nearly sorted", nearly_sorted},
	{"sawtooth", sawtooth},
	{"rotated", rotated},
	{"outliers", outliers},
};

/* Keys of fixed width; each word has a distribution, the last one goes on. */
inline TestKeys
fixed_keys(Random &random, uint64_t nrows, uint32_t width,
		   const std::vector<Distribution> &values, bool mark_ties)
{
	TestKeys	keys;

	keys.shape = {width, mark_ties};
	keys.nrows = nrows;
	keys.words.reserve(nrows * width);
	for (uint64_t row = 0; row < nrows; row++)
		for (uint32_t i = 0; i < width; i++)
			keys.words.push_back(values[std::min<size_t>(i, values.size() - 1)]
								 (random, row, nrows));
	return keys;
}

inline TestKeys
fixed_keys(uint64_t nrows, uint32_t width,
		   const std::vector<Distribution> &values, bool mark_ties = true)
{
	Random		random = {nrows * 31 + width};

	return fixed_keys(random, nrows, width, values, mark_ties);
}

/*
 * Keys of strings: their bytes, a zero byte, padded to a word, and truncated at
 * the longest key there may be.
 */
inline TestKeys
string_keys(const std::vector<std::string> &strings, bool mark_ties = true)
{
	TestKeys	keys;

	keys.shape = {0, mark_ties};
	keys.nrows = strings.size();
	for (const std::string &string : strings)
	{
		size_t		nwords = std::min<size_t>(string.size() / 8 + 1,
											  KEY_MAX_WORDS);

		for (size_t i = 0; i < nwords * 8; i += 8)
		{
			uint64_t	word = 0;

			for (size_t j = i; j < i + 8; j++)
				word = word << 8 | (j < string.size() ?
									static_cast<unsigned char>(string[j]) : 0);
			keys.words.push_back(word);
		}
		keys.ends.push_back(keys.words.size());
	}
	return keys;
}

inline std::string
random_text(Random &random, size_t length, unsigned letters)
{
	std::string text;

	for (size_t i = 0; i < length; i++)
		text += static_cast<char>('a' + random.below(letters));
	return text;
}

inline uint64_t most_rows = UINT64_MAX;	/* from the command line */

/* Sizes around each boundary, up to "most". */
inline std::vector<uint64_t>
sizes(uint64_t most)
{
	std::vector<uint64_t> all = {0, 1, 2, 3, 32 * tile_rows + 5};
	std::vector<uint64_t> usable;

	for (uint64_t boundary : {tiny_leaf_rows, small_leaf_rows,
							  medium_leaf_rows, leaf_rows,
							  2 * leaf_rows, tile_rows, 2 * tile_rows,
							  gpusort::simple_threads * 32,
							  gpusort::simple_threads * 64,
							  gpusort::few_rows, 1u << 16})
		for (uint64_t size : {boundary - 1, boundary + 0, boundary + 1})
			all.push_back(size);
	std::sort(all.begin(), all.end());
	for (uint64_t size : all)
		if (size <= most && size <= most_rows)
			usable.push_back(size);
	return usable;
}

/* Large sizes: for a device, and for the emulator. */
inline uint64_t
large(uint64_t device_rows, uint64_t emulator_rows)
{
#ifdef CUDA_ON_CPU
	uint64_t	rows = emulator_rows + 0 * device_rows;
#else
	uint64_t	rows = device_rows + 0 * emulator_rows;
#endif
	return std::min(rows, most_rows);
}

#endif							/* GPUSORT_TEST_KEYS_H */
