/* Tests JVM nodes' watches of actors here: the notice of the end repeats their texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "base/check.h"
#include "base/limits.h"
#include "lone.h"
#include "node/control/control.h"
#include "node/lane/lane.h"

static const struct node_id jvm = { { "127.0.0.1", 40995 },
                                    UINT64_C(0x3d2cb187cdd8a982) };

/* Akka 2.6.21 wrote this: one for all watches of the node. */
#define REMOTE_WATCHER                                                         \
    "akka://Interop@127.0.0.1:40995/system/remote-watcher#1990529551"

struct bench {
    struct node *node;
    struct machine *machine; /* of the only lane */
    struct lane *lane;
};

static struct bench bench_new(void)
{
    struct bench bench = { .node = lone_interop(1) };

    bench.machine = node_machine(bench.node, 1);
    bench.lane = bench.machine->lane;
    (void)peers_meant(&bench.machine->peers, &jvm);
    return bench;
}

/* Writes the text as a JVM that read it as a sender. */
static void text_of(char *text, size_t size, uint64_t actor, char content)
{
    char path[NAME_MAX];
    size_t length = name_path(path, actor, 0);

    path[6] = content;
    (void)snprintf(text, size, "akka://Interop@127.0.0.1:58705%.*s",
                   (int)length, path);
}

static void give(struct bench *bench, enum watch_verb verb, const char *watchee)
{
    struct watching *watching = mem_alloc(sizeof *watching);
    struct mail_content content =
        MAIL(watched, .verb = verb, .own = { watching });
    struct mail mail = mail_seal(&content);

    watching->peer = jvm;
    buf_put_text(&watching->watchee_text, watchee);
    buf_put_text(&watching->watcher_text, REMOTE_WATCHER);
    machine_mail(bench->machine, 1, &mail, 1);
    lane_wire(bench->lane);
}

static struct sherd_ref spawn(struct bench *bench)
{
    const struct sherd_behavior behavior = { .name = "t", .receive = lone_stop };
    struct sherd_ref ref =
        actors_spawn(bench->lane->actors, &behavior, (struct slice){ 0 });

    (void)actors_run(bench->lane->actors, 1, 1, 100);
    return ref;
}

static void stop(struct bench *bench, struct sherd_ref actor)
{
    struct message *message =
        actors_message(bench->lane->actors, (struct slice){ 0 });

    message->to = actor;
    actors_deliver(bench->lane->actors, message);
    (void)actors_run(bench->lane->actors, 1, 1, 100);
    lane_drain(bench->lane);
    lane_wire(bench->lane);
}

/* Checks the next notice's text, and whether the actor existed. */
static void expect_end(struct bench *bench, const char *watchee, bool was_there)
{
    const struct mail *mail;
    struct mail_content content;
    const struct mail_watch *watch;
    const struct watching *watching;

    while (machine_outgoing(bench->machine, 0, &mail)) {
        content = mail_open(mail);
        if (content.kind == MAIL_WATCH)
            break;
        mail_free((struct mail *)mail);
        machine_sent(bench->machine, 0, 1);
    }
    assert_int_not_equal(machine_outgoing(bench->machine, 0, &mail), 0);
    watch = mail_watch_of(&content);
    watching = watch->own.watching;
    assert_int_equal(watch->verb, WATCH_TERMINATED);
    assert_int_equal(watch->has_existed, was_there);
    assert_true(watching->peer.uid == jvm.uid);
    assert_true(slice_is(buf_slice(&watching->watchee_text), watchee));
    assert_true(slice_is(buf_slice(&watching->watcher_text), REMOTE_WATCHER));
    mail_free((struct mail *)mail);
    machine_sent(bench->machine, 0, 1);
}

static bool is_quiet(struct bench *bench)
{
    const struct mail *mail;
    uint32_t count = machine_outgoing(bench->machine, 0, &mail);
    struct mail_content content;

    for (uint32_t i = 0; i < count; i++) {
        content = mail_open(&mail[i]);
        if (content.kind == MAIL_WATCH)
            return false;
    }
    return true;
}

static void the_notice_repeats_the_given_texts(void **state)
{
    struct bench bench = bench_new();
    struct sherd_ref actor = spawn(&bench);
    char text[NAME_MAX];
    char other[NAME_MAX];
    (void)state;

    text_of(text, sizeof text, actor.actor, 'a');
    text_of(other, sizeof other, actor.actor, 'w'); /* the same, under its other name */
    give(&bench, WATCH_START, text);
    give(&bench, WATCH_START, text); /* repeated: still one */
    give(&bench, WATCH_START, other);
    assert_true(is_quiet(&bench));
    stop(&bench, actor);
    expect_end(&bench, other, true); /* the last one first */
    expect_end(&bench, text, true);
    assert_true(is_quiet(&bench));
    assert_int_equal(bench.lane->watchers.by_number.count, 0);
    node_free(bench.node);
}

static void an_unknown_actor_has_ended(void **state)
{
    struct bench bench = bench_new();
    char text[NAME_MAX];
    (void)state;

    text_of(text, sizeof text, 0xff, 'a');
    give(&bench, WATCH_START, text);
    lane_drain(bench.lane);
    expect_end(&bench, text, false);
    assert_int_equal(bench.lane->watchers.by_number.count, 0);
    node_free(bench.node);
}

static void ended_watches_are_forgotten(void **state)
{
    struct bench bench = bench_new();
    struct sherd_ref actor = spawn(&bench);
    struct mail_content content = MAIL(gone, .own = { mail_node(&jvm) });
    struct mail mail = mail_seal(&content);
    char text[NAME_MAX];
    (void)state;

    text_of(text, sizeof text, actor.actor, 'a');
    give(&bench, WATCH_STOP, text); /* of no watch */
    give(&bench, WATCH_START, text);
    assert_int_equal(bench.lane->watchers.by_number.count, 1);
    give(&bench, WATCH_STOP, text);
    assert_int_equal(bench.lane->watchers.by_number.count, 0);
    give(&bench, WATCH_START, text);
    machine_mail(bench.machine, 1, &mail, 1);
    assert_int_equal(bench.lane->watchers.by_number.count, 0);
    stop(&bench, actor);
    assert_true(is_quiet(&bench));
    node_free(bench.node);
}

static void watches_have_a_limit(void **state)
{
    struct watchers watchers = { .last = 0 };
    struct sherd_ref first = { 0, 0 };
    char text[32];
    (void)state;

    for (uint32_t i = 0; i <= WATCHERS_MAX; i++) {
        struct sherd_ref ref;

        (void)snprintf(text, sizeof text, "watchee %u", i);
        ref = watchers_put(&watchers, 7, slice_text(text), slice_text("w"));
        assert_int_equal(ref_is_nobody(ref), i == WATCHERS_MAX);
        if (i == 0)
            first = ref;
    }
    assert_int_equal(watchers.refused, 1);
    assert_non_null(watchers_find(&watchers, first));
    first.node = 8; /* another node uses that number */
    assert_null(watchers_find(&watchers, first));
    watchers_node_gone(&watchers, 8);
    assert_int_equal(watchers.by_number.count, WATCHERS_MAX);
    watchers_node_gone(&watchers, 7);
    assert_int_equal(watchers.by_number.count + watchers.by_key.count, 0);
    watchers_fini(&watchers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_notice_repeats_the_given_texts),
        cmocka_unit_test(an_unknown_actor_has_ended),
        cmocka_unit_test(ended_watches_are_forgotten),
        cmocka_unit_test(watches_have_a_limit),
    };

    return cmocka_run_group_tests_name("node_watch", tests, NULL, NULL);
}
