/* Tests replicas that this node runs for replicators of JVM nodes: they keep values, answer writes
 * and reads, take part in pruning, and stand in the status. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ddata/replicator.h"
#include "lone.h"
#include "node/control/control.h"

#define PATH "/system/clusterReceptionist/replicator"
#define SECOND_NS UINT64_C(1000000000)

static const struct identity self = { "akka", "S", { { "a", 1 }, 11 } };
static const struct identity jvm = { "akka", "S", { { "b", 2 }, 22 } };
static const struct node_id gone = { { "c", 3 }, 33 };
static const struct consistency all = { CONSISTENCY_ALL, 0, 0, 1000 };
static const struct slice key = { (const uint8_t *)"k", 1 };

/* This node, and a JVM node's replicator. */
struct bench {
    struct node *node;
    struct machine *machine; /* control */
    struct replicator *jvm;
    struct dd_writer writer; /* the JVM node's */
    struct outbox outbox;
    uint64_t now;
};

static void tell(struct replicator *replicator, const struct node_id *node,
                 uint32_t up_number)
{
    replicator_peer(replicator, 0,
                    &(struct member_info){ .node = *node,
                                    .up_number = up_number,
                                    .status = MEMBER_UP,
                                    .reachable = true,
                                    .has_role = true });
}

static int setup(void **state)
{
    struct bench *bench = mem_alloc(sizeof *bench);
    const struct replicator_settings settings = {
        .gossip_interval_ms = 100,
        .pruning_interval_ms = 100,
        .pruning_dissemination_ms = 1000,
    };

    bench->writer.node = jvm.node;
    bench->node = lone_node((struct node_settings){ .identity = self,
                                                    .lanes = 1,
                                                    .data = settings },
                            8);
    bench->machine = node_machine(bench->node, 0);
    machine_start(bench->machine, 1, 0);
    bench->jvm = replicator_new(
        &(struct replicator_options){ .identity = &jvm,
                                      .path = PATH,
                                      .settings = settings,
                                      .writer = &bench->writer,
                                      .seed = 1 },
        0);
    tell(bench->jvm, &jvm.node, 1);
    tell(bench->jvm, &gone, 2);
    tell(bench->jvm, &self.node, 3);
    *state = bench;
    return 0;
}

static int teardown(void **state)
{
    struct bench *bench = *state;

    replicator_free(bench->jvm);
    outbox_fini(&bench->outbox);
    node_free(bench->node);
    mem_free(bench);
    return 0;
}

static struct inbound inbound_of(const struct node_id *from,
                                 const struct outbound *out)
{
    return (struct inbound){ .from = *from,
                             .sender = out->sender,
                             .recipient = path_plain(out->recipient),
                             .manifest = out->manifest,
                             .payload = out->payload,
                             .serializer = out->serializer };
}

static struct relay *relay_of(struct bench *bench)
{
    return &bench->machine->control->relays[0];
}

/* The replica knows all members as soon as it exists. */
static void tell_replica(struct bench *bench)
{
    if (!relay_of(bench)->replicator)
        return;
    tell(relay_of(bench)->replicator, &self.node, 3);
    tell(relay_of(bench)->replicator, &jvm.node, 1);
    tell(relay_of(bench)->replicator, &gone, 2);
}

/* Carries messages in both directions until there are none. */
static void carry(struct bench *bench)
{
    struct control *control = bench->machine->control;
    struct outbound out;
    struct inbound in;
    bool any;

    do {
        any = false;
        while (outbox_next(&bench->outbox, &out)) {
            bool is_first = !relay_of(bench)->replicator;

            if (!node_equal(&out.to, &self.node))
                continue;
            in = inbound_of(&jvm.node, &out);
            control_dispatch(control, &in);
            if (is_first)
                tell_replica(bench);
            any = true;
        }
        relays_wire(control);
        while (outbox_next(&bench->machine->outbox, &out)) {
            if (out.serializer != REPLICATOR_SERIALIZER ||
                !node_equal(&out.to, &jvm.node))
                continue;
            in = inbound_of(&self.node, &out);
            replicator_receive(bench->jvm, bench->now, &in, &bench->outbox);
            any = true;
        }
    } while (any);
}

static void add(struct bench *bench, const struct node_id *writer, uint64_t amount,
                uint64_t token)
{
    struct dd_value *value = dd_new(DD_GCOUNTER);
    const struct dd_value *current;

    dd_gcounter_add(value, writer, amount);
    assert_int_equal(replicator_update_begin(bench->jvm, bench->now, token, key,
                                             &current, &bench->outbox),
                     REPLICATOR_MODIFY);
    replicator_update(bench->jvm, bench->now, token, key, value, &all,
                      &bench->outbox);
}

static enum replicator_answer answer_of(struct bench *bench, uint64_t token)
{
    struct replicator_news news;
    enum replicator_answer answer = REPLICATOR_FULL;

    while (replicator_next_news(bench->jvm, &news))
        if (news.kind == REPLICATOR_NEWS_ANSWER && news.token == token)
            answer = news.answer;
    return answer;
}

static void live(struct bench *bench, uint32_t steps)
{
    for (uint32_t i = 0; i < steps; i++) {
        bench->now += SECOND_NS / 20;
        bench->machine->now = bench->now;
        replicator_step(bench->jvm, bench->now, &bench->outbox);
        relays_step(bench->machine->control);
        carry(bench);
        (void)answer_of(bench, 0);
    }
}

static void a_write_to_all_counts_this_node(void **state)
{
    struct bench *bench = *state;
    struct sherd_status status;

    replicator_peer_removed(bench->jvm, 0, &gone);
    status = lone_status(bench->node, 0);
    assert_int_equal(status.replica_count, 0);
    sherd_status_free(&status);
    live(bench, 60); /* a status makes the replica */
    add(bench, &jvm.node, 5, 7);
    carry(bench);
    assert_int_equal(answer_of(bench, 7), REPLICATOR_SUCCESS);
    status = lone_status(bench->node, 0);
    assert_int_equal(status.replica_count, 1);
    assert_string_equal(status.replicas[0].path, PATH);
    assert_int_equal(status.replicas[0].keys, 1);
    assert_int_equal(status.replicas[0].members, 3);
    assert_true(status.replicas[0].bytes > 0);
    assert_int_equal(status.counters[SHERD_MESSAGES_MALFORMED], 0);
    assert_int_equal(status.counters[SHERD_REPLICATORS_IGNORED], 0);
    sherd_status_free(&status);
}

static void a_removed_member_is_pruned_although_this_node_is_a_member(void **state)
{
    struct bench *bench = *state;
    uint32_t at = 0;

    add(bench, &gone, 3, 7); /* as if the member had added it */
    add(bench, &jvm.node, 5, 8);
    carry(bench);
    live(bench, 10);
    replicator_peer_removed(bench->jvm, bench->now, &gone);
    relays_peer_removed(bench->machine->control, &gone);
    live(bench, 100);
    assert_non_null(replicator_next_pruned(bench->jvm, key, &at));
    at = 0;
    assert_non_null(
        replicator_next_pruned(relay_of(bench)->replicator, key, &at));
    assert_true(replicator_counters(relay_of(bench)->replicator)->pruned > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_write_to_all_counts_this_node),
        TEST(a_removed_member_is_pruned_although_this_node_is_a_member),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
