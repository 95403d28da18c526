/* Tests operations with two real nodes: cordons, drains, moves of shards, pauses, wrong options, limits. */
#define _GNU_SOURCE
#include "process.h"

#include <pthread.h>

#include "base/limits.h"

#define SHARDS 4
#define PATIENCE_MS 60000

static struct sherd_system *nodes[2];
static char addresses[2][32];

static enum sherd_next take(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    (void)ctx;
    (void)self;
    (void)msg;
    return SHERD_CONTINUE;
}

static struct sherd_system *start_node(const char *seed)
{
    const char *seeds[] = { seed, NULL };
    struct sherd_options options = {
        .name = "Operate",
        .alone = !seed,
        .port = SHERD_PORT_ANY,
        .lanes = 2,
        .log_level = SHERD_LOG_ERROR,
        .config_text = "akka.cluster { gossip-interval = 100ms, leader-actions-interval = 100ms }",
    };
    const struct sherd_entity_type type = {
        .name = "Cart",
        .behavior = { .name = "cart", .state_size = 8, .receive = take },
        .shards = SHARDS,
    };
    struct sherd_system *system;

    if (seed)
        options.seed_nodes = seeds;
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_entity_register(system, &type), 0);
    assert_int_equal(sherd_start(system), 0);
    return system;
}

/* ---- operations ---- */

/* An operation, as `done` copied it. */
struct ended {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint32_t calls;
    int result;
    enum sherd_operation_state state;
    enum sherd_operation_code code;
    char node[64];
    char text[128];
};

static struct ended ended = { .mutex = PTHREAD_MUTEX_INITIALIZER,
                              .changed = PTHREAD_COND_INITIALIZER };

static void done(void *user, int result, const struct sherd_operation *operation)
{
    (void)user;
    (void)pthread_mutex_lock(&ended.mutex);
    ended.calls++;
    ended.result = result;
    if (operation) {
        ended.state = operation->state;
        ended.code = operation->code;
        (void)snprintf(ended.node, sizeof ended.node, "%s", operation->node);
        (void)snprintf(ended.text, sizeof ended.text, "%s", operation->text);
    }
    (void)pthread_cond_broadcast(&ended.changed);
    (void)pthread_mutex_unlock(&ended.mutex);
}

static void await(uint32_t calls)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_MS / 1000;
    (void)pthread_mutex_lock(&ended.mutex);
    while (ended.calls < calls)
        assert_int_equal(pthread_cond_timedwait(&ended.changed, &ended.mutex, &until), 0);
    (void)pthread_mutex_unlock(&ended.mutex);
}

static void operate(int on, enum sherd_operation_kind kind,
                    const struct sherd_operation_options *options)
{
    uint32_t before = ended.calls;

    assert_int_equal(sherd_operate(nodes[on], kind, options, done, NULL), 0);
    await(before + 1);
    assert_int_equal(ended.result, 0);
}

static void ends(enum sherd_operation_state state, enum sherd_operation_code code)
{
    assert_string_equal(sherd_operation_state_text(ended.state), sherd_operation_state_text(state));
    assert_string_equal(sherd_operation_code_text(ended.code), sherd_operation_code_text(code));
}

static void move(int on, const char *shard, int to)
{
    const struct sherd_operation_options options = { .type = "Cart", .shard = shard,
                                                     .node = addresses[to] };

    operate(on, SHERD_MOVE_SHARD, &options);
}

static void about(int on, enum sherd_operation_kind kind, int node)
{
    const struct sherd_operation_options options = { .node = addresses[node], .by = "test" };

    operate(on, kind, &options);
}

/* Each shard gets a home, and node 1 has the type. */
static int start_all(void **state)
{
    char id[16];
    (void)state;

    nodes[0] = start_node(NULL);
    (void)snprintf(addresses[0], sizeof addresses[0], "127.0.0.1:%u", (unsigned)sherd_port(nodes[0]));
    nodes[1] = start_node(addresses[0]);
    (void)snprintf(addresses[1], sizeof addresses[1], "127.0.0.1:%u", (unsigned)sherd_port(nodes[1]));
    for (int i = 0; i < 64; i++) {
        (void)snprintf(id, sizeof id, "cart-%d", i);
        assert_int_equal(sherd_system_entity_tell(nodes[0], "Cart", id, 1,
                                                  (struct sherd_bytes){ NULL, 0 }), 0);
    }
    do {
        move(0, "1", 1);
    } while (ended.code == SHERD_OPERATION_NOT_CANDIDATE || ended.code == SHERD_OPERATION_NO_HOME ||
             ended.code == SHERD_OPERATION_MOVING);
    ends(SHERD_OPERATION_DONE, SHERD_OPERATION_OK);
    return 0;
}

static int end_all(void **state)
{
    (void)state;
    sherd_close(nodes[1]);
    if (nodes[0])
        sherd_close(nodes[0]);
    return 0;
}

static void a_shard_moves_to_a_node_and_back(void **state)
{
    (void)state;
    move(1, "1", 0);
    ends(SHERD_OPERATION_DONE, SHERD_OPERATION_OK);
    assert_string_equal(ended.node, addresses[0]);
    move(0, "1", 1);
    ends(SHERD_OPERATION_DONE, SHERD_OPERATION_OK);
    move(0, "1", 1);
    ends(SHERD_OPERATION_DONE, SHERD_OPERATION_OK);
    move(0, "99", 1);
    ends(SHERD_OPERATION_FAILED, SHERD_OPERATION_NO_HOME);
}

static void a_cordoned_node_is_no_target(void **state)
{
    (void)state;
    move(0, "1", 0);
    about(0, SHERD_CORDON, 1);
    ends(SHERD_OPERATION_DONE, SHERD_OPERATION_OK);
    assert_string_equal(ended.node, addresses[1]);
    move(0, "1", 1);
    ends(SHERD_OPERATION_FAILED, SHERD_OPERATION_NOT_CANDIDATE);
    about(1, SHERD_UNCORDON, 1);
    ends(SHERD_OPERATION_DONE, SHERD_OPERATION_OK);
    move(0, "1", 1);
    ends(SHERD_OPERATION_DONE, SHERD_OPERATION_OK);
}

static void a_drained_node_hosts_nothing(void **state)
{
    (void)state;
    move(0, "1", 1);
    about(0, SHERD_DRAIN, 1);
    ends(SHERD_OPERATION_DONE, SHERD_OPERATION_OK);
    assert_string_equal(ended.text, "0 shards are left");
    about(0, SHERD_DRAIN, 0);
    ends(SHERD_OPERATION_FAILED, SHERD_OPERATION_LAST_HOST);
    about(0, SHERD_UNCORDON, 1);
    ends(SHERD_OPERATION_DONE, SHERD_OPERATION_OK);
}

static void a_pause_is_stored(void **state)
{
    const struct sherd_operation_options options = { .type = "Cart", .by = "test" };
    (void)state;

    operate(1, SHERD_PAUSE_REBALANCE, &options);
    ends(SHERD_OPERATION_DONE, SHERD_OPERATION_OK);
    operate(0, SHERD_RESUME_REBALANCE, &options);
    ends(SHERD_OPERATION_DONE, SHERD_OPERATION_OK);
}

static void a_wrong_option_is_refused(void **state)
{
    static char text[OPERATION_REASON_MAX + 2];
    const struct sherd_operation_options wrong[] = {
        { .id = "no spaces" },
        { .id = "" },
        { .node = "nowhere" },
        { .timeout_ms = 99 },
        { .timeout_ms = OPERATION_WITHIN_MAX_MS + 1 },
        { .hold_ms = OPERATION_HOLD_MAX_MS + 1 },
        { .reason = text },
        { .by = text },
    };
    const struct sherd_operation_options gone = { .node = "127.0.0.1:1" };
    (void)state;

    memset(text, 'x', sizeof text - 1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(sherd_operate(nodes[0], SHERD_CORDON, &wrong[i], done, NULL), SHERD_EINVAL);
    assert_int_equal(sherd_operate(nodes[0], SHERD_MOVE_SHARD, NULL, done, NULL), SHERD_EINVAL);
    assert_int_equal(sherd_operate(nodes[0], SHERD_CORDON, NULL, NULL, NULL), SHERD_EINVAL);
    assert_int_equal(sherd_operate(nodes[0], SHERD_OPERATION_KIND_COUNT, NULL, done, NULL),
                     SHERD_EINVAL);
    operate(0, SHERD_CORDON, &gone);
    ends(SHERD_OPERATION_FAILED, SHERD_OPERATION_NO_MEMBER);
}

/* A request of an earlier operation changes nothing, as long as the node remembers it. */
static void an_earlier_operation_is_not_repeated(void **state)
{
    struct sherd_operation_options options = { .id = "first" };
    char id[16];
    (void)state;

    operate(0, SHERD_CORDON, &options);
    ends(SHERD_OPERATION_DONE, SHERD_OPERATION_OK);
    options.id = "second";
    operate(0, SHERD_UNCORDON, &options);
    options.id = "first";
    operate(0, SHERD_CORDON, &options);
    ends(SHERD_OPERATION_CANCELLED, SHERD_OPERATION_OK);
    options.id = id;
    for (int i = 0; i < OPERATIONS_OF_CORDON_MAX; i++) {
        (void)snprintf(id, sizeof id, "id-%d", i);
        operate(0, SHERD_UNCORDON, &options);
    }
    options.id = "first"; /* forgotten: a new operation */
    operate(0, SHERD_CORDON, &options);
    ends(SHERD_OPERATION_DONE, SHERD_OPERATION_OK);
    about(0, SHERD_UNCORDON, 0);
}

/* The first of them may have ended before the last one begins. */
static void operations_are_limited_and_end_once(void **state)
{
    uint32_t before = ended.calls, begun = 0;
    int error = 0;
    (void)state;

    while (!error && begun < 1000) {
        error = sherd_operate(nodes[0], SHERD_UNCORDON, NULL, done, NULL);
        begun += !error;
    }
    assert_int_equal(error, SHERD_EFULL);
    assert_true(begun >= OPERATIONS_MAX);
    sherd_close(nodes[0]);
    nodes[0] = NULL;
    assert_int_equal(ended.calls, before + begun);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shard_moves_to_a_node_and_back),
        cmocka_unit_test(a_cordoned_node_is_no_target),
        cmocka_unit_test(a_drained_node_hosts_nothing),
        cmocka_unit_test(a_pause_is_stored),
        cmocka_unit_test(a_wrong_option_is_refused),
        cmocka_unit_test(an_earlier_operation_is_not_repeated),
        cmocka_unit_test(operations_are_limited_and_end_once),
    };

    return cmocka_run_group_tests(tests, start_all, end_all);
}
