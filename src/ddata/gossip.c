/* Sends statuses (digests of all keys) and gossip (values), and receives gossip. */
#include "base/check.h"
#include "base/limits.h"
#include "base/mark.h"
#include "ddata/replicator_inside.h"

#define ENTRY_OVERHEAD 104 /* bytes of an entry beside key and value, as Akka counts */
#define DIGEST_OVERHEAD (DIGEST_SIZE + 12) /* bytes of a digest beside its key */

/* As in Akka: the remainder of a signed division without its sign. */
static uint32_t chunk_of(const struct entry *entry, uint32_t chunks)
{
    int32_t rest = entry->hash % (int32_t)chunks;

    return (uint32_t)(rest < 0 ? -rest : rest);
}

/* Counted from chunk first. */
static uint32_t place_of(const struct entry *entry, uint32_t first,
                         uint32_t chunks)
{
    return (chunk_of(entry, chunks) + chunks - first % chunks) % chunks;
}

bool chunk_has(const struct entry *entry, uint32_t chunk, uint32_t chunks)
{
    return chunks == 1 || chunk_of(entry, chunks) == chunk;
}

struct message gossip_to(const struct replicator *replicator,
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
    struct message status = gossip_to(replicator, MESSAGE_STATUS, to->uid);
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

/* As many as Akka makes, or more if long keys would not fit into frames. */
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

static bool round_has(const struct gossip_round *round,
                      const struct entry *entry)
{
    return entry->order < round->end &&
           place_of(entry, round->first, round->chunks) < round->count;
}

/* Makes digests from the last place on, while there is room. False: some are missing. An entry that
 * changes later stays in the round, and the receiver sees the difference. */
static bool make_digests(struct replicator *replicator)
{
    struct gossip_round *round = &replicator->round;
    struct map_entry item;
    uint32_t at = round->at;

    for (; map_next(&replicator->entries, &at, &item); round->at = at) {
        struct entry *entry = item.value;

        if (entry->round == round->number || !round_has(round, entry))
            continue;
        if (entry_is_there(entry) && !entry->has_digest) {
            if (!room_is_taken(replicator, entry))
                return false;
            (void)entry_digest(replicator, entry);
        }
        entry->round = round->number;
    }
    return true;
}

/* Removed keys may have moved others to checked places, so a second pass follows. */
static bool digests_are_there(struct replicator *replicator)
{
    struct gossip_round *round = &replicator->round;
    bool is_whole = !round->at;

    if (!make_digests(replicator))
        return false;
    if (is_whole)
        return true;
    round->at = 0;
    return make_digests(replicator);
}

static void send_chunks(struct replicator *replicator, struct outbox *outbox)
{
    const struct gossip_round *round = &replicator->round;
    const struct node_id to = round->to;
    uint32_t first = round->first;
    uint32_t count = round->count;
    uint32_t chunks = round->chunks;
    struct {
        VEC(struct message_entry) entries;
    } parts[REPLICATOR_STATUSES_MAX];
    struct map_entry item;
    uint32_t at = 0;

    memset(parts, 0, sizeof parts);
    while (map_next(&replicator->entries, &at, &item)) {
        const struct entry *entry = item.value;
        struct message_entry digest = { .key = entry->key,
                                        .used_ms = entry->used_ms };

        if (!round_has(round, entry))
            continue;
        check(entry->round == round->number);
        digest.bytes = slice_of(entry->digest,
                                entry_is_there(entry) ? DIGEST_SIZE : 0);
        vec_push(&parts[place_of(entry, first, chunks)].entries, digest);
    }
    for (uint32_t i = 0; i < count; i++) {
        send_status(replicator, &to, (first + i) % chunks, chunks,
                    parts[i].entries.items, parts[i].entries.count, outbox);
        vec_fini(&parts[i].entries);
    }
}

void gossip_go_on(struct replicator *replicator, struct outbox *outbox)
{
    replicator->round.is_waiting = !digests_are_there(replicator);
    if (!replicator->round.is_waiting)
        send_chunks(replicator, outbox);
}

/* A waiting round is not replaced: it ends within as many steps as it has keys. */
void gossip_tick(struct replicator *replicator, struct outbox *outbox)
{
    const struct replicas *replicas = &replicator->replicas;
    uint32_t chosen = replicas_gossiped_count(replicas);
    uint32_t chunks = chunks_needed(replicator);
    uint32_t count = chunks < REPLICATOR_STATUSES_MAX ? chunks
                                                      : REPLICATOR_STATUSES_MAX;
    uint32_t i = 0;

    replicator->gossip_ticks++;
    pulls_tick(replicator, outbox);
    if (!chosen || replicator->settings.gossip_off ||
        replicator->round.is_waiting)
        return;
    chosen = (uint32_t)rng_below(&replicator->rng, chosen);
    while (!replica_is_gossiped(&replicas->items.items[i]) || chosen--)
        i++;
    SOMETIMES("digests are sent in parts", chunks > 1);
    SOMETIMES("digests need more parts than a gossip round sends",
              chunks > REPLICATOR_STATUSES_MAX);
    if (chunks != replicator->chunks) {
        replicator->chunks = chunks;
        replicator->chunk = (uint32_t)rng_below(&replicator->rng, chunks);
    }
    replicator->round = (struct gossip_round){
        .to = kept_member_node(&replicas->items.items[i].peer),
        .number = replicator->round.number + 1,
        .first = replicator->chunk,
        .count = count,
        .chunks = chunks,
        .end = replicator->order,
    };
    replicator->chunk = (replicator->chunk + count) % chunks;
    gossip_go_on(replicator, outbox);
}

void filling_flush(struct replicator *replicator,
                   struct gossip_filling *filling,
                   struct outbox *outbox)
{
    struct message gossip =
        gossip_to(replicator, MESSAGE_GOSSIP, filling->to.uid);
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
        send_answer(replicator, &filling->to, filling->recipient,
                    MESSAGE_GOSSIP, buf_slice(&payload), outbox);
    buf_fini(&payload);
    buf_clear(&filling->bytes);
    filling->entries.count = 0;
    filling->size = filling->packed = 0;
}

static void put_value(struct replicator *replicator,
                      struct gossip_filling *filling, struct slice key,
                      int64_t used_ms, const struct envelope *envelope,
                      struct outbox *outbox)
{
    size_t size_max = replicator->settings.frame_size - MESSAGE_OVERHEAD;
    size_t before = filling->bytes.size;
    struct message_entry part = { .key = key, .used_ms = used_ms };
    size_t size;

    envelope_encode(&filling->bytes, envelope, NULL, ENVELOPE_WHOLE);
    part.bytes.size = filling->bytes.size - before;
    size = part.bytes.size + key.size + ENTRY_OVERHEAD;
    if (filling->entries.count && filling->size + size > size_max) {
        struct buf last = { 0 };

        buf_put(&last, filling->bytes.data + before, part.bytes.size);
        filling->bytes.size = before;
        filling_flush(replicator, filling, outbox);
        buf_put_slice(&filling->bytes, buf_slice(&last));
        buf_fini(&last);
    }
    vec_push(&filling->entries, part);
    filling->size += size;
    if (dd_is_packed(envelope->value))
        filling->packed += part.bytes.size;
}

void filling_put(struct replicator *replicator,
                 struct gossip_filling *filling, struct slice key,
                 const struct entry *entry, struct outbox *outbox)
{
    put_value(replicator, filling, key, entry->used_ms, &entry->envelope,
              outbox);
}

/* With a version that shows later that the peer has merged the value. */
static void put_shown(struct replicator *replicator,
                      struct gossip_filling *filling, struct entry *entry,
                      struct slice key, const struct envelope *value,
                      struct outbox *outbox)
{
    struct envelope shown = *value;
    int64_t version = entry_draw_version(replicator, entry);

    memset(&shown.versions, 0, sizeof shown.versions);
    versions_copy(&shown.versions, &value->versions);
    versions_set(&shown.versions, &replicator->replicas.self, version);
    origin_show(value->origin, filling->to.uid, version);
    put_value(replicator, filling, key, entry->used_ms, &shown, outbox);
    versions_fini(&shown.versions);
}

/* The place of the last value that the node itself has sent; their number if there is none. */
static uint32_t last_from(const struct envelope *envelope,
                          const struct node_id *node)
{
    uint32_t at = 0;

    while (at < opaque_count(envelope)) {
        const struct origin *origin = opaque_look(envelope, at)->origin;

        if (origin->way != ORIGIN_RELAYED && node_equal(&origin->node, node))
            break;
        at++;
    }
    return at;
}

void filling_put_siblings(struct replicator *replicator,
                          struct gossip_filling *filling, struct slice key,
                          struct entry *entry, bool sends_back,
                          struct outbox *outbox)
{
    uint32_t last = last_from(&entry->envelope, &filling->to);
    bool before = filling->send_back;

    for (uint32_t i = opaque_count(&entry->envelope); i-- > 0;) {
        const struct envelope *value = opaque_look(&entry->envelope, i);

        if (i == last)
            continue;
        /* A message has a key once. */
        filling_flush(replicator, filling, outbox);
        filling->send_back = sends_back;
        put_shown(replicator, filling, entry, key, value, outbox);
        filling_flush(replicator, filling, outbox);
        filling->send_back = before;
    }
}

void filling_fini(struct gossip_filling *filling)
{
    vec_fini(&filling->entries);
    buf_fini(&filling->bytes);
}

/* ---- received values ---- */

void gossip_begin(struct replicator *replicator, const struct node_id *from,
                  struct slice sender, struct message *gossip)
{
    struct gossip_taking *taking = &replicator->taking;

    SOMETIMES("a gossip requests an answer", gossip->send_back);
    taking->is_on = true;
    taking->gossip = *gossip;
    *gossip = (struct message){ .kind = MESSAGE_UNKNOWN };
    buf_put_slice(&taking->sender, sender);
    taking->answer.to = *from;
    taking->answer.recipient = buf_slice(&taking->sender);
}

void gossip_end(struct replicator *replicator)
{
    struct gossip_taking *taking = &replicator->taking;

    filling_fini(&taking->answer); /* the message lends its keys */
    message_fini(&taking->gossip);
    buf_fini(&taking->sender);
    *taking = (struct gossip_taking){ .is_on = false };
}

/* Once in a round: two members that cannot merge the values would answer each other for ever. */
static void answer_siblings(struct replicator *replicator, struct entry *entry,
                            struct slice key, struct outbox *outbox)
{
    if (entry->answered == replicator->gossip_ticks)
        return;
    entry->answered = replicator->gossip_ticks;
    filling_put_siblings(replicator, &replicator->taking.answer, key, entry,
                         true, outbox);
}

static void take(struct replicator *replicator,
                 const struct message_entry *theirs, struct outbox *outbox)
{
    struct gossip_taking *taking = &replicator->taking;
    struct envelope envelope = { 0 };
    const struct node_id *from = &taking->answer.to;
    bool is_known = entry_find(replicator, theirs->key) != NULL;
    size_t size = theirs->bytes.size;
    struct entry *entry;
    int64_t version;
    bool is_own;

    if (expire_refuses(replicator, theirs->key, theirs->used_ms))
        return;
    if (!envelope_decode(theirs->bytes, &envelope)) {
        replicator->counters.malformed++;
        return;
    }
    is_own = !envelope.origin;
    version = versions_get(&envelope.versions, from);
    origin_label(replicator, theirs->key, &envelope,
                 &(struct arrived){ .from = from,
                                    .way = ORIGIN_STATE,
                                    .size = size });
    if (hold_take(replicator, theirs->key, from, &envelope, &size) &&
        take_entry(replicator, theirs->key, &envelope, size, NULL,
                   outbox) && /* counts refused ones */
        is_own)
        pull_end(replicator, theirs->key, from, version, outbox);
    envelope_fini(&envelope);
    entry = entry_find(replicator, theirs->key);
    key_use(replicator, theirs->key, theirs->used_ms);
    if (!taking->gossip.send_back || !entry)
        return;
    if (entry->envelope.siblings.count)
        answer_siblings(replicator, entry, theirs->key, outbox);
    else if (is_known || entry->envelope.pruning.marks.count)
        filling_put(replicator, &taking->answer, theirs->key, entry, outbox);
}

/* The room counts unpacking and merging, and packing again for an answer. */
bool gossip_take(struct replicator *replicator, struct outbox *outbox)
{
    struct gossip_taking *taking = &replicator->taking;
    const struct message *gossip = &taking->gossip;

    for (; taking->taken < gossip->count; taking->taken++) {
        const struct message_entry *theirs = &gossip->entries[taking->taken];

        if (!room_is_spent_on(replicator,
                              theirs->bytes.size * (1 + gossip->send_back)))
            return false;
        take(replicator, theirs, outbox);
    }
    filling_flush(replicator, &taking->answer, outbox);
    gossip_end(replicator);
    return true;
}
