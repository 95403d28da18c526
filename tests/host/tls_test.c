/* Tests TLS as a transformation of bytes: two ends in memory, bytes cut anywhere, refused peers,
 * files read again. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/ssl.h>

#include "base/limits.h"
#include "certificates.h"
#include "host/tls.h"
#include "tls_ends.h"

static size_t read_all(struct tls_end *end, uint8_t *plain, size_t size)
{
    size_t had = 0, more;

    while ((more = tls_end_read(end, plain + had, size - had)) > 0)
        had += more;
    return had;
}

/* ---- bytes ---- */

static void exchange(struct tls *tls, size_t piece)
{
    static uint8_t sent[70000], came[80000];
    struct tls_end *link = tls_connect(tls, 0, "127.0.0.1");
    struct tls_end *conn = tls_accept(tls, 0);
    struct slice bytes;
    size_t had = 0;

    for (size_t i = 0; i < sizeof sent; i++)
        sent[i] = (uint8_t)(i * 7 + piece);
    tls_pump(link, conn, piece);
    assert_int_equal(tls_end_state(link), TLS_OPEN);
    assert_int_equal(tls_end_state(conn), TLS_OPEN);
    assert_false(tls_end_pending(conn, &bytes)); /* a JVM must read nothing on its own connection */
    for (size_t at = 0, size = 1; at < sizeof sent; at += size, size = size * 3 + 1) {
        size = size < sizeof sent - at ? size : sizeof sent - at;
        tls_end_write(link, slice_of(sent + at, size));
        do
            had += read_all(conn, came + had, sizeof came - had);
        while (tls_carry(link, conn, piece));
    }
    had += read_all(conn, came + had, sizeof came - had);
    assert_int_equal(had, sizeof sent);
    assert_memory_equal(came, sent, sizeof sent);
    tls_end_close(link);
    tls_pump(link, conn, piece);
    assert_int_equal(read_all(conn, came, sizeof came), 0);
    assert_int_equal(tls_end_state(conn), TLS_ENDED);
    tls_end_free(link);
    tls_end_free(conn);
}

static void bytes_arrive_however_they_are_cut(void **state)
{
    static const size_t pieces[] = { 1, 2, 5, 6, 100, 1000, 16384, 1000000 };
    struct tls *tls = tls_open_keys(*state);

    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++)
        exchange(tls, pieces[i]);
    tls_close(tls);
}

/* Any changed byte ends the connection; no wrong byte is read. */
static void a_changed_byte_ends_the_connection(void **state)
{
    struct tls *tls = tls_open_keys(*state);

    for (size_t at = 0; at < 64; at++) {
        struct tls_end *link = tls_connect(tls, 0, "127.0.0.1");
        struct tls_end *conn = tls_accept(tls, 0);
        uint8_t changed[256], plain[64];
        struct slice bytes;

        tls_pump(link, conn, 1000);
        tls_end_write(link, slice_text("forty-two bytes, all of which are wanted!!"));
        assert_true(tls_end_pending(link, &bytes));
        assert_int_equal(bytes.size, 5 + 42 + 1 + 16);
        memcpy(changed, bytes.data, bytes.size);
        changed[at] ^= 0x20;
        tls_end_feed(conn, slice_of(changed, bytes.size));
        assert_int_equal(tls_end_read(conn, plain, sizeof plain), 0);
        if (at == 3) /* a longer record: its rest is awaited */
            assert_int_equal(tls_end_state(conn), TLS_OPEN);
        else
            assert_int_equal(tls_end_state(conn), TLS_FAILED);
        tls_end_free(link);
        tls_end_free(conn);
    }
    tls_close(tls);
}

/* ---- refused peers ---- */

static void refused_both(struct tls *tls, const struct certificate *issuer, const struct certificate_options *options,
                         const char *why)
{
    struct certificate *shown = certificate_new(issuer, options);

    tls_refuses(tls, 0, shown, true, why);
    tls_refuses(tls, 0, shown, false, why);
    certificate_free(shown);
}

static void bad_certificates_are_refused_both_ways(void **state)
{
    const struct certificate_options ca = { .name = "the CA", .is_ca = true };
    const struct certificate_options elsewhere = { .name = "elsewhere", .is_ca = true };
    const struct certificate_options good = { .names = "IP:127.0.0.1" };
    const struct certificate_options old = { .names = "IP:127.0.0.1", .from_s = -7200, .to_s = -2 };
    const struct certificate_options early = { .names = "IP:127.0.0.1", .from_s = 1000, .to_s = 86400 };
    const struct certificate_options below = { .name = "below", .names = "IP:127.0.0.1" };
    struct certificate *same_name = certificate_new(NULL, &ca), *other = certificate_new(NULL, &elsewhere), *leaf;
    const struct keys *keys = *state;
    struct tls *tls = tls_open_keys(keys);

    refused_both(tls, other, &good, "unable to get local issuer certificate");
    refused_both(tls, same_name, &good, "certificate signature failure");
    refused_both(tls, NULL, &good, "self-signed certificate");
    refused_both(tls, keys->ca, &old, "certificate has expired");
    refused_both(tls, keys->ca, &early, "certificate is not yet valid");
    /* A node's certificate is no CA. */
    leaf = certificate_new(keys->ca, &good);
    refused_both(tls, leaf, &below, "unable to get local issuer certificate");
    certificate_free(leaf);
    certificate_free(same_name);
    certificate_free(other);
    tls_close(tls);
}

static void certificates_for_another_use_are_refused(void **state)
{
    const struct certificate_options serves = { .names = "IP:127.0.0.1", .usage = "serverAuth" };
    const struct certificate_options dials = { .names = "IP:127.0.0.1", .usage = "clientAuth" };
    const struct keys *keys = *state;
    struct certificate *server = certificate_new(keys->ca, &serves), *client = certificate_new(keys->ca, &dials);
    struct tls *tls = tls_open_keys(keys);

    tls_refuses(tls, 0, server, true, "purpose");
    tls_refuses(tls, 0, client, false, "purpose");
    certificate_free(server);
    certificate_free(client);
    tls_close(tls);
}

static void a_peer_without_a_certificate_is_refused(void **state)
{
    struct tls *tls = tls_open_keys(*state);

    tls_refuses(tls, 0, NULL, true, "peer did not return a certificate");
    tls_close(tls);
}

/* ---- names ---- */

static bool link_takes(struct tls *tls, const struct keys *keys, const char *names, const char *host)
{
    const struct certificate_options options = { .name = "a.example", .names = names };
    struct certificate *shown = certificate_new(keys->ca, &options);
    struct tls_end *link = tls_connect(tls, 0, host);
    struct peer peer;
    bool open;

    peer_init(&peer, shown, true);
    peer_pump(&peer, link);
    open = tls_end_state(link) == TLS_OPEN;
    if (!open)
        assert_true(strstr(tls_end_why(link), "mismatch") || strstr(tls_end_why(link), "cannot be verified"));
    peer_fini(&peer);
    certificate_free(shown);
    tls_end_free(link);
    return open;
}

static bool conn_covers(struct tls *tls, const struct keys *keys, const char *names, const char *host)
{
    const struct certificate_options options = { .name = "a.example", .names = names };
    struct certificate *shown = certificate_new(keys->ca, &options);
    struct tls_end *conn = tls_accept(tls, 0);
    struct peer peer;
    bool covers;

    peer_init(&peer, shown, false);
    assert_false(tls_end_covers(conn, host));
    peer_pump(&peer, conn);
    assert_int_equal(tls_end_state(conn), TLS_OPEN);
    covers = tls_end_covers(conn, host);
    peer_fini(&peer);
    certificate_free(shown);
    tls_end_free(conn);
    return covers;
}

/* In both directions. */
static void names_are_verified_both_ways(void **state)
{
    static const struct {
        const char *names, *host;
        bool good;
    } cases[] = {
        { "IP:127.0.0.1", "127.0.0.1", true },
        { "IP:127.0.0.1", "127.0.0.2", false },
        { "IP:127.0.0.1", "localhost", false },
        { "IP:127.0.0.1,IP:10.0.0.1", "10.0.0.1", true },
        { "DNS:127.0.0.1", "127.0.0.1", false },
        { "IP:::1", "::1", true },
        { "IP:::1", "[::1]", true },
        { "IP:::1", "::2", false },
        { "DNS:a.example", "a.example", true },
        { "DNS:a.example", "A.Example", true },
        { "DNS:a.example", "b.example", false },
        { "DNS:a.example", "a.example.org", false },
        { "DNS:a.example", "x.a.example", false },
        { "DNS:a.example", ".example", false },
        { "DNS:a.example", "example", false },
        { "DNS:*.example.org", "a.example.org", true },
        { "DNS:*.example.org", "a.b.example.org", false },
        { "DNS:*.example.org", "example.org", false },
        { "DNS:a*.example.org", "ab.example.org", false },
        { NULL, "a.example", false }, /* only its common name matches */
        { "DNS:b.example", "a.example", false },
    };
    struct tls *tls = tls_open_keys(*state);

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (link_takes(tls, *state, cases[i].names, cases[i].host) != cases[i].good)
            fail_msg("a link: %s for %s", cases[i].names ? cases[i].names : "", cases[i].host);
        if (conn_covers(tls, *state, cases[i].names, cases[i].host) != cases[i].good)
            fail_msg("a connection: %s for %s", cases[i].names ? cases[i].names : "", cases[i].host);
    }
    tls_close(tls);
}

static void names_are_not_verified_when_so_configured(void **state)
{
    struct tls_options options = tls_options_of(*state);
    struct tls *tls;

    options.host = NULL;
    tls = tls_open_with(&options);
    assert_false(tls_verifies_names(tls));
    assert_true(link_takes(tls, *state, "DNS:b.example", "a.example"));
    tls_close(tls);
}

/* ---- versions ---- */

/* The state of our end after a peer with only this version. */
static enum tls_state meets(struct tls *tls, const struct certificate *shown, bool accepts, int version,
                            const char *suite)
{
    struct tls_end *end = accepts ? tls_accept(tls, 0) : tls_connect(tls, 0, "127.0.0.1");
    enum tls_state result;
    struct peer peer;

    peer_init(&peer, shown, !accepts);
    assert_int_equal(SSL_set_min_proto_version(peer.ssl, version), 1);
    assert_int_equal(SSL_set_max_proto_version(peer.ssl, version), 1);
    if (suite)
        assert_int_equal(SSL_set_cipher_list(peer.ssl, suite), 1);
    SSL_set_dh_auto(peer.ssl, 1);
    peer_pump(&peer, end);
    result = tls_end_state(end);
    if (result == TLS_OPEN)
        assert_int_equal(SSL_version(peer.ssl), version);
    peer_fini(&peer);
    tls_end_free(end);
    return result;
}

static void old_versions_are_refused(void **state)
{
    const struct certificate_options good = { .names = "IP:127.0.0.1" };
    const struct certificate_options rsa = { .names = "IP:127.0.0.1", .is_rsa = true };
    struct keys *keys = *state;
    struct certificate *shown = certificate_new(keys->ca, &rsa);
    struct tls_options options = tls_options_of(keys);
    struct tls *tls;

    keys_replace(keys, NULL, &rsa);
    tls = tls_open_with(&options);
    for (int accepts = 0; accepts < 2; accepts++) {
        assert_int_equal(meets(tls, shown, accepts, TLS1_VERSION, NULL), TLS_FAILED);
        assert_int_equal(meets(tls, shown, accepts, TLS1_1_VERSION, NULL), TLS_FAILED);
        assert_int_equal(meets(tls, shown, accepts, TLS1_2_VERSION, NULL), TLS_FAILED);
        assert_int_equal(meets(tls, shown, accepts, TLS1_3_VERSION, NULL), TLS_OPEN);
    }
    tls_close(tls);

    options.allows_1_2 = true; /* as a JVM needs it */
    tls = tls_open_with(&options);
    for (int accepts = 0; accepts < 2; accepts++) {
        assert_int_equal(meets(tls, shown, accepts, TLS1_1_VERSION, NULL), TLS_FAILED);
        assert_int_equal(meets(tls, shown, accepts, TLS1_2_VERSION, NULL), TLS_OPEN);
        assert_int_equal(meets(tls, shown, accepts, TLS1_2_VERSION, "DHE-RSA-AES256-GCM-SHA384"), TLS_OPEN);
        assert_int_equal(meets(tls, shown, accepts, TLS1_2_VERSION, "ECDHE-RSA-AES256-GCM-SHA384"), TLS_OPEN);
        /* not listed */
        assert_int_equal(meets(tls, shown, accepts, TLS1_2_VERSION, "AES128-SHA"), TLS_FAILED);
        assert_int_equal(meets(tls, shown, accepts, TLS1_2_VERSION, "aNULL"), TLS_FAILED);
        assert_int_equal(meets(tls, shown, accepts, TLS1_3_VERSION, NULL), TLS_OPEN);
    }
    tls_close(tls);
    certificate_free(shown);
    keys_replace(keys, NULL, &good);
}

/* ---- disabled features of TLS ---- */

static size_t take_all(struct peer *peer, uint8_t *bytes, size_t size)
{
    int had = BIO_read(peer->out, bytes, (int)size);

    return had > 0 ? (size_t)had : 0;
}

/* After a handshake of TLS 1.2 the peer asks for another. */
static void renegotiation_is_refused(void **state)
{
    const struct keys *keys = *state;
    struct tls_options options = tls_options_of(keys);
    uint8_t bytes[4096], plain[16];
    struct tls *tls;

    options.allows_1_2 = true;
    tls = tls_open_with(&options);
    for (int accepts = 0; accepts < 2; accepts++) {
        struct tls_end *end = accepts ? tls_accept(tls, 0) : tls_connect(tls, 0, "127.0.0.1");
        struct peer peer;

        peer_init(&peer, keys->node, !accepts);
        assert_int_equal(SSL_set_max_proto_version(peer.ssl, TLS1_2_VERSION), 1);
        peer_pump(&peer, end);
        assert_int_equal(tls_end_state(end), TLS_OPEN);
        assert_int_equal(SSL_renegotiate(peer.ssl), 1);
        (void)SSL_do_handshake(peer.ssl); /* asks for it */
        tls_end_feed(end, slice_of(bytes, take_all(&peer, bytes, sizeof bytes)));
        assert_int_equal(tls_end_read(end, plain, sizeof plain), 0);
        assert_int_equal(tls_end_state(end), TLS_FAILED);
        assert_string_equal(tls_end_why(end), "TLS: the peer wants to renegotiate");
        peer_fini(&peer);
        tls_end_free(end);
    }
    tls_close(tls);
}

/* A session of another server that allows early data, which our nodes never do. */
static SSL_SESSION *session_elsewhere(const struct certificate *shown)
{
    struct peer server, client;
    SSL_SESSION *session;
    uint8_t bytes[8192];

    peer_init(&server, shown, true);
    peer_init(&client, shown, false);
    assert_int_equal(SSL_set_max_early_data(server.ssl, 1000), 1);
    for (int i = 0; i < 10; i++) {
        size_t size;

        (void)SSL_do_handshake(client.ssl);
        if ((size = take_all(&client, bytes, sizeof bytes)) > 0)
            (void)BIO_write(server.in, bytes, (int)size);
        (void)SSL_do_handshake(server.ssl);
        if ((size = take_all(&server, bytes, sizeof bytes)) > 0)
            (void)BIO_write(client.in, bytes, (int)size);
        (void)SSL_read(client.ssl, bytes, 1); /* takes the ticket */
    }
    session = SSL_SESSION_dup(SSL_get0_session(client.ssl)); /* the first ends early */
    assert_non_null(session);
    assert_int_equal(SSL_SESSION_get_max_early_data(session), 1000);
    peer_fini(&server);
    peer_fini(&client);
    return session;
}

/* Early data could be a replay. */
static void early_data_is_refused(void **state)
{
    const struct keys *keys = *state;
    SSL_SESSION *session = session_elsewhere(keys->node);
    struct tls *tls = tls_open_keys(keys);
    struct tls_end *conn = tls_accept(tls, 0);
    uint8_t bytes[8192], plain[16];
    struct peer peer;
    size_t said = 0;

    peer_init(&peer, keys->node, false);
    assert_int_equal(SSL_set_session(peer.ssl, session), 1);
    assert_int_equal(SSL_write_early_data(peer.ssl, "AKKA\1", 5, &said), 1);
    assert_int_equal(said, 5);
    tls_end_feed(conn, slice_of(bytes, take_all(&peer, bytes, sizeof bytes)));
    assert_int_equal(tls_end_read(conn, plain, sizeof plain), 0);
    assert_int_equal(tls_end_state(conn), TLS_FAILED);
    assert_string_equal(tls_end_why(conn), "TLS: too much early data");
    peer_fini(&peer);
    SSL_SESSION_free(session);
    tls_end_free(conn);
    tls_close(tls);
}

/* Replays a valid peer's bytes on another connection. */
static void a_replayed_connection_is_refused(void **state)
{
    struct tls *tls = tls_open_keys(*state);
    struct tls_end *link = tls_connect(tls, 0, "127.0.0.1");
    struct tls_end *first = tls_accept(tls, 0), *second = tls_accept(tls, 0);
    uint8_t plain[64];
    bool any = true;

    for (int turn = 0; any; turn++) {
        struct slice bytes;

        any = tls_end_pending(link, &bytes);
        if (any) {
            tls_end_feed(first, bytes);
            tls_end_feed(second, bytes);
            tls_end_sent(link, bytes.size);
        }
        if (!turn)
            assert_int_equal(tls_end_state(second), TLS_SHAKING);
        while (tls_carry(first, link, 10000))
            any = true;
        if (tls_end_state(link) == TLS_OPEN && turn < 3)
            tls_end_write(link, slice_text("AKKA\1"));
    }
    assert_int_equal(tls_end_state(first), TLS_OPEN);
    assert_true(tls_end_read(first, plain, sizeof plain) > 0);
    assert_int_equal(tls_end_state(second), TLS_FAILED);
    assert_non_null(strstr(tls_end_why(second), "bad record mac"));
    assert_int_equal(tls_end_read(second, plain, sizeof plain), 0);
    tls_end_free(link);
    tls_end_free(first);
    tls_end_free(second);
    tls_close(tls);
}

/* ---- other protocols ---- */

static void fed(struct tls *tls, struct slice bytes, const char *why)
{
    struct tls_end *conn = tls_accept(tls, 0);

    tls_end_feed(conn, bytes);
    assert_int_equal(tls_end_state(conn), why ? TLS_FAILED : TLS_SHAKING);
    if (why && !strstr(tls_end_why(conn), why))
        fail_msg("\"%s\", not \"%s\"", tls_end_why(conn), why);
    tls_end_free(conn);
}

static void other_protocols_are_refused_at_their_first_byte(void **state)
{
    struct tls *tls = tls_open_keys(*state);

    fed(tls, slice_text("AKKA\1"), "does not speak TLS");
    fed(tls, slice_text("G"), "does not speak TLS");
    fed(tls, slice_text("SSH-2.0-x\r\n"), "does not speak TLS");
    fed(tls, slice_of("\x15\3\1\0\2\1\0", 7), "does not speak TLS"); /* an alert */
    fed(tls, slice_of("\x80\x2e\1\0\2", 5), "does not speak TLS");   /* version 2 */
    fed(tls, slice_of("\x16\3\1\x50\1", 5), "the handshake is too long");
    /* the largest record; more than a handshake may have */
    fed(tls, slice_of("\x16\3\1\x40\1", 5), "the handshake is too long");
    fed(tls, slice_of("\x16\2\1\0\1", 5), "does not speak TLS"); /* no such version */
    fed(tls, slice_of("\x16\3\1\0\1\2", 6), NULL); /* an incomplete message */
    fed(tls, slice_of("\x16\3\1\0\4\2\0\0\0", 9), "unexpected message");
    tls_close(tls);
}

static void is_bounded(struct tls *tls, size_t most)
{
    uint8_t record[] = { 22, 3, 1, 0, 1, 0 }; /* of one byte */
    const uint8_t message[] = { 1, TLS_HELLO_BYTES_MAX >> 16, TLS_HELLO_BYTES_MAX >> 8 & 0xff, TLS_HELLO_BYTES_MAX & 0xff };
    struct tls_end *conn = tls_accept(tls, 0);
    size_t total = 0;

    while (tls_end_state(conn) == TLS_SHAKING && total < 10 * most) {
        record[5] = total / sizeof record < sizeof message ? message[total / sizeof record] : 0;
        tls_end_feed(conn, slice_of(record, sizeof record));
        total += sizeof record;
    }
    assert_int_equal(tls_end_state(conn), TLS_FAILED);
    assert_non_null(strstr(tls_end_why(conn), "the handshake is too long"));
    assert_in_range(total, most, most + sizeof record);
    tls_end_free(conn);
    tls_close(tls);
}

/* A hello within its limit comes in valid records of one byte: it is refused. limit:
 * TLS_HANDSHAKE_BYTES_MAX, or as configured */
static void a_handshake_is_bounded(void **state)
{
    struct tls_options options = tls_options_of(*state);

    is_bounded(tls_open_keys(*state), TLS_HANDSHAKE_BYTES_MAX);
    options.handshake_bytes_max = 4096;
    is_bounded(tls_open_with(&options), 4096);
}

/* limit: TLS_HELLO_BYTES_MAX. Refused before it has come, in one or several records, the first or
 * the second hello. */
static void a_hello_is_bounded(void **state)
{
    struct tls *tls = tls_open_keys(*state);
    const uint8_t below[] = { 22, 3, 1, 0, 4, 1, 0, TLS_HELLO_BYTES_MAX >> 8, 0 };
    const uint8_t above[] = { 22, 3, 1, 0, 4, 1, 0, TLS_HELLO_BYTES_MAX >> 8, 1 };
    const uint8_t in_two[] = { 22, 3, 1, 0, 2, 1, 0, 22, 3, 1, 0, 2, TLS_HELLO_BYTES_MAX >> 8, 1 };

    fed(tls, slice_of(below, sizeof below), NULL);
    fed(tls, slice_of(above, sizeof above), "the peer's hello is too long");
    fed(tls, slice_of(in_two, sizeof in_two), "the peer's hello is too long");
    tls_close(tls);
}

/* A server's request for other keys causes a second hello. */
static void a_second_hello_is_bounded(void **state)
{
    const struct keys *keys = *state;
    const uint8_t above[] = { 20, 3, 3, 0, 1, 1, 22, 3, 3, 0, 4, 1, 0, TLS_HELLO_BYTES_MAX >> 8, 1 };
    struct tls *tls = tls_open_keys(keys);
    struct tls_end *conn = tls_accept(tls, 0);
    uint8_t bytes[4096];
    struct peer peer;

    peer_init(&peer, keys->node, false);
    (void)SSL_do_handshake(peer.ssl);
    tls_end_feed(conn, slice_of(bytes, take_all(&peer, bytes, sizeof bytes)));
    assert_int_equal(tls_end_state(conn), TLS_SHAKING);
    tls_end_feed(conn, slice_of(above, sizeof above));
    assert_int_equal(tls_end_state(conn), TLS_FAILED);
    assert_non_null(strstr(tls_end_why(conn), "the peer's hello is too long"));
    peer_fini(&peer);
    tls_end_free(conn);
    tls_close(tls);
}

/* Records are small only during the handshake: each costs 22 bytes, and time. */
static void an_open_end_fills_its_records(void **state)
{
    static uint8_t plain[TLS_PIECE_SIZE];
    struct tls *tls = tls_open_keys(*state);
    struct tls_end *link = tls_connect(tls, 0, "127.0.0.1"), *conn = tls_accept(tls, 0);
    struct slice pending;

    tls_pump(link, conn, sizeof plain);
    assert_int_equal(tls_end_state(link), TLS_OPEN);
    tls_end_write(link, slice_of(plain, sizeof plain));
    assert_true(tls_end_pending(link, &pending));
    assert_int_equal(pending.size, sizeof plain + 2 * 22);
    tls_end_free(link);
    tls_end_free(conn);
    tls_close(tls);
}

/* A peer requests new keys repeatedly, and reads no answer. */
static void answers_are_bounded(void **state)
{
    const struct keys *keys = *state;
    struct tls *tls = tls_open_keys(keys);
    struct tls_end *conn = tls_accept(tls, 0);
    struct slice pending = { 0 };
    uint8_t bytes[16384], plain[16];
    struct peer peer;
    int size;

    peer_init(&peer, keys->node, false);
    peer_pump(&peer, conn);
    assert_int_equal(tls_end_state(conn), TLS_OPEN);
    for (int i = 0; tls_end_state(conn) == TLS_OPEN; i++) {
        assert_true(i < TLS_ANSWERS_MAX);
        assert_int_equal(SSL_key_update(peer.ssl, SSL_KEY_UPDATE_REQUESTED), 1);
        (void)SSL_do_handshake(peer.ssl);
        while ((size = BIO_read(peer.out, bytes, sizeof bytes)) > 0)
            tls_end_feed(conn, slice_of(bytes, (size_t)size));
        assert_int_equal(tls_end_read(conn, plain, sizeof plain), 0);
    }
    (void)tls_end_pending(conn, &pending);
    assert_true(pending.size > TLS_ANSWERS_MAX && pending.size < TLS_ANSWERS_MAX + 100);
    assert_non_null(strstr(tls_end_why(conn), "more TLS replies than it reads"));
    peer_fini(&peer);
    tls_end_free(conn);
    tls_close(tls);
}

/* Cut after any number of bytes it is pending, unlike an ended one. */
static void an_incomplete_handshake_stays_pending(void **state)
{
    struct tls *tls = tls_open_keys(*state);
    size_t whole = 0;

    for (size_t cut = 1; !whole; cut += 97) {
        struct tls_end *link = tls_connect(tls, 0, "127.0.0.1");
        struct tls_end *conn = tls_accept(tls, 0);
        size_t went = 0;
        struct slice bytes;

        do {
            if (!tls_end_pending(link, &bytes))
                break;
            bytes.size = bytes.size < cut - went ? bytes.size : cut - went;
            tls_end_feed(conn, bytes);
            tls_end_sent(link, bytes.size);
            went += bytes.size;
            while (tls_carry(conn, link, 10000))
                ;
        } while (went < cut);
        if (tls_end_state(conn) == TLS_OPEN)
            whole = went;
        else
            assert_int_equal(tls_end_state(conn), TLS_SHAKING);
        tls_end_free(link);
        tls_end_free(conn);
    }
    assert_true(whole > 500);
    tls_close(tls);
}

/* ---- files ---- */

static void not_opened_with(struct keys *keys, const struct certificate_options *certificate, const char *why)
{
    struct tls_options options = tls_options_of(keys);

    keys_replace(keys, NULL, certificate);
    tls_not_opened(&options, why);
}

static void files_that_cannot_be_used_are_refused(void **state)
{
    const struct certificate_options good = { .names = "IP:127.0.0.1" };
    const struct certificate_options old = { .names = "IP:127.0.0.1", .from_s = -7200, .to_s = -1 };
    const struct certificate_options early = { .names = "IP:127.0.0.1", .from_s = 1000, .to_s = 86400 };
    const struct certificate_options elsewhere = { .names = "IP:127.0.0.2" };
    struct certificate *other;
    struct tls_options options;
    struct keys keys;
    (void)state;

    keys_init(&keys);
    options = tls_options_of(&keys);
    options.certificate = "/nowhere/node.pem";
    tls_not_opened(&options, "certificate \"/nowhere/node.pem\": No such file");
    options = tls_options_of(&keys);
    options.key = "";
    tls_not_opened(&options, "key \"\": no file is named");
    options = tls_options_of(&keys);
    options.ca = keys.key_path;
    tls_not_opened(&options, "node.key: ");
    options = tls_options_of(&keys);
    options.algorithms = (const char *const[]){ "TLS_AES_256_GCM_SHA384", "TLS_NO_SUCH_SUITE" };
    options.algorithm_count = 2;
    tls_not_opened(&options, "\"TLS_NO_SUCH_SUITE\" is not known");
    options.algorithm_count = 1;
    options.allows_1_2 = true;
    tls_not_opened(&options, "no cipher suite");
    not_opened_with(&keys, &old, "the certificate has expired");
    not_opened_with(&keys, &early, "the certificate is not valid yet");
    not_opened_with(&keys, &elsewhere, "no alternative name for this node's host 127.0.0.1");
    other = certificate_new(NULL, &good);
    keys_replace(&keys, NULL, &good);
    certificate_write_key(other, keys.key_path, NULL);
    options = tls_options_of(&keys);
    tls_not_opened(&options, "key values mismatch");
    certificate_write_key(keys.node, keys.key_path, "secret");
    tls_not_opened(&options, "node.key: ");
    certificate_free(other);
    keys_fini(&keys);
}

/* A connection at this time uses a certificate with this name. */
static void serves(struct tls *tls, uint64_t now, const char *host)
{
    struct tls_end *link, *conn;

    tls_look_now(tls, now);
    link = tls_connect(tls, now, host);
    conn = tls_accept(tls, now);
    tls_pump(link, conn, 1000);
    if (tls_end_state(link) != TLS_OPEN)
        fail_msg("%s at %u s: %s", host, (unsigned)(now / SECOND), tls_end_why(link));
    tls_end_free(link);
    tls_end_free(conn);
}

/* A user who can write the key or the CAs can run a node. */
static void files_that_others_may_write_are_refused(void **state)
{
    static const struct {
        mode_t key, ca;
        const char *why, *warning; /* why null: it opens */
    } rows[] = {
        { 0600, 0664, NULL, "" },
        { 0640, 0644, NULL, "" },
        { 0644, 0644, NULL,
          "every user of this machine can read this node's key, and be this node "
          "hint=\"chmod o-r the key file\"" },
        { 0660, 0644, "node.key: users other than its owner can write it", "" },
        { 0602, 0644, "node.key: users other than its owner can write it", "" },
        { 0600, 0646, "ca.pem: every user of this machine can write it", "" },
    };
    struct tls_options options;
    struct keys keys;
    struct tls *tls;
    (void)state;

    keys_init(&keys);
    options = tls_options_of(&keys);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(chmod(keys.key_path, rows[i].key), 0);
        assert_int_equal(chmod(keys.ca_path, rows[i].ca), 0);
        tls_logged[0] = 0;
        if (rows[i].why)
            tls_not_opened(&options, rows[i].why);
        else
            tls_close(tls_open_with(&options));
        assert_string_equal(tls_logged, rows[i].warning);
    }
    assert_int_equal(chmod(keys.ca_path, 0644), 0);
    tls = tls_open_with(&options);
    assert_int_equal(chmod(keys.key_path, 0606), 0); /* a changed mode counts */
    serves(tls, 2 * SECOND, "localhost");
    assert_non_null(strstr(tls_logged, "changed TLS files rejected"));
    assert_non_null(strstr(tls_logged, "users other than its owner can write it"));
    assert_int_equal(chmod(keys.key_path, 0604), 0);
    serves(tls, 4 * SECOND, "localhost");
    assert_non_null(strstr(tls_logged, "every user of this machine can read"));
    tls_close(tls);
    keys_fini(&keys);
}

/* The node goes on with what it read, but could not start again. */
static void a_deleted_file_makes_the_files_unusable_until_it_is_back(void **state)
{
    struct tls_options options;
    struct keys keys;
    struct tls *tls;
    char moved[300];
    (void)state;

    keys_init(&keys);
    options = tls_options_of(&keys);
    options.reload_after = 300 * SECOND; /* is not awaited */
    tls = tls_open_with(&options);
    (void)snprintf(moved, sizeof moved, "%s.moved", keys.key_path);
    tls_logged[0] = 0;
    tls_look_now(tls, SECOND);
    assert_true(tls_is_usable(tls));
    assert_true(tls_expires_at(tls) > (int64_t)time(NULL)); /* the metrics have it */
    assert_int_equal(rename(keys.key_path, moved), 0);
    tls_look_now(tls, 2 * SECOND);
    assert_true(tls_is_usable(tls)); /* some programs replace a file by deleting it first */
    assert_string_equal(tls_logged, "");
    tls_look_now(tls, 3 * SECOND);
    assert_false(tls_is_usable(tls));
    assert_non_null(strstr(tls_logged, "changed TLS files rejected, old ones stay in use why=\"key "));
    assert_non_null(strstr(tls_logged, "No such file"));
    tls_logged[0] = 0;
    serves(tls, 4 * SECOND, "localhost"); /* by the former files */
    assert_string_equal(tls_logged, ""); /* reported once */
    assert_int_equal(rename(moved, keys.key_path), 0);
    tls_look_now(tls, 5 * SECOND);
    assert_true(tls_is_usable(tls));
    assert_string_equal(tls_logged, "changed TLS files are in use");
    tls_close(tls);
    keys_fini(&keys);
}

static void unusable_files_are_read_again_without_waiting(void **state)
{
    const struct certificate_options second = { .names = "IP:127.0.0.1,DNS:second" };
    struct tls_options options;
    struct keys keys;
    struct tls *tls;
    (void)state;

    keys_init(&keys);
    options = tls_options_of(&keys);
    options.reload_after = 300 * SECOND;
    tls = tls_open_with(&options);
    assert_int_equal(chmod(keys.key_path, 0606), 0);
    tls_look_now(tls, 299 * SECOND);
    assert_true(tls_is_usable(tls)); /* not read yet */
    tls_look_now(tls, 300 * SECOND);
    assert_false(tls_is_usable(tls));
    keys_replace(&keys, NULL, &second);
    assert_int_equal(chmod(keys.key_path, 0600), 0);
    serves(tls, 301 * SECOND, "second");
    assert_true(tls_is_usable(tls));
    tls_close(tls);
    keys_fini(&keys);
}

static void changed_files_are_read_again(void **state)
{
    const struct certificate_options second = { .names = "IP:127.0.0.1,DNS:second" };
    const struct certificate_options third = { .names = "IP:127.0.0.1,DNS:third" };
    const struct certificate_options wrong = { .names = "DNS:wrong" };
    struct certificate *other;
    struct tls_end *link, *conn;
    struct keys keys;
    struct tls *tls;
    (void)state;

    keys_init(&keys);
    tls = tls_open_keys(&keys);
    link = tls_connect(tls, 0, "localhost");
    conn = tls_accept(tls, 0);
    tls_pump(link, conn, 1000);
    tls_logged[0] = 0;
    serves(tls, 2 * SECOND, "localhost");
    assert_string_equal(tls_logged, ""); /* no change */

    keys_replace(&keys, NULL, &second);
    serves(tls, 2 * SECOND + SECOND / 2, "localhost"); /* too early for a look */
    serves(tls, 4 * SECOND, "second");
    assert_non_null(strstr(tls_logged, "in use"));
    /* Open connections stay. */
    tls_end_write(link, slice_text("still here"));
    tls_pump(link, conn, 1000);
    assert_int_equal(tls_end_read(conn, (uint8_t[16]){ 0 }, 16), 10);

    /* First the certificate, then its key, like separate copies. */
    other = certificate_new(keys.ca, &third);
    certificate_write(other, keys.node_path);
    tls_logged[0] = 0;
    serves(tls, 6 * SECOND, "second");
    assert_non_null(strstr(tls_logged, "key values mismatch"));
    tls_logged[0] = 0;
    serves(tls, 8 * SECOND, "second");
    assert_string_equal(tls_logged, ""); /* reported once */
    certificate_write_key(other, keys.key_path, NULL);
    serves(tls, 10 * SECOND, "third");

    keys_replace(&keys, NULL, &wrong);
    serves(tls, 12 * SECOND, "third");
    assert_non_null(strstr(tls_logged, "no alternative name"));
    assert_int_equal(rename(keys.ca_path, keys.key_path), 0);
    serves(tls, 14 * SECOND, "third");
    assert_non_null(strstr(tls_logged, "No such file"));
    certificate_free(other);
    tls_end_free(link);
    tls_end_free(conn);
    tls_close(tls);
    keys_fini(&keys);
}

/* limit: TLS_FILE_MAX */
static void endless_files_are_refused(void **state)
{
    struct certificate *other;
    struct tls_options options;
    struct keys keys;
    struct tls *tls;
    FILE *file;
    (void)state;

    keys_init(&keys);
    options = tls_options_of(&keys);
    options.crl = options.secret = options.pins_file = NULL;
    for (int i = 0; i < 6; i++) {
        struct tls_options one = options;
        const char **paths[] = { &one.certificate, &one.key, &one.ca, &one.crl, &one.secret, &one.pins_file };

        *paths[i] = "/dev/zero";
        tls_not_opened(&one, "\"/dev/zero\": it is no regular file");
    }
    tls = tls_open_with(&options);
    assert_int_equal(unlink(keys.key_path), 0);
    assert_int_equal(mkfifo(keys.key_path, 0600), 0);
    tls_logged[0] = 0;
    serves(tls, 2 * SECOND, "localhost");
    assert_non_null(strstr(tls_logged, "changed TLS files rejected"));
    assert_non_null(strstr(tls_logged, "it is no regular file"));
    tls_logged[0] = 0;
    serves(tls, 4 * SECOND, "localhost");
    assert_string_equal(tls_logged, ""); /* reported once */
    assert_int_equal(unlink(keys.key_path), 0);
    other = certificate_new(keys.ca, &(struct certificate_options){ .names = "IP:127.0.0.1,DNS:other" });
    certificate_write(other, keys.node_path);
    certificate_write_key(other, keys.key_path, NULL);
    serves(tls, 6 * SECOND, "other");
    file = fopen(keys.ca_path, "r+");
    assert_non_null(file);
    assert_int_equal(ftruncate(fileno(file), TLS_FILE_MAX + 1), 0);
    tls_not_opened(&options, "it is too large");
    assert_int_equal(ftruncate(fileno(file), TLS_FILE_MAX), 0);
    assert_int_equal(fclose(file), 0);
    tls_close(tls_open_with(&options));
    certificate_free(other);
    tls_close(tls);
    keys_fini(&keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_arrive_however_they_are_cut),
        cmocka_unit_test(a_changed_byte_ends_the_connection),
        cmocka_unit_test(bad_certificates_are_refused_both_ways),
        cmocka_unit_test(certificates_for_another_use_are_refused),
        cmocka_unit_test(a_peer_without_a_certificate_is_refused),
        cmocka_unit_test(names_are_verified_both_ways),
        cmocka_unit_test(names_are_not_verified_when_so_configured),
        cmocka_unit_test(old_versions_are_refused),
        cmocka_unit_test(renegotiation_is_refused),
        cmocka_unit_test(early_data_is_refused),
        cmocka_unit_test(a_replayed_connection_is_refused),
        cmocka_unit_test(other_protocols_are_refused_at_their_first_byte),
        cmocka_unit_test(a_handshake_is_bounded),
        cmocka_unit_test(a_hello_is_bounded),
        cmocka_unit_test(an_open_end_fills_its_records),
        cmocka_unit_test(a_second_hello_is_bounded),
        cmocka_unit_test(answers_are_bounded),
        cmocka_unit_test(an_incomplete_handshake_stays_pending),
        cmocka_unit_test(files_that_cannot_be_used_are_refused),
        cmocka_unit_test(files_that_others_may_write_are_refused),
        cmocka_unit_test(a_deleted_file_makes_the_files_unusable_until_it_is_back),
        cmocka_unit_test(unusable_files_are_read_again_without_waiting),
        cmocka_unit_test(changed_files_are_read_again),
        cmocka_unit_test(endless_files_are_refused),
    };

    return cmocka_run_group_tests_name("tls", tests, tls_make_keys, tls_remove_keys);
}
