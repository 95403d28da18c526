/* How messages between replicators are written. Reading is in message_read.c. */
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

/* Akka's A to G: commands and answers of a client elsewhere. */
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
        return; /* and there may be no memory */
    (void)protobuf_c_message_pack(message, buf_reserve(buf, size));
    buf->size += size;
}

/* A node as a message, in place: the parts point into each other, so it must not be moved. */
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
    /* In what is packed already deflate finds nothing, and searches long for it. Every reader of gzip reads stored blocks. */
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
        return; /* nothing in them */
    }
}

/* One mark with all that it points to. */
struct mark_part {
    Replication__Envelope__Pruning mark;
    struct node_part removed;
    struct node_part owner;
    Replication__Address *seen;
    Replication__Address **seen_list;
};

static void init_mark(struct mark_part *part, const struct pruning_mark *mark)
{
    /* The reference writes this owner where none is needed; the field is required. */
    static const struct node_id akka = { { "c", PRUNING_PORT_AKKA }, 1 };
    static const struct node_id pekko = { { "c", PRUNING_PORT_PEKKO }, 1 };
    const struct node_id *nobody = mark->is_pekko ? &pekko : &akka;

    replication__envelope__pruning__init(&part->mark);
    init_node(&part->removed, &mark->removed);
    init_node(&part->owner, mark->is_performed ? nobody : &mark->owner);
    part->mark.removed = &part->removed.node;
    part->mark.owner = &part->owner.node;
    part->mark.performed = mark->is_performed;
    part->mark.has_obsolete_at = mark->is_performed;
    part->mark.obsolete_at = mark->obsolete_at;
    part->mark.n_seen = mark->seen.count;
    part->seen = mem_alloc(mark->seen.count * sizeof *part->seen);
    part->seen_list = mem_alloc(mark->seen.count * sizeof *part->seen_list);
    part->mark.seen = part->seen_list;
    for (uint32_t i = 0; i < mark->seen.count; i++) {
        init_address(&part->seen[i], &mark->seen.items[i]);
        part->seen_list[i] = &part->seen[i];
    }
}

/* The versions with all that they point to. */
struct versions_part {
    Replication__Versions versions;
    Replication__Versions__Entry *entries;
    struct node_part *nodes;
};

static void init_versions(struct versions_part *part,
                          const struct versions *versions)
{
    uint32_t count = versions->items.count;

    replication__versions__init(&part->versions);
    part->entries = mem_alloc(count * sizeof *part->entries);
    part->nodes = mem_alloc(count * sizeof *part->nodes);
    part->versions.n_entries = count;
    part->versions.entries = mem_alloc(count * sizeof *part->versions.entries);
    for (uint32_t i = 0; i < count; i++) {
        replication__versions__entry__init(&part->entries[i]);
        init_node(&part->nodes[i], &versions->items.items[i].node);
        part->entries[i].node = &part->nodes[i].node;
        part->entries[i].version = versions->items.items[i].version;
        part->versions.entries[i] = &part->entries[i];
    }
}

static void fini_versions(struct versions_part *part)
{
    mem_free(part->entries);
    mem_free(part->nodes);
    mem_free(part->versions.entries);
}

static uint32_t put_marks(const struct pruning *pruning,
                          enum envelope_form form, struct mark_part *parts,
                          Replication__Envelope__Pruning **list)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < pruning->marks.count; i++) {
        const struct pruning_mark *mark = &pruning->marks.items[i];

        if ((form == ENVELOPE_STORED && !mark->is_performed) ||
            (form == ENVELOPE_DELTA && !mark->is_own))
            continue;
        init_mark(&parts[count], mark);
        list[count] = &parts[count].mark;
        count++;
    }
    return count;
}

enum envelope_form envelope_form_of(const struct dd_value *delta)
{
    return dd_needs_causal_delivery(delta) ? ENVELOPE_STORED : ENVELOPE_DELTA;
}

void envelope_encode(struct buf *buf, const struct envelope *envelope,
                  const struct dd_value *value, enum envelope_form form)
{
    Replication__Envelope part = REPLICATION__ENVELOPE__INIT;
    Replication__Other other = REPLICATION__OTHER__INIT;
    uint32_t count = envelope->pruning.marks.count;
    struct mark_part *marks = mem_alloc(count * sizeof *marks);
    struct versions_part versions;
    struct buf bytes = { 0 };
    struct dd_other data = dd_encode(value ? value : envelope->value, &bytes);
    bool has_versions = form == ENVELOPE_WHOLE &&
                        envelope->versions.items.count;

    other.enclosed = data_of(data.bytes);
    other.serializer = data.serializer;
    other.has_manifest = data.manifest.size > 0;
    other.manifest = data_of(data.manifest);
    part.data = &other;
    part.pruning = mem_alloc(count * sizeof *part.pruning);
    part.n_pruning =
        put_marks(&envelope->pruning, form, marks, part.pruning);
    if (has_versions) {
        init_versions(&versions, &envelope->versions);
        part.versions = &versions.versions;
    }
    pack(buf, &part.base);
    if (has_versions)
        fini_versions(&versions);
    for (size_t i = 0; i < part.n_pruning; i++) {
        mem_free(marks[i].seen);
        mem_free(marks[i].seen_list);
    }
    mem_free(marks);
    mem_free(part.pruning);
    buf_fini(&bytes);
}
