/* Declares the bytes of delivery: the library's own events in an entity's stream, and its messages
 * between entities. docs/protocol/journal.md and docs/protocol/extensions.md specify them.
 *
 * The library's events have types, and its messages numbers, from LIBRARY_NUMBERS on. */
#ifndef SHERD_ACTOR_DELIVERY_FORMAT_H
#define SHERD_ACTOR_DELIVERY_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/delivery.h>

#include "base/bytes.h"

#define LIBRARY_NUMBERS SHERD_NUMBERS_END

#define EVENT_PARCEL (LIBRARY_NUMBERS + 0)  /* of the sender: struct parcel */
#define EVENT_OUTCOME (LIBRARY_NUMBERS + 1) /* of the sender: struct outcome */
#define EVENT_RECEIPT (LIBRARY_NUMBERS + 2)    /* of the receiver: struct receipt */
#define EVENT_COMMAND (LIBRARY_NUMBERS + 3) /* struct command */

#define MSG_PARCEL (LIBRARY_NUMBERS + 0)  /* to the receiver */
#define MSG_OUTCOME (LIBRARY_NUMBERS + 1) /* to the sender */

/* A delivery. In the sender's stream it names the receiver, in a message the sender. Times are
 * milliseconds since 1970 by the wall clock. */
struct parcel {
    uint64_t number; /* of the sender's deliveries, from 1 without gaps */
    uint64_t floor;  /* a message: the sender's lowest open number to this receiver; else 0 */
    uint64_t made;   /* time of sherd_deliver */
    uint64_t expires; /* time from which it is not handled any more */
    struct slice type, id;
    uint32_t msg;
    struct slice body;
};

/* The end of a delivery, as its sender learns it. */
struct outcome {
    uint64_t number;
    enum sherd_delivery_end end;
};

/* The receiver has handled a delivery, or has let it expire. */
struct receipt {
    uint64_t number;
    uint64_t floor; /* as in the message */
    uint64_t at;    /* time */
    enum sherd_delivery_end end; /* HANDLED or EXPIRED */
    struct slice type, id;       /* of the sender */
};

/* A command from outside was handled. */
struct command {
    uint64_t at; /* time */
    struct slice id;
    bool has_reply;
    uint32_t msg; /* of the reply, as the next one */
    struct slice body;
};

/* Encode. Readers lend from the bytes and are false for bytes that no writer of this version makes. */
void parcel_write(struct buf *buf, const struct parcel *parcel);
bool parcel_read(struct slice bytes, struct parcel *parcel);
void outcome_write(struct buf *buf, const struct outcome *outcome);
bool outcome_read(struct slice bytes, struct outcome *outcome);
void receipt_write(struct buf *buf, const struct receipt *receipt);
bool receipt_read(struct slice bytes, struct receipt *receipt);
void command_write(struct buf *buf, const struct command *command);
bool command_read(struct slice bytes, struct command *command);

#endif
