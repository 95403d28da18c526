/* Each entity's history by hashes, fences and terms by name, and what is in
 * doubt between a node and the store. */
#include "sim/check_journal.h"

#include <inttypes.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "journal/record.h"
#include "sim/verdict.h"

struct event {
    uint64_t bytes;   /* hash of the record */
    uint64_t payload; /* hash of the event and its type */
};

/* One persistence id. */
struct history {
    struct slice id;      /* own copy */
    uint64_t key;         /* record_key */
    struct fence fence;   /* of the last record */
    VEC(struct event) events;
};

enum doubt_state {
    DOUBT_OPEN,  /* the outcome is not known */
    DOUBT_ASKED, /* the repetition is out */
    DOUBT_READ   /* the repetition failed: a replay must tell */
};

/* Events of one entity that a node does not know the outcome of. */
struct doubt {
    enum doubt_state state;
    uint32_t node;
    struct slice id; /* own copy */
    uint64_t first;  /* sequence number */
    bool was_read;   /* by another node, which may tell clients */
    VEC(struct event) events;
};

/* A replay on its way. */
struct replaying {
    const struct store_request *request;
    uint32_t node;
    uint64_t last; /* durable when it was asked for */
};

struct check_journal {
    struct verdict *verdict;
    struct map histories; /* persistence id -> struct history */
    struct map fences;    /* type and shard -> struct fence */
    struct map terms;     /* type -> uint64_t */
    struct map doubts;    /* node and persistence id -> struct doubt */
    struct map refused;   /* persistence id, seq, payload's hash -> itself */
    VEC(struct replaying) replays;
    struct buf key;
    struct check_journal_counts counts;
};

#define ID(slice) (int)(slice).size, (const char *)(slice).data

struct check_journal *check_journal_new(struct verdict *verdict)
{
    struct check_journal *check = mem_alloc(sizeof *check);

    check->verdict = verdict;
    return check;
}

static void free_doubt(struct doubt *doubt)
{
    mem_free((void *)(uintptr_t)doubt->id.data);
    vec_fini(&doubt->events);
    mem_free(doubt);
}

static void free_values(struct map *map)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(map, &at, &entry);)
        mem_free(entry.value);
    map_fini(map);
}

void check_journal_free(struct check_journal *check)
{
    struct map_entry entry;

    if (!check)
        return;
    for (uint32_t at = 0; map_next(&check->histories, &at, &entry);) {
        struct history *history = entry.value;

        mem_free((void *)(uintptr_t)history->id.data);
        vec_fini(&history->events);
    }
    free_values(&check->histories);
    for (uint32_t at = 0; map_next(&check->doubts, &at, &entry);)
        free_doubt(entry.value);
    map_fini(&check->doubts);
    free_values(&check->fences);
    free_values(&check->terms);
    map_fini(&check->refused);
    vec_fini(&check->replays);
    buf_fini(&check->key);
    mem_free(check);
}

const struct check_journal_counts *
check_journal_counts(const struct check_journal *check)
{
    return &check->counts;
}

/* ---- the model ---- */

static uint64_t payload_hash(uint32_t event_type, struct slice payload)
{
    return hash_bytes(payload) * UINT64_C(0x9e3779b97f4a7c15) + event_type;
}

static struct history *history_of(struct check_journal *check,
                                  struct slice id)
{
    struct history *history = map_get(&check->histories, id);

    if (!history) {
        history = mem_alloc(sizeof *history);
        history->id = slice_of(mem_copy(id.data, id.size), id.size);
        history->key = record_key(id);
        (void)map_put(&check->histories, id, history); /* was absent */
    }
    return history;
}

static struct fence *fence_of(struct check_journal *check, struct slice type,
                              struct slice shard)
{
    struct fence *fence;

    buf_clear(&check->key);
    buf_put_u32(&check->key, (uint32_t)type.size);
    buf_put_slice(&check->key, type);
    buf_put_slice(&check->key, shard);
    fence = map_get(&check->fences, buf_slice(&check->key));
    if (!fence) {
        fence = mem_alloc(sizeof *fence);
        (void)map_put(&check->fences, buf_slice(&check->key),
                      fence); /* was absent */
    }
    return fence;
}

static uint64_t *term_of(struct check_journal *check, struct slice type)
{
    uint64_t *term = map_get(&check->terms, type);

    if (!term) {
        term = mem_alloc(sizeof *term);
        (void)map_put(&check->terms, type, term); /* was absent */
    }
    return term;
}

/* What a record says; false when it cannot be read. */
static bool look(struct check_journal *check, const struct history *history,
                 uint64_t seq, struct slice bytes, struct event *event,
                 struct fence *fence)
{
    struct record record;
    const char *wrong = record_decode(bytes, history->key, seq, &record);

    event->bytes = hash_bytes(bytes);
    event->payload = payload_hash(record.event_type, record.payload);
    *fence = record.fence;
    if (wrong)
        violation(check->verdict, "I29", VERDICT_NO_NODE,
                  "event %" PRIu64 " of %.*s: %s", seq, ID(history->id),
                  wrong);
    return !wrong;
}

static void add_event(struct check_journal *check, struct history *history,
                      struct slice bytes)
{
    uint64_t seq = history->events.count + 1;
    struct event event;
    struct fence fence;

    if (look(check, history, seq, bytes, &event, &fence)) {
        if (fence_compare(fence, history->fence) < 0)
            violation(check->verdict, "I5", VERDICT_NO_NODE,
                      "event %" PRIu64 " of %.*s is of fence %" PRIu64
                      ".%" PRIu64 ", the one before of %" PRIu64 ".%" PRIu64,
                      seq, ID(history->id), fence.term, fence.epoch,
                      history->fence.term, history->fence.epoch);
        history->fence = fence;
    }
    vec_push(&history->events, event);
    check->counts.events++;
}

/* ---- doubts ---- */

static struct slice doubt_key(struct check_journal *check, uint32_t node,
                              struct slice id)
{
    buf_clear(&check->key);
    buf_put_u32(&check->key, node);
    buf_put_slice(&check->key, id);
    return buf_slice(&check->key);
}

static struct doubt *doubt_of(struct check_journal *check, uint32_t node,
                              struct slice id)
{
    return map_get(&check->doubts, doubt_key(check, node, id));
}

static void end_doubt(struct check_journal *check, struct doubt *doubt)
{
    (void)map_take(&check->doubts,
                   doubt_key(check, doubt->node, doubt->id)); /* it is `doubt` */
    free_doubt(doubt);
}

/* The records of one entity in an append. */
static void records_of(const struct store_request *request, uint32_t entity,
                       uint64_t key, struct doubt *doubt)
{
    for (uint32_t i = 0; i < request->records.count; i++) {
        const struct store_record *stored = &request->records.items[i];
        struct slice bytes = store_slice(request, stored->bytes);
        struct record record;

        if (stored->entity != entity)
            continue;
        if (!doubt->events.count)
            doubt->first = stored->seq;
        (void)record_decode(bytes, key, stored->seq,
                            &record); /* one that is wrong is found elsewhere */
        vec_push(&doubt->events,
                 ((struct event){ hash_bytes(bytes),
                                  payload_hash(record.event_type,
                                               record.payload) }));
    }
}

static bool same_records(const struct doubt *left, const struct doubt *right)
{
    if (left->first != right->first ||
        left->events.count != right->events.count)
        return false;
    for (uint32_t i = 0; i < left->events.count; i++)
        if (left->events.items[i].bytes != right->events.items[i].bytes)
            return false;
    return true;
}

static void open_doubt(struct check_journal *check, uint32_t node,
                       const struct store_request *request, uint32_t entity)
{
    struct slice id =
        store_slice(request, request->entities.items[entity].id);
    struct doubt *doubt = doubt_of(check, node, id);

    check->counts.unknown++;
    if (doubt) {
        doubt->state = DOUBT_OPEN;
        return;
    }
    doubt = mem_alloc(sizeof *doubt);
    doubt->node = node;
    doubt->id = slice_of(mem_copy(id.data, id.size), id.size);
    records_of(request, entity, record_key(id), doubt);
    if (!doubt->events.count) {
        free_doubt(doubt);
        return;
    }
    (void)map_put(&check->doubts, doubt_key(check, node, id),
                  doubt); /* was absent */
}

/* ---- asked ---- */

static void append_asked(struct check_journal *check, uint32_t node,
                         const struct store_request *request)
{
    for (uint32_t i = 0; i < request->entities.count; i++) {
        struct slice id = store_slice(request, request->entities.items[i].id);
        struct doubt *doubt = doubt_of(check, node, id);
        struct doubt asked = { 0 };

        if (!doubt)
            continue;
        records_of(request, i, record_key(id), &asked);
        if (!asked.events.count)
            ; /* named, but all its events were dropped */
        else if (doubt->state != DOUBT_READ && request->again &&
                 same_records(doubt, &asked))
            doubt->state = DOUBT_ASKED;
        else
            violation(check->verdict, "I31", node,
                      "event %" PRIu64 " of %.*s is written before the "
                      "outcome of event %" PRIu64 " was read back",
                      asked.first, ID(id), doubt->first);
        vec_fini(&asked.events);
    }
}

static void asked(void *user, uint32_t node,
                  const struct store_request *request)
{
    struct check_journal *check = user;

    if (request->verb == STORE_APPEND) {
        append_asked(check, node, request);
    } else if (request->verb == STORE_REPLAY) {
        const struct history *history =
            map_get(&check->histories, store_slice(request, request->id));

        vec_push(&check->replays,
                 ((struct replaying){
                     request, node, history ? history->events.count : 0 }));
    }
}

/* ---- answered ---- */

static struct slice refused_key(struct check_journal *check, struct slice id,
                                uint64_t seq, uint64_t payload)
{
    buf_clear(&check->key);
    buf_put_u64(&check->key, seq);
    buf_put_u64(&check->key, payload);
    buf_put_slice(&check->key, id);
    return buf_slice(&check->key);
}

static void refuse(struct check_journal *check,
                   const struct store_request *request, uint32_t entity)
{
    struct slice id =
        store_slice(request, request->entities.items[entity].id);
    struct doubt events = { 0 };

    check->counts.refused++;
    records_of(request, entity, record_key(id), &events);
    for (uint32_t i = 0; i < events.events.count; i++)
        (void)map_put(&check->refused,
                      refused_key(check, id, events.first + i,
                                  events.events.items[i].payload),
                      check); /* a set */
    vec_fini(&events.events);
}

/* What is answered as stored is durable. */
static void stored(struct check_journal *check, uint32_t node,
                   const struct store_request *request, uint32_t entity)
{
    struct slice id =
        store_slice(request, request->entities.items[entity].id);
    const struct history *history = history_of(check, id);

    for (uint32_t i = 0; i < request->records.count; i++) {
        const struct store_record *record = &request->records.items[i];

        if (record->entity == entity &&
            (record->seq == 0 || record->seq > history->events.count ||
             history->events.items[record->seq - 1].bytes !=
                 hash_bytes(store_slice(request, record->bytes))))
            violation(check->verdict, "I4", node,
                      "event %" PRIu64 " of %.*s is answered as stored and "
                      "is not durable",
                      record->seq, ID(id));
    }
}

static void append_answered(struct check_journal *check, uint32_t node,
                            const struct store_request *request)
{
    for (uint32_t i = 0; i < request->entities.count; i++) {
        const struct store_entity *entity = &request->entities.items[i];
        struct doubt *doubt =
            doubt_of(check, node, store_slice(request, entity->id));

        switch (entity->result) {
        case STORE_DONE:
            stored(check, node, request, i);
            break;
        case STORE_FENCED:
        case STORE_CONFLICT:
            refuse(check, request, i);
            break;
        case STORE_FAILED:
            /* Of a repetition it says nothing about the first one. */
            if (doubt)
                doubt->state = DOUBT_READ;
            else
                refuse(check, request, i);
            continue;
        case STORE_PENDING:
        case STORE_UNKNOWN:
            open_doubt(check, node, request, i);
            continue;
        }
        if (doubt && doubt->state == DOUBT_ASKED)
            end_doubt(check, doubt);
    }
}

/* Records of a replay: one after the other, as they were stored. */
static void compare_replay(struct check_journal *check, uint32_t node,
                           const struct store_request *request,
                           const struct history *history)
{
    uint64_t seq = request->from ? request->from : 1;

    for (uint32_t i = 0; i < request->records.count; i++, seq++) {
        const struct store_record *record = &request->records.items[i];

        if (record->seq != seq) {
            violation(check->verdict, "I30", node,
                      "a replay of %.*s has event %" PRIu64
                      " in the place of %" PRIu64,
                      ID(history->id), record->seq, seq);
            return;
        }
        if (seq > history->events.count)
            violation(check->verdict, "I29", node,
                      "a replay of %.*s has event %" PRIu64
                      ", which is not durable",
                      ID(history->id), seq);
        else if (history->events.items[seq - 1].bytes !=
                 hash_bytes(store_slice(request, record->bytes)))
            violation(check->verdict, "I29", node,
                      "a replay of %.*s has another event %" PRIu64
                      " than was stored",
                      ID(history->id), seq);
    }
}

/* Who has read an outcome knows it, and may tell clients. */
static void outcome_read(struct check_journal *check, uint32_t node,
                         struct slice id, uint64_t last)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&check->doubts, &at, &entry);) {
        struct doubt *doubt = entry.value;

        if (!slice_equal(doubt->id, id))
            continue;
        if (doubt->node != node)
            doubt->was_read |= last >= doubt->first;
        else if (doubt->state == DOUBT_READ)
            end_doubt(check, doubt);
    }
}

static void replay_answered(struct check_journal *check, uint32_t node,
                            const struct store_request *request)
{
    struct slice id = store_slice(request, request->id);
    uint64_t known = 0;
    uint64_t next = (request->from ? request->from : 1) +
                    request->records.count;

    for (uint32_t i = 0; i < check->replays.count; i++)
        if (check->replays.items[i].request == request) {
            known = check->replays.items[i].last;
            vec_remove(&check->replays, i);
            break;
        }
    if (request->result != STORE_DONE)
        return;
    check->counts.replays++;
    compare_replay(check, node, request, history_of(check, id));
    if (request->more)
        return;
    if (next <= known)
        violation(check->verdict, "I30", node,
                  "a replay of %.*s ends before event %" PRIu64
                  ", %" PRIu64 " were durable",
                  ID(id), next, known);
    outcome_read(check, node, id, next - 1);
}

static void answered(void *user, uint32_t node,
                     const struct store_request *request)
{
    struct check_journal *check = user;

    if (request->verb == STORE_APPEND) {
        append_answered(check, node, request);
    } else if (request->verb == STORE_REPLAY) {
        replay_answered(check, node, request);
    } else if (request->result == STORE_DONE &&
               request->verb == STORE_CLAIM) {
        if (fence_compare(*fence_of(check, store_slice(request, request->type),
                                    store_slice(request, request->shard)),
                          request->fence) < 0)
            violation(check->verdict, "I5", node,
                      "fence %" PRIu64 ".%" PRIu64
                      " of shard %.*s is answered as claimed and is not "
                      "durable",
                      request->fence.term, request->fence.epoch,
                      ID(store_slice(request, request->shard)));
    } else if (request->result == STORE_DONE &&
               *term_of(check, store_slice(request, request->type)) <
                   request->fence.term) {
        violation(check->verdict, "I10", node,
                  "term %" PRIu64 " of %.*s is given and is not durable",
                  request->fence.term,
                  ID(store_slice(request, request->type)));
    }
}

static void node_gone(void *user, uint32_t node)
{
    struct check_journal *check = user;
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&check->doubts, &at, &entry);)
        if (((struct doubt *)entry.value)->node == node)
            end_doubt(check, entry.value);
    for (uint32_t i = 0; i < check->replays.count;)
        if (check->replays.items[i].node == node)
            vec_remove(&check->replays, i);
        else
            i++;
}

/* ---- durable ---- */

static void record_committed(struct check_journal *check,
                             const struct store_request *request,
                             const struct store_record *record)
{
    const struct store_entity *entity =
        &request->entities.items[record->entity];
    const struct store_shard *shard = &request->shards.items[entity->shard];
    struct history *history =
        history_of(check, store_slice(request, entity->id));
    struct slice bytes = store_slice(request, record->bytes);
    const struct fence *fence;
    uint64_t last = history->events.count;

    if (record->seq > 0 && record->seq <= last) {
        if (!request->again || history->events.items[record->seq - 1].bytes !=
                                   hash_bytes(bytes))
            violation(check->verdict, "I30", VERDICT_NO_NODE,
                      "event %" PRIu64 " of %.*s is stored twice",
                      record->seq, ID(history->id));
        return;
    }
    if (record->seq != last + 1)
        violation(check->verdict, "I30", VERDICT_NO_NODE,
                  "event %" PRIu64 " of %.*s is stored after event %" PRIu64,
                  record->seq, ID(history->id), last);
    fence = fence_of(check, store_slice(request, shard->type),
                     store_slice(request, shard->shard));
    if (fence_compare(shard->fence, *fence) < 0)
        violation(check->verdict, "I5", VERDICT_NO_NODE,
                  "event %" PRIu64 " of %.*s is stored under fence %" PRIu64
                  ".%" PRIu64 ", its shard has %" PRIu64 ".%" PRIu64,
                  record->seq, ID(history->id), shard->fence.term,
                  shard->fence.epoch, fence->term, fence->epoch);
    add_event(check, history, bytes);
}

static void claim_committed(struct check_journal *check,
                            const struct store_request *request)
{
    struct slice shard = store_slice(request, request->shard);
    struct fence *fence =
        fence_of(check, store_slice(request, request->type), shard);

    if (request->result != STORE_DONE)
        return;
    if (fence_compare(request->fence, *fence) < 0)
        violation(check->verdict, "I5", VERDICT_NO_NODE,
                  "shard %.*s is claimed with fence %" PRIu64 ".%" PRIu64
                  ", it has %" PRIu64 ".%" PRIu64,
                  ID(shard), request->fence.term, request->fence.epoch,
                  fence->term, fence->epoch);
    *fence = request->fence;
}

static void term_committed(struct check_journal *check,
                           const struct store_request *request)
{
    struct slice type = store_slice(request, request->type);
    uint64_t *term = term_of(check, type);

    if (request->fence.term <= *term)
        violation(check->verdict, "I10", VERDICT_NO_NODE,
                  "term %" PRIu64 " of %.*s is given after term %" PRIu64,
                  request->fence.term, ID(type), *term);
    *term = request->fence.term;
}

/* What the store holds now is what the model says. */
static void compare_append(struct check_journal *check,
                           const struct book *book,
                           const struct store_request *request)
{
    for (uint32_t i = 0; i < request->records.count; i++) {
        const struct store_record *record = &request->records.items[i];
        const struct store_entity *entity =
            &request->entities.items[record->entity];
        struct slice id = store_slice(request, entity->id);

        if (entity->result == STORE_DONE &&
            !slice_equal(book_record(book, id, record->seq),
                         store_slice(request, record->bytes)))
            violation(check->verdict, "I4", VERDICT_NO_NODE,
                      "event %" PRIu64 " of %.*s is committed and the "
                      "journal has not got it",
                      record->seq, ID(id));
    }
}

static void committed(void *user, const struct book *book,
                      struct store_request *const *requests, uint32_t count)
{
    struct check_journal *check = user;

    for (uint32_t i = 0; i < count; i++) {
        const struct store_request *request = requests[i];

        if (request->verb == STORE_CLAIM)
            claim_committed(check, request);
        else if (request->verb == STORE_TAKE_TERM)
            term_committed(check, request);
        for (uint32_t j = 0; j < request->records.count; j++) {
            const struct store_record *record = &request->records.items[j];

            if (request->entities.items[record->entity].result ==
                STORE_DONE)
                record_committed(check, request, record);
        }
    }
    for (uint32_t i = 0; i < count; i++)
        compare_append(check, book, requests[i]);
}

/* ---- scans ---- */

static void scan_history(struct check_journal *check, const struct book *book,
                         struct history *history)
{
    uint64_t last = book_last(book, history->id);
    uint32_t known = history->events.count;

    if (last < known)
        violation(check->verdict, "I4", VERDICT_NO_NODE,
                  "%.*s has %" PRIu64 " events, %u were durable",
                  ID(history->id), last, known);
    for (uint32_t i = 0; i < known && i < last; i++) {
        struct slice bytes = book_record(book, history->id, i + 1);

        if (hash_bytes(bytes) != history->events.items[i].bytes)
            violation(check->verdict, "I4", VERDICT_NO_NODE,
                      "event %u of %.*s is another one than was stored",
                      i + 1, ID(history->id));
    }
    for (uint64_t seq = known + 1; seq <= last; seq++) {
        add_event(check, history, book_record(book, history->id, seq));
        check->counts.found++;
    }
    while (history->events.count > last) {
        history->events.count--; /* told once */
        check->counts.events--;
    }
}

static void scan_fences(struct check_journal *check, const struct book *book)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&check->fences, &at, &entry);) {
        struct cursor cursor = cursor_of(entry.key);
        uint32_t size = cursor_u32(&cursor);
        struct slice type = cursor_slice(&cursor, size);
        struct slice shard = cursor_slice(&cursor, cursor_left(&cursor));
        struct fence *fence = entry.value;
        struct fence held = book_fence(book, type, shard);

        if (fence_compare(held, *fence) < 0)
            violation(check->verdict, "I5", VERDICT_NO_NODE,
                      "the fence of shard %.*s of %.*s goes back from "
                      "%" PRIu64 ".%" PRIu64 " to %" PRIu64 ".%" PRIu64,
                      ID(shard), ID(type), fence->term, fence->epoch,
                      held.term, held.epoch);
        *fence = held;
    }
    for (uint32_t at = 0; map_next(&check->terms, &at, &entry);) {
        uint64_t *term = entry.value;
        uint64_t held = book_term(book, entry.key);

        if (held < *term)
            violation(check->verdict, "I10", VERDICT_NO_NODE,
                      "the term of %.*s goes back from %" PRIu64
                      " to %" PRIu64,
                      ID(entry.key), *term, held);
        *term = held;
    }
}

void check_journal_scan(struct check_journal *check, const struct book *book)
{
    struct map_entry entry;
    struct slice id;
    uint64_t last;

    check->counts.scans++;
    for (uint32_t at = 0; book_next(book, &at, &id, &last);)
        (void)history_of(check, id); /* it is there */
    for (uint32_t at = 0; map_next(&check->histories, &at, &entry);)
        scan_history(check, book, entry.value);
    scan_fences(check, book);
}

static void opened(void *user, const struct book *book)
{
    check_journal_scan(user, book);
}

/* ---- clients ---- */

static const struct doubt *doubt_about(const struct check_journal *check,
                                       struct slice id, uint64_t seq,
                                       uint64_t payload)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&check->doubts, &at, &entry);) {
        const struct doubt *doubt = entry.value;

        if (!doubt->was_read && slice_equal(doubt->id, id) &&
            seq >= doubt->first && seq - doubt->first < doubt->events.count &&
            doubt->events.items[seq - doubt->first].payload == payload)
            return doubt;
    }
    return NULL;
}

void check_journal_acknowledged(void *user, const char *type, const char *id,
                                uint64_t seq, uint32_t event_type,
                                struct slice event)
{
    struct check_journal *check = user;
    uint64_t payload = payload_hash(event_type, event);
    const struct history *history;
    const struct doubt *doubt;
    struct buf name = { 0 };

    check->counts.acknowledged++;
    buf_put_text(&name, type);
    buf_put_u8(&name, '|');
    buf_put_text(&name, id);
    history = history_of(check, buf_slice(&name));
    buf_fini(&name);
    doubt = doubt_about(check, history->id, seq, payload);
    if (doubt)
        violation(check->verdict, "I31", doubt->node,
                  "event %" PRIu64 " of %.*s is acknowledged before its "
                  "outcome was read back",
                  seq, ID(history->id));
    if (seq > 0 && seq <= history->events.count &&
        history->events.items[seq - 1].payload == payload)
        return;
    if (map_get(&check->refused,
                refused_key(check, history->id, seq, payload)))
        violation(check->verdict, "I5", VERDICT_NO_NODE,
                  "event %" PRIu64 " of %.*s is acknowledged, and was refused",
                  seq, ID(history->id));
    else
        violation(check->verdict, "I4", VERDICT_NO_NODE,
                  "event %" PRIu64 " of %.*s is acknowledged and is not "
                  "durable; %u are",
                  seq, ID(history->id), history->events.count);
}

struct disk_store_observer check_journal_observer(struct check_journal *check)
{
    return (struct disk_store_observer){ check,     asked,  answered,
                                         committed, opened, node_gone };
}
