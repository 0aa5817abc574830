/*-------------------------------------------------------------------------
 *
 * huge_pages.c
 *	  Large memory that is about to be filled.
 *
 * The first touch of memory is a large part of the cost of filling it, and
 * huge pages take a third of that (docs/performance.md).  But where memory is
 * fragmented the kernel first has to make room for each of them, and a
 * virtual machine may have to get its memory from the host; then they cost
 * more than the small pages they replace.  Nothing tells beforehand, so the
 * caller is told afterwards, to ask for more of them or not.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/mman.h>

#include "portability/instr_time.h"

#include "huge_pages.h"

#define HUGE_PAGE_BYTES		((Size) 2 * 1024 * 1024)

/*
 * A huge page took 200 us where nothing hindered, and the 512 small ones in
 * its place 700 to 1000 us, on all machines where that was measured.  Few
 * pages say nothing: a process that waits for its turn takes longer.
 */
#define DEAR_HUGE_PAGE_MICROSECONDS 700
#define FEW_HUGE_PAGES		4

bool
huge_pages_populate(void *memory, Size bytes)
{
	char	   *start = (char *) TYPEALIGN(HUGE_PAGE_BYTES, memory);
	char	   *end = (char *) TYPEALIGN_DOWN(HUGE_PAGE_BYTES,
											  (char *) memory + bytes);
	instr_time	before;
	instr_time	after;

	if (start >= end)
		return true;

	INSTR_TIME_SET_CURRENT(before);
	/* only advice: where it cannot be followed the pages are small */
	(void) madvise(start, end - start, MADV_HUGEPAGE);
	for (char *page = start; page < end; page += HUGE_PAGE_BYTES)
		*(volatile char *) page = 0;
	INSTR_TIME_SET_CURRENT(after);
	INSTR_TIME_SUBTRACT(after, before);

	return (end - start) / HUGE_PAGE_BYTES < FEW_HUGE_PAGES ||
		INSTR_TIME_GET_MICROSEC(after) <
		(end - start) / HUGE_PAGE_BYTES * DEAR_HUGE_PAGE_MICROSECONDS;
}
