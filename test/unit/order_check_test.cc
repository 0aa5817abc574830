/*-------------------------------------------------------------------------
 *
 * order_check_test.cc
 *	  Tests of kernels/order_check.cuh: right orders pass, wrong ones do not.
 *
 * The kernel gets orders made here.  Keys that break the promise of
 * key_format.h test that a job fails by the check.
 *
 *-------------------------------------------------------------------------
 */
#include <cstring>
#include <utility>

#include "device_sort_tests.h"
#include "order_checker.h"

using gpusort::check_tile_rows;
using gpusort::checked_pairs;

/* Sizes around those at which the check changes its ways. */
static std::vector<uint64_t>
checked_sizes()
{
	std::vector<uint64_t> sizes = {1, 2, 3};

	for (uint64_t boundary : {gpusort::simple_threads, check_tile_rows,
							  5 * check_tile_rows, checked_pairs,
							  3 * checked_pairs})
		for (uint64_t size : {boundary - 1, boundary + 0, boundary + 1})
			sizes.push_back(size);
	return sizes;
}

void
test_right_orders()
{
	for (uint64_t nrows : checked_sizes())
		for (bool mark_ties : {false, true})
			for (Distribution value : {uniform, few, constant})
			{
				TestKeys	keys = fixed_keys(nrows, 2, {value, few},
											  mark_ties);
				OrderChecker checker(keys);
				OrderCheck	found = checker.find(checker.right_order());

				CHECK(found.excess == 0 && found.disorder == 0,
					  "the right order of %llu rows fails",
					  (unsigned long long) nrows);
			}

	std::vector<std::string> strings;
	Random		random = {8};

	for (unsigned i = 0; i < 2000; i++)
		strings.push_back(random_text(random, random.below(30), 2));

	TestKeys	keys = string_keys(strings);
	OrderChecker checker(keys);
	OrderCheck	found = checker.find(checker.right_order());

	CHECK(found.excess == 0 && found.disorder == 0,
		  "the right order of strings fails");
}

/* For any number of rows, all rows must be there, and nothing else. */
void
test_missing_rows()
{
	for (uint64_t nrows : checked_sizes())
		for (bool mark_ties : {false, true})
		{
			TestKeys	keys = fixed_keys(nrows, 1, {constant}, mark_ties);
			OrderChecker checker(keys);
			std::vector<uint32_t> right = checker.right_order();
			uint32_t	n = static_cast<uint32_t>(nrows);
			Random		random = {nrows};

			auto		expect_excess = [&](const char *what,
											const std::vector<uint32_t> &order) {
				CHECK(checker.find(order).excess != 0, "%u rows: %s", n, what);
			};

			for (uint32_t row : {n, n + 1, UINT32_MAX & ~ORDER_TIE})
				for (uint32_t place : {UINT32_C(0), n / 2, n - 1})
				{
					std::vector<uint32_t> order = right;

					order[place] = (order[place] & ORDER_TIE) | row;
					expect_excess("a row that does not exist", order);
				}
			for (unsigned i = 0; n > 1 && i < 10; i++)
			{
				std::vector<uint32_t> order = right;
				uint32_t	place = static_cast<uint32_t>(random.below(n));
				uint32_t	other = (place + 1 +
									 static_cast<uint32_t>(
										random.below(n - 1))) % n;

				order[place] = (order[place] & ORDER_TIE) |
					ORDER_ROW(order[other]);
				expect_excess("a row that comes twice", order);
			}

			if (n > 1)
				expect_excess("one row everywhere",
							  std::vector<uint32_t>(n, n / 2));
			if (n > 3)
			{
				/* The sum of the rows and its parity stay the same. */
				std::vector<uint32_t> order = right;

				for (uint32_t &entry : order)
					if (ORDER_ROW(entry) < 4)
						entry = (entry & ORDER_TIE) |
							(ORDER_ROW(entry) < 2 ? 1 : 2);
				expect_excess("rows 1 and 2 for 0 and 3", order);
			}
			if (!mark_ties)
			{
				std::vector<uint32_t> order = right;

				order[n / 2] |= ORDER_TIE;
				expect_excess("a tie that nobody asked for", order);
			}
		}
}

/* With few rows every pair of neighbours is checked. */
void
test_disorder_of_few()
{
	uint32_t	n = checked_pairs;

	for (uint32_t width : {1, 3})
	{
		TestKeys	keys = fixed_keys(n, width, {constant, pairs});
		OrderChecker checker(keys);
		std::vector<uint32_t> right = checker.right_order();
		unsigned	swaps = 0;

		auto		expect_disorder = [&](const char *what, uint32_t place,
										  const std::vector<uint32_t> &order) {
			OrderCheck	found = checker.find(order);

			CHECK(found.excess == 0 && found.disorder != 0,
				  "%s at place %u of %u", what, place, n);
		};

		for (uint32_t place = 1; place < n; place += 1 + place / 8)
		{
			std::vector<uint32_t> order = right;

			order[place] ^= ORDER_TIE;
			expect_disorder("a wrong mark", place, order);
			if ((right[place] & ORDER_TIE) != 0)
				continue;

			/* The rows change places, the marks stay. */
			order = right;
			order[place] = (right[place] & ORDER_TIE) |
				ORDER_ROW(right[place - 1]);
			order[place - 1] = (right[place - 1] & ORDER_TIE) |
				ORDER_ROW(right[place]);
			expect_disorder("swapped neighbours", place, order);
			swaps++;
		}
		CHECK(width == 1 || swaps > 5, "only %u neighbours differ", swaps);

		std::vector<uint32_t> order = right;

		order[0] |= ORDER_TIE;
		expect_disorder("a mark where nothing is before", 0, order);
		order = right;
		std::swap(order[0], order[n - 1]);
		if (width > 1)
			expect_disorder("first and last swapped", 0, order);
	}
}

/* With many rows gross disorder is found. */
void
test_disorder_of_many()
{
	uint32_t	n = 20 * checked_pairs + 17;
	TestKeys	keys = fixed_keys(n, 1, {uniform}, false);
	OrderChecker checker(keys);
	std::vector<uint32_t> right = checker.right_order();

	auto		expect_disorder = [&](const char *what,
									  const std::vector<uint32_t> &order) {
		OrderCheck	found = checker.find(order);

		CHECK(found.excess == 0 && found.disorder != 0, "%s is not found",
			  what);
	};

	std::vector<uint32_t> order(n);

	std::iota(order.begin(), order.end(), 0);
	expect_disorder("an order that is none", order);
	expect_disorder("the opposite order", {right.rbegin(), right.rend()});

	/* A hundredth reversed anywhere, and every twentieth pair swapped. */
	for (uint32_t begin = 0; begin + n / 100 <= n; begin += n / 9)
	{
		order = right;
		std::reverse(order.begin() + begin, order.begin() + begin + n / 100);
		expect_disorder("a part in the opposite order", order);
	}
	for (uint32_t first : {1, 7, 19})
	{
		order = right;
		for (uint32_t place = first; place < n; place += 20)
			std::swap(order[place], order[place - 1]);
		expect_disorder("every twentieth pair swapped", order);
	}
}

/*
 * A job that fails by the check.  One of its keys is the beginning of the
 * other, which no encoder makes: to the sort the keys are equal, to the check
 * they are not.
 */
void
test_failed_check()
{
	TestKeys	keys;
	std::vector<uint32_t> order;
	DeviceError error = {};

	keys.shape = {0, true};
	keys.nrows = 4;
	keys.words = {9, 7, 8, 7, 0};
	keys.ends = {1, 2, 3, 5};
	CHECK(!sort_keys(keys, 10, order, &error) &&
		  strstr(error.text, "failed its check") != nullptr,
		  "a wrong order was taken for right: %s", error.text);
	CHECK(order.empty(), "a part of a wrong order was emitted");
	CHECK(!device_is_lost(), "a failed check lost the device");
}
