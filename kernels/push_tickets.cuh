/*-------------------------------------------------------------------------
 *
 * push_tickets.cuh
 *	  Which pushes of a job are complete.
 *
 * A push returns while its copy is under way.  It leaves an event on the job's
 * stream, and returns a ticket.  The caller waits for the ticket before it
 * uses the pushed memory again.  Tickets are the numbers of the pushes from 1
 * on, and pushes complete in their order, so events are a queue.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_PUSH_TICKETS_CUH
#define GPUSORT_PUSH_TICKETS_CUH

#include <cstdint>
#include <deque>
#include <vector>

#include "launch.cuh"

namespace gpusort
{

class PushTickets
{
public:
	/*
	 * Records that a push is complete when all work put on the queue so far is
	 * complete; may throw std::bad_alloc.
	 */
	bool
	record(const Queue &queue)
	{
		cudaEvent_t event;

		if (idle_events.empty())
		{
			/* Room first, for every event that may become idle. */
			idle_events.reserve(pushes.size() + 1);
			if (!queue.did(cudaEventCreateWithFlags(&event,
													cudaEventDisableTiming |
													cudaEventBlockingSync),
						   "creating an event"))
				return false;
			idle_events.push_back(event);
		}

		event = idle_events.back();
		if (!queue.did(cudaEventRecord(event, queue.stream),
					   "recording an event"))
			return false;
		pushes.push_back(event);
		idle_events.pop_back();
		last_ticket++;
		return true;
	}

	/* The ticket of the last push. */
	uint64_t
	last() const
	{
		return last_ticket;
	}

	bool
	is_complete(uint64_t ticket) const
	{
		return ticket <= waited_for();
	}

	/* Waits for the push with this ticket, and all before it. */
	bool
	wait(const Queue &queue, uint64_t ticket)
	{
		if (!queue.did(cudaEventSynchronize(pushes[ticket - waited_for() - 1]),
					   "copying keys to the device"))
			return false;
		while (waited_for() < ticket)
		{
			idle_events.push_back(pushes.front());
			pushes.pop_front();
		}
		return true;
	}

	void
	release()
	{
		for (cudaEvent_t event : pushes)
			(void) cudaEventDestroy(event);
		for (cudaEvent_t event : idle_events)
			(void) cudaEventDestroy(event);
	}

private:
	uint64_t
	waited_for() const
	{
		return last_ticket - pushes.size();
	}

	/* One event a push that nobody has waited for, oldest first. */
	std::deque<cudaEvent_t> pushes;
	std::vector<cudaEvent_t> idle_events;
	uint64_t	last_ticket = 0;
};

}								/* namespace gpusort */

#endif							/* GPUSORT_PUSH_TICKETS_CUH */
