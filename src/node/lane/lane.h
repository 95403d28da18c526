/* Declares a lane machine: its actors and entities, its part of the journal, and for each entity
 * type the routes and the owned shards. Declares also the functions that its files call in each
 * other, grouped by the file that defines them. Private to node/. */
#ifndef SHERD_NODE_LANE_H
#define SHERD_NODE_LANE_H

#include "actor/actors.h"
#include "journal/journal.h"
#include "node/lane/lane_calls.h"
#include "node/lane/look_rows.h"
#include "node/machine/machine.h"
#include "node/peers/actor_names.h"
#include "node/peers/actor_path.h"
#include "node/peers/names.h"
#include "node/peers/watchers.h"
#include "shard/place.h"
#include "shard/remember.h"

#define BATCH_MAX 128
#define NOTICE_HEAD 6 /* bytes of an undelivered message's notice, before its text */
#define LANE_MOVER 0x40u /* in a lane's number: the sender moves entities there, and is no actor */

/* States of an orphan shard, above the type's present number of shards: its remembered entities
 * must move. */
enum orphan {
    ORPHAN_NOT,
    ORPHAN_WAITS,  /* waits for its turn */
    ORPHAN_READS,  /* claimed, and its set is read */
    ORPHAN_MOVES   /* its entities start in their new shards and are erased here */
};

/* A message that waits in routes or owned shards. */
struct waiting {
    struct pending_item held; /* must be first */
    struct message *message;
};

enum waiting_report { WAITING_UNREPORTED, WAITING_NONE, WAITING_SOME };

/* A shard's remembered entities that are not all in their set yet. */
struct remember_reading {
    int32_t shard;
    uint64_t ticket;
    struct buf record;
    size_t at;     /* of the next id */
    uint64_t left; /* ids that remain */
};

/* A shard of a type that remembers entities. */
struct remember_life {
    struct fence fence;  /* for reading its set; of an orphan shard: the claimed one */
    uint64_t ticket;     /* distributed data: of the last request; 0: answered */
    enum orphan orphan;
};

/* A shard whose waiting messages wait for room in a link. */
struct flush {
    uint32_t type;
    int32_t shard;
};

/* One entity type on a lane. */
struct lane_type {
    struct routes routes;
    struct owned_shards owned;
    struct pending_budget budget;
    struct remember remember; /* empty if the type remembers none */
    VEC(struct remember_life) lives; /* by shard_place */
    VEC(int32_t) orphans;      /* orphan shards that wait, from orphan_head on */
    uint32_t orphan_head;
    uint32_t orphans_reading;
    struct buf parts;         /* of an incomplete write */
    VEC(uint64_t) restarts;   /* entities of the last batch that may still recover */
    VEC(struct remember_reading) readings; /* the first one continues, a part in each turn */
    bool reporting;       /* control wants MAIL_WAITING */
    enum waiting_report waiting_report;
    uint32_t asks_seen;   /* open asks of the lane when it looked for ended ones; UINT32_MAX: never */
    bool coordinator_known;
    struct proof proof;   /* of the coordinator that ordered the last start */
    uint64_t stored_term; /* the highest term with which the journal refused a fence of this lane */
};

struct chain {
    struct message *first;
    struct message *last;
};

/* A write is durable when the journal is, up to `position`. */
struct remember_write {
    uint64_t position;
    uint16_t type;
    int32_t shard;
};

/* A query of control that this lane answers, a part in each turn. */
struct look {
    uint64_t number;
    uint32_t type;
    uint32_t index; /* of the next shard */
    bool wants_ids;
    struct buf *records; /* of the answer */
};

/* An ask from elsewhere that an entity here has in its mailbox. */
struct asked {
    uint64_t at;
    uint64_t hash; /* of the entity's id */
    struct sherd_ref sender;
    uint64_t ask;
    uint16_t type;
};

/* bytes of a ref's literal */
#define NAME_MAX (ADDRESS_TEXT_MAX + 160 + NAMES_PATH_MAX + NAME_LEFT_SIZE)

/* A literal and its ref, cached because messages come in runs from one sender. */
struct known_name {
    struct sherd_ref ref;
    uint64_t sender_node; /* uid of the node that used it */
    uint32_t size;        /* 0 = empty */
    char text[NAME_MAX];
};

/* A run of sharded messages on a connection, with the same bytes before the payload. */
struct frame_run {
    struct slice head; /* lent from its first frame; empty = no run */
    struct sherd_ref sender;
    uint64_t ask;
    uint16_t expires; /* of the ask */
    uint32_t body_max;
    uint16_t type;
    bool wants_undelivered;
    bool arrived; /* as in struct message */
};

struct lane {
    struct machine *machine;
    struct actors *actors;
    struct journal *journal;
    struct lane_type *types;
    uint32_t type_count;
    uint16_t own; /* from 0 */
    struct chain chains[LANES_MAX];
    struct message *batch[BATCH_MAX];
    uint32_t batch_count;
    VEC(struct remember_write) remember_writes; /* by position */
    uint64_t remember_ticket;
    bool remembers;
    bool leases; /* shards of some type, or a singleton, need leases */
    uint64_t lease_end; /* the first end of leases here, or earlier; NEVER: there are none */
    bool has_lost; /* some have lost theirs, and their ends are not wired */
    VEC(struct flush) flushing; /* ROUTES_FLUSH stopped by a full link */
    VEC(struct mail_content) markers;       /* MAIL_HOLD with its marker stopped by a full link */
    VEC(struct asked) asked; /* asks to watch, from asked_head on */
    uint32_t asked_head;
    uint64_t asked_refused; /* not watched, at STAGES_MAX */
    VEC(struct task) tasks;
    VEC(struct look) looks; /* the first one continues */
    VEC(struct look_serving *) servings; /* requests of looks, at most LOOKS_SERVED_MAX */
    uint64_t looks_refused; /* at that limit */
    bool ending;
    bool ends_at_once;     /* when actors have handled the cluster's last events */
    uint64_t ending_until; /* then it waits no longer for links, or for actors to handle events */
    bool ended;
    bool is_downed; /* the node is downed: it hosts nothing */
    uint64_t held_total;
    uint64_t held_max;
    uint64_t held_ns_max;
    struct watchers watchers; /* JVM nodes' watches of actors here */
    struct names names;       /* names of JVM actors */
    struct actor_names actor_names; /* of this node's actors, as control says */
    uint64_t unknown; /* unreadable frames and payloads */
    uint64_t frames_until; /* frames in links count as waiting; 0: the node does not leave */
    VEC(uint64_t) unreachable;   /* uids of unreachable members */
    struct known_name own_address; /* without a path; ref not used */
    struct known_name read;        /* the last sender without an ask */
    struct frame_run run;
};

/* All messages to other regions of a type go by one stream, which keeps their order. */
static inline enum stream lane_stream(const struct lane *lane, uint32_t type)
{
    return lane->machine->node->names[type].is_large ? STREAM_LARGE
                                                     : STREAM_ORDINARY;
}

/* Sets the shard of a message to an entity, or SHARD_NONE. */
static inline void lane_set_shard(const struct lane *lane, struct message *message)
{
    message->entity.shard =
        shard_rule_of(&lane->machine->node->names[message->type].rule,
                      message_id(message), message->msg, message_said(message));
    message->entity.has_shard = 1;
}

static inline struct shard_names *lane_shard_names(const struct lane *lane, uint32_t type)
{
    return lane->machine->node->names[type].rule.names;
}

/* ---- lane.c ---- */
/* Called by actors, and for messages of the program's threads. */
bool lane_is_large(void *lane, const struct destination *destination);

/* ---- peer_mail.c ---- */
void lane_peer(struct lane *lane, const struct mail_peer *peer);
void lane_peer_answered(struct lane *lane, const struct mail_answered *answer);
void lane_peer_table(struct lane *lane, const struct mail_table *table);
void lane_node_gone(struct lane *lane, const struct mail_gone *gone);
void lane_peer_over(struct lane *lane, uint64_t uid); /* its frames are no longer accepted */
void lane_stranger_gone(struct lane *lane, const struct mail_stranger *stranger);

/* ---- outside.c ---- */
void lane_spawned(struct lane *lane, struct spawning *spawning); /* MAIL_SPAWN */
void lane_told(struct lane *lane, const struct tell_content *tell); /* MAIL_TELL */

/* ---- types.c ---- */
/* The lane can take messages of the type; then actors may use it. */
void lane_make_type(struct lane *lane, uint32_t index);
void lane_open_type(struct lane *lane, uint32_t index);
void lane_take_type(struct lane *lane, const struct mail_content *content); /* MAIL_ADD_TYPE, MAIL_OPEN_TYPE; answers */
void lane_close_type(struct lane *lane, uint32_t index); /* its messages end */

/* ---- reach.c ---- */
void lane_reach(struct lane *lane, const struct mail_reach *reach);
void lane_reach_gone(struct lane *lane, uint64_t uid); /* The member was removed. */
/* True if the message is an ask of this lane to an unreachable member, and its caller lets it fail. */
bool lane_reach_fails(const struct lane *lane, const struct peer *peer,
                      const struct message *message);

/* ---- sending.c: takes a message, given, to its place ---- */
void lane_send(struct lane *lane, struct message *message); /* from an actor here */
/* Takes a message from a link or a ring, or one that was given back. */
void lane_arrived(struct lane *lane, struct message *message);
void lane_batch_end(struct lane *lane); /* delivers the batch */
void lane_chains_end(struct lane *lane);
/* Handles ROUTES_FLUSH; continues later if a link is full. */
void lane_flush(struct lane *lane, uint32_t type, int32_t shard);
/* Handles MAIL_HOLD: buffers the shard's messages for its hand-off, sends the marker, answers
 * MAIL_HELD. */
void lane_hold(struct lane *lane, const struct mail_content *content);
void lane_sending_step(struct lane *lane);
bool lane_sending_waits(const struct lane *lane);
/* Lets a message wait in a type's routes; it ends as undelivered if there is no room. */
void lane_wait(struct lane *lane, struct message *message);
struct message *lane_unwrap(struct lane *lane, struct pending_item *held); /* null for null */
struct pending_item *lane_wrap(struct message *message);
/* Sets whether messages for a shard go straight from actor to entity. Called after each change of
 * its route or state. */
void lane_open(struct lane *lane, uint32_t type, int32_t shard);

/* ---- receiving.c ---- */
/* Takes a message to an actor of this node, on any lane. ask: of an answer, or 0. */
void lane_to_actor(struct lane *lane, enum stream stream,
                   const struct envelope *envelope, struct sherd_ref to,
                   uint64_t ask);

/* ---- selecting.c ---- */
/* Takes a message through an ActorSelection to all actors that it selects. False: it is for
 * control. */
bool lane_select(struct lane *lane, enum stream stream,
                 const struct envelope *envelope);
/* Finds the actor of a path of this node, by number or by name; false: there is none. */
bool lane_actor_at(const struct lane *lane, struct slice path, uint64_t *actor,
                   uint64_t *ask);
void lane_name(struct lane *lane, const struct actors_news *news); /* ACTORS_NAME */
void lane_name_end(struct lane *lane, uint64_t actor); /* ACTORS_NAME_END */
void lane_name_mail(struct lane *lane,
                    const struct mail_content *content); /* MAIL_NAME_KNOWN, _ANSWER, _GONE */
/* Handles MAIL_IDENTIFY: answers whether the actor lives. */
void lane_identified(struct lane *lane, const struct mail_identify *identify);

/* ---- ended_asks.c ---- */
/* The node leaves. */
void lane_drop_ended_asks(struct lane *lane, struct lane_type *type);

/* ---- ask_stage.c ---- */
void lane_ask_stage(struct lane *lane, struct message *message,
                enum sherd_stage stage); /* from now on */
/* The type's coordinator is known, or no longer. */
void lane_ask_stage_homeless(struct lane *lane, const struct lane_type *type);
/* An entity here has the message of an ask in its mailbox. */
void lane_ask_stage_watch(struct lane *lane, const struct message *message);
void lane_ask_stages_step(struct lane *lane); /* reports those that wait for long */
uint64_t lane_ask_stages_deadline(const struct lane *lane);
void lane_ask_stage_read(struct lane *lane, const struct mail_stage *report); /* MAIL_STAGE */
/* Takes a report from another node for an ask here; false: malformed. */
bool lane_ask_stage_frame(struct lane *lane, uint64_t actor, uint64_t ask,
                      const struct envelope *envelope);
uint16_t lane_peer_name(struct lane *lane, struct peer *peer);

/* ---- looking.c ---- */
void lane_look(struct lane *lane, const struct mail_content *content); /* MAIL_LOOK */
void lane_looks_step(struct lane *lane); /* there is one */
void lane_looks_fini(struct lane *lane);

/* ---- look_serve.c ---- */
void lane_look_asked(struct lane *lane, struct mail_content *content); /* MAIL_LOOK_ASKED */
void lane_look_serve_step(struct lane *lane);
uint64_t lane_look_deadline(const struct lane *lane); /* of the next step */
void lane_look_serve_fini(struct lane *lane);

/* ---- tasks.c ---- */
void lane_task(struct lane *lane, uint64_t actor, enum sherd_phase phase,
               struct slice name);
void lane_task_done(struct lane *lane, uint64_t actor, enum sherd_phase phase);
void lane_phase(struct lane *lane, const struct mail_phase *phase);
void lane_tasks_step(struct lane *lane); /* tasks of ended actors are done */

/* ---- remembering.c ---- */
void lane_remember_init(struct lane *lane, uint32_t type);
void lane_remember_fini(struct lane *lane, uint32_t type);
/* The shard is claimed, in the journal if needed. Calls owned_claimed when its set is read. */
void lane_remember_claimed(struct lane *lane, uint32_t type, int32_t shard,
                           struct fence fence);
/* The shard is gone. Call it before journal_release. */
void lane_remember_end(struct lane *lane, uint32_t type, int32_t shard);
void lane_remembered(struct lane *lane, const struct mail_content *content); /* MAIL_REMEMBERED */
void lane_remember_changed(struct lane *lane,
                           const struct mail_content *content); /* MAIL_REMEMBER_CHANGED */
bool lane_is_stream(uint64_t handle); /* a shard's own stream */
void lane_stream_news(struct lane *lane, const struct journal_news *news);
void lane_remember_durable(struct lane *lane, uint64_t position);
bool lane_wire_remember(struct lane *lane, uint32_t type);
void lane_remember_step(struct lane *lane, uint32_t type);
uint64_t lane_remember_deadline(const struct lane *lane, uint32_t type);
struct remember_life *lane_life(struct lane *lane, uint32_t type, int32_t shard);

/* ---- verbose.c ---- */
/* With settings->verbose_sharding. */
void lane_say_sent(const struct lane *lane, const struct message *message, enum place place,
                   struct route route);

/* ---- shard_leases.c ---- */
/* OWNED_LEASE, or OWNED_RELEASE. */
void lane_lease_ask(struct lane *lane, uint32_t type, const struct owned_news *news);
void lane_leased(struct lane *lane, const struct mail_content *content); /* MAIL_LEASED */
/* Comes first in a turn: entities of a shard whose lease is over must not run. */
void lane_leases_step(struct lane *lane);

/* ---- orphan_shards.c ---- */
void lane_orphan_shard(struct lane *lane, const struct mail_content *content); /* MAIL_ORPHAN */
void lane_orphan_shards_end(struct lane *lane, uint32_t type); /* MAIL_ORPHANS_END */
/* Takes the journal's answer to a claim; false: no orphan shard. */
bool lane_orphan_shard_claimed(struct lane *lane, uint32_t type, int32_t shard,
                        const struct journal_news *news);
/* The shard's set is read; false: no orphan shard. */
bool lane_orphan_shard_read(struct lane *lane, uint32_t type, int32_t shard);
/* Called after each read or write of any shard's set, failed ones too. An orphan shard without
 * entities ends, and others begin. */
void lane_orphan_shard_look(struct lane *lane, uint32_t type, int32_t shard);

/* ---- start_entity.c ---- */
/* Starts an entity in the shard where it belongs now; lane_moved takes the answer, given. */
void lane_move(struct lane *lane, uint32_t type, int32_t shard, struct slice id);
bool lane_is_mover(struct sherd_ref ref);
void lane_moved(struct lane *lane, struct message *ack);
/* Writes a MESSAGE_START to the peer's region, which acknowledges it to the sender, if there is
 * one. False: no room; the message stays the caller's. */
bool lane_write_start(struct lane *lane, struct peer *peer,
                      struct message *message);
/* Writes a MESSAGE_START_ACK, given. If it is lost, the sender asks again. */
void lane_write_start_ack(struct lane *lane, struct peer *peer,
                          struct message *message);
/* Turns StartEntity of any node into a message to the entity, which acknowledges it. */
void lane_start_entity(struct lane *lane, const struct envelope *envelope,
                       const struct peer *peer, uint32_t type);
void lane_start_acknowledged(struct lane *lane, const struct envelope *envelope,
                             struct sherd_ref to, uint64_t ask);

/* ---- lane_wiring.c ---- */
void lane_wire(struct lane *lane); /* until no core has events */
bool lane_wire_owned(struct lane *lane, uint32_t type); /* only events of owned shards */
void lane_drain(struct lane *lane); /* messages and events of actors */
/* Called by actors, to append an event to the journal. */
uint64_t lane_append(void *lane, uint64_t actor, struct entity_event event);
/* Called by actors, to take back the events of a call that stored a refused one. */
void lane_take_back(void *lane, uint64_t actor, uint64_t seq);
void lane_save(void *lane, uint64_t actor, const struct actors_snapshot *snapshot);

/* ---- naming.c ---- */
/* Writes the whole literal of any node's actor; empty if it is nobody or its node is unknown. */
struct slice name_literal(struct lane *lane, struct sherd_ref ref,
                          uint64_t ask, char *text);
/* Writes the literal of a message's sender; name_wants reads from it whether the sender wants
 * UNDELIVERED. */
struct slice name_sender(struct lane *lane, const struct message *message,
                         char *text);
bool name_wants(struct slice literal);
/* Writes the same for a peer: only the path for an actor of this node, if the peer reads that. */
struct slice name_for(struct lane *lane, const struct peer *peer,
                      const struct message *message, char *text);
/* Writes the sender of a message between actors. A JVM node sees the name of an actor that has one. */
struct slice name_seen_by(struct lane *lane, const struct peer *peer,
                          const struct message *message, char *text);
/* Returns the ref of a Sherd actor's literal; nobody if it is none or its node is unknown.
 * sender_node: uid of the node that sent the literal. */
struct sherd_ref name_ref(struct lane *lane, uint64_t sender_node,
                          struct slice literal, uint64_t *ask);
/* Returns also the ref of a JVM node's actor, which all lanes remember. */
struct sherd_ref name_any(struct lane *lane, uint64_t sender_node,
                          struct slice literal, uint64_t *ask);
/* Writes the path of any actor elsewhere; empty: a forgotten JVM actor. text has NAME_MAX bytes.
 * Lent from it, or until the next name is read. */
struct slice name_recipient(const struct lane *lane, struct sherd_ref ref,
                            uint64_t ask, char *text);

#endif
