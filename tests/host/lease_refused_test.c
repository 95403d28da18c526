/* Tests that a node refuses leases that it cannot have, and what nodes compare when one joins. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host/settings.h"

#define SHARDS "akka.cluster.sharding.use-lease = "
#define COORDINATORS "akka.cluster.sharding.coordinator-singleton.use-lease = "
#define NOWHERE "\nsherd.lease.directory = /nowhere"
#define FORTY "abcdefghijklmnopqrstuvwxyz-0123456789-ab"

/* The errors of the log. */
struct errors {
    char text[2000];
};

static void keep(void *user, enum sherd_log_level level, const char *module, const char *line)
{
    struct errors *errors = user;
    size_t used = strlen(errors->text);

    (void)module;
    if (level == SHERD_LOG_ERROR)
        (void)snprintf(errors->text + used, sizeof errors->text - used, "%s\n", line);
}

static int open_with(const char *text, struct sherd_system **system, struct errors *errors)
{
    const struct sherd_options options = { .name = FORTY FORTY FORTY, .journal = "memory",
                                           .config_text = text, .port = SHERD_PORT_ANY, .alone = true,
                                           .log = keep, .log_user = errors };

    errors->text[0] = 0;
    return sherd_open(system, &options);
}

static void expect(const struct errors *errors, const char *text, const char *words)
{
    if (!strstr(errors->text, words))
        fail_msg("%s: \"%s\", not \"%s\"", text, errors->text, words);
}

static void leases_that_cannot_be_had_are_refused_at_the_start(void **state)
{
    static const struct {
        const char *text;
        int error;
        const char *words;
    } rows[] = {
        { SHARDS "zoo", SHERD_ECONFIG, "cluster.sharding.use-lease is \\\"zoo\\\"; it must be" },
        { SHARDS "akka.coordination.lease.kubernetes", SHERD_ECONFIG, "has no other lease providers" },
        { COORDINATORS "zoo", SHERD_ECONFIG, "coordinator-singleton.use-lease is" },
        { "akka.cluster.singleton.use-lease = zoo", SHERD_ECONFIG, "cluster.singleton.use-lease is" },
        { SHARDS "file" NOWHERE, SHERD_ESTORE, "/nowhere: No such file" },
        { COORDINATORS "file" NOWHERE, SHERD_ESTORE, "hint=\"lease.directory must be" },
        { SHARDS "file\nsherd.lease.directory = /proc", SHERD_ESTORE, "provider=file" },
        { SHARDS "file\nakka.coordination.lease.heartbeat-interval = 60s", SHERD_ECONFIG,
          "must be less than half of heartbeat-timeout" },
        { SHARDS "etcd\nsherd.lease.etcd.request-timeout = 5s", SHERD_ECONFIG, "request-timeout" },
        { SHARDS "etcd\nsherd.lease.etcd { endpoints = [\"https://127.0.0.1:1\"], ca-file = /nowhere }",
          SHERD_ESTORE, "provider=etcd" },
        { SHARDS "memory\nakka.cluster.sharding.lease-retry-interval = 0s", SHERD_ECONFIG,
          "lease-retry-interval" },
    };
    struct errors errors;
    struct sherd_system *system;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int error = open_with(rows[i].text, &system, &errors);

        if (error != rows[i].error)
            fail_msg("%s: %s", rows[i].text, sherd_strerror(error));
        expect(&errors, rows[i].text, rows[i].words);
    }
}

static enum sherd_next receive(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    (void)ctx;
    (void)self;
    (void)msg;
    return SHERD_STOP;
}

static void a_type_whose_leases_cannot_be_had_is_refused(void **state)
{
    char long_name[SHERD_TYPE_MAX + 1];
    const struct {
        struct sherd_entity_type type;
        int error;
        const char *words; /* of an error */
    } rows[] = {
        { { .name = "T", .use_lease = "zoo" }, SHERD_EINVAL, "use_lease is unknown" },
        { { .name = "T", .use_lease = "file" }, SHERD_ESTORE, "/nowhere: No such file" },
        { { .name = long_name, .use_lease = "memory" }, SHERD_EINVAL, "more than 255 bytes" },
        { { .name = "P", .use_lease = "file", .proxy = true }, 0, "" }, /* it hosts nothing */
        { { .name = "N", .use_lease = "" }, 0, "" },
        { { .name = "M", .use_lease = "memory" }, 0, "" },
    };
    struct errors errors;
    struct sherd_system *system;

    (void)state;
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    assert_int_equal(open_with("sherd.lease.directory = /nowhere", &system, &errors), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sherd_entity_type type = rows[i].type;
        int error;

        type.behavior = (struct sherd_behavior){ .name = "t", .receive = receive };
        errors.text[0] = 0;
        error = sherd_entity_register(system, &type);
        if (error != rows[i].error)
            fail_msg("%s: %s %s", type.name, sherd_strerror(error), errors.text);
        expect(&errors, type.name, rows[i].words);
    }
    sherd_close(system);
}

/* Returns the leases that a joining node compares; the text must be freed. */
static char *scope_of(const char *text)
{
    const struct sherd_options options = { .journal = "memory", .config_text = text };
    struct settings settings;
    char error[512];
    const char *from;
    char *copy;

    if (settings_read(&settings, &options, error, sizeof error) != 0)
        fail_msg("%s", error);
    from = strstr(settings.join_config, "\"sherd\"");
    copy = strdup(from ? from : "");
    settings_fini(&settings);
    return copy;
}

static void expect_scopes(const char *one, const char *other, bool are_equal)
{
    char *first = scope_of(one), *second = scope_of(other);

    if ((strcmp(first, second) == 0) != are_equal)
        fail_msg("%s: %s; %s: %s", one, first, other, second);
    free(first);
    free(second);
}

static void nodes_compare_whether_they_share_leases(void **state)
{
    char *none = scope_of(""), *etcd = scope_of(SHARDS "etcd\nsherd.lease.etcd.prefix = /p/");

    (void)state;
    assert_string_equal(none, "");
    assert_string_equal(etcd, "\"sherd\":{\"lease\":{\"shards\":\"etcd /p/\"}}}");
    free(none);
    free(etcd);
    expect_scopes(SHARDS "etcd", SHARDS "etcd\nsherd.lease.etcd.endpoints = [\"http://b:1\"]", true);
    expect_scopes(SHARDS "etcd", SHARDS "etcd\nsherd.lease.etcd.prefix = /p/", false);
    expect_scopes(SHARDS "etcd", SHARDS "memory", false);
    expect_scopes(SHARDS "file\nsherd.lease.directory = /tmp", SHARDS "file\nsherd.lease.directory = /tmp/.", true);
    expect_scopes(SHARDS "file\nsherd.lease.directory = /tmp", SHARDS "file\nsherd.lease.directory = /usr", false);
    expect_scopes(SHARDS "memory", COORDINATORS "memory", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leases_that_cannot_be_had_are_refused_at_the_start),
        cmocka_unit_test(a_type_whose_leases_cannot_be_had_is_refused),
        cmocka_unit_test(nodes_compare_whether_they_share_leases),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
