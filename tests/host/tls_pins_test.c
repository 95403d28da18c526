/* Tests pins: only some keys that a CA has signed are accepted. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"
#include "tls_ends.h"

#define WHY "no key of the peer's certificates is pinned"

static bool meet(struct tls *tls)
{
    struct tls_end *link = tls_connect(tls, 0, "127.0.0.1");
    struct tls_end *conn = tls_accept(tls, 0);
    bool right;

    tls_pump(link, conn, 1000);
    right = tls_end_state(link) == TLS_OPEN && tls_end_state(conn) == TLS_OPEN;
    tls_end_free(link);
    tls_end_free(conn);
    return right;
}

/* The own and another node's key are pinned; a third one of the same CA is refused in both
 * directions. */
static void only_pinned_keys_are_accepted(void **state)
{
    const struct certificate_options good = { .names = "IP:127.0.0.1" };
    const struct keys *keys = *state;
    struct certificate *wanted = certificate_new(keys->ca, &good);
    struct certificate *other = certificate_new(keys->ca, &good);
    struct tls_options options = tls_options_of(keys);
    char own[CERTIFICATE_PIN_SIZE], second[CERTIFICATE_PIN_SIZE];
    const char *pins[] = { certificate_pin(keys->node, "%02x", own), certificate_pin(wanted, "%02X", second) };
    struct tls *tls;

    options.pins = pins;
    options.pin_count = 2;
    tls = tls_open_with(&options);
    assert_true(meet(tls));
    for (int accepts = 0; accepts < 2; accepts++) {
        struct tls_end *end = accepts ? tls_accept(tls, 0) : tls_connect(tls, 0, "127.0.0.1");
        struct peer peer;

        peer_init(&peer, wanted, !accepts);
        peer_pump(&peer, end);
        assert_int_equal(tls_end_state(end), TLS_OPEN);
        tls_end_free(end);
        peer_fini(&peer);
        tls_refuses(tls, 0, other, accepts, WHY);
    }
    tls_close(tls);
    certificate_free(wanted);
    certificate_free(other);
}

/* A pinned CA accepts all of its certificates, besides other CAs. */
static void the_key_of_a_ca_may_be_pinned(void **state)
{
    const struct certificate_options good = { .names = "IP:127.0.0.1" }, root = { .is_ca = true };
    const struct keys *keys = *state;
    struct certificate *stranger = certificate_new(NULL, &root);
    struct certificate *theirs = certificate_new(stranger, &good);
    struct tls_options options = tls_options_of(keys);
    char ca[CERTIFICATE_PIN_SIZE], both[CERTIFICATE_PIN_SIZE];
    const char *pin = certificate_pin(keys->ca, "%02x", ca);
    struct tls *tls;

    options.pins = &pin;
    options.pin_count = 1;
    tls = tls_open_with(&options);
    assert_true(meet(tls));
    tls_refuses(tls, 0, theirs, true, "certificate"); /* not our CA, so pins do not matter */
    tls_close(tls);
    pin = certificate_pin(stranger, "%02x", both);
    tls_not_opened(&options, "neither its key nor one of its CAs' is pinned");
    certificate_free(theirs);
    certificate_free(stranger);
}

static void an_invalid_pin_is_refused(void **state)
{
    static const char *const wrong[] = {
        "", "sha256",
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde",
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0",
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdeg",
    };
    struct tls_options options = tls_options_of(*state);

    options.pin_count = 1;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        options.pins = &wrong[i];
        tls_not_opened(&options, "is not 64 hexadecimal digits");
    }
}

/* Replaces the file atomically, with one line for each pin. */
static void write_pins(const char *path, mode_t mode, const char *format, const char *first, const char *second)
{
    char beside[128];
    FILE *file;

    (void)snprintf(beside, sizeof beside, "%s.new", path);
    file = fopen(beside, "w");
    assert_non_null(file);
    assert_true(fprintf(file, format, first, second) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(beside, mode), 0);
    assert_int_equal(rename(beside, path), 0);
}

static const char *pins_path(void)
{
    static char path[64];

    (void)snprintf(path, sizeof path, "/tmp/sherd-pins-%d", (int)getpid());
    return path;
}

static bool is_heard(struct tls *tls, uint64_t now, const struct certificate *shown)
{
    struct tls_end *end;
    struct peer peer;
    bool heard;

    tls_look_now(tls, now);
    end = tls_accept(tls, now);
    peer_init(&peer, shown, false);
    peer_pump(&peer, end);
    heard = tls_end_state(end) == TLS_OPEN;
    tls_end_free(end);
    peer_fini(&peer);
    return heard;
}

/* Adds a new key's pin and drops the old one while the node runs; pins of the settings stay. */
static void pins_are_changed_while_nodes_run(void **state)
{
    const struct certificate_options good = { .names = "IP:127.0.0.1" };
    const struct keys *keys = *state;
    struct certificate *settled = certificate_new(keys->ca, &good), *next = certificate_new(keys->ca, &good);
    struct tls_options options = tls_options_of(keys);
    char own[CERTIFICATE_PIN_SIZE], other[CERTIFICATE_PIN_SIZE], third[CERTIFICATE_PIN_SIZE];
    const char *pin = certificate_pin(settled, "%02x", third);
    struct tls *tls;

    (void)certificate_pin(keys->node, "%02x", own);
    (void)certificate_pin(next, "%02X", other);
    options.pins = &pin;
    options.pin_count = 1;
    options.pins_file = pins_path();
    write_pins(options.pins_file, 0664, "# nodes\n\n  %s\tthe first one\r\n%.0s", own, other);
    tls = tls_open_with(&options);
    assert_true(is_heard(tls, 0, settled));
    assert_true(is_heard(tls, 0, keys->node));
    assert_false(is_heard(tls, 0, next));

    write_pins(options.pins_file, 0600, "%s\n%s # the next one", own, other);
    assert_false(is_heard(tls, SECOND / 2, next)); /* too early for a look */
    assert_true(is_heard(tls, 2 * SECOND, next));
    assert_true(is_heard(tls, 2 * SECOND, keys->node));

    write_pins(options.pins_file, 0600, "%.0s%s\n", own, other);
    /* the own key is not pinned: the earlier files stay in use */
    assert_true(is_heard(tls, 4 * SECOND, keys->node));
    assert_non_null(strstr(tls_logged, "neither its key nor one of its CAs' is pinned"));

    write_pins(options.pins_file, 0600, "%s\n%.0s", own, other);
    assert_false(is_heard(tls, 6 * SECOND, next));
    assert_non_null(strstr(tls_logged, "changed TLS files are in use"));
    assert_true(is_heard(tls, 6 * SECOND, settled));
    tls_close(tls);
    certificate_free(settled);
    certificate_free(next);
    (void)unlink(options.pins_file);
}

static void files_of_pins_that_cannot_be_used_are_refused(void **state)
{
    struct tls_options options = tls_options_of(*state);
    char own[CERTIFICATE_PIN_SIZE], line[TLS_PIN_LINE_MAX + 2];
    FILE *file;

    (void)certificate_pin(((const struct keys *)*state)->node, "%02x", own);
    options.pins_file = "/nowhere/pins";
    tls_not_opened(&options, "pins \"/nowhere/pins\": No such file");
    options.pins_file = pins_path();
    write_pins(options.pins_file, 0600, "# %s\n \n%s", "none", "");
    tls_not_opened(&options, "the file contains no pin");
    write_pins(options.pins_file, 0600, "%s\nsha256 %s\n", own, own);
    tls_not_opened(&options, "a line does not begin with 64 hexadecimal digits");
    write_pins(options.pins_file, 0600, "%sa%s\n", own, "");
    tls_not_opened(&options, "a line does not begin with 64 hexadecimal digits");
    write_pins(options.pins_file, 0602, "%s%s\n", own, "");
    tls_not_opened(&options, "every user of this machine can write it");
    memset(line, 'a', sizeof line);
    line[TLS_PIN_LINE_MAX + 1 - (CERTIFICATE_PIN_SIZE - 1) - 1] = 0;
    write_pins(options.pins_file, 0600, "%s %s\n", own, line);
    tls_not_opened(&options, "a line is too long");
    line[TLS_PIN_LINE_MAX - (CERTIFICATE_PIN_SIZE - 1) - 1] = 0;
    write_pins(options.pins_file, 0600, "%s %s\n", own, line);
    tls_close(tls_open_with(&options)); /* the longest line */
    file = fopen(options.pins_file, "w");
    assert_non_null(file);
    for (int i = 0; i < TLS_PINS_MAX; i++)
        (void)fprintf(file, "%s\n", own);
    assert_int_equal(fclose(file), 0);
    tls_close(tls_open_with(&options)); /* the largest number */
    file = fopen(options.pins_file, "a");
    assert_non_null(file);
    (void)fprintf(file, "%s\n", own);
    assert_int_equal(fclose(file), 0);
    tls_not_opened(&options, "there are too many");
    (void)unlink(options.pins_file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_pinned_keys_are_accepted),
        cmocka_unit_test(the_key_of_a_ca_may_be_pinned),
        cmocka_unit_test(an_invalid_pin_is_refused),
        cmocka_unit_test(pins_are_changed_while_nodes_run),
        cmocka_unit_test(files_of_pins_that_cannot_be_used_are_refused),
    };

    return cmocka_run_group_tests_name("tls_pins", tests, tls_make_keys, tls_remove_keys);
}
