/*-------------------------------------------------------------------------
 *
 * spare_memory.c
 *	  Memory of sorts that the process keeps for its next sort.
 *
 * Memory that has been touched is worth more than new memory.  But a session
 * may be idle for long.  So DISCARD ALL frees the kept memory, and its pages
 * go back to the kernel when the session has not sorted for a minute.
 *
 * While a process waits for its client, an extension is called only by a
 * timeout, whose handler may interrupt anything.  The handler cannot free
 * memory.  But it can tell the kernel that the pages are not needed: then the
 * memory stays allocated, and is like new when it is used again.  So the
 * handler only reads the list of kept memory, while nobody changes the list.
 * The entry of a piece of memory is in its first page.
 *
 * The C library, too, keeps freed memory as long as memory behind it is in
 * use.  So at the end of a transaction that has freed much, the library is
 * told to give pages back.  That takes time, as does touching new pages, so it
 * is not done after each sort.
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

/* How long an idle process keeps the pages. */
#define KEPT_MILLISECONDS	(60 * 1000)

/* The bytes that may be freed before pages are given back. */
#define MOST_FREED_BYTES	((Size) 16 * 1024 * 1024)

/* Kept memory begins with this. */
typedef struct Spare
{
	struct Spare *next;
	Size		bytes;
} Spare;

static MemoryContext context = NULL;

static Spare *spares = NULL;
static Size spare_bytes = 0;
static Size freed_bytes = 0;	/* freed since pages were given back */

/* The list stays as it is, so the handler may read it. */
static volatile sig_atomic_t watched = false;
static TimeoutId timeout;
static Size page_bytes;

/* Gives all pages of kept memory back to the kernel, except each first one. */
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

/* The handler of the timeout; the rules for signal handlers apply. */
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

/* Makes the C library give back the pages of freed memory. */
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
	/* an error has ended all timeouts */
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
	/* after free() alone the process may keep the pages */
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
