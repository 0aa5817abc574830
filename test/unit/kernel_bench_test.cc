/*-------------------------------------------------------------------------
 *
 * kernel_bench_test.cc
 *	  Tests of bench/kernels/ on the emulator: that the keys are distributed
 *	  as they should be, that the checks find what is wrong, and that all
 *	  contenders but those of CUB sort.
 *
 *-------------------------------------------------------------------------
 */
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include <getopt.h>

#include "../../bench/kernels/options.h"
#include "../../bench/kernels/report.h"
#include "cuda_on_cpu.h"

#define TEST_SUBJECT	"kernel benchmark"
#include "test_report.h"

using namespace bench;

static DeviceError error;
static Queue queue;

/* Keys in the host's memory, as numbers or as texts. */
struct HostKeys
{
	std::vector<uint64_t> words;
	std::vector<uint64_t> ends; /* of texts */
	unsigned	key_words;

	/* A word of a number; of keys of 4 bytes that is the key. */
	uint64_t
	word(uint64_t place, unsigned number) const
	{
		return words[place * key_words + number];
	}

	/* The first bits of a number, as many as 64 or the key has. */
	uint64_t
	first(uint64_t place) const
	{
		return word(place, 0);
	}

	std::string
	text(uint64_t place) const
	{
		std::string text;

		for (uint64_t i = place == 0 ? 0 : ends[place - 1]; i < ends[place];
			 i++)
			for (int shift = 56; shift >= 0; shift -= 8)
				text += static_cast<char>(words[i] >> shift & 255);
		return text;
	}
};

template <typename Element>
static std::vector<Element>
fetch(const void *from, uint64_t count)
{
	std::vector<Element> elements(count);

	CHECK(cudaMemcpyAsync(elements.data(), from, count * sizeof(Element),
						  cudaMemcpyDeviceToHost, queue.stream) ==
		  cudaSuccess, "copying failed");
	return elements;
}

static HostKeys
fetch_keys(const KeyArray &keys)
{
	HostKeys	fetched;

	fetched.key_words = keys.width == 4 ? 1 : keys.width / 8;
	if (keys.width == 4)
	{
		std::vector<uint32_t> numbers = fetch<uint32_t>(keys.keys, keys.n);

		fetched.words.assign(numbers.begin(), numbers.end());
	}
	else
		fetched.words = fetch<uint64_t>(keys.keys, keys.bytes / 8);
	if (keys.ends != nullptr)
		fetched.ends = fetch<uint64_t>(keys.ends, keys.n);
	return fetched;
}

static void
generate(KeyStore &store, Distribution distribution, unsigned width,
		 uint32_t n)
{
	CHECK(store.generate(queue, distribution, width, n), "%s", error.text);
}

static HostKeys
generated(Distribution distribution, unsigned width, uint32_t n)
{
	KeyStore	store(queue);

	generate(store, distribution, width, n);
	return fetch_keys(store.keys());
}

/* Calls a function for keys of each width that numbers may have. */
static void
for_each_width(Distribution distribution, uint32_t n,
			   const std::function<void(const HostKeys &, unsigned bits)> &test)
{
	for (unsigned width : {4, 8, 16, 32})
		test(generated(distribution, width, n), width == 4 ? 32 : 64);
}

/* In which of 2^7 equal ranges a number lies. */
static unsigned
range_of(uint64_t number, unsigned bits)
{
	return static_cast<unsigned>(number >> (bits - 7));
}

static void
test_uniform()
{
	constexpr uint32_t n = 6400;

	for_each_width(UNIFORM, n, [](const HostKeys &keys, unsigned bits) {
		std::map<unsigned, unsigned> counts;
		std::set<uint64_t> last_words;

		for (uint32_t place = 0; place < n; place++)
		{
			counts[range_of(keys.first(place), bits)]++;
			last_words.insert(keys.word(place, keys.key_words - 1));
		}
		CHECK(counts.size() == 128, "%zu ranges have keys", counts.size());
		for (const auto &[range, count] : counts)
			CHECK(count > 20 && count < 100, "range %u has %u keys", range,
				  count);
		CHECK(last_words.size() > n - 10, "%zu last words",
			  last_words.size());
	});
}

/* The mean of four has half the deviation of one, 1 / sqrt(48) of the range. */
static void
test_gaussian()
{
	constexpr uint32_t n = 5000;

	for_each_width(GAUSSIAN, n, [](const HostKeys &keys, unsigned bits) {
		unsigned	middle = 0;
		double		mean = 0;

		for (uint32_t place = 0; place < n; place++)
		{
			unsigned	range = range_of(keys.first(place), bits);

			mean += (range + 0.5) / 128 / n;
			middle += range >= 128 * 36 / 100 && range < 128 * 64 / 100;
		}
		CHECK(mean > 0.49 && mean < 0.51, "the mean is %f", mean);
		CHECK(middle > n * 0.62 && middle < n * 0.74,
			  "%u are within one deviation", middle);
	});
}

static void
test_zero()
{
	for_each_width(ZERO, 300, [](const HostKeys &keys, unsigned) {
		CHECK(keys.first(0) != 0, "the key is zero");
		for (uint32_t place = 1; place < 300; place++)
			for (unsigned i = 0; i < keys.key_words; i++)
				CHECK(keys.word(place, i) == keys.word(0, i),
					  "place %u differs", place);
	});
}

static void
test_bucket()
{
	constexpr uint32_t n = 128 * 128;

	for_each_width(BUCKET, n, [](const HostKeys &keys, unsigned bits) {
		for (uint32_t place = 0; place < n; place++)
			CHECK(range_of(keys.first(place), bits) == place % 128,
				  "place %u has range %u", place,
				  range_of(keys.first(place), bits));
	});
}

static void
test_staggered()
{
	constexpr uint32_t n = 128 * 10;

	for_each_width(STAGGERED, n, [](const HostKeys &keys, unsigned bits) {
		for (uint32_t place = 0; place < n; place++)
		{
			uint32_t	block = place / 10;
			unsigned	expected = block < 64 ? 2 * block + 1 :
				2 * block - 128;

			CHECK(range_of(keys.first(place), bits) == expected,
				  "block %u has range %u", block,
				  range_of(keys.first(place), bits));
		}
	});
}

static void
test_sorted()
{
	for (uint32_t n : {1, 2, 1000, 4097})
	{
		for_each_width(SORTED, n, [=](const HostKeys &keys, unsigned bits) {
			for (uint32_t place = 1; place < n; place++)
				CHECK(keys.first(place - 1) <= keys.first(place),
					  "place %u of %u", place, n);
			CHECK(n < 1000 || (range_of(keys.first(0), bits) == 0 &&
							   range_of(keys.first(n / 2), bits) >= 63 &&
							   range_of(keys.first(n / 2), bits) <= 64 &&
							   range_of(keys.first(n - 1), bits) == 127),
				  "not from end to end");
		});
		for_each_width(REVERSED, n, [=](const HostKeys &keys, unsigned) {
			for (uint32_t place = 1; place < n; place++)
				CHECK(keys.first(place - 1) >= keys.first(place),
					  "place %u of %u", place, n);
		});
	}
}

/* Each exchange moves two keys; all others are in their places. */
static void
test_swapped()
{
	for (Distribution distribution : {SWAPPED_1000TH, SWAPPED_100TH})
		for (uint32_t n : {1, 99, 1000, 1999, 5000})
		{
			uint32_t	exchanges = n /
				(distribution == SWAPPED_100TH ? 100 : 1000);

			for (unsigned width : {4, 8, 16, 32})
			{
				HostKeys	keys = generated(distribution, width, n);
				HostKeys	sorted = generated(SORTED, width, n);
				uint32_t	displaced = 0;
				unsigned	key_words = keys.key_words;

				for (uint32_t place = 0; place < n; place++)
					displaced += !std::equal(&keys.words[place * key_words],
											 &keys.words[place * key_words] +
											 key_words,
											 &sorted.words[place * key_words]);
				CHECK(displaced == 2 * exchanges, "%u of %u are displaced",
					  displaced, n);
				std::sort(keys.words.begin(), keys.words.end());
				std::sort(sorted.words.begin(), sorted.words.end());
				CHECK(keys.words == sorted.words, "other keys than before");
			}
		}
}

static void
test_duplicates()
{
	constexpr uint32_t n = 4096;

	for_each_width(DUPLICATES, n, [](const HostKeys &keys, unsigned) {
		for (uint32_t place = 0; place < n; place++)
		{
			unsigned	expected = 12;

			for (uint32_t rest = n; place >= n - rest / 2; rest /= 2)
				expected--;
			CHECK(keys.word(place, keys.key_words - 1) == expected,
				  "place %u, not %u", place, expected);
			CHECK(keys.key_words == 1 || keys.first(place) == 0,
				  "place %u is large", place);
		}
	});
}

static void
test_zipf()
{
	constexpr uint32_t n = 5000;

	for_each_width(ZIPF, n, [](const HostKeys &keys, unsigned) {
		std::map<uint64_t, unsigned> counts;

		for (uint32_t place = 0; place < n; place++)
			counts[keys.word(place, keys.key_words - 1)]++;
		CHECK(counts.begin()->first == 1 && counts.rbegin()->first <= n,
			  "not from 1 to n");

		/* log(2) / log(5001) and log(11 / 10) / log(5001) */
		CHECK(counts[1] > 340 && counts[1] < 475, "%u are 1", counts[1]);
		CHECK(counts[10] > 25 && counts[10] < 95, "%u are 10", counts[10]);
	});
}

static void
test_composite()
{
	HostKeys	keys = generated(COMPOSITE, 16, 3000);
	std::set<uint64_t> first;
	std::set<uint64_t> second;

	for (uint32_t place = 0; place < 3000; place++)
	{
		first.insert(keys.word(place, 0));
		second.insert(keys.word(place, 1));
	}
	CHECK(first.size() == 100 && *first.rbegin() == 99, "%zu first words",
		  first.size());
	CHECK(second.size() == 3000, "%zu second words", second.size());
}

static void
test_texts()
{
	for (Distribution distribution : {WORDS, URLS})
		for (uint32_t n : {1, 2, 500, 3000})
		{
			HostKeys	keys = generated(distribution, text_width, n);
			std::set<std::string> texts;

			CHECK(keys.ends.back() == keys.words.size(),
				  "the last key ends elsewhere");
			for (uint32_t place = 0; place < n; place++)
			{
				std::string text = keys.text(place);
				size_t		length = strlen(text.c_str());

				CHECK(length > 0 && length < text.size() &&
					  length + 8 >= text.size() &&
					  text.find_first_not_of('\0', length) ==
					  std::string::npos, "a key of %zu bytes for %zu",
					  text.size(), length);
				CHECK(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz"
											 "0123456789:/.- ") == length,
					  "%s", text.c_str());
				CHECK(distribution == WORDS ||
					  (text.compare(0, 33, "https://www.example.org/"
									"articles/") == 0 &&
					   text.find("/page-") == length - 16),
					  "%s", text.c_str());
				texts.insert(text);
			}
			CHECK(n < 500 || distribution == WORDS || texts.size() == n,
				  "%zu different texts of %u", texts.size(), n);
			CHECK(n < 500 || (texts.size() > n / 2),
				  "%zu different texts of %u", texts.size(), n);
		}
}

static void
test_repeatable()
{
	for (int i = 0; i < DISTRIBUTIONS; i++)
		for (unsigned width : {4u, 8u, 16u, 32u, text_width})
		{
			Distribution distribution = static_cast<Distribution>(i);

			if (distribution_has(distribution, width))
				CHECK(generated(distribution, width, 777).words ==
					  generated(distribution, width, 777).words,
					  "%s differ", distribution_name(distribution));
		}
}

/* A right result, made on the host, that may be falsified there. */
class Result
{
public:
	explicit Result(const Input &its_input) :
		input(its_input)
	{
		uint32_t	n = input.keys.n;

		host_keys = fetch<unsigned char>(input.keys.keys, input.keys.bytes);
		host_rows.resize(n);
		std::iota(host_rows.begin(), host_rows.end(), 0);

		KeyArray	array = input.keys;
		std::vector<unsigned char> unsorted = host_keys;
		std::vector<uint64_t> ends;

		if (array.ends != nullptr)
			ends = fetch<uint64_t>(array.ends, n);
		array.keys = unsorted.data();
		array.ends = ends.data();
		std::sort(host_rows.begin(), host_rows.end(),
				  [&](uint32_t a, uint32_t b) {
			return array.compare(a, array, b) < 0;
		});
		if (array.width != text_width)
			for (uint32_t place = 0; place < n; place++)
				memcpy(&host_keys[place * array.width],
					   &unsorted[host_rows[place] * array.width],
					   array.width);
	}

	/* The findings of both checks, which must agree. */
	std::string
	fault(bool with_keys)
	{
		DeviceArray<unsigned char> keys(queue);
		DeviceArray<uint32_t> rows(queue);
		HostCheck	host_check;
		std::string on_device;
		std::string on_host;

		CHECK(keys.allocate(host_keys.size()) &&
			  rows.allocate(host_rows.size()) &&
			  cudaMemcpyAsync(keys.get(), host_keys.data(), host_keys.size(),
							  cudaMemcpyHostToDevice, queue.stream) ==
			  cudaSuccess &&
			  cudaMemcpyAsync(rows.get(), host_rows.data(),
							  host_rows.size() * sizeof(uint32_t),
							  cudaMemcpyHostToDevice, queue.stream) ==
			  cudaSuccess, "%s", error.text);

		Sorted		sorted = {with_keys ? keys.get() : nullptr,
							  input.has_rows ? rows.get() : nullptr};

		CHECK(check_on_device(queue, input, sorted, &on_device), "%s",
			  error.text);
		CHECK(host_check.prepare(queue, input) &&
			  host_check.check(queue, sorted, &on_host), "%s", error.text);
		CHECK(on_device.empty() == on_host.empty(),
			  "on the device \"%s\", on the host \"%s\"", on_device.c_str(),
			  on_host.c_str());
		return on_device;
	}

	Input		input;
	std::vector<unsigned char> host_keys;
	std::vector<uint32_t> host_rows;
};

static void
expect_fault(Result &result, bool with_keys, const char *expected)
{
	std::string fault = result.fault(with_keys);

	CHECK(fault == expected, "width %u: \"%s\", not \"%s\"",
		  result.input.keys.width, fault.c_str(), expected);
}

static void
test_check_of_rows()
{
	for (Distribution distribution : {UNIFORM, DUPLICATES, URLS})
		for (unsigned width : {4u, 8u, 16u, 32u, text_width})
		{
			KeyStore	store(queue);
			bool		is_text = width == text_width;

			if (!distribution_has(distribution, width))
				continue;
			generate(store, distribution, width, 1000);

			Input		input = {store.keys(), true};
			Result		right(input);

			expect_fault(right, false, "");

			Result		no_row = right;
			Result		repeated = right;
			Result		disorder = right;

			no_row.host_rows[500] = 1000;
			expect_fault(no_row, false, "rows that do not exist");
			repeated.host_rows[500] = repeated.host_rows[499];
			expect_fault(repeated, false, "repeated rows");
			std::swap(disorder.host_rows[10], disorder.host_rows[999]);
			expect_fault(disorder, false, "out of order");

			if (is_text)
				continue;

			Result		other_key = right;

			expect_fault(right, true, "");
			other_key.host_keys[999 * width] ^= 1;
			expect_fault(other_key, true, "keys of other rows");
		}
}

static void
test_check_of_keys_alone()
{
	for (unsigned width : {4, 8, 16, 32})
	{
		KeyStore	store(queue);

		generate(store, UNIFORM, width, 1000);

		Result		right(Input{store.keys(), false});
		Result		other_key = right;
		Result		disorder = right;
		unsigned char *keys = disorder.host_keys.data();

		expect_fault(right, true, "");
		std::copy(&other_key.host_keys[0], &other_key.host_keys[0] + width,
				  &other_key.host_keys[width]);
		expect_fault(other_key, true, "other keys than before");
		std::swap_ranges(keys, keys + width, keys + 700 * width);
		expect_fault(disorder, true, "out of order");
	}
}

/*
 * A job that leaves its input as it is, or asks for memory that does not
 * exist.
 */
class LazyJob : public Job
{
public:
	LazyJob(const Input &its_input, bool its_greed) :
		input(its_input), rows(queue), is_greedy(its_greed)
	{
	}

	uint64_t
	extra_bytes() const override
	{
		return 1;
	}

	bool
	prepare() override
	{
		std::vector<uint32_t> numbers(input.keys.n);

		std::iota(numbers.begin(), numbers.end(), 0);
		return rows.allocate(is_greedy ? uint64_t(1) << 40 : input.keys.n) &&
			cudaMemcpyAsync(rows.get(), numbers.data(),
							numbers.size() * sizeof(uint32_t),
							cudaMemcpyHostToDevice, queue.stream) ==
			cudaSuccess;
	}

	bool
	restore() override
	{
		return true;
	}

	bool
	sort() override
	{
		return true;
	}

	bool
	find_result(Sorted *sorted) override
	{
		*sorted = {nullptr, rows.get()};
		return true;
	}

private:
	Input		input;
	DeviceArray<uint32_t> rows;
	bool		is_greedy;
};

static void
test_contenders()
{
	unsigned	measured = 0;

	for (int i = 0; i < DISTRIBUTIONS; i++)
		for (unsigned width : {4u, 8u, 16u, 32u, text_width})
			for (bool has_rows : {true, false})
			{
				Distribution distribution = static_cast<Distribution>(i);
				KeyStore	store(queue);
				HostCheck	host_check;

				if (!distribution_has(distribution, width))
					continue;
				generate(store, distribution, width, 1500);

				Input		input = {store.keys(), has_rows};

				CHECK(host_check.prepare(queue, input), "%s", error.text);
				for (const Contender *contender : all_contenders())
				{
					std::unique_ptr<Job> job = contender->make_job(queue,
																   input);

					if (job == nullptr)
						continue;

					Measurement measurement = measure(queue, *contender,
													  std::move(job), input,
													  &host_check, 2);

					CHECK(measurement.outcome == Outcome::RIGHT,
						  "%s, %s keys, width %u: %s",
						  contender->name.c_str(),
						  distribution_name(distribution), width,
						  measurement.reason.c_str());
					CHECK(measurement.times.size() == 2 &&
						  measurement.times[0] > 0 &&
						  measurement.median() >= measurement.times[0],
						  "times are missing");
					measured++;
				}
			}
	CHECK(measured > 100, "only %u were measured", measured);
}

static void
test_measuring()
{
	KeyStore	store(queue);
	const Contender &any = *all_contenders().front();

	generate(store, UNIFORM, 8, 1000);

	Input		input = {store.keys(), true};
	Measurement lazy = measure(queue, any,
							   std::make_unique<LazyJob>(input, false), input,
							   nullptr, 3);

	CHECK(lazy.outcome == Outcome::WRONG && lazy.reason == "out of order",
		  "%s", lazy.reason.c_str());

	cuda_on_cpu::limit_memory(1 << 20);

	Measurement greedy = measure(queue, any,
								 std::make_unique<LazyJob>(input, true), input,
								 nullptr, 3);

	cuda_on_cpu::limit_memory(UINT64_MAX);
	CHECK(greedy.outcome == Outcome::NO_MEMORY, "%s", greedy.reason.c_str());
	CHECK(measure_copy(queue, 2) > 0, "%s", error.text);
}

/* Parses words as a command line. */
static bool
parse(std::vector<std::string> words, Options *options, std::string *reason)
{
	std::vector<char *> arguments;

	words.insert(words.begin(), "kernels");
	for (std::string &word : words)
		arguments.push_back(word.data());
	arguments.push_back(nullptr);
	optind = 0;
	return parse_options(static_cast<int>(words.size()), arguments.data(),
						 options, reason);
}

static void
test_options()
{
	Options		options;
	std::string reason;

	CHECK(parse({}, &options, &reason), "%s", reason.c_str());
	CHECK(options.contenders.size() == all_contenders().size() &&
		  options.distributions.size() == DISTRIBUTIONS &&
		  options.has_rows && options.repeats == 7, "wrong defaults");
	CHECK(parse({"-n", "5,1073M,2^30", "-w", "text,8", "-d", "zipf", "-k", "-r",
				 "3", "-a", "gpusort", "--csv", "file"}, &options, &reason),
		  "%s", reason.c_str());
	CHECK((options.sizes ==
		   std::vector<uint32_t>{5, 1073000000, 1u << 30} &&
		   options.widths == std::vector<unsigned>{text_width, 8} &&
		   options.distributions == std::vector<Distribution>{ZIPF} &&
		   options.contenders.size() == 1 && !options.has_rows &&
		   options.repeats == 3 && options.csv == "file"),
		  "options were misunderstood");

	for (const std::vector<std::string> &words :
		 std::vector<std::vector<std::string>>{
			 {"-n", "0"}, {"-n", "2^31"}, {"-n", "1.5M"}, {"-n", "-1"},
			 {"-n", "1074M"}, {"-w", "5"}, {"-d", "x"},
			 {"-a", "x"}, {"-r", "0"}, {"-r"}, {"-x"}, {"more"}})
	{
		reason.clear();
		CHECK(!parse(words, &options, &reason) && !reason.empty(),
			  "%s was taken", words.back().c_str());
	}
}

/* Every line of the CSV has the columns of the first. */
static void
test_csv()
{
	KeyStore	store(queue);
	FILE	   *csv = tmpfile();
	const Contender &any = *all_contenders().front();
	char		line[1000];
	unsigned	lines = 0;
	std::ptrdiff_t commas = 0;

	generate(store, UNIFORM, 8, 1000);
	{
		Report		report("a device, and more", 1e9, csv);

		report.add({UNIFORM, {store.keys(), true}},
				   {{&any, Outcome::RIGHT, "", 12, {1, 2, 3}},
					{&any, Outcome::WRONG, "a, b", 12, {}},
					{&any, Outcome::NO_MEMORY, "out of memory", 12, {}}});
	}
	rewind(csv);
	while (fgets(line, sizeof(line), csv) != nullptr)
	{
		bool		is_quoted = false;
		std::ptrdiff_t count = 0;

		for (const char *letter = line; *letter != '\0'; letter++)
		{
			is_quoted ^= *letter == '"';
			count += *letter == ',' && !is_quoted;
		}
		CHECK(lines == 0 || count == commas, "%s", line);
		commas = count;
		lines++;
	}
	CHECK(lines == 4, "%u lines", lines);
	fclose(csv);
}

static void
test_nothing_left()
{
	CHECK(cudaStreamSynchronize(queue.stream) == cudaSuccess, "waiting");

	cuda_on_cpu::Usage usage = cuda_on_cpu::usage();

	/* a process keeps one range, with the reports of its sorts in one launch */
	CHECK(usage.bytes == 0 && usage.events == 0 && usage.pinned == 1 &&
		  usage.streams == 1,
		  "left are %llu bytes, %u events, %u ranges of pinned memory",
		  (unsigned long long) usage.bytes, usage.events, usage.pinned);
}

int
main()
{
	int			multiprocessors;

	queue.error = &error;
	if (!device_start(device, &error) ||
		cudaStreamCreateWithFlags(&queue.stream, cudaStreamNonBlocking) !=
		cudaSuccess ||
		cudaDeviceGetAttribute(&multiprocessors,
							   cudaDevAttrMultiProcessorCount, device) !=
		cudaSuccess)
		return 2;
	queue.multiprocessors = static_cast<unsigned>(multiprocessors);

	RUN_TEST("uniform", test_uniform);
	RUN_TEST("gaussian", test_gaussian);
	RUN_TEST("zero", test_zero);
	RUN_TEST("bucket", test_bucket);
	RUN_TEST("staggered", test_staggered);
	RUN_TEST("sorted and reversed", test_sorted);
	RUN_TEST("swapped", test_swapped);
	RUN_TEST("duplicates", test_duplicates);
	RUN_TEST("zipf", test_zipf);
	RUN_TEST("composite", test_composite);
	RUN_TEST("texts", test_texts);
	RUN_TEST("the same keys again", test_repeatable);
	RUN_TEST("checking rows", test_check_of_rows);
	RUN_TEST("checking keys alone", test_check_of_keys_alone);
	RUN_TEST("contenders", test_contenders);
	RUN_TEST("measuring", test_measuring);
	RUN_TEST("options", test_options);
	RUN_TEST("CSV", test_csv);

	RUN_TEST("nothing left", test_nothing_left);

	(void) cudaStreamDestroy(queue.stream);
	return failures > 0;
}
