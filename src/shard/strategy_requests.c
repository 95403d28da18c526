/* Asks a strategy of the program for regions and moves. Keeps requests that are answered later, until
 * their answer, their time limit or their end. */
#include <stdio.h>

#include <sherd/allocation.h>

#include "base/limits.h"
#include "base/mark.h"
#include "base/sorted.h"
#include "shard/shard_id.h"
#include "shard/strategy.h"

#define TIME_LIMIT_MS 5000
#define PAUSE SECOND /* before a shard is asked for again */

/* ---- the end of a request ---- */

static void probe(const struct coordinator *coordinator, enum probe_kind kind,
                  const struct shard *shard, uint64_t number,
                  enum probe_allocation why)
{
    struct probe probe = { .kind = kind,
                           .type = coordinator->type_index,
                           .shard = INT32_MIN,
                           .first = number,
                           .second = why };

    if (shard)
        (void)shard_number(coordinator->names, shard->id, &probe.shard);
    probes_put(coordinator->probes, &probe);
}

static void probe_end(const struct coordinator *coordinator,
                      const struct strategy_request *request,
                      enum probe_allocation why)
{
    probe(coordinator, PROBE_ALLOCATION_ENDED, request->shard, request->number,
          why);
}

static int number_order(const void *item, const void *key)
{
    const struct strategy_request *const *request = item;
    uint64_t number = *(const uint64_t *)key;

    return (*request)->number < number ? -1 : (*request)->number > number;
}

/* The index of a request, or the count. */
static uint32_t find(const struct strategy_state *state, uint64_t number)
{
    uint32_t at = sorted_vec_place(&state->requests, number_order, &number);

    return at < state->requests.count &&
                   state->requests.items[at]->number == number
               ? at
               : state->requests.count;
}

/* Takes the request out of the counts of its state. */
static void leave_state(struct strategy_state *state,
                        const struct strategy_request *request)
{
    if (!request->shard)
        return;
    state->open -= request->state == REQUEST_OPEN;
    state->blocked -= request->state != REQUEST_ANSWERED;
    state->ready -= request->state == REQUEST_ANSWERED;
}

static void enter_state(struct strategy_state *state,
                        struct strategy_request *request,
                        enum request_state entered)
{
    request->state = entered;
    if (!request->shard)
        return;
    state->open += entered == REQUEST_OPEN;
    state->blocked += entered != REQUEST_ANSWERED;
    state->ready += entered == REQUEST_ANSWERED;
}

static void drop(struct strategy_state *state, struct strategy_request *request)
{
    leave_state(state, request);
    vec_remove(&state->requests, find(state, request->number));
    if (request->shard)
        request->shard->request = NULL;
    else
        state->moves = NULL;
    mem_free(request->region);
    vec_fini(&request->moves);
    mem_free(request);
}

static void end(struct coordinator *coordinator,
                struct strategy_request *request, enum probe_allocation why)
{
    if (request->state != REQUEST_PAUSED) /* else it has ended before */
        probe_end(coordinator, request, why);
    drop(&coordinator->strategy, request);
}

/* In vain: its shard is asked for again after a pause. */
static void pause_request(struct coordinator *coordinator, uint64_t now,
                          struct strategy_request *request,
                          enum probe_allocation why)
{
    probe_end(coordinator, request, why);
    if (!request->shard) {
        drop(&coordinator->strategy, request);
        return;
    }
    request->shard->tries++;
    leave_state(&coordinator->strategy, request);
    enter_state(&coordinator->strategy, request, REQUEST_PAUSED);
    timers_put(&coordinator->timers, now + PAUSE, TIMER_REQUEST,
               request->number, REQUEST_PAUSED);
}

void strategy_placed(struct coordinator *coordinator, struct shard *shard)
{
    if (shard->request) {
        REACHED("a shard has a home before the program has chosen one");
        end(coordinator, shard->request, PROBE_ALLOCATION_NEEDLESS);
    }
    shard->tries = 0;
}

void strategy_requests_fini(struct coordinator *coordinator)
{
    struct strategy_state *state = &coordinator->strategy;

    while (state->requests.count)
        end(coordinator, state->requests.items[state->requests.count - 1],
            PROBE_ALLOCATION_NEEDLESS);
    vec_fini(&state->requests);
}

/* ---- refusals ---- */

static void trace_refused(struct coordinator *coordinator,
                          const struct shard *shard, const char *answer)
{
    coordinator->counters.answers_refused++;
    trace_put(coordinator->trace, TRACE_WARNING, "coordinator",
              "answer of the allocation strategy refused type=%s shard=%.*s "
              "answer=\"%s\" hint=\"answer one of the request's regions\"",
              coordinator->type, shard ? (int)shard->id.size : 0,
              shard ? (const char *)shard->id.data : "", answer);
}

static void refuse_number(struct coordinator *coordinator,
                          const struct shard *shard, int answer)
{
    char text[16];

    (void)snprintf(text, sizeof text, "%d", answer);
    trace_refused(coordinator, shard, text);
}

/* ---- requests ---- */

static struct strategy_request *make(struct coordinator *coordinator,
                                     struct shard *shard)
{
    struct strategy_state *state = &coordinator->strategy;
    struct strategy_request *request = mem_alloc(sizeof *request);

    request->number = state->number;
    request->shard = shard;
    vec_push(&state->requests, request);
    if (shard)
        shard->request = request;
    else
        state->moves = request;
    enter_state(state, request, REQUEST_OPEN);
    return request;
}

static void wait_for(struct coordinator *coordinator, uint64_t now,
                     struct shard *shard)
{
    uint64_t limit = coordinator->strategy.custom->timeout_ms;
    const struct strategy_request *request = make(coordinator, shard);

    timers_put(&coordinator->timers, now + (limit ? limit : TIME_LIMIT_MS) * MS,
               TIMER_REQUEST, request->number, REQUEST_OPEN);
}

bool strategy_may_choose(const struct coordinator *coordinator)
{
    const struct strategy_state *state = &coordinator->strategy;

    return coordinator->unplaced > state->blocked &&
           (state->ready || state->open < COORDINATOR_REQUESTS_MAX);
}

bool strategy_awaits(const struct shard *shard)
{
    return shard->request && shard->request->state != REQUEST_ANSWERED;
}

static struct sherd_allocation_request
request_of(struct coordinator *coordinator, const struct strategy_view *view,
           bool is_calm)
{
    struct sherd_allocation_request request = {
        .number = ++coordinator->strategy.number,
        .type = coordinator->type,
        .requester = -1,
        .calm = is_calm,
    };

    coordinator->counters.requests++;
    strategy_view_lend(view, &request);
    return request;
}

static uint32_t take_answer(struct coordinator *coordinator, uint64_t now,
                            struct shard *shard,
                            const struct allocation_region *views,
                            uint32_t count)
{
    struct strategy_request *request = shard->request;
    char text[ADDRESS_TEXT_MAX];
    uint32_t found = count;

    if (request->region) {
        found = strategy_region_at(coordinator, request->region, views, count);
        if (found == count) {
            trace_refused(coordinator, shard,
                          kept_address_text(request->region, text,
                                            sizeof text));
            pause_request(coordinator, now, request,
                          PROBE_ALLOCATION_REFUSED);
            return ALLOCATION_NONE;
        }
    }
    end(coordinator, request, PROBE_ALLOCATION_ANSWERED);
    return found < count ? views[found].region
                         : allocation_choose(views, count);
}

uint32_t strategy_ask(struct coordinator *coordinator, uint64_t now,
                      struct shard *shard,
                      const struct allocation_region *views, uint32_t count)
{
    struct strategy_state *state = &coordinator->strategy;
    struct sherd_allocation_request request;
    char text[SHARD_TEXT_MAX];
    uint32_t requester;
    int32_t number;
    int answer;

    if (shard->request)
        return take_answer(coordinator, now, shard, views, count);
    if (!shard_number(coordinator->names, shard->id, &number))
        return allocation_choose(views, count);
    if (state->open >= COORDINATOR_REQUESTS_MAX)
        return ALLOCATION_NONE;
    if (!state->view)
        state->view = strategy_view_new(coordinator, views, count);
    requester = strategy_requester(coordinator, shard, views, count);
    request = request_of(coordinator, state->view,
                         strategy_is_calm(coordinator) &&
                             !allocation_is_mixed(views, count));
    request.shard = number;
    request.shard_id = coordinator->names ? shard_label(coordinator->names, number, text) : NULL;
    request.tries = shard->tries;
    request.requester = requester < count ? (int)requester : -1;
    probe(coordinator, PROBE_ALLOCATION_ASKED, shard, request.number, 0);
    answer = state->custom->allocate(state->custom->user, &request);
    if (answer == SHERD_ALLOCATION_LATER) {
        wait_for(coordinator, now, shard);
        return ALLOCATION_NONE;
    }
    if (answer != SHERD_ALLOCATION_DEFAULT &&
        (answer < 0 || (uint32_t)answer >= count)) {
        refuse_number(coordinator, shard, answer);
        pause_request(coordinator, now, make(coordinator, shard),
                      PROBE_ALLOCATION_REFUSED);
        return ALLOCATION_NONE;
    }
    probe(coordinator, PROBE_ALLOCATION_ENDED, shard, request.number,
          PROBE_ALLOCATION_ANSWERED);
    return answer == SHERD_ALLOCATION_DEFAULT ? allocation_choose(views, count)
                                              : views[answer].region;
}

/* ---- moves ---- */

/* Null: the number is none. */
static const struct shard *known_shard(const struct coordinator *coordinator, int32_t number)
{
    char text[SHARD_TEXT_MAX];

    if (coordinator->names &&
        (number < 0 || (uint32_t)number >= shard_names_count(coordinator->names)))
        return NULL;
    return map_get(&coordinator->shard_ids, shard_name(coordinator->names, number, text));
}

/* Writes the shards that have a home and do not move, each once, by index. */
static uint32_t known_moves(const struct coordinator *coordinator,
                            const int32_t *shards, uint32_t count,
                            uint32_t *chosen)
{
    bool *is_taken = mem_alloc(coordinator->shards.count * sizeof *is_taken);
    uint32_t found = 0;

    for (uint32_t i = 0; i < count; i++) {
        const struct shard *shard = known_shard(coordinator, shards[i]);

        if (!shard || !shard->home || shard->handoff || is_taken[shard->index])
            continue;
        is_taken[shard->index] = true;
        chosen[found++] = shard->index;
    }
    mem_free(is_taken);
    return found;
}

static uint32_t take_moves(struct coordinator *coordinator, uint32_t *chosen)
{
    struct strategy_request *request = coordinator->strategy.moves;
    uint32_t count = request->moves.count;

    if (request->state != REQUEST_ANSWERED)
        return 0;
    for (uint32_t i = 0; i < count; i++)
        chosen[i] = request->moves.items[i];
    end(coordinator, request, PROBE_ALLOCATION_ANSWERED);
    return count;
}

uint32_t strategy_ask_moves(struct coordinator *coordinator, uint64_t now,
                            const struct allocation_region *views,
                            uint32_t count,
                            const struct allocation_limits *limits,
                            uint32_t *chosen)
{
    struct strategy_state *state = &coordinator->strategy;
    bool is_calm = strategy_is_calm(coordinator);
    struct sherd_allocation_request request;
    struct strategy_view *view;
    uint32_t found = 0;
    int32_t *shards;
    int answer;

    if (state->moves)
        return take_moves(coordinator, chosen);
    if (!state->custom->rebalance || !count)
        return 0;
    view = strategy_view_new(coordinator, views, count);
    shards = mem_alloc((coordinator->shards.count + 1) * sizeof *shards);
    request = request_of(coordinator, view,
                         is_calm && !allocation_is_mixed(views, count));
    probe(coordinator, PROBE_ALLOCATION_ASKED, NULL, request.number, 0);
    answer = state->custom->rebalance(state->custom->user, &request, shards);
    if (answer == SHERD_ALLOCATION_LATER) {
        wait_for(coordinator, now, NULL);
    } else if (answer == SHERD_ALLOCATION_DEFAULT) {
        found = allocation_rebalance(limits, views, count,
                                     coordinator->handoffs.count, is_calm,
                                     chosen);
    } else if (answer < 0 || (uint32_t)answer > coordinator->shards.count) {
        refuse_number(coordinator, NULL, answer);
    } else {
        found = known_moves(coordinator, shards, (uint32_t)answer, chosen);
    }
    if (answer != SHERD_ALLOCATION_LATER)
        probe(coordinator, PROBE_ALLOCATION_ENDED, NULL, request.number,
              PROBE_ALLOCATION_ANSWERED);
    mem_free(shards);
    strategy_view_free(view);
    return found;
}

/* ---- later ---- */

static void set_moves(struct coordinator *coordinator,
                      struct strategy_request *request,
                      const struct coordinator_choice *choice)
{
    uint32_t *chosen = mem_alloc(coordinator->shards.count * sizeof *chosen);
    uint32_t found = known_moves(coordinator, choice->shards,
                                 choice->shard_count, chosen);

    for (uint32_t i = 0; i < found; i++)
        vec_push(&request->moves, chosen[i]);
    mem_free(chosen);
    coordinator->is_rebalancing = true;
}

void strategy_answered(struct coordinator *coordinator, uint64_t number,
                       const struct coordinator_choice *choice)
{
    struct strategy_state *state = &coordinator->strategy;
    uint32_t at = find(state, number);
    struct strategy_request *request;

    if (at == state->requests.count ||
        state->requests.items[at]->state != REQUEST_OPEN) {
        REACHED("the program answers a request that has ended");
        coordinator->counters.answers_late++;
        return;
    }
    request = state->requests.items[at];
    leave_state(state, request);
    enter_state(state, request, REQUEST_ANSWERED);
    probe(coordinator, PROBE_ALLOCATION_ANSWER, request->shard, number, 0);
    if (!request->shard)
        set_moves(coordinator, request, choice);
    else if (choice->region)
        request->region = address_keep(choice->region);
}

void strategy_request_due(struct coordinator *coordinator, uint64_t now,
                          uint64_t number, uint32_t generation)
{
    struct strategy_state *state = &coordinator->strategy;
    uint32_t at = find(state, number);
    struct strategy_request *request;

    if (at == state->requests.count ||
        (uint32_t)state->requests.items[at]->state != generation)
        return;
    request = state->requests.items[at];
    if (request->state == REQUEST_PAUSED) {
        drop(state, request);
        return;
    }
    coordinator->counters.requests_late++;
    trace_put(coordinator->trace, TRACE_WARNING, "coordinator",
              "allocation strategy has not answered in time%s type=%s "
              "shard=%.*s tries=%u "
              "hint=\"answer each request for which it returned LATER\"",
              request->shard ? ", asked again" : "", coordinator->type,
              request->shard ? (int)request->shard->id.size : 0,
              request->shard ? (const char *)request->shard->id.data : "",
              request->shard ? request->shard->tries + 1 : 1);
    pause_request(coordinator, now, request, PROBE_ALLOCATION_LATE);
}
