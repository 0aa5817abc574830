/*-------------------------------------------------------------------------
 *
 * group_thresholds.c
 *	  Leaving out rows that cannot be among the first of their group.
 *
 * If only the first k rows of each group are wanted, most rows of a large
 * group can be told to be unwanted when they come.  For each group the keys of
 * its first k rows so far are kept, in order.  The last of them is the
 * threshold.  A row that sorts behind it has k rows of its group before it, and
 * is neither stored nor sorted.  The order of the other rows is limited once
 * more when it is made (group_limit.c).
 *
 * If the peers of a row count, a row that is equal to the threshold stays.  If
 * groups of peers are counted, the keys that are kept are all different.  If
 * rows are counted, and keys tell that a row is equal to the threshold in all
 * sort columns, it does not matter which of the two is emitted.  Then the row
 * that comes later is left out.
 *
 * Two keys are made of a row.  The first has the columns of the group, and has
 * to be exact, so that two groups are never taken for one.  A row whose key is
 * too long for that is not left out.  The second key has the columns behind
 * these, as far as keys never contradict the comparators.  Its first words
 * suffice, as a row is left out only if they are greater than those of the
 * threshold.
 *
 * With small groups hardly any row is left out.  So the first rows tell how
 * many groups there are, compared with the rows that are expected.  Later the
 * thresholds end if less than half of the rows are left out.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "settings.h"
#include "sort/group_thresholds.h"

/* The most words that are kept of a group's key, and of the key behind it. */
#define MOST_KEPT_GROUP_WORDS	4
#define MOST_ORDER_WORDS		2

/* The most rows, or groups of peers, that are wanted of each group. */
#define MOST_UNITS				1000

/* Thresholds take at most this part of the memory of a sort. */
#define MEMORY_PART				32

/* Thresholds do not begin if there is no room for as many groups. */
#define LEAST_GROUPS			16

/* Groups for which there is room at first. */
#define FIRST_GROUPS			64

/* Rows after which the number of groups is estimated. */
#define SAMPLED_ROWS			8192

/*
 * Thresholds pay if groups have this many rows for each row that is wanted.
 * Then most groups have their threshold after one in LEARNING_PART of all rows.
 */
#define PAYING_ROWS				32
#define LEARNING_PART			16

/*
 * Rows of a group, for each row that is wanted, from which on at least half of
 * them should have been left out.
 */
#define SUFFICIENT_ROWS			8

/* Rows after which it is decided anew whether thresholds go on. */
#define STRETCH_ROWS			32768

/*
 * A group: the words of its key, the number of its units so far, and the words
 * of each unit, in order.  A unit is a row, or a group of peers.
 */
typedef uint64_t GroupRecord;

struct GroupThresholds
{
	MemoryContext context;		/* owns all of this */
	GroupLimit *limit;
	double		expected_rows;	/* estimate */
	Size		most_bytes;
	SortKeys   *group_keys;		/* keys of the columns of the group */
	SortKeys   *order_keys;		/* keys of the columns behind them, or NULL */
	bool		order_complete; /* rows are counted, and all of these columns
								 * have keys */

	/* the groups so far */
	GroupRecord *records;		/* NULL before the first row, and in the end */
	int			group_words;	/* words of a group's key */
	int			order_words;	/* words of a unit's key */
	Size		record_words;
	uint32		ngroups;
	uint32		max_groups;		/* groups for which there is room */
	uint32	   *table;			/* numbers of groups, from 1, by hash; 0: none */
	uint32		table_size;		/* a power of two */
	bool		ended;

	/* the present row; words behind its keys are zero */
	uint64_t	group[KEY_MAX_WORDS];
	uint64_t	order[KEY_MAX_WORDS];
	bool		order_exact;	/* rows are counted, and a row with the same
								 * words is equal in all sort columns */

	/* whether it pays */
	uint64		nrows;			/* rows of the present stretch */
	uint64		nleft_out;		/* of these */
	uint64		stretch_rows;	/* rows up to the next decision */
	bool		sampled;		/* the number of groups has been estimated */
	bool		learned;		/* groups have had rows enough */
};

Size
group_thresholds_most_bytes(Size sort_bytes)
{
	return sort_bytes / MEMORY_PART;
}

/*
 * Can values of a column be equal for the node above, but not for the sort?
 * Strings can, if they sort by their bytes, by an operator for that.
 */
static bool
has_other_equals(const SortColumn *column)
{
	return OidIsValid(column->collation) &&
		!get_collation_isdeterministic(column->collation);
}

/*
 * Makes keys of as many of these columns as have keys that never contradict
 * the comparators; NULL if the first column has none.
 */
static SortKeys *
create_keys(TupleDesc descriptor, const SortColumn *columns, int ncolumns)
{
	for (int i = 0; i < ncolumns; i++)
	{
		if (has_other_equals(&columns[i]))
			ncolumns = i;
	}
	for (; ncolumns > 0; ncolumns--)
	{
		SortKeys   *keys = sort_keys_create(descriptor, columns, ncolumns);

		if (keys == NULL || !sort_keys_costly(keys))
			return keys;
	}
	return NULL;
}

/*
 * Makes both keys; returns false if they cannot tell groups, or say nothing of
 * the order in a group.
 */
static bool
create_both_keys(GroupThresholds *thresholds, TupleDesc descriptor,
				 const SortColumn *columns, int ncolumns)
{
	const GroupLimit *limit = thresholds->limit;
	bool		counts_rows = limit->unit == LIMITS_ROWS;
	int			ngroup = limit->ngroup_columns;
	int			nbehind = (counts_rows ? ncolumns : limit->npeer_columns) -
		ngroup;

	thresholds->group_keys = create_keys(descriptor, columns, ngroup);
	if (thresholds->group_keys == NULL ||
		thresholds->group_keys->nencoded < ngroup)
		return false;
	thresholds->order_exact = counts_rows;
	if (nbehind == 0)
		return counts_rows;
	thresholds->order_keys = create_keys(descriptor, columns + ngroup,
										 nbehind);
	if (thresholds->order_keys == NULL)
		return false;
	thresholds->order_complete = counts_rows &&
		thresholds->order_keys->ncolumns == nbehind;
	return true;
}

GroupThresholds *
group_thresholds_begin(GroupLimit *limit, TupleDesc descriptor,
					   const SortColumn *columns, int ncolumns,
					   double expected_rows)
{
	MemoryContext context;
	MemoryContext caller_context;
	GroupThresholds *thresholds;
	bool		possible;

	if (!limit->counts_early)
		return NULL;
	context = AllocSetContextCreate(CurrentMemoryContext,
									"gpusort thresholds",
									ALLOCSET_SMALL_SIZES);
	caller_context = MemoryContextSwitchTo(context);
	thresholds = palloc0(sizeof(GroupThresholds));
	thresholds->context = context;
	thresholds->limit = limit;
	thresholds->expected_rows = Min(expected_rows, (double) SORT_MAX_ROWS);
	thresholds->most_bytes =
		group_thresholds_most_bytes(gpusort_memory_limit());
	thresholds->stretch_rows = SAMPLED_ROWS;
	possible = create_both_keys(thresholds, descriptor, columns, ncolumns);
	MemoryContextSwitchTo(caller_context);
	if (!possible)
		group_thresholds_end(&thresholds);
	return thresholds;
}

void
group_thresholds_end(GroupThresholds **thresholds)
{
	if (*thresholds != NULL)
		MemoryContextDelete((*thresholds)->context);
	*thresholds = NULL;
}

/* Returns the bytes of room for this many groups. */
static Size
bytes_of_groups(const GroupThresholds *thresholds, Size ngroups)
{
	return ngroups * thresholds->record_words * sizeof(GroupRecord) +
		2 * ngroups * sizeof(uint32);
}

Size
group_thresholds_bytes(const GroupThresholds *thresholds)
{
	return thresholds == NULL || thresholds->records == NULL ? 0 :
		bytes_of_groups(thresholds, thresholds->max_groups);
}

/* Forgets all groups. */
static void
free_groups(GroupThresholds *thresholds)
{
	if (thresholds->records == NULL)
		return;
	pfree(thresholds->records);
	pfree(thresholds->table);
	thresholds->records = NULL;
}

/*
 * Finds how many words a group takes with the present keys; returns false if
 * that is too much.
 */
static bool
size_groups(GroupThresholds *thresholds)
{
	int			group_words = thresholds->group_keys->shape.fixed_words;
	const SortKeys *order_keys = thresholds->order_keys;
	uint64		count = group_limit_count(thresholds->limit);

	/* keys of varying length have no fixed words */
	if (group_words == 0)
		group_words = MOST_KEPT_GROUP_WORDS;
	thresholds->group_words = group_words;
	if (order_keys != NULL)
		thresholds->order_words = order_keys->shape.fixed_words == 1 ?
			1 : MOST_ORDER_WORDS;
	if (count > MOST_UNITS || group_words > MOST_KEPT_GROUP_WORDS)
		return false;
	thresholds->record_words = group_words + 1 +
		count * thresholds->order_words;
	return bytes_of_groups(thresholds, LEAST_GROUPS) <= thresholds->most_bytes;
}

/* Makes room for the first groups. */
static void
begin_groups(GroupThresholds *thresholds)
{
	thresholds->ngroups = 0;
	thresholds->max_groups = FIRST_GROUPS;
	while (bytes_of_groups(thresholds, thresholds->max_groups) >
		   thresholds->most_bytes)
		thresholds->max_groups /= 2;
	thresholds->table_size = 2 * thresholds->max_groups;
	thresholds->records =
		MemoryContextAlloc(thresholds->context,
						   thresholds->max_groups *
						   thresholds->record_words * sizeof(GroupRecord));
	thresholds->table =
		MemoryContextAllocZero(thresholds->context,
							   thresholds->table_size * sizeof(uint32));
}

/*
 * Makes a key of the row, with zeros behind it up to this many words, and sets
 * its length.  Returns false, with the keys changed, if it does not fit the
 * keys so far.
 */
static inline bool
make_key(SortKeys *keys, TupleTableSlot *slot, uint64_t *words, int nwords,
		 int *length)
{
	keys->truncated = false;
	*length = sort_keys_encode(keys, slot, words);
	if (unlikely(*length == 0))
	{
		sort_keys_change_layout(keys);
		return false;
	}
	for (int i = *length; i < nwords; i++)
		words[i] = 0;
	return true;
}

/*
 * Makes both keys of the row; returns false as make_key().  Sets whether the
 * words that are kept tell the group.
 */
static inline bool
make_keys(GroupThresholds *thresholds, TupleTableSlot *slot, bool *group_exact)
{
	SortKeys   *keys = thresholds->group_keys;
	int			length;

	if (!make_key(keys, slot, thresholds->group, thresholds->group_words,
				  &length))
		return false;
	*group_exact = length <= thresholds->group_words && sort_keys_exact(keys);
	keys = thresholds->order_keys;
	if (keys == NULL)
		return true;
	if (!make_key(keys, slot, thresholds->order, thresholds->order_words,
				  &length))
		return false;
	thresholds->order_exact = thresholds->order_complete &&
		length <= thresholds->order_words && sort_keys_exact(keys);
	return true;
}

/* Returns the record of a group by its number, from 1. */
static inline GroupRecord *
get_record(const GroupThresholds *thresholds, uint32 number)
{
	return thresholds->records + (number - 1) * thresholds->record_words;
}

/* Returns where the table has the group of these words, or room for it. */
static inline uint32 *
find_place(const GroupThresholds *thresholds, const uint64_t *words)
{
	uint32		mask = thresholds->table_size - 1;
	uint64_t	hash = 0;
	uint32		i;

	for (int word = 0; word < thresholds->group_words; word++)
	{
		hash = (hash ^ words[word]) * UINT64CONST(0x9E3779B97F4A7C15);
		hash ^= hash >> 32;
	}
	for (i = hash & mask; thresholds->table[i] != 0; i = (i + 1) & mask)
	{
		const GroupRecord *record = get_record(thresholds,
											   thresholds->table[i]);
		uint64_t	difference = 0;

		for (int word = 0; word < thresholds->group_words; word++)
			difference |= record[word] ^ words[word];
		if (difference == 0)
			break;
	}
	return &thresholds->table[i];
}

/*
 * Doubles the room for groups; false if there is no memory for that, beside
 * the room so far.
 */
static bool
grow(GroupThresholds *thresholds)
{
	Size		max_groups = (Size) thresholds->max_groups * 2;

	if (group_thresholds_bytes(thresholds) +
		bytes_of_groups(thresholds, max_groups) > thresholds->most_bytes)
		return false;
	thresholds->max_groups = max_groups;
	thresholds->table_size = 2 * max_groups;
	thresholds->records =
		repalloc_huge(thresholds->records, max_groups *
					  thresholds->record_words * sizeof(GroupRecord));
	pfree(thresholds->table);
	thresholds->table =
		MemoryContextAllocHuge(thresholds->context,
							   thresholds->table_size * sizeof(uint32));
	memset(thresholds->table, 0, thresholds->table_size * sizeof(uint32));
	for (uint32 number = 1; number <= thresholds->ngroups; number++)
		*find_place(thresholds, get_record(thresholds, number)) = number;
	return true;
}

/* Adds the group of the row; NULL if there is no room. */
static pg_noinline GroupRecord *
add_group(GroupThresholds *thresholds)
{
	GroupRecord *record;

	if (thresholds->ngroups == thresholds->max_groups && !grow(thresholds))
		return NULL;
	thresholds->ngroups++;
	*find_place(thresholds, thresholds->group) = thresholds->ngroups;
	record = get_record(thresholds, thresholds->ngroups);
	memcpy(record, thresholds->group,
		   thresholds->group_words * sizeof(GroupRecord));
	record[thresholds->group_words] = 0;
	return record;
}

/* Returns the group of the row, which may be new; NULL if there is no room. */
static inline GroupRecord *
get_group(GroupThresholds *thresholds)
{
	uint32		number = *find_place(thresholds, thresholds->group);

	return likely(number != 0) ? get_record(thresholds, number) :
		add_group(thresholds);
}

/* Compares the words of a unit with those of the row. */
static inline int
compare_unit(const GroupThresholds *thresholds, const uint64_t *unit)
{
	for (int i = 0; i < thresholds->order_words; i++)
	{
		if (unit[i] != thresholds->order[i])
			return unit[i] < thresholds->order[i] ? -1 : 1;
	}
	return 0;
}

/* Returns the number of the first of these units that sorts behind the row. */
static uint64
find_unit(const GroupThresholds *thresholds, const uint64_t *units,
		  uint64 nunits)
{
	uint64		first = 0;

	while (first < nunits)
	{
		uint64		middle = (first + nunits) / 2;

		if (compare_unit(thresholds,
						 units + middle * thresholds->order_words) > 0)
			nunits = middle;
		else
			first = middle + 1;
	}
	return first;
}

/*
 * Notes the row, which does not sort behind the threshold, as a unit of its
 * group.  If there are enough, the last unit gives way.
 */
static void
add_unit(GroupThresholds *thresholds, GroupRecord *record)
{
	uint64_t   *nunits = record + thresholds->group_words;
	uint64_t   *units = nunits + 1;
	int			nwords = thresholds->order_words;
	uint64		unit = find_unit(thresholds, units, *nunits);
	uint64_t   *place = units + unit * nwords;

	if (thresholds->limit->unit == LIMITS_PEER_GROUPS && unit > 0 &&
		compare_unit(thresholds, place - nwords) == 0)
		return;
	if (*nunits < thresholds->limit->count)
		(*nunits)++;
	memmove(place + nwords, place,
			(*nunits - 1 - unit) * nwords * sizeof(uint64_t));
	memcpy(place, thresholds->order, nwords * sizeof(uint64_t));
}

/*
 * Does the row, whose keys have been made, have enough rows of its group before
 * it?  If not, it is noted in its group.
 */
static inline bool
is_unwanted(GroupThresholds *thresholds)
{
	GroupRecord *record = get_group(thresholds);

	if (unlikely(record == NULL))
		return false;
	if (likely(record[thresholds->group_words] == thresholds->limit->count))
	{
		const uint64_t *threshold = record + thresholds->record_words -
			thresholds->order_words;
		int			comparison = compare_unit(thresholds, threshold);

		if (likely(comparison < 0))
			return true;
		if (comparison == 0)
			return thresholds->order_exact;
	}
	add_unit(thresholds, record);
	return false;
}

/*
 * Are groups large enough?  Their number is estimated from those among the
 * first rows, as if the groups were of one size, and their rows came at random.
 */
static bool
has_large_groups(const GroupThresholds *thresholds)
{
	double		nrows = thresholds->nrows;
	double		nagain = nrows - thresholds->ngroups;
	double		ngroups = nagain > nrows / 2 ? thresholds->ngroups :
		nrows * nrows / 2 / Max(nagain, 1);

	return ngroups * thresholds->limit->count * PAYING_ROWS <=
		Max(thresholds->expected_rows, nrows);
}

/* Are there so few groups that the first rows suffice for most thresholds? */
static bool
has_rows_of_all(const GroupThresholds *thresholds)
{
	return thresholds->ngroups * thresholds->limit->count *
		SUFFICIENT_ROWS <= thresholds->nrows;
}

/* Decides after a stretch of rows whether the thresholds go on. */
static void
end_stretch(GroupThresholds *thresholds)
{
	bool		counts = thresholds->learned;

	if (!thresholds->sampled)
	{
		thresholds->sampled = true;
		thresholds->ended = !has_large_groups(thresholds);
		counts = has_rows_of_all(thresholds);
		thresholds->learned = counts;
	}
	else
		thresholds->learned = true;
	if (counts && thresholds->nleft_out < thresholds->nrows / 2)
		thresholds->ended = true;
	thresholds->stretch_rows = thresholds->learned ? STRETCH_ROWS :
		Max(thresholds->expected_rows / LEARNING_PART, SAMPLED_ROWS);
	thresholds->nrows = 0;
	thresholds->nleft_out = 0;
	if (thresholds->ended)
		free_groups(thresholds);
}

/* Prepares for the first row, or for other keys; false in the end. */
static bool
prepare(GroupThresholds *thresholds)
{
	if (!thresholds->ended && size_groups(thresholds))
		begin_groups(thresholds);
	else
		thresholds->ended = true;
	return !thresholds->ended;
}

/* Does group_thresholds_leave_out(), but only notes that thresholds end. */
static inline bool
leave_out(GroupThresholds *thresholds, TupleTableSlot *slot)
{
	bool		group_exact;
	bool		left_out;

	if (unlikely(thresholds->records == NULL) && !prepare(thresholds))
		return false;
	if (unlikely(!make_keys(thresholds, slot, &group_exact)))
	{
		free_groups(thresholds);
		return false;
	}
	left_out = group_exact && is_unwanted(thresholds);
	thresholds->nleft_out += left_out;
	if (unlikely(++thresholds->nrows == thresholds->stretch_rows))
		end_stretch(thresholds);
	return left_out;
}

bool
group_thresholds_leave_out(GroupThresholds **thresholds, TupleTableSlot *slot)
{
	if (leave_out(*thresholds, slot))
		return true;
	if (unlikely((*thresholds)->ended))
		group_thresholds_end(thresholds);
	return false;
}
