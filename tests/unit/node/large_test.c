/* Tests the stream of large messages: its entries, messages, answers and limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/limits.h"
#include "node/machine/large.h"
#include "node/machine/machine.h"
#include "sim/world/world.h"

#define BIG (FRAME_LARGE_SIZE - FRAME_LARGE_HEAD_SIZE)
#define HEARD_MAX 512

enum { GIVE = 1, ANSWER, DO };

/* ---- entries ---- */

static void an_entry_is_a_path(void **state)
{
    static const char *const good[] = { "/user/store", "/user/*", "/user/**",
                                        "/**", "/*/x", "/user/s*/y", "/*" };
    static const char *const bad[] = { "",         "user/x",   "/",
                                       "/user/",   "//x",      "/user/**/x",
                                       "/user/x**", "/user/*x", "/user/a*b" };
    (void)state;

    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!large_entry_good(good[i]))
            fail_msg("%s is refused", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (large_entry_good(bad[i]))
            fail_msg("%s is taken", bad[i]);
}

static void an_entry_matches_paths(void **state)
{
    static const struct {
        const char *entry, *path;
        bool is_meant;
    } rows[] = {
        { "/user/store", "/user/store", true },
        { "/user/store", "/user/store#-12", true },
        { "/user/store", "/user/stores", false },
        { "/user/store", "/user/store/x", false },
        { "/user/store", "/user", false },
        { "/user/*", "/user/a", true },
        { "/user/*", "/user/a#7", true },
        { "/user/*", "/user", false },
        { "/user/*", "/user/a/b", false },
        { "/user/**", "/user/a", true },
        { "/user/**", "/user/a/b/c", true },
        { "/user/**", "/user", false },
        { "/user/**", "/system/a", false },
        { "/user/*/x", "/user/a/x", true },
        { "/user/*/x", "/user/a/y", false },
        { "/user/st*/x", "/user/store/x", true },
        { "/user/st*/x", "/user/st/x", true },
        { "/user/st*/x", "/user/s/x", false },
        { "/**", "/system/sharding/E", true },
    };
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const entries[] = { "/nobody", rows[i].entry };
        struct node_settings settings = { .large_destinations = entries,
                                          .large_destination_count = 2 };

        if (large_path(&settings, slice_text(rows[i].path)) !=
            rows[i].is_meant)
            fail_msg("%s and %s", rows[i].entry, rows[i].path);
    }
}

/* ---- nodes ---- */

struct hearer {
    struct sherd_ref ref;
    uint32_t count;
    uint32_t numbers[HEARD_MAX]; /* first four bytes of each */
    size_t sizes[HEARD_MAX];
    enum sherd_reason reasons[HEARD_MAX]; /* of undelivered messages */
};

static char body[FRAME_LARGE_SIZE];

static void remember(struct hearer *hearer, const struct sherd_msg *msg)
{
    uint32_t at = hearer->count++;

    check(at < HEARD_MAX);
    hearer->reasons[at] = msg->kind == SHERD_UNDELIVERED ||
                                  msg->kind == SHERD_NO_ANSWER
                              ? msg->reason
                              : SHERD_REASON_NONE;
    hearer->sizes[at] = msg->body.size;
    if (msg->body.size < 4)
        return;
    memcpy(&hearer->numbers[at], msg->body.data, 4);
    /* The whole body has come. */
    assert_memory_equal((const char *)msg->body.data + 4, body + 4,
                        msg->body.size - 4);
}

struct deed {
    struct sherd_ref to;
    const char *id;   /* or the entity */
    const char *path; /* or the actor with this path */
    uint32_t number, msg;
    size_t size;
    bool asks;
};

static void act(struct sherd_ctx *ctx, const struct deed *deed)
{
    static char bytes[sizeof body];
    struct sherd_bytes message = { bytes, deed->size };

    memcpy(bytes, body, sizeof bytes);
    memcpy(bytes, &deed->number, 4);
    if (deed->path)
        sherd_path_tell(ctx, deed->path, deed->msg, message);
    else if (deed->id && deed->asks)
        sherd_entity_ask(ctx, "E", deed->id, deed->msg, message, 1, 5000);
    else if (deed->id)
        sherd_entity_tell(ctx, "E", deed->id, deed->msg, message);
    else if (deed->asks)
        sherd_ask(ctx, deed->to, deed->msg, message, 1, 5000);
    else
        sherd_tell(ctx, deed->to, deed->msg, message);
}

static enum sherd_next hear(struct sherd_ctx *ctx, void *self,
                            const struct sherd_msg *msg)
{
    struct hearer **of = self;

    if (msg->kind == SHERD_STARTED) {
        memcpy(of, msg->body.data, sizeof *of);
        (*of)->ref = sherd_self(ctx);
        return SHERD_CONTINUE;
    }
    if (msg->kind == SHERD_STOPPING)
        return SHERD_CONTINUE;
    if (msg->kind == SHERD_MESSAGE && msg->msg == DO) {
        act(ctx, msg->body.data);
        return SHERD_CONTINUE;
    }
    remember(*of, msg);
    if (msg->kind == SHERD_MESSAGE && msg->msg == ANSWER)
        sherd_reply(ctx, GIVE, msg->body);
    return SHERD_CONTINUE;
}

static struct hearer entities; /* all of them */
static uint64_t home; /* of the last one's node */
static uint32_t moves;

static enum sherd_next entity(struct sherd_ctx *ctx, void *self,
                              const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_MESSAGE) {
        moves += sherd_self(ctx).node != home;
        home = sherd_self(ctx).node;
        remember(&entities, msg);
        if (msg->msg == ANSWER)
            sherd_reply(ctx, GIVE, msg->body);
    }
    return SHERD_CONTINUE;
}

static const struct sherd_entity_type types[] = {
    { .name = "E", .shards = 8, .behavior = { .receive = entity } },
};

static const char *const everybody[] = { "/user/*", "/temp/*",
                                         "/system/sharding/*" };

/* Nodes have two lanes each; the first `with` nodes have the entries. */
static struct world *start(uint32_t count, uint32_t with,
                           const char *const *entries, uint32_t entry_count,
                           uint32_t queue)
{
    struct world_settings world_settings = { .seed = 5 };
    struct world *world = world_new(&world_settings);

    for (uint32_t i = 0; i < sizeof body; i++)
        body[i] = (char)(i * 7 + i / 251);
    memset(&entities, 0, sizeof entities);
    for (uint32_t i = 0; i < count; i++) {
        struct node_settings settings =
            world_node_settings(world, i, types, 1);

        settings.lanes = 2;
        settings.large_destinations = entries;
        settings.large_destination_count = i < with ? entry_count : 0;
        settings.outbound_large_queue = queue;
        world_start(world, i, &settings);
    }
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    return world;
}

static void spawn(struct hearer *hearer, struct world *world, uint32_t node)
{
    static const struct sherd_behavior behavior = {
        .name = "hearer",
        .state_size = sizeof(struct hearer *),
        .receive = hear,
        .wants_undelivered = 1,
    };

    memset(hearer, 0, sizeof *hearer);
    world_spawn(world, node, 0, &behavior, &hearer, sizeof hearer);
    world_run(world, MS);
    assert_true(hearer->ref.actor != 0);
}

static void let(struct world *world, uint32_t node,
                const struct hearer *hearer, const struct deed *deed)
{
    world_tell(world, node, hearer->ref, DO,
               (struct sherd_bytes){ deed, sizeof *deed });
    world_run(world, MS / 10);
}

static void expect(const struct hearer *hearer, uint32_t count,
                   uint32_t number, size_t size)
{
    assert_int_equal(hearer->count, count);
    assert_int_equal(hearer->reasons[count - 1], SHERD_REASON_NONE);
    assert_int_equal(hearer->numbers[count - 1], number);
    assert_int_equal(hearer->sizes[count - 1], size);
}

static void expect_refused(const struct hearer *hearer, uint32_t count,
                           enum sherd_reason reason)
{
    assert_int_equal(hearer->count, count);
    assert_int_equal(hearer->reasons[count - 1], reason);
}

/* Returns the counts of the first lane's link to the hearer's node. */
static struct link_counts counts(struct world *world, uint32_t from,
                                 const struct hearer *to, enum stream stream)
{
    struct machine *machine =
        node_machine(world_node(world, from)->node, 1);
    struct peer *peer =
        peers_uid(&machine->peers, to->ref.node);

    return link_counts(peer_link(&machine->links, peer, stream));
}

static void large_messages_have_a_stream_of_their_own(void **state)
{
    struct world *world = start(2, 2, everybody, 3, 0);
    struct hearer one, other;
    uint64_t before;
    (void)state;

    spawn(&one, world, 0);
    spawn(&other, world, 1);
    before = counts(world, 0, &other, STREAM_ORDINARY).bytes;
    let(world, 0, &one,
        &(struct deed){ .to = other.ref, .number = 1, .msg = ANSWER,
                        .size = BIG });
    let(world, 0, &one,
        &(struct deed){ .to = other.ref, .number = 2, .msg = GIVE,
                        .size = 4 });
    world_run(world, 5 * SECOND);
    assert_int_equal(other.count, 2);
    expect(&other, 2, 2, 4); /* both are large for their path */
    assert_int_equal(other.sizes[0], BIG);
    expect(&one, 1, 1, BIG);
    assert_true(counts(world, 0, &other, STREAM_LARGE).bytes > BIG);
    assert_true(counts(world, 0, &other, STREAM_ORDINARY).bytes - before <
                BIG / 2);
    world_free(world);
}

static void an_answer_may_be_large(void **state)
{
    struct world *world = start(2, 2, everybody, 3, 0);
    struct hearer one, other;
    (void)state;

    spawn(&one, world, 0);
    spawn(&other, world, 1);
    let(world, 0, &one,
        &(struct deed){ .to = other.ref, .number = 1, .msg = ANSWER,
                        .size = BIG, .asks = true });
    world_run(world, 4 * SECOND);
    expect(&one, 1, 1, BIG);
    let(world, 0, &one,
        &(struct deed){ .id = "x", .number = 2, .msg = ANSWER, .size = BIG,
                        .asks = true });
    world_run(world, 4 * SECOND);
    expect(&entities, 1, 2, BIG);
    expect(&one, 2, 2, BIG);
    world_free(world);
}

/* The receiver's path decides, on the own node too. */
static void large_bodies_for_other_paths_are_refused(void **state)
{
    static const char *const others[] = { "/user/nobody",
                                          "/system/sharding/F" };
    struct hearer one, two, far;
    (void)state;

    for (uint32_t count = 0; count <= 2; count += 2) {
        struct world *world = start(2, 2, others, count, 0);

        spawn(&one, world, 0);
        spawn(&two, world, 0);
        spawn(&far, world, 1);
        let(world, 0, &one,
            &(struct deed){ .to = far.ref, .msg = GIVE,
                            .size = SHERD_BODY_MAX + 1 });
        let(world, 0, &one,
            &(struct deed){ .to = two.ref, .msg = GIVE,
                            .size = SHERD_BODY_MAX + 1 });
        let(world, 0, &one,
            &(struct deed){ .id = "x", .msg = GIVE,
                            .size = SHERD_BODY_MAX + 1 });
        let(world, 0, &one,
            &(struct deed){ .path = "akka://World@n1:2551/user/who",
                            .msg = GIVE, .size = SHERD_BODY_MAX + 1 });
        world_run(world, 5 * SECOND);
        assert_int_equal(far.count + two.count + entities.count, 0);
        for (uint32_t i = 1; i <= 4; i++)
            assert_int_equal(one.reasons[i - 1], SHERD_REASON_TOO_LARGE);
        expect_refused(&one, 4, SHERD_REASON_TOO_LARGE);
        let(world, 0, &one,
            &(struct deed){ .to = far.ref, .number = 5, .msg = GIVE,
                            .size = SHERD_BODY_MAX });
        world_run(world, SECOND);
        expect(&far, 1, 5, SHERD_BODY_MAX);
        world_free(world);
    }
}

static void a_large_body_has_a_limit(void **state)
{
    struct world *world = start(2, 2, everybody, 3, 0);
    struct hearer one, other;
    (void)state;

    spawn(&one, world, 0);
    spawn(&other, world, 1);
    let(world, 0, &one,
        &(struct deed){ .to = other.ref, .msg = GIVE, .size = BIG + 1 });
    expect_refused(&one, 1, SHERD_REASON_TOO_LARGE);
    let(world, 0, &one,
        &(struct deed){ .id = "x", .msg = GIVE, .size = BIG + 1 });
    expect_refused(&one, 2, SHERD_REASON_TOO_LARGE);
    world_run(world, SECOND);
    assert_int_equal(other.count + entities.count, 0);
    world_free(world);
}

static void a_node_without_entries_gets_large_messages(void **state)
{
    struct world *world = start(2, 1, everybody, 3, 0);
    struct hearer one, other;
    (void)state;

    spawn(&one, world, 0);
    spawn(&other, world, 1);
    let(world, 0, &one,
        &(struct deed){ .to = other.ref, .number = 1, .msg = ANSWER,
                        .size = BIG });
    world_run(world, 4 * SECOND);
    assert_int_equal(other.sizes[0], BIG);
    expect_refused(&other, 2, SHERD_REASON_TOO_LARGE); /* its answer is too large */
    assert_int_equal(one.count, 0);
    world_free(world);
}

static void frames_for_a_large_link_have_a_limit(void **state)
{
    struct world *world = start(2, 2, everybody, 3, 3);
    struct hearer one, other;
    (void)state;

    spawn(&one, world, 0);
    spawn(&other, world, 1);
    world_pause(world, 1, true);
    for (uint32_t i = 1; i <= 3; i++)
        let(world, 0, &one,
            &(struct deed){ .to = other.ref, .number = i, .msg = GIVE,
                            .size = BIG });
    assert_int_equal(one.count, 0);
    let(world, 0, &one,
        &(struct deed){ .to = other.ref, .msg = GIVE, .size = 4 });
    expect_refused(&one, 1, SHERD_REASON_LINK_FULL);
    world_pause(world, 1, false);
    world_run(world, 5 * SECOND);
    expect(&other, 3, 3, BIG);
    world_free(world);
}

/* The entity gets large and small messages. */
static void large_messages_keep_their_order_over_a_hand_off(void **state)
{
    struct world *world = start(2, 3, everybody, 3, 0);
    struct node_settings settings = world_node_settings(world, 2, types, 1);
    struct hearer one;
    uint32_t number = 0;
    uint32_t before;
    char id[2] = "a";
    (void)state;

    settings.lanes = 2;
    settings.large_destinations = everybody;
    settings.large_destination_count = 3;
    spawn(&one, world, 0);
    for (;; id[0]++) { /* one on the leaving node */
        let(world, 0, &one,
            &(struct deed){ .id = id, .msg = GIVE, .size = 4 });
        world_run(world, SECOND);
        if (home == world_node(world, 1)->settings.identity.node.uid)
            break;
    }
    before = moves;
    entities.count = 0;
    for (uint32_t step = 0; step < 200; step++) {
        if (step == 20)
            world_start(world, 2, &settings);
        if (step == 100)
            world_leave(world, 1);
        number++;
        let(world, 0, &one,
            &(struct deed){ .id = id, .number = number, .msg = GIVE,
                            .size = number % 5 ? 4 : 400000 });
        world_run(world, 100 * MS);
    }
    world_run(world, 30 * SECOND);
    assert_int_equal(one.count, 0);
    assert_true(moves > before);
    assert_int_equal(entities.count, number);
    for (uint32_t i = 0; i < number; i++)
        assert_int_equal(entities.numbers[i], i + 1);
    world_free(world);
}

/* They are freed wherever they wait. */
static void large_messages_are_freed_with_their_node(void **state)
{
    (void)state;
    for (uint32_t steps = 0; steps < 8; steps++) {
        struct world *world = start(2, 2, everybody, 3, 0);
        struct hearer one, other;

        spawn(&one, world, 0);
        spawn(&other, world, 1);
        for (uint32_t i = 1; i <= 4; i++)
            let(world, 0, &one,
                &(struct deed){ .to = other.ref, .number = i, .msg = ANSWER,
                                .size = BIG });
        world_run(world, steps * MS / 2);
        world_crash(world, steps % 2);
        world_run(world, steps < 4 ? 0 : SECOND);
        world_free(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entry_is_a_path),
        cmocka_unit_test(an_entry_matches_paths),
        cmocka_unit_test(large_messages_have_a_stream_of_their_own),
        cmocka_unit_test(an_answer_may_be_large),
        cmocka_unit_test(large_bodies_for_other_paths_are_refused),
        cmocka_unit_test(a_large_body_has_a_limit),
        cmocka_unit_test(a_node_without_entries_gets_large_messages),
        cmocka_unit_test(frames_for_a_large_link_have_a_limit),
        cmocka_unit_test(large_messages_keep_their_order_over_a_hand_off),
        cmocka_unit_test(large_messages_are_freed_with_their_node),
    };

    return cmocka_run_group_tests_name("node_large", tests, NULL, NULL);
}
