/*-------------------------------------------------------------------------
 *
 * gpusort.cu
 *	  The product as a contender, through its C interface.
 *
 * The interface takes keys from pinned memory, so restore() begins a new job
 * and takes all keys through the host, and find_result() fetches the order the
 * same way.  Neither is timed.  What is, device_sort_perform(), goes from keys that
 * lie on the device to their order on the device; it makes the row numbers
 * itself and waits for the device at its end.
 *
 * Keys of 4 bytes are sorted as the extension passes them on: as words whose
 * other bytes are zero.
 *
 *-------------------------------------------------------------------------
 */
#include <algorithm>

#include "../../../kernels/device_sort.h"
#include "../contender.h"
#include "working_items.cuh"

namespace bench
{

#ifdef CUDA_ON_CPU

constexpr uint64_t chunk_words = 512;

#else

constexpr uint64_t chunk_words = UINT64_C(1) << 22;

#endif

/* Rows of which all keys fit into a chunk, whatever their lengths. */
constexpr uint32_t chunk_rows = chunk_words / KEY_MAX_WORDS;

/* Pinned memory of the host. */
template <typename Element>
class PinnedArray
{
public:
	PinnedArray() = default;
	PinnedArray(const PinnedArray &) = delete;
	PinnedArray &operator=(const PinnedArray &) = delete;

	~PinnedArray()
	{
		if (elements != nullptr)
			(void) cudaFreeHost(elements);
	}

	bool
	allocate(const Queue &queue, uint64_t count)
	{
		void	   *memory;

		if (!queue.did(cudaMallocHost(&memory, count * sizeof(Element)),
					   "allocating pinned memory"))
			return false;
		elements = static_cast<Element *>(memory);
		return true;
	}

	Element    *
	get() const
	{
		return elements;
	}

private:
	Element    *elements = nullptr;
};

static __global__ void __launch_bounds__(numbering_threads)
widen_keys(const uint32_t *keys, uint32_t n, uint64_t *words)
{
	uint32_t	place = blockIdx.x * numbering_threads + threadIdx.x;

	if (place < n)
		words[place] = static_cast<uint64_t>(keys[place]) << 32;
}

class GpusortJob : public Job
{
public:
	GpusortJob(const Queue &its_queue, const Input &its_input,
			   DeviceAlgorithm its_algorithm) :
		queue(its_queue), input(its_input), keys(its_input.keys),
		algorithm(its_algorithm),
		shape{keys.width == 4 ? 1 : keys.width / 8, false},
		rows(its_queue), wide_keys(its_queue)
	{
	}

	~GpusortJob() override
	{
		device_sort_end(sort_job);
	}

	uint64_t
	extra_bytes() const override
	{
		bool		is_text = keys.width == text_width;
		uint64_t	nwords = is_text ? keys.bytes / sizeof(uint64_t) :
			static_cast<uint64_t>(keys.n) * shape.fixed_words;

		uint64_t	bytes = algorithm == DEVICE_SORT_BITONIC ?
			device_sort_memory_in_place(&shape, keys.n, nwords) :
			device_sort_memory(&shape, keys.n, nwords);

		return bytes - input.bytes() -
			(is_text ? keys.n * sizeof(uint64_t) : 0);
	}

	bool
	prepare() override
	{
		return rows.allocate(keys.n) &&
			wide_keys.allocate(keys.width == 4 ? chunk_rows : 0) &&
			words.allocate(queue, chunk_words) &&
			ends.allocate(queue, chunk_rows) &&
			order.allocate(queue, chunk_rows);
	}

	bool
	restore() override
	{
		device_sort_end(sort_job);
		sort_job = device_sort_begin(device, &shape, algorithm, queue.error);
		if (sort_job == nullptr)
			return false;
		first_word = 0;
		for (uint32_t row = 0; row < keys.n; row += chunk_rows)
			if (!push(row, std::min(chunk_rows, keys.n - row)))
				return false;
		return true;
	}

	bool
	sort() override
	{
		return device_sort_perform(sort_job, UINT64_MAX, queue.error);
	}

	bool
	find_result(Sorted *sorted) override
	{
		for (uint32_t row = 0; row < keys.n; row += chunk_rows)
		{
			uint32_t	count = std::min(chunk_rows, keys.n - row);

			if (!device_sort_pull(sort_job, row, count, order.get(),
								  queue.error) ||
				!queue.did(cudaMemcpyAsync(rows.get() + row, order.get(),
										   count * sizeof(uint32_t),
										   cudaMemcpyHostToDevice,
										   queue.stream),
						   "copying an order") ||
				!queue.did(cudaStreamSynchronize(queue.stream),
						   "copying an order"))
				return false;
		}
		*sorted = {nullptr, rows.get()};
		return true;
	}

private:
	/* Takes the keys of "count" rows to the job. */
	bool
	push(uint32_t row, uint32_t count)
	{
		const uint64_t *from = static_cast<const uint64_t *>(keys.keys) +
			first_word;
		uint64_t	nwords = static_cast<uint64_t>(count) * shape.fixed_words;
		uint64_t	ticket;

		if (keys.width == text_width)
		{
			if (!fetch(ends.get(), keys.ends + row, count))
				return false;
			nwords = ends.get()[count - 1] - first_word;
		}
		if (keys.width == 4)
		{
			from = wide_keys.get();
			if (!queue.launch("widening keys", widen_keys,
							  divide_up(count, numbering_threads),
							  numbering_threads,
							  static_cast<const uint32_t *>(keys.keys) + row,
							  count, wide_keys.get()))
				return false;
		}
		first_word += nwords;
		return fetch(words.get(), from, nwords) &&
			device_sort_push(sort_job, words.get(), nwords,
							 keys.width == text_width ? ends.get() : nullptr,
							 count, &ticket, queue.error) &&
			device_sort_wait_pushed(sort_job, ticket, queue.error);
	}

	/* Copies words from the device and waits for them. */
	bool
	fetch(uint64_t *to, const uint64_t *from, uint64_t count)
	{
		return queue.did(cudaMemcpyAsync(to, from, count * sizeof(uint64_t),
										 cudaMemcpyDeviceToHost,
										 queue.stream), "fetching keys") &&
			queue.did(cudaStreamSynchronize(queue.stream), "fetching keys");
	}

	Queue		queue;
	Input		input;
	KeyArray	keys;
	DeviceAlgorithm algorithm;
	KeyShape	shape;
	DeviceSort *sort_job = nullptr;
	uint64_t	first_word = 0;		/* of the next rows to be pushed */
	DeviceArray<uint32_t> rows;
	DeviceArray<uint64_t> wide_keys;
	PinnedArray<uint64_t> words;
	PinnedArray<uint64_t> ends;
	PinnedArray<uint32_t> order;
};

/* For keys of all widths; it always gives row numbers. */
class GpusortContender : public Contender
{
public:
	GpusortContender(const char *its_name, DeviceAlgorithm its_algorithm) :
		Contender(Kind::PRODUCT, its_name), algorithm(its_algorithm)
	{
	}

	std::unique_ptr<Job>
	make_job(const Queue &queue, const Input &input) const override
	{
		if (!input.has_rows)
			return nullptr;
		return std::make_unique<GpusortJob>(queue, input, algorithm);
	}

private:
	DeviceAlgorithm algorithm;
};

static const GpusortContender gpusort("gpusort", DEVICE_SORT_AUTO);
static const GpusortContender quicksort("gpusort quicksort",
										DEVICE_SORT_QUICKSORT);
static const GpusortContender radix("gpusort radix", DEVICE_SORT_RADIX);
static const GpusortContender bitonic("gpusort bitonic", DEVICE_SORT_BITONIC);

}								/* namespace bench */
