/* Tests that actors' log lines name the speaker: the node, and the entity's type, shard and id, or
 * the actor's name. sherd_log, the options and the log function have one scale of levels. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sherd/sherd.h>
#include <uv.h>

#include "kept_log.h"

#define SHARDS 50
#define ID "thing 7"
#define SHARD "5" /* Java's hash of ID, modulo SHARDS */
#define ENTITY "type=Thing shard=" SHARD " id=\"" ID "\""

static enum sherd_next log_something(struct sherd_ctx *ctx, void *self,
                                     const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind != SHERD_MESSAGE && msg->kind != SHERD_STARTED)
        return SHERD_CONTINUE;
    sherd_log(ctx, SHERD_LOG_WARNING, "%s heard words=%s", sherd_type(ctx), "of two");
    sherd_log(ctx, SHERD_LOG_DEBUG, "this level is not logged");
    if (msg->kind == SHERD_MESSAGE)
        sherd_persist(ctx, 1, (struct sherd_bytes){ "+", 1 });
    return SHERD_CONTINUE;
}

static const struct sherd_behavior speaker = { .name = "speaker",
                                               .receive = log_something };

static struct sherd_system *open_speakers(void)
{
    const struct sherd_options options = { .name = "Lines",
                                           .alone = 1,
                                           .port = SHERD_PORT_ANY,
                                           .log = keep_line,
                                           .log_level = SHERD_LOG_INFO };
    const struct sherd_entity_type type = { .name = "Thing",
                                            .shards = SHARDS,
                                            .behavior = speaker };
    struct sherd_system *system;

    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_entity_register(system, &type), 0);
    assert_int_equal(sherd_start(system), 0);
    return system;
}

/* Expects a line with the node's port and these words at its end. */
static void expect_line(uint16_t port, const char *level, const char *words)
{
    char line[400];

    (void)snprintf(line, sizeof line,
                   " level=%s module=actor node=127.0.0.1:%u %s\n", level,
                   (unsigned)port, words);
    if (!was_logged(line)) {
        print_error("%s", logged);
        fail_msg("not logged:%s", line);
    }
}

static void a_log_line_names_its_actor(void **state)
{
    struct sherd_system *system = open_speakers();
    const struct sherd_bytes nothing = { NULL, 0 };
    uint16_t port = sherd_port(system);

    (void)state;
    assert_int_equal(sherd_system_spawn(system, &speaker, nothing, NULL), 0);
    assert_int_equal(sherd_system_entity_tell(system, "Thing", ID, 1, nothing),
                     0);
    sherd_leave(system); /* messages are delivered first */
    assert_int_equal(sherd_wait(system), 0);
    sherd_close(system);
    expect_line(port, "warning",
                "msg=\"speaker heard\" words=\"of two\" actor=speaker");
    expect_line(port, "warning",
                "msg=\"Thing heard\" words=\"of two\" " ENTITY);
    expect_line(port, "error",
                "msg=\"persist by an actor that is not a persistent entity, it stops\" "
                "hint=\"set apply in the behavior of the type\" " ENTITY);
    assert_false(was_logged("not logged"));
}

/* ---- the scale of levels ---- */

/* The levels at which lines of the module "actor" came, in order. */
static struct {
    enum sherd_log_level items[16];
    int count;
} levels;

/* For sherd_options.log; the library calls it for one line at a time. */
static void keep_level(void *user, enum sherd_log_level level,
                       const char *module, const char *line)
{
    (void)user;
    (void)line;
    if (strcmp(module, "actor") == 0 && levels.count < 16)
        levels.items[levels.count++] = level;
}

/* Logs once at each level, and at two that are outside the scale. */
static enum sherd_next log_every_level(struct sherd_ctx *ctx, void *self,
                                       const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind != SHERD_STARTED)
        return SHERD_CONTINUE;
    for (int level = SHERD_LOG_ERROR; level <= SHERD_LOG_DEBUG; level++)
        sherd_log(ctx, (enum sherd_log_level)level, "at a level");
    sherd_log(ctx, (enum sherd_log_level)-1, "below the scale");
    sherd_log(ctx, (enum sherd_log_level)0, "below the scale, too");
    sherd_log(ctx, (enum sherd_log_level)(SHERD_LOG_DEBUG + 1), "above it");
    return SHERD_STOP;
}

/* Runs a node whose only actor logs at every level. */
static void log_with(enum sherd_log_level level)
{
    static const struct sherd_behavior behavior = { .name = "levels",
                                                    .receive = log_every_level };
    const struct sherd_options options = { .name = "Levels",
                                           .alone = 1,
                                           .port = SHERD_PORT_ANY,
                                           .log = keep_level,
                                           .log_level = level };
    struct sherd_system *system;

    levels.count = 0;
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_start(system), 0);
    assert_int_equal(sherd_system_spawn(system, &behavior,
                                        (struct sherd_bytes){ NULL, 0 }, NULL),
                     0);
    sherd_leave(system);
    assert_int_equal(sherd_wait(system), 0);
    sherd_close(system);
}

static void the_log_function_receives_the_level_given_to_sherd_log(void **state)
{
    static const enum sherd_log_level expected[] = {
        SHERD_LOG_ERROR, SHERD_LOG_WARNING, SHERD_LOG_INFO, SHERD_LOG_DEBUG,
        SHERD_LOG_ERROR, SHERD_LOG_ERROR,   SHERD_LOG_DEBUG
    };

    (void)state;
    log_with(SHERD_LOG_DEBUG);
    assert_int_equal(levels.count, 7);
    assert_memory_equal(levels.items, expected, sizeof expected);
}

static void the_options_filter_on_the_scale_of_sherd_log(void **state)
{
    static const int counts[] = { [SHERD_LOG_ERROR] = 3,
                                  [SHERD_LOG_WARNING] = 4,
                                  [SHERD_LOG_INFO] = 5,
                                  [SHERD_LOG_DEBUG] = 7 };

    (void)state;
    for (int level = SHERD_LOG_ERROR; level <= SHERD_LOG_DEBUG; level++) {
        log_with((enum sherd_log_level)level);
        assert_int_equal(levels.count, counts[level]);
        for (int i = 0; i < levels.count; i++)
            assert_true((int)levels.items[i] <= level);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_line_names_its_actor),
        cmocka_unit_test(
            the_log_function_receives_the_level_given_to_sherd_log),
        cmocka_unit_test(the_options_filter_on_the_scale_of_sherd_log),
    };

    assert_int_equal(uv_mutex_init(&log_mutex), 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
