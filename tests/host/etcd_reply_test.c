/* Tests replies of etcd's gateway: real ones of a 3.4 server, and invalid ones.
 *
 * limit: ETCD_VALUE_MAX, ETCD_TOKEN_MAX */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "host/etcd_reply.h"

#define HEADER \
    "\"header\":{\"cluster_id\":\"14841639068965178418\"," \
    "\"member_id\":\"10276657743932975437\",\"revision\":\"7\",\"raft_term\":\"2\"}"
#define ENTRY \
    "\"key\":\"aw==\",\"create_revision\":\"5\",\"mod_revision\":\"6\",\"version\":\"2\"," \
    "\"value\":\"bzoxOjI=\",\"lease\":\"7587848390134342155\""

static bool range(const char *text, struct etcd_key *key)
{
    return etcd_read_range(slice_text(text), "aw==", key);
}

static void an_existing_key_is_read(void **state)
{
    struct etcd_key key;

    (void)state;
    assert_true(range("{" HEADER ",\"kvs\":[{" ENTRY "}],\"count\":\"1\"}", &key));
    assert_true(key.found);
    assert_string_equal(key.value, "bzoxOjI=");
    assert_true(key.create_revision == 5 && key.mod_revision == 6);
    assert_true(key.lease == 7587848390134342155u);
}

static void a_missing_key_is_read(void **state)
{
    struct etcd_key key;

    (void)state;
    assert_true(range("{" HEADER "}", &key));
    assert_false(key.found);
    assert_true(key.mod_revision == 0);
}

/* None of these may read as a free lease. */
static void an_invalid_range_reply_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "null",
        "[]",
        "{}",
        "{\"header\":{}}",
        "{\"header\":{\"revision\":7}}",
        "{\"header\":{\"revision\":\"0\"}}",
        "{\"header\":{\"revision\":\"-7\"}}",
        "{\"header\":{\"revision\":\"9223372036854775808\"}}",
        "{" HEADER ",\"count\":\"1\"}",
        "{" HEADER ",\"kvs\":[]}",
        "{" HEADER ",\"kvs\":{}}",
        "{" HEADER ",\"kvs\":[{" ENTRY "},{" ENTRY "}]}",
        "{" HEADER ",\"kvs\":[{\"key\":\"aw==\"}]}",
        "{" HEADER ",\"kvs\":[{\"key\":\"YQ==\",\"create_revision\":\"5\",\"mod_revision\":\"6\"}]}",
        /* newer than the reply */
        "{" HEADER ",\"kvs\":[{\"key\":\"aw==\",\"create_revision\":\"5\",\"mod_revision\":\"8\"}]}",
        "{" HEADER ",\"kvs\":[{" ENTRY ",\"lease\":\"1\"}]}",
        "{" HEADER "} {" HEADER "}",
        "{" HEADER,
    };
    (void)state;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct etcd_key key;

        if (range(texts[i], &key))
            fail_msg("taken: %s", texts[i]);
        assert_false(key.found);
    }
}

static void a_too_long_value_is_refused(void **state)
{
    char text[1024], value[ETCD_VALUE_MAX + 1];
    struct etcd_key key;

    (void)state;
    memset(value, 'A', ETCD_VALUE_MAX);
    value[ETCD_VALUE_MAX] = 0;
    for (int cut = 0; cut < 2; cut++) {
        value[ETCD_VALUE_MAX - cut] = 0;
        (void)snprintf(text, sizeof text,
                       "{" HEADER ",\"kvs\":[{\"key\":\"aw==\",\"create_revision\":\"5\",\"mod_revision\":\"6\","
                       "\"value\":\"%s\"}]}", value);
        assert_int_equal(range(text, &key), cut);
    }
}

static void grants_are_read(void **state)
{
    uint64_t lease, ttl;

    (void)state;
    assert_true(etcd_read_grant(slice_text("{" HEADER ",\"ID\":\"12\",\"TTL\":\"120\"}"), &lease, &ttl));
    assert_true(lease == 12 && ttl == 120);
    assert_false(etcd_read_grant(slice_text("{" HEADER ",\"ID\":\"12\"}"), &lease, &ttl));
    assert_false(etcd_read_grant(slice_text("{" HEADER ",\"TTL\":\"12\"}"), &lease, &ttl));
    assert_false(etcd_read_grant(slice_text("{\"ID\":\"12\",\"TTL\":\"120\"}"), &lease, &ttl));
    assert_false(etcd_read_grant(slice_text("{" HEADER ",\"error\":\"no\"}"), &lease, &ttl));
}

static void transactions_are_read(void **state)
{
    uint64_t revision;
    bool succeeded;

    (void)state;
    assert_true(etcd_read_txn(slice_text("{" HEADER ",\"succeeded\":true,\"responses\":[{}]}"), &succeeded, &revision));
    assert_true(succeeded && revision == 7);
    assert_true(etcd_read_txn(slice_text("{" HEADER "}"), &succeeded, &revision));
    assert_false(succeeded);
    assert_false(etcd_read_txn(slice_text("{\"succeeded\":true}"), &succeeded, &revision));
    assert_false(succeeded);
    assert_false(etcd_read_txn(slice_text("{" HEADER ",\"succeeded\":\"true\"}"), &succeeded, &revision));
    assert_false(succeeded);
}

#define RANGE(key) "{\"response_range\":{\"kvs\":[{\"key\":\"" key "\",\"create_revision\":\"3\",\"mod_revision\":\"5\"}],\"count\":\"1\"}}"
#define NONE "{\"response_range\":{\"header\":{\"revision\":\"7\"}}}"

static void ranges_of_a_transaction_are_read(void **state)
{
    static const char *const keys[] = { "aw==", "bA==" };
    static const char *const wrong[] = {
        "{" HEADER ",\"succeeded\":true,\"responses\":[" RANGE("aw==") "]}",
        "{" HEADER ",\"succeeded\":true,\"responses\":[" NONE "," RANGE("aw==") "]}",
        "{" HEADER ",\"succeeded\":true,\"responses\":[" NONE "," NONE "," NONE "]}",
        "{" HEADER ",\"succeeded\":true,\"responses\":[" NONE ",{\"response_put\":{}}]}",
        "{" HEADER ",\"responses\":[" NONE "," NONE "]}",
        "{\"succeeded\":true,\"responses\":[" NONE "," NONE "]}",
        "{" HEADER ",\"succeeded\":true}",
    };
    struct etcd_key found[2];

    (void)state;
    assert_true(etcd_read_ranges(slice_text("{" HEADER ",\"succeeded\":true,\"responses\":["
                                            RANGE("aw==") "," NONE "]}"), keys, 2, found));
    assert_true(found[0].found && found[0].create_revision == 3 && found[0].mod_revision == 5);
    assert_false(found[1].found);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (etcd_read_ranges(slice_text(wrong[i]), keys, 2, found) || found[0].found)
            fail_msg("taken: %s", wrong[i]);
}

static void tokens_are_read(void **state)
{
    char token[ETCD_TOKEN_MAX], text[ETCD_TOKEN_MAX + 64];

    (void)state;
    assert_true(etcd_read_token(slice_text("{" HEADER ",\"token\":\"abc.12\"}"), token));
    assert_string_equal(token, "abc.12");
    /* would become a header line */
    assert_false(etcd_read_token(slice_text("{\"token\":\"a\\r\\nHost: b\"}"), token));
    assert_false(etcd_read_token(slice_text("{\"token\":\"\"}"), token));
    (void)snprintf(text, sizeof text, "{\"token\":\"%0*d\"}", ETCD_TOKEN_MAX - 1, 0);
    assert_true(etcd_read_token(slice_text(text), token));
    (void)snprintf(text, sizeof text, "{\"token\":\"%0*d\"}", ETCD_TOKEN_MAX, 0);
    assert_false(etcd_read_token(slice_text(text), token));
}

static void errors_are_one_line(void **state)
{
    char text[16];

    (void)state;
    etcd_read_error(slice_text("{\"error\":\"a\",\"message\":\"a\\nb\\tc\\\"d\"}"), text, sizeof text);
    assert_string_equal(text, "a b c'd");
    etcd_read_error(slice_text("{\"error\":\"0123456789abcdef\"}"), text, sizeof text);
    assert_string_equal(text, "0123456789abcde");
    etcd_read_error(slice_text("<html>"), text, sizeof text);
    assert_string_equal(text, "");
}

static void bytes_are_written_in_base64(void **state)
{
    static const char *const rows[][2] = { /* RFC 4648, 10 */
        { "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" }, { "foo", "Zm9v" },
        { "foob", "Zm9vYg==" }, { "fooba", "Zm9vYmE=" }, { "foobar", "Zm9vYmFy" }, { "\xff\xfe\xfb", "//77" },
    };
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buf buf = { 0 };

        etcd_put_base64(&buf, slice_text(rows[i][0]));
        assert_true(slice_is(buf_slice(&buf), rows[i][1]));
        buf_clear(&buf);
        assert_true(etcd_get_base64(&buf, rows[i][1]));
        assert_true(slice_is(buf_slice(&buf), rows[i][0]));
        buf_fini(&buf);
    }
}

static void text_that_is_no_base64_is_refused(void **state)
{
    static const char *const rows[] = { "A", "AA", "AAA", "AA=A", "A===", "=AAA", "AA A", "A-AA", "Zg==Zg==" };
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buf buf = { 0 };

        buf_put_u8(&buf, 'x');
        if (etcd_get_base64(&buf, rows[i]) || buf.size != 1)
            fail_msg("taken: %s", rows[i]);
        buf_fini(&buf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_existing_key_is_read),
        cmocka_unit_test(a_missing_key_is_read),
        cmocka_unit_test(an_invalid_range_reply_is_refused),
        cmocka_unit_test(a_too_long_value_is_refused),
        cmocka_unit_test(grants_are_read),
        cmocka_unit_test(transactions_are_read),
        cmocka_unit_test(ranges_of_a_transaction_are_read),
        cmocka_unit_test(tokens_are_read),
        cmocka_unit_test(errors_are_one_line),
        cmocka_unit_test(bytes_are_written_in_base64),
        cmocka_unit_test(text_that_is_no_base64_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
