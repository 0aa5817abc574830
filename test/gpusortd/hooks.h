/*-------------------------------------------------------------------------
 *
 * hooks.h
 *	  What tests have otherwise than gpusortd's sources.
 *
 * To be included ahead of them by the compiler's option, so it includes nothing
 * itself.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_TEST_HOOKS_H
#define GPUSORT_TEST_HOOKS_H

/* For how long a client has said nothing that is idle: the test's. */
extern int	test_idle_milliseconds(void);

#define IDLE_MILLISECONDS	test_idle_milliseconds()

/* For how long it keeps memory that no sort needs: the test's. */
extern int	test_release_milliseconds(void);

#define RELEASE_MILLISECONDS	test_release_milliseconds()

#endif							/* GPUSORT_TEST_HOOKS_H */
