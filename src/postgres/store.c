/* Carries jobs through connections, tries and pauses until their deadline. */
#include "postgres/store.h"

#include <stdio.h>

#include "base/check.h"

#define PAUSE_MS UINT64_C(50)
#define PAUSE_MAX_MS 1000

void pg_store_init(struct pg_store *store, struct pg_link *link, const struct pg_settings *settings)
{
    *store = (struct pg_store){ .settings = *settings, .link = link };
    store->calls = mem_alloc(PG_RUN_MAX * sizeof *store->calls);
    store->answers = mem_alloc(PG_RUN_MAX * sizeof *store->answers);
}

void pg_store_fini(struct pg_store *store)
{
    if (store->phase != PG_IDLE && store->job->end)
        store->job->end(store);
    pg_known_fini(&store->known);
    vec_fini(&store->ids.blocks);
    map_fini(&store->halted);
    pg_array_fini(&store->owned);
    mem_free(store->calls);
    mem_free(store->answers);
    mem_free(store->requests);
}

/* ---- jobs without requests ---- */

static enum pg_next begin_open(struct pg_store *store)
{
    (void)store;
    return PG_NEXT_OVER;
}

static enum pg_next begin_touch(struct pg_store *store)
{
    (void)pg_call_put(store, 0, PG_TOUCH, 0);
    return pg_run(store, 1, false);
}

static enum pg_next took_touch(struct pg_store *store, bool is_good)
{
    store->has_failed = !is_good;
    return PG_NEXT_OVER;
}

static enum pg_next begin_look(struct pg_store *store)
{
    (void)pg_call_put(store, 0, PG_LIVES, 0);
    return pg_run(store, 1, false);
}

/* A new connection compares the shards of a server that took over. */
static enum pg_next took_look(struct pg_store *store, bool is_good)
{
    (void)store;
    return is_good ? PG_NEXT_OVER : PG_NEXT_RETRY;
}

static void give_nothing_up(struct pg_store *store)
{
    (void)store;
}

static const struct pg_job job_open = { .begin = begin_open, .give_up = give_nothing_up };
static const struct pg_job job_touch = { .begin = begin_touch, .took = took_touch,
                                         .give_up = give_nothing_up };

static const struct pg_job job_look = { .begin = begin_look, .took = took_look,
                                        .give_up = give_nothing_up };

static void start_job(struct pg_store *store, const struct pg_job *job, uint32_t length)
{
    store->job = job;
    store->length = length;
    store->attempt = store->connects = 0;
    store->has_failed = false;
    store->work = job->start ? job->start(store) : NULL;
    store->phase = PG_TRY;
}

static void start_alone(struct pg_store *store, const struct pg_job *job, uint64_t now,
                        uint64_t deadline)
{
    check(store->phase == PG_IDLE);
    store->count = store->at = 0;
    store->now = now;
    store->deadline = deadline;
    start_job(store, job, 0);
}

void pg_store_begin_open(struct pg_store *store, uint64_t now, uint64_t deadline)
{
    start_alone(store, &job_open, now, deadline);
}

void pg_store_begin_touch(struct pg_store *store, uint64_t now, uint64_t deadline)
{
    start_alone(store, &job_touch, now, deadline);
}

void pg_store_begin_look(struct pg_store *store, uint64_t now, uint64_t deadline)
{
    start_alone(store, &job_look, now, deadline);
}

static bool reads(const struct sherd_backend_request *request)
{
    return request->verb == SHERD_BACKEND_REPLAY || request->verb == SHERD_BACKEND_LOAD;
}

void pg_store_begin(struct pg_store *store, struct sherd_backend_request *const *requests,
                    uint32_t count, uint64_t now)
{
    check(store->phase == PG_IDLE);
    mem_free(store->requests);
    store->requests = mem_alloc((count + 1) * sizeof *store->requests);
    store->count = store->at = store->length = 0;
    store->now = now;
    store->deadline = now + store->settings.group_ms;
    for (uint32_t i = 0; i < count; i++) {
        if (store->settings.is_writer && reads(requests[i]))
            sherd_backend_settle(requests[i], SHERD_BACKEND_FAILED, "not for a writer");
        else
            store->requests[store->count++] = requests[i];
    }
}

static const struct pg_job *job_of(enum sherd_backend_verb verb)
{
    switch (verb) {
    case SHERD_BACKEND_APPEND:
        return &pg_job_append;
    case SHERD_BACKEND_CLAIM:
        return &pg_job_claim;
    case SHERD_BACKEND_TAKE_TERM:
        return &pg_job_term;
    case SHERD_BACKEND_REPLAY:
        return &pg_job_replay;
    default:
        return &pg_job_one; /* snapshots */
    }
}

/* The longest run of requests of one verb that one job takes. */
static uint32_t run_of(const struct pg_store *store)
{
    uint32_t length = 1, max = PG_RUN_MAX;
    enum sherd_backend_verb verb = pg_request(store, 0)->verb;

    if (verb == SHERD_BACKEND_APPEND)
        max = UINT32_MAX;
    else if (verb != SHERD_BACKEND_CLAIM && verb != SHERD_BACKEND_REPLAY)
        max = 1;
    while (store->at + length < store->count && length < max &&
           pg_request(store, length)->verb == verb)
        length++;
    return length;
}

/* A job before may have found a loss. */
static void drop_halted(struct pg_store *store)
{
    uint32_t kept = store->at;

    for (uint32_t i = store->at; i < store->count && store->halted.count; i++)
        if (reads(store->requests[i]) || !pg_store_refuse_halted(store, store->requests[i]))
            store->requests[kept++] = store->requests[i];
    if (store->halted.count)
        store->count = kept;
}

static bool start_next(struct pg_store *store)
{
    drop_halted(store);
    if (store->at == store->count)
        return false;
    start_job(store, job_of(pg_request(store, 0)->verb), run_of(store));
    return true;
}

static void end_job(struct pg_store *store)
{
    if (store->job->end)
        store->job->end(store);
    store->work = NULL;
    store->at += store->length;
    store->phase = PG_IDLE;
}

/* ---- tries ---- */

/* After an error: closes a connection that is of no use, and waits before the next try. */
static enum pg_next retry(struct pg_store *store, uint32_t *attempt)
{
    enum pg_class class = store->class;
    uint64_t pause = PAUSE_MS << (*attempt < 5 ? *attempt : 5);

    if (store->is_open && (class == PG_READ_ONLY || class == PG_STALE || class == PG_UNKNOWN)) {
        store->link->ops->close(store->link);
        store->is_open = false;
    }
    if (class == PG_REFUSED || class == PG_CORRUPT || class == PG_FULL ||
        store->now >= store->deadline) {
        store->has_failed = true;
        store->job->give_up(store);
        return PG_NEXT_OVER;
    }
    if ((*attempt)++ == 0)
        return PG_NEXT_AGAIN;
    if (pause > PAUSE_MAX_MS)
        pause = PAUSE_MAX_MS;
    pause += store->now;
    store->step = (struct pg_step){ .kind = PG_STEP_PAUSE,
                                    .deadline = pause < store->deadline ? pause : store->deadline };
    store->phase = PG_PAUSING;
    return PG_NEXT_STEP;
}

/* Says once that the server is away, and once that it is back. */
static void say_state(struct pg_store *store, bool is_down)
{
    const char *label = store->link->ops->label(store->link);

    if (is_down == store->is_down || !store->settings.is_writer || !store->was_opened)
        return;
    store->is_down = is_down;
    if (is_down)
        pg_store_log(store, SHERD_BACKEND_WARNING,
                     "connection to the journal's server lost; it is tried again %s class=%s "
                     "error=\"%s\"",
                     label, pg_class_text(store->class), store->text);
    else
        pg_store_log(store, SHERD_BACKEND_INFO, "connected to the journal's server again %s", label);
}

static enum pg_next try_once(struct pg_store *store)
{
    /* The connection may have found a loss. Claims and appends are several, and look themselves. */
    if (store->is_open && store->length == 1 && !reads(pg_request(store, 0)) &&
        store->job != &pg_job_append && pg_store_refuse_halted(store, pg_request(store, 0)))
        return PG_NEXT_OVER;
    if (store->is_open)
        return store->job->begin(store);
    store->step = (struct pg_step){ .kind = PG_STEP_CONNECT, .deadline = store->deadline };
    store->phase = PG_CONNECTING;
    return PG_NEXT_STEP;
}

static enum pg_next connected(struct pg_store *store, const struct pg_outcome *outcome)
{
    if (!outcome->is_good) {
        say_state(store, true);
        return retry(store, &store->connects);
    }
    store->known.generation = 0; /* the store may have gone back */
    if (pg_store_must_compare(store, outcome->timeline)) {
        (void)pg_run(store, 1, false);
        store->phase = PG_COMPARING;
        return PG_NEXT_STEP;
    }
    say_state(store, false);
    store->was_opened = true;
    store->connects = 0;
    return PG_NEXT_AGAIN;
}

static enum pg_next compared(struct pg_store *store, bool is_good)
{
    pg_store_compared(store, is_good);
    if (is_good) {
        say_state(store, false);
        return PG_NEXT_AGAIN;
    }
    /* The next connection compares again. */
    if (store->is_open)
        store->link->ops->close(store->link);
    store->is_open = false;
    return retry(store, &store->connects);
}

static enum pg_next go_on(struct pg_store *store, const struct pg_outcome *outcome)
{
    enum pg_next next = PG_NEXT_AGAIN;

    switch (store->phase) {
    case PG_CONNECTING:
        return connected(store, outcome);
    case PG_COMPARING:
    case PG_RUNNING: {
        struct pg_call *ran = store->calls;
        uint32_t count = store->step.count;

        store->calls = store->answers;
        store->answers = ran;
        next = store->phase == PG_COMPARING ? compared(store, outcome->is_good)
                                            : store->job->took(store, outcome->is_good);
        store->link->ops->clear(ran, count);
        return next;
    }
    case PG_TRY:
        return try_once(store);
    case PG_IDLE:
    case PG_PAUSING:
        break;
    }
    return next;
}

static void take_outcome(struct pg_store *store, const struct pg_outcome *outcome)
{
    if (store->step.kind == PG_STEP_PAUSE)
        return;
    store->is_open = outcome->is_open;
    store->class = outcome->class;
    if (!outcome->is_good)
        (void)snprintf(store->text, sizeof store->text, "%s", outcome->text); /* as long */
}

const struct pg_step *pg_store_next(struct pg_store *store, uint64_t now,
                                    const struct pg_outcome *outcome)
{
    store->now = now;
    if (outcome)
        take_outcome(store, outcome);
    for (;;) {
        enum pg_next next;

        if (store->phase == PG_IDLE && !start_next(store))
            return NULL;
        next = go_on(store, outcome);
        if (next == PG_NEXT_RETRY)
            next = retry(store, &store->attempt);
        if (next == PG_NEXT_STEP)
            return &store->step;
        if (next == PG_NEXT_OVER)
            end_job(store);
        else
            store->phase = PG_TRY;
    }
}
