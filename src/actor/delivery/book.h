/* Keeps an entity's open deliveries, the deliveries that it has handled, and the commands that it has
 * carried out. Pure state: it changes by the library's events only, live and in a replay. */
#ifndef SHERD_ACTOR_DELIVERY_BOOK_H
#define SHERD_ACTOR_DELIVERY_BOOK_H

#include "actor/delivery/format.h"
#include "base/map.h"
#include "base/vec.h"

/* ---- the sender ---- */

struct open_delivery {
    struct parcel parcel;  /* its texts and body lie behind the struct */
    uint64_t receiver;     /* hash of its type and id */
    uint64_t due;          /* ns: of the next transmission; NEVER: its end is on its way */
    uint32_t transmissions;
    uint8_t data[];
};

struct outgoing {
    uint64_t last; /* number */
    size_t bytes;  /* of bodies */
    VEC(struct open_delivery *) list; /* by number */
};

/* Whether a limit lets one more begin. */
bool outgoing_has_room(const struct outgoing *outgoing, size_t body_size);
/* Adds the delivery; a number that is not above the last one is ignored. Copies. */
void outgoing_add(struct outgoing *outgoing, const struct parcel *parcel);
struct open_delivery *outgoing_find(const struct outgoing *outgoing, uint64_t number);
void outgoing_end(struct outgoing *outgoing, uint64_t number);
/* The lowest open number to the receiver of an open delivery. */
uint64_t outgoing_floor(const struct outgoing *outgoing, const struct open_delivery *open);

/* ---- the receiver ---- */

/* A sender. Numbers below `floor` have ended there. */
struct sender {
    uint64_t floor;
    uint64_t at; /* time of its last mark; ms since 1970 */
    VEC(uint64_t) seen; /* ascending: number << 1 | expired */
    VEC(uint64_t) taken; /* by sherd_confirm_later, not in the journal */
};

struct incoming {
    struct map senders; /* "TYPE|ID" -> struct sender */
    uint32_t taken;     /* of all senders */
};

enum incoming_answer {
    INCOMING_NEW,
    INCOMING_HANDLED,
    INCOMING_EXPIRED, /* earlier */
    INCOMING_TAKEN,   /* sherd_confirm follows */
    INCOMING_ENDED,   /* its sender knows its end: a late repetition */
    INCOMING_FULL     /* too many senders, or too many seen numbers of this one */
};

/* Looks up what is known of a delivery. Raises the sender's floor. Senders that were last heard before
 * `forget` make room for a new one. */
enum incoming_answer incoming_look(struct incoming *incoming, const struct parcel *parcel,
                                   uint64_t forget);
void incoming_mark(struct incoming *incoming, const struct receipt *receipt);
/* Takes a delivery over until its mark, or gives it back. */
void incoming_take(struct incoming *incoming, struct slice type, struct slice id, uint64_t number);
bool incoming_is_taken(const struct incoming *incoming, struct slice type, struct slice id,
                       uint64_t number);
uint64_t incoming_floor(const struct incoming *incoming, struct slice type, struct slice id);

/* ---- commands ---- */

struct known_command {
    struct command command; /* its bytes lie behind the struct */
    uint64_t hash;
    uint8_t data[];
};

struct commands {
    VEC(struct known_command *) list; /* oldest first */
};

/* The newest one of that id which was not carried out before `oldest`; null: none. */
const struct known_command *commands_find(const struct commands *commands, struct slice id,
                                          uint64_t oldest);
/* Keeps at most `max`, the newest ones. Copies. */
void commands_add(struct commands *commands, const struct command *command, uint32_t max);

/* ---- all of it ---- */

struct delivery {
    struct outgoing outgoing;
    struct incoming incoming;
    struct commands commands;
    uint32_t timer;     /* entry of the wheel; 0: none */
    uint64_t timer_due; /* ns */
    uint32_t counted;   /* of the open ones in the lane's count */
    bool passivates;    /* sherd_passivate waits for the open deliveries */
};

void delivery_free(struct delivery *delivery);
/* Applies a library event. Null, or why it cannot be applied. */
const char *delivery_apply(struct delivery *delivery, uint32_t type, struct slice event,
                           uint32_t commands_max);
/* The part of a snapshot. Senders last heard before `forget` are left out. */
void delivery_image_write(const struct delivery *delivery, struct buf *buf, uint64_t forget);
/* False: no writer of this version made it; `delivery` may be half filled. */
bool delivery_image_read(struct delivery *delivery, struct slice image, uint32_t commands_max);

#endif
