/* Runs a machine's sockets on its thread's loop: links, which it opens and writes to, and accepted
 * connections, which it only reads.
 *
 * Nothing is written to an accepted connection, except by TLS itself, and it is not shut down for
 * writing: a peer takes either as a broken stream. One write takes all that a link has pending. The
 * rest waits until the link is writable; machine_wrote says what the kernel took. With TLS it says
 * what TLS took, which takes no more until the kernel has that.
 *
 * Called by host/thread.c, on the loop's thread. */
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
struct outbound_socket;
struct dns_lookups;
struct tls;

struct socket_counters {
    uint64_t reads, bytes_read;
    uint64_t writes, bytes_written;
    uint64_t blocked;  /* partial writes */
    uint64_t accepted; /* connections taken over */
    uint64_t failed;   /* links that broke or could not be opened */
};

struct sockets {
    uv_loop_t *loop; /* lent */
    struct machine *machine;
    uint8_t *buffer; /* SOCKET_READ_SIZE bytes, lent; one for each thread */
    struct map links; /* by number */
    struct map conns;
    struct outbound_socket *dirty;  /* links with a request to write */
    struct outbound_socket *due;    /* links to report to the machine */
    uint64_t last_conn;
    _Atomic uint32_t *conn_count; /* of the system; lent */
    struct tls *tls; /* lent; null: links are plain */
    struct dns_lookups *lookups; /* lent */
    struct asker *asker; /* null until the first name */
    uint64_t tls_version; /* version of the files by which open connections were checked */
    uint64_t watch_at;    /* ns, for sockets_watch; UINT64_MAX: never */
    bool worked; /* the machine got input since the owner cleared it */
    struct socket_counters counters;
};

void sockets_init(struct sockets *sockets, uv_loop_t *loop,
                  struct machine *machine, uint8_t *buffer,
                  _Atomic uint32_t *conn_count, struct tls *tls,
                  struct dns_lookups *lookups);
/* Closes all sockets; the owner then runs the loop until its handles are closed. */
void sockets_fini(struct sockets *sockets);

/* Carry out requests of the machine (enum driver_request_kind). They never call the machine. */
void sockets_connect(struct sockets *sockets, uint64_t number,
                     const struct address *address);
void sockets_close_link(struct sockets *sockets, uint64_t number);
void sockets_close_conn(struct sockets *sockets, uint64_t number);
void sockets_request_write(struct sockets *sockets, uint64_t number);

/* Takes over an accepted connection, given, and passes it and its first bytes to the machine. */
void sockets_adopt(struct sockets *sockets, uint64_t now,
                   struct accepted *accepted);
/* Tells the machine which links opened or failed. After its requests were carried out, so that it
 * hears of no link that it closes. */
void sockets_tell(struct sockets *sockets, uint64_t now);
/* Closes and logs connections whose peer's certificate was revoked meanwhile. Call it when watch_at
 * is due. */
void sockets_watch(struct sockets *sockets, uint64_t now);
/* Writes pending data of links with a request to write. */
void sockets_flush(struct sockets *sockets, uint64_t now);

#endif
