/* Runs one side of a TLS connection: OpenSSL between two memory buffers.
 *
 * Files and rules are in tls_files.c. */
#define _GNU_SOURCE
#include "host/tls.h"

#include <arpa/inet.h>
#include <stdio.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/address.h"
#include "base/check.h"
#include "base/limits.h"
#include "host/tls_inside.h"
#include "host/tls_record.h"

#define RECORD_HANDSHAKE 22 /* RFC 8446 5.1: a client's first byte */
/* bytes per call to OpenSSL during a handshake; its buffer stays this large */
#define FEED_SIZE 1024

struct tls_end {
    struct tls *tls; /* lent */
    SSL *ssl;
    BIO *in, *out; /* owned by ssl */
    enum tls_state state;
    bool accepts;
    struct tls_records records; /* until the handshake ends */
    size_t left; /* bytes that the peer may still send until then */
    bool was_fed;
    size_t sent; /* bytes of out */
    bool renegotiates; /* the peer asked for it */
    size_t answers; /* bytes that reads added to out since it was empty */
    bool awaits_proof; /* expects the proof of the secret as first bytes */
    uint8_t proof[TLS_PROOF_SIZE];
    size_t proof_size;
    char why[160];
};

/* Keeps the first error's reason; the last one is often "internal error". */
static void fail(struct tls_end *end, const char *reason)
{
    long verdict = SSL_get_verify_result(end->ssl);
    unsigned long error = ERR_peek_error();
    const char *text = error ? ERR_reason_error_string(error) : NULL;

    end->state = TLS_FAILED;
    if (reason)
        text = reason;
    else if (verdict != X509_V_OK)
        text = X509_verify_cert_error_string(verdict);
    (void)snprintf(end->why, sizeof end->why, "TLS: %s",
                   text ? text : "the connection broke");
    ERR_clear_error();
}

static void say_proof(struct tls_end *end)
{
    uint8_t proof[TLS_PROOF_SIZE];

    tls_prove(end->tls, end->ssl, proof);
    tls_end_write(end, slice_of(proof, sizeof proof));
}

/* The peer's certificate is valid. */
static void open_end(struct tls_end *end)
{
    end->state = TLS_OPEN;
    check(SSL_set_max_send_fragment(end->ssl, SSL3_RT_MAX_PLAIN_LENGTH) == 1 &&
          SSL_set_split_send_fragment(end->ssl, SSL3_RT_MAX_PLAIN_LENGTH) == 1);
    if (!tls_is_pinned(end->tls, tls_end_chain(end)))
        fail(end, "no key of the peer's certificates is pinned");
    else if (!end->accepts && tls_has_secrets(end->tls))
        say_proof(end);
}

static void shake(struct tls_end *end)
{
    int result;

    ERR_clear_error();
    result = SSL_do_handshake(end->ssl);
    if (result == 1)
        open_end(end);
    else if (SSL_get_error(end->ssl, result) != SSL_ERROR_WANT_READ)
        fail(end, NULL);
}

/* OpenSSL answers every request to renegotiate (TLS 1.2 only) with a warning. */
static void see(const SSL *ssl, int where, int what)
{
    struct tls_end *end = SSL_get_app_data(ssl);

    if (where == SSL_CB_WRITE_ALERT && (what & 0xff) == SSL_AD_NO_RENEGOTIATION)
        end->renegotiates = true;
}

static struct tls_end *new_end(struct tls *tls, uint64_t now, bool accepts)
{
    struct tls_end *end = mem_alloc(sizeof *end);

    end->tls = tls;
    end->ssl = tls_new_ssl(tls, now);
    end->in = BIO_new(BIO_s_mem());
    end->out = BIO_new(BIO_s_mem());
    check(end->ssl && end->in && end->out); /* out of memory */
    SSL_set_bio(end->ssl, end->in, end->out);
    SSL_set_app_data(end->ssl, end);
    SSL_set_info_callback(end->ssl, see);
    end->accepts = accepts;
    end->awaits_proof = accepts && tls_has_secrets(tls);
    end->left = tls_handshake_bytes_max(tls);
    if (accepts)
        SSL_set_accept_state(end->ssl);
    else
        SSL_set_connect_state(end->ssl);
    return end;
}

struct tls_end *tls_accept(struct tls *tls, uint64_t now)
{
    return new_end(tls, now, true);
}

static bool is_address(const char *host)
{
    uint8_t address[16];

    return inet_pton(AF_INET, host, address) == 1 ||
           inet_pton(AF_INET6, host, address) == 1;
}

struct tls_end *tls_connect(struct tls *tls, uint64_t now, const char *host)
{
    struct tls_end *end = new_end(tls, now, false);
    X509_VERIFY_PARAM *rules = SSL_get0_param(end->ssl);
    char bare[HOST_MAX + 1];
    bool right;

    address_bare_host(bare, host);
    right = bare[0] && bare[0] != '.';
    if (right && tls_verifies_names(tls)) {
        X509_VERIFY_PARAM_set_hostflags(rules, TLS_NAME_FLAGS);
        right = is_address(bare)
                    ? X509_VERIFY_PARAM_set1_ip_asc(rules, bare) == 1
                    : X509_VERIFY_PARAM_set1_host(rules, bare, 0) == 1;
    }
    if (right && !is_address(bare))
        right = SSL_set_tlsext_host_name(end->ssl, bare) == 1;
    if (!right)
        fail(end, "the host's name cannot be verified");
    else
        shake(end);
    return end;
}

void tls_end_free(struct tls_end *end)
{
    if (!end)
        return;
    SSL_free(end->ssl);
    buf_fini(&end->records.record);
    mem_free(end);
}

static void put_in(struct tls_end *end, struct slice bytes)
{
    int size = (int)bytes.size;

    check(BIO_write(end->in, bytes.data, size) == size); /* memory only */
}

/* Passes a whole record to OpenSSL. */
static void shake_with(struct tls_end *end, struct slice record)
{
    for (size_t at = 0; at < record.size; at += FEED_SIZE) {
        size_t left = record.size - at;

        put_in(end, slice_of(record.data + at,
                             left < FEED_SIZE ? left : FEED_SIZE));
        if (end->state == TLS_SHAKING)
            shake(end);
    }
}

/* Takes the handshake's bytes and leaves the rest. */
static void feed_handshake(struct tls_end *end, struct slice *bytes)
{
    while (bytes->size > 0 && end->state == TLS_SHAKING) {
        enum tls_record record =
            tls_records_take(&end->records, end->left, bytes);

        if (record == TLS_RECORD_PART)
            return;
        if (record == TLS_RECORD_OTHER)
            fail(end, "the peer does not speak TLS");
        else if (record == TLS_RECORD_LONG)
            fail(end, "the handshake is too long");
        else if (record == TLS_RECORD_HELLO)
            fail(end, "the peer's hello is too long");
        else
            shake_with(end, buf_slice(&end->records.record));
        end->left -= end->records.record.size;
        buf_fini(&end->records.record);
    }
}

void tls_end_feed(struct tls_end *end, struct slice bytes)
{
    if (end->state == TLS_FAILED || end->state == TLS_ENDED || !bytes.size)
        return;
    check(bytes.size <= INT32_MAX);
    if (end->accepts && !end->was_fed && bytes.data[0] != RECORD_HANDSHAKE) {
        fail(end, "the peer does not speak TLS");
        return;
    }
    end->was_fed = true;
    if (end->state == TLS_SHAKING)
        feed_handshake(end, &bytes);
    if (end->state == TLS_OPEN)
        put_in(end, bytes);
}

static size_t read_plain(struct tls_end *end, uint8_t *plain, size_t size)
{
    size_t had = 0, before = BIO_ctrl_pending(end->out);
    int result, error;

    if (end->state != TLS_OPEN)
        return 0;
    ERR_clear_error();
    result = SSL_read_ex(end->ssl, plain, size, &had);
    end->answers += BIO_ctrl_pending(end->out) - before;
    if (end->renegotiates) {
        fail(end, "the peer wants to renegotiate");
        return 0;
    }
    if (end->answers > TLS_ANSWERS_MAX) {
        fail(end, "the peer requests more TLS replies than it reads");
        return 0;
    }
    if (result == 1)
        return had;
    error = SSL_get_error(end->ssl, result);
    if (error == SSL_ERROR_ZERO_RETURN)
        end->state = TLS_ENDED;
    else if (error != SSL_ERROR_WANT_READ)
        fail(end, NULL);
    return 0;
}

/* False: incomplete or wrong. */
static bool read_proof(struct tls_end *end)
{
    while (end->proof_size < sizeof end->proof) {
        size_t had = read_plain(end, end->proof + end->proof_size,
                                sizeof end->proof - end->proof_size);

        if (!had)
            return false;
        end->proof_size += had;
    }
    end->awaits_proof = false;
    if (!tls_accepts_proof(end->tls, end->ssl, end->proof))
        fail(end, "the peer does not know the cluster's secret");
    return end->state == TLS_OPEN;
}

size_t tls_end_read(struct tls_end *end, uint8_t *plain, size_t size)
{
    if (end->awaits_proof && !read_proof(end))
        return 0;
    return read_plain(end, plain, size);
}

void tls_end_write(struct tls_end *end, struct slice plain)
{
    size_t wrote = 0;

    check(end->state == TLS_OPEN);
    if (!plain.size)
        return;
    ERR_clear_error();
    if (SSL_write_ex(end->ssl, plain.data, plain.size, &wrote) != 1)
        fail(end, NULL);
    else
        check(wrote == plain.size);
}

bool tls_end_pending(const struct tls_end *end, struct slice *bytes)
{
    char *data;
    long size = BIO_get_mem_data(end->out, &data);

    if (size <= 0)
        *bytes = (struct slice){ 0 }; /* the buffer may not exist yet */
    else
        *bytes = slice_of((uint8_t *)data + end->sent,
                          (size_t)size - end->sent);
    return bytes->size > 0;
}

/* Frees the memory of this node's certificates; a reset would keep it. */
static void shrink_out(struct tls_end *end)
{
    BUF_MEM *empty = BUF_MEM_new();

    check(empty); /* out of memory */
    check(BIO_set_mem_buf(end->out, empty, BIO_CLOSE) == 1);
}

void tls_end_sent(struct tls_end *end, size_t size)
{
    struct slice left;

    check(tls_end_pending(end, &left) && size <= left.size);
    end->sent += size;
    if (size < left.size)
        return;
    end->sent = 0;
    end->answers = 0;
    if (end->state == TLS_SHAKING)
        shrink_out(end);
    else
        check(BIO_reset(end->out) == 1);
}

void tls_end_close(struct tls_end *end)
{
    if (end->state != TLS_OPEN && end->state != TLS_ENDED)
        return;
    ERR_clear_error();
    (void)SSL_shutdown(end->ssl); /* the peer's alert is not awaited */
}

enum tls_state tls_end_state(const struct tls_end *end)
{
    return end->state;
}

const char *tls_end_why(const struct tls_end *end)
{
    return end->why;
}

bool tls_certificate_covers(X509 *certificate, const char *host)
{
    char bare[HOST_MAX + 1];

    address_bare_host(bare, host);
    if (!bare[0] || bare[0] == '.')
        return false; /* OpenSSL would match any name below it */
    if (is_address(bare))
        return X509_check_ip_asc(certificate, bare, 0) == 1;
    return X509_check_host(certificate, bare, 0, TLS_NAME_FLAGS, NULL) == 1;
}

bool tls_end_covers(const struct tls_end *end, const char *host)
{
    X509 *certificate = SSL_get0_peer_certificate(end->ssl);

    return certificate && tls_certificate_covers(certificate, host);
}

STACK_OF(X509) *tls_end_chain(const struct tls_end *end)
{
    return SSL_get0_verified_chain(end->ssl);
}
