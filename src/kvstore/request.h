/* Messages to brokers and between them, as bytes: docs/protocol/store.md. */
#ifndef SHERD_KVSTORE_REQUEST_H
#define SHERD_KVSTORE_REQUEST_H

#include <stdbool.h>

#include <sherd/store.h>

#include "kvstore/siblings.h"

/* As `msg`. Answers to callers: enum sherd_store_message. */
enum kvstore_request {
    KVSTORE_GET = 1,
    KVSTORE_PUT,        /* also to delete */
    KVSTORE_STATUS,
    KVSTORE_COORDINATE, /* a PUT for a replica of the key */
    KVSTORE_READ,       /* to a replica: answered KVSTORE_STATE */
    KVSTORE_WRITE,      /* to a replica: its versions are to be merged; answered KVSTORE_TAKEN, KVSTORE_ASTRAY or KVSTORE_NOT_TAKEN */
    KVSTORE_CONFIRM,    /* to a replica: a deletion that is to be forgotten. As WRITE, but nothing is made where there is nothing of the key */
    KVSTORE_STATE,
    KVSTORE_TAKEN,
    KVSTORE_NOT_TAKEN,
    KVSTORE_ASTRAY, /* taken, by one that is no replica of the key as it sees the ring */
    KVSTORE_ELSEWHERE /* to a COORDINATE: nothing was done, by one that is no replica of the key as it sees the ring, or leaves */
};

/* Of all but STATUS; what a kind does not have is zero. Lent from the bytes. */
struct request {
    uint32_t level;      /* of GET, PUT, COORDINATE; 0: the store's */
    uint32_t timeout_ms; /* the same */
    bool is_deletion;
    struct slice key;
    struct slice context; /* of PUT, COORDINATE: a history */
    struct slice rest;    /* the value; of WRITE and CONFIRM the versions */
};

void request_put(enum kvstore_request kind, const struct request *request,
                 struct buf *buf);
bool request_get(enum kvstore_request kind, struct slice bytes,
                 struct request *request); /* false: malformed, or beyond a limit */

/* A clock as callers keep it: behind a hash of the key and itself, so that one of another key, or altered, is known. It keeps from
 * mistakes, not from who means harm. An empty one is no bytes; other bytes that say the same as what is written are none. */
void context_put(struct slice key, const struct history *history,
                 struct buf *buf);
bool context_get(struct slice key, struct slice bytes,
                 struct history *history); /* false: none of this key; history: initialised, replaced */

#endif
