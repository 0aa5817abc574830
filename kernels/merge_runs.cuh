/*-------------------------------------------------------------------------
 *
 * merge_runs.cuh
 *	  Merging sorted runs of pairs, two neighbouring ones at a time.
 *
 * What is merged are the batches of a job, each sorted by itself while later
 * ones were still on their way (device_sort.cu).  A run here is a sorted run:
 * pairs at neighbouring places that are in order.  At first it is a batch.
 * Each round merges every two neighbouring runs from one array of pairs into
 * the other, and the last round writes the order: for n runs there are
 * log2(n) rounds, rounded up.  A last run without a partner is copied.
 *
 * This is GPU Merge Path (Green, McColl and Bader 2012; Odeh, Green, Mwassi,
 * Shmueli and Birk 2012).  The order in which a merge takes from its two runs
 * is a path through a grid, a step right for a pair of the left run and a step
 * down for one of the right run.  After d steps it is on diagonal d, and where
 * it crosses that can be found by a binary search without the steps before.
 * So the output is cut into tiles of the same length whatever the words are:
 *
 *	find_splits		where the path crosses the diagonal on which each tile
 *					begins, a thread a tile
 *	merge_tiles		a block a tile: loads its part of both runs into shared
 *					memory; each thread finds where the path crosses its own
 *					diagonal and goes on from there, a few steps; all write
 *
 * The paper's blocks move a window along their diagonal and are as many as the
 * device runs at once; here a block has one tile, which needs no window.  What
 * threads write down first is where each pair of the output lies in shared
 * memory, 2 bytes a pair, so that the pairs themselves go from there to
 * neighbouring places by neighbouring threads and never through registers.
 *
 * Where working words are equal the rest of the keys is compared.  If that is
 * equal too the left run's pair comes first: a merge is stable.
 *
 * A run's rows carry ORDER_TIE where a key equals the one before in the run.
 * From that follows what is a tie in the output, though neighbours in it may
 * come from different runs.  Of equal keys all of the left run come first, so
 * a pair that was a tie comes right after the same neighbour as before, and
 * remains one.  A pair that was none becomes one only if it is of the right
 * run and the last of the left run that came before it has the same key, and
 * whether that is so the merge knows from its last comparison.  Ties also save
 * comparisons: what was taken of a key's equals is taken of it.
 *
 * A round moves 12 bytes a row in and 12 out, the last one 4 out.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_MERGE_RUNS_CUH
#define GPUSORT_MERGE_RUNS_CUH

#include "key_words.cuh"

namespace gpusort
{

/*
 * How rows with equal working words compare: by the tail of their keys, which
 * is what the words do not cover.  There may be none.
 */
struct NoTail
{
	__device__ __forceinline__ int
	compare(uint32_t, uint32_t) const
	{
		return 0;
	}
};

struct KeyTail
{
	Keys		keys;
	uint32_t	first_word;

	__device__ __forceinline__ int
	compare(uint32_t a, uint32_t b) const
	{
		return keys.compare(ORDER_ROW(a), ORDER_ROW(b), first_word);
	}
};

/*
 * Two neighbouring runs, from "begin" and from "middle" on.  All runs have the
 * same number of tiles but for the last, which may be shorter; a last one that
 * is alone is a left run without a right one.
 */
struct RunPair
{
	uint32_t	begin;
	uint32_t	middle;
	uint32_t	end;

	/* The one that a tile belongs to. */
	static __device__ __forceinline__ RunPair
	of_tile(uint32_t tile, uint32_t run_tiles, uint32_t nrows)
	{
		uint64_t	first = tile - tile % (2 * run_tiles);
		uint64_t	middle = (first + run_tiles) * merge_tile_rows;
		uint64_t	end = (first + 2 * run_tiles) * merge_tile_rows;

		return {static_cast<uint32_t>(first * merge_tile_rows),
			static_cast<uint32_t>(middle < nrows ? middle : nrows),
			static_cast<uint32_t>(end < nrows ? end : nrows)};
	}
};

/*
 * How many of the first "diagonal" pairs of a merge are of the left run;
 * comes_first(i, j) says whether pair i of the left run is one of them if pair
 * j of the right run is.
 */
template <typename ComesFirst>
static __device__ __forceinline__ uint32_t
find_split(uint32_t left_length, uint32_t right_length, uint32_t diagonal,
		   const ComesFirst &comes_first)
{
	uint32_t	low = diagonal > right_length ? diagonal - right_length : 0;
	uint32_t	high = diagonal < left_length ? diagonal : left_length;

	while (low < high)
	{
		uint32_t	middle = (low + high) / 2;

		if (comes_first(middle, diagonal - 1 - middle))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Finds how much of its left run comes before each tile. */
template <typename Tail>
static __global__ void __launch_bounds__(simple_threads)
find_splits(Pairs from, uint32_t nrows, uint32_t run_tiles, Tail tail,
			uint32_t *splits)
{
	uint32_t	tile = blockIdx.x * simple_threads + threadIdx.x;

	if (tile >= divide_up(nrows, merge_tile_rows))
		return;

	RunPair		runs = RunPair::of_tile(tile, run_tiles, nrows);

	splits[tile] = find_split(
		runs.middle - runs.begin, runs.end - runs.middle,
		tile * merge_tile_rows - runs.begin,
		[&](uint32_t left, uint32_t right) {
			uint32_t	a = runs.begin + left;
			uint32_t	b = runs.middle + right;
			uint64_t	a_word = from.words[a];
			uint64_t	b_word = from.words[b];

			return a_word != b_word ? a_word < b_word :
				tail.compare(from.rows[a], from.rows[b]) <= 0;
		});
}

/*
 * What a tile is made of: parts of a left and a right run.  They lie in shared
 * memory one after the other from place 1 on; place 0 is for the left run's
 * pair before its part.
 */
struct MergeTile
{
	uint32_t	begin;			/* its first place in the output */
	uint32_t	length;
	uint32_t	left;			/* the first place of its part of the left run */
	uint32_t	left_length;
	uint32_t	right;
	uint32_t	right_length;
	bool		has_before;		/* the left run has a pair before its part */

	static __device__ __forceinline__ MergeTile
	of(uint32_t number, uint32_t nrows, uint32_t run_tiles,
	   const uint32_t *splits)
	{
		RunPair		runs = RunPair::of_tile(number, run_tiles, nrows);
		uint32_t	begin = number * merge_tile_rows;
		bool		is_last = runs.end - begin <= merge_tile_rows;
		uint32_t	length = is_last ? runs.end - begin : merge_tile_rows;
		uint32_t	left = splits[number];
		uint32_t	left_end = is_last ? runs.middle - runs.begin :
			splits[number + 1];

		return {begin, length, runs.begin + left, left_end - left,
			runs.middle + (begin - runs.begin) - left,
			length - (left_end - left), left > 0};
	}

	/* Where the pair at a place in shared memory, not the first one, is from. */
	__device__ __forceinline__ uint32_t
	origin(uint32_t place) const
	{
		return place <= left_length ? left + place - 1 :
			right + place - 1 - left_length;
	}
};

struct MergeShared
{
	/* Beyond the last pair one place may be read, and what is there not used. */
	uint64_t	words[merge_tile_rows + 2];
	uint32_t	rows[merge_tile_rows + 2];

	/* By place in the output: where the pair is, and whether it becomes a tie. */
	uint16_t	sources[merge_tile_rows];
};

constexpr unsigned source_tie = 1u << 15;

static_assert(merge_tile_rows < source_tie, "a place in a tile has 15 bits");

/*
 * Loads a tile's pairs; of a tile that is not whole, the last one several
 * times.  Called by all threads of the block.
 */
static __device__ __forceinline__ void
load_merge_tile(const Pairs &from, const MergeTile &tile, MergeShared &shared)
{
	uint64_t	words[merge_items];
	uint32_t	rows[merge_items];

#pragma unroll
	for (unsigned i = 0; i < merge_items; i++)
	{
		uint32_t	place = 1 + i * merge_threads + threadIdx.x;
		uint32_t	origin = tile.origin(place < tile.length ? place :
										 tile.length);

		words[i] = from.words[origin];
		rows[i] = from.rows[origin];
	}
#pragma unroll
	for (unsigned i = 0; i < merge_items; i++)
	{
		uint32_t	place = 1 + i * merge_threads + threadIdx.x;

		shared.words[place] = words[i];
		shared.rows[place] = rows[i];
	}
	if (threadIdx.x == 0 && tile.has_before)
	{
		shared.words[0] = from.words[tile.left - 1];
		shared.rows[0] = from.rows[tile.left - 1];
	}
}

/*
 * Less than, equal to or greater than 0, as the next pair of the left run is
 * to that of the right run, their words being equal; is_equal says whether the
 * latter's key equals that of the left run's pair before.
 */
static __device__ __forceinline__ int
compare_next(const NoTail &, const uint32_t *, const uint32_t *, bool)
{
	return 0;
}

static __device__ __forceinline__ int
compare_next(const KeyTail &tail, const uint32_t *left_row,
			 const uint32_t *right_row, bool is_equal)
{
	/*
	 * Of a tie the equal was taken before: on the left because it was not
	 * greater than the next pair of the right run, on the right because it
	 * was less than that of the left run.
	 */
	if ((*left_row & ORDER_TIE) != 0)
		return is_equal ? 0 : -1;
	if ((*right_row & ORDER_TIE) != 0)
		return 1;
	return tail.compare(*left_row, *right_row);
}

/*
 * Finds where each pair of this thread's share of a tile comes from.  Called
 * between two barriers.
 */
template <typename Tail>
static __device__ __forceinline__ void
merge_share(const MergeTile &tile, const Tail &tail, MergeShared &shared)
{
	uint32_t	diagonal = threadIdx.x * merge_items;
	uint32_t	end = diagonal + merge_items;

	if (end > tile.length)
		end = tile.length;
	if (diagonal >= end)
		return;

	/* Places in shared memory of the next pairs, and of those beyond. */
	uint32_t	left_end = 1 + tile.left_length;
	uint32_t	right_end = 1 + tile.length;
	uint32_t	left = 1 + find_split(
		tile.left_length, tile.right_length, diagonal,
		[&](uint32_t i, uint32_t j) {
			uint32_t	a = 1 + i;
			uint32_t	b = left_end + j;

			return shared.words[a] != shared.words[b] ?
				shared.words[a] < shared.words[b] :
				tail.compare(shared.rows[a], shared.rows[b]) <= 0;
		});
	uint32_t	right = left_end + diagonal - (left - 1);
	uint64_t	left_word = shared.words[left];
	uint64_t	right_word = shared.words[right];

	/* Whether the next pair of the right run equals the left run's before. */
	bool		is_equal = (left > 1 || tile.has_before) && right < right_end &&
		shared.words[left - 1] == right_word &&
		tail.compare(shared.rows[left - 1], shared.rows[right]) == 0;

	for (uint32_t place = diagonal; place < end; place++)
	{
		int			comparison;

		if (left == left_end || right == right_end)
			comparison = left == left_end ? 1 : -1;
		else if (left_word != right_word)
			comparison = left_word < right_word ? -1 : 1;
		else
			comparison = compare_next(tail, &shared.rows[left],
									  &shared.rows[right], is_equal);

		bool		is_left = comparison <= 0;
		uint32_t	source = is_left ? left++ : right++;
		uint64_t	next_word = shared.words[source + 1];

		left_word = is_left ? next_word : left_word;
		right_word = is_left ? right_word : next_word;
		if (!is_left && is_equal)
			source |= source_tie;
		is_equal = comparison == 0;
		shared.sources[place] = static_cast<uint16_t>(source);
	}
}

/* Where a round writes. */
struct MergeTarget
{
	Pairs		pairs;
	Order		order;
	bool		is_order;		/* it is the last round */
};

/* Writes a merged tile.  Called by all threads of the block. */
static __device__ __forceinline__ void
write_merge_tile(const MergeTile &tile, const MergeShared &shared,
				 const MergeTarget &to)
{
#pragma unroll
	for (unsigned i = 0; i < merge_items; i++)
	{
		uint32_t	place = i * merge_threads + threadIdx.x;
		uint32_t	target = tile.begin + place;

		if (place < tile.length)
		{
			uint32_t	source = shared.sources[place];
			uint64_t	word = shared.words[source & (source_tie - 1)];
			uint32_t	row = shared.rows[source & (source_tie - 1)];

			if ((source & source_tie) != 0)
				row |= ORDER_TIE;
			if (to.is_order)
				to.order.put(target, ORDER_ROW(row), (row & ORDER_TIE) != 0);
			else
			{
				to.pairs.words[target] = word;
				to.pairs.rows[target] = row;
			}
		}
	}
}

/* Merges every two neighbouring runs, a block a tile. */
template <typename Tail>
static __global__ void __launch_bounds__(merge_threads, merge_blocks)
merge_tiles(Pairs from, uint32_t nrows, uint32_t run_tiles, Tail tail,
			const uint32_t *splits, MergeTarget to)
{
	MergeShared &shared = block_shared<MergeShared>();
	MergeTile	tile = MergeTile::of(blockIdx.x, nrows, run_tiles, splits);

	load_merge_tile(from, tile, shared);
	__syncthreads();
	merge_share(tile, tail, shared);
	__syncthreads();
	write_merge_tile(tile, shared, to);
}

/* Makes a run of a sorted batch: its words and rows, by its order. */
static __global__ void __launch_bounds__(simple_threads)
load_run(Keys batch, const __grid_constant__ WordPlan plan,
		 const uint32_t *order, Pairs pairs)
{
	uint32_t	place = blockIdx.x * simple_threads + threadIdx.x;

	if (place >= batch.nrows)
		return;

	uint32_t	entry = order[place];

	pairs.words[batch.first_row + place] = plan.gather(batch,
													   ORDER_ROW(entry));
	pairs.rows[batch.first_row + place] = batch.first_row + entry;
}

/*
 * Merges runs of merge_batch_rows rows, which lie in the first array of pairs,
 * into the order.
 */
template <typename Tail>
static bool
merge_runs(const Queue &queue, uint32_t nrows, const Tail &tail,
		   const Workspace &space, const Order &order)
{
	uint32_t   *splits = space.starts;	/* a merge has no start bits */
	uint32_t	tiles = static_cast<uint32_t>(divide_up(nrows,
														merge_tile_rows));
	uint32_t	run_tiles = merge_batch_tiles;
	unsigned	array = 0;
	bool		is_last;

	static_assert(merge_tile_rows >= 32, "a split a tile fits");
	do
	{
		is_last = 2 * run_tiles >= tiles;
		if (!queue.launch("splitting runs", find_splits<Tail>,
						  divide_up(tiles, simple_threads), simple_threads,
						  space.pairs[array], nrows, run_tiles, tail,
						  splits) ||
			!queue.launch<MergeShared>("merging runs", merge_tiles<Tail>,
									   tiles, merge_threads,
									   space.pairs[array], nrows, run_tiles,
									   tail, splits,
									   MergeTarget{space.pairs[1 - array],
									   order, is_last}))
			return false;
		run_tiles *= 2;
		array = 1 - array;
	} while (!is_last);
	return true;
}

}								/* namespace gpusort */

#endif							/* GPUSORT_MERGE_RUNS_CUH */
