/* Writes a run of appends: by one statement, or, where that is not enough, by a transaction that looks
 * first. An unknown outcome is read back within the group's time. */
#include "postgres/store.h"

#include "base/check.h"

/* The statement that was sent. The slow ones are in the order of their transaction. */
enum stage {
    STAGE_ENTITIES,
    STAGE_IDS,
    STAGE_WRITE,
    STAGE_SLOW_SHARDS,
    STAGE_SLOW_ENTITIES,
    STAGE_SLOW_RECORDS,
    STAGE_SLOW_IDS,
    STAGE_SLOW_COMMIT,
    STAGE_ROLLBACK,
};

struct append {
    struct pg_group group;
    enum stage stage;
    bool is_slow;
    bool is_unknown; /* a try was sent, and its outcome is not known */
    bool writes;     /* the commit comes with records */
    enum pg_class class; /* why the transaction is undone */
};

static void *start(struct pg_store *store)
{
    struct append *append = mem_alloc(sizeof *append);

    pg_group_begin(&append->group, &store->known, &store->ids, store->settings.claim,
                   store->requests + store->at, store->length);
    append->group.halted = &store->halted;
    return append;
}

static void end(struct pg_store *store)
{
    struct append *append = store->work;

    pg_group_fini(&append->group);
    mem_free(append);
}

static enum pg_next send(struct pg_store *store, enum stage stage, uint32_t count)
{
    ((struct append *)store->work)->stage = stage;
    return pg_run(store, count, false);
}

/* ---- questions ---- */

static enum pg_next ask_entities(struct pg_store *store, enum stage stage)
{
    struct append *append = store->work;

    pg_call_put(store, 0, PG_ENTITIES, 1)->parameters[0] = pg_array_value(&append->group.questions[0]);
    return send(store, stage, 1);
}

static bool read_entities(struct pg_store *store, struct pg_group *group)
{
    for (uint32_t i = 0; i < pg_rows(store, 0); i++) {
        struct pg_cell cells[PG_ENTITY_CELLS];
        struct pg_entity_row row;

        if (!pg_row(store, 0, i, cells, PG_ENTITY_CELLS) || !pg_entity_decode(cells, &row) ||
            !pg_group_entity(group, &row))
            return false;
    }
    pg_group_looked(group);
    return true;
}

/* Takes as many blocks of numbers as new entities may need. False: there are enough. */
static bool must_reserve(struct pg_store *store, enum stage stage)
{
    struct append *append = store->work;
    uint64_t wanted = pg_group_new(&append->group), missing, count;

    if (store->ids.left >= wanted)
        return false;
    missing = (wanted - store->ids.left + PG_IDS_COUNT - 1) / PG_IDS_COUNT;
    count = missing < PG_RUN_MAX ? missing : PG_RUN_MAX;
    for (uint32_t i = 0; i < count; i++)
        (void)pg_call_put(store, i, PG_IDS, 0);
    (void)send(store, stage, (uint32_t)count);
    return true;
}

static bool read_ids(struct pg_store *store)
{
    for (uint32_t i = 0; i < store->step.count; i++) {
        struct pg_cell cell;
        uint64_t first;

        if (pg_rows(store, i) != 1 || !pg_row(store, i, 0, &cell, 1) ||
            !pg_cell_number(cell, &first))
            return false;
        pg_ids_add(&store->ids, first, PG_IDS_COUNT);
    }
    return true;
}

/* ---- the one statement ---- */

static void put_append(struct pg_store *store, uint32_t index)
{
    struct append *append = store->work;
    struct pg_call *call = &store->calls[index];

    call->which = pg_group_statement(&append->group, call->parameters, &call->count);
}

/* The statement's row names the writer. */
static bool is_written(const struct pg_store *store, const struct pg_group *group)
{
    struct pg_cell cell;
    uint64_t writer;

    return pg_rows(store, 0) == 1 && pg_row(store, 0, 0, &cell, 1) &&
           pg_cell_number(cell, &writer) && writer == group->claim;
}

static enum pg_next go_slowly(struct pg_store *store)
{
    ((struct append *)store->work)->is_slow = true;
    return PG_NEXT_AGAIN;
}

static enum pg_next took_write(struct pg_store *store, bool is_good)
{
    struct append *append = store->work;

    if (is_good && is_written(store, &append->group)) {
        pg_group_settle(&append->group);
        return PG_NEXT_OVER;
    }
    if (is_good || store->class == PG_CONFLICT)
        return go_slowly(store);
    append->is_unknown |= store->class == PG_UNKNOWN || store->class == PG_NONE;
    return PG_NEXT_RETRY;
}

static enum pg_next write_at_once(struct pg_store *store)
{
    struct append *append = store->work;

    if (must_reserve(store, STAGE_IDS))
        return PG_NEXT_STEP;
    if (pg_group_new(&append->group))
        (void)pg_group_plan(&append->group); /* the same way */
    put_append(store, 0);
    return send(store, STAGE_WRITE, 1);
}

static enum pg_next try_at_once(struct pg_store *store)
{
    struct append *append = store->work;

    switch (pg_group_plan(&append->group)) {
    case PG_WAY_LOOK:
        return ask_entities(store, STAGE_ENTITIES);
    case PG_WAY_ONE:
        return write_at_once(store);
    case PG_WAY_SLOW:
        break;
    }
    return go_slowly(store);
}

/* ---- looking first ---- */

/* Takes a new generation, which ends all earlier tries, and reads all known shards and those of the group.
 * The writer's row is locked until the end of the transaction, so no claim of its shards is committed. */
static enum pg_next renew(struct pg_store *store)
{
    struct append *append = store->work;
    struct pg_group *group = &append->group;
    struct pg_call *named;

    store->known.generation = 0;
    if (append->is_unknown)
        for (uint32_t i = 0; i < group->count; i++)
            group->requests[i]->again = 1;
    pg_group_ask_shards(group);
    (void)pg_call_put(store, 0, PG_BEGIN, 0);
    pg_call_put(store, 1, PG_RENEW, 1)->parameters[0] = pg_own_number(store);
    pg_ask_owned(store, 2);
    named = pg_call_put(store, 3, PG_NAMED, 3);
    named->parameters[0] = pg_array_value(&group->questions[0]);
    named->parameters[1] = pg_array_value(&group->questions[1]);
    named->parameters[2] = pg_own_number(store);
    return send(store, STAGE_SLOW_SHARDS, 4);
}

static bool read_generation(const struct pg_store *store, struct pg_group *group)
{
    struct pg_cell cells[2];

    group->generation = group->position = 0;
    return !pg_rows(store, 1) ||
           (pg_row(store, 1, 0, cells, 2) && pg_cell_number(cells[0], &group->generation) &&
            pg_cell_number(cells[1], &group->position));
}

static bool read_shards(struct pg_store *store, struct pg_group *group)
{
    if (!read_generation(store, group) || !pg_read_owned(store, 2))
        return false;
    for (uint32_t i = 0; i < pg_rows(store, 3); i++) {
        struct pg_cell cells[PG_SHARD_CELLS];
        struct pg_shard_row row;

        if (!pg_row(store, 3, i, cells, PG_SHARD_CELLS) || !pg_shard_decode(cells, &row))
            return false;
        pg_group_shard_row(group, &row);
    }
    return true;
}

static bool read_same(const struct pg_store *store, struct pg_group *group)
{
    for (uint32_t i = 0; i < pg_rows(store, 0); i++) {
        struct pg_cell cells[2];
        uint64_t place;
        bool is_same;

        if (!pg_row(store, 0, i, cells, 2) || !pg_cell_number(cells[0], &place) ||
            !pg_cell_flag(cells[1], &is_same) || !pg_group_same(group, place, is_same))
            return false;
    }
    return true;
}

/* Remembers what the transaction found or wrote, and reports losses. */
static void learn(struct pg_store *store, struct pg_group *group)
{
    bool is_lost = false;

    pg_group_learn(group);
    for (uint32_t i = 0; i < group->shards.count; i++) {
        const struct pg_shard_plan *plan = &group->shards.items[i];
        struct slice key = pg_shard_key(&group->key, plan->type, plan->shard);
        const struct pg_known_shard *known = pg_known_shard(&store->known, key);
        bool is_gone = known &&
                       (!plan->is_found || plan->is_lost ||
                        fence_compare(plan->fence, known->fence) < 0);

        if (!is_gone)
            continue;
        if (!known->is_lost)
            pg_store_lost(store, plan->type, plan->shard, known->last,
                          plan->is_found ? plan->last : 0);
        pg_forget_shard(&store->known, key);
        is_lost = true;
    }
    if (is_lost)
        pg_forget_entities(&store->known);
}

/* Also without a write: the new generation was one, so the commit waits for synchronous standbys, which
 * then have the records that were found. */
static enum pg_next judge_and_commit(struct pg_store *store)
{
    struct append *append = store->work;

    if (must_reserve(store, STAGE_SLOW_IDS))
        return PG_NEXT_STEP;
    append->writes = pg_group_judge(&append->group);
    if (append->writes)
        put_append(store, 0);
    (void)pg_call_put(store, append->writes ? 1 : 0, PG_COMMIT, 0);
    return send(store, STAGE_SLOW_COMMIT, append->writes ? 2 : 1);
}

static enum pg_next ask_records(struct pg_store *store)
{
    struct append *append = store->work;
    struct pg_call *call;

    if (!pg_group_ask_records(&append->group))
        return judge_and_commit(store);
    call = pg_call_put(store, 0, PG_SAME, 3);
    for (uint32_t i = 0; i < 3; i++)
        call->parameters[i] = pg_array_value(&append->group.questions[i]);
    return send(store, STAGE_SLOW_RECORDS, 1);
}

/* Undoes an open transaction. */
static enum pg_next undo(struct pg_store *store)
{
    struct append *append = store->work;

    append->class = store->class;
    if (!store->is_open)
        return PG_NEXT_RETRY;
    (void)pg_call_put(store, 0, PG_ROLLBACK, 0);
    (void)send(store, STAGE_ROLLBACK, 1);
    store->step.deadline = store->now + 1000;
    return PG_NEXT_STEP;
}

static enum pg_next took_rollback(struct pg_store *store, bool is_good)
{
    if (!is_good && store->is_open) {
        store->link->ops->close(store->link);
        store->is_open = false;
    }
    store->class = ((struct append *)store->work)->class;
    return PG_NEXT_RETRY;
}

static enum pg_next took_slow(struct pg_store *store, bool is_good)
{
    struct append *append = store->work;
    struct pg_group *group = &append->group;

    if (append->stage == STAGE_SLOW_SHARDS && is_good && read_shards(store, group)) {
        pg_group_ask_entities(group);
        return ask_entities(store, STAGE_SLOW_ENTITIES);
    }
    if (append->stage == STAGE_SLOW_ENTITIES && is_good && read_entities(store, group))
        return ask_records(store);
    if (append->stage == STAGE_SLOW_RECORDS && is_good && read_same(store, group))
        return judge_and_commit(store);
    if (append->stage == STAGE_SLOW_IDS && is_good && read_ids(store))
        return judge_and_commit(store);
    if (append->stage == STAGE_SLOW_COMMIT && is_good &&
        (!append->writes || is_written(store, group))) {
        learn(store, group);
        return PG_NEXT_OVER;
    }
    if (append->stage == STAGE_SLOW_COMMIT)
        append->is_unknown |= store->class == PG_UNKNOWN && append->writes;
    return undo(store);
}

/* ---- a run ---- */

static enum pg_next begin(struct pg_store *store)
{
    struct append *append = store->work;

    append->is_slow |= append->is_unknown;
    return append->is_slow ? renew(store) : try_at_once(store);
}

static enum pg_next took(struct pg_store *store, bool is_good)
{
    struct append *append = store->work;

    switch (append->stage) {
    case STAGE_ENTITIES:
        return is_good && read_entities(store, &append->group) ? try_at_once(store) : PG_NEXT_RETRY;
    case STAGE_IDS:
        return is_good && read_ids(store) ? write_at_once(store) : PG_NEXT_RETRY;
    case STAGE_WRITE:
        return took_write(store, is_good);
    case STAGE_ROLLBACK:
        return took_rollback(store, is_good);
    default:
        return took_slow(store, is_good);
    }
}

/* The results of what no try could settle. */
static void give_up(struct pg_store *store)
{
    const struct append *append = store->work;

    for (uint32_t i = 0; i < store->length; i++) {
        struct sherd_backend_request *request = pg_request(store, i);

        sherd_backend_settle(request,
                             append->is_unknown || request->again ? SHERD_BACKEND_UNKNOWN
                                                                  : SHERD_BACKEND_FAILED,
                             store->text);
    }
}

const struct pg_job pg_job_append = { start, begin, took, give_up, end };
