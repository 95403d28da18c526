/* Tests revoked certificates: refused peers, valid lists, and lists that are read again. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/ssl.h>

#include "base/limits.h"
#include "certificates.h"
#include "host/tls.h"
#include "tls_ends.h"

static const struct certificate_options good = { .names = "IP:127.0.0.1" };
static const struct crl_options nobody = { .revoked = NULL };

static struct tls_options options_with_lists(const struct keys *keys)
{
    struct tls_options options = tls_options_of(keys);

    options.crl = keys->crl_path;
    return options;
}

static struct tls *open_with_lists(const struct keys *keys)
{
    struct tls_options options = options_with_lists(keys);

    return tls_open_with(&options);
}

static void write_list(const struct keys *keys, const struct certificate *revoked)
{
    const struct crl_options options = { .revoked = revoked };

    certificate_write_crl(keys->ca, &options, keys->crl_path);
}

/* A peer with this certificate, and its issuer if that is not the CA, is accepted, or refused for
 * this reason. */
static void judges(struct tls *tls, uint64_t now, const struct certificate *shown, const struct certificate *between,
                   const char *why)
{
    tls_look_now(tls, now);
    for (int accepts = 0; accepts < 2; accepts++) {
        struct tls_end *end = accepts ? tls_accept(tls, now) : tls_connect(tls, now, "127.0.0.1");
        struct peer peer;

        peer_init(&peer, shown, !accepts);
        if (between)
            certificate_show(between, peer.ssl);
        peer_pump(&peer, end);
        assert_int_equal(tls_end_state(end), why ? TLS_FAILED : TLS_OPEN);
        if (why && !strstr(tls_end_why(end), why))
            fail_msg("\"%s\", not \"%s\"", tls_end_why(end), why);
        tls_end_free(end);
        peer_fini(&peer);
    }
}

static void refuses_both(struct tls *tls, uint64_t now, const struct certificate *shown, const char *why)
{
    tls_refuses(tls, now, shown, true, why);
    tls_refuses(tls, now, shown, false, why);
}

static void a_revoked_peer_is_refused_both_ways(void **state)
{
    struct certificate *left, *stays;
    struct keys keys;
    struct tls *tls;
    (void)state;

    keys_init(&keys);
    left = certificate_new(keys.ca, &good);
    stays = certificate_new(keys.ca, &good);
    write_list(&keys, left);
    tls = open_with_lists(&keys);
    refuses_both(tls, 0, left, "certificate revoked");
    judges(tls, 0, stays, NULL, NULL);
    tls_close(tls);
    tls = tls_open_keys(&keys); /* without lists */
    judges(tls, 0, left, NULL, NULL);
    tls_close(tls);
    certificate_free(left);
    certificate_free(stays);
    keys_fini(&keys);
}

/* An unknown state is refused, also of an intermediate CA. */
static void each_ca_needs_a_list(void **state)
{
    const struct certificate_options middle = { .name = "between", .is_ca = true };
    struct crl_options more = { .appends = true };
    struct certificate *between, *leaf;
    struct keys keys;
    struct tls *tls;
    (void)state;

    keys_init(&keys);
    between = certificate_new(keys.ca, &middle);
    leaf = certificate_new(between, &good);
    write_list(&keys, NULL);
    tls = open_with_lists(&keys);
    judges(tls, 0, keys.node, NULL, NULL);
    judges(tls, 0, leaf, between, "unable to get certificate CRL");
    certificate_write_crl(between, &more, keys.crl_path);
    judges(tls, 2 * SECOND, leaf, between, NULL);
    more.revoked = leaf;
    write_list(&keys, NULL);
    certificate_write_crl(between, &more, keys.crl_path);
    judges(tls, 4 * SECOND, leaf, between, "certificate revoked");
    more.revoked = NULL;
    write_list(&keys, between);
    certificate_write_crl(between, &more, keys.crl_path);
    judges(tls, 6 * SECOND, leaf, between, "certificate revoked");
    judges(tls, 6 * SECOND, keys.node, NULL, NULL);
    tls_close(tls);
    certificate_free(between);
    certificate_free(leaf);
    keys_fini(&keys);
}

/* A list of another CA with the same name does not count. */
static void lists_must_be_the_cas_own(void **state)
{
    const struct certificate_options same = { .name = "the CA", .is_ca = true };
    struct certificate *other = certificate_new(NULL, &same);
    struct tls_options options;
    struct keys keys;
    (void)state;

    keys_init(&keys);
    options = options_with_lists(&keys);
    certificate_write_crl(other, &nobody, keys.crl_path);
    tls_not_opened(&options, "node.pem: other nodes refuse the certificate: CRL signature failure");
    certificate_free(other);
    keys_fini(&keys);
}

static void lists_that_cannot_be_used_are_refused(void **state)
{
    const struct certificate_options elsewhere = { .name = "elsewhere", .is_ca = true };
    const struct crl_options old = { .from_s = -7200, .to_s = -1 };
    const struct crl_options early = { .from_s = 1000, .to_s = 86400 };
    struct certificate *other = certificate_new(NULL, &elsewhere);
    struct tls_options options;
    struct keys keys;
    (void)state;

    keys_init(&keys);
    options = options_with_lists(&keys);
    tls_not_opened(&options, "crl.pem\": No such file");
    options.crl = keys.node_path;
    tls_not_opened(&options, "node.pem: the file contains no revocation list");
    options.crl = keys.folder;
    tls_not_opened(&options, keys.folder);
    options.crl = keys.crl_path;
    certificate_write_crl(keys.ca, &old, keys.crl_path);
    tls_not_opened(&options, "crl.pem: the revocation list of /CN=the CA has expired");
    certificate_write_crl(keys.ca, &early, keys.crl_path);
    tls_not_opened(&options, "crl.pem: the revocation list of /CN=the CA is not valid yet");
    certificate_write_crl(other, &nobody, keys.crl_path);
    tls_not_opened(&options, "other nodes refuse the certificate: unable to get certificate CRL");
    write_list(&keys, keys.node);
    tls_not_opened(&options, "node.pem: the certificate is revoked");
    certificate_free(other);
    keys_fini(&keys);
}

/* Damage inside a list is not the end of the file. */
static void a_damaged_file_is_refused(void **state)
{
    struct crl_options more = { .appends = true };
    struct tls_options options;
    struct keys keys;
    FILE *file;
    (void)state;

    keys_init(&keys);
    options = options_with_lists(&keys);
    write_list(&keys, NULL);
    certificate_write_crl(keys.ca, &more, keys.crl_path);
    tls_close(tls_open_with(&options));
    file = fopen(keys.crl_path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, -100, SEEK_END), 0);
    assert_int_equal(fputs("!!!!", file) >= 0, 1);
    assert_int_equal(fclose(file), 0);
    tls_not_opened(&options, "crl.pem: ");
    assert_int_equal(truncate(keys.crl_path, 100), 0);
    tls_not_opened(&options, "crl.pem: ");
    keys_fini(&keys);
}

static void lists_are_read_again(void **state)
{
    const struct crl_options old = { .from_s = -7200, .to_s = -1 };
    struct certificate *left;
    struct tls_end *link, *conn;
    struct keys keys;
    struct tls *tls;
    (void)state;

    keys_init(&keys);
    left = certificate_new(keys.ca, &good);
    write_list(&keys, NULL);
    tls = open_with_lists(&keys);
    link = tls_connect(tls, 0, "127.0.0.1");
    conn = tls_accept(tls, 0);
    tls_pump(link, conn, 1000);
    judges(tls, 0, left, NULL, NULL);
    write_list(&keys, left);
    judges(tls, SECOND / 2, left, NULL, NULL); /* too early for a look */
    tls_logged[0] = 0;
    refuses_both(tls, 2 * SECOND, left, "certificate revoked");
    assert_string_equal(tls_logged, "changed TLS files are in use");
    judges(tls, 2 * SECOND, keys.node, NULL, NULL);

    /* An unusable file changes nothing. */
    certificate_write_crl(keys.ca, &old, keys.crl_path);
    refuses_both(tls, 4 * SECOND, left, "certificate revoked");
    assert_non_null(strstr(tls_logged, "has expired"));
    assert_int_equal(unlink(keys.crl_path), 0);
    refuses_both(tls, 6 * SECOND, left, "certificate revoked");
    assert_non_null(strstr(tls_logged, "No such file"));
    write_list(&keys, NULL);
    judges(tls, 8 * SECOND, left, NULL, NULL);

    /* Open connections stay. */
    tls_end_write(link, slice_text("still here"));
    tls_pump(link, conn, 1000);
    assert_int_equal(tls_end_read(conn, (uint8_t[16]){ 0 }, 16), 10);
    certificate_free(left);
    tls_end_free(link);
    tls_end_free(conn);
    tls_close(tls);
    keys_fini(&keys);
}

/* An open end of each kind, with a peer of this certificate and its issuer. */
struct meeting {
    struct tls_end *ends[2];
    struct peer peers[2];
};

static void meet(struct meeting *meeting, struct tls *tls, const struct certificate *shown,
                 const struct certificate *between)
{
    for (int accepts = 0; accepts < 2; accepts++) {
        meeting->ends[accepts] = accepts ? tls_accept(tls, 0) : tls_connect(tls, 0, "127.0.0.1");
        peer_init(&meeting->peers[accepts], shown, !accepts);
        if (between)
            certificate_show(between, meeting->peers[accepts].ssl);
        peer_pump(&meeting->peers[accepts], meeting->ends[accepts]);
        assert_int_equal(tls_end_state(meeting->ends[accepts]), TLS_OPEN);
    }
}

static bool is_revoked(struct tls *tls, const struct meeting *meeting)
{
    uint64_t before = tls_revoked(tls);
    bool dialled = tls_revokes(tls, meeting->ends[0]);

    assert_int_equal(tls_revokes(tls, meeting->ends[1]), dialled);
    assert_int_equal(tls_revoked(tls) - before, dialled ? 2 : 0);
    return dialled;
}

static void part(struct meeting *meeting)
{
    for (int i = 0; i < 2; i++) {
        tls_end_free(meeting->ends[i]);
        peer_fini(&meeting->peers[i]);
    }
}

/* Time limit: TLS_LOOK_MS. */
static void a_connected_peer_that_is_revoked_is_reported(void **state)
{
    const struct certificate_options middle = { .name = "between", .is_ca = true };
    const struct crl_options more = { .appends = true };
    struct certificate *left, *between, *leaf;
    struct meeting stays, goes, far;
    struct keys keys;
    struct tls *tls;
    uint64_t version;
    (void)state;

    keys_init(&keys);
    left = certificate_new(keys.ca, &good);
    between = certificate_new(keys.ca, &middle);
    leaf = certificate_new(between, &good);
    write_list(&keys, NULL);
    certificate_write_crl(between, &more, keys.crl_path);
    tls = open_with_lists(&keys);
    meet(&stays, tls, keys.node, NULL);
    meet(&goes, tls, left, NULL);
    meet(&far, tls, leaf, between);
    version = tls_look(tls, 2 * SECOND);
    tls_wait(tls);
    assert_false(is_revoked(tls, &stays) || is_revoked(tls, &goes) || is_revoked(tls, &far));

    write_list(&keys, left);
    certificate_write_crl(between, &more, keys.crl_path);
    assert_false(is_revoked(tls, &goes)); /* before the next look */
    tls_look_now(tls, 4 * SECOND);
    assert_true(tls_look(tls, 4 * SECOND) != version);
    assert_true(is_revoked(tls, &goes));
    assert_false(is_revoked(tls, &stays) || is_revoked(tls, &far));

    version = tls_look(tls, 6 * SECOND);
    tls_wait(tls);
    write_list(&keys, between);
    certificate_write_crl(between, &more, keys.crl_path);
    tls_look_now(tls, 8 * SECOND);
    assert_true(tls_look(tls, 8 * SECOND) != version);
    assert_true(is_revoked(tls, &far)); /* through its CA */
    assert_false(is_revoked(tls, &stays) || is_revoked(tls, &goes));
    part(&stays);
    part(&goes);
    part(&far);
    tls_close(tls);
    certificate_free(left);
    certificate_free(between);
    certificate_free(leaf);
    keys_fini(&keys);
}

/* A list without the CA's signature admits no new peer and closes no connection. */
static void a_list_of_another_ca_closes_no_connection(void **state)
{
    const struct certificate_options same = { .name = "between", .is_ca = true };
    struct crl_options more = { .appends = true };
    struct certificate *between, *other, *leaf;
    struct meeting far;
    struct keys keys;
    struct tls *tls;
    (void)state;

    keys_init(&keys);
    between = certificate_new(keys.ca, &same);
    other = certificate_new(NULL, &same);
    leaf = certificate_new(between, &good);
    write_list(&keys, NULL);
    certificate_write_crl(between, &more, keys.crl_path);
    tls = open_with_lists(&keys);
    meet(&far, tls, leaf, between);
    more.revoked = leaf;
    write_list(&keys, NULL);
    certificate_write_crl(other, &more, keys.crl_path);
    judges(tls, 2 * SECOND, leaf, between, "CRL signature failure");
    assert_false(is_revoked(tls, &far));
    part(&far);
    tls_close(tls);
    certificate_free(between);
    certificate_free(other);
    certificate_free(leaf);
    keys_fini(&keys);
}

static void without_lists_no_peer_is_revoked(void **state)
{
    struct meeting stays;
    struct keys keys;
    struct tls *tls;
    (void)state;

    keys_init(&keys);
    tls = tls_open_keys(&keys);
    meet(&stays, tls, keys.node, NULL);
    assert_false(is_revoked(tls, &stays));
    part(&stays);
    tls_close(tls);
    keys_fini(&keys);
}

/* The list is used, as it may name other nodes. */
static void a_list_that_revokes_the_own_certificate_is_used(void **state)
{
    struct certificate *left;
    struct keys keys;
    struct tls *tls;
    (void)state;

    keys_init(&keys);
    left = certificate_new(keys.ca, &good);
    write_list(&keys, NULL);
    tls = open_with_lists(&keys);
    write_list(&keys, keys.node);
    tls_logged[0] = 0;
    refuses_both(tls, 2 * SECOND, keys.node, "certificate revoked");
    assert_non_null(strstr(tls_logged, "this node's certificate is revoked"));
    judges(tls, 2 * SECOND, left, NULL, NULL);
    /* A new certificate ends it. */
    keys_replace(&keys, NULL, &good);
    tls_logged[0] = 0;
    judges(tls, 4 * SECOND, keys.node, NULL, NULL);
    assert_string_equal(tls_logged, "changed TLS files are in use");
    certificate_free(left);
    tls_close(tls);
    keys_fini(&keys);
}

/* A system with a certificate that every peer refuses does not start. */
static void an_own_certificate_that_peers_refuse_is_refused(void **state)
{
    const struct certificate_options elsewhere = { .name = "elsewhere", .is_ca = true };
    const struct certificate_options serves = { .names = "IP:127.0.0.1", .usage = "serverAuth" };
    const struct certificate_options dials = { .names = "IP:127.0.0.1", .usage = "clientAuth" };
    const struct certificate_options both = { .names = "IP:127.0.0.1", .usage = "clientAuth,serverAuth" };
    struct certificate *other = certificate_new(NULL, &elsewhere);
    struct tls_options options;
    struct keys keys;
    (void)state;

    keys_init(&keys);
    options = tls_options_of(&keys);
    keys_replace(&keys, other, &good);
    tls_not_opened(&options, "node.pem: other nodes refuse the certificate: unable to get local issuer certificate");
    keys_replace(&keys, NULL, &serves);
    tls_not_opened(&options, "node.pem: other nodes refuse the certificate: unsuitable certificate purpose");
    keys_replace(&keys, NULL, &dials);
    tls_not_opened(&options, "node.pem: other nodes refuse the certificate: unsuitable certificate purpose");
    keys_replace(&keys, NULL, &both);
    tls_close(tls_open_with(&options));
    certificate_free(other);
    keys_fini(&keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_revoked_peer_is_refused_both_ways),
        cmocka_unit_test(each_ca_needs_a_list),
        cmocka_unit_test(lists_must_be_the_cas_own),
        cmocka_unit_test(lists_that_cannot_be_used_are_refused),
        cmocka_unit_test(a_damaged_file_is_refused),
        cmocka_unit_test(lists_are_read_again),
        cmocka_unit_test(a_connected_peer_that_is_revoked_is_reported),
        cmocka_unit_test(a_list_of_another_ca_closes_no_connection),
        cmocka_unit_test(without_lists_no_peer_is_revoked),
        cmocka_unit_test(a_list_that_revokes_the_own_certificate_is_used),
        cmocka_unit_test(an_own_certificate_that_peers_refuse_is_refused),
    };

    return cmocka_run_group_tests_name("tls_revoked", tests, NULL, NULL);
}
