/*-------------------------------------------------------------------------
 *
 * engine_cuda_test.cc
 *	  Tests of gpusortd's cuda engine, on the CPU: that what engine.h promises
 *	  comes through to the kernels, which device_sort_test.cc tests.
 *
 *-------------------------------------------------------------------------
 */
#include <cstring>
#include <vector>

#include "cuda_on_cpu/cuda_on_cpu.h"
#define TEST_SUBJECT	"cuda engine"
#include "test_report.h"

#define HAVE_CUDA
extern "C"
{
#include "../../src/daemon/merge.h"
}

namespace
{

constexpr uint32_t nrows = 3000;
constexpr KeyShape shape = {1, true};

DeviceError error;

/* Calls of CUDA that the last job made until it was sorted. */
uint64_t	calls_of_job;

bool
never(void *)
{
	return false;
}

/* Memory that is pinned as long as it exists. */
template <typename T>
struct Pinned
{
	std::vector<T> items;

	explicit	Pinned(size_t count) : items(count)
	{
		CHECK(cuda_engine.pin(items.data(), count * sizeof(T), &error), "pin: %s", error.text);
	}
	~Pinned()
	{
		cuda_engine.unpin(items.data());
	}
};

/* Pinned memory from which a job is pushed, and into which it is pulled. */
struct JobMemory
{
	Pinned<uint64_t> words{nrows};
	Pinned<uint32_t> order{nrows};
	Pinned<uint64_t> keys{nrows / 2};
};

/*
 * Takes a job to its end on a device, or to the first step that fails.  The
 * job keeps its keys, and every other key is pulled.
 */
bool
sort_on(int device, JobMemory &memory)
{
	EngineJob  *job = cuda_engine.begin(device, &shape, DEVICE_SORT_AUTO, never, nullptr, &error);
	uint64_t	bytes = cuda_engine.job_memory(&shape, nrows, nrows);
	uint32_t   *order = memory.order.items.data();
	uint64_t	ticket;
	bool		sorted;

	if (job == nullptr)
		return false;
	cuda_engine.keep_keys(job);
	sorted = cuda_engine.push(job, memory.words.items.data(), nrows, nullptr, nrows, &ticket, &error) &&
		cuda_engine.wait_pushed(job, ticket, &error) &&
		cuda_engine.perform(job, bytes, &error) &&
		cuda_engine.pull(job, 0, nrows / 2, order, &error) &&
		cuda_engine.pull(job, nrows / 2, nrows - nrows / 2, order + nrows / 2, &error) &&
		cuda_engine.pull_keys(job, 1, 2, nrows / 2, 1, memory.keys.items.data(), &error);
	calls_of_job = cuda_on_cpu::calls_made();
	if (sorted)
	{
		CHECK(strlen(cuda_engine.method(job)) > 0, "it does not say how it sorted");
		for (uint32_t i = 0; i < nrows / 2; i++)
			CHECK(memory.keys.items[i] == memory.words.items[ORDER_ROW(order[2 * i + 1])], "key %u is another one", i);
	}
	cuda_engine.end(job);
	return sorted;
}

bool
sort(JobMemory &memory)
{
	return sort_on(0, memory);
}

void
test_start()
{
	DeviceInfo	info;

	CHECK(cuda_engine.count(&error) == 2, "%d devices", cuda_engine.count(&error));
	for (int device = 0; device < 2; device++)
	{
		CHECK(cuda_engine.describe(device, &info, &error), "describe: %s", error.text);
		CHECK(info.name[0] != '\0' && info.memory_bytes > 0, "device %d is not described", device);
		CHECK(strcmp(info.uuid, device == 0 ? "GPU-00112233-4455-6677-8899-aabbccddeeff" :
					 "GPU-01122334-4556-6778-899a-abbccddeef00") == 0, "device %d is %s", device, info.uuid);
		CHECK(cuda_engine.start(device, &error), "start: %s", error.text);
	}
	CHECK(!cuda_engine.start(2, &error), "a device that is none");
	CHECK(!cuda_engine.is_lost(), "it is lost from the beginning");
}

void
test_job_on(int device)
{
	JobMemory	memory;
	const std::vector<uint32_t> &order = memory.order.items;
	std::vector<uint64_t> &words = memory.words.items;
	std::vector<bool> seen(nrows);

	for (uint32_t row = 0; row < nrows; row++)
		words[row] = row * UINT64_C(7919) % 1000;
	if (!sort_on(device, memory))
	{
		wrong("%s", error.text);
		return;
	}
	for (uint32_t entry = 0; entry < nrows; entry++)
	{
		uint32_t	row = ORDER_ROW(order[entry]);
		uint64_t	before = entry == 0 ? 0 : words[ORDER_ROW(order[entry - 1])];
		bool		tie = entry > 0 && words[row] == before;

		CHECK(row < nrows && !seen[row], "entry %u is row %u once more", entry, row);
		CHECK(words[row] >= before, "entry %u is out of order", entry);
		CHECK(tie == ((order[entry] & ORDER_TIE) != 0), "the tie of entry %u", entry);
		seen[row] = true;
	}
}

/*
 * The devices of the emulator check that nothing of one is used on the other.
 */
void
test_job()
{
	test_job_on(0);
	test_job_on(1);
	test_job_on(0);
}

/* Sorts keys on a device, in place or not, and keeps them there. */
EngineJob *
sort_part(int device, DeviceAlgorithm algorithm, const KeyShape &part_shape, const uint64_t *words, uint32_t rows)
{
	uint64_t	nwords = static_cast<uint64_t>(rows) * part_shape.fixed_words;
	EngineJob  *job = cuda_engine.begin(device, &part_shape, algorithm, never, nullptr, &error);
	uint64_t	ticket;

	cuda_engine.keep_keys(job);
	CHECK(cuda_engine.push(job, words, nwords, nullptr, rows, &ticket, &error), "push: %s", error.text);
	CHECK(cuda_engine.perform(job, cuda_engine.job_memory(&part_shape, rows, nwords), &error), "run: %s", error.text);
	return job;
}

/* A job of two parts, each on its device, whose merged order has more than one range. */
void
test_merge()
{
	constexpr uint32_t part_rows = 70000;
	constexpr uint32_t width = 2;
	KeyShape	part_shape = {width, true};
	Pinned<uint64_t> words(2 * part_rows * width);
	std::vector<uint32_t> order(2 * part_rows);
	std::vector<bool> seen(2 * part_rows);
	MergePart	parts[2];
	MergeFailure failure;
	Merge	   *merge;

	for (uint32_t i = 0; i < words.items.size(); i++)
		words.items[i] = i * UINT64_C(0x9e3779b97f4a7c15) >> (i % 2 == 0 ? 62 : 48);
	parts[0] = {sort_part(0, DEVICE_SORT_BITONIC, part_shape, words.items.data(), part_rows), part_rows, 0};
	parts[1] = {sort_part(1, DEVICE_SORT_AUTO, part_shape, words.items.data() + part_rows * width, part_rows),
		part_rows, part_rows};
	merge = merge_begin(&cuda_engine, parts, 2, width, true, &failure);
	CHECK(merge != nullptr && merge_next(merge, 2 * part_rows, order.data(), &failure), "merge: %s",
		  failure.error.text);
	for (uint32_t entry = 0; entry < 2 * part_rows; entry++)
	{
		uint32_t	row = ORDER_ROW(order[entry]);
		const uint64_t *key = &words.items[row % (2 * part_rows) * width];
		const uint64_t *before = &words.items[ORDER_ROW(order[entry > 0 ? entry - 1 : 0]) * width];
		bool		tie = entry > 0 && before[0] == key[0] && before[1] == key[1];

		CHECK(row < 2 * part_rows && !seen[row], "entry %u is row %u once more", entry, row);
		CHECK(before[0] < key[0] || (before[0] == key[0] && before[1] <= key[1]), "entry %u is out of order", entry);
		CHECK(tie == ((order[entry] & ORDER_TIE) != 0), "the tie of entry %u", entry);
		seen[row % (2 * part_rows)] = true;
	}
	merge_end(merge);
	cuda_engine.end(parts[0].job);
	cuda_engine.end(parts[1].job);
}

/*
 * If any call of CUDA fails, so does the job, with a reason, and it leaves
 * nothing behind.
 */
void
test_failures()
{
	JobMemory	memory;
	cuda_on_cpu::Usage before = cuda_on_cpu::usage();
	uint64_t	calls;

	cuda_on_cpu::fail_call(0, cudaSuccess);
	CHECK(sort(memory), "%s", error.text);
	calls = calls_of_job;
	for (uint64_t call = 1; call <= calls; call++)
	{
		cuda_on_cpu::fail_call(call, cudaErrorUnknown);
		error.text[0] = '\0';
		CHECK(!sort(memory), "call %d is not missed", (int) call);
		CHECK(error.text[0] != '\0' && !error.is_full, "there is no reason when call %d fails", (int) call);

		cuda_on_cpu::fail_call(call, cudaErrorMemoryAllocation);
		CHECK(sort(memory) || error.is_full, "call %d: %s", (int) call, error.text);
	}
	cuda_on_cpu::fail_call(0, cudaSuccess);
	CHECK(!cuda_engine.is_lost(), "it is lost though all can go on");
	CHECK(sort(memory), "afterwards: %s", error.text);
	CHECK(cuda_on_cpu::usage().bytes == before.bytes, "memory is left behind");
}

/* Other processes take what a job had reserved, when its keys are there. */
void
test_neighbour()
{
	JobMemory	memory;
	EngineJob  *job = cuda_engine.begin(0, &shape, DEVICE_SORT_AUTO, never, nullptr, &error);
	uint64_t	ticket;
	uint64_t	bytes;

	for (uint32_t row = 0; row < nrows; row++)
		memory.words.items[row] = row * UINT64_C(7919) % 1000;
	CHECK(cuda_engine.push(job, memory.words.items.data(), nrows, nullptr, nrows, &ticket, &error) &&
		  cuda_engine.wait_pushed(job, ticket, &error), "push: %s", error.text);
	cuda_on_cpu::limit_memory(cuda_engine.job_memory_in_place(&shape, nrows, nrows));
	CHECK(cuda_engine.perform(job, cuda_engine.job_memory(&shape, nrows, nrows), &error), "run: %s", error.text);
	CHECK(strcmp(cuda_engine.method(job), "bitonic sort, in place") == 0, "it sorts by %s", cuda_engine.method(job));
	cuda_engine.end(job);

	cuda_on_cpu::limit_memory(1000);
	CHECK(!sort(memory) && error.is_full, "without memory: %s", error.text);
	CHECK(!cuda_engine.is_lost(), "it is lost though all can go on");
	cuda_on_cpu::limit_memory(UINT64_MAX);
	CHECK(sort(memory), "when they have gone: %s", error.text);

	/* a little is left to the driver */
	cuda_engine.release(0, 0);
	cuda_on_cpu::limit_memory(UINT64_C(100) << 20);
	CHECK(cuda_engine.memory(0, &bytes, &error) && bytes == UINT64_C(36) << 20, "jobs could have %llu bytes",
		  (unsigned long long) bytes);
	cuda_on_cpu::limit_memory(UINT64_MAX);
	CHECK(cuda_engine.memory(0, &bytes, &error) && bytes == UINT64_C(960) << 20, "jobs could have %llu bytes",
		  (unsigned long long) bytes);
}

/* What a job has had is kept until it is given back. */
void
test_release()
{
	JobMemory	memory;
	uint64_t	kept;

	CHECK(sort(memory), "%s", error.text);
	kept = cuda_on_cpu::usage().pool_bytes;
	CHECK(kept >= cuda_engine.job_memory(&shape, nrows, nrows) / 2, "only %llu bytes are kept", (unsigned long long) kept);
	cuda_engine.release(0, kept);
	CHECK(cuda_on_cpu::usage().pool_bytes == kept, "more is given back than was to be");
	cuda_engine.release(0, 100);
	CHECK(cuda_on_cpu::usage().pool_bytes == 100, "%llu bytes are kept", (unsigned long long) cuda_on_cpu::usage().pool_bytes);
}

void
test_no_device()
{
	cuda_on_cpu::set_device_present(false);
	error.text[0] = '\0';
	CHECK(cuda_engine.count(&error) == 0, "%d devices", cuda_engine.count(&error));
	CHECK(error.text[0] != '\0', "there is no reason");
	CHECK(!cuda_engine.start(0, &error), "it starts");
	cuda_on_cpu::set_device_present(true);
	CHECK(cuda_engine.start(0, &error), "start: %s", error.text);
}

/* Counts the devices of this driver: there are none. */
void
check_driver(int version, const char *reason)
{
	cuda_on_cpu::set_driver(version);
	CHECK(cuda_engine.count(&error) == 0, "%d devices", cuda_engine.count(&error));
	CHECK(strcmp(error.text, reason) == 0, "driver %d: %s", version, error.text);
}

void
test_drivers()
{
	check_driver(0, "No NVIDIA driver is installed");
	check_driver(12020, "the NVIDIA driver is for CUDA 12.2 at most, and gpusort was built with CUDA 13.0");
	cuda_on_cpu::set_driver(13010);
	CHECK(cuda_engine.count(&error) == 2, "count: %s", error.text);
}

/* The last test: afterwards nothing works any more. */
void
test_lost()
{
	JobMemory	memory;

	cuda_on_cpu::lose_context(cudaErrorIllegalAddress);
	CHECK(!sort(memory), "it sorts without a context");
	CHECK(cuda_engine.is_lost(), "it is not lost");
}

}								/* namespace */

int
main()
{
	RUN_TEST("starts all devices", test_start);
	RUN_TEST("sorts, and marks ties", test_job);
	RUN_TEST("sorts parts on two devices, which are merged", test_merge);
	RUN_TEST("a call that fails ends the job", test_failures);
	RUN_TEST("makes do with what others leave", test_neighbour);
	RUN_TEST("gives memory back", test_release);
	RUN_TEST("says when there is no device", test_no_device);
	RUN_TEST("says what is the matter with the driver", test_drivers);
	RUN_TEST("knows when it is lost", test_lost);
	return failures > 0;
}
