/*-------------------------------------------------------------------------
 *
 * report.h
 *	  The results, as tables for people and as CSV for programs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_BENCH_REPORT_H
#define GPUSORT_BENCH_REPORT_H

#include <cstdio>

#include "distributions.h"
#include "measure.h"

namespace bench
{

/* What a table is about. */
struct Case
{
	Distribution distribution;
	Input		input;
};

class Report
{
public:
	/* "copy_rate" is in bytes a second; "csv" may be null. */
	Report(const std::string &its_device, double its_copy_rate, FILE *its_csv);

	/* Adds the table of a case. */
	void add(const Case &its_case,
			 const std::vector<Measurement> &measurements);

private:
	void print_table(const Case &its_case,
					 const std::vector<Measurement> &measurements) const;
	void write_csv(const Case &its_case,
				   const std::vector<Measurement> &measurements) const;
	double copy_share(const Case &its_case,
					  const Measurement &measurement) const;

	std::string device;
	double		copy_rate;
	FILE	   *csv;
};

}								/* namespace bench */

#endif							/* GPUSORT_BENCH_REPORT_H */
