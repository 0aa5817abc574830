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
 * Has memory backed by huge pages as far as it covers some, where the kernel
 * has them to give, and touches those; what is in it is lost.  Returns
 * whether that was cheaper than small pages would have been.
 */
extern bool huge_pages_populate(void *memory, Size bytes);

#endif							/* GPUSORT_HUGE_PAGES_H */
