/* Decodes messages between replicators. Every allocation is bounded, whatever the payload says. */
#include "ddata/message.h"

#include "base/budget.h"
#include "base/check.h"
#include "base/gzip.h"
#include "base/limits.h"
#include "ddata/element.h"
#include "ddata/replicator.pb-c.h"

/* The memory of a decoded message. */
struct memory {
    ProtobufCMessage *unpacked;
    struct buf inflated;
};

static void *unpack(const ProtobufCMessageDescriptor *descriptor,
                    struct slice payload)
{
    static const uint8_t nothing[1] = { 0 };
    struct budget budget = { REPLICATOR_MESSAGE_MEMORY_MAX };
    ProtobufCAllocator allocator = { budget_alloc, budget_free, &budget };

    return protobuf_c_message_unpack(descriptor, &allocator, payload.size,
                                     payload.data ? payload.data : nothing);
}

static void free_unpacked(ProtobufCMessage *message)
{
    ProtobufCAllocator allocator = { budget_alloc, budget_free, NULL };

    if (message)
        protobuf_c_message_free_unpacked(message, &allocator);
}

static struct slice slice_from(ProtobufCBinaryData data)
{
    return slice_of(data.data, data.len);
}

static bool get_address(const Replication__Address *part,
                        struct address *address)
{
    const char *host = (const char *)part->hostname.data;

    return part->hostname.len && !memchr(host, 0, part->hostname.len) &&
           address_set(address, host, part->hostname.len, part->port);
}

/* Uid 0 means any incarnation, so no node has it. */
static bool get_node(const Replication__Node *part, struct node_id *node)
{
    memset(node, 0, sizeof *node);
    node->uid = (uint32_t)part->uid | (uint64_t)(uint32_t)part->uid2 << 32;
    return node->uid && get_address(part->address, &node->address);
}

static bool get_from(const Replication__Node *part, struct message *message)
{
    return !part || get_node(part, &message->from);
}

/* Must be UTF-8: other keys belong to the durable file. */
static bool get_key(ProtobufCBinaryData data, struct message_entry *entry)
{
    entry->key = slice_from(data);
    return text_is_valid(entry->key);
}

static bool get_write(const Replication__Write *part, struct message *message)
{
    message->entries = mem_alloc(sizeof *message->entries);
    message->count = 1;
    message->entries[0].bytes = slice_from(part->envelope);
    return get_key(part->key, &message->entries[0]) &&
           get_from(part->from, message);
}

static bool get_read(const Replication__Read *part, struct message *message)
{
    message->entries = mem_alloc(sizeof *message->entries);
    message->count = 1;
    return get_key(part->key, &message->entries[0]) &&
           get_from(part->from, message);
}

static bool get_read_result(const Replication__ReadResult *part,
                            struct message *message)
{
    if (!part->has_envelope)
        return true;
    message->entries = mem_alloc(sizeof *message->entries);
    message->count = 1;
    message->entries[0].bytes = slice_from(part->envelope);
    return true;
}

/* Akka divides by a signed number of chunks. */
static bool get_status(const Replication__Status *part,
                       struct message *message)
{
    if (!part->chunks || part->chunks > INT32_MAX || part->chunk > INT32_MAX)
        return false;
    message->chunk = part->chunk;
    message->chunks = part->chunks;
    message->has_to_uid = part->has_to_uid;
    message->to_uid = (uint64_t)part->to_uid;
    message->has_from_uid = part->has_from_uid;
    message->from_uid = (uint64_t)part->from_uid;
    message->count = (uint32_t)part->n_entries;
    message->entries = mem_alloc(part->n_entries * sizeof *message->entries);
    for (size_t i = 0; i < part->n_entries; i++) {
        if (!get_key(part->entries[i]->key, &message->entries[i]))
            return false;
        message->entries[i].bytes = slice_from(part->entries[i]->digest);
        message->entries[i].used_ms = part->entries[i]->used;
    }
    return true;
}

static bool get_gossip(const Replication__Gossip *part,
                       struct message *message)
{
    message->send_back = part->send_back;
    message->has_to_uid = part->has_to_uid;
    message->to_uid = (uint64_t)part->to_uid;
    message->has_from_uid = part->has_from_uid;
    message->from_uid = (uint64_t)part->from_uid;
    message->count = (uint32_t)part->n_entries;
    message->entries = mem_alloc(part->n_entries * sizeof *message->entries);
    for (size_t i = 0; i < part->n_entries; i++) {
        if (!get_key(part->entries[i]->key, &message->entries[i]))
            return false;
        message->entries[i].bytes = slice_from(part->entries[i]->envelope);
        message->entries[i].used_ms = part->entries[i]->used;
    }
    return true;
}

static bool get_deltas(const Replication__Deltas *part,
                       struct message *message)
{
    message->reply = part->has_reply && part->reply;
    message->count = (uint32_t)part->n_entries;
    message->entries = mem_alloc(part->n_entries * sizeof *message->entries);
    for (size_t i = 0; i < part->n_entries; i++) {
        const Replication__Deltas__Entry *from = part->entries[i];
        struct message_entry *entry = &message->entries[i];

        entry->bytes = slice_from(from->envelope);
        entry->from = from->from_sequence;
        entry->to = from->has_to_sequence ? from->to_sequence : entry->from;
        if (!get_key(from->key, entry) || entry->from < 1 ||
            entry->to < entry->from || entry->to == INT64_MAX)
            return false;
    }
    return get_node(part->from, &message->from);
}

static const ProtobufCMessageDescriptor *descriptor_of(enum message_kind kind)
{
    switch (kind) {
    case MESSAGE_WRITE:
        return &replication__write__descriptor;
    case MESSAGE_READ:
        return &replication__read__descriptor;
    case MESSAGE_READ_RESULT:
        return &replication__read_result__descriptor;
    case MESSAGE_STATUS:
        return &replication__status__descriptor;
    case MESSAGE_GOSSIP:
        return &replication__gossip__descriptor;
    case MESSAGE_DELTAS:
        return &replication__deltas__descriptor;
    case MESSAGE_WRITE_ACK:
    case MESSAGE_WRITE_NACK:
    case MESSAGE_DELTA_NACK:
    case MESSAGE_CLIENT:
    case MESSAGE_UNKNOWN:
        break;
    }
    return NULL;
}

static bool get_parts(const void *part, struct message *message)
{
    switch (message->kind) {
    case MESSAGE_WRITE:
        return get_write(part, message);
    case MESSAGE_READ:
        return get_read(part, message);
    case MESSAGE_READ_RESULT:
        return get_read_result(part, message);
    case MESSAGE_STATUS:
        return get_status(part, message);
    case MESSAGE_GOSSIP:
        return get_gossip(part, message);
    case MESSAGE_DELTAS:
        return get_deltas(part, message);
    case MESSAGE_WRITE_ACK:
    case MESSAGE_WRITE_NACK:
    case MESSAGE_DELTA_NACK:
    case MESSAGE_CLIENT:
    case MESSAGE_UNKNOWN:
        break;
    }
    return false;
}

bool message_get(enum message_kind kind, struct slice payload,
                 struct message *message)
{
    const ProtobufCMessageDescriptor *descriptor = descriptor_of(kind);
    struct memory *memory;

    *message = (struct message){ .kind = kind };
    if (!descriptor)
        return true; /* an answer without content */
    memory = mem_alloc(sizeof *memory);
    message->memory = memory;
    if (kind == MESSAGE_GOSSIP) {
        if (!gzip_inflate(&memory->inflated, payload,
                          REPLICATOR_INFLATE_SIZE_MAX, NULL))
            return false;
        payload = buf_slice(&memory->inflated);
    }
    memory->unpacked = unpack(descriptor, payload);
    return memory->unpacked && get_parts(memory->unpacked, message);
}

void message_fini(struct message *message)
{
    struct memory *memory = message->memory;

    if (memory) {
        free_unpacked(memory->unpacked);
        buf_fini(&memory->inflated);
        mem_free(memory);
        mem_free(message->entries);
    }
    *message = (struct message){ .kind = MESSAGE_UNKNOWN };
}
