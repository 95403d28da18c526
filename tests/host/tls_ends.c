/* Connects ends of TLS connections in memory. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tls_ends.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

char tls_logged[1024];

static void keep_line(void *owner, enum trace_level level, const char *text)
{
    (void)owner;
    (void)level;
    (void)snprintf(tls_logged, sizeof tls_logged, "%s", text);
}

int tls_make_keys(void **state)
{
    static struct keys keys;

    keys_init(&keys);
    *state = &keys;
    return 0;
}

int tls_remove_keys(void **state)
{
    keys_fini(*state);
    return 0;
}

static const char *const suites[] = { "TLS_AES_256_GCM_SHA384", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
                                      "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "TLS_DHE_RSA_WITH_AES_256_GCM_SHA384" };

struct tls_options tls_options_of(const struct keys *keys)
{
    return (struct tls_options){ .certificate = keys->node_path,
                                 .key = keys->key_path,
                                 .ca = keys->ca_path,
                                 .host = "127.0.0.1",
                                 .algorithms = suites,
                                 .algorithm_count = 4,
                                 .reload_after = SECOND,
                                 .log = keep_line };
}

struct tls *tls_open_with(const struct tls_options *options)
{
    char error[600] = "";
    struct tls *tls;

    if (tls_open(&tls, options, 0, error, sizeof error) != 0)
        fail_msg("%s", error);
    return tls;
}

struct tls *tls_open_keys(const struct keys *keys)
{
    struct tls_options options = tls_options_of(keys);

    return tls_open_with(&options);
}

void tls_look_now(struct tls *tls, uint64_t now)
{
    (void)tls_look(tls, now);
    tls_wait(tls);
}

void tls_not_opened(const struct tls_options *options, const char *why)
{
    char error[600] = "";
    struct tls *tls;

    assert_int_equal(tls_open(&tls, options, 0, error, sizeof error), -1);
    assert_null(tls);
    if (!strstr(error, why))
        fail_msg("\"%s\", not \"%s\"", error, why);
}

bool tls_carry(struct tls_end *from, struct tls_end *to, size_t piece)
{
    struct slice bytes;

    if (!tls_end_pending(from, &bytes))
        return false;
    bytes.size = bytes.size < piece ? bytes.size : piece;
    tls_end_feed(to, bytes);
    tls_end_sent(from, bytes.size);
    return true;
}

void tls_pump(struct tls_end *left, struct tls_end *right, size_t piece)
{
    bool any = true;

    while (any) {
        any = tls_carry(left, right, piece);
        any |= tls_carry(right, left, piece);
    }
}

void peer_init(struct peer *peer, const struct certificate *shown, bool accepts)
{
    peer->context = certificate_context(shown);
    peer->ssl = SSL_new(peer->context);
    peer->in = BIO_new(BIO_s_mem());
    peer->out = BIO_new(BIO_s_mem());
    SSL_set_bio(peer->ssl, peer->in, peer->out);
    if (accepts)
        SSL_set_accept_state(peer->ssl);
    else
        SSL_set_connect_state(peer->ssl);
}

void peer_fini(struct peer *peer)
{
    SSL_free(peer->ssl);
    SSL_CTX_free(peer->context);
}

void peer_pump(struct peer *peer, struct tls_end *end)
{
    uint8_t bytes[4096];
    struct slice pending;
    bool any = true;
    int size;

    while (any) {
        (void)SSL_do_handshake(peer->ssl); /* the end's state shows the result */
        any = tls_end_pending(end, &pending);
        if (any) {
            assert_int_equal(BIO_write(peer->in, pending.data, (int)pending.size), pending.size);
            tls_end_sent(end, pending.size);
        }
        while ((size = BIO_read(peer->out, bytes, sizeof bytes)) > 0) {
            tls_end_feed(end, slice_of(bytes, (size_t)size));
            any = true;
        }
    }
}

void tls_refuses(struct tls *tls, uint64_t now, const struct certificate *shown, bool accepts, const char *why)
{
    struct tls_end *end;
    struct slice alert;
    struct peer peer;
    uint8_t plain[16];

    tls_look_now(tls, now);
    end = accepts ? tls_accept(tls, now) : tls_connect(tls, now, "127.0.0.1");
    peer_init(&peer, shown, !accepts);
    peer_pump(&peer, end);
    if (tls_end_state(end) != TLS_FAILED || !strstr(tls_end_why(end), why))
        fail_msg("state %d, \"%s\", not \"%s\"", tls_end_state(end), tls_end_why(end), why);
    assert_int_equal(strncmp(tls_end_why(end), "TLS: ", 5), 0);
    assert_false(tls_end_pending(end, &alert)); /* was taken */
    /* Later bytes have no effect. */
    tls_end_feed(end, slice_text("AKKA\1"));
    assert_int_equal(tls_end_read(end, plain, sizeof plain), 0);
    tls_end_free(end);
    peer_fini(&peer);
}
