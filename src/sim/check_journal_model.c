/* Implements the journal model of check_journal_model.h. */
#include "sim/check_journal_model.h"

#include <inttypes.h>

#include "base/check.h"
#include "base/hash.h"
#include "journal/record.h"
#include "sim/verdict.h"

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

struct fence *model_fence(struct check_journal *check, struct slice type,
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

uint64_t *model_term(struct check_journal *check, struct slice type)
{
    uint64_t *term = map_get(&check->terms, type);

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

/* ---- unknown outcomes ---- */

void doubt_free(struct doubt *doubt)
{
    mem_free((void *)(uintptr_t)doubt->id.data);
    vec_fini(&doubt->events);
    mem_free(doubt);
}

static struct slice doubt_key(struct check_journal *check, uint32_t node,
                              struct slice id)
{
    buf_clear(&check->key);
    buf_put_u32(&check->key, node);
    buf_put_slice(&check->key, id);
    return buf_slice(&check->key);
}

struct doubt *doubt_find(struct check_journal *check, uint32_t node,
                         struct slice id)
{
    return map_get(&check->doubts, doubt_key(check, node, id));
}

void doubt_end(struct check_journal *check, struct doubt *doubt)
{
    (void)map_take(&check->doubts,
                   doubt_key(check, doubt->node, doubt->id)); /* it is `doubt` */
    doubt_free(doubt);
}

void doubt_records(const struct journal_request *request, uint32_t entity,
                   uint64_t key, struct doubt *doubt)
{
    for (uint32_t i = 0; i < request->records.count; i++) {
        const struct backend_record *stored = &request->records.items[i];
        struct slice bytes = backend_slice(request, stored->bytes);
        struct record record;

        if (stored->entity != entity)
            continue;
        if (!doubt->events.count)
            doubt->first = stored->seq;
        (void)record_decode(bytes, key, stored->seq,
                            &record); /* another check finds a wrong record */
        vec_push(&doubt->events,
                 ((struct event){ hash_bytes(bytes),
                                  model_payload_hash(record.event_type,
                                                     record.payload) }));
    }
}

bool doubt_equal(const struct doubt *left, const struct doubt *right)
{
    if (left->first != right->first ||
        left->events.count != right->events.count)
        return false;
    for (uint32_t i = 0; i < left->events.count; i++)
        if (left->events.items[i].bytes != right->events.items[i].bytes)
            return false;
    return true;
}

void doubt_open(struct check_journal *check, uint32_t node,
                const struct journal_request *request, uint32_t entity)
{
    struct slice id =
        backend_slice(request, request->entities.items[entity].id);
    struct doubt *doubt = doubt_find(check, node, id);

    check->counts.unknown++;
    if (doubt) {
        doubt->state = DOUBT_OPEN;
        return;
    }
    doubt = mem_alloc(sizeof *doubt);
    doubt->node = node;
    doubt->id = slice_of(mem_copy(id.data, id.size), id.size);
    doubt_records(request, entity, record_key(id), doubt);
    if (!doubt->events.count) {
        doubt_free(doubt);
        return;
    }
    (void)map_put(&check->doubts, doubt_key(check, node, id),
                  doubt); /* was absent */
}
