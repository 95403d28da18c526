/* The listening socket of a system: accepts connections, reads their first
 * bytes until it is known which machine shall own them, and gives them away.
 *
 * What strangers can make us keep is bounded, by default: ACCEPT_WAITING_MAX connections
 * whose machine is not known, ACCEPT_WAITING_EACH_MAX of one address, ACCEPT_STRANGERS_MAX of addresses that are not
 * expected and of which no connection was ever taken (so that peers get through; ACCEPT_KNOWN_MAX are remembered), each for ACCEPT_PREAMBLE_MS
 * and ACCEPT_FRAME_MS and with ACCEPT_BYTES_MAX. With TLS its handshake is within the first of these times, and with
 * TLS_HANDSHAKE_BYTES_MAX.
 *
 * Who calls: host/system.c opens it, control's thread runs it. */
#ifndef SHERD_HOST_LISTENER_H
#define SHERD_HOST_LISTENER_H

#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include "base/bytes.h"
#include "host/inbox.h"
#include "host/listener_limits.h"
#include "node/node.h"

struct listener;
struct lookups;
struct tls;

/* What a listener asks of its owner. Called on the thread that runs it. */
struct listener_owner {
    void *owner;
    /* As node_accepts. */
    enum node_accept (*decide)(void *owner, struct slice first,
                               uint32_t *machine, const char **why);
    void (*give)(void *owner, uint32_t machine, struct accepted *accepted); /* given */
    void (*log)(void *owner, enum trace_level level, const char *text);
    struct tls *tls; /* lent; null: connections are plain */
    struct listener_limits limits;
    struct lookups *lookups; /* lent; null: only numbers are expected */
};

struct listener_counters {
    uint64_t accepted;
    uint64_t refused; /* too many that wait, or not a connection for us, or not by a certificate of ours */
    uint64_t late;    /* said nothing, or not enough, in time */
    uint64_t paused;  /* times that no descriptor was left */
};

/* Binds and listens; host is a name or a number, port 0 = any. Connections
 * wait in the kernel until listener_start. 0, or what is wrong, with one line in error that
 * names the address and the reason. */
enum { LISTENER_BAD_HOST = -1, LISTENER_BAD_PORT = -2 };
int listener_open(struct listener **listener, const char *host, uint16_t port,
                  char *error, size_t size);
uint16_t listener_port(const struct listener *listener);
bool listener_is_loopback(const struct listener *listener); /* only this machine reaches it */
/* Begins to accept in this loop, of the calling thread. */
void listener_start(struct listener *listener, uv_loop_t *loop,
                    const struct listener_owner *owner);
/* Nodes that are expected, whether they were here or not: copied, in the place of those before. After listener_start, on its thread. */
void listener_expect(struct listener *listener, const struct address *nodes,
                     uint32_t count);
/* Closes the socket and the connections that wait. After listener_start: on
 * its thread, and the loop must run once more before it is closed. */
void listener_stop(struct listener *listener);
void listener_free(struct listener *listener); /* after stop, or never started; null is fine */
struct listener_counters listener_counters(const struct listener *listener); /* any thread */

#endif
