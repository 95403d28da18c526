/* Runs the loop of a world: takes the earliest event, gives machines their turns, and carries out
 * their requests. */
#include "sim/world/inside.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/fetch.h"
#include "node/mail/look_call.h"
#include "node/mail/operate_call.h"
#include "node/mail/mail.h"
#include "sim/world/bound.h"
#include "sim/seed/streams.h"

#define TURN_AGAIN 1000 /* ns to the next turn of a machine that has more to do */
#define TURN_COST 10000 /* ns of a slow node's turn, times its slowness */
#define INPUT_COST 1000
#define MAIL_KEPT_MAX 16 /* initial capacity of a channel */
#define CACHE_LINE FETCH_LINE
#define SITE_AHEAD 256 /* bytes fetched ahead */
#define CROWD 64 /* nodes; more do not fit into a cache */

static void count_event(struct world *world)
{
    if (++world->events_done == world->told_event)
        *world->told_at = world->now;
}

/* ---- turns ---- */

/* Rare, so a linear search is enough. */
static void refuse_conn(struct world *world, struct site *site, uint64_t conn)
{
    for (uint32_t i = 0; i < site->in.count; i++) {
        struct pipe *pipe = site->in.items[i];

        if (pipe->number != conn || !pipe->reader)
            continue;
        pipe_tell_close(world, pipe, true);
        pipe_refuse(world, pipe);
        return;
    }
}

static struct pipe *link_pipe(const struct worker *worker, uint64_t link)
{
    return link < worker->links.count ? worker->links.items[link] : NULL;
}

/* flat: one case for each kind */
static void carry_out_one(struct world *world, struct worker *worker,
                          const struct driver_request *request)
{
    struct site *site = worker->site;
    struct pipe *pipe;

    switch (request->kind) {
    case DRIVER_CONNECT:
        pipe_open(world, worker, request);
        break;
    case DRIVER_CLOSE_LINK:
        if ((pipe = link_pipe(worker, request->link))) {
            pipe_tell_close(world, pipe, false);
            pipe_close(world, pipe);
        }
        break;
    case DRIVER_CLOSE_CONN:
        refuse_conn(world, site, request->conn);
        break;
    case DRIVER_WRITE:
        if (request->link < worker->links.count)
            __builtin_prefetch(&worker->links.items[request->link]);
        vec_push(&worker->writing, request->link);
        break;
    case DRIVER_STORE:
        backend_take(world, site, request->journal);
        break;
    case DRIVER_LEASE:
        leases_take(world, site, request->lease);
        break;
    case DRIVER_JOB:
        jobs_take(world, site, request->job);
        break;
    case DRIVER_DURABLE:
        durable_take(world, site, request->durable);
        break;
    case DRIVER_SEEDS:
        seeds_take(world, site);
        break;
    case DRIVER_STATUS:
        status_add(site, request->part);
        break;
    case DRIVER_TYPE:
        site->face.types_called++;
        site->face.type_result = request->type->result;
        mem_free(request->type);
        break;
    case DRIVER_QUERY:
        query_part_free(site->face.answer);
        site->face.answer = request->query;
        break;
    case DRIVER_LOOK:
        observe(world, looked, site->index, request->look);
        look_call_free(request->look);
        break;
    case DRIVER_OPERATE:
        observe(world, operated, site->index, request->operate);
        operate_call_free(request->operate);
        break;
    case DRIVER_UP:
        site->face.is_up = true;
        break;
    case DRIVER_READY:
        site->face.is_ready = request->is_ready;
        break;
    case DRIVER_REMOVED:
        break;
    case DRIVER_END:
        site->face.has_ended = true;
        site->face.error = request->error;
        worker_turn_at(world, worker, world->now);
        break;
    }
}

void worker_carry_out(struct world *world, struct worker *worker)
{
    struct pipe *pipe;
    struct driver_request request;

    while (machine_next_request(worker->machine, &request))
        carry_out_one(world, worker, &request);
    /* A heartbeat goes to nine peers. One pass fetches the memory of all their pipes. */
    for (uint32_t i = 0; i < worker->writing.count; i++)
        if ((pipe = link_pipe(worker, worker->writing.items[i]))) {
            __builtin_prefetch(pipe, 1);
            __builtin_prefetch((const char *)pipe + CACHE_LINE, 1);
        }
    for (uint32_t i = 0; i < worker->writing.count; i++) {
        pipe = link_pipe(worker, worker->writing.items[i]);
        if (!pipe || !pipe->is_connected) /* closed since, perhaps opened again */
            continue;
        pipe->wants_write = true;
        pipe_write(world, pipe);
    }
    worker->writing.count = 0;
}

static void send_mail(struct world *world, struct worker *worker)
{
    struct site *site = worker->site;

    for (uint32_t to = 0; to < site->machines; to++) {
        struct channel *channel =
            &site->channels[worker->number * site->machines + to];
        const struct mail *mail;
        uint32_t count = machine_outgoing(worker->machine, to, &mail);
        struct piped_mail piped;

        if (!count)
            continue;
        piped.at = world->now + 1;
        if (world->settings.mail_delay)
            piped.at += rng_below(&site->mail_rng, world->settings.mail_delay);
        if (channel->mail.count &&
            piped.at < channel->mail.items[channel->mail.count - 1].at)
            piped.at = channel->mail.items[channel->mail.count - 1].at;
        for (uint32_t i = 0; i < count; i++) {
            piped.mail = mail[i];
            vec_push(&channel->mail, piped);
        }
        machine_sent(worker->machine, to, count);
        if (!event_waits(&channel->event))
            events_put(&world->events, &channel->event, piped.at);
    }
}

static void turn(struct world *world, struct worker *worker)
{
    struct site *site = worker->site;
    uint64_t shown = site_runs(world, site);
    uint64_t next = world->now + TURN_AGAIN;
    struct world_step step = { "turn", 0, world->now, site->index,
                               worker->number };
    bool has_more;

    digest_add(world, site->index, EVENT_TURN, worker->number);
    observe_step(world, &step, true);
    has_more = machine_turn(worker->machine, shown,
                            clock_wall(&site->clock, world->now));
    observe_step(world, &step, false);
    if (!has_more)
        next = clock_when(&site->clock, machine_deadline(worker->machine));
    worker_carry_out(world, worker);
    send_mail(world, worker);
    life_facts(world, worker);
    if (site->face.has_ended) {
        life_end(world, site, LIFE_ENDED);
        return;
    }
    if (site->slow) {
        worker->busy_to = world->now + site->slow * (uint64_t)(TURN_COST +
                                            worker->inputs * INPUT_COST);
        site->harm.slow_turns++;
    }
    worker->inputs = 0;
    if (next <= world->now)
        next = world->now + TURN_AGAIN;
    if (worker->event.place && worker->event.place != EVENT_PARKED &&
        worker->event.at == next)
        return;
    if (next == NEVER)
        events_drop(&world->events, &worker->event);
    else
        events_put(&world->events, &worker->event,
                   next > worker->busy_to ? next : worker->busy_to + 1);
}

static const char *const mail_names[] = {
#define X(kind, name) #kind,
    MAIL_KINDS(X, X, X)
#undef X
};

static void mail(struct world *world, struct channel *channel)
{
    struct site *site = channel->site;
    struct worker *to = &site->workers[channel->to];
    uint64_t shown = site_runs(world, site);
    uint64_t at = channel->mail.items[channel->head].at;
    uint32_t first = channel->head;

    if (to->busy_to > world->now) {
        events_put(&world->events, &channel->event, to->busy_to);
        return;
    }
    while (channel->head < channel->mail.count &&
           channel->mail.items[channel->head].at <= at) {
        const struct mail *next = &channel->mail.items[channel->head++].mail;
        struct world_step step = { "", 0, world->now, site->index,
                                   to->number };

        if (world->steps_watched)
            step.what = mail_names[mail_open(next).kind];
        observe_step(world, &step, true);
        machine_mail(to->machine, shown, next, 1);
        observe_step(world, &step, false);
    }
    digest_add(world, site->index, EVENT_MAIL,
               (uint64_t)channel->from << 40 | (uint64_t)channel->to << 32 |
                   (channel->head - first));
    if (channel->head < channel->mail.count) {
        at = channel->mail.items[channel->head].at;
        events_put(&world->events, &channel->event,
                   at > world->now ? at : world->now);
    } else {
        channel->head = 0;
        vec_empty(&channel->mail, MAIL_KEPT_MAX);
    }
    worker_touched(world, to);
}

/* ---- the loop ---- */

/* Parks the event if its site does not run. */
static bool waits(struct site *site, struct event *event)
{
    if (!site->face.is_paused)
        return false;
    events_park(&site->parked, event);
    return true;
}

static void stored(struct world *world, struct event *event)
{
    struct site *site = (struct site *)(void *)((char *)event -
                                                offsetof(struct site, stored));

    if (waits(site, event))
        return;
    backend_answer(world, site);
}

static void found(struct world *world, struct event *event)
{
    struct site *site = (struct site *)(void *)((char *)event -
                                                offsetof(struct site, found));

    if (!waits(site, event))
        seeds_event(world, site);
}

static void happen(struct world *world, struct event *event)
{
    struct path *path;
    struct call *call;

    switch ((enum event_kind)event->kind) {
    case EVENT_TURN:
        if (!waits(((struct worker *)(void *)event)->site, event))
            turn(world, (struct worker *)(void *)event);
        break;
    case EVENT_MAIL:
        if (!waits(((struct channel *)(void *)event)->site, event))
            mail(world, (struct channel *)(void *)event);
        break;
    case EVENT_STORED:
        stored(world, event);
        break;
    case EVENT_STORE:
        backend_event(world, event);
        break;
    case EVENT_LEASED:
        if (!waits(leases_site(event), event))
            leases_event(world, event);
        break;
    case EVENT_FOUND:
        found(world, event);
        break;
    case EVENT_JOB:
        if (!waits(jobs_site(event), event))
            jobs_event(world, event);
        break;
    case EVENT_DURABLE:
        if (!waits(durable_site(event), event))
            durable_event(world, event);
        break;
    case EVENT_PIPE:
    case EVENT_BACK:
    case EVENT_WAITED:
    case EVENT_ACK:
        pipe_event(world, event);
        break;
    case EVENT_PATH:
        path = (struct path *)(void *)event;
        pipe_healed(world, &path->parked, path);
        break;
    case EVENT_CALL:
        call = (struct call *)(void *)event;
        call->function(world, call->arg);
        mem_free(call);
        backend_arm(world); /* the call may have used a backend */
        break;
    }
}

static void turn_ready(struct world *world)
{
    struct worker *worker = world->ready;

    world->ready = NULL;
    if (!worker)
        return;
    count_event(world);
    turn(world, worker);
}

/* Fetches the memory of the next events, which a cache does not hold in large worlds. Each step
 * needs the result of the one before, so each event takes several passes. */
static void fetch_piece(struct pipe *pipe)
{
    if (pipe->there.fetched++) {
        if (pipe->reader)
            machine_fetch_place(pipe->place, pipe->there.fetched - 2);
        return;
    }
    fetch_memory(&pipe->last, CACHE_LINE);
    fetch_memory(pipe->first, 2 * CACHE_LINE);
    fetch_memory(pipe->reader, 2 * CACHE_LINE);
    fetch_memory(pipe->place, CACHE_LINE);
    fetch_memory(pipe->to, SITE_AHEAD);
}

static void look_ahead(const struct world *world)
{
    if (world->sites.count < CROWD)
        return;
    for (uint32_t i = 0; i < EVENTS_NEAR; i++) {
        struct event *event = events_near(&world->events, i);

        if (!event || event->fetched > MACHINE_FETCH_STEPS)
            continue;
        if (event->kind == EVENT_PIPE)
            fetch_piece((struct pipe *)(void *)event);
        else if (event->kind == EVENT_TURN &&
                 event->fetched < MACHINE_FETCH_STEPS)
            machine_fetch(((struct worker *)(void *)event)->machine,
                          event->fetched++);
    }
}

void world_tells_event(struct world *world, uint64_t event, uint64_t *at)
{
    *at = 0;
    world->told_event = event;
    world->told_at = at;
}

void world_run(struct world *world, uint64_t duration)
{
    uint64_t end = world->now + duration;
    struct event *event;

    backend_arm(world); /* the caller may have used a backend */
    turn_ready(world);
    while ((event = events_take(&world->events, end))) {
        if (event->at > world->now)
            world->now = event->at;
        count_event(world);
        look_ahead(world);
        happen(world, event);
        turn_ready(world);
    }
    world->now = end;
}

bool world_until(struct world *world, world_condition *condition, void *arg,
                 uint64_t limit)
{
    for (uint64_t end = world->now + limit; world->now < end;) {
        if (condition(world, arg))
            return true;
        world_run(world, 10 * MS);
    }
    return condition(world, arg);
}

void world_at(struct world *world, uint64_t at, world_call *function,
              void *arg)
{
    struct call *call = mem_alloc(sizeof *call);

    call->event.kind = EVENT_CALL;
    call->function = function;
    call->arg = arg;
    events_put(&world->events, &call->event, at);
}

/* ---- start and end ---- */

/* bounded-buffers: reports the node whose machine runs. */
static void over_bound(void *user, const char *what, uint64_t held,
                       uint64_t most)
{
    struct world *world = user;

    violation(world->verdict, "bounded-buffers", world->place->node,
              "%s: %llu, the limit is %llu", what, (unsigned long long)held,
              (unsigned long long)most);
}

struct world *world_new(const struct world_settings *settings)
{
    uint64_t database_delay;
    struct world *world = mem_alloc(sizeof *world);
    struct world_settings *own = &world->settings;
    struct disk_faults disk = { 0 };

    *own = *settings;
    if (!own->link_mean) {
        own->link_min = MS / 20;
        own->link_mean = MS / 2;
    }
    own->mail_delay = own->mail_delay ? own->mail_delay : 20000;
    own->backend_delay = own->backend_delay ? own->backend_delay : 2 * MS;
    own->pipe_size = own->pipe_size ? own->pipe_size : 256 * 1024;
    own->give_up = own->give_up ? own->give_up : 924 * SECOND;
    events_init(&world->events, stream_rng(own->seed, STREAM_SCHEDULING, 0));
    world->rng = stream_rng(own->seed, STREAM_SCHEDULING, 1);
    world->now = SECOND;
    world->place = own->place ? own->place : &world->own_place;
    *world->place = (struct world_place){ world->now, 0, WORLD_NO_NODE };
    bound_listen(over_bound, world);
    world->verdict = verdict_new(own->seed, &world->now);
    verdict_counts_events(world->verdict, &world->events_done);
    world->traces = getenv("WORLD_TRACE") != NULL;
    /* A write takes two ways and two disk operations. */
    disk.latency_mean = own->backend_delay / 4;
    /* A group takes several round trips, within its time limit. */
    database_delay = (own->backend_delay < 100 * MS ? own->backend_delay : 100 * MS) / 4;
    own->stores = own->stores ? own->stores : 1;
    world->stores = mem_alloc(own->stores * sizeof *world->stores);
    for (uint32_t i = 0; i < own->stores; i++) {
        struct world_backend *of = &world->stores[i];

        of->event.kind = EVENT_STORE;
        (void)snprintf(of->id, sizeof of->id, "%x", i); /* fits */
        of->store =
            disk_backend_new("World", stream_rng(own->seed, STREAM_DISK, 2 * i),
                           stream_rng(own->seed, STREAM_DISK, 2 * i + 1), 1,
                           own->backend_delay / 4);
        disk_set_faults(disk_backend_disk(of->store), &disk);
        if (own->database)
            of->database = database_new(&(struct database_settings){
                .servers = own->database, .seed = own->seed, .index = i,
                .way_mean = database_delay, .flush_mean = database_delay });
    }
    return world;
}

/* Events of one site's pipes may stand in another's lists. */
static void empty_lists(struct site *site)
{
    while (events_unpark(&site->parked) || events_unpark(&site->calls))
        ;
    for (uint32_t i = 0; i < site->paths.count; i++)
        while (site->paths.items[i] &&
               events_unpark(&site->paths.items[i]->parked))
            ;
}

static void free_site(struct site *site)
{
    for (uint32_t i = 0; i < site->paths.count; i++)
        mem_free(site->paths.items[i]);
    vec_fini(&site->paths);
    for (uint32_t i = 0; i < site->out.count; i++)
        pipe_free(site->out.items[i]);
    vec_fini(&site->out);
    vec_fini(&site->in);
    durable_free(site);
    query_part_free(site->face.answer);
    mem_free(site);
}

void world_free(struct world *world)
{
    bound_unlisten(world);
    world->observers.count = 0;
    for (uint32_t i = 0; i < world->sites.count; i++)
        if (world->sites.items[i]->face.node)
            life_end(world, world->sites.items[i], LIFE_DARK);
    for (uint32_t i = 0; i < world->events.count; i++)
        if (world->events.heap[i].event->kind == EVENT_CALL)
            mem_free(world->events.heap[i].event);
    for (uint32_t i = 0; i < world->sites.count; i++)
        empty_lists(world->sites.items[i]);
    for (uint32_t i = 0; i < world->sites.count; i++)
        free_site(world->sites.items[i]);
    for (uint32_t i = 0; i < world->lines.count; i++)
        mem_free(world->lines.items[i].text);
    vec_fini(&world->lines);
    vec_fini(&world->sites);
    vec_fini(&world->observers);
    map_fini(&world->by_address);
    lease_book_fini(&world->leases);
    events_fini(&world->events);
    for (uint32_t i = 0; i < world->settings.stores; i++) {
        disk_backend_free(world->stores[i].store);
        database_free(world->stores[i].database);
    }
    mem_free(world->stores);
    verdict_free(world->verdict);
    mem_free(world);
}
