/* The inside of a machine: what control and lanes have in common. Private to node/.
 *
 * A machine has links to other nodes (contacts.h), accepted connections (inlets), mail queues to its sisters and a list of
 * wants. machine.c owns these and calls control_... or lane_... with what arrived. */
#ifndef SHERD_NODE_MACHINE_H
#define SHERD_NODE_MACHINE_H

#include "artery/association.h"
#include "artery/inlet.h"
#include "artery/link.h"
#include "artery/origin.h"
#include "base/map.h"
#include "node/contacts.h"
#include "node/mail.h"
#include "node/node.h"

struct control;
struct lane;

/* What a type is called in paths and refs: made once, the same on every machine. */
struct type_names {
    const char *name;     /* by which it is told and asked here: "TYPE@CENTER" when is_far */
    char *type;           /* the entity type's name, as other nodes know it */
    char *region_path;    /* "/system/sharding/<enc>#uid", of the region or proxy here */
    char *region_plain;   /* without "#uid" */
    char *remote_path;    /* "/system/sharding/<enc>": regions elsewhere */
    char *manager_path;   /* "/system/sharding/<enc>Coordinator" */
    char *coordinator_path; /* ".../singleton/coordinator" */
    bool is_proxy;
    bool is_far; /* a proxy for the regions of another data center */
    bool persists;
    bool is_large; /* regions elsewhere are told by the large stream */
    bool remembers; /* and hosts */
    bool remembers_in_data; /* and keeps them in distributed data, not in the journal */
    uint32_t shards;
};

struct node {
    struct node_settings settings; /* all texts and arrays are the node's own */
    struct identity identity;
    struct type_names *names;
    bool closed;
    uint32_t machine_count;
    struct machine *machines[LANES_MAX + 1];
};

/* Who may speak on a connection. */
struct guard {
    struct voucher voucher;
    uint64_t vouched; /* uid of the sender that it was last asked about, and covers */
};

struct inlet_slot {
    uint64_t conn;
    uint64_t checked; /* origins_version when it was last found to be the newest of its sender */
    struct inlet *inlet;
    char *remote;
    struct guard *guard; /* null: anybody may speak */
    const struct machine *machine; /* whose it is, and what is known of the sender: */
    struct contact *contact;       /* null: none was seen */
    struct association_place peer; /* of control's associations */
};

struct machine {
    struct node *node;
    const struct node_settings *settings;
    const struct identity *self;
    struct trace *trace;
    struct probes *probes;   /* null unless settings ask for them */
    struct control *control; /* machine 0 */
    struct lane *lane;       /* the others */
    uint32_t index;
    uint64_t now;
    int64_t wall_ms;
    VEC(struct want) wants;
    uint32_t want_head;
    struct outbox outbox; /* what cores leave for other nodes */
    struct contacts contacts;
    struct origins *origins;
    struct own_tables tables; /* this machine's copy of what the node advertised */
    struct inlet_options inlet_options; /* of all */
    struct map inlets;        /* conn -> struct inlet_slot */
    VEC(uint64_t) strangers;  /* numbers of those whose sender is not known, and of some where it is, or that are gone */
    uint64_t inlets_deadline; /* not later than that of any stranger */
    struct mail_queue out[LANES_MAX + 1];
    uint64_t malformed;   /* frames that could not be read */
    uint64_t refused;     /* frames of senders that are not known, or not any more */
    uint64_t undelivered[SHERD_REASON_COUNT]; /* of those frames, and of frames that nobody here reads: messages */
    uint64_t closed;      /* connections closed for what came, or did not come, on them */
};

void machine_want(struct machine *machine, const struct want *want);
void machine_want_write(struct machine *machine, uint64_t link);
void machine_close(struct machine *machine); /* accepted connections, links and mail come to their end */
/* A frame that came on an ordinary stream is dropped: its probe. */
void machine_frame_ended(struct machine *machine, enum sherd_reason reason,
                         struct slice frame);
/* The same of one whose serializer and manifest were read; a message of actors is counted. frame: all of it, or its payload. */
void machine_message_ended(struct machine *machine, enum sherd_reason reason,
                           int32_t serializer, struct slice manifest,
                           struct slice frame);
/* The same of one that was read so far. */
void machine_envelope_ended(struct machine *machine, enum sherd_reason reason,
                            const struct envelope *envelope,
                            struct slice frame);
/* Posts to machine `to`; a letter to itself is not possible. */
void machine_post(struct machine *machine, uint32_t to,
                  const struct letter *letter);
/* The same letter to every lane; body is copied for each (size bytes), the original stays the caller's. */
void machine_post_lanes(struct machine *machine, const struct letter *letter,
                        const void *body, size_t size);
/* Sends everything in the outbox that is for other nodes; calls `own` for each message to this node. */
void machine_flush_outbox(struct machine *machine,
                          void (*own)(struct machine *,
                                      const struct outbound *));

/* What a handshake on a connection changes: the sender becomes known, the inlet takes its frames; a lane reports it to
 * control. False when the frame is used up or dropped: a lane's handshake, a sender that is not known. */
bool machine_handshake(struct machine *machine, enum stream stream,
                       const struct envelope *envelope, struct inlet *inlet);

/* The lane of a node that owns a shard. */
static inline uint32_t shard_lane(uint32_t type, int32_t shard, uint32_t lanes)
{
    uint32_t mixed = ((uint32_t)shard * 2654435761u) ^ (type * 40503u);

    return (uint32_t)(((uint64_t)mixed * lanes) >> 32);
}

/* making.c */
struct control *control_new(struct machine *machine);
void control_free(struct control *control);
void control_start(struct control *control);

/* control.c */
void control_letter(struct control *control, uint32_t from,
                    struct letter *letter);
void control_frame(struct control *control, enum stream stream,
                   const struct envelope *envelope, struct inlet *inlet);
struct association_place control_place(const struct control *control,
                                       uint64_t uid); /* see associations_place, as the next */
void control_expect(struct control *control,
                    const struct association_place *place);
void control_fetch(const struct control *control, uint32_t step); /* a step of machine_fetch: 0 itself, 1 its cores, 2 what they point to */
void control_stored(struct control *control, struct journal_request *request);
void control_leased(struct control *control, struct lease_request *request); /* downing.c */
void control_durable(struct control *control, struct durable_request *request); /* data_store.c */
void control_found(struct control *control, const struct seed_list *list);
bool control_turn(struct control *control);
uint64_t control_deadline(const struct control *control);
void control_status(struct control *control, struct sherd_status *status,
                    bool members); /* false: without the list of them */

/* lane.c */
struct lane *lane_new(struct machine *machine);
void lane_close(struct lane *lane); /* every message ends; only lane_free and lane_letter_end follow */
void lane_letter_end(struct lane *lane, struct letter *letter); /* the messages that it carries end with the node; to be freed by the caller */
void lane_free(struct lane *lane);
void lane_letter(struct lane *lane, uint32_t from, struct letter *letter);
void lane_frame(struct lane *lane, enum stream stream,
                const struct envelope *envelope, struct slice frame,
                struct inlet *inlet);
/* A frame that is, before its payload, as the one before it in this batch, to an entity: taken. False: to be read. */
bool lane_frame_again(struct lane *lane, struct slice frame);
void lane_frames_end(struct lane *lane); /* after a batch of frames; they are lent until then */
void lane_stored(struct lane *lane, struct journal_request *request);
void lane_job_done(struct lane *lane, struct job *job);
bool lane_turn(struct lane *lane);
uint64_t lane_deadline(const struct lane *lane);
void lane_status(struct lane *lane, struct sherd_status *status);

#endif
