/* Judges a journal's requests, answers and content by the model. */
#include "sim/check/check_journal_model.h"

#include <inttypes.h>

#include "base/check.h"
#include "base/hash.h"
#include "journal/record.h"
#include "sim/world/verdict.h"

struct check_journal *check_journal_new(struct verdict *verdict)
{
    struct check_journal *check = mem_alloc(sizeof *check);

    check->verdict = verdict;
    return check;
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
    for (uint32_t at = 0; map_next(&check->uncertain_writes, &at, &entry);)
        uncertain_free(entry.value);
    map_fini(&check->uncertain_writes);
    free_values(&check->fences);
    free_values(&check->terms);
    map_fini(&check->refused);
    map_fini(&check->lost);
    vec_fini(&check->replays);
    buf_fini(&check->key);
    mem_free(check);
}

const struct check_journal_counts *
check_journal_counts(const struct check_journal *check)
{
    return &check->counts;
}

/* ---- requests ---- */

static void append_asked(struct check_journal *check, uint32_t node,
                         const struct journal_request *request)
{
    for (uint32_t i = 0; i < request->entities.count; i++) {
        struct slice id = backend_slice(request, request->entities.items[i].id);
        struct uncertain_write *uncertain = uncertain_find(check, node, id);
        struct uncertain_write asked = { 0 };

        if (!uncertain)
            continue;
        uncertain_records(request, i, record_key(id), &asked);
        if (!asked.events.count)
            ; /* named, but all its events were dropped */
        else if (uncertain->state != DOUBT_READ && request->again &&
                 uncertain_equal(uncertain, &asked))
            uncertain->state = DOUBT_ASKED;
        else
            violation(check->verdict, "unknown-outcome", node,
                      "event %" PRIu64 " of %.*s is written before the "
                      "outcome of event %" PRIu64 " was read back",
                      asked.first, ID(id), uncertain->first);
        vec_fini(&asked.events);
    }
}

static void asked(void *user, uint32_t node,
                  const struct journal_request *request)
{
    struct check_journal *check = user;

    if (request->verb == BACKEND_APPEND) {
        append_asked(check, node, request);
    } else if (request->verb == BACKEND_REPLAY) {
        const struct history *history =
            map_get(&check->histories, backend_slice(request, request->id));

        vec_push(&check->replays,
                 ((struct replaying){ .request = request, .node = node,
                                      .last = history ? history->events.count : 0 }));
    }
}

/* ---- answers ---- */

static void refuse(struct check_journal *check,
                   const struct journal_request *request, uint32_t entity)
{
    struct slice id =
        backend_slice(request, request->entities.items[entity].id);
    struct uncertain_write events = { 0 };

    check->counts.refused++;
    uncertain_records(request, entity, record_key(id), &events);
    for (uint32_t i = 0; i < events.events.count; i++)
        (void)map_put(&check->refused,
                      model_event_key(check, id, events.first + i,
                                  events.events.items[i].payload),
                      check); /* a set */
    vec_fini(&events.events);
}

static void stored(struct check_journal *check, uint32_t node,
                   const struct journal_request *request, uint32_t entity)
{
    struct slice id =
        backend_slice(request, request->entities.items[entity].id);
    const struct history *history = model_history(check, id);

    for (uint32_t i = 0; i < request->records.count; i++) {
        const struct backend_record *record = &request->records.items[i];

        uint64_t hash = hash_bytes(backend_slice(request, record->bytes));

        if (record->entity == entity &&
            (record->seq == 0 || record->seq > history->events.count ||
             history->events.items[record->seq - 1].bytes != hash) &&
            !model_is_lost(check, id, record->seq, hash))
            violation(check->verdict, "no-lost-ack", node,
                      "event %" PRIu64 " of %.*s is answered as stored and "
                      "is not durable",
                      record->seq, ID(id));
    }
}

static void append_answered(struct check_journal *check, uint32_t node,
                            const struct journal_request *request)
{
    for (uint32_t i = 0; i < request->entities.count; i++) {
        const struct backend_entity *entity = &request->entities.items[i];
        struct uncertain_write *uncertain =
            uncertain_find(check, node, backend_slice(request, entity->id));

        switch (entity->result) {
        case BACKEND_DONE:
            stored(check, node, request, i);
            break;
        case BACKEND_FENCED:
        case BACKEND_CONFLICT:
        case BACKEND_OTHER_STORE: /* only of claims */
            check->counts.fenced += entity->result == BACKEND_FENCED;
            refuse(check, request, i);
            break;
        case BACKEND_FAILED:
            /* A repetition's answer says nothing about the first request. */
            if (uncertain)
                uncertain->state = DOUBT_READ;
            else
                refuse(check, request, i);
            continue;
        case BACKEND_PENDING:
        case BACKEND_UNKNOWN:
            uncertain_open(check, node, request, i);
            continue;
        }
        if (uncertain && uncertain->state == DOUBT_ASKED)
            uncertain_end(check, uncertain);
    }
}

/* The first record that a replay must have. A request for the last record alone gets its number. A
 * shard's stream may begin later, where a newer owner deleted what its base replaces, and an entity's
 * where events behind a snapshot were deleted. */
static uint64_t first_wanted(const struct check_journal *check,
                             const struct journal_request *request, uint64_t trimmed)
{
    const struct history *history =
        map_get(&check->histories, backend_slice(request, request->id));
    uint64_t from = request->from ? request->from : 1;
    uint64_t first =
        request->records.count ? request->records.items[0].seq : 1;
    bool is_stream = backend_slice(request, request->id).data[0] == '|';

    if (history && trimmed < history->trimmed)
        trimmed = history->trimmed;
    if (first > from && first <= trimmed)
        return first;
    return from == BACKEND_LAST || (is_stream && first > from) ? first : from;
}

/* A replay has consecutive records, as stored. */
static void compare_replay(struct check_journal *check, uint32_t node,
                           const struct journal_request *request,
                           const struct history *history, uint64_t seq)
{
    for (uint32_t i = 0; i < request->records.count; i++, seq++) {
        const struct backend_record *record = &request->records.items[i];
        uint64_t hash = hash_bytes(backend_slice(request, record->bytes));
        bool is_durable = seq <= history->events.count;

        if (record->seq != seq) {
            violation(check->verdict, "gapless-sequence", node,
                      "a replay of %.*s has event %" PRIu64
                      " in the place of %" PRIu64,
                      ID(history->id), record->seq, seq);
            return;
        }
        if (is_durable && history->events.items[seq - 1].bytes == hash)
            continue;
        if (model_is_lost(check, history->id, seq, hash))
            continue; /* it was read before */
        if (!is_durable)
            violation(check->verdict, "faithful-replay", node,
                      "a replay of %.*s has event %" PRIu64
                      ", which is not durable",
                      ID(history->id), seq);
        else
            violation(check->verdict, "faithful-replay", node,
                      "a replay of %.*s has another event %" PRIu64
                      " than was stored",
                      ID(history->id), seq);
    }
}

/* A node that read an outcome knows it, and may report it to clients. */
static void outcome_read(struct check_journal *check, uint32_t node,
                         struct slice id, uint64_t last)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&check->uncertain_writes, &at, &entry);) {
        struct uncertain_write *uncertain = entry.value;

        if (!slice_equal(uncertain->id, id))
            continue;
        if (uncertain->node != node)
            uncertain->was_read |= last >= uncertain->first;
        else if (uncertain->state == DOUBT_READ)
            uncertain_end(check, uncertain);
    }
}

static void replay_answered(struct check_journal *check, uint32_t node,
                            const struct journal_request *request)
{
    struct slice id = backend_slice(request, request->id);
    struct replaying known = { 0 };
    uint64_t first, next;

    for (uint32_t i = 0; i < check->replays.count; i++)
        if (check->replays.items[i].request == request) {
            known = check->replays.items[i];
            vec_remove(&check->replays, i);
            break;
        }
    first = first_wanted(check, request, known.trimmed);
    next = first + request->records.count;
    if (request->result != BACKEND_DONE)
        return;
    check->counts.replays++;
    if (request->records.count) /* most entities have no events and get no history */
        compare_replay(check, node, request, model_history(check, id), first);
    if (request->more)
        return;
    if (next <= known.last)
        violation(check->verdict, "gapless-sequence", node,
                  "a replay of %.*s ends before event %" PRIu64
                  ", %" PRIu64 " were durable",
                  ID(id), next, known.last);
    outcome_read(check, node, id, next - 1);
}

static void answered(void *user, uint32_t node,
                     const struct journal_request *request)
{
    struct check_journal *check = user;

    check->counts.fenced += request->verb == BACKEND_CLAIM &&
                            request->result == BACKEND_FENCED;
    if (request->verb == BACKEND_APPEND) {
        append_answered(check, node, request);
    } else if (request->verb == BACKEND_REPLAY) {
        replay_answered(check, node, request);
    } else if (request->result == BACKEND_DONE &&
               request->verb == BACKEND_CLAIM) {
        const struct shard_fence *fence =
            model_fence(check, backend_slice(request, request->type),
                        backend_slice(request, request->shard));

        if (fence_compare(fence->now, request->fence) < 0 &&
            fence_compare(fence->lost, request->fence) < 0)
            violation(check->verdict, "fenced-writes", node,
                      "fence %" PRIu64 ".%" PRIu64
                      " of shard %.*s is answered as claimed and is not "
                      "durable",
                      request->fence.term, request->fence.epoch,
                      ID(backend_slice(request, request->shard)));
    } else if (request->verb == BACKEND_TAKE_TERM && request->result == BACKEND_DONE) {
        const struct type_term *term =
            model_term(check, backend_slice(request, request->type));

        if (term->now < request->fence.term && term->lost < request->fence.term)
            violation(check->verdict, "coordinator-state", node,
                      "term %" PRIu64 " of %.*s is given and is not durable",
                      request->fence.term,
                      ID(backend_slice(request, request->type)));
    }
}

static void node_gone(void *user, uint32_t node)
{
    struct check_journal *check = user;
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&check->uncertain_writes, &at, &entry);)
        if (((struct uncertain_write *)entry.value)->node == node)
            uncertain_end(check, entry.value);
    for (uint32_t i = 0; i < check->replays.count;)
        if (check->replays.items[i].node == node)
            vec_remove(&check->replays, i);
        else
            i++;
}

/* ---- durable events ---- */

static void record_committed(struct check_journal *check,
                             const struct journal_request *request,
                             const struct backend_record *record)
{
    const struct backend_entity *entity =
        &request->entities.items[record->entity];
    const struct backend_shard *shard = &request->shards.items[entity->shard];
    struct history *history =
        model_history(check, backend_slice(request, entity->id));
    struct slice bytes = backend_slice(request, record->bytes);
    struct fence fence;
    uint64_t last = history->events.count;

    if (record->seq > 0 && record->seq <= last) {
        if (!request->again || history->events.items[record->seq - 1].bytes !=
                                   hash_bytes(bytes))
            violation(check->verdict, "gapless-sequence", VERDICT_NO_NODE,
                      "event %" PRIu64 " of %.*s is stored twice",
                      record->seq, ID(history->id));
        return;
    }
    if (record->seq != last + 1)
        violation(check->verdict, "gapless-sequence", VERDICT_NO_NODE,
                  "event %" PRIu64 " of %.*s is stored after event %" PRIu64,
                  record->seq, ID(history->id), last);
    fence = model_fence(check, backend_slice(request, shard->type),
                        backend_slice(request, shard->shard))->now;
    if (fence_compare(shard->fence, fence) < 0)
        violation(check->verdict, "fenced-writes", VERDICT_NO_NODE,
                  "event %" PRIu64 " of %.*s is stored under fence %" PRIu64
                  ".%" PRIu64 ", its shard has %" PRIu64 ".%" PRIu64,
                  record->seq, ID(history->id), shard->fence.term,
                  shard->fence.epoch, fence.term, fence.epoch);
    model_add_event(check, history, bytes);
}

static void claim_committed(struct check_journal *check,
                            const struct journal_request *request)
{
    struct slice shard = backend_slice(request, request->shard);
    struct fence *fence =
        &model_fence(check, backend_slice(request, request->type), shard)->now;

    if (request->result != BACKEND_DONE)
        return;
    if (fence_compare(request->fence, *fence) < 0)
        violation(check->verdict, "fenced-writes", VERDICT_NO_NODE,
                  "shard %.*s is claimed with fence %" PRIu64 ".%" PRIu64
                  ", it has %" PRIu64 ".%" PRIu64,
                  ID(shard), request->fence.term, request->fence.epoch,
                  fence->term, fence->epoch);
    *fence = request->fence;
}

static void term_committed(struct check_journal *check,
                           const struct journal_request *request)
{
    struct slice type = backend_slice(request, request->type);
    uint64_t *term = &model_term(check, type)->now;

    if (request->fence.term <= *term)
        violation(check->verdict, "coordinator-state", VERDICT_NO_NODE,
                  "term %" PRIu64 " of %.*s is given after term %" PRIu64,
                  request->fence.term, ID(type), *term);
    *term = request->fence.term;
}

static void compare_append(struct check_journal *check,
                           const struct book *book,
                           const struct journal_request *request)
{
    for (uint32_t i = 0; i < request->records.count; i++) {
        const struct backend_record *record = &request->records.items[i];
        const struct backend_entity *entity =
            &request->entities.items[record->entity];
        struct slice id = backend_slice(request, entity->id);

        if (entity->result == BACKEND_DONE &&
            !slice_equal(book_record(book, id, record->seq),
                         backend_slice(request, record->bytes)))
            violation(check->verdict, "no-lost-ack", VERDICT_NO_NODE,
                      "event %" PRIu64 " of %.*s is committed and the "
                      "journal has not got it",
                      record->seq, ID(id));
    }
}

/* Tells whether a snapshot that can be read replaces all events below this one. */
static bool is_replaced(const struct book *book, const struct history *history, uint64_t first)
{
    struct image image = { BACKEND_NEWEST, { 0 } };
    struct snapshot snapshot;

    for (uint64_t up_to = BACKEND_NEWEST; book_image(book, history->id, up_to, &image);
         up_to = image.seq - 1)
        if (image.seq + 1 >= first && !snapshot_decode(image.bytes, history->key, image.seq, &snapshot))
            return true;
    return false;
}

/* Events behind a snapshot were deleted. */
static void trim_committed(struct check_journal *check, const struct book *book,
                           const struct journal_request *request)
{
    struct history *history = model_history(check, backend_slice(request, request->id));
    uint64_t first = book_first(book, history->id);

    if (request->result != BACKEND_DONE)
        return;
    if (first > 1 && !is_replaced(book, history, first))
        violation(check->verdict, "retained-state", VERDICT_NO_NODE,
                  "events of %.*s below %" PRIu64 " are deleted, and no snapshot has them",
                  ID(history->id), first);
    if (first > history->trimmed)
        history->trimmed = first;
}

/* A snapshot is of a durable event. */
static void save_committed(struct check_journal *check, const struct book *book,
                           const struct journal_request *request)
{
    struct history *history = model_history(check, backend_slice(request, request->id));
    uint64_t seq = request->records.items[0].seq;

    if (request->result == BACKEND_DONE && seq > book_last(book, history->id))
        violation(check->verdict, "retained-state", VERDICT_NO_NODE,
                  "a snapshot of event %" PRIu64 " of %.*s is stored before its event", seq,
                  ID(history->id));
}

static void committed(void *user, const struct book *book,
                      struct journal_request *const *requests, uint32_t count)
{
    struct check_journal *check = user;

    for (uint32_t i = 0; i < count; i++) {
        const struct journal_request *request = requests[i];

        if (request->verb == BACKEND_CLAIM)
            claim_committed(check, request);
        else if (request->verb == BACKEND_TAKE_TERM)
            term_committed(check, request);
        else if (request->verb == BACKEND_TRIM)
            trim_committed(check, book, request);
        else if (request->verb == BACKEND_SAVE)
            save_committed(check, book, request);
        for (uint32_t j = 0; request->verb == BACKEND_APPEND &&
                             j < request->records.count; j++) {
            const struct backend_record *record = &request->records.items[j];

            if (request->entities.items[record->entity].result ==
                BACKEND_DONE)
                record_committed(check, request, record);
        }
    }
    for (uint32_t i = 0; i < count; i++)
        if (requests[i]->verb == BACKEND_APPEND)
            compare_append(check, book, requests[i]);
}

/* ---- scans ---- */

/* Only records that a base or a snapshot replaced are deleted. The newest record of a shard's stream
 * says up to where. */
static bool is_whole(const struct book *book, const struct history *history)
{
    uint64_t first = book_first(book, history->id);
    uint64_t last = book_last(book, history->id);
    struct record record;

    if (first <= 1)
        return true;
    if (history->id.data[0] != '|')
        return is_replaced(book, history, first);
    return !record_decode(book_record(book, history->id, last), history->key,
                          last, &record) &&
           record.event_type <= last - first;
}

static void scan_history(struct check_journal *check, const struct book *book,
                         struct history *history)
{
    uint64_t last = book_last(book, history->id);
    uint64_t first = book_first(book, history->id);
    uint32_t known = history->events.count;

    if (!is_whole(book, history))
        violation(check->verdict, "no-lost-ack", VERDICT_NO_NODE,
                  "the first %" PRIu64
                  " events of %.*s are deleted, and are needed",
                  first - 1, ID(history->id));

    if (last < known)
        violation(check->verdict, "no-lost-ack", VERDICT_NO_NODE,
                  "%.*s has %" PRIu64 " events, %u were durable",
                  ID(history->id), last, known);
    for (uint32_t i = first ? (uint32_t)first - 1 : 0; i < known && i < last;
         i++) {
        struct slice bytes = book_record(book, history->id, i + 1);

        if (hash_bytes(bytes) != history->events.items[i].bytes)
            violation(check->verdict, "no-lost-ack", VERDICT_NO_NODE,
                      "event %u of %.*s is another one than was stored",
                      i + 1, ID(history->id));
    }
    for (uint64_t seq = known + 1; seq <= last; seq++) {
        model_add_event(check, history, book_record(book, history->id, seq));
        check->counts.found++;
    }
    while (history->events.count > last) {
        history->events.count--; /* reported once */
        check->counts.events--;
    }
}

static void scan_fences(struct check_journal *check, const struct book *book)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&check->fences, &at, &entry);) {
        struct fence *fence = &((struct shard_fence *)entry.value)->now;
        struct slice type, shard;
        struct fence held;

        model_fence_key(entry.key, &type, &shard);
        held = book_fence(book, type, shard);
        if (fence_compare(held, *fence) < 0)
            violation(check->verdict, "fenced-writes", VERDICT_NO_NODE,
                      "the fence of shard %.*s of %.*s goes back from "
                      "%" PRIu64 ".%" PRIu64 " to %" PRIu64 ".%" PRIu64,
                      ID(shard), ID(type), fence->term, fence->epoch,
                      held.term, held.epoch);
        *fence = held;
    }
    for (uint32_t at = 0; map_next(&check->terms, &at, &entry);) {
        uint64_t *term = &((struct type_term *)entry.value)->now;
        uint64_t held = book_term(book, entry.key);

        if (held < *term)
            violation(check->verdict, "coordinator-state", VERDICT_NO_NODE,
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
        (void)model_history(check, id); /* it exists now */
    for (uint32_t at = 0; map_next(&check->histories, &at, &entry);)
        scan_history(check, book, entry.value);
    scan_fences(check, book);
}

static void opened(void *user, const struct book *book)
{
    check_journal_scan(user, book);
}

static void rewound(void *user, const struct book *book)
{
    model_rewind(user, book);
}

/* ---- clients ---- */

static const struct uncertain_write *uncertain_about(const struct check_journal *check,
                                                     struct slice id, uint64_t seq,
                                                     uint64_t payload)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&check->uncertain_writes, &at, &entry);) {
        const struct uncertain_write *uncertain = entry.value;

        if (!uncertain->was_read && slice_equal(uncertain->id, id) &&
            seq >= uncertain->first && seq - uncertain->first < uncertain->events.count &&
            uncertain->events.items[seq - uncertain->first].payload == payload)
            return uncertain;
    }
    return NULL;
}

void check_journal_acknowledged(void *user, const char *type, const char *id,
                                uint64_t seq, uint32_t event_type,
                                struct slice event)
{
    struct check_journal *check = user;
    uint64_t payload = model_payload_hash(event_type, event);
    const struct history *history;
    const struct uncertain_write *uncertain;
    struct buf name = { 0 };

    check->counts.acknowledged++;
    buf_put_text(&name, type);
    buf_put_u8(&name, '|');
    buf_put_text(&name, id);
    history = model_history(check, buf_slice(&name));
    buf_fini(&name);
    uncertain = uncertain_about(check, history->id, seq, payload);
    if (uncertain)
        violation(check->verdict, "unknown-outcome", uncertain->node,
                  "event %" PRIu64 " of %.*s is acknowledged before its "
                  "outcome was read back",
                  seq, ID(history->id));
    if (seq > 0 && seq <= history->events.count &&
        history->events.items[seq - 1].payload == payload)
        return;
    if (model_is_lost(check, history->id, seq, payload))
        return;
    if (map_get(&check->refused,
                model_event_key(check, history->id, seq, payload)))
        violation(check->verdict, "fenced-writes", VERDICT_NO_NODE,
                  "event %" PRIu64 " of %.*s is acknowledged, and was refused",
                  seq, ID(history->id));
    else
        violation(check->verdict, "no-lost-ack", VERDICT_NO_NODE,
                  "event %" PRIu64 " of %.*s is acknowledged and is not "
                  "durable; %u are",
                  seq, ID(history->id), history->events.count);
}

struct disk_backend_observer check_journal_observer(struct check_journal *check)
{
    return (struct disk_backend_observer){ .user = check,
                                         .asked = asked,
                                         .answered = answered,
                                         .committed = committed,
                                         .opened = opened,
                                         .node_gone = node_gone,
                                         .rewound = rewound };
}
