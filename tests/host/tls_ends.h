/* Ends of TLS connections in memory, for tests: what carries bytes between them, and a peer that verifies nothing. */
#ifndef TESTS_HOST_TLS_ENDS_H
#define TESTS_HOST_TLS_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <openssl/ssl.h>

#include "certificates.h"
#include "host/tls.h"

/* Of a group of tests: its state is struct keys. */
int tls_make_keys(void **state);
int tls_remove_keys(void **state);

#define SECOND 1000000000ull

extern char tls_logged[1024]; /* the last line of any tls */

/* Verifies names for 127.0.0.1, looks at its files once a second. Its texts are the keys'. */
struct tls_options tls_options_of(const struct keys *keys);
/* At time 0; fails the test when it cannot be opened. */
struct tls *tls_open_with(const struct tls_options *options);
struct tls *tls_open_keys(const struct keys *keys);
/* What a look at this time finds, if it is time for one, is in use. */
void tls_look_now(struct tls *tls, uint64_t now);
/* It is not opened, and the error has this in it. */
void tls_not_opened(const struct tls_options *options, const char *why);

/* Carries what one end has for the other, in pieces of at most `piece` bytes. True: there was something. */
bool tls_carry(struct tls_end *from, struct tls_end *to, size_t piece);
/* Both ways, until there is nothing. */
void tls_pump(struct tls_end *left, struct tls_end *right, size_t piece);

/* Another peer, which verifies nothing. */
struct peer {
    SSL_CTX *context;
    SSL *ssl;
    BIO *in, *out;
};

void peer_init(struct peer *peer, const struct certificate *shown, bool accepts);
void peer_fini(struct peer *peer);
/* Both ways, until there is nothing; the peer shakes hands. */
void peer_pump(struct peer *peer, struct tls_end *end);

/* An end that accepts, or one that dials, made at that time, meets a peer that shows this: it refuses it, and says why. */
void tls_refuses(struct tls *tls, uint64_t now, const struct certificate *shown, bool accepts, const char *why);

#endif
