/* Encodes durable records, and builds requests to their file. */
#include "ddata/durable.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/check.h"
#include "base/limits.h"
#include "ddata/element.h"

#define MAGIC 0x56444853U /* "SHDV" */
#define VERSION 1
#define NAME 0xfd
#define HOLD 0xfe
#define HEAD_SIZE 29
#define CHECKSUM_SIZE 8

struct slice durable_mark_key(void)
{
    return slice_text("\xff");
}

bool durable_is_hold(struct slice key)
{
    return key.size > 1 && key.data[0] == HOLD;
}

bool durable_hold_key(struct slice key, struct buf *hold)
{
    if (!key.size || key.size > DURABLE_KEY_MAX || !text_is_valid(key))
        return false;
    buf_put_u8(hold, HOLD);
    buf_put_slice(hold, key);
    return true;
}

bool durable_is_name(struct slice key)
{
    return key.size > 1 && key.data[0] == NAME;
}

void durable_name_key(struct slice key, struct buf *name)
{
    buf_put_u8(name, NAME);
    buf_put_slice(name, key);
}

struct slice durable_key_of(struct slice own)
{
    return slice_of(own.data + 1, own.size - 1);
}

bool durable_key_is_good(struct slice key)
{
    return key.size && key.size <= DURABLE_KEY_MAX && key.data[0] != HOLD &&
           key.data[0] != NAME && !slice_equal(key, durable_mark_key());
}

uint64_t durable_cluster(const char *cluster)
{
    return XXH3_64bits(cluster, strlen(cluster));
}

void durable_encode(struct buf *buf, const struct durable_record *record)
{
    size_t start = buf->size;

    check(record->key.size <= DURABLE_NAME_SIZE &&
          record->value.size <= DURABLE_VALUE_MAX);
    (void)buf_reserve(buf, DURABLE_OVERHEAD + record->key.size +
                               record->value.size);
    buf_put_u32(buf, MAGIC);
    buf_put_u8(buf, VERSION);
    buf_put_u64(buf, record->cluster);
    buf_put_u64(buf, record->number);
    buf_put_u32(buf, (uint32_t)record->key.size);
    buf_put_u32(buf, (uint32_t)record->value.size);
    buf_put_slice(buf, record->key);
    buf_put_slice(buf, record->value);
    buf_put_u64(buf,
                XXH3_64bits(buf->data + start, buf->size - start));
}

/* Reads the record at the start of the bytes. Returns its size, or 0 and the fault. */
static size_t read_record(struct slice bytes, struct durable_record *record,
                          const char **wrong)
{
    struct cursor cursor = cursor_of(bytes);
    uint32_t magic = cursor_u32(&cursor);
    uint8_t version = cursor_u8(&cursor);
    uint32_t key_size, value_size;
    size_t size;

    record->cluster = cursor_u64(&cursor);
    record->number = cursor_u64(&cursor);
    key_size = cursor_u32(&cursor);
    value_size = cursor_u32(&cursor);
    *wrong = "record is too short";
    if (cursor.failed)
        return 0;
    *wrong = "record has no magic";
    if (magic != MAGIC)
        return 0;
    *wrong = "record has an unknown version";
    if (version != VERSION)
        return 0;
    *wrong = "record's key or value is too long";
    if (key_size > DURABLE_NAME_SIZE || value_size > DURABLE_VALUE_MAX)
        return 0;
    record->key = cursor_slice(&cursor, key_size);
    record->value = cursor_slice(&cursor, value_size);
    size = HEAD_SIZE + (size_t)key_size + value_size;
    *wrong = "record has a wrong checksum";
    if (cursor.failed || cursor_left(&cursor) < CHECKSUM_SIZE ||
        cursor_u64(&cursor) != XXH3_64bits(bytes.data, size))
        return 0;
    *wrong = NULL;
    return size + CHECKSUM_SIZE;
}

const char *durable_decode(struct slice bytes, struct durable_record *record)
{
    const char *wrong;
    size_t size;

    *record = (struct durable_record){ 0 };
    size = read_record(bytes, record, &wrong);
    if (!wrong && size != bytes.size)
        wrong = "bytes are left behind the record";
    return wrong;
}

bool durable_names(struct slice bytes, struct slice key)
{
    return bytes.size >= HEAD_SIZE + key.size &&
           slice_equal(slice_of(bytes.data + HEAD_SIZE, key.size), key);
}

bool durable_find(struct slice bytes, size_t *at,
                  struct durable_record *record)
{
    static const uint8_t first = MAGIC & 0xff;
    const char *wrong;

    while (*at + DURABLE_OVERHEAD <= bytes.size) {
        const uint8_t *next =
            memchr(bytes.data + *at, first, bytes.size - *at);
        size_t size;

        if (!next)
            break;
        *at = (size_t)(next - bytes.data);
        size = read_record(slice_of(next, bytes.size - *at), record, &wrong);
        if (size) {
            *at += size;
            return true;
        }
        (*at)++;
    }
    *at = bytes.size;
    return false;
}

/* ---- requests ---- */

struct durable_request *durable_request_new(enum durable_verb verb)
{
    struct durable_request *request = mem_alloc(sizeof *request);

    request->verb = verb;
    return request;
}

void durable_request_free(struct durable_request *request)
{
    if (!request)
        return;
    vec_fini(&request->entries);
    buf_fini(&request->bytes);
    mem_free(request);
}

static struct durable_span put(struct durable_request *request,
                               struct slice bytes)
{
    struct durable_span span = { (uint32_t)request->bytes.size,
                                 (uint32_t)bytes.size };

    check(request->bytes.size + bytes.size <= UINT32_MAX);
    buf_put_slice(&request->bytes, bytes);
    return span;
}

void durable_request_add(struct durable_request *request, struct slice key,
                         struct slice value)
{
    struct durable_entry entry = { .key = put(request, key),
                                   .value = put(request, value) };

    vec_push(&request->entries, entry);
}

struct slice durable_slice(const struct durable_request *request,
                           struct durable_span span)
{
    return slice_of(request->bytes.data + span.at, span.size);
}
