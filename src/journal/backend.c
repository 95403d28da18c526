/* Creates, fills and settles journal requests. */
#include "journal/backend.h"

#include <stdio.h>

#include "base/check.h"
#include "base/limits.h"

struct journal_request *journal_request_new(enum backend_verb verb)
{
    struct journal_request *request = mem_alloc(sizeof *request);

    request->verb = verb;
    return request;
}

struct journal_request *journal_request_claim(struct slice type, struct slice shard,
                                          struct fence fence)
{
    struct journal_request *request = journal_request_new(BACKEND_CLAIM);

    request->type = backend_put(request, type);
    request->shard = backend_put(request, shard);
    request->fence = fence;
    return request;
}

struct journal_request *journal_request_take_term(struct slice type,
                                              uint64_t used_term)
{
    struct journal_request *request = journal_request_new(BACKEND_TAKE_TERM);

    request->type = backend_put(request, type);
    request->fence.term = used_term;
    return request;
}

struct journal_request *journal_request_replay(struct slice persistence_id,
                                           uint64_t from, uint32_t count_max,
                                           uint32_t size_max)
{
    struct journal_request *request = journal_request_new(BACKEND_REPLAY);

    request->id = backend_put(request, persistence_id);
    request->from = from;
    request->count_max = count_max;
    request->size_max = size_max;
    return request;
}

struct journal_request *journal_request_owner(enum backend_verb verb, struct slice type,
                                              struct slice shard, struct fence fence,
                                              struct slice persistence_id)
{
    struct journal_request *request = journal_request_new(verb);

    request->type = backend_put(request, type);
    request->shard = backend_put(request, shard);
    request->fence = fence;
    request->id = backend_put(request, persistence_id);
    return request;
}

struct journal_request *journal_request_load(struct slice persistence_id, uint64_t from)
{
    struct journal_request *request = journal_request_new(BACKEND_LOAD);

    request->id = backend_put(request, persistence_id);
    request->from = from;
    return request;
}

bool journal_request_reads(const struct journal_request *request)
{
    return request->verb == BACKEND_REPLAY || request->verb == BACKEND_LOAD;
}

void journal_request_free(struct journal_request *request)
{
    if (!request)
        return;
    vec_fini(&request->shards);
    vec_fini(&request->entities);
    vec_fini(&request->records);
    buf_fini(&request->bytes);
    mem_free(request);
}

struct backend_span backend_put(struct journal_request *request, struct slice bytes)
{
    struct backend_span span;

    check(request->bytes.size + bytes.size <= UINT32_MAX);
    span = (struct backend_span){ (uint32_t)request->bytes.size,
                                (uint32_t)bytes.size };
    buf_put_slice(&request->bytes, bytes);
    return span;
}

struct slice backend_slice(const struct journal_request *request,
                         struct backend_span span)
{
    if (!span.size)
        return (struct slice){ (const uint8_t *)"", 0 };
    return slice_of(request->bytes.data + span.at, span.size);
}

void backend_settle(struct journal_request *request, enum backend_result result,
                  const char *error)
{
    request->result = result;
    for (uint32_t i = 0; i < request->shards.count; i++)
        request->shards.items[i].result = result;
    for (uint32_t i = 0; i < request->entities.count; i++)
        request->entities.items[i].result = result;
    if (error && error != request->error)
        (void)snprintf(request->error, sizeof request->error, "%s",
                       error); /* a cut text still names the failure */
}

enum backend_result backend_decide(const struct journal_request *request,
                               const struct backend_entity *entity,
                               const struct backend_found *found)
{
    bool present =
        request->again && found->met && !found->adds && !found->conflict;

    if (request->shards.items[entity->shard].result == BACKEND_FENCED && !present)
        return BACKEND_FENCED;
    return found->conflict ? BACKEND_CONFLICT : BACKEND_DONE;
}

enum backend_result backend_prove(struct proof wanted,
                                const struct backend_proofs *stored)
{
    if (!wanted.value || stored->value == wanted.value)
        return BACKEND_DONE;
    if (!stored->value && wanted.term <= stored->last &&
        wanted.term < stored->lowest)
        return BACKEND_FENCED;
    return BACKEND_OTHER_STORE;
}

uint64_t backend_cut(const struct journal_request *request,
                   const struct backend_entity *entity, uint64_t first)
{
    /* also for a repetition that is DONE under a stale fence: it was cut when written */
    if (entity->result != BACKEND_DONE || entity->cut <= first ||
        request->shards.items[entity->shard].result != BACKEND_DONE)
        return 0;
    return entity->cut - first < BACKEND_CUT_MAX ? entity->cut
                                               : first + BACKEND_CUT_MAX;
}
