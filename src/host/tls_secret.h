/* Proves, on each dialled connection, that a node knows a secret of the cluster
 * (docs/decisions/005-cluster-secret.md).
 *
 * The proof is an HMAC-SHA256 over what this connection's TLS exports (RFC 8446 7.5). So it is
 * useless on another connection, and the secret stays on the node. The dialled node proves it on
 * its own links; until then it receives only a handshake.
 *
 * Called by host/tls_files.c and host/tls.c. */
#ifndef SHERD_HOST_TLS_SECRET_H
#define SHERD_HOST_TLS_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <openssl/ssl.h>

#include "base/limits.h"

#define TLS_PROOF_SIZE 32

struct tls_secret {
    size_t size;
    uint8_t bytes[TLS_SECRET_SIZE_MAX];
};

/* The node proves the first and accepts all. */
struct tls_secrets {
    uint32_t count;
    struct tls_secret items[TLS_SECRETS_MAX];
};

/* Reads a file with one secret on each line. Only its owner (the process's user or root) may write
 * it, only its group may also read it. False: `why` has one line. */
bool tls_secrets_read(struct tls_secrets *secrets, const char *path, char *why,
                      size_t size);
void tls_secrets_wipe(struct tls_secrets *secrets);

/* After a TLS 1.3 handshake. */
void tls_secrets_prove(const struct tls_secrets *secrets, SSL *ssl,
                       uint8_t proof[TLS_PROOF_SIZE]);
bool tls_secrets_accept(const struct tls_secrets *secrets, SSL *ssl,
                        const uint8_t proof[TLS_PROOF_SIZE]);

#endif
