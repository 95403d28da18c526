/* Tests frames of other nodes for a region whose type has an extractor: messages without an
 * envelope, and envelopes with a message in a JVM's format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "artery/control.h"
#include "artery/extension.h"
#include "lone.h"
#include "node/lane/lane.h"
#include "shard/wire.h"

#define REGION "akka://S@a:1/system/sharding/T"
#define SENDER "akka://S@b:2/user/a0000000000000001"

static const struct identity self = { "akka", "S", { { "a", 1 }, 11 } };
static const struct identity peer = { "akka", "S", { { "b", 2 }, 22 } };

/* The first byte names the shard, the second the entity: "s1..." is shard "s" and entity "s1". */
static int entity_of(void *user, struct sherd_extracted *message)
{
    (void)user;
    if (message->body.size < 2)
        return 0;
    memcpy(message->id, message->body.data, 2);
    message->id[2] = 0;
    return message->id[0] != '!';
}

static int shard_of(void *user, const struct sherd_extracted *message, char shard[SHERD_SHARD_MAX + 1])
{
    (void)user;
    shard[0] = message->id[0];
    shard[1] = 0;
    return 1;
}

static struct node *begin(const struct sherd_extractor *extractor)
{
    static const struct sherd_format format = { 9, SHERD_FORMAT_TEXT, "" };
    const struct sherd_entity_type type = {
        .name = "T",
        .shards = 4,
        .extractor = extractor,
        .behavior = { .name = "t", .state_size = 8, .receive = lone_receive },
    };
    struct node_settings settings = { .identity = self, .lanes = 1, .seed = 1,
                                      .types = &type, .type_count = 1,
                                      .formats = &format, .format_count = 1 };
    struct handshake handshake = { .lanes = 1, .lane = 1, .generation = 5 };
    struct buf payload = { 0 };
    char error[200];
    struct node *node = node_new(&settings, error, sizeof error);
    struct machine *machine = node_machine(node, 1);

    machine_start(machine, 1, 0);
    lone_accept(machine, 1, STREAM_ORDINARY);
    handshake_request_put(&payload, &peer, &self.node.address, &handshake);
    lone_put(machine, 1, &peer, "", "", ARTERY_HANDSHAKE_REQUEST, SERIALIZER_ARTERY,
             buf_slice(&payload));
    buf_fini(&payload);
    return node;
}

static void put(struct node *node, const char *manifest, int32_t serializer, const char *body)
{
    lone_put(node_machine(node, 1), 1, &peer, REGION, SENDER, manifest, serializer,
             slice_text(body));
}

/* Checks the next message that waits for the home of the shard. */
static void waits(struct node *node, const char *shard, const char *id, uint32_t msg, const char *body)
{
    struct lane *lane = node_machine(node, 1)->lane;
    int32_t number;
    struct message *message;

    assert_true(shard_number(lane_shard_names(lane, 0), slice_text(shard), &number));
    message = lane_unwrap(lane, routes_drain(&lane->types[0].routes, number));
    assert_non_null(message);
    assert_true(slice_is(message_id(message), id));
    assert_true(slice_is(message_body(message), body));
    assert_int_equal(message->msg, msg);
    assert_true(message->sender.actor != 0);
    actors_message_free(lane->actors, message);
}

static const struct sherd_extractor both = { .entity = entity_of, .shard = shard_of };

static void a_plain_message_goes_to_the_extracted_entity(void **state)
{
    struct node *node = begin(&both);
    (void)state;

    put(node, "m7", SERIALIZER_SHERD, "s1 of this library");
    put(node, "", SHERD_FORMAT_TEXT, "s2 of a JVM");
    put(node, "", SHERD_FORMAT_TEXT, "t1 of a JVM");
    waits(node, "s", "s1", 7, "s1 of this library");
    waits(node, "s", "s2", 9, "s2 of a JVM");
    waits(node, "t", "t1", 9, "t1 of a JVM");
    node_free(node);
}

static uint64_t ended(struct node *node, enum sherd_reason reason)
{
    struct sherd_status status = lone_status(node, 1);
    uint64_t count = status.undelivered[reason];

    sherd_status_free(&status);
    return count;
}

static void a_plain_message_without_an_entity_is_counted(void **state)
{
    struct node *node = begin(&both);
    struct node *without = begin(NULL);
    (void)state;

    put(node, "m7", SERIALIZER_SHERD, "!x"); /* not handled */
    put(node, "m7", SERIALIZER_SHERD, "");
    assert_int_equal(ended(node, SHERD_REASON_NOT_EXTRACTED), 2);
    put(without, "m7", SERIALIZER_SHERD, "s1");
    assert_int_equal(ended(without, SHERD_REASON_NOT_EXTRACTED), 1);
    node_free(node);
    node_free(without);
}

static void put_envelope(struct node *node, int32_t serializer, const char *manifest)
{
    const struct sharding_envelope message = { .id = slice_text("s1"),
                                               .manifest = slice_text(manifest),
                                               .body = slice_text("text"),
                                               .serializer = serializer };
    struct envelope_head head = { 0 };
    struct buf bytes = { 0 };

    assert_true(envelope_head_init(&head, &peer, NULL, slice_text(REGION), slice_text("a"),
                                   SERIALIZER_SHARDING_TYPED));
    sharding_envelope_put(&bytes, &head, slice_text(SENDER), &message);
    machine_bytes(node_machine(node, 1), 1, 1, buf_slice(&bytes));
    envelope_head_fini(&head);
    buf_fini(&bytes);
}

static void an_envelope_may_contain_a_message_in_a_jvms_format_SHT008(void **state)
{
    struct node *node = begin(&both);
    (void)state;

    put_envelope(node, SHERD_FORMAT_TEXT, "");
    put_envelope(node, SERIALIZER_SHERD, "m7");
    put_envelope(node, SHERD_FORMAT_BYTES, ""); /* no format has it */
    waits(node, "s", "s1", 9, "text");
    waits(node, "s", "s1", 7, "text");
    assert_int_equal(node_machine(node, 1)->lane->unknown, 1);
    node_free(node);
}

static void an_envelope_may_contain_akkas_start_SHT009(void **state)
{
    struct node *node = begin(&both);
    struct lane *lane = node_machine(node, 1)->lane;
    struct message *message;
    int32_t shard;
    (void)state;

    put_envelope(node, SHARDING_SERIALIZER, "EA");
    assert_true(shard_number(lane_shard_names(lane, 0), slice_text("s"), &shard));
    message = lane_unwrap(lane, routes_drain(&lane->types[0].routes, shard));
    assert_int_equal(message->kind, MESSAGE_START);
    assert_true(slice_is(message_id(message), "s1"));
    assert_true(message->sender.actor != 0); /* it gets the acknowledgement */
    actors_message_free(lane->actors, message);
    put_envelope(node, SHARDING_SERIALIZER, "EB"); /* no message for a region */
    assert_int_equal(lane->unknown, 1);
    node_free(node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_message_goes_to_the_extracted_entity),
        cmocka_unit_test(a_plain_message_without_an_entity_is_counted),
        cmocka_unit_test(an_envelope_may_contain_a_message_in_a_jvms_format_SHT008),
        cmocka_unit_test(an_envelope_may_contain_akkas_start_SHT009),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
