/* Adds up the recoveries, snapshots and deliveries of a node's lanes, for every driver. */
#ifndef SHERD_NODE_RECOVERIES_H
#define SHERD_NODE_RECOVERIES_H

#include <sherd/system.h>

static inline void recoveries_add(struct sherd_recovery_status *sum,
                                  const struct sherd_recovery_status *add)
{
    sum->waiting += add->waiting;
    sum->running += add->running;
    sum->started += add->started;
    sum->done += add->done;
    sum->failed += add->failed;
    sum->stopped += add->stopped;
    sum->events += add->events;
    sum->rejected += add->rejected;
    sum->long_replays += add->long_replays;
}

static inline void snapshots_add(struct sherd_snapshot_status *sum,
                                 const struct sherd_snapshot_status *add)
{
    sum->taken += add->taken;
    sum->failed += add->failed;
    sum->loaded += add->loaded;
    sum->refused += add->refused;
    sum->deleted_events += add->deleted_events;
}

static inline void deliveries_add(struct sherd_delivery_status *sum,
                                  const struct sherd_delivery_status *add)
{
    sum->open += add->open;
    sum->started += add->started;
    sum->refused += add->refused;
    sum->repeated += add->repeated;
    sum->handled += add->handled;
    sum->expired += add->expired;
    sum->given_up += add->given_up;
    sum->received += add->received;
    sum->received_again += add->received_again;
    sum->commands += add->commands;
    sum->commands_again += add->commands_again;
}

#endif
