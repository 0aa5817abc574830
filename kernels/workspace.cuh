/*-------------------------------------------------------------------------
 *
 * workspace.cuh
 *	  What a sort works on: pairs, segments, tiles, leaves, runs, and where
 *	  each of them lies in device memory.
 *
 * The terms, from the bottom up:
 *
 *	pair		a working word (one word of a row's key) and the row's number
 *	tile		so many pairs of a segment as one block partitions at once
 *	segment		neighbouring pairs that are to be partitioned by one pivot
 *	leaf		a segment so short that it is finished in shared memory
 *	run			neighbouring rows whose keys agree in all words looked at yet
 *
 * There are two arrays of pairs.  Partitioning moves a segment from one to
 * the other and back, level after level; a place belongs to the same segment
 * in both.  Everything sorted ends in the first, "sorted", whose rows are the
 * order; the other one is "spare".
 *
 * All but the order is one allocation, so that a small job pays for one.  A
 * row takes 12 bytes in each array of pairs and less than half a byte in all
 * lists together.  Positions and row numbers are 32 bits: SORT_MAX_ROWS fits.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_WORKSPACE_CUH
#define GPUSORT_WORKSPACE_CUH

#include "device_memory.cuh"

namespace gpusort
{

struct Pairs
{
	uint64_t   *words;
	uint32_t   *rows;
};

struct Range
{
	uint32_t	begin;
	uint32_t	length;
};

/*
 * The counts at its end grow while its tiles are partitioned.  Less fills the
 * room from the front, greater from the back, and equal is what stays between.
 */
struct Segment
{
	uint64_t	pivot;
	uint32_t	begin;
	uint32_t	length;
	uint32_t	less;
	uint32_t	greater;
	uint32_t	equal;
};

/*
 * Pairs number * tile_rows and following of a segment.  When it has been
 * partitioned it says how many of them equal the pivot and how many equal
 * ones of the segment come before these.
 */
struct Tile
{
	uint32_t	segment;
	uint32_t	number;
	uint32_t	equal;
	uint32_t	equal_before;
};

struct Leaf
{
	uint32_t	begin;
	uint16_t	length;
	uint16_t	is_spare;		/* its pairs are in spare, not in sorted */
};

/* Leaves are sorted by a warp, a small block or a large block. */
enum LeafClass
{
	TINY_LEAF,
	MEDIUM_LEAF,
	LARGE_LEAF,
	LEAF_CLASSES
};

static __host__ __device__ __forceinline__ LeafClass
leaf_class(uint32_t length)
{
	return length <= tiny_leaf_rows ? TINY_LEAF :
		length <= medium_leaf_rows ? MEDIUM_LEAF : LARGE_LEAF;
}

/* One list of leaves a class. */
struct LeafLists
{
	Leaf	   *leaves[LEAF_CLASSES];

	/* The list for leaves of a length; not indexed, which costs memory. */
	__device__ __forceinline__ Leaf *
	of(LeafClass its_class) const
	{
		return its_class == TINY_LEAF ? leaves[TINY_LEAF] :
			its_class == MEDIUM_LEAF ? leaves[MEDIUM_LEAF] :
			leaves[LARGE_LEAF];
	}
};

struct LeafCounts
{
	uint32_t	count[LEAF_CLASSES];
};

/* A level's work list: its segments, and the tiles of all of them. */
struct LevelCounts
{
	uint32_t	segments;
	uint32_t	tiles;
};

struct Level
{
	Segment    *segments;
	Tile	   *tiles;
	LevelCounts *counts;
};

/*
 * Runs that are to be sorted by their next word: those of a leaf's length by
 * class, and the others.
 */
struct RunLists
{
	LeafLists	shorts;
	Range	   *longs;
};

struct RunCounts
{
	LeafCounts	shorts;
	uint32_t	longs;

	bool
	none() const
	{
		return shorts.count[TINY_LEAF] == 0 &&
			shorts.count[MEDIUM_LEAF] == 0 &&
			shorts.count[LARGE_LEAF] == 0 && longs == 0;
	}
};

/* All that the host ever reads back, and all counters of the lists. */
struct Control
{
	LevelCounts levels[2];
	LeafCounts	leaves;
	RunCounts	runs;
	uint32_t	keys_broken;	/* the keys' ends make no sense */
};

/* Hands out parts of one allocation, or only adds up what they take. */
class Carver
{
public:
	explicit Carver(void *start) : base(static_cast<unsigned char *>(start))
	{
	}

	template <typename Element>
	Element *
	take(uint64_t count)
	{
		uint64_t	at = used;

		/* As aligned as an allocation, whatever is put there. */
		used += divide_up(count * sizeof(Element), 256) * 256;
		return base == nullptr ? nullptr :
			reinterpret_cast<Element *>(base + at);
	}

	uint64_t
	bytes() const
	{
		return used;
	}

private:
	unsigned char *base;
	uint64_t	used = 0;
};

/* Rows whose start bits one block handles: a word of 32 bits a thread. */
constexpr unsigned starts_tile_rows = simple_threads * 32;

struct Workspace
{
	Pairs		sorted;
	Pairs		spare;
	Segment    *segments[2];	/* of even and odd levels */
	Tile	   *tiles[2];
	LeafLists	leaves;
	Range	   *long_runs;
	uint32_t   *starts;			/* one bit a row, see runs.cuh */
	uint32_t   *first_starts;	/* one a tile of start bits */
	Control    *control;
	const uint64_t **word_slabs;
	const uint64_t **end_slabs;

	/* Most segments that a level can have: all are longer than a leaf. */
	static uint64_t
	max_segments(uint64_t nrows)
	{
		return nrows / (leaf_rows + 1);
	}

	/* Most tiles of a level, the last of each segment partly filled. */
	static uint64_t
	max_tiles(uint64_t nrows)
	{
		return nrows / tile_rows + max_segments(nrows);
	}

	/* Leaves that the levels between two looks of the host can yield. */
	static uint64_t
	max_new_leaves(uint64_t nrows)
	{
		return levels_per_look * 2 * max_segments(nrows);
	}

	/*
	 * Lays out all but the order for nrows rows and so many words; returns
	 * the bytes it takes.  With a null base it only counts them.
	 */
	uint64_t
	lay_out(void *base, uint64_t nrows, uint64_t nwords, uint64_t nends)
	{
		Carver		carver(base);

		sorted.words = carver.take<uint64_t>(nrows);
		spare.words = carver.take<uint64_t>(nrows);
		spare.rows = carver.take<uint32_t>(nrows);
		for (int parity = 0; parity < 2; parity++)
		{
			segments[parity] = carver.take<Segment>(max_segments(nrows));
			tiles[parity] = carver.take<Tile>(max_tiles(nrows));
		}
		for (Leaf *&list : leaves.leaves)
			list = carver.take<Leaf>(max_new_leaves(nrows));
		long_runs = carver.take<Range>(max_segments(nrows));
		starts = carver.take<uint32_t>(divide_up(nrows, 32));
		first_starts = carver.take<uint32_t>(divide_up(nrows,
													   starts_tile_rows));
		control = carver.take<Control>(1);
		word_slabs = carver.take<const uint64_t *>(SlabArray::table_entries(nwords));
		end_slabs = carver.take<const uint64_t *>(SlabArray::table_entries(nends));
		return carver.bytes();
	}

	Level
	level(unsigned number) const
	{
		unsigned	parity = number % 2;

		return {segments[parity], tiles[parity], &control->levels[parity]};
	}

	/*
	 * Lists for runs.  Between two sorts nothing lives in the spare array,
	 * and its words have room for any number of short runs there can be: a
	 * run has two rows at least, and one of a higher class more than the
	 * class below allows.
	 */
	RunLists
	run_lists(uint64_t nrows) const
	{
		Leaf	   *room = reinterpret_cast<Leaf *>(spare.words);
		RunLists	lists;

		static_assert(sizeof(Leaf) == sizeof(*spare.words), "one a row fits");

		/* One row alone is a run only before the first word is looked at. */
		lists.shorts.leaves[TINY_LEAF] = room;
		lists.shorts.leaves[MEDIUM_LEAF] = room + divide_up(nrows, 2);
		lists.shorts.leaves[LARGE_LEAF] = room + divide_up(nrows, 2) +
			nrows / (tiny_leaf_rows + 1);
		lists.longs = long_runs;
		return lists;
	}
};

}								/* namespace gpusort */

#endif							/* GPUSORT_WORKSPACE_CUH */
