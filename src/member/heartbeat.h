/* Heartbeats: whom this node monitors, when it sends, and what the answers say (behaviour 3.3 to 3.5).
 *
 * Members stand in a ring by a hash of their uid; each monitors those that follow it. A peer that falls out of the ring while it is
 * silent goes on being monitored until it answers or is removed: else nobody would notice its return. */
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
    uint64_t expected; /* ns until the first answer is missed */
    uint32_t monitored_by;
    enum peer_form (*form_of)(const void *user, const struct node_id *node); /* as in member_settings, as the next */
    void (*fetch)(const void *user, const uint64_t *uids, uint32_t count);
    const void *user;
};

/* One that is monitored. */
struct peer {
    struct profile *profile; /* held */
    uint64_t uid; /* the profile's: others need not be looked at, which lie elsewhere in memory */
    struct phi phi;
    bool is_in_ring; /* else it fell out of the ring while silent */
};

/* One in the ring. */
struct ring_place {
    struct profile *profile; /* held by heart.followed */
    int32_t hash;
};

/* Zero is one that monitors nobody. */
struct heart {
    VEC(struct peer) peers;    /* by node */
    struct expect expect;      /* first answers of peers */
    VEC(struct profile *) followed; /* held; the members that the ring is of, by node */
    VEC(struct ring_place) ring; /* members of the own data center by hash of the uid, then address */
    uint64_t next_at;          /* ns */
    uint64_t last_at;          /* ns of the last round; 0 = none */
    int64_t sequence;
};

void heart_fini(struct heart *heart);
/* Follows the members and their combined reachability (one entry for each, see state_reach). */
void heart_follow(struct heart *heart, const struct heart_settings *settings,
                  const struct gossip *gossip, const uint8_t *reach,
                  const struct profile *self, uint64_t now);
/* Sends what is due; returns how many heartbeats. Where that is a round late or more, so long no peer counts as silent. */
uint32_t heart_step(struct heart *heart, const struct heart_settings *settings,
                    const struct identity *identity, struct trace *trace,
                    uint64_t now, struct outbox *outbox);
uint64_t heart_deadline(const struct heart *heart);
void heart_fetch(const struct heart *heart); /* asks for the memory that a response needs */
/* A response came from the node; false when it is not monitored. */
bool heart_response(struct heart *heart, const struct heart_settings *settings,
                    const struct node_id *node, struct trace *trace,
                    uint64_t now);
const struct peer *heart_peer(const struct heart *heart,
                              const struct node_id *node); /* null when not monitored */
/* Whether the node is alive as far as this node knows: true too when it is not monitored. */
bool heart_is_available(const struct heart *heart,
                        const struct heart_settings *settings,
                        const struct node_id *node, uint64_t now);

/* Place of a node in the ring. */
int32_t ring_hash(uint64_t uid);

#endif
