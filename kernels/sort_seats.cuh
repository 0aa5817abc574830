/*-------------------------------------------------------------------------
 *
 * sort_seats.cuh
 *	  What a sort has beside the memory of its job: some memory of the host for
 *	  its findings.
 *
 * To clear counters by a memset, and to copy them back, takes longer than to
 * sort a few thousand rows.  So the sorts of a process share a few seats.  The
 * last block of a kernel writes what was found to the seat's report, in pinned
 * memory: the survey, and the end of some sorts.  A seat also has counters for a
 * sort in one launch (joint_job.cuh).
 *
 * A sort that has not reported may still be at work, even if waiting for it
 * has failed.  Its seat is never used again, and no report is ever freed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SORT_SEATS_CUH
#define GPUSORT_SORT_SEATS_CUH

#include <atomic>

#include "workspace.cuh"

namespace gpusort
{

/* What a sort finds, as bits. */
enum SortFinding : uint32_t
{
	SORT_FALLS = 1 << 0,		/* some key is less than the one before */
	SORT_RISES = 1 << 1,		/* some key is greater */
	SORT_REPEATS = 1 << 2,		/* some key is equal */
	SORT_GIVEN_UP = 1 << 3,
	SORT_EXCESS = 1 << 4,		/* not every row is there once */
	SORT_DISORDER = 1 << 5,		/* keys are out of order */
	SORT_DONE = 1 << 6			/* all work is done */
};

static __device__ __forceinline__ uint32_t
finding_if(bool is_found, SortFinding finding)
{
	return is_found ? finding : 0u;
}

/* Whether keys are in order already, or in the opposite one. */
static __host__ __device__ __forceinline__ bool
are_ordered(uint32_t findings)
{
	return (findings & SORT_FALLS) == 0 || (findings & SORT_RISES) == 0;
}

/* Reports do not share a line of a cache. */
struct alignas(64) SortReport
{
	volatile uint32_t findings; /* written once, with SORT_DONE */
	volatile uint32_t is_surveyed;	/* written after the survey */
	KeySurvey	survey;
};

/* A seat, or none if there is no report. */
struct SortSeat
{
	unsigned	number;
	SortReport *report;
};

static_assert(sort_seats > 0 && sort_seats <= 64, "a bit for each seat");

/* The seats of the process. */
class SortSeats
{
public:
	/* Makes the reports; not by two threads at once. */
	bool
	prepare(DeviceError *error)
	{
		void	   *memory;

		if (reports != nullptr)
			return true;
		if (!succeeded(cudaMallocHost(&memory,
									  sort_seats * sizeof(SortReport)),
					   error, "allocating pinned memory for reports"))
			return false;
		reports = static_cast<SortReport *>(memory);
		return true;
	}

	/* Takes a seat, if one is left. */
	SortSeat
	take()
	{
		uint64_t	left = free_seats;
		unsigned	number;

		do
			if (left == 0)
				return {0, nullptr};
		while (!free_seats.compare_exchange_weak(left, left & (left - 1)));
		number = static_cast<unsigned>(__builtin_ctzll(left));
		reports[number].findings = 0;
		reports[number].is_surveyed = 0;
		return {number, &reports[number]};
	}

	/* Gives a seat back, if it is one. */
	void
	give_back(const SortSeat &seat)
	{
		if (seat.report != nullptr)
			free_seats |= UINT64_C(1) << seat.number;
	}

private:
	SortReport *reports = nullptr;
	std::atomic<uint64_t> free_seats{UINT64_MAX >> (64 - sort_seats)};
};

}								/* namespace gpusort */

#endif							/* GPUSORT_SORT_SEATS_CUH */
