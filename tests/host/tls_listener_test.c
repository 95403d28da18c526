/* Tests unknown nodes at a listener with and without TLS: each is refused, counted and logged, in
 * time and within limits. The listener runs in this thread's loop. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/ssl.h>
#include <uv.h>

#include "base/limits.h"
#include "certificates.h"
#include "host/listener.h"
#include "host/tls.h"

struct place {
    uv_loop_t loop;
    struct keys keys;
    struct tls *tls;
    struct listener *listener;
    char logged[512]; /* last line */
    uint64_t lines;
    struct accepted *given;
    bool wants_more; /* decide never has enough */
};

static enum node_accept decide(void *owner, struct slice first, uint32_t *machine, const char **why)
{
    struct place *place = owner;

    assert_true(first.size <= ACCEPT_BYTES_MAX);
    *machine = 0;
    if (place->wants_more)
        return NODE_MORE;
    *why = "not this protocol: wrong magic";
    if (first.size >= 4 && memcmp(first.data, "AKKA", 4) != 0)
        return NODE_REFUSE;
    return first.size >= 5 ? NODE_ACCEPT : NODE_MORE;
}

static void give(void *owner, uint32_t machine, struct accepted *accepted)
{
    struct place *place = owner;

    (void)machine;
    accepted_free(place->given);
    place->given = accepted;
}

static void keep_line(void *owner, enum trace_level level, const char *text)
{
    struct place *place = owner;

    assert_int_equal(level, TRACE_WARNING);
    (void)snprintf(place->logged, sizeof place->logged, "%s", text);
    place->lines++;
}

static void ignore_line(void *owner, enum trace_level level, const char *text)
{
    (void)owner;
    (void)level;
    (void)text;
}

#define HOUR_MS (60 * 60 * 1000)

/* Options besides certificates. */
struct wants {
    bool plain;
    bool pinned;        /* only its own key is pinned */
    bool timed; /* silent connections time out; otherwise none does, even on a stalled machine */
    const char *secret; /* file; null: none */
};

/* With empty revocation lists until a test writes others. */
static void place_open_with(struct place *place, const struct wants *wants)
{
    const struct crl_options nobody = { .revoked = NULL };
    static const char *const suites[] = { "TLS_AES_256_GCM_SHA384" };
    struct listener_owner owner = { .owner = place,
                                    .decide = decide,
                                    .give = give,
                                    .log = keep_line,
                                    .limits.preamble_ms = wants->timed ? 0 : HOUR_MS,
                                    .limits.frame_ms = wants->timed ? 0 : HOUR_MS };
    char pin[CERTIFICATE_PIN_SIZE];
    const char *pins[] = { pin };
    struct tls_options options;
    char error[640];

    memset(place, 0, sizeof *place);
    keys_init(&place->keys);
    (void)certificate_pin(place->keys.node, "%02x", pin);
    options = (struct tls_options){ .certificate = place->keys.node_path,
                                    .key = place->keys.key_path,
                                    .ca = place->keys.ca_path,
                                    .crl = place->keys.crl_path,
                                    .host = "127.0.0.1",
                                    .algorithms = suites,
                                    .algorithm_count = 1,
                                    .pins = pins,
                                    .pin_count = wants->pinned,
                                    .secret = wants->secret,
                                    .log = ignore_line };
    certificate_write_crl(place->keys.ca, &nobody, place->keys.crl_path);
    if (tls_open(&place->tls, &options, 0, error, sizeof error))
        fail_msg("%s", error);
    owner.tls = wants->plain ? NULL : place->tls;
    assert_int_equal(uv_loop_init(&place->loop), 0);
    assert_int_equal(listener_open(&place->listener, "127.0.0.1", 0, error, sizeof error), 0);
    assert_true(listener_is_loopback(place->listener));
    listener_start(place->listener, &place->loop, &owner);
}

static void place_open(struct place *place, bool plain)
{
    place_open_with(place, &(struct wants){ .plain = plain });
}

static struct listener_counters count(struct place *place)
{
    return listener_counters(place->listener);
}

static void place_close(struct place *place)
{
    /* at most one for each */
    assert_true(place->lines <= count(place).refused + count(place).late);
    listener_stop(place->listener);
    (void)uv_run(&place->loop, UV_RUN_DEFAULT);
    listener_free(place->listener);
    assert_int_equal(uv_loop_close(&place->loop), 0);
    accepted_free(place->given);
    tls_close(place->tls);
    keys_fini(&place->keys);
}

/* From 127.0.0.host, an address of its own. */
static int call_from(struct place *place, uint32_t host)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons(listener_port(place->listener)),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000000u + host) };
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof from), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

/* Runs the loop until the peer closes, or for `turns`. */
static bool is_hung_up(struct place *place, int fd, int turns)
{
    uint8_t bytes[4096];

    for (int i = 0; i < turns; i++) {
        ssize_t size = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);

        if (size == 0 || (size < 0 && errno == ECONNRESET))
            return true;
        (void)uv_run(&place->loop, UV_RUN_NOWAIT);
    }
    return false;
}

/* Waits until the peer closes. The limit is for a busy machine, on which even loopback connections deliver late. */
static bool hangs_up(struct place *place, int fd)
{
    uint64_t began = uv_hrtime();

    while (!is_hung_up(place, fd, 100)) {
        if (uv_hrtime() - began > 30000000000ull)
            return false;
        uv_sleep(1);
    }
    return true;
}

static void is_refused(struct place *place, int fd, const char *why)
{
    assert_true(hangs_up(place, fd));
    assert_int_equal(count(place).refused, 1);
    assert_int_equal(count(place).accepted, 0);
    assert_int_equal(place->lines, 1);
    if (!strstr(place->logged, why) || !strstr(place->logged, "connection refused from=127.0.0.1:"))
        fail_msg("\"%s\", not \"%s\"", place->logged, why);
    close(fd);
}

/* ---- TLS callers ---- */

struct caller {
    int fd;
    SSL_CTX *context;
    SSL *ssl;
};

static void caller_init(struct caller *caller, struct place *place, uint32_t host, const struct certificate *shown)
{
    caller->fd = call_from(place, host);
    assert_int_equal(fcntl(caller->fd, F_SETFL, O_NONBLOCK), 0);
    caller->context = certificate_context(shown);
    caller->ssl = SSL_new(caller->context);
    assert_int_equal(SSL_set_fd(caller->ssl, caller->fd), 1);
    SSL_set_connect_state(caller->ssl);
}

static void caller_fini(struct caller *caller)
{
    SSL_free(caller->ssl);
    SSL_CTX_free(caller->context);
    close(caller->fd);
}

/* Shakes hands as far as possible, then sends this. */
static void caller_says(struct caller *caller, struct place *place, const char *text)
{
    size_t said = 0;

    for (int i = 0; i < 1000 && !said; i++) {
        if (SSL_do_handshake(caller->ssl) == 1)
            /* 0: it was refused meanwhile */
            (void)SSL_write_ex(caller->ssl, text, strlen(text), &said);
        (void)uv_run(&place->loop, UV_RUN_NOWAIT);
    }
    for (int i = 0; i < 20; i++)
        (void)uv_run(&place->loop, UV_RUN_NOWAIT);
}

/* A valid peer is served afterwards. */
static void serves(struct place *place)
{
    uint64_t before = count(place).accepted;
    struct caller caller;

    caller_init(&caller, place, 77, place->keys.node);
    caller_says(&caller, place, "AKKA\1");
    assert_int_equal(count(place).accepted, before + 1);
    assert_int_equal(place->given->first.size, 5);
    assert_memory_equal(place->given->first.data, "AKKA\1", 5);
    assert_non_null(place->given->tls);
    assert_int_equal(tls_end_state(place->given->tls), TLS_OPEN);
    caller_fini(&caller);
}

static void a_good_peer_is_served(void **state)
{
    struct place place;
    (void)state;

    place_open(&place, false);
    serves(&place);
    assert_int_equal(count(&place).refused, 0);
    place_close(&place);
}

/* ---- refused peers ---- */

static void shows(const struct certificate_options *options, bool by_our_ca, const char *why)
{
    struct certificate *shown = NULL;
    struct caller caller;
    struct place place;

    place_open(&place, false);
    if (options)
        shown = certificate_new(by_our_ca ? place.keys.ca : NULL, options);
    caller_init(&caller, &place, 1, shown);
    caller_says(&caller, &place, "AKKA\1");
    is_refused(&place, dup(caller.fd), why);
    caller_fini(&caller);
    certificate_free(shown);
    serves(&place);
    place_close(&place);
}

static void bad_certificates_are_refused(void **state)
{
    const struct certificate_options good = { .names = "IP:127.0.0.1" };
    const struct certificate_options old = { .names = "IP:127.0.0.1", .from_s = -7200, .to_s = -2 };
    const struct certificate_options early = { .names = "IP:127.0.0.1", .from_s = 1000, .to_s = 86400 };
    const struct certificate_options serves_only = { .names = "IP:127.0.0.1", .usage = "serverAuth" };
    (void)state;

    shows(NULL, true, "peer did not return a certificate");
    shows(&good, false, "self-signed certificate");
    shows(&old, true, "certificate has expired");
    shows(&early, true, "certificate is not yet valid");
    shows(&serves_only, true, "unsuitable certificate purpose");
}

static void another_ca_is_refused(void **state)
{
    const struct certificate_options elsewhere = { .name = "elsewhere", .is_ca = true };
    const struct certificate_options good = { .names = "IP:127.0.0.1" };
    struct certificate *other = certificate_new(NULL, &elsewhere), *shown = certificate_new(other, &good);
    struct caller caller;
    struct place place;
    (void)state;

    place_open(&place, false);
    caller_init(&caller, &place, 1, shown);
    caller_says(&caller, &place, "AKKA\1");
    is_refused(&place, dup(caller.fd), "unable to get local issuer certificate");
    caller_fini(&caller);
    certificate_free(shown);
    certificate_free(other);
    serves(&place);
    place_close(&place);
}

/* ---- OpenSSL's memory ---- */

static _Atomic long held; /* blocks */

static void *hold(size_t size, const char *file, int line)
{
    void *block = malloc(size);

    (void)file;
    (void)line;
    held += block != NULL;
    return block;
}

static void *hold_again(void *block, size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    held += !block;
    return realloc(block, size);
}

static void let_go(void *block, const char *file, int line)
{
    (void)file;
    (void)line;
    held -= block != NULL;
    free(block);
}

/* Kinds of refused peers. */
enum stranger {
    NO_CERTIFICATE,
    SELF_SIGNED,
    OF_ANOTHER_CA,
    EXPIRED,
    EARLY,
    FOR_SERVERS,
    REVOKED, /* last kind that differs by its certificate */
    SPEAKS_1_1,
    SPEAKS_1_2,
    ANOTHER_SUITE,
    HTTP_INSIDE,
    NO_TLS,
    HTTP,
    CUT_SHORT,
    CUT_AFTER_A_BYTE,
    STRANGERS
};

static const uint8_t hello[] = "\x16\3\1\1\0\1\0\0\xfc\3\3";
static const char long_text[] = "AKKA\1 and a first frame that is longer than a proof is";

static void make_certificates(const struct keys *keys, struct certificate *shown[STRANGERS])
{
    static const struct certificate_options elsewhere = { .name = "elsewhere", .is_ca = true };
    static const struct certificate_options options[] = {
        [SELF_SIGNED] = { .names = "IP:127.0.0.1" },
        [OF_ANOTHER_CA] = { .names = "IP:127.0.0.1" },
        [EXPIRED] = { .names = "IP:127.0.0.1", .from_s = -7200, .to_s = -2 },
        [EARLY] = { .names = "IP:127.0.0.1", .from_s = 1000, .to_s = 86400 },
        [FOR_SERVERS] = { .names = "IP:127.0.0.1", .usage = "serverAuth" },
        [REVOKED] = { .names = "IP:127.0.0.1" },
    };
    struct certificate *other = certificate_new(NULL, &elsewhere);
    struct crl_options list = { .revoked = NULL };

    memset(shown, 0, STRANGERS * sizeof *shown);
    for (int i = SELF_SIGNED; i <= REVOKED; i++)
        shown[i] = certificate_new(i == SELF_SIGNED ? NULL : i == OF_ANOTHER_CA ? other : keys->ca, &options[i]);
    list.revoked = shown[REVOKED];
    certificate_write_crl(keys->ca, &list, keys->crl_path);
    certificate_free(other);
}

static void say_plainly(struct place *place, int fd, struct slice bytes, bool ends)
{
    assert_int_equal(send(fd, bytes.data, bytes.size, MSG_NOSIGNAL), bytes.size);
    if (!ends)
        return;
    (void)is_hung_up(place, fd, 20);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
}

/* A peer of this kind is closed and counted. */
static void come(struct place *place, enum stranger who, const struct certificate *shown)
{
    uint64_t before = count(place).refused;
    struct caller caller;

    caller_init(&caller, place, 1, who > REVOKED ? place->keys.node : shown);
    if (who == SPEAKS_1_1 || who == SPEAKS_1_2)
        assert_int_equal(SSL_set_max_proto_version(caller.ssl, who == SPEAKS_1_1 ? TLS1_1_VERSION : TLS1_2_VERSION), 1);
    if (who == ANOTHER_SUITE)
        assert_int_equal(SSL_set_ciphersuites(caller.ssl, "TLS_AES_128_CCM_8_SHA256"), 1);
    if (who == NO_TLS)
        say_plainly(place, caller.fd, slice_text("AKKA\1"), false);
    else if (who == HTTP)
        say_plainly(place, caller.fd, slice_text("GET / HTTP/1.1\r\n"), false);
    else if (who == CUT_SHORT || who == CUT_AFTER_A_BYTE)
        say_plainly(place, caller.fd, slice_of(hello, who == CUT_SHORT ? sizeof hello - 1 : 1), true);
    else
        caller_says(&caller, place, who == HTTP_INSIDE ? "GET / HTTP/1.1\r\n" : long_text);
    assert_true(hangs_up(place, caller.fd));
    caller_fini(&caller);
    assert_int_equal(count(place).refused - before, 1);
}

/* Refused peers leave no memory in OpenSSL, and no waiting connection. */
static void come_often(struct place *place, enum stranger first, enum stranger last, struct certificate *const *shown)
{
    uint64_t accepted = count(place).accepted;
    long before = 0;

    for (uint32_t round = 0; round < 40; round++) {
        for (int who = (int)first; who <= (int)last; who++)
            come(place, (enum stranger)who, shown[who]);
        if (round == 10) /* OpenSSL has its permanent memory by then */
            before = held;
    }
    assert_true(before > 0);
    if (held > before + 20) /* after 29 more refusals */
        fail_msg("%d to %d: %ld blocks, %ld before", (int)first, (int)last, (long)held, before);
    assert_int_equal(count(place).accepted, accepted);
}

static void a_refused_peer_leaves_no_memory(void **state)
{
    struct certificate *shown[STRANGERS];
    struct place place;
    (void)state;

    place_open(&place, false);
    make_certificates(&place.keys, shown);
    come_often(&place, NO_CERTIFICATE, STRANGERS - 1, shown);
    for (int i = 0; i < STRANGERS; i++)
        certificate_free(shown[i]);
    serves(&place);
    place_close(&place);
}

/* A valid certificate, except for one fault. */
static void a_peer_without_pin_or_secret_leaves_no_memory(void **state)
{
    const struct certificate_options good = { .names = "IP:127.0.0.1" };
    struct certificate *shown[STRANGERS] = { NULL };
    char secret[] = "/tmp/sherd-listener-secret-XXXXXX";
    struct wants wants[2] = { { .pinned = true }, { .secret = secret } };
    int file = mkstemp(secret);
    (void)state;

    assert_int_equal(write(file, "red-red-red-red-red-red-red-red-1", 33), 33);
    assert_int_equal(close(file), 0);
    for (int i = 0; i < 2; i++) {
        struct place place;

        place_open_with(&place, &wants[i]);
        shown[REVOKED] = certificate_new(place.keys.ca, &good); /* valid here */
        come_often(&place, REVOKED, REVOKED, shown);
        if (!strstr(place.logged, i ? "secret" : "pinned"))
            fail_msg("\"%s\"", place.logged);
        certificate_free(shown[REVOKED]);
        place_close(&place);
    }
    assert_int_equal(unlink(secret), 0);
}

/* Writes a list while the listener runs. */
static void write_list(struct place *place, const struct crl_options *options)
{
    certificate_write_crl(place->keys.ca, options, place->keys.crl_path);
    (void)tls_look(place->tls, uv_hrtime());
    tls_wait(place->tls);
}

static void a_revoked_certificate_is_refused(void **state)
{
    const struct certificate_options good = { .names = "IP:127.0.0.1" };
    struct crl_options options = { .revoked = NULL };
    struct certificate *shown;
    struct caller caller;
    struct place place;
    (void)state;

    place_open(&place, false);
    shown = certificate_new(place.keys.ca, &good);
    options.revoked = shown;
    write_list(&place, &options);
    caller_init(&caller, &place, 1, shown);
    caller_says(&caller, &place, "AKKA\1");
    is_refused(&place, dup(caller.fd), "certificate revoked");
    caller_fini(&caller);
    certificate_free(shown);
    serves(&place);
    place_close(&place);
}

/* After its end every peer is refused, until a new list comes. */
static void an_expired_list_refuses_every_peer(void **state)
{
    struct crl_options options = { .from_s = -3600, .to_s = 3 };
    uint64_t began = uv_hrtime();
    struct place place;
    (void)state;

    place_open(&place, false);
    write_list(&place, &options);
    serves(&place);
    while (!count(&place).refused) {
        struct caller caller;

        assert_true(uv_hrtime() - began < 30000000000ull);
        caller_init(&caller, &place, 1, place.keys.node);
        caller_says(&caller, &place, "AKKA\1");
        caller_fini(&caller);
        uv_sleep(20);
    }
    assert_non_null(strstr(place.logged, "CRL has expired"));
    options.to_s = 86400;
    write_list(&place, &options);
    serves(&place);
    place_close(&place);
}

static void says_hello(int version, const char *suite, const char *why)
{
    struct caller caller;
    struct place place;

    place_open(&place, false);
    caller_init(&caller, &place, 1, place.keys.node);
    assert_int_equal(SSL_set_max_proto_version(caller.ssl, version), 1);
    assert_int_equal(SSL_set_ciphersuites(caller.ssl, suite), 1);
    caller_says(&caller, &place, "AKKA\1");
    is_refused(&place, dup(caller.fd), why);
    caller_fini(&caller);
    serves(&place);
    place_close(&place);
}

static void old_versions_and_other_suites_are_refused(void **state)
{
    (void)state;
    says_hello(TLS1_1_VERSION, "TLS_AES_256_GCM_SHA384", "unsupported protocol");
    says_hello(TLS1_2_VERSION, "TLS_AES_256_GCM_SHA384", "unsupported protocol");
    says_hello(TLS1_3_VERSION, "TLS_AES_128_CCM_8_SHA256", "no shared cipher");
}

static void another_protocol_inside_is_refused(void **state)
{
    struct caller caller;
    struct place place;
    (void)state;

    place_open(&place, false);
    caller_init(&caller, &place, 1, place.keys.node);
    caller_says(&caller, &place, "GET / HTTP/1.1\r\n");
    is_refused(&place, dup(caller.fd), "wrong magic");
    caller_fini(&caller);
    serves(&place);
    place_close(&place);
}

static void says(bool plain, struct slice bytes, bool ends, const char *why)
{
    struct place place;
    int fd;

    place_open(&place, plain);
    fd = call_from(&place, 1);
    assert_int_equal(send(fd, bytes.data, bytes.size, MSG_NOSIGNAL), bytes.size);
    if (ends) {
        (void)is_hung_up(&place, fd, 20);
        assert_int_equal(shutdown(fd, SHUT_WR), 0);
    }
    is_refused(&place, fd, why);
    if (!plain)
        serves(&place);
    place_close(&place);
}

static void other_bytes_are_refused(void **state)
{
    (void)state;

    says(false, slice_text("AKKA\1"), false, "TLS: the peer does not speak TLS");
    says(false, slice_text("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), false, "TLS: the peer does not speak TLS");
    says(true, slice_of(hello, sizeof hello - 1), false, "TLS, and this node speaks plain TCP");
    says(false, slice_of(hello, sizeof hello - 1), true, "TLS: closed within the handshake");
    says(false, slice_of(hello, 1), true, "TLS: closed within the handshake");
}

static void speaks_something_else(struct place *place)
{
    int fd = call_from(place, 1);

    assert_int_equal(send(fd, "GET /", 5, MSG_NOSIGNAL), 5);
    assert_true(hangs_up(place, fd));
    close(fd);
}

/* limit: ACCEPT_LINES_MAX. The rest is logged even if no further peer comes. */
static void logged_refusals_are_bounded(void **state)
{
    uint64_t began = uv_hrtime(), left_out;
    struct place place;
    char text[32];
    (void)state;

    place_open(&place, true);
    for (int i = 0; i < 3 * ACCEPT_LINES_MAX; i++)
        speaks_something_else(&place);
    if (uv_hrtime() - began > UINT64_C(900000000))
        print_message("the machine is too slow to see them in one second\n");
    else
        assert_int_equal(place.lines, ACCEPT_LINES_MAX);
    left_out = count(&place).refused - place.lines;
    for (int i = 0; i < 10000 && !strstr(place.logged, "count="); i++) {
        (void)uv_run(&place.loop, UV_RUN_NOWAIT);
        uv_sleep(1);
    }
    (void)snprintf(text, sizeof text, "count=%llu", (unsigned long long)left_out);
    assert_non_null(strstr(place.logged, "more connections were refused"));
    if (place.lines == ACCEPT_LINES_MAX + 1)
        assert_non_null(strstr(place.logged, text));
    speaks_something_else(&place);
    assert_non_null(strstr(place.logged, "connection refused from=127.0.0.1"));
    place_close(&place);
}

/* Like a port scan. */
static void a_connection_closed_without_a_byte_is_not_logged(void **state)
{
    struct place place;
    int fd;
    (void)state;

    place_open(&place, false);
    fd = call_from(&place, 1);
    assert_false(is_hung_up(&place, fd, 20));
    close(fd);
    for (int i = 0; i < 20; i++)
        (void)uv_run(&place.loop, UV_RUN_NOWAIT);
    assert_int_equal(count(&place).refused, 0);
    serves(&place);
    place_close(&place);
}

/* ---- limits: ACCEPT_STRANGERS_MAX, ACCEPT_WAITING_EACH_MAX, ACCEPT_BYTES_MAX ---- */

static void concurrent_handshakes_are_bounded(void **state)
{
    static int fds[ACCEPT_STRANGERS_MAX];
    struct rlimit files;
    struct place place;
    int more;
    (void)state;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max < 2048 ? files.rlim_max : 2048;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    place_open(&place, false);
    serves(&place);
    for (uint32_t i = 0; i < ACCEPT_STRANGERS_MAX; i++) {
        fds[i] = call_from(&place, 1 + i / ACCEPT_WAITING_EACH_MAX);
        assert_int_equal(send(fds[i], hello, sizeof hello - 1, MSG_NOSIGNAL), sizeof hello - 1);
        (void)uv_run(&place.loop, UV_RUN_NOWAIT);
        if (i == ACCEPT_WAITING_EACH_MAX - 1) { /* one more from the same address */
            more = call_from(&place, 1);
            assert_true(hangs_up(&place, more));
            assert_non_null(strstr(place.logged, "too many connections wait for their first bytes"));
            close(more);
        }
    }
    more = call_from(&place, 200);
    assert_true(hangs_up(&place, more));
    assert_int_equal(count(&place).refused, 2);
    close(more);
    serves(&place); /* it is known and connects */
    for (uint32_t i = 0; i < ACCEPT_STRANGERS_MAX; i++) {
        assert_false(is_hung_up(&place, fds[i], 1));
        close(fds[i]);
    }
    for (int i = 0; i < 100; i++)
        (void)uv_run(&place.loop, UV_RUN_NOWAIT);
    serves(&place);
    place_close(&place);
}

static void bytes_of_a_peer_are_bounded(void **state)
{
    static char text[ACCEPT_BYTES_MAX + 5000];
    struct caller caller;
    struct place place;
    (void)state;

    place_open(&place, false);
    place.wants_more = true;
    memset(text, 'x', sizeof text - 1);
    caller_init(&caller, &place, 1, place.keys.node);
    caller_says(&caller, &place, "A");
    assert_int_equal(count(&place).refused, 0);
    caller_says(&caller, &place, text);
    is_refused(&place, dup(caller.fd), "the first frame is too large");
    caller_fini(&caller);
    place.wants_more = false;
    serves(&place);
    place_close(&place);
}

/* Time limit: ACCEPT_PREAMBLE_MS. Single bytes do not extend it. */
static void a_slow_handshake_times_out(void **state)
{
    uint64_t began = uv_hrtime();
    struct place place;
    size_t at = 0;
    uint32_t file_watch = 0;
    bool over = false;
    long before;
    int fd;
    (void)state;

    place_open_with(&place, &(struct wants){ .timed = true });
    for (int i = 0; i < 10; i++) /* OpenSSL allocates its permanent memory */
        serves(&place);
    before = held;
    fd = call_from(&place, 1);
    while (!over) {
        uint64_t ms = (uv_hrtime() - began) / 1000000;

        assert_true(file_watch++ < 3 * ACCEPT_PREAMBLE_MS); /* one millisecond each */
        if (at < sizeof hello - 1 && at <= ms / (ACCEPT_PREAMBLE_MS / 10) && send(fd, hello + at, 1, MSG_NOSIGNAL) == 1)
            at++;
        over = is_hung_up(&place, fd, 1);
        uv_sleep(1);
    }
    assert_true((uv_hrtime() - began) / 1000000 >= ACCEPT_PREAMBLE_MS);
    assert_int_equal(count(&place).late, 1);
    assert_non_null(strstr(place.logged, "TLS: no handshake in time"));
    close(fd);
    assert_in_range(held, before - 20, before + 5); /* an open handshake has some fifty blocks */
    serves(&place);
    place_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_peer_is_served),
        cmocka_unit_test(bad_certificates_are_refused),
        cmocka_unit_test(another_ca_is_refused),
        cmocka_unit_test(a_refused_peer_leaves_no_memory),
        cmocka_unit_test(a_peer_without_pin_or_secret_leaves_no_memory),
        cmocka_unit_test(a_revoked_certificate_is_refused),
        cmocka_unit_test(an_expired_list_refuses_every_peer),
        cmocka_unit_test(old_versions_and_other_suites_are_refused),
        cmocka_unit_test(another_protocol_inside_is_refused),
        cmocka_unit_test(other_bytes_are_refused),
        cmocka_unit_test(logged_refusals_are_bounded),
        cmocka_unit_test(a_connection_closed_without_a_byte_is_not_logged),
        cmocka_unit_test(concurrent_handshakes_are_bounded),
        cmocka_unit_test(bytes_of_a_peer_are_bounded),
        cmocka_unit_test(a_slow_handshake_times_out),
    };

    if (CRYPTO_set_mem_functions(hold, hold_again, let_go) != 1) /* before its first allocation */
        return 1;
    return cmocka_run_group_tests_name("tls_listener", tests, NULL, NULL);
}
