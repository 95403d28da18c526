/* The world's store: requests go there, and what is back waits at its site until that runs. */
#include "sim/inside.h"

#include "base/check.h"

void store_arm(struct world *world)
{
    uint64_t at = disk_store_deadline(world->store);

    if (at == NEVER)
        events_drop(&world->events, &world->store_event);
    else if (!event_waits(&world->store_event) ||
             world->store_event.at != at)
        events_put(&world->events, &world->store_event,
                   at > world->now ? at : world->now);
}

void store_take(struct world *world, struct site *site,
                struct store_request *request)
{
    disk_store_submit(world->store, world->now, site->index, request);
    store_arm(world);
}

void store_event(struct world *world)
{
    struct store_request *request;
    uint32_t node;

    while ((request =
                disk_store_next_done(world->store, world->now, &node))) {
        struct site *site = world->sites.items[node];

        vec_push(&site->answers, request);
        if (!event_waits(&site->stored))
            events_put(&world->events, &site->stored, world->now);
    }
    store_arm(world);
}

void store_answer(struct world *world, struct site *site)
{
    for (uint32_t i = 0; i < site->answers.count; i++) {
        struct store_request *request = site->answers.items[i];
        struct worker *worker = &site->workers[request->machine];

        digest_add(world, site->index, EVENT_STORED,
                   (uint64_t)request->verb << 8 | (uint64_t)request->result);
        worker_touched(world, worker);
        machine_stored(worker->machine, clock_now(&site->clock, world->now),
                       request);
    }
    site->answers.count = 0;
}

void store_end(struct world *world, struct site *site, bool crashes)
{
    disk_store_drop(world->store, world->now, site->index, crashes);
    for (uint32_t i = 0; i < site->answers.count; i++)
        store_request_free(site->answers.items[i]);
    vec_fini(&site->answers);
    events_drop(&world->events, &site->stored);
    store_arm(world);
}
