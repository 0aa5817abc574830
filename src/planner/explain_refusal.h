/*-------------------------------------------------------------------------
 *
 * explain_refusal.h
 *	  EXPLAIN (VERBOSE) says why a sort was left to PostgreSQL.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_EXPLAIN_REFUSAL_H
#define GPUSORT_EXPLAIN_REFUSAL_H

extern void explain_refusal_init(void);

#endif							/* GPUSORT_EXPLAIN_REFUSAL_H */
