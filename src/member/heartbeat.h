/* Chooses the peers that this node monitors, sends them heartbeats, and evaluates the responses.
 *
 * Members form a ring by a hash of their UID; each monitors those that follow it. A silent peer
 * that drops out of the ring is monitored until it answers or is removed. Otherwise no node would
 * notice its return. */
#ifndef SHERD_MEMBER_HEARTBEAT_H
#define SHERD_MEMBER_HEARTBEAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/outbox.h"
#include "base/trace.h"
#include "member/first_heartbeat.h"
#include "member/gossip.h"
#include "member/phi.h"

struct heart_settings {
    struct phi_settings phi;
    uint64_t interval; /* ns between heartbeats */
    uint64_t expected; /* ns until a missing first response counts */
    uint32_t monitored_by;
    /* as in member_settings; so is fetch */
    enum peer_form (*form_of)(const void *user, const struct node_id *node);
    void (*fetch)(const void *user, const uint64_t *uids, uint32_t count);
    const void *user;
};

/* A monitored peer. */
struct heartbeat_peer {
    struct profile *profile; /* held */
    uint64_t uid; /* the profile's, close in memory for searches */
    struct phi phi;
    bool is_in_ring; /* false: dropped out of the ring while silent */
};

/* A member in the ring. */
struct ring_place {
    struct profile *profile; /* held by heart.followed */
    int32_t hash;
};

/* Zero monitors no peer. */
struct heart {
    VEC(struct heartbeat_peer) peers;    /* by node */
    struct expect expect;      /* first responses of peers */
    VEC(struct profile *) followed; /* held; the members of the ring, by node */
    VEC(struct ring_place) ring; /* members of this data center by hash of the UID, then address */
    uint64_t next_at;          /* ns */
    uint64_t last_at;          /* ns of the last round; 0: none */
    int64_t sequence;
};

void heart_fini(struct heart *heart);
/* Updates the ring to the members and their combined reachability, one entry each (see
 * state_reach). */
void heart_follow(struct heart *heart, const struct heart_settings *settings,
                  const struct gossip *gossip, const uint8_t *reach,
                  const struct profile *self, uint64_t now);
/* Sends what is due; returns the number of heartbeats. If it is a round late or more, no peer
 * counts as silent for that time. */
uint32_t heart_step(struct heart *heart, const struct heart_settings *settings,
                    const struct identity *identity, struct trace *trace,
                    uint64_t now, struct outbox *outbox);
uint64_t heart_deadline(const struct heart *heart);
void heart_fetch(const struct heart *heart); /* Prefetches the memory that a response needs. */
/* Counts a response from the node. False: not monitored. */
bool heart_response(struct heart *heart, const struct heart_settings *settings,
                    const struct node_id *node, struct trace *trace,
                    uint64_t now);
const struct heartbeat_peer *heart_peer(const struct heart *heart,
                              const struct node_id *node); /* Null: not monitored. */
/* True if the node is alive as far as this node knows, or is not monitored. */
bool heart_is_available(const struct heart *heart,
                        const struct heart_settings *settings,
                        const struct node_id *node, uint64_t now);

/* The place of a node in the ring. */
int32_t ring_hash(uint64_t uid);

#endif
