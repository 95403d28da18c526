/* Declares a request of a program's thread: one block of memory from the call to the completion. */
#ifndef SHERD_CLIENT_REQUEST_H
#define SHERD_CLIENT_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/client.h>

#include "base/bytes.h"

/* The purposes of requests. */
enum client_way {
    CLIENT_ENTITY, /* a message to the entity, or to an actor */
    CLIENT_REGION, /* a message to the region, for which the extractor found no entity */
    CLIENT_START   /* a start of the entity */
};

/* It carries the message first, then the completion. */
struct client_request {
    struct client_request *next; /* in a list of its port */
    struct client_request *prev; /* in the list of waiting ones */
    uint64_t id;       /* 0: a tell */
    void *user;
    uint64_t deadline; /* ms by the node's monotonic clock; of an ask */
    const char *type;  /* name of an entity's type for sends, lent; null: `to` is an actor */
    struct sherd_ref to;
    uint32_t msg;
    uint32_t body_size;
    uint32_t room; /* bytes of data */
    uint8_t status; /* enum sherd_client_status */
    uint8_t reason;
    uint8_t stage;
    uint8_t way; /* enum client_way */
    bool may_fail;
    _Alignas(8) uint8_t data[]; /* body and id, then body and `where`, with a zero byte */
};

/* The message of a request. All of it is lent, `type` for the life of the node. */
struct client_message {
    const char *type; /* null: to is an actor */
    const char *id;   /* of an entity */
    struct sherd_ref to;
    uint32_t msg;
    struct sherd_bytes body;
    enum client_way way;
    bool may_fail;
    void *user;
};

/* Freed with mem_free. */
struct client_request *client_request_new(const struct client_message *message);
struct sherd_bytes client_request_body(const struct client_request *request);
const char *client_request_entity(const struct client_request *request); /* the id */
/* Writes the end into the request; copies body and where. It may move: returns it. */
struct client_request *client_request_end(struct client_request *request,
                                          enum sherd_client_status status,
                                          const struct sherd_msg *msg);
/* Whether a request that got this NO_ANSWER timed out, was refused here, or was undelivered. */
enum sherd_client_status client_status_of(const struct sherd_msg *msg);
/* The completion of a request that has ended; its memory is the request, given. */
struct sherd_completion client_completion(struct client_request *request);

#endif
