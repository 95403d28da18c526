/* Durable keys of distributed data on control: what waits for the store, and what is back from it. The users' replicator and sharding's
 * own (shard_data.h) share one store. There a key of sharding's is byte ff, the replicator's role, byte ff, the key; a user's is itself:
 * a text, in which that byte cannot be.
 *
 * One request is with the driver at a time. Meanwhile changes wait, of each key the last one: so what waits is bounded by the
 * entries themselves, however slow the disk is, and all of it becomes one transaction. Nothing that was refused is forgotten: it is
 * tried again, for nobody, until the disk takes it or a later change does. */
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

/* Which replicator waits for what: 0 the users', from 1 on sharding's. */
struct store_ticket {
    uint32_t replicator;
    uint64_t ticket;
};

struct data_durable_store {
    struct map changes; /* key, as in the store -> struct store_change: not with the driver yet */
    VEC(struct store_change *) order; /* the same, as they came */
    VEC(struct store_ticket) tickets; /* of the request that is with the driver */
    struct durable_request *loading; /* its entries are given to the replicators, a few in a step; null: none */
    uint32_t loaded; /* of them */
    bool is_away;    /* a request is with the driver */
    bool is_loaded;
    bool is_failing; /* the last request was refused, which was said */
    uint64_t again_at; /* when what was refused is tried again; 0: at once */
    VEC(char *) damaged; /* keys that the store had not whole: 'L' or 'S' (lost, stale) and the key; the first of them */
    uint64_t lost, stale; /* all of them */
    uint64_t left;        /* that are durable no more; they stay on the disk */
    uint64_t failures;    /* requests that were refused */
};

/* Forgets a key, after what was to be stored of it. */
void data_durable_erase(struct control *control, uint32_t replicator,
                      struct slice name);
/* With durable keys, and on a node that has replicas: asks for what is stored. */
void data_durable_start(struct control *control);
void data_durable_fini(struct control *control);
/* REPLICATOR_NEWS_STORE. replicator: as in struct store_ticket. */
void data_durable_put(struct control *control, uint32_t replicator,
                    const struct replicator_news *news);
void data_durable_step(struct control *control); /* what is due */
void data_durable_wire(struct control *control); /* wants that what waits is stored */
uint64_t data_durable_deadline(const struct control *control);
void data_durable_status(const struct control *control,
                       struct sherd_status *status);

#endif
