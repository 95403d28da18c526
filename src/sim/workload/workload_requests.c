/* Makes the requests of a program's threads, and judges how they end. */
#include "sim/workload/workload_requests.h"

#include <stdio.h>

#include "base/check.h"
#include "base/timers.h"
#include "base/vec.h"
#include "client/port.h"
#include "sim/seed/streams.h"
#include "sim/world/verdict.h"

#define RULE "client-request-ends-once"
#define BURST_MAX 4
#define OPEN_MAX 64      /* asks of one client */
#define LATE_MS 2000     /* after its time, an ask of a healthy node has ended */
#define CANCEL_MAX (5 * MS) /* after the call: the message is on its way */
#define BODY_PREFIX "request "

/* A request from its call on. */
struct record {
    uint64_t id;
    uint64_t due; /* ms by its node's clock */
    uint64_t harm; /* to its node, at the call */
    bool is_open;
    bool is_cancelled;
    bool is_unsent; /* its end says so */
    bool is_handled;
};

/* A client of an incarnation of a node, on one lane. */
struct desk {
    struct port port; /* must be first: its hooks find the rest */
    struct request_load *load;
    uint32_t node;
    uint32_t life;
    bool is_closed; /* its thread has closed it */
    bool is_gone;   /* the actor or its node has ended */
    VEC(uint32_t) open; /* numbers of records */
};

/* A cancellation to come. */
struct cancelling {
    struct cancelling *next, **link;
    struct desk *desk;
    uint64_t id;
    uint32_t number;
};

/* A thread of the program, for the life of a node. */
struct thread {
    struct request_load *load;
    uint32_t node;
    uint32_t life;
};

struct request_load {
    struct request_load_settings settings;
    struct world *world;
    struct verdict *verdict;
    struct rng rng;
    bool is_stopped;
    VEC(struct desk *) desks;
    VEC(struct desk *) current; /* by node; null: none */
    VEC(struct thread *) threads;
    struct cancelling *cancellings;
    VEC(struct record) records;
    uint32_t open;
    struct request_load_counts counts;
};

static struct request_load *loaded;

static struct desk *desk_of(struct port *port)
{
    return (struct desk *)port;
}

/* Pauses and slow turns of its node. */
static uint64_t harm_of(const struct desk *desk)
{
    struct world_harm harm = world_harm(desk->load->world, desk->node);

    return harm.held + harm.slow_turns;
}

static uint64_t clock_ms(const struct desk *desk)
{
    return world_clock(desk->load->world, desk->node) / MS;
}

/* ---- ends ---- */

static struct record *take_record(struct desk *desk, uint64_t id,
                                  uint32_t *number)
{
    struct request_load *load = desk->load;

    for (uint32_t i = 0; i < desk->open.count; i++) {
        struct record *record = &load->records.items[desk->open.items[i]];

        if (record->id != id)
            continue;
        *number = desk->open.items[i];
        desk->open.items[i] = desk->open.items[--desk->open.count];
        record->is_open = false;
        load->open--;
        return record;
    }
    violation(load->verdict, RULE, desk->node,
              "a request that is not open ends id=%llx", (unsigned long long)id);
    return NULL;
}

static size_t put_body(char text[40], uint32_t number)
{
    return (size_t)snprintf(text, 40, BODY_PREFIX "%u", number); /* fits */
}

/* A node that stands still ends its requests later. */
static void judge_time(struct desk *desk, const struct record *record,
                       uint32_t number, enum sherd_client_status status)
{
    uint64_t now = clock_ms(desk);

    if (status == SHERD_CLIENT_TIMED_OUT && now < record->due)
        violation(desk->load->verdict, RULE, desk->node,
                  "request %u times out %llu ms too early", number,
                  (unsigned long long)(record->due - now));
    if (now > record->due + LATE_MS && record->harm == harm_of(desk) &&
        status != SHERD_CLIENT_SHUTTING_DOWN)
        violation(desk->load->verdict, RULE, desk->node,
                  "request %u ends %llu ms after its time: %s", number,
                  (unsigned long long)(now - record->due),
                  sherd_client_status_text(status));
}

static void judge_end(struct desk *desk, struct record *record, uint32_t number,
                      const struct sherd_completion *end)
{
    struct verdict *verdict = desk->load->verdict;
    char body[40];

    judge_time(desk, record, number, end->status);
    record->is_unsent = end->status == SHERD_CLIENT_REFUSED ||
                        (end->status == SHERD_CLIENT_TIMED_OUT &&
                         end->stage == SHERD_STAGE_NONE);
    if (end->status == SHERD_CLIENT_ANSWERED &&
        (end->body.size != put_body(body, number) ||
         memcmp(end->body.data, body, end->body.size) != 0))
        violation(verdict, RULE, desk->node,
                  "request %u ends with another answer, of %zu bytes", number,
                  end->body.size);
    if (end->status == SHERD_CLIENT_ANSWERED && !record->is_handled)
        violation(verdict, RULE, desk->node,
                  "request %u is answered, and no entity has handled it", number);
    if (end->status == SHERD_CLIENT_CANCELLED && !record->is_cancelled &&
        !desk->is_closed)
        violation(verdict, RULE, desk->node,
                  "request %u ends as cancelled, and nobody has cancelled it", number);
    if (record->is_unsent && record->is_handled)
        violation(verdict, RULE, desk->node,
                  "request %u ends as not sent, and an entity has handled it", number);
}

/* Takes completions at the moment of their end. */
static void take_all(struct port *port)
{
    struct desk *desk = desk_of(port);
    uint32_t count;
    struct client_request *list = port_take(port, UINT32_MAX, &count);

    while (list) {
        struct client_request *next = list->next;
        struct sherd_completion end = client_completion(list);
        uint32_t number;
        struct record *record = take_record(desk, end.request, &number);

        desk->load->counts.ended[end.status]++;
        if (record)
            judge_end(desk, record, number, &end);
        mem_free(list);
        list = next;
    }
}

static void gone(struct port *port)
{
    desk_of(port)->is_gone = true;
}

static void wake(struct port *port, struct sherd_ref actor)
{
    struct desk *desk = desk_of(port);

    world_wake(desk->load->world, desk->node, actor);
}

static const struct port_hooks hooks = { .wake = wake,
                                         .signal = take_all,
                                         .gone = gone };

static const struct port_hooks silent;

/* ---- clients ---- */

static struct desk *open_desk(struct request_load *load, uint32_t node)
{
    const struct world_node *place = world_node(load->world, node);
    struct desk *desk = mem_alloc(sizeof *desk);
    struct port *port = &desk->port;
    uint32_t lane = (uint32_t)rng_below(&load->rng, place->settings.lanes);

    desk->load = load;
    desk->node = node;
    desk->life = place->life;
    port_init(port, &hooks, lane, rng_below(&load->rng, 2), place->is_up);
    vec_push(&load->desks, desk);
    load->current.items[node] = desk;
    world_spawn(load->world, node, lane, load->settings.actor, &port, sizeof port);
    return desk;
}

static void close_desk(struct desk *desk)
{
    desk->is_closed = true;
    port_close(&desk->port);
    desk->load->current.items[desk->node] = NULL;
}

/* ---- requests ---- */

static struct client_request *make(struct request_load *load, uint32_t msg,
                                   uint32_t number)
{
    const struct sherd_entity_type *type =
        &load->settings.types[rng_below(&load->rng, load->settings.type_count)];
    char id[16], body[40];
    struct client_message message = { .type = type->name,
                                      .id = id,
                                      .msg = msg,
                                      .body = { body, put_body(body, number) },
                                      .may_fail = rng_below(&load->rng, 4) == 0 };

    (void)snprintf(id, sizeof id, "k%u",
                   (uint32_t)rng_below(&load->rng, load->settings.ids)); /* fits */
    return client_request_new(&message);
}

static void cancelling_free(struct cancelling *cancelling)
{
    *cancelling->link = cancelling->next;
    if (cancelling->next)
        cancelling->next->link = cancelling->link;
    mem_free(cancelling);
}

/* The node may have ended since, or be paused: its threads stand still, too. */
static void cancel(struct world *world, void *arg)
{
    struct cancelling *cancelling = arg;
    struct desk *desk = cancelling->desk;
    struct request_load *load = desk->load;

    if (world_node(world, desk->node)->life == desk->life && !desk->is_gone &&
        !world_node(world, desk->node)->is_paused) {
        struct record *record = &load->records.items[cancelling->number];

        record->is_cancelled = true;
        if (port_cancel(&desk->port, cancelling->id))
            load->counts.cancels++;
        else
            record->is_cancelled = false;
    }
    cancelling_free(cancelling);
}

static void cancel_soon(struct desk *desk, uint64_t id, uint32_t number)
{
    struct request_load *load = desk->load;
    struct cancelling *cancelling = mem_alloc(sizeof *cancelling);

    *cancelling = (struct cancelling){ load->cancellings, &load->cancellings,
                                       desk, id, number };
    if (cancelling->next)
        cancelling->next->link = &cancelling->next;
    load->cancellings = cancelling;
    world_at(load->world,
             world_now(load->world) + 1 + rng_below(&load->rng, CANCEL_MAX),
             cancel, cancelling);
}

static void ask(struct desk *desk)
{
    struct request_load *load = desk->load;
    uint32_t number = load->records.count;
    uint64_t timeout = 1 + rng_below(&load->rng, load->settings.ask_ms_max);
    bool is_silent = rng_below(&load->rng, 8) == 0;
    struct client_request *request =
        make(load, is_silent ? REQUEST_SILENT : REQUEST_ASK, number);
    struct record record = { .due = clock_ms(desk) + timeout,
                             .harm = harm_of(desk),
                             .is_open = true };
    uint64_t id;

    vec_push(&load->records, record);
    vec_push(&desk->open, number);
    load->open++;
    if (port_ask(&desk->port, request, clock_ms(desk), timeout, &id) != 0) {
        mem_free(request);
        desk->open.count--; /* the last one */
        load->records.items[number].is_open = false;
        load->open--;
        load->counts.refused++;
        return;
    }
    load->records.items[number].id = id;
    load->counts.asked++;
    if (rng_below(&load->rng, 4) == 0)
        cancel_soon(desk, id, number);
}

static void tell(struct desk *desk)
{
    struct request_load *load = desk->load;
    uint32_t number = load->records.count;
    struct client_request *request = make(load, REQUEST_SILENT, number);

    if (port_tell(&desk->port, request) != 0) {
        mem_free(request);
        load->counts.refused++;
        return;
    }
    vec_push(&load->records, ((struct record){ .is_open = false }));
    load->counts.told++;
}

static void burst(struct desk *desk)
{
    struct request_load *load = desk->load;
    uint64_t count = 1 + rng_below(&load->rng, BURST_MAX);

    if (rng_below(&load->rng, 100) == 0) {
        load->counts.closes++;
        close_desk(desk);
        desk = open_desk(load, desk->node);
    }
    for (; count; count--) {
        if (rng_below(&load->rng, 8) == 0)
            tell(desk);
        else if (desk->open.count < OPEN_MAX)
            ask(desk);
    }
}

/* ---- threads ---- */

static void act_later(struct thread *thread);

static void act(struct world *world, void *arg)
{
    struct thread *thread = arg;
    struct request_load *load = thread->load;
    const struct world_node *place = world_node(world, thread->node);
    struct desk *desk = load->current.items[thread->node];

    if (place->life != thread->life || !place->node || !desk)
        return;
    if (!place->is_paused) {
        if (desk->port.is_up != place->is_up)
            port_up(&desk->port, place->is_up);
        if (!load->is_stopped)
            burst(desk);
    }
    act_later(thread);
}

static void act_later(struct thread *thread)
{
    struct request_load *load = thread->load;

    world_at(load->world,
             world_now(load->world) +
                 (1 + rng_below(&load->rng, 2 * load->settings.interval_ms)) * MS,
             act, thread);
}

/* ---- reports of the world ---- */

static void node_started(void *user, uint32_t node, uint64_t uid)
{
    struct request_load *load = user;
    struct thread *thread = mem_alloc(sizeof *thread);

    (void)uid;
    while (load->current.count <= node)
        vec_push(&load->current, NULL);
    (void)open_desk(load, node);
    *thread = (struct thread){ load, node, world_node(load->world, node)->life };
    vec_push(&load->threads, thread);
    act_later(thread);
}

/* Its memory is freed: actors that had a turn have ended all requests. The others are the driver's. */
static void end_desk(struct desk *desk)
{
    if (desk->is_gone && desk->open.count)
        violation(desk->load->verdict, RULE, desk->node,
                  "%u requests are open after the end of their node",
                  desk->open.count);
    if (!desk->is_gone)
        port_end(&desk->port, SHERD_ESTATE, SHERD_CLIENT_SHUTTING_DOWN);
    desk->is_gone = true;
    desk->load->open -= desk->open.count;
    desk->open.count = 0;
}

static void node_ended(void *user, uint32_t node, bool crashed, int error)
{
    struct request_load *load = user;

    (void)crashed;
    (void)error;
    for (uint32_t i = load->desks.count; i-- > 0;) {
        struct desk *desk = load->desks.items[i];

        if (desk->node == node &&
            desk->life == world_node(load->world, node)->life)
            end_desk(desk);
    }
    if (node < load->current.count)
        load->current.items[node] = NULL;
}

bool request_load_handles(struct sherd_ctx *ctx, uint32_t node,
                          const struct sherd_msg *msg)
{
    struct request_load *load = loaded;
    struct record *record;
    unsigned number;
    char body[40] = "";

    if (msg->msg != REQUEST_ASK && msg->msg != REQUEST_SILENT)
        return false;
    if (msg->body.size < sizeof body)
        memcpy(body, msg->body.data, msg->body.size);
    if (!load || sscanf(body, BODY_PREFIX "%u", &number) != 1 ||
        number >= load->records.count)
        return true;
    record = &load->records.items[number];
    load->counts.handled++;
    if (record->is_handled)
        violation(load->verdict, RULE, node, "request %u is handled again", number);
    if (record->is_unsent)
        violation(load->verdict, RULE, node,
                  "request %u is handled, and has ended as not sent", number);
    record->is_handled = true;
    if (msg->msg == REQUEST_ASK)
        sherd_reply(ctx, REQUEST_ASK, msg->body);
    return true;
}

/* ---- the life of a workload ---- */

struct request_load *request_load_new(struct world *world,
                                      const struct request_load_settings *settings)
{
    struct request_load *load = mem_alloc(sizeof *load);
    const struct world_observer observer = { .user = load,
                                             .node_started = node_started,
                                             .node_ended = node_ended };

    check(!loaded);
    load->settings = *settings;
    if (!load->settings.actor)
        load->settings.actor = &port_behavior;
    load->world = world;
    load->verdict = world_verdict(world);
    load->rng = stream_rng(world_seed(world), STREAM_REQUESTS, 0);
    world_observe(world, &observer);
    loaded = load;
    return load;
}

void request_load_free(struct request_load *load)
{
    if (!load)
        return;
    while (load->cancellings)
        cancelling_free(load->cancellings);
    for (uint32_t i = 0; i < load->threads.count; i++)
        mem_free(load->threads.items[i]);
    vec_fini(&load->threads);
    for (uint32_t i = 0; i < load->desks.count; i++) {
        struct desk *desk = load->desks.items[i];

        desk->port.hooks = &silent; /* the world is gone */
        port_end(&desk->port, SHERD_ESTATE, SHERD_CLIENT_SHUTTING_DOWN);
        port_fini(&desk->port);
        vec_fini(&desk->open);
        mem_free(desk);
    }
    vec_fini(&load->desks);
    vec_fini(&load->current);
    vec_fini(&load->records);
    mem_free(load);
    loaded = NULL;
}

void request_load_stop(struct request_load *load)
{
    load->is_stopped = true;
}

void request_load_resume(struct request_load *load)
{
    load->is_stopped = false;
}

bool request_load_idle(const struct request_load *load)
{
    return load->open == 0;
}

struct request_load_counts request_load_counts(const struct request_load *load)
{
    return load->counts;
}
