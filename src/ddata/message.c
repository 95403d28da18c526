/* Encodes messages between replicators; message_read.c decodes. */
#include "ddata/message.h"

#include "base/check.h"
#include "base/gzip.h"
#include "ddata/replicator.pb-c.h"

static const char *const manifests[] = {
#define X(name, manifest, text) manifest,
    MESSAGES(X)
#undef X
};

const char *message_manifest(enum message_kind kind)
{
    check((size_t)kind < sizeof manifests / sizeof manifests[0]);
    return manifests[kind];
}

/* Akka's A to G: commands of remote clients and their answers. */
enum message_kind message_kind_of(struct slice manifest)
{
    for (size_t i = 0; i < sizeof manifests / sizeof manifests[0]; i++)
        if (slice_is(manifest, manifests[i]))
            return (enum message_kind)i;
    if (manifest.size == 1 && manifest.data[0] >= 'A' &&
        manifest.data[0] <= 'G')
        return MESSAGE_CLIENT;
    return MESSAGE_UNKNOWN;
}

static ProtobufCBinaryData data_of(struct slice slice)
{
    return (ProtobufCBinaryData){ slice.size,
                                  (uint8_t *)(uintptr_t)slice.data };
}

static void pack(struct buf *buf, const ProtobufCMessage *message)
{
    size_t size = protobuf_c_message_get_packed_size(message);

    if (!size)
        return; /* the buffer may have no memory */
    (void)protobuf_c_message_pack(message, buf_reserve(buf, size));
    buf->size += size;
}

/* A node as a message. Its parts point into each other: do not move it. */
struct node_part {
    Replication__Node node;
    Replication__Address address;
};

static void init_address(Replication__Address *part,
                         const struct address *address)
{
    replication__address__init(part);
    part->hostname = data_of(slice_text(address->host));
    part->port = address->port;
}

static void init_node(struct node_part *part, const struct node_id *node)
{
    replication__node__init(&part->node);
    init_address(&part->address, &node->address);
    part->node.address = &part->address;
    part->node.uid = (int32_t)(uint32_t)node->uid;
    part->node.has_uid2 = true;
    part->node.uid2 = (int32_t)(uint32_t)(node->uid >> 32);
}

static void put_write(struct buf *buf, const struct message *message)
{
    Replication__Write part = REPLICATION__WRITE__INIT;
    struct node_part from;

    init_node(&from, &message->from);
    part.key = data_of(message->entries[0].key);
    part.envelope = data_of(message->entries[0].bytes);
    part.from = &from.node;
    pack(buf, &part.base);
}

static void put_read(struct buf *buf, const struct message *message)
{
    Replication__Read part = REPLICATION__READ__INIT;
    struct node_part from;

    init_node(&from, &message->from);
    part.key = data_of(message->entries[0].key);
    part.from = &from.node;
    pack(buf, &part.base);
}

static void put_read_result(struct buf *buf, const struct message *message)
{
    Replication__ReadResult part = REPLICATION__READ_RESULT__INIT;

    if (message->count) {
        part.has_envelope = true;
        part.envelope = data_of(message->entries[0].bytes);
    }
    pack(buf, &part.base);
}

static void put_status(struct buf *buf, const struct message *message)
{
    Replication__Status part = REPLICATION__STATUS__INIT;
    Replication__Status__Entry *entries =
        mem_alloc(message->count * sizeof *entries);

    part.chunk = message->chunk;
    part.chunks = message->chunks;
    part.has_to_uid = message->has_to_uid;
    part.to_uid = (int64_t)message->to_uid;
    part.has_from_uid = message->has_from_uid;
    part.from_uid = (int64_t)message->from_uid;
    part.n_entries = message->count;
    part.entries = mem_alloc(message->count * sizeof *part.entries);
    for (uint32_t i = 0; i < message->count; i++) {
        replication__status__entry__init(&entries[i]);
        entries[i].key = data_of(message->entries[i].key);
        entries[i].digest = data_of(message->entries[i].bytes);
        entries[i].has_used = message->entries[i].used_ms != 0;
        entries[i].used = message->entries[i].used_ms;
        part.entries[i] = &entries[i];
    }
    pack(buf, &part.base);
    mem_free(part.entries);
    mem_free(entries);
}

static void put_gossip(struct buf *buf, const struct message *message)
{
    Replication__Gossip part = REPLICATION__GOSSIP__INIT;
    Replication__Gossip__Entry *entries =
        mem_alloc(message->count * sizeof *entries);
    struct buf plain = { 0 };

    part.send_back = message->send_back;
    part.has_to_uid = message->has_to_uid;
    part.to_uid = (int64_t)message->to_uid;
    part.has_from_uid = message->has_from_uid;
    part.from_uid = (int64_t)message->from_uid;
    part.n_entries = message->count;
    part.entries = mem_alloc(message->count * sizeof *part.entries);
    for (uint32_t i = 0; i < message->count; i++) {
        replication__gossip__entry__init(&entries[i]);
        entries[i].key = data_of(message->entries[i].key);
        entries[i].envelope = data_of(message->entries[i].bytes);
        entries[i].has_used = message->entries[i].used_ms != 0;
        entries[i].used = message->entries[i].used_ms;
        part.entries[i] = &entries[i];
    }
    pack(&plain, &part.base);
    /* Deflate is slow on compressed bytes. Every gzip reader accepts stored blocks. */
    if (message->is_packed)
        gzip_store(buf, buf_slice(&plain));
    else
        gzip_deflate(buf, buf_slice(&plain));
    buf_fini(&plain);
    mem_free(part.entries);
    mem_free(entries);
}

static void put_deltas(struct buf *buf, const struct message *message)
{
    Replication__Deltas part = REPLICATION__DELTAS__INIT;
    Replication__Deltas__Entry *entries =
        mem_alloc(message->count * sizeof *entries);
    struct node_part from;

    init_node(&from, &message->from);
    part.from = &from.node;
    part.has_reply = part.reply = message->reply;
    part.n_entries = message->count;
    part.entries = mem_alloc(message->count * sizeof *part.entries);
    for (uint32_t i = 0; i < message->count; i++) {
        const struct message_entry *entry = &message->entries[i];

        replication__deltas__entry__init(&entries[i]);
        entries[i].key = data_of(entry->key);
        entries[i].envelope = data_of(entry->bytes);
        entries[i].from_sequence = entry->from;
        entries[i].has_to_sequence = entry->to != entry->from;
        entries[i].to_sequence = entry->to;
        part.entries[i] = &entries[i];
    }
    pack(buf, &part.base);
    mem_free(part.entries);
    mem_free(entries);
}

void message_put(struct buf *buf, const struct message *message)
{
    switch (message->kind) {
    case MESSAGE_WRITE:
        put_write(buf, message);
        return;
    case MESSAGE_READ:
        put_read(buf, message);
        return;
    case MESSAGE_READ_RESULT:
        put_read_result(buf, message);
        return;
    case MESSAGE_STATUS:
        put_status(buf, message);
        return;
    case MESSAGE_GOSSIP:
        put_gossip(buf, message);
        return;
    case MESSAGE_DELTAS:
        put_deltas(buf, message);
        return;
    case MESSAGE_WRITE_ACK:
    case MESSAGE_WRITE_NACK:
    case MESSAGE_DELTA_NACK:
    case MESSAGE_CLIENT:
    case MESSAGE_UNKNOWN:
        return; /* no content */
    }
}
