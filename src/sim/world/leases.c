/* Carries requests to the world's lease provider and back, each way with a delay. A node may be cut
 * off from the provider: then requests or answers are lost, and the outcome is unknown. */
#include "sim/world/inside.h"

#include "base/check.h"
#include "sim/seed/streams.h"

#define PATIENCE (5 * SECOND) /* lease-operation-timeout by default */

/* A request under way. */
struct lease_trip {
    struct event event; /* first */
    struct site *site;
    struct lease_request *request;
    uint64_t late_at; /* then its driver waits no longer for an answer */
    bool is_answered;
};

static void arm(struct world *world, struct lease_trip *trip)
{
    uint64_t mean = world->settings.backend_delay;

    events_put(&world->events, &trip->event,
               world->now + stream_delay(&trip->site->lease_rng, 1, mean));
}

void leases_take(struct world *world, struct site *site,
                 struct lease_request *request)
{
    uint64_t patience = site->face.settings.lease_patience;
    struct lease_trip *trip = mem_alloc(sizeof *trip);

    check(site->lease_trips.count < LEASE_REQUESTS_MAX);
    trip->event.kind = EVENT_LEASED;
    trip->site = site;
    trip->request = request;
    trip->late_at = world->now + (patience ? patience : PATIENCE);
    vec_push(&site->lease_trips, trip);
    arm(world, trip);
}

struct site *leases_site(const struct event *event)
{
    return ((const struct lease_trip *)(const void *)event)->site;
}

/* The connection is cut: the driver hears nothing, and gives up when its patience is over. */
static bool is_lost(struct world *world, struct lease_trip *trip)
{
    if (!trip->site->is_lease_cut || world->now >= trip->late_at)
        return false;
    trip->site->harm.lease_answers++;
    trip->is_answered = true;
    lease_request_answer_all(trip->request, LEASE_UNKNOWN);
    events_put(&world->events, &trip->event, trip->late_at);
    return true;
}

/* Half of the requests of a node that is cut off arrived before, and only their answers are lost. */
static void arrives(struct world *world, struct lease_trip *trip)
{
    bool is_cut = trip->site->is_lease_cut;

    if (!is_cut || rng_below(&trip->site->lease_rng, 2))
        lease_book_do(&world->leases, world->now, trip->request);
    if (is_lost(world, trip))
        return;
    trip->is_answered = true;
    arm(world, trip);
}

static void forget(struct site *site, const struct lease_trip *trip)
{
    for (uint32_t i = 0; i < site->lease_trips.count; i++)
        if (site->lease_trips.items[i] == trip) {
            vec_remove(&site->lease_trips, i);
            return;
        }
}

/* The request has arrived there, or its answer is back. */
void leases_event(struct world *world, struct event *event)
{
    struct lease_trip *trip = (struct lease_trip *)(void *)event;
    struct site *site = trip->site;
    struct worker *worker = &site->workers[0];
    struct lease_request *request = trip->request;

    if (!trip->is_answered) {
        arrives(world, trip);
        return;
    }
    if (request->answer != LEASE_UNKNOWN && is_lost(world, trip))
        return;
    forget(site, trip);
    mem_free(trip);
    digest_add(world, site->index, EVENT_LEASED,
               (uint64_t)request->verb << 8 | (uint64_t)request->answer);
    worker_touched(world, worker);
    machine_leased(worker->machine, site_runs(world, site),
                   request);
}

void leases_end(struct world *world, struct site *site)
{
    for (uint32_t i = 0; i < site->lease_trips.count; i++) {
        struct lease_trip *trip = site->lease_trips.items[i];

        events_drop(&world->events, &trip->event);
        mem_free(trip->request);
        mem_free(trip);
    }
    vec_fini(&site->lease_trips);
}

void world_cut_leases(struct world *world, uint32_t index, bool on)
{
    world_site(world, index)->is_lease_cut = on;
}

const struct lease_book *world_leases(const struct world *world)
{
    return &world->leases;
}
