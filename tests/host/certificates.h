/* Certificates for tests, made when they run: there is no key in the source tree. */
#ifndef TESTS_HOST_CERTIFICATES_H
#define TESTS_HOST_CERTIFICATES_H

#include <stdbool.h>

#include <openssl/ssl.h>

struct certificate;

/* Zero is the default everywhere. */
struct certificate_options {
    const char *name;  /* common name; default "node" */
    const char *names; /* alternative ones, "DNS:a.example,IP:127.0.0.1"; null: none */
    bool is_ca;
    bool is_rsa; /* else P-256 */
    const char *usage; /* extended, "serverAuth"; null: none */
    long from_s, to_s; /* seconds from now; both 0: from an hour ago for a day */
};

/* Given to the caller, who frees it. Signed by issuer; null: by itself. */
struct certificate *certificate_new(const struct certificate *issuer, const struct certificate_options *options);
void certificate_free(struct certificate *certificate); /* null is fine */
/* PEM files, replaced when they are there: their content changes at once. */
void certificate_write(const struct certificate *certificate, const char *path);
void certificate_write_key(const struct certificate *certificate, const char *path, const char *password); /* null: none */

/* A peer that verifies nothing, speaks whatever there is, and shows this certificate; null: none. Given to the caller. */
SSL_CTX *certificate_context(const struct certificate *certificate);

/* A CA and a node of it in a fresh directory, with files ca.pem, node.pem and node.key, good for 127.0.0.1 and localhost.
 * Removed by keys_fini. */
struct keys {
    char folder[64];
    char ca_path[96], node_path[96], key_path[96];
    struct certificate *ca, *node;
};

void keys_init(struct keys *keys);
void keys_fini(struct keys *keys);
/* Another node certificate takes the files' place. issuer: null: the keys' own CA. */
void keys_replace(struct keys *keys, const struct certificate *issuer, const struct certificate_options *options);

#endif
