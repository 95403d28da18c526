/* Accepts a system's connections, reads their first bytes until the owning machine is known, and
 * gives them to it.
 *
 * Bounds what unknown nodes can occupy, by default: ACCEPT_WAITING_MAX connections whose machine is
 * not known, and ACCEPT_WAITING_EACH_MAX for each address. ACCEPT_STRANGERS_MAX of these may come
 * from unknown addresses. An address is known if it is expected, or among the last ACCEPT_KNOWN_MAX
 * with an accepted connection. At a limit the oldest connection that has said nothing is closed, so
 * that silent ones keep no peer out. Each connection has ACCEPT_PREAMBLE_MS, ACCEPT_FRAME_MS and
 * ACCEPT_BYTES_MAX. A TLS handshake must end within the first time, and within
 * TLS_HANDSHAKE_BYTES_MAX.
 *
 * Called by host/system.c, and run by control's thread. */
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
struct dns_lookups;
struct tls;

/* Callbacks of the owner, on the listener's thread. */
struct listener_owner {
    void *owner;
    /* As node_accepts. */
    enum node_accept (*decide)(void *owner, struct slice first,
                               uint32_t *machine, const char **why);
    void (*give)(void *owner, uint32_t machine, struct accepted *accepted); /* given */
    void (*log)(void *owner, enum trace_level level, const char *text);
    struct tls *tls; /* lent; null: connections are plain */
    struct listener_limits limits;
    struct dns_lookups *lookups; /* lent; null: only numeric addresses are expected */
};

struct listener_counters {
    uint64_t accepted;
    uint64_t refused; /* too many waiting, an invalid beginning, or no valid certificate */
    uint64_t late;    /* too little was received in time */
    uint64_t paused;  /* times without a free descriptor */
};

/* Binds and listens. host: name or address; port 0: any. Connections wait in the kernel until
 * listener_start. 0, or the fault, with one line in error that names address and reason. */
enum { LISTENER_BAD_HOST = -1, LISTENER_BAD_PORT = -2 };
int listener_open(struct listener **listener, const char *host, uint16_t port,
                  char *error, size_t size);
uint16_t listener_port(const struct listener *listener);
bool listener_is_loopback(const struct listener *listener); /* only this host reaches it */
/* Begins to accept in this loop of the calling thread. */
void listener_start(struct listener *listener, uv_loop_t *loop,
                    const struct listener_owner *owner);
/* Replaces the expected nodes; copied. After listener_start, on its thread. */
void listener_expect(struct listener *listener, const struct address *nodes,
                     uint32_t count);
/* Closes the socket and the waiting connections. After listener_start only on its thread, and the
 * loop must then run once more. */
void listener_stop(struct listener *listener);
void listener_free(struct listener *listener); /* after stop, or never started; null is allowed */
struct listener_counters listener_counters(const struct listener *listener); /* any thread */

#endif
