/* Tests looks with three nodes in three processes: every kind, pages, orders, a node that is
 * suspended, cancelled looks, and a node that ends. */
#define _GNU_SOURCE
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

#include "base/limits.h"

#define NODES 3
#define ENTITIES 120
#define SHARDS 20
#define PATIENCE_MS 60000

/* ---- nodes ---- */

static enum sherd_next take(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    (void)ctx;
    (void)self;
    (void)msg;
    return SHERD_CONTINUE;
}

/* A child runs its node until the pipe from its parent ends. */
struct child {
    pid_t pid;
    int to;
};

static struct child children[NODES - 1];

static struct sherd_system *start_node(uint16_t seed)
{
    char address[32];
    const char *seeds[] = { address, NULL };
    struct sherd_options options = {
        .name = "Looks",
        .alone = !seed,
        .port = SHERD_PORT_ANY,
        .lanes = 2,
        .config_text = "akka.cluster { gossip-interval = 100ms, leader-actions-interval = 100ms,"
                       " failure-detector.acceptable-heartbeat-pause = 60s }\n"
                       "akka.cluster.sharding.passivate-idle-entity-after = 10m",
    };
    const struct sherd_entity_type type = {
        .name = "Cart",
        .behavior = { .name = "cart", .state_size = 8, .receive = take },
        .shards = SHARDS,
    };
    struct sherd_system *system;

    options.log_level = SHERD_LOG_ERROR;
    (void)snprintf(address, sizeof address, "127.0.0.1:%u", (unsigned)seed);
    if (seed)
        options.seed_nodes = seeds;
    must(sherd_open(&system, &options) == 0);
    must(sherd_entity_register(system, &type) == 0);
    must(sherd_start(system) == 0);
    return system;
}

static void run_child(int from, int to, uint16_t seed)
{
    struct sherd_system *system = start_node(seed);
    uint16_t port = sherd_port(system);
    char end;

    must(write(to, &port, sizeof port) == sizeof port);
    while (read(from, &end, 1) < 0 && errno == EINTR) {
    }
    _exit(0);
}

static uint16_t fork_child(struct child *child, uint16_t seed)
{
    int down[2], up[2];
    uint16_t port;

    assert_int_equal(pipe2(down, O_CLOEXEC), 0);
    assert_int_equal(pipe2(up, O_CLOEXEC), 0);
    child->pid = fork();
    if (!child->pid) {
        (void)alarm(2 * PATIENCE);
        (void)close(down[1]);
        run_child(down[0], up[1], seed);
    }
    (void)close(down[0]);
    (void)close(up[1]);
    child->to = down[1];
    assert_int_equal(read(up[0], &port, sizeof port), sizeof port);
    (void)close(up[0]);
    return port;
}

/* Returns when all its threads stand still. */
static void suspend(const struct child *child)
{
    int status;

    assert_int_equal(kill(child->pid, SIGSTOP), 0);
    assert_int_equal(waitpid(child->pid, &status, WUNTRACED), child->pid);
    assert_true(WIFSTOPPED(status));
}

static void end_children(void)
{
    for (int i = 0; i < NODES - 1; i++) { /* a later child has the pipe of an earlier one, too */
        (void)kill(children[i].pid, SIGCONT);
        (void)close(children[i].to);
    }
    for (int i = 0; i < NODES - 1; i++)
        assert_int_equal(waitpid(children[i].pid, NULL, 0), children[i].pid);
}

static uint32_t members_up(struct sherd_system *system)
{
    struct sherd_status status;
    uint32_t up = 0;

    assert_int_equal(sherd_get_status(system, &status), 0);
    for (uint32_t i = 0; i < status.member_count; i++)
        up += status.members[i].status == SHERD_UP;
    sherd_status_free(&status);
    return up;
}

/* Children first: a process with threads must not fork. */
static struct sherd_system *start_all(void)
{
    uint16_t seed = fork_child(&children[0], 0);
    struct sherd_system *system;

    (void)fork_child(&children[1], seed);
    system = start_node(seed);
    for (int i = 0; i < PATIENCE_MS / 10 && members_up(system) != NODES; i++)
        doze();
    assert_int_equal(members_up(system), NODES);
    return system;
}

/* ---- looks ---- */

/* A page, as `done` copied it. */
struct seen {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint32_t calls;
    int result;
    uint32_t rows;
    uint32_t parts;
    uint32_t is_partial;
    uint32_t states[SHERD_LOOK_STATE_COUNT];
    uint8_t next[SHERD_LOOK_CURSOR_MAX];
    size_t next_size;
    uint64_t sum;        /* of the column `summed` */
    uint32_t summed;
    uint64_t last;       /* of the same column */
    bool is_falling;     /* its values never grow */
    char text[64];       /* of the first column of the last row */
    char id[32];         /* of the third one */
};

static void copy_text(char *to, size_t size, const struct sherd_look_value *value)
{
    (void)snprintf(to, size, "%.*s", (int)value->bytes.size, (const char *)value->bytes.data);
}

static void look_done(void *user, int result, const struct sherd_look_page *page)
{
    struct sherd_look_value values[SHERD_LOOK_COLUMNS_MAX];
    struct seen *seen = user;

    (void)pthread_mutex_lock(&seen->mutex);
    seen->calls++;
    seen->result = result;
    seen->rows = page ? page->row_count : 0;
    seen->parts = page ? page->part_count : 0;
    seen->is_partial = page && page->is_partial;
    seen->next_size = page ? page->next.size : 0;
    seen->sum = 0;
    seen->is_falling = true;
    seen->last = UINT64_MAX;
    memset(seen->states, 0, sizeof seen->states);
    if (page && page->next.size)
        memcpy(seen->next, page->next.data, page->next.size);
    for (uint32_t i = 0; i < seen->parts; i++)
        seen->states[page->parts[i].state]++;
    for (uint32_t i = 0; i < seen->rows; i++) {
        uint32_t part;

        if (!sherd_look_row(page, i, values, &part) || part >= page->part_count)
            seen->result = SHERD_EINVAL;
        seen->sum += values[seen->summed].number;
        seen->is_falling = seen->is_falling && values[seen->summed].number <= seen->last;
        seen->last = values[seen->summed].number;
        copy_text(seen->text, sizeof seen->text, &values[0]);
        copy_text(seen->id, sizeof seen->id, &values[2]);
    }
    (void)pthread_cond_broadcast(&seen->changed);
    (void)pthread_mutex_unlock(&seen->mutex);
}

static void await(struct seen *seen, uint32_t calls)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_MS / 1000;
    (void)pthread_mutex_lock(&seen->mutex);
    while (seen->calls < calls)
        assert_int_equal(pthread_cond_timedwait(&seen->changed, &seen->mutex, &until), 0);
    (void)pthread_mutex_unlock(&seen->mutex);
}

static uint32_t column(enum sherd_look_kind kind, const char *name)
{
    uint32_t count, i = 0;
    const struct sherd_look_column *columns = sherd_look_columns(kind, &count);

    while (i < count && strcmp(columns[i].name, name))
        i++;
    assert_true(i < count);
    return i;
}

/* Looks, and waits for the page. */
static void look(struct sherd_system *system, struct seen *seen, enum sherd_look_kind kind,
                 const struct sherd_look_options *options)
{
    uint32_t before = seen->calls;

    assert_int_equal(sherd_look(system, kind, options, look_done, seen, NULL), 0);
    await(seen, before + 1);
    assert_int_equal(seen->calls, before + 1);
    assert_int_equal(seen->result, 0);
}

static void seen_init(struct seen *seen)
{
    memset(seen, 0, sizeof *seen);
    (void)pthread_mutex_init(&seen->mutex, NULL);
    (void)pthread_cond_init(&seen->changed, NULL);
}

static void start_entities(struct sherd_system *system)
{
    const struct sherd_look_options types = { .type = "Cart" };
    struct seen seen;
    char id[16];

    seen_init(&seen);
    seen.summed = column(SHERD_LOOK_TYPES, "entities");
    for (int i = 0; i < ENTITIES; i++) {
        (void)snprintf(id, sizeof id, "cart-%d", i);
        assert_int_equal(sherd_system_entity_tell(system, "Cart", id, 1,
                                                  (struct sherd_bytes){ NULL, 0 }),
                         0);
    }
    for (int i = 0; i < PATIENCE_MS / 10 && seen.sum != ENTITIES; i++) {
        look(system, &seen, SHERD_LOOK_TYPES, &types);
        doze();
    }
    assert_int_equal(seen.sum, ENTITIES);
    assert_int_equal(seen.rows, NODES); /* one for each node: its lanes are summed */
    assert_string_equal(seen.text, "Cart");
}

static void check_nodes(struct sherd_system *system)
{
    struct seen seen;

    seen_init(&seen);
    seen.summed = column(SHERD_LOOK_NODES, "ready");
    look(system, &seen, SHERD_LOOK_NODES, NULL);
    assert_int_equal(seen.rows, NODES);
    assert_int_equal(seen.sum, NODES);
    assert_int_equal(seen.states[SHERD_LOOK_OK], NODES);
    look(system, &seen, SHERD_LOOK_LANES, NULL);
    assert_int_equal(seen.rows, NODES * 2);
    seen.summed = column(SHERD_LOOK_MEMBERS, "reachable");
    look(system, &seen, SHERD_LOOK_MEMBERS, NULL);
    assert_int_equal(seen.rows, NODES * NODES);
    assert_int_equal(seen.sum, NODES * NODES);
}

static void check_shards(struct sherd_system *system)
{
    struct sherd_look_options options = { .type = "Cart" };
    struct seen seen;
    uint64_t homes;

    seen_init(&seen);
    seen.summed = column(SHERD_LOOK_COORDINATORS, "regions");
    look(system, &seen, SHERD_LOOK_COORDINATORS, NULL);
    assert_int_equal(seen.rows, 1);
    assert_int_equal(seen.sum, NODES);
    seen.summed = column(SHERD_LOOK_REGIONS, "shards");
    look(system, &seen, SHERD_LOOK_REGIONS, &options);
    assert_int_equal(seen.rows, NODES);
    homes = seen.sum;
    seen.summed = column(SHERD_LOOK_HOMES, "started");
    look(system, &seen, SHERD_LOOK_HOMES, &options);
    assert_int_equal(seen.rows, homes);
    seen.summed = column(SHERD_LOOK_SHARDS, "entities");
    look(system, &seen, SHERD_LOOK_SHARDS, &options);
    assert_int_equal(seen.rows, homes);
    assert_int_equal(seen.sum, ENTITIES);
    options.order = "entities";
    options.count = 5;
    look(system, &seen, SHERD_LOOK_SHARDS, &options);
    assert_int_equal(seen.rows, 5);
    assert_true(seen.is_falling);
    options.type = "Other";
    look(system, &seen, SHERD_LOOK_SHARDS, &options);
    assert_int_equal(seen.rows, 0);
    assert_int_equal(seen.is_partial, 0);
}

static void check_entities(struct sherd_system *system)
{
    struct sherd_look_options options = { .type = "Cart", .count = 7 };
    struct seen seen;
    uint32_t rows = 0, pages = 0;
    uint8_t cursor[SHERD_LOOK_CURSOR_MAX];

    seen_init(&seen);
    do {
        look(system, &seen, SHERD_LOOK_ENTITIES, &options);
        assert_true(seen.rows <= 7);
        rows += seen.rows;
        pages++;
        memcpy(cursor, seen.next, seen.next_size);
        options.cursor = (struct sherd_bytes){ cursor, seen.next_size };
    } while (seen.next_size);
    assert_int_equal(rows, ENTITIES);
    assert_true(pages >= ENTITIES / 7);
    options = (struct sherd_look_options){ .type = "Cart", .entity = "cart-17" };
    look(system, &seen, SHERD_LOOK_ENTITY, &options);
    assert_int_equal(seen.rows, 1);
    assert_string_equal(seen.id, "cart-17");
    options.entity = "nobody"; /* a look starts no entity */
    look(system, &seen, SHERD_LOOK_ENTITY, &options);
    assert_int_equal(seen.rows, 0);
    look(system, &seen, SHERD_LOOK_ENTITY, &options);
    assert_int_equal(seen.rows, 0);
}

static void check_one_node(struct sherd_system *system)
{
    struct sherd_look_options options = { .count = 1 };
    struct seen seen;
    char address[32];

    seen_init(&seen);
    (void)snprintf(address, sizeof address, "127.0.0.1:%u", (unsigned)sherd_port(system));
    options.node = address;
    look(system, &seen, SHERD_LOOK_NODES, &options);
    assert_int_equal(seen.rows, 1);
    assert_int_equal(seen.parts, 1);
    options.node = NULL; /* a page of one row, and the rest by its cursor */
    look(system, &seen, SHERD_LOOK_NODES, &options);
    assert_int_equal(seen.rows, 1);
    assert_true(seen.next_size > 0);
}

static void send_more(struct sherd_system *system, const char *id, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(sherd_system_entity_tell(system, "Cart", id, 1,
                                                  (struct sherd_bytes){ NULL, 0 }),
                         0);
}

static void check_hot(struct sherd_system *system)
{
    struct sherd_look_options options = { .type = "Cart", .count = 3 };
    struct seen seen;

    seen_init(&seen);
    seen.summed = column(SHERD_LOOK_HOT, "messages");
    look(system, &seen, SHERD_LOOK_HOT, &options); /* the lanes begin to count */
    seen.last = 0;
    for (int i = 0; i < PATIENCE_MS / 10 && seen.last < 100; i++) {
        send_more(system, "cart-5", 200);
        options.count = 1;
        look(system, &seen, SHERD_LOOK_HOT, &options);
        if (!seen.rows)
            seen.last = 0;
    }
    assert_int_equal(seen.rows, 1);
    assert_string_equal(seen.id, "cart-5");
    assert_int_equal(seen.states[SHERD_LOOK_OK], NODES);
}

static void check_faults_and_decisions(struct sherd_system *system)
{
    struct sherd_look_options options = { .type = "Cart", .count = 5 };
    struct seen seen;

    seen_init(&seen);
    seen.summed = column(SHERD_LOOK_TIMELINE, "time");
    look(system, &seen, SHERD_LOOK_TIMELINE, &options);
    assert_int_equal(seen.rows, 5);
    assert_true(seen.is_falling);
    options.since_ms = UINT64_MAX / 2;
    look(system, &seen, SHERD_LOOK_TIMELINE, &options);
    assert_int_equal(seen.rows, 0);
    look(system, &seen, SHERD_LOOK_UNDELIVERED, NULL);
    assert_int_equal(seen.rows, 0);
    assert_int_equal(seen.states[SHERD_LOOK_OK], NODES);
    look(system, &seen, SHERD_LOOK_CONFIG, NULL);
    assert_true(seen.rows >= 4 * NODES);
}

static void looks_show_all_nodes(void **state)
{
    struct sherd_system *system = start_all();

    (void)state;
    start_entities(system);
    check_nodes(system);
    check_shards(system);
    check_entities(system);
    check_one_node(system);
    check_hot(system);
    check_faults_and_decisions(system);
    sherd_close(system);
    end_children();
}

static uint64_t now_ms(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

static void the_part_of_a_suspended_node_is_marked_as_missing(void **state)
{
    struct sherd_system *system = start_all();
    struct sherd_look_options options = { .timeout_ms = 800 };
    struct seen seen;
    uint64_t begin;

    (void)state;
    seen_init(&seen);
    look(system, &seen, SHERD_LOOK_NODES, NULL);
    assert_int_equal(seen.states[SHERD_LOOK_OK], NODES);
    suspend(&children[0]);
    for (int kind = SHERD_LOOK_NODES; kind <= SHERD_LOOK_ENTITIES; kind++) {
        begin = now_ms();
        look(system, &seen, (enum sherd_look_kind)kind, &options);
        assert_true(now_ms() - begin < 800 + 1000);
        assert_int_equal(seen.is_partial, 1);
        assert_int_equal(seen.states[SHERD_LOOK_TIMEOUT], 1);
        assert_int_equal(seen.states[SHERD_LOOK_OK], NODES - 1);
    }
    assert_int_equal(kill(children[0].pid, SIGCONT), 0);
    options.timeout_ms = 30000;
    look(system, &seen, SHERD_LOOK_NODES, &options);
    assert_int_equal(seen.states[SHERD_LOOK_OK], NODES);
    assert_int_equal(seen.is_partial, 0);
    sherd_close(system);
    end_children();
}

static void a_look_with_a_wrong_option_is_refused(void **state)
{
    struct sherd_system *system = start_node(0);
    const struct sherd_look_options wrong[] = {
        { .order = "type" },
        { .count = SHERD_LOOK_ROWS_MAX + 1 },
        { .timeout_ms = 99 },
        { .timeout_ms = LOOK_WITHIN_MAX_MS + 1 },
        { .shard = "17" },
        { .node = "somewhere" },
    };
    struct seen seen;

    (void)state;
    seen_init(&seen);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(sherd_look(system, SHERD_LOOK_SHARDS, &wrong[i], look_done, &seen, NULL),
                         SHERD_EINVAL);
    assert_int_equal(sherd_look(system, SHERD_LOOK_ENTITY, NULL, look_done, &seen, NULL),
                     SHERD_EINVAL);
    assert_int_equal(
        sherd_look(system, SHERD_LOOK_KIND_COUNT, NULL, look_done, &seen, NULL), SHERD_EINVAL);
    assert_int_equal(sherd_look(system, SHERD_LOOK_NODES, NULL, NULL, &seen, NULL), SHERD_EINVAL);
    assert_int_equal(seen.calls, 0);
    sherd_close(system);
}

/* Looks at a suspended node stay open. */
static void looks_end_once_when_cancelled_or_with_their_node(void **state)
{
    struct sherd_system *system = start_all();
    struct sherd_look_options options = { .timeout_ms = 30000 };
    struct seen seen, cancelled;
    uint64_t number;

    (void)state;
    seen_init(&seen);
    seen_init(&cancelled);
    suspend(&children[0]);
    assert_int_equal(
        sherd_look(system, SHERD_LOOK_NODES, &options, look_done, &cancelled, &number), 0);
    for (uint32_t i = 1; i < LOOKS_MAX; i++)
        assert_int_equal(sherd_look(system, SHERD_LOOK_NODES, &options, look_done, &seen, NULL),
                         0);
    assert_int_equal(sherd_look(system, SHERD_LOOK_NODES, &options, look_done, &seen, NULL),
                     SHERD_EFULL);
    sherd_look_cancel(system, number);
    sherd_look_cancel(system, number);
    await(&cancelled, 1);
    assert_int_equal(cancelled.result, SHERD_ESTATE);
    sherd_close(system);
    assert_int_equal(seen.calls, LOOKS_MAX - 1);
    assert_int_equal(seen.result, SHERD_ESTATE);
    assert_int_equal(cancelled.calls, 1);
    end_children();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks_show_all_nodes),
        cmocka_unit_test(the_part_of_a_suspended_node_is_marked_as_missing),
        cmocka_unit_test(a_look_with_a_wrong_option_is_refused),
        cmocka_unit_test(looks_end_once_when_cancelled_or_with_their_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
