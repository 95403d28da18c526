/* The plain store: settings.store behind a delay, in order for each node. */
#include "sim/inside.h"

#include "base/check.h"
#include "base/hash.h"

static void execute(struct world *world, struct storing *item)
{
    if (item->is_done)
        return;
    item->is_done = true;
    if (world->store_fails || !world->store)
        store_settle(item->request, STORE_FAILED, "the disk is on fire");
    else if (item->request->verb == STORE_REPLAY)
        world->settings.store->read(world->store, &item->request, 1);
    else
        world->settings.store->write(world->store, &item->request, 1);
}

void store_take(struct world *world, struct site *site,
                struct store_request *request)
{
    struct storing item = { .request = request };
    uint32_t count = site->storing.count;

    item.at = world->now + 1 +
              rng_below(&world->store_rng, world->settings.store_delay);
    if (count && item.at < site->storing.items[count - 1].at)
        item.at = site->storing.items[count - 1].at;
    vec_push(&site->storing, item);
    if (!event_waits(&site->stored))
        events_put(&world->events, &site->stored, item.at);
}

void store_answer(struct world *world, struct site *site)
{
    struct storing item = site->storing.items[0];
    struct worker *worker = &site->workers[item.request->machine];

    execute(world, &item);
    digest_add(world, site->index, EVENT_STORED,
               (uint64_t)item.request->verb << 8 |
                   (uint64_t)item.request->result);
    vec_remove(&site->storing, 0);
    if (site->storing.count)
        events_put(&world->events, &site->stored, site->storing.items[0].at);
    worker_touched(world, worker);
    machine_stored(worker->machine, clock_now(&site->clock, world->now),
                   item.request);
}

void store_end(struct world *world, struct site *site, bool crashes)
{
    bool lost = false;

    for (uint32_t i = 0; i < site->storing.count; i++) {
        lost |= crashes && rng_below(&site->fate_rng, 2);
        if (!lost)
            execute(world, &site->storing.items[i]);
        store_request_free(site->storing.items[i].request);
    }
    vec_fini(&site->storing);
    events_drop(&world->events, &site->stored);
}
