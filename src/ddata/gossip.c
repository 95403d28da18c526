/* Gossip of everything: digests of what is here, and what the other lacks of it (behaviour 13.6). */
#include "base/check.h"
#include "base/limits.h"
#include "base/mark.h"
#include "base/zoo.h"
#include "ddata/replicator_inside.h"

#define ENTRY_OVERHEAD 104 /* bytes of an entry beside key and value, as the reference reckons */
#define DIGEST_OVERHEAD (DIGEST_SIZE + 12) /* bytes of a digest in a status, beside its key */

static const uint8_t not_found[1] = { 0xff };

/* The reference divides signed numbers, and takes what is left without its sign. */
static uint32_t chunk_of(const struct entry *entry, uint32_t chunks)
{
    int32_t rest = entry->hash % (int32_t)chunks;

    return (uint32_t)(rest < 0 ? -rest : rest);
}

/* The bug that the zoo keeps: what is left keeps its sign, and is no part. */
static bool is_lost(const struct entry *entry, uint32_t chunks)
{
    return ZOO(F4) && entry->hash % (int32_t)chunks < 0;
}

/* The place of an entry's chunk among those from first on. */
static uint32_t place_of(const struct entry *entry, uint32_t first,
                         uint32_t chunks)
{
    return (chunk_of(entry, chunks) + chunks - first % chunks) % chunks;
}

bool chunk_is_among(const struct entry *entry, uint32_t first, uint32_t count,
                    uint32_t chunks)
{
    return place_of(entry, first, chunks) < count;
}

/* Fields that all messages of gossip have. */
static struct message addressed(const struct replicator *replicator,
                                enum message_kind kind, uint64_t to_uid)
{
    return (struct message){ .kind = kind,
                             .has_to_uid = true,
                             .to_uid = to_uid,
                             .has_from_uid = true,
                             .from_uid = replicator->replicas.self.uid };
}

static void send_status(struct replicator *replicator,
                        const struct node_id *to, uint32_t chunk,
                        uint32_t chunks, struct message_entry *entries,
                        uint32_t count, struct outbox *outbox)
{
    struct message status = addressed(replicator, MESSAGE_STATUS, to->uid);
    struct buf payload = { 0 };

    status.chunk = chunk;
    status.chunks = chunks;
    status.entries = entries;
    status.count = count;
    message_put(&payload, &status);
    if (is_sendable(replicator, payload.size))
        send_peer(replicator, to, buf_slice(&replicator->path), MESSAGE_STATUS,
                  buf_slice(&payload), outbox);
    buf_fini(&payload);
}

/* In as many parts as the reference would make, and as many as fit into frames: keys may be long. */
static uint32_t chunks_needed(const struct replicator *replicator)
{
    uint32_t count = replicator->entries.count;
    uint64_t bytes = replicator->key_bytes + (uint64_t)count * DIGEST_OVERHEAD;
    uint64_t by_bytes = bytes / (replicator->settings.frame_size / 2) + 1;
    uint64_t by_count = count <= replicator->settings.max_delta_elements
                            ? 1
                            : count / replicator->settings.max_delta_elements;

    return (uint32_t)(by_bytes > by_count ? by_bytes : by_count);
}

/* So many chunks from one on, in one pass over the table. */
static void send_chunks(struct replicator *replicator, struct outbox *outbox)
{
    const struct node_id to = replicator->round.to;
    uint32_t first = replicator->round.first;
    uint32_t count = replicator->round.count;
    uint32_t chunks = replicator->round.chunks;
    struct {
        VEC(struct message_entry) entries;
    } parts[REPLICATOR_STATUSES_MAX];
    struct map_entry item;
    uint32_t at = 0;

    memset(parts, 0, sizeof parts);
    while (map_next(&replicator->entries, &at, &item)) {
        struct entry *entry = item.value;
        uint32_t part = place_of(entry, first, chunks);
        struct message_entry digest = { .key = entry->key,
                                        .used_ms = entry->used_ms };

        if (part >= count || is_lost(entry, chunks))
            continue;
        digest.bytes = entry_digest(replicator, entry);
        vec_push(&parts[part].entries, digest);
    }
    for (uint32_t i = 0; i < count; i++) {
        send_status(replicator, &to, (first + i) % chunks, chunks,
                    parts[i].entries.items, parts[i].entries.count, outbox);
        vec_fini(&parts[i].entries);
    }
}

void gossip_go_on(struct replicator *replicator, bool is_last,
                  struct outbox *outbox)
{
    struct gossip_round *round = &replicator->round;

    round->is_waiting =
        !is_last && !digests_are_there(replicator, round->first, round->count,
                                       round->chunks);
    if (!round->is_waiting)
        send_chunks(replicator, outbox);
}

void gossip_tick(struct replicator *replicator, struct outbox *outbox)
{
    const struct replicas *replicas = &replicator->replicas;
    uint32_t chosen = replicas_gossiped_count(replicas);
    uint32_t chunks = chunks_needed(replicator);
    uint32_t count = chunks < REPLICATOR_STATUSES_MAX ? chunks
                                                      : REPLICATOR_STATUSES_MAX;
    uint32_t i = 0;

    if (!chosen || replicator->settings.gossip_off)
        return;
    chosen = (uint32_t)rng_below(&replicator->rng, chosen);
    while (!replica_is_gossiped(&replicas->items.items[i]) || chosen--)
        i++;
    SOMETIMES("digests go in parts", chunks > 1);
    SOMETIMES("digests go in more parts than fit into a round",
              chunks > REPLICATOR_STATUSES_MAX);
    if (chunks != replicator->chunks) {
        replicator->chunks = chunks;
        replicator->chunk = (uint32_t)rng_below(&replicator->rng, chunks);
    }
    replicator->round = (struct gossip_round){
        .to = peer_node(&replicas->items.items[i].peer),
        .first = replicator->chunk,
        .count = count,
        .chunks = chunks,
    };
    replicator->chunk = (replicator->chunk + count) % chunks;
    gossip_go_on(replicator, false, outbox);
}

/* A gossip that is being filled. */
struct filling {
    const struct inbound *inbound; /* who gets it */
    bool send_back;
    VEC(struct message_entry) entries; /* with offsets in bytes for data */
    struct buf bytes;
    size_t size;   /* estimated */
    size_t packed; /* bytes of entries that are packed already */
};

static void flush(struct replicator *replicator, struct filling *filling,
                  struct outbox *outbox)
{
    struct message gossip = addressed(replicator, MESSAGE_GOSSIP,
                                      filling->inbound->from.uid);
    const uint8_t *at = filling->bytes.data;
    struct buf payload = { 0 };

    if (!filling->entries.count)
        return;
    for (uint32_t i = 0; i < filling->entries.count; i++) {
        filling->entries.items[i].bytes.data = at;
        at += filling->entries.items[i].bytes.size;
    }
    gossip.send_back = filling->send_back;
    gossip.is_packed = filling->packed > filling->size / 2;
    gossip.entries = filling->entries.items;
    gossip.count = filling->entries.count;
    message_put(&payload, &gossip);
    if (is_sendable(replicator, payload.size))
        send_answer(replicator, &filling->inbound->from,
                    filling->inbound->sender, MESSAGE_GOSSIP,
                    buf_slice(&payload), outbox);
    buf_fini(&payload);
    buf_clear(&filling->bytes);
    filling->entries.count = 0;
    filling->size = filling->packed = 0;
}

static void fill(struct replicator *replicator, struct filling *filling,
                 const struct entry *entry, struct outbox *outbox)
{
    size_t size_max = replicator->settings.frame_size - MESSAGE_OVERHEAD;
    size_t before = filling->bytes.size;
    struct message_entry part = { .key = entry->key,
                                  .used_ms = entry->used_ms };
    size_t size;

    envelope_encode(&filling->bytes, &entry->envelope, NULL, ENVELOPE_WHOLE);
    part.bytes.size = filling->bytes.size - before;
    size = part.bytes.size + entry->key.size + ENTRY_OVERHEAD;
    if (filling->entries.count && filling->size + size > size_max) {
        struct buf last = { 0 };

        buf_put(&last, filling->bytes.data + before, part.bytes.size);
        filling->bytes.size = before;
        flush(replicator, filling, outbox);
        buf_put_slice(&filling->bytes, buf_slice(&last));
        buf_fini(&last);
    }
    vec_push(&filling->entries, part);
    filling->size += size;
    if (dd_is_packed(entry->envelope.value))
        filling->packed += part.bytes.size;
}

static void filling_fini(struct filling *filling)
{
    vec_fini(&filling->entries);
    buf_fini(&filling->bytes);
}

static bool is_not_found(struct slice digest)
{
    return slice_equal(digest, slice_of(not_found, sizeof not_found));
}

/* Marks what the status names, lists what differs and what is missing here. */
typedef VEC(struct entry *) entry_list;
typedef VEC(struct message_entry) digest_list;

static void compare(struct replicator *replicator,
                    const struct message *message, entry_list *different,
                    digest_list *missing)
{
    replicator->stamp++;
    for (uint32_t i = 0; i < message->count; i++) {
        const struct message_entry *theirs = &message->entries[i];
        struct entry *entry = entry_find(replicator, theirs->key);

        if (entry) {
            if (entry->stamp == replicator->stamp)
                continue; /* named twice */
            entry->stamp = replicator->stamp;
            entry_use(replicator, entry, theirs->used_ms);
            if (!slice_equal(entry_digest(replicator, entry), theirs->bytes))
                vec_push(different, entry);
        } else if (is_not_found(theirs->bytes)) {
            continue; /* two that lack it would ask each other for ever */
        } else if (theirs->key.size > REPLICATOR_KEY_SIZE_MAX) {
            replicator->counters.too_large++;
        } else if (expire_is_over(replicator, theirs->key, theirs->used_ms)) {
            replicator->counters.stale++;
        } else {
            struct message_entry wanted = {
                .key = theirs->key,
                .bytes = slice_of(not_found, sizeof not_found)
            };

            vec_push(missing, wanted);
        }
    }
}

/* What is here of that chunk and was not named. */
static void add_unnamed(struct replicator *replicator,
                        const struct message *message, uint32_t count_max,
                        entry_list *list)
{
    struct map_entry item;
    uint32_t at = 0;

    while (list->count < count_max &&
           map_next(&replicator->entries, &at, &item)) {
        struct entry *entry = item.value;

        if (entry->stamp != replicator->stamp &&
            !expire_is_over(replicator, entry->key, entry->used_ms) &&
            (message->chunks == 1 ||
             (chunk_of(entry, message->chunks) == message->chunk &&
              !is_lost(entry, message->chunks))))
            vec_push(list, entry);
    }
}

void gossip_status(struct replicator *replicator,
                   const struct inbound *inbound,
                   const struct message *message, struct outbox *outbox)
{
    uint32_t count_max = replicator->settings.max_delta_elements;
    struct filling filling = { .inbound = inbound };
    entry_list list = { 0 };
    digest_list missing = { 0 };

    replicator->counters.statuses++;
    compare(replicator, message, &list, &missing);
    filling.send_back = list.count > 0;
    add_unnamed(replicator, message, count_max, &list);
    for (uint32_t i = 0; i < list.count && i < count_max; i++)
        fill(replicator, &filling, list.items[i], outbox);
    flush(replicator, &filling, outbox);
    filling_fini(&filling);
    if (missing.count) {
        struct message status =
            addressed(replicator, MESSAGE_STATUS, inbound->from.uid);
        struct buf payload = { 0 };

        status.chunk = message->chunk;
        status.chunks = message->chunks;
        status.entries = missing.items;
        status.count = missing.count;
        message_put(&payload, &status);
        if (is_sendable(replicator, payload.size))
            send_answer(replicator, &inbound->from, inbound->sender,
                        MESSAGE_STATUS, buf_slice(&payload), outbox);
        buf_fini(&payload);
    }
    vec_fini(&list);
    vec_fini(&missing);
}

void gossip_receive(struct replicator *replicator,
                    const struct inbound *inbound,
                    const struct message *message, struct outbox *outbox)
{
    struct filling filling = { .inbound = inbound };

    replicator->counters.gossips++;
    SOMETIMES("gossip asks for an answer", message->send_back);
    for (uint32_t i = 0; i < message->count; i++) {
        const struct message_entry *theirs = &message->entries[i];
        struct envelope envelope = { 0 };
        bool is_known = entry_find(replicator, theirs->key) != NULL;
        struct entry *entry;

        if (expire_is_over(replicator, theirs->key, theirs->used_ms)) {
            replicator->counters.stale++;
            continue;
        }
        if (!envelope_decode(theirs->bytes, &envelope)) {
            replicator->counters.malformed++;
            continue;
        }
        (void)take_entry(replicator, theirs->key, &envelope,
                         theirs->bytes.size, NULL, outbox); /* counts what it refuses */
        envelope_fini(&envelope);
        entry = entry_find(replicator, theirs->key);
        entry_use(replicator, entry, theirs->used_ms);
        if (message->send_back && entry &&
            (is_known || entry->envelope.pruning.marks.count))
            fill(replicator, &filling, entry, outbox);
    }
    flush(replicator, &filling, outbox);
    filling_fini(&filling);
}
