/* Claims the fences of this lane's shards, and ends shards that lose them. */
#include "base/check.h"
#include "base/mark.h"
#include "journal/state.h"

static struct slice shard_key(struct journal *journal, struct slice type,
                              struct slice name)
{
    buf_clear(&journal->scratch);
    buf_put_u32(&journal->scratch, (uint32_t)type.size);
    buf_put_slice(&journal->scratch, type);
    buf_put_slice(&journal->scratch, name);
    return buf_slice(&journal->scratch);
}

struct shard *journal_shard_find(struct journal *journal, struct slice type,
                                 struct slice name)
{
    return map_get(&journal->shard_table, shard_key(journal, type, name));
}

static uint64_t shard_ref(const struct shard *shard)
{
    return (uint64_t)shard->generation << 32 | shard->index;
}

static struct shard *shard_at(struct journal *journal, uint64_t ref)
{
    uint32_t index = (uint32_t)ref;
    struct shard *shard;

    if (index >= journal->shards.count)
        return NULL;
    shard = journal->shards.items[index];
    return shard && shard->generation == (uint32_t)(ref >> 32) ? shard : NULL;
}

static struct shard *shard_new(struct journal *journal, struct slice type,
                               struct slice name)
{
    struct shard *shard = mem_alloc(sizeof *shard);

    shard->generation = (uint32_t)++journal->serial;
    if (journal->shards_free.count) {
        shard->index =
            journal->shards_free.items[--journal->shards_free.count];
        journal->shards.items[shard->index] = shard;
    } else {
        shard->index = journal->shards.count;
        vec_push(&journal->shards, shard);
    }
    shard->type = copy_slice(type);
    shard->name = copy_slice(name);
    (void)map_put(&journal->shard_table, shard_key(journal, type, name),
                  shard);
    return shard;
}

static void free_memory(struct shard *shard)
{
    mem_free((void *)(uintptr_t)shard->type.data);
    mem_free((void *)(uintptr_t)shard->name.data);
    vec_fini(&shard->waiting.list);
    mem_free(shard);
}

static void stop_raising(struct journal *journal, struct shard *shard)
{
    if (shard->raising)
        journal->raising--;
    shard->raising = false;
}

static void shard_free(struct journal *journal, struct shard *shard)
{
    stop_raising(journal, shard);
    (void)map_take(&journal->shard_table,
                   shard_key(journal, shard->type, shard->name));
    journal->shards.items[shard->index] = NULL;
    vec_push(&journal->shards_free, shard->index);
    free_memory(shard);
}

void shard_leave(struct journal *journal, struct shard *shard)
{
    check(shard->entity_count > 0);
    shard->entity_count--;
    if (shard->released && !shard->entity_count)
        shard_free(journal, shard);
}

static void claim_due(struct journal *journal, struct shard *shard)
{
    shard->state = SHARD_CLAIM_DUE;
    refs_push(shard->raising ? &journal->raises : &journal->claims,
              shard_ref(shard));
}

static void tell_claimed(struct journal *journal, const struct shard *shard)
{
    put_news(journal,
             &(struct journal_news){ .kind = JOURNAL_CLAIMED,
                                     .type = shard->type,
                                     .shard = shard->name,
                                     .fence = shard->fence },
             NULL);
}

/* Handles a claim of a shard that is claimed or being claimed. */
static void claim_known(struct journal *journal, struct shard *shard,
                        struct fence fence, bool next)
{
    if (shard->state != SHARD_CLAIMED)
        return; /* the news will come */
    if (next || fence_compare(fence, shard->fence) == 0)
        tell_claimed(journal, shard);
    else
        journal->status.ignored++; /* a late directive */
}

static void claim(struct journal *journal, struct slice type,
                  struct slice name, struct fence fence, struct proof proof,
                  bool next)
{
    struct shard *shard = journal_shard_find(journal, type, name);

    if (!shard) {
        shard = shard_new(journal, type, name);
    } else if (!shard->released && shard->state != SHARD_FENCED &&
               (next || fence_compare(fence, shard->wanted) <= 0)) {
        claim_known(journal, shard, fence, next);
        return;
    } else if (shard->state == SHARD_CLAIMED) {
        shard->raising = true;
        journal->raising++;
    }
    shard->released = false;
    shard->next = next;
    shard->wanted = fence;
    shard->proof = proof;
    shard->attempt = 0;
    if (shard->state == SHARD_CLAIM_SENT)
        return; /* repeated when the answer arrives */
    claim_due(journal, shard);
}

void journal_claim(struct journal *journal, struct slice type,
                   struct slice shard, struct fence fence, struct proof proof)
{
    claim(journal, type, shard, fence, proof, false);
}

void journal_claim_next(struct journal *journal, struct slice type,
                        struct slice shard)
{
    claim(journal, type, shard, (struct fence){ 0 }, (struct proof){ 0 }, true);
}

void journal_release(struct journal *journal, struct slice type,
                     struct slice shard)
{
    struct shard *found = journal_shard_find(journal, type, shard);

    if (!found || found->released) {
        journal->status.ignored++;
        return;
    }
    stop_raising(journal, found);
    found->released = true;
    if (!found->entity_count)
        shard_free(journal, found);
}

static struct journal_request *claim_request(struct shard *shard)
{
    struct journal_request *request =
        journal_request_claim(shard->type, shard->name, shard->wanted);

    request->next = shard->next;
    request->proof = shard->proof;
    request->tag = shard_ref(shard);
    shard->state = SHARD_CLAIM_SENT;
    return request;
}

struct journal_request *shards_take_request(struct journal *journal)
{
    uint64_t ref;

    while (refs_take(&journal->claims, &ref)) {
        struct shard *shard = shard_at(journal, ref);

        if (shard && shard->state == SHARD_CLAIM_DUE && !shard->released)
            return claim_request(shard);
    }
    /* A raised fence must not overtake a commit under the lower one. */
    while (!journal->in_flight && refs_take(&journal->raises, &ref)) {
        struct shard *shard = shard_at(journal, ref);

        if (shard && shard->state == SHARD_CLAIM_DUE && !shard->released)
            return claim_request(shard);
    }
    return NULL;
}

static void claimed(struct journal *journal, struct shard *shard,
                    struct fence fence)
{
    uint64_t ref;

    shard->fence = fence;
    shard->attempt = 0;
    stop_raising(journal, shard);
    /* Events collected under the lower fence are written under the raised one. */
    SOMETIMES("events wait while their shard's fence is raised",
              journal->group && shard->group == journal->group_number);
    if (journal->group && shard->group == journal->group_number)
        journal->group->shards.items[shard->group_index].fence = fence;
    if (!shard->next && fence_compare(shard->wanted, fence) > 0) {
        claim_due(journal, shard);
        return;
    }
    shard->wanted = fence;
    shard->state = SHARD_CLAIMED;
    tell_claimed(journal, shard);
    while (refs_take(&shard->waiting, &ref)) {
        struct entity *entity = entity_at(journal, ref);

        if (entity && entity->state == ENTITY_UNCLAIMED)
            replay_start(journal, entity);
    }
}

/* Ends a shard and its entities here, and tells it with `kind`, unless it was released. */
static void end_shard(struct journal *journal, struct shard *shard,
                      enum journal_news_kind kind, struct fence fence)
{
    shard->state = SHARD_FENCED;
    stop_raising(journal, shard);
    shard->waiting.head = shard->waiting.list.count = 0;
    for (uint32_t i = 1; i < journal->entities.count; i++) {
        struct entity *entity = &journal->entities.items[i];

        if (entity->state == ENTITY_FREE || entity->shard != shard)
            continue;
        if (entity->state == ENTITY_READY && !entity->events)
            entity->state = ENTITY_FAILED; /* the shard's news is enough */
        else
            entity_fail(journal, entity, JOURNAL_FENCED,
                        "the shard has a newer owner");
    }
    if (shard->released)
        return;
    journal->status.fenced++;
    put_news(journal,
             &(struct journal_news){ .kind = kind,
                                     .type = shard->type,
                                     .shard = shard->name,
                                     .fence = fence },
             NULL);
}

void shard_fence(struct journal *journal, struct shard *shard,
                 struct fence stored)
{
    if (shard->state == SHARD_FENCED)
        return;
    if (!shard->released)
        trace_put(journal->options.trace, TRACE_WARNING, "journal",
                  "shard fenced type=%s shard=%s term=%llu epoch=%llu "
                  "stored_term=%llu stored_epoch=%llu "
                  "hint=\"check whether this process was suspended or cut "
                  "off\"",
                  (const char *)shard->type.data,
                  (const char *)shard->name.data,
                  (unsigned long long)shard->fence.term,
                  (unsigned long long)shard->fence.epoch,
                  (unsigned long long)stored.term,
                  (unsigned long long)stored.epoch);
    end_shard(journal, shard, JOURNAL_SHARD_FENCED, stored);
}

void shards_reply(struct journal *journal, uint64_t now,
                  struct journal_request *reply)
{
    struct shard *shard = shard_at(journal, reply->tag);

    SOMETIMES("a claim is answered after its shard was released",
              !shard || shard->released);
    SOMETIMES("a claim is refused", reply->result == BACKEND_FENCED);
    if (!shard || shard->released || shard->state != SHARD_CLAIM_SENT) {
        journal->status.ignored++;
    } else if (reply->result == BACKEND_DONE) {
        claimed(journal, shard, reply->fence);
    } else if (reply->result == BACKEND_FENCED) {
        if (!shard->next && fence_compare(shard->wanted, reply->fence) > 0)
            claim_due(journal, shard); /* `wanted` rose meanwhile */
        else
            shard_fence(journal, shard, reply->fence);
    } else if (reply->result == BACKEND_OTHER_STORE) {
        REACHED("a claim does not find the coordinator's proof");
        end_shard(journal, shard, JOURNAL_OTHER_STORE, shard->wanted);
    } else {
        /* A claim is repeatable: an equal fence is this owner's own. */
        trace_put(journal->options.trace, TRACE_WARNING, "journal",
                  "claim of a shard failed type=%s shard=%s detail=\"%s\" "
                  "hint=\"check the journal's database and disk\"",
                  (const char *)shard->type.data,
                  (const char *)shard->name.data, reply->error);
        journal->status.retries++;
        shard->state = SHARD_CLAIM_DUE;
        timers_put(&journal->timers, retry_at(journal, now, shard->attempt++),
                   TIMER_CLAIM, shard_ref(shard), 0);
    }
    journal_request_free(reply);
}

void shards_timer(struct journal *journal, uint64_t ref)
{
    struct shard *shard = shard_at(journal, ref);

    if (shard && shard->state == SHARD_CLAIM_DUE)
        claim_due(journal, shard);
}

void shards_fini(struct journal *journal)
{
    for (uint32_t i = 0; i < journal->shards.count; i++)
        if (journal->shards.items[i])
            free_memory(journal->shards.items[i]);
    vec_fini(&journal->shards);
    vec_fini(&journal->shards_free);
    vec_fini(&journal->claims.list);
    vec_fini(&journal->raises.list);
    map_fini(&journal->shard_table);
}
