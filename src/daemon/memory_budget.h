/*-------------------------------------------------------------------------
 *
 * memory_budget.h
 *	  The memory that all jobs share, and the queue for it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORTD_MEMORY_BUDGET_H
#define GPUSORTD_MEMORY_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* Sets what all jobs together may use; once, before the first job. */
extern void memory_budget_init(uint64_t bytes);

extern uint64_t memory_budget_total(void);

/*
 * Reserves memory for a new job, waiting behind the jobs that came before it
 * until there is enough.  Asks "cancelled" now and then, and returns false if
 * that is true; also false, at once, if the budget could never be enough.
 */
extern bool memory_budget_wait(uint64_t bytes, bool (*cancelled) (void *),
							   void *argument);

/* Reserves more for a job that has begun, or returns false.  Never waits. */
extern bool memory_budget_grow(uint64_t bytes);

extern void memory_budget_release(uint64_t bytes);

#endif							/* GPUSORTD_MEMORY_BUDGET_H */
