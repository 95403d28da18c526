/* Defines the messages to and between brokers, and their encoding: docs/protocol/store.md. */
#ifndef SHERD_KVSTORE_REQUEST_H
#define SHERD_KVSTORE_REQUEST_H

#include <stdbool.h>

#include <sherd/store.h>

#include "kvstore/siblings.h"

/* The `msg` of a request. */
enum kvstore_request {
    KVSTORE_GET = 1,
    KVSTORE_PUT,        /* also to delete */
    KVSTORE_STATUS,
    KVSTORE_COORDINATE, /* a PUT for a replica of the key */
    KVSTORE_READ,       /* to a replica: answered KVSTORE_STATE */
    /* to a replica: merges versions; answered KVSTORE_TAKEN, KVSTORE_ASTRAY or KVSTORE_NOT_TAKEN */
    KVSTORE_WRITE,
    KVSTORE_CONFIRM,    /* a WRITE of a deletion to be forgotten, which creates no key */
    KVSTORE_STATE,
    KVSTORE_TAKEN,
    KVSTORE_NOT_TAKEN,
    KVSTORE_ASTRAY, /* taken by a node that is no replica on its own ring */
    KVSTORE_ELSEWHERE /* not coordinated: the node is no replica on its own ring, or leaves */
};

/* Fields that a kind lacks are zero. Lent from the bytes; not for STATUS. */
struct request {
    uint32_t level;      /* of GET, PUT, COORDINATE; 0: the store's */
    uint32_t timeout_ms;
    bool is_deletion;
    struct slice key;
    struct slice context; /* of PUT, COORDINATE: a history */
    struct slice rest;    /* the value; of WRITE and CONFIRM the versions */
};

void request_put(enum kvstore_request kind, const struct request *request,
                 struct buf *buf);
bool request_get(enum kvstore_request kind, struct slice bytes,
                 struct request *request); /* false: malformed, or beyond a limit */

/* Encodes a clock for callers after a hash of key and clock: a context of another key or an altered
 * one is refused. It detects mistakes, not attacks. An empty clock is no bytes. Only the exact
 * encoding is accepted. */
void context_put(struct slice key, const struct history *history,
                 struct buf *buf);
/* False: not a context of this key; history: initialised, replaced. */
bool context_get(struct slice key, struct slice bytes,
                 struct history *history);

#endif
