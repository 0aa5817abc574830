/*-------------------------------------------------------------------------
 *
 * hold_memory.cu
 *	  Another process on a GPU, which takes device memory: for "neighbour".
 *
 *		nvcc -O2 -o hold_memory hold_memory.cu
 *
 * Takes orders from standard input, a line each: a number is the percentage of
 * the free memory of device 0 to take, in place of what it has; 100 is all that
 * can be had.  Answers with a line "held BYTES free BYTES" when that is done, or
 * "failed REASON", and ends with its input.
 *
 *-------------------------------------------------------------------------
 */
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

/* It is taken in pieces of so much, and then of ever less. */
constexpr size_t largest_piece = size_t(1) << 30;
constexpr size_t least_piece = size_t(1) << 20;

static std::vector<void *> pieces;
static size_t held;

static bool
succeeded(cudaError_t code, const char *what)
{
	if (code == cudaSuccess)
		return true;
	printf("failed %s: %s\n", what, cudaGetErrorString(code));
	(void) cudaGetLastError();
	return false;
}

static bool
let_go()
{
	for (void *piece : pieces)
	{
		if (!succeeded(cudaFree(piece), "cudaFree"))
			return false;
	}
	pieces.clear();
	held = 0;
	return true;
}

/* Takes a piece; *none is true if there is none of that size. */
static bool
take_piece(size_t bytes, bool *none)
{
	void	   *piece;
	cudaError_t code = cudaMalloc(&piece, bytes);

	*none = code == cudaErrorMemoryAllocation;
	if (*none)
	{
		(void) cudaGetLastError();
		return true;
	}
	if (!succeeded(code, "cudaMalloc"))
		return false;
	pieces.push_back(piece);
	held += bytes;
	return true;
}

static bool
take(size_t wanted)
{
	size_t		piece = largest_piece;
	bool		none;

	while (held < wanted && piece >= least_piece)
	{
		if (wanted - held < piece)
			piece /= 2;
		else if (!take_piece(piece, &none))
			return false;
		else if (none)
			piece /= 2;
	}
	return true;
}

static bool
obey(int percent)
{
	size_t		free_bytes;
	size_t		total_bytes;

	if (!let_go() ||
		!succeeded(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo") ||
		!take(free_bytes / 100 * percent) ||
		!succeeded(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo"))
		return false;
	printf("held %zu free %zu\n", held, free_bytes);
	return true;
}

int
main()
{
	char		line[32];

	setvbuf(stdout, nullptr, _IOLBF, 0);
	if (!succeeded(cudaSetDevice(0), "cudaSetDevice"))
		return 1;
	while (fgets(line, sizeof(line), stdin) != nullptr)
	{
		if (!obey(atoi(line)))
			return 1;
	}
	return let_go() ? 0 : 1;
}
