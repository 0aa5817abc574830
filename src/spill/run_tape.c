/*-------------------------------------------------------------------------
 *
 * run_tape.c
 *	  A tape: one sorted run of rows, in a temporary file.
 *
 * Rows lie one behind the other, and are written in whole pieces (run_file.c).
 * They are read in smaller parts, since all tapes that are read at the same
 * time share the memory for reading.
 *
 * A minimal tuple is on the tape as its length, its header and its values.
 * The header is left out if it equals the header of the row before, as it
 * mostly does.  Then the values are aligned, unless the row is short, and the
 * row is emitted in the buffer: its header is written ahead of the values,
 * over the row before, which nobody needs any more.  Core's own sort writes
 * the length in four bytes, not two, and the header of each row.  So its tapes
 * are never smaller.
 *
 * A key ahead of a row leaves out the words that it has in common with the key
 * before.  In a run these are many.
 *
 * A row of an index has its length in its header, and is on the tape as it is.
 * It is aligned, since its length and the length of a key are.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "port/cache_lines.h"
#include "sort/index_row.h"
#include "spill/run_tape.h"

/* The most bytes of the next row that are prefetched. */
#define MOST_PREFETCHED_BYTES	(4 * CACHE_LINE_BYTES)

/*
 * A minimal tuple begins with its length in two bytes, with a bit that says
 * whether the row has the header of the row before.  A length of 0 stands for
 * a length in four further bytes.
 */
#define SAME_HEADER			0x8000
#define SHORT_LENGTH_MASK	0x7fff

/*
 * Rows with at least these bytes have aligned values.  Fewer bytes are copied
 * in less time.
 */
#define LEAST_ALIGNED_BYTES	64

/* The least distance, in bytes, between two rows of an index. */
#define INDEXED_BYTES		((uint64) 16 * 1024)

/* A header that no row has: none has this many bytes before its values. */
#define UNKNOWN_HEADER		0xff

RunTape *
run_tape_create(RunFile *file, const RunFormat *format)
{
	RunTape    *run = palloc0(sizeof(RunTape));

	run->context = CurrentMemoryContext;
	run->file = file;
	run->format = format;
	return run;
}

RunTape *
run_tape_open(RunFile *file, const RunFormat *format, uint64 bytes)
{
	RunTape    *run = run_tape_create(file, format);

	run->finish = bytes;
	return run;
}

/* Goes on to the next piece of the file, when the one before is full. */
static void
next_piece(RunTape *run)
{
	if (run->next != NULL)
		run_file_fill(run->file, run->next);
	number_list_add(&run->pieces, run->context,
					run_file_piece(run->file, &run->next, &run->end));
	if (run->pieces.count == 1)
		run->start = run_file_piece_bytes(run->file) - (run->end - run->next);
}

/*
 * Appends bytes for which the present piece has no room, or which begin the
 * first piece.
 */
static pg_noinline void
append_across_pieces(RunTape *run, const char *bytes, Size count)
{
	while (count > 0)
	{
		Size		part = Min(count, run->end - run->next);

		if (part > 0)
		{
			memcpy(run->next, bytes, part);
			run->next += part;
			bytes += part;
			count -= part;
			continue;
		}
		next_piece(run);
	}
}

static inline void
append(RunTape *run, const void *bytes, Size count)
{
	if (unlikely(run->end - run->next < count))
	{
		append_across_pieces(run, bytes, count);
		return;
	}
	memcpy(run->next, bytes, count);
	run->next += count;
}

void
run_tape_append(RunTape *run, const void *bytes, Size count)
{
	append(run, bytes, count);
}

uint64
run_tape_position(const RunTape *run)
{
	return run->buffer != NULL ? run->fetched - (run->end - run->next) :
		run->pieces.count * run_file_piece_bytes(run->file) -
		(run->end - run->next);
}

void
run_tape_add_to_index(RunTape *run)
{
	uint64		position = run_tape_position(run);

	number_list_add(&run->index, run->context, position);
	run->next_indexed = position + INDEXED_BYTES;
	/* the next row has its header on the tape */
	memset(run->header, UNKNOWN_HEADER, RUN_HEADER_BYTES);
}

void
run_tape_complete(RunTape *run)
{
	if (run->next == NULL)
		return;
	run->finish = run->pieces.count * run_file_piece_bytes(run->file) -
		(run->end - run->next);
	run_file_fill(run->file, run->next);
	run->next = run->end = NULL;
	run->pieces.max = run->pieces.count;
	run->pieces.numbers = repalloc_huge(run->pieces.numbers,
										run->pieces.max * sizeof(uint64));
}

void
run_tape_complete_indexed(RunTape *run)
{
	uint64		rows_bytes = run_tape_position(run);
	RunBlock	head = {run->index.count * sizeof(uint64)};

	append(run, &head, sizeof(head));
	append(run, run->index.numbers, head.bytes);
	append(run, &rows_bytes, sizeof(rows_bytes));
	run_tape_complete(run);
}

void
run_tape_begin_read(RunTape *run, Size buffer_bytes)
{
	run->buffer_bytes = Min(buffer_bytes, run_file_piece_bytes(run->file));
	/* before the buffer is room for the header of its first row */
	run->buffer = (char *) MemoryContextAlloc(run->context,
											  ROW_VALUES_OFFSET +
											  run->buffer_bytes);
	run->buffer += ROW_VALUES_OFFSET;
	run->fetched = run->start;
}

/* Returns the number in the file of a piece of the tape. */
static uint64
piece_number(const RunTape *run, uint64 index)
{
	return run->pieces.numbers != NULL ? run->pieces.numbers[index] : index;
}

/* Gives back the tape's pieces from this one on. */
static void
give_back_from(RunTape *run, uint64 index)
{
	for (; index < run->pieces.count; index++)
		run_file_give_back(run->file, run->pieces.numbers[index]);
}

void
run_tape_close(RunTape *run)
{
	/* gives back the rest of a tape that was not read to the end */
	if (run->fetched < run->finish)
		give_back_from(run, run->fetched / run_file_piece_bytes(run->file));
	if (run->pieces.numbers != NULL)
		pfree(run->pieces.numbers);
	if (run->index.numbers != NULL)
		pfree(run->index.numbers);
	if (run->buffer != NULL)
		pfree(run->buffer - ROW_VALUES_OFFSET);
	if (run->space != NULL)
		pfree(run->space);
	if (run->key != NULL)
		pfree(run->key);
	if (run->owns_file)
		run_file_delete(run->file);
	pfree(run);
}

/* Fetches the next bytes into the empty buffer.  There have to be some. */
static void
fill_buffer(RunTape *run)
{
	Size		piece_bytes = run_file_piece_bytes(run->file);
	uint64		index = run->fetched / piece_bytes;
	Size		offset = run->fetched % piece_bytes;
	uint64		piece = piece_number(run, index);
	Size		count = Min(run->buffer_bytes - offset % run->buffer_bytes,
							run->finish - run->fetched);

	run_file_read(run->file, piece, offset, run->buffer, count);
	run->fetched += count;
	run->next = run->buffer;
	run->end = run->buffer + count;
	if (offset + count == piece_bytes || run->fetched == run->finish)
		run_file_give_back(run->file, piece);
}

/* Takes bytes that the buffer has only in part. */
static pg_noinline void
take_across_buffers(RunTape *run, char *bytes, Size count)
{
	while (count > 0)
	{
		Size		part = Min(count, run->end - run->next);

		if (part > 0)
		{
			memcpy(bytes, run->next, part);
			run->next += part;
			bytes += part;
			count -= part;
			continue;
		}
		if (run->fetched == run->finish)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("gpusort: a temporary file ends in the middle of a row")));
		fill_buffer(run);
	}
}

static inline void
take(RunTape *run, void *bytes, Size count)
{
	if (unlikely(run->end - run->next < count))
	{
		take_across_buffers(run, bytes, count);
		return;
	}
	memcpy(bytes, run->next, count);
	run->next += count;
}

void
run_tape_keep_keys(RunTape *run, uint32 key_changes)
{
	run->key_changes = key_changes;
	run->key = MemoryContextAllocZero(run->context, sizeof(RunKey));
}

/*
 * The head of a key on the tape, ahead of its words.  It takes a whole word,
 * so that rows stay aligned.
 */
typedef struct KeyHead
{
	uint32		nwords;
	uint32		nsame;			/* first words that equal the key before, and
								 * are not written */
} KeyHead;

void
run_tape_write_key(RunTape *run, const uint64_t *words, int nwords)
{
	RunKey	   *key = run->key;
	int			most_same = Min(nwords, key->nwords);
	KeyHead		head = {.nwords = nwords};

	while (head.nsame < most_same && words[head.nsame] == key->words[head.nsame])
		head.nsame++;
	append(run, &head, sizeof(head));
	for (int i = head.nsame; i < nwords; i++)
	{
		key->words[i] = words[i];
		append(run, &words[i], sizeof(uint64_t));
	}
	key->nwords = nwords;
}

void
run_tape_read_key(RunTape *run)
{
	RunKey	   *key = run->key;
	KeyHead		head;

	take(run, &head, sizeof(head));
	for (int i = head.nsame; i < head.nwords; i++)
		take(run, &key->words[i], sizeof(uint64_t));
	key->nwords = head.nwords;
}

void
run_tape_begin_read_at(RunTape *run, uint64 position, Size buffer_bytes)
{
	run_tape_begin_read(run, buffer_bytes);
	run->fetched = position;
	if (position == run->finish)
		return;
	/* bytes are aligned in memory as they are on the tape */
	run->fetched -= position % MAXIMUM_ALIGNOF;
	fill_buffer(run);
	run->next += position % MAXIMUM_ALIGNOF;
}

uint64
run_tape_rows_bytes(RunFile *file, uint64 bytes)
{
	RunTape    *run = run_tape_open(file, NULL, bytes);
	uint64		rows_bytes;

	run_tape_begin_read_at(run, bytes - sizeof(rows_bytes), BLCKSZ);
	take(run, &rows_bytes, sizeof(rows_bytes));
	run_tape_close(run);
	return rows_bytes;
}

/* Thins out an index evenly, if it has more than "most" entries. */
static void
thin_out(NumberList *index, uint64 most)
{
	uint64		distance = (index->count + most - 1) / most;
	uint64		count = 0;

	if (index->count <= most)
		return;
	for (uint64 entry = 0; entry < index->count; entry += distance)
		index->numbers[count++] = index->numbers[entry];
	index->count = index->max = count;
	index->numbers = repalloc_huge(index->numbers, count * sizeof(uint64));
}

NumberList
run_tape_read_index(RunFile *file, uint64 rows_bytes, uint64 bytes,
					uint64 most)
{
	RunTape    *run = run_tape_open(file, NULL, bytes);
	NumberList	index = {0};
	RunBlock	head;

	run_tape_begin_read_at(run, rows_bytes, BLCKSZ);
	take(run, &head, sizeof(head));
	index.count = index.max = head.bytes / sizeof(uint64);
	index.numbers = palloc_extended(head.bytes, MCXT_ALLOC_HUGE);
	take(run, index.numbers, head.bytes);
	run_tape_close(run);
	thin_out(&index, most);
	return index;
}

/*
 * Prefetches the next row, which is likely to be as long as the last one.
 * Many other runs may have their turn before it is wanted.
 */
static inline void
prefetch_next(const RunTape *run, Size row_bytes)
{
	for (Size line = 0; line < Min(row_bytes, MOST_PREFETCHED_BYTES);
		 line += CACHE_LINE_BYTES)
		__builtin_prefetch(run->next + line);
}

/* Returns room for a row that the buffer has only in part. */
static char *
make_space(RunTape *run, Size bytes)
{
	if (bytes > run->space_bytes)
	{
		if (run->space != NULL)
			pfree(run->space);
		run->space_bytes = pg_nextpower2_size_t(bytes);
		run->space = MemoryContextAllocHuge(run->context, run->space_bytes);
	}
	return run->space;
}

static Size
minimal_tuple_bytes(const void *row)
{
	return ((const MinimalTupleData *) row)->t_len;
}

/*
 * Returns whether the values of a row with this start and this length are
 * aligned.
 */
static inline bool
is_aligned(uint16 start, uint32 length)
{
	return (start & SAME_HEADER) != 0 &&
		length >= ROW_VALUES_OFFSET + LEAST_ALIGNED_BYTES;
}

/* Returns the bytes up to the next multiple of the widest alignment. */
static inline Size
padding(const char *place)
{
	return MAXALIGN(place) - (uintptr_t) place;
}

/* Appends zeros up to that multiple. */
static inline void
append_padding(RunTape *run)
{
	static const char zeros[MAXIMUM_ALIGNOF] = {0};
	Size		count = padding(run->next);

	if (unlikely(run->end - run->next < MAXIMUM_ALIGNOF))
	{
		append(run, zeros, count);
		return;
	}

	/*
	 * copies the most bytes that there may be: a constant number takes no
	 * call
	 */
	memcpy(run->next, zeros, MAXIMUM_ALIGNOF);
	run->next += count;
}

static void
write_minimal_tuple(RunTape *run, const void *row)
{
	uint32		length = minimal_tuple_bytes(row);
	uint16		start = length <= SHORT_LENGTH_MASK ? length : 0;
	bool		same_header = memcmp(run->header, ROW_HEADER(row),
									 RUN_HEADER_BYTES) == 0;

	run->longest_row = Max(run->longest_row, length);
	if (likely(same_header))
		start |= SAME_HEADER;
	append(run, &start, sizeof(start));
	if (unlikely((start & SHORT_LENGTH_MASK) == 0))
		append(run, &length, sizeof(length));
	if (unlikely(!same_header))
	{
		memcpy(run->header, ROW_HEADER(row), RUN_HEADER_BYTES);
		append(run, run->header, RUN_HEADER_BYTES);
	}
	if (likely(is_aligned(start, length)))
		append_padding(run);
	append(run, ROW_VALUES(row), length - ROW_VALUES_OFFSET);
}

/* Makes a row of the next values on the tape. */
static inline void *
read_values(RunTape *run, uint32 length, bool aligned)
{
	Size		values_bytes = length - ROW_VALUES_OFFSET;
	MinimalTuple row;

	if (aligned)
		run->next += padding(run->next);
	if (likely(aligned && run->end - run->next >= values_bytes))
	{
		row = (MinimalTuple) (run->next - ROW_VALUES_OFFSET);
		run->next += values_bytes;
	}
	else
	{
		row = (MinimalTuple) make_space(run, length);
		take(run, ROW_VALUES(row), values_bytes);
	}
	row->t_len = length;
	memcpy(ROW_HEADER(row), run->header, RUN_HEADER_BYTES);
	return row;
}

static void
read_minimal_tuple(RunTape *run)
{
	uint16		start;
	uint32		length;

	take(run, &start, sizeof(start));
	length = start & SHORT_LENGTH_MASK;
	if (unlikely(length == 0))
		take(run, &length, sizeof(length));
	if (unlikely((start & SAME_HEADER) == 0))
		take(run, run->header, RUN_HEADER_BYTES);
	run->row = read_values(run, length, is_aligned(start, length));
	prefetch_next(run, length);
}

const RunFormat run_of_minimal_tuples = {
	.bytes = minimal_tuple_bytes,
	.write = write_minimal_tuple,
	.read = read_minimal_tuple
};

static Size
index_row_size(const void *row)
{
	return index_row_bytes(row);
}

static void
write_index_row(RunTape *run, const void *row)
{
	Size		bytes = index_row_size(row);

	run->longest_row = Max(run->longest_row, bytes);
	append(run, row, bytes);
}

/*
 * Reads the rest of a row of "bytes" bytes, whose head has been read.  The
 * buffer may have only a part of the rest.
 */
static void
read_rest(RunTape *run, const void *head, Size head_bytes, Size bytes)
{
	run->row = make_space(run, bytes);
	memcpy(run->row, head, head_bytes);
	take(run, (char *) run->row + head_bytes, bytes - head_bytes);
}

static void
read_index_row(RunTape *run)
{
	IndexRow	head;
	Size		bytes;

	if (likely(run->end - run->next >= sizeof(head)))
	{
		bytes = index_row_size(run->next);
		if (likely(run->end - run->next >= bytes))
		{
			run->row = run->next;
			run->next += bytes;
			prefetch_next(run, bytes);
			return;
		}
	}
	take(run, &head, sizeof(head));
	read_rest(run, &head, sizeof(head), index_row_size(&head));
}

const RunFormat run_of_index_rows = {
	.bytes = index_row_size,
	.write = write_index_row,
	.read = read_index_row
};

static Size
value_bytes(const void *row)
{
	return sizeof(Datum);
}

static void
write_value(RunTape *run, const void *row)
{
	run->longest_row = sizeof(Datum);
	append(run, row, sizeof(Datum));
}

static void
read_value(RunTape *run)
{
	run->row = make_space(run, sizeof(Datum));
	take(run, run->row, sizeof(Datum));
	prefetch_next(run, sizeof(Datum));
}

const RunFormat run_of_values = {
	.bytes = value_bytes,
	.write = write_value,
	.read = read_value
};

static Size
block_bytes(const void *row)
{
	return sizeof(RunBlock) + ((const RunBlock *) row)->bytes;
}

static void
write_block(RunTape *run, const void *row)
{
	Size		bytes = block_bytes(row);

	run->longest_row = Max(run->longest_row, bytes);
	append(run, row, bytes);
}

static void
read_block(RunTape *run)
{
	RunBlock	head;

	take(run, &head, sizeof(head));
	read_rest(run, &head, sizeof(head), block_bytes(&head));
}

const RunFormat run_of_blocks = {
	.bytes = block_bytes,
	.write = write_block,
	.read = read_block
};
