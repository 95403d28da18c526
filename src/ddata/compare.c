/* Compares a received status: sends values that differ or were not named, and asks for those
 * missing here. Makes missing digests and the answer in as many steps as needed. */
#include "base/limits.h"
#include "ddata/replicator_inside.h"

static const uint8_t not_found[1] = { 0xff };

static bool is_not_found(struct slice digest)
{
    return slice_equal(digest, slice_of(not_found, sizeof not_found));
}

void compare_end(struct replicator *replicator)
{
    struct comparison *comparison = &replicator->comparison;
    uint32_t lent = comparison->is_listed ? comparison->named
                                          : comparison->keys.count;

    filling_fini(&comparison->answer); /* before its keys are freed */
    for (uint32_t i = lent; i < comparison->keys.count; i++)
        mem_free((void *)(uintptr_t)comparison->keys.items[i].data);
    vec_fini(&comparison->keys);
    vec_fini(&comparison->missing);
    message_fini(&comparison->status);
    buf_fini(&comparison->sender);
    *comparison = (struct comparison){ .is_on = false };
}

void compare_begin(struct replicator *replicator, const struct node_id *from,
                   struct slice sender, struct message *status)
{
    struct comparison *comparison = &replicator->comparison;

    comparison->is_on = true;
    comparison->status = *status;
    *status = (struct message){ .kind = MESSAGE_UNKNOWN };
    buf_put_slice(&comparison->sender, sender);
    comparison->answer.to = *from;
    comparison->answer.recipient = buf_slice(&comparison->sender);
    replicator->stamp++;
}

/* ---- the keys of the status ---- */

static void add_missing(struct replicator *replicator,
                        const struct message_entry *theirs)
{
    struct message_entry wanted = {
        .key = theirs->key, .bytes = slice_of(not_found, sizeof not_found)
    };

    key_use(replicator, theirs->key, theirs->used_ms); /* it may be a held, damaged key */
    if (is_not_found(theirs->bytes))
        return; /* else nodes without it ask each other for ever */
    if (theirs->key.size > REPLICATOR_KEY_SIZE_MAX)
        replicator->counters.too_large++;
    else if (!expire_refuses(replicator, theirs->key, theirs->used_ms))
        vec_push(&replicator->comparison.missing, wanted);
}

/* Lists named keys that differ or are missing here. False: no room for the next digest. */
static bool compare(struct replicator *replicator)
{
    struct comparison *comparison = &replicator->comparison;
    const struct message *status = &comparison->status;

    for (; comparison->compared < status->count; comparison->compared++) {
        const struct message_entry *theirs =
            &status->entries[comparison->compared];
        struct entry *entry = entry_find(replicator, theirs->key);

        if (!entry) {
            add_missing(replicator, theirs);
            continue;
        }
        if (entry->stamp == replicator->stamp)
            continue; /* named before */
        if (entry_is_there(entry) && !entry->has_digest &&
            !room_is_taken(replicator, entry))
            return false;
        entry->stamp = replicator->stamp;
        entry_use(replicator, entry, theirs->used_ms);
        if (!slice_equal(entry_digest(replicator, entry), theirs->bytes))
            vec_push(&comparison->keys, theirs->key);
    }
    return true;
}

/* A random start for a list that is sent in part. With a remembered place, peers could take turns
 * in step, and some keys would never be sent. */
static uint32_t any_place(struct replicator *replicator, uint32_t count)
{
    return count ? (uint32_t)rng_below(&replicator->rng, count) : 0;
}

static bool is_unnamed(const struct replicator *replicator,
                       const struct entry *entry)
{
    const struct message *status = &replicator->comparison.status;

    return entry->stamp != replicator->stamp &&
           !expire_is_over(replicator, entry->key, entry->used_ms) &&
           chunk_has(entry, status->chunk, status->chunks);
}

/* As many as an answer may have, whatever else differs. */
static void add_unnamed(struct replicator *replicator)
{
    struct comparison *comparison = &replicator->comparison;
    uint32_t max = comparison->named + replicator->settings.max_delta_elements;
    uint32_t first = any_place(replicator, replicator->entries.used);
    struct map_entry item;
    uint32_t at = first;

    for (int part = 0; part < 2; part++) {
        while (comparison->keys.count < max &&
               map_next(&replicator->entries, &at, &item) &&
               (part == 0 || at <= first)) {
            struct slice key = item.key;

            if (!is_unnamed(replicator, item.value))
                continue;
            key.data = mem_copy(key.data, key.size);
            vec_push(&comparison->keys, key);
        }
        at = 0;
    }
}

/* ---- the answer ---- */

static bool fill(struct replicator *replicator, struct outbox *outbox)
{
    struct comparison *comparison = &replicator->comparison;

    for (; comparison->filled < comparison->keys.count &&
           comparison->filled < replicator->settings.max_delta_elements;
         comparison->filled++) {
        uint32_t place = (comparison->first + comparison->filled) %
                         comparison->keys.count;
        struct slice key = comparison->keys.items[place];
        struct entry *entry = entry_find(replicator, key);

        if (!entry)
            continue; /* it expired */
        if (!room_is_taken(replicator, entry))
            return false;
        if (entry->envelope.siblings.count)
            filling_put_siblings(replicator, &comparison->answer, key, entry,
                                 true, outbox);
        else
            filling_put(replicator, &comparison->answer, key, entry, outbox);
    }
    filling_flush(replicator, &comparison->answer, outbox);
    return true;
}

static void ask_for_missing(struct replicator *replicator,
                            struct outbox *outbox)
{
    const struct comparison *comparison = &replicator->comparison;
    struct message status =
        gossip_to(replicator, MESSAGE_STATUS, comparison->answer.to.uid);
    struct buf payload = { 0 };

    if (!comparison->missing.count)
        return;
    status.chunk = comparison->status.chunk;
    status.chunks = comparison->status.chunks;
    status.entries = comparison->missing.items;
    status.count = comparison->missing.count;
    message_put(&payload, &status);
    if (is_sendable(replicator, payload.size))
        send_answer(replicator, &comparison->answer.to,
                    comparison->answer.recipient, MESSAGE_STATUS,
                    buf_slice(&payload), outbox);
    buf_fini(&payload);
}

bool compare_go_on(struct replicator *replicator, struct outbox *outbox)
{
    struct comparison *comparison = &replicator->comparison;

    if (!comparison->is_listed) {
        if (!compare(replicator))
            return false;
        comparison->named = comparison->keys.count;
        comparison->answer.send_back = comparison->named > 0;
        comparison->is_listed = true;
        add_unnamed(replicator);
        comparison->first = any_place(replicator, comparison->keys.count);
    }
    if (!fill(replicator, outbox))
        return false;
    ask_for_missing(replicator, outbox);
    compare_end(replicator);
    return true;
}
