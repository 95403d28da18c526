/* Tests a cluster of systems of one process over TLS, while unknown nodes of every kind try to
 * enter. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sherd/sherd.h>
#include <uv.h>

#include "certificates.h"
#include "kept_log.h"

#define ENTITIES 40u
#define ASKS 1000u
#define LARGE 180000u

enum { ADD = 1, VALUE };

/* ---- the log of all systems ---- */

/* At most 30 s. */
static void wait_logged(const char *text)
{
    for (int i = 0; i < 3000 && !was_logged(text); i++)
        uv_sleep(10);
    if (!was_logged(text))
        fail_msg("not logged: %s; but:\n%s", text, logged);
}

/* Two nodes have used changed files since the log was cleared. */
static void wait_read_by_two(void)
{
    const char *text = "changed TLS files are in use", *first;
    bool both = false;

    for (int i = 0; i < 3000 && !both; i++) {
        uv_sleep(10);
        uv_mutex_lock(&log_mutex);
        first = strstr(logged, text);
        both = first && strstr(first + 1, text);
        uv_mutex_unlock(&log_mutex);
    }
    assert_true(both);
}

static int set_up(void **state)
{
    (void)state;
    forget_log();
    return 0;
}

/* ---- counting entities ---- */

static _Atomic uint32_t answered, unanswered;
static char large[LARGE];

struct count {
    uint32_t value;
};

static enum sherd_next count_receive(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    struct count *count = self;

    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    count->value++;
    sherd_reply(ctx, VALUE, msg->body); /* the whole body */
    return SHERD_CONTINUE;
}

struct feeder {
    uint32_t sent, ended;
};

static enum sherd_next feeder_receive(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    struct feeder *feeder = self;
    char id[16];

    if (msg->kind == SHERD_ANSWER || msg->kind == SHERD_NO_ANSWER) {
        feeder->ended++;
        atomic_fetch_add(msg->kind == SHERD_ANSWER ? &answered : &unanswered, 1);
    }
    while (feeder->sent < ASKS && feeder->sent < feeder->ended + 20) {
        uint32_t size = feeder->sent % 50 == 7 ? LARGE : feeder->sent % 200;

        (void)snprintf(id, sizeof id, "e%u", (unsigned)(feeder->sent++ % ENTITIES));
        sherd_entity_ask(ctx, "Count", id, ADD, (struct sherd_bytes){ large, size }, 0, 30000);
    }
    return feeder->ended < ASKS ? SHERD_CONTINUE : SHERD_STOP;
}

static const struct sherd_behavior feeder_behavior = { .name = "feeder",
                                                       .state_size = sizeof(struct feeder),
                                                       .receive = feeder_receive };

static void feed(struct sherd_system *system)
{
    atomic_store(&answered, 0);
    assert_int_equal(sherd_system_spawn(system, &feeder_behavior, (struct sherd_bytes){ NULL, 0 }, NULL), 0);
    for (int i = 0; i < 6000 && atomic_load(&answered) + atomic_load(&unanswered) < ASKS; i++)
        uv_sleep(10);
    assert_int_equal(atomic_load(&answered), ASKS);
    assert_int_equal(atomic_load(&unanswered), 0);
}

/* ---- systems ---- */

static struct sherd_options options_of(const struct keys *keys, char *config, size_t size, const char *more)
{
    (void)snprintf(config, size,
                   "akka.cluster { gossip-interval = 100 ms\n leader-actions-interval = 100 ms\n"
                   "periodic-tasks-initial-delay = 100 ms\n sharding.number-of-shards = 20 }\n"
                   "sherd.remote.tls.reload-after = 0 s\n%s",
                   more ? more : "");
    return (struct sherd_options){ .name = "Trio",
                                   .port = SHERD_PORT_ANY,
                                   .lanes = 2,
                                   .log = keep_line,
                                   .config_text = config,
                                   .certificate = keys ? keys->node_path : NULL,
                                   .key = keys ? keys->key_path : NULL,
                                   .ca = keys ? keys->ca_path : NULL };
}

/* keys null: without TLS. seed: port of a node to join; 0: none. */
static struct sherd_system *start_named(const char *name, const struct keys *keys, uint16_t seed, const char *more)
{
    const struct sherd_entity_type type = {
        .name = "Count",
        .behavior = { .name = "count", .state_size = sizeof(struct count), .receive = count_receive }
    };
    char config[800], address[32];
    const char *seeds[] = { address, NULL };
    struct sherd_options options = options_of(keys, config, sizeof config, more);
    struct sherd_system *system;

    options.name = name;
    (void)snprintf(address, sizeof address, "127.0.0.1:%u", (unsigned)seed);
    if (seed)
        options.seed_nodes = seeds;
    else
        options.alone = 1;
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_entity_register(system, &type), 0);
    assert_int_equal(sherd_start(system), 0);
    return system;
}

static struct sherd_system *start_one(const struct keys *keys, uint16_t seed, const char *more)
{
    return start_named("Trio", keys, seed, more);
}

static void opens_not(const struct keys *keys, const char *host, const char *more, int error, const char *text)
{
    char config[800];
    struct sherd_options options = options_of(keys, config, sizeof config, more);
    struct sherd_system *system;

    forget_log();
    options.host = host;
    options.alone = 1;
    assert_int_equal(sherd_open(&system, &options), error);
    if (!error)
        sherd_close(system);
    wait_logged(text);
}

/* Members that are up and reachable. */
static uint32_t members(struct sherd_system *system, uint64_t *refused)
{
    struct sherd_status status;
    uint32_t up = 0;

    assert_int_equal(sherd_get_status(system, &status), 0);
    for (uint32_t i = 0; i < status.member_count; i++)
        up += status.members[i].status == SHERD_UP && status.members[i].reachable;
    if (refused)
        *refused = status.counters[SHERD_CONNECTIONS_REFUSED];
    sherd_status_free(&status);
    return up;
}

static void wait_for_members(struct sherd_system **systems, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        for (int j = 0; j < 3000 && members(systems[i], NULL) != count; j++)
            uv_sleep(10);
        assert_int_equal(members(systems[i], NULL), count);
    }
}

static void two_systems_exchange_messages_over_tls(void **state)
{
    struct sherd_system *systems[2];
    struct keys keys;
    (void)state;

    keys_init(&keys);
    systems[0] = start_one(&keys, 0, NULL);
    systems[1] = start_one(&keys, sherd_port(systems[0]), NULL);
    wait_for_members(systems, 2);
    feed(systems[0]);
    feed(systems[1]);
    sherd_leave(systems[1]);
    assert_int_equal(sherd_wait(systems[1]), 0);
    feed(systems[0]);
    sherd_close(systems[1]);
    sherd_close(systems[0]);
    keys_fini(&keys);
}

/* RSA keys, and the settings of Akka's ssl-config for a JVM. */
static void two_systems_exchange_messages_over_tls_1_2(void **state)
{
    const struct certificate_options rsa = { .names = "IP:127.0.0.1", .is_rsa = true };
    const char *old = "akka.remote.artery.ssl.config-ssl-engine { protocol = TLSv1.2\n"
                      "enabled-algorithms = [TLS_DHE_RSA_WITH_AES_256_GCM_SHA384, TLS_RSA_WITH_AES_128_CBC_SHA]\n"
                      "hostname-verification = off\n key-store = keystore, key-store-password = changeme }";
    struct sherd_system *systems[2];
    struct keys keys;
    (void)state;

    keys_init(&keys);
    keys_replace(&keys, NULL, &rsa);
    systems[0] = start_one(&keys, 0, old);
    systems[1] = start_one(&keys, sherd_port(systems[0]), old);
    wait_for_members(systems, 2);
    feed(systems[1]);
    sherd_close(systems[1]);
    sherd_close(systems[0]);
    keys_fini(&keys);
}

/* ---- unknown nodes ---- */

static int call(struct sherd_system *system)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons(sherd_port(system)),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct timeval patience = { .tv_sec = 20 };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    return fd;
}

/* The system's certificate as shown to a peer with this certificate; null: refused. */
static X509 *seen_by(struct sherd_system *system, const struct certificate *shown)
{
    SSL_CTX *context = certificate_context(shown);
    SSL *ssl = SSL_new(context);
    X509 *seen = NULL;
    int fd = call(system);
    char byte;

    assert_int_equal(SSL_set_fd(ssl, fd), 1);
    if (SSL_connect(ssl) == 1 && SSL_write(ssl, "AKKA\1", 5) == 5) {
        int size;
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){ .tv_usec = 300000 }, sizeof(struct timeval));
        size = SSL_read(ssl, &byte, 1);
        /* No data ever comes: the read waits, or the connection is closed. */
        if (size <= 0 && SSL_get_error(ssl, size) == SSL_ERROR_WANT_READ)
            seen = SSL_get1_peer_certificate(ssl);
    }
    SSL_free(ssl);
    SSL_CTX_free(context);
    close(fd);
    return seen;
}

static void unknown_nodes_do_not_disturb_the_cluster(void **state)
{
    const struct certificate_options good = { .names = "IP:127.0.0.1" };
    struct sherd_system *systems[2];
    struct certificate *alone = certificate_new(NULL, &good);
    uint64_t before, after;
    struct keys keys;
    X509 *seen;
    char byte;
    (void)state;

    keys_init(&keys);
    systems[0] = start_one(&keys, 0, NULL);
    systems[1] = start_one(&keys, sherd_port(systems[0]), NULL);
    wait_for_members(systems, 2);
    (void)members(systems[0], &before);
    for (int i = 0; i < 20; i++) {
        int fd = call(systems[0]);

        assert_null(seen_by(systems[0], alone));
        assert_null(seen_by(systems[0], NULL));
        assert_int_equal(send(fd, "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL), 18);
        assert_true(recv(fd, &byte, 1, 0) >= 0); /* an alert or the end, not silence */
        close(fd);
        assert_int_equal(members(systems[0], NULL), 2);
        assert_int_equal(members(systems[1], NULL), 2);
    }
    (void)members(systems[0], &after);
    assert_int_equal(after - before, 60);
    wait_logged("connection refused");
    seen = seen_by(systems[0], keys.node);
    assert_non_null(seen);
    X509_free(seen);
    feed(systems[1]);
    sherd_close(systems[1]);
    sherd_close(systems[0]);
    certificate_free(alone);
    keys_fini(&keys);
}

/* The cluster's CA signed it, but not for the claimed address. It can neither join nor be
 * joined. */
static void a_node_at_anothers_address_is_refused(void **state)
{
    const struct certificate_options elsewhere = { .names = "IP:127.0.0.9,DNS:elsewhere" };
    const char *careless = "akka.remote.artery.ssl.config-ssl-engine.hostname-verification = off";
    struct sherd_system *systems[2], *liar;
    struct keys keys, others;
    uint64_t refused;
    char address[32];
    (void)state;

    keys_init(&keys);
    keys_init(&others);
    certificate_write(keys.ca, others.ca_path);
    keys_replace(&others, keys.ca, &elsewhere);
    systems[0] = start_one(&keys, 0, NULL);
    systems[1] = start_one(&keys, sherd_port(systems[0]), NULL);
    wait_for_members(systems, 2);
    liar = start_one(&others, sherd_port(systems[0]), careless);
    wait_logged("hostname-verification is off");
    wait_logged("the peer's certificate is not for its address");
    sherd_close(liar);
    (void)members(systems[0], &refused);
    assert_true(refused > 0);

    /* A node that verifies is told to join it. */
    liar = start_one(&others, 0, careless);
    (void)snprintf(address, sizeof address, "127.0.0.1:%u", (unsigned)sherd_port(liar));
    sherd_close(systems[1]);
    systems[1] = start_one(&keys, sherd_port(liar), NULL);
    wait_logged("IP address mismatch");
    assert_int_equal(members(systems[1], NULL), 0);
    assert_int_equal(members(liar, NULL), 1);
    sherd_close(liar);
    sherd_close(systems[1]);
    sherd_close(systems[0]);
    keys_fini(&others);
    keys_fini(&keys);
}

/* A valid certificate, and another cluster. */
static void a_node_of_another_system_is_refused(void **state)
{
    struct sherd_system *here, *other;
    struct keys keys;
    uint64_t refused;
    (void)state;

    keys_init(&keys);
    here = start_one(&keys, 0, NULL);
    other = start_named("Quartet", &keys, sherd_port(here), NULL);
    wait_logged("Quartet@127.0.0.1");
    assert_int_equal(members(here, &refused), 1);
    assert_int_equal(members(other, NULL), 0);
    sherd_close(other);
    sherd_close(here);
    keys_fini(&keys);
}

static void write_secret(const struct keys *keys, const char *name, const char *text, char *config, size_t size)
{
    char path[128];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s", keys->folder, name);
    file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fchmod(fileno(file), 0600), 0);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    (void)snprintf(config, size, "sherd.remote.tls.secret = \"%s\"", path);
}

/* It refused one more, and has no other member. */
static void wait_refused(struct sherd_system *system, uint64_t *before)
{
    uint64_t refused = *before;

    for (int i = 0; i < 3000 && refused <= *before; i++) {
        assert_int_equal(members(system, &refused), 1);
        uv_sleep(10);
    }
    assert_true(refused > *before);
    *before = refused;
}

/* A valid certificate and cluster name, but no secret. Both sides refuse. */
static void a_node_without_the_secret_is_refused(void **state)
{
    struct sherd_system *systems[2], *other;
    char red[200], blue[200], path[128];
    uint64_t refused = 0;
    struct keys keys;
    (void)state;

    keys_init(&keys);
    write_secret(&keys, "red", "red-red-red-red-red-red-red-red-red-red", red, sizeof red);
    write_secret(&keys, "blue", "blue-blue-blue-blue-blue-blue-blue-blue", blue, sizeof blue);
    systems[0] = start_one(&keys, 0, red);
    for (int i = 0; i < 2; i++) {
        other = start_one(&keys, sherd_port(systems[0]), i ? blue : NULL);
        wait_refused(systems[0], &refused);
        assert_int_equal(members(other, NULL), 0);
        sherd_close(other);
    }
    assert_true(was_logged("TLS: the peer does not know the cluster's secret"));
    systems[1] = start_one(&keys, sherd_port(systems[0]), red);
    wait_for_members(systems, 2);
    feed(systems[1]);
    sherd_close(systems[1]);
    sherd_close(systems[0]);

    refused = 0;
    other = start_one(&keys, 0, NULL); /* it has no secret; the dialling node has one */
    systems[1] = start_one(&keys, sherd_port(other), red);
    wait_refused(other, &refused);
    assert_int_equal(members(systems[1], NULL), 0);
    sherd_close(systems[1]);
    sherd_close(other);
    assert_false(was_logged("red-red"));
    for (int i = 0; i < 2; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", keys.folder, i ? "blue" : "red");
        (void)remove(path);
    }
    keys_fini(&keys);
}

/* Three nodes, two of them with revocation lists. The third has its own certificate `lost`, not
 * revoked yet. */
static void start_with_lists(struct sherd_system *systems[3], struct keys *keys, struct keys *lost, char *config, size_t size)
{
    const struct certificate_options good = { .names = "IP:127.0.0.1" };
    const struct crl_options nobody = { .revoked = NULL };

    keys_init(keys);
    keys_init(lost);
    certificate_write(keys->ca, lost->ca_path);
    keys_replace(lost, keys->ca, &good);
    certificate_write_crl(keys->ca, &nobody, keys->crl_path);
    (void)snprintf(config, size, "sherd.remote.tls.crl = \"%s\"", keys->crl_path);
    systems[0] = start_one(keys, 0, config);
    systems[1] = start_one(keys, sherd_port(systems[0]), config);
    systems[2] = start_one(lost, sherd_port(systems[0]), NULL);
    wait_for_members(systems, 3);
}

/* Its certificate is revoked while the others run; it cannot return. */
static void a_revoked_node_is_refused_without_a_restart(void **state)
{
    struct crl_options list = { .revoked = NULL };
    struct sherd_system *systems[3];
    struct keys keys, lost;
    char config[200];
    (void)state;

    start_with_lists(systems, &keys, &lost, config, sizeof config);
    sherd_leave(systems[2]);
    assert_int_equal(sherd_wait(systems[2]), 0);
    sherd_close(systems[2]);
    wait_for_members(systems, 2);
    list.revoked = lost.node;
    forget_log();
    certificate_write_crl(keys.ca, &list, keys.crl_path);
    wait_read_by_two();
    assert_false(was_logged("certificate revoked"));

    systems[2] = start_one(&lost, sherd_port(systems[0]), NULL);
    wait_logged("connection refused");
    wait_logged("TLS: certificate revoked");
    assert_int_equal(members(systems[0], NULL), 2);
    assert_int_equal(members(systems[2], NULL), 0);
    sherd_close(systems[2]);
    opens_not(&lost, NULL, config, SHERD_ECONFIG, "the certificate is revoked");
    feed(systems[1]);
    sherd_close(systems[1]);
    sherd_close(systems[0]);
    keys_fini(&lost);
    keys_fini(&keys);
}

static uint64_t revoked(struct sherd_system *system)
{
    struct sherd_status status;
    uint64_t count;

    assert_int_equal(sherd_get_status(system, &status), 0);
    count = status.counters[SHERD_CONNECTIONS_REVOKED];
    sherd_status_free(&status);
    return count;
}

/* Its certificate is revoked while all run; its open connections are closed. */
static void a_connected_revoked_node_is_disconnected(void **state)
{
    struct crl_options list = { .revoked = NULL };
    struct sherd_system *systems[3];
    struct keys keys, lost;
    char config[200];
    (void)state;

    start_with_lists(systems, &keys, &lost, config, sizeof config);
    feed(systems[1]);
    assert_int_equal(revoked(systems[0]) + revoked(systems[1]), 0);
    list.revoked = lost.node;
    certificate_write_crl(keys.ca, &list, keys.crl_path);
    wait_logged("why=\"TLS: the peer's certificate was revoked\"");
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 3000 && (members(systems[i], NULL) != 2 || !revoked(systems[i])); j++)
            uv_sleep(10);
        assert_int_equal(members(systems[i], NULL), 2);
        assert_true(revoked(systems[i]) > 0);
    }
    assert_int_equal(revoked(systems[2]), 0);
    for (int i = 2; i >= 0; i--)
        sherd_close(systems[i]);
    keys_fini(&lost);
    keys_fini(&keys);
}

static void plain_and_tls_do_not_mix(void **state)
{
    struct sherd_system *safe, *plain, *other;
    struct keys keys;
    (void)state;

    keys_init(&keys);
    safe = start_one(&keys, 0, NULL);
    plain = start_one(NULL, sherd_port(safe), NULL);
    wait_logged("TLS: the peer does not speak TLS");
    other = start_one(NULL, 0, NULL);
    sherd_close(plain);
    plain = start_one(&keys, sherd_port(other), NULL);
    wait_logged("TLS, and this node speaks plain TCP");
    assert_int_equal(members(safe, NULL), 1);
    assert_int_equal(members(other, NULL), 1);
    assert_int_equal(members(plain, NULL), 0);
    sherd_close(plain);
    sherd_close(other);
    sherd_close(safe);
    keys_fini(&keys);
}

/* ---- files, settings ---- */

static bool shows(struct sherd_system *system, const struct keys *keys, const char *host)
{
    X509 *seen = seen_by(system, keys->node);
    bool covers = seen && X509_check_host(seen, host, 0, 0, NULL) == 1;

    X509_free(seen);
    return covers;
}

static void changed_files_are_used_without_a_restart(void **state)
{
    const struct certificate_options second = { .names = "IP:127.0.0.1,DNS:second" };
    const struct certificate_options wrong = { .names = "DNS:wrong" };
    struct sherd_system *systems[3];
    struct keys keys;
    (void)state;

    keys_init(&keys);
    systems[0] = start_one(&keys, 0, NULL);
    systems[1] = start_one(&keys, sherd_port(systems[0]), NULL);
    wait_for_members(systems, 2);
    assert_true(shows(systems[0], &keys, "localhost"));
    forget_log();
    keys_replace(&keys, NULL, &second);
    wait_read_by_two();
    assert_true(shows(systems[0], &keys, "second"));
    systems[2] = start_one(&keys, sherd_port(systems[0]), NULL);
    wait_for_members(systems, 3);

    keys_replace(&keys, NULL, &wrong);
    assert_true(shows(systems[0], &keys, "second"));
    wait_logged("changed TLS files rejected");
    feed(systems[2]);
    for (int i = 0; i < 3; i++)
        sherd_close(systems[i]);
    keys_fini(&keys);
}

/* An unusable file is reported at once, not at the next connection. */
static void changed_files_are_read_without_a_connection(void **state)
{
    const struct certificate_options wrong = { .names = "DNS:wrong" };
    struct sherd_system *system;
    struct keys keys;
    (void)state;

    keys_init(&keys);
    system = start_one(&keys, 0, NULL);
    forget_log();
    keys_replace(&keys, NULL, &wrong);
    wait_logged("changed TLS files rejected");
    sherd_close(system);
    keys_fini(&keys);
}

/* By its status. */
static int is_plain(const struct keys *keys, const char *more)
{
    char config[800];
    struct sherd_options options = options_of(keys, config, sizeof config, more);
    struct sherd_system *system;
    struct sherd_status status;
    int plain;

    options.alone = 1;
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_start(system), 0);
    assert_int_equal(sherd_get_status(system, &status), 0);
    plain = status.plain;
    sherd_status_free(&status);
    sherd_close(system);
    return plain;
}

static void a_port_that_others_reach_is_not_plain(void **state)
{
    const struct certificate_options any = { .names = "IP:0.0.0.0,IP:127.0.0.1" };
    const char *bind = "akka.remote.artery.bind.hostname = \"0.0.0.0\"\n";
    char both[200];
    struct keys keys;
    (void)state;

    keys_init(&keys);
    keys_replace(&keys, NULL, &any);
    opens_not(NULL, NULL, bind, SHERD_ECONFIG, "allow-plain");
    (void)snprintf(both, sizeof both, "%ssherd.remote.allow-plain = on", bind);
    opens_not(NULL, NULL, both, 0, "each program that reaches this address can act as a node");
    opens_not(&keys, NULL, bind, 0, "");
    assert_false(was_logged("plain"));
    assert_true(is_plain(NULL, both));
    assert_false(is_plain(NULL, NULL));
    assert_false(is_plain(&keys, bind));
    keys_fini(&keys);
}

static void settings_that_cannot_be_used_are_refused(void **state)
{
    const char *alone = "akka.remote.artery.ssl.config-ssl-engine.require-mutual-authentication = off";
    struct keys keys;
    (void)state;

    keys_init(&keys);
    opens_not(&keys, NULL, alone, SHERD_ECONFIG, "require-mutual-authentication is off");
    opens_not(NULL, NULL, "akka.remote.artery.transport = tls-tcp", SHERD_ECONFIG,
              "/var/run/secrets/akka-tls/rotating-keys-engine/tls.crt");
    opens_not(&keys, "localhost", NULL, 0, "");
    opens_not(&keys, NULL, "sherd.remote.tls.crl = \"/nowhere/crl.pem\"", SHERD_ECONFIG,
              "TLS: crl \\\"/nowhere/crl.pem\\\": No such file");
    opens_not(&keys, NULL, "sherd.remote.tls.pins = [abc]", SHERD_ECONFIG, "is not 64 hexadecimal digits");
    opens_not(&keys, NULL,
              "sherd.remote.tls.pins = [\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"]",
              SHERD_ECONFIG, "neither its key nor one of its CAs' is pinned");
    opens_not(&keys, NULL, "sherd.remote.tls.pins-file = \"/nowhere/pins\"", SHERD_ECONFIG,
              "TLS: pins \\\"/nowhere/pins\\\": No such file");
    opens_not(NULL, NULL, "sherd.remote.tls.pins-file = \"/nowhere/pins\"", SHERD_ECONFIG,
              "remote.tls.pins-file needs remote.artery.transport = tls-tcp");
    opens_not(NULL, NULL, "sherd.remote.tls.secret = \"/nowhere/secret\"", SHERD_ECONFIG,
              "remote.tls.secret needs remote.artery.transport = tls-tcp");
    opens_not(&keys, "127.0.0.2", NULL, SHERD_ECONFIG, "no alternative name for this node's host 127.0.0.2");
    keys_fini(&keys);
}

/* A JVM reads addresses as URIs, whose hosts have no underscore. */
static void an_underscore_in_the_host_name_is_reported(void **state)
{
    const char *bind = "akka.remote.artery.bind.hostname = \"127.0.0.1\"\n";
    (void)state;

    opens_not(NULL, "node_1", bind, 0, "host name has an underscore: JVM nodes cannot answer");
    opens_not(NULL, "node-1", bind, 0, "");
    assert_false(was_logged("underscore"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(two_systems_exchange_messages_over_tls, set_up),
        cmocka_unit_test_setup(an_underscore_in_the_host_name_is_reported, set_up),
        cmocka_unit_test_setup(two_systems_exchange_messages_over_tls_1_2, set_up),
        cmocka_unit_test_setup(unknown_nodes_do_not_disturb_the_cluster, set_up),
        cmocka_unit_test_setup(a_node_at_anothers_address_is_refused, set_up),
        cmocka_unit_test_setup(a_node_of_another_system_is_refused, set_up),
        cmocka_unit_test_setup(a_node_without_the_secret_is_refused, set_up),
        cmocka_unit_test_setup(a_revoked_node_is_refused_without_a_restart, set_up),
        cmocka_unit_test_setup(a_connected_revoked_node_is_disconnected, set_up),
        cmocka_unit_test_setup(plain_and_tls_do_not_mix, set_up),
        cmocka_unit_test_setup(changed_files_are_used_without_a_restart, set_up),
        cmocka_unit_test_setup(changed_files_are_read_without_a_connection, set_up),
        cmocka_unit_test_setup(a_port_that_others_reach_is_not_plain, set_up),
        cmocka_unit_test_setup(settings_that_cannot_be_used_are_refused, set_up),
    };
    int failed;

    if (uv_mutex_init(&log_mutex) != 0)
        return 1;
    failed = cmocka_run_group_tests_name("tls_cluster", tests, NULL, NULL);
    uv_mutex_destroy(&log_mutex);
    return failed;
}
