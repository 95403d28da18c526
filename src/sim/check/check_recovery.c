/* Keeps each node's last replay of each entity until the entity starts. */
#include "sim/check/check_recovery.h"

#include <inttypes.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "journal/record.h"
#include "sim/world/verdict.h"

struct replay {
    uint32_t node;
    uint64_t events; /* so far */
    /* Hashes of the events. The first one counts for a replay of what is durable. The others begin with
     * events that a server lost, and count for a replay that began before. */
    VEC(uint64_t) hashes;
    bool is_whole;   /* false: more chunks follow */
};

/* The first events of one persistence id, before a server lost the last one of them. */
struct lost_prefix {
    uint64_t events, hash;
};

/* The durable events of one persistence id. */
struct prefixes {
    VEC(uint64_t) hashes; /* of the first n + 1 events */
    VEC(struct lost_prefix) lost;
};

/* A replay on its way that began before a server lost commits. */
struct early_replay {
    const struct journal_request *request;
    uint32_t node;
    bool is_early;
};

struct check_recovery {
    struct verdict *verdict;
    struct map prefixes; /* persistence id -> struct prefixes */
    struct map replays; /* node and persistence id -> struct replay */
    VEC(struct early_replay) asked; /* without an answer */
    struct buf key;
};

struct check_recovery *check_recovery_new(struct verdict *verdict)
{
    struct check_recovery *check = mem_alloc(sizeof *check);

    check->verdict = verdict;
    return check;
}

static void free_replay(struct replay *replay)
{
    if (replay)
        vec_fini(&replay->hashes);
    mem_free(replay);
}

void check_recovery_free(struct check_recovery *check)
{
    struct map_entry entry;

    if (!check)
        return;
    for (uint32_t at = 0; map_next(&check->replays, &at, &entry);)
        free_replay(entry.value);
    map_fini(&check->replays);
    for (uint32_t at = 0; map_next(&check->prefixes, &at, &entry);) {
        struct prefixes *prefixes = entry.value;

        vec_fini(&prefixes->hashes);
        vec_fini(&prefixes->lost);
        mem_free(prefixes);
    }
    map_fini(&check->prefixes);
    vec_fini(&check->asked);
    buf_fini(&check->key);
    mem_free(check);
}

/* Removes the replay of that key; null: none. The caller owns it. */
static struct replay *take(struct check_recovery *check)
{
    return map_take(&check->replays, buf_slice(&check->key));
}

static void begin_key(struct check_recovery *check, uint32_t node)
{
    buf_clear(&check->key);
    buf_put_u32(&check->key, node);
}

uint64_t check_recovery_fold(uint64_t before, uint32_t event_type,
                             struct slice event)
{
    return (before + hash_bytes(event)) * UINT64_C(0x9e3779b97f4a7c15) +
           event_type + 1;
}

/* Adds a durable event. */
static void add_event(struct check_recovery *check, struct slice id, uint64_t seq,
                      struct slice bytes)
{
    struct prefixes *prefixes = map_get(&check->prefixes, id);
    struct record record;
    uint64_t before, hash;

    if (!prefixes) {
        prefixes = mem_alloc(sizeof *prefixes);
        (void)map_put(&check->prefixes, id, prefixes); /* was absent */
    }
    if (!seq || seq > prefixes->hashes.count + 1)
        return; /* another check finds a gap */
    (void)record_decode(bytes, record_key(id), seq, &record); /* as above */
    before = seq > 1 ? prefixes->hashes.items[seq - 2] : 0;
    hash = check_recovery_fold(before, record.event_type, record.payload);
    if (seq <= prefixes->hashes.count) {
        if (prefixes->hashes.items[seq - 1] == hash)
            return; /* a repetition */
        prefixes->hashes.count = (uint32_t)seq - 1; /* the disk lost those */
    }
    vec_push(&prefixes->hashes, hash);
}

static void committed(void *user, const struct book *book,
                      struct journal_request *const *requests, uint32_t count)
{
    struct check_recovery *check = user;

    (void)book;
    for (uint32_t i = 0; i < count; i++) {
        const struct journal_request *request = requests[i];

        for (uint32_t k = 0; request->verb == BACKEND_APPEND && k < request->records.count; k++) {
            const struct backend_record *record = &request->records.items[k];
            const struct backend_entity *entity = &request->entities.items[record->entity];

            if (entity->result == BACKEND_DONE)
                add_event(check, backend_slice(request, entity->id), record->seq,
                          backend_slice(request, record->bytes));
        }
    }
}

/* Groups whose outcome was unknown may have become durable. */
static void opened(void *user, const struct book *book)
{
    struct check_recovery *check = user;
    struct slice id;
    uint64_t last;

    for (uint32_t at = 0; book_next(book, &at, &id, &last);)
        for (uint64_t seq = book_first(book, id); seq && seq <= last; seq++)
            add_event(check, id, seq, book_record(book, id, seq));
}

/* The hash that a replay of the first so many events gives. */
static uint64_t hash_before(const struct check_recovery *check, struct slice id, uint64_t events)
{
    const struct prefixes *prefixes = map_get(&check->prefixes, id);

    return events && prefixes && events <= prefixes->hashes.count
               ? prefixes->hashes.items[events - 1]
               : 0;
}

/* A replay behind a snapshot begins with the snapshot's event, or the one after it. The events before
 * it count as in a replay of all events. */
static struct replay *begin(const struct check_recovery *check,
                            const struct journal_request *request, bool is_early)
{
    const struct prefixes *prefixes =
        map_get(&check->prefixes, backend_slice(request, request->id));
    struct replay *replay = mem_alloc(sizeof *replay);

    replay->events = request->from - 1;
    if (request->records.count)
        replay->events = request->records.items[0].seq - 1;
    vec_push(&replay->hashes,
             hash_before(check, backend_slice(request, request->id), replay->events));
    for (uint32_t i = 0; is_early && prefixes && i < prefixes->lost.count; i++)
        if (prefixes->lost.items[i].events == replay->events)
            vec_push(&replay->hashes, prefixes->lost.items[i].hash);
    return replay;
}

static void take_in(struct replay *replay, const struct journal_request *request)
{
    uint64_t key = record_key(backend_slice(request, request->id));

    for (uint32_t i = 0; i < request->records.count; i++) {
        const struct backend_record *stored = &request->records.items[i];
        struct record record;

        (void)record_decode(backend_slice(request, stored->bytes), key,
                            stored->seq,
                            &record); /* another check finds a wrong record */
        for (uint32_t k = 0; k < replay->hashes.count; k++)
            replay->hashes.items[k] =
                check_recovery_fold(replay->hashes.items[k], record.event_type, record.payload);
    }
    replay->events += request->records.count;
    replay->is_whole = !request->more;
}

static void asked(void *user, uint32_t node, const struct journal_request *request)
{
    struct check_recovery *check = user;

    if (request->verb == BACKEND_REPLAY)
        vec_push(&check->asked, ((struct early_replay){ request, node, false }));
}

/* Whether the request began before a server lost commits. */
static bool take_asked(struct check_recovery *check, const struct journal_request *request)
{
    bool is_early = false;

    for (uint32_t i = 0; i < check->asked.count; i++)
        if (check->asked.items[i].request == request) {
            is_early = check->asked.items[i].is_early;
            vec_remove(&check->asked, i);
            break;
        }
    return is_early;
}

/* The first chunk has another number than the one after an earlier replay. A failed replay proves
 * nothing. */
static void answered(void *user, uint32_t node,
                     const struct journal_request *request)
{
    struct check_recovery *check = user;
    struct replay *replay;
    bool is_early;

    if (request->verb != BACKEND_REPLAY)
        return;
    is_early = take_asked(check, request);
    begin_key(check, node);
    buf_put_slice(&check->key, backend_slice(request, request->id));
    replay = take(check);
    if (replay && (replay->is_whole || request->from != replay->events + 1 ||
                   request->result != BACKEND_DONE)) {
        free_replay(replay); /* no entity starts from an earlier one */
        replay = NULL;
    }
    if (request->result != BACKEND_DONE)
        return;
    if (!replay)
        replay = begin(check, request, is_early);
    replay->node = node;
    take_in(replay, request);
    (void)map_put(&check->replays, buf_slice(&check->key),
                  replay); /* was removed */
}

static void node_gone(void *user, uint32_t node)
{
    struct check_recovery *check = user;
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&check->replays, &at, &entry);)
        if (((struct replay *)entry.value)->node == node)
            free_replay(map_take(&check->replays, entry.key));
    for (uint32_t i = 0; i < check->asked.count;)
        if (check->asked.items[i].node == node)
            vec_remove(&check->asked, i);
        else
            i++;
}

/* A server took over that lacks the last commits. Replays on their way may have read them. */
static void rewound(void *user, const struct book *book)
{
    struct check_recovery *check = user;
    struct map_entry entry;

    for (uint32_t i = 0; i < check->asked.count; i++)
        check->asked.items[i].is_early = true;
    for (uint32_t at = 0; map_next(&check->prefixes, &at, &entry);) {
        struct prefixes *prefixes = entry.value;
        uint64_t last = book_last(book, entry.key);

        while (prefixes->hashes.count > last) {
            uint32_t events = prefixes->hashes.count--;

            vec_push(&prefixes->lost,
                     ((struct lost_prefix){ events, prefixes->hashes.items[events - 1] }));
        }
    }
}

struct disk_backend_observer check_recovery_observer(struct check_recovery *check)
{
    return (struct disk_backend_observer){ .user = check,
                                         .asked = asked,
                                         .answered = answered,
                                         .committed = committed,
                                         .opened = opened,
                                         .node_gone = node_gone,
                                         .rewound = rewound };
}

static bool has_hash(const struct replay *replay, uint64_t hash)
{
    for (uint32_t i = 0; i < replay->hashes.count; i++)
        if (replay->hashes.items[i] == hash)
            return true;
    return false;
}

void check_recovery_started(struct check_recovery *check, uint32_t node,
                            const char *type, const char *id, uint64_t events,
                            uint64_t snapshot, uint64_t hash)
{
    struct replay *replay;

    begin_key(check, node);
    buf_put_text(&check->key, type);
    buf_put_u8(&check->key, '|');
    buf_put_text(&check->key, id);
    replay = take(check);
    if (!replay || !replay->is_whole)
        violation(check->verdict, "no-lost-ack", node,
                  "%s of %s starts with %" PRIu64 " events and has had no "
                  "replay",
                  id, type, events);
    else if (replay->events != events)
        violation(check->verdict, "no-lost-ack", node,
                  "%s of %s recovered with %" PRIu64 " events, its replay "
                  "had %" PRIu64,
                  id, type, events, replay->events);
    else if (!has_hash(replay, hash) && snapshot)
        violation(check->verdict, "snapshot-equals-replay", node,
                  "%s of %s has another state by its snapshot of event %" PRIu64
                  " and the rest than by all %" PRIu64 " events",
                  id, type, snapshot, events);
    else if (!has_hash(replay, hash))
        violation(check->verdict, "faithful-replay", node,
                  "%s of %s was given other events than its replay had, or "
                  "in another order; there are %" PRIu64,
                  id, type, events);
    free_replay(replay);
}
