/* The sockets of one machine: links, which it opened and writes on, and
 * accepted connections, which it only reads. Polled by the thread's loop.
 *
 * Nothing is ever written on an accepted connection, nor is it shut down for
 * writing: a peer takes either as a broken stream. (With TLS, what TLS itself
 * has to say is.) All that a link has pending
 * goes into one write; what the kernel did not take waits until the link is
 * writable, and machine_wrote says exactly what it took; with TLS it says what
 * TLS took, and no more is taken until the kernel has that.
 *
 * Who calls: host/thread.c, on the thread that owns the loop. */
#ifndef SHERD_HOST_SOCKET_H
#define SHERD_HOST_SOCKET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "base/map.h"
#include "host/inbox.h"
#include "node/node.h"

struct asker;
struct link;
struct lookups;
struct tls;

struct socket_counters {
    uint64_t reads, bytes_read;
    uint64_t writes, bytes_written;
    uint64_t blocked;  /* writes that the kernel did not take whole */
    uint64_t accepted; /* connections adopted */
    uint64_t failed;   /* links that broke or were not made */
};

struct sockets {
    uv_loop_t *loop; /* lent */
    struct machine *machine;
    uint8_t *buffer; /* SOCKET_READ_SIZE bytes, lent, shared by all of a thread */
    struct map links; /* by their number */
    struct map conns;
    struct link *dirty;  /* those that said WANT_WRITE */
    struct link *due;    /* those of which the machine must be told */
    uint64_t last_conn;
    _Atomic uint32_t *conn_count; /* of the whole system; lent */
    struct tls *tls; /* lent; null: links are plain */
    struct lookups *lookups; /* lent */
    struct asker *asker; /* null until a name was to be looked up */
    uint64_t tls_version; /* of the files by which the open connections were looked through */
    uint64_t watch_at;    /* ns: when sockets_watch is due; UINT64_MAX: never */
    bool worked; /* the machine was told something since the owner cleared it */
    struct socket_counters counters;
};

void sockets_init(struct sockets *sockets, uv_loop_t *loop,
                  struct machine *machine, uint8_t *buffer,
                  _Atomic uint32_t *conn_count, struct tls *tls,
                  struct lookups *lookups);
/* Closes all; the owner then runs the loop until its handles are gone. */
void sockets_fini(struct sockets *sockets);

/* Carry out what the machine wants: see enum want_kind. Never call the machine. */
void sockets_connect(struct sockets *sockets, uint64_t number,
                     const struct address *address);
void sockets_close_link(struct sockets *sockets, uint64_t number);
void sockets_close_conn(struct sockets *sockets, uint64_t number);
void sockets_want_write(struct sockets *sockets, uint64_t number);

/* Takes over an accepted connection, given, and tells the machine of it and of
 * its first bytes. */
void sockets_adopt(struct sockets *sockets, uint64_t now,
                   struct accepted *accepted);
/* Tells the machine which links are open and which failed. After its wants were
 * carried out, so that no link is named that it wants closed. */
void sockets_tell(struct sockets *sockets, uint64_t now);
/* Closes the connections of peers whose certificates were revoked since they were made, with a line in the log. To be called
 * once watch_at has come. */
void sockets_watch(struct sockets *sockets, uint64_t now);
/* Writes what is pending on the links that asked. */
void sockets_flush(struct sockets *sockets, uint64_t now);

#endif
