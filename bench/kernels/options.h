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

/* More keys than this not all algorithms can number. */
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
 * Reads the command line.  False if it cannot be understood, with the reason,
 * or none if help was asked for.
 */
extern bool parse_options(int argc, char **argv, Options *options,
						  std::string *reason);

/* How a width is named: by its bytes, or "text". */
extern std::string width_name(unsigned width);

}								/* namespace bench */

#endif							/* GPUSORT_BENCH_OPTIONS_H */
