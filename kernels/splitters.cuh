/*-------------------------------------------------------------------------
 *
 * splitters.cuh
 *	  Splitting a segment into buckets: choosing splitters, and the tree in
 *	  which the bucket of a word is found.
 *
 * As in GPU sample sort (Leischner, Osipov and Sanders 2010), splitters are
 * taken at equal distances from a sorted random sample.  A word goes down a
 * complete binary tree of splitters, with a comparison a level and no branch.
 * So buckets have about the same size, whatever the values are.
 * CUDA-quicksort's pivot, the middle between two extremes, cannot promise
 * that.
 *
 * Bucket b holds words from splitter b on that are less than splitter b + 1;
 * there is no splitter 0.  A word of many rows is in the sample often enough
 * to become two neighbouring splitters, s and s.  The second becomes s + 1, so
 * that the bucket between them has equal words only (an equality bucket), and
 * is finished.
 *
 * With four buckets or more each level divides any segment.  If one bucket had
 * all rows of the segment, these would lie between two neighbouring splitters.
 * But the first and the last splitter are rows of the segment, and if they are
 * equal, their word has an equality bucket.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SPLITTERS_CUH
#define GPUSORT_SPLITTERS_CUH

#include "key_words.cuh"
#include "spread_sort.cuh"

namespace gpusort
{

/* The logarithm of the fewest buckets, see above. */
constexpr unsigned min_log_buckets = 2;

/*
 * The logarithm of the number of buckets for a segment.  One more level costs
 * as much as the first.  So leaves may be longer than wanted if that makes
 * this level the last.  If one more level is needed anyway, each of the two
 * does half of the work.
 */
static __host__ __device__ __forceinline__ unsigned
choose_log_buckets(uint32_t length)
{
	uint64_t	leaves = divide_up(length, wanted_leaf_rows);
	unsigned	log_leaves = min_log_buckets;

	while (UINT64_C(1) << log_leaves < leaves)
		log_leaves++;
	if (log_leaves <= max_log_buckets)
		return log_leaves;
	if (length <= max_buckets * acceptable_leaf_rows ||
		log_leaves > 2 * max_log_buckets)
		return max_log_buckets;
	return (log_leaves + 1) / 2;
}

constexpr unsigned max_samples = max_buckets * samples_per_bucket;

struct SampleShared
{
	SpreadShared<max_samples, splitter_threads> sort;
	uint64_t	splitters[max_buckets];
};

/*
 * A place of the segment for a sample.  Places are stratified, one from each
 * of "samples" equal parts, which is all but exact for sorted input.  The
 * place within its part is as good as random (a multiplicative hash, Knuth,
 * volume 3, 6.4), so that no pattern of the input meets all samples.
 */
static __host__ __device__ __forceinline__ uint32_t
sample_place(const Segment &segment, unsigned sample, unsigned samples)
{
	uint64_t	seed = (static_cast<uint64_t>(segment.begin) << 32 |
						segment.length) + sample * UINT64_C(0xd1342543de82ef95);
	uint64_t	random = seed * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	uint64_t	fraction = ((static_cast<uint64_t>(sample) << 32) + random) /
		samples;

	return segment.begin + static_cast<uint32_t>(segment.length * fraction >> 32);
}

/*
 * The splitter of a bucket: every "step"-th of these words.  The second of two
 * equal ones becomes the next greater word, see above.
 */
static __device__ __forceinline__ uint64_t
splitter_of_bucket(const uint64_t *words, unsigned step, unsigned bucket)
{
	uint64_t	word = words[bucket * step];
	bool		is_heavy = bucket > 1 && words[(bucket - 1) * step] == word;

	return bucket == 0 ? 0 : word + (is_heavy && word != UINT64_MAX ? 1 : 0);
}

/*
 * Chooses the splitters of all segments of a level, and makes their buckets
 * empty.  Also clears the counters of the next level, which have those of the
 * previous level: no kernel from this one on needs them.
 */
template <typename Source>
static __global__ void __launch_bounds__(splitter_threads)
choose_splitters(Level level, LevelCounts *next, Source source)
{
	SampleShared &shared = block_shared<SampleShared>();

	if (blockIdx.x == 0 && threadIdx.x == 0)
		*next = {0, 0, 0};

	for (uint32_t index = blockIdx.x; index < level.counts->segments;
		 index += gridDim.x)
	{
		Segment		segment = level.segments[index];
		unsigned	buckets = 1u << segment.log_buckets;
		unsigned	samples = buckets * samples_per_bucket;

		spread_sort(
			samples, shared.sort,
			[&](unsigned sample, uint64_t &word, uint32_t &row) {
				word = source.word(sample_place(segment, sample, samples));
				row = 0;
			},
			[&](unsigned rank, uint64_t word, uint32_t, bool) {
				if (rank % samples_per_bucket == 0)
					shared.splitters[rank / samples_per_bucket] = word;
			});
		__syncthreads();

		for (unsigned bucket = threadIdx.x; bucket < buckets;
			 bucket += splitter_threads)
		{
			level.splitters[segment.first_bucket + bucket] =
				splitter_of_bucket(shared.splitters, 1, bucket);
			level.lengths[segment.first_bucket + bucket] = 0;
			level.filled[segment.first_bucket + bucket] = 0;
		}
	}
}

/*
 * A segment's splitters as a search tree: node 1 is the root, those below node
 * i are 2i and 2i + 1, and the leaves, from node number of buckets on, stand
 * for the buckets.
 */
struct SplitterTree
{
	uint64_t	nodes[max_buckets];
};

/* Called by all threads of a block, between two barriers. */
static __device__ __forceinline__ void
load_tree(uint64_t *nodes, const uint64_t *splitters, unsigned log_buckets)
{
	for (unsigned node = threadIdx.x; node < 1u << log_buckets;
		 node += blockDim.x)
	{
		unsigned	depth = 31 - __clz(node | 1);
		unsigned	place = node - (1u << depth);

		if (node > 0)
			nodes[node] =
				splitters[(2 * place + 1) << (log_buckets - depth - 1)];
	}
}

/* Whether all words of a bucket of the segment are equal. */
static __device__ __forceinline__ bool
is_equality_bucket(const uint64_t *splitters, unsigned log_buckets,
				   unsigned bucket)
{
	uint64_t	last = bucket + 1 == 1u << log_buckets ? UINT64_MAX :
		splitters[bucket + 1] - 1;

	return splitters[bucket] == last;
}

}								/* namespace gpusort */

#endif							/* GPUSORT_SPLITTERS_CUH */
