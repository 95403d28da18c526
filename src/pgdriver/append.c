/* Writes a run of appends: by one statement, or, where that is not enough, by a transaction that looks
 * first. An unknown outcome is read back within the group's time. */
#include "pgdriver/inside.h"

#include "base/check.h"

/* How a try ended. */
enum tried { TRIED_DONE, TRIED_AGAIN, TRIED_SLOW, TRIED_FAILED };

struct append {
    struct pg_store *store;
    struct pg_group group;
    uint64_t deadline;
    uint32_t attempt;
    bool is_unknown; /* a try was sent, and its outcome is not known */
};

/* After an error that left nothing written, or nobody knows. */
static enum tried next_try(struct append *append, enum pg_class class)
{
    return pg_store_retry(append->store, class, append->deadline, &append->attempt)
               ? TRIED_AGAIN
               : TRIED_FAILED;
}

static bool run_one(struct append *append, struct pg_call *call)
{
    return pg_link_run(append->store->link, call, 1, false, append->deadline, NULL);
}

/* ---- questions ---- */

static bool read_entities(struct pg_group *group, const struct pg_call *call)
{
    for (uint32_t i = 0; i < pg_call_rows(call); i++) {
        struct pg_cell cells[PG_ENTITY_CELLS];
        struct pg_entity_row row;

        if (!pg_call_row(call, i, cells, PG_ENTITY_CELLS) || !pg_entity_decode(cells, &row) ||
            !pg_group_entity(group, &row))
            return false;
    }
    pg_group_looked(group);
    return true;
}

static bool look_up(struct append *append)
{
    struct pg_call call = { .which = PG_ENTITIES, .count = 1 };
    bool good;

    call.parameters[0] = pg_array_value(&append->group.questions[0]);
    good = run_one(append, &call) && read_entities(&append->group, &call);
    pg_calls_clear(&call, 1);
    return good;
}

/* Takes as many blocks of numbers as new entities may need. */
static bool reserve_ids(struct append *append)
{
    struct pg_ids *ids = &append->store->ids;
    uint32_t wanted = pg_group_new(&append->group);
    bool good = true;

    while (good && ids->left < wanted) {
        struct pg_call calls[PG_RUN_MAX];
        uint64_t missing = (wanted - ids->left + PG_IDS_COUNT - 1) / PG_IDS_COUNT;
        uint32_t count = missing < PG_RUN_MAX ? (uint32_t)missing : PG_RUN_MAX;

        for (uint32_t i = 0; i < count; i++)
            calls[i] = (struct pg_call){ .which = PG_IDS };
        good = pg_link_run(append->store->link, calls, count, false, append->deadline, NULL);
        for (uint32_t i = 0; good && i < count; i++) {
            struct pg_cell cell;
            uint64_t first;

            good = pg_call_rows(&calls[i]) == 1 && pg_call_row(&calls[i], 0, &cell, 1) &&
                   pg_cell_number(cell, &first);
            if (good)
                pg_ids_add(ids, first, PG_IDS_COUNT);
        }
        pg_calls_clear(calls, count);
    }
    return good;
}

/* ---- the one statement ---- */

static void put_append(struct pg_group *group, struct pg_call *call)
{
    *call = (struct pg_call){ .which = PG_APPEND };
    call->which = pg_group_statement(group, call->parameters, &call->count);
}

static bool read_written(struct pg_group *group, const struct pg_call *call)
{
    for (uint32_t i = 0; i < pg_call_rows(call); i++) {
        struct pg_cell cell;
        uint64_t shard;

        if (!pg_call_row(call, i, &cell, 1) || !pg_cell_number(cell, &shard) ||
            !pg_group_written(group, shard))
            return false;
    }
    return true;
}

static enum tried write_at_once(struct append *append)
{
    struct pg_call call;
    enum pg_class class;
    bool good;

    put_append(&append->group, &call);
    good = run_one(append, &call);
    class = pg_link_class(append->store->link);
    if (good)
        good = read_written(&append->group, &call);
    pg_calls_clear(&call, 1);
    if (good)
        return pg_group_settle(&append->group) ? TRIED_SLOW : TRIED_DONE;
    if (class == PG_CONFLICT)
        return TRIED_SLOW;
    append->is_unknown |= class == PG_UNKNOWN || class == PG_NONE;
    return next_try(append, class);
}

static enum tried try_at_once(struct append *append)
{
    struct pg_store *store = append->store;
    enum pg_way way = pg_group_plan(&append->group);

    if (way == PG_WAY_LOOK) {
        if (!look_up(append))
            return next_try(append, pg_link_class(store->link));
        way = pg_group_plan(&append->group);
    }
    if (way != PG_WAY_ONE)
        return TRIED_SLOW;
    if (store->ids.left < pg_group_new(&append->group) || pg_group_new(&append->group)) {
        if (!reserve_ids(append))
            return next_try(append, pg_link_class(store->link));
        (void)pg_group_plan(&append->group); /* the same way */
    }
    return write_at_once(append);
}

/* ---- looking first ---- */

static bool read_shards(struct pg_group *group, const struct pg_call *call)
{
    for (uint32_t i = 0; i < pg_call_rows(call); i++) {
        struct pg_cell cells[PG_SHARD_CELLS];
        struct pg_shard_row row;

        if (!pg_call_row(call, i, cells, PG_SHARD_CELLS) || !pg_shard_decode(cells, &row))
            return false;
        pg_group_shard_row(group, &row);
    }
    return true;
}

static bool read_same(struct pg_group *group, const struct pg_call *call)
{
    for (uint32_t i = 0; i < pg_call_rows(call); i++) {
        struct pg_cell cells[2];
        uint64_t place;
        bool is_same;

        if (!pg_call_row(call, i, cells, 2) || !pg_cell_number(cells[0], &place) ||
            !pg_cell_flag(cells[1], &is_same) || !pg_group_same(group, place, is_same))
            return false;
    }
    return true;
}

/* Locks the shards until the end of the transaction. */
static bool lock_shards(struct append *append)
{
    struct pg_call calls[2] = { { .which = PG_BEGIN }, { .which = PG_LOCK, .count = 2 } };
    struct pg_group *group = &append->group;
    bool good;

    pg_group_ask_shards(group);
    calls[1].parameters[0] = pg_array_value(&group->questions[0]);
    calls[1].parameters[1] = pg_array_value(&group->questions[1]);
    good = pg_link_run(append->store->link, calls, 2, false, append->deadline, NULL) &&
           read_shards(group, &calls[1]);
    pg_calls_clear(calls, 2);
    return good;
}

/* Reads the entities, and compares the records of a repetition. */
static bool read_stored(struct append *append)
{
    struct pg_call call = { .which = PG_SAME, .count = 3 };
    struct pg_group *group = &append->group;
    bool good;

    pg_group_ask_entities(group);
    if (!look_up(append))
        return false;
    if (!pg_group_ask_records(group))
        return true;
    for (uint32_t i = 0; i < 3; i++)
        call.parameters[i] = pg_array_value(&group->questions[i]);
    good = run_one(append, &call) && read_same(group, &call);
    pg_calls_clear(&call, 1);
    return good;
}

/* Remembers what the transaction found or wrote, and reports losses. */
static void learn(struct append *append)
{
    struct pg_store *store = append->store;
    struct pg_group *group = &append->group;
    bool is_lost = false;

    pg_group_learn(group);
    for (uint32_t i = 0; i < group->shards.count; i++) {
        const struct pg_shard_plan *plan = &group->shards.items[i];
        struct slice key = pg_shard_key(&group->key, plan->type, plan->shard);
        const struct pg_known_shard *known = pg_known_shard(&store->known, key);
        bool is_gone = !plan->is_written && known &&
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

/* Also without a write: locking the rows was one, so the commit waits for synchronous standbys, which
 * then have the records that were found. */
static enum tried commit(struct append *append, bool writes)
{
    struct pg_call calls[2] = { { .which = PG_COMMIT }, { .which = PG_COMMIT } };
    struct pg_store *store = append->store;
    uint32_t count = writes ? 2 : 1;
    enum pg_class class;
    bool good;

    if (writes)
        put_append(&append->group, &calls[0]);
    good = pg_link_run(store->link, calls, count, false, append->deadline, NULL);
    class = pg_link_class(store->link);
    pg_calls_clear(calls, count);
    if (good) {
        learn(append);
        return TRIED_DONE;
    }
    append->is_unknown |= class == PG_UNKNOWN && writes;
    pg_store_rollback(store);
    return next_try(append, class);
}

static enum tried try_slowly(struct append *append)
{
    struct pg_store *store = append->store;
    bool writes, good;

    if (append->is_unknown)
        for (uint32_t i = 0; i < append->group.count; i++)
            append->group.requests[i]->again = 1;
    good = lock_shards(append) && read_stored(append) && reserve_ids(append);
    if (!good) {
        enum pg_class class = pg_link_class(store->link);

        pg_store_rollback(store);
        return next_try(append, class);
    }
    writes = pg_group_judge(&append->group);
    return commit(append, writes);
}

/* ---- a run ---- */

/* The results of what no try could settle. */
static void give_up(struct append *append)
{
    const char *text = pg_link_text(append->store->link);

    for (uint32_t i = 0; i < append->group.count; i++) {
        struct sherd_backend_request *request = append->group.requests[i];

        sherd_backend_settle(request,
                             append->is_unknown || request->again ? SHERD_BACKEND_UNKNOWN
                                                                  : SHERD_BACKEND_FAILED,
                             text);
    }
}

void pg_append(struct pg_store *store, struct sherd_backend_request *const *requests,
               uint32_t count, uint64_t deadline)
{
    struct append append = { .store = store, .deadline = deadline };
    enum tried tried = TRIED_AGAIN;
    bool is_slow = false;

    pg_group_begin(&append.group, &store->known, &store->ids, store->claim, requests, count);
    while (tried == TRIED_AGAIN || tried == TRIED_SLOW) {
        if (!pg_store_ready(store, deadline)) {
            tried = TRIED_FAILED;
            break;
        }
        is_slow |= tried == TRIED_SLOW || append.is_unknown;
        tried = is_slow ? try_slowly(&append) : try_at_once(&append);
    }
    if (tried == TRIED_FAILED)
        give_up(&append);
    pg_group_fini(&append.group);
}
