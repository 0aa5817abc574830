/*-------------------------------------------------------------------------
 *
 * machine.h
 *	  What the emulator's runtime (runtime.cc) needs of its multiprocessor
 *	  (fibers.cc).
 *
 *-------------------------------------------------------------------------
 */
#ifndef CUDA_ON_CPU_MACHINE_H
#define CUDA_ON_CPU_MACHINE_H

#include "cuda_on_cpu.h"

namespace cuda_on_cpu
{

/* Whether a kernel may launch another one while this many wait to be run. */
extern cudaError_t check_child_launch(size_t pending);

/*
 * Runs a grid of blocks, each thread of which calls "body", to its end, and
 * the grids that it launches.
 */
extern cudaError_t run_grid(const std::function<void()> &body,
							unsigned blocks, unsigned threads,
							size_t shared_bytes);

/* Runs a grid whose blocks meet at barriers, and that launches no others. */
extern cudaError_t run_together(const std::function<void()> &body,
								unsigned blocks, unsigned threads,
								size_t shared_bytes);

}								/* namespace cuda_on_cpu */

#endif							/* CUDA_ON_CPU_MACHINE_H */
