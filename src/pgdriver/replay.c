/* Reads the records of entities, several in one pipeline. */
#include "pgdriver/inside.h"

#include <stdio.h>

/* One question, and its numbers. */
struct question {
    bool is_short; /* for all records, if they are few */
    uint8_t from[8], count[8], size[8];
};

/* Most entities have few records. */
static bool may_be_short(const struct sherd_backend_request *request)
{
    return request->from == 1 && request->count_max >= PG_SHORT_COUNT &&
           request->size_max >= PG_SHORT_COUNT * PG_SHORT_SIZE;
}

static void put_question(struct pg_call *call, struct question *question,
                         const struct sherd_backend_request *request)
{
    *call = (struct pg_call){ .which = PG_REPLAY_LAST, .count = 1 };
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
static bool are_too_many(const struct pg_call *call)
{
    uint32_t rows = pg_call_rows(call);
    struct pg_cell cells[PG_REPLAY_CELLS];

    for (uint32_t i = 0; i < rows; i++)
        if (pg_call_row(call, i, cells, PG_REPLAY_CELLS) && cells[1].size < 0)
            return true;
    return rows > PG_SHORT_COUNT;
}

static void answer(const struct pg_call *call, struct sherd_backend_request *request)
{
    uint32_t rows = pg_call_rows(call);
    struct pg_replay_row row = { .is_more = false };

    for (uint32_t i = 0; i < rows && !row.is_more; i++) {
        struct pg_cell cells[PG_REPLAY_CELLS];

        if (!pg_call_row(call, i, cells, PG_REPLAY_CELLS) || !pg_replay_decode(cells, &row)) {
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

void pg_replay(struct pg_store *store, struct sherd_backend_request *const *requests,
               uint32_t count, uint64_t deadline)
{
    struct pg_call calls[PG_RUN_MAX];
    struct question questions[PG_RUN_MAX];
    bool is_answered[PG_RUN_MAX] = { false };
    uint32_t left = count, attempt = 0;

    for (uint32_t i = 0; i < count; i++)
        questions[i].is_short = may_be_short(requests[i]);
    while (left) {
        enum pg_class class;

        if (!pg_store_ready(store, deadline))
            break;
        left = 0;
        for (uint32_t i = 0; i < count; i++)
            if (!is_answered[i])
                put_question(&calls[left++], &questions[i], requests[i]);
        (void)pg_link_run(store->link, calls, left, true, deadline, NULL);
        class = pg_link_class(store->link);
        for (uint32_t i = 0, at = 0; i < count; i++) {
            if (is_answered[i])
                continue;
            if (calls[at].class == PG_NONE && calls[at].result) {
                is_answered[i] = !questions[i].is_short || !are_too_many(&calls[at]);
                questions[i].is_short = false;
                if (is_answered[i])
                    answer(&calls[at], requests[i]);
            }
            at++;
        }
        pg_calls_clear(calls, left);
        left = 0;
        for (uint32_t i = 0; i < count; i++)
            left += !is_answered[i];
        if (left && class != PG_NONE &&
            !pg_store_retry(store, class, deadline, &attempt))
            break;
    }
    for (uint32_t i = 0; i < count; i++)
        if (!is_answered[i])
            sherd_backend_settle(requests[i], SHERD_BACKEND_FAILED, pg_link_text(store->link));
}
