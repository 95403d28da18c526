/* A lane machine: its actors and entities, its part of the journal, and for each entity type the routes and the shards that
 * it owns. Private to node/.
 *
 * lane.c takes in letters and runs the turn; lane_wiring.c is the edges between its cores; sending.c brings a message to
 * where it belongs; receiving.c reads frames; naming.c is the text form of refs. */
#ifndef SHERD_NODE_LANE_H
#define SHERD_NODE_LANE_H

#include "actor/actors.h"
#include "journal/journal.h"
#include "node/machine.h"
#include "node/names.h"
#include "node/watchers.h"
#include "shard/place.h"
#include "shard/remember.h"

#define BATCH_MAX 128 /* messages given to entities at once */
#define LANE_MOVER 0x40u /* in a lane's number: what moves entities there, and no actor of it */

/* What a lane does of a shard that the type has not any more: its number is above the others. */
enum stray {
    STRAY_NOT,
    STRAY_WAITS,  /* for its turn */
    STRAY_READS,  /* is claimed, and its set read */
    STRAY_MOVES   /* its entities start in their shards, and are forgotten here; or that goes on after a failure */
};

/* A message that waits in routes or hosted. */
struct waiting {
    struct held held; /* first */
    struct message *message;
};

/* What control was told last. */
enum told_waiting { TOLD_NOTHING, TOLD_NONE, TOLD_SOME };

/* What was read of a shard's remembered entities, as far as it is not in their set yet. */
struct remember_reading {
    int32_t shard;
    uint64_t ticket;
    struct buf record;
    size_t at;     /* of the next id */
    uint64_t left; /* ids */
};

/* A shard on its lane, of a type that remembers. */
struct remember_life {
    struct fence fence;  /* under which its set is read; of a stray: claimed */
    uint64_t ticket;     /* where sets are in distributed data: of what was asked for last; 0: it is answered */
    enum stray stray;
};

/* One entity type on a lane. */
struct lane_type {
    struct routes routes;
    struct hosted hosted;
    struct pending_budget budget;
    struct remember remember; /* empty for a type that does not */
    VEC(struct remember_life) lives; /* by shard_place, as far as they were needed */
    VEC(int32_t) strays;      /* that wait for their turn, in order, behind stray_head */
    uint32_t stray_head;
    uint32_t strays_reading;
    struct buf parts;         /* of a write that is not whole yet */
    VEC(uint64_t) restarts;   /* entities of the last batch of paced restarts that may still recover */
    VEC(struct remember_reading) readings; /* the first one is gone on with, a part in each turn */
    bool reporting;       /* control wants to know whether messages wait */
    enum told_waiting told;
    bool coordinator_known;
    uint64_t stored_term; /* the highest of a fence by which the store refused one here */
};

/* A chain of messages for another lane, not yet posted. */
struct chain {
    struct message *first;
    struct message *last;
};

/* An event's position as actors count it and as the journal does. */
struct position {
    uint64_t actors;
    uint64_t journal;
};

/* A write of remembered entities is stored when the journal is durable up to here. */
struct remember_write {
    uint64_t position;
    uint16_t type;
    int32_t shard;
};

/* A message of an ask from elsewhere that an entity here was given. */
struct asked {
    uint64_t at;
    uint64_t hash; /* of the entity's id */
    struct sherd_ref sender;
    uint64_t ask;
    uint16_t type;
};

#define NAME_MAX (ADDRESS_TEXT_MAX + 160 + NAMES_PATH_MAX) /* bytes of a ref's literal */

/* A literal and the ref it stands for, remembered since messages come in runs from one sender. */
struct known_name {
    struct sherd_ref ref;
    uint64_t origin; /* who said it */
    uint32_t size;   /* 0 = none yet */
    char text[NAME_MAX];
};

/* Frames of sharded messages, one behind the other on a connection, with the same bytes before the payload: what they say. */
struct frame_run {
    struct slice head; /* lent from the frame that began it; empty = no run */
    struct sherd_ref sender;
    uint64_t ask;
    uint32_t body_max; /* of their stream */
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
    uint16_t own; /* this lane, from 0 */
    struct chain chains[LANES_MAX];
    struct message *batch[BATCH_MAX];
    uint32_t batch_count;
    VEC(struct position) positions;
    uint32_t position_head;
    VEC(struct remember_write) remember_writes; /* by position */
    uint64_t remember_ticket; /* the last one */
    bool remembers; /* one of the types does */
    VEC(struct routes_news) flushing; /* ROUTES_FLUSH that stopped at a full link; type in `kind` */
    VEC(struct letter) markers;       /* holds whose marker found a full link */
    VEC(struct asked) asked; /* to be looked after; those before asked_head were */
    uint32_t asked_head;
    uint64_t asked_refused; /* at STAGES_MAX */
    VEC(struct task) tasks; /* that run */
    bool ending;
    bool ends_at_once;     /* when actors have heard what they were told of the cluster */
    uint64_t ending_until; /* what waits on links then is given up, or what actors have not heard */
    bool ended;
    bool is_downed; /* the node is: it hosts nothing any more */
    uint64_t held_total;
    uint64_t held_max;
    uint64_t held_ns_max;
    struct watchers watchers; /* JVM nodes' watches of actors here */
    struct names names;       /* of JVM actors */
    uint64_t unknown; /* frames and payloads that nobody knows */
    struct known_name own_address; /* of this node, without a path; ref not used */
    struct known_name read;        /* the last sender without an ask that arrived */
    struct frame_run run; /* ends with the batch of frames */
};

/* By which messages to entities of a type go to regions elsewhere: all on one, so that they stay in order. */
static inline enum stream lane_stream(const struct lane *lane, uint32_t type)
{
    return lane->machine->node->names[type].is_large ? STREAM_LARGE
                                                     : STREAM_ORDINARY;
}

bool lane_is_large(void *lane, const struct destination *destination); /* of actors, and of what foreign threads tell */

/* ---- sending.c: a message, given, to where it belongs ---- */
void lane_send(struct lane *lane, struct message *message); /* from an actor here */
void lane_arrived(struct lane *lane, struct message *message); /* from a link, a ring, or given back */
void lane_batch_end(struct lane *lane); /* hands the collected batch to entities */
void lane_chains_end(struct lane *lane); /* posts the collected chains */
void lane_flush(struct lane *lane, uint32_t type, int32_t shard); /* ROUTES_FLUSH; remembers to go on when a link is full */
void lane_hold(struct lane *lane, const struct letter *letter); /* LETTER_HOLD: hold, marker, LETTER_HELD */
void lane_sending_step(struct lane *lane); /* goes on with what a full link stopped */
bool lane_sending_waits(const struct lane *lane);
/* Another incarnation is at a contact's address: homes there were the former one's. */
void lane_contact_renewed(struct lane *lane, uint32_t contact);
/* Lets a message wait in a type's routes; undelivered when there is no room. */
void lane_wait(struct lane *lane, struct message *message);
struct message *lane_unwrap(struct lane *lane, struct held *held); /* the message that waited; null for null */
struct held *lane_wrap(struct message *message);
/* A shard whose messages may go straight from actor to entity, or no longer. After every change of its route or state. */
void lane_open(struct lane *lane, uint32_t type, int32_t shard);

/* ---- stages.c: where asked messages wait, told to who asked ---- */
void lane_ask_stage(struct lane *lane, struct message *message,
                enum sherd_stage stage); /* it waits at this stage from here on */
void lane_ask_stage_homeless(struct lane *lane, const struct lane_type *type); /* the type's coordinator is known, or no longer */
void lane_ask_stage_watch(struct lane *lane, const struct message *message); /* asked: an entity here has it in its mailbox */
void lane_ask_stages_step(struct lane *lane); /* tells those that wait for long */
uint64_t lane_ask_stages_deadline(const struct lane *lane);
void lane_ask_stage_told(struct lane *lane, const struct letter *letter); /* LETTER_STAGE */
/* A report from another node for an ask of this node; false: malformed. */
bool lane_ask_stage_frame(struct lane *lane, uint64_t actor, uint64_t ask,
                      const struct envelope *envelope);
uint16_t lane_peer_name(struct lane *lane, struct contact *contact); /* its number in actors */

/* ---- tasks.c: of actors, in the node's end ---- */
void lane_task(struct lane *lane, uint64_t actor, uint32_t phase,
               struct slice name);
void lane_task_done(struct lane *lane, uint64_t actor, uint32_t phase);
void lane_phase(struct lane *lane, const struct letter *letter);
void lane_tasks_step(struct lane *lane); /* who ended is done */

/* ---- remembering.c ---- */
void lane_remember_init(struct lane *lane, uint32_t type);
void lane_remember_fini(struct lane *lane, uint32_t type);
/* A shard of a type that remembers is claimed, in the journal if that is needed: owned_claimed follows when its set is read. */
void lane_remember_claimed(struct lane *lane, uint32_t type, int32_t shard,
                           struct fence fence);
void lane_remember_end(struct lane *lane, uint32_t type, int32_t shard); /* the shard is gone; before journal_release */
void lane_remembered(struct lane *lane, const struct letter *letter); /* LETTER_REMEMBERED */
bool lane_is_stream(uint64_t handle); /* of the journal: a shard's own stream */
void lane_stream_news(struct lane *lane, const struct journal_news *news);
void lane_remember_durable(struct lane *lane, uint64_t position);
bool lane_wire_remember(struct lane *lane, uint32_t type);
void lane_remember_step(struct lane *lane, uint32_t type);
uint64_t lane_remember_deadline(const struct lane *lane, uint32_t type);
struct remember_life *lane_life(struct lane *lane, uint32_t type, int32_t shard);

/* ---- strays.c: shards above a smaller number of shards; whose entities belong elsewhere ---- */
void lane_orphan_shard(struct lane *lane, const struct letter *letter); /* LETTER_STRAY */
void lane_orphan_shards_end(struct lane *lane, uint32_t type); /* LETTER_STRAYS_END */
/* The journal's answer to a claim; false: it is no stray's. */
bool lane_orphan_shard_claimed(struct lane *lane, uint32_t type, int32_t shard,
                        const struct journal_news *news);
bool lane_orphan_shard_read(struct lane *lane, uint32_t type, int32_t shard); /* its set is; false: it is no stray */
/* For any shard: its set was read or written, or that failed and is tried again. A stray of which nothing is left ends; others get their turn. */
void lane_orphan_shard_look(struct lane *lane, uint32_t type, int32_t shard);

/* ---- starting.c: StartEntity and its acknowledgement ---- */
/* Asks for the start of an entity in the shard to which it belongs, and takes the answer, given. */
void lane_move(struct lane *lane, uint32_t type, int32_t shard, struct slice id);
bool lane_is_mover(struct sherd_ref ref);
void lane_moved(struct lane *lane, struct message *ack);
/* A MESSAGE_START to the region at the contact: its sender, if it has one, is told when it is done. False: no room; the message stays the
 * caller's. */
bool lane_write_start(struct lane *lane, struct contact *contact,
                      struct message *message);
/* A MESSAGE_START_ACK, given, to an actor elsewhere. What does not leave is asked for again. */
void lane_write_start_ack(struct lane *lane, struct contact *contact,
                          struct message *message);
/* StartEntity, of any node: as a message to the entity, which acknowledges it to the sender. */
void lane_start_entity(struct lane *lane, const struct envelope *envelope,
                       const struct origin *origin, uint32_t type);
void lane_start_acknowledged(struct lane *lane, const struct envelope *envelope,
                             struct sherd_ref to);

/* ---- lane_wiring.c ---- */
void lane_wire(struct lane *lane); /* carries news between the cores until none is left */
void lane_drain(struct lane *lane); /* what actors left: messages, events */

/* ---- naming.c ---- */
/* "/user/a<16 hex>", or "/temp/a<16 hex>.<hex>" with an ask. Returns its size; text has NAME_MAX bytes. */
size_t name_path(char *text, uint64_t actor, uint64_t ask);
bool name_parse(struct slice path, uint64_t *actor, uint64_t *ask); /* false: not of that form */
/* The whole literal of an actor of any node; empty when nobody or the node is unknown. */
struct slice name_literal(struct lane *lane, struct sherd_ref ref,
                          uint64_t ask, char *text);
/* The literal of a message's sender; it says whether the sender wants UNDELIVERED, which name_wants reads. */
struct slice name_sender(struct lane *lane, const struct message *message,
                         char *text);
bool name_wants(struct slice literal);
/* The same for a contact: the path alone when the actor is of this node and the contact understands that. */
struct slice name_for(struct lane *lane, const struct contact *contact,
                      const struct message *message, char *text);
/* The ref behind a literal of an actor of this library; nobody when it is not one or its node is unknown. */
struct sherd_ref name_ref(struct lane *lane, uint64_t origin,
                          struct slice literal, uint64_t *ask);
/* The same for an actor of a JVM node too, which is remembered, on all lanes. */
struct sherd_ref name_any(struct lane *lane, uint64_t origin,
                          struct slice literal, uint64_t *ask);
/* The path of an actor elsewhere, of any kind; empty: a JVM's that is forgotten. text has NAME_MAX bytes; lent from it, or until the
 * next name is read. */
struct slice name_recipient(const struct lane *lane, struct sherd_ref ref,
                            uint64_t ask, char *text);

#endif
