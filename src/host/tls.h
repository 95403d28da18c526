/* TLS between nodes (transport tls-tcp): turns plain bytes into those of a connection and back, by OpenSSL over memory.
 * It knows no socket; the listener and the links carry what it leaves.
 *
 * Always mutual: each side shows a certificate that one of the CAs has signed. Names are verified both ways: a link's
 * peer must be certified for the host that was dialled, and an accepted connection's peer for each address that it
 * claims (tls_end_covers, asked by the machine: machine_vouched). Where there are revocation lists, all CAs of a peer
 * must have one that is valid, and the peer must be on none. Nothing is resumed, renegotiated or compressed, nothing is
 * said early: who wants to is refused. TLS 1.3, and 1.2 only where settings ask for it. Where there is a secret of
 * the cluster, who dials proves that it knows it, before anything else is read of it.
 *
 * The files are read again, on a thread of their own, as they may not answer: at most every reload_after, when a connection is made or
 * it is time to look (tls_look), if one of them has changed. Connections that are open keep what they have, but for those of peers that are revoked by then: their
 * owner asks (tls_revokes) and closes them. Files that cannot be used are reported, and what was read last stays in
 * use; a list by which the own certificate is revoked is used, as it may name others, too.
 *
 * Who calls: host/system.c opens it; host/listener.c and host/socket.c make ends, and socket.c asks about those that are open. */
#ifndef SHERD_HOST_TLS_H
#define SHERD_HOST_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/trace.h"

struct tls;     /* certificates and rules of a system; any thread */
struct tls_end; /* one side of one connection; one thread at a time */

/* Copied by tls_open. */
struct tls_options {
    const char *certificate; /* file in PEM: the own certificate, then those between it and its CA */
    const char *key;         /* file in PEM, without a password */
    const char *ca;          /* file in PEM: who signs certificates of nodes */
    const char *crl; /* file in PEM: the revocation lists of all CAs; null: nobody is looked up */
    const char *secret; /* file: what peers must know besides, see tls_secret.h; null: nothing */
    const char *host; /* the own canonical one, for which the certificate must be good; null: names are not verified */
    bool allows_1_2;
    const char *const *algorithms; /* cipher suites by their IANA names; none of 1.3 among them: OpenSSL's own */
    uint32_t algorithm_count;
    const char *const *pins; /* SHA-256 of public keys, 64 hexadecimal digits: a peer, or a CA of its, must have one */
    uint32_t pin_count;
    const char *pins_file; /* file: more of these, one on each line; null: no more. Neither: any key will do */
    uint64_t reload_after; /* ns */
    uint32_t handshake_bytes_max; /* of a peer, until its certificate is verified; 0: TLS_HANDSHAKE_BYTES_MAX */
    void (*log)(void *owner, enum trace_level level, const char *text); /* of reloads; any thread */
    void *owner;
};

/* Reads the files, waiting for them, and starts their thread. 0, or -1 with one line in error: a file that cannot be read or used, a key that does not fit, a
 * certificate that other nodes would refuse (time, host, CA, use, revoked), a revocation list that has expired, an unknown
 * cipher suite. */
int tls_open(struct tls **tls, const struct tls_options *options, uint64_t now,
             char *error, size_t size);
/* After its last end was freed. Who reads files that do not answer is left behind after 2 s. Null is fine. */
void tls_close(struct tls *tls);
bool tls_verifies_names(const struct tls *tls);

/* Has the files read again, if it is time; they are in use some time later, if they have changed. The result is another number
 * whenever others are in use. Any thread. */
uint64_t tls_look(struct tls *tls, uint64_t now);
void tls_wait(struct tls *tls); /* until the files are not being read; for tests */
/* How often to look, in ns: a bad file is told then, and open connections may depend on a list. */
uint64_t tls_look_interval(const struct tls *tls);
/* Whether a list that is in use names the certificate of the peer of an open end, or one between it and its CA. Then it is
 * counted, and the caller closes the connection. Any thread. */
bool tls_revokes(struct tls *tls, const struct tls_end *end);
uint64_t tls_revoked(const struct tls *tls); /* times that it was so. Any thread */
void tls_log(const struct tls *tls, enum trace_level level,
             const char *text); /* any thread */

enum tls_state {
    TLS_SHAKING, /* the handshake is under way */
    TLS_OPEN,    /* the peer's certificate was verified */
    TLS_ENDED,   /* the peer said that it sends no more */
    TLS_FAILED   /* tls_end_why says why; what is pending is an alert for the peer */
};

/* Given to the caller, who frees it. host: that was dialled; the peer must be certified for it. */
struct tls_end *tls_accept(struct tls *tls, uint64_t now);
struct tls_end *tls_connect(struct tls *tls, uint64_t now, const char *host);
void tls_end_free(struct tls_end *end); /* null is fine */

/* Bytes that came on the connection, lent. Before the handshake has ended they are bounded by handshake_bytes_max, of them
 * a client's hello by TLS_HELLO_BYTES_MAX, and with these all that is kept for them is at most 64 KiB. */
void tls_end_feed(struct tls_end *end, struct slice bytes);
/* Plain bytes of what was fed, at most size; 0: no more until more is fed. To be called until then. What TLS answers
 * meanwhile is pending; a peer that makes it more than TLS_ANSWERS_MAX while nothing can be sent fails. */
size_t tls_end_read(struct tls_end *end, uint8_t *plain, size_t size);
/* Takes all of it; only when open. What it makes is pending: the caller bounds what it writes before that is sent. */
void tls_end_write(struct tls_end *end, struct slice plain);
/* What is to be sent: lent until the next call; false when there is nothing. tls_end_sent says how much of it was. */
bool tls_end_pending(const struct tls_end *end, struct slice *bytes);
void tls_end_sent(struct tls_end *end, size_t size);
/* Leaves a last word for the peer, once, if the connection is open. */
void tls_end_close(struct tls_end *end);

enum tls_state tls_end_state(const struct tls_end *end);
const char *tls_end_why(const struct tls_end *end); /* one line, for a log; "" unless it failed. Lent */
/* Whether the peer's certificate is good for a host (a name or an address): by its alternative names alone. */
bool tls_end_covers(const struct tls_end *end, const char *host);

#endif
