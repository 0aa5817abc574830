/*-------------------------------------------------------------------------
 *
 * fibers.cc
 *	  The emulated multiprocessor: blocks of CUDA threads as fibers.
 *
 * Each CUDA thread of the block at work is a fiber with a stack of its own.
 * One runs until it has to wait at a barrier or a warp function, or ends, and
 * then hands over to the next that can run; the last to arrive at a barrier
 * lets all others go on.  If the blocks of a grid meet at barriers, each has a
 * multiprocessor of its own, and when all of its threads have arrived, the
 * launching thread goes on with another block.  A warp function is computed for all its lanes by the
 * lane that arrives last.
 *
 * Handing over costs a few nanoseconds on x86-64, by saving the registers that
 * a function call must preserve; elsewhere it is swapcontext(), which costs
 * two system calls.  Fibers stay for the next blocks, as waking a fiber is
 * cheaper than making one, and AddressSanitizer's idea of its stack stays
 * right.  All state belongs to the thread of the host that launches.
 *
 *-------------------------------------------------------------------------
 */
#include "machine.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#define WITH_ASAN 1
#endif

#ifndef __x86_64__
#include <ucontext.h>
#endif

namespace cuda_on_cpu
{

constexpr unsigned warp_lanes = 32;
constexpr unsigned max_block_threads = 1024;
constexpr size_t max_shared_bytes = 227 * 1024;
constexpr size_t stack_bytes = 256 * 1024;
constexpr size_t guard_bytes = 4096;
constexpr unsigned char shared_pattern = 0xa7;

/* An execution context: where a fiber, or the launching thread, goes on. */
struct Context
{
#ifdef __x86_64__
	void	   *stack_pointer;
#else
	ucontext_t	registers;
#endif
	const void *stack_bottom;	/* for AddressSanitizer, as is the rest */
	size_t		stack_size;
	void	   *fake_stack;
};

enum FiberState
{
	RUNNABLE,
	AT_BLOCK_BARRIER,
	AT_WARP_FUNCTION,
	AT_GRID_BARRIER,
	ENDED
};

struct Fiber
{
	Context		context;
	unsigned	index;			/* in the block */
	FiberState	state;

	/* The warp function it waits at. */
	Collective	collective;
	unsigned	mask;
	uint64_t	value;
	unsigned	source_lane;
	uint64_t	result;
};

/* A grid that a kernel has launched. */
struct ChildGrid
{
	std::function<void()> body;
	unsigned	blocks;
	unsigned	threads;
	size_t		shared_bytes;
};

struct Multiprocessor
{
	Multiprocessor() = default;
	Multiprocessor(Multiprocessor &&) = default;
	Multiprocessor &operator=(Multiprocessor &&) = default;
	~Multiprocessor();

	std::vector<std::unique_ptr<Fiber>> fibers;
	Fiber	   *current = nullptr;
	Context		launcher;

	/* The block at work. */
	const std::function<void()> *body = nullptr;
	Index		block;
	Index		block_threads;
	Index		grid;
	unsigned	warps;
	bool		is_falling;		/* threads take turns from the last down */
	unsigned	arrived;		/* at the block's barrier */
	unsigned	ended;
	unsigned	at_grid_barrier;
	std::vector<unsigned> runnable;	/* a bit a lane, a word a warp */
	std::vector<unsigned> waiting;	/* at a warp function, likewise */
	std::unique_ptr<unsigned char[]> shared;
	size_t		shared_bytes;
	std::vector<ChildGrid> children;	/* not run yet */
	std::unique_ptr<Multiprocessor> inner;	/* for those that run at once */
	uint64_t	random = 1;
};

static thread_local Multiprocessor machine;

[[noreturn]] static void
die(const char *reason)
{
	fprintf(stderr, "cuda_on_cpu: block %u, thread %u: %s\n", machine.block.x,
			machine.current != nullptr ? machine.current->index : 0, reason);
	abort();
}

/* Handing over. */

#ifdef __x86_64__

extern "C" void cuda_on_cpu_switch(void **save, void *load);

asm(R"(
	.text
	.p2align 4
	.globl cuda_on_cpu_switch
	.type cuda_on_cpu_switch, @function
cuda_on_cpu_switch:
	pushq %rbp
	pushq %rbx
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	movq %rsp, (%rdi)
	movq %rsi, %rsp
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbx
	popq %rbp
	ret
	.size cuda_on_cpu_switch, .-cuda_on_cpu_switch
)");

#endif

static void
hand_over(Context &from, Context &to)
{
#ifdef WITH_ASAN
	__sanitizer_start_switch_fiber(&from.fake_stack, to.stack_bottom,
								   to.stack_size);
#endif
#ifdef __x86_64__
	cuda_on_cpu_switch(&from.stack_pointer, to.stack_pointer);
#else
	swapcontext(&from.registers, &to.registers);
#endif
#ifdef WITH_ASAN
	__sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#endif
}

/*
 * Lets another fiber run, or the launching thread if all have ended, or wait for
 * other blocks.
 */
static void
yield()
{
	Multiprocessor &m = machine;
	Fiber	   *self = m.current;
	unsigned	warp = self->index / warp_lanes;
	unsigned	lane = self->index % warp_lanes;
	unsigned	ahead = m.is_falling ? (1u << lane) - 1 : ~((2u << lane) - 1);

	if (m.ended == m.block_threads.x ||
		m.at_grid_barrier == m.block_threads.x)
	{
		hand_over(self->context, m.launcher);
		return;
	}

	/* The next in this warp, around its end too, then in the next warps. */
	unsigned	candidates = m.runnable[warp] & ahead;

	for (unsigned tried = 0; candidates == 0 && tried < m.warps; tried++)
	{
		candidates = m.runnable[warp];
		if (candidates == 0)
			warp = (warp + (m.is_falling ? m.warps - 1 : 1)) % m.warps;
	}
	if (candidates == 0)
		die("waits for threads that have ended or wait elsewhere");

	lane = m.is_falling ? 31 - __builtin_clz(candidates) :
		__builtin_ctz(candidates);

	Fiber	   *next = m.fibers[warp * warp_lanes + lane].get();

	m.current = next;
	hand_over(self->context, next->context);
}

static void
set_state(Fiber *fiber, FiberState state)
{
	unsigned	warp = fiber->index / warp_lanes;
	unsigned	bit = 1u << fiber->index % warp_lanes;

	fiber->state = state;
	machine.runnable[warp] &= ~bit;
	machine.waiting[warp] &= ~bit;
	if (state == RUNNABLE)
		machine.runnable[warp] |= bit;
	if (state == AT_WARP_FUNCTION)
		machine.waiting[warp] |= bit;
}

/* What a fiber does: a thread's part in one block, then in the next one. */
static void
fiber_main()
{
#ifdef WITH_ASAN
	const void *bottom;
	size_t		size;

	/* The first time, the launching thread's stack becomes known here. */
	__sanitizer_finish_switch_fiber(nullptr, &bottom, &size);
	if (machine.launcher.stack_bottom == nullptr)
	{
		machine.launcher.stack_bottom = bottom;
		machine.launcher.stack_size = size;
	}
#endif
	for (;;)
	{
		(*machine.body) ();
		machine.ended++;
		set_state(machine.current, ENDED);
		yield();
	}
}

static std::unique_ptr<Fiber>
make_fiber(unsigned index)
{
	std::unique_ptr<Fiber> fiber(new Fiber());
	void	   *memory = mmap(nullptr, guard_bytes + stack_bytes,
							  PROT_READ | PROT_WRITE,
							  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
							  0);
	char	   *bottom = static_cast<char *>(memory) + guard_bytes;

	if (memory == MAP_FAILED ||
		mprotect(memory, guard_bytes, PROT_NONE) != 0)
		die("no memory for a thread's stack");

	fiber->index = index;
	fiber->context.stack_bottom = bottom;
	fiber->context.stack_size = stack_bytes;
#ifdef __x86_64__
	void	  **top = reinterpret_cast<void **>(bottom + stack_bytes);

	/*
	 * As if fiber_main had called the switch: six registers, the address to
	 * go on at, and one more word, which aligns the stack as after a call.
	 */
	top[-2] = reinterpret_cast<void *>(fiber_main);
	fiber->context.stack_pointer = top - 8;
#else
	getcontext(&fiber->context.registers);
	fiber->context.registers.uc_stack.ss_sp = bottom;
	fiber->context.registers.uc_stack.ss_size = stack_bytes;
	fiber->context.registers.uc_link = nullptr;
	makecontext(&fiber->context.registers, fiber_main, 0);
#endif
	return fiber;
}

Multiprocessor::~Multiprocessor()
{
	for (const std::unique_ptr<Fiber> &fiber : fibers)
		munmap(const_cast<char *>(static_cast<const char *>(
			fiber->context.stack_bottom)) - guard_bytes,
			   guard_bytes + stack_bytes);
}

/* A small generator of Weyl's kind; only some variety is asked of it. */
static unsigned
random_below(unsigned limit)
{
	machine.random = machine.random * UINT64_C(6364136223846793005) +
		UINT64_C(1442695040888963407);
	return static_cast<unsigned>((machine.random >> 32) % limit);
}

/* Lets all threads of the block run, until none can. */
static void
run_threads()
{
	Multiprocessor &m = machine;
	unsigned	threads = m.block_threads.x;

	m.at_grid_barrier = 0;
	m.is_falling = random_below(2) != 0;
	for (unsigned i = 0; i < threads; i++)
		set_state(m.fibers[i].get(), RUNNABLE);

	m.current = m.fibers[random_below(threads)].get();
	hand_over(m.launcher, m.current->context);
	m.current = nullptr;
}

static void
run_block()
{
	Multiprocessor &m = machine;

	m.arrived = 0;
	m.ended = 0;
	if (m.shared_bytes > 0)
		memset(m.shared.get(), shared_pattern, m.shared_bytes);
	run_threads();
}

/* Makes the multiprocessor ready for the blocks of a grid. */
static cudaError_t
prepare_blocks(const std::function<void()> &body, unsigned blocks,
			   unsigned threads, size_t shared_bytes)
{
	Multiprocessor &m = machine;

	if (blocks == 0 || threads == 0 || threads > max_block_threads ||
		shared_bytes > max_shared_bytes)
		return cudaErrorInvalidConfiguration;
	if (threads % warp_lanes != 0)
		die("blocks of other than whole warps are not emulated");

	while (m.fibers.size() < threads)
		m.fibers.push_back(make_fiber(static_cast<unsigned>(m.fibers.size())));
	m.body = &body;
	m.block_threads = {threads};
	m.grid = {blocks};
	m.warps = threads / warp_lanes;
	m.runnable.assign(m.warps, 0);
	m.waiting.assign(m.warps, 0);
	m.shared.reset(new unsigned char[shared_bytes + 1]);
	m.shared_bytes = shared_bytes;
	return cudaSuccess;
}

static cudaError_t
run_blocks(const std::function<void()> &body, unsigned blocks,
		   unsigned threads, size_t shared_bytes)
{
	Multiprocessor &m = machine;
	cudaError_t code = prepare_blocks(body, blocks, threads, shared_bytes);

	if (code != cudaSuccess)
		return code;

	/* All blocks, from anywhere, in steps that meet each of them once. */
	uint64_t	step = blocks / 2 + random_below(blocks);

	while (std::gcd(step, static_cast<uint64_t>(blocks)) != 1)
		step++;

	uint64_t	at = random_below(blocks);

	for (unsigned i = 0; i < blocks; i++)
	{
		m.block = {static_cast<unsigned>(at)};
		run_block();
		at = (at + step) % blocks;
	}
	m.shared.reset();
	return cudaSuccess;
}

cudaError_t
run_grid(const std::function<void()> &body, unsigned blocks, unsigned threads,
		 size_t shared_bytes)
{
	std::vector<ChildGrid> &children = machine.children;
	cudaError_t code = run_blocks(body, blocks, threads, shared_bytes);

	while (code == cudaSuccess && !children.empty())
	{
		std::swap(children.back(), children[random_below(children.size())]);

		ChildGrid	child = std::move(children.back());

		children.pop_back();
		code = run_blocks(child.body, child.blocks, child.threads,
						  child.shared_bytes);
	}
	return code;
}

cudaError_t
run_together(const std::function<void()> &body, unsigned blocks,
			 unsigned threads, size_t shared_bytes)
{
	std::vector<Multiprocessor> others(blocks);
	unsigned	ended = 0;

	for (unsigned i = 0; i < blocks; i++)
	{
		others[i].random = random_below(UINT32_MAX);
		std::swap(machine, others[i]);
		machine.block = {i};

		cudaError_t code = prepare_blocks(body, blocks, threads, shared_bytes);

		std::swap(machine, others[i]);
		if (code != cudaSuccess)
			return code;
	}
	for (bool is_first = true; is_first || ended == 0; is_first = false)
	{
		unsigned	first = random_below(blocks);

		ended = 0;
		for (unsigned i = 0; i < blocks; i++)
		{
			Multiprocessor &other = others[(first + i) % blocks];

			std::swap(machine, other);
			if (is_first)
				run_block();
			else
				run_threads();
			ended += machine.ended > 0 ? 1 : 0;
			std::swap(machine, other);
		}
		if (ended != 0 && ended != blocks)
			die("some blocks wait for others, which have ended");
	}
	return cudaSuccess;
}

/* What kernels call. */

/*
 * Runs a grid while the calling thread's block is at work, which waits in the
 * place of another multiprocessor.
 */
static void
run_at_once(const ChildGrid &child)
{
	std::unique_ptr<Multiprocessor> other = std::move(machine.inner);

	if (other == nullptr)
		other.reset(new Multiprocessor());
	other->random = machine.random + 1;
	other->launcher.stack_bottom = machine.current->context.stack_bottom;
	other->launcher.stack_size = machine.current->context.stack_size;

	std::swap(machine, *other);
	if (run_grid(child.body, child.blocks, child.threads,
				 child.shared_bytes) != cudaSuccess)
		die("launches a kernel in a way that cannot be");
	std::swap(machine, *other);
	machine.inner = std::move(other);
}

cudaError_t
launch_child_body(std::function<void()> body, unsigned blocks,
				  unsigned threads, size_t shared_bytes)
{
	ChildGrid	child = {std::move(body), blocks, threads, shared_bytes};
	cudaError_t code = check_child_launch(machine.children.size());

	if (code != cudaSuccess)
		return code;
	if (random_below(4) == 0)
		run_at_once(child);
	else
		machine.children.push_back(std::move(child));
	return cudaSuccess;
}

Index
thread_index()
{
	return {machine.current->index};
}

Index
block_index()
{
	return machine.block;
}

Index
block_size()
{
	return machine.block_threads;
}

Index
grid_size()
{
	return machine.grid;
}

void *
dynamic_shared(size_t bytes)
{
	if (bytes > machine.shared_bytes)
		die("uses more shared memory than it was launched with");
	return machine.shared.get();
}

void
block_barrier()
{
	Multiprocessor &m = machine;

	if (++m.arrived < m.block_threads.x)
	{
		set_state(m.current, AT_BLOCK_BARRIER);
		yield();
		return;
	}

	m.arrived = 0;
	for (unsigned i = 0; i < m.block_threads.x; i++)
		if (m.fibers[i]->state == AT_BLOCK_BARRIER)
			set_state(m.fibers[i].get(), RUNNABLE);
}

void
grid_barrier()
{
	Multiprocessor &m = machine;

	m.at_grid_barrier++;
	set_state(m.current, AT_GRID_BARRIER);
	yield();
}

/* The result of a warp function for one lane. */
static uint64_t
compute(std::unique_ptr<Fiber> *lanes, const Fiber &self)
{
	uint64_t	result = 0;

	switch (self.collective)
	{
		case SYNCWARP:
			break;
		case BALLOT:
			for (unsigned lane = 0; lane < warp_lanes; lane++)
				if ((self.mask >> lane & 1) && lanes[lane]->value != 0)
					result |= 1u << lane;
			break;
		case MATCH_ANY:
			for (unsigned lane = 0; lane < warp_lanes; lane++)
				if ((self.mask >> lane & 1) && lanes[lane]->value == self.value)
					result |= 1u << lane;
			break;
		case SHUFFLE:
			if (!(self.mask >> self.source_lane & 1))
				die("shuffles from a lane that does not take part");
			result = lanes[self.source_lane]->value;
			break;
	}
	return result;
}

uint64_t
warp_collective(Collective collective, unsigned mask, uint64_t value,
				unsigned source_lane)
{
	Multiprocessor &m = machine;
	Fiber	   *self = m.current;
	unsigned	warp = self->index / warp_lanes;
	std::unique_ptr<Fiber> *lanes = &m.fibers[warp * warp_lanes];
	uint64_t	ballot = 0;

	if (!(mask >> self->index % warp_lanes & 1))
		die("calls a warp function with a mask without itself");
	self->collective = collective;
	self->mask = mask;
	self->value = value;
	self->source_lane = source_lane;
	set_state(self, AT_WARP_FUNCTION);
	if ((m.waiting[warp] & mask) != mask)
	{
		yield();
		return self->result;
	}

	/* The last to arrive. */
	for (unsigned lane = 0; lane < warp_lanes; lane++)
		if ((mask >> lane & 1) && (lanes[lane]->collective != collective ||
								   lanes[lane]->mask != mask))
			die("meets lanes that call another warp function");
	if (collective == BALLOT)
		ballot = compute(lanes, *self);
	for (unsigned lane = 0; lane < warp_lanes; lane++)
		if (mask >> lane & 1)
			lanes[lane]->result = collective == BALLOT ? ballot :
				compute(lanes, *lanes[lane]);
	for (unsigned lane = 0; lane < warp_lanes; lane++)
		if (mask >> lane & 1)
			set_state(lanes[lane].get(), RUNNABLE);
	return self->result;
}

}								/* namespace cuda_on_cpu */
