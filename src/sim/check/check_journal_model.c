/* Implements the journal model of check_journal_model.h. */
#include "sim/check/check_journal_model.h"

#include <inttypes.h>

#include "base/check.h"
#include "base/hash.h"
#include "journal/record.h"
#include "sim/world/verdict.h"

/* ---- the model ---- */

uint64_t model_payload_hash(uint32_t event_type, struct slice payload)
{
    return hash_bytes(payload) * UINT64_C(0x9e3779b97f4a7c15) + event_type;
}

struct history *model_history(struct check_journal *check,
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

struct shard_fence *model_fence(struct check_journal *check, struct slice type,
                                struct slice shard)
{
    struct shard_fence *fence;

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

struct type_term *model_term(struct check_journal *check, struct slice type)
{
    struct type_term *term = map_get(&check->terms, type);

    if (!term) {
        term = mem_alloc(sizeof *term);
        (void)map_put(&check->terms, type, term); /* was absent */
    }
    return term;
}

/* Decodes a record; false if it cannot be read. */
static bool look(struct check_journal *check, const struct history *history,
                 uint64_t seq, struct slice bytes, struct event *event,
                 struct fence *fence)
{
    struct record record;
    const char *wrong = record_decode(bytes, history->key, seq, &record);

    event->bytes = hash_bytes(bytes);
    event->payload = model_payload_hash(record.event_type, record.payload);
    *fence = record.fence;
    if (wrong)
        violation(check->verdict, "faithful-replay", VERDICT_NO_NODE,
                  "event %" PRIu64 " of %.*s: %s", seq, ID(history->id),
                  wrong);
    return !wrong;
}

void model_add_event(struct check_journal *check, struct history *history,
                     struct slice bytes)
{
    uint64_t seq = history->events.count + 1;
    struct event event;
    struct fence fence;

    if (look(check, history, seq, bytes, &event, &fence)) {
        if (fence_compare(fence, history->fence) < 0)
            violation(check->verdict, "fenced-writes", VERDICT_NO_NODE,
                      "event %" PRIu64 " of %.*s is of fence %" PRIu64
                      ".%" PRIu64 ", the one before of %" PRIu64 ".%" PRIu64,
                      seq, ID(history->id), fence.term, fence.epoch,
                      history->fence.term, history->fence.epoch);
        history->fence = fence;
    }
    vec_push(&history->events, event);
    check->counts.events++;
}

/* ---- lost commits ---- */

struct slice model_event_key(struct check_journal *check, struct slice id, uint64_t seq,
                             uint64_t hash)
{
    buf_clear(&check->key);
    buf_put_u64(&check->key, seq);
    buf_put_u64(&check->key, hash);
    buf_put_slice(&check->key, id);
    return buf_slice(&check->key);
}

bool model_is_lost(struct check_journal *check, struct slice id, uint64_t seq, uint64_t hash)
{
    return map_get(&check->lost, model_event_key(check, id, seq, hash)) != NULL;
}

static void lose(struct check_journal *check, struct slice id, uint64_t seq, uint64_t hash)
{
    (void)map_put(&check->lost, model_event_key(check, id, seq, hash), check); /* a set */
}

static void rewind_history(struct check_journal *check, const struct book *book,
                           struct history *history)
{
    uint64_t last = book_last(book, history->id);
    uint64_t first = book_first(book, history->id);
    struct record record;

    history->trimmed = first > 1 ? first : 0;
    if (history->events.count <= last)
        return;
    for (uint64_t seq = last + 1; seq <= history->events.count; seq++) {
        const struct event *event = &history->events.items[seq - 1];

        lose(check, history->id, seq, event->bytes);
        lose(check, history->id, seq, event->payload);
    }
    check->counts.events -= history->events.count - last;
    check->counts.lost += history->events.count - last;
    history->events.count = (uint32_t)last;
    history->fence = (struct fence){ 0, 0 };
    if (last && !record_decode(book_record(book, history->id, last), history->key, last, &record))
        history->fence = record.fence;
}

void model_fence_key(struct slice key, struct slice *type, struct slice *shard)
{
    struct cursor cursor = cursor_of(key);
    uint32_t size = cursor_u32(&cursor);

    *type = cursor_slice(&cursor, size);
    *shard = cursor_slice(&cursor, cursor_left(&cursor));
}

static void rewind_fences(struct check_journal *check, const struct book *book)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&check->fences, &at, &entry);) {
        struct shard_fence *fence = entry.value;
        struct slice type, shard;
        struct fence kept;

        model_fence_key(entry.key, &type, &shard);
        kept = book_fence(book, type, shard);
        if (fence_compare(kept, fence->now) < 0 && fence_compare(fence->lost, fence->now) < 0)
            fence->lost = fence->now;
        fence->now = kept;
    }
    for (uint32_t at = 0; map_next(&check->terms, &at, &entry);) {
        struct type_term *term = entry.value;
        uint64_t kept = book_term(book, entry.key);

        if (kept < term->now && term->lost < term->now)
            term->lost = term->now;
        term->now = kept;
    }
}

void model_rewind(struct check_journal *check, const struct book *book)
{
    struct map_entry entry;

    for (uint32_t i = 0; i < check->replays.count; i++) {
        struct replaying *replaying = &check->replays.items[i];
        struct slice id = backend_slice(replaying->request, replaying->request->id);
        const struct history *history = map_get(&check->histories, id);
        uint64_t last = book_last(book, id);

        if (replaying->last > last)
            replaying->last = last;
        if (history && replaying->trimmed < history->trimmed)
            replaying->trimmed = history->trimmed;
    }
    for (uint32_t at = 0; map_next(&check->histories, &at, &entry);)
        rewind_history(check, book, entry.value);
    rewind_fences(check, book);
}

/* ---- unknown outcomes ---- */

void uncertain_free(struct uncertain_write *uncertain)
{
    mem_free((void *)(uintptr_t)uncertain->id.data);
    vec_fini(&uncertain->events);
    mem_free(uncertain);
}

static struct slice uncertain_key(struct check_journal *check, uint32_t node,
                                  struct slice id)
{
    buf_clear(&check->key);
    buf_put_u32(&check->key, node);
    buf_put_slice(&check->key, id);
    return buf_slice(&check->key);
}

struct uncertain_write *uncertain_find(struct check_journal *check, uint32_t node,
                                       struct slice id)
{
    return map_get(&check->uncertain_writes, uncertain_key(check, node, id));
}

void uncertain_end(struct check_journal *check, struct uncertain_write *uncertain)
{
    (void)map_take(&check->uncertain_writes,
                   uncertain_key(check, uncertain->node, uncertain->id)); /* it is `doubt` */
    uncertain_free(uncertain);
}

void uncertain_records(const struct journal_request *request, uint32_t entity,
                       uint64_t key, struct uncertain_write *uncertain)
{
    for (uint32_t i = 0; i < request->records.count; i++) {
        const struct backend_record *stored = &request->records.items[i];
        struct slice bytes = backend_slice(request, stored->bytes);
        struct record record;

        if (stored->entity != entity)
            continue;
        if (!uncertain->events.count)
            uncertain->first = stored->seq;
        (void)record_decode(bytes, key, stored->seq,
                            &record); /* another check finds a wrong record */
        vec_push(&uncertain->events,
                 ((struct event){ hash_bytes(bytes),
                                  model_payload_hash(record.event_type,
                                                     record.payload) }));
    }
}

bool uncertain_equal(const struct uncertain_write *left, const struct uncertain_write *right)
{
    if (left->first != right->first ||
        left->events.count != right->events.count)
        return false;
    for (uint32_t i = 0; i < left->events.count; i++)
        if (left->events.items[i].bytes != right->events.items[i].bytes)
            return false;
    return true;
}

void uncertain_open(struct check_journal *check, uint32_t node,
                    const struct journal_request *request, uint32_t entity)
{
    struct slice id =
        backend_slice(request, request->entities.items[entity].id);
    struct uncertain_write *known = uncertain_find(check, node, id);
    struct uncertain_write *uncertain = mem_alloc(sizeof *uncertain);

    check->counts.unknown++;
    uncertain_records(request, entity, record_key(id), uncertain);
    if (known && uncertain->events.count) /* else it was only named */
        known->state = DOUBT_OPEN;
    if (known || !uncertain->events.count) {
        uncertain_free(uncertain);
        return;
    }
    uncertain->node = node;
    uncertain->id = slice_of(mem_copy(id.data, id.size), id.size);
    (void)map_put(&check->uncertain_writes, uncertain_key(check, node, id),
                  uncertain); /* was absent */
}
