/*-------------------------------------------------------------------------
 *
 * order_checker.h
 *	  The check of the order by itself (kernels/order_check.cuh), for orders
 *	  that tests make.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ORDER_CHECKER_H
#define GPUSORT_ORDER_CHECKER_H

#include <numeric>

#include "../../kernels/order_check.cuh"
#include "test_sort.h"

using gpusort::OrderCheck;

/* Keys in device memory, whose order may be checked many times. */
class OrderChecker
{
public:
	explicit OrderChecker(const TestKeys &test_keys)
		: keys(test_keys), nrows(static_cast<uint32_t>(keys.nrows))
	{
		int			count = 1;

		(void) cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount,
									  0);
		multiprocessors = static_cast<unsigned>(count);
		(void) cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
		words = copy(keys.words.data(), keys.words.size());
		ends = copy(keys.ends.data(), keys.ends.size());
		word_slabs = copy_slabs(words, keys.words.size());
		end_slabs = copy_slabs(ends, keys.ends.size());
		order = copy<uint32_t>(nullptr, nrows);
		result = copy<OrderCheck>(nullptr, 1);
	}

	OrderChecker(const OrderChecker &) = delete;
	OrderChecker &operator=(const OrderChecker &) = delete;

	~OrderChecker()
	{
		for (void *memory : memories)
			(void) cudaFreeAsync(memory, stream);
		(void) cudaStreamSynchronize(stream);
		(void) cudaStreamDestroy(stream);
	}

	/* Copies an order to the device. */
	void
	put(const std::vector<uint32_t> &entries)
	{
		(void) cudaMemcpyAsync(order, entries.data(),
							   nrows * sizeof(uint32_t),
							   cudaMemcpyHostToDevice, stream);
		(void) cudaStreamSynchronize(stream);
	}

	/* Lets the device check what was put there, by the stream. */
	void
	check() const
	{
		DeviceError error = {};
		gpusort::Queue queue = {stream, multiprocessors, &error};

		(void) cudaMemsetAsync(result, 0, sizeof(*result), stream);
		CHECK(gpusort::check_order(queue,
								   {{{word_slabs}, {end_slabs},
									 keys.words.size(), nrows,
									 keys.shape.fixed_words}, false, 0, false},
								   keys.shape.mark_ties, order, result),
			  "%s", error.text);
	}

	/* What it found. */
	OrderCheck
	found() const
	{
		OrderCheck	check = {1, 1};

		(void) cudaMemcpyAsync(&check, result, sizeof(check),
							   cudaMemcpyDeviceToHost, stream);
		CHECK(cudaStreamSynchronize(stream) == cudaSuccess,
			  "checking an order fails");
		return check;
	}

	OrderCheck
	find(const std::vector<uint32_t> &entries)
	{
		put(entries);
		check();
		return found();
	}

	/*
	 * The right order, made by the host, with ties marked if that is wanted.
	 */
	std::vector<uint32_t>
	right_order() const
	{
		std::vector<uint32_t> rows(nrows);
		std::vector<uint32_t> entries;

		std::iota(rows.begin(), rows.end(), 0);
		std::sort(rows.begin(), rows.end(), [this](uint32_t a, uint32_t b) {
			return keys.compare(a, b) < 0;
		});
		for (uint32_t i = 0; i < nrows; i++)
			entries.push_back(rows[i] |
							  (keys.shape.mark_ties && i > 0 &&
							   keys.compare(rows[i - 1], rows[i]) == 0 ?
							   ORDER_TIE : 0));
		return entries;
	}

	const TestKeys &keys;
	cudaStream_t stream;

private:
	/* Device memory with these elements, or with any. */
	template <typename Element>
	Element *
	copy(const Element *elements, uint64_t count)
	{
		void	   *memory = nullptr;

		(void) cudaMallocAsync(&memory, (count + 1) * sizeof(Element), stream);
		if (elements != nullptr)
			(void) cudaMemcpyAsync(memory, elements, count * sizeof(Element),
								   cudaMemcpyHostToDevice, stream);
		(void) cudaStreamSynchronize(stream);
		memories.push_back(memory);
		return static_cast<Element *>(memory);
	}

	/* A table as of slabs, although all are one. */
	uint64_t *const *
	copy_slabs(uint64_t *start, uint64_t count)
	{
		std::vector<uint64_t *> slabs;

		for (uint64_t at = 0; at < count; at += gpusort::slab_words)
			slabs.push_back(start + at);
		return copy(slabs.data(), slabs.size());
	}

	uint32_t	nrows;
	unsigned	multiprocessors;
	std::vector<void *> memories;
	uint64_t   *words;
	uint64_t   *ends;
	uint64_t *const *word_slabs;
	uint64_t *const *end_slabs;
	uint32_t   *order;
	OrderCheck *result;
};

#endif							/* GPUSORT_ORDER_CHECKER_H */
