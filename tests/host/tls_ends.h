/* Connects ends of TLS connections in memory, also with a peer that verifies nothing. */
#ifndef TESTS_HOST_TLS_ENDS_H
#define TESTS_HOST_TLS_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <openssl/ssl.h>

#include "certificates.h"
#include "host/tls.h"

/* Group set-up; the state is a struct keys. */
int tls_make_keys(void **state);
int tls_remove_keys(void **state);

#define SECOND 1000000000ull

extern char tls_logged[1024]; /* last line of any tls */

/* Names for 127.0.0.1, files checked once a second. Lends texts of the keys. */
struct tls_options tls_options_of(const struct keys *keys);
/* At time 0; must succeed. */
struct tls *tls_open_with(const struct tls_options *options);
struct tls *tls_open_keys(const struct keys *keys);
/* Puts what a look at this time finds into use. */
void tls_look_now(struct tls *tls, uint64_t now);
/* Expects an error with this text. */
void tls_not_opened(const struct tls_options *options, const char *why);

/* Carries one end's bytes to the other, `piece` at a time. True: there were some. */
bool tls_carry(struct tls_end *from, struct tls_end *to, size_t piece);
/* Both ways, until no bytes are left. */
void tls_pump(struct tls_end *left, struct tls_end *right, size_t piece);

/* A peer that verifies nothing. */
struct peer {
    SSL_CTX *context;
    SSL *ssl;
    BIO *in, *out;
};

void peer_init(struct peer *peer, const struct certificate *shown, bool accepts);
void peer_fini(struct peer *peer);
/* Both ways, until no bytes are left. */
void peer_pump(struct peer *peer, struct tls_end *end);

/* An end that accepts, or dials, refuses a peer with this certificate for this reason. */
void tls_refuses(struct tls *tls, uint64_t now, const struct certificate *shown, bool accepts, const char *why);

#endif
