/* Tests the leases of a singleton on a real node: its provider opens with the singleton, or the
 * singleton is refused. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <sherd/sherd.h>
#include <sherd/singleton.h>

#define WAIT_MS 30000

static _Atomic int running, opened, result;
static struct sherd_singleton singleton; /* of the next node */
static char errors[4000];

static enum sherd_next instance(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    int *is_on = self;

    (void)ctx;
    if (msg->kind == SHERD_STARTED) {
        *is_on = 1;
        atomic_fetch_add(&running, 1);
    }
    return SHERD_CONTINUE;
}

static void instance_ends(void *self)
{
    atomic_fetch_sub(&running, *(int *)self);
}

static enum sherd_next opener(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    struct sherd_ref ref;

    (void)self;
    if (msg->kind == SHERD_STARTED) {
        atomic_store(&result, sherd_singleton_open(ctx, &singleton, &ref));
        atomic_store(&opened, 1);
    }
    return SHERD_CONTINUE;
}

static void keep(void *user, enum sherd_log_level level, const char *module, const char *line)
{
    size_t used = strlen(errors);

    (void)user;
    (void)module;
    if (level == SHERD_LOG_ERROR)
        (void)snprintf(errors + used, sizeof errors - used, "%s\n", line);
}

static void await(const _Atomic int *flag)
{
    for (int i = 0; i < WAIT_MS / 10; i++) {
        if (atomic_load(flag))
            return;
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    }
    fail_msg("nothing happens: %s", errors);
}

/* Opens the singleton on a node of its own; returns what the call returned. */
static int open_with(const char *config, struct sherd_system **system, const char *lease)
{
    static const struct sherd_behavior behavior = { .name = "opener", .receive = opener };
    static int number;
    char name[20]; /* each node has a lease of its own: it ends without a release */
    const struct sherd_options options = { .name = name, .journal = "memory", .config_text = config, .alone = 1,
                                           .port = SHERD_PORT_ANY, .log = keep };

    (void)snprintf(name, sizeof name, "Alone%d", ++number);
    errors[0] = 0;
    atomic_store(&opened, 0);
    singleton = (struct sherd_singleton){
        .name = "one",
        .behavior = { .name = "one", .state_size = sizeof(int), .receive = instance,
                      .release = instance_ends },
        .lease = lease,
    };
    assert_int_equal(sherd_open(system, &options), 0);
    assert_int_equal(sherd_start(*system), 0);
    assert_int_equal(sherd_system_spawn(*system, &behavior, (struct sherd_bytes){ NULL, 0 }, NULL), 0);
    await(&opened);
    return atomic_load(&result);
}

static void expect_runs(const char *config, const char *lease)
{
    struct sherd_system *system;

    assert_int_equal(open_with(config, &system, lease), 0);
    await(&running);
    assert_string_equal(errors, "");
    sherd_close(system);
    assert_int_equal(atomic_load(&running), 0);
}

static void an_instance_runs_with_a_lease_of_each_provider(void **state)
{
    char folder[] = "/tmp/sherd-singleton-XXXXXX";
    char config[200];
    char command[100];

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(config, sizeof config, "sherd.lease.directory = \"%s\"", folder);
    expect_runs("", "memory");
    expect_runs("akka.cluster.singleton.use-lease = memory", NULL);
    expect_runs(config, "file");
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void an_unusable_provider_is_refused(void **state)
{
    struct sherd_system *system;

    (void)state;
    assert_int_equal(open_with("sherd.lease.directory = /nowhere", &system, "file"), SHERD_EINVAL);
    assert_non_null(strstr(errors, "/nowhere: No such file"));
    assert_non_null(strstr(errors, "singleton refused: its lease provider cannot be used"));
    sherd_close(system);
    assert_int_equal(open_with("sherd.lease.etcd.request-timeout = 5s", &system, "etcd"), SHERD_EINVAL);
    assert_non_null(strstr(errors, "must be less than coordination.lease.lease-operation-timeout"));
    sherd_close(system);
    assert_int_equal(open_with("akka.cluster.singleton.use-lease = memory", &system, ""), 0);
    sherd_close(system);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_instance_runs_with_a_lease_of_each_provider),
        cmocka_unit_test(an_unusable_provider_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
