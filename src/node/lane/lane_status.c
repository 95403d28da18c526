/* Fills in a lane's part of the node's status. */
#include "node/lane/lane.h"

#include <stdio.h>

#include "base/check.h"

void lane_status(struct lane *lane, struct sherd_status *status)
{
    struct actors_status actors;
    struct journal_status journal;

    actors_status(lane->actors, &actors);
    journal_status(lane->journal, &journal);
    status->delivered = actors.delivered;
    for (uint32_t i = 0; i < SHERD_REASON_COUNT; i++)
        status->undelivered[i] =
            actors.undelivered[i] + lane->machine->undelivered[i];
    status->undelivered[SHERD_REASON_LINK_LOST] +=
        lane->machine->links.lost;
    status->held_max = lane->held_max;
    status->held_total = lane->held_total;
    status->held_ms_max = lane->held_ns_max / MS;
    status->fenced = journal.fenced;
    status->events = journal.events_stored;
    status->recoveries = (struct sherd_recovery_status){
        .waiting = journal.replays_waiting,
        .running = journal.replays_running,
        .started = journal.replays_started,
        .done = journal.replays_done,
        .failed = journal.replays_failed,
        .stopped = journal.replays_stopped,
        .events = journal.events_replayed,
        .rejected = actors.rejected,
        .long_replays = actors.long_replays,
    };
    status->snapshots = (struct sherd_snapshot_status){
        .taken = journal.snapshots_saved,
        .failed = journal.snapshots_failed + actors.snapshots_failed,
        .loaded = journal.snapshots_loaded,
        .refused = journal.snapshots_refused,
        .deleted_events = journal.events_trimmed,
    };
    status->deliveries = (struct sherd_delivery_status){
        .open = actors.deliveries_open,
        .started = actors.deliveries,
        .refused = actors.deliveries_refused,
        .repeated = actors.deliveries_repeated,
        .handled = actors.deliveries_ended[SHERD_DELIVERY_HANDLED],
        .expired = actors.deliveries_ended[SHERD_DELIVERY_EXPIRED],
        .given_up = actors.deliveries_ended[SHERD_DELIVERY_GIVEN_UP],
        .received = actors.deliveries_handled,
        .received_again = actors.deliveries_again,
        .commands = actors.commands,
        .commands_again = actors.commands_again,
    };
    status->counters[SHERD_MESSAGES_MALFORMED] = lane->unknown;
    status->counters[SHERD_PEERS_REFUSED] = actors.peers_refused;
    status->counters[SHERD_ASKED_REFUSED] = lane->asked_refused;
    status->counters[SHERD_WATCHES_REFUSED] = lane->watchers.refused;
    status->counters[SHERD_REPLIES_DROPPED] = actors.replies_dropped;
    status->counters[SHERD_JOBS_REFUSED] = actors.jobs_refused;
    status->counters[SHERD_JOBS_ORPHANED] = actors.jobs_orphaned;
    status->counters[SHERD_HANDLERS_SLOW] = actors.slow_handlers;
    status->jobs = actors.jobs;
    status->jobs_open = actors.jobs_open;
    status->counters[SHERD_NAMES_FORGOTTEN] = lane->names.forgotten;
    status->type_count = lane->type_count;
    status->types = mem_alloc(lane->type_count * sizeof *status->types);
    for (uint32_t i = 0; i < lane->type_count; i++) {
        (void)snprintf(status->types[i].name, sizeof status->types[i].name,
                       "%s", lane->machine->node->names[i].name);
        status->types[i].entities_here =
            actors_type_entities(lane->actors, (uint16_t)i);
        status->types[i].waiting = lane->types[i].budget.count;
    }
}
