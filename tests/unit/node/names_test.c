/* Tests actors of JVM nodes: they send and receive under any name, and messages in their
 * serializers have numbers here. Also the table of names. */
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
#include "node/lane/lane.h"

#define LANES 2
#define TEXT 5 /* numbers of messages */
#define BYTES 6
#define PLAIN 7
#define STRANGER "akka://S@b:2/user/some-name#-12"

static const struct identity self = { "akka", "S", { { "a", 1 }, 11 } };
static const struct identity jvm = { "akka", "S", { { "b", 2 }, 22 } };
static const struct sherd_format formats[] = {
    { TEXT, SHERD_FORMAT_TEXT, "" },
    { BYTES, SHERD_FORMAT_BYTES, "" },
};

struct fixture {
    struct node *node;
    struct machine *lanes[LANES]; /* the JVM writes to the first, the actor is on the second */
    char path[NAME_MAX];          /* of the actor, with its address */
};

/* Sends messages back; PLAIN makes it write to the path in the body. */
static enum sherd_next echo(struct sherd_ctx *ctx, void *state,
                            const struct sherd_msg *msg)
{
    (void)state;
    if (msg->kind == SHERD_MESSAGE && msg->msg == PLAIN)
        sherd_path_tell(ctx, msg->body.data, TEXT,
                        (struct sherd_bytes){ "first", 5 });
    else if (msg->kind == SHERD_MESSAGE)
        sherd_reply(ctx, msg->msg, msg->body);
    return SHERD_CONTINUE;
}

static void put(struct machine *machine, const char *recipient,
                const char *sender, const char *manifest, int32_t serializer,
                struct slice payload)
{
    if (!machine->inlets.count)
        lone_accept(machine, 1, STREAM_ORDINARY);
    lone_put(machine, 1, &jvm, recipient, sender, manifest, serializer,
             payload);
}

static int setup(void **state)
{
    const struct sherd_behavior behavior = { .name = "e", .receive = echo };
    const struct handshake handshake = { 0 }; /* of a JVM: nothing more */
    struct node_settings settings = { .identity = self,
                                      .lanes = LANES,
                                      .seed = 1,
                                      .formats = formats,
                                      .format_count = 2 };
    struct fixture *fixture = mem_alloc(sizeof *fixture);
    struct buf payload = { 0 };
    struct sherd_ref actor;
    size_t size;
    char error[200];

    fixture->node = node_new(&settings, error, sizeof error);
    assert_non_null(fixture->node);
    for (uint32_t i = 0; i < LANES; i++) {
        fixture->lanes[i] = node_machine(fixture->node, i + 1);
        machine_start(fixture->lanes[i], 1, 0);
        (void)peers_meant(&fixture->lanes[i]->peers, &jvm.node);
    }
    actor = actors_spawn(fixture->lanes[1]->lane->actors, &behavior,
                         (struct slice){ 0 });
    (void)machine_turn(fixture->lanes[1], 1, 0);
    size = (size_t)snprintf(fixture->path, sizeof fixture->path,
                            "akka://S@a:1");
    size += name_path(fixture->path + size, actor.actor, 0);
    fixture->path[size] = 0;
    handshake_request_put(&payload, &jvm, &self.node.address, &handshake);
    put(fixture->lanes[0], "", "", ARTERY_HANDSHAKE_REQUEST, SERIALIZER_ARTERY,
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

/* Passes frames from the first lane to the actor, which acts. */
static void run(struct fixture *fixture)
{
    const struct mail *mail;
    uint32_t count;

    (void)machine_turn(fixture->lanes[0], 1, 0);
    count = machine_outgoing(fixture->lanes[0], 2, &mail);
    machine_mail(fixture->lanes[1], 1, mail, count);
    machine_sent(fixture->lanes[0], 2, count);
    (void)machine_turn(fixture->lanes[1], 1, 0);
}

/* Checks the next frame from the second lane to the JVM. */
static void expect(struct fixture *fixture, const char *recipient,
                   int32_t serializer, const char *manifest, const char *body)
{
    struct peer_links *links = &fixture->lanes[1]->links;
    struct peer *peer = peers_uid(&fixture->lanes[1]->peers, jvm.node.uid);
    struct envelope envelope;
    struct slice frame;

    assert_non_null(peer);
    assert_true(link_take_back(
        peer_link(links, peer, STREAM_ORDINARY), &frame));
    frame = slice_of(frame.data + 4, frame.size - 4);
    assert_int_equal(envelope_read(frame, NULL, &envelope), ENVELOPE_OK);
    assert_true(slice_is(envelope.recipient, recipient));
    assert_true(slice_is(envelope.sender, fixture->path));
    assert_int_equal(envelope.serializer, serializer);
    assert_true(slice_is(envelope.manifest, manifest));
    assert_true(slice_is(envelope.payload, body));
}

static void expect_nothing(struct fixture *fixture)
{
    struct peer_links *links = &fixture->lanes[1]->links;
    struct slice frame;

    assert_false(link_take_back(
        peer_link(links, peers_uid(&fixture->lanes[1]->peers, jvm.node.uid),
                     STREAM_ORDINARY),
        &frame));
}

static void an_answer_goes_to_the_senders_name(void **state)
{
    struct fixture *fixture = *state;

    put(fixture->lanes[0], fixture->path, STRANGER, "", SHERD_FORMAT_TEXT,
        slice_text("hello"));
    put(fixture->lanes[0], fixture->path, "akka://S@b:2/temp/$a", "",
        SHERD_FORMAT_BYTES, slice_text("bytes"));
    put(fixture->lanes[0], fixture->path, STRANGER, "m9", SERIALIZER_SHERD,
        slice_text("own"));
    run(fixture);
    expect(fixture, STRANGER, SHERD_FORMAT_TEXT, "", "hello");
    expect(fixture, "akka://S@b:2/temp/$a", SHERD_FORMAT_BYTES, "", "bytes");
    expect(fixture, STRANGER, SERIALIZER_SHERD, "m9", "own");
    expect_nothing(fixture);
}

/* No actor has a literal of another system, of an unknown node, or without a path. An unknown
 * serializer or manifest has no number. */
static void senders_without_a_name_and_unreadable_messages_get_no_answer(void **state)
{
    static const char *const senders[] = {
        "", "akka://Other@b:2/user/x", "akka://S@unknown:2/user/x",
        "akka://S@b:2/", "akka://S@a:1/user/x",
    };
    struct fixture *fixture = *state;
    uint64_t unknown = fixture->lanes[0]->lane->unknown;
    uint64_t *formless =
        &fixture->lanes[0]->undelivered[SHERD_REASON_NO_FORMAT];

    for (size_t i = 0; i < sizeof senders / sizeof *senders; i++)
        put(fixture->lanes[0], fixture->path, senders[i], "",
            SHERD_FORMAT_TEXT, slice_text("x"));
    assert_int_equal(*formless, 0);
    put(fixture->lanes[0], fixture->path, STRANGER, "", 18, slice_text("long"));
    put(fixture->lanes[0], fixture->path, STRANGER, "x", SHERD_FORMAT_TEXT,
        slice_text("x"));
    assert_int_equal(*formless, 2);
    assert_int_equal(fixture->lanes[0]->lane->unknown, unknown);
    run(fixture);
    expect_nothing(fixture);
}

/* The name of a JVM's actor does not matter. */
static void named_senders_get_no_notices(void **state)
{
    struct fixture *fixture = *state;

    put(fixture->lanes[0], "akka://S@a:1/user/a01000000000000ff",
        "akka://S@b:2/user/w0123456789abcdeX", "", SHERD_FORMAT_TEXT,
        slice_text("x"));
    run(fixture);
    expect_nothing(fixture);
}

static uint64_t undelivered(const struct fixture *fixture,
                            enum sherd_reason reason)
{
    struct actors_status status;

    actors_status(fixture->lanes[1]->lane->actors, &status);
    return status.undelivered[reason];
}

static void write_to(struct fixture *fixture, const char *path)
{
    put(fixture->lanes[0], fixture->path, "", "m7", SERIALIZER_SHERD,
        slice_of(path, strlen(path) + 1));
    run(fixture);
}

static void a_message_to_a_path_is_sent(void **state)
{
    struct fixture *fixture = *state;
    char path[SHERD_PATH_MAX + 2];

    write_to(fixture, "akka://S@b:2/user/some/where");
    expect(fixture, "akka://S@b:2/user/some/where", SHERD_FORMAT_TEXT, "",
           "first");
    write_to(fixture, "akka://S@b:2/user/a0123456789abcdef"); /* a Sherd name */
    expect(fixture, "akka://S@b:2/user/a0123456789abcdef", SHERD_FORMAT_TEXT,
           "", "first");
    assert_int_equal(undelivered(fixture, SHERD_REASON_NODE_GONE), 0);
    write_to(fixture, "akka://S@c:3/user/x");
    assert_int_equal(undelivered(fixture, SHERD_REASON_NODE_GONE), 1);
    write_to(fixture, "akka://S@a:1/user/x");
    write_to(fixture, "/user/x");
    write_to(fixture, "");
    memset(path, 'x', sizeof path);
    path[SHERD_PATH_MAX + 1] = 0;
    write_to(fixture, path);
    assert_int_equal(undelivered(fixture, SHERD_REASON_NO_SUCH_ACTOR), 4);
    expect_nothing(fixture);
}

static void names_of_a_removed_node_are_forgotten(void **state)
{
    struct names names = { 0 };
    bool is_new;
    struct sherd_ref here = names_put(&names, 1, slice_text("/user/x"), &is_new);
    struct sherd_ref there = names_put(&names, 2, slice_text("/user/x"), &is_new);
    (void)state;

    assert_true(is_new && here.actor != there.actor);
    assert_true(ref_equal(names_put(&names, 1, slice_text("/user/x"), &is_new),
                          here));
    assert_false(is_new);
    names_node_gone(&names, 1);
    assert_int_equal(names_path(&names, here).size, 0);
    assert_true(slice_is(names_path(&names, there), "/user/x"));
    names_fini(&names);
}

static void the_oldest_name_is_forgotten_at_the_limit(void **state)
{
    struct names names = { 0 };
    struct sherd_ref refs[3]; /* the first, the second, the last */
    char path[NAMES_PATH_MAX + 1];
    bool is_new;
    (void)state;

    for (uint32_t i = 0; i <= NAMES_MAX; i++) {
        assert_int_equal(names.forgotten, 0);
        (void)snprintf(path, sizeof path, "/temp/$%u", (unsigned)i);
        refs[i < 2 ? i : 2] = names_put(&names, 1, slice_text(path), &is_new);
        assert_true(is_new);
    }
    assert_int_equal(names.forgotten, 1);
    assert_int_equal(names.by_number.count, NAMES_MAX);
    assert_int_equal(names_path(&names, refs[0]).size, 0);
    assert_true(slice_is(names_path(&names, refs[1]), "/temp/$1"));
    assert_true(slice_is(names_path(&names, refs[2]), path));

    memset(path, 'x', sizeof path);
    assert_false(ref_is_nobody(
        names_put(&names, 1, slice_of(path, NAMES_PATH_MAX), &is_new)));
    assert_true(ref_is_nobody(
        names_put(&names, 1, slice_of(path, NAMES_PATH_MAX + 1), &is_new)));
    names_fini(&names);
}

static void the_path_of_an_ask_tells_the_time_left(void **state)
{
    char text[80] = "akka://S@a:1";
    size_t host = strlen(text);
    size_t size = host + name_path(text + host, 0x12, 0x34);
    uint64_t actor;
    uint64_t ask;

    (void)state;
    assert_int_equal(name_left(slice_of(text, size)), 0);
    size = name_put_left(text, size, 0x1f40);
    assert_true(slice_is(slice_of(text, size), "akka://S@a:1/temp/a0000000000000012.34.1f40"));
    assert_int_equal(name_left(slice_of(text, size)), 8000);
    assert_int_equal(name_left(slice_of(text + host, size - host)), 8000);
    assert_true(name_parse(slice_of(text + host, size - host), &actor, &ask));
    assert_int_equal(actor, 0x12);
    assert_int_equal(ask, 0x34);
    assert_false(name_parse(slice_text("/temp/a0000000000000012.34."), &actor, &ask));
    assert_false(name_parse(slice_text("/temp/a0000000000000012.34.5.6"), &actor, &ask));
    assert_int_equal(name_left(slice_text("/user/a0000000000000012.34.5")), 0);
    assert_int_equal(name_left(slice_text("a0000000000000012.34.5")), 0);
    assert_int_equal(name_left(slice_of(NULL, 0)), 0);
}

#define ON_LANES(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_LANES(an_answer_goes_to_the_senders_name),
        ON_LANES(senders_without_a_name_and_unreadable_messages_get_no_answer),
        ON_LANES(named_senders_get_no_notices),
        ON_LANES(a_message_to_a_path_is_sent),
        cmocka_unit_test(the_path_of_an_ask_tells_the_time_left),
        cmocka_unit_test(names_of_a_removed_node_are_forgotten),
        cmocka_unit_test(the_oldest_name_is_forgotten_at_the_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
