/*-------------------------------------------------------------------------
 *
 * explain_native.h
 *	  EXPLAIN (VERBOSE) says why a sort was left to PostgreSQL.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_EXPLAIN_NATIVE_H
#define GPUSORT_EXPLAIN_NATIVE_H

extern void explain_native_init(void);

#endif							/* GPUSORT_EXPLAIN_NATIVE_H */
