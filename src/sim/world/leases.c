/* Carries requests to the world's lease provider and back, each way with a delay and without
 * faults. A node has at most one request open. */
#include "sim/world/inside.h"

#include "base/check.h"
#include "sim/seed/streams.h"

static void arm(struct world *world, struct site *site)
{
    uint64_t mean = world->settings.backend_delay;

    events_put(&world->events, &site->leased,
               world->now + stream_delay(&site->lease_rng, 1, mean));
}

void leases_take(struct world *world, struct site *site,
                 struct lease_request *request)
{
    check(!site->lease);
    site->lease = request;
    arm(world, site);
}

/* The request has arrived there, or its answer is back. */
void leases_event(struct world *world, struct site *site)
{
    struct lease_request *request = site->lease;
    struct worker *worker = &site->workers[0];

    if (request->answer == LEASE_UNANSWERED) {
        lease_book_do(&world->leases, world->now, request);
        arm(world, site);
        return;
    }
    site->lease = NULL;
    digest_add(world, site->index, EVENT_LEASED,
               (uint64_t)request->verb << 8 | (uint64_t)request->answer);
    worker_touched(world, worker);
    machine_leased(worker->machine, site_runs(world, site),
                   request);
}

void leases_end(struct world *world, struct site *site)
{
    mem_free(site->lease);
    site->lease = NULL;
    events_drop(&world->events, &site->leased);
}
