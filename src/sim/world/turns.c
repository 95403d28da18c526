/* Decides when a machine gets its next turn, and when events happen that need not wait. */
#include "sim/world/inside.h"

#define TURN_SOON 2000 /* most ns from an input to its turn */
#define TURNS_AT_ONCE 8 /* one input of so many waits for its turn */

uint64_t world_soon(struct world *world)
{
    return world->now + 1 + rng_below(&world->rng, TURN_SOON);
}

void world_release(struct world *world, struct event_list *list)
{
    struct event_list taken = { 0 };
    struct event *event;

    while ((event = events_unpark(list)))
        events_park(&taken, event);
    while ((event = events_unpark(&taken)))
        events_put(&world->events, event, world_soon(world));
}

void worker_turn_at(struct world *world, struct worker *worker, uint64_t at)
{
    struct event *event = &worker->event;

    if (at <= worker->busy_to)
        at = worker->busy_to + 1; /* after the inputs that wait for the end of the turn */
    if (event->place == EVENT_PARKED || (event->place && event->at <= at))
        return;
    events_put(&world->events, event, at);
}

/* Acts like a waiting thread: mostly its turn follows at once; sometimes something else comes
 * first. */
void worker_touched(struct world *world, struct worker *worker)
{
    uint64_t drawn;

    worker->inputs++;
    if (worker->event.place == EVENT_PARKED ||
        (worker->event.place && worker->event.at <= world->now + TURN_SOON))
        return;
    drawn = rng_below(&world->rng, TURN_SOON * TURNS_AT_ONCE);
    if (drawn >= TURN_SOON && !world->ready && !worker->site->slow)
        world->ready = worker;
    else
        worker_turn_at(world, worker, world->now + 1 + drawn % TURN_SOON);
}
