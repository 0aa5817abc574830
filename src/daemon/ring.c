/*-------------------------------------------------------------------------
 *
 * ring.c
 *	  The memory through which a job exchanges keys and order.
 *
 * To make a ring and to pin it takes longer than to sort a million rows, so
 * some are kept for the jobs to come.  A client is a backend of the same server
 * and does not touch a ring after it has closed its connection; which is all
 * that keeps it from the keys of the next job.
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
#include <unistd.h>

#include "../protocol.h"

/* Memory of the rings that are kept while no job uses them. */
#define KEPT_BYTES		((size_t) 256 << 20)

static const Engine *engine;
static uint32_t ring_chunks;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static Ring *pool;
static size_t pool_count;

void
ring_init(const Engine *used_engine, uint32_t nchunks)
{
	engine = used_engine;
	ring_chunks = nchunks;
}

static size_t
ring_bytes(void)
{
	return (size_t) ring_chunks * CHUNK_BYTES;
}

static void
free_ring(Ring *ring)
{
	if (ring->memory != NULL)
	{
		if (engine->unpin != NULL)
			engine->unpin(ring->memory);
		munmap(ring->memory, ring_bytes());
	}
	if (ring->descriptor >= 0)
		close(ring->descriptor);
	free(ring);
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

/*
 * Makes the memory of a ring.  It is allocated at once: memory that turns out
 * to be missing later would be a signal, not an error.  More than half of the
 * machine's is not even tried, since the kernel would rather kill than refuse.
 */
static bool
make_memory(Ring *ring, DeviceError *error)
{
	size_t		machine_bytes = (size_t) sysconf(_SC_PHYS_PAGES) *
		sysconf(_SC_PAGESIZE);
	int			failure;

	if (ring_bytes() > machine_bytes / 2)
	{
		explain_failure(error, "that is more than half of the memory of this machine");
		return false;
	}
	ring->descriptor = memfd_create("gpusort ring",
									MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (ring->descriptor < 0)
	{
		explain_failure(error, strerror(errno));
		return false;
	}
	failure = posix_fallocate(ring->descriptor, 0, ring_bytes());
	if (failure != 0)
	{
		explain_failure(error, strerror(failure));
		return false;
	}

	/* what a client does to the file must not take memory away under us */
	if (fcntl(ring->descriptor, F_ADD_SEALS,
			  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
	{
		explain_failure(error, strerror(errno));
		return false;
	}
	ring->memory = mmap(NULL, ring_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED,
						ring->descriptor, 0);
	if (ring->memory == MAP_FAILED)
	{
		ring->memory = NULL;
		explain_failure(error, strerror(errno));
		return false;
	}
	return true;
}

static Ring *
make_ring(DeviceError *error)
{
	Ring	   *ring = calloc(1, sizeof(Ring));

	if (ring == NULL)
	{
		explain_failure(error, strerror(errno));
		return NULL;
	}
	ring->descriptor = -1;
	ring->nchunks = ring_chunks;
	if (!make_memory(ring, error))
	{
		free_ring(ring);
		return NULL;
	}
	if (engine->pin != NULL && !engine->pin(ring->memory, ring_bytes(), error))
	{
		explain_failure(error, error->text);
		munmap(ring->memory, ring_bytes());
		ring->memory = NULL;
		free_ring(ring);
		return NULL;
	}
	return ring;
}

Ring *
ring_take(DeviceError *error)
{
	Ring	   *ring;

	pthread_mutex_lock(&mutex);
	ring = pool;
	if (ring != NULL)
	{
		pool = ring->next;
		pool_count--;
	}
	pthread_mutex_unlock(&mutex);
	return ring != NULL ? ring : make_ring(error);
}

void
ring_give_back(Ring *ring, bool client_is_gone)
{
	bool		kept;

	pthread_mutex_lock(&mutex);
	kept = client_is_gone && (pool_count + 1) * ring_bytes() <= KEPT_BYTES;
	if (kept)
	{
		ring->next = pool;
		pool = ring;
		pool_count++;
	}
	pthread_mutex_unlock(&mutex);
	if (!kept)
		free_ring(ring);
}
