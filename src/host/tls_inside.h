/* What tls.c and tls_files.c share. Private to them. */
#ifndef SHERD_HOST_TLS_INSIDE_H
#define SHERD_HOST_TLS_INSIDE_H

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "host/tls.h"
#include "host/tls_secret.h"

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
/* 64 hexadecimal digits. */
bool tls_pin_is_right(const char *pin);
/* Whether a certificate of a verified chain has a key that is pinned; true when none is. */
bool tls_chain_is_pinned(const struct tls_options *options,
                         STACK_OF(X509) *chain);
bool tls_is_pinned(const struct tls *tls, STACK_OF(X509) *chain); /* the same, of the system's */
/* Whether a list in that store, that is its CA's own, names one of a chain's certificates. */
bool tls_chain_is_revoked(X509_STORE *store, STACK_OF(X509) *chain);

#endif
