/* Tests limits of tables: at each, and one above it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "artery/extension.h"
#include "base/limits.h"
#include "base/timers.h"
#include "lone.h"
#include "node/control/control.h"
#include "node/lane/lane.h"
#include "node/control/remember_events.h"

static const struct identity self = { "akka", "S", { { "a", 1 }, 11 } };

static struct node *small_node(void)
{
    return lone_node(
        (struct node_settings){ .identity = self,
                                .lanes = 1,
                                .buffer_size = 100 },
        8);
}

static bool remembers(const struct control *control, uint64_t uid)
{
    return map_get(&control->removed, map_u64(&uid)) != NULL;
}

static void the_oldest_downed_member_is_forgotten(void **state)
{
    struct node *node = small_node();
    struct control *control = node_machine(node, 0)->control;
    (void)state;

    for (uint64_t uid = 1; uid <= REMOVED_MAX; uid++)
        control_remember(control, uid);
    control_remember(control, 5); /* known: none is forgotten */
    assert_int_equal(control->removed_forgotten, 0);
    assert_true(remembers(control, 1));
    for (uint64_t uid = REMOVED_MAX + 1; uid <= 5 * REMOVED_MAX; uid++) {
        control_remember(control, uid);
        assert_true(remembers(control, uid));
        assert_true(remembers(control, uid - REMOVED_MAX + 1));
        assert_false(remembers(control, uid - REMOVED_MAX));
    }
    assert_int_equal(control->removed.count, REMOVED_MAX);
    assert_int_equal(control->removed_forgotten, 4 * REMOVED_MAX);
    node_free(node);
}

static void asks_from_elsewhere_are_watched_up_to_a_limit(void **state)
{
    struct node *node = small_node();
    struct lane *lane = node_machine(node, 1)->lane;
    struct message *message =
        actors_entity_message(lane->actors, 0, slice_text("x"), slice_text(""));
    (void)state;

    message->sender = (struct sherd_ref){ 22, 1 };
    for (uint64_t i = 1; i <= STAGES_MAX; i++) {
        message->ask = i;
        lane_ask_stage_watch(lane, message);
    }
    assert_int_equal(lane->asked.count, STAGES_MAX);
    assert_int_equal(lane->asked_refused, 0);
    lane_ask_stage_watch(lane, message);
    assert_int_equal(lane->asked.count, STAGES_MAX);
    assert_int_equal(lane->asked_refused, 1);
    lane->machine->now += 2 * STAGE_WAIT_NS;
    lane_ask_stages_step(lane);
    assert_true(lane_ask_stages_deadline(lane) == NEVER);
    lane_ask_stage_watch(lane, message); /* room again */
    assert_int_equal(lane->asked_refused, 1);
    actors_message_free(lane->actors, message);
    node_free(node);
}

static uint64_t ended(const struct lane *lane, enum sherd_reason reason)
{
    struct actors_status status;

    actors_status(lane->actors, &status);
    return status.undelivered[reason];
}

static void send_ref(struct lane *lane, uint64_t node, size_t size)
{
    uint8_t *body = mem_alloc(size + 1);
    struct message *message =
        actors_message(lane->actors, slice_of(body, size));

    message->to = (struct sherd_ref){ node, 1 };
    message->kind = MESSAGE_TELL;
    lane_send(lane, message);
    mem_free(body);
}

static void a_message_that_a_link_refuses_ends_with_its_reason(void **state)
{
    const struct node_id peer = { { "b", 2 }, 22 };
    struct node *node = small_node();
    struct machine *machine = node_machine(node, 1);
    struct lane *lane = machine->lane;
    struct peer *entry;
    struct link *link;
    (void)state;

    machine->now = 1;
    entry = peers_meant(&machine->peers, &peer);
    link = peer_link(&machine->links, entry, STREAM_ORDINARY);
    send_ref(lane, peer.uid, 1);
    link_connected(link, 1);
    link_answered(link, 1, peer.uid + 1, 1, link_generation(link)); /* its unknown successor */
    assert_int_equal(link_state(link), LINK_OPEN);
    send_ref(lane, peer.uid, 1);
    assert_int_equal(ended(lane, SHERD_REASON_NODE_GONE), 1);
    send_ref(lane, 33, 1); /* never known */
    assert_int_equal(ended(lane, SHERD_REASON_NODE_GONE), 2);
    link_expect(link, 1, peer.uid);
    for (uint32_t i = link_room(link); i; i--)
        send_ref(lane, peer.uid, 1);
    assert_int_equal(ended(lane, SHERD_REASON_LINK_FULL), 0);
    send_ref(lane, peer.uid, 1);
    assert_int_equal(ended(lane, SHERD_REASON_LINK_FULL), 1);
    assert_int_equal(ended(lane, SHERD_REASON_NODE_GONE), 2);
    node_free(node);
}

/* A path means the node that wrote the frame. */
static void a_peer_that_reads_paths_gets_senders_as_paths(void **state)
{
    const struct node_id peer = { { "b", 2 }, 22 };
    struct node *node = small_node();
    struct lane *lane = node_machine(node, 1)->lane;
    struct peer *entry = peers_meant(&lane->machine->peers, &peer);
    struct message *message =
        actors_entity_message(lane->actors, 0, slice_text("x"), slice_text(""));
    char text[NAME_MAX];
    struct slice name;
    struct sherd_ref ref;
    uint64_t ask;
    (void)state;

    message->sender = (struct sherd_ref){ self.node.uid, 5 };
    message->ask = 7;
    entry->capabilities = CAPABILITY_SHERD | CAPABILITY_TABLES;
    name = name_for(lane, entry, message, text);
    assert_memory_equal(name.data, "akka://S@a:1/temp/a", 19);
    ref = name_ref(lane, peer.uid, name, &ask);
    assert_true(ref.node == self.node.uid && ref.actor == 5 && ask == 7);
    entry->capabilities |= CAPABILITY_PATHS;
    name = name_for(lane, entry, message, text);
    assert_memory_equal(name.data, "/temp/a", 7);
    ref = name_ref(lane, peer.uid, name, &ask);
    assert_true(ref.node == peer.uid && ref.actor == 5 && ask == 7);
    message->sender.node = peer.uid; /* another node's: with its address */
    name = name_for(lane, entry, message, text);
    assert_memory_equal(name.data, "akka://S@b:2/temp/a", 19);
    actors_message_free(lane->actors, message);
    node_free(node);
}

static void a_status_counts_refusals(void **state)
{
    struct node *node = small_node();
    struct machine *lane = node_machine(node, 1);
    struct sherd_status status;
    (void)state;

    node_machine(node, 0)->control->removed_forgotten = 3;
    node_machine(node, 0)->control->unknown = 4;
    lane->lane->asked_refused = 5;
    lane->lane->unknown = 6;
    lane->lane->watchers.refused = 10;
    lane->lane->names.forgotten = 11;
    lane->malformed = 7;
    lane->refused = 8;
    lane->closed = 9;
    status = lone_status(node, 0);
    assert_int_equal(status.counters[SHERD_REMOVED_FORGOTTEN], 3);
    assert_int_equal(status.counters[SHERD_MESSAGES_MALFORMED], 4);
    assert_int_equal(status.counters[SHERD_FRAMES_REFUSED], 0);
    sherd_status_free(&status);
    status = lone_status(node, 1);
    assert_int_equal(status.counters[SHERD_ASKED_REFUSED], 5);
    assert_int_equal(status.counters[SHERD_WATCHES_REFUSED], 10);
    assert_int_equal(status.counters[SHERD_NAMES_FORGOTTEN], 11);
    assert_int_equal(status.counters[SHERD_MESSAGES_MALFORMED], 6);
    assert_int_equal(status.counters[SHERD_FRAMES_MALFORMED], 7);
    assert_int_equal(status.counters[SHERD_FRAMES_REFUSED], 8);
    assert_int_equal(status.counters[SHERD_CONNECTIONS_REFUSED], 9);
    sherd_status_free(&status);
    assert_string_equal(sherd_counter_text(SHERD_ASKED_REFUSED),
                        "asked refused");
    node_free(node);
}

/* Frames that control refuses, and unreadable ones, held messages. */
static void a_status_has_the_messages_of_refused_frames(void **state)
{
    static const uint8_t unreadable[] = { 4, 0, 0, 0, 9, 9, 9, 9 };
    struct node *node = small_node();
    struct machine *lane = node_machine(node, 1);
    struct inbound inbound = { .serializer = SERIALIZER_SHERD,
                               .manifest = slice_text("m7"),
                               .recipient = slice_text("/user/x") };
    struct sherd_status status;
    (void)state;

    control_dispatch(node_machine(node, 0)->control, &inbound);
    inbound.manifest = slice_text("none of ours");
    control_dispatch(node_machine(node, 0)->control, &inbound);
    status = lone_status(node, 0);
    assert_int_equal(status.undelivered[SHERD_REASON_NO_HANDLER], 1);
    assert_int_equal(status.counters[SHERD_MESSAGES_MALFORMED], 2);
    sherd_status_free(&status);
    machine_accepted(lane, 1, &(struct arrival){ 1, 1, "b:2" });
    machine_bytes(lane, 1, 1, slice_of("AKKA\x02", 5));
    machine_bytes(lane, 1, 1, slice_of(unreadable, sizeof unreadable));
    status = lone_status(node, 1);
    assert_int_equal(status.counters[SHERD_FRAMES_MALFORMED], 1);
    assert_int_equal(status.undelivered[SHERD_REASON_NO_HANDLER], 1);
    sherd_status_free(&status);
    node_free(node);
}

/* It counts for the choice of the machine, and for the reader. */
static void the_frame_size_of_unknown_senders_is_a_setting(void **state)
{
    struct node *node =
        lone_node((struct node_settings){ .identity = self,
                                          .lanes = 1,
                                          .buffer_size = 100,
                                          .unknown_size_max = 256,
                                          .preamble_within = SECOND },
                  8);
    struct machine *machine = node_machine(node, 0);
    (void)state;

    for (uint8_t more = 0; more < 2; more++) {
        uint8_t ordinary[] = { 'A', 'K', 'K', 'A', 2, more, 1, 0, 0 };
        uint8_t control[] = { 'A', 'K', 'K', 'A', 1, more, 1, 0, 0 };
        const char *why = "";
        struct driver_request request;
        uint32_t index;

        assert_int_equal(node_accepts(node, slice_of(ordinary, 9), &index, &why),
                         more ? NODE_REFUSE : NODE_MORE);
        machine_accepted(machine, 1, &(struct arrival){ 1 + more, 1 + more, "n" });
        machine_bytes(machine, 1, 1 + more, slice_of(control, 9));
        assert_int_equal(machine_next_request(machine, &request), more);
        assert_true(!more || request.kind == DRIVER_CLOSE_CONN);
    }
    assert_true(machine_deadline(machine) <= 1 + SECOND);
    node_free(node);
}

static void follow_shard(struct control *control, int32_t shard,
                         enum remember_verb verb)
{
    struct mail_content content =
        mail_for_shard(0, shard, MAIL(remember, .verb = verb));

    remember_events_mail(control, 0, &content);
}

/* The node has more shards than that. Keys of coordinators have reserved room. */
static void keys_of_remembered_entities_are_followed_up_to_a_limit(void **state)
{
    struct node *node = lone_node(
        (struct node_settings){ .identity = self,
                                .lanes = 1,
                                .buffer_size = 100,
                                .remember_entities = true,
                                .remembers_in_data = true },
        SHARDS_MAX);
    struct control *control = node_machine(node, 0)->control;
    struct replicator *replicator = shard_data_replicator(control, 0);
    (void)state;

    for (int32_t shard = 0; shard < SHARDS_MAX; shard++)
        follow_shard(control, shard, REMEMBER_FOLLOW);
    assert_int_equal(control->remember_data.followed, REMEMBER_FOLLOWED_MAX);
    assert_int_equal(replicator_counters(replicator)->refused, 0);
    assert_true(control->remember_data.is_crowded);
    follow_shard(control, 0, REMEMBER_FOLLOW); /* it gets their values again */
    assert_int_equal(control->remember_data.followed, REMEMBER_FOLLOWED_MAX);
    for (uint64_t i = 0; i < 3 * ACTOR_TYPES_MAX; i++)
        assert_true(replicator_subscribe(replicator, i,
                                         slice_of(&i, sizeof i)));
    follow_shard(control, SHARDS_MAX - 1, REMEMBER_GIVE_UP); /* it follows none */
    assert_true(control->remember_data.is_crowded);
    follow_shard(control, 7, REMEMBER_GIVE_UP);
    assert_false(control->remember_data.is_crowded);
    follow_shard(control, SHARDS_MAX - 1, REMEMBER_FOLLOW);
    assert_int_equal(control->remember_data.followed, REMEMBER_FOLLOWED_MAX);
    node_free(node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_oldest_downed_member_is_forgotten),
        cmocka_unit_test(asks_from_elsewhere_are_watched_up_to_a_limit),
        cmocka_unit_test(
            keys_of_remembered_entities_are_followed_up_to_a_limit),
        cmocka_unit_test(a_message_that_a_link_refuses_ends_with_its_reason),
        cmocka_unit_test(a_peer_that_reads_paths_gets_senders_as_paths),
        cmocka_unit_test(the_frame_size_of_unknown_senders_is_a_setting),
        cmocka_unit_test(a_status_counts_refusals),
        cmocka_unit_test(a_status_has_the_messages_of_refused_frames),
    };

    return cmocka_run_group_tests_name("node_limits", tests, NULL, NULL);
}
