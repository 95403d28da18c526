/* Reads and writes what an envelope's payload may wrap: a selection or a sharding envelope. It does
 * not use protobuf-c, so it allocates no memory. */
#include "artery/envelope.h"

#include "base/check.h"

/* The varint before a field's value: its number, and whether a number or bytes follow. */
#define KEY_NUMBER(field) ((field) << 3)
#define KEY_BYTES(field) ((field) << 3 | 2)

static inline uint64_t take_varint(struct cursor *cursor)
{
    const uint8_t *at = cursor->at;

    /* The usual cases first: one byte, two bytes. */
    if (cursor->end - at >= 2) {
        if (at[0] < 0x80) {
            cursor->at = at + 1;
            return at[0];
        }
        if (at[1] < 0x80) {
            cursor->at = at + 2;
            return (uint64_t)(at[0] & 0x7f) | (uint64_t)at[1] << 7;
        }
    }
    return cursor_varint(cursor);
}

static inline struct slice take_bytes(struct cursor *cursor)
{
    uint64_t size = take_varint(cursor);
    struct slice bytes = {cursor->at, 0};

    if (cursor->failed || size > cursor_left(cursor)) {
        cursor->failed = true;
        return bytes;
    }
    bytes.size = (size_t)size;
    cursor->at += size;
    return bytes;
}

/* Skips an unknown field after its key. */
static void skip_field(struct cursor *cursor, uint64_t key)
{
    if (key >> 3 == 0)
        cursor->failed = true;
    switch (key & 7) {
    case 0:
        (void)cursor_varint(cursor);
        break;
    case 1:
        (void)cursor_u64(cursor);
        break;
    case 2:
        (void)take_bytes(cursor);
        break;
    case 5:
        (void)cursor_u32(cursor);
        break;
    default: /* no message uses groups */
        cursor->failed = true;
    }
}

/* ---- selection ---- */

enum step_kind { STEP_PARENT, STEP_NAME, STEP_PATTERN };

/* The root is its own parent. */
static void take_parent(struct selection *selection)
{
    while (selection->path.size &&
           selection->path_text[--selection->path.size] != '/')
        ;
}

static bool take_step(struct selection *selection, struct slice step)
{
    struct cursor cursor = cursor_of(step);
    struct slice name = {0};
    uint64_t kind = UINT64_MAX;
    char *at;

    while (!cursor.failed && cursor.at < cursor.end) {
        uint64_t key = take_varint(&cursor);

        if (key == KEY_NUMBER(1))
            kind = take_varint(&cursor);
        else if (key == KEY_BYTES(2))
            name = take_bytes(&cursor);
        else
            skip_field(&cursor, key);
    }
    if (!cursor.failed && kind == STEP_PARENT) {
        take_parent(selection);
        return true;
    }
    if (cursor.failed || (kind != STEP_NAME && kind != STEP_PATTERN) || !name.size ||
        memchr(name.data, '/', name.size) || memchr(name.data, 0, name.size) ||
        selection->path.size + 1 + name.size > SELECTION_PATH_MAX)
        return false;
    at = selection->path_text + selection->path.size;
    *at = '/';
    memcpy(at + 1, name.data, name.size);
    selection->path.size += 1 + name.size;
    return true;
}

/* Begins with the recipient's path, without the "/" of the root. False: it is too long. */
static bool take_anchor(struct selection *selection, struct slice recipient)
{
    const uint8_t *end = recipient.data + recipient.size;
    const uint8_t *at = recipient.data;
    struct slice path;

    for (int slashes = 0; at < end && slashes < 3; at++)
        slashes += *at == '/';
    selection->path = slice_of(selection->path_text, 0);
    if (at == end) /* the root, or no literal */
        return true;
    path = path_plain(slice_of(at - 1, (size_t)(end - at) + 1));
    if (path.size > SELECTION_PATH_MAX)
        return false;
    memcpy(selection->path_text, path.data, path.size);
    selection->path.size = path.size;
    return true;
}

bool envelope_unwrap_selection(struct slice recipient, struct slice payload,
                               struct selection *selection)
{
    struct cursor cursor = cursor_of(payload);
    bool has_message = false;
    bool has_serializer = false;
    unsigned steps = 0;

    if (!take_anchor(selection, recipient))
        return false;
    selection->manifest = selection->payload = slice_text("");
    selection->serializer = 0;
    while (!cursor.failed && cursor.at < cursor.end) {
        uint64_t key = take_varint(&cursor);

        if (key == KEY_BYTES(1)) {
            selection->payload = take_bytes(&cursor);
            has_message = true;
        } else if (key == KEY_NUMBER(2)) {
            selection->serializer = (int32_t)(uint32_t)take_varint(&cursor);
            has_serializer = true;
        } else if (key == KEY_BYTES(3)) {
            struct slice step = take_bytes(&cursor);

            if (cursor.failed || ++steps > SELECTION_STEPS_MAX ||
                !take_step(selection, step))
                return false;
        } else if (key == KEY_BYTES(4)) {
            selection->manifest = take_bytes(&cursor);
        } else {
            skip_field(&cursor, key);
        }
    }
    return !cursor.failed && has_message && has_serializer && steps > 0;
}

bool envelope_selects(struct slice payload, int32_t serializer)
{
    struct cursor cursor = cursor_of(payload);
    bool selects = false;

    while (!cursor.failed && cursor.at < cursor.end) {
        uint64_t key = take_varint(&cursor);

        if (key == KEY_NUMBER(2))
            selects = (int32_t)(uint32_t)take_varint(&cursor) == serializer;
        else if ((key & 7) == 2)
            (void)take_bytes(&cursor); /* empty when it fails */
        else
            skip_field(&cursor, key);
    }
    return selects;
}

/* ---- sharding envelope ---- */

static inline unsigned varint_size(uint64_t value)
{
    return value < 0x80     ? 1
           : value < 0x4000 ? 2
                            : ((unsigned)(63 - __builtin_clzll(value)) / 7 + 1);
}

static inline uint8_t *put_varint(uint8_t *at, uint64_t value)
{
    if (value < 0x80) { /* the usual cases first */
        at[0] = (uint8_t)value;
        return at + 1;
    }
    if (value < 0x4000) {
        at[0] = (uint8_t)(value | 0x80);
        at[1] = (uint8_t)(value >> 7);
        return at + 2;
    }
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
    bytes_copy(at, bytes.data, bytes.size);
    return at + bytes.size;
}

static inline size_t bytes_size(size_t size)
{
    return 1 + varint_size(size) + size;
}

static inline uint8_t *put_short(uint8_t *at, unsigned number,
                                 struct slice bytes)
{
    at[0] = (uint8_t)(number << 3 | 2);
    at[1] = (uint8_t)bytes.size;
    bytes_copy(at + 2, bytes.data, bytes.size);
    return at + 2 + bytes.size;
}

/* Writes the usual form: every size has one byte. False: another form is needed. */
static inline bool put_usual(struct buf *buf, const struct envelope_head *head,
                             struct slice sender,
                             const struct sharding_envelope *message)
{
    uint64_t serializer = (uint64_t)(int64_t)message->serializer;
    size_t manifest = message->manifest.size ? message->manifest.size + 2 : 0;
    size_t inner =
        message->body.size + manifest + 3 + varint_size(serializer);
    size_t size = message->id.size + inner + 4;
    uint8_t *start;
    uint8_t *at;

    if ((message->id.size | message->body.size | manifest | inner) >= 0x80)
        return false;
    start = buf_reserve(buf, envelope_size_max(head, sender, size));
    at = envelope_head_write(start, head, sender, size);
    at = put_short(at, 1, message->id);
    at[0] = KEY_BYTES(2);
    at[1] = (uint8_t)inner;
    at = put_short(at + 2, 1, message->body);
    *at++ = KEY_NUMBER(2);
    at = put_varint(at, serializer);
    if (manifest)
        at = put_short(at, 4, message->manifest);
    buf->size += (size_t)(at - start);
    return true;
}

static void put_any(struct buf *buf, const struct envelope_head *head,
                    struct slice sender,
                    const struct sharding_envelope *message)
{
    uint64_t serializer = (uint64_t)(int64_t)message->serializer;
    size_t inner =
        bytes_size(message->body.size) + 1 + varint_size(serializer) +
        (message->manifest.size ? bytes_size(message->manifest.size) : 0);
    size_t size = bytes_size(message->id.size) + bytes_size(inner);
    uint8_t *start = buf_reserve(buf, envelope_size_max(head, sender, size));
    uint8_t *at = envelope_head_write(start, head, sender, size);

    at = put_bytes(at, 1, message->id);
    *at++ = KEY_BYTES(2);
    at = put_varint(at, inner);
    at = put_bytes(at, 1, message->body);
    *at++ = KEY_NUMBER(2);
    at = put_varint(at, serializer);
    if (message->manifest.size)
        at = put_bytes(at, 4, message->manifest);
    buf->size += (size_t)(at - start);
}

void sharding_envelope_put(struct buf *buf, const struct envelope_head *head,
                           struct slice sender,
                           const struct sharding_envelope *message)
{
    check(sender.size <= REF_SIZE_MAX);
    if (!put_usual(buf, head, sender, message))
        put_any(buf, head, sender, message);
}

static inline bool read_payload(struct slice payload,
                                struct sharding_envelope *message)
{
    struct cursor cursor = {payload.data, payload.data + payload.size, false};
    bool has_body = false;
    bool has_serializer = false;

    while (!cursor.failed && cursor.at < cursor.end) {
        uint64_t key = take_varint(&cursor);

        if (key == KEY_BYTES(1)) {
            message->body = take_bytes(&cursor);
            has_body = true;
        } else if (key == KEY_NUMBER(2)) {
            message->serializer = (int32_t)(uint32_t)take_varint(&cursor);
            has_serializer = true;
        } else if (key == KEY_BYTES(4)) {
            message->manifest = take_bytes(&cursor);
        } else {
            skip_field(&cursor, key);
        }
    }
    return !cursor.failed && has_body && has_serializer;
}

bool sharding_envelope_read_any(struct slice payload,
                                struct sharding_envelope *message)
{
    struct cursor cursor = cursor_of(payload);
    bool has_id = false;
    bool has_message = false;

    message->manifest = slice_text("");
    while (!cursor.failed && cursor.at < cursor.end) {
        uint64_t key = take_varint(&cursor);

        if (key == KEY_BYTES(1)) {
            message->id = take_bytes(&cursor);
            has_id = true;
        } else if (key == KEY_BYTES(2)) {
            struct slice inner = take_bytes(&cursor);

            message->manifest = slice_text("");
            if (cursor.failed || !read_payload(inner, message))
                return false;
            has_message = true;
        } else {
            skip_field(&cursor, key);
        }
    }
    return !cursor.failed && has_id && has_message;
}
