/* Defines what a singleton's keeper (services/keeper.h) and control tell each other, and writes and
 * reads it as bytes. The bytes never leave the process.
 *
 * The keeper calls control by actors_call with DATA_SINGLETON. Control answers by actors_data with an
 * enum singleton_answer. */
#ifndef SHERD_ACTOR_SINGLETON_CALL_H
#define SHERD_ACTOR_SINGLETON_CALL_H

#include <sherd/actor.h>

#include "base/bytes.h"

struct service_defaults;

enum singleton_verb {
    KEEPER_OPEN,    /* the first call: names and times */
    KEEPER_RUNS,    /* instance: it runs here; also a later incarnation */
    KEEPER_ENDED,   /* after KEEPER_STOP: no instance runs here any more */
    KEEPER_NOT_THERE /* the instance of the last KEEPER_FOUND has ended */
};

struct singleton_call {
    enum singleton_verb verb;
    uint64_t instance; /* RUNS: the actor */
    /* OPEN; texts are lent */
    struct slice name, role, center; /* center empty: this node's */
    bool is_host;      /* this node may run it, if it has the role */
    uint64_t retry_ms, interval_ms;
    uint32_t retries;
    uint32_t lease; /* provider of the lease that an instance needs: enum lease_provider_kind; 0: none */
    uint64_t lease_retry_ms;
};

enum singleton_answer {
    KEEPER_START = 1, /* run an instance */
    KEEPER_STOP,      /* end it, then call KEEPER_ENDED */
    KEEPER_STOP_NOW,  /* likewise, without waiting for the program; none starts any more */
    KEEPER_UNLEASED,  /* its lease is lost, and it has ended: call KEEPER_ENDED */
    KEEPER_FOUND,     /* body: a sherd_ref, where messages go from now on */
    KEEPER_LOST,      /* nowhere, until FOUND comes */
    KEEPER_REFUSED    /* the OPEN: the name is in use, or there are too many */
};

void singleton_call_put(struct buf *bytes, const struct singleton_call *call);
void singleton_call_read(struct singleton_call *call, struct slice bytes);

#endif
