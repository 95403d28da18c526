/* Stores, reads and deletes snapshots, and deletes the records behind them. Each of these statements
 * may run again, so that an unknown outcome needs no look at the store. */
#include "postgres/store.h"

#include "base/check.h"
#include "base/limits.h"

#define SNAPSHOT_MAX (JOURNAL_SNAPSHOT_SIZE_MAX + 64) /* bytes of a record */

/* One request, with the numbers of its parameters. */
struct one {
    struct sherd_fence fence; /* the request's own */
    bool asks_stored;         /* the run asks for the stored fence */
    uint8_t term[8], epoch[8], claim[8], seq[8], count[8];
};

static void *start(struct pg_store *store)
{
    struct one *one = mem_alloc(sizeof *one);

    one->fence = pg_request(store, 0)->fence;
    return one;
}

static void end(struct pg_store *store)
{
    mem_free(store->work);
}

static void put_owned(struct pg_store *store, struct one *one,
                      const struct sherd_backend_request *request)
{
    bool saves = request->verb == SHERD_BACKEND_SAVE;
    struct pg_call *call = pg_call_put(store, 0, saves ? PG_SAVE : PG_DROP, 7);

    pg_put_int8(one->term, one->fence.term);
    pg_put_int8(one->epoch, one->fence.epoch);
    pg_put_int8(one->claim, store->settings.claim);
    pg_put_int8(one->count, request->count_max);
    call->parameters[0] = pg_slice(request->type);
    call->parameters[1] = pg_slice(request->shard);
    call->parameters[2] = slice_of(one->term, 8);
    call->parameters[3] = slice_of(one->epoch, 8);
    call->parameters[4] = slice_of(one->claim, 8);
    call->parameters[5] = pg_slice(request->id);
    call->parameters[6] = slice_of(one->seq, 8);
    if (saves)
        call->parameters[call->count++] = pg_slice(request->records[0].bytes);
    if (request->verb == SHERD_BACKEND_TRIM)
        call->which = PG_TRIM;
    if (request->verb != SHERD_BACKEND_DROP)
        call->parameters[call->count++] = slice_of(one->count, 8);
}

static enum pg_next fail(struct sherd_backend_request *request, const char *text)
{
    sherd_backend_settle(request, SHERD_BACKEND_FAILED, text);
    return PG_NEXT_OVER;
}

static enum pg_next begin(struct pg_store *store)
{
    struct sherd_backend_request *request = pg_request(store, 0);
    struct one *one = store->work;
    bool saves = request->verb == SHERD_BACKEND_SAVE;
    uint64_t seq = saves ? request->records[0].seq : request->from;

    if (saves && !seq) {
        sherd_backend_settle(request, SHERD_BACKEND_CONFLICT, "");
        return PG_NEXT_OVER;
    }
    one->asks_stored = false;
    pg_put_int8(one->seq, seq < INT64_MAX ? seq : INT64_MAX);
    if (request->verb == SHERD_BACKEND_LOAD) {
        struct pg_call *call = pg_call_put(store, 0, PG_LOAD, 2);

        call->parameters[0] = pg_slice(request->id);
        call->parameters[1] = slice_of(one->seq, 8);
    } else if (one->fence.term > INT64_MAX || one->fence.epoch > INT64_MAX) {
        return fail(request, "a fence is above 2^63");
    } else {
        put_owned(store, one, request);
    }
    return pg_run(store, 1, false);
}

/* ---- answers ---- */

/* The shard is another owner's, or the store has less than this one claimed. */
static enum pg_next took_stored(struct pg_store *store)
{
    struct sherd_backend_request *request = pg_request(store, 0);
    const struct one *one = store->work;
    struct fence own = { one->fence.term, one->fence.epoch };
    struct sherd_fence stored;
    bool is_lower;

    if (!pg_read_stored(store, 0, &stored))
        return PG_NEXT_RETRY;
    is_lower = fence_compare((struct fence){ stored.term, stored.epoch }, own) < 0;
    request->fence = stored;
    sherd_backend_settle(request, is_lower ? SHERD_BACKEND_LOST : SHERD_BACKEND_FENCED, "");
    return PG_NEXT_OVER;
}

static enum pg_next took_owned(struct pg_store *store)
{
    struct sherd_backend_request *request = pg_request(store, 0);
    struct one *one = store->work;
    struct pg_cell cells[3];
    uint64_t held = 0, number = 0, result = 0; /* the lowest one that stays, or deleted ones */
    uint32_t count = request->verb == SHERD_BACKEND_DROP ? 1 : 3;
    bool is_good = pg_rows(store, 0) == 1 && pg_row(store, 0, 0, cells, count) &&
                   pg_cell_number(cells[0], &held) &&
                   (count < 2 || pg_cell_number(cells[1], &number)) &&
                   (count < 3 || pg_cell_number(cells[2], &result));

    if (!is_good)
        return fail(request, "the journal's server sent a damaged row of a snapshot");
    if (!held) {
        one->asks_stored = true;
        pg_ask_stored(store, 0, request);
        return pg_run(store, 1, false);
    }
    if (request->verb == SHERD_BACKEND_SAVE && !number) {
        sherd_backend_settle(request, SHERD_BACKEND_CONFLICT, "");
        return PG_NEXT_OVER;
    }
    if (request->verb == SHERD_BACKEND_SAVE)
        request->from = result;
    request->more = request->verb == SHERD_BACKEND_TRIM && number;
    request->deleted = request->verb == SHERD_BACKEND_TRIM ? (uint32_t)result : 0;
    sherd_backend_settle(request, SHERD_BACKEND_DONE, "");
    return PG_NEXT_OVER;
}

static enum pg_next took_loaded(struct pg_store *store)
{
    struct sherd_backend_request *request = pg_request(store, 0);
    struct pg_cell cells[2];
    struct slice record;
    uint64_t seq;

    if (pg_rows(store, 0)) {
        if (!pg_row(store, 0, 0, cells, 2) || !pg_cell_number(cells[0], &seq) ||
            !pg_cell_bytes(cells[1], SNAPSHOT_MAX, &record))
            return fail(request, "the journal's server sent a damaged row of a snapshot");
        sherd_backend_add_record(request, seq, (struct sherd_bytes){ record.data, record.size });
    }
    sherd_backend_settle(request, SHERD_BACKEND_DONE, "");
    return PG_NEXT_OVER;
}

static enum pg_next took(struct pg_store *store, bool is_good)
{
    const struct one *one = store->work;

    if (!is_good)
        return PG_NEXT_RETRY;
    if (one->asks_stored)
        return took_stored(store);
    return pg_request(store, 0)->verb == SHERD_BACKEND_LOAD ? took_loaded(store) : took_owned(store);
}

static void give_up(struct pg_store *store)
{
    sherd_backend_settle(pg_request(store, 0), SHERD_BACKEND_FAILED, store->text);
}

const struct pg_job pg_job_one = { start, begin, took, give_up, end };
