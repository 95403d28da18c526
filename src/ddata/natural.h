/* Computes with the naturals of counters, which stop at DD_NATURAL_BITS bits. Private to the
 * types. */
#ifndef SHERD_DDATA_NATURAL_H
#define SHERD_DDATA_NATURAL_H

#include "ddata/value.h"

#define NATURAL_SIZE_MAX 15 /* encoded bytes: 14, and a zero that keeps it positive */

static inline bool natural_is_zero(struct dd_natural natural)
{
    return !natural.high && !natural.low;
}

int natural_compare(struct dd_natural left, struct dd_natural right);
struct dd_natural natural_add(struct dd_natural left, struct dd_natural right); /* of 128 bits */
struct dd_natural natural_subtract(struct dd_natural left,
                                   struct dd_natural right); /* left is not smaller */
struct dd_natural natural_limit(struct dd_natural natural); /* stops at DD_NATURAL_BITS bits */

/* The shortest big-endian two's complement, as java.math.BigInteger's toByteArray. Returns its
 * size. */
size_t natural_put(struct dd_natural natural, uint8_t bytes[NATURAL_SIZE_MAX]);
enum dd_verdict natural_get(struct slice bytes, struct dd_natural *natural);

#endif
