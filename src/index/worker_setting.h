/*-------------------------------------------------------------------------
 *
 * worker_setting.h
 *	  Lending max_parallel_maintenance_workers a value other than 0.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_WORKER_SETTING_H
#define GPUSORT_WORKER_SETTING_H

extern void worker_setting_init(void);

/* Lends the setting a value if it is 0; true if the value has to be taken back. */
extern bool worker_setting_lend(void);
extern void worker_setting_take_back(void);

/* True if the setting has the lent value, which others see as 0. */
extern bool worker_setting_is_lent(void);

#endif							/* GPUSORT_WORKER_SETTING_H */
