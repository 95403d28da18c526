/* Declares what control and lanes have in common: links to peers (peer_links.h), accepted connections
 * (inlets), mail queues, and requests to the driver. Private to node/. */
#ifndef SHERD_NODE_MACHINE_H
#define SHERD_NODE_MACHINE_H

#include <stdatomic.h>

#include "artery/association.h"
#include "artery/inlet.h"
#include "artery/link.h"
#include "artery/peers.h"
#include "base/map.h"
#include "node/peers/peer_links.h"
#include "node/mail/mail.h"
#include "node/mail/outputs.h"
#include "node/node.h"

struct control;
struct lane;

struct node {
    struct node_settings settings; /* texts and arrays are the node's own */
    struct identity identity;
    struct passivation_settings passivation; /* of types without one of their own */
    struct type_names *names; /* with room for late types, as settings.types */
    uint32_t prepared_types;  /* types with names; only the driver's calls change it */
    /* types that all machines have, so any thread may use them; only control changes it */
    _Atomic uint32_t type_count;
    bool closed;
    uint32_t machine_count;
    struct machine *machines[LANES_MAX + 1];
};

struct guard {
    struct voucher voucher;
    uint64_t vouched; /* uid of the last sender that it covers */
};

struct inlet_slot {
    uint64_t conn;
    uint64_t checked; /* peers.version when it was the sender's newest */
    struct inlet *inlet;
    char *remote;
    struct guard *guard; /* null: any node may use it */
    const struct machine *machine; /* the owner, and the sender's entries: */
    struct peer *peer;             /* or null */
    struct association_place association; /* in control's associations */
};

struct machine {
    struct node *node;
    const struct node_settings *settings;
    const struct identity *self;
    struct trace *trace;
    struct probes *probes;   /* or null */
    struct control *control; /* machine 0 */
    struct lane *lane;       /* the others */
    uint32_t index;
    uint64_t now;
    int64_t wall_ms;
    struct outputs outputs;
    struct outbox outbox; /* messages of the cores */
    struct peers peers;
    struct peer_links links;
    struct own_tables tables; /* own copy */
    struct inlet_options inlet_options;
    struct map inlets;        /* conn -> struct inlet_slot */
    VEC(uint64_t) unknown;    /* inlets of unknown senders, and some others */
    uint64_t inlets_deadline; /* not later than that of any of them */
    VEC(uint64_t) claims; /* inlets that wait, see inlet_claim, and some others; in order of arrival */
    uint64_t close_forgotten_at; /* connections of forgotten strangers; NEVER: there are none */

    uint64_t malformed;   /* unreadable frames */
    uint64_t refused;     /* frames of unknown or former senders */
    /* messages in those frames, and in frames that nothing reads */
    uint64_t undelivered[SHERD_REASON_COUNT];
    uint64_t closed;      /* connections closed for their bytes, or missing ones */
};

void machine_close(struct machine *machine);

/* ---- inlets.c ---- */
void inlet_slot_free(struct inlet_slot *slot);
/* The driver has closed the connection. */
void machine_free_conn(struct machine *machine, struct inlet_slot *slot);
/* Closes the connection; its inlet has the reason. */
void machine_close_conn(struct machine *machine, struct inlet_slot *slot);
/* The connection waits as a claim. The one that waits for longest is closed at a limit. */
void machine_claimed(struct machine *machine, struct inlet_slot *slot);
/* This incarnation is at its address: accepts the next connection that has waited for that, and
 * returns its handshake, which is not answered yet. False: none is left. */
bool machine_next_claim(struct machine *machine, const struct node_id *node,
                        struct handshake *handshake, enum stream *stream);
void machine_inlets_tick(struct machine *machine);
uint64_t machine_inlets_deadline(const struct machine *machine);

/* ---- undelivered.c ---- */
/* Leaves the probe of a dropped frame of an ordinary stream. */
void machine_frame_ended(struct machine *machine, enum sherd_reason reason,
                         struct slice frame);
/* Does the same with a known serializer and manifest, and counts a message of actors. frame: all of
 * it, or its payload. */
void machine_message_ended(struct machine *machine, enum sherd_reason reason,
                           int32_t serializer, struct slice manifest,
                           struct slice frame);
/* Does the same with the envelope. */
void machine_envelope_ended(struct machine *machine, enum sherd_reason reason,
                            const struct envelope *envelope,
                            struct slice frame);

/* ---- flush.c ---- */
/* Sends messages for other nodes; calls `own` for those to this node. */
void machine_flush_outbox(struct machine *machine,
                          void (*own)(struct machine *,
                                      const struct outbound *));

/* ---- handshake.c ---- */
/* Handles a handshake, and the first frame of a known sender. A lane reports a handshake to
 * control. False: the frame is used up (a lane's handshake) or dropped (unknown sender). */
bool machine_handshake(struct machine *machine, enum stream stream,
                       const struct envelope *envelope, struct inlet *inlet);
/* A lane: passes a handshake to control, which answers. */
void machine_post_handshake(struct machine *machine,
                            const struct handshake *handshake, bool is_claim);

static inline uint32_t shard_lane(uint32_t type, int32_t shard, uint32_t lanes)
{
    uint32_t mixed = ((uint32_t)shard * 2654435761u) ^ (type * 40503u);

    return (uint32_t)(((uint64_t)mixed * lanes) >> 32);
}

#endif
