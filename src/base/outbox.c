/* Queues the messages that a step leaves, and writes and reads actor refs. */
#include "base/outbox.h"

#include "base/check.h"

/* Most turns leave one small message, and small blocks are cheap. */
#define ITEMS_FIRST 4
#define BYTES_FIRST 512
#define SHARED_MIN 64 /* bytes of a payload; comparing smaller ones gains nothing */

struct outbox_item {
    struct node_id to;
    size_t at; /* texts in outbox->bytes */
    size_t payload_at; /* may be that of an earlier message */
    size_t recipient_size;
    size_t sender_size;
    size_t manifest_size;
    size_t payload_size;
    int32_t serializer;
    enum stream stream;
    bool selection;
    enum repeats repeats;
};

void outbox_fini(struct outbox *outbox)
{
    mem_free(outbox->items);
    buf_fini(&outbox->bytes);
    *outbox = (struct outbox){ 0 };
}

/* Returns the payload's place. A payload for many peers is put many times in a row and stored
 * once. */
static size_t put_payload(struct outbox *outbox, struct slice payload)
{
    const struct outbox_item *last =
        outbox->count ? &outbox->items[outbox->count - 1] : NULL;
    size_t at = outbox->bytes.size;

    if (last && payload.size >= SHARED_MIN &&
        last->payload_size == payload.size &&
        !memcmp(outbox->bytes.data + last->payload_at, payload.data,
                payload.size))
        return last->payload_at;
    buf_put_slice(&outbox->bytes, payload);
    return at;
}

void outbox_put(struct outbox *outbox, const struct outbound *message)
{
    size_t payload_at;

    if (outbox->count == outbox->capacity) {
        outbox->capacity = outbox->capacity ? outbox->capacity * 2 : ITEMS_FIRST;
        outbox->items = mem_resize(outbox->items,
                                   outbox->capacity * sizeof *outbox->items);
    }
    if (!outbox->bytes.capacity)
        (void)buf_reserve(&outbox->bytes, BYTES_FIRST);
    payload_at = put_payload(outbox, message->payload);
    outbox->items[outbox->count++] = (struct outbox_item){
        .to = message->to,
        .at = outbox->bytes.size,
        .payload_at = payload_at,
        .recipient_size = message->recipient.size,
        .sender_size = message->sender.size,
        .manifest_size = message->manifest.size,
        .payload_size = message->payload.size,
        .serializer = message->serializer,
        .stream = message->stream,
        .selection = message->selection,
        .repeats = message->repeats,
    };
    buf_put_slice(&outbox->bytes, message->recipient);
    buf_put_slice(&outbox->bytes, message->sender);
    buf_put_slice(&outbox->bytes, message->manifest);
}

static struct slice take(const uint8_t **at, size_t size)
{
    struct slice slice = slice_of(*at, size);

    *at += size;
    return slice;
}

bool outbox_next(struct outbox *outbox, struct outbound *message)
{
    const struct outbox_item *item;
    const uint8_t *at;

    if (outbox->head == outbox->count) {
        outbox->head = outbox->count = 0;
        buf_clear(&outbox->bytes);
        return false;
    }
    item = &outbox->items[outbox->head++];
    if (!outbox->bytes.data) /* all texts of all items are empty */
        (void)buf_reserve(&outbox->bytes, 1);
    at = outbox->bytes.data + item->at;
    *message = (struct outbound){
        .to = item->to,
        .serializer = item->serializer,
        .stream = item->stream,
        .selection = item->selection,
        .repeats = item->repeats,
    };
    message->recipient = take(&at, item->recipient_size);
    message->sender = take(&at, item->sender_size);
    message->manifest = take(&at, item->manifest_size);
    message->payload = slice_of(outbox->bytes.data + item->payload_at,
                                item->payload_size);
    return true;
}

const struct node_id *outbox_to(const struct outbox *outbox, uint32_t behind)
{
    return behind < outbox->count - outbox->head
               ? &outbox->items[outbox->head + behind].to
               : NULL;
}

static size_t port_put(uint8_t *at, uint16_t port)
{
    uint8_t digits[5];
    size_t count = 0;

    do
        digits[count++] = (uint8_t)('0' + port % 10);
    while ((port /= 10) != 0);
    for (size_t i = 0; i < count; i++)
        at[i] = digits[count - 1 - i];
    return count;
}

static uint8_t *text_put(uint8_t *at, const char *text, size_t size)
{
    memcpy(at, text, size);
    return at + size;
}

void ref_put(struct buf *buf, const struct identity *self,
             const struct address *address, struct slice path)
{
    size_t protocol = strlen(self->protocol);
    size_t system = strlen(self->system);
    size_t host = strlen(address->host);
    uint8_t *start =
        buf_reserve(buf, protocol + system + host + path.size + 10);
    uint8_t *at = text_put(start, self->protocol, protocol);

    at = text_put(at, "://", 3);
    at = text_put(at, self->system, system);
    *at++ = '@';
    at = text_put(at, address->host, host);
    *at++ = ':';
    at += port_put(at, address->port);
    if (path.size)
        memcpy(at, path.data, path.size);
    buf->size += (size_t)(at - start) + path.size;
}

bool ref_parse(const struct identity *self, struct slice ref,
               struct address *address, struct slice *path)
{
    size_t protocol_size = strlen(self->protocol);
    size_t system_size = strlen(self->system);
    size_t start = protocol_size + 3 + system_size + 1;
    const uint8_t *slash;
    const uint8_t *colon = NULL;
    uint32_t port = 0;

    if (ref.size <= start || memcmp(ref.data, self->protocol, protocol_size) ||
        memcmp(ref.data + protocol_size, "://", 3) ||
        memcmp(ref.data + protocol_size + 3, self->system, system_size) ||
        ref.data[start - 1] != '@')
        return false;
    slash = memchr(ref.data + start, '/', ref.size - start);
    if (!slash)
        return false;
    for (const uint8_t *p = ref.data + start; p < slash; p++)
        if (*p == ':')
            colon = p;
    if (!colon || slash - colon < 2 || slash - colon > 6)
        return false;
    for (const uint8_t *p = colon + 1; p < slash; p++) {
        if (*p < '0' || *p > '9')
            return false;
        port = port * 10 + (uint32_t)(*p - '0');
    }
    *path = slice_of(slash, ref.size - (size_t)(slash - ref.data));
    return address_set(address, (const char *)ref.data + start,
                       (size_t)(colon - ref.data) - start, port);
}

static bool text_take(struct slice *rest, const char *text)
{
    size_t size = strlen(text);

    if (rest->size < size ||
        !bytes_same(rest->data, (const uint8_t *)text, size))
        return false;
    *rest = slice_of(rest->data + size, rest->size - size);
    return true;
}

bool ref_at(const struct identity *self, struct slice ref,
            const struct address *address, struct slice *path)
{
    struct slice rest = ref;
    uint8_t port[5];
    size_t digits = port_put(port, address->port);

    if (!text_take(&rest, self->protocol) || !text_take(&rest, "://") ||
        !text_take(&rest, self->system) || !text_take(&rest, "@") ||
        !text_take(&rest, address->host) || !text_take(&rest, ":") ||
        rest.size <= digits || !bytes_same(rest.data, port, digits) ||
        rest.data[digits] != '/' ||
        strchr(address->host, '/')) /* it would end the host when read */
        return false;
    *path = slice_of(rest.data + digits, rest.size - digits);
    return true;
}

struct slice path_plain(struct slice path)
{
    const uint8_t *hash =
        path.size ? memchr(path.data, '#', path.size) : NULL;

    return hash ? slice_of(path.data, (size_t)(hash - path.data)) : path;
}
