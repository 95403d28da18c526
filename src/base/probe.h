/* Records facts for the simulator's checkers: what a core did. The driver takes them.
 * A machine has probes only if node_settings.probes is set; otherwise the pointer is null. Facts
 * are never an input of a core. Facts beyond PROBES_MAX are counted, not kept. */
#ifndef SHERD_BASE_PROBE_H
#define SHERD_BASE_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/bytes.h"
#include "base/fence.h"

/* Each kind: name, text. The comment lists the fields that are set; `type` is an index into the
 * node's types. A message ends once: delivered, or in one of the next three kinds. Only
 * HANDLER_FAILED can follow a delivery. */
#define PROBE_KINDS(X)                                                         \
    /* undelivered. reason; bytes: the body; type: of an entity's message */ \
    X(PROBE_MESSAGE_ENDED, "message ended") \
    /* an ordinary frame that was never read. reason; bytes: the frame */ \
    X(PROBE_FRAME_ENDED, "frame ended") \
    /* an accepted connection's, not read as frames. bytes; node: uid of the sender */ \
    X(PROBE_BYTES_ENDED, "bytes ended") \
    /* before its first callback. type, shard; first: the actor; bytes: the id */ \
    X(PROBE_ENTITY_STARTED, "entity started") \
    X(PROBE_ENTITY_STOPPED, "entity stopped") /* after its last callback. Same fields */ \
    X(PROBE_SHARD_HOSTED, "shard hosted")     /* its entities may start. type, shard, fence */ \
    X(PROBE_SHARD_STOPPING, "shard stopping") /* its entities must stop. type, shard, fence */ \
    X(PROBE_SHARD_ENDED, "shard ended")       /* it has no entities any more. type, shard */ \
    /* by a region to the coordinator. type, shard, fence; first: attempt */ \
    X(PROBE_SHARD_SAID_STOPPED, "shard said to be stopped") \
    /* type; first: shards that it still hosts; second: 1 = timed out, 2 = timed out with \
     * shards */ \
    X(PROBE_REGION_STOPPED, "region stopped") \
    /* with another coordinator. type; first: its term; node: the coordinator's */ \
    X(PROBE_REGISTERED, "region registered") \
    /* by a region. type, shard, fence; first: attempt; second: enum probe_directive */ \
    X(PROBE_DIRECTIVE_TAKEN, "directive taken") \
    /* by a region. type; shard: if it names one */ \
    X(PROBE_DIRECTIVE_STALE, "stale directive refused") \
    X(PROBE_COORDINATOR_STARTED, "coordinator started") /* it knows nothing yet. type */ \
    X(PROBE_COORDINATOR_ACTIVE, "coordinator active") /* type; first: term */ \
    /* it stops, or needs another term. Same fields */ \
    X(PROBE_COORDINATOR_ENDED, "coordinator ended") \
    /* by a coordinator. type, shard, fence, node; second: enum probe_home; first, of an allocation: \
     * the regions that take shards and are not cordoned */ \
    X(PROBE_HOME_SET, "home set") \
    /* it stays, under a higher fence. Same fields without the cause */ \
    X(PROBE_HOME_FENCED, "home fenced") \
    X(PROBE_HOME_ENDED, "home ended")     /* as HOME_SET */ \
    X(PROBE_HOME_TOLD, "home told")       /* the home or others were told. As HOME_FENCED */ \
    /* a coordinator asked enough replicas. type; first: ticket */ \
    X(PROBE_STATE_ASKED, "state asked for") \
    X(PROBE_STATE_READ, "state read") /* by a coordinator, as stored. type; bytes: the state */ \
    X(PROBE_FENCES_READ, "fences read")   /* the same, after the state; bytes: the fences */ \
    /* a coordinator stores it. type; first: ticket; bytes: the state, if it changed */ \
    X(PROBE_STATE_SENT, "state sent") \
    X(PROBE_FENCES_SENT, "fences sent")   /* the same, after the state; bytes: the fences */ \
    X(PROBE_STATE_STORED, "state stored") /* enough replicas have it. type; first: ticket */ \
    /* a shard's changes, to distributed data. type, shard; bytes: its records */ \
    X(PROBE_REMEMBER_SENT, "remembered entities sent") \
    /* enough replicas have them. Same fields */ \
    X(PROBE_REMEMBER_STORED, "remembered entities stored") \
    /* at the coordinator. type, shard, fence; first: attempt; second: enum probe_handoff */ \
    X(PROBE_HANDOFF, "hand-off") \
    /* unused, as far as its replica knows. bytes: the key */ \
    X(PROBE_DATA_FORGOTTEN, "key of distributed data forgotten") \
    /* it changed, or the shard starts. type, shard; first: the limit; second: shards of the type \
     * on this lane */ \
    X(PROBE_ACTIVE_LIMIT, "limit of active entities") \
    /* in such a shard: it gets no further messages. Fields as of its start */ \
    X(PROBE_ENTITY_LEAVING, "entity leaving") \
    X(PROBE_CLUSTER_FOUNDED, "cluster founded") /* by this node */ \
    X(PROBE_CLUSTER_JOINED, "cluster joined") /* node: the member that sent the gossip */ \
    /* new, or a new status. node; first: status as on the wire; removed is last */ \
    X(PROBE_MEMBER_SEEN, "member seen") \
    X(PROBE_GOSSIP_SENT, "full gossip sent") /* node: the receiver */ \
    X(PROBE_TOMBSTONES_DROPPED, "tombstones dropped") /* by the leader: old by its wall clock */ \
    /* another gossip replaces this node's. first: entries of the old version; bytes: old and \
     * new entries, struct probe_version */ \
    X(PROBE_VERSION_TAKEN, "gossip version taken") \
    /* taken, merged or made. first: hash of the version; second: hash of the content without \
     * the seen set */ \
    X(PROBE_VERSION_HELD, "gossip version held") \
    X(PROBE_MEMBER_DOWNED, "member downed") /* by this node. node; first: enum probe_down */ \
    /* it changes members. first: 1 = without convergence; second: hash of the version; bytes: \
     * struct probe_evidence */ \
    X(PROBE_LEADER_ACTED, "leader acted") \
    /* control accepts it. node: the sender's incarnation; first: enum probe_taken */ \
    X(PROBE_TAKEN, "taken from a peer") \
    /* on a connection to its address, for the first time. node */ \
    X(PROBE_PEER_ANSWERED, "peer answered") \
    /* control has too many strangers. node */ \
    X(PROBE_PEER_FORGOTTEN, "peer forgotten") \
    /* it had answered. node: the former incarnation; first: UID of the one that is there now */ \
    X(PROBE_PEER_REPLACED, "peer replaced") \
    /* or renewed, by this node's resolver. first: token; second: its end by this node's clock */ \
    X(PROBE_LEASE_HELD, "lease held") \
    X(PROBE_LEASE_ENDED, "lease ended") /* lost, or released */ \
    /* the session of shards' leases; the same fields. type, shard and fence are not set */ \
    X(PROBE_SESSION_HELD, "session held") \
    X(PROBE_SESSION_ENDED, "session ended") \
    /* the shard holds its lease, and may start. type, shard, fence */ \
    X(PROBE_SHARD_LEASED, "shard leased") \
    /* no longer: it was lost, or is given up, and no entity is left. Same fields */ \
    X(PROBE_SHARD_UNLEASED, "shard unleased") \
    /* precedes its downings. node: this one; first: members; bytes: its view, struct \
     * probe_side, then struct probe_unreached */ \
    X(PROBE_RESOLVED, "resolver decided") \
    X(PROBE_UNSTABLE, "unstable") /* its resolver downs all after a long instability */ \
    /* from now on. first: the error as a positive number, 0 = it leaves */ \
    X(PROBE_SELF_STOPPING, "self stopping") \
    /* by a coordinator, of the program's strategy. type; shard: INT32_MIN = for moves; first: \
     * the request's number */ \
    X(PROBE_ALLOCATION_ASKED, "allocation asked for") \
    /* answered or given up. Same fields; second: enum probe_allocation */ \
    X(PROBE_ALLOCATION_ENDED, "request for an allocation ended") \
    /* type, shard, first: its number; a coordinator that cannot write takes it later */ \
    X(PROBE_ALLOCATION_ANSWER, "answer to a request for an allocation waits")

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

/* Why a shard's home was set or ended. */
enum probe_home {
    PROBE_HOME_ALLOCATED,      /* set */
    PROBE_HOME_REPORTED,       /* set: the region reports that it hosts it */
    PROBE_HOME_STORED,         /* set: an earlier coordinator stored it */
    PROBE_HOME_STOPPED,
    /* ended: another region reports it under a higher fence, or is stored with one */
    PROBE_HOME_CONTESTED,
    PROBE_HOME_REGION_STOPPED, /* ended: the region reported that it stopped */
    PROBE_HOME_REGION_RENEWED, /* ended: another region of that node has registered */
    PROBE_HOME_NODE_REMOVED
};

enum probe_handoff {
    PROBE_HANDOFF_BEGUN,    /* all regions must buffer its messages */
    PROBE_HANDOFF_STOPPING, /* all buffer: the owner must stop it */
    PROBE_HANDOFF_MOVED,
    PROBE_HANDOFF_FAILED,
    PROBE_HANDOFF_GIVEN_UP /* the owner was removed or fenced */
};

enum probe_allocation {
    PROBE_ALLOCATION_ANSWERED,
    PROBE_ALLOCATION_REFUSED,  /* the answer names no region that takes shards */
    PROBE_ALLOCATION_LATE,     /* given up: no answer in time */
    PROBE_ALLOCATION_NEEDLESS, /* given up: the shard has a home, or its coordinator ends */
    PROBE_ALLOCATION_COUNT
};

enum probe_down {
    PROBE_DOWN_COMMAND,
    PROBE_DOWN_REPLACED, /* another incarnation at the address joins, or is a member */
    PROBE_DOWN_REMOTE,
    PROBE_DOWN_DECIDED   /* this node's split brain resolver */
};

enum probe_taken {
    PROBE_TAKEN_HANDSHAKE, /* the incarnation becomes the current one at its address */
    PROBE_TAKEN_SYSTEM,    /* a watch, its end, or the end of the watched actor */
    /* of system messages; second: uid of their receiving incarnation */
    PROBE_TAKEN_ACKNOWLEDGEMENT,
    PROBE_TAKEN_GOSSIP,
    PROBE_TAKEN_HEARTBEAT,
    PROBE_TAKEN_COUNT
};

/* A leader's view before it acted: a member, in the gossip's order. */
struct probe_evidence {
    uint64_t uid;
    uint8_t status; /* before; as on the wire */
    uint8_t after;  /* equal to status if unchanged */
    uint8_t seen;
    uint8_t reachable; /* to all observers */
    uint8_t trusted;   /* reachable to all observers that are not down */
    uint8_t confirmed; /* exiting, and has handed over */
    uint8_t is_far;    /* not in the leader's data center */
    uint8_t unused;
};

/* A member of this data center as a resolver saw it; in the order of nodes. */
struct probe_side {
    uint64_t uid;
    uint8_t status; /* as on the wire */
    uint8_t reachable;
    uint8_t seen;   /* has seen the gossip */
    uint8_t downed; /* by the decision */
    uint8_t has_role; /* it counts */
    uint8_t unused[3];
};

/* A member does not reach another one; uids. */
struct probe_unreached {
    uint64_t observer, subject;
};

/* A node's entry of a gossip's version; in the order of keys. */
struct probe_version {
    uint64_t key;
    uint64_t count;
};

struct probe {
    enum probe_kind kind;
    uint16_t type; /* PROBE_TYPE_NONE: no entity type */
    uint8_t reason; /* enum sherd_reason */
    int32_t shard;
    struct fence fence;
    struct node_id node;
    uint64_t first, second; /* as the kind says */
    struct slice bytes;     /* lent until the next call on these probes */
};

struct probes;

struct probes *probes_new(void);
void probes_free(struct probes *probes);
/* Copied; null probes are fine. */
void probes_put(struct probes *probes, const struct probe *probe);
/* In order; false when empty or null. */
bool probes_next(struct probes *probes, struct probe *probe);
uint64_t probes_lost(const struct probes *probes); /* dropped at the limit so far */
const char *probe_kind_text(enum probe_kind kind);

#endif
