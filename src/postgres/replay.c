/* Reads the records of entities, several in one pipeline. */
#include "postgres/store.h"

/* One question, and its numbers. */
struct question {
    bool is_answered;
    bool is_short; /* for all records, if they are few */
    uint8_t from[8], count[8], size[8];
};

/* Most entities have few records. */
static bool may_be_short(const struct sherd_backend_request *request)
{
    return request->from == 1 && request->count_max >= PG_SHORT_COUNT &&
           request->size_max >= PG_SHORT_COUNT * PG_SHORT_SIZE;
}

static void put_question(struct pg_store *store, uint32_t index, struct question *question,
                         const struct sherd_backend_request *request)
{
    struct pg_call *call = pg_call_put(store, index, PG_REPLAY_LAST, 1);

    call->parameters[0] = pg_slice(request->id);
    if (question->is_short)
        call->which = PG_REPLAY_SHORT;
    if (question->is_short || request->from == SHERD_BACKEND_LAST)
        return;
    call->which = PG_REPLAY;
    call->count = 4;
    pg_put_int8(question->from, request->from < INT64_MAX ? request->from : INT64_MAX);
    pg_put_int8(question->count, request->count_max);
    pg_put_int8(question->size, request->size_max);
    call->parameters[1] = slice_of(question->from, 8);
    call->parameters[2] = slice_of(question->count, 8);
    call->parameters[3] = slice_of(question->size, 8);
}

/* Tells whether the records are no few, small ones. */
static bool are_too_many(const struct pg_store *store, uint32_t index)
{
    uint32_t rows = pg_rows(store, index);
    struct pg_cell cells[PG_REPLAY_CELLS];

    for (uint32_t i = 0; i < rows; i++)
        if (pg_row(store, index, i, cells, PG_REPLAY_CELLS) && cells[1].size < 0)
            return true;
    return rows > PG_SHORT_COUNT;
}

static void answer(const struct pg_store *store, uint32_t index,
                   struct sherd_backend_request *request)
{
    uint32_t rows = pg_rows(store, index);
    struct pg_replay_row row = { .is_more = false };

    for (uint32_t i = 0; i < rows && !row.is_more; i++) {
        struct pg_cell cells[PG_REPLAY_CELLS];

        if (!pg_row(store, index, i, cells, PG_REPLAY_CELLS) || !pg_replay_decode(cells, &row)) {
            sherd_backend_settle(request, SHERD_BACKEND_FAILED,
                                 "the journal's server sent a damaged row of an event");
            return;
        }
        if (!row.is_more)
            sherd_backend_add_record(request, row.seq,
                                     (struct sherd_bytes){ row.record.data, row.record.size });
    }
    request->more = row.is_more;
    sherd_backend_settle(request, SHERD_BACKEND_DONE, "");
}

static void *start(struct pg_store *store)
{
    struct question *questions = mem_alloc(store->length * sizeof *questions);

    for (uint32_t i = 0; i < store->length; i++)
        questions[i].is_short = may_be_short(pg_request(store, i));
    return questions;
}

static void end(struct pg_store *store)
{
    mem_free(store->work);
}

static enum pg_next begin(struct pg_store *store)
{
    struct question *questions = store->work;
    uint32_t count = 0;

    for (uint32_t i = 0; i < store->length; i++)
        if (!questions[i].is_answered)
            put_question(store, count++, &questions[i], pg_request(store, i));
    return count ? pg_run(store, count, true) : PG_NEXT_OVER;
}

static enum pg_next took(struct pg_store *store, bool is_good)
{
    struct question *questions = store->work;

    for (uint32_t i = 0, at = 0; i < store->length; i++) {
        struct question *question = &questions[i];

        if (question->is_answered)
            continue;
        if (pg_is_answered(store, at)) {
            question->is_answered = !question->is_short || !are_too_many(store, at);
            question->is_short = false;
            if (question->is_answered)
                answer(store, at, pg_request(store, i));
        }
        at++;
    }
    return is_good ? PG_NEXT_AGAIN : PG_NEXT_RETRY; /* for the rest */
}

static void give_up(struct pg_store *store)
{
    const struct question *questions = store->work;

    for (uint32_t i = 0; i < store->length; i++)
        if (!questions[i].is_answered)
            sherd_backend_settle(pg_request(store, i), SHERD_BACKEND_FAILED, store->text);
}

const struct pg_job pg_job_replay = { start, begin, took, give_up, end };
