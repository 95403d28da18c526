/* Declares what the TLS files share. */
#ifndef SHERD_HOST_TLS_INSIDE_H
#define SHERD_HOST_TLS_INSIDE_H

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/vec.h"
#include "host/tls.h"
#include "host/tls_secret.h"

#define TLS_PIN_SIZE 32

/* The subject's common name does not count, and a wildcard matches one whole label. */
#define TLS_NAME_FLAGS \
    (X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS)

/* For a new connection; given. */
SSL *tls_new_ssl(struct tls *tls, uint64_t now);
uint32_t tls_handshake_bytes_max(const struct tls *tls);
bool tls_has_secrets(const struct tls *tls);
/* Writes the proof of the secrets that were read last (tls_secret.h). */
void tls_prove(struct tls *tls, SSL *ssl, uint8_t proof[TLS_PROOF_SIZE]);
bool tls_accepts_proof(struct tls *tls, SSL *ssl,
                       const uint8_t proof[TLS_PROOF_SIZE]);
bool tls_certificate_covers(X509 *certificate, const char *host);
/* The peer's verified chain; lent, null without one. */
STACK_OF(X509) *tls_end_chain(const struct tls_end *end);

/* SHA-256 of a public key. */
struct tls_pin {
    uint8_t hash[TLS_PIN_SIZE];
};

struct tls_pins {
    VEC(struct tls_pin) list;
};

/* From settings and file. False: `why` has one line. Call fini in both cases. */
bool tls_pins_read(struct tls_pins *pins, const struct tls_options *options,
                   char *why, size_t size);
void tls_pins_fini(struct tls_pins *pins);
/* True if a key of a verified chain is pinned, or without pins. */
bool tls_pins_accept(const struct tls_pins *pins, STACK_OF(X509) *chain);
bool tls_is_pinned(struct tls *tls, STACK_OF(X509) *chain); /* with the pins that were read last */
/* Tells whether a CA's own list in the store names a certificate of the chain. */
bool tls_chain_is_revoked(X509_STORE *store, STACK_OF(X509) *chain);

#endif
