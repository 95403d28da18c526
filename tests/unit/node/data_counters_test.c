/* Tests that the status counts what a replicator refuses or gives up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "ddata/replicator.h"
#include "lone.h"
#include "node/control/control.h"

#define PATH "/system/ddataReplicator"
#define VALUE_SIZE 12000 /* fits into an entry, but not into a message */

static const struct identity self = { "akka", "S", { { "a", 1 }, 11 } };
static const struct identity other = { "akka", "S", { { "b", 2 }, 22 } };
static const struct consistency local = { .level = CONSISTENCY_LOCAL };
static const struct consistency all = { CONSISTENCY_ALL, 0, 0, 1000 };

/* A node with the users' replicator and sharding's, and another node's. */
struct bench {
    struct node *node;
    struct replicator *users;
    struct replicator *sharding;
    struct replicator *other;
    struct dd_writer writer; /* the other node's */
    struct outbox outbox;
};

static void tell(struct replicator *replicator, const struct node_id *node)
{
    replicator_peer(replicator, 0,
                    &(struct member_info){ .node = *node,
                                    .up_number = 1,
                                    .status = MEMBER_UP,
                                    .reachable = true,
                                    .has_role = true });
}

static void begin(struct bench *bench)
{
    struct control *control;

    *bench = (struct bench){ .writer.node = other.node };
    bench->node = lone_node(
        (struct node_settings){ .identity = self,
                                .lanes = 1,
                                .buffer_size = 100,
                                .data = { .gossip_off = true,
                                          .entry_size_max = 2 * VALUE_SIZE,
                                          .frame_size = 9000 } },
        8);
    control = node_machine(bench->node, 0)->control;
    bench->users = data_replicator(control);
    bench->sharding = shard_data_replicator(control, 0);
    bench->other = replicator_new(
        &(struct replicator_options){ .identity = &other,
                                      .path = PATH,
                                      .settings = { .deltas_off = true },
                                      .writer = &bench->writer,
                                      .seed = 1 },
        0);
    tell(bench->users, &self.node);
    tell(bench->users, &other.node);
    tell(bench->other, &self.node);
    tell(bench->other, &other.node);
}

static void drain(struct bench *bench)
{
    struct replicator_news news;
    struct outbound out;

    while (replicator_next_news(bench->users, &news) ||
           replicator_next_news(bench->sharding, &news) ||
           replicator_next_news(bench->other, &news))
        ;
    while (outbox_next(&bench->outbox, &out))
        ;
}

static void end(struct bench *bench)
{
    replicator_free(bench->other);
    outbox_fini(&bench->outbox);
    node_free(bench->node);
}

/* The value is given. */
static void put(struct bench *bench, struct replicator *replicator,
                struct slice key, struct dd_value *value,
                const struct consistency *consistency)
{
    const struct dd_value *current;

    if (replicator_update_begin(replicator, 0, 1, key, &current,
                                &bench->outbox) == REPLICATOR_MODIFY)
        replicator_update(replicator, 0, 1, key, value, consistency,
                          &bench->outbox);
    else
        dd_free(value);
}

static struct dd_value *set_of(enum dd_kind kind, size_t size)
{
    static char text[4 * VALUE_SIZE];
    struct dd_writer writer = { .node = self.node };
    struct dd_element element = { .kind = DD_TEXT,
                                  .text = slice_of(text, size) };
    struct dd_value *set = dd_new(kind);

    memset(text, 'x', size);
    if (kind == DD_GSET)
        dd_gset_add(set, &element);
    else
        dd_orset_add(set, &writer, &element);
    return set;
}

/* Passes messages of the other node to the users' replicator, so many times. */
static void carry(struct bench *bench, uint32_t times)
{
    struct outbox answers = { 0 };
    struct outbound out;

    assert_true(outbox_next(&bench->outbox, &out));
    for (uint32_t i = 0; i < times; i++)
        replicator_receive(bench->users, 0,
                           &(struct inbound){
                               .from = other.node,
                               .sender = out.sender,
                               .recipient = slice_text(PATH),
                               .manifest = out.manifest,
                               .payload = out.payload,
                               .serializer = out.serializer,
                           },
                           &answers);
    outbox_fini(&answers);
}

/* ---- one cause for each counter ---- */

static void come_of_another_type(struct bench *bench)
{
    put(bench, bench->users, slice_text("set"), set_of(DD_GSET, 10), &local);
    put(bench, bench->other, slice_text("set"), dd_new(DD_FLAG), &all);
    carry(bench, 1);
}

static void come_unreadable(struct bench *bench)
{
    static const char *const manifests[] = { "I", "none of these" };

    for (int i = 0; i < 2; i++)
        replicator_receive(bench->users, 0,
                           &(struct inbound){
                               .from = other.node,
                               .recipient = slice_text(PATH),
                               .manifest = slice_text(manifests[i]),
                               .payload = slice_text("nonsense"),
                               .serializer = REPLICATOR_SERIALIZER,
                           },
                           &bench->outbox);
}

/* Writes of two values of a type that only a JVM program knows: key, then serializer 99. */
static void come_beside_another(struct bench *bench)
{
    static const char *const writes[] = {
        "\x0a\x06" "custom" "\x12\x0b\x0a\x09\x0a\x03" "one" "\x10\x63\x22",
        "\x0a\x06" "custom" "\x12\x0b\x0a\x09\x0a\x03" "two" "\x10\x63\x22",
    };

    for (int i = 0; i < 2; i++)
        replicator_receive(bench->users, 0,
                           &(struct inbound){
                               .from = other.node,
                               .recipient = slice_text(PATH),
                               .manifest = slice_text("I"),
                               /* the last byte is the empty manifest's size */
                               .payload = slice_of(writes[i], strlen(writes[i]) + 1),
                               .serializer = REPLICATOR_SERIALIZER,
                           },
                           &bench->outbox);
}

/* The status adds the count of sharding's replicator. */
static void be_too_large(struct bench *bench)
{
    char key[REPLICATOR_KEY_SIZE_MAX + 1];

    memset(key, 'k', sizeof key);
    put(bench, bench->users, slice_text("large"),
        set_of(DD_GSET, 3 * VALUE_SIZE), &local);
    put(bench, bench->sharding, slice_of(key, sizeof key), dd_new(DD_FLAG),
        &local);
}

static void be_too_many(struct bench *bench)
{
    for (uint32_t i = 0; i < REPLICATOR_KEYS_MAX; i++) {
        uint64_t number = i;

        replicator_delete(bench->users, 0, 1,
                          slice_of(&number, sizeof number), &local,
                          &bench->outbox);
        if (i % 1000 == 0)
            drain(bench);
    }
}

static void be_larger_than_a_message(struct bench *bench)
{
    put(bench, bench->users, slice_text("all"), set_of(DD_GSET, VALUE_SIZE),
        &all);
}

static void change_too_fast(struct bench *bench)
{
    for (uint32_t i = 0; i <= REPLICATOR_DELTAS_MAX; i++) {
        struct dd_value *value = dd_new(DD_GCOUNTER);

        dd_gcounter_add(value, &self.node, i + 1);
        put(bench, bench->users, slice_text("fast"), value, &local);
    }
}

/* The first status keeps it busy: no step makes the digests of two such sets. */
static void compare_too_much(struct bench *bench)
{
    for (uint32_t i = 0; i < 2; i++) {
        put(bench, bench->users, slice_text(i ? "one" : "two"),
            set_of(DD_ORSET, VALUE_SIZE), &local);
        put(bench, bench->other, slice_text(i ? "one" : "two"),
            set_of(DD_ORSET, 10), &local);
    }
    drain(bench);
    replicator_step(bench->other, 10 * SECOND, &bench->outbox);
    carry(bench, 1 + REPLICATOR_ARRIVALS_MAX + 1);
}

static void be_too_many_members(struct bench *bench)
{
    for (uint32_t i = 0; i < REPLICATOR_MEMBERS_MAX; i++)
        tell(bench->users, &(struct node_id){ { "c", 3 }, 1000 + i });
}

static void leave_too_many(struct bench *bench)
{
    for (uint32_t i = 0; i <= REPLICATOR_REMOVED_MAX; i++)
        replicator_peer_removed(bench->users, 0,
                                &(struct node_id){ { "c", 3 }, 1000 + i });
}

/* The receiver does not exist: one message waits, or some small values. */
static void gossip_to_nobody(struct bench *bench, enum repeats repeats,
                             size_t size, uint32_t count)
{
    static const uint8_t payload[100000];
    struct machine *machine = node_machine(bench->node, 0);
    struct outbound message = { .to = other.node,
                                .recipient = slice_text("/user/x"),
                                .payload = slice_of(payload, size),
                                .serializer = 4,
                                .stream = STREAM_ORDINARY,
                                .repeats = repeats };

    for (uint32_t i = 0; i < count; i++)
        outbox_put(&machine->outbox, &message);
    machine_flush_outbox(machine, NULL); /* none is for the node itself */
}

static void gossip_too_fast(struct bench *bench)
{
    gossip_to_nobody(bench, REPEATS_MEMBERS, 10, 3);
}

static void differ_too_much(struct bench *bench)
{
    gossip_to_nobody(bench, REPEATS_VALUES, 100000, 4);
}

/* Each counter counts alone. */
static void the_status_counts_each_refusal(void **state)
{
    static const struct {
        enum sherd_counter counter;
        void (*make)(struct bench *bench);
        uint64_t count;
    } cases[] = {
        { SHERD_VALUES_UNMERGED, come_of_another_type, 1 },
        { SHERD_VALUES_BESIDE, come_beside_another, 1 },
        { SHERD_MESSAGES_MALFORMED, come_unreadable, 2 },
        { SHERD_VALUES_TOO_LARGE, be_too_large, 2 },
        { SHERD_VALUES_UNSENT, be_larger_than_a_message, 2 }, /* the change, and the whole */
        { SHERD_DELTAS_LOST, change_too_fast, REPLICATOR_DELTAS_MAX },
        { SHERD_VALUES_GOSSIP_DROPPED, compare_too_much, 1 },
        { SHERD_VALUES_REFUSED, be_too_many, 6 }, /* as many were there */
        { SHERD_REPLICAS_REFUSED, be_too_many_members, 1 },
        { SHERD_GOSSIP_LEFT_OUT, gossip_too_fast, 2 },
        { SHERD_VALUES_LEFT_OUT, differ_too_much, 1 },
        { SHERD_REPLICAS_FORGOTTEN, leave_too_many, 1 },
    };
    uint64_t wanted[SHERD_COUNTER_COUNT] = { 0 };
    struct bench bench;
    (void)state;

    begin(&bench);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sherd_status status;

        cases[i].make(&bench);
        drain(&bench);
        wanted[cases[i].counter] = cases[i].count;
        status = lone_status(bench.node, 0);
        for (int k = 0; k < SHERD_COUNTER_COUNT; k++)
            if (status.counters[k] != wanted[k])
                fail_msg("%s: %llu, not %llu",
                         sherd_counter_text((enum sherd_counter)k),
                         (unsigned long long)status.counters[k],
                         (unsigned long long)wanted[k]);
        sherd_status_free(&status);
    }
    end(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_status_counts_each_refusal),
    };

    return cmocka_run_group_tests_name("node_data_counters", tests, NULL, NULL);
}
