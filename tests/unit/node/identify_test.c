/* Tests Identify of JVM nodes: the actor's lane answers, by the name in the question. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "artery/control.h"
#include "base/check.h"
#include "lone.h"
#include "node/control/control.h"
#include "node/lane/lane.h"

#define LANES 2

static const struct node_id jvm = { { "127.0.0.1", 40995 }, UINT64_C(77) };

/* Identify("x"): messageId, a string of serializer 20. */
static const uint8_t question[] = { 0x0a, 5, 0x0a, 1, 'x', 0x10, 20 };

struct bench {
    struct node *node;
    struct machine *control;
    struct machine *lane; /* the second */
};

static struct bench bench_new(void)
{
    struct bench bench = { .node = lone_interop(LANES) };

    bench.control = node_machine(bench.node, 0);
    bench.lane = node_machine(bench.node, LANES);
    return bench;
}

static struct sherd_ref spawn(struct bench *bench)
{
    const struct sherd_behavior behavior = { .name = "t", .receive = lone_stop };
    struct actors *actors = bench->lane->lane->actors;
    struct sherd_ref ref =
        actors_spawn(actors, &behavior, (struct slice){ 0 });

    (void)actors_run(actors, 1, 1, 100);
    return ref;
}

/* Returns the answer of the second lane, or of control if it asks no lane: the identity's path, or
 * "". */
static void ask(struct bench *bench, const char *path, char *answer,
                size_t size)
{
    struct inbound inbound = {
        .from = jvm,
        .sender = slice_text("/temp/$a"),
        .recipient = slice_text(path),
        .manifest = slice_text("A"),
        .payload = slice_of(question, sizeof question),
        .serializer = SERIALIZER_MISC,
    };
    struct machine *answering = bench->control;
    struct outbound outbound;
    const struct mail *mail;
    uint32_t count;

    control_dispatch(bench->control->control, &inbound);
    count = machine_outgoing(bench->control, LANES, &mail);
    if (count) {
        machine_mail(bench->lane, 0, mail, count);
        machine_sent(bench->control, LANES, count);
        answering = bench->lane;
    }
    assert_true(outbox_next(&answering->outbox, &outbound));
    assert_true(node_equal(&outbound.to, &jvm));
    assert_true(slice_is(outbound.recipient, "/temp/$a"));
    assert_int_equal(outbound.serializer, SERIALIZER_MISC);
    assert_true(slice_is(outbound.manifest, "B"));
    assert_true(outbound.payload.size >= sizeof question);
    assert_memory_equal(outbound.payload.data, question, sizeof question);
    (void)snprintf(answer, size, "%.*s",
                   (int)(outbound.payload.size - sizeof question),
                   (const char *)outbound.payload.data + sizeof question);
    assert_false(outbox_next(&answering->outbox, &outbound));
}

static void an_actor_answers_until_it_ends(void **state)
{
    struct bench bench = bench_new();
    struct sherd_ref actor = spawn(&bench);
    struct message *message;
    char path[NAME_MAX];
    char answer[NAME_MAX];
    char wanted[2 * NAME_MAX];
    (void)state;

    path[name_path(path, actor.actor, 0)] = 0;
    ask(&bench, path, answer, sizeof answer);
    (void)snprintf(wanted, sizeof wanted, "akka://Interop@127.0.0.1:58705%s",
                   path);
    assert_true(strlen(answer) > 4);
    assert_string_equal(answer + 4, wanted); /* after tags and lengths */

    message = actors_message(bench.lane->lane->actors, (struct slice){ 0 });
    message->to = actor;
    actors_deliver(bench.lane->lane->actors, message);
    (void)actors_run(bench.lane->lane->actors, 1, 1, 100);
    ask(&bench, path, answer, sizeof answer);
    assert_string_equal(answer, "");
    node_free(bench.node);
}

static void an_unknown_path_is_answered_without_an_actor(void **state)
{
    struct bench bench = bench_new();
    static const char *const paths[] = {
        "/user/a01000000000000ff", /* no such slot */
        "/user/aff000000000000ff", /* no such lane */
        "/user/other",
        "/temp/a0100000000000000.1", /* an ask is no actor */
    };
    char answer[NAME_MAX];
    (void)state;

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        ask(&bench, paths[i], answer, sizeof answer);
        assert_string_equal(answer, "");
    }
    node_free(bench.node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_actor_answers_until_it_ends),
        cmocka_unit_test(an_unknown_path_is_answered_without_an_actor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
