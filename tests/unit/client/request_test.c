/* Tests requests: their message, their completion, and their memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/check.h"
#include "client/request.h"

static struct client_request *request(size_t size)
{
    static char body[SHERD_BODY_MAX];
    struct client_message message = { .type = "T",
                                      .id = "some id",
                                      .body = { body, size },
                                      .user = body };

    memset(body, 'b', sizeof body);
    return client_request_new(&message);
}

static struct sherd_msg answer_of(const char *text, size_t size)
{
    return (struct sherd_msg){ .kind = SHERD_ANSWER,
                               .msg = 7,
                               .body = { text, size } };
}

static void a_request_copies_its_message(void **state)
{
    struct client_request *own = request(5);

    (void)state;
    assert_int_equal(client_request_body(own).size, 5);
    assert_memory_equal(client_request_body(own).data, "bbbbb", 5);
    assert_string_equal(client_request_entity(own), "some id");
    mem_free(own);
}

static void a_completion_has_the_answer(void **state)
{
    static const size_t sizes[] = { 0, 1, 11, 12, 13, 100, 5000, 200000 };
    static char text[200000];

    (void)state;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)i;
    for (size_t asked = 0; asked < sizeof sizes / sizeof *sizes; asked++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            struct client_request *own = request(sizes[asked]);
            struct sherd_msg msg = answer_of(text, sizes[i]);
            struct sherd_completion completion;

            own->id = 99;
            own = client_request_end(own, SHERD_CLIENT_ANSWERED, &msg);
            completion = client_completion(own);
            assert_int_equal(completion.request, 99);
            assert_non_null(completion.user);
            assert_int_equal(completion.status, SHERD_CLIENT_ANSWERED);
            assert_int_equal(completion.msg, 7);
            assert_int_equal(completion.body.size, sizes[i]);
            assert_memory_equal(completion.body.data, text, sizes[i]);
            assert_int_equal((uintptr_t)completion.body.data % 8, 0);
            assert_string_equal(completion.where, "");
            assert_true(own->room <= 1024 || own->room <= 2 * (sizes[i] + 1));
            mem_free(completion.memory);
        }
}

static void a_completion_without_answer_has_reason_and_place(void **state)
{
    struct sherd_msg msg = { .kind = SHERD_NO_ANSWER,
                             .reason = SHERD_REASON_LINK_LOST,
                             .stage = SHERD_STAGE_SENT,
                             .where = "a-host-with-a-long-name:2551" };
    struct client_request *own = client_request_end(
        request(0), SHERD_CLIENT_UNDELIVERED, &msg);
    struct sherd_completion completion = client_completion(own);

    (void)state;
    assert_int_equal(completion.reason, SHERD_REASON_LINK_LOST);
    assert_int_equal(completion.stage, SHERD_STAGE_SENT);
    assert_string_equal(completion.where, "a-host-with-a-long-name:2551");
    assert_int_equal(completion.body.size, 0);
    own = client_request_end(own, SHERD_CLIENT_CANCELLED, NULL);
    completion = client_completion(own);
    assert_int_equal(completion.reason, SHERD_REASON_NONE);
    assert_string_equal(completion.where, "");
    mem_free(own);
}

static void the_status_says_whether_the_message_was_sent(void **state)
{
    static const struct {
        enum sherd_reason reason;
        enum sherd_stage stage;
        enum sherd_client_status status;
    } cases[] = {
        { SHERD_REASON_TIMEOUT, SHERD_STAGE_NONE, SHERD_CLIENT_TIMED_OUT },
        { SHERD_REASON_TIMEOUT, SHERD_STAGE_SENT, SHERD_CLIENT_TIMED_OUT },
        { SHERD_REASON_BUFFER_FULL, SHERD_STAGE_NONE, SHERD_CLIENT_REFUSED },
        { SHERD_REASON_UNREACHABLE, SHERD_STAGE_NONE, SHERD_CLIENT_REFUSED },
        { SHERD_REASON_UNREACHABLE, SHERD_STAGE_SENT, SHERD_CLIENT_UNDELIVERED },
        { SHERD_REASON_HANDLER_FAILED, SHERD_STAGE_DELIVERED,
          SHERD_CLIENT_UNDELIVERED },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sherd_msg msg = { .kind = SHERD_NO_ANSWER,
                                 .reason = cases[i].reason,
                                 .stage = cases[i].stage };

        assert_int_equal(client_status_of(&msg), cases[i].status);
    }
}

static void a_status_has_a_text(void **state)
{
    (void)state;
    assert_string_equal(sherd_client_status_text(SHERD_CLIENT_ANSWERED),
                        "answered");
    assert_string_equal(sherd_client_status_text(SHERD_CLIENT_STATUS_COUNT),
                        "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_copies_its_message),
        cmocka_unit_test(a_completion_has_the_answer),
        cmocka_unit_test(a_completion_without_answer_has_reason_and_place),
        cmocka_unit_test(the_status_says_whether_the_message_was_sent),
        cmocka_unit_test(a_status_has_a_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
