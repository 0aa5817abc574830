/*-------------------------------------------------------------------------
 *
 * encode_identifiers.c
 *	  Keys of identifiers, which only tell things apart.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/itemptr.h"
#include "utils/uuid.h"

#include "keys/encode.h"

uint64_t
oid_word(Datum value)
{
	return DatumGetObjectId(value);
}

/* xid8 and pg_lsn */
uint64_t
unsigned_word(Datum value)
{
	return DatumGetUInt64(value);
}

/* The block, then the place in it. */
uint64_t
tid_word(Datum value)
{
	const ItemPointerData *tid = (ItemPointer) DatumGetPointer(value);

	return (uint64_t) ItemPointerGetBlockNumberNoCheck(tid) << 16 |
		ItemPointerGetOffsetNumberNoCheck(tid);
}

bool
encode_uuid(KeyWriter *writer, Datum value)
{
	const pg_uuid_t *uuid = DatumGetUUIDP(value);

	StaticAssertStmt(UUID_LEN == 16, "a uuid is two words");
	key_append(writer, load_bytes(uuid->data), 64);
	key_append(writer, load_bytes(uuid->data + 8), 64);
	return true;
}
