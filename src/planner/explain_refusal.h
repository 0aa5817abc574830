/*-------------------------------------------------------------------------
 *
 * explain_refusal.h
 *	  EXPLAIN (VERBOSE) says why a sort was left to PostgreSQL.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_EXPLAIN_REFUSAL_H
#define GPUSORT_EXPLAIN_REFUSAL_H

#include "executor/execdesc.h"

#include "port/compat.h"

#if EXPLAIN_CALLS_FOR_NODES

/* Prints why a node sorts natively, if it does. */
extern void explain_refusal_of_node(const PlanState *node, List *ancestors,
									ExplainState *es);

#else

/* Around an EXPLAIN: end() is called with the result of begin() in any case. */
extern ExplainState *explain_refusal_begin(ExplainState *es);
extern void explain_refusal_end(ExplainState *outer);

/* Prints why nodes of a plan sort natively, if the EXPLAIN has just printed it. */
extern void explain_refusal_of_plan(QueryDesc *query);

#endif

#endif							/* GPUSORT_EXPLAIN_REFUSAL_H */
