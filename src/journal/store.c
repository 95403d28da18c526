/* Making, filling and settling store requests. */
#include "journal/store.h"

#include <stdio.h>

#include "base/check.h"
#include "base/limits.h"

struct store_request *store_request_new(enum store_verb verb)
{
    struct store_request *request = mem_alloc(sizeof *request);

    request->verb = verb;
    return request;
}

struct store_request *store_request_claim(struct slice type, struct slice shard,
                                          struct fence fence)
{
    struct store_request *request = store_request_new(STORE_CLAIM);

    request->type = store_put(request, type);
    request->shard = store_put(request, shard);
    request->fence = fence;
    return request;
}

struct store_request *store_request_take_term(struct slice type,
                                              uint64_t used_term)
{
    struct store_request *request = store_request_new(STORE_TAKE_TERM);

    request->type = store_put(request, type);
    request->fence.term = used_term;
    return request;
}

struct store_request *store_request_replay(struct slice persistence_id,
                                           uint64_t from, uint32_t count_max,
                                           uint32_t size_max)
{
    struct store_request *request = store_request_new(STORE_REPLAY);

    request->id = store_put(request, persistence_id);
    request->from = from;
    request->count_max = count_max;
    request->size_max = size_max;
    return request;
}

void store_request_free(struct store_request *request)
{
    if (!request)
        return;
    vec_fini(&request->shards);
    vec_fini(&request->entities);
    vec_fini(&request->records);
    buf_fini(&request->bytes);
    mem_free(request);
}

struct store_span store_put(struct store_request *request, struct slice bytes)
{
    struct store_span span;

    check(request->bytes.size + bytes.size <= UINT32_MAX);
    span = (struct store_span){ (uint32_t)request->bytes.size,
                                (uint32_t)bytes.size };
    buf_put_slice(&request->bytes, bytes);
    return span;
}

struct slice store_slice(const struct store_request *request,
                         struct store_span span)
{
    if (!span.size)
        return (struct slice){ (const uint8_t *)"", 0 };
    return slice_of(request->bytes.data + span.at, span.size);
}

void store_settle(struct store_request *request, enum store_result result,
                  const char *error)
{
    request->result = result;
    for (uint32_t i = 0; i < request->shards.count; i++)
        request->shards.items[i].result = result;
    for (uint32_t i = 0; i < request->entities.count; i++)
        request->entities.items[i].result = result;
    if (error && error != request->error)
        (void)snprintf(request->error, sizeof request->error, "%s",
                       error); /* a cut text still says what failed */
}

enum store_result store_decide(const struct store_request *request,
                               const struct store_entity *entity,
                               const struct store_found *found)
{
    bool present =
        request->again && found->met && !found->adds && !found->conflict;

    if (request->shards.items[entity->shard].result == STORE_FENCED && !present)
        return STORE_FENCED;
    return found->conflict ? STORE_CONFLICT : STORE_DONE;
}

uint64_t store_cut(const struct store_request *request,
                   const struct store_entity *entity, uint64_t first)
{
    if (entity->result != STORE_DONE || entity->cut <= first ||
        request->shards.items[entity->shard].result != STORE_DONE)
        return 0; /* a repetition is DONE under a stale fence, too: it was cut when it was written */
    return entity->cut - first < STORE_CUT_MAX ? entity->cut
                                               : first + STORE_CUT_MAX;
}
