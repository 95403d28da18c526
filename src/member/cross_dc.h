/* Heartbeats between data centers: the few oldest of each monitor the few oldest of every other one (behaviour 3.2, 9).
 *
 * A deadline, not an accrual detector: ways between data centers are long and uneven. Only members that have been up are looked at;
 * whoever has once become one of the oldest of its data center goes on, since ages do not change. What is observed of a peer goes
 * into the reachability table by the reaper, as for peers of the own data center, but never holds up convergence. */
#ifndef SHERD_MEMBER_CROSS_DC_H
#define SHERD_MEMBER_CROSS_DC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/outbox.h"
#include "member/first_heartbeat.h"
#include "member/gossip.h"

struct cross_dc_settings {
    uint64_t interval; /* ns between heartbeats */
    uint64_t pause;    /* ns of silence, above the interval, that are normal */
    uint64_t expected; /* ns until the first answer is missed */
    uint32_t connections; /* the oldest of each data center that take part */
};

/* One of another data center that is monitored. */
struct cross_dc_peer {
    struct profile *profile; /* held */
    uint64_t heard_at;    /* ns; when is_monitoring */
    bool is_monitoring;   /* an answer was recorded, or the first one missed */
};

/* Zero is one that monitors nobody. */
struct cross {
    VEC(struct cross_dc_peer) peers; /* by node; none before is_active */
    struct expect expect; /* first answers of peers */
    bool is_active;     /* this node is one of the oldest of its data center, and there is another one */
    uint64_t next_at;   /* ns; before is_active: not earlier than this */
    int64_t sequence;
};

void cross_dc_fini(struct cross *cross);
/* Follows the members. */
void cross_dc_follow(struct cross *cross, const struct cross_dc_settings *settings,
                  const struct gossip *gossip, const struct profile *self,
                  uint64_t now);
/* Sends what is due; returns how many heartbeats. */
uint32_t cross_dc_step(struct cross *cross, const struct cross_dc_settings *settings,
                    const struct identity *identity, uint64_t now,
                    struct outbox *outbox);
uint64_t cross_dc_deadline(const struct cross *cross);
/* A response came from the node; false when it is not monitored. */
bool cross_dc_response(struct cross *cross, const struct node_id *node,
                    uint64_t now);
/* Whether one that is monitored is alive as far as this node knows: true before its first answer. */
bool cross_dc_peer_is_available(const struct cross_dc_peer *peer,
                             const struct cross_dc_settings *settings,
                             uint64_t now);
/* The same of any node; true too when it is not monitored. */
bool cross_dc_is_available(const struct cross *cross,
                        const struct cross_dc_settings *settings,
                        const struct node_id *node, uint64_t now);

#endif
