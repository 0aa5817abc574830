/*-------------------------------------------------------------------------
 *
 * lineage_contender.cuh
 *	  Any algorithm of ../../lineage/ as a contender.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_BENCH_LINEAGE_CONTENDER_CUH
#define GPUSORT_BENCH_LINEAGE_CONTENDER_CUH

#include "../../lineage/lineage.cuh"
#include "../contender.h"
#include "working_items.cuh"

namespace bench
{

template <template <typename, bool> class Algorithm, typename Key,
		  bool has_rows>
class LineageJob : public Job
{
public:
	LineageJob(const Queue &its_queue, const KeyArray &its_keys) :
		queue(its_queue), keys(its_keys), items(its_queue), extra(its_queue)
	{
	}

	uint64_t
	extra_bytes() const override
	{
		return Sort::extra_bytes(keys.n);
	}

	bool
	prepare() override
	{
		return items.allocate(keys.n) && extra.allocate(extra_bytes());
	}

	bool
	restore() override
	{
		return items.restore(queue, keys);
	}

	bool
	sort() override
	{
		return Sort::sort(queue, {items.keys(), items.rows()}, keys.n,
						  extra.get());
	}

	bool
	find_result(Sorted *sorted) override
	{
		*sorted = {items.keys(), items.rows()};
		return true;
	}

private:
	using Sort = Algorithm<Key, has_rows>;

	Queue		queue;
	KeyArray	keys;
	WorkingItems<Key, has_rows> items;
	DeviceArray<unsigned char> extra;
};

/* For keys of 4 and 8 bytes, alone and with row numbers. */
template <template <typename, bool> class Algorithm>
class LineageContender : public Contender
{
public:
	LineageContender() :
		Contender(Kind::LINEAGE, Algorithm<uint32_t, true>::name)
	{
	}

	std::unique_ptr<Job>
	make_job(const Queue &queue, const Input &input) const override
	{
		return input.keys.width == 4 ? make_job_for<uint32_t>(queue, input) :
			input.keys.width == 8 ? make_job_for<uint64_t>(queue, input) :
			nullptr;
	}

private:
	template <typename Key>
	static std::unique_ptr<Job>
	make_job_for(const Queue &queue, const Input &input)
	{
		if (input.has_rows)
			return std::make_unique<LineageJob<Algorithm, Key, true>>(
				queue, input.keys);
		return std::make_unique<LineageJob<Algorithm, Key, false>>(
			queue, input.keys);
	}
};

}								/* namespace bench */

#endif							/* GPUSORT_BENCH_LINEAGE_CONTENDER_CUH */
