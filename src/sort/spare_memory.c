/*-------------------------------------------------------------------------
 *
 * spare_memory.c
 *	  Memory of sorts that the process keeps for its next one.
 *
 * Memory that has been touched is worth more than new memory.  But a session
 * may be idle for long, so what it keeps goes with DISCARD ALL, and its pages
 * when it has not sorted for a minute.
 *
 * An idle process waits for its client, and nothing that an extension could ask
 * for is called then but the handler of a timeout, in the middle of anything.
 * Memory cannot be freed there.  What can be done is to tell the kernel that
 * the pages are not needed: the memory stays allocated, and where it is wanted
 * again it is like new.  So the handler only looks at the list of what is kept,
 * which stands in the first page of each, while nobody is changing it.
 *
 * What is freed the C library keeps, too, as long as there is something behind it
 * that is not.  So when much has been freed it is told at the end of the transaction
 * to give pages back.  That takes time, as does touching them again: not
 * for each sort.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "access/xact.h"
#include "nodes/parsenodes.h"
#include "utils/memutils.h"
#include "utils/timeout.h"

#include "sort/spare_memory.h"

/* How long a process may keep it. */
#define KEPT_MILLISECONDS	(60 * 1000)

/* So much may be freed before pages are given back. */
#define MOST_FREED_BYTES	((Size) 16 * 1024 * 1024)

/* What is kept begins with this. */
typedef struct Spare
{
	struct Spare *next;
	Size		bytes;
} Spare;

static MemoryContext context = NULL;

static Spare *spares = NULL;
static Size spare_bytes = 0;
static Size freed_bytes = 0;	/* freed since pages were given back */

/* Does the list stay as it is? */
static volatile sig_atomic_t watched = false;
static TimeoutId timeout;
static Size page_bytes;

/* Has the kernel take the pages of what is kept, but for each first one. */
static void
give_pages_back(void)
{
	for (Spare *spare = spares; spare != NULL; spare = spare->next)
	{
		char	   *start = (char *) TYPEALIGN(page_bytes, spare + 1);
		char	   *end = (char *) spare + spare->bytes;

		end = (char *) TYPEALIGN_DOWN(page_bytes, end);
		if (start < end)
			(void) madvise(start, end - start, MADV_DONTNEED);
	}
}

/* The handler of the timeout, to which a signal handler's rules apply. */
static void
end_watch(void)
{
	if (watched)
		give_pages_back();
}

void
spare_memory_watch(void)
{
	if (spares == NULL)
		return;
	watched = true;
	enable_timeout_after(timeout, KEPT_MILLISECONDS);
}

void
spare_memory_count_freed(Size bytes)
{
	freed_bytes += bytes;
}

/* Has the C library give back the pages of what has been freed. */
static void
give_freed_back(void)
{
	freed_bytes = 0;
#ifdef __GLIBC__
	(void) malloc_trim(0);
#endif
}

/* At the end of a transaction, when its queries have freed their memory. */
static void
end_transaction(XactEvent event, void *argument)
{
	if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT)
		return;
	if (freed_bytes > MOST_FREED_BYTES)
		give_freed_back();
	/* an error has put an end to all timeouts */
	if (event == XACT_EVENT_ABORT)
		spare_memory_watch();
}

void
spare_memory_begin(void)
{
	if (context != NULL)
		return;
	context = AllocSetContextCreate(TopMemoryContext,
									"gpusort blocks of rows",
									ALLOCSET_SMALL_SIZES);
	page_bytes = sysconf(_SC_PAGESIZE);
	timeout = RegisterTimeout(USER_TIMEOUT, end_watch);
	RegisterXactCallback(end_transaction, NULL);
}

void *
spare_memory_create(Size bytes)
{
	return MemoryContextAllocHuge(context, bytes);
}

void *
spare_memory_get(Size bytes)
{
	watched = false;
	for (Spare **spare = &spares; *spare != NULL; spare = &(*spare)->next)
	{
		Spare	   *found = *spare;

		if (found->bytes == bytes)
		{
			*spare = found->next;
			spare_bytes -= bytes;
			return found;
		}
	}
	return NULL;
}

void
spare_memory_limit(Size most)
{
	watched = false;
	while (spare_bytes > most)
	{
		Spare	   *spare = spares;

		spares = spare->next;
		spare_bytes -= spare->bytes;
		spare_memory_count_freed(spare->bytes);
		pfree(spare);
	}
}

void
spare_memory_put(void *memory, Size bytes)
{
	Spare	   *spare = memory;

	watched = false;
	spare->next = spares;
	spare->bytes = bytes;
	spares = spare;
	spare_bytes += bytes;
	spare_memory_limit(SPARE_MOST_BYTES);
}

void
spare_memory_drop(void)
{
	/* free() alone may leave them with the process */
	give_pages_back();
	spare_memory_limit(0);
}

bool
spare_memory_is_discarded(const Node *statement)
{
	return IsA(statement, DiscardStmt) &&
		((const DiscardStmt *) statement)->target == DISCARD_ALL;
}

void
spare_memory_discard(void)
{
	spare_memory_drop();
	if (freed_bytes > 0)
		give_freed_back();
}
