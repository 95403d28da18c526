/* Stores durable keys of distributed data, on control, for the users' replicator and those of
 * sharding (shard_data.h).
 *
 * A key of sharding is stored as byte ff, the role, byte ff, the key. A user's key is text, so it
 * has no byte ff.
 *
 * The driver has one request at a time. Meanwhile the last change of each key waits, and all of
 * them become one transaction. A refused change is tried again, until the disk takes it or a later
 * one. */
#ifndef SHERD_NODE_DATA_DURABLE_H
#define SHERD_NODE_DATA_DURABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"

struct control;
struct durable_request;
struct replicator_news;
struct sherd_status;
struct store_change;

/* A replicator that waits, and its ticket. Replicator 0 is the users', from 1 on sharding's. */
struct store_ticket {
    uint32_t replicator;
    uint64_t ticket;
};

struct data_durable_store {
    /* key, as in the durable file -> struct store_change; the driver does not have it yet */
    struct map changes;
    VEC(struct store_change *) order; /* the same, in order of arrival */
    VEC(struct store_ticket) tickets; /* of the driver's request */
    struct durable_request *loading; /* its entries go to the replicators in steps; or null */
    uint32_t loaded;
    bool is_away;    /* the driver has a request */
    bool is_loaded;
    bool is_failing; /* the log says that the last request was refused */
    uint64_t again_at; /* time to try refused changes again; 0: at once */
    VEC(char *) damaged; /* the first damaged keys: 'L' or 'S' (lost, stale) and the key */
    uint64_t lost, stale;
    uint64_t left;        /* no longer durable; they stay on the disk */
    uint64_t failures;
};

/* Erases a key, after its pending changes. */
void data_durable_erase(struct control *control, uint32_t replicator,
                      struct slice name);
/* Requests the stored keys, on a node with durable keys and replicas. */
void data_durable_start(struct control *control);
void data_durable_fini(struct control *control);
/* Takes REPLICATOR_NEWS_STORE. replicator: as in struct store_ticket. */
void data_durable_put(struct control *control, uint32_t replicator,
                    const struct replicator_news *news);
void data_durable_step(struct control *control);
void data_durable_wire(struct control *control); /* requests a write */
uint64_t data_durable_deadline(const struct control *control);
void data_durable_status(const struct control *control,
                       struct sherd_status *status);

#endif
