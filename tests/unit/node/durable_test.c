/* Tests durable keys on whole nodes: acknowledged changes survive, others are not acknowledged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "cast.h"
#include "ddata/durable.h"
#include "lone.h"
#include "node/control/control.h"
#include "sim/world/durable.h"

#include <sherd/ddata.h>

static const char *const durable[] = { "kept", "shelf-*" };
static const struct sherd_consistency majority = { SHERD_MAJORITY, 0, 3000 };
static const struct sherd_consistency all = { SHERD_ALL, 0, 20000 };

/* Answers to an actor's calls: "updated#1 found#2=3 ". */
struct voice {
    struct world *world;
    void (*act)(struct sherd_ctx *ctx);
    char text[64 * 1024];
};

static const char *const words[] = {
    [SHERD_DATA_FOUND] = "found",     [SHERD_DATA_NOT_FOUND] = "none",
    [SHERD_DATA_UPDATED] = "updated", [SHERD_DATA_DELETED] = "deleted",
    [SHERD_DATA_TIMEOUT] = "late",    [SHERD_DATA_MISMATCH] = "mismatch",
    [SHERD_DATA_REFUSED] = "refused", [SHERD_DATA_NOT_STORED] = "not-stored",
    [SHERD_DATA_HELD] = "held",       [SHERD_DATA_TOO_LARGE] = "too-large",
};

static enum sherd_next speak(struct sherd_ctx *ctx, void *self,
                             const struct sherd_msg *msg)
{
    struct voice **voice = self;
    struct sherd_value *value;
    char number[32] = "";
    size_t used;

    if (msg->kind == SHERD_STARTED) {
        memcpy(voice, msg->body.data, sizeof *voice);
        (*voice)->act(ctx);
    }
    if (msg->kind != SHERD_DATA)
        return SHERD_CONTINUE;
    value = sherd_data_value(msg);
    if (value)
        (void)snprintf(number, sizeof number, "=%u", sherd_value_size(value));
    sherd_value_free(value);
    used = strlen((*voice)->text);
    (void)snprintf((*voice)->text + used, sizeof (*voice)->text - used,
                   "%s#%u%s ", words[msg->msg], msg->tag, number);
    return SHERD_CONTINUE;
}

static void open_voice(struct voice *voice, struct world *world, uint32_t node,
                       void (*act)(struct sherd_ctx *ctx))
{
    static const struct sherd_behavior behavior = {
        .name = "voice", .state_size = sizeof(struct voice *), .receive = speak
    };
    struct voice *body = voice;

    *voice = (struct voice){ .world = world, .act = act };
    world_spawn(world, node, 0, &behavior, &body, sizeof body);
}

struct saying {
    const struct voice *voice;
    const char *text;
};

static bool has_said(struct world *world, void *arg)
{
    const struct saying *saying = arg;

    (void)world;
    return strstr(saying->voice->text, saying->text) != NULL;
}

static bool says(struct voice *voice, const char *text, uint64_t limit)
{
    struct saying saying = { voice, text };

    return world_until(voice->world, has_said, &saying, limit);
}

static void wait_for(struct voice *voice, const char *text)
{
    if (!says(voice, text, 30 * SECOND))
        fail_msg("\"%s\" was not said, only \"%s\"", text, voice->text);
}

static void start_with(struct world *world, uint32_t node, uint32_t patterns,
                       bool gossips)
{
    struct node_settings settings =
        world_node_settings(world, node, NULL, 0);

    settings.durable_keys = durable;
    settings.durable_key_count = patterns;
    settings.data.gossip_off = !gossips;
    world_start(world, node, &settings);
}

static void start_as(struct world *world, uint32_t node, bool gossips)
{
    start_with(world, node, 2, gossips);
}

static void start(struct world *world, uint32_t node)
{
    start_as(world, node, true);
}

static struct world *world_of(uint64_t seed, uint32_t count)
{
    struct world *world = cast_new(seed);

    for (uint32_t i = 0; i < count; i++)
        start(world, i);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    return world;
}

static void add(struct sherd_ctx *ctx, const char *key, const char *item,
                const struct sherd_consistency *consistency, uint32_t tag)
{
    struct sherd_change change = { .verb = SHERD_ADD,
                                   .item = sherd_text(item) };

    sherd_data_update(ctx, key, SHERD_OR_SET, &change, 1, consistency, tag);
}

/* ---- acts ---- */

static void add_three(struct sherd_ctx *ctx)
{
    add(ctx, "kept", "a", NULL, 1);
    add(ctx, "shelf-1", "b", NULL, 2);
    add(ctx, "shelf-2", "c", NULL, 3);
    add(ctx, "forgotten", "d", NULL, 4);
    sherd_data_delete(ctx, "shelf-2", NULL, 5);
}

static void get_three(struct sherd_ctx *ctx)
{
    sherd_data_get(ctx, "kept", NULL, 1);
    sherd_data_get(ctx, "shelf-1", NULL, 2);
    sherd_data_get(ctx, "shelf-2", NULL, 3);
    sherd_data_get(ctx, "forgotten", NULL, 4);
}

static void add_one(struct sherd_ctx *ctx)
{
    add(ctx, "kept", "one", NULL, 1);
    add(ctx, "forgotten", "one", NULL, 2);
}

static void add_hundred(struct sherd_ctx *ctx)
{
    char item[16];

    for (uint32_t i = 1; i <= 100; i++) {
        (void)snprintf(item, sizeof item, "%u", i);
        add(ctx, "kept", item, NULL, i);
    }
}

static void get_kept(struct sherd_ctx *ctx)
{
    sherd_data_get(ctx, "kept", NULL, 9);
}

static void add_for_most(struct sherd_ctx *ctx)
{
    add(ctx, "kept", "one", &majority, 1);
}

static void add_for_all(struct sherd_ctx *ctx)
{
    add(ctx, "kept", "one", &all, 1);
}

static void get_from_most(struct sherd_ctx *ctx)
{
    sherd_data_get(ctx, "kept", &majority, 1);
}

static void add_too_long(struct sherd_ctx *ctx)
{
    static char key[SHERD_DATA_KEY_MAX + 1] = "shelf-";

    memset(key + 6, 'k', SHERD_DATA_KEY_MAX - 6);
    add(ctx, key, "x", NULL, 1);
}

/* ---- tests ---- */

static void acknowledged_changes_survive_a_crash(void **state)
{
    struct world *world = world_of(71, 1);
    struct voice writer, reader;

    (void)state;
    open_voice(&writer, world, 0, add_three);
    wait_for(&writer, "#5 ");
    assert_string_equal(writer.text,
                        "updated#4 updated#1 updated#2 updated#3 updated#5 ");
    assert_int_equal(world_durable_count(world, 0), 3);
    world_crash_as(world, 0, WORLD_DARK);
    start(world, 0);
    open_voice(&reader, world, 0, get_three); /* it waits until all is loaded */
    wait_for(&reader, "#4 ");
    assert_string_equal(reader.text, "found#1=1 found#2=1 deleted#3 none#4 ");
    world_free(world);
}

/* The stored value is older than the present one. */
static void a_key_that_is_no_longer_durable_is_not_loaded(void **state)
{
    struct world *world = world_of(71, 1);
    struct voice voice;

    (void)state;
    open_voice(&voice, world, 0, add_three);
    wait_for(&voice, "#5 ");
    world_crash_as(world, 0, WORLD_DARK);
    start_with(world, 0, 1, true);
    open_voice(&voice, world, 0, get_three);
    wait_for(&voice, "#4 ");
    assert_string_equal(voice.text, "found#1=1 none#2 none#3 none#4 ");
    assert_int_equal(world_durable_count(world, 0), 3);
    world_free(world);
}

/* The simulation can show such a loss. */
static void a_disk_that_lies_loses_acknowledged_changes(void **state)
{
    static const struct durable_faults lies = { .lies = true };
    struct world *world = world_of(72, 1);
    struct voice voice;

    (void)state;
    world_durable_faults(world, 0, &lies);
    open_voice(&voice, world, 0, add_one);
    wait_for(&voice, "updated#1 ");
    world_crash_as(world, 0, WORLD_DARK);
    start(world, 0);
    open_voice(&voice, world, 0, get_kept);
    wait_for(&voice, "none#9 ");
    world_free(world);
}

static void nothing_is_acknowledged_before_it_is_on_the_disk(void **state)
{
    static const struct durable_faults slow = { .stall_ppm = 1000000,
                                                .stall_max = 3600 * SECOND };
    struct world *world = world_of(73, 1);
    struct voice voice;

    (void)state;
    world_durable_faults(world, 0, &slow);
    open_voice(&voice, world, 0, add_one);
    wait_for(&voice, "updated#2 ");
    assert_false(says(&voice, "updated#1 ", 10 * SECOND));
    assert_int_equal(world_durable_count(world, 0), 0);
    assert_true(says(&voice, "updated#1 ", 3600 * SECOND));
    assert_int_equal(world_durable_count(world, 0), 1);
    world_free(world);
}

/* Each change has its answer. */
static void waiting_changes_become_one_write(void **state)
{
    struct world *world = world_of(74, 1);
    uint64_t writes = world_durable_writes(world, 0);
    struct voice voice;

    (void)state;
    open_voice(&voice, world, 0, add_hundred);
    wait_for(&voice, "updated#100 ");
    assert_true(world_durable_writes(world, 0) - writes < 20);
    for (uint32_t i = 1; i <= 100; i++) {
        char text[24];

        (void)snprintf(text, sizeof text, "updated#%u ", i);
        assert_non_null(strstr(voice.text, text));
    }
    world_free(world);
}

/* A change of the failed write may be stored; later ones are. */
static void a_sync_that_fails_acknowledges_nothing(void **state)
{
    struct world *world = world_of(86, 1);
    struct voice voice, later;

    (void)state;
    world_durable_fail_sync(world, 0);
    open_voice(&voice, world, 0, add_one);
    wait_for(&voice, "not-stored#1 ");
    assert_int_equal(world_durable_count(world, 0), 0);
    assert_true(world_durable_is_writing(world, 0)); /* the cache has it */
    assert_int_equal(world_durable_counters(world, 0).sync_errors, 1);
    world_run(world, 3 * SECOND); /* it is tried again */
    assert_int_equal(world_durable_count(world, 0), 1);
    assert_false(world_durable_is_writing(world, 0));
    world_crash_as(world, 0, WORLD_DARK);
    start(world, 0);
    open_voice(&later, world, 0, get_kept);
    wait_for(&later, "found#9=1 ");
    world_free(world);
}

/* Power is lost before the next try: in some worlds the change is stored, in others not. */
static void unsynced_changes_may_be_lost_with_the_power(void **state)
{
    uint32_t found = 0;

    (void)state;
    for (uint32_t i = 0; i < 8; i++) {
        struct world *world = world_of(90 + i, 1);
        struct voice voice, later;

        world_durable_fail_sync(world, 0);
        open_voice(&voice, world, 0, add_one);
        wait_for(&voice, "not-stored#1 ");
        world_crash_as(world, 0, WORLD_DARK);
        assert_int_equal(world_durable_counters(world, 0).power_harm, 1);
        start(world, 0);
        open_voice(&later, world, 0, get_kept);
        wait_for(&later, "#9");
        found += strstr(later.text, "found#9=1 ") != NULL;
        world_free(world);
    }
    assert_in_range(found, 1, 7);
}

static void a_full_disk_acknowledges_nothing(void **state)
{
    static const struct durable_faults full = { .is_full = true };
    static const struct durable_faults none = { 0 };
    struct world *world = world_of(75, 1);
    struct sherd_status status;
    struct voice voice, later;

    (void)state;
    world_durable_faults(world, 0, &full);
    open_voice(&voice, world, 0, add_one);
    wait_for(&voice, "not-stored#1 ");
    assert_non_null(strstr(voice.text, "updated#2 ")); /* which is not durable */
    assert_true(world_logged(world, 0, "No space left on device"));
    assert_int_equal(world_durable_count(world, 0), 0);
    status = world_status(world, 0);
    assert_true(status.counters[SHERD_DURABLE_FAILED] > 0);
    world_status_fini(&status);
    /* tried again, without new changes */
    world_durable_faults(world, 0, &none);
    world_run(world, 3 * SECOND);
    assert_int_equal(world_durable_count(world, 0), 1);
    assert_true(world_logged(world, 0, "stored again"));
    world_crash_as(world, 0, WORLD_DARK);
    start(world, 0);
    open_voice(&later, world, 0, get_kept);
    wait_for(&later, "found#9=1 ");
    world_free(world);
}

static void a_node_acknowledges_only_stored_changes(void **state)
{
    static const struct durable_faults full = { .is_full = true };
    struct world *world = world_of(76, 3);
    struct voice voice;

    (void)state;
    world_durable_faults(world, 1, &full);
    open_voice(&voice, world, 0, add_for_most);
    wait_for(&voice, "updated#1 "); /* the third node has it */
    world_durable_faults(world, 2, &full);
    open_voice(&voice, world, 0, add_for_all);
    wait_for(&voice, "#1 ");
    assert_null(strstr(voice.text, "updated#1 "));
    world_free(world);
}

/* A majority has the change, but not the writer's own node. */
static void a_write_fails_if_its_own_node_has_not_stored_it(void **state)
{
    static const struct durable_faults full = { .is_full = true };
    static const struct durable_faults slow = { .stall_ppm = 1000000,
                                                .stall_max = 3600 * SECOND };
    struct world *world = world_of(83, 3);
    struct voice voice;

    (void)state;
    world_durable_faults(world, 0, &full);
    open_voice(&voice, world, 0, add_for_most);
    wait_for(&voice, "not-stored#1 ");
    assert_int_equal(world_durable_count(world, 0), 0);
    world_run(world, 3 * SECOND);
    assert_int_equal(world_durable_count(world, 1), 1);
    assert_int_equal(world_durable_count(world, 2), 1);
    world_durable_faults(world, 0, &slow);
    open_voice(&voice, world, 0, add_for_most);
    wait_for(&voice, "late#1 ");
    assert_int_equal(world_durable_count(world, 0), 0);
    world_free(world);
}

static void a_cluster_keeps_its_data_after_a_power_loss(void **state)
{
    struct world *world = world_of(77, 3);
    struct voice voice;

    (void)state;
    open_voice(&voice, world, 1, add_for_most);
    wait_for(&voice, "updated#1 ");
    for (uint32_t i = 0; i < 3; i++)
        world_crash_as(world, i, WORLD_DARK);
    for (uint32_t i = 0; i < 3; i++)
        start(world, i);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    open_voice(&voice, world, 2, get_from_most);
    wait_for(&voice, "found#1=1 ");
    world_free(world);
}

static void calls_wait_while_the_load_is_tried_again(void **state)
{
    static const struct durable_faults broken = { .error_ppm = 1000000 };
    static const struct durable_faults none = { 0 };
    struct world *world = world_of(78, 1);
    struct voice voice;

    (void)state;
    open_voice(&voice, world, 0, add_one);
    wait_for(&voice, "updated#1 ");
    world_crash_as(world, 0, WORLD_DARK);
    world_durable_faults(world, 0, &broken);
    start(world, 0);
    open_voice(&voice, world, 0, get_kept);
    assert_false(says(&voice, "#9", 20 * SECOND));
    assert_true(world_logged(world, 0, "durable keys are not loaded"));
    world_durable_faults(world, 0, &none);
    wait_for(&voice, "found#9=1 ");
    world_free(world);
}

#define MUCH_SIZE 190000u

static void add_too_much(struct sherd_ctx *ctx)
{
    static char text[MUCH_SIZE + 1];

    memset(text, 'x', MUCH_SIZE);
    for (uint32_t i = 0; i < DATA_WAITING_SIZE_MAX / MUCH_SIZE + 2; i++)
        add(ctx, "much", text, NULL, i);
    for (uint32_t i = 0; i < 1000; i++)
        add(ctx, "little", "x", NULL, 1000); /* until there is no room at all */
    text[200] = 0;
    sherd_data_get(ctx, text, NULL, 999);
}

static void calls_wait_for_the_load_up_to_a_limit(void **state)
{
    static const struct durable_faults broken = { .error_ppm = 1000000 };
    static const struct durable_faults none = { 0 };
    const uint32_t last = DATA_WAITING_SIZE_MAX / MUCH_SIZE;
    struct world *world = cast_new(81);
    const struct data *data;
    struct voice voice;
    char text[64];

    (void)state;
    world_durable_faults(world, 0, &broken);
    start(world, 0);
    open_voice(&voice, world, 0, add_too_much);
    (void)snprintf(text, sizeof text, "refused#%u ", last + 1);
    wait_for(&voice, text);
    data = &node_machine(world_node(world, 0)->node, 0)->control->data;
    assert_true(data->refused >= 1);
    assert_in_range(data->waiting_size, DATA_WAITING_SIZE_MAX - 2 * MUCH_SIZE,
                    DATA_WAITING_SIZE_MAX);
    assert_null(strstr(voice.text, "updated"));
    world_durable_faults(world, 0, &none);
    wait_for(&voice, "updated#50 ");
    assert_int_equal(data->waiting_size, 0);
    wait_for(&voice, "none#999 "); /* it needs no room */
    world_free(world);
}

static void a_damaged_key_is_named_and_the_rest_serves(void **state)
{
    static const struct durable_faults rotten = { .rot_ppm = 1000000 };
    static const struct durable_faults none = { 0 };
    struct world *world = world_of(79, 2);
    struct sherd_status status;
    struct voice voice;

    (void)state;
    open_voice(&voice, world, 0, add_for_all);
    wait_for(&voice, "updated#1 ");
    world_crash_as(world, 1, WORLD_KILLED);
    world_durable_faults(world, 1, &rotten);
    start(world, 1);
    world_run(world, SECOND);
    world_durable_faults(world, 1, &none);
    assert_true(world_logged(world, 1, "lost"));
    status = world_status(world, 1);
    assert_int_equal(status.counters[SHERD_DURABLE_LOST], 1);
    assert_int_equal(status.damaged_key_count, 1);
    assert_string_equal(status.damaged_keys[0].key, "kept");
    assert_true(status.damaged_keys[0].is_lost);
    assert_true(status.damaged_keys[0].is_held);
    world_status_fini(&status);
    open_voice(&voice, world, 1, get_three);
    wait_for(&voice, "#4 ");
    assert_string_equal(voice.text, "held#1 none#2 none#3 none#4 ");
    /* It gets the others' values again. */
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    world_run(world, 10 * SECOND);
    open_voice(&voice, world, 1, get_three);
    wait_for(&voice, "found#1=1 ");
    assert_int_equal(world_durable_count(world, 1), 1);
    status = world_status(world, 1);
    assert_false(status.damaged_keys[0].is_held);
    world_status_fini(&status);
    world_crash_as(world, 1, WORLD_DARK);
    start(world, 1);
    open_voice(&voice, world, 1, get_kept);
    wait_for(&voice, "found#9=1 ");
    world_free(world);
}

static void add_ten_for_most(struct sherd_ctx *ctx)
{
    add(ctx, "kept", "ten", &majority, 10);
}

static void add_two_for_all(struct sherd_ctx *ctx)
{
    static const struct sherd_consistency soon = { SHERD_ALL, 0, 3000 };

    add(ctx, "kept", "two", &soon, 2);
}

#define READS 10u

static void get_often_from_most(struct sherd_ctx *ctx)
{
    for (uint32_t i = 0; i < READS; i++)
        sherd_data_get(ctx, "kept", &majority, i);
}

static void restart(struct world *world, uint32_t node, uint32_t rot_ppm)
{
    struct durable_faults faults = { .rot_ppm = rot_ppm };

    world_durable_faults(world, node, &faults);
    start_as(world, node, false);
    world_run(world, SECOND);
    faults.rot_ppm = 0;
    world_durable_faults(world, node, &faults);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
}

/* Two of three nodes have ten values. The disk of one is damaged, and then the third, which missed
 * the write, makes a change. Its reads find both, whichever node they ask. */
static void a_value_of_a_majority_survives_a_damaged_disk(void **state)
{
    struct world *world = cast_new(85);
    struct voice writer, third, first;
    char found[16];
    (void)state;

    for (uint32_t i = 0; i < 3; i++)
        start_as(world, i, false);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    open_voice(&writer, world, 1, add_for_all);
    wait_for(&writer, "updated#1 ");
    world_crash_as(world, 2, WORLD_KILLED);
    world_run(world, 10 * SECOND);
    open_voice(&writer, world, 1, add_ten_for_most);
    wait_for(&writer, "updated#10 ");
    restart(world, 2, 0);
    world_crash_as(world, 1, WORLD_KILLED);
    restart(world, 1, 1000000);
    open_voice(&first, world, 1, get_kept);
    wait_for(&first, "held#9 ");
    open_voice(&third, world, 2, get_kept);
    wait_for(&third, "found#9=1 ");
    open_voice(&third, world, 2, add_two_for_all);
    wait_for(&third, "late#2 "); /* the first one does not */
    open_voice(&third, world, 2, get_often_from_most);
    for (uint32_t i = 0; i < READS; i++) {
        (void)snprintf(found, sizeof found, "found#%u=3 ", i);
        wait_for(&third, found);
    }
    /* it asks both */
    open_voice(&first, world, 1, get_kept);
    wait_for(&first, "held#9 ");
    open_voice(&first, world, 1, get_from_most);
    wait_for(&first, "found#1=3 ");
    open_voice(&first, world, 1, get_kept);
    wait_for(&first, "found#9=3 ");
    world_free(world);
}

static void add_two(struct sherd_ctx *ctx)
{
    add(ctx, "kept", "two", NULL, 2);
}

static void get_and_change(struct sherd_ctx *ctx)
{
    sherd_data_get(ctx, "kept", NULL, 1);
    sherd_data_get(ctx, "kept", &majority, 2);
    add(ctx, "kept", "three", NULL, 3);
    add(ctx, "shelf-1", "b", NULL, 4);
}

static void release_kept(struct sherd_ctx *ctx)
{
    sherd_data_release(ctx, "kept", 5);
}

/* The node has no peer, so it holds the key over restarts. */
static void a_node_alone_holds_a_damaged_key_until_it_is_released(void **state)
{
    static const struct durable_faults rotten = { .rot_ppm = 1000000 };
    static const struct durable_faults none = { 0 };
    (void)state;

    for (int is_lost = 0; is_lost < 2; is_lost++) {
        struct world *world = world_of(84, 1);
        struct voice voice;

        open_voice(&voice, world, 0, add_one);
        wait_for(&voice, "updated#1 ");
        if (!is_lost) {
            open_voice(&voice, world, 0, add_two);
            wait_for(&voice, "updated#2 ");
        }
        world_crash_as(world, 0, WORLD_DARK);
        world_durable_faults(world, 0, &rotten);
        start(world, 0);
        world_run(world, SECOND);
        world_durable_faults(world, 0, &none);
        for (int turn = 0; turn < 2; turn++) {
            open_voice(&voice, world, 0, get_and_change);
            wait_for(&voice, "#4 ");
            assert_string_equal(voice.text, "held#1 held#2 held#3 updated#4 ");
            world_run(world, 60 * SECOND);
            world_crash_as(world, 0, WORLD_DARK);
            start(world, 0);
        }
        open_voice(&voice, world, 0, release_kept);
        wait_for(&voice, "updated#5 ");
        open_voice(&voice, world, 0, get_kept);
        wait_for(&voice, is_lost ? "none#9 " : "found#9=1 "); /* "one" */
        world_run(world, SECOND);
        world_crash_as(world, 0, WORLD_DARK);
        start(world, 0);
        open_voice(&voice, world, 0, get_kept);
        wait_for(&voice, is_lost ? "none#9 " : "found#9=1 ");
        open_voice(&voice, world, 0, add_one);
        wait_for(&voice, "updated#1 ");
        world_free(world);
    }
}

static void a_durable_key_may_have_any_length(void **state)
{
    struct world *world = world_of(80, 1);
    struct voice voice;

    (void)state;
    open_voice(&voice, world, 0, add_too_long);
    wait_for(&voice, "updated#1 ");
    assert_int_equal(world_durable_count(world, 0), 1);
    world_free(world);
}

/* ---- a machine without a driver ---- */

static struct node *lone_durable(void)
{
    return lone_node(
        (struct node_settings){ .identity = { "akka", "S", { { "a", 1 }, 11 } },
                                .lanes = 1,
                                .buffer_size = 100,
                                .trace_level = TRACE_ERROR,
                                .durable_keys = durable,
                                .durable_key_count = 2 },
        8);
}

static struct durable_request *durable_request_of(struct machine *machine)
{
    struct driver_request request = { .kind = DRIVER_UP };

    (void)machine_turn(machine, machine->now + 1, 0);
    while (machine_next_request(machine, &request) && request.kind != DRIVER_DURABLE)
        ;
    return request.kind == DRIVER_DURABLE ? request.durable : NULL;
}

static void damaged_keys_are_listed_up_to_a_limit(void **state)
{
    struct node *node = lone_durable();
    struct machine *machine = node_machine(node, 0);
    struct sherd_status status = { 0 };
    struct durable_request *load;
    char key[24];

    (void)state;
    machine_start(machine, 1, 0);
    load = durable_request_of(machine);
    assert_non_null(load);
    assert_int_equal(load->verb, DURABLE_LOAD);
    for (uint32_t i = 0; i <= DATA_DAMAGED_KEYS_MAX; i++) {
        (void)snprintf(key, sizeof key, "shelf-%u", i);
        durable_request_add(load, slice_text(key), slice_text(""));
        load->entries.items[i].is_lost = true;
    }
    load->result = DURABLE_DONE;
    machine_durable(machine, 2, load);
    assert_null(durable_request_of(machine));
    data_durable_status(machine->control, &status);
    assert_int_equal(status.damaged_key_count, DATA_DAMAGED_KEYS_MAX);
    assert_int_equal(status.counters[SHERD_DURABLE_LOST],
                     DATA_DAMAGED_KEYS_MAX + 1);
    mem_free(status.damaged_keys);
    node_free(node);
}

/* The files are another cluster's: another try cannot help. */
static void a_refused_load_ends_the_node(void **state)
{
    struct node *node = lone_durable();
    struct machine *machine = node_machine(node, 0);
    struct durable_request *load;

    (void)state;
    machine_start(machine, 1, 0);
    load = durable_request_of(machine);
    assert_non_null(load);
    load->result = DURABLE_FAILED; /* tried again */
    machine_durable(machine, 2, load);
    assert_null(durable_request_of(machine));
    machine->now = data_durable_deadline(machine->control);
    load = durable_request_of(machine);
    assert_non_null(load);
    load->result = DURABLE_FAILED;
    load->is_refused = true;
    machine_durable(machine, machine->now, load);
    assert_null(durable_request_of(machine));
    assert_true(data_durable_deadline(machine->control) == NEVER);
    assert_int_equal(machine->control->error, SHERD_ESTORE);
    node_free(node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_write_fails_if_its_own_node_has_not_stored_it),
        cmocka_unit_test(a_cluster_keeps_its_data_after_a_power_loss),
        cmocka_unit_test(a_damaged_key_is_named_and_the_rest_serves),
        cmocka_unit_test(a_node_alone_holds_a_damaged_key_until_it_is_released),
        cmocka_unit_test(a_value_of_a_majority_survives_a_damaged_disk),
        cmocka_unit_test(a_key_that_is_no_longer_durable_is_not_loaded),
        cmocka_unit_test(a_disk_that_lies_loses_acknowledged_changes),
        cmocka_unit_test(a_full_disk_acknowledges_nothing),
        cmocka_unit_test(a_sync_that_fails_acknowledges_nothing),
        cmocka_unit_test(unsynced_changes_may_be_lost_with_the_power),
        cmocka_unit_test(a_durable_key_may_have_any_length),
        cmocka_unit_test(a_refused_load_ends_the_node),
        cmocka_unit_test(nothing_is_acknowledged_before_it_is_on_the_disk),
        cmocka_unit_test(damaged_keys_are_listed_up_to_a_limit),
        cmocka_unit_test(calls_wait_for_the_load_up_to_a_limit),
        cmocka_unit_test(calls_wait_while_the_load_is_tried_again),
        cmocka_unit_test(waiting_changes_become_one_write),
        cmocka_unit_test(acknowledged_changes_survive_a_crash),
        cmocka_unit_test(a_node_acknowledges_only_stored_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
