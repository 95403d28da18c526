/* Writes, merges and encodes concurrent versions of a key. */
#include "kvstore/siblings.h"

#include "base/check.h"
#include "base/hash.h"
#include "base/limits.h"

#define FORMAT 1
#define DELETION 1 /* bit of a version's flags */
#define VERSION_SIZE 64 /* most bytes of a version without its value */
#define ENTRY_SIZE 40   /* most bytes of an entry of a history */

static void version_fini(struct version *version)
{
    mem_free((void *)(uintptr_t)version->value.data);
}

void siblings_fini(struct siblings *siblings)
{
    history_fini(&siblings->history);
    for (uint32_t i = 0; i < siblings->versions.count; i++)
        version_fini(&siblings->versions.items[i]);
    vec_fini(&siblings->versions);
    siblings->size = 0;
}

/* Makes room at a place. */
static void insert(struct siblings *siblings, uint32_t place,
                   const struct version *version)
{
    vec_push(&siblings->versions, *version);
    for (uint32_t i = siblings->versions.count - 1; i > place; i--)
        siblings->versions.items[i] = siblings->versions.items[i - 1];
    siblings->versions.items[place] = *version;
    siblings->size += version->value.size;
}

static void drop(struct siblings *siblings, uint32_t index)
{
    siblings->size -= siblings->versions.items[index].value.size;
    version_fini(&siblings->versions.items[index]);
    vec_remove(&siblings->versions, index);
}

/* Inserts a version, with a copy of its value. */
static void add(struct siblings *siblings, struct version version)
{
    uint32_t place = 0;

    version.value = slice_of(
        version.value.size ? mem_copy(version.value.data, version.value.size)
                           : NULL,
        version.value.size);
    while (place < siblings->versions.count &&
           dot_compare(&siblings->versions.items[place].dot, &version.dot) < 0)
        place++;
    insert(siblings, place, &version);
}

void siblings_copy(struct siblings *to, const struct siblings *from)
{
    siblings_fini(to);
    history_copy(&to->history, &from->history);
    for (uint32_t i = 0; i < from->versions.count; i++)
        add(to, from->versions.items[i]);
}

static size_t size_of(uint32_t versions, uint32_t entries, size_t values)
{
    return 8 + (size_t)versions * VERSION_SIZE + (size_t)entries * ENTRY_SIZE +
           values;
}

size_t siblings_size(const struct siblings *siblings)
{
    return size_of(siblings->versions.count, siblings->history.entries.count,
                   siblings->size);
}

/* ---- a write ---- */

static bool is_replaced(const struct version *version,
                        const struct history *seen)
{
    return history_has(seen, &version->dot);
}

/* The result of a write or a merge. */
struct outcome {
    uint32_t versions;
    size_t values; /* bytes of the values */
};

static void stay(struct outcome *outcome, const struct version *version)
{
    outcome->versions++;
    outcome->values += version->value.size;
}

static size_t growth(const struct siblings *siblings,
                     const struct outcome *outcome, uint32_t entries)
{
    size_t before = siblings_size(siblings);
    size_t after = size_of(outcome->versions,
                           entries < KVSTORE_HISTORY_MAX ? entries
                                                       : KVSTORE_HISTORY_MAX,
                           outcome->values);

    return after > before ? after - before : 0;
}

static struct outcome after_write(const struct siblings *siblings,
                                  const struct history *seen,
                                  struct slice value)
{
    struct outcome outcome = { 1, value.size };

    for (uint32_t i = 0; i < siblings->versions.count; i++)
        if (!is_replaced(&siblings->versions.items[i], seen))
            stay(&outcome, &siblings->versions.items[i]);
    return outcome;
}

size_t siblings_write_growth(const struct siblings *siblings,
                             const struct history *seen, const struct dot *dot,
                             struct slice value)
{
    struct outcome outcome = after_write(siblings, seen, value);
    bool is_known = history_knows(&siblings->history, dot) ||
                    history_knows(seen, dot);

    return growth(siblings, &outcome,
                  history_union(&siblings->history, seen) + !is_known);
}

/* Keeps the entries of present versions: otherwise readers could not replace them. */
static void prune(struct siblings *siblings, uint64_t wall_s)
{
    struct dot kept[KVSTORE_SIBLINGS_MAX];
    uint32_t count = siblings->versions.count;

    check(count <= KVSTORE_SIBLINGS_MAX);
    for (uint32_t i = 0; i < count; i++)
        kept[i] = siblings->versions.items[i].dot;
    history_prune(&siblings->history, wall_s, kept, count);
}

/* Does this entry of the writer's context replace a version here? */
static bool replaces(const struct history_entry *entry,
                     const struct siblings *siblings)
{
    const struct dot *seen = &entry->dot;

    for (uint32_t i = 0; i < siblings->versions.count; i++) {
        const struct dot *dot = &siblings->versions.items[i].dot;

        if (dot->broker == seen->broker && dot->epoch == seen->epoch &&
            dot->number <= seen->number)
            return true;
    }
    return false;
}

/* A replacing entry gets the time of the write, so it is not pruned before the other replicas hear
 * of it. */
static void learn(struct siblings *siblings, const struct history *seen,
                  uint64_t wall_s)
{
    for (uint32_t i = 0; i < seen->entries.count; i++) {
        const struct history_entry *entry = &seen->entries.items[i];
        bool is_young = replaces(entry, siblings) ||
                        !history_has(&siblings->history, &entry->dot);

        history_add(&siblings->history, &entry->dot,
                    is_young && entry->wall_s < wall_s ? wall_s
                                                       : entry->wall_s);
    }
}

bool siblings_write(struct siblings *siblings, const struct history *seen,
                    const struct dot *dot, uint64_t wall_s, bool is_deletion,
                    struct slice value)
{
    struct version written = { *dot, is_deletion, wall_s, hash_bytes(value),
                               value };
    struct outcome outcome = after_write(siblings, seen, value);

    if (outcome.versions > KVSTORE_SIBLINGS_PUT_MAX ||
        size_of(outcome.versions, KVSTORE_HISTORY_MAX, outcome.values) >
            KVSTORE_STATE_SIZE_MAX)
        return false;
    learn(siblings, seen, wall_s);
    for (uint32_t i = siblings->versions.count; i-- > 0;)
        if (is_replaced(&siblings->versions.items[i], seen))
            drop(siblings, i);
    add(siblings, written);
    history_add(&siblings->history, dot, wall_s);
    prune(siblings, wall_s);
    return true;
}

/* ---- a merge ---- */

static const struct version *find(const struct siblings *siblings,
                                  const struct dot *dot)
{
    for (uint32_t i = 0; i < siblings->versions.count; i++)
        if (!dot_compare(&siblings->versions.items[i].dot, dot))
            return &siblings->versions.items[i];
    return NULL;
}

/* Does a version of one side stay in a merge with the other? */
static bool stays(const struct version *version, const struct siblings *other)
{
    return find(other, &version->dot) ||
           !history_has(&other->history, &version->dot);
}

static struct outcome after_merge(const struct siblings *to,
                                  const struct siblings *from)
{
    struct outcome outcome = { 0, 0 };

    for (uint32_t i = 0; i < to->versions.count; i++)
        if (stays(&to->versions.items[i], from))
            stay(&outcome, &to->versions.items[i]);
    for (uint32_t i = 0; i < from->versions.count; i++) {
        const struct version *version = &from->versions.items[i];

        if (!find(to, &version->dot) && stays(version, to))
            stay(&outcome, version);
    }
    return outcome;
}

size_t siblings_merge_growth(const struct siblings *to,
                             const struct siblings *from)
{
    struct outcome outcome = after_merge(to, from);

    return growth(to, &outcome, history_union(&to->history, &from->history));
}

bool siblings_merge(struct siblings *to, const struct siblings *from)
{
    struct outcome outcome = after_merge(to, from);

    if (outcome.versions > KVSTORE_SIBLINGS_MAX ||
        size_of(outcome.versions, KVSTORE_HISTORY_MAX, outcome.values) >
            KVSTORE_STATE_SIZE_MAX)
        return false;
    for (uint32_t i = 0; i < from->versions.count; i++)
        if (!find(to, &from->versions.items[i].dot) &&
            stays(&from->versions.items[i], to))
            add(to, from->versions.items[i]);
    for (uint32_t i = to->versions.count; i-- > 0;)
        if (!stays(&to->versions.items[i], from))
            drop(to, i);
    history_merge(&to->history, &from->history);
    prune(to, 0); /* to the limit only, so that both sides prune alike */
    return true;
}

bool siblings_equal(const struct siblings *left, const struct siblings *right)
{
    if (left->versions.count != right->versions.count ||
        history_compare(&left->history, &right->history) != HISTORY_SAME)
        return false;
    for (uint32_t i = 0; i < left->versions.count; i++)
        if (dot_compare(&left->versions.items[i].dot,
                        &right->versions.items[i].dot))
            return false;
    return true;
}

uint32_t siblings_live(const struct siblings *siblings)
{
    uint32_t live = 0;

    for (uint32_t i = 0; i < siblings->versions.count; i++)
        live += !siblings->versions.items[i].is_deletion;
    return live;
}

uint64_t siblings_deleted_at(const struct siblings *siblings)
{
    uint64_t at = 0;

    if (siblings_live(siblings))
        return 0;
    for (uint32_t i = 0; i < siblings->versions.count; i++)
        if (siblings->versions.items[i].wall_s > at)
            at = siblings->versions.items[i].wall_s;
    return at;
}

/* ---- bytes ---- */

void siblings_put(const struct siblings *siblings, struct buf *buf)
{
    buf_put_u8(buf, FORMAT);
    history_put(&siblings->history, buf);
    buf_put_varint(buf, siblings->versions.count);
    for (uint32_t i = 0; i < siblings->versions.count; i++) {
        const struct version *version = &siblings->versions.items[i];

        buf_put_u64(buf, version->dot.broker);
        buf_put_varint(buf, version->dot.epoch);
        buf_put_varint(buf, version->dot.number);
        buf_put_u8(buf, version->is_deletion ? DELETION : 0);
        buf_put_varint(buf, version->wall_s);
        buf_put_u64(buf, version->hash);
        buf_put_varint(buf, version->value.size);
        buf_put_slice(buf, version->value);
    }
}

static bool get_version(struct cursor *cursor, struct version *version)
{
    uint64_t epoch, size;
    uint8_t flags;

    version->dot.broker = cursor_u64(cursor);
    epoch = cursor_varint(cursor);
    version->dot.epoch = (uint32_t)epoch;
    version->dot.number = cursor_varint(cursor);
    flags = cursor_u8(cursor);
    version->is_deletion = flags == DELETION;
    version->wall_s = cursor_varint(cursor);
    version->hash = cursor_u64(cursor);
    size = cursor_varint(cursor);
    if (cursor->failed || epoch > UINT32_MAX || !version->dot.number ||
        flags > DELETION || size > KVSTORE_STATE_SIZE_MAX ||
        (size && version->is_deletion))
        return false;
    version->value = cursor_slice(cursor, (size_t)size);
    return !cursor->failed && hash_bytes(version->value) == version->hash;
}

static bool get_all(struct cursor *cursor, struct siblings *siblings)
{
    uint64_t count;

    if (cursor_u8(cursor) != FORMAT ||
        !history_get(cursor, &siblings->history))
        return false;
    count = cursor_varint(cursor);
    if (cursor->failed || count > KVSTORE_SIBLINGS_MAX)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        struct version version = { 0 };

        if (!get_version(cursor, &version) ||
            !history_has(&siblings->history, &version.dot) ||
            (i && dot_compare(&siblings->versions.items[i - 1].dot,
                              &version.dot) >= 0))
            return false;
        add(siblings, version);
    }
    return !cursor_left(cursor) &&
           siblings_size(siblings) <= KVSTORE_STATE_SIZE_MAX;
}

bool siblings_get(struct slice bytes, struct siblings *siblings)
{
    struct cursor cursor = cursor_of(bytes);

    siblings_fini(siblings);
    if (get_all(&cursor, siblings))
        return true;
    siblings_fini(siblings);
    return false;
}
