/*-------------------------------------------------------------------------
 *
 * ring.c
 *	  The memory through which a job exchanges keys and order.
 *
 * To make a ring and to pin it takes longer than to sort a million rows, so
 * some rings are kept for the jobs to come.  A ring is not kept if a client
 * still has it open or mapped.  Each client gets an open file of its own on
 * the memory, and the kernel grants a lease on the memory only when no other
 * file is open.  A ring is cleared before the next client gets it.
 *
 * A client can punch holes into the memory, and the pages that then come in
 * their place are not the pinned ones.  That only spoils the client's own job,
 * and a ring that lacks pages is not used again.  (No seal forbids holes and
 * still allows the memory to be mapped for writing.)
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include "ring.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../common/protocol.h"
#include "clock.h"
#include "failed_call.h"
#include "peak.h"
#include "shortage.h"

/* Memory of the rings that are kept while no job uses them. */
#define KEPT_BYTES		((size_t) 256 << 20)

/* Rings that are kept however long no job uses them. */
#define KEPT_RINGS		2

#define ENDS_BYTES		(RING_ENDS * CHUNK_VARIABLE_ROWS * sizeof(uint64_t))

/* How long to wait for a ring of idle clients. */
#define WAIT_MILLISECONDS	100

static const Engine *engine;
static uint32_t ring_chunks;
static size_t most_rings;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t given_back = PTHREAD_COND_INITIALIZER;
static size_t ring_count;		/* rings that exist */
static Ring *pool;
static size_t pool_count;
static Peak in_use;				/* rings that are not in the pool */

static size_t
ring_bytes(void)
{
	return (size_t) ring_chunks * CHUNK_BYTES;
}

void
ring_init(const Engine *used_engine, uint32_t nchunks, uint64_t limit_bytes)
{
	engine = used_engine;
	ring_chunks = nchunks;
	most_rings = limit_bytes / (ring_bytes() + ENDS_BYTES);
	if (most_rings == 0)
		most_rings = 1;
}

/* Frees memory that is pinned, if there is any. */
static void
free_pinned(void *memory, size_t bytes)
{
	if (memory == NULL)
		return;
	if (engine->unpin != NULL)
		engine->unpin(memory);
	munmap(memory, bytes);
}

static void
uncount_ring(void)
{
	pthread_mutex_lock(&mutex);
	ring_count--;
	pthread_cond_signal(&given_back);
	pthread_mutex_unlock(&mutex);
}

static void
free_ring(Ring *ring)
{
	free_pinned(ring->ends, ENDS_BYTES);
	free_pinned(ring->memory, ring_bytes());
	if (ring->descriptor >= 0)
		close(ring->descriptor);
	free(ring->used_bytes);
	free(ring);
	uncount_ring();
}

/* Says what size of ring could not be made, and why. */
static void
explain_failure(DeviceError *error, const char *why)
{
	char		reason[DEVICE_ERROR_SIZE];

	snprintf(reason, sizeof(reason), "%s", why);
	snprintf(error->text, sizeof(error->text),
			 "could not make staging memory of %zu MB: %.180s",
			 ring_bytes() >> 20, reason);
}

/* The same after a system call that has failed. */
static void
explain_failed_call(DeviceError *error, const char *call)
{
	char		reason[FAILED_CALL_SIZE];

	describe_failed_call(reason, call, errno);
	explain_failure(error, reason);
}

/* Another file that is open on the same memory; -1 on failure. */
static int
open_again(int descriptor)
{
	char		path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
	return open(path, O_RDWR | O_CLOEXEC);
}

/*
 * Makes a file in memory; -1 on failure, with the reason.  Opens the file anew
 * by its path, since leases do not count what memfd_create() has opened.
 */
static int
make_file(DeviceError *error)
{
	int			made = memfd_create("gpusort ring",
									MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int			descriptor;

	if (made < 0)
	{
		explain_failed_call(error, "memfd_create");
		return -1;
	}
	descriptor = open_again(made);
	if (descriptor < 0)
		explain_failed_call(error, "open of /proc/self/fd (is /proc mounted?)");
	close(made);
	return descriptor;
}

/* Maps memory for reading and writing; NULL on failure. */
static void *
map_memory(size_t bytes, int flags, int descriptor)
{
	void	   *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags,
							  descriptor, 0);

	return memory != MAP_FAILED ? memory : NULL;
}

/*
 * Makes the memory of a ring.  All pages are allocated at once, since memory
 * that is missing later would be a signal, not an error.  More than half of
 * the machine's memory is not even tried, since the kernel would rather kill a
 * process than refuse.
 */
static bool
make_memory(Ring *ring, DeviceError *error)
{
	size_t		machine_bytes = (size_t) sysconf(_SC_PHYS_PAGES) *
		sysconf(_SC_PAGESIZE);

	if (ring_bytes() > machine_bytes / 2)
	{
		explain_failure(error, "that is more than half of the memory of this machine");
		return false;
	}
	ring->descriptor = make_file(error);
	if (ring->descriptor < 0)
		return false;
	errno = posix_fallocate(ring->descriptor, 0, ring_bytes());
	if (errno != 0)
	{
		explain_failed_call(error, "fallocate");
		return false;
	}

	/* a client must not be able to shrink the memory */
	if (fcntl(ring->descriptor, F_ADD_SEALS,
			  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
	{
		explain_failed_call(error, "fcntl");
		return false;
	}
	ring->memory = map_memory(ring_bytes(), MAP_SHARED, ring->descriptor);
	if (ring->memory == NULL)
	{
		explain_failed_call(error, "mmap");
		return false;
	}
	return true;
}

/* Makes a ring, which has been counted. */
static Ring *
make_ring(DeviceError *error)
{
	Ring	   *ring = calloc(1, sizeof(Ring));

	if (ring == NULL)
	{
		explain_failure(error, strerror(errno));
		uncount_ring();
		return NULL;
	}
	ring->descriptor = -1;
	ring->nchunks = ring_chunks;
	ring->used_bytes = calloc(ring_chunks, sizeof(uint32_t));
	if (ring->used_bytes == NULL)
	{
		explain_failure(error, strerror(errno));
		free_ring(ring);
		return NULL;
	}
	if (!make_memory(ring, error))
	{
		free_ring(ring);
		return NULL;
	}
	if (engine->pin != NULL && !engine->pin(ring->memory, ring_bytes(), error))
	{
		explain_failure(error, error->text);
		/* free_ring() would unpin the memory */
		munmap(ring->memory, ring_bytes());
		ring->memory = NULL;
		free_ring(ring);
		return NULL;
	}
	return ring;
}

/*
 * Takes a ring from the pool, or counts one that may be made.  False if neither
 * is possible.  With the mutex held.
 */
static bool
find_ring(Ring **ring)
{
	*ring = pool;
	if (pool != NULL)
	{
		pool = pool->next;
		pool_count--;
	}
	else if (ring_count == most_rings)
		return false;
	else
		ring_count++;
	peak_note(&in_use, ring_count - pool_count);
	return true;
}

/* The same, waiting for what idle clients have.  With the mutex held. */
static bool
wait_for_ring(Ring **ring)
{
	struct timespec deadline;
	bool		found;

	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_nsec += WAIT_MILLISECONDS * 1000000;
	deadline.tv_sec += deadline.tv_nsec / 1000000000;
	deadline.tv_nsec %= 1000000000;
	shortage_begin(SCARCE_STAGING);
	while (!(found = find_ring(ring)) &&
		   pthread_cond_timedwait(&given_back, &mutex, &deadline) == 0)
		;
	shortage_end(SCARCE_STAGING);
	return found;
}

Ring *
ring_take(FailureCause *cause, DeviceError *error)
{
	Ring	   *ring;
	bool		is_held_idle;
	bool		found;

	pthread_mutex_lock(&mutex);
	is_held_idle = shortage_idle(SCARCE_STAGING) > 0;
	found = find_ring(&ring) || (is_held_idle && wait_for_ring(&ring));
	pthread_mutex_unlock(&mutex);
	if (!found)
	{
		*cause = FAILURE_FULL;
		snprintf(error->text, sizeof(error->text),
				 "all staging memory is in use by other sorts");
		return NULL;
	}
	*cause = FAILURE_FAULT;
	return ring != NULL ? ring : make_ring(error);
}

int
ring_open(const Ring *ring)
{
	return open_again(ring->descriptor);
}

uint64_t *
ring_ends(Ring *ring, DeviceError *error)
{
	void	   *memory;

	if (ring->ends != NULL)
		return ring->ends;
	memory = map_memory(ENDS_BYTES, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (memory == NULL)
		snprintf(error->text, sizeof(error->text), "gpusortd is out of memory");
	else if (engine->pin == NULL || engine->pin(memory, ENDS_BYTES, error))
		ring->ends = memory;
	else
		munmap(memory, ENDS_BYTES);
	return ring->ends;
}

void
ring_note_use(Ring *ring, uint32_t chunk, uint32_t bytes)
{
	if (ring->used_bytes[chunk] < bytes)
		ring->used_bytes[chunk] = bytes;
}

/* True if no one else has the memory open or mapped. */
static bool
is_ours_alone(const Ring *ring)
{
	return fcntl(ring->descriptor, F_SETLEASE, F_WRLCK) == 0 &&
		fcntl(ring->descriptor, F_SETLEASE, F_UNLCK) == 0;
}

/*
 * True if the memory has all its pages: no client has punched holes into it.
 */
static bool
is_whole(const Ring *ring)
{
	struct stat status;

	return fstat(ring->descriptor, &status) == 0 &&
		(size_t) status.st_blocks * 512 >= ring_bytes();
}

/* Clears what is left of a job. */
static void
clear(Ring *ring)
{
	for (uint32_t chunk = 0; chunk < ring->nchunks; chunk++)
	{
		memset(ring_chunk(ring, chunk), 0, ring->used_bytes[chunk]);
		ring->used_bytes[chunk] = 0;
	}
}

/*
 * Takes rings out of the pool until at most "most" rings exist; returns the
 * rings taken.
 */
static Ring *
take_surplus(uint64_t most)
{
	Ring	   *surplus = NULL;
	size_t		left = ring_count;

	for (; left > most && pool != NULL; left--)
	{
		Ring	   *ring = pool;

		pool = ring->next;
		pool_count--;
		ring->next = surplus;
		surplus = ring;
	}
	return surplus;
}

uint64_t
ring_release_idle(uint64_t delay)
{
	uint64_t	now = microseconds_now();
	uint64_t	left = UINT64_MAX;
	uint64_t	needed;
	Ring	   *surplus = NULL;

	pthread_mutex_lock(&mutex);
	if (pool_count > 0 && ring_count > KEPT_RINGS)
	{
		if (peak_ends(&in_use, ring_count - pool_count, now, delay, &needed))
			surplus = take_surplus(needed > KEPT_RINGS ? needed : KEPT_RINGS);
		left = in_use.since + delay - now;
	}
	pthread_mutex_unlock(&mutex);
	while (surplus != NULL)
	{
		Ring	   *ring = surplus;

		surplus = ring->next;
		free_ring(ring);
	}
	return left;
}

/*
 * Frees the pages of a ring, which a client that still has the memory mapped
 * would keep otherwise.  The client finds zeros there.
 */
static void
free_pages(const Ring *ring)
{
	(void) fallocate(ring->descriptor,
					 FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
					 ring_bytes());
}

void
ring_give_back(Ring *ring, bool is_read)
{
	bool		kept = is_ours_alone(ring) && is_whole(ring);

	if (kept)
		clear(ring);
	pthread_mutex_lock(&mutex);
	kept = kept && (pool_count + 1) * ring_bytes() <= KEPT_BYTES;
	if (kept)
	{
		ring->next = pool;
		pool = ring;
		pool_count++;
		pthread_cond_signal(&given_back);
	}
	pthread_mutex_unlock(&mutex);
	if (kept)
		return;
	if (!is_read)
		free_pages(ring);
	free_ring(ring);
}
