/* Monitors other data centers: the few oldest members of each send heartbeats to the few oldest of
 * every other one.
 *
 * A deadline decides instead of phi, because connections between data centers are slow and uneven.
 * Only members that have been up count. A member that is one of the oldest stays so, because ages
 * do not change. The reaper puts observations into the reachability table, as for this data center,
 * but they never delay convergence. */
#ifndef SHERD_MEMBER_CROSS_DC_H
#define SHERD_MEMBER_CROSS_DC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/outbox.h"
#include "member/first_heartbeat.h"
#include "member/gossip.h"

struct cross_dc_settings {
    uint64_t interval; /* ns between heartbeats */
    uint64_t pause;    /* ns of silence, above the interval, that are acceptable */
    uint64_t expected; /* ns until a missing first response counts */
    uint32_t connections; /* oldest members of each data center that take part */
};

/* A monitored peer of another data center. */
struct cross_dc_peer {
    struct profile *profile; /* held */
    uint64_t heard_at;    /* ns; if is_monitoring */
    bool is_monitoring;   /* a response came, or the first one is missing */
};

/* Zero monitors no peer. */
struct cross {
    VEC(struct cross_dc_peer) peers; /* by node; none before is_active */
    struct expect expect; /* first responses of peers */
    /* this node is one of the oldest of its data center, and there is another one */
    bool is_active;
    uint64_t next_at;   /* ns; before is_active, the earliest time */
    int64_t sequence;
};

void cross_dc_fini(struct cross *cross);
/* Updates the peers to the members. */
void cross_dc_follow(struct cross *cross, const struct cross_dc_settings *settings,
                  const struct gossip *gossip, const struct profile *self,
                  uint64_t now);
/* Sends what is due; returns the number of heartbeats. */
uint32_t cross_dc_step(struct cross *cross, const struct cross_dc_settings *settings,
                    const struct identity *identity, uint64_t now,
                    struct outbox *outbox);
uint64_t cross_dc_deadline(const struct cross *cross);
/* Counts a response from the node. False: not monitored. */
bool cross_dc_response(struct cross *cross, const struct node_id *node,
                    uint64_t now);
/* True if a monitored peer is alive as far as this node knows; also before its first response. */
bool cross_dc_peer_is_available(const struct cross_dc_peer *peer,
                             const struct cross_dc_settings *settings,
                             uint64_t now);
/* The same for any node; true if it is not monitored. */
bool cross_dc_is_available(const struct cross *cross,
                        const struct cross_dc_settings *settings,
                        const struct node_id *node, uint64_t now);

#endif
