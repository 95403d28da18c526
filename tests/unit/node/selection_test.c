/* Tests named actors, and messages of JVM nodes by name, through ActorSelections and to services
 * that this node does not have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "artery/control.h"
#include "artery/extension.h"
#include "base/check.h"
#include "base/limits.h"
#include "lone.h"
#include "node/control/control.h"
#include "node/lane/lane.h"

#define LANES 3
#define MACHINES (LANES + 1)
#define TEXT 5 /* number of the message with a JVM's String */
#define ROOT "akka://S@a:1/"
#define ASKER "akka://S@b:2/temp/$a"

static const struct identity self = { "akka", "S", { { "a", 1 }, 11 } };
static const struct identity jvm = { "akka", "S", { { "b", 2 }, 22 } };
static const struct sherd_format formats[] = {
    { TEXT, SHERD_FORMAT_TEXT, "" },
};

static char got[400]; /* all messages of the actors, each with its actor's letter */
static struct sherd_ref child;
static const struct sherd_behavior echoes[3];

/* Each actor has a letter. It answers a text, ends with "stop", and spawns its namesake with "spawn". */
static enum sherd_next hear(struct sherd_ctx *ctx, const struct sherd_msg *msg,
                            char letter)
{
    size_t used = strlen(got);

    if (msg->kind == SHERD_STARTED) {
        (void)snprintf(got + used, sizeof got - used, "%c+ ", letter);
    } else if (msg->kind == SHERD_MESSAGE) {
        (void)snprintf(got + used, sizeof got - used, "%c:%.*s ", letter,
                       (int)msg->body.size, (const char *)msg->body.data);
        if (!memcmp(msg->body.data, "stop", 4))
            return SHERD_STOP;
        if (!memcmp(msg->body.data, "spawn", 5))
            child = sherd_spawn_named(ctx, "two", &echoes[2],
                                      (struct sherd_bytes){ NULL, 0 });
        else
            sherd_reply(ctx, TEXT, msg->body);
    } else if (msg->kind == SHERD_TERMINATED) {
        (void)snprintf(got + used, sizeof got - used, "%c-end ", letter);
    }
    return SHERD_CONTINUE;
}

static enum sherd_next hear_a(struct sherd_ctx *ctx, void *state,
                              const struct sherd_msg *msg)
{
    (void)state;
    return hear(ctx, msg, 'A');
}

static enum sherd_next hear_b(struct sherd_ctx *ctx, void *state,
                              const struct sherd_msg *msg)
{
    (void)state;
    return hear(ctx, msg, 'B');
}

static enum sherd_next hear_c(struct sherd_ctx *ctx, void *state,
                              const struct sherd_msg *msg)
{
    (void)state;
    return hear(ctx, msg, 'C');
}

static const struct sherd_behavior echoes[3] = {
    { .name = "a", .receive = hear_a },
    { .name = "b", .receive = hear_b },
    { .name = "c", .receive = hear_c },
};

struct fixture {
    struct node *node;
    struct machine *machines[MACHINES]; /* control, then lanes; the JVM writes to the first lane */
};

static void put(struct machine *machine, const char *recipient,
                const char *manifest, int32_t serializer, struct slice payload)
{
    if (!machine->inlets.count)
        lone_accept(machine, 1, STREAM_ORDINARY);
    lone_put(machine, 1, &jvm, recipient, ASKER, manifest, serializer, payload);
}

static int setup(void **state)
{
    const struct handshake handshake = { 0 };
    struct node_settings settings = { .identity = self,
                                      .lanes = LANES,
                                      .seed = 1,
                                      .formats = formats,
                                      .format_count = 1 };
    struct fixture *fixture = mem_alloc(sizeof *fixture);
    struct buf payload = { 0 };
    char error[200];

    got[0] = 0;
    child = (struct sherd_ref){ 0, 0 };
    fixture->node = node_new(&settings, error, sizeof error);
    assert_non_null(fixture->node);
    for (uint32_t i = 0; i < MACHINES; i++) {
        fixture->machines[i] = node_machine(fixture->node, i);
        machine_start(fixture->machines[i], 1, 0);
        (void)peers_meant(&fixture->machines[i]->peers, &jvm.node);
    }
    handshake_request_put(&payload, &jvm, &self.node.address, &handshake);
    put(fixture->machines[1], "", ARTERY_HANDSHAKE_REQUEST, SERIALIZER_ARTERY,
        buf_slice(&payload));
    buf_fini(&payload);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    node_free(fixture->node);
    mem_free(fixture);
    return 0;
}

/* Passes mail of one machine on, except to `held`. Returns how much. */
static uint32_t pass(struct fixture *fixture, uint32_t from, uint32_t held)
{
    const struct mail *mail;
    uint32_t passed = 0;

    for (uint32_t to = 0; to < MACHINES; to++) {
        uint32_t count = to == from || to == held
                             ? 0
                             : machine_outgoing(fixture->machines[from], to, &mail);

        machine_mail(fixture->machines[to], from, mail, count);
        machine_sent(fixture->machines[from], to, count);
        passed += count;
    }
    return passed;
}

/* Runs all machines until nothing happens. held: a machine that gets no mail. */
static void run_without(struct fixture *fixture, uint32_t held)
{
    uint32_t passed;

    do {
        passed = 0;
        for (uint32_t i = 0; i < MACHINES; i++) {
            (void)machine_turn(fixture->machines[i], 1, 0);
            passed += pass(fixture, i, held);
        }
    } while (passed);
}

static void run(struct fixture *fixture)
{
    run_without(fixture, UINT32_MAX);
}

static struct sherd_ref spawn(struct fixture *fixture, uint32_t lane,
                              const char *name, uint32_t which)
{
    return actors_spawn_named(fixture->machines[lane + 1]->lane->actors,
                              slice_text(name), &echoes[which],
                              (struct slice){ 0 });
}

/* Appends a field of bytes. */
static void field(struct buf *buf, uint8_t number, struct slice bytes)
{
    buf_put_u8(buf, (uint8_t)(number << 3 | 2));
    buf_put_varint(buf, bytes.size);
    buf_put_slice(buf, bytes);
}

/* Sends a message through a selection, whose path has patterns if it has a "*" or "?". */
static void select_with(struct fixture *fixture, const char *path,
                        int32_t serializer, const char *manifest,
                        struct slice message)
{
    struct buf payload = { 0 };
    char copy[100];

    field(&payload, 1, message);
    buf_put_u8(&payload, 2 << 3);
    buf_put_varint(&payload, (uint64_t)serializer);
    (void)snprintf(copy, sizeof copy, "%s", path);
    for (char *name = strtok(copy, "/"); name; name = strtok(NULL, "/")) {
        struct buf step = { 0 };

        buf_put_u8(&step, 1 << 3);
        buf_put_u8(&step, strpbrk(name, "*?") ? 2 : 1);
        field(&step, 2, slice_text(name));
        field(&payload, 3, buf_slice(&step));
        buf_fini(&step);
    }
    if (*manifest)
        field(&payload, 4, slice_text(manifest));
    put(fixture->machines[1], ROOT, "", SERIALIZER_SELECTION,
        buf_slice(&payload));
    buf_fini(&payload);
    run(fixture);
}

static void select_text(struct fixture *fixture, const char *path,
                        const char *text)
{
    select_with(fixture, path, SHERD_FORMAT_TEXT, "", slice_text(text));
}

static void expect(const char *wanted)
{
    assert_string_equal(got, wanted);
    got[0] = 0;
}

/* The sender of the next frame from a lane to the JVM. */
static void expect_sender(struct fixture *fixture, uint32_t lane,
                          const char *wanted)
{
    struct machine *machine = fixture->machines[lane + 1];
    struct peer *peer = peers_uid(&machine->peers, jvm.node.uid);
    struct envelope envelope;
    struct slice frame;

    assert_true(link_take_back(
        peer_link(&machine->links, peer, STREAM_ORDINARY), &frame));
    assert_int_equal(envelope_read(slice_of(frame.data + 4, frame.size - 4),
                                   NULL, &envelope),
                     ENVELOPE_OK);
    assert_true(slice_is(envelope.sender, wanted));
    assert_true(slice_is(envelope.recipient, ASKER));
}

/* Adds a number of all machines' statuses: a counter, or a reason. */
static uint64_t counted(struct fixture *fixture, int counter, int reason)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < MACHINES; i++) {
        struct sherd_status status = lone_status(fixture->node, i);

        sum += counter >= 0 ? status.counters[counter]
                            : status.undelivered[reason];
        sherd_status_free(&status);
    }
    return sum;
}

#define COUNTER(fixture, counter) counted(fixture, counter, 0)
#define REASON(fixture, reason) counted(fixture, -1, reason)

static void a_selection_reaches_an_actor_by_name(void **state)
{
    struct fixture *fixture = *state;

    (void)spawn(fixture, 1, "one", 0);
    expect("");
    run(fixture);
    expect("A+ ");
    select_text(fixture, "/user/one", "hello");
    expect("A:hello ");
    expect_sender(fixture, 1, "akka://S@a:1/user/one");
    put(fixture->machines[1], ROOT "user/one", "", SHERD_FORMAT_TEXT,
        slice_text("direct"));
    run(fixture);
    expect("A:direct ");
    assert_int_equal(COUNTER(fixture, SHERD_MESSAGES_MALFORMED), 0);
}

static void a_selection_reaches_an_actor_by_number(void **state)
{
    struct fixture *fixture = *state;
    struct sherd_ref actor = spawn(fixture, 2, "one", 0);
    char path[NAME_MAX];

    run(fixture);
    expect("A+ ");
    path[name_path(path, actor.actor, 0)] = 0;
    select_text(fixture, path, "hello");
    expect("A:hello ");
    path[name_path(path, actor.actor, 7)] = 0; /* an ask is no actor */
    select_text(fixture, path, "hello");
    expect("");
    assert_int_equal(REASON(fixture, SHERD_REASON_NO_MATCH), 1);
}

static void a_pattern_selects_all_names_that_match(void **state)
{
    static const struct {
        const char *pattern;
        const char *wanted;
    } cases[] = {
        { "/user/*", "A:x B:x C:x " },      { "/user/t*", "B:x C:x " },
        { "/user/t?o", "B:x " },            { "/*/*e", "A:x C:x " },
        { "/user/*w*", "B:x " },            { "/user/o??", "A:x " },
        { "/user/?", "" },                  { "/system/*", "" },
        { "/user/*/x", "" },                { "/*", "" },
    };
    struct fixture *fixture = *state;
    uint32_t missed = 0;

    (void)spawn(fixture, 0, "one", 0);
    (void)spawn(fixture, 1, "two", 1);
    (void)spawn(fixture, 2, "three", 2);
    run(fixture);
    got[0] = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        select_text(fixture, cases[i].pattern, "x");
        expect(cases[i].wanted);
        missed += !*cases[i].wanted;
        assert_int_equal(REASON(fixture, SHERD_REASON_NO_MATCH), missed);
    }
}

static void an_undeliverable_message_is_counted_by_its_reason(void **state)
{
    static const char unknown[] = "of no format";
    struct fixture *fixture = *state;

    (void)spawn(fixture, 1, "one", 0);
    run(fixture);
    got[0] = 0;
    select_text(fixture, "/user/none", "x");
    assert_int_equal(REASON(fixture, SHERD_REASON_NO_MATCH), 1);
    put(fixture->machines[1], ROOT "user/none", "", SHERD_FORMAT_TEXT,
        slice_text("x"));
    run(fixture);
    assert_int_equal(REASON(fixture, SHERD_REASON_NO_SUCH_ACTOR), 1);
    select_with(fixture, "/user/one", 999, "manifest", slice_text(unknown));
    put(fixture->machines[1], ROOT "user/one", "manifest", 999,
        slice_text(unknown));
    run(fixture);
    assert_int_equal(REASON(fixture, SHERD_REASON_NO_FORMAT), 2);
    expect("");
    assert_int_equal(REASON(fixture, SHERD_REASON_NO_MATCH), 1);
    assert_int_equal(COUNTER(fixture, SHERD_MESSAGES_MALFORMED), 0);
}

static void messages_for_absent_services_have_their_own_counters(void **state)
{
    static const struct {
        const char *path;
        int32_t serializer;
        enum sherd_counter counter;
    } cases[] = {
        { "/system/distributedPubSubMediator", 9, SHERD_PUBSUB_IGNORED },
        { "/system/cluster-metrics", 10, SHERD_METRICS_IGNORED },
        { "/system/receptionist", 15, SHERD_CLIENTS_IGNORED },
        { "/user/single", 14, SHERD_SINGLETONS_IGNORED },
        { "/system/sharding/xCoordinator/singleton/coordinator", 13,
          SHERD_SHARDING_IGNORED },
        { "/system/elsewhere", 12, SHERD_REPLICATORS_IGNORED },
    };
    struct fixture *fixture = *state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(COUNTER(fixture, cases[i].counter), 0);
        select_with(fixture, cases[i].path, cases[i].serializer, "A",
                    slice_text("x"));
        assert_int_equal(COUNTER(fixture, cases[i].counter), 1);
    }
    assert_int_equal(COUNTER(fixture, SHERD_MESSAGES_MALFORMED), 0);
}

static void a_search_for_a_singleton_here_is_logged(void **state)
{
    static const uint8_t question[] = { 0x0a, 5, 0x0a, 1, 'x', 0x10, 20 };
    static const struct {
        const char *path;
        bool is_asked;
    } cases[] = {
        { "/user/single/other", false },
        { "/user/single/singleton", true },
    };
    struct fixture *fixture = *state;

    for (int i = 0; i < 2; i++) {
        select_with(fixture, cases[i].path, SERIALIZER_MISC, "A",
                    slice_of(question, sizeof question));
        assert_int_equal(fixture->machines[0]->control->is_asked_over,
                         cases[i].is_asked);
    }
}

/* A Sherd node whose type is not registered here yet sends the same messages. */
static void only_jvm_nodes_are_warned_of_for_coordinators_that_are_not_here(void **state)
{
    struct fixture *fixture = *state;
    struct control *control = fixture->machines[0]->control;

    for (uint64_t capabilities = CAPABILITY_SHERD;; capabilities = 0) {
        peers_uid(&fixture->machines[0]->peers, jvm.node.uid)->capabilities = capabilities;
        select_with(fixture, "/system/sharding/xCoordinator/singleton/coordinator", 13, "A",
                    slice_text("x"));
        select_with(fixture, "/user/single", 14, "A", slice_text("x"));
        assert_int_equal(control->is_asked_over, !capabilities);
        if (!capabilities)
            break;
    }
}

static void a_taken_name_ends_the_second_actor(void **state)
{
    struct fixture *fixture = *state;
    struct sherd_ref first = spawn(fixture, 1, "one", 0);
    struct sherd_ref second;

    run(fixture);
    second = spawn(fixture, 2, "one", 1);
    run(fixture);
    expect("A+ ");
    assert_false(actors_is_alive(fixture->machines[3]->lane->actors,
                                 second.actor));
    assert_true(actors_is_alive(fixture->machines[2]->lane->actors,
                                first.actor));
    select_text(fixture, "/user/one", "x");
    expect("A:x ");
    assert_int_equal(COUNTER(fixture, SHERD_ACTOR_NAMES_REFUSED), 1);
}

static void a_name_is_free_after_its_actor(void **state)
{
    struct fixture *fixture = *state;

    (void)spawn(fixture, 1, "one", 0);
    run(fixture);
    select_text(fixture, "/user/one", "stop");
    expect("A+ A:stop ");
    select_text(fixture, "/user/one", "x");
    assert_int_equal(REASON(fixture, SHERD_REASON_NO_MATCH), 1);
    (void)spawn(fixture, 2, "one", 1);
    run(fixture);
    select_text(fixture, "/user/one", "x");
    expect("B+ B:x ");
}

/* Else a message to the name could find nobody on the lane that reads it. */
static void an_actor_begins_when_all_lanes_have_its_name(void **state)
{
    struct fixture *fixture = *state;

    (void)spawn(fixture, 1, "one", 0);
    run_without(fixture, 3);
    expect("");
    select_text(fixture, "/user/one", "early"); /* runs the third lane, too */
    expect("A+ A:early ");
}

static void an_actor_names_another(void **state)
{
    struct fixture *fixture = *state;

    (void)spawn(fixture, 1, "one", 0);
    run(fixture);
    select_text(fixture, "/user/one", "spawn");
    expect("A+ A:spawn C+ ");
    assert_int_equal(actor_id_lane(child.actor), 1);
    select_text(fixture, "/user/two", "x");
    expect("C:x ");
}

static void only_good_names_are_valid(void **state)
{
    static const char *const good[] = { "a", "one-two_3.$+:@&=,!~';",
                                        "a000000000000000g",
                                        "b0000000000000000",
                                        "a000000000000000" };
    static const char *const bad[] = { "",     "$a",  "a/b", "a*", "a?",
                                       "a#1",  "a b", "\xc3\xa4",
                                       "a0000000000000000",
                                       "w00000000000000ff" };
    char longest[SHERD_NAME_MAX + 2];
    (void)state;

    memset(longest, 'x', sizeof longest);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(actor_name_is_valid(slice_text(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(actor_name_is_valid(slice_text(bad[i])));
    assert_true(actor_name_is_valid(slice_of(longest, SHERD_NAME_MAX)));
    assert_false(actor_name_is_valid(slice_of(longest, SHERD_NAME_MAX + 1)));
    assert_false(actor_name_is_valid(slice_of("a\0b", 3)));
}

static void the_table_of_names_has_a_limit(void **state)
{
    struct actor_names names = { 0 };
    char text[20];
    (void)state;

    for (uint64_t i = 1; i <= ACTOR_NAMES_MAX; i++) {
        (void)snprintf(text, sizeof text, "n%d", (int)i);
        assert_non_null(actor_names_put(&names, slice_text(text), i));
    }
    assert_null(actor_names_put(&names, slice_text("more"), UINT64_MAX));
    assert_null(actor_names_put(&names, slice_text("n5"), UINT64_MAX));
    actor_names_drop(&names, 5);
    assert_int_equal(actor_names_at(&names, slice_text("/user/n5")), 0);
    assert_int_equal(actor_names_at(&names, slice_text("/user/n6#77")), 6);
    assert_non_null(actor_names_put(&names, slice_text("more"), UINT64_MAX));
    actor_names_fini(&names);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_selection_reaches_an_actor_by_name),
        TEST(a_selection_reaches_an_actor_by_number),
        TEST(a_pattern_selects_all_names_that_match),
        TEST(an_undeliverable_message_is_counted_by_its_reason),
        TEST(messages_for_absent_services_have_their_own_counters),
        TEST(a_search_for_a_singleton_here_is_logged),
        TEST(only_jvm_nodes_are_warned_of_for_coordinators_that_are_not_here),
        TEST(a_taken_name_ends_the_second_actor),
        TEST(a_name_is_free_after_its_actor),
        TEST(an_actor_begins_when_all_lanes_have_its_name),
        TEST(an_actor_names_another),
        cmocka_unit_test(only_good_names_are_valid),
        cmocka_unit_test(the_table_of_names_has_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
