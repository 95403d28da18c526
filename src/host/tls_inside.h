/* What the files of TLS share. Private to them. */
#ifndef SHERD_HOST_TLS_INSIDE_H
#define SHERD_HOST_TLS_INSIDE_H

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/vec.h"
#include "host/tls.h"
#include "host/tls_secret.h"

#define TLS_PIN_SIZE 32

/* A common name is no host's name, and a wildcard stands for one whole label. */
#define TLS_NAME_FLAGS \
    (X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS)

/* A new connection's, by the files as they are; given to the caller. */
SSL *tls_new_ssl(struct tls *tls, uint64_t now);
uint32_t tls_handshake_bytes_max(const struct tls *tls);
bool tls_has_secrets(const struct tls *tls);
/* By the secrets as they were read last; see tls_secret.h. */
void tls_prove(struct tls *tls, SSL *ssl, uint8_t proof[TLS_PROOF_SIZE]);
bool tls_accepts_proof(struct tls *tls, SSL *ssl,
                       const uint8_t proof[TLS_PROOF_SIZE]);
bool tls_certificate_covers(X509 *certificate, const char *host);
/* The peer's certificate and those up to its CA, as they were verified; lent, null when nobody was. */
STACK_OF(X509) *tls_end_chain(const struct tls_end *end);

/* Public keys: SHA-256 of each. */
struct tls_pin {
    uint8_t hash[TLS_PIN_SIZE];
};

struct tls_pins {
    VEC(struct tls_pin) list;
};

/* Those of the settings and of their file. False: with one line that says why. To be ended by fini, read or not. */
bool tls_pins_read(struct tls_pins *pins, const struct tls_options *options,
                   char *why, size_t size);
void tls_pins_fini(struct tls_pins *pins);
/* Whether a certificate of a verified chain has a key that is pinned; true when none is. */
bool tls_pins_accept(const struct tls_pins *pins, STACK_OF(X509) *chain);
bool tls_is_pinned(struct tls *tls, STACK_OF(X509) *chain); /* the same, by the pins as they were read last */
/* Whether a list in that store, that is its CA's own, names one of a chain's certificates. */
bool tls_chain_is_revoked(X509_STORE *store, STACK_OF(X509) *chain);

#endif
