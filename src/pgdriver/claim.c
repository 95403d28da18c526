/* Claims shards, several in one pipeline, and takes terms.
 *
 * A claim waits for the transactions that write to its shard. One that lasts belongs to an older owner,
 * which has no right to it any more: its session is ended. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "pgdriver/inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/limits.h"

#define PATIENCE_MS 3000

/* ---- sessions that hold a shard ---- */

/* On a connection of its own, as the writer's waits. */
static void end_holders(void *context)
{
    struct pg_store *store = context;
    struct pg_link *link = pg_link_new(store->options);
    uint64_t deadline = pg_now() + 3000;
    char sql[500], ended[400];

    (void)snprintf(sql, sizeof sql,
                   "SELECT string_agg(format('pid=%%s application=%%s ended=%%s', a.pid,"
                   " quote_ident(a.application_name), pg_terminate_backend(a.pid)), ' ')"
                   " FROM unnest(pg_blocking_pids(%" PRIu32 ")) AS b (pid)"
                   " JOIN pg_stat_activity a ON a.pid = b.pid"
                   " WHERE a.usename = current_user AND a.application_name LIKE 'sherd:%%'",
                   pg_link_backend(store->link)); /* fits */
    if (pg_link_connect(link, deadline) &&
        pg_link_query(link, sql, deadline, ended, sizeof ended) && ended[0])
        pg_store_log(store, SHERD_BACKEND_WARNING,
                     "a former owner's session held a shard that was claimed; it was ended %s "
                     "hint=\"check whether that process was suspended\"",
                     ended);
    pg_link_free(link);
}

/* ---- claims ---- */

struct claim {
    uint8_t term[8], epoch[8], claim[8], proof_term[8], proof[8], next[1];
};

static void put_claim(const struct pg_store *store, struct pg_call *call, struct claim *claim,
                      const struct sherd_backend_request *request, struct slice owner)
{
    *call = (struct pg_call){ .which = PG_CLAIM, .count = 9 };
    pg_put_int8(claim->term, request->next ? 0 : request->fence.term);
    pg_put_int8(claim->epoch, request->next ? 1 : request->fence.epoch);
    pg_put_int8(claim->claim, store->claim);
    pg_put_int8(claim->proof_term, request->proof.term);
    pg_put_int8(claim->proof, request->proof.value);
    claim->next[0] = request->next != 0;
    call->parameters[0] = pg_slice(request->type);
    call->parameters[1] = pg_slice(request->shard);
    call->parameters[2] = slice_of(claim->term, 8);
    call->parameters[3] = slice_of(claim->epoch, 8);
    call->parameters[4] = slice_of(claim->claim, 8);
    call->parameters[5] = slice_of(claim->proof_term, 8);
    call->parameters[6] = slice_of(claim->proof, 8);
    call->parameters[7] = slice_of(claim->next, 1);
    call->parameters[8] = owner;
}

static struct sherd_fence fence_of(struct fence fence)
{
    return (struct sherd_fence){ fence.term, fence.epoch };
}

/* The shard is this writer's. A position below the one that it confirmed is a loss. */
static void take_shard(struct pg_store *store, struct sherd_backend_request *request,
                       const struct pg_claim_row *row)
{
    struct buf buf = { 0 };
    struct slice type = pg_slice(request->type), shard = pg_slice(request->shard);
    struct slice key = pg_shard_key(&buf, type, shard);
    const struct pg_known_shard *known = pg_known_shard(&store->known, key);

    if (known && !known->is_lost && row->last < known->last) {
        pg_store_lost(store, type, shard, known->last, row->last);
        pg_forget_entities(&store->known);
    }
    pg_know_shard(&store->known, key,
                  (struct pg_known_shard){ .id = row->id, .fence = row->fence, .last = row->last });
    request->fence = fence_of(row->fence);
    sherd_backend_settle(request, SHERD_BACKEND_DONE, "");
    buf_fini(&buf);
}

/* The stored fence at the time of the refusal may be newer than the statement's view. */
bool pg_read_stored(struct pg_store *store, const struct sherd_backend_request *request,
                    uint64_t deadline, struct sherd_fence *stored)
{
    struct pg_call call = { .which = PG_SHARD, .count = 2 };
    struct pg_cell cells[2];
    bool good;

    call.parameters[0] = pg_slice(request->type);
    call.parameters[1] = pg_slice(request->shard);
    good = pg_link_run(store->link, &call, 1, false, deadline, NULL);
    *stored = (struct sherd_fence){ 0, 0 };
    if (good && pg_call_rows(&call))
        good = pg_call_rows(&call) == 1 && pg_call_row(&call, 0, cells, 2) &&
               pg_cell_number(cells[0], &stored->term) &&
               pg_cell_number(cells[1], &stored->epoch);
    pg_calls_clear(&call, 1);
    return good;
}

/* False: ask again. */
static bool answer_claim(struct pg_store *store, const struct pg_call *call,
                         struct sherd_backend_request *request, uint64_t deadline)
{
    struct pg_cell cells[PG_CLAIM_CELLS];
    struct pg_claim_row row;
    struct sherd_backend_proofs proofs;
    struct sherd_fence stored;
    enum sherd_backend_result proven;

    if (pg_call_rows(call) != 1 || !pg_call_row(call, 0, cells, PG_CLAIM_CELLS) ||
        !pg_claim_decode(cells, &row)) {
        sherd_backend_settle(request, SHERD_BACKEND_FAILED,
                             "the journal's server sent a damaged row of a shard");
        return true;
    }
    if (row.is_written) {
        take_shard(store, request, &row);
        return true;
    }
    proofs = (struct sherd_backend_proofs){ row.last_term, row.lowest_term, row.proof };
    proven = sherd_backend_prove(request->proof, &proofs);
    if (proven != SHERD_BACKEND_DONE) {
        sherd_backend_settle(request, proven, "");
        if (proven == SHERD_BACKEND_FENCED)
            request->fence = (struct sherd_fence){ row.lowest_term, 0 };
        return true;
    }
    if (!pg_read_stored(store, request, deadline, &stored) || (!stored.term && !stored.epoch))
        return false;
    request->fence = stored;
    sherd_backend_settle(request, SHERD_BACKEND_FENCED, "");
    return true;
}

static void put_owner(char owner[80])
{
    char host[40] = "";

    (void)gethostname(host, sizeof host - 1); /* only a name for people */
    (void)snprintf(owner, 80, "%s:%d", host, (int)getpid()); /* fits */
}

/* One try of all claims that are left. */
static void try_claims(struct pg_store *store, struct sherd_backend_request *const *requests,
                       bool *is_answered, uint32_t count, uint64_t deadline)
{
    const struct pg_patience patience = { PATIENCE_MS, end_holders, store };
    struct pg_call calls[PG_RUN_MAX];
    struct claim claims[PG_RUN_MAX];
    uint32_t places[PG_RUN_MAX], left = 0;
    char owner[80];

    put_owner(owner);
    for (uint32_t i = 0; i < count; i++)
        if (!is_answered[i]) {
            places[left] = i;
            put_claim(store, &calls[left], &claims[left], requests[i], slice_text(owner));
            left++;
        }
    (void)pg_link_run(store->link, calls, left, true, deadline, &patience);
    for (uint32_t i = 0; i < left; i++)
        if (calls[i].class == PG_NONE && calls[i].result && pg_link_is_open(store->link))
            is_answered[places[i]] =
                answer_claim(store, &calls[i], requests[places[i]], deadline);
    pg_calls_clear(calls, left);
}

static bool has_large_fence(const struct sherd_backend_request *request)
{
    return request->fence.term > INT64_MAX || request->fence.epoch > INT64_MAX;
}

void pg_claim(struct pg_store *store, struct sherd_backend_request *const *requests,
              uint32_t count, uint64_t deadline)
{
    bool is_answered[PG_RUN_MAX] = { false };
    uint32_t left = count, attempt = 0;

    for (uint32_t i = 0; i < count; i++)
        if (has_large_fence(requests[i])) {
            sherd_backend_settle(requests[i], SHERD_BACKEND_FAILED, "a fence is above 2^63");
            is_answered[i] = true;
            left--;
        }
    while (left && pg_store_ready(store, deadline)) {
        enum pg_class class;

        try_claims(store, requests, is_answered, count, deadline);
        class = pg_link_class(store->link);
        left = 0;
        for (uint32_t i = 0; i < count; i++)
            left += !is_answered[i];
        if (left && !pg_store_retry(store, class, deadline, &attempt))
            break;
    }
    for (uint32_t i = 0; left && i < count; i++)
        if (!is_answered[i])
            sherd_backend_settle(requests[i], SHERD_BACKEND_FAILED, pg_link_text(store->link));
}

/* ---- terms ---- */

static void list_shards(const struct pg_call *call, struct sherd_backend_request *request)
{
    for (uint32_t i = 0; i < pg_call_rows(call); i++) {
        struct pg_cell cell;
        struct slice name;

        if (pg_call_row(call, i, &cell, 1) && pg_cell_bytes(cell, PG_TEXT_MAX, &name))
            sherd_backend_add_shard(request, (struct sherd_bytes){ name.data, name.size });
    }
}

static void answer_term(const struct pg_call *call, struct sherd_backend_request *request)
{
    struct pg_cell cells[4];
    uint64_t term = 0;
    bool good = pg_call_rows(call) == 1 && pg_call_row(call, 0, cells, 4);

    if (good && cells[3].size < 0) {
        sherd_backend_settle(request, SHERD_BACKEND_OTHER_STORE, "");
    } else if (good && pg_cell_number(cells[3], &term)) {
        request->fence.term = term;
        sherd_backend_settle(request, SHERD_BACKEND_DONE, "");
    } else {
        sherd_backend_settle(request, SHERD_BACKEND_FAILED,
                             "the journal's server sent a damaged row of a term");
    }
}

void pg_take_term(struct pg_store *store, struct sherd_backend_request *request,
                  uint64_t deadline)
{
    struct pg_call calls[2] = { { .which = PG_TERM, .count = 6 },
                                { .which = PG_SHARDS, .count = 1 } };
    uint8_t numbers[5][8];
    const uint64_t values[] = { request->fence.term, request->next_proof, request->proof.term,
                                request->proof.value, BACKEND_PROOFS_MAX };
    uint32_t attempt = 0;

    if (request->fence.term >= INT64_MAX) {
        sherd_backend_settle(request, SHERD_BACKEND_FAILED, "a term is above 2^63");
        return;
    }
    calls[0].parameters[0] = calls[1].parameters[0] = pg_slice(request->type);
    for (int i = 0; i < 5; i++) {
        pg_put_int8(numbers[i], values[i]);
        calls[0].parameters[i + 1] = slice_of(numbers[i], 8);
    }
    while (pg_store_ready(store, deadline)) {
        bool good = pg_link_run(store->link, calls, request->lists ? 2 : 1, true, deadline, NULL);

        if (good) {
            answer_term(&calls[0], request);
            if (request->lists && request->result == SHERD_BACKEND_DONE)
                list_shards(&calls[1], request);
        }
        pg_calls_clear(calls, 2);
        if (good)
            return;
        if (!pg_store_retry(store, pg_link_class(store->link), deadline, &attempt))
            break;
    }
    sherd_backend_settle(request, SHERD_BACKEND_FAILED, pg_link_text(store->link));
}
