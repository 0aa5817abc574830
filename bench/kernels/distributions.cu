/*-------------------------------------------------------------------------
 *
 * distributions.cu
 *	  Making keys on the device.
 *
 * Each key is a function of its place.  Keys of the nearly sorted kinds are
 * made sorted, and then pairs of them exchanged: the places are divided into
 * twice as many strata as there are to be exchanges, and each exchange is
 * between a random place of an even stratum and one of an odd stratum, which
 * no other exchange touches.
 *
 *-------------------------------------------------------------------------
 */
#include <cmath>
#include <numeric>

#include "../lineage/scan.cuh"
#include "distributions.h"
#include "random_bits.cuh"
#include "texts.cuh"

namespace bench
{

#ifdef CUDA_ON_CPU

constexpr unsigned threads = 64;

#else

constexpr unsigned threads = 256;

#endif

/* The papers' p, and its logarithm. */
constexpr unsigned blocks_log2 = 7;
constexpr uint64_t blocks = 1 << blocks_log2;

/* The first draw for the words behind the first one. */
constexpr unsigned first_draw_behind = 8;

static const char *const names[DISTRIBUTIONS] = {
	"uniform",
	"gaussian",
	"zero",
	"bucket",
	"staggered",
	"sorted",
	"duplicates",
	"zipf",
	"reversed",
	"swapped-0.1%",
	"swapped-1%",
	"composite",
	"words",
	"urls",
};

const char *
distribution_name(Distribution distribution)
{
	return names[distribution];
}

bool
distribution_has(Distribution distribution, unsigned width)
{
	if (distribution == WORDS || distribution == URLS)
		return width == text_width;
	if (distribution == COMPOSITE)
		return width == 16;
	return width != text_width;
}

/* What decides about a key: a number at its beginning, or at its end. */
struct KeyNumber
{
	uint64_t	value;
	bool		is_leading;
};

/* A random number of one of the papers' p ranges. */
static __device__ __forceinline__ uint64_t
number_in_range(uint64_t range, uint64_t random)
{
	return range << (64 - blocks_log2) | random >> blocks_log2;
}

static __device__ __forceinline__ uint64_t
ascending_number(uint64_t place, uint64_t n, uint64_t random)
{
	uint64_t	step = UINT64_MAX / n;

	return place * step + random % step;
}

/* The smallest power of two that is not below number > 0, its logarithm. */
static __device__ __forceinline__ unsigned
log2_up(uint32_t number)
{
	return 32 - __clz(number - 1);
}

static __device__ __forceinline__ uint64_t
mean_of_four(uint64_t place)
{
	uint64_t	sum = 0;

	for (unsigned draw = 0; draw < 4; draw++)
		sum += random_bits(place, draw) / 4;
	return sum;
}

/* A number k <= n, with probability log((k + 1) / k) / log(n + 1). */
static __device__ __forceinline__ uint64_t
zipf_number(uint64_t n, uint64_t random)
{
	double		uniform = static_cast<double>(random >> 11) * 0x1p-53;
	uint64_t	number = static_cast<uint64_t>(exp(uniform * log(n + 1.0)));

	return number > n ? n : number;
}

static __device__ __forceinline__ KeyNumber
key_number(Distribution distribution, uint64_t place, uint64_t n)
{
	uint64_t	random = random_bits(place, 0);
	uint64_t	block = place * blocks / n;

	switch (distribution)
	{
		case GAUSSIAN:
			return {mean_of_four(place), true};
		case BUCKET:
			return {number_in_range(place * blocks * blocks / n % blocks,
									random), true};
		case STAGGERED:
			return {number_in_range(block < blocks / 2 ? 2 * block + 1 :
									2 * block - blocks, random), true};
		case SORTED:
		case SWAPPED_1000TH:
		case SWAPPED_100TH:
			return {ascending_number(place, n, random), true};
		case REVERSED:
			return {ascending_number(n - 1 - place, n, random), true};
		case DUPLICATES:
			return {log2_up(static_cast<uint32_t>(n - place)), false};
		case ZIPF:
			return {zipf_number(n, random), false};
		case COMPOSITE:
			return {random % 100, true};
		default:
			return {random, true};
	}
}

static __global__ void __launch_bounds__(threads)
make_narrow_keys(Distribution distribution, uint32_t n, uint32_t *keys)
{
	uint32_t	place = blockIdx.x * threads + threadIdx.x;

	if (place >= n)
		return;

	KeyNumber	number = key_number(distribution,
									distribution == ZERO ? 0 : place, n);

	keys[place] = static_cast<uint32_t>(number.value >>
										(number.is_leading ? 32 : 0));
}

static __global__ void __launch_bounds__(threads)
make_keys(Distribution distribution, uint32_t n, unsigned key_words,
		  uint64_t *words)
{
	uint32_t	place = blockIdx.x * threads + threadIdx.x;

	if (place >= n)
		return;

	uint64_t   *key = words + static_cast<uint64_t>(place) * key_words;
	uint32_t	source = distribution == ZERO ? 0 : place;
	KeyNumber	number = key_number(distribution, source, n);
	unsigned	deciding = number.is_leading ? 0 : key_words - 1;

	for (unsigned i = 0; i < key_words; i++)
		key[i] = i == deciding ? number.value :
			number.is_leading ? random_bits(source, first_draw_behind + i) : 0;
}

/* Makes one exchange a thread, of keys of key_units times 4 bytes. */
static __global__ void __launch_bounds__(threads)
exchange_keys(uint32_t *keys, unsigned key_units, uint32_t exchanges,
			  uint32_t stratum_length, uint32_t multiplier)
{
	uint32_t	number = blockIdx.x * threads + threadIdx.x;

	if (number >= exchanges)
		return;

	uint64_t	partner = static_cast<uint64_t>(number) * multiplier %
		exchanges;
	uint64_t	place = 2 * static_cast<uint64_t>(number) * stratum_length +
		random_bits(number, 1) % stratum_length;
	uint64_t	other = (2 * partner + 1) * stratum_length +
		random_bits(number, 2) % stratum_length;

	for (unsigned i = 0; i < key_units; i++)
	{
		uint32_t	unit = keys[place * key_units + i];

		keys[place * key_units + i] = keys[other * key_units + i];
		keys[other * key_units + i] = unit;
	}
}

static bool
exchange_some(const Queue &queue, uint32_t *keys, unsigned width, uint32_t n,
			  uint32_t exchanges)
{
	/* Multiples of such a number pass through all partners, far apart. */
	uint32_t	multiplier = exchanges / 8 * 5 + 1;

	if (exchanges == 0)
		return true;
	while (std::gcd(multiplier, exchanges) != 1)
		multiplier++;
	return queue.launch("exchanging keys", exchange_keys,
						divide_up(exchanges, threads), threads, keys,
						width / 4, exchanges, n / (2 * exchanges), multiplier);
}

static __global__ void __launch_bounds__(threads)
measure_texts(Distribution distribution, uint32_t n, Vocabulary vocabulary,
			  uint32_t *lengths)
{
	uint32_t	place = blockIdx.x * threads + threadIdx.x;

	if (place < n)
		lengths[place] = write_text(distribution, place, vocabulary,
									TextWriter(nullptr));
}

static __global__ void __launch_bounds__(threads)
make_texts(Distribution distribution, uint32_t n, Vocabulary vocabulary,
		   const uint32_t *starts, uint64_t *words, uint64_t *ends)
{
	uint32_t	place = blockIdx.x * threads + threadIdx.x;

	if (place < n)
		ends[place] = starts[place] +
			write_text(distribution, place, vocabulary,
					   TextWriter(words + starts[place]));
}

bool
KeyStore::generate(const Queue &queue, Distribution distribution,
				   unsigned width, uint32_t n)
{
	numbers.release();
	words.release();
	ends.release();
	array = {nullptr, nullptr, 0, n, width};
	return width == text_width ? generate_texts(queue, distribution) :
		generate_numbers(queue, distribution);
}

bool
KeyStore::generate_numbers(const Queue &queue, Distribution distribution)
{
	uint32_t	n = array.n;
	unsigned	width = array.width;
	uint64_t	grid = divide_up(n, threads);
	uint32_t	exchanges = distribution == SWAPPED_1000TH ? n / 1000 :
		distribution == SWAPPED_100TH ? n / 100 : 0;
	uint32_t   *units;

	array.bytes = static_cast<uint64_t>(n) * width;
	if (width == 4)
	{
		if (!numbers.allocate(n) ||
			!queue.launch("making keys", make_narrow_keys, grid, threads,
						  distribution, n, numbers.get()))
			return false;
		units = numbers.get();
	}
	else
	{
		if (!words.allocate(array.bytes / sizeof(uint64_t)) ||
			!queue.launch("making keys", make_keys, grid, threads,
						  distribution, n, width / 8, words.get()))
			return false;
		units = reinterpret_cast<uint32_t *>(words.get());
	}
	array.keys = units;
	return exchange_some(queue, units, width, n, exchanges);
}

bool
KeyStore::generate_texts(const Queue &queue, Distribution distribution)
{
	const Vocabulary vocabulary;
	uint32_t	n = array.n;
	uint64_t	grid = divide_up(n, threads);
	DeviceArray<uint32_t> starts(queue);
	DeviceArray<uint32_t> part_sums(queue);
	uint32_t	last_start;
	uint32_t	last_length;

	if (n > UINT32_MAX / max_text_words)
		return gpusort::refuse(queue.error, "too many texts");
	if (!starts.allocate(n) ||
		!part_sums.allocate(lineage::scan::max_parts) ||
		!queue.launch("measuring texts", measure_texts, grid, threads,
					  distribution, n, vocabulary, starts.get()) ||
		!queue.did(cudaMemcpyAsync(&last_length, starts.get() + n - 1,
								   sizeof(last_length),
								   cudaMemcpyDeviceToHost, queue.stream),
				   "measuring texts") ||
		!lineage::scan::sums_before(queue, starts.get(), n,
									part_sums.get()) ||
		!queue.did(cudaMemcpyAsync(&last_start, starts.get() + n - 1,
								   sizeof(last_start),
								   cudaMemcpyDeviceToHost, queue.stream),
				   "measuring texts") ||
		!queue.did(cudaStreamSynchronize(queue.stream), "measuring texts"))
		return false;

	uint64_t	nwords = static_cast<uint64_t>(last_start) + last_length;

	if (!words.allocate(nwords) || !ends.allocate(n) ||
		!queue.launch("making texts", make_texts, grid, threads, distribution,
					  n, vocabulary, starts.get(), words.get(), ends.get()))
		return false;
	array.keys = words.get();
	array.ends = ends.get();
	array.bytes = nwords * sizeof(uint64_t);
	return true;
}

}								/* namespace bench */
