/*-------------------------------------------------------------------------
 *
 * device.h
 *	  Devices, as the extension, gpusortd and the kernels know them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_DEVICE_H
#define GPUSORT_DEVICE_H

/* Largest number of devices of a machine. */
#define MAX_DEVICES			64

/* Size of a UUID with its prefix, as a string. */
#define DEVICE_UUID_SIZE	41

/* The algorithm of a sort; values of gpusort.algorithm. */
typedef enum DeviceAlgorithm
{
	DEVICE_SORT_AUTO = 0,		/* the fastest one known for the input */
	DEVICE_SORT_QUICKSORT,		/* CUDA-quicksort with many buckets */
	DEVICE_SORT_RADIX,			/* radix sort, by the first 64 bits */
	DEVICE_SORT_BITONIC			/* bitonic sort, in place */
} DeviceAlgorithm;

#endif							/* GPUSORT_DEVICE_H */
