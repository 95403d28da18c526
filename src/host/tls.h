/* Encrypts connections between nodes (transport tls-tcp), by OpenSSL over memory. It knows no
 * socket: listener and links carry its bytes.
 *
 * Authentication is mutual. A link's peer must be certified for the dialled host, an accepted
 * connection's peer for each address that it claims (tls_end_covers). With revocation lists, all
 * CAs of a peer must have a valid one, and none may name the peer. There is no resumption,
 * renegotiation, compression or early data. TLS 1.2 only if configured. With a cluster secret, the
 * dialling side proves it first. docs/decisions/004-tls.md and 005-cluster-secret.md have the
 * reasons.
 *
 * A thread reads changed files again, at most every reload_after, on a new connection or tls_look,
 * which is due every TLS_LOOK_MS. A missing file is noticed, and unusable ones are read again, at once.
 * Open connections keep their certificates; their owner closes those that tls_revokes reports.
 * Unusable files are reported, and the last content stays in use. A list that revokes the own
 * certificate is used, as it may name others.
 *
 * Opened by host/system.c; used by host/listener.c and host/socket.c. */
#ifndef SHERD_HOST_TLS_H
#define SHERD_HOST_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/trace.h"

struct tls;     /* a system's certificates and rules; any thread */
struct tls_end; /* one side of a connection; one thread at a time */

/* Copied by tls_open. */
struct tls_options {
    const char *certificate; /* PEM: own certificate, then its intermediate CAs */
    const char *key;         /* PEM, without password */
    const char *ca;          /* PEM: CAs of nodes */
    const char *crl; /* PEM: lists of all CAs; null: no check */
    const char *secret; /* file, see tls_secret.h; null: none */
    /* own canonical host, which the certificate must cover; null: names are not verified */
    const char *host;
    bool allows_1_2;
    /* IANA names of cipher suites; without any of TLS 1.3, OpenSSL's own */
    const char *const *algorithms;
    uint32_t algorithm_count;
    /* SHA-256 of public keys, 64 hexadecimal digits; a peer or one of its CAs must have one */
    const char *const *pins;
    uint32_t pin_count;
    /* further pins, one on each line; null: none. Without any pin, every key is accepted */
    const char *pins_file;
    uint64_t reload_after; /* ns */
    /* of a peer without a verified certificate; 0: TLS_HANDSHAKE_BYTES_MAX */
    uint32_t handshake_bytes_max;
    /* reports reloads; any thread */
    void (*log)(void *owner, enum trace_level level, const char *text);
    void *owner;
};

/* Reads the files, blocking, and starts their thread. 0, or -1 with one line in error: unusable
 * files, a certificate that other nodes would refuse, an expired list, an unknown cipher suite. */
int tls_open(struct tls **tls, const struct tls_options *options, uint64_t now,
             char *error, size_t size);
/* After its last end was freed. Leaves a thread whose files do not answer behind after 2 s. Null is
 * allowed. */
void tls_close(struct tls *tls);
bool tls_verifies_names(const struct tls *tls);

/* Asks for a reading of changed files, if it is time; they are used later. The result changes
 * whenever other files are in use. Any thread. */
uint64_t tls_look(struct tls *tls, uint64_t now);
void tls_wait(struct tls *tls); /* until no reading runs; for tests */
/* False while a file is missing or the files cannot be used: the node goes on with what it read, but
 * could not start again. Any thread. */
bool tls_is_usable(const struct tls *tls);
/* Tells whether a list revokes the certificate of an open end's peer, or one of its chain. It is
 * counted, and the caller closes the connection. Any thread. */
bool tls_revokes(struct tls *tls, const struct tls_end *end);
uint64_t tls_revoked(const struct tls *tls); /* number of these. Any thread */
/* The end of the node's certificate, in seconds since 1970; 0: not known. Any thread. */
int64_t tls_expires_at(struct tls *tls);
void tls_log(const struct tls *tls, enum trace_level level,
             const char *text); /* any thread */

enum tls_state {
    TLS_SHAKING, /* handshake runs */
    TLS_OPEN,    /* the peer's certificate is verified */
    TLS_ENDED,   /* the peer sends no more */
    TLS_FAILED   /* see tls_end_why; an alert is pending */
};

/* Given; the caller frees it. host: dialled; the peer must be certified for it. */
struct tls_end *tls_accept(struct tls *tls, uint64_t now);
struct tls_end *tls_connect(struct tls *tls, uint64_t now, const char *host);
void tls_end_free(struct tls_end *end); /* null is fine */

/* Takes bytes of the connection, lent. handshake_bytes_max limits them during the handshake,
 * TLS_HELLO_BYTES_MAX a client's hello. Memory stays below 64 KiB until then. */
void tls_end_feed(struct tls_end *end, struct slice bytes);
/* Returns plain bytes, at most size; repeat until 0. TLS's own answers become pending; a peer that
 * causes more than TLS_ANSWERS_MAX fails. */
size_t tls_end_read(struct tls_end *end, uint8_t *plain, size_t size);
/* Takes all; only when open. The result is pending: the caller bounds its writes. */
void tls_end_write(struct tls_end *end, struct slice plain);
/* Bytes to send, lent until the next call; false: none. tls_end_sent takes how many were sent. */
bool tls_end_pending(const struct tls_end *end, struct slice *bytes);
void tls_end_sent(struct tls_end *end, size_t size);
/* Makes a closing alert pending, once, if the connection is open. */
void tls_end_close(struct tls_end *end);

enum tls_state tls_end_state(const struct tls_end *end);
/* one line for the log, "" without a failure. Lent */
const char *tls_end_why(const struct tls_end *end);
/* Tells whether the peer's alternative names cover a host (name or address). */
bool tls_end_covers(const struct tls_end *end, const char *host);

#endif
