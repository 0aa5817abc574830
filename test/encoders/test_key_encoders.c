/*-------------------------------------------------------------------------
 *
 * test_key_encoders.c
 *	  Sort keys against PostgreSQL's own comparators.
 *
 * check_sort_keys() takes the rows of a query, makes their keys in both
 * layouts, and compares every row with every other: by their keys, and by
 * their types' comparators.  Whatever key_format.h, sort_keys.h and
 * key_encoders.h promise of keys is checked on the way.  A broken promise is
 * an error that shows the rows.  Then the same is done with keys that several
 * processes make, here by taking turns.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/sortsupport.h"
#include "utils/typcache.h"

#include "keys/encode.h"
#include "keys/sort_keys.h"
#include "test_icu_keys.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(check_sort_keys);
PG_FUNCTION_INFO_V1(sort_key_obstacle);

/* What lies behind the room for a key, and must stay. */
#define GUARD				UINT64_C(0xDEADBEEFDEADBEEF)

typedef struct CheckedRow
{
	HeapTuple	tuple;
	bool		refused;		/* by the compact layout */
	bool		truncated;
	int			nwords;
	uint64_t	words[KEY_MAX_WORDS + 1];
} CheckedRow;

typedef struct Check
{
	TupleDesc	descriptor;
	int			ncolumns;
	SortColumn *columns;
	SortSupport comparators;
	MemoryContext compare_context;
	SortKeys   *keys;
	int			nrows;
	CheckedRow *rows;
	uint8	   *value_orders;	/* of every two rows, see compare_values() */
	int64		npairs;			/* compared */
	int64		ncontradicted;	/* of these, by doubtful keys */
} Check;

/* The columns of a row, for messages. */
static char *
row_text(const Check *check, const CheckedRow *row)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < check->ncolumns; i++)
	{
		char	   *value = SPI_getvalue(row->tuple, check->descriptor, i + 1);

		appendStringInfo(&text, "%s%.100s", i > 0 ? ", " : "",
						 value != NULL ? value : "NULL");
	}
	if (!row->refused)
	{
		appendStringInfoString(&text, " [key");
		for (int i = 0; i < row->nwords; i++)
			appendStringInfo(&text, " %016llx",
							 (unsigned long long) row->words[i]);
		appendStringInfoChar(&text, ']');
	}
	return text.data;
}

static void
report(const Check *check, const char *what, const CheckedRow *a,
	   const CheckedRow *b)
{
	ereport(ERROR,
			(errmsg("%s in the %s layout", what,
					check->keys->general ? "general" : "compact"),
			 errdetail("%s%s%s", row_text(check, a),
					   b != NULL ? " <-> " : "",
					   b != NULL ? row_text(check, b) : "")));
}

static bool
may_have_changed(KeyCache *cache, void *argument)
{
	return cache->collated != NULL ||
		(cache->prefix != NULL && encode_prefix_size(cache->prefix) > 0);
}

static bool
wants_to_change(KeyCache *cache, void *argument)
{
	return (cache->collated != NULL &&
			encode_collated_wants_change(cache->collated)) ||
		(cache->prefix != NULL && encode_prefix_wants_change(cache->prefix)) ||
		(cache->jsonb != NULL && encode_jsonb_wants_change(cache));
}

/* May a key end where there is still room? */
static bool
may_end_early(KeyCache *cache, void *argument)
{
	return cache->encoder == NULL || cache->type == RECORDOID;
}

/* May records of another row type come? */
static bool
may_vary(KeyCache *cache, void *argument)
{
	return cache->type == RECORDOID;
}

/* Is something so of a part of the columns that are encoded? */
static bool
has_part(const Check *check, KeyCacheFunction is_so)
{
	for (int i = 0; i < check->keys->nencoded; i++)
	{
		if (key_cache_walk(check->keys->columns[i].cache, is_so, NULL))
			return true;
	}
	return false;
}

/*
 * May the strings of a column make it ask for other keys of the same layout?
 */
static bool
may_change_keys(const Check *check)
{
	return has_part(check, may_have_changed);
}

/* Returns whether the last row was refused because other keys had better be made. */
static bool
wants_other_keys(const Check *check)
{
	return check->keys->wants_longer || has_part(check, wants_to_change) ||
		(check->keys->general && has_part(check, may_vary));
}

/* Has the row something that the compact layout may refuse? */
static bool
may_be_refused(const Check *check, const CheckedRow *row)
{
	for (int i = 0; i < check->keys->nencoded; i++)
	{
		const KeyEncoder *encoder = check->keys->columns[i].encoder;

		if (encoder->compact.encode != encoder->general.encode ||
			heap_attisnull(row->tuple, i + 1, check->descriptor))
			return true;
	}
	return false;
}

/* Makes the key of a row, and checks what a key by itself must be. */
static void
make_key(const Check *check, CheckedRow *row, TupleTableSlot *slot)
{
	SortKeys   *keys = check->keys;

	ExecStoreHeapTuple(row->tuple, slot, false);
	for (int i = 0; i <= KEY_MAX_WORDS; i++)
		row->words[i] = GUARD;
	keys->truncated = false;
	row->nwords = sort_keys_encode(keys, slot, row->words);
	row->truncated = keys->truncated;
	row->refused = row->nwords == 0;

	if (row->refused)
	{
		if (!wants_other_keys(check) && !has_part(check, may_vary) &&
			(keys->general || !may_be_refused(check, row)))
			report(check, "row refused", row, NULL);
		return;
	}
	if (row->nwords < 0 || row->nwords > keys->most_words)
		elog(ERROR, "key of %d words", row->nwords);
	if (row->words[keys->most_words] != GUARD)
		report(check, "key runs over", row, NULL);
	if (keys->shape.fixed_words != 0 &&
		row->nwords != (int) keys->shape.fixed_words)
		report(check, "key is not of the fixed width", row, NULL);
	if (row->truncated && row->nwords != keys->most_words &&
		!may_change_keys(check) && !has_part(check, may_end_early))
		report(check, "key truncated early", row, NULL);
	if (row->truncated && !keys->shape.mark_ties)
		report(check, "key truncated that should not need it", row, NULL);
}

static int
compare_keys(const Check *check, const CheckedRow *a, const CheckedRow *b)
{
	for (int i = 0; i < Min(a->nwords, b->nwords); i++)
	{
		if (a->words[i] != b->words[i])
			return a->words[i] < b->words[i] ? -1 : 1;
	}
	if (a->nwords != b->nwords)
		report(check, "key begins another", a, b);
	return 0;
}

/* Compares rows by their types' comparators. */
static int
ask_comparators(const Check *check, const CheckedRow *a, const CheckedRow *b)
{
	MemoryContext caller_context;
	int			result = 0;

	caller_context = MemoryContextSwitchTo(check->compare_context);
	for (int i = 0; i < check->ncolumns && result == 0; i++)
	{
		bool		null_a;
		bool		null_b;
		Datum		value_a = heap_getattr(a->tuple, i + 1, check->descriptor,
										   &null_a);
		Datum		value_b = heap_getattr(b->tuple, i + 1, check->descriptor,
										   &null_b);

		result = ApplySortComparator(value_a, null_a, value_b, null_b,
									 &check->comparators[i]);
	}
	MemoryContextSwitchTo(caller_context);
	MemoryContextReset(check->compare_context);
	return result < 0 ? -1 : result > 0 ? 1 : 0;
}

/*
 * The same for two rows by their numbers.  The comparators are asked once.
 * The answer, 0 until then, is kept for the keys of other layouts.
 */
static int
compare_values(const Check *check, int i, int j)
{
	uint8	   *kept = &check->value_orders[(size_t) i * check->nrows + j];

	if (*kept == 0)
		*kept = ask_comparators(check, &check->rows[i], &check->rows[j]) + 2;
	return *kept - 2;
}

/* Compares the first rows with each other. */
static void
compare_rows(Check *check, int nrows)
{
	const SortKeys *keys = check->keys;

	for (int i = 0; i < nrows; i++)
	{
		const CheckedRow *a = &check->rows[i];

		CHECK_FOR_INTERRUPTS();
		for (int j = i + 1; j < nrows; j++)
		{
			const CheckedRow *b = &check->rows[j];
			int			by_keys;

			if (a->refused || b->refused)
				continue;
			by_keys = compare_keys(check, a, b);
			if (by_keys != 0)
			{
				check->npairs++;
				if (by_keys == compare_values(check, i, j))
					continue;
				if (!sort_keys_doubtful(keys))
					report(check, "wrong order", a, b);
				check->ncontradicted++;
			}
			else if (keys->nencoded == keys->ncolumns && !a->truncated && !b->truncated)
			{
				if (compare_values(check, i, j) == 0)
					continue;
				if (!sort_keys_doubtful(keys))
					report(check, "same key for different rows", a, b);
				check->ncontradicted++;
			}
		}
	}
}

/*
 * Makes keys of the rows until a row shows that keys have to be longer.
 * Returns how many keys were made.
 */
static int
make_keys(const Check *check)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(check->descriptor,
													&TTSOpsHeapTuple);
	int			nrows = 0;

	while (nrows < check->nrows)
	{
		make_key(check, &check->rows[nrows], slot);
		if (check->rows[nrows].refused && wants_other_keys(check))
			break;
		nrows++;
	}
	ExecDropSingleTupleTableSlot(slot);
	return nrows;
}

/* Checks all rows in the present layout, and appends what was found. */
static void
check_layout(Check *check, StringInfo summary)
{
	SortKeys   *keys = check->keys;
	bool		general = keys->general;
	int			nrefused = 0;
	int			ntruncated = 0;
	int			nmade;

	if (!keys->shape.mark_ties && keys->nencoded < keys->ncolumns)
		elog(ERROR, "no ties to be marked in the order of a prefix");

	while ((nmade = make_keys(check)) < check->nrows)
	{
		compare_rows(check, nmade);
		sort_keys_change_layout(keys);
		if (keys->general != general)
			elog(ERROR, "longer keys are of another layout");
	}
	compare_rows(check, nmade);

	for (int i = 0; i < check->nrows; i++)
	{
		nrefused += check->rows[i].refused;
		ntruncated += check->rows[i].truncated;
	}
	appendStringInfo(summary, "%s: words %u, refused %d, truncated %d",
					 keys->general ? "; general" : "compact",
					 keys->shape.fixed_words, nrefused, ntruncated);
}

/* Processes that make keys for one sort, and rows of a batch of one of them. */
#define PROCESSES			3
#define ROWS_OF_BATCH		20

/*
 * Makes a process's key of a row, and changes the shared layout until the row fits.
 * The key that another process has made in the same layout has to be the same.
 */
static void
make_shared_key(Check *process, SharedLayout *layout, CheckedRow *row,
				uint32 *made_in, TupleTableSlot *slot)
{
	CheckedRow	made = {.tuple = row->tuple};

	ExecStoreHeapTuple(made.tuple, slot, false);
	for (;;)
	{
		process->keys->truncated = false;
		made.nwords = sort_keys_encode(process->keys, slot, made.words);
		made.truncated = process->keys->truncated;
		if (made.nwords > 0)
			break;
		sort_keys_propose(process->keys, layout);
		(void) sort_keys_adopt(process->keys, layout);
	}
	if (*made_in == process->keys->nagreed &&
		(made.nwords != row->nwords || made.truncated != row->truncated ||
		 memcmp(made.words, row->words, made.nwords * sizeof(uint64_t)) != 0))
		report(process, "other key of another process", row, &made);
	*row = made;
	*made_in = process->keys->nagreed;
}

/* Begins the keys of a process; NULL if processes cannot make such keys together. */
static Check *
begin_process(const Check *check)
{
	Check	   *process = palloc(sizeof(Check));

	*process = *check;
	process->keys = sort_keys_create(check->descriptor, check->columns,
									 check->ncolumns);
	return sort_keys_share(process->keys) ? process : NULL;
}

/* Makes keys of the rows as these come, by the processes in turn, a batch each. */
static void
make_batches(Check *check, Check **processes, SharedLayout *layout,
			 uint32 *made_in, TupleTableSlot *slot)
{
	for (int i = 0; i < check->nrows; i++)
	{
		Check	   *process = processes[i / ROWS_OF_BATCH % PROCESSES];

		if (i % ROWS_OF_BATCH == 0)
			(void) sort_keys_adopt(process->keys, layout);
		/* the key so far is of no layout */
		made_in[i] = PG_UINT32_MAX;
		make_shared_key(process, layout, &check->rows[i], &made_in[i], slot);
	}
}

/* Makes keys of all rows in the last layout, each by every process. */
static void
make_last_keys(Check *check, Check **processes, SharedLayout *layout,
			   uint32 *made_in, TupleTableSlot *slot)
{
	uint32		nlayout;

	do
	{
		nlayout = shared_layout_number(layout);
		for (int i = 0; i < check->nrows * PROCESSES; i++)
		{
			Check	   *process = processes[i % PROCESSES];

			(void) sort_keys_adopt(process->keys, layout);
			make_shared_key(process, layout, &check->rows[i / PROCESSES],
							&made_in[i / PROCESSES], slot);
		}
	} while (nlayout != shared_layout_number(layout));
}

/* Checks keys that several processes make for one sort. */
static void
check_shared(Check *check, StringInfo summary)
{
	SharedLayout *layout = palloc(sizeof(SharedLayout));
	uint32	   *made_in = palloc(check->nrows * sizeof(uint32));
	Check	   *processes[PROCESSES];
	TupleTableSlot *slot;
	int			ntruncated = 0;

	shared_layout_init(layout);
	for (int i = 0; i < PROCESSES; i++)
	{
		processes[i] = begin_process(check);
		if (processes[i] == NULL)
			return;
	}
	slot = MakeSingleTupleTableSlot(check->descriptor, &TTSOpsHeapTuple);
	make_batches(check, processes, layout, made_in, slot);
	make_last_keys(check, processes, layout, made_in, slot);
	ExecDropSingleTupleTableSlot(slot);

	check->keys = processes[0]->keys;
	for (int i = 1; i < PROCESSES; i++)
		check->keys->doubtful |= sort_keys_doubtful(processes[i]->keys);
	compare_rows(check, check->nrows);
	for (int i = 0; i < check->nrows; i++)
		ntruncated += check->rows[i].truncated;
	appendStringInfo(summary, "; shared: changes %u, truncated %d",
					 shared_layout_number(layout), ntruncated);
}

/* The flag for a column, from an array that may be shorter. */
static bool
column_flag(ArrayType *flags, int column)
{
	Datum	   *values;
	int			nvalues;

	deconstruct_array(flags, BOOLOID, 1, true, TYPALIGN_CHAR,
					  &values, NULL, &nvalues);
	return column < nvalues && DatumGetBool(values[column]);
}

/* The operator for a column, from an array that may be shorter, or InvalidOid. */
static Oid
column_operator(ArrayType *operators, int column)
{
	Datum	   *values;
	int			nvalues;

	deconstruct_array(operators, REGOPERATOROID, sizeof(Oid), true,
					  TYPALIGN_INT, &values, NULL, &nvalues);
	return column < nvalues ? DatumGetObjectId(values[column]) : InvalidOid;
}

/*
 * check_sort_keys(query text, descending bool[], nulls_first bool[],
 *				   operators regoperator[])
 *
 * Sorts by all columns of the query, by the operators that are given or the
 * types' default orderings.  Returns a summary.  For each layout it has the
 * words of a key, 0 if they vary, the number of rows that the layout refused,
 * and the number of keys that it truncated.  For keys that processes share, if
 * there are any, it has the number of changes of their layout, and the number
 * of truncated keys.  Then come the number of columns in the keys and, if keys
 * are doubtful, the number of pairs of rows whose order was wrong.
 */
Datum
check_sort_keys(PG_FUNCTION_ARGS)
{
	char	   *query = text_to_cstring(PG_GETARG_TEXT_PP(0));
	ArrayType  *descending = PG_GETARG_ARRAYTYPE_P(1);
	ArrayType  *nulls_first = PG_GETARG_ARRAYTYPE_P(2);
	ArrayType  *operators = PG_GETARG_ARRAYTYPE_P(3);
	MemoryContext caller_context = CurrentMemoryContext;
	Check		check = {0};
	StringInfoData summary;

	SPI_connect();
	if (SPI_execute(query, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "not a SELECT: %s", query);

	check.descriptor = SPI_tuptable->tupdesc;
	check.ncolumns = check.descriptor->natts;
	check.columns = palloc0_array(SortColumn, check.ncolumns);
	check.comparators = palloc0_array(SortSupportData, check.ncolumns);
	for (int i = 0; i < check.ncolumns; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(check.descriptor, i);
		TypeCacheEntry *type = lookup_type_cache(attribute->atttypid,
												 TYPECACHE_LT_OPR |
												 TYPECACHE_GT_OPR);
		SortColumn *column = &check.columns[i];
		SortSupport comparator = &check.comparators[i];

		column->attno = i + 1;
		column->sort_operator = column_operator(operators, i);
		if (!OidIsValid(column->sort_operator))
			column->sort_operator = column_flag(descending, i) ?
				type->gt_opr : type->lt_opr;
		column->collation = attribute->attcollation;
		column->nulls_first = column_flag(nulls_first, i);
		test_learn_icu_keys(column->collation);

		comparator->ssup_cxt = CurrentMemoryContext;
		comparator->ssup_collation = column->collation;
		comparator->ssup_nulls_first = column->nulls_first;
		comparator->ssup_attno = column->attno;
		PrepareSortSupportFromOrderingOp(column->sort_operator, comparator);
	}
	check.compare_context = AllocSetContextCreate(CurrentMemoryContext,
												  "comparison",
												  ALLOCSET_DEFAULT_SIZES);

	check.nrows = SPI_processed;
	check.rows = palloc0(check.nrows * sizeof(CheckedRow));
	for (int i = 0; i < check.nrows; i++)
		check.rows[i].tuple = SPI_tuptable->vals[i];
	check.value_orders = palloc0((Size) check.nrows * check.nrows);

	initStringInfo(&summary);
	check.keys = sort_keys_create(check.descriptor, check.columns,
								  check.ncolumns);
	if (check.keys == NULL)
		elog(ERROR, "no keys");
	/* keys of the compact layout cannot follow other row types */
	if (!has_part(&check, may_vary))
		check_layout(&check, &summary);
	sort_keys_change_layout(check.keys);
	check_layout(&check, &summary);
	check_shared(&check, &summary);
	appendStringInfo(&summary, "; columns %d of %d", check.keys->nencoded,
					 check.ncolumns);
	if (sort_keys_doubtful(check.keys))
		appendStringInfo(&summary, "; wrong " INT64_FORMAT " of " INT64_FORMAT,
						 check.ncontradicted, check.npairs);

	MemoryContextSwitchTo(caller_context);
	query = pstrdup(summary.data);
	SPI_finish();
	PG_RETURN_TEXT_P(cstring_to_text(query));
}

/* sort_key_obstacle(type regtype, operator regoperator, collation oid) */
Datum
sort_key_obstacle(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {
		[REFUSAL_NONE] = "none",
		[REFUSAL_TYPE] = "type",
		[REFUSAL_COLLATION] = "collation",
		[REFUSAL_OPERATOR] = "operator"
	};

	Refusal		refusal = sort_keys_refuse(PG_GETARG_OID(0),
										   PG_GETARG_OID(1),
										   PG_GETARG_OID(2));

	PG_RETURN_TEXT_P(cstring_to_text(names[refusal]));
}
