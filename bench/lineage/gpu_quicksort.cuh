/*-------------------------------------------------------------------------
 *
 * gpu_quicksort.cuh
 *	  GPU-Quicksort of Cederman and Tsigas, "GPU-Quicksort: A practical
 *	  quicksort algorithm for graphics processors" (2009).
 *
 * Partitioning moves a sequence from one array to the other, where the keys
 * less than its pivot and the greater ones are sequences of their own.  Every
 * thread reads its items twice: to count both sides, and, when prefix sums
 * have told it where its own begin, to write them there.
 *
 * In the first phase (algorithms 1 and 2) the host deals out blocks to
 * sequences by their lengths; all blocks get sections of about the same
 * length.  It ends when there are max_sequences() of them, or all are shorter
 * than that part of the input.  In the second (algorithm 3) a block sorts a
 * sequence by itself, with a stack; what fits into shared memory is sorted
 * there by a bitonic network.
 *
 * The blocks of a sequence must learn where each of them may write.
 * GpuQuicksort is the one of the paper's main results, for devices without
 * atomic operations: one kernel counts, the host sums up what the blocks have
 * counted (section 3.2.1), and a second kernel writes.  In GpuQuicksortAtomic
 * every block takes its room by fetch-and-add.
 *
 * Pivots are those of section 5.2: the mean of the smallest and the largest
 * key in the first phase, the median of the first, middle and last in the
 * second.  The smallest and largest key of either side are found while
 * counting.
 *
 * Different from the paper:
 *
 * - Keys equal to the pivot may have values.  These are written to the gap
 *	 between the two sides; with atomic operations, as its place is not known
 *	 yet, to an array of their own first.
 * - A gap may be as long as the input.  In the first phase it is therefore
 *	 filled by many blocks, in a launch of its own, rather than by the one that
 *	 happens to be the last of its sequence.
 * - The parameters are computed by the formula of table II from constants for
 *	 larger devices.  But the first phase never partitions what fits into
 *	 shared memory, and a section is never too short to keep all threads busy.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LINEAGE_GPU_QUICKSORT_CUH
#define GPUSORT_LINEAGE_GPU_QUICKSORT_CUH

#include <cmath>
#include <vector>

#include "../../kernels/workspace.cuh"
#include "gpu_quicksort_kernels.cuh"

namespace lineage
{

namespace gpu_quicksort
{

using gpusort::Carver;

#ifdef CUDA_ON_CPU

constexpr double sequences_slope = 1.0 / 512;
constexpr double sequences_offset = 4;

#else

/* Sequences that the first phase makes: slope * n + offset, about. */
constexpr double sequences_slope = 1.0 / 16384;
constexpr double sequences_offset = 256;

#endif

/* A shorter section would leave threads idle. */
constexpr uint32_t min_section_items = threads * batch;

/* A sequence in the first phase; the host's. */
template <typename Key>
struct Sequence
{
	uint32_t	begin;
	uint32_t	end;
	Extremes<Key> extremes;
};

/* What is known of a sequence when it has been partitioned. */
template <typename Key>
struct Outcome
{
	uint32_t	less;
	uint32_t	greater;
	Extremes<Key> inner;		/* the smallest greater and the largest less */
};

/* Sequences that the first phase is to make of n items (the paper's maxseq). */
inline uint32_t
max_sequences(uint32_t n)
{
	double		fitted = n * sequences_slope + sequences_offset;
	uint32_t	power = 1u << static_cast<unsigned>(std::log2(fitted) + 0.5);
	uint32_t	most = n / short_items;

	return power < most ? power : most > 0 ? most : 1;
}

/* Sections of an iteration: sequences cut up, and the last of each shorter. */
inline uint32_t
max_sections(uint32_t n)
{
	return 2 * max_sequences(n);
}

template <typename Element>
static bool
copy_to_device(const Queue &queue, Element *to,
			   const std::vector<Element> &from)
{
	return queue.did(cudaMemcpyAsync(to, from.data(),
									 from.size() * sizeof(Element),
									 cudaMemcpyHostToDevice, queue.stream),
					 "copying a list to the device");
}

/* Copies as many elements as "to" has; they are there at return. */
template <typename Element>
static bool
copy_to_host(const Queue &queue, std::vector<Element> &to,
			 const Element *from)
{
	return queue.did(cudaMemcpyAsync(to.data(), from,
									 to.size() * sizeof(Element),
									 cudaMemcpyDeviceToHost, queue.stream),
					 "copying a list from the device") &&
		queue.did(cudaStreamSynchronize(queue.stream), "partitioning");
}

/*
 * Partitions the sequences of an iteration; the host computes where each
 * block may write.
 */
template <typename Key, bool has_values>
class HostPartition
{
public:
	void
	take_memory(Carver &carver, uint32_t n)
	{
		counts = carver.take<SectionCounts<Key>>(max_sections(n));
		targets = carver.take<Targets>(max_sections(n));
		thread_sides = carver.take<Sides>(
			static_cast<uint64_t>(max_sections(n)) * threads);
	}

	/*
	 * Moves sequences from one array to the other.  "sections", of which
	 * device_sections is a copy, lists theirs in order.
	 */
	bool
	run(const Queue &queue, const std::vector<Sequence<Key>> &sequences,
		const std::vector<Section<Key>> &sections,
		const Section<Key> *device_sections, Items<Key, has_values> from,
		Items<Key, has_values> to, std::vector<Outcome<Key>> &outcomes)
	{
		std::vector<SectionCounts<Key>> section_counts(sections.size());

		if (!queue.launch<CountShared<Key>>("counting", count_sections<Key>,
											sections.size(), threads,
											from.keys, device_sections,
											counts, thread_sides) ||
			!copy_to_host(queue, section_counts, counts))
			return false;

		sum_up(sections, section_counts, outcomes);
		return copy_to_device(queue, targets,
							  place_sections(sequences, sections,
											 section_counts, outcomes)) &&
			queue.launch("moving", move_sections<Key, has_values>,
						 sections.size(), threads, from, device_sections,
						 targets, thread_sides, to);
	}

	/* Where the values of equal keys are after run(). */
	const uint32_t *
	equal_values(Items<Key, has_values> to) const
	{
		return to.values;
	}

	static uint32_t
	equal_begin(const Sequence<Key> &sequence, const Outcome<Key> &outcome)
	{
		return sequence.begin + outcome.less;
	}

private:
	static void
	sum_up(const std::vector<Section<Key>> &sections,
		   const std::vector<SectionCounts<Key>> &section_counts,
		   std::vector<Outcome<Key>> &outcomes)
	{
		for (size_t i = 0; i < sections.size(); i++)
		{
			Outcome<Key> &outcome = outcomes[sections[i].sequence];

			outcome.less += section_counts[i].less;
			outcome.greater += section_counts[i].greater;
			outcome.inner.merge(section_counts[i].inner);
		}
	}

	static std::vector<Targets>
	place_sections(const std::vector<Sequence<Key>> &sequences,
				   const std::vector<Section<Key>> &sections,
				   const std::vector<SectionCounts<Key>> &section_counts,
				   const std::vector<Outcome<Key>> &outcomes)
	{
		std::vector<Targets> places(sections.size());
		Targets		next = {};

		for (size_t i = 0; i < sections.size(); i++)
		{
			const Section<Key> &section = sections[i];
			const Sequence<Key> &sequence = sequences[section.sequence];
			const Outcome<Key> &outcome = outcomes[section.sequence];
			const SectionCounts<Key> &count = section_counts[i];

			if (section.begin == sequence.begin)
				next = {sequence.begin, sequence.end - outcome.greater,
					sequence.begin + outcome.less};
			places[i] = next;
			next.less += count.less;
			next.greater += count.greater;
			next.equal += section.end - section.begin - count.less -
				count.greater;
		}
		return places;
	}

	SectionCounts<Key> *counts;
	Targets    *targets;
	Sides	   *thread_sides;
};

/* Partitions the sequences of an iteration; blocks take room atomically. */
template <typename Key, bool has_values>
class AtomicPartition
{
public:
	void
	take_memory(Carver &carver, uint32_t n)
	{
		shared_sequences = carver.take<SharedSequence>(max_sequences(n));
		values_aside = carver.take<uint32_t>(has_values ? n : 0);
	}

	/* As that of HostPartition. */
	bool
	run(const Queue &queue, const std::vector<Sequence<Key>> &sequences,
		const std::vector<Section<Key>> &sections,
		const Section<Key> *device_sections, Items<Key, has_values> from,
		Items<Key, has_values> to, std::vector<Outcome<Key>> &outcomes)
	{
		std::vector<SharedSequence> shared;

		for (const Sequence<Key> &sequence : sequences)
			shared.push_back({sequence.begin, sequence.end, 0, 0, 0,
							  Extremes<Key>::none().smallest,
							  Extremes<Key>::none().largest});
		if (!copy_to_device(queue, shared_sequences, shared) ||
			!queue.launch<AtomicShared<Key>>(
				"partitioning", partition_sections<Key, has_values>,
				sections.size(), threads, from, device_sections,
				shared_sequences, to, values_aside) ||
			!copy_to_host(queue, shared, shared_sequences))
			return false;

		for (size_t i = 0; i < sequences.size(); i++)
			outcomes[i] = {shared[i].less, shared[i].greater,
				{static_cast<Key>(shared[i].smallest_greater),
				 static_cast<Key>(shared[i].largest_less)}};
		return true;
	}

	const uint32_t *
	equal_values(Items<Key, has_values>) const
	{
		return values_aside;
	}

	static uint32_t
	equal_begin(const Sequence<Key> &sequence, const Outcome<Key> &)
	{
		return sequence.begin;
	}

private:
	SharedSequence *shared_sequences;
	uint32_t   *values_aside;
};

/* The extra memory. */
template <typename Key, bool has_values,
		  template <typename, bool> class Partition>
struct Memory
{
	Items<Key, has_values> spare;
	Section<Key> *sections;
	Extremes<Key> *extremes;	/* of sections */
	GapPiece<Key> *pieces;
	OwnSequence *done;
	Partition<Key, has_values> partition;

	/* Lays it out; with a null base it only counts bytes. */
	size_t
	lay_out(void *base, uint32_t n)
	{
		Carver		carver(base);

		spare.keys = carver.take<Key>(n);
		spare.values = carver.take<uint32_t>(has_values ? n : 0);
		sections = carver.take<Section<Key>>(max_sections(n));
		extremes = carver.take<Extremes<Key>>(max_sections(n));
		pieces = carver.take<GapPiece<Key>>(n / gap_piece_items +
											max_sequences(n));
		done = carver.take<OwnSequence>(2 * max_sequences(n));
		partition.take_memory(carver, n);
		return carver.bytes();
	}
};

/* The host's side of a sort. */
template <typename Key, bool has_values,
		  template <typename, bool> class Partition>
class Sort
{
public:
	Sort(const Queue &sort_queue, Items<Key, has_values> items,
		 uint32_t items_count, void *extra)
		: queue(sort_queue), sorted(items), n(items_count),
		  sequences_wanted(max_sequences(items_count))
	{
		(void) memory.lay_out(extra, n);
	}

	bool
	run()
	{
		bool		in_spare = false;

		work = {{0, n, Extremes<Key>::none()}};
		if (sequences_wanted > 1 && !find_whole_extremes())
			return false;
		while (!work.empty() && work.size() + done.size() < sequences_wanted)
		{
			if (!run_iteration(in_spare))
				return false;
			in_spare = !in_spare;
		}

		for (const Sequence<Key> &sequence : work)
			done.push_back({sequence.begin, sequence.end, in_spare});
		return done.empty() ||
			(copy_to_device(queue, memory.done, done) &&
			 queue.launch<OwnShared<Key, has_values>>(
				 "sorting sequences", sort_sequences<Key, has_values>,
				 done.size(), threads, memory.done, sorted, memory.spare));
	}

private:
	bool
	find_whole_extremes()
	{
		cut_sections();

		std::vector<Extremes<Key>> extremes(sections.size());

		if (!copy_to_device(queue, memory.sections, sections) ||
			!queue.launch<ExtremesShared<Key>>("finding the extremes",
											   find_extremes<Key>,
											   sections.size(), threads,
											   sorted.keys, memory.sections,
											   memory.extremes) ||
			!copy_to_host(queue, extremes, memory.extremes))
			return false;
		for (const Extremes<Key> &of_section : extremes)
			work[0].extremes.merge(of_section);
		return true;
	}

	/* Partitions all sequences of "work". */
	bool
	run_iteration(bool in_spare)
	{
		Items<Key, has_values> from = in_spare ? memory.spare : sorted;
		Items<Key, has_values> to = in_spare ? sorted : memory.spare;
		std::vector<Outcome<Key>> outcomes(work.size(),
										   {0, 0, Extremes<Key>::none()});

		cut_sections();
		if (!copy_to_device(queue, memory.sections, sections) ||
			!memory.partition.run(queue, work, sections, memory.sections,
								  from, to, outcomes) ||
			!fill(outcomes, memory.partition.equal_values(to)))
			return false;
		advance(outcomes, !in_spare);
		return true;
	}

	/* Cuts the sequences of "work" into sections. */
	void
	cut_sections()
	{
		uint64_t	total = 0;

		for (const Sequence<Key> &sequence : work)
			total += sequence.end - sequence.begin;

		uint32_t	fair = static_cast<uint32_t>(divide_up(total,
														   sequences_wanted));
		uint32_t	length = fair < min_section_items ? min_section_items :
			fair;

		sections.clear();
		for (uint32_t number = 0; number < work.size(); number++)
		{
			const Sequence<Key> &sequence = work[number];
			uint32_t	end;

			for (uint32_t begin = sequence.begin; begin < sequence.end;
				 begin = end)
			{
				end = sequence.end - begin > length ? begin + length :
					sequence.end;
				sections.push_back({sequence.extremes.mean(), begin, end,
									number});
			}
		}
	}

	/* Fills the gaps of the sequences of "work". */
	bool
	fill(const std::vector<Outcome<Key>> &outcomes,
		 const uint32_t *equal_values)
	{
		std::vector<GapPiece<Key>> pieces;

		for (size_t i = 0; i < work.size(); i++)
		{
			uint32_t	begin = work[i].begin + outcomes[i].less;
			uint32_t	end = work[i].end - outcomes[i].greater;
			uint32_t	values = memory.partition.equal_begin(work[i],
																  outcomes[i]);

			for (uint32_t at = begin; at < end; at += gap_piece_items)
				pieces.push_back({work[i].extremes.mean(), at,
								  end - at > gap_piece_items ?
								  at + gap_piece_items : end,
								  values + (at - begin)});
		}
		return pieces.empty() ||
			(copy_to_device(queue, memory.pieces, pieces) &&
			 queue.launch("filling gaps", fill_gaps<Key, has_values>,
						  pieces.size(), threads, memory.pieces, equal_values,
						  sorted));
	}

	/* Makes both sides of every sequence the new work, or done. */
	void
	advance(const std::vector<Outcome<Key>> &outcomes, bool in_spare)
	{
		std::vector<Sequence<Key>> parents;

		parents.swap(work);
		for (size_t i = 0; i < parents.size(); i++)
		{
			const Sequence<Key> &parent = parents[i];
			const Outcome<Key> &outcome = outcomes[i];

			add({parent.begin, parent.begin + outcome.less,
				 {parent.extremes.smallest, outcome.inner.largest}}, in_spare);
			add({parent.end - outcome.greater, parent.end,
				 {outcome.inner.smallest, parent.extremes.largest}}, in_spare);
		}
	}

	void
	add(const Sequence<Key> &sequence, bool in_spare)
	{
		uint32_t	length = sequence.end - sequence.begin;

		if (length >= n / sequences_wanted)
			work.push_back(sequence);
		else if (length > 0)
			done.push_back({sequence.begin, sequence.end, in_spare});
	}

	const Queue &queue;
	Items<Key, has_values> sorted;
	uint32_t	n;
	uint32_t	sequences_wanted;

	std::vector<Sequence<Key>> work;
	std::vector<OwnSequence> done;
	std::vector<Section<Key>> sections;
	Memory<Key, has_values, Partition> memory;
};

/* What both algorithms are but for their names. */
template <typename Key, bool has_values,
		  template <typename, bool> class Partition>
struct Algorithm
{
	static size_t
	extra_bytes(uint32_t n)
	{
		return Memory<Key, has_values, Partition>().lay_out(nullptr, n);
	}

	static bool
	sort(const Queue &queue, Items<Key, has_values> items, uint32_t n,
		 void *extra)
	{
		return n < 2 ||
			Sort<Key, has_values, Partition>(queue, items, n, extra).run();
	}
};

}								/* namespace gpu_quicksort */

template <typename Key, bool has_values>
struct GpuQuicksort
	: gpu_quicksort::Algorithm<Key, has_values, gpu_quicksort::HostPartition>
{
	static constexpr const char *name = "GPU-Quicksort";
};

template <typename Key, bool has_values>
struct GpuQuicksortAtomic
	: gpu_quicksort::Algorithm<Key, has_values, gpu_quicksort::AtomicPartition>
{
	static constexpr const char *name = "GPU-Quicksort, atomic";
};

}								/* namespace lineage */

#endif							/* GPUSORT_LINEAGE_GPU_QUICKSORT_CUH */
