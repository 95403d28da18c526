/* Reads and writes the envelope: 28 fixed bytes, literals, payload. */
#include "artery/envelope.h"

#include "base/check.h"

enum {
    AT_VERSION = 0,
    AT_FLAGS = 1,
    AT_REFS_VERSION = 2,
    AT_MANIFESTS_VERSION = 3,
    AT_ORIGIN = 4,
    AT_SERIALIZER = 12,
    AT_SENDER = 16,
    AT_RECIPIENT = 20,
    AT_MANIFEST = 24,
    FLAG_METADATA = 1,
    LENGTH_SIZE = 4,
};

#define TAG_COMPRESSED UINT32_C(0xff000000)

static uint32_t load_u32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
           (uint32_t)at[3] << 24;
}

static void store_u16(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

static void store_u32(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
    at[2] = (uint8_t)(value >> 16);
    at[3] = (uint8_t)(value >> 24);
}

static void store_u64(uint8_t *at, uint64_t value)
{
    store_u32(at, (uint32_t)value);
    store_u32(at + 4, (uint32_t)(value >> 32));
}

const char *envelope_error_text(enum envelope_error error)
{
    switch (error) {
    case ENVELOPE_OK:
        return "ok";
    case ENVELOPE_TRUNCATED:
        return "truncated";
    case ENVELOPE_VERSION:
        return "unknown version";
    case ENVELOPE_LITERAL:
        return "literal too long";
    case ENVELOPE_TABLE:
        return "unknown compression table";
    }
    return "unknown";
}

struct reader {
    const uint8_t *at;
    const uint8_t *end;
    enum envelope_error error;
};

/* A literal: two bytes of length, then text. */
static inline struct slice read_literal(struct reader *reader, size_t size_max)
{
    const uint8_t *at = reader->at + 2;
    size_t left = (size_t)(reader->end - reader->at);
    size_t size;

    if (left < 2) {
        reader->error = ENVELOPE_TRUNCATED;
        return slice_of(reader->at, 0);
    }
    size = (size_t)at[-2] | (size_t)at[-1] << 8;
    /* The length is a signed short. */
    if (size > left - 2 || size > size_max) {
        reader->error = size > left - 2 || size > 0x7fff ? ENVELOPE_TRUNCATED
                                                         : ENVELOPE_LITERAL;
        return slice_of(at, 0);
    }
    reader->at = at + size;
    return slice_of(at, size);
}

/* An index into a table of ours, in place of a literal. */
static struct slice read_index(struct reader *reader,
                               const struct own_tables *tables, uint32_t tag,
                               enum table_kind kind, uint8_t version)
{
    struct slice text = {0};

    if (!tables || !own_tables_text(tables, kind, version, tag & 0xffff, &text))
        reader->error = ENVELOPE_TABLE;
    return text;
}

/* Skips all metadata; false when longer than the frame. */
static bool skip_metadata(struct reader *reader)
{
    uint32_t size;

    if (reader->end - reader->at < 4)
        return false;
    size = load_u32(reader->at);
    reader->at += 4;
    if (size > (size_t)(reader->end - reader->at))
        return false;
    reader->at += size;
    return true;
}

enum envelope_error envelope_read(struct slice frame,
                                  const struct own_tables *tables,
                                  struct envelope *envelope)
{
    const uint8_t *head = frame.data;
    struct reader reader = {.error = ENVELOPE_OK};
    uint32_t tag;

    if (frame.size < ENVELOPE_HEADER_SIZE)
        return ENVELOPE_TRUNCATED;
    if (head[AT_VERSION] != 0)
        return ENVELOPE_VERSION;
    reader.at = head + ENVELOPE_HEADER_SIZE;
    reader.end = head + frame.size;
    if ((head[AT_FLAGS] & FLAG_METADATA) && !skip_metadata(&reader))
        return ENVELOPE_TRUNCATED;
    envelope->flags = head[AT_FLAGS];
    envelope->refs_version = head[AT_REFS_VERSION];
    envelope->manifests_version = head[AT_MANIFESTS_VERSION];
    envelope->origin = (uint64_t)load_u32(head + AT_ORIGIN) |
                       (uint64_t)load_u32(head + AT_ORIGIN + 4) << 32;
    envelope->serializer = (int32_t)load_u32(head + AT_SERIALIZER);
    envelope->recipient_index = -1;
    /* A tag is compressed if any bit of its top byte is set. */
    tag = load_u32(head + AT_SENDER);
    envelope->sender = tag & TAG_COMPRESSED
                           ? read_index(&reader, tables, tag, TABLE_REFS,
                                        envelope->refs_version)
                           : read_literal(&reader, REF_SIZE_MAX);
    tag = load_u32(head + AT_RECIPIENT);
    if (tag & TAG_COMPRESSED) {
        envelope->recipient_index = (int32_t)(tag & 0xffff);
        envelope->recipient = read_index(&reader, tables, tag, TABLE_REFS,
                                         envelope->refs_version);
    } else {
        envelope->recipient = read_literal(&reader, REF_SIZE_MAX);
    }
    tag = load_u32(head + AT_MANIFEST);
    envelope->manifest = tag & TAG_COMPRESSED
                             ? read_index(&reader, tables, tag, TABLE_MANIFESTS,
                                          envelope->manifests_version)
                             : read_literal(&reader, MANIFEST_SIZE_MAX);
    envelope->payload = slice_of(reader.at, (size_t)(reader.end - reader.at));
    return reader.error;
}

/* Moves a slice to the bytes at *at. */
static void copy_part(struct slice *part, uint8_t **at)
{
    if (part->size)
        memcpy(*at, part->data, part->size);
    part->data = *at;
    *at += part->size;
}

struct envelope *envelope_keep(const struct envelope *envelope)
{
    struct envelope *copy =
        mem_resize(NULL, sizeof *copy + envelope->sender.size +
                             envelope->recipient.size +
                             envelope->manifest.size + envelope->payload.size);
    uint8_t *at = (uint8_t *)(copy + 1);

    *copy = *envelope;
    copy_part(&copy->sender, &at);
    copy_part(&copy->recipient, &at);
    copy_part(&copy->manifest, &at);
    copy_part(&copy->payload, &at);
    return copy;
}

/* ---- control's writer ---- */

struct writer {
    struct buf *buf;
    const struct peer_tables *tables; /* null = literals only */
    const struct identity *self;
    size_t start; /* of the envelope in buf */
};

static void set_tag(struct writer *writer, unsigned at, uint32_t tag)
{
    store_u32(writer->buf->data + writer->start + at, tag);
}

/* Replaces the literal at `literal` (a length of two bytes, then text) by a tag when the table has
 * it. */
static bool end_literal(struct writer *writer, unsigned at, size_t literal,
                        const struct table *table, size_t size_max)
{
    size_t size = writer->buf->size - literal - 2;
    uint8_t *data = writer->buf->data + literal;
    int32_t index;

    if (size > size_max)
        return false;
    index = table ? table_index(table, slice_of(data + 2, size)) : -1;
    if (index >= 0) {
        writer->buf->size = literal;
        set_tag(writer, at, TAG_COMPRESSED | (uint32_t)index);
        return true;
    }
    store_u16(data, (uint32_t)size);
    set_tag(writer, at, (uint32_t)(literal - writer->start));
    return true;
}

static bool put_ref(struct writer *writer, unsigned at,
                    const struct address *address, struct slice path)
{
    size_t literal = writer->buf->size;
    const struct table *table = writer->tables ? &writer->tables->refs : NULL;

    buf_put_u16(writer->buf, 0);
    if (path.size && path.data[0] == '/')
        ref_put(writer->buf, writer->self, address, path);
    else
        buf_put_slice(writer->buf, path);
    return end_literal(writer, at, literal, table, REF_SIZE_MAX);
}

static bool put_manifest(struct writer *writer, struct slice manifest)
{
    size_t literal = writer->buf->size;
    bool in_table = writer->tables && manifest.size;

    buf_put_u16(writer->buf, 0);
    buf_put_slice(writer->buf, manifest);
    return end_literal(writer, AT_MANIFEST, literal,
                       in_table ? &writer->tables->manifests : NULL,
                       MANIFEST_SIZE_MAX);
}

static void put_header(struct writer *writer, int32_t serializer)
{
    uint8_t *head = buf_reserve(writer->buf, ENVELOPE_HEADER_SIZE);
    const struct peer_tables *tables = writer->tables;

    memset(head, 0, ENVELOPE_HEADER_SIZE);
    if (tables) {
        head[AT_REFS_VERSION] = tables->refs.version;
        head[AT_MANIFESTS_VERSION] = tables->manifests.version;
    }
    store_u64(head + AT_ORIGIN, writer->self->node.uid);
    store_u32(head + AT_SERIALIZER, (uint32_t)serializer);
    writer->buf->size += ENVELOPE_HEADER_SIZE;
}

static void put_field(struct buf *buf, uint8_t field, struct slice bytes)
{
    buf_put_u8(buf, (uint8_t)(field << 3 | 2));
    buf_put_varint(buf, bytes.size);
    buf_put_slice(buf, bytes);
}

static size_t varint_size(uint64_t value)
{
    size_t size = 1;

    while ((value >>= 7) != 0)
        size++;
    return size;
}

/* As Akka's SelectionEnvelope: the enclosed message, then the path as a chain of child names. */
static void put_selection(struct buf *buf, const struct outbound *message)
{
    struct cursor path = cursor_of(path_plain(message->recipient));

    put_field(buf, 1, message->payload);
    buf_put_u8(buf, 2 << 3);
    buf_put_varint(buf, (uint64_t)(int64_t)message->serializer);
    while (cursor_left(&path)) {
        const uint8_t *slash = memchr(path.at, '/', cursor_left(&path));
        size_t size = slash ? (size_t)(slash - path.at) : cursor_left(&path);
        struct slice name = cursor_slice(&path, size);

        if (slash)
            (void)cursor_u8(&path); /* the slash itself */
        if (!name.size)
            continue;
        buf_put_u8(buf, 3 << 3 | 2);
        buf_put_varint(buf, 3 + varint_size(name.size) + name.size);
        buf_put_u8(buf, 1 << 3);
        buf_put_u8(buf, 1); /* CHILD_NAME */
        put_field(buf, 2, name);
    }
    if (message->manifest.size)
        put_field(buf, 4, message->manifest);
    buf_put_u8(buf, 5 << 3);
    buf_put_u8(buf, 0); /* no wildcard fan-out; the JVM always writes it */
}

bool envelope_put(struct buf *buf, const struct identity *self,
                  const struct peer_tables *tables,
                  const struct outbound *message)
{
    size_t before = buf->size;
    size_t size_max =
        message->stream == STREAM_LARGE ? FRAME_LARGE_SIZE_MAX : FRAME_SIZE_MAX;
    struct writer writer = {.buf = buf, .self = self};
    bool good;
    size_t size;

    if (message->payload.size > size_max)
        return false;
    /* Tables are for the ordinary stream, and not for Artery's own messages. */
    if (message->stream == STREAM_ORDINARY &&
        message->serializer != SERIALIZER_ARTERY)
        writer.tables = tables;
    buf_put_u32(buf, 0);
    writer.start = buf->size;
    put_header(&writer,
               message->selection ? SERIALIZER_SELECTION : message->serializer);
    good = put_ref(&writer, AT_SENDER, &self->node.address, message->sender) &&
           put_ref(&writer, AT_RECIPIENT, &message->to.address,
                   message->selection ? slice_text("/") : message->recipient) &&
           put_manifest(&writer, message->selection ? slice_text("")
                                                    : message->manifest);
    if (good && message->selection)
        put_selection(buf, message);
    else if (good)
        buf_put_slice(buf, message->payload);
    size = buf->size - writer.start;
    if (!good || size > size_max) {
        buf->size = before;
        return false;
    }
    store_u32(buf->data + before, (uint32_t)size);
    return true;
}

/* ---- the data path's writer ---- */

void envelope_head_fini(struct envelope_head *head)
{
    buf_fini(&head->bytes);
    *head = (struct envelope_head){0};
}

bool envelope_head_init(struct envelope_head *head, const struct identity *self,
                        const struct peer_tables *tables,
                        struct slice recipient, struct slice manifest,
                        int32_t serializer)
{
    struct writer writer = {
        .buf = &head->bytes,
        .tables = tables && tables->uid ? tables : NULL,
        .self = self,
        .start = LENGTH_SIZE,
    };
    const uint8_t *data;

    buf_clear(&head->bytes);
    buf_put_u32(&head->bytes, 0);
    put_header(&writer, serializer);
    if (!put_ref(&writer, AT_SENDER, &self->node.address, slice_text("")))
        return false;
    head->tail_at = (uint32_t)head->bytes.size;
    if (recipient.size > REF_SIZE_MAX ||
        !put_ref(&writer, AT_RECIPIENT, &self->node.address, recipient) ||
        !put_manifest(&writer, manifest))
        return false;
    data = head->bytes.data + LENGTH_SIZE;
    head->recipient_literal = !(load_u32(data + AT_RECIPIENT) & TAG_COMPRESSED);
    head->manifest_literal = !(load_u32(data + AT_MANIFEST) & TAG_COMPRESSED);
    head->uid = writer.tables ? writer.tables->uid : 0;
    return true;
}

uint8_t *envelope_head_write(uint8_t *at, const struct envelope_head *head,
                             struct slice sender, size_t payload_size)
{
    const uint8_t *from = head->bytes.data;
    size_t fixed = LENGTH_SIZE + ENVELOPE_HEADER_SIZE;
    size_t tail_size = head->bytes.size - head->tail_at;
    uint8_t *envelope = at + LENGTH_SIZE;
    uint32_t moved;

    if (!sender.size) {
        memcpy(at, from, head->bytes.size);
        at += head->bytes.size;
    } else {
        memcpy(at, from, fixed);
        at += fixed;
        store_u16(at, (uint32_t)sender.size);
        memcpy(at + 2, sender.data, sender.size);
        at += 2 + sender.size;
        memcpy(at, from + head->tail_at, tail_size);
        at += tail_size;
        store_u32(envelope + AT_SENDER, ENVELOPE_HEADER_SIZE);
        moved = (uint32_t)(fixed + 2 + sender.size) - head->tail_at;
        if (head->recipient_literal)
            store_u32(envelope + AT_RECIPIENT,
                      load_u32(envelope + AT_RECIPIENT) + moved);
        if (head->manifest_literal)
            store_u32(envelope + AT_MANIFEST,
                      load_u32(envelope + AT_MANIFEST) + moved);
    }
    store_u32(envelope - LENGTH_SIZE,
              (uint32_t)((size_t)(at - envelope) + payload_size));
    return at;
}

void envelope_head_bind(struct envelope_head *bound,
                        const struct envelope_head *head, struct slice sender)
{
    uint8_t *at;

    check(sender.size && sender.size <= REF_SIZE_MAX);
    buf_clear(&bound->bytes);
    at = buf_reserve(&bound->bytes, envelope_size_max(head, sender, 0));
    bound->bytes.size =
        (size_t)(envelope_head_write(at, head, sender, 0) - at);
    bound->tail_at = (uint32_t)bound->bytes.size;
    bound->recipient_literal = head->recipient_literal;
    bound->manifest_literal = head->manifest_literal;
    bound->uid = head->uid;
}

void envelope_head_put(struct buf *buf, const struct envelope_head *head,
                       struct slice sender, struct slice payload)
{
    uint8_t *start =
        buf_reserve(buf, envelope_size_max(head, sender, payload.size));
    uint8_t *at;

    check(sender.size <= REF_SIZE_MAX);
    at = envelope_head_write(start, head, sender, payload.size);
    if (payload.size)
        memcpy(at, payload.data, payload.size);
    buf->size += (size_t)(at - start) + payload.size;
}
