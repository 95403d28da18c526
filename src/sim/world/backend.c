/* Carries journal requests to the backend of the node's group. Answers wait at the node's site
 * until it runs. */
#include "sim/world/inside.h"

#include "base/check.h"

static void arm(struct world *world, struct world_backend *of)
{
    uint64_t at = of->database ? database_deadline(of->database) : disk_backend_deadline(of->store);

    if (at == NEVER)
        events_drop(&world->events, &of->event);
    else if (!event_waits(&of->event) || of->event.at != at)
        events_put(&world->events, &of->event,
                   at > world->now ? at : world->now);
}

static struct world_backend *store_of(struct world *world,
                                    const struct site *site)
{
    return &world->stores[site->index % world->settings.stores];
}

const char *backend_id(struct world *world, const struct site *site)
{
    return store_of(world, site)->id;
}

void backend_arm(struct world *world)
{
    for (uint32_t i = 0; i < world->settings.stores; i++)
        arm(world, &world->stores[i]);
}

void backend_take(struct world *world, struct site *site,
                struct journal_request *request)
{
    struct world_backend *of = store_of(world, site);

    if (of->database)
        database_submit(of->database, world->now, site->index, request);
    else
        disk_backend_submit(of->store, world->now, site->index, request);
    arm(world, of);
}

static struct journal_request *next_done(struct world *world, struct world_backend *of,
                                         uint32_t *node)
{
    return of->database ? database_next_done(of->database, world->now, node)
                        : disk_backend_next_done(of->store, world->now, node);
}

void backend_event(struct world *world, struct event *event)
{
    struct world_backend *of = (struct world_backend *)(void *)event;
    struct journal_request *request;
    uint32_t node;

    while ((request = next_done(world, of, &node))) {
        struct site *site = world->sites.items[node];

        vec_push(&site->answers, request);
        if (!event_waits(&site->stored))
            events_put(&world->events, &site->stored, world->now);
    }
    arm(world, of);
}

void backend_answer(struct world *world, struct site *site)
{
    for (uint32_t i = 0; i < site->answers.count; i++) {
        struct journal_request *request = site->answers.items[i];
        struct worker *worker = &site->workers[request->machine];

        digest_add(world, site->index, EVENT_STORED,
                   (uint64_t)request->verb << 8 | (uint64_t)request->result);
        worker_touched(world, worker);
        machine_stored(worker->machine, site_runs(world, site),
                       request);
    }
    site->answers.count = 0;
}

void backend_pause(struct world *world, const struct site *site)
{
    struct world_backend *of = store_of(world, site);

    if (of->database)
        database_pause(of->database, world->now, site->index, site->face.is_paused);
    arm(world, of);
}

void backend_end(struct world *world, struct site *site, bool crashes)
{
    struct world_backend *of = store_of(world, site);

    if (of->database)
        database_drop(of->database, world->now, site->index);
    else
        disk_backend_drop(of->store, world->now, site->index, crashes);
    for (uint32_t i = 0; i < site->answers.count; i++)
        journal_request_free(site->answers.items[i]);
    vec_fini(&site->answers);
    events_drop(&world->events, &site->stored);
    arm(world, of);
}
