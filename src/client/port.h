/* Passes requests of a program's threads to one lane of a node, and collects how they end. A client
 * (sherd/client.h) has a port for each lane.
 *
 * A port has two sides. The outside are the functions below, for any thread. The inside is an actor
 * of the lane, which sends the messages and gets the answers. Each accepted ask ends with exactly
 * one completion: by the actor, by port_cancel, or by the end of the client, the system or the actor.
 * The hooks lock the port; without them (in a simulation) all calls come from one thread.
 *
 * An ask has a slot from its call to its end. It waits in a list until the actor sends its message.
 * Its id names the slot and the use of the slot, and the lower half of the id is the tag of the
 * actor's ask, so a late answer never ends a later request. */
#ifndef SHERD_CLIENT_PORT_H
#define SHERD_CLIENT_PORT_H

#include "base/timers.h"
#include "base/vec.h"
#include "client/request.h"

struct port;

/* Called with the port locked, except lock and gone. Null members are skipped. */
struct port_hooks {
    void (*lock)(struct port *port);
    void (*unlock)(struct port *port);
    /* Sends the actor a wake (actors_wake). At most one is on its way. */
    void (*wake)(struct port *port, struct sherd_ref actor);
    void (*signal)(struct port *port); /* the first completion waits in the port */
    void (*gone)(struct port *port); /* the actor has ended, and uses the port no more */
};

enum port_state {
    PORT_FREE,
    PORT_WAITING, /* in the list */
    PORT_ASKED,
    PORT_LOST /* the request has ended; the actor has to drop its ask */
};

struct port_slot {
    struct client_request *request; /* null: free or lost */
    uint64_t id;  /* of its last use */
    uint64_t ask; /* ASKED, LOST: the actor's number */
    uint32_t next_free;
    uint8_t state; /* enum port_state */
};

struct client_list {
    struct client_request *first, *last;
    uint32_t count;
};

struct port_counts {
    uint64_t asked, told, refused, tells_dropped;
    uint64_t ended[SHERD_CLIENT_STATUS_COUNT];
};

struct port {
    const struct port_hooks *hooks;
    uint8_t number;     /* within its client */
    bool waits_until_up;
    bool is_up;         /* the node is */
    bool is_running;    /* the actor has started and not ended */
    bool is_rung;       /* a wake is on its way */
    bool is_closing;    /* the actor is to end */
    int error;          /* for new requests; 0: they are accepted */
    struct sherd_ref actor;
    VEC(struct port_slot) slots;
    uint32_t free_slot; /* index + 1; 0: none */
    uint64_t uses;
    struct client_list waiting; /* asks and tells, in the order of their calls */
    uint32_t tells;             /* of these */
    size_t bytes;               /* their bodies */
    struct client_list done;
    VEC(uint32_t) lost;
    struct timers timers; /* deadlines of asks that wait for the node */
    struct port_counts counts;
};

/* The behavior of the actor. Its init is the address of the port. */
extern const struct sherd_behavior port_behavior;

/* hooks: lent. */
void port_init(struct port *port, const struct port_hooks *hooks,
               uint32_t number, bool waits_until_up, bool is_up);
/* Frees what it has, completions too. The actor has ended or never starts. */
void port_fini(struct port *port);

/* Take a request, given if the result is 0. now: ms by the node's monotonic clock; timeout: as in
 * sherd_request. */
int port_ask(struct port *port, struct client_request *request, uint64_t now,
             uint64_t timeout, uint64_t *id);
int port_tell(struct port *port, struct client_request *request);
/* False: there is no open ask with this id. */
bool port_cancel(struct port *port, uint64_t id);
/* Takes up to max completions, in a list by `next`; *count gets their number. */
struct client_request *port_take(struct port *port, uint32_t max, uint32_t *count);
bool port_has_done(struct port *port);
struct port_counts port_counts(struct port *port);

/* The node is up, or is not any more. */
void port_up(struct port *port, bool is_up);
/* Refuses requests with this error from now on, and ends open asks with the status. Tells that wait
 * are still sent if the node is up. */
void port_stop(struct port *port, int error, enum sherd_client_status status);
/* Stops, and lets the actor end. */
void port_close(struct port *port);
/* The node has ended, or the actor could not be spawned: nothing is sent any more. */
void port_end(struct port *port, int error, enum sherd_client_status status);

#endif
