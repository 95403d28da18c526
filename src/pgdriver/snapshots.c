/* Stores, reads and deletes snapshots, and deletes the records behind them. Each of these statements
 * may run again, so that an unknown outcome needs no look at the store. */
#include "pgdriver/inside.h"

#include "base/limits.h"

#define SNAPSHOT_MAX (JOURNAL_SNAPSHOT_SIZE_MAX + 64) /* bytes of a record */

struct numbers {
    uint8_t term[8], epoch[8], claim[8], seq[8], count[8];
};

static void put_call(const struct pg_store *store, struct pg_call *call,
                     struct numbers *numbers, const struct sherd_backend_request *request)
{
    bool saves = request->verb == SHERD_BACKEND_SAVE;
    uint64_t seq = saves ? request->records[0].seq : request->from;

    *call = (struct pg_call){ .which = saves ? PG_SAVE : PG_DROP, .count = 7 };
    pg_put_int8(numbers->term, request->fence.term);
    pg_put_int8(numbers->epoch, request->fence.epoch);
    pg_put_int8(numbers->claim, store->claim);
    pg_put_int8(numbers->seq, seq < INT64_MAX ? seq : INT64_MAX);
    pg_put_int8(numbers->count, request->count_max);
    call->parameters[0] = pg_slice(request->type);
    call->parameters[1] = pg_slice(request->shard);
    call->parameters[2] = slice_of(numbers->term, 8);
    call->parameters[3] = slice_of(numbers->epoch, 8);
    call->parameters[4] = slice_of(numbers->claim, 8);
    call->parameters[5] = pg_slice(request->id);
    call->parameters[6] = slice_of(numbers->seq, 8);
    if (saves)
        call->parameters[call->count++] = pg_slice(request->records[0].bytes);
    if (request->verb == SHERD_BACKEND_TRIM)
        call->which = PG_TRIM;
    if (request->verb != SHERD_BACKEND_DROP)
        call->parameters[call->count++] = slice_of(numbers->count, 8);
}

/* The shard is another owner's, or the store has less than this one claimed. False: ask again. */
static bool answer_not_held(struct pg_store *store, struct sherd_backend_request *request,
                            uint64_t deadline)
{
    struct fence own = { request->fence.term, request->fence.epoch };
    struct sherd_fence stored;
    bool is_lower;

    if (!pg_read_stored(store, request, deadline, &stored))
        return false;
    is_lower = fence_compare((struct fence){ stored.term, stored.epoch }, own) < 0;
    request->fence = stored;
    sherd_backend_settle(request, is_lower ? SHERD_BACKEND_LOST : SHERD_BACKEND_FENCED, "");
    return true;
}

/* False: ask again. */
static bool answer_own(struct pg_store *store, const struct pg_call *call,
                       struct sherd_backend_request *request, uint64_t deadline)
{
    struct pg_cell cells[3];
    uint64_t held = 0, number = 0, result = 0; /* the lowest one that stays, or deleted ones */
    uint32_t count = request->verb == SHERD_BACKEND_DROP ? 1 : 3;
    bool good = pg_call_rows(call) == 1 && pg_call_row(call, 0, cells, count) &&
                pg_cell_number(cells[0], &held) &&
                (count < 2 || pg_cell_number(cells[1], &number)) &&
                (count < 3 || pg_cell_number(cells[2], &result));

    if (good && !held)
        return answer_not_held(store, request, deadline);
    if (!good) {
        sherd_backend_settle(request, SHERD_BACKEND_FAILED,
                             "the journal's server sent a damaged row of a snapshot");
    } else if (request->verb == SHERD_BACKEND_SAVE && !number) {
        sherd_backend_settle(request, SHERD_BACKEND_CONFLICT, "");
    } else {
        if (request->verb == SHERD_BACKEND_SAVE)
            request->from = result;
        request->more = request->verb == SHERD_BACKEND_TRIM && number;
        request->deleted = request->verb == SHERD_BACKEND_TRIM ? (uint32_t)result : 0;
        sherd_backend_settle(request, SHERD_BACKEND_DONE, "");
    }
    return true;
}

void pg_own(struct pg_store *store, struct sherd_backend_request *request, uint64_t deadline)
{
    struct sherd_fence fence = request->fence;
    uint32_t attempt = 0;

    if (request->verb == SHERD_BACKEND_SAVE && !request->records[0].seq) {
        sherd_backend_settle(request, SHERD_BACKEND_CONFLICT, "");
        return;
    }
    while (fence.term <= INT64_MAX && fence.epoch <= INT64_MAX && pg_store_ready(store, deadline)) {
        struct pg_call call;
        struct numbers numbers;
        bool good;

        request->fence = fence;
        put_call(store, &call, &numbers, request);
        good = pg_link_run(store->link, &call, 1, false, deadline, NULL) &&
               answer_own(store, &call, request, deadline);
        pg_calls_clear(&call, 1);
        if (good)
            return;
        if (!pg_store_retry(store, pg_link_class(store->link), deadline, &attempt))
            break;
    }
    sherd_backend_settle(request, SHERD_BACKEND_FAILED, pg_link_text(store->link));
}

static void answer_load(const struct pg_call *call, struct sherd_backend_request *request)
{
    struct pg_cell cells[2];
    struct slice record;
    uint64_t seq;

    if (pg_call_rows(call) == 0) {
        sherd_backend_settle(request, SHERD_BACKEND_DONE, "");
    } else if (pg_call_row(call, 0, cells, 2) && pg_cell_number(cells[0], &seq) &&
               pg_cell_bytes(cells[1], SNAPSHOT_MAX, &record)) {
        sherd_backend_add_record(request, seq, (struct sherd_bytes){ record.data, record.size });
        sherd_backend_settle(request, SHERD_BACKEND_DONE, "");
    } else {
        sherd_backend_settle(request, SHERD_BACKEND_FAILED,
                             "the journal's server sent a damaged row of a snapshot");
    }
}

void pg_load(struct pg_store *store, struct sherd_backend_request *request, uint64_t deadline)
{
    uint8_t from[8];
    uint32_t attempt = 0;

    pg_put_int8(from, request->from < INT64_MAX ? request->from : INT64_MAX);
    while (pg_store_ready(store, deadline)) {
        struct pg_call call = { .which = PG_LOAD, .count = 2 };
        bool good;

        call.parameters[0] = pg_slice(request->id);
        call.parameters[1] = slice_of(from, 8);
        good = pg_link_run(store->link, &call, 1, false, deadline, NULL);
        if (good)
            answer_load(&call, request);
        pg_calls_clear(&call, 1);
        if (good)
            return;
        if (!pg_store_retry(store, pg_link_class(store->link), deadline, &attempt))
            break;
    }
    sherd_backend_settle(request, SHERD_BACKEND_FAILED, pg_link_text(store->link));
}
