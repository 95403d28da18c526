/* Implements the functions of sherd/backend.h that back ends call while they answer a request. */
#include <sherd/backend.h>

#include <stdio.h>

#include "base/limits.h"
#include "journal/backend.h"

static struct slice slice_from(struct sherd_bytes bytes)
{
    return slice_of(bytes.data, bytes.size);
}

void sherd_backend_add_record(struct sherd_backend_request *request,
                              uint64_t seq, struct sherd_bytes bytes)
{
    struct journal_request *owner = request->owner;
    struct backend_record record = { .seq = seq };

    record.bytes = backend_put(owner, slice_from(bytes));
    vec_push(&owner->records, record);
}

void sherd_backend_add_shard(struct sherd_backend_request *request,
                             struct sherd_bytes shard)
{
    struct journal_request *owner = request->owner;
    struct backend_shard listed = { .type = owner->type };

    listed.shard = backend_put(owner, slice_from(shard));
    vec_push(&owner->shards, listed);
}

void sherd_backend_settle(struct sherd_backend_request *request,
                          enum sherd_backend_result result, const char *error)
{
    request->result = result;
    for (uint32_t i = 0; i < request->shard_count; i++)
        request->shards[i].result = result;
    for (uint32_t i = 0; i < request->entity_count; i++)
        request->entities[i].result = result;
    if (error && error != request->error)
        (void)snprintf(request->error, sizeof request->error, "%s",
                       error); /* a cut text still names the failure */
}

enum sherd_backend_result
sherd_backend_decide(const struct sherd_backend_request *request,
                     uint32_t entity, const struct sherd_backend_found *found)
{
    enum sherd_backend_result shard =
        request->shards[request->entities[entity].shard].result;
    bool present =
        request->again && found->met && !found->adds && !found->conflict;

    if (shard == SHERD_BACKEND_FENCED && present)
        return SHERD_BACKEND_DONE;
    if (shard != SHERD_BACKEND_DONE)
        return shard;
    return found->conflict ? SHERD_BACKEND_CONFLICT : SHERD_BACKEND_DONE;
}

uint64_t sherd_backend_cut(const struct sherd_backend_request *request,
                           uint32_t entity, uint64_t first)
{
    const struct sherd_backend_entity *named = &request->entities[entity];

    /* also for a repetition that is DONE under a stale fence: it was cut when written */
    if (named->result != SHERD_BACKEND_DONE || named->cut <= first ||
        request->shards[named->shard].result != SHERD_BACKEND_DONE)
        return 0;
    return named->cut - first < BACKEND_CUT_MAX ? named->cut
                                                : first + BACKEND_CUT_MAX;
}

enum sherd_backend_result
sherd_backend_prove(struct sherd_proof wanted,
                    const struct sherd_backend_proofs *stored)
{
    const struct backend_proofs proofs = { stored->last, stored->lowest,
                                           stored->value };
    enum backend_result result =
        backend_prove((struct proof){ wanted.term, wanted.value }, &proofs);

    if (result == BACKEND_DONE)
        return SHERD_BACKEND_DONE;
    return result == BACKEND_FENCED ? SHERD_BACKEND_FENCED
                                    : SHERD_BACKEND_OTHER_STORE;
}
