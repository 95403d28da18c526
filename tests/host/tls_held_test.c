/* Tests the memory that a peer without a verified certificate can occupy in OpenSSL and in an end.
 * Measured after each byte of a handshake and at its limits. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/ssl.h>

#include "base/limits.h"
#include "host/tls_record.h"
#include "tls_ends.h"

#define HELD_MAX (64 * 1024)
#define END_SIZE 512 /* larger than an end's struct */

static long held; /* bytes held by OpenSSL */

static void *hold(size_t size, const char *file, int line)
{
    void *bytes = malloc(size);

    (void)file;
    (void)line;
    held += (long)malloc_usable_size(bytes);
    return bytes;
}

static void *hold_again(void *bytes, size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    held -= (long)malloc_usable_size(bytes);
    bytes = realloc(bytes, size);
    held += (long)malloc_usable_size(bytes);
    return bytes;
}

static void let_go(void *bytes, const char *file, int line)
{
    (void)file;
    (void)line;
    held -= (long)malloc_usable_size(bytes);
    free(bytes);
}

/* An accepting end and its memory, without the test peer's. */
struct measure {
    struct tls_end *end;
    struct tls_records records; /* like the end's own */
    long bytes, most;
};

static void count(struct measure *measure, long before)
{
    long all;

    measure->bytes += held - before;
    all = measure->bytes + (long)measure->records.record.capacity;
    if (all > measure->most)
        measure->most = all;
}

static void begin(struct measure *measure, struct tls *tls)
{
    long before = held;

    *measure = (struct measure){ .end = tls_accept(tls, 0), .bytes = END_SIZE };
    count(measure, before);
}

static void feed(struct measure *measure, const void *bytes, size_t size)
{
    struct slice rest = slice_of(bytes, size);
    enum tls_record record = TLS_RECORD_PART;
    long before = held;

    tls_end_feed(measure->end, rest);
    while (rest.size && record <= TLS_RECORD_WHOLE) {
        record = tls_records_take(&measure->records, TLS_HANDSHAKE_BYTES_MAX, &rest);
        if (record != TLS_RECORD_PART)
            buf_fini(&measure->records.record);
    }
    count(measure, before);
}

static void ends(struct measure *measure, const char *what)
{
    tls_end_free(measure->end);
    buf_fini(&measure->records.record);
    print_message("%s: %ld bytes\n", what, measure->most);
    if (measure->most > HELD_MAX)
        fail_msg("%s: %ld bytes are held", what, measure->most);
}

/* OpenSSL allocates its permanent memory. */
static void warm_up(struct tls *tls, const struct certificate *shown)
{
    struct tls_end *end = tls_accept(tls, 0);
    struct peer peer;

    peer_init(&peer, shown, false);
    peer_pump(&peer, end);
    peer_fini(&peer);
    tls_end_free(end);
}

static struct tls *open_tls(const struct keys *keys)
{
    struct tls_options options = tls_options_of(keys);
    struct tls *tls;

    options.allows_1_2 = true;
    tls = tls_open_with(&options);
    warm_up(tls, keys->node);
    return tls;
}

static void a_silent_peer_costs_little_memory(void **state)
{
    struct tls *tls = open_tls(*state);
    struct measure measure;

    begin(&measure, tls);
    ends(&measure, "nothing was said");
    begin(&measure, tls);
    feed(&measure, "\x16\3\1\1\0\1\0\0\xfc\3\3", 11);
    assert_int_equal(tls_end_state(measure.end), TLS_SHAKING);
    ends(&measure, "the beginning of a hello");
    tls_close(tls);
}

/* Sends a hello in records until the end has enough, at once or record by record. */
static void says_hello(struct tls *tls, size_t announced, size_t record_size, bool at_once, const char *what)
{
    static uint8_t bytes[3 * TLS_HANDSHAKE_BYTES_MAX];
    struct measure measure;
    size_t size = 0, first = record_size + 5;

    memset(bytes, 0, sizeof bytes);
    while (size + first <= sizeof bytes) {
        memcpy(bytes + size, "\x16\3\1", 3);
        bytes[size + 3] = (uint8_t)(record_size >> 8);
        bytes[size + 4] = (uint8_t)record_size;
        size += first;
    }
    for (size_t i = 0; i < 4; i++) { /* also records that split kind and length */
        size_t at = i / record_size * first + 5 + i % record_size;

        bytes[at] = i ? (uint8_t)(announced >> (8 * (3 - i))) : 1;
    }
    begin(&measure, tls);
    if (at_once)
        feed(&measure, bytes, size);
    for (size_t at = 0; !at_once && at < size && tls_end_state(measure.end) == TLS_SHAKING; at += first - 1)
        feed(&measure, bytes + at, first - 1 < size - at ? first - 1 : size - at);
    assert_int_equal(tls_end_state(measure.end), TLS_FAILED);
    ends(&measure, what);
}

/* limit: TLS_HELLO_BYTES_MAX */
static void half_a_hello_is_bounded(void **state)
{
    struct tls *tls = open_tls(*state);

    says_hello(tls, TLS_HELLO_BYTES_MAX, 1, false, "a hello at the limit in records of one byte");
    says_hello(tls, TLS_HELLO_BYTES_MAX, 100, false, "a hello at the limit in small records");
    says_hello(tls, TLS_HELLO_BYTES_MAX, 100, true, "a hello at the limit in small records at once");
    says_hello(tls, TLS_HELLO_BYTES_MAX, 16384, false, "a hello at the limit in large records");
    says_hello(tls, TLS_HELLO_BYTES_MAX, 16384, true, "a hello at the limit in large records at once");
    says_hello(tls, TLS_HELLO_BYTES_MAX + 1, 1, false, "a hello above the limit in records of one byte");
    says_hello(tls, TLS_HELLO_BYTES_MAX + 1, 16384, false, "a hello above the limit in large records");
    says_hello(tls, 131000, 16384, false, "a hello of 128 KiB");
    tls_close(tls);
}

/* Both ways, the peer's bytes in pieces, until the end has the last one or is open. */
static void shakes_hands(struct measure *measure, struct peer *peer, int piece, int kept_back)
{
    uint8_t bytes[16384];
    struct slice pending;
    int size = 1;

    while (size > 0) {
        (void)SSL_do_handshake(peer->ssl);
        size = BIO_read(peer->out, bytes, sizeof bytes);
        if (SSL_get_peer_cert_chain(peer->ssl)) /* its last messages */
            size -= kept_back;
        for (int i = 0; i < size; i += piece)
            feed(measure, bytes + i, (size_t)(piece < size - i ? piece : size - i));
        while (tls_end_pending(measure->end, &pending)) {
            assert_int_equal(BIO_write(peer->in, pending.data, (int)pending.size), pending.size);
            tls_end_sent(measure->end, pending.size);
            size = 1;
        }
    }
}

/* Three large certificates, as a peer's chain. */
struct chain {
    struct certificate *first, *second, *last;
};

static void chain_init(struct chain *chain, const struct certificate *root)
{
    static char names[2048];
    int size = snprintf(names, sizeof names, "IP:127.0.0.1");

    for (int i = 0; i < 4; i++)
        size += snprintf(names + size, sizeof names - (size_t)size, ",DNS:node-%d.cluster.example.org", i);
    chain->first = certificate_new(root, &(struct certificate_options){ .name = "first", .names = names, .is_ca = true, .is_rsa = true });
    chain->second = certificate_new(chain->first, &(struct certificate_options){ .name = "second", .names = names, .is_ca = true, .is_rsa = true });
    chain->last = certificate_new(chain->second, &(struct certificate_options){ .names = names, .is_rsa = true });
}

static void chain_fini(struct chain *chain)
{
    certificate_free(chain->first);
    certificate_free(chain->second);
    certificate_free(chain->last);
}

static void a_chain(struct tls *tls, const struct chain *chain, int version, int piece, int kept_back, const char *what)
{
    struct measure measure;
    struct peer peer;

    begin(&measure, tls);
    peer_init(&peer, chain->last, false);
    certificate_show(chain->second, peer.ssl);
    certificate_show(chain->first, peer.ssl);
    assert_int_equal(SSL_set_max_proto_version(peer.ssl, version), 1);
    shakes_hands(&measure, &peer, piece, kept_back);
    if (tls_end_state(measure.end) != (kept_back ? TLS_SHAKING : TLS_OPEN))
        fail_msg("state %d: %s", tls_end_state(measure.end), tls_end_why(measure.end));
    ends(&measure, what);
    peer_fini(&peer);
}

static void half_a_chain_is_bounded(void **state)
{
    const struct keys *keys = *state;
    struct tls *tls = open_tls(keys);
    struct chain chain;

    chain_init(&chain, keys->ca);
    a_chain(tls, &chain, TLS1_3_VERSION, 1, 0, "1.3 byte by byte");
    a_chain(tls, &chain, TLS1_3_VERSION, 16384, 0, "1.3 at once");
    a_chain(tls, &chain, TLS1_3_VERSION, 16384, 1, "1.3 at once, all but its last byte");
    a_chain(tls, &chain, TLS1_2_VERSION, 1, 0, "1.2 byte by byte");
    a_chain(tls, &chain, TLS1_2_VERSION, 16384, 0, "1.2 at once");
    a_chain(tls, &chain, TLS1_2_VERSION, 16384, 1, "1.2 at once, all but its last byte");
    chain_fini(&chain);
    tls_close(tls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_silent_peer_costs_little_memory),
        cmocka_unit_test(half_a_hello_is_bounded),
        cmocka_unit_test(half_a_chain_is_bounded),
    };

    if (CRYPTO_set_mem_functions(hold, hold_again, let_go) != 1) /* before its first allocation */
        return 1;
    return cmocka_run_group_tests_name("tls_held", tests, tls_make_keys, tls_remove_keys);
}
