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
 * Asks the system to back new memory by huge pages, if it covers any.  Returns
 * false if a huge page turns out expensive: if it takes longer than small
 * pages.  One answer proves little, since the process may have lost the
 * processor meanwhile.
 */
extern bool huge_pages_advise(void *memory, Size bytes);

#endif							/* GPUSORT_HUGE_PAGES_H */
