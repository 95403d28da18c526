/* Tests distributed data: actors change and read it on their nodes, it converges, and each call has
 * one answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/limits.h"
#include "cast.h"
#include "ddata/face.h"
#include "node/control/control.h"
#include "sim/world/net.h"

#include <sherd/ddata.h>

/* An actor: its act at the start, and its messages, "updated#1 found#2=3 ". */
struct voice {
    struct world *world;
    void (*act)(struct sherd_ctx *ctx);
    char text[64 * 1024];
};

static const struct sherd_consistency majority = { SHERD_MAJORITY, 0, 3000 };
static const struct sherd_consistency all = { SHERD_ALL, 0, 3000 };

static const char *const words[] = {
    [SHERD_DATA_FOUND] = "found",     [SHERD_DATA_NOT_FOUND] = "none",
    [SHERD_DATA_UPDATED] = "updated", [SHERD_DATA_DELETED] = "deleted",
    [SHERD_DATA_TIMEOUT] = "late",    [SHERD_DATA_MISMATCH] = "mismatch",
    [SHERD_DATA_REFUSED] = "refused", [SHERD_DATA_CHANGED] = "changed",
    [SHERD_DATA_KEYS] = "keys",       [SHERD_DATA_TOO_LARGE] = "too-large",
    [SHERD_DATA_EXPIRED] = "expired",
};

#define ONCE 8 /* a subscription with this tag ends at the first change */
#define MANY_KEYS (2u * DATA_KEYS_MAX + 100) /* three answers' worth */
#define DELETED_KEYS 50u

static uint32_t listed[MANY_KEYS]; /* of each key */

static void has_what_it_lists(const struct sherd_value *value)
{
    const struct sherd_item other = sherd_text("nowhere");
    struct sherd_item item;

    for (uint32_t at = 0; sherd_value_next(value, &at, &item);)
        assert_int_equal(sherd_value_has(value, &item), 1);
    assert_int_equal(sherd_value_has(value, &other), 0);
}

/* Returns a sum over an OR_MAP's keys: counts, sizes, flags, and 100 for each register. */
static int sum_of(const struct sherd_value *map)
{
    struct sherd_item key, item;
    uint32_t at = 0;
    int sum = 0;

    while (sherd_value_next(map, &at, &key)) {
        struct sherd_value *inside = sherd_value_inside(map, &key);

        assert_non_null(inside);
        sum += (int)sherd_value_count(inside, NULL) + sherd_value_flag(inside) +
               (int)sherd_value_size(inside) +
               100 * sherd_value_get(inside, NULL, &item);
        sherd_value_free(inside);
    }
    return sum;
}

/* Returns a set's or map's size, or a counter's value. */
static int number_of(const struct sherd_msg *msg)
{
    struct sherd_value *value = sherd_data_value(msg);
    int number = -1;

    if (value)
        has_what_it_lists(value);
    if (value && (sherd_value_type(value) == SHERD_G_COUNTER ||
                  sherd_value_type(value) == SHERD_PN_COUNTER))
        number = (int)sherd_value_count(value, NULL);
    else if (value && sherd_value_type(value) == SHERD_OR_MAP)
        number = sum_of(value);
    else if (value)
        number = (int)sherd_value_size(value);
    sherd_value_free(value);
    return number;
}

/* Asks for the keys after these. Returns how many came. */
static int take_keys(struct sherd_ctx *ctx, const struct sherd_msg *msg)
{
    const char *key;
    int count = 0;

    assert_string_equal(sherd_data_key(msg), "");
    assert_null(sherd_data_value(msg));
    for (uint32_t at = 0; (key = sherd_data_next_key(msg, &at)); count++)
        listed[atoi(key + 1)]++;
    if (sherd_data_more_keys(msg))
        sherd_data_keys(ctx, sherd_data_more_keys(msg), msg->tag);
    return count;
}

static enum sherd_next speak(struct sherd_ctx *ctx, void *self,
                             const struct sherd_msg *msg)
{
    struct voice **voice = self;
    size_t used;

    if (msg->kind == SHERD_STARTED) {
        memcpy(voice, msg->body.data, sizeof *voice);
        (*voice)->act(ctx);
    }
    if (msg->kind != SHERD_DATA)
        return SHERD_CONTINUE;
    if (msg->msg == SHERD_DATA_CHANGED && msg->tag == ONCE)
        sherd_data_unsubscribe(ctx, sherd_data_key(msg));
    used = strlen((*voice)->text);
    (void)snprintf((*voice)->text + used, sizeof (*voice)->text - used,
                   "%s#%u", words[msg->msg], msg->tag);
    used = strlen((*voice)->text);
    if (msg->msg == SHERD_DATA_KEYS)
        (void)snprintf((*voice)->text + used, sizeof (*voice)->text - used,
                       "=%d%s", take_keys(ctx, msg),
                       sherd_data_more_keys(msg) ? "" : ".");
    else if (number_of(msg) >= 0)
        (void)snprintf((*voice)->text + used, sizeof (*voice)->text - used,
                       "=%d", number_of(msg));
    (void)strcat((*voice)->text, " ");
    return SHERD_CONTINUE;
}

static void open_voice(struct voice *voice, struct world *world, uint32_t node,
                       uint32_t lane, void (*act)(struct sherd_ctx *ctx))
{
    static const struct sherd_behavior behavior = {
        .name = "voice", .state_size = sizeof(struct voice *), .receive = speak
    };
    struct voice *body = voice;

    *voice = (struct voice){ .world = world, .act = act };
    world_spawn(world, node, lane, &behavior, &body, sizeof body);
}

static bool has_said(struct world *world, void *arg)
{
    struct {
        struct voice *voice;
        const char *text;
    } *what = arg;

    (void)world;
    return strstr(what->voice->text, what->text) != NULL;
}

static void wait_for(struct voice *voice, const char *text)
{
    struct {
        struct voice *voice;
        const char *text;
    } what = { voice, text };

    if (!world_until(voice->world, has_said, &what, 30 * SECOND))
        fail_msg("\"%s\" was not said, only \"%s\"", text, voice->text);
}

/* ---- acts ---- */

static void add(struct sherd_ctx *ctx, const char *key, const char *item,
                const struct sherd_consistency *consistency, uint32_t tag)
{
    struct sherd_change change = { .verb = SHERD_ADD,
                                   .item = sherd_text(item) };

    sherd_data_update(ctx, key, SHERD_OR_SET, &change, 1, consistency, tag);
}

static void count(struct sherd_ctx *ctx, int64_t amount, uint32_t tag)
{
    struct sherd_change change = { .verb = SHERD_COUNT, .amount = amount };

    sherd_data_update(ctx, "visits", SHERD_PN_COUNTER, &change, 1, NULL, tag);
}

static void add_two(struct sherd_ctx *ctx)
{
    add(ctx, "flags", "dark", &majority, 1);
    add(ctx, "flags", "fast", &majority, 2);
}

static void get_flags(struct sherd_ctx *ctx)
{
    sherd_data_get(ctx, "flags", &majority, 3);
}

static void follow_flags(struct sherd_ctx *ctx)
{
    assert_int_equal(sherd_data_subscribe(ctx, "flags", 7), 0);
    assert_int_equal(sherd_data_subscribe(ctx, "", 7), SHERD_EINVAL);
}

static void follow_flags_once(struct sherd_ctx *ctx)
{
    assert_int_equal(sherd_data_subscribe(ctx, "flags", ONCE), 0);
}

static void add_third(struct sherd_ctx *ctx)
{
    sherd_data_unsubscribe(ctx, "flags"); /* it does not subscribe */
    add(ctx, "flags", "third", NULL, 4);
}

static void count_up(struct sherd_ctx *ctx)
{
    count(ctx, 5, 1);
    count(ctx, -2, 2);
}

#define AT_ONCE 100u

static void add_at_once(struct sherd_ctx *ctx, char whose)
{
    char text[8];

    for (uint32_t i = 0; i < AT_ONCE; i++) {
        (void)snprintf(text, sizeof text, "%c%u", whose, i);
        add(ctx, "both", text, NULL, 1 + i);
    }
}

static void add_mine(struct sherd_ctx *ctx)
{
    add_at_once(ctx, 'm');
}

static void add_yours(struct sherd_ctx *ctx)
{
    add_at_once(ctx, 'y');
}

static void get_both(struct sherd_ctx *ctx)
{
    sherd_data_get(ctx, "both", NULL, 0);
}

static void get_visits(struct sherd_ctx *ctx)
{
    sherd_data_get(ctx, "visits", &all, 3);
}

static void do_wrong(struct sherd_ctx *ctx)
{
    struct sherd_change change = { .verb = SHERD_ADD,
                                   .item = sherd_text("x") };
    struct sherd_consistency none = { SHERD_MAJORITY, 0, 0 };

    sherd_data_get(ctx, "nothing", NULL, 1);
    count(ctx, 1, 2);
    add(ctx, "visits", "x", NULL, 3);
    sherd_data_update(ctx, "g", SHERD_PN_COUNTER, &change, 1, NULL, 4);
    sherd_data_get(ctx, "", NULL, 5);
    sherd_data_get(ctx, "nothing", &none, 6);
    assert_int_equal(sherd_data_subscribe(ctx, "visi*", 7), SHERD_EINVAL);
    assert_int_equal(sherd_data_subscribe(ctx, "s\xff", 7), SHERD_EINVAL);
    assert_int_equal(sherd_data_subscribe(ctx, "s\xff", 8), SHERD_EINVAL);
    add(ctx, "set", "b\xff", NULL, 10); /* not UTF-8: other nodes would refuse it */
    sherd_data_get(ctx, "s\xff", NULL, 11);
    sherd_data_update(ctx, "o", (enum sherd_data_type)(256 + SHERD_G_SET),
                      &change, 1, NULL, 13); /* no type, but its last eight bits are one */
    change.verb = (enum sherd_verb)(256 + SHERD_ADD);
    sherd_data_update(ctx, "o", SHERD_G_SET, &change, 1, NULL, 14);
    sherd_data_get(ctx, "visits", NULL, 12); /* deleted before the answer */
    sherd_data_delete(ctx, "visits", NULL, 7);
    count(ctx, 1, 8);
    sherd_data_get(ctx, "visits", NULL, 9);
}

static void change_map(struct sherd_ctx *ctx, enum sherd_data_type inside,
                       enum sherd_verb verb, const char *key, uint32_t tag)
{
    struct sherd_change change = { .verb = verb,
                                   .item = sherd_text(key),
                                   .value = sherd_text(key),
                                   .amount = 7,
                                   .inside = inside };

    sherd_data_update(ctx, "map", SHERD_OR_MAP, &change, 1, NULL, tag);
}

static void fill_map(struct sherd_ctx *ctx)
{
    change_map(ctx, SHERD_FLAG, SHERD_SWITCH_ON, "flag", 1);
    change_map(ctx, SHERD_G_COUNTER, SHERD_COUNT, "grows", 1);
    change_map(ctx, SHERD_PN_COUNTER, SHERD_COUNT, "count", 1);
    change_map(ctx, SHERD_PN_COUNTER, SHERD_COUNT, "count", 1);
    change_map(ctx, SHERD_G_SET, SHERD_ADD, "set", 1);
    change_map(ctx, SHERD_OR_SET, SHERD_ADD, "comes and goes", 1);
    change_map(ctx, SHERD_LWW_REGISTER, SHERD_PUT, "register", 1);
    sherd_data_get(ctx, "map", NULL, 2);
}

static void empty_map(struct sherd_ctx *ctx)
{
    change_map(ctx, SHERD_OR_SET, SHERD_REMOVE, "comes and goes", 3);
    change_map(ctx, 0, SHERD_REMOVE, "count", 3);
    sherd_data_get(ctx, "map", NULL, 4);
    change_map(ctx, SHERD_FLAG, SHERD_COUNT, "flag", 5); /* no verb of flags */
    change_map(ctx, SHERD_FLAG, SHERD_SWITCH_ON, "set", 6); /* another type */
    change_map(ctx, SHERD_LWW_MAP, SHERD_PUT, "new", 7); /* not inside */
    change_map(ctx, 0, SHERD_ADD, "set", 8); /* of no type */
}

static void mix_maps(struct sherd_ctx *ctx)
{
    struct sherd_change change = { .verb = SHERD_ADD,
                                   .item = sherd_text("k"),
                                   .value = sherd_text("v") };

    sherd_data_update(ctx, "with", SHERD_OR_MULTIMAP_DELTAS, &change, 1, NULL,
                      1);
    sherd_data_update(ctx, "with", SHERD_OR_MULTIMAP, &change, 1, NULL, 2);
    sherd_data_update(ctx, "without", SHERD_OR_MULTIMAP, &change, 1, NULL, 3);
    sherd_data_update(ctx, "without", SHERD_OR_MULTIMAP_DELTAS, &change, 1,
                      NULL, 4);
    change.inside = SHERD_OR_SET; /* no OR_MAP */
    sherd_data_update(ctx, "with", SHERD_OR_MULTIMAP_DELTAS, &change, 1, NULL,
                      5);
    sherd_data_get(ctx, "with", NULL, 6);
}

static void add_for_all(struct sherd_ctx *ctx)
{
    add(ctx, "flags", "late", &all, 1);
}

static void go_beyond(struct sherd_ctx *ctx)
{
    static struct sherd_change changes[DATA_CHANGES_MAX + 1];
    char key[16];

    for (uint32_t i = 0; i <= DATA_CHANGES_MAX; i++)
        changes[i] = (struct sherd_change){ .verb = SHERD_COUNT, .amount = 1 };
    sherd_data_update(ctx, "visits", SHERD_G_COUNTER, changes, DATA_CHANGES_MAX,
                      NULL, 1);
    sherd_data_update(ctx, "visits", SHERD_G_COUNTER, changes,
                      DATA_CHANGES_MAX + 1, NULL, 2);
    for (uint32_t i = 0; i < DATA_FOLLOWERS_MAX; i++) {
        (void)snprintf(key, sizeof key, "k%u", i);
        assert_int_equal(sherd_data_subscribe(ctx, key, 3), 0);
    }
    assert_int_equal(sherd_data_subscribe(ctx, "one more", 3), SHERD_EFULL);
    sherd_data_unsubscribe(ctx, "k0");
    assert_int_equal(sherd_data_subscribe(ctx, "one more", 3), 0);
    sherd_data_get(ctx, "visits", NULL, 4);
}

static void put_keys(struct sherd_ctx *ctx)
{
    struct sherd_change change = { .verb = SHERD_SWITCH_ON };
    char key[16];

    for (uint32_t i = 0; i < MANY_KEYS; i++) {
        (void)snprintf(key, sizeof key, "k%u", i);
        sherd_data_update(ctx, key, SHERD_FLAG, &change, 1, NULL, 1);
        if (i < DELETED_KEYS)
            sherd_data_delete(ctx, key, NULL, 1);
    }
    sherd_data_get(ctx, "k0", NULL, 2);
}

static void list_keys(struct sherd_ctx *ctx)
{
    sherd_data_keys(ctx, 0, 3);
}

#define LARGE_ITEMS 2400u /* of 90 bytes: too large for a body, not for an entry */

static void add_much(struct sherd_ctx *ctx)
{
    static char items[LARGE_ITEMS][91];
    static struct sherd_change changes[LARGE_ITEMS];

    for (uint32_t i = 0; i < LARGE_ITEMS; i++) {
        (void)snprintf(items[i], sizeof items[i], "%090u", i);
        changes[i] = (struct sherd_change){ .verb = SHERD_ADD,
                                            .item = sherd_text(items[i]) };
    }
    for (uint32_t i = 0; i < 3; i++)
        sherd_data_update(ctx, "large", SHERD_G_SET,
                          changes + i * LARGE_ITEMS / 3, LARGE_ITEMS / 3, NULL,
                          1 + i);
    sherd_data_get(ctx, "large", NULL, 4);
    assert_int_equal(sherd_data_subscribe(ctx, "large", 5), 0);
}

/* ---- tests ---- */

static void a_change_is_seen_everywhere(void **state)
{
    struct world *world = cast_world(51, 3, 2);
    struct voice writer, follower, reader, late, third;

    (void)state;
    open_voice(&follower, world, 1, 1, follow_flags);
    open_voice(&writer, world, 0, 0, add_two);
    wait_for(&writer, "updated#2 ");
    assert_string_equal(writer.text, "updated#1 updated#2 ");
    open_voice(&reader, world, 2, 1, get_flags);
    wait_for(&reader, "found#3=2 ");
    wait_for(&follower, "changed#7=2 ");
    open_voice(&late, world, 1, 1, follow_flags); /* the lane already subscribes */
    wait_for(&late, "changed#7=2 ");
    open_voice(&third, world, 2, 0, add_third);
    wait_for(&follower, "changed#7=3 ");
    wait_for(&late, "changed#7=3 ");
    world_free(world);
}

static void an_actor_that_unsubscribed_gets_no_changes_ADJ113(void **state)
{
    struct world *world = cast_world(51, 2, 2);
    struct voice writer, follower, once, third;
    char before[64];

    (void)state;
    open_voice(&follower, world, 1, 1, follow_flags);
    open_voice(&once, world, 1, 1, follow_flags_once);
    open_voice(&writer, world, 0, 0, add_two);
    wait_for(&once, "changed#8=");
    wait_for(&follower, "changed#7=2 ");
    assert_true(strlen(once.text) < sizeof before);
    (void)strcpy(before, once.text);
    open_voice(&third, world, 0, 0, add_third);
    wait_for(&follower, "changed#7=3 ");
    world_run(world, 5 * SECOND);
    assert_string_equal(once.text, before);
    world_free(world);
}

static void a_counter_adds_the_counts_of_all_actors_ADJ112_ADJ114(void **state)
{
    struct world *world = cast_world(52, 4, 2);
    struct voice voices[8], reader;

    (void)state;
    for (uint32_t i = 0; i < 8; i++)
        open_voice(&voices[i], world, i % 4, i / 4, count_up);
    for (uint32_t i = 0; i < 8; i++)
        wait_for(&voices[i], "updated#1 updated#2 ");
    open_voice(&reader, world, 3, 0, get_visits);
    wait_for(&reader, "found#3=24 ");
    world_free(world);
}

/* The actors are on one lane, or on two. */
static void concurrent_adds_of_two_actors_are_both_kept_DD038(void **state)
{
    (void)state;
    for (uint32_t lane = 0; lane < 2; lane++) {
        struct world *world = cast_world(59, 1, 2);
        struct voice mine, yours, reader;

        open_voice(&mine, world, 0, 0, add_mine);
        open_voice(&yours, world, 0, lane, add_yours);
        wait_for(&mine, "updated#100 ");
        wait_for(&yours, "updated#100 ");
        open_voice(&reader, world, 0, 0, get_both);
        wait_for(&reader, "found#0=200 ");
        world_free(world);
    }
}

static void every_call_has_its_answer(void **state)
{
    struct world *world = cast_world(53, 2, 1);
    struct voice voice;

    (void)state;
    open_voice(&voice, world, 0, 0, do_wrong);
    wait_for(&voice, "deleted#9 ");
    assert_non_null(strstr(voice.text, "none#1 "));
    assert_non_null(strstr(voice.text, "updated#2 "));
    assert_non_null(strstr(voice.text, "mismatch#3 "));
    assert_non_null(strstr(voice.text, "mismatch#4 "));
    assert_non_null(strstr(voice.text, "refused#5 "));
    assert_non_null(strstr(voice.text, "refused#6 "));
    assert_non_null(strstr(voice.text, "updated#7 "));
    assert_non_null(strstr(voice.text, "deleted#8 "));
    assert_non_null(strstr(voice.text, "mismatch#10 "));
    assert_non_null(strstr(voice.text, "refused#11 "));
    assert_non_null(strstr(voice.text, "mismatch#13 "));
    assert_non_null(strstr(voice.text, "mismatch#14 "));
    assert_non_null(strstr(voice.text, "#12"));
    assert_null(strstr(voice.text, "found#12 ")); /* not without a value */
    world_free(world);
}

static void a_write_to_all_is_late_if_a_node_is_missing(void **state)
{
    struct world *world = cast_world(54, 3, 1);
    struct voice writer, reader;

    (void)state;
    world_crash(world, 2);
    open_voice(&writer, world, 0, 0, add_for_all);
    wait_for(&writer, "late#1 ");
    open_voice(&reader, world, 1, 0, get_flags); /* a late write is not undone */
    wait_for(&reader, "found#3=1 ");
    world_free(world);
}

/* Makes each kind of call without the role; each has its answer. */
static void call_all(struct sherd_ctx *ctx)
{
    sherd_data_get(ctx, "flags", NULL, 1);
    add(ctx, "flags", "x", NULL, 2);
    sherd_data_delete(ctx, "flags", &majority, 3);
    assert_int_equal(sherd_data_subscribe(ctx, "flags", 4), 0);
    sherd_data_keys(ctx, 0, 5);
}

/* Other members do not count, get no data, and refuse their actors' calls. */
static void only_members_with_the_role_have_replicas(void **state)
{
    static const char *const roles[] = { "store" };
    struct world *world = cast_new(60);
    struct voice writer, reader, without;

    (void)state;
    cast_begin();
    for (uint32_t i = 0; i < 3; i++) {
        struct node_settings settings =
            world_node_settings(world, i, cast_types, CAST_TYPES);

        settings.roles = roles;
        settings.role_count = i < 2;
        settings.data_role = "store";
        world_start(world, i, &settings);
    }
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    open_voice(&writer, world, 0, 0, add_for_all);
    wait_for(&writer, "updated#1 ");
    open_voice(&reader, world, 1, 0, get_flags);
    wait_for(&reader, "found#3=1 ");
    open_voice(&without, world, 2, 0, call_all);
    for (uint32_t tag = 1; tag <= 5; tag++) {
        char text[16];

        (void)snprintf(text, sizeof text, "refused#%u ", (unsigned)tag);
        wait_for(&without, text);
    }
    world_run(world, 10 * SECOND); /* some gossip */
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(machine_data(world_node(world, i)->node->machines[0]) != NULL,
                         i < 2);
    world_pause(world, 2, true); /* no write needs it */
    open_voice(&writer, world, 1, 0, add_for_all);
    wait_for(&writer, "updated#1 ");
    world_free(world);
}

static void a_set_beyond_its_limit_is_refused(void **state)
{
    struct world *world = cast_world(55, 1, 1);
    struct voice voice;

    (void)state;
    open_voice(&voice, world, 0, 0, go_beyond);
    wait_for(&voice, "found#4=1000 ");
    assert_non_null(strstr(voice.text, "updated#1 "));
    assert_non_null(strstr(voice.text, "refused#2 "));
    world_free(world);
}

static void a_value_may_be_larger_than_a_body(void **state)
{
    struct world *world = cast_world(56, 1, 1);
    struct voice voice;

    (void)state;
    open_voice(&voice, world, 0, 0, add_much);
    wait_for(&voice, "found#4=2400 ");
    wait_for(&voice, "changed#5=2400 ");
    world_free(world);
}

static void add_texts(struct sherd_ctx *ctx)
{
    char text[100];

    add(ctx, "texts", "first", NULL, 1);
    for (uint32_t i = 0; i < 50; i++) {
        (void)snprintf(text, sizeof text, "%08x%08x", i * 2654435761U, i * i * 40503U);
        add(ctx, "texts", text, NULL, 2);
    }
    sherd_data_get(ctx, "texts", NULL, 3);
}

static void values_have_a_limit(void **state)
{
    struct world *world = cast_new(60);
    struct node_settings settings;
    struct voice voice;

    (void)state;
    cast_begin();
    settings = world_node_settings(world, 0, cast_types, CAST_TYPES);
    settings.data.update_size_max = 300;
    world_start(world, 0, &settings);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    open_voice(&voice, world, 0, 0, add_texts);
    wait_for(&voice, "found#3=");
    assert_non_null(strstr(voice.text, "updated#1 "));
    assert_non_null(strstr(voice.text, "updated#2 "));
    assert_non_null(strstr(voice.text, "too-large#2 "));
    assert_null(strstr(voice.text, "refused"));
    world_free(world);
}

/* Many actors of a lane subscribe, one after the other. */
static void subscribing_to_a_key_does_not_count_as_using_it(void **state)
{
    static const struct replicator_expiry expiry = { "flags", 10000 };
    struct world *world = cast_new(61);
    struct node_settings settings;
    struct voice writer, followers[8];

    (void)state;
    cast_begin();
    settings = world_node_settings(world, 0, cast_types, CAST_TYPES);
    settings.data_expiries = &expiry;
    settings.data_expiry_count = 1;
    world_start(world, 0, &settings);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    open_voice(&writer, world, 0, 0, add_two);
    wait_for(&writer, "updated#2 ");
    for (uint32_t i = 0; i < 8; i++) {
        open_voice(&followers[i], world, 0, 0, follow_flags);
        world_run(world, 2 * SECOND);
    }
    for (uint32_t i = 0; i < 4; i++)
        assert_string_equal(followers[i].text, "changed#7=2 expired#7 ");
    assert_string_equal(followers[7].text, "");
    world_free(world);
}

static bool is_reading(struct world *world, void *arg)
{
    (void)arg;
    return replicator_view(machine_data(world_node(world, 0)->node->machines[0]))
               .aggregators > 0;
}

/* A paused node reads an old answer, and then the time: the key is not deleted. */
static void a_key_that_expires_before_its_answer_is_not_found(void **state)
{
    static const struct replicator_expiry expiry = { "flags", 10000 };
    struct world *world = cast_new(63);
    struct node_settings settings;
    struct voice writer, reader;

    (void)state;
    cast_begin();
    for (uint32_t i = 0; i < 3; i++) {
        settings = world_node_settings(world, i, cast_types, CAST_TYPES);
        settings.data_expiries = &expiry;
        settings.data_expiry_count = 1;
        settings.acceptable_heartbeat_pause = 60 * SECOND;
        world_start(world, i, &settings);
    }
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    open_voice(&writer, world, 0, 0, add_two);
    wait_for(&writer, "updated#2 ");
    net_delay(world, NET_ALL, NET_ALL, 200 * MS, 200 * MS);
    open_voice(&reader, world, 0, 0, get_flags);
    assert_true(world_until(world, is_reading, NULL, SECOND));
    world_pause(world, 0, true);
    world_run(world, 15 * SECOND);
    world_pause(world, 0, false);
    wait_for(&reader, "#3");
    assert_string_equal(reader.text, "none#3 ");
    world_free(world);
}

/* Deleted keys are not among them. */
static void keys_are_listed_in_parts(void **state)
{
    struct world *world = cast_world(59, 1, 1);
    struct voice none, writer, reader;

    (void)state;
    memset(listed, 0, sizeof listed);
    open_voice(&none, world, 0, 0, list_keys);
    wait_for(&none, "keys#3=0. ");
    open_voice(&writer, world, 0, 0, put_keys);
    wait_for(&writer, "deleted#2 ");
    open_voice(&reader, world, 0, 0, list_keys);
    wait_for(&reader, ". ");
    assert_string_equal(reader.text, "keys#3=950 keys#3=1000 keys#3=100. ");
    for (uint32_t i = 0; i < MANY_KEYS; i++)
        assert_int_equal(listed[i], i >= DELETED_KEYS);
    world_free(world);
}

static void keys_that_no_call_can_use_are_not_listed(void **state)
{
    static const char large[SHERD_DATA_KEY_MAX + 1] = "k";
    struct buf body = { 0 };
    struct sherd_msg msg = { .kind = SHERD_DATA, .msg = SHERD_DATA_KEYS };
    char fits[SHERD_DATA_KEY_MAX + 1];
    uint32_t at = 0;

    (void)state;
    memset(fits, 'k', sizeof fits);
    face_begin_keys(&body);
    face_put_key(&body, slice_text(""));
    face_put_key(&body, slice_of(large, sizeof large));
    face_put_key(&body, slice_of("a\0b", 3));
    face_put_key(&body, slice_text("b\xff"));
    face_put_key(&body, slice_of(fits, sizeof fits));
    face_put_key(&body, slice_of(fits, SHERD_DATA_KEY_MAX));
    face_end_keys(&body, 77);
    msg.body = (struct sherd_bytes){ body.data, body.size };
    assert_int_equal(strlen(sherd_data_next_key(&msg, &at)),
                     SHERD_DATA_KEY_MAX);
    assert_null(sherd_data_next_key(&msg, &at));
    assert_int_equal(sherd_data_more_keys(&msg), 77);
    msg.msg = SHERD_DATA_FOUND;
    at = 0;
    assert_null(sherd_data_next_key(&msg, &at));
    assert_int_equal(sherd_data_more_keys(&msg), 0);
    buf_fini(&body);
}

/* The actor is not listed, either. Once there is room, a new subscriber gets changes. */
static void a_refused_subscriber_gets_no_changes(void **state)
{
    struct world *world = cast_world(60, 1, 1);
    struct control *control =
        node_machine(world_node(world, 0)->node, 0)->control;
    struct voice writer, first, second;
    uint64_t token = 1000; /* of missing lanes */

    (void)state;
    open_voice(&writer, world, 0, 0, add_third);
    wait_for(&writer, "updated#4 ");
    while (replicator_subscribe(control->data.replicator, token,
                                slice_of(&token, sizeof token)))
        token++;
    open_voice(&first, world, 0, 0, follow_flags);
    wait_for(&first, "refused#7 ");
    replicator_unsubscribe_all(control->data.replicator, 1000);
    replicator_unsubscribe_all(control->data.replicator, 1001);
    open_voice(&second, world, 0, 0, follow_flags);
    wait_for(&second, "changed#7=1 ");
    open_voice(&writer, world, 0, 0, add_two);
    wait_for(&second, "changed#7=3 ");
    assert_string_equal(first.text, "refused#7 ");
    world_free(world);
}

static void a_map_has_values_of_any_type(void **state)
{
    struct world *world = cast_world(57, 1, 1);
    struct voice first, then;

    (void)state;
    open_voice(&first, world, 0, 0, fill_map);
    wait_for(&first, "found#2=124 ");
    assert_null(strstr(first.text, "mismatch"));
    open_voice(&then, world, 0, 0, empty_map);
    wait_for(&then, "#8 ");
    assert_string_equal(then.text, "updated#3 updated#3 found#4=109 "
                                   "mismatch#5 mismatch#6 mismatch#7 "
                                   "mismatch#8 ");
    world_free(world);
}

static void multimaps_with_deltas_are_another_type(void **state)
{
    struct world *world = cast_world(58, 1, 1);
    struct voice voice;

    (void)state;
    open_voice(&voice, world, 0, 0, mix_maps);
    wait_for(&voice, "#6=1 ");
    assert_string_equal(voice.text, "updated#1 mismatch#2 updated#3 "
                                    "mismatch#4 mismatch#5 found#6=1 ");
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_is_seen_everywhere),
        cmocka_unit_test(an_actor_that_unsubscribed_gets_no_changes_ADJ113),
        cmocka_unit_test(a_counter_adds_the_counts_of_all_actors_ADJ112_ADJ114),
        cmocka_unit_test(concurrent_adds_of_two_actors_are_both_kept_DD038),
        cmocka_unit_test(every_call_has_its_answer),
        cmocka_unit_test(a_value_may_be_larger_than_a_body),
        cmocka_unit_test(a_map_has_values_of_any_type),
        cmocka_unit_test(a_refused_subscriber_gets_no_changes),
        cmocka_unit_test(keys_are_listed_in_parts),
        cmocka_unit_test(keys_that_no_call_can_use_are_not_listed),
        cmocka_unit_test(multimaps_with_deltas_are_another_type),
        cmocka_unit_test(only_members_with_the_role_have_replicas),
        cmocka_unit_test(a_set_beyond_its_limit_is_refused),
        cmocka_unit_test(values_have_a_limit),
        cmocka_unit_test(subscribing_to_a_key_does_not_count_as_using_it),
        cmocka_unit_test(a_key_that_expires_before_its_answer_is_not_found),
        cmocka_unit_test(a_write_to_all_is_late_if_a_node_is_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
