/* Creates certificates for tests at run time, so the source tree has no key. */
#ifndef TESTS_HOST_CERTIFICATES_H
#define TESTS_HOST_CERTIFICATES_H

#include <stdbool.h>

#include <openssl/ssl.h>

struct certificate;

/* Zero means the default. */
struct certificate_options {
    const char *name;  /* common name; default "node" */
    const char *names; /* "DNS:a.example,IP:127.0.0.1"; null: none */
    bool is_ca;
    bool is_rsa; /* otherwise P-256 */
    const char *usage; /* extended, "serverAuth"; null: none */
    long from_s, to_s; /* seconds from now; both 0: from an hour ago, for a day */
};

/* Given; the caller frees it. issuer null: self-signed. */
struct certificate *certificate_new(const struct certificate *issuer, const struct certificate_options *options);
void certificate_free(struct certificate *certificate); /* null is allowed */
/* Replaces PEM files atomically. */
void certificate_write(const struct certificate *certificate, const char *path);
/* null: none */
void certificate_write_key(const struct certificate *certificate, const char *path, const char *password);

struct crl_options {
    const struct certificate *revoked; /* null: no certificate */
    long from_s, to_s; /* as above */
    bool appends; /* to the file's lists */
};

/* Writes a CA's revocation list. */
void certificate_write_crl(const struct certificate *issuer, const struct crl_options *options, const char *path);

/* A context that verifies nothing, accepts every version, and shows this certificate (null: none).
 * Given. */
SSL_CTX *certificate_context(const struct certificate *certificate);
/* Adds an intermediate CA. */
void certificate_show(const struct certificate *between, SSL *ssl);

#define CERTIFICATE_PIN_SIZE 65

/* The pin of its key in this format of a byte ("%02x"), as from `openssl x509 -pubkey | openssl
 * pkey -pubin -outform DER | openssl dgst -sha256`. */
const char *certificate_pin(const struct certificate *certificate, const char *digit, char pin[CERTIFICATE_PIN_SIZE]);

/* A CA and a node certificate for 127.0.0.1 and localhost, in a new directory with ca.pem, node.pem
 * and node.key. keys_fini removes it. */
struct keys {
    char folder[64];
    char ca_path[96], node_path[96], key_path[96];
    char crl_path[96]; /* not written by keys_init */
    struct certificate *ca, *node;
};

void keys_init(struct keys *keys);
void keys_fini(struct keys *keys);
/* Replaces the node's files. issuer null: the keys' own CA. */
void keys_replace(struct keys *keys, const struct certificate *issuer, const struct certificate_options *options);

#endif
