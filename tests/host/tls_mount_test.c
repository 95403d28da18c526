/* Tests TLS files on a stalled mount. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <uv.h>

#include "mount.h"
#include "tls_ends.h"

static void serves(struct tls *tls, uint64_t now, const char *host)
{
    struct tls_end *link = tls_connect(tls, now, host);
    struct tls_end *conn = tls_accept(tls, now);

    tls_pump(link, conn, 1000);
    assert_string_equal(tls_end_why(link), "");
    assert_int_equal(tls_end_state(link), TLS_OPEN);
    tls_end_free(link);
    tls_end_free(conn);
}

static void a_stalled_mount_blocks_neither_connections_nor_closing(void **state)
{
    const struct certificate_options second = { .names = "IP:127.0.0.1,DNS:second" };
    const struct certificate_options third = { .names = "IP:127.0.0.1,DNS:third" };
    struct keys keys;
    struct tls *tls;
    uint64_t version;
    (void)state;

    keys_init(&keys);
    tls = tls_open_keys(&keys);
    version = tls_look(tls, 0);
    keys_replace(&keys, NULL, &second);
    mount_stop();
    serves(tls, 2 * SECOND, "localhost"); /* by the earlier files */
    mount_holds(1);
    tls_logged[0] = 0;
    for (int i = 0; i < 20000 && !tls_logged[0]; i++) {
        assert_true(tls_look(tls, 2 * SECOND) == version);
        uv_sleep(1);
    }
    assert_string_equal(tls_logged, "TLS files not read in time: the former ones stay in use "
                                    "hint=\"check the file system of these files\"");
    tls_logged[0] = 0;
    assert_true(tls_look(tls, 4 * SECOND) == version);
    assert_string_equal(tls_logged, ""); /* reported once */
    mount_go_on();
    tls_wait(tls);
    assert_string_equal(tls_logged, "changed TLS files are in use");
    assert_true(tls_look(tls, 4 * SECOND) != version);
    serves(tls, 4 * SECOND, "second");

    keys_replace(&keys, NULL, &third);
    mount_stop();
    serves(tls, 6 * SECOND, "second");
    mount_holds(1);
    tls_close(tls);
    assert_string_equal(tls_logged, "TLS files not read in time: the reading thread is left behind "
                                    "hint=\"check the file system of these files\"");
    mount_go_on();
    mount_holds(0);
    keys_fini(&keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stalled_mount_blocks_neither_connections_nor_closing),
    };

    /* A thread left behind may still use memory that OpenSSL's exit handler frees. */
    if (OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL) != 1)
        return 1;
    return cmocka_run_group_tests_name("tls mount", tests, NULL, NULL);
}
