/* Claims shards, several in one pipeline, and takes terms.
 *
 * A claim waits for the transactions that write to its shard. One that lasts belongs to an older owner,
 * which has no right to it any more: its session is ended. */
#include "postgres/store.h"

#include "base/check.h"
#include "base/limits.h"

/* The parameters of one claim. */
struct numbers {
    uint8_t term[8], epoch[8], claim[8], proof_term[8], proof[8], next[1];
};

struct claims {
    bool is_answered[PG_RUN_MAX];
    uint32_t places[PG_RUN_MAX]; /* of the requests in the run */
    uint32_t sent;
    bool asks_stored; /* the run asks for fences */
    struct numbers numbers[PG_RUN_MAX];
};

static void put_claim(struct pg_store *store, uint32_t index, struct numbers *numbers,
                      const struct sherd_backend_request *request)
{
    struct pg_call *call = pg_call_put(store, index, PG_CLAIM, 9);

    pg_put_int8(numbers->term, request->next ? 0 : request->fence.term);
    pg_put_int8(numbers->epoch, request->next ? 1 : request->fence.epoch);
    pg_put_int8(numbers->claim, store->settings.claim);
    pg_put_int8(numbers->proof_term, request->proof.term);
    pg_put_int8(numbers->proof, request->proof.value);
    numbers->next[0] = request->next != 0;
    call->parameters[0] = pg_slice(request->type);
    call->parameters[1] = pg_slice(request->shard);
    call->parameters[2] = slice_of(numbers->term, 8);
    call->parameters[3] = slice_of(numbers->epoch, 8);
    call->parameters[4] = slice_of(numbers->claim, 8);
    call->parameters[5] = slice_of(numbers->proof_term, 8);
    call->parameters[6] = slice_of(numbers->proof, 8);
    call->parameters[7] = slice_of(numbers->next, 1);
    call->parameters[8] = slice_text(store->settings.owner);
}

static struct sherd_fence fence_of(struct fence fence)
{
    return (struct sherd_fence){ fence.term, fence.epoch };
}

/* The shard is this writer's. A position of it below the one that it confirmed is a loss. */
static void take_shard(struct pg_store *store, struct sherd_backend_request *request,
                       const struct pg_claim_row *row)
{
    struct buf buf = { 0 };
    struct slice type = pg_slice(request->type), shard = pg_slice(request->shard);
    struct slice key = pg_shard_key(&buf, type, shard);
    const struct pg_known_shard *known = pg_known_shard(&store->known, key);
    uint64_t last = known && !known->is_lost && known->last <= row->last ? known->last : 0;

    if (known && !known->is_lost && row->last < known->last) {
        pg_store_lost(store, type, shard, known->last, row->last);
        pg_forget_entities(&store->known);
    }
    pg_know_shard(&store->known, key,
                  (struct pg_known_shard){ .id = row->id, .fence = row->fence, .last = last });
    request->fence = fence_of(row->fence);
    sherd_backend_settle(request, SHERD_BACKEND_DONE, "");
    buf_fini(&buf);
}

static void fail_damaged(struct sherd_backend_request *request)
{
    sherd_backend_settle(request, SHERD_BACKEND_FAILED,
                         "the journal's server sent a damaged row of a shard");
}

/* False: the stored fence must be asked for, as it may be newer than the statement's view. */
static bool answer_claim(struct pg_store *store, uint32_t index,
                         struct sherd_backend_request *request)
{
    struct pg_cell cells[PG_CLAIM_CELLS];
    struct pg_claim_row row;
    struct sherd_backend_proofs proofs;
    enum sherd_backend_result proven;

    if (pg_rows(store, index) != 1 || !pg_row(store, index, 0, cells, PG_CLAIM_CELLS) ||
        !pg_claim_decode(cells, &row)) {
        fail_damaged(request);
        return true;
    }
    if (row.is_written) {
        take_shard(store, request, &row);
        return true;
    }
    proofs = (struct sherd_backend_proofs){ row.last_term, row.lowest_term, row.proof };
    proven = sherd_backend_prove(request->proof, &proofs);
    if (proven == SHERD_BACKEND_DONE)
        return false;
    sherd_backend_settle(request, proven, "");
    if (proven == SHERD_BACKEND_FENCED)
        request->fence = (struct sherd_fence){ row.lowest_term, 0 };
    return true;
}

static bool has_large_fence(const struct sherd_backend_request *request)
{
    return request->fence.term > INT64_MAX || request->fence.epoch > INT64_MAX;
}

static void *start_claims(struct pg_store *store)
{
    struct claims *claims = mem_alloc(sizeof *claims);

    for (uint32_t i = 0; i < store->length; i++)
        if (has_large_fence(pg_request(store, i))) {
            sherd_backend_settle(pg_request(store, i), SHERD_BACKEND_FAILED,
                                 "a fence is above 2^63");
            claims->is_answered[i] = true;
        }
    return claims;
}

static void end_claims(struct pg_store *store)
{
    mem_free(store->work);
}

static enum pg_next begin_claims(struct pg_store *store)
{
    struct claims *claims = store->work;

    claims->sent = 0;
    claims->asks_stored = false;
    for (uint32_t i = 0; i < store->length; i++) {
        if (!claims->is_answered[i] && pg_store_refuse_halted(store, pg_request(store, i)))
            claims->is_answered[i] = true;
        if (!claims->is_answered[i]) {
            claims->places[claims->sent] = i;
            put_claim(store, claims->sent, &claims->numbers[claims->sent], pg_request(store, i));
            claims->sent++;
        }
    }
    if (!claims->sent)
        return PG_NEXT_OVER;
    (void)pg_run(store, claims->sent, true);
    store->step.claims = true;
    return PG_NEXT_STEP;
}

static bool are_all_answered(const struct pg_store *store, const struct claims *claims)
{
    for (uint32_t i = 0; i < store->length; i++)
        if (!claims->is_answered[i])
            return false;
    return true;
}

static enum pg_next took_claims(struct pg_store *store, bool is_good)
{
    struct claims *claims = store->work;
    uint32_t refused = 0;

    (void)is_good; /* each is a transaction of its own */
    for (uint32_t i = 0; i < claims->sent && store->is_open; i++) {
        uint32_t place = claims->places[i];

        if (!pg_is_answered(store, i))
            continue;
        if (answer_claim(store, i, pg_request(store, place))) {
            claims->is_answered[place] = true;
        } else {
            pg_ask_stored(store, refused, pg_request(store, place));
            claims->places[refused++] = place;
        }
    }
    if (!refused)
        return are_all_answered(store, claims) ? PG_NEXT_OVER : PG_NEXT_RETRY;
    claims->sent = refused;
    claims->asks_stored = true;
    return pg_run(store, refused, true);
}

/* Otherwise a claim that ran at the same time made a row that this one could not read. */
static bool is_refused(const struct sherd_backend_request *request, struct sherd_fence stored)
{
    struct fence own = { request->fence.term, request->fence.epoch };

    return !request->next && fence_compare((struct fence){ stored.term, stored.epoch }, own) > 0;
}

static enum pg_next took_stored(struct pg_store *store)
{
    struct claims *claims = store->work;

    for (uint32_t i = 0; i < claims->sent; i++) {
        uint32_t place = claims->places[i];
        struct sherd_fence stored;

        if (!pg_is_answered(store, i) || !pg_read_stored(store, i, &stored) ||
            !is_refused(pg_request(store, place), stored))
            continue; /* it is claimed again */
        pg_request(store, place)->fence = stored;
        sherd_backend_settle(pg_request(store, place), SHERD_BACKEND_FENCED, "");
        claims->is_answered[place] = true;
    }
    return are_all_answered(store, claims) ? PG_NEXT_OVER : PG_NEXT_RETRY;
}

static enum pg_next took_claims_or_stored(struct pg_store *store, bool is_good)
{
    return ((struct claims *)store->work)->asks_stored ? took_stored(store)
                                                       : took_claims(store, is_good);
}

static void give_claims_up(struct pg_store *store)
{
    const struct claims *claims = store->work;

    for (uint32_t i = 0; i < store->length; i++)
        if (!claims->is_answered[i])
            sherd_backend_settle(pg_request(store, i), SHERD_BACKEND_FAILED, store->text);
}

const struct pg_job pg_job_claim = { start_claims, begin_claims, took_claims_or_stored,
                                     give_claims_up, end_claims };

/* ---- terms ---- */

struct term {
    uint8_t numbers[5][8];
};

static void *start_term(struct pg_store *store)
{
    const struct sherd_backend_request *request = pg_request(store, 0);
    struct term *term = mem_alloc(sizeof *term);
    const uint64_t values[] = { request->fence.term, request->next_proof, request->proof.term,
                                request->proof.value, BACKEND_PROOFS_MAX };

    for (int i = 0; i < 5; i++)
        pg_put_int8(term->numbers[i], values[i]);
    return term;
}

static enum pg_next begin_term(struct pg_store *store)
{
    struct sherd_backend_request *request = pg_request(store, 0);
    struct term *term = store->work;
    struct pg_call *call = pg_call_put(store, 0, PG_TERM, 6);

    if (request->fence.term >= INT64_MAX) {
        sherd_backend_settle(request, SHERD_BACKEND_FAILED, "a term is above 2^63");
        return PG_NEXT_OVER;
    }
    call->parameters[0] = pg_slice(request->type);
    for (int i = 0; i < 5; i++)
        call->parameters[i + 1] = slice_of(term->numbers[i], 8);
    pg_call_put(store, 1, PG_SHARDS, 1)->parameters[0] = pg_slice(request->type);
    return pg_run(store, request->lists ? 2 : 1, true);
}

static void list_shards(const struct pg_store *store, struct sherd_backend_request *request)
{
    for (uint32_t i = 0; i < pg_rows(store, 1); i++) {
        struct pg_cell cell;
        struct slice name;

        if (pg_row(store, 1, i, &cell, 1) && pg_cell_bytes(cell, PG_TEXT_MAX, &name))
            sherd_backend_add_shard(request, (struct sherd_bytes){ name.data, name.size });
    }
}

static enum pg_next took_term(struct pg_store *store, bool is_good)
{
    struct sherd_backend_request *request = pg_request(store, 0);
    struct pg_cell cells[4];
    uint64_t term = 0;

    if (!is_good)
        return PG_NEXT_RETRY;
    is_good = pg_rows(store, 0) == 1 && pg_row(store, 0, 0, cells, 4);
    if (is_good && cells[3].size < 0) {
        sherd_backend_settle(request, SHERD_BACKEND_OTHER_STORE, "");
    } else if (is_good && pg_cell_number(cells[3], &term)) {
        request->fence.term = term;
        sherd_backend_settle(request, SHERD_BACKEND_DONE, "");
    } else {
        sherd_backend_settle(request, SHERD_BACKEND_FAILED,
                             "the journal's server sent a damaged row of a term");
    }
    if (request->lists && request->result == SHERD_BACKEND_DONE)
        list_shards(store, request);
    return PG_NEXT_OVER;
}

static void give_term_up(struct pg_store *store)
{
    sherd_backend_settle(pg_request(store, 0), SHERD_BACKEND_FAILED, store->text);
}

const struct pg_job pg_job_term = { start_term, begin_term, took_term, give_term_up, end_claims };
