/* Tests log.format = json. Each line, on standard error and to the user's function, is one valid
 * JSON object with the node. It has type, shard and id where they exist. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>
#include <sherd/sherd.h>
#include <uv.h>

#include "kept_log.h"

#define SHARDS 50
#define ID "7 \"of two\"\n\\ \x01=y"
#define WORDS "a \"quote\",\n{\xc3\xa4} \\u0041"

static enum sherd_next log_something(struct sherd_ctx *ctx, void *self,
                                     const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_MESSAGE || msg->kind == SHERD_STARTED)
        sherd_log(ctx, SHERD_LOG_DEBUG, "%s heard words=%s", sherd_type(ctx), WORDS);
    if (msg->kind == SHERD_MESSAGE)
        sherd_persist(ctx, 1, (struct sherd_bytes){ "+", 1 });
    return SHERD_CONTINUE;
}

static const struct sherd_behavior speaker = { .name = "speaker",
                                               .receive = log_something };

/* Runs a node from start to graceful end, with a logging entity and a logging actor. Returns its
 * port. */
static uint16_t live(sherd_log_function function)
{
    const struct sherd_options options = {
        .name = "Lines",
        .alone = 1,
        .port = SHERD_PORT_ANY,
        .journal = "memory",
        .config_text = "sherd.log.format = json\nsherd.log.level = debug",
        .log = function
    };
    const struct sherd_entity_type type = {
        .name = "Thing",
        .shards = SHARDS,
        .behavior = { .name = "Thing", .receive = log_something }
    };
    const struct sherd_bytes nothing = { NULL, 0 };
    struct sherd_system *system;
    uint16_t port;

    assert_int_equal(sherd_open(&system, &options), 0);
    port = sherd_port(system);
    assert_int_equal(sherd_entity_register(system, &type), 0);
    assert_int_equal(sherd_start(system), 0);
    assert_int_equal(sherd_system_spawn(system, &speaker, nothing, NULL), 0);
    assert_int_equal(sherd_system_entity_tell(system, "Thing", ID, 1, nothing),
                     0);
    sherd_leave(system); /* messages are delivered first */
    assert_int_equal(sherd_wait(system), 0);
    sherd_close(system);
    return port;
}

/* Java's String.hashCode for ASCII. */
static int shard_of(const char *id)
{
    uint32_t hash = 0;

    while (*id)
        hash = 31 * hash + (unsigned char)*id++;
    return abs((int)hash) % SHARDS;
}

static const char *text_of(const json_t *line, const char *key)
{
    const char *text = json_string_value(json_object_get(line, key));

    return text ? text : "";
}

static void expect_text(const json_t *line, const char *key, const char *wanted)
{
    assert_string_equal(text_of(line, key), wanted);
}

/* Which lines appeared. */
struct seen {
    int lines;
    int of_entity, of_actor; /* their own lines */
    int of_shards;           /* the library's lines about shards */
};

static void check_actor(const json_t *line, struct seen *seen)
{
    char shard[12];

    expect_text(line, "words", WORDS);
    if (json_object_get(line, "actor")) {
        expect_text(line, "actor", "speaker");
        expect_text(line, "msg", "speaker heard");
        assert_null(json_object_get(line, "id"));
        seen->of_actor++;
        return;
    }
    (void)snprintf(shard, sizeof shard, "%d", shard_of(ID)); /* fits */
    expect_text(line, "msg", "Thing heard");
    expect_text(line, "type", "Thing");
    expect_text(line, "shard", shard);
    expect_text(line, "id", ID);
    seen->of_entity++;
}

static void check_line(const char *text, size_t size, uint16_t port,
                       struct seen *seen)
{
    static const char *const own[] = { "time", "level", "module", "node" };
    json_error_t error;
    json_t *line = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    const char *key;
    json_t *value;
    char node[32];

    if (!line)
        fail_msg("no JSON, %s: %.*s", error.text, (int)size, text);
    assert_true(json_is_object(line));
    json_object_foreach(line, key, value)
        assert_true(json_is_string(value));
    assert_non_null(json_object_get(line, "msg"));
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        assert_string_not_equal(text_of(line, own[i]), "");
    (void)snprintf(node, sizeof node, "127.0.0.1:%u", (unsigned)port);
    expect_text(line, "node", node);
    if (json_object_get(line, "words"))
        check_actor(line, seen);
    if (json_object_get(line, "shard") || json_object_get(line, "id")) {
        assert_string_not_equal(text_of(line, "type"), "");
        assert_string_not_equal(text_of(line, "shard"), "");
        seen->of_shards += !json_object_get(line, "id");
    }
    seen->lines++;
    json_decref(line);
}

static void check_lines(const char *text, uint16_t port)
{
    struct seen seen = { 0 };

    for (const char *end; *text; text = end + 1) {
        end = strchr(text, '\n');
        assert_non_null(end);
        check_line(text, (size_t)(end - text), port, &seen);
    }
    assert_int_equal(seen.of_actor, 1);
    assert_int_equal(seen.of_entity, 2);
    assert_true(seen.of_shards > 0);
    assert_true(seen.lines > 10);
}

static void standard_error_has_json_lines(void **state)
{
    FILE *file = tmpfile();
    int kept = dup(STDERR_FILENO);
    uint16_t port;
    size_t size;

    (void)state;
    assert_non_null(file);
    assert_true(kept >= 0);
    assert_int_equal(dup2(fileno(file), STDERR_FILENO), STDERR_FILENO);
    port = live(NULL);
    assert_int_equal(dup2(kept, STDERR_FILENO), STDERR_FILENO);
    assert_int_equal(close(kept), 0);
    rewind(file);
    size = fread(logged, 1, sizeof logged - 1, file);
    assert_true(size < sizeof logged - 1);
    logged[size] = 0;
    check_lines(logged, port);
    assert_int_equal(fclose(file), 0);
}

static void the_users_function_gets_json_lines(void **state)
{
    (void)state;
    forget_log();
    check_lines(logged, live(keep_line));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(standard_error_has_json_lines),
        cmocka_unit_test(the_users_function_gets_json_lines),
    };

    assert_int_equal(uv_mutex_init(&log_mutex), 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
