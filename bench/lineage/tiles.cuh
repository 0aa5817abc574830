/*-------------------------------------------------------------------------
 *
 * tiles.cuh
 *	  Segments of an array, divided into tiles, for kernels over many segments.
 *
 * A kernel with a block a tile serves all segments in one launch.  A list of
 * tiles says to each block what it is to work on.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LINEAGE_TILES_CUH
#define GPUSORT_LINEAGE_TILES_CUH

#include "lineage.cuh"

namespace lineage
{

/* Neighbouring items, and where their tiles are in the list. */
struct Segment
{
	uint32_t	begin;
	uint32_t	length;
	uint32_t	first_tile;
	uint32_t	tiles;
};

/* A part of a segment: its which-th tile. */
struct Tile
{
	uint32_t	segment;
	uint32_t	number;
};

/* Lists the tiles of a segment.  Called by all threads of a block. */
static __device__ __forceinline__ void
list_tiles(const Segment &segment, uint32_t index, Tile *tiles)
{
	for (uint32_t number = threadIdx.x; number < segment.tiles;
		 number += blockDim.x)
		tiles[segment.first_tile + number] = {index, number};
}

/* Items of a segment's tile; all but the last have "tile_items". */
static __device__ __forceinline__ uint32_t
tile_length(const Segment &segment, uint32_t number, uint32_t tile_items)
{
	uint32_t	left = segment.length - number * tile_items;

	return left < tile_items ? left : tile_items;
}

}								/* namespace lineage */

#endif							/* GPUSORT_LINEAGE_TILES_CUH */
