/* Secrets of a cluster: whoever dials proves, on each connection, that it knows one that the dialled node accepts. The
 * proof is bound to the connection (HMAC-SHA256 of what its TLS exports, RFC 8446 7.5), so that one that was seen is of
 * no use on another, and the secret never leaves the node. Who is dialled proves it on the connections that it dials
 * itself: until then it is told nothing but a handshake.
 *
 * Who calls: host/tls_files.c reads them with the certificates, host/tls.c carries proofs. */
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

/* The first one is what this node proves, all are accepted. */
struct tls_secrets {
    uint32_t count;
    struct tls_secret items[TLS_SECRETS_MAX];
};

/* From a file with one on each line, which only its owner, the process's user or root, may write, and only its group may
 * read besides. False: with one line that says why. */
bool tls_secrets_read(struct tls_secrets *secrets, const char *path, char *why,
                      size_t size);
void tls_secrets_wipe(struct tls_secrets *secrets);

/* After the connection's handshake, of TLS 1.3. */
void tls_secrets_prove(const struct tls_secrets *secrets, SSL *ssl,
                       uint8_t proof[TLS_PROOF_SIZE]);
bool tls_secrets_accept(const struct tls_secrets *secrets, SSL *ssl,
                        const uint8_t proof[TLS_PROOF_SIZE]);

#endif
