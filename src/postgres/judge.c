/* Judges a group by what the store has: for repetitions, and where the one statement wrote nothing. */
#include "postgres/group.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/check.h"

static struct slice slice_from(struct sherd_bytes bytes)
{
    return slice_of(bytes.data, bytes.size);
}

/* ---- questions ---- */

/* The assumptions of the one statement are dropped. */
void pg_group_ask_shards(struct pg_group *group)
{
    pg_array_clear(&group->questions[0], true);
    pg_array_clear(&group->questions[1], true);
    for (uint32_t i = 0; i < group->shards.count; i++) {
        struct pg_shard_plan *plan = &group->shards.items[i];

        plan->is_found = plan->is_added = false;
        pg_array_add_bytes(&group->questions[0], plan->type);
        pg_array_add_bytes(&group->questions[1], plan->shard);
    }
}

void pg_group_ask_entities(struct pg_group *group)
{
    pg_array_clear(&group->questions[0], true);
    group->asked.count = 0;
    for (uint32_t i = 0; i < group->entities.count; i++) {
        struct pg_entity_plan *plan = &group->entities.items[i];

        plan->is_found = plan->is_added = false;
        plan->id = plan->last = 0;
        vec_push(&group->asked, i);
        pg_array_add_bytes(&group->questions[0], plan->pid);
    }
}

uint32_t pg_group_ask_records(struct pg_group *group)
{
    for (int i = 0; i < 3; i++)
        pg_array_clear(&group->questions[i], i != 1);
    group->same.count = 0;
    for (uint32_t i = 0; i < group->count; i++) {
        const struct sherd_backend_request *request = group->requests[i];

        for (uint32_t j = 0; request->again && j < request->record_count; j++) {
            const struct sherd_backend_record *record = &request->records[j];

            pg_array_add_bytes(&group->questions[0],
                               slice_from(request->entities[record->entity].id));
            pg_array_add(&group->questions[1], record->seq);
            pg_array_add_bytes(&group->questions[2], slice_from(record->bytes));
            vec_push(&group->same, (uint8_t)0);
        }
    }
    return group->same.count;
}

/* ---- answers ---- */

void pg_group_shard_row(struct pg_group *group, const struct pg_shard_row *row)
{
    struct slice key = pg_shard_key(&group->key, row->type, row->shard);
    uintptr_t found = (uintptr_t)map_get(&group->shard_table, key);
    const struct pg_known_shard *known = pg_known_shard(group->known, key);
    struct pg_shard_plan *plan;

    if (!found)
        return;
    plan = &group->shards.items[found - 1];
    plan->is_found = true;
    plan->id = row->id;
    plan->fence = row->fence;
    plan->claim = row->claim;
    plan->last = row->last;
    /* A writer's position never falls, so a lower one proves a loss under any claim. */
    if (known && (known->is_lost || row->last < known->last)) {
        plan->is_lost = true;
        plan->confirmed = known->last;
    }
}

bool pg_group_same(struct pg_group *group, uint64_t place, bool is_same)
{
    if (place < 1 || place > group->same.count)
        return false;
    group->same.items[place - 1] = is_same ? 2 : 1;
    return true;
}

/* ---- judgement ---- */

static struct fence fence_from(struct sherd_fence fence)
{
    return (struct fence){ fence.term, fence.epoch };
}

static enum sherd_backend_result judge_shard(const struct pg_group *group,
                                             struct sherd_backend_shard *shard,
                                             const struct pg_shard_plan *plan)
{
    int order = plan->is_found ? fence_compare(plan->fence, fence_from(shard->fence)) : -1;

    shard->stored = (struct sherd_fence){ plan->fence.term, plan->fence.epoch };
    if (order > 0 || (order == 0 && plan->claim != group->claim))
        return SHERD_BACKEND_FENCED;
    if (order < 0 || plan->is_lost)
        return SHERD_BACKEND_LOST;
    return pg_group_is_halted(group, plan) ? SHERD_BACKEND_FAILED : SHERD_BACKEND_DONE;
}

static void explain_loss(struct sherd_backend_request *request,
                         const struct sherd_backend_shard *shard,
                         const struct pg_shard_plan *plan)
{
    if (plan->is_lost)
        (void)snprintf(request->error, sizeof request->error,
                       "the server lost confirmed events of shard %.*s of %.*s: it has %" PRIu64
                       " of this node's %" PRIu64,
                       (int)shard->shard.size, (const char *)shard->shard.data,
                       (int)shard->type.size, (const char *)shard->type.data,
                       plan->last, plan->confirmed); /* may be cut */
    else
        (void)snprintf(request->error, sizeof request->error,
                       "the server does not have this node's claim of shard %.*s of %.*s",
                       (int)shard->shard.size, (const char *)shard->shard.data,
                       (int)shard->type.size, (const char *)shard->type.data); /* may be cut */
}

/* One entity of a request, with the last number before the request's records. */
struct judged {
    struct sherd_backend_found found;
    uint64_t before, last;
};

static void judge_record(const struct sherd_backend_request *request,
                         const struct sherd_backend_record *record,
                         struct judged *judged, uint8_t same)
{
    struct sherd_backend_found *found = &judged->found;

    found->met = 1;
    if (record->seq > judged->last) {
        found->adds = 1;
        if (record->seq == judged->last + 1)
            judged->last++;
        else
            found->conflict = 1;
    } else if (!request->again || record->seq > judged->before || same != 2) {
        found->conflict = 1;
    }
}

/* Puts the records of entities that may write. */
static bool put(struct pg_group *group, const struct sherd_backend_request *request,
                const struct judged *judged)
{
    bool puts = false;

    for (uint32_t i = 0; i < request->record_count; i++) {
        const struct sherd_backend_record *record = &request->records[i];
        const struct sherd_backend_entity *entity = &request->entities[record->entity];

        if (entity->result != SHERD_BACKEND_DONE ||
            request->shards[entity->shard].result != SHERD_BACKEND_DONE ||
            record->seq <= judged[record->entity].before)
            continue;
        pg_group_put_record(group, pg_group_entity_of(group, entity), record);
        puts = true;
    }
    for (uint32_t i = 0; i < request->entity_count; i++) {
        const struct sherd_backend_entity *entity = &request->entities[i];

        if (entity->result == SHERD_BACKEND_DONE && entity->cut > 1 &&
            request->shards[entity->shard].result == SHERD_BACKEND_DONE) {
            pg_group_put_cut(group, entity);
            puts = true;
        }
    }
    return puts;
}

static void judge_shards(struct pg_group *group, struct sherd_backend_request *request)
{
    for (uint32_t i = 0; i < request->shard_count; i++) {
        struct sherd_backend_shard *shard = &request->shards[i];
        struct pg_shard_plan *plan = &group->shards.items[pg_group_shard_of(group, shard)];

        plan->is_added |= request->again != 0; /* an own try may have written them */
        shard->result = judge_shard(group, shard, plan);
        if (shard->result == SHERD_BACKEND_LOST || plan->is_lost)
            explain_loss(request, shard, plan);
        else if (shard->result == SHERD_BACKEND_FAILED)
            (void)snprintf(request->error, sizeof request->error, "%s", PG_HALTED); /* fits */
    }
}

static bool judge_request(struct pg_group *group, struct sherd_backend_request *request,
                          uint32_t *compared)
{
    struct judged *judged = mem_alloc((request->entity_count + 1) * sizeof *judged);
    bool puts;

    judge_shards(group, request);
    for (uint32_t i = 0; i < request->entity_count; i++) {
        const struct pg_entity_plan *plan =
            &group->entities.items[pg_group_entity_of(group, &request->entities[i])];

        judged[i].before = judged[i].last = plan->last;
    }
    for (uint32_t i = 0; i < request->record_count; i++) {
        const struct sherd_backend_record *record = &request->records[i];

        judge_record(request, record, &judged[record->entity],
                     request->again ? group->same.items[(*compared)++] : 0);
    }
    for (uint32_t i = 0; i < request->entity_count; i++)
        request->entities[i].result = sherd_backend_decide(request, i, &judged[i].found);
    request->result = SHERD_BACKEND_DONE;
    puts = put(group, request, judged);
    mem_free(judged);
    return puts;
}

bool pg_group_judge(struct pg_group *group)
{
    uint32_t compared = 0;
    bool writes = false;

    pg_group_clear_parameters(group);
    for (uint32_t i = 0; i < group->count; i++)
        writes |= judge_request(group, group->requests[i], &compared);
    return writes;
}
