/*-------------------------------------------------------------------------
 *
 * options.h
 *	  The command line of the benchmark.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_BENCH_OPTIONS_H
#define GPUSORT_BENCH_OPTIONS_H

#include "contender.h"
#include "distributions.h"

namespace bench
{

/* Not all algorithms can number more keys than this. */
constexpr uint64_t max_keys = UINT64_C(1) << 30;

struct Options
{
	std::vector<uint32_t> sizes;
	std::vector<unsigned> widths;
	std::vector<Distribution> distributions;
	std::vector<const Contender *> contenders;
	bool		has_rows = true;
	unsigned	repeats = 7;
	std::string csv;			/* name of a file, or empty */
};

extern void print_usage();

/*
 * Reads the command line.  Returns false if it cannot be understood, with the
 * reason, or if help was asked for, without one.
 */
extern bool parse_options(int argc, char **argv, Options *options,
						  std::string *reason);

/* Returns the name of a width: its bytes, or "text". */
extern std::string width_name(unsigned width);

}								/* namespace bench */

#endif							/* GPUSORT_BENCH_OPTIONS_H */
