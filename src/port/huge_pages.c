/*-------------------------------------------------------------------------
 *
 * huge_pages.c
 *	  Large memory that is about to be filled.
 *
 * The first touch of memory is a large part of the cost of filling it, and
 * huge pages take a third of that (docs/notes/2026-11-memory.md).  But if
 * memory is fragmented, the kernel first has to make room for each huge
 * page, and a virtual machine may have to get its memory from the host.
 * Then huge pages cost more than the small pages that they replace.  Nothing
 * tells this beforehand.  So the first page is tried, and the caller learns
 * whether to ask for more.  The other pages are touched only when they are
 * filled, as the memory that the kernel has just cleared is still in the
 * cache then.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/mman.h>

#include "portability/instr_time.h"

#include "port/huge_pages.h"

#define HUGE_PAGE_BYTES		((Size) 2 * 1024 * 1024)

/*
 * From these microseconds on a huge page is more expensive than small ones.  A
 * huge page took 200 us where memory was not fragmented, and the 512 small
 * pages in its place 700 to 1000 us, on all machines measured.
 */
#define SLOW_HUGE_PAGE_MICROSECONDS 700

bool
huge_pages_advise(void *memory, Size bytes)
{
	char	   *start = (char *) TYPEALIGN(HUGE_PAGE_BYTES, memory);
	char	   *end = (char *) TYPEALIGN_DOWN(HUGE_PAGE_BYTES,
											  (char *) memory + bytes);
	instr_time	before;
	instr_time	after;

	if (start >= end)
		return true;

	/* only advice: if it cannot be followed, the pages are small */
	(void) madvise(start, end - start, MADV_HUGEPAGE);
	INSTR_TIME_SET_CURRENT(before);
	*(volatile char *) start = 0;
	INSTR_TIME_SET_CURRENT(after);
	INSTR_TIME_SUBTRACT(after, before);
	return INSTR_TIME_GET_MICROSEC(after) < SLOW_HUGE_PAGE_MICROSECONDS;
}
