/* Writes arrays as array_recv of the server reads them: big endian, with a size before each item. */
#include "postgres/array.h"

#define HEADER 20

static void put_four(uint8_t *to, uint32_t number)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(number >> (24 - 8 * i));
}

static void put_size(struct buf *buf, uint32_t size)
{
    put_four(buf_reserve(buf, 4), size);
    buf->size += 4;
}

void pg_put_int8(uint8_t bytes[8], uint64_t number)
{
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(number >> (56 - 8 * i));
}

void pg_array_clear(struct pg_array *array, bool has_bytes)
{
    buf_clear(&array->bytes);
    (void)buf_reserve(&array->bytes, HEADER);
    array->bytes.size = HEADER;
    array->count = 0;
    array->has_bytes = has_bytes;
}

void pg_array_fini(struct pg_array *array)
{
    buf_fini(&array->bytes);
}

void pg_array_add(struct pg_array *array, uint64_t number)
{
    put_size(&array->bytes, 8);
    pg_put_int8(buf_reserve(&array->bytes, 8), number);
    array->bytes.size += 8;
    array->count++;
}

void pg_array_add_bytes(struct pg_array *array, struct slice bytes)
{
    put_size(&array->bytes, (uint32_t)bytes.size);
    buf_put_slice(&array->bytes, bytes);
    array->count++;
}

struct slice pg_array_first(const struct pg_array *array)
{
    const uint8_t *size = array->bytes.data + HEADER;

    return slice_of(size + 4, (size_t)size[0] << 24 | (size_t)size[1] << 16 |
                                  (size_t)size[2] << 8 | size[3]);
}

struct slice pg_array_value(struct pg_array *array)
{
    uint8_t *header = array->bytes.data;

    put_four(header, array->count ? 1 : 0); /* dimensions */
    put_four(header + 4, 0);                /* no nulls */
    put_four(header + 8, array->has_bytes ? PG_OID_BYTEA : PG_OID_INT8);
    put_four(header + 12, array->count);
    put_four(header + 16, 1); /* first index */
    return slice_of(header, array->count ? array->bytes.size : 12);
}
