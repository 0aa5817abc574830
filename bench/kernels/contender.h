/*-------------------------------------------------------------------------
 *
 * contender.h
 *	  A contender: an algorithm as the benchmark sees it.
 *
 * Each source in contenders/ registers one or more contenders, so a new
 * algorithm is a new file there.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_BENCH_CONTENDER_H
#define GPUSORT_BENCH_CONTENDER_H

#include <memory>
#include <string>
#include <vector>

#include "check.h"

namespace bench
{

/* The device on which all contenders are measured. */
constexpr int device = 0;

/*
 * An algorithm at work on one input.  Functions that return bool return false
 * on failure, with the reason in the queue's error.
 */
class Job
{
public:
	virtual ~Job() = default;

	/* Device memory beside that of the keys and row numbers themselves. */
	virtual uint64_t extra_bytes() const = 0;

	/* Takes the memory for all sorts of this job. */
	virtual bool prepare() = 0;

	/* Puts the unsorted input to where sort() wants it; not timed. */
	virtual bool restore() = 0;

	/*
	 * Sorts.  Work that it starts is on the queue's stream, or done at return.
	 */
	virtual bool sort() = 0;

	/* Says where the result of the last sort is. */
	virtual bool find_result(Sorted *sorted) = 0;
};

/* In the order of the tables. */
enum class Kind
{
	PRODUCT,
	REFERENCE,
	LINEAGE
};

class Contender
{
public:
	Contender(Kind its_kind, const std::string &its_name);
	virtual ~Contender() = default;

	/* Makes a job; null if the algorithm does not take such inputs. */
	virtual std::unique_ptr<Job> make_job(const Queue &queue,
										  const Input &input) const = 0;

	const Kind	kind;
	const std::string name;		/* in small letters, without blanks */
};

/* Contenders with which the others are compared. */
constexpr const char *radix_sort_name = "cub-radix-sort";
constexpr const char *merge_sort_name = "cub-merge-sort";

/* All contenders, in the order of the tables. */
extern std::vector<const Contender *> all_contenders();

}								/* namespace bench */

#endif							/* GPUSORT_BENCH_CONTENDER_H */
