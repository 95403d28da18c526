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

struct crl_options {
    const struct certificate *revoked; /* null: nobody is */
    long from_s, to_s; /* as above */
    bool appends; /* to the file's lists */
};

/* A list of the certificates that a CA has revoked. */
void certificate_write_crl(const struct certificate *issuer, const struct crl_options *options, const char *path);

/* A peer that verifies nothing, speaks whatever there is, and shows this certificate; null: none. Given to the caller. */
SSL_CTX *certificate_context(const struct certificate *certificate);
/* It shows this one, too: a CA between its own certificate and the first one. */
void certificate_show(const struct certificate *between, SSL *ssl);

#define CERTIFICATE_PIN_SIZE 65

/* The pin of its key, as `openssl x509 -pubkey | openssl pkey -pubin -outform DER | openssl dgst -sha256` has it, each byte in this
 * format ("%02x"). */
const char *certificate_pin(const struct certificate *certificate, const char *digit, char pin[CERTIFICATE_PIN_SIZE]);

/* A CA and a node of it in a fresh directory, with files ca.pem, node.pem and node.key, good for 127.0.0.1 and localhost.
 * Removed by keys_fini. */
struct keys {
    char folder[64];
    char ca_path[96], node_path[96], key_path[96];
    char crl_path[96]; /* no file is there until a test writes one */
    struct certificate *ca, *node;
};

void keys_init(struct keys *keys);
void keys_fini(struct keys *keys);
/* Another node certificate takes the files' place. issuer: null: the keys' own CA. */
void keys_replace(struct keys *keys, const struct certificate *issuer, const struct certificate_options *options);

#endif
