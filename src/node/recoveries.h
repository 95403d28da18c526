/* Adds up the recoveries and snapshots of a node's lanes, for every driver. */
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

#endif
