/* Measures entries: their sizes as sent, and their digests. */
#include <sha1.h>

#include "base/limits.h"
#include "ddata/replicator_inside.h"

#define VERSION_SIZE 40 /* bytes beside the host's name, at most */
#define UNREADABLE_SIZE UINT32_MAX /* above every limit */

/* An upper bound. Digests do not cover delta versions, but they are sent. */
static uint64_t versions_size(const struct envelope *envelope)
{
    uint64_t size = 0;

    for (uint32_t i = 0; i < envelope->versions.items.count; i++)
        size += VERSION_SIZE +
                strlen(envelope->versions.items.items[i].node.address.host);
    return size;
}

uint64_t weight_size(const struct replicator *replicator,
                     const struct dd_value *value)
{
    return dd_weight(value) * replicator->settings.entry_size_max /
           DDATA_WEIGHT_MAX;
}

/* The larger of bytes and weight; weight counts up to the entry limit. */
uint64_t envelope_counted(const struct replicator *replicator,
                          const struct envelope *envelope, uint64_t bytes)
{
    uint64_t max = replicator->settings.entry_size_max;
    uint64_t size = bytes + versions_size(envelope);
    uint64_t weight = weight_size(replicator, envelope->value);

    if (weight > max)
        weight = max;
    return size > weight ? size : weight;
}

/* Logs a large size, again after each tenth of growth; when digests are made, as Akka does. */
static void tell_size(struct replicator *replicator, struct entry *entry,
                      uint64_t size)
{
    const struct replicator_settings *settings = &replicator->settings;
    bool is_close = size >= settings->frame_size / 4 * 3;

    if (size < settings->logged_size || size <= entry->logged_size)
        return;
    entry->logged_size = size + size / 10;
    trace_put(replicator->trace, is_close ? TRACE_WARNING : TRACE_INFO, "ddata",
              is_close
                  ? "value is nearly as large as a message may be key=%.*s "
                    "bytes=%llu hint=\"split it into several keys\""
                  : "value is large key=%.*s bytes=%llu",
              (int)entry->key.size, (const char *)entry->key.data,
              (unsigned long long)size);
}

struct slice entry_digest(struct replicator *replicator, struct entry *entry)
{
    struct buf bytes = { 0 };
    SHA1_CTX sha1;

    if (envelope_is_deleted(&entry->envelope))
        return slice_of(entry->digest, 0);
    if (!entry->has_digest) {
        opaque_bytes(&entry->envelope, &bytes);
        SHA1Init(&sha1);
        SHA1Update(&sha1, bytes.data, bytes.size);
        SHA1Final(entry->digest, &sha1);
        entry->has_digest = true;
        if (!entry->envelope.origin)
            entry_measured(replicator, entry,
                           envelope_counted(replicator, &entry->envelope, bytes.size));
        tell_size(replicator, entry, bytes.size);
        buf_fini(&bytes);
    }
    return slice_of(entry->digest, DIGEST_SIZE);
}

static bool is_readable(const struct envelope *envelope, struct slice bytes)
{
    struct envelope again = { 0 };
    bool done = dd_weight(envelope->value) <= DDATA_WEIGHT_MAX ||
                envelope_decode(bytes, &again);

    envelope_fini(&again);
    return done;
}

uint64_t envelope_size(const struct replicator *replicator,
                       const struct envelope *envelope)
{
    struct buf bytes = { 0 };
    uint64_t size = UNREADABLE_SIZE;

    if (envelope->origin)
        return opaque_size(envelope);
    envelope_encode(&bytes, envelope, NULL, ENVELOPE_PLAIN);
    if (is_readable(envelope, buf_slice(&bytes)))
        size = envelope_counted(replicator, envelope, bytes.size);
    buf_fini(&bytes);
    return size;
}

/* The sizes of merged parts add up to more than the entry, so it is measured near the limit. */
bool entry_has_room(struct replicator *replicator, struct entry *entry,
                    size_t size, uint64_t max)
{
    if (entry->size + size > max ||
        replicator->bytes + size > REPLICATOR_BYTES_MAX)
        entry_measured(replicator, entry,
                       envelope_size(replicator, &entry->envelope));
    return entry->size + size <= max &&
           replicator->bytes + size <= REPLICATOR_BYTES_MAX;
}
