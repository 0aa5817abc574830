/*-------------------------------------------------------------------------
 *
 * settings.h
 *	  The settings of the extension.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SETTINGS_H
#define GPUSORT_SETTINGS_H

#include "postgres.h"

/* gpusort.device: the process that sorts */
typedef enum DeviceChoice
{
	DEVICE_AUTO,				/* gpusortd, with a GPU and rows enough */
	DEVICE_CUDA,				/* gpusortd, whatever the number of rows */
	DEVICE_HOST					/* this process */
} DeviceChoice;

/* gpusort.daemon_engine: the engine of gpusortd */
typedef enum DaemonEngine
{
	ENGINE_AUTO,				/* cuda, or no gpusortd without a GPU */
	ENGINE_CUDA,
	ENGINE_HOST
} DaemonEngine;

/* gpusort.gather_rows: whether workers gather rows for their leader */
typedef enum GatherChoice
{
	GATHER_AUTO,				/* of many rows, with enough processors */
	GATHER_ON,					/* wherever memory suffices */
	GATHER_OFF
} GatherChoice;

/* Each is described in settings.c and in docs/settings.md. */
extern bool gpusort_enable;
extern bool gpusort_enable_sort;
extern bool gpusort_enable_windows;
extern bool gpusort_enable_aggregates;
extern bool gpusort_enable_index_build;
extern bool gpusort_enable_costs;
extern int	gpusort_device;		/* a DeviceChoice */
extern int	gpusort_min_rows;
extern int	gpusort_work_mem;	/* kB, or -1 */
extern int	gpusort_algorithm;	/* a DeviceAlgorithm */
extern bool gpusort_verify;
extern int	gpusort_gather_rows;	/* a GatherChoice */
extern int	gpusort_daemon_engine;	/* a DaemonEngine */
extern char *gpusort_device_list;	/* gpusort.devices, see device_list.h */
extern int	gpusort_staging_memory_limit;	/* MB */
extern int	gpusort_device_memory;	/* percent */
extern int	gpusort_device_memory_limit;	/* MB, or -1 */
extern int	gpusort_daemon_timeout; /* ms; 0: none */

/* Costs of a sort, in the planner's units (sort_cost.c). */
extern double gpusort_key_word_cost;
extern double gpusort_host_sort_row_cost;
extern double gpusort_get_shared_row_cost;
extern double gpusort_hash_row_cost;

/* Defines the settings in PostgreSQL. */
extern void settings_define(void);

/* Bytes that a sort may use in one process. */
extern Size gpusort_memory_limit(void);

/* Bytes that an index build may use. */
extern Size gpusort_index_memory_limit(void);

/* Bytes of device memory that all jobs of the role may have together. */
extern uint64 gpusort_role_limit(void);

/* The value of gpusort.daemon_engine. */
extern const char *gpusort_engine_name(void);

#endif							/* GPUSORT_SETTINGS_H */
