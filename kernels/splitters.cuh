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
 * Reading the tree's nodes at random places is most of the work of finding
 * buckets: in a tree of 256 words of 64 bits the accesses of a warp take about
 * 26 turns at the banks of shared memory, in one of 32 bits 11.  Where a bucket
 * ends is free to choose.  So splitters are rounded down to multiples of a power
 * of two, of which 2^31 cover their range, and a word is compared by its number
 * of that multiple (its narrow word).  Rounded splitters that differ are still
 * between rows, so each level divides any segment as before.  If some would be
 * equal, of which one may be a splitter of an equality bucket, the segment keeps
 * its splitters and has a tree of whole words.
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
	uint16_t	shift;			/* the segment's */
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
 * The shift of a narrow tree of splitters that are words of a sorted sample, or
 * no_narrow_tree.  Called by all lanes of a warp.
 */
static __device__ __forceinline__ uint16_t
narrow_shift(const uint64_t *words, unsigned buckets)
{
	uint64_t	range = words[buckets - 1] - words[1];
	int			shift = range >> 31 == 0 ? 0 :
		33 - __clzll(static_cast<long long>(range));
	bool		is_equal = false;

	for (unsigned bucket = 2 + warp_lane(); bucket < buckets;
		 bucket += warp_threads)
		is_equal |= words[bucket] >> shift == words[bucket - 1] >> shift;
	return static_cast<uint16_t>(__any_sync(whole_warp, is_equal) && shift > 0 ?
								 no_narrow_tree : shift);
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

		if (threadIdx.x < warp_threads)
			shared.shift = narrow_shift(shared.splitters, buckets);
		__syncthreads();

		unsigned	zeros = shared.shift % no_narrow_tree;

		if (threadIdx.x == 0)
			level.segments[index].shift = shared.shift;
		for (unsigned bucket = threadIdx.x; bucket < buckets;
			 bucket += splitter_threads)
		{
			level.splitters[segment.first_bucket + bucket] =
				splitter_of_bucket(shared.splitters, 1, bucket) >> zeros << zeros;
			level.lengths[segment.first_bucket + bucket] = 0;
			level.filled[segment.first_bucket + bucket] = 0;
		}
	}
}

/*
 * A segment's splitters as a search tree: node 1 is the root, those below node
 * i are 2i and 2i + 1, and the leaves, from node number of buckets on, stand
 * for the buckets.  Given the node's splitter by its bucket.  Called by all
 * threads of a block, between two barriers.
 */
template <typename Node, typename Splitter>
static __device__ __forceinline__ void
fill_tree(Node *nodes, unsigned log_buckets, const Splitter &splitter)
{
	for (unsigned node = threadIdx.x; node < 1u << log_buckets;
		 node += blockDim.x)
	{
		unsigned	depth = 31 - __clz(node | 1);
		unsigned	place = node - (1u << depth);

		if (node > 0)
			nodes[node] = splitter((2 * place + 1) << (log_buckets - depth - 1));
	}
}

static __device__ __forceinline__ void
load_tree(uint64_t *nodes, const uint64_t *splitters, unsigned log_buckets)
{
	fill_tree(nodes, log_buckets, [&](unsigned bucket) {
		return splitters[bucket];
	});
}

/* Words as a narrow tree compares them. */
struct NarrowWords
{
	uint64_t	first;			/* the first splitter's multiple of 2^shift */
	unsigned	shift;

	__device__ __forceinline__ uint32_t
	operator()(uint64_t word) const
	{
		uint64_t	multiple = word >> shift;
		uint64_t	distance = multiple - first;

		return multiple < first ? 0 : distance >= UINT32_MAX ? UINT32_MAX :
			static_cast<uint32_t>(distance) + 1;
	}
};

/* The tree of a segment, of one of the two kinds. */
struct SplitterTree
{
	union
	{
		uint64_t	nodes[max_buckets];
		uint32_t	narrow_nodes[max_buckets];
	};
	NarrowWords narrow;

	/* Called by all threads of a block, between two barriers. */
	__device__ __forceinline__ void
	load(const uint64_t *splitters, const Segment &segment)
	{
		if (segment.shift == no_narrow_tree)
			load_tree(nodes, splitters, segment.log_buckets);
		else
		{
			NarrowWords own = {splitters[1] >> segment.shift, segment.shift};

			fill_tree(narrow_nodes, segment.log_buckets, [&](unsigned bucket) {
				return own(splitters[bucket]);
			});
			if (threadIdx.x == 0)
				narrow = own;
		}
	}
};

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
