/* Collects the shards and entities of a group, and plans the one statement that writes it. */
#include "postgres/group.h"

#include "base/check.h"

/* In the order of PG_APPEND, after three numbers. */
enum parameter {
    EVENT_ENTITY, EVENT_SEQ, EVENT_SHARD, EVENT_RECORD,
    NEW_ID, NEW_SHARD, NEW_PID,
    CUT_ENTITY, CUT_BELOW,
};

static struct slice slice_from(struct sherd_bytes bytes)
{
    return slice_of(bytes.data, bytes.size);
}

void pg_ids_add(struct pg_ids *ids, uint64_t first, uint64_t count)
{
    struct pg_id_block block = { first, first + count };

    vec_push(&ids->blocks, block);
    ids->left += count;
}

static uint64_t take_id(struct pg_ids *ids)
{
    struct pg_id_block *block = &ids->blocks.items[ids->blocks.count - 1];
    uint64_t id;

    check(ids->left > 0);
    id = block->next++;
    ids->left--;
    if (block->next == block->end)
        ids->blocks.count--;
    return id;
}

/* ---- the shards and entities of the requests ---- */

static uint32_t index_of(const struct map *table, struct slice key)
{
    uintptr_t found = (uintptr_t)map_get(table, key);

    check(found != 0);
    return (uint32_t)(found - 1);
}

uint32_t pg_group_shard_of(struct pg_group *group, const struct sherd_backend_shard *shard)
{
    return index_of(&group->shard_table,
                    pg_shard_key(&group->key, slice_from(shard->type), slice_from(shard->shard)));
}

uint32_t pg_group_entity_of(struct pg_group *group, const struct sherd_backend_entity *entity)
{
    return index_of(&group->entity_table, slice_from(entity->id));
}

static void add_shard(struct pg_group *group, const struct sherd_backend_shard *shard)
{
    struct pg_shard_plan plan = { .type = slice_from(shard->type),
                                  .shard = slice_from(shard->shard) };
    struct slice key = pg_shard_key(&group->key, plan.type, plan.shard);
    const struct pg_known_shard *known;

    if (map_get(&group->shard_table, key))
        return;
    known = pg_known_shard(group->known, key);
    if (known && !known->is_lost && !known->is_taken) {
        plan.is_found = true;
        plan.id = known->id;
        plan.fence = known->fence;
        plan.claim = group->claim;
        plan.last = known->last;
    }
    vec_push(&group->shards, plan);
    (void)map_put(&group->shard_table, key, (void *)(uintptr_t)group->shards.count); /* was absent */
}

static void add_entity(struct pg_group *group, const struct sherd_backend_entity *entity,
                       const struct sherd_backend_shard *shard)
{
    struct pg_entity_plan plan = { .pid = slice_from(entity->id) };

    if (map_get(&group->entity_table, plan.pid))
        return;
    plan.shard = pg_group_shard_of(group, shard);
    vec_push(&group->entities, plan);
    (void)map_put(&group->entity_table, plan.pid, (void *)(uintptr_t)group->entities.count); /* was absent */
}

void pg_group_begin(struct pg_group *group, struct pg_known *known,
                    struct pg_ids *ids, uint64_t claim,
                    struct sherd_backend_request *const *requests,
                    uint32_t count)
{
    *group = (struct pg_group){ .requests = requests, .count = count, .known = known, .ids = ids,
                                .claim = claim };
    for (uint32_t i = 0; i < count; i++) {
        const struct sherd_backend_request *request = requests[i];

        for (uint32_t j = 0; j < request->shard_count; j++)
            add_shard(group, &request->shards[j]);
        for (uint32_t j = 0; j < request->entity_count; j++)
            add_entity(group, &request->entities[j],
                       &request->shards[request->entities[j].shard]);
    }
}

void pg_group_fini(struct pg_group *group)
{
    vec_fini(&group->shards);
    vec_fini(&group->entities);
    vec_fini(&group->same);
    vec_fini(&group->asked);
    map_fini(&group->shard_table);
    map_fini(&group->entity_table);
    buf_fini(&group->key);
    for (uint32_t i = 0; i < PG_APPEND_ARRAYS; i++)
        pg_array_fini(&group->parameters[i]);
    for (uint32_t i = 0; i < 4; i++)
        pg_array_fini(&group->questions[i]);
}

/* ---- looking entities up ---- */

bool pg_group_entity(struct pg_group *group, const struct pg_entity_row *row)
{
    struct pg_entity_plan *plan;

    if (row->place < 1 || row->place > group->asked.count || row->id == 0)
        return false;
    plan = &group->entities.items[group->asked.items[row->place - 1]];
    plan->is_found = true;
    plan->id = row->id;
    plan->last = row->last;
    return true;
}

void pg_group_looked(struct pg_group *group)
{
    for (uint32_t i = 0; i < group->asked.count; i++) {
        struct pg_entity_plan *plan = &group->entities.items[group->asked.items[i]];

        if (!plan->is_found)
            *plan = (struct pg_entity_plan){ .pid = plan->pid, .shard = plan->shard, .is_found = true };
    }
    group->asked.count = 0;
}

uint32_t pg_group_new(const struct pg_group *group)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < group->entities.count; i++)
        count += group->entities.items[i].id == 0;
    return count;
}

bool pg_group_is_halted(const struct pg_group *group, const struct pg_shard_plan *plan)
{
    return group->halted && map_get(group->halted, plan->type);
}

/* ---- the one statement ---- */

/* All shards are claimed with the fence of each request, and none is halted. */
static bool are_claimed(struct pg_group *group)
{
    if (!group->generation)
        return false;
    for (uint32_t i = 0; i < group->count; i++) {
        const struct sherd_backend_request *request = group->requests[i];

        if (request->again)
            return false;
        for (uint32_t j = 0; j < request->shard_count; j++) {
            const struct sherd_backend_shard *shard = &request->shards[j];
            const struct pg_shard_plan *plan =
                &group->shards.items[pg_group_shard_of(group, shard)];

            if (!plan->is_found || pg_group_is_halted(group, plan) || plan->fence.term != shard->fence.term ||
                plan->fence.epoch != shard->fence.epoch)
                return false;
        }
    }
    return true;
}

/* Takes what is known under the shard's fence. True: nothing has to be asked. */
static bool are_known(struct pg_group *group)
{
    pg_array_clear(&group->questions[0], true);
    group->asked.count = 0;
    for (uint32_t i = 0; i < group->entities.count; i++) {
        struct pg_entity_plan *plan = &group->entities.items[i];
        const struct pg_shard_plan *shard = &group->shards.items[plan->shard];
        const struct pg_known_entity *known;

        if (plan->is_found)
            continue;
        known = pg_known_entity(group->known, plan->pid);
        if (known && fence_compare(known->fence, shard->fence) == 0) {
            plan->is_found = true;
            plan->id = known->id;
            plan->last = known->last;
        } else {
            vec_push(&group->asked, i);
            pg_array_add_bytes(&group->questions[0], plan->pid);
        }
    }
    return group->asked.count == 0;
}

/* Each record is its entity's next one. Leaves `last` as it was. */
static bool are_next(struct pg_group *group)
{
    bool good = true;
    uint64_t *last = mem_alloc((group->entities.count + 1) * sizeof *last);

    for (uint32_t i = 0; i < group->entities.count; i++)
        last[i] = group->entities.items[i].last;
    for (uint32_t i = 0; i < group->count && good; i++) {
        const struct sherd_backend_request *request = group->requests[i];

        for (uint32_t j = 0; j < request->record_count && good; j++) {
            const struct sherd_backend_record *record = &request->records[j];
            uint32_t at = pg_group_entity_of(group, &request->entities[record->entity]);

            good = record->seq == ++last[at];
        }
    }
    mem_free(last);
    return good;
}

void pg_group_clear_parameters(struct pg_group *group)
{
    for (uint32_t i = 0; i < PG_APPEND_ARRAYS; i++)
        pg_array_clear(&group->parameters[i], i == NEW_PID || i == EVENT_RECORD);
    group->added = 0;
}

void pg_group_put_record(struct pg_group *group, uint32_t entity,
                         const struct sherd_backend_record *record)
{
    struct pg_entity_plan *plan = &group->entities.items[entity];
    struct pg_shard_plan *shard = &group->shards.items[plan->shard];
    struct pg_array *to = group->parameters;

    if (plan->id == 0) {
        plan->id = take_id(group->ids);
        plan->is_added = true;
        pg_array_add(&to[NEW_ID], plan->id);
        pg_array_add(&to[NEW_SHARD], shard->id);
        pg_array_add_bytes(&to[NEW_PID], plan->pid);
    }
    plan->last = record->seq;
    pg_array_add(&to[EVENT_ENTITY], plan->id);
    pg_array_add(&to[EVENT_SEQ], record->seq);
    pg_array_add(&to[EVENT_SHARD], shard->id);
    group->added++;
    shard->is_added = true;
    pg_array_add_bytes(&to[EVENT_RECORD], slice_from(record->bytes));
}

void pg_group_put_cut(struct pg_group *group, const struct sherd_backend_entity *entity)
{
    const struct pg_entity_plan *plan = &group->entities.items[pg_group_entity_of(group, entity)];

    if (entity->cut < 2 || !plan->id)
        return;
    pg_array_add(&group->parameters[CUT_ENTITY], plan->id);
    pg_array_add(&group->parameters[CUT_BELOW], entity->cut);
}

static void put_requests(struct pg_group *group)
{
    for (uint32_t i = 0; i < group->count; i++) {
        const struct sherd_backend_request *request = group->requests[i];

        for (uint32_t j = 0; j < request->record_count; j++) {
            const struct sherd_backend_record *record = &request->records[j];

            pg_group_put_record(group, pg_group_entity_of(group, &request->entities[record->entity]), record);
        }
        for (uint32_t j = 0; j < request->entity_count; j++)
            pg_group_put_cut(group, &request->entities[j]);
    }
}

enum pg_way pg_group_plan(struct pg_group *group)
{
    group->generation = group->known->generation; /* a new connection forgets it */
    group->position = group->known->position;
    if (!are_claimed(group))
        return PG_WAY_SLOW;
    if (!are_known(group))
        return PG_WAY_LOOK;
    if (!are_next(group))
        return PG_WAY_SLOW;
    if (group->ids->left < pg_group_new(group))
        return PG_WAY_ONE; /* the caller reserves ids first, and calls again */
    pg_group_clear_parameters(group);
    put_requests(group);
    return PG_WAY_ONE;
}

enum pg_statement pg_group_statement(struct pg_group *group,
                                     struct slice parameters[PG_APPEND_PARAMETERS],
                                     uint32_t *count)
{
    const uint64_t numbers[] = { group->claim, group->generation, group->position };
    const uint32_t records = 3 + EVENT_RECORD + 1;

    for (uint32_t i = 0; i < 3; i++) {
        pg_put_int8(group->numbers[i], numbers[i]);
        parameters[i] = slice_of(group->numbers[i], 8);
    }
    for (uint32_t i = 0; i < PG_APPEND_ARRAYS; i++)
        parameters[3 + i] = pg_array_value(&group->parameters[i]);
    *count = PG_APPEND_PARAMETERS;
    if (group->parameters[NEW_ID].count || group->parameters[CUT_ENTITY].count)
        return PG_APPEND;
    *count = records;
    if (group->added != 1)
        return PG_APPEND_KNOWN;
    for (uint32_t i = 3; i < records; i++)
        parameters[i] = pg_array_first(&group->parameters[i - 3]);
    return PG_APPEND_RECORD;
}

void pg_group_learn(struct pg_group *group)
{
    uint64_t position = group->position + group->added;

    group->known->generation = group->generation;
    group->known->position = position;
    for (uint32_t i = 0; i < group->entities.count; i++) {
        const struct pg_entity_plan *plan = &group->entities.items[i];
        const struct pg_shard_plan *shard = &group->shards.items[plan->shard];

        if (plan->is_found && plan->id && shard->is_found)
            pg_know_entity(group->known, plan->pid,
                           (struct pg_known_entity){ plan->id, plan->last, shard->fence });
    }
    for (uint32_t i = 0; i < group->shards.count; i++) {
        const struct pg_shard_plan *plan = &group->shards.items[i];
        struct pg_known_shard *known =
            pg_known_shard(group->known, pg_shard_key(&group->key, plan->type, plan->shard));

        /* Another owner's records are not what this writer confirmed. */
        if (plan->is_added && !plan->is_lost && plan->claim == group->claim && known &&
            known->id == plan->id)
            known->last = position;
    }
}

void pg_group_settle(struct pg_group *group)
{
    pg_group_learn(group);
    for (uint32_t i = 0; i < group->count; i++) {
        struct sherd_backend_request *request = group->requests[i];

        for (uint32_t j = 0; j < request->shard_count; j++)
            request->shards[j].result = SHERD_BACKEND_DONE;
        for (uint32_t j = 0; j < request->entity_count; j++)
            request->entities[j].result = SHERD_BACKEND_DONE;
        request->result = SHERD_BACKEND_DONE;
    }
}
