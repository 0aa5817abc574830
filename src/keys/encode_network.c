/*-------------------------------------------------------------------------
 *
 * encode_network.c
 *	  Keys of network and hardware addresses.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/socket.h>

#include "utils/inet.h"

#include "keys/encode.h"

/*
 * inet and cidr
 *
 * IPv4 comes before IPv6.  Within a family the network comes first, then its
 * length, then the host within it.  A key has the bits of the network, filled
 * up with zeros to the length of an address, then the number of these bits,
 * then the bits of the host.  If one network is the beginning of another, the
 * zeros make it the smaller, or the number decides.
 */
#define COMPACT_HOST_BITS	26
#define COMPACT_LENGTH_BITS 6

static inline const inet_struct *
get_address(KeyWriter *writer, Datum value)
{
	struct varlena *address = (struct varlena *) DatumGetPointer(value);

	if (unlikely(is_toasted(address)))
		address = encode_detoast(writer, address, -1);
	return (const inet_struct *) VARDATA_ANY(address);
}

/* A word of which the uppermost "bits" bits are set, none if negative. */
static inline uint64_t
upper_bits(int bits)
{
	return bits <= 0 ? 0 : PG_UINT64_MAX << (64 - Min(bits, 64));
}

static inline uint64_t
ipv4_word(const inet_struct *address)
{
	uint32		word;

	memcpy(&word, address->ipaddr, sizeof(word));
	return pg_ntoh32(word);
}

/*
 * The compact form: an IPv4 address in one word.  Its 26 bits for the host are
 * enough for any network of six bits or more.
 */
bool
encode_inet_compact(KeyWriter *writer, Datum value)
{
	const inet_struct *address = get_address(writer, value);
	uint64_t	whole;
	uint64_t	host;

	if (address->family != PGSQL_AF_INET)
		return false;
	whole = ipv4_word(address);
	host = whole & ~upper_bits(32 + address->bits);
	if (unlikely(host >> COMPACT_HOST_BITS != 0))
		return false;
	key_append(writer,
			   (whole - host) << (COMPACT_LENGTH_BITS + COMPACT_HOST_BITS) |
			   (uint64_t) address->bits << COMPACT_HOST_BITS | host, 64);
	return true;
}

/*
 * The general form, with a byte for the family ahead.  Networks of one length
 * have hosts of one length, so the host takes only the bytes that it needs.
 */
bool
encode_inet_general(KeyWriter *writer, Datum value)
{
	const inet_struct *address = get_address(writer, value);
	int			bits = address->bits;
	bool		is_ipv4 = address->family == PGSQL_AF_INET;
	int			host_bytes = ((is_ipv4 ? 32 : 128) - bits + 7) / 8;

	key_append(writer, address->family, 8);
	if (is_ipv4)
	{
		uint64_t	whole = ipv4_word(address);
		uint64_t	network = whole & upper_bits(32 + bits);

		key_append(writer, network, 32);
		key_append(writer, bits, 8);
		if (host_bytes > 0)
			key_append(writer, whole - network, BYTE_BITS(host_bytes));
	}
	else
	{
		uint64_t	upper = load_bytes(address->ipaddr);
		uint64_t	lower = load_bytes(address->ipaddr + 8);
		uint64_t	upper_network = upper & upper_bits(bits);
		uint64_t	lower_network = lower & upper_bits(bits - 64);

		key_append(writer, upper_network, 64);
		key_append(writer, lower_network, 64);
		key_append(writer, bits, 8);
		if (host_bytes > 8)
			key_append(writer, upper - upper_network,
					   BYTE_BITS(host_bytes - 8));
		if (host_bytes > 0)
			key_append(writer, lower - lower_network,
					   BYTE_BITS(Min(host_bytes, 8)));
	}
	return true;
}


/*
 * Hardware addresses compare as their bytes do.
 */

uint64_t
macaddr_word(Datum value)
{
	macaddr    *address = DatumGetMacaddrP(value);

	return (uint64_t) address->a << 40 | (uint64_t) address->b << 32 |
		(uint64_t) address->c << 24 | (uint64_t) address->d << 16 |
		(uint64_t) address->e << 8 | address->f;
}

uint64_t
macaddr8_word(Datum value)
{
	StaticAssertStmt(sizeof(macaddr8) == 8, "a macaddr8 is one word");
	return load_bytes(DatumGetMacaddr8P(value));
}
