/* What an envelope's payload may wrap: a selection (wire 4.1), a sharding envelope (wire 7.6). By hand, without memory. */
#include "artery/envelope.h"

#include "base/check.h"

/* One protobuf field: number, and either bytes or a number. */
struct field {
    uint64_t number;
    uint64_t value;
    struct slice bytes;
    unsigned type; /* 0 varint, 1 eight bytes, 2 bytes, 5 four bytes */
};

static inline uint64_t take_varint(struct cursor *cursor)
{
    /* The usual case first: one byte. */
    if (cursor->at < cursor->end && *cursor->at < 0x80)
        return *cursor->at++;
    return cursor_varint(cursor);
}

/* The next field; false at the end or when malformed, then cursor->failed is set. */
static inline bool next_field(struct cursor *cursor, struct field *field)
{
    uint64_t key;

    *field = (struct field){ 0 };
    if (cursor->failed || cursor->at == cursor->end)
        return false;
    key = take_varint(cursor);
    field->number = key >> 3;
    field->type = (unsigned)(key & 7);
    if (field->type == 2) {
        uint64_t size = take_varint(cursor);

        if (size > cursor_left(cursor)) {
            cursor->failed = true;
            return false;
        }
        field->bytes = slice_of(cursor->at, (size_t)size);
        cursor->at += size;
    } else if (field->type == 0) {
        field->value = take_varint(cursor);
    } else if (field->type == 1) {
        field->value = cursor_u64(cursor);
    } else if (field->type == 5) {
        field->value = cursor_u32(cursor);
    } else { /* groups are not used by any message */
        cursor->failed = true;
    }
    if (!field->number)
        cursor->failed = true;
    return !cursor->failed;
}

static inline bool field_is(const struct field *field, unsigned number,
                            unsigned type)
{
    return field->number == number && field->type == type;
}

/* ---- selection ---- */

static bool take_step(struct selection *selection, struct slice step)
{
    struct cursor cursor = cursor_of(step);
    struct field field;
    struct slice name = { 0 };
    uint64_t kind = UINT64_MAX;
    char *at;

    while (next_field(&cursor, &field)) {
        if (field_is(&field, 1, 0))
            kind = field.value;
        else if (field_is(&field, 2, 2))
            name = field.bytes;
    }
    if (cursor.failed || kind != 1 || !name.size ||
        memchr(name.data, '/', name.size) || memchr(name.data, 0, name.size) ||
        selection->path.size + 1 + name.size > SELECTION_PATH_MAX)
        return false;
    at = selection->path_text + selection->path.size;
    *at = '/';
    memcpy(at + 1, name.data, name.size);
    selection->path.size += 1 + name.size;
    return true;
}

bool envelope_unwrap_selection(struct slice payload,
                               struct selection *selection)
{
    struct cursor cursor = cursor_of(payload);
    struct field field;
    bool has_message = false;
    bool has_serializer = false;
    unsigned steps = 0;

    selection->path = slice_of(selection->path_text, 0);
    selection->manifest = selection->payload = slice_text("");
    selection->serializer = 0;
    while (next_field(&cursor, &field)) {
        if (field_is(&field, 1, 2)) {
            selection->payload = field.bytes;
            has_message = true;
        } else if (field_is(&field, 2, 0)) {
            selection->serializer = (int32_t)(uint32_t)field.value;
            has_serializer = true;
        } else if (field_is(&field, 3, 2)) {
            if (++steps > SELECTION_STEPS_MAX ||
                !take_step(selection, field.bytes))
                return false;
        } else if (field_is(&field, 4, 2)) {
            selection->manifest = field.bytes;
        }
    }
    return !cursor.failed && has_message && has_serializer && steps > 0;
}

/* ---- sharding envelope ---- */

static inline unsigned varint_size(uint64_t value)
{
    return value < 0x80 ? 1
                        : ((unsigned)(63 - __builtin_clzll(value)) / 7 + 1);
}

static inline uint8_t *put_varint(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

static inline uint8_t *put_bytes(uint8_t *at, unsigned number,
                                 struct slice bytes)
{
    *at++ = (uint8_t)(number << 3 | 2);
    at = put_varint(at, bytes.size);
    if (bytes.size)
        memcpy(at, bytes.data, bytes.size);
    return at + bytes.size;
}

static inline size_t bytes_size(size_t size)
{
    return 1 + varint_size(size) + size;
}

void sharding_envelope_put(struct buf *buf, const struct envelope_head *head,
                           struct slice sender,
                           const struct sharding_envelope *message)
{
    uint64_t serializer = (uint64_t)(int64_t)message->serializer;
    size_t inner = bytes_size(message->body.size) + 1 +
                   varint_size(serializer) +
                   (message->manifest.size ? bytes_size(message->manifest.size)
                                           : 0);
    size_t size = bytes_size(message->id.size) + bytes_size(inner);
    uint8_t *start = buf_reserve(buf, envelope_size_max(head, sender, size));
    uint8_t *at = envelope_head_write(start, head, sender, size);

    check(sender.size <= REF_SIZE_MAX);
    at = put_bytes(at, 1, message->id);
    *at++ = 2 << 3 | 2;
    at = put_varint(at, inner);
    at = put_bytes(at, 1, message->body);
    *at++ = 2 << 3;
    at = put_varint(at, serializer);
    if (message->manifest.size)
        at = put_bytes(at, 4, message->manifest);
    buf->size += (size_t)(at - start);
}

static bool read_payload(struct slice payload,
                         struct sharding_envelope *message)
{
    struct cursor cursor = cursor_of(payload);
    struct field field;
    bool has_body = false;
    bool has_serializer = false;

    while (next_field(&cursor, &field)) {
        if (field_is(&field, 1, 2)) {
            message->body = field.bytes;
            has_body = true;
        } else if (field_is(&field, 2, 0)) {
            message->serializer = (int32_t)(uint32_t)field.value;
            has_serializer = true;
        } else if (field_is(&field, 4, 2)) {
            message->manifest = field.bytes;
        }
    }
    return !cursor.failed && has_body && has_serializer;
}

bool sharding_envelope_read(struct slice payload,
                            struct sharding_envelope *message)
{
    struct cursor cursor = cursor_of(payload);
    struct field field;
    bool has_id = false;
    bool has_message = false;

    *message = (struct sharding_envelope){ .manifest = slice_text("") };
    while (next_field(&cursor, &field)) {
        if (field_is(&field, 1, 2)) {
            message->id = field.bytes;
            has_id = true;
        } else if (field_is(&field, 2, 2)) {
            message->manifest = slice_text("");
            if (!read_payload(field.bytes, message))
                return false;
            has_message = true;
        }
    }
    return !cursor.failed && has_id && has_message;
}
