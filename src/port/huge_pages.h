/*-------------------------------------------------------------------------
 *
 * huge_pages.h
 *	  Large memory that is about to be filled.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_HUGE_PAGES_H
#define GPUSORT_HUGE_PAGES_H

/*
 * Asks for huge pages to back new memory as far as it covers some.  Returns
 * false if they turn out dear: dearer than small ones.  One answer proves
 * little, since a process that has to wait for its turn takes longer too.
 */
extern bool huge_pages_advise(void *memory, Size bytes);

#endif							/* GPUSORT_HUGE_PAGES_H */
