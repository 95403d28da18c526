/* Reads and proves the cluster's secrets. */
#define _GNU_SOURCE
#include "host/tls_secret.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/check.h"
#include "host/file.h"

#define LABEL "EXPORTER-sherd-cluster-secret"
/* Two bytes end each line; one byte more detects longer files. */
#define FILE_MAX (TLS_SECRETS_MAX * (TLS_SECRET_SIZE_MAX + 2) + 1)

void tls_secrets_wipe(struct tls_secrets *secrets)
{
    OPENSSL_cleanse(secrets, sizeof *secrets);
}

static bool fault(char *why, size_t size, const char *path, const char *text)
{
    (void)snprintf(why, size, "secret \"%.256s\": %s", path, text);
    return false;
}

/* Null: the line is valid. */
static const char *take_line(struct tls_secrets *secrets, const char *line,
                             size_t size)
{
    struct tls_secret *secret = &secrets->items[secrets->count];

    while (size && (line[size - 1] == '\r' || line[size - 1] == ' ' ||
                    line[size - 1] == '\t'))
        size--;
    if (!size)
        return NULL;
    if (secrets->count == TLS_SECRETS_MAX)
        return "there are more than two";
    if (size < TLS_SECRET_SIZE_MIN)
        return "one is too short: a line of random letters, at least 32 "
               "bytes";
    if (size > TLS_SECRET_SIZE_MAX)
        return "a line is too long";
    memcpy(secret->bytes, line, size);
    secret->size = size;
    secrets->count++;
    return NULL;
}

static const char *take_lines(struct tls_secrets *secrets, const char *text,
                              size_t size)
{
    const char *wrong = NULL;

    while (size && !wrong) {
        const char *end = memchr(text, '\n', size);
        size_t length = end ? (size_t)(end - text) : size;

        wrong = take_line(secrets, text, length);
        length += end != NULL;
        text += length;
        size -= length;
    }
    return !wrong && !secrets->count ? "the file contains no secret" : wrong;
}

static const char *read_from(struct tls_secrets *secrets, FILE *file)
{
    char text[FILE_MAX];
    const char *wrong;
    struct stat about;
    size_t size;

    if (fstat(fileno(file), &about) != 0)
        return strerror(errno);
    if (about.st_mode & S_IRWXO)
        return "every user of this machine can read it, or write it";
    if (about.st_mode & S_IWGRP)
        return "users other than its owner can write it";
    if (about.st_uid != geteuid() && about.st_uid != 0)
        return "the file belongs to another user, who can write it";
    setbuf(file, NULL); /* otherwise a copy stays in memory */
    size = fread(text, 1, sizeof text, file);
    if (ferror(file))
        wrong = strerror(errno);
    else if (size == sizeof text)
        wrong = "it is too large";
    else
        wrong = take_lines(secrets, text, size);
    OPENSSL_cleanse(text, sizeof text);
    return wrong;
}

bool tls_secrets_read(struct tls_secrets *secrets, const char *path, char *why,
                      size_t size)
{
    const char *wrong;
    FILE *file = file_open(path, &wrong);

    *secrets = (struct tls_secrets){ .count = 0 };
    if (!file)
        return fault(why, size, path, wrong);
    wrong = read_from(secrets, file);
    (void)fclose(file); /* only read */
    if (!wrong)
        return true;
    tls_secrets_wipe(secrets);
    return fault(why, size, path, wrong);
}

static void prove(const struct tls_secret *secret, SSL *ssl,
                  uint8_t proof[TLS_PROOF_SIZE])
{
    uint8_t exported[TLS_PROOF_SIZE];
    unsigned size = 0;

    check(SSL_export_keying_material(ssl, exported, sizeof exported, LABEL,
                                     sizeof LABEL - 1, NULL, 0, 0) == 1);
    check(HMAC(EVP_sha256(), secret->bytes, (int)secret->size, exported,
               sizeof exported, proof, &size) &&
          size == TLS_PROOF_SIZE);
    OPENSSL_cleanse(exported, sizeof exported);
}

void tls_secrets_prove(const struct tls_secrets *secrets, SSL *ssl,
                       uint8_t proof[TLS_PROOF_SIZE])
{
    check(secrets->count);
    prove(&secrets->items[0], ssl, proof);
}

/* Takes constant time. */
bool tls_secrets_accept(const struct tls_secrets *secrets, SSL *ssl,
                        const uint8_t proof[TLS_PROOF_SIZE])
{
    bool right = false;

    for (uint32_t i = 0; i < secrets->count; i++) {
        uint8_t wanted[TLS_PROOF_SIZE];

        prove(&secrets->items[i], ssl, wanted);
        right |= CRYPTO_memcmp(wanted, proof, sizeof wanted) == 0;
    }
    return right;
}
