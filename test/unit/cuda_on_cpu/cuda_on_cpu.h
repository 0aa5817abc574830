/*-------------------------------------------------------------------------
 *
 * cuda_on_cpu.h
 *	  Running CUDA code on the CPU: what the tests see of the emulator.
 *
 * Code for nvcc that includes <cuda_runtime.h> is compiled by a C++ compiler
 * against the header of that name in this directory instead.  Kernels then run
 * on the CPU, every CUDA thread as a fiber of its own, and the runtime's
 * functions work on ordinary memory, so that the compiler's sanitizers watch
 * over kernels and host code alike.
 *
 * It is stricter than a device where it can be:
 *
 * - Blocks run one after another, in another order at each launch, or from
 *	 barrier to barrier of their grid if it was launched so; threads of a block run one at a time, from barrier to barrier, in rising or falling
 *	 order: who forgets a barrier reads what is not there yet.
 * - Grids launched by kernels run at once, before the launching thread goes on,
 *	 or when the grid at work has ended, in any order.  Few may wait at a time,
 *	 unless the limit is raised.
 * - Device memory and shared memory are filled with a pattern before use.
 * - What is put on a stream runs only when something waits for it, so that
 *	 memory reused or freed too early is noticed.
 * - A barrier or warp function that not all its threads reach, or that they
 *	 reach in different ways, ends the program with a message.
 *
 * It is two devices with two multiprocessors each, whose memory is counted
 * together; what is given to a stream while another device than its own is the
 * current one ends the program.  Different threads of the host may use them at
 * once, each with streams of its own.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CUDA_ON_CPU_H
#define CUDA_ON_CPU_H

#include <cstddef>
#include <cstdint>

#include "cuda_runtime.h"

namespace cuda_on_cpu
{

/* What the runtime has handed out, and was not given back. */
struct Usage
{
	uint64_t	bytes;			/* device memory */
	uint64_t	peak_bytes;		/* the most since reset_peak() */
	unsigned	allocations;
	unsigned	streams;
	unsigned	events;
	unsigned	pinned;			/* ranges of pinned memory */
	uint64_t	pool_bytes;		/* device memory, with freed memory that is kept */
};

extern Usage usage();
extern void reset_peak();

/*
 * Device memory that other processes leave; allocations beyond it fail.  No
 * limit at first.
 */
extern void limit_memory(uint64_t bytes);

/*
 * Lets the nth call from now of a function that can fail (launches, not
 * frees) fail with this error; 0 lets none fail.
 */
extern void fail_call(uint64_t nth, cudaError_t code);

/* Calls that can fail since fail_call(). */
extern uint64_t calls_made();

/* From now on every call fails with this error, as after a fault in a kernel. */
extern void lose_context(cudaError_t code);

/* Sets whether there is a device; at first there is. */
extern void set_device_present(bool present);

/*
 * Sets the CUDA version of the driver, 0 for none; at first that of the
 * runtime.
 */
extern void set_driver(int version);

}								/* namespace cuda_on_cpu */

#endif							/* CUDA_ON_CPU_H */
