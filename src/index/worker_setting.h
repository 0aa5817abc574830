/*-------------------------------------------------------------------------
 *
 * worker_setting.h
 *	  Another value of max_parallel_maintenance_workers, where that is 0.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_WORKER_SETTING_H
#define GPUSORT_WORKER_SETTING_H

extern void worker_setting_init(void);

/* Lends the setting a value if it is 0; true if the value has to be taken back. */
extern bool worker_setting_lend(void);
extern void worker_setting_take_back(void);

/* Does the setting have the lent value, while others find 0? */
extern bool worker_setting_is_lent(void);

#endif							/* GPUSORT_WORKER_SETTING_H */
