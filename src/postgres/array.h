/* Encodes parameters of statements in PostgreSQL's binary format: numbers, bytes, and arrays of them. */
#ifndef SHERD_POSTGRES_ARRAY_H
#define SHERD_POSTGRES_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/* Object ids of types, from the server's pg_type.dat. */
#define PG_OID_BYTEA 17
#define PG_OID_INT8 20
#define PG_OID_BYTEA_ARRAY 1001
#define PG_OID_INT8_ARRAY 1016

/* One dimension, without nulls. Zero is an empty one; arrays of bytes and of numbers differ. */
struct pg_array {
    struct buf bytes;
    uint32_t count;
    bool has_bytes; /* bytea[], not int8[] */
};

void pg_array_clear(struct pg_array *array, bool has_bytes);
void pg_array_fini(struct pg_array *array);
/* Numbers above INT64_MAX are stored as negative ones, and come back as they were. */
void pg_array_add(struct pg_array *array, uint64_t number);
void pg_array_add_bytes(struct pg_array *array, struct slice bytes);
/* The parameter's bytes, lent until the next change. */
struct slice pg_array_value(struct pg_array *array);
/* The first item, as a parameter of its own. */
struct slice pg_array_first(const struct pg_array *array);

/* One number as a parameter. */
void pg_put_int8(uint8_t bytes[8], uint64_t number);

#endif
