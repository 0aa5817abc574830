/*-------------------------------------------------------------------------
 *
 * worker_setting.h
 *	  Lending max_parallel_maintenance_workers another value than 0.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_WORKER_SETTING_H
#define GPUSORT_WORKER_SETTING_H

extern void worker_setting_init(void);

/* Lends it a value, if it is 0, which then has to be taken back. */
extern bool worker_setting_lend(void);
extern void worker_setting_take_back(void);

/* Has it the lent value now, and is 0 to everybody else? */
extern bool worker_setting_is_lent(void);

#endif							/* GPUSORT_WORKER_SETTING_H */
