/*-------------------------------------------------------------------------
 *
 * distributions.h
 *	  The keys that are sorted.
 *
 * The first ones are those of the papers (Helman, Bader and JaJa 1998; as in
 * Cederman and Tsigas 2009, section 5.3, Manca et al. 2015, figure 8, and
 * Leischner et al. 2009, section 8).  Where the papers' numbers are below
 * 2^31, here they are below the greatest that a key can be, so that keys of
 * each width are used in full.  n is the number of keys, p is 128.
 *
 *	uniform			any number
 *	gaussian		the mean of four uniform numbers
 *	zero			the same random number everywhere
 *	bucket			p blocks of p sections, section i of each has numbers of the
 *					ith of p equal ranges
 *	staggered		p blocks, those of the first half have numbers of the odd
 *					ones of p ranges (the first is number 0), those of the
 *					second half of the even ones
 *	sorted			uniform numbers, ascending
 *	duplicates		log2(n) in the first half, log2(n) - 1 in the first half of
 *					the rest, and so on
 *	zipf			k with probability proportional to 1 / k, 1 <= k <= n
 *	reversed		uniform numbers, descending
 *	swapped-0.1%	sorted, but for n / 1000 pairs of keys exchanged
 *	swapped-1%		sorted, but for n / 100 pairs of keys exchanged
 *	composite		a first word of 0 to 99, and a second that is uniform
 *	words			one to four English words
 *	urls			addresses with long prefixes in common
 *
 * duplicates and zipf are small numbers, in the last bytes of a key.  The
 * others fill keys of more than 8 bytes by their first words, and what follows
 * is random (of zero: the same everywhere).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_BENCH_DISTRIBUTIONS_H
#define GPUSORT_BENCH_DISTRIBUTIONS_H

#include "device_array.cuh"
#include "key_array.cuh"

namespace bench
{

enum Distribution
{
	UNIFORM,
	GAUSSIAN,
	ZERO,
	BUCKET,
	STAGGERED,
	SORTED,
	DUPLICATES,
	ZIPF,
	REVERSED,
	SWAPPED_1000TH,
	SWAPPED_100TH,
	COMPOSITE,
	WORDS,
	URLS,
	DISTRIBUTIONS
};

extern const char *distribution_name(Distribution distribution);

/* Returns whether there are keys of this width. */
extern bool distribution_has(Distribution distribution, unsigned width);

/* Owns keys in device memory. */
class KeyStore
{
public:
	explicit KeyStore(const Queue &queue) :
		numbers(queue), words(queue), ends(queue)
	{
	}

	/* Makes n > 0 keys, always the same keys; false on failure. */
	bool generate(const Queue &queue, Distribution distribution,
				  unsigned width, uint32_t n);

	const KeyArray &
	keys() const
	{
		return array;
	}

private:
	bool generate_numbers(const Queue &queue, Distribution distribution);
	bool generate_texts(const Queue &queue, Distribution distribution);

	KeyArray	array = {};
	DeviceArray<uint32_t> numbers;	/* keys of 4 bytes */
	DeviceArray<uint64_t> words;	/* all others */
	DeviceArray<uint64_t> ends;
};

}								/* namespace bench */

#endif							/* GPUSORT_BENCH_DISTRIBUTIONS_H */
