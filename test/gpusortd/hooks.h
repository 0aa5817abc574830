/*-------------------------------------------------------------------------
 *
 * hooks.h
 *	  What tests replace in gpusortd's sources.
 *
 * A compiler option includes this file ahead of those sources, so it includes
 * nothing itself.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_TEST_HOOKS_H
#define GPUSORT_TEST_HOOKS_H

/* The test's own time without a message after which a client is idle. */
extern int	test_idle_milliseconds(void);

#define IDLE_MILLISECONDS	test_idle_milliseconds()

/* The test's own time for which gpusortd keeps memory that no sort needs. */
extern int	test_release_milliseconds(void);

#define RELEASE_MILLISECONDS	test_release_milliseconds()

#endif							/* GPUSORT_TEST_HOOKS_H */
