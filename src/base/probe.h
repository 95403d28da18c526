/* Facts for checkers: what a core did, left here and taken by the driver, which gives them to whoever judges the run.
 *
 * A machine has probes only when node_settings.probes asks for them; otherwise the pointer is null and a fact costs one branch.
 * Facts are never an input of a core. Bounded: see PROBES_MAX; what is beyond is counted, not kept. */
#ifndef SHERD_BASE_PROBE_H
#define SHERD_BASE_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/bytes.h"
#include "base/fence.h"

/* What happened: name, text. Behind each the fields that are set; `type` is an index into the node's types.
 *
 * A message ends once: delivered, or with one of the next three. HANDLER_FAILED is the one reason that comes after a delivery. */
#define PROBE_KINDS(X)                                                         \
    X(PROBE_MESSAGE_ENDED, "message ended")   /* undelivered. reason; bytes: the body; type: of an entity's */ \
    X(PROBE_FRAME_ENDED, "frame ended")       /* a frame of an ordinary stream that nobody reads any more. reason; bytes: the frame */ \
    X(PROBE_BYTES_ENDED, "bytes ended")       /* of an accepted connection that were not read as frames. bytes; node: uid of the sender */ \
    X(PROBE_ENTITY_STARTED, "entity started") /* before its first callback. type, shard; first: the actor; bytes: the id */ \
    X(PROBE_ENTITY_STOPPED, "entity stopped") /* after its last one. The same */ \
    X(PROBE_SHARD_HOSTED, "shard hosted")     /* a lane may start its entities from here on. type, shard, fence */ \
    X(PROBE_SHARD_STOPPING, "shard stopping") /* its entities are told to stop. type, shard, fence */ \
    X(PROBE_SHARD_ENDED, "shard ended")       /* and runs none of them any more. type, shard */ \
    X(PROBE_SHARD_SAID_STOPPED, "shard said to be stopped") /* by a region to the coordinator. type, shard, fence; first: attempt */ \
    X(PROBE_REGION_STOPPED, "region stopped") /* type; first: shards that it still hosts; second: 1 = its time was over, 2 = and it had shards */ \
    X(PROBE_REGISTERED, "region registered")  /* with another coordinator. type; first: its term; node: where it is */ \
    X(PROBE_DIRECTIVE_TAKEN, "directive taken") /* by a region. type, shard, fence; first: attempt; second: enum probe_directive */ \
    X(PROBE_DIRECTIVE_STALE, "stale directive refused") /* by a region. type; shard: unless it is of no shard */ \
    X(PROBE_COORDINATOR_STARTED, "coordinator started") /* type: knows nothing yet */ \
    X(PROBE_COORDINATOR_ACTIVE, "coordinator active") /* type; first: term */ \
    X(PROBE_COORDINATOR_ENDED, "coordinator ended")   /* acts no more, or not before it has another term. The same */ \
    X(PROBE_HOME_SET, "home set")         /* by a coordinator. type, shard, fence, node; second: enum probe_home */ \
    X(PROBE_HOME_FENCED, "home fenced")   /* the home stays, under a higher fence. The same without cause */ \
    X(PROBE_HOME_ENDED, "home ended")     /* as HOME_SET */ \
    X(PROBE_HOME_TOLD, "home told")       /* to the home, or to others. As HOME_FENCED */ \
    X(PROBE_STATE_ASKED, "state asked for") /* by a coordinator, of as many as shall be asked. type; first: ticket */ \
    X(PROBE_STATE_READ, "state read")     /* by a coordinator, as it was stored. type; bytes: the state */ \
    X(PROBE_FENCES_READ, "fences read")   /* the same, behind it; bytes: the fences */ \
    X(PROBE_STATE_SENT, "state sent")     /* to be stored. type; first: ticket; bytes: the state, if that has changed */ \
    X(PROBE_FENCES_SENT, "fences sent")   /* the same, behind it; bytes: the fences */ \
    X(PROBE_STATE_STORED, "state stored") /* as many have it as shall. type; first: ticket */ \
    X(PROBE_REMEMBER_SENT, "remembered entities sent") /* changes of a shard's, to distributed data. type, shard; bytes: its records */ \
    X(PROBE_REMEMBER_STORED, "remembered entities stored") /* as many have them as shall. The same */ \
    X(PROBE_HANDOFF, "hand-off")          /* at the coordinator. type, shard, fence; first: attempt; second: enum probe_handoff */ \
    X(PROBE_DATA_FORGOTTEN, "key of distributed data forgotten") /* nobody used it, as far as its replica has heard. bytes: the key */ \
    X(PROBE_CLUSTER_FOUNDED, "cluster founded") /* by this node */ \
    X(PROBE_CLUSTER_JOINED, "cluster joined") /* node: who has shown the gossip to this newcomer */ \
    X(PROBE_MEMBER_SEEN, "member seen")   /* new, or another status. node; first: status as on the wire; removed: the last word */ \
    X(PROBE_GOSSIP_SENT, "full gossip sent") /* by this node. node: to whom */ \
    X(PROBE_TOMBSTONES_DROPPED, "tombstones dropped") /* by the leader: they are old by its clock of the day */ \
    X(PROBE_VERSION_TAKEN, "gossip version taken") /* another gossip than the own is held from here on. first: entries of the own version; bytes: those, then
                                                     those of the new one, struct probe_version */ \
    X(PROBE_VERSION_HELD, "gossip version held") /* by this node from here on, taken, merged or made by it. first: hash of the version; second: of what it
                                                    says, but for who has seen it */ \
    X(PROBE_MEMBER_DOWNED, "member downed") /* by this node. node; first: enum probe_down */ \
    X(PROBE_LEADER_ACTED, "leader acted") /* it changes members. first: 1 = without convergence; second: hash of the version; bytes: struct probe_evidence */ \
    X(PROBE_TAKEN, "taken from a peer") /* by control: what another node said has an effect. node: that life of it; first: enum probe_taken */ \
    X(PROBE_LEASE_HELD, "lease held") /* or renewed, by this node's resolver. first: token; second: until when it is sure, by its own clock */ \
    X(PROBE_LEASE_ENDED, "lease ended") /* lost, or given back */ \
    X(PROBE_RESOLVED, "resolver decided") /* before those whom it downs are. node: this one; first: members; bytes: those of the picture that it decided
                                             from, struct probe_side, then struct probe_unreached */ \
    X(PROBE_UNSTABLE, "unstable") /* its resolver downs all, since nothing was stable for too long */ \
    X(PROBE_SELF_STOPPING, "self stopping") /* this node ends from here on. first: the error as a positive number, 0 = it leaves */

#define X(name, text) name,
enum probe_kind { PROBE_KINDS(X) PROBE_KIND_COUNT };
#undef X

#define PROBE_TYPE_NONE UINT16_MAX

enum probe_directive {
    PROBE_HOST,
    PROBE_HOME,
    PROBE_BEGIN_HAND_OFF,
    PROBE_HAND_OFF
};

/* Why a shard has, or has lost, its home. */
enum probe_home {
    PROBE_HOME_ALLOCATED,      /* set */
    PROBE_HOME_REPORTED,       /* set: the region says that it hosts it */
    PROBE_HOME_STORED,         /* set: a coordinator before this one has stored it */
    PROBE_HOME_STOPPED,        /* ended: handed off */
    PROBE_HOME_CONTESTED,      /* ended: another region reports it under a higher fence, or had it so, as is stored */
    PROBE_HOME_REGION_STOPPED, /* ended: the region said that it has stopped */
    PROBE_HOME_REGION_RENEWED, /* ended: another region of that node has registered */
    PROBE_HOME_NODE_REMOVED    /* ended */
};

enum probe_handoff {
    PROBE_HANDOFF_BEGUN,    /* all regions are told to hold */
    PROBE_HANDOFF_STOPPING, /* all hold: the owner is told to stop */
    PROBE_HANDOFF_MOVED,
    PROBE_HANDOFF_FAILED,
    PROBE_HANDOFF_GIVEN_UP /* the owner is gone, or has been fenced */
};

enum probe_down {
    PROBE_DOWN_COMMAND,  /* an operator's */
    PROBE_DOWN_REPLACED, /* another incarnation at the address wants to join, or is a member */
    PROBE_DOWN_REMOTE,   /* another node asked for it */
    PROBE_DOWN_DECIDED   /* this node's split brain resolver */
};

enum probe_taken {
    PROBE_TAKEN_HANDSHAKE, /* it is the incarnation at its address from here on */
    PROBE_TAKEN_SYSTEM,    /* a watch, its end, or that the watched one has ended */
    PROBE_TAKEN_ACKNOWLEDGEMENT, /* of those; second: uid of the incarnation that they were for */
    PROBE_TAKEN_GOSSIP,
    PROBE_TAKEN_HEARTBEAT, /* the answer to one */
    PROBE_TAKEN_COUNT
};

/* What a leader saw before it acted: one for each member, in the gossip's order. */
struct probe_evidence {
    uint64_t uid;
    uint8_t status; /* before; as on the wire */
    uint8_t after;  /* the same as before: nothing was done to it */
    uint8_t seen;
    uint8_t reachable; /* to all observers */
    uint8_t trusted;   /* reachable to those observers that are not down */
    uint8_t confirmed; /* exiting, and has handed over */
    uint8_t is_far;    /* in another data center than who leaves this */
    uint8_t unused;
};

/* A member of the own data center, as a resolver saw it; in the order of nodes. */
struct probe_side {
    uint64_t uid;
    uint8_t status; /* as on the wire */
    uint8_t reachable;
    uint8_t seen;   /* it has seen the gossip */
    uint8_t downed; /* by the decision */
    uint8_t has_role; /* it counts */
    uint8_t unused[3];
};

/* A member does not reach a member; uids. */
struct probe_unreached {
    uint64_t observer, subject;
};

/* One node's entry of a version of the gossip; in the order of keys. */
struct probe_version {
    uint64_t key;
    uint64_t count;
};

struct probe {
    enum probe_kind kind;
    uint16_t type; /* PROBE_TYPE_NONE: of no entity type */
    uint8_t reason; /* enum sherd_reason */
    int32_t shard;
    struct fence fence;
    struct node_id node;
    uint64_t first, second; /* as the kind says */
    struct slice bytes;     /* lent until the next call on these probes */
};

struct probes; /* one for each machine (control, each lane) */

struct probes *probes_new(void);
void probes_free(struct probes *probes); /* null is fine */
void probes_put(struct probes *probes, const struct probe *probe); /* copied; null probes is fine */
bool probes_next(struct probes *probes, struct probe *probe); /* in order; false when empty, and for null */
uint64_t probes_lost(const struct probes *probes); /* facts dropped at the limit so far */
const char *probe_kind_text(enum probe_kind kind); /* a constant */

#endif
