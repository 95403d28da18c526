/* Defines the delivery or command that a lane's actor is handling. */
#ifndef SHERD_ACTOR_DELIVERY_HANDLING_H
#define SHERD_ACTOR_DELIVERY_HANDLING_H

#include "actor/delivery/book.h"

/* Says which end the library stores when receive has returned. */
enum after { AFTER_NOTHING, AFTER_PARCEL, AFTER_OUTCOME };

struct handling {
    enum after after;
    bool is_command; /* sherd_once was called, and the command is new */
    bool has_reply;
    uint32_t reply_msg;
    uint64_t seq; /* of the entity before */
    struct parcel parcel; /* AFTER_PARCEL; lent from the message */
    struct outcome outcome; /* AFTER_OUTCOME */
    struct buf body;          /* aligned */
    struct buf command, reply; /* is_command */
    struct buf scratch, name;
};

#endif
