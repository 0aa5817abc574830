/*-------------------------------------------------------------------------
 *
 * joint_seats.cuh
 *	  What a sort in one launch has beside the memory of its job: counters, and
 *	  a word of the host's memory for its findings.
 *
 * To clear counters by a memset, and to copy them back, takes longer than to
 * sort a few thousand rows.  So the sorts of a process share a few seats.  The
 * counters of a seat are zero, on each device, whenever nobody has the seat:
 * the last block of a sort clears them, and then writes what was found to the
 * seat's report, in pinned memory.
 *
 * A sort that has not reported may still be at work, even if waiting for it
 * has failed.  Its seat is never used again, and no report is ever freed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_JOINT_SEATS_CUH
#define GPUSORT_JOINT_SEATS_CUH

#include <atomic>

#include "workspace.cuh"

namespace gpusort
{

/* What a sort in one launch finds, as bits. */
enum JointFinding : uint32_t
{
	JOINT_FALLS = 1 << 0,		/* some key is less than the one before */
	JOINT_RISES = 1 << 1,		/* some key is greater */
	JOINT_REPEATS = 1 << 2,		/* some key is equal */
	JOINT_GIVEN_UP = 1 << 3,
	JOINT_EXCESS = 1 << 4,		/* not every row is there once */
	JOINT_DISORDER = 1 << 5,	/* keys are out of order */
	JOINT_DONE = 1 << 6			/* all work is done */
};

static __device__ __forceinline__ uint32_t
finding_if(bool is_found, JointFinding finding)
{
	return is_found ? finding : 0u;
}

/* Whether keys are in order already, or in the opposite one. */
static __host__ __device__ __forceinline__ bool
are_ordered(uint32_t findings)
{
	return (findings & JOINT_FALLS) == 0 || (findings & JOINT_RISES) == 0;
}

struct JointCounters
{
	uint32_t	arrived;		/* blocks at barriers of the grid */
	uint32_t	finished;		/* blocks */
	uint32_t	findings;
	OrderCheck	check;
	uint32_t	lengths[1u << max_log_joint_buckets];	/* of buckets */
};

/* Of each seat; a device has its own, which are zero when it is made ready. */
static __device__ JointCounters joint_counters[joint_seats];

/* Reports do not share a line of a cache. */
struct alignas(64) JointReport
{
	volatile uint32_t findings;
};

static_assert(joint_seats > 0 && joint_seats <= 64, "a bit for each seat");

/* The seats of the process. */
class JointSeats
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
									  joint_seats * sizeof(JointReport)),
					   error, "allocating pinned memory for reports"))
			return false;
		reports = static_cast<JointReport *>(memory);
		return true;
	}

	/* Takes a seat, if one is left. */
	bool
	take(unsigned *seat)
	{
		uint64_t	left = free_seats;

		do
			if (left == 0)
				return false;
		while (!free_seats.compare_exchange_weak(left, left & (left - 1)));
		*seat = static_cast<unsigned>(__builtin_ctzll(left));
		reports[*seat].findings = 0;
		return true;
	}

	void
	give_back(unsigned seat)
	{
		free_seats |= UINT64_C(1) << seat;
	}

	JointReport *
	report(unsigned seat) const
	{
		return &reports[seat];
	}

private:
	JointReport *reports = nullptr;
	std::atomic<uint64_t> free_seats{UINT64_MAX >> (64 - joint_seats)};
};

}								/* namespace gpusort */

#endif							/* GPUSORT_JOINT_SEATS_CUH */
