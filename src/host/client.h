/* Declares a client of a system (sherd/client.h), and what the system tells its clients.
 *
 * A client has a port for each lane (client/port.h). A port outlives its client until its actor has
 * ended, which at the latest sherd_close sees to. Order of locks: system, port, inbox. */
#ifndef SHERD_HOST_CLIENT_H
#define SHERD_HOST_CLIENT_H

#include <stdatomic.h>

#include "client/port.h"
#include "host/system.h"

struct client_port {
    struct port port; /* must be first: its hooks find the rest */
    uv_mutex_t mutex;
    _Atomic uint32_t holders;    /* the client, and the actor */
    struct sherd_client *client; /* under the mutex; null: it was closed */
    struct sherd_system *system; /* until the actor has ended */
    struct client_port *next, *prev; /* of the system's ports with an actor, under its mutex */
};

struct sherd_client {
    struct sherd_system *system; /* null: it was closed */
    uint32_t mark; /* of the process that opened it: fork_watch_mark */
    struct sherd_client_options options;
    struct client_port *ports[LANES_MAX];
    uint32_t port_count;
    int fd; /* an eventfd: readable while completions wait */
    _Atomic bool is_signalled; /* it is readable, or about to be */
    _Atomic bool is_closing;   /* the thread ends when nothing is left */
    _Atomic uint32_t open;
    _Atomic uint32_t next_port; /* where the next look for completions begins */
    _Atomic uint64_t refused;   /* calls at the bound of open requests */
    uv_thread_t thread; /* calls options.done */
    bool has_thread;
    struct sherd_client *next, *prev; /* of the system's clients, under its mutex */
};

/* ---- client_ports.c ---- */
void client_port_add(struct client_port *port); /* under the system's mutex */
/* Drops a holder; the last one frees the port. */
void client_port_drop(struct client_port *port);
/* The actor has ended, or never starts: takes it out of the list. */
void client_port_gone(struct port *port);
/* The system tells its clients. Any thread, without the system's mutex. */
void clients_up(struct sherd_system *system, bool is_up);
/* Completes all requests: the node runs no more. */
void clients_end(struct sherd_system *system);
/* The node is freed: no actor is left. */
void clients_detach(struct sherd_system *system);

/* ---- client_done.c: the queue, and the thread of the callbacks ---- */
int client_done_open(struct sherd_client *client); /* the descriptor; 0 or SHERD_ESYSTEM */
/* Starts the thread if there is a callback; the client has its ports. 0 or SHERD_ESYSTEM. */
int client_done_start(struct sherd_client *client);
/* Ends the thread when no completion is left, and closes the descriptor. */
void client_done_close(struct sherd_client *client);
/* Makes the descriptor readable. A completion waits in a port, which is locked. */
void client_signal(struct sherd_client *client);
/* This is the thread of the callbacks. */
bool client_is_calling(const struct sherd_client *client);

#endif
