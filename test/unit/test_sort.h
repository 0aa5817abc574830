/*-------------------------------------------------------------------------
 *
 * test_sort.h
 *	  Sorting keys on a device through device_sort.h, and checking the order.
 *
 * An order is right if it is a permutation of the rows, no key is smaller than
 * the one before it, and the marks of ties are exactly where a key equals the
 * one before.  Every order is checked for all of that, against the host's
 * keys.  So are the keys that a job keeps, if it keeps them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_TEST_SORT_H
#define GPUSORT_TEST_SORT_H

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#include "../../kernels/device_sort.h"
#include "test_keys.h"
#include "test_report.h"

/* Pinned memory, from which the interface takes pushes. */
template <typename Element>
class PinnedArray
{
public:
	explicit PinnedArray(uint64_t count)
	{
		void	   *memory;

		if (cudaMallocHost(&memory, (count + 1) * sizeof(Element)) !=
			cudaSuccess)
		{
			fprintf(stderr, "no pinned memory\n");
			exit(2);
		}
		elements = static_cast<Element *>(memory);
	}

	PinnedArray(const PinnedArray &) = delete;
	PinnedArray &operator=(const PinnedArray &) = delete;

	~PinnedArray()
	{
		(void) cudaFreeHost(elements);
	}

	Element    *
	get() const
	{
		return elements;
	}

private:
	Element    *elements;
};

/* A chunk of keys being pushed, as in the ring of gpusortd. */
struct Chunk
{
	Chunk(uint64_t nwords, uint64_t nrows) : words(nwords), ends(nrows)
	{
	}

	PinnedArray<uint64_t> words;
	PinnedArray<uint64_t> ends;
	uint64_t	ticket = 0;
};

/* The pinned memory of a client: two chunks, used in turn, and one to pull to. */
struct Staging
{
	explicit Staging(uint64_t batch_rows)
		: chunks{{batch_rows * KEY_MAX_WORDS, batch_rows},
				 {batch_rows * KEY_MAX_WORDS, batch_rows}},
		  part(batch_rows)
	{
	}

	Chunk		chunks[2];
	PinnedArray<uint32_t> part;
};

inline const struct
{
	const char *name;
	DeviceAlgorithm number;
}			algorithms[] = {
	{"auto", DEVICE_SORT_AUTO},
	{"quicksort", DEVICE_SORT_QUICKSORT},
	{"radix sort", DEVICE_SORT_RADIX},
	{"bitonic sort, in place", DEVICE_SORT_BITONIC},
};

/* How a sort is done. */
struct SortWay
{
	DeviceAlgorithm algorithm;
	uint64_t	memory;			/* that it may use */
	uint64_t	batch_rows;		/* pushed or pulled at once, at most */
};

/* How the sorts of the tests are done. */
inline DeviceAlgorithm algorithm = DEVICE_SORT_AUTO;
inline uint64_t memory = UINT64_MAX;

/* Whether jobs keep their keys, which are then pulled as well. */
inline bool keeps_keys = false;

/* The method of the calling thread's last sort. */
inline thread_local const char *method;

/*
 * Pulls "count" keys that a job has kept, and fails the test unless they are
 * those of the order.  True if the keys could be pulled.
 */
inline bool
pull_and_check_keys(DeviceSort *sort, const TestKeys &keys,
					const std::vector<uint32_t> &order, uint64_t first,
					uint32_t step, uint32_t count, uint32_t key_words,
					DeviceError *error)
{
	PinnedArray<uint64_t> pulled(static_cast<uint64_t>(count) * key_words);

	if (!device_sort_pull_keys(sort, first, step, count, key_words,
							   pulled.get(), error))
		return false;
	for (uint64_t i = 0; i < static_cast<uint64_t>(count) * key_words; i++)
	{
		uint64_t	row = ORDER_ROW(order[first + i / key_words * step]);
		uint64_t	at = keys.begin(row) + i % key_words;

		if (pulled.get()[i] != (at < keys.end(row) ? keys.words[at] : 0))
			return wrong("word %llu of %u keys of %u words from %llu on is wrong",
						(unsigned long long) i, count, key_words,
						(unsigned long long) first);
	}
	return true;
}

/* Pulls all keys, and every seventh, as they are and truncated or padded. */
inline bool
check_kept_keys(DeviceSort *sort, const TestKeys &keys,
				const std::vector<uint32_t> &order, DeviceError *error)
{
	uint32_t	nrows = static_cast<uint32_t>(keys.nrows);
	uint32_t	whole = keys.shape.fixed_words != 0 ?
		keys.shape.fixed_words : KEY_MAX_WORDS;

	return nrows == 0 ||
		(pull_and_check_keys(sort, keys, order, 0, 1, nrows, whole, error) &&
		 pull_and_check_keys(sort, keys, order, nrows / 2, 1,
							 nrows - nrows / 2, 1, error) &&
		 pull_and_check_keys(sort, keys, order, nrows / 3, 7,
							 (nrows - nrows / 3 + 6) / 7, whole, error));
}

/*
 * Sorts the keys, pushed in batches that must have room, and pulls the order
 * in parts.  True if all of it went well.
 */
inline bool
sort_keys(const TestKeys &keys, const SortWay &way, Staging &staging,
		  std::vector<uint32_t> &order, DeviceError *error)
{
	Random		random = {keys.nrows};
	DeviceSort *sort = device_sort_begin(0, &keys.shape, way.algorithm, error);
	bool		good = sort != nullptr;

	order.clear();
	for (Chunk &chunk : staging.chunks)
		chunk.ticket = 0;
	for (uint64_t first = 0, number = 0; good && first < keys.nrows; number++)
	{
		Chunk	   &chunk = staging.chunks[number % 2];
		uint64_t	nrows = std::min(keys.nrows - first,
									 1 + random.below(way.batch_rows));
		uint64_t	begin = keys.begin(first);
		uint64_t	nwords = keys.end(first + nrows - 1) - begin;

		good = device_sort_wait_pushed(sort, chunk.ticket, error);
		if (!good)
			break;
		std::copy_n(&keys.words[begin], nwords, chunk.words.get());
		if (!keys.ends.empty())
			std::copy_n(&keys.ends[first], nrows, chunk.ends.get());
		good = device_sort_push(sort, chunk.words.get(), nwords,
								keys.ends.empty() ? nullptr : chunk.ends.get(),
								static_cast<uint32_t>(nrows), &chunk.ticket,
								error);
		first += nrows;
	}

	if (good && keeps_keys)
		device_sort_keep_keys(sort);
	good = good && device_sort_perform(sort, way.memory, error);
	if (good)
		method = device_sort_method(sort);
	while (good && order.size() < keys.nrows)
	{
		uint64_t	count = std::min(keys.nrows - order.size(),
									 way.batch_rows);

		good = device_sort_pull(sort, order.size(),
								static_cast<uint32_t>(count),
								staging.part.get(), error);
		if (good)
			order.insert(order.end(), staging.part.get(),
						 staging.part.get() + count);
	}
	good = good &&
		(!keeps_keys || check_kept_keys(sort, keys, order, error));
	device_sort_end(sort);
	return good;
}

/* The same in the way of the present tests, with pinned memory of its own. */
inline bool
sort_keys(const TestKeys &keys, uint64_t batch_rows,
		  std::vector<uint32_t> &order, DeviceError *error)
{
	Staging		staging(batch_rows);

	return sort_keys(keys, {algorithm, memory, batch_rows}, staging, order,
					 error);
}

/* Fails the test unless the order is right; says whether it is. */
inline bool
check_order(const TestKeys &keys, const std::vector<uint32_t> &order,
			const char *what)
{
	std::vector<bool> seen(keys.nrows, false);

	if (order.size() != keys.nrows)
		return wrong("%s: %zu entries", what, order.size());
	for (uint64_t i = 0; i < keys.nrows; i++)
	{
		uint32_t	row = ORDER_ROW(order[i]);
		bool		is_tie = (order[i] & ORDER_TIE) != 0;

		if (row >= keys.nrows || seen[row])
			return wrong("%s, %llu rows: entry %llu is row %u, %s", what,
						(unsigned long long) keys.nrows,
						(unsigned long long) i, row,
						row >= keys.nrows ? "which is none" : "again");
		seen[row] = true;

		int			comparison = i == 0 ? -1 :
			keys.compare(ORDER_ROW(order[i - 1]), row);

		if (comparison > 0)
			return wrong("%s, %llu rows: entry %llu is out of order", what,
						(unsigned long long) keys.nrows,
						(unsigned long long) i);
		if (is_tie != (keys.shape.mark_ties && comparison == 0))
			return wrong("%s, %llu rows: entry %llu is%s marked as a tie",
						what, (unsigned long long) keys.nrows,
						(unsigned long long) i, is_tie ? "" : " not");
	}
	return true;
}

inline void
sort_and_check(const TestKeys &keys, uint64_t batch_rows, const char *what)
{
	std::vector<uint32_t> order;
	DeviceError error;

	if (sort_keys(keys, batch_rows, order, &error))
		(void) check_order(keys, order, what);
	else
		(void) wrong("%s: %s", what, error.text);
}

inline void
sort_and_check(const TestKeys &keys, const char *what)
{
	sort_and_check(keys, std::max<uint64_t>(1000, keys.nrows / 3), what);
}

#endif							/* GPUSORT_TEST_SORT_H */
