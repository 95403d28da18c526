/* Writes a request as sherd/backend.h has it, and reads the answer. */
#include "journal/lent.h"

#include <string.h>

#include "base/check.h"

static struct sherd_bytes lend(const struct journal_request *request,
                               struct backend_span span)
{
    struct slice slice = backend_slice(request, span);

    return (struct sherd_bytes){ slice.data, slice.size };
}

static struct sherd_fence fence_out(struct fence fence)
{
    return (struct sherd_fence){ fence.term, fence.epoch };
}

static struct fence fence_in(struct sherd_fence fence)
{
    return (struct fence){ fence.term, fence.epoch };
}

static void translate_records(struct journal_lent *to, const struct journal_request *from)
{
    to->request.record_count = from->records.count;
    to->records = mem_alloc(from->records.count * sizeof *to->records);
    to->request.records = to->records;
    for (uint32_t i = 0; i < from->records.count; i++) {
        const struct backend_record *record = &from->records.items[i];

        to->records[i].entity = record->entity;
        to->records[i].seq = record->seq;
        to->records[i].bytes = lend(from, record->bytes);
    }
}

static void translate_append(struct journal_lent *to,
                             const struct journal_request *from)
{
    struct sherd_backend_request *request = &to->request;

    request->shard_count = from->shards.count;
    request->entity_count = from->entities.count;
    request->shards = mem_alloc(from->shards.count * sizeof *request->shards);
    request->entities =
        mem_alloc(from->entities.count * sizeof *request->entities);
    for (uint32_t i = 0; i < from->shards.count; i++) {
        const struct backend_shard *shard = &from->shards.items[i];

        request->shards[i].type = lend(from, shard->type);
        request->shards[i].shard = lend(from, shard->shard);
        request->shards[i].fence = fence_out(shard->fence);
    }
    for (uint32_t i = 0; i < from->entities.count; i++) {
        const struct backend_entity *entity = &from->entities.items[i];

        request->entities[i].shard = entity->shard;
        request->entities[i].cut = entity->cut;
        request->entities[i].id = lend(from, entity->id);
    }
    translate_records(to, from);
}

/* Copies the texts: an answer that grows moves those of the request. */
static void translate_texts(struct journal_lent *to,
                            const struct journal_request *from)
{
    const struct backend_span spans[] = { from->type, from->shard, from->id };
    struct sherd_bytes *const targets[] = { &to->request.type,
                                            &to->request.shard,
                                            &to->request.id };
    size_t at = 0;

    for (int i = 0; i < 3; i++)
        buf_put_slice(&to->texts, backend_slice(from, spans[i]));
    for (int i = 0; i < 3; i++) {
        *targets[i] = (struct sherd_bytes){
            to->texts.data ? (const void *)(to->texts.data + at) : "",
            spans[i].size
        };
        at += spans[i].size;
    }
}

void journal_lend(struct journal_lent *to, struct journal_request *from)
{
    struct sherd_backend_request *request = &to->request;

    *to = (struct journal_lent){ 0 };
    request->verb = (enum sherd_backend_verb)from->verb;
    request->again = from->again;
    request->fence = fence_out(from->fence);
    request->proof =
        (struct sherd_proof){ from->proof.term, from->proof.value };
    request->next_proof = from->next_proof;
    request->lists = from->lists;
    request->next = from->next;
    request->from = from->from;
    request->count_max = from->count_max;
    request->size_max = from->size_max;
    request->owner = from;
    if (from->verb == BACKEND_APPEND)
        translate_append(to, from);
    else
        translate_texts(to, from);
    if (from->verb == BACKEND_SAVE)
        translate_records(to, from);
}

static enum backend_result result_in(enum sherd_backend_result result)
{
    switch (result) {
    case SHERD_BACKEND_DONE:
        return BACKEND_DONE;
    case SHERD_BACKEND_FENCED:
    case SHERD_BACKEND_LOST:
        return BACKEND_FENCED;
    case SHERD_BACKEND_CONFLICT:
        return BACKEND_CONFLICT;
    case SHERD_BACKEND_UNKNOWN:
        return BACKEND_UNKNOWN;
    case SHERD_BACKEND_OTHER_STORE:
        return BACKEND_OTHER_STORE;
    case SHERD_BACKEND_PENDING:
    case SHERD_BACKEND_FAILED:
        break;
    }
    return BACKEND_FAILED;
}

/* The fence that ends a shard on this node must be higher than its own: the coordinator then
 * allocates the shard with a fence above both. */
static struct fence ending_fence(struct fence own, struct fence stored)
{
    if (fence_compare(own, stored) < 0)
        return stored;
    return (struct fence){ own.term, own.epoch + 1 };
}

static void answer_append(struct journal_request *to,
                          const struct sherd_backend_request *from)
{
    for (uint32_t i = 0; i < to->shards.count; i++) {
        struct backend_shard *shard = &to->shards.items[i];

        shard->result = result_in(from->shards[i].result);
        shard->stored = fence_in(from->shards[i].stored);
        if (shard->result == BACKEND_FENCED)
            shard->stored = ending_fence(shard->fence, shard->stored);
    }
    for (uint32_t i = 0; i < to->entities.count; i++)
        to->entities.items[i].result = result_in(from->entities[i].result);
}

void journal_lent_fini(struct journal_lent *lent)
{
    mem_free(lent->request.shards);
    mem_free(lent->request.entities);
    mem_free(lent->records);
    buf_fini(&lent->texts);
}

void journal_take_back(struct journal_lent *lent)
{
    struct sherd_backend_request *from = &lent->request;
    struct journal_request *to = from->owner;

    to->result = result_in(from->result);
    from->error[sizeof from->error - 1] = 0;
    memcpy(to->error, from->error, sizeof to->error);
    if (to->verb == BACKEND_CLAIM || to->verb == BACKEND_TAKE_TERM)
        to->fence = fence_in(from->fence);
    if (to->verb >= BACKEND_SAVE && to->result == BACKEND_FENCED)
        to->fence = ending_fence(to->fence, fence_in(from->fence));
    if (to->verb == BACKEND_SAVE)
        to->from = from->from;
    to->more = from->more != 0;
    to->deleted = from->deleted;
    if (to->verb == BACKEND_APPEND)
        answer_append(to, from);
    journal_lent_fini(lent);
}
