/* Keeps a row for each entity that was ever remembered, and one for each shard's stream. */
#include "sim/check/check_remember.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/vec.h"
#include "journal/record.h"
#include "sim/seed/shard_text.h"
#include "sim/world/verdict.h"

#define NO_NODE UINT32_MAX

/* The stream's bytes (docs/protocol/journal.md), read apart from the core that writes them. */
#define RECORD_VERSION 1
#define RECORD_BASE 1

struct stream {
    uint64_t last; /* sequence number */
};

/* An entity in distributed data. */
struct kept {
    bool is_start;     /* the last sent change is a start */
    bool is_confirmed; /* the start is stored */
    bool is_removed;   /* a stop was sent, and no later start is confirmed */
    uint32_t stopper;  /* its sender; NO_NODE: that incarnation has ended */
    uint32_t writer;   /* of the start: its sender, then the node that confirmed it */
    uint64_t signature;
    bool is_noted;     /* nothing was sent since all ended; was_there is valid */
    bool was_there;
};

/* An entity that was ever stored, or lived. */
struct row {
    uint32_t type;
    int32_t shard;
    bool is_stored;
    bool is_lost; /* a server lost its last start or stop, and its owner may not know that yet */
    VEC(uint32_t) nodes; /* where it lives */
    /* had the start at its confirmation; other disks may have an earlier one, whose stop they
     * missed */
    VEC(uint32_t) confirmers;
    /* keepers: their disks have it while no replica does; empty: some replica has it */
    VEC(uint32_t) keepers;
    struct kept kept;
    struct buf id;
};

struct check_remember {
    struct verdict *verdict;
    const struct check_safety *safety;
    const struct sherd_entity_type *types;
    uint32_t count;
    struct map streams; /* persistence id -> struct stream */
    struct map rows;    /* type, id -> struct row */
    struct buf key;
    struct check_remember_counts counts;
    struct remember_replicas replicas; /* nodes null: kept in the journal */
    bool is_lost;  /* stored entities may be lost */
    bool is_sound; /* no faults happen any more */
    uint32_t shards; /* of each type since all ended; 0: unchanged */
};

struct check_remember *check_remember_new(struct verdict *verdict,
                                          const struct sherd_entity_type *types,
                                          uint32_t count)
{
    struct check_remember *check = mem_alloc(sizeof *check);

    check->verdict = verdict;
    check->types = types;
    check->count = count;
    return check;
}

void check_remember_safety(struct check_remember *check,
                           const struct check_safety *safety)
{
    check->safety = safety;
}

void check_remember_free(struct check_remember *check)
{
    struct map_entry entry;

    if (!check)
        return;
    for (uint32_t at = 0; map_next(&check->streams, &at, &entry);)
        mem_free(entry.value);
    for (uint32_t at = 0; map_next(&check->rows, &at, &entry);) {
        struct row *row = entry.value;

        vec_fini(&row->nodes);
        vec_fini(&row->confirmers);
        vec_fini(&row->keepers);
        buf_fini(&row->id);
        mem_free(row);
    }
    map_fini(&check->streams);
    map_fini(&check->rows);
    buf_fini(&check->key);
    mem_free(check);
}

static struct row *row_of(struct check_remember *check, uint32_t type,
                          int32_t shard, struct slice id)
{
    struct row *row;

    buf_clear(&check->key);
    buf_put_u32(&check->key, type);
    buf_put_slice(&check->key, id);
    row = map_get(&check->rows, buf_slice(&check->key));
    if (row)
        return row;
    row = mem_alloc(sizeof *row);
    row->type = type;
    row->shard = shard;
    buf_put_slice(&row->id, id);
    (void)map_put(&check->rows, buf_slice(&check->key), row); /* was absent */
    return row;
}

/* ---- stored in the journal ---- */

/* "|TYPE|SHARD"; false: not such, or of another type. */
static bool read_name(const struct check_remember *check, struct slice name,
                      uint32_t *type, int32_t *shard)
{
    size_t end = name.size;

    if (!name.size || name.data[0] != '|')
        return false;
    while (name.data[end - 1] != '|')
        end--;
    if (end < 2 || !sim_shard_number(slice_of(name.data + end, name.size - end),
                                shard))
        return false;
    for (*type = 0; *type < check->count; ++*type)
        if (check->types[*type].remember > 0 &&
            slice_equal(slice_text(check->types[*type].name),
                        slice_of(name.data + 1, end - 2)))
            return true;
    return false;
}

/* Whether the row is of that shard's stream. An entity that changes its shard is stored in two; the
 * new one counts once it has it. */
static bool takes(const struct check_remember *check, struct row *row,
                  int32_t shard)
{
    if (row->shard == shard)
        return true;
    if (!check->shards ||
        hash_shard(buf_slice(&row->id), check->shards) != shard)
        return false;
    row->shard = shard;
    return true;
}

static void clear_shard(struct check_remember *check, uint32_t type,
                        int32_t shard)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&check->rows, &at, &entry);) {
        struct row *row = entry.value;

        if (row->type == type && row->shard == shard)
            row->is_stored = row->is_lost = false;
    }
    check->counts.bases++;
}

static bool read_ids(struct check_remember *check, uint32_t type,
                     int32_t shard, struct cursor *cursor, bool is_stored)
{
    uint64_t count = cursor_varint(cursor);

    while (count-- && !cursor->failed) {
        struct slice id = cursor_slice(cursor, cursor_u8(cursor));
        struct row *row;

        if (cursor->failed)
            break;
        row = row_of(check, type, shard, id);
        if (!takes(check, row, shard))
            continue;
        row->is_stored = is_stored;
        row->is_lost = false;
    }
    return !cursor->failed;
}

static bool read_payload(struct check_remember *check, uint32_t type,
                         int32_t shard, struct slice payload)
{
    struct cursor cursor = cursor_of(payload);

    if (cursor_u8(&cursor) != RECORD_VERSION)
        return false;
    if (cursor_u8(&cursor) & RECORD_BASE)
        clear_shard(check, type, shard);
    return read_ids(check, type, shard, &cursor, true) &&
           read_ids(check, type, shard, &cursor, false) &&
           !cursor_left(&cursor);
}

static void take_record(struct check_remember *check, struct slice name,
                        uint64_t seq, struct slice bytes)
{
    struct stream *stream = map_get(&check->streams, name);
    struct record record;
    uint32_t type;
    int32_t shard;

    if (!read_name(check, name, &type, &shard))
        return;
    if (!stream) {
        stream = mem_alloc(sizeof *stream);
        (void)map_put(&check->streams, name, stream); /* was absent */
    }
    if (seq <= stream->last)
        return; /* read back and written again */
    stream->last = seq;
    check->counts.records++;
    if (record_decode(bytes, record_key(name), seq, &record) ||
        !read_payload(check, type, shard, record.payload))
        violation(check->verdict, "remembered-entities", VERDICT_NO_NODE,
                  "record %" PRIu64 " of what is remembered in %.*s cannot be "
                  "read",
                  seq, (int)name.size, (const char *)name.data);
}

static void committed(void *user, const struct book *book,
                      struct journal_request *const *requests, uint32_t count)
{
    struct check_remember *check = user;

    (void)book;
    for (uint32_t i = 0; i < count; i++) {
        const struct journal_request *request = requests[i];

        if (request->verb != BACKEND_APPEND)
            continue;
        for (uint32_t j = 0; j < request->records.count; j++) {
            const struct backend_record *record = &request->records.items[j];
            const struct backend_entity *entity =
                &request->entities.items[record->entity];

            if (entity->result == BACKEND_DONE)
                take_record(check, backend_slice(request, entity->id),
                            record->seq, backend_slice(request, record->bytes));
        }
    }
}

/* A write without an answer may be stored. */
static void opened(void *user, const struct book *book)
{
    struct check_remember *check = user;
    struct slice name;
    uint64_t last;

    for (uint32_t at = 0; book_next(book, &at, &name, &last);) {
        const struct stream *stream = map_get(&check->streams, name);
        uint64_t seq = stream ? stream->last : 0;

        if (name.size && name.data[0] == '|')
            while (seq++ < last)
                take_record(check, name, seq, book_record(book, name, seq));
    }
}

/* A server took over that lacks the last commits. Starts and stops among them are undone. */
static void rewound(void *user, const struct book *book)
{
    struct check_remember *check = user;
    struct check_remember_counts counts = check->counts;
    struct map_entry entry;
    VEC(struct row) before = { 0 };
    uint32_t i = 0;

    for (uint32_t at = 0; map_next(&check->rows, &at, &entry);) {
        struct row *row = entry.value;

        vec_push(&before, *row);
        row->is_stored = false;
    }
    for (uint32_t at = 0; map_next(&check->streams, &at, &entry);) {
        uint64_t first = book_first(book, entry.key);

        ((struct stream *)entry.value)->last = first ? first - 1 : 0;
    }
    opened(check, book);
    for (uint32_t at = 0; map_next(&check->rows, &at, &entry); i++) {
        struct row *row = entry.value;

        row->is_lost = i < before.count && (before.items[i].is_lost ||
                                            before.items[i].is_stored != row->is_stored);
    }
    vec_fini(&before);
    check->counts = counts;
}

struct disk_backend_observer check_remember_observer(struct check_remember *check)
{
    return (struct disk_backend_observer){ .user = check,
                                         .committed = committed,
                                         .opened = opened,
                                         .rewound = rewound };
}

/* ---- stored in distributed data ---- */

void check_remember_in_data(struct check_remember *check,
                            const struct remember_replicas *replicas)
{
    check->replicas = *replicas;
}

static bool is_in_data(const struct check_remember *check)
{
    return check->replicas.nodes != NULL;
}

static bool has(const struct check_remember *check, uint32_t node,
                const struct row *row)
{
    return check->replicas.has(check->replicas.user, node, row->type,
                               row->shard, buf_slice(&row->id));
}

static void start_sent(struct check_remember *check, uint32_t node,
                       struct row *row)
{
    struct kept *kept = &row->kept;

    kept->is_start = true;
    kept->is_noted = false;
    kept->writer = node;
    (void)check->replicas.needed(check->replicas.user, node,
                                 &kept->signature); /* for the signature */
}

static bool is_outside(const struct check_remember *check, uint32_t node)
{
    return check->safety && check->safety->outside[node];
}

/* A node outside removes what it had, not what others wrote since it was given up. */
static void stop_sent(struct check_remember *check, uint32_t node,
                      struct row *row)
{
    if (is_outside(check, node) && row->kept.is_confirmed &&
        row->kept.writer != node)
        return;
    row->kept = (struct kept){ .is_removed = true, .stopper = node };
}

/* Nodes that are down may have it or not. */
static void start_stored(struct check_remember *check, uint32_t node,
                         struct row *row)
{
    const struct remember_replicas *replicas = &check->replicas;
    uint32_t count = 0;
    uint64_t signature;
    uint32_t needed = replicas->needed(replicas->user, node, &signature);

    if (!row->kept.is_start)
        return; /* another node sent a stop since */
    row->kept.is_confirmed = true;
    row->keepers.count = row->confirmers.count = 0;
    for (uint32_t i = 0; i < replicas->nodes(replicas->user); i++)
        if (has(check, i, row))
            vec_push(&row->confirmers, i);
    row->kept.is_removed &= row->kept.writer != node;
    if (signature != row->kept.signature || row->kept.writer != node)
        return;
    for (uint32_t i = 0; i < replicas->nodes(replicas->user); i++)
        count += !replicas->is_there(replicas->user, i) || has(check, i, row);
    if (count < needed)
        violation(check->verdict, "remembered-entities", node,
                  "the start of %.*s of %s, shard %d, is said to be stored: "
                  "%u replicas have it or do not live, and %u shall",
                  (int)row->id.size, (const char *)row->id.data,
                  check->types[row->type].name, row->shard, count, needed);
}

typedef void row_change(struct check_remember *check, uint32_t node,
                        struct row *row);

static bool each_change(struct check_remember *check, uint32_t node,
                        const struct probe *probe, row_change *starts,
                        row_change *stops)
{
    struct cursor cursor = cursor_of(probe->bytes);

    while (cursor_left(&cursor) && !cursor.failed) {
        if (cursor_u8(&cursor) != RECORD_VERSION || cursor_u8(&cursor))
            return false;
        for (int i = 0; i < 2; i++) {
            row_change *change = i ? stops : starts;
            uint64_t count = cursor_varint(&cursor);

            while (count-- && !cursor.failed) {
                struct slice id = cursor_slice(&cursor, cursor_u8(&cursor));

                if (!cursor.failed && change)
                    change(check, node, row_of(check, probe->type,
                                               probe->shard, id));
            }
        }
    }
    return !cursor.failed;
}

static void data_probe(struct check_remember *check, uint32_t node,
                       const struct probe *probe)
{
    bool is_sent = probe->kind == PROBE_REMEMBER_SENT;

    check->counts.records += !is_sent;
    if (!each_change(check, node, probe, is_sent ? start_sent : start_stored,
                     is_sent ? stop_sent : NULL))
        violation(check->verdict, "remembered-entities", node,
                  "a write of remembered entities of %s, shard %d, cannot be "
                  "read",
                  check->types[probe->type].name, probe->shard);
}

/* A removal from another node may arrive late, even after a new start: where that start is unknown,
 * it removes the earlier one. The sender of the start has it. */
static bool may_start(const struct check_remember *check, uint32_t node,
                      const struct row *row, int32_t shard)
{
    const struct kept *kept = &row->kept;

    if (!is_in_data(check))
        return (row->is_stored || row->is_lost) && (!check->shards || row->shard == shard);
    return has(check, node, row) ||
           (kept->is_removed && kept->stopper != node &&
            !(kept->is_start && kept->writer == node));
}

void check_remember_lost(struct check_remember *check)
{
    check->is_lost = true;
}

/* ---- live entities ---- */

static void entity_started(struct check_remember *check, uint32_t node,
                           const struct probe *probe)
{
    struct row *row =
        row_of(check, probe->type, probe->shard, probe->bytes);

    check->counts.starts++;
    vec_push(&row->nodes, node);
    if (!is_outside(check, node) &&
        !may_start(check, node, row, probe->shard))
        violation(check->verdict, "remembered-entities", node,
                  "%.*s of %s starts, shard %d, and its start is not stored, "
                  "or its stop is",
                  (int)probe->bytes.size, (const char *)probe->bytes.data,
                  check->types[probe->type].name, probe->shard);
}

static void leaves(struct row *row, uint32_t node)
{
    for (uint32_t i = row->nodes.count; i-- > 0;)
        if (row->nodes.items[i] == node)
            vec_remove(&row->nodes, i);
}

void check_remember_probe(struct check_remember *check, uint32_t node,
                          const struct probe *probe)
{
    if (probe->type >= check->count || check->types[probe->type].remember <= 0)
        return;
    if (probe->kind == PROBE_ENTITY_STARTED)
        entity_started(check, node, probe);
    else if (probe->kind == PROBE_ENTITY_STOPPED)
        leaves(row_of(check, probe->type, probe->shard, probe->bytes), node);
    else if (is_in_data(check) && (probe->kind == PROBE_REMEMBER_SENT ||
                                   probe->kind == PROBE_REMEMBER_STORED))
        data_probe(check, node, probe);
}

/* A majority of one, or all confirmers, may end before others have it. Then only their disks have
 * it. */
static void look_for_keepers(struct check_remember *check, struct row *row)
{
    const struct remember_replicas *replicas = &check->replicas;
    uint32_t count = replicas->nodes(replicas->user);

    row->keepers.count = 0;
    for (uint32_t i = 0; i < count; i++)
        if (has(check, i, row))
            return;
    for (uint32_t i = 0; i < row->confirmers.count; i++)
        if (replicas->is_kept(replicas->user, row->confirmers.items[i],
                              row->type, row->shard, buf_slice(&row->id)))
            vec_push(&row->keepers, row->confirmers.items[i]);
    row->kept.is_confirmed = row->keepers.count > 0;
}

static bool is_brought_back(const struct check_remember *check,
                            const struct row *row)
{
    for (uint32_t i = 0; i < row->keepers.count; i++)
        if (check->replicas.is_there(check->replicas.user,
                                     row->keepers.items[i]))
            return true;
    return !row->keepers.count;
}

void check_remember_node_ended(struct check_remember *check, uint32_t node)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&check->rows, &at, &entry);) {
        struct row *row = entry.value;

        leaves(row, node);
        if (row->kept.is_removed && row->kept.stopper == node)
            row->kept.stopper = NO_NODE;
        if (row->kept.is_start && row->kept.writer == node)
            row->kept.writer = NO_NODE;
        if (row->kept.is_confirmed)
            look_for_keepers(check, row);
    }
}

/* ---- quiet phase ---- */

/* Null: nothing is wrong. */
static const char *lives_as_stored(const struct check_remember *check,
                                   const struct row *row)
{
    if (row->is_stored && check->shards &&
        hash_shard(buf_slice(&row->id), check->shards) != row->shard)
        return "stored in a shard to which it does not belong any more";
    if (row->is_stored == (row->nodes.count > 0) || row->is_lost)
        return NULL;
    return row->is_stored ? "stored, and does not live"
                          : "alive, and not stored";
}

/* Sets whether all replicas have it. False: they differ. */
static bool look_up(const struct check_remember *check, struct row *row)
{
    const struct remember_replicas *replicas = &check->replicas;
    uint32_t there = 0;
    uint32_t count = 0;

    for (uint32_t i = 0; i < replicas->nodes(replicas->user); i++) {
        there += replicas->is_there(replicas->user, i);
        count += has(check, i, row);
    }
    row->is_stored = count > 0;
    return !count || count == there;
}

static bool lives_inside(const struct check_remember *check,
                         const struct row *row)
{
    for (uint32_t i = 0; i < row->nodes.count; i++)
        if (!is_outside(check, row->nodes.items[i]))
            return true;
    return false;
}

/* A live entity is present, whatever was sent before. A late stop from an ended incarnation's disk
 * covers only what that one had. */
static const char *data_fault(const struct check_remember *check,
                              struct row *row)
{
    if (!look_up(check, row))
        return "in some replicas, and not in others";
    if (row->kept.is_noted && row->is_stored != row->kept.was_there)
        return row->is_stored ? "there after the restart, and was not before"
                              : "not there after the restart, and was before";
    if (check->is_sound)
        return lives_as_stored(check, row);
    if (!check->is_lost && row->kept.is_confirmed && !row->is_stored &&
        is_brought_back(check, row))
        return "started and never stopped, and not stored";
    if (!check->is_lost && row->is_stored && !row->nodes.count)
        return "stored, and does not live";
    return !row->is_stored && lives_inside(check, row) ? "alive, and not stored"
                                                       : NULL;
}

bool check_remember_agrees(struct check_remember *check, char *text,
                           size_t size)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&check->rows, &at, &entry);) {
        struct row *row = entry.value;
        const char *fault;

        check->counts.judged++;
        fault = is_in_data(check) ? data_fault(check, row)
                                  : lives_as_stored(check, row);
        if (!fault)
            continue;
        (void)snprintf(text, size, "%.*s of %s, shard %d, is %s",
                       (int)row->id.size, (const char *)row->id.data,
                       check->types[row->type].name, row->shard,
                       fault); /* cut at size */
        return false;
    }
    return true;
}

void check_remember_restarts(struct check_remember *check)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&check->rows, &at, &entry);) {
        struct row *row = entry.value;

        (void)look_up(check, row); /* they agreed */
        row->kept.is_noted = true;
        row->kept.was_there = row->is_stored;
    }
    check->is_sound = true;
}

void check_remember_shards(struct check_remember *check, uint32_t shards)
{
    check->shards = shards;
}

struct check_remember_counts
check_remember_counts(const struct check_remember *check)
{
    return check->counts;
}
