/*-------------------------------------------------------------------------
 *
 * execution_check.h
 *	  Whether a role may execute a function.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_EXECUTION_CHECK_H
#define GPUSORT_EXECUTION_CHECK_H

#include "nodes/parsenodes.h"

/*
 * Raises an error if this role may not execute a function.  InvalidOid stands
 * for no function.
 */
extern void check_execution(Oid function, Oid role, ObjectType type);

#endif							/* GPUSORT_EXECUTION_CHECK_H */
