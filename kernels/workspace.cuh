/*-------------------------------------------------------------------------
 *
 * workspace.cuh
 *	  The data of a sort: pairs, segments, buckets, tiles, leaves and tie
 *	  groups, and where each of these lies in device memory.
 *
 * The terms, from the bottom up:
 *
 *	pair		a working word (64 bits made of a row's key) and the row's
 *				number
 *	tile		the pairs of a segment that one block partitions at once
 *	segment		neighbouring pairs that are to be partitioned by splitters
 *	bucket		those of a segment's pairs that lie between two splitters
 *	leaf		a bucket so small that it is finished in shared memory
 *	tie group	neighbouring rows whose keys agree in all words compared so far
 *
 * Partitioning moves pairs from one of two arrays to the other, level after
 * level.  Leaves and buckets of equal words go straight to the order.  A place
 * belongs to the same bucket in both arrays and in the order.  An entry of the
 * order has ORDER_TIE set if its working word equals the word of the entry
 * before.
 *
 * All memory but the order, counters and tables is one allocation, so that a
 * small job pays for only one.  A row takes 12 bytes in each array of pairs and about half a byte
 * in all lists together.  Places and row numbers are 32 bits: SORT_MAX_ROWS
 * fits.
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

/* The order as kernels write it. */
struct Order
{
	uint32_t   *entries;
	uint32_t	tie;			/* ORDER_TIE, or 0 if nobody asks for ties */
	uint32_t   *has_ties;		/* set to 1 where an entry is a tie */

	__device__ __forceinline__ void
	put(uint32_t place, uint32_t row, bool is_tie) const
	{
		entries[place] = row | (is_tie ? tie : 0);
	}

	/* Reads it first: if all threads wrote it, each would wait for others. */
	__device__ __forceinline__ void
	note_ties(bool found) const
	{
		if (found && *has_ties == 0)
			*has_ties = 1;
	}
};

struct Range
{
	uint32_t	begin;
	uint32_t	length;
};

/*
 * A segment's buckets have numbers first_bucket and up in the level's lists.
 * Its splitters are multiples of 2^shift if they have a narrow tree, see
 * splitters.cuh.
 */
struct Segment
{
	uint32_t	begin;
	uint32_t	length;
	uint32_t	first_bucket;
	uint16_t	log_buckets;
	uint16_t	shift;			/* or no_narrow_tree */
};

constexpr uint16_t no_narrow_tree = 64;

/* Pairs of a segment, from number * tile_rows on. */
struct Tile
{
	uint32_t	segment;
	uint32_t	number;
};

struct Leaf
{
	uint32_t	begin;
	uint16_t	length;
	uint16_t	array;			/* number of the array with its pairs */
};

/*
 * Leaves are sorted by a warp, or by blocks of four sizes.  A class's kernel can
 * sort smaller leaves as well.
 */
enum LeafClass
{
	TINY_LEAF,
	SMALL_LEAF,
	MEDIUM_LEAF,
	LARGE_LEAF,
	HUGE_LEAF,
	LEAF_CLASSES
};

static __host__ __device__ __forceinline__ LeafClass
leaf_class(uint32_t length)
{
	return length <= tiny_leaf_rows ? TINY_LEAF :
		length <= small_leaf_rows ? SMALL_LEAF :
		length <= medium_leaf_rows ? MEDIUM_LEAF :
		length <= large_leaf_rows ? LARGE_LEAF : HUGE_LEAF;
}

/* One list of leaves a class. */
struct LeafLists
{
	Leaf	   *leaves[LEAF_CLASSES];
};

struct LeafCounts
{
	uint32_t	count[LEAF_CLASSES];
};

/* A level's work list: segments, the buckets and the tiles of all of them. */
struct LevelCounts
{
	uint32_t	segments;
	uint32_t	buckets;
	uint32_t	tiles;
};

struct Level
{
	Segment    *segments;
	Tile	   *tiles;
	LevelCounts *counts;

	/* By number of bucket. */
	uint64_t   *splitters;		/* the least word that belongs to it */
	uint32_t   *lengths;		/* its rows, counted */
	uint32_t   *begins;			/* its first place */
	uint32_t   *filled;			/* rows put there so far */
};

/*
 * Tie groups that are to be sorted by their next word: groups of a leaf's
 * length by class, and the others.
 */
struct TieGroupLists
{
	LeafLists	shorts;
	Range	   *longs;
};

struct TieGroupCounts
{
	LeafCounts	shorts;
	uint32_t	longs;

	bool
	none() const
	{
		for (uint32_t count : shorts.count)
			if (count != 0)
				return false;
		return longs == 0;
	}
};

/*
 * Up to 32 neighbouring bits of a word, as digits of a radix sort: from bit
 * number "shift" on, as many digits as it takes to have all bits that vary, or
 * none.
 */
struct BitWindow
{
	uint32_t	shift;
	uint32_t	digits;
	uint32_t	digit_bits;		/* of each */
};

/* The survey's findings about all keys, see key_survey.cuh. */
struct KeySurvey
{
	uint64_t	any[KEY_MAX_WORDS]; /* bits that are set in some key */
	uint64_t	all_but[KEY_MAX_WORDS]; /* bits that are not set in some key */
	uint32_t	falls;			/* some key is less than the one before */
	uint32_t	rises;			/* some key is greater */
	uint32_t	repeats;		/* some key is equal */
	uint32_t	is_broken;		/* the keys' ends make no sense */
	BitWindow	window;			/* whose digits were counted */

	/* Whether keys are in order already, or in the opposite one. */
	__host__ __device__ bool
	are_ordered() const
	{
		return falls == 0 || rises == 0;
	}
};

/* The findings of the check of the order, see order_check.cuh. */
struct OrderCheck
{
	uint64_t	excess;			/* 0 if every row is there once */
	uint32_t	disorder;		/* an entry cannot come after the one before */
};

/* All that the host ever reads back, and all counters of the lists. */
struct Control
{
	KeySurvey	survey;
	OrderCheck	check;
	LevelCounts levels[2];
	LeafCounts	leaves;
	TieGroupCounts tie_groups;
	uint32_t	has_ties;
	uint32_t	surveyed;		/* blocks that have finished the survey */
};

/* The counters of a radix sort, see digit_pass.cuh. */
struct DigitCounts
{
	uint32_t	counts[max_digit_counts];	/* keys with a value of a digit */
	uint32_t	filled[max_digit_values];	/* pairs moved by the first pass */
	uint32_t	tiles[max_digits];	/* taken by blocks of a pass so far */
	uint64_t	written;		/* what the last pass has, see report_order() */
};

/* What is cleared before a sort; and room for the table of few slabs of keys. */
struct Counters
{
	Control		control;
	DigitCounts digits;
	uint64_t   *few_slabs[max_few_slabs];
};

/* Allots parts of one allocation, or only adds up their sizes. */
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

		/* Aligned as an allocation is, whatever is put there. */
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
	Pairs		pairs[2];
	Level		levels[2];		/* even and odd ones */
	LeafLists	leaves;
	Range	   *long_groups;
	uint32_t   *starts;			/* one bit a row, see tie_groups.cuh */
	uint32_t   *first_starts;	/* one a tile of start bits */
	Control    *control = nullptr;
	DigitCounts *digits = nullptr;

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

	/* Most buckets of a level, see choose_log_buckets(). */
	static uint64_t
	max_level_buckets(uint64_t nrows)
	{
		return 2 * (nrows / wanted_leaf_rows) + 4 * max_segments(nrows);
	}

	/* Leaves of a class that the levels between two reads can yield. */
	static uint64_t
	max_leaves(uint64_t nrows)
	{
		return max_levels_per_read * max_level_buckets(nrows);
	}

	/* Counters are not in the workspace, since they are needed before it. */
	void
	use_counters(Counters *counters)
	{
		control = &counters->control;
		digits = &counters->digits;
	}

	/*
	 * Lays out all but the order for nrows rows; returns the bytes that it takes.
	 * With a null base it only counts them.
	 */
	uint64_t
	lay_out(void *base, uint64_t nrows)
	{
		Carver		carver(base);

		for (Pairs &array : pairs)
		{
			array.words = carver.take<uint64_t>(nrows);
			array.rows = carver.take<uint32_t>(nrows);
		}
		for (int parity = 0; parity < 2; parity++)
		{
			Level	   &level = levels[parity];

			level.segments = carver.take<Segment>(max_segments(nrows));
			level.tiles = carver.take<Tile>(max_tiles(nrows));
			level.splitters = carver.take<uint64_t>(max_level_buckets(nrows));
			level.lengths = carver.take<uint32_t>(max_level_buckets(nrows));
			level.begins = carver.take<uint32_t>(max_level_buckets(nrows));
			level.filled = carver.take<uint32_t>(max_level_buckets(nrows));
			level.counts = control == nullptr ? nullptr :
				&control->levels[parity];
		}
		for (Leaf *&list : leaves.leaves)
			list = carver.take<Leaf>(max_leaves(nrows) + 1);
		long_groups = carver.take<Range>(max_segments(nrows));
		starts = carver.take<uint32_t>(divide_up(nrows, 32));
		first_starts = carver.take<uint32_t>(divide_up(nrows,
													   starts_tile_rows));
		return carver.bytes();
	}

	/*
	 * Lists for tie groups.  They lie in the words of the second array of
	 * pairs, where nothing lives between two sorts.  These have room for all
	 * short groups that there can be: a listed group has at least two rows,
	 * and a group of a higher class has more rows than the class below allows.
	 */
	TieGroupLists
	tie_group_lists(uint64_t nrows) const
	{
		Leaf	   *room = reinterpret_cast<Leaf *>(pairs[1].words);
		TieGroupLists	lists;

		static_assert(sizeof(Leaf) == sizeof(*pairs[1].words),
					  "one a row fits");
		lists.shorts.leaves[TINY_LEAF] = room;
		room += nrows / 2;
		lists.shorts.leaves[SMALL_LEAF] = room;
		room += nrows / (tiny_leaf_rows + 1);
		lists.shorts.leaves[MEDIUM_LEAF] = room;
		room += nrows / (small_leaf_rows + 1);
		lists.shorts.leaves[LARGE_LEAF] = room;
		room += nrows / (medium_leaf_rows + 1);
		lists.shorts.leaves[HUGE_LEAF] = room;
		lists.longs = long_groups;
		return lists;
	}
};

/* Reads the control block; the queue is empty afterwards. */
static inline bool
read_control(const Queue &queue, const Workspace &space, Control *control)
{
	return queue.did(cudaMemcpyAsync(control, space.control, sizeof(*control),
									 cudaMemcpyDeviceToHost, queue.stream),
					 "reading a sort's counters") &&
		queue.did(cudaStreamSynchronize(queue.stream), "sorting");
}

}								/* namespace gpusort */

#endif							/* GPUSORT_WORKSPACE_CUH */
