/*-------------------------------------------------------------------------
 *
 * main.cu
 *	  Measures sort algorithms on a CUDA device.
 *
 * The options are in options.cu, what the figures mean in docs/kernel-benchmark.md.
 * The exit status is 0 only if all results were right.
 *
 *-------------------------------------------------------------------------
 */
#include <cstdio>

#include "../../kernels/device_sort.h"
#include "options.h"
#include "report.h"

using namespace bench;

/* Inputs of up to this many keys are also sorted on the host, to compare. */
constexpr uint32_t max_host_check = 1 << 20;

static int
fail(const char *reason)
{
	fprintf(stderr, "kernels: %s\n", reason);
	return 1;
}

/* Describes device, driver and toolkit in one line. */
static bool
describe_device(std::string *description, DeviceError *error)
{
	DeviceInfo	info;
	char		text[160];

	if (device_count(error) == 0 || !device_describe(device, &info, error) ||
		!device_start(device, error))
		return false;
	snprintf(text, sizeof(text), "%s, %.0f GB, driver for CUDA %d.%d, built "
			 "with CUDA %d.%d", info.name, info.memory_bytes / 1e9,
			 info.driver_version / 1000, info.driver_version % 1000 / 10,
			 CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
	*description = text;
	return true;
}

static bool
make_queue(Queue *queue, DeviceError *error)
{
	int			multiprocessors;

	queue->error = error;
	if (!queue->did(cudaStreamCreateWithFlags(&queue->stream,
											  cudaStreamNonBlocking),
					"creating a stream") ||
		!queue->did(cudaDeviceGetAttribute(&multiprocessors,
										   cudaDevAttrMultiProcessorCount,
										   device),
					"counting multiprocessors"))
		return false;
	queue->multiprocessors = static_cast<unsigned>(multiprocessors);
	return true;
}

/*
 * Measures all contenders that take such an input.  Returns false if there
 * was anything wrong.
 */
static bool
run_case(const Queue &queue, const Options &options, const Case &its_case,
		 Report *report)
{
	const Input &input = its_case.input;
	HostCheck	host_check;
	bool		has_host_check = input.keys.n <= max_host_check;
	std::vector<Measurement> measurements;
	bool		good = true;

	if (has_host_check && !host_check.prepare(queue, input))
	{
		fprintf(stderr, "kernels: %s\n", queue.error->text);
		return false;
	}
	for (const Contender *contender : options.contenders)
	{
		std::unique_ptr<Job> job = contender->make_job(queue, input);

		if (job == nullptr)
			continue;
		measurements.push_back(measure(queue, *contender, std::move(job),
									   input,
									   has_host_check ? &host_check : nullptr,
									   options.repeats));
		good &= measurements.back().outcome != Outcome::WRONG;
		if (device_is_lost())
			break;
	}
	if (!measurements.empty())
		report->add(its_case, measurements);
	return good;
}

/* Generates and measures one case. */
static bool
generate_and_run(const Queue &queue, const Options &options, Case its_case,
				 Report *report)
{
	KeyStore	store(queue);
	KeyArray   &keys = its_case.input.keys;

	if (!distribution_has(its_case.distribution, keys.width))
		return true;
	if (!store.generate(queue, its_case.distribution, keys.width, keys.n))
	{
		printf("\n%u %s keys, %s: %s\n", keys.n,
			   distribution_name(its_case.distribution),
			   width_name(keys.width).c_str(), queue.error->text);
		return true;
	}
	keys = store.keys();
	return run_case(queue, options, its_case, report);
}

int
main(int argc, char **argv)
{
	Options		options;
	std::string reason;
	std::string description;
	DeviceError error = {};
	Queue		queue = {};
	FILE	   *csv = nullptr;
	double		copy_rate;
	bool		good = true;

	if (!parse_options(argc, argv, &options, &reason))
	{
		if (!reason.empty())
			return fail((reason + " (--help says more)").c_str());
		print_usage();
		return 0;
	}
	if (!describe_device(&description, &error) || !make_queue(&queue, &error))
		return fail(error.text);
	copy_rate = measure_copy(queue, options.repeats);
	if (copy_rate == 0)
		return fail(error.text);
	if (!options.csv.empty())
	{
		csv = fopen(options.csv.c_str(), "w");
		if (csv == nullptr)
			return fail(("cannot write to " + options.csv).c_str());
	}

	Report		report(description, copy_rate, csv);

	for (unsigned width : options.widths)
		for (Distribution distribution : options.distributions)
			for (uint32_t n : options.sizes)
			{
				Input		input = {{nullptr, nullptr, 0, n, width},
									 options.has_rows};

				good &= generate_and_run(queue, options, {distribution, input},
										 &report);
				if (device_is_lost())
					return fail("the device is lost, and the rest left out");
			}
	if (csv != nullptr && fclose(csv) != 0)
		return fail(("cannot write to " + options.csv).c_str());
	return good ? 0 : 1;
}
