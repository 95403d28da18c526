/* Tests which requests reach the HTTP library: whole and strict ones within the limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "mgmt/head.h"

static unsigned status_of(const char *text)
{
    struct head head = head_look(slice_text(text));

    return head.state == HEAD_REFUSED ? head.status : head.state == HEAD_WHOLE ? 200 : 0;
}

static void a_request_is_whole_with_its_last_byte(void **state)
{
    static const char text[] = "PUT /cluster HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET";
    struct head head;

    (void)state;
    for (size_t i = 0; i < sizeof text - 1 - 3; i++)
        assert_int_equal(head_look(slice_of(text, i)).state, HEAD_MORE);
    head = head_look(slice_of(text, sizeof text - 1));
    assert_int_equal(head.state, HEAD_WHOLE);
    assert_int_equal(head.size, sizeof text - 1 - 3);
    assert_false(head_look(slice_of(text, 40)).has_head);
    assert_true(head_look(slice_of(text, sizeof text - 1 - 4)).has_head);
}

static void strict_requests_pass(void **state)
{
    (void)state;
    assert_int_equal(status_of("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), 200);
    assert_int_equal(status_of("GET / HTTP/1.0\r\n\r\n"), 200);
    assert_int_equal(status_of("HEAD /a?b=c HTTP/1.1\r\nhOST:a\r\nX:\t y \r\nEmpty:\r\n\r\n"), 200);
}

static void malformed_requests_are_refused(void **state)
{
    static const char *const bad[] = {
        "GET / HTTP/1.1\nHost: a\n\n",
        "GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n folded: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nName : b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nNo colon\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: \x01\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: \x7f\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost:\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
        "GET /\r\n\r\n",
        "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /\xc3\xa4 HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /#a HTTP/1.1\r\nHost: a\r\n\r\n",
        "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "G\"T / HTTP/1.1\r\nHost: a\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
        "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\nx",
        "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\nx",
        "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\nx",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (status_of(bad[i]) != 400)
            fail_msg("%u for %s", status_of(bad[i]), bad[i]);
    assert_int_equal(head_look(slice_of("GET / HTTP/1.1\r\nX: a\0b\r\n\r\n", 26)).status, 400);
}

static void other_requests_are_refused_with_their_status(void **state)
{
    (void)state;
    assert_int_equal(status_of("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"), 501);
    assert_int_equal(status_of("TRACE / HTTP/1.1\r\nHost: a\r\n\r\n"), 501);
    assert_int_equal(status_of("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505);
    assert_int_equal(status_of("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505);
    assert_int_equal(status_of("PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n"), 417);
    assert_int_equal(status_of("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n"), 413);
    assert_int_equal(status_of("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n"), 413);
    assert_int_equal(status_of("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 65536\r\n\r\n"), 0);
}

/* A request line of `line` bytes, then headers of `each` bytes. */
static unsigned status_of_sizes(size_t line, uint32_t headers, size_t each)
{
    size_t size = line + 2 + headers * (each + 2) + 2;
    char *text = malloc(size + 1);
    char *at = text;
    struct head head;

    assert_true(text && line > 15 && each > 4);
    memset(text, 'a', size);
    memcpy(at, "GET /", 5);
    memcpy(at + line - 9, " HTTP/1.0\r\n", 11);
    at += line + 2;
    for (uint32_t i = 0; i < headers; i++) {
        memcpy(at, "X:", 2);
        memcpy(at + each, "\r\n", 2);
        at += each + 2;
    }
    memcpy(at, "\r\n", 2);
    head = head_look(slice_of(text, size));
    free(text);
    return head.state == HEAD_REFUSED ? head.status : head.state == HEAD_WHOLE ? 200 : 0;
}

static void a_body_has_its_limit(void **state)
{
    char text[96];

    (void)state;
    for (int i = 0; i < 2; i++) {
        (void)snprintf(text, sizeof text, "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", MGMT_BODY_MAX + i);
        assert_int_equal(status_of(text), i ? 413 : 0);
    }
}

static void each_size_has_its_limit(void **state)
{
    (void)state;
    assert_int_equal(status_of_sizes(MGMT_LINE_MAX, 0, 5), 200);
    assert_int_equal(status_of_sizes(MGMT_LINE_MAX + 1, 0, 5), 414);
    assert_int_equal(status_of_sizes(20, 1, MGMT_HEADER_MAX), 200);
    assert_int_equal(status_of_sizes(20, 1, MGMT_HEADER_MAX + 1), 431);
    assert_int_equal(status_of_sizes(20, MGMT_HEADERS_MAX, 10), 200);
    assert_int_equal(status_of_sizes(20, MGMT_HEADERS_MAX + 1, 10), 431);
    assert_int_equal(status_of_sizes(20, 4, MGMT_HEADER_MAX), 431);
}

/* The gate stops reading before the line ends. */
static void an_endless_line_is_refused_when_it_is_too_long(void **state)
{
    static char text[MGMT_HEAD_MAX + 2];

    (void)state;
    memset(text, 'a', sizeof text);
    assert_int_equal(head_look(slice_of(text, MGMT_LINE_MAX)).state, HEAD_MORE);
    assert_int_equal(head_look(slice_of(text, MGMT_LINE_MAX + 1)).status, 414);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_whole_with_its_last_byte),
        cmocka_unit_test(strict_requests_pass),
        cmocka_unit_test(malformed_requests_are_refused),
        cmocka_unit_test(other_requests_are_refused_with_their_status),
        cmocka_unit_test(a_body_has_its_limit),
        cmocka_unit_test(each_size_has_its_limit),
        cmocka_unit_test(an_endless_line_is_refused_when_it_is_too_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
