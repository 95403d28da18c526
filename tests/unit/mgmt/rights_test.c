/* Tests tokens, certificates, and which hosts and origins are the server's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "mgmt/events.h"
#include "mgmt/rights.h"
#include "mgmt/sites.h"
#include "mgmt/wrong.h"

#define HEX "0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20"

static void tokens_are_found_by_their_digest(void **state)
{
    struct tokens tokens = { .items = { NULL, 0, 0 } };
    uint8_t digest[DIGEST_SIZE];
    const struct token *token;

    (void)state;
    for (uint8_t i = 0; i < DIGEST_SIZE; i++)
        digest[i] = (uint8_t)(i + 1);
    assert_int_equal(tokens_read(&tokens, slice_text("# people\n\noperate " HEX " ops\r\n")), 0);
    token = tokens_find(&tokens, digest);
    assert_non_null(token);
    assert_int_equal(token->right, RIGHT_OPERATE);
    assert_string_equal(token->name, "ops");
    digest[31] ^= 1;
    assert_null(tokens_find(&tokens, digest));
    tokens_fini(&tokens);
}

static void wrong_lines_of_tokens_are_named(void **state)
{
    static const char *const bad[] = { "root " HEX " ops",    "open " HEX " ops",        "read 01 ops",
                                       "read " HEX,           "read " HEX " ops more",   "read " HEX "00 ops",
                                       "read x" HEX " ops",   "read " HEX " o\"ps",      "read" };
    struct tokens tokens = { .items = { NULL, 0, 0 } };
    struct buf text = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        buf_clear(&text);
        buf_put_text(&text, "read " HEX " first\n");
        buf_put_text(&text, bad[i]);
        assert_int_equal(tokens_read(&tokens, buf_slice(&text)), 2);
        tokens_fini(&tokens);
    }
    buf_clear(&text);
    for (int i = 0; i <= MGMT_TOKENS_MAX; i++)
        buf_put_text(&text, "read " HEX " a\n");
    assert_int_equal(tokens_read(&tokens, buf_slice(&text)), MGMT_TOKENS_MAX + 1);
    tokens_fini(&tokens);
    buf_fini(&text);
}

static bool takes(const char *header, const char *wanted)
{
    struct buf token = { 0 };
    bool is_good = token_take(slice_text(header), &token);

    if (is_good && wanted)
        assert_true(slice_is(buf_slice(&token), wanted));
    buf_fini(&token);
    return is_good;
}

static void a_token_comes_in_two_forms(void **state)
{
    (void)state;
    assert_true(takes("Bearer abc", "abc"));
    assert_true(takes("bearer  abc ", "abc"));
    assert_true(takes("Basic dXNlcjphYmM=", "abc"));
    assert_true(takes("basic OmE6Yg==", "a:b"));
    assert_false(takes("Basic dXNlcg==", NULL));
    assert_false(takes("Basic dXNlcjphYmM", NULL));
    assert_false(takes("Basic d=NlcjphYmM=", NULL));
    assert_false(takes("Bearer", NULL));
    assert_false(takes("Bearer a b", NULL));
    assert_false(takes("Digest abc", NULL));
    assert_false(takes("", NULL));
}

static void tokens_and_their_lines_have_limits(void **state)
{
    struct tokens tokens = { .items = { NULL, 0, 0 } };
    struct buf text = { 0 };

    (void)state;
    buf_put_text(&text, "Bearer ");
    for (int i = 0; i < MGMT_TOKEN_SIZE_MAX; i++)
        buf_put_u8(&text, 'a');
    buf_put_u8(&text, 0);
    assert_true(takes((const char *)text.data, NULL));
    text.size--;
    buf_put_text(&text, "a");
    buf_put_u8(&text, 0);
    assert_false(takes((const char *)text.data, NULL));
    buf_clear(&text);
    buf_put_text(&text, "read " HEX " a");
    while (text.size < MGMT_TOKEN_LINE_MAX)
        buf_put_u8(&text, ' ');
    assert_int_equal(tokens_read(&tokens, buf_slice(&text)), 0);
    buf_put_u8(&text, ' ');
    assert_int_equal(tokens_read(&tokens, buf_slice(&text)), 1);
    tokens_fini(&tokens);
    buf_fini(&text);
}

static void many_wrong_tokens_make_an_address_wait(void **state)
{
    struct wrong_tokens wrong = { .items = { NULL, 0, 0 } };

    (void)state;
    for (uint32_t i = 1; i <= MGMT_WRONG_MAX; i++) {
        assert_false(wrong_tokens_too_many(&wrong, "a", 1000));
        assert_int_equal(wrong_tokens_add(&wrong, "a", 1000 + i), i);
    }
    assert_true(wrong_tokens_too_many(&wrong, "a", 1000 + MGMT_WRONG_MS));
    assert_false(wrong_tokens_too_many(&wrong, "b", 1000));
    assert_false(wrong_tokens_too_many(&wrong, "a", 1000 + MGMT_WRONG_MAX + MGMT_WRONG_MS));
    wrong_tokens_fini(&wrong);
}

static void the_oldest_address_is_forgotten(void **state)
{
    struct wrong_tokens wrong = { .items = { NULL, 0, 0 } };
    char address[16];

    (void)state;
    for (int i = 0; i < MGMT_WRONG_MAX; i++)
        (void)wrong_tokens_add(&wrong, "first", 1);
    for (int i = 0; i < MGMT_WRONG_ADDRESSES_MAX; i++) {
        assert_true(wrong_tokens_too_many(&wrong, "first", 1));
        (void)snprintf(address, sizeof address, "%d", i);
        (void)wrong_tokens_add(&wrong, address, 1);
    }
    assert_false(wrong_tokens_too_many(&wrong, "first", 1));
    assert_int_equal(wrong.items.count, MGMT_WRONG_ADDRESSES_MAX);
    wrong_tokens_fini(&wrong);
}

static void too_many_events_end_a_stream(void **state)
{
    static const uint8_t text[MGMT_EVENTS_BYTES_MAX];
    struct events events = { .is_over = false };
    struct buf taken;

    (void)state;
    assert_true(event_queue_add(&events, slice_of(text, sizeof text - 1)));
    assert_true(event_queue_add(&events, slice_of(text, 1)));
    taken = event_queue_take(&events);
    assert_int_equal(taken.size, MGMT_EVENTS_BYTES_MAX);
    buf_fini(&taken);
    assert_true(event_queue_add(&events, slice_of(text, sizeof text)));
    assert_false(event_queue_add(&events, slice_of(text, 1)));
    event_queue_fini(&events);
}

static void a_pattern_gives_a_certificate_its_right(void **state)
{
    enum right right;

    (void)state;
    assert_true(client_right("CN=ops,* = operate", "CN=ops,O=acme", &right));
    assert_int_equal(right, RIGHT_OPERATE);
    assert_true(client_right("CN=ops=admin", "CN=ops", &right));
    assert_int_equal(right, RIGHT_ADMIN);
    assert_false(client_right("CN=ops = admin", "CN=ops2", &right));
    assert_false(client_right("CN=ops,* = admin", "CN=ops2,O=acme", &right));
    assert_false(client_right("CN=ops = root", "CN=ops", &right));
    assert_false(client_right("nothing", "nothing", &right));
}

static void only_own_hosts_are_right(void **state)
{
    static const char *const names[] = { "node1.example", "" };
    struct site site = { .local = "10.0.0.1", .port = 8558, .names = names, .name_count = 2 };
    struct site six = { .local = "::1", .port = 8558 };

    (void)state;
    assert_true(site_is_own(&site, slice_text("localhost:8558")));
    assert_true(site_is_own(&site, slice_text("10.0.0.1:8558")));
    assert_true(site_is_own(&site, slice_text("NODE1.example:8558")));
    assert_true(site_is_own(&six, slice_text("[::1]:8558")));
    assert_false(site_is_own(&site, slice_text("evil:8558")));
    assert_false(site_is_own(&site, slice_text("localhost")));
    assert_false(site_is_own(&site, slice_text("localhost:8559")));
    assert_false(site_is_own(&site, slice_text("localhost:")));
    assert_false(site_is_own(&site, slice_text("localhost:8558x")));
    assert_false(site_is_own(&site, slice_text("localhost:868558")));
    assert_false(site_is_own(&site, slice_text("[::1")));
    assert_false(site_is_own(&site, slice_text("")));
    assert_false(site_is_own(&site, slice_of(NULL, 0)));
    site.port = 80;
    assert_true(site_is_own(&site, slice_text("localhost")));
    site.is_socket = true;
    assert_true(site_is_own(&site, slice_text("anything")));
}

static void pages_of_other_sites_change_nothing(void **state)
{
    struct site site = { .local = "10.0.0.1", .port = 8558 };
    struct slice host = slice_text("10.0.0.1:8558");
    struct slice none = slice_of(NULL, 0);

    (void)state;
    assert_true(site_is_same(&site, host, none, none));
    assert_true(site_is_same(&site, host, slice_text("http://10.0.0.1:8558"), slice_text("same-origin")));
    assert_false(site_is_same(&site, host, slice_text("http://evil"), none));
    assert_false(site_is_same(&site, host, slice_text("null"), none));
    assert_false(site_is_same(&site, host, slice_text("https://10.0.0.1:8558"), none));
    assert_false(site_is_same(&site, host, none, slice_text("cross-site")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_found_by_their_digest),
        cmocka_unit_test(wrong_lines_of_tokens_are_named),
        cmocka_unit_test(a_token_comes_in_two_forms),
        cmocka_unit_test(tokens_and_their_lines_have_limits),
        cmocka_unit_test(many_wrong_tokens_make_an_address_wait),
        cmocka_unit_test(the_oldest_address_is_forgotten),
        cmocka_unit_test(too_many_events_end_a_stream),
        cmocka_unit_test(a_pattern_gives_a_certificate_its_right),
        cmocka_unit_test(only_own_hosts_are_right),
        cmocka_unit_test(pages_of_other_sites_change_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
