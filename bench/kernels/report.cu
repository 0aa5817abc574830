/*-------------------------------------------------------------------------
 *
 * report.cu
 *	  Printing results.
 *
 *-------------------------------------------------------------------------
 */
#include "report.h"

#include <cmath>

#include "options.h"

namespace bench
{

/* The columns of the CSV, one for each field that write_csv() writes. */
static const char csv_header[] =
	"device,copy_gb_per_s,key,rows,distribution,n,algorithm,result,median_ms,"
	"fastest_ms,slowest_ms,giga_per_s,copy_share,vs_cub_radix,vs_cub_merge,"
	"extra_bytes\n";

/* A number for a table or the CSV; nothing if there is none. */
static std::string
number_text(const char *format, double number, const char *none)
{
	char		text[64];

	if (std::isnan(number))
		return none;
	snprintf(text, sizeof(text), format, number);
	return text;
}

/* 100000000 as 100,000,000. */
static std::string
grouped(uint64_t number)
{
	std::string text = std::to_string(number);

	for (size_t place = text.size(); place > 3; place -= 3)
		text.insert(place - 3, ",");
	return text;
}

/* How many times faster a measurement is than that of a reference. */
static double
speed_against(const char *reference, const Measurement &measurement,
			  const std::vector<Measurement> &measurements)
{
	for (const Measurement &other : measurements)
		if (other.contender->name == reference &&
			other.outcome == Outcome::RIGHT)
			return other.median() / measurement.median();
	return NAN;
}

static double
giga_per_second(const Case &its_case, const Measurement &measurement)
{
	return its_case.input.keys.n / measurement.median() / 1e6;
}

Report::Report(const std::string &its_device, double its_copy_rate,
			   FILE *its_csv) :
	device(its_device), copy_rate(its_copy_rate), csv(its_csv)
{
	printf("%s, copy %.0f GB/s\n", device.c_str(), copy_rate / 1e9);
	if (csv != nullptr)
		fputs(csv_header, csv);
}

void
Report::add(const Case &its_case,
			const std::vector<Measurement> &measurements)
{
	print_table(its_case, measurements);
	fflush(stdout);
	if (csv != nullptr)
	{
		write_csv(its_case, measurements);
		fflush(csv);
	}
}

/* What a plain copy of keys and row numbers takes of a sort's time. */
double
Report::copy_share(const Case &its_case, const Measurement &measurement) const
{
	double		copy_ms = 2 * its_case.input.bytes() / copy_rate * 1000;

	return copy_ms / measurement.median();
}

void
Report::print_table(const Case &its_case,
					const std::vector<Measurement> &measurements) const
{
	const Input &input = its_case.input;
	const KeyArray &keys = input.keys;

	printf("\n%s keys", grouped(keys.n).c_str());
	if (keys.width != text_width)
		printf(" of %u bytes", keys.width);
	printf(", %s", distribution_name(its_case.distribution));
	if (keys.width == text_width)
		printf(", %.1f bytes on average",
			   static_cast<double>(keys.bytes) / keys.n);
	printf("%s\n", input.has_rows ? ", with row numbers" : ", alone");
	printf("%-40s %10s %10s %10s %9s %6s %8s %8s %10s\n", "", "median ms",
		   "fastest", "slowest", input.has_rows ? "Gpair/s" : "Gkey/s", "copy",
		   "/ radix", "/ merge", "extra B/n");
	for (const Measurement &measurement : measurements)
	{
		printf("%-40s ", measurement.contender->name.c_str());
		if (measurement.outcome != Outcome::RIGHT)
		{
			printf("%s: %s\n", measurement.outcome == Outcome::WRONG ?
				   "WRONG" : "left out", measurement.reason.c_str());
			continue;
		}
		printf("%10.3f %10.3f %10.3f %9.3f %5.1f%% %8s %8s %10.2f\n",
			   measurement.median(), measurement.times.front(),
			   measurement.times.back(),
			   giga_per_second(its_case, measurement),
			   100 * copy_share(its_case, measurement),
			   number_text("%.2f", speed_against(radix_sort_name, measurement,
												 measurements), "-").c_str(),
			   number_text("%.2f", speed_against(merge_sort_name, measurement,
												 measurements), "-").c_str(),
			   static_cast<double>(measurement.extra_bytes) / keys.n);
	}
}

void
Report::write_csv(const Case &its_case,
				  const std::vector<Measurement> &measurements) const
{
	const Input &input = its_case.input;

	for (const Measurement &measurement : measurements)
	{
		bool		is_right = measurement.outcome == Outcome::RIGHT;

		fprintf(csv, "\"%s\",%.0f,%s,%s,%s,%u,%s,%s,", device.c_str(),
				copy_rate / 1e9, width_name(input.keys.width).c_str(),
				input.has_rows ? "yes" : "no",
				distribution_name(its_case.distribution), input.keys.n,
				measurement.contender->name.c_str(),
				is_right ? "right" :
				measurement.outcome == Outcome::WRONG ? "wrong" : "no memory");
		if (is_right)
			fprintf(csv, "%.6f,%.6f,%.6f,%.4f,%.4f,%s,%s,",
					measurement.median(), measurement.times.front(),
					measurement.times.back(),
					giga_per_second(its_case, measurement),
					copy_share(its_case, measurement),
					number_text("%.4f", speed_against(radix_sort_name,
													  measurement,
													  measurements),
								"").c_str(),
					number_text("%.4f", speed_against(merge_sort_name,
													  measurement,
													  measurements),
								"").c_str());
		else
			fputs(",,,,,,,", csv);
		fprintf(csv, "%llu\n",
				static_cast<unsigned long long>(measurement.extra_bytes));
	}
}

}								/* namespace bench */
