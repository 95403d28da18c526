/* Creates certificates with OpenSSL. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "certificates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/map.h"

struct certificate {
    EVP_PKEY *key;
    X509 *x509;
};

static void extend(struct certificate *certificate, const struct certificate *issuer, int kind, const char *value)
{
    X509V3_CTX context;
    X509_EXTENSION *extension;

    if (!value)
        return;
    X509V3_set_ctx(&context, issuer->x509, certificate->x509, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
    check(extension);
    check(X509_add_ext(certificate->x509, extension, -1) == 1);
    X509_EXTENSION_free(extension);
}

struct certificate *certificate_new(const struct certificate *issuer, const struct certificate_options *options)
{
    static long last_serial = 1;
    struct certificate *made = mem_alloc(sizeof *made);
    const char *name = options->name ? options->name : "node";
    long from = options->from_s || options->to_s ? options->from_s : -3600;
    long to = options->from_s || options->to_s ? options->to_s : 86400;
    X509_NAME *subject;

    made->key = options->is_rsa ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256");
    made->x509 = X509_new();
    check(made->key && made->x509);
    issuer = issuer ? issuer : made;
    check(X509_set_version(made->x509, X509_VERSION_3) == 1);
    check(ASN1_INTEGER_set(X509_get_serialNumber(made->x509), ++last_serial) == 1);
    check(X509_gmtime_adj(X509_getm_notBefore(made->x509), from));
    check(X509_gmtime_adj(X509_getm_notAfter(made->x509), to));
    subject = X509_get_subject_name(made->x509);
    check(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)name, -1, -1, 0) == 1);
    check(X509_set_issuer_name(made->x509, X509_get_subject_name(issuer->x509)) == 1);
    check(X509_set_pubkey(made->x509, made->key) == 1);
    extend(made, issuer, NID_basic_constraints, options->is_ca ? "critical,CA:TRUE" : "critical,CA:FALSE");
    extend(made, issuer, NID_subject_alt_name, options->names);
    extend(made, issuer, NID_ext_key_usage, options->usage);
    check(X509_sign(made->x509, issuer->key, EVP_sha256()) > 0);
    return made;
}

void certificate_free(struct certificate *certificate)
{
    if (!certificate)
        return;
    X509_free(certificate->x509);
    EVP_PKEY_free(certificate->key);
    mem_free(certificate);
}

SSL_CTX *certificate_context(const struct certificate *certificate)
{
    SSL_CTX *context = SSL_CTX_new(TLS_method());

    check(context);
    SSL_CTX_set_security_level(context, 0);
    check(SSL_CTX_set_min_proto_version(context, TLS1_VERSION) == 1);
    check(SSL_CTX_set_cipher_list(context, "ALL") == 1);
    if (certificate) {
        check(SSL_CTX_use_certificate(context, certificate->x509) == 1);
        check(SSL_CTX_use_PrivateKey(context, certificate->key) == 1);
    }
    return context;
}

void certificate_show(const struct certificate *between, SSL *ssl)
{
    check(SSL_add1_chain_cert(ssl, between->x509) == 1);
}

static FILE *begin(char *beside, size_t size, const char *path)
{
    FILE *file;

    (void)snprintf(beside, size, "%s.new", path);
    file = fopen(beside, "w");
    check(file);
    return file;
}

static void end(FILE *file, const char *beside, const char *path)
{
    check(fclose(file) == 0);
    check(rename(beside, path) == 0);
}

void certificate_write(const struct certificate *certificate, const char *path)
{
    char beside[160];
    FILE *file = begin(beside, sizeof beside, path);

    check(PEM_write_X509(file, certificate->x509) == 1);
    end(file, beside, path);
}

void certificate_write_key(const struct certificate *certificate, const char *path, const char *password)
{
    char beside[160];
    FILE *file = begin(beside, sizeof beside, path);

    check(fchmod(fileno(file), 0600) == 0);
    check(PEM_write_PKCS8PrivateKey(file, certificate->key, password ? EVP_aes_256_cbc() : NULL, password,
                                    password ? (int)strlen(password) : 0, NULL, NULL) == 1);
    end(file, beside, path);
}

static void add_revoked(X509_CRL *list, const struct certificate *revoked, const ASN1_TIME *when)
{
    X509_REVOKED *entry = X509_REVOKED_new();

    check(entry && X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(revoked->x509)) == 1);
    check(X509_REVOKED_set_revocationDate(entry, (ASN1_TIME *)(uintptr_t)when) == 1);
    check(X509_CRL_add0_revoked(list, entry) == 1);
}

void certificate_write_crl(const struct certificate *issuer, const struct crl_options *options, const char *path)
{
    long from = options->from_s || options->to_s ? options->from_s : -3600;
    long to = options->from_s || options->to_s ? options->to_s : 86400;
    ASN1_TIME *since = X509_gmtime_adj(NULL, from), *until = X509_gmtime_adj(NULL, to);
    X509_CRL *list = X509_CRL_new();
    char beside[160];
    FILE *file;

    check(list && since && until);
    check(X509_CRL_set_version(list, X509_CRL_VERSION_2) == 1);
    check(X509_CRL_set_issuer_name(list, X509_get_subject_name(issuer->x509)) == 1);
    check(X509_CRL_set1_lastUpdate(list, since) == 1 && X509_CRL_set1_nextUpdate(list, until) == 1);
    if (options->revoked)
        add_revoked(list, options->revoked, since);
    check(X509_CRL_sort(list) == 1 && X509_CRL_sign(list, issuer->key, EVP_sha256()) > 0);
    if (options->appends) {
        file = fopen(path, "a");
        check(file && PEM_write_X509_CRL(file, list) == 1 && fclose(file) == 0);
    } else {
        file = begin(beside, sizeof beside, path);
        check(PEM_write_X509_CRL(file, list) == 1);
        end(file, beside, path);
    }
    X509_CRL_free(list);
    ASN1_TIME_free(since);
    ASN1_TIME_free(until);
}

const char *certificate_pin(const struct certificate *certificate, const char *digit, char pin[CERTIFICATE_PIN_SIZE])
{
    unsigned char der[1024], hash[32], *end = der;
    int size = i2d_PUBKEY(certificate->key, NULL);

    check(size > 0 && size <= (int)sizeof der);
    check(i2d_PUBKEY(certificate->key, &end) == size);
    check(EVP_Digest(der, (size_t)size, hash, NULL, EVP_sha256(), NULL) == 1);
    for (size_t i = 0; i < sizeof hash; i++)
        (void)snprintf(pin + 2 * i, 3, digit, hash[i]);
    return pin;
}

void keys_init(struct keys *keys)
{
    struct certificate_options ca = { .name = "the CA", .is_ca = true };
    struct certificate_options node = { .names = "IP:127.0.0.1,DNS:localhost" };

    memset(keys, 0, sizeof *keys);
    (void)snprintf(keys->folder, sizeof keys->folder, "/tmp/sherd-keys-XXXXXX");
    check(mkdtemp(keys->folder));
    (void)snprintf(keys->ca_path, sizeof keys->ca_path, "%s/ca.pem", keys->folder);
    (void)snprintf(keys->node_path, sizeof keys->node_path, "%s/node.pem", keys->folder);
    (void)snprintf(keys->key_path, sizeof keys->key_path, "%s/node.key", keys->folder);
    (void)snprintf(keys->crl_path, sizeof keys->crl_path, "%s/crl.pem", keys->folder);
    keys->ca = certificate_new(NULL, &ca);
    certificate_write(keys->ca, keys->ca_path);
    keys_replace(keys, NULL, &node);
}

void keys_replace(struct keys *keys, const struct certificate *issuer, const struct certificate_options *options)
{
    certificate_free(keys->node);
    keys->node = certificate_new(issuer ? issuer : keys->ca, options);
    certificate_write(keys->node, keys->node_path);
    certificate_write_key(keys->node, keys->key_path, NULL);
}

void keys_fini(struct keys *keys)
{
    certificate_free(keys->ca);
    certificate_free(keys->node);
    (void)unlink(keys->ca_path);
    (void)unlink(keys->node_path);
    (void)unlink(keys->key_path);
    (void)unlink(keys->crl_path);
    check(rmdir(keys->folder) == 0); /* it is empty */
}
