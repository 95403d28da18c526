/* Tests the messages of sharding: bytes as on a JVM, round trips, and refused input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/gzip.h"
#include "base/limits.h"
#include "base/url.h"
#include "shard/wire.h"

static const struct identity identity = {
    .protocol = "akka",
    .system = "S",
    .node = { { .host = "127.0.0.1", .port = 2551 }, 1 },
};

static struct slice written(struct buf *buf, const struct shard_message *message)
{
    buf_clear(buf);
    shard_message_put(buf, message, &identity);
    return buf_slice(buf);
}

static bool read_back(struct shard_message *message, struct shard_message from,
                      struct buf *buf)
{
    return shard_message_read(
        message, shard_message_serializer(from.kind),
        slice_text(shard_message_manifest(from.kind)), written(buf, &from));
}

static void is_bytes(struct slice slice, const char *hex)
{
    char text[1024] = "";

    for (size_t i = 0; i < slice.size; i++)
        snprintf(text + 2 * i, sizeof text - 2 * i, "%02x", slice.data[i]);
    assert_string_equal(text, hex);
}

static void plain_messages_are_encoded_like_akkas(void **state)
{
    struct buf buf = { 0 };
    (void)state;

    is_bytes(written(&buf, &(struct shard_message){ .kind = SHARD_GET_HOME,
                                                    .shard =
                                                        slice_text("42") }),
             "0a023432");
    is_bytes(written(&buf, &(struct shard_message){ .kind = SHARD_HOME,
                                                    .shard = slice_text("4"),
                                                    .ref = slice_text("ab") }),
             "0a0134"
             "12026162");
    is_bytes(written(&buf, &(struct shard_message){ .kind = SHARD_REGISTER,
                                                    .ref = slice_text("r") }),
             "0a0172");
    is_bytes(written(&buf, &(struct shard_message){ .kind = SHARD_HOST,
                                                    .shard = slice_text("4"),
                                                    .fence = { 1, 2 } }),
             "0a0134"
             "c03e01"
             "c83e02"); /* fields 1000 and 1001 */
    is_bytes(written(&buf,
                     &(struct shard_message){ .kind = SHARD_GET_CLUSTER_STATS,
                                              .timeout_ns = 5 }),
             "0805");
    is_bytes(written(&buf, &(struct shard_message){
                               .kind = SHARD_GET_REGION_STATS }),
             "");
    buf_fini(&buf);
}

static void registrations_survive_a_round_trip(void **state)
{
    struct shard_hosted hosted[] = { { slice_text("1"), { 3, 4 } },
                                     { slice_text("22"), { 0, 9 } } };
    struct shard_message message;
    struct buf buf = { 0 };
    (void)state;

    assert_true(read_back(&message,
                          (struct shard_message){ .kind = SHARD_REGISTER,
                                                  .ref = slice_text("akka://x"),
                                                  .lanes = 2,
                                                  .report = 7,
                                                  .number_of_shards = 1000,
                                                  .persists = true,
                                                  .stored_term = 9,
                                                  .hosted = hosted,
                                                  .hosted_count = 2 },
                          &buf));
    assert_true(slice_is(message.ref, "akka://x"));
    assert_int_equal(message.lanes, 2);
    assert_int_equal(message.report, 7);
    assert_int_equal(message.number_of_shards, 1000);
    assert_true(message.persists);
    assert_true(message.stored_term == 9);
    assert_int_equal(message.hosted_count, 2);
    assert_true(slice_is(message.hosted[1].shard, "22"));
    assert_int_equal(message.hosted[0].fence.term, 3);
    assert_int_equal(message.hosted[1].fence.epoch, 9);
    shard_message_fini(&message);

    assert_true(read_back(&message,
                          (struct shard_message){ .kind = SHARD_REGISTER_ACK,
                                                  .ref = slice_text("c"),
                                                  .fence = { 5, 0 } },
                          &buf));
    assert_int_equal(message.fence.term, 5);
    shard_message_fini(&message);
    buf_fini(&buf);
}

/* Shards of the largest type, all on one region; then with ids of 20 bytes. */
static void a_large_registration_fits_a_frame(void **state)
{
    enum { COUNT = 20000 };
    static char texts[COUNT][32];
    static struct shard_hosted hosted[COUNT];
    (void)state;

    for (uint32_t kind = 0; kind < 2; kind++) {
        struct shard_message message;
        struct buf buf = { 0 };

        for (uint32_t i = 0; i < COUNT; i++) {
            if (kind)
                (void)snprintf(texts[i], sizeof texts[i], "customer-%x", i * 2654435761u);
            else
                (void)snprintf(texts[i], sizeof texts[i], "%u", i);
            hosted[i] = (struct shard_hosted){ slice_text(texts[i]),
                                               { UINT64_C(1764412345678), 1 + i % 7 } };
        }
        assert_true(read_back(&message,
                              (struct shard_message){ .kind = SHARD_REGISTER,
                                                      .ref = slice_text("akka://S@a:1/r"),
                                                      .hosted = hosted,
                                                      .hosted_count = COUNT },
                              &buf));
        assert_true(gzip_is(buf_slice(&buf)));
        assert_in_range(buf.size, 10000, FRAME_SIZE_MAX - 4096);
        assert_int_equal(message.hosted_count, COUNT);
        for (uint32_t i = 0; i < COUNT; i++) {
            assert_true(slice_equal(message.hosted[i].shard, hosted[i].shard));
            assert_true(message.hosted[i].fence.epoch == hosted[i].fence.epoch);
        }
        shard_message_fini(&message);
        buf_fini(&buf);
    }
}

static void a_registration_that_fits_stays_as_it_was(void **state)
{
    struct shard_hosted hosted[SHARD_REGISTER_PLAIN_MAX / 300];
    char id[SHARD_ID_MAX + 1];
    struct buf buf = { 0 };
    (void)state;

    memset(id, 'x', sizeof id);
    for (uint32_t i = 0; i < sizeof hosted / sizeof *hosted; i++)
        hosted[i] = (struct shard_hosted){ slice_of(id, SHARD_ID_MAX), { 1, 1 } };
    (void)written(&buf, &(struct shard_message){ .kind = SHARD_REGISTER,
                                                 .ref = slice_text("r"),
                                                 .hosted = hosted,
                                                 .hosted_count = sizeof hosted / sizeof *hosted });
    assert_false(gzip_is(buf_slice(&buf)));
    assert_in_range(buf.size, SHARD_REGISTER_PLAIN_MAX * 4 / 5, SHARD_REGISTER_PLAIN_MAX);
    buf_fini(&buf);
}

static void a_registration_that_inflates_without_end_is_refused(void **state)
{
    struct shard_message message;
    struct buf plain = { 0 }, packed = { 0 };
    (void)state;

    memset(buf_reserve(&plain, SHARD_REGISTER_INFLATE_MAX + 1), 0, SHARD_REGISTER_INFLATE_MAX + 1);
    plain.size = SHARD_REGISTER_INFLATE_MAX + 1;
    gzip_deflate(&packed, buf_slice(&plain));
    assert_false(shard_message_read(&message, SHARDING_SERIALIZER, slice_text("BA"),
                                    buf_slice(&packed)));
    packed.size /= 2;
    assert_false(shard_message_read(&message, SHARDING_SERIALIZER, slice_text("BA"),
                                    buf_slice(&packed)));
    buf_fini(&plain);
    buf_fini(&packed);
}

static void hand_offs_survive_a_round_trip(void **state)
{
    struct shard_owing owing[] = { { slice_text("a"), 1, 2 },
                                   { slice_text("b"), UINT64_MAX, 1 } };
    struct shard_message message;
    struct buf buf = { 0 };
    (void)state;

    assert_true(read_back(&message,
                          (struct shard_message){ .kind = SHARD_HAND_OFF,
                                                  .shard = slice_text("s"),
                                                  .fence = { 1, 2 },
                                                  .attempt = 3,
                                                  .owing = owing,
                                                  .owing_count = 2 },
                          &buf));
    assert_int_equal(message.attempt, 3);
    assert_int_equal(message.owing_count, 2);
    assert_true(slice_is(message.owing[0].ref, "a"));
    assert_true(message.owing[1].uid == UINT64_MAX);
    assert_int_equal(message.owing[0].lanes, 2);
    shard_message_fini(&message);

    assert_true(read_back(&message,
                          (struct shard_message){ .kind = SHARD_BEGIN_HAND_OFF,
                                                  .shard = slice_text("s"),
                                                  .ref = slice_text("home") },
                          &buf));
    assert_true(slice_is(message.ref, "home"));
    shard_message_fini(&message);

    assert_true(read_back(&message,
                          (struct shard_message){ .kind = SHARD_MARKER,
                                                  .type = slice_text("T"),
                                                  .shard = slice_text("s"),
                                                  .fence = { 1, 2 },
                                                  .attempt = 9,
                                                  .uid = 77,
                                                  .lane = 3 },
                          &buf));
    assert_true(slice_is(message.type, "T"));
    assert_int_equal(message.uid, 77);
    assert_int_equal(message.lane, 3);
    assert_int_equal(message.attempt, 9);
    shard_message_fini(&message);

    assert_true(
        read_back(&message,
                  (struct shard_message){ .kind = SHARD_HAND_OFF_FAILED,
                                          .shard = slice_text("s"),
                                          .reason = slice_text("late"),
                                          .fence = { 1, 2 },
                                          .attempt = 9 },
                  &buf));
    assert_true(slice_is(message.reason, "late"));
    shard_message_fini(&message);
    buf_fini(&buf);
}

static void homes_of_one_region_share_an_entry(void **state)
{
    struct shard_home homes[] = {
        { slice_text("a"), slice_text("1"), { 1, 1 } },
        { slice_text("a"), slice_text("2"), { 1, 2 } },
        { slice_text("b"), slice_text("3"), { 2, 3 } },
    };
    struct shard_message message;
    struct buf buf = { 0 };
    (void)state;

    assert_true(read_back(&message,
                          (struct shard_message){ .kind = SHARD_HOMES,
                                                  .homes = homes,
                                                  .home_count = 3 },
                          &buf));
    assert_int_equal(message.home_count, 3);
    for (int i = 0; i < 3; i++) {
        assert_true(slice_equal(message.homes[i].region, homes[i].region));
        assert_true(slice_equal(message.homes[i].shard, homes[i].shard));
        assert_int_equal(
            fence_compare(message.homes[i].fence, homes[i].fence), 0);
    }
    shard_message_fini(&message);
    /* A JVM's message: two entries without fences. */
    assert_true(shard_message_read(
        &message, 13, slice_text("BN"),
        slice_of("\x0a\x06\x0a\x01r\x12\x01"
                 "1\x0a\x06\x0a\x01q\x12\x01"
                 "2",
                 16)));
    assert_int_equal(message.home_count, 2);
    assert_true(slice_is(message.homes[1].region, "q"));
    assert_int_equal(message.homes[1].fence.term, 0);
    shard_message_fini(&message);
    buf_fini(&buf);
}

/* Which of the two texts a message has. */
static const struct {
    enum shard_message_kind kind;
    bool has_shard;
    bool has_ref;
} coordinators_kinds[] = {
    { SHARD_REGISTER, false, true },
    { SHARD_REGISTER_PROXY, false, true },
    { SHARD_REGISTER_ACK, false, true },
    { SHARD_GET_HOME, true, false },
    { SHARD_HOME, true, true },
    { SHARD_HOST, true, false },
    { SHARD_HOST_STARTED, true, false },
    { SHARD_BEGIN_HAND_OFF, true, false },
    { SHARD_BEGIN_HAND_OFF_ACK, true, false },
    { SHARD_HAND_OFF, true, false },
    { SHARD_HOST_STOPPED, true, false },
    { SHARD_GRACEFUL_SHUTDOWN, false, true },
    { SHARD_REGION_STOPPED, false, true },
};

static void messages_of_a_coordinator_survive_a_round_trip_SHD174(void **state)
{
    struct buf buf = { 0 };
    (void)state;

    for (size_t i = 0;
         i < sizeof coordinators_kinds / sizeof coordinators_kinds[0]; i++) {
        struct shard_message sent = { .kind = coordinators_kinds[i].kind };
        struct shard_message message;

        if (coordinators_kinds[i].has_shard)
            sent.shard = slice_text("3");
        if (coordinators_kinds[i].has_ref)
            sent.ref = slice_text("akka://S@n1:2551/system/sharding/T#9");
        assert_true(read_back(&message, sent, &buf));
        assert_int_equal(message.kind, sent.kind);
        assert_true(slice_equal(message.shard, sent.shard));
        assert_true(slice_equal(message.ref, sent.ref));
        shard_message_fini(&message);
    }
    buf_fini(&buf);
}

/* Requests without a body. */
static void check_empty(enum shard_message_kind kind)
{
    struct shard_message message;
    struct buf buf = { 0 };

    assert_true(
        read_back(&message, (struct shard_message){ .kind = kind }, &buf));
    assert_int_equal(message.kind, kind);
    assert_int_equal(buf_slice(&buf).size, 0);
    shard_message_fini(&message);
    buf_fini(&buf);
}

static const struct shard_count shard_counts[] = {
    { { (const uint8_t *)"1", 1 }, 5, 0 },
    { { (const uint8_t *)"2", 1 }, 6, 0 },
    { { (const uint8_t *)"3", 1 }, 7, 2 },
    { { (const uint8_t *)"4", 1 }, -1, 2 }, /* its region could not count it */
};
static struct address region_addresses[3] = { { .host = "h1", .port = 1 },
                                              { .host = "h2", .port = 2 },
                                              { .host = "h3", .port = 65535 } };

static void statistics_of_a_shard_survive_a_round_trip_SHD178_SHD179(
    void **state)
{
    struct shard_message message;
    struct buf buf = { 0 };
    (void)state;

    check_empty(SHARD_GET_SHARD_STATS);
    assert_true(read_back(&message,
                          (struct shard_message){ .kind = SHARD_SHARD_STATS,
                                                  .shard = slice_text("s"),
                                                  .count = -1 },
                          &buf));
    assert_true(slice_is(message.shard, "s"));
    assert_int_equal(message.count, -1);
    shard_message_fini(&message);
    buf_fini(&buf);
}

static void statistics_of_a_region_survive_a_round_trip_SHD180_SHD181(
    void **state)
{
    struct slice failed[] = { slice_text("x"), slice_text("y") };
    struct shard_message message;
    struct buf buf = { 0 };
    (void)state;

    check_empty(SHARD_GET_REGION_STATS);
    assert_true(read_back(&message,
                          (struct shard_message){ .kind = SHARD_REGION_STATS,
                                                  .stats = shard_counts,
                                                  .stat_count = 2,
                                                  .failed = failed,
                                                  .failed_count = 2 },
                          &buf));
    assert_int_equal(message.stat_count, 2);
    assert_true(slice_is(message.stats[0].key, "1"));
    assert_int_equal(message.stats[0].value, 5);
    assert_true(slice_is(message.stats[1].key, "2"));
    assert_int_equal(message.stats[1].value, 6);
    assert_int_equal(message.failed_count, 2);
    assert_true(slice_is(message.failed[0], "x"));
    assert_true(slice_is(message.failed[1], "y"));
    shard_message_fini(&message);
    buf_fini(&buf);
}

static void statistics_of_a_cluster_survive_a_round_trip_SHD184(void **state)
{
    struct shard_message message;
    struct buf buf = { 0 };
    (void)state;

    assert_true(
        read_back(&message,
                  (struct shard_message){ .kind = SHARD_GET_CLUSTER_STATS,
                                          .timeout_ns = 3000000000 },
                  &buf));
    assert_int_equal(message.timeout_ns, 3000000000);
    shard_message_fini(&message);
    assert_true(read_back(&message,
                          (struct shard_message){ .kind = SHARD_CLUSTER_STATS,
                                                  .stats = shard_counts,
                                                  .stat_count = 4,
                                                  .addresses = region_addresses,
                                                  .address_count = 3 },
                          &buf));
    assert_int_equal(message.address_count, 3);
    assert_int_equal(message.stat_count, 4);
    for (int i = 0; i < 4; i++) {
        assert_true(slice_equal(message.stats[i].key, shard_counts[i].key));
        assert_int_equal(message.stats[i].value, shard_counts[i].value);
        assert_int_equal(message.stats[i].region, shard_counts[i].region);
    }
    for (int i = 0; i < 3; i++)
        assert_true(address_equal(&message.addresses[i], &region_addresses[i]));
    shard_message_fini(&message);
    buf_fini(&buf);
}

static void current_regions_survive_a_round_trip_SHD183(void **state)
{
    struct shard_message message;
    struct buf buf = { 0 };
    (void)state;

    check_empty(SHARD_GET_CURRENT_REGIONS);
    assert_true(
        read_back(&message,
                  (struct shard_message){ .kind = SHARD_CURRENT_REGIONS,
                                          .addresses = region_addresses,
                                          .address_count = 3 },
                  &buf));
    assert_int_equal(message.address_count, 3);
    for (int i = 0; i < 3; i++)
        assert_true(address_equal(&message.addresses[i], &region_addresses[i]));
    shard_message_fini(&message);
    buf_fini(&buf);
}

static void the_start_of_an_entity_survives_a_round_trip_SHD182(void **state)
{
    struct shard_message message;
    struct buf buf = { 0 };
    (void)state;

    assert_true(read_back(&message,
                          (struct shard_message){ .kind = SHARD_START_ENTITY,
                                                  .entity = slice_text("e") },
                          &buf));
    assert_true(slice_is(message.entity, "e"));
    shard_message_fini(&message);
    assert_true(
        read_back(&message,
                  (struct shard_message){ .kind = SHARD_START_ENTITY_ACK,
                                          .shard = slice_text("s"),
                                          .entity = slice_text("e") },
                  &buf));
    assert_true(slice_is(message.entity, "e"));
    assert_true(slice_is(message.shard, "s"));
    shard_message_fini(&message);
    buf_fini(&buf);
}

static void states_survive_a_round_trip(void **state)
{
    struct shard_entity entities[] = {
        { slice_text("1"), slice_text("a") },
        { slice_text("1"), slice_text("b") },
        { slice_text("2"), { NULL, 0 } },
        { slice_text("3"), slice_text("c") },
    };
    struct shard_message message;
    struct buf buf = { 0 };
    (void)state;

    assert_true(read_back(&message,
                          (struct shard_message){ .kind = SHARD_REGION_STATE,
                                                  .entities = entities,
                                                  .entity_count = 4 },
                          &buf));
    assert_int_equal(message.entity_count, 4);
    for (int i = 0; i < 4; i++) {
        assert_true(
            slice_equal(message.entities[i].shard, entities[i].shard));
        assert_true(
            slice_equal(message.entities[i].entity, entities[i].entity));
    }
    shard_message_fini(&message);
    buf_fini(&buf);
}

static void every_kind_is_found_by_its_name(void **state)
{
    struct buf buf = { 0 };
    (void)state;

    for (enum shard_message_kind kind = SHARD_REGISTER; kind <= SHARD_MARKER;
         kind++) {
        struct shard_message message;

        assert_true(read_back(&message,
                              (struct shard_message){
                                  .kind = kind,
                                  .ref = slice_text("r"),
                                  .shard = slice_text("s"),
                                  .entity = slice_text("e"),
                                  .type = slice_text("t"),
                                  .idle = 1,
                                  .reason = slice_text("why") },
                              &buf));
        assert_int_equal(message.kind, kind);
        shard_message_fini(&message);
    }
    buf_fini(&buf);
}

static void a_message_s_memory_is_bounded(void **state)
{
    enum { REST = 256 };
    uint8_t *text = mem_alloc(SHARD_MESSAGE_MEMORY_MAX);
    struct shard_message sent = { .kind = SHARD_REFUSED };
    struct shard_message message;
    struct buf buf = { 0 };
    (void)state;

    memset(text, 'x', SHARD_MESSAGE_MEMORY_MAX);
    sent.reason = slice_of(text, SHARD_MESSAGE_MEMORY_MAX - REST);
    assert_true(read_back(&message, sent, &buf));
    assert_int_equal(message.reason.size, sent.reason.size);
    shard_message_fini(&message);
    sent.reason = slice_of(text, SHARD_MESSAGE_MEMORY_MAX);
    assert_false(read_back(&message, sent, &buf));
    buf_fini(&buf);
    mem_free(text);
}

static void the_query_of_a_leaving_region_survives_a_round_trip(void **state)
{
    struct shard_message message;
    struct buf buf = { 0 };
    (void)state;

    assert_true(read_back(&message,
                          (struct shard_message){
                              .kind = SHARD_GRACEFUL_SHUTDOWN,
                              .ref = slice_text("akka://x"),
                              .idle = 7 },
                          &buf));
    assert_true(slice_is(message.ref, "akka://x"));
    assert_int_equal(message.idle, 7);
    shard_message_fini(&message);
    assert_true(read_back(&message,
                          (struct shard_message){ .kind = SHARD_DISMISSED,
                                                  .fence = { 3, 0 },
                                                  .idle = 7 },
                          &buf));
    assert_int_equal(message.fence.term, 3);
    assert_int_equal(message.idle, 7);
    shard_message_fini(&message);
    assert_false(read_back(&message,
                           (struct shard_message){ .kind = SHARD_DISMISSED },
                           &buf));
    buf_fini(&buf);
}

static void bad_input_is_refused(void **state)
{
    static uint8_t big[SHARD_REF_MAX + 10];
    struct shard_message message;
    struct buf buf = { 0 };
    uint8_t *many;
    (void)state;

    /* Unknown manifest, manifest of the other serializer, no payload, no shard, incomplete. */
    assert_false(shard_message_read(&message, 13, slice_text("ZZ"),
                                    slice_text("")));
    assert_false(shard_message_read(&message, 13, slice_text("Q"),
                                    slice_text("\x0a\x01t")));
    assert_false(shard_message_read(&message, 13, slice_text("BD"),
                                    slice_of(NULL, 0)));
    assert_false(shard_message_read(&message, 13, slice_text("BD"),
                                    slice_of("\x0a\x00", 2)));
    assert_false(shard_message_read(&message, 13, slice_text("BD"),
                                    slice_of("\x0a\x05"
                                             "ab",
                                             4)));
    /* Ids and refs at the limit and one above. */
    memset(big, 'x', sizeof big);
    for (int extra = 0; extra < 2; extra++) {
        bool ok = read_back(
            &message,
            (struct shard_message){ .kind = SHARD_GET_HOME,
                                    .shard = slice_of(
                                        big, SHARD_ID_MAX + (size_t)extra) },
            &buf);

        assert_int_equal(ok, !extra);
        if (ok)
            shard_message_fini(&message);
        ok = read_back(
            &message,
            (struct shard_message){ .kind = SHARD_REGION_STOPPED,
                                    .ref = slice_of(big, SHARD_REF_MAX +
                                                             (size_t)extra) },
            &buf);
        assert_int_equal(ok, !extra);
        if (ok)
            shard_message_fini(&message);
    }
    /* Entries of two bytes would need 40 times the memory: refused before the allocation. */
    many = mem_alloc(4 * 1024 * 1024);
    for (size_t i = 0; i < 4 * 1024 * 1024; i += 2)
        many[i] = 0x0a;
    assert_false(shard_message_read(&message, 13, slice_text("DD"),
                                    slice_of(many, 4 * 1024 * 1024)));
    mem_free(many);
    buf_fini(&buf);
}

static void names_are_encoded_as_in_java(void **state)
{
    struct buf buf = { 0 };
    struct buf back = { 0 };
    (void)state;

    url_put(&buf, slice_text("a Z9.-*_/%\xc3\xa9~"));
    assert_true(slice_is(buf_slice(&buf), "a+Z9.-*_%2F%25%C3%A9%7E"));
    assert_true(url_take(&back, buf_slice(&buf)));
    assert_true(slice_is(buf_slice(&back), "a Z9.-*_/%\xc3\xa9~"));
    assert_false(url_take(&back, slice_text("%")));
    assert_false(url_take(&back, slice_text("%4")));
    assert_false(url_take(&back, slice_text("%4g")));
    buf_fini(&buf);
    buf_fini(&back);
}

static void check_path(void (*put)(struct buf *, const char *, const char *),
                       const char *path)
{
    struct buf buf = { 0 };

    put(&buf, NULL, "My Type");
    assert_true(slice_is(buf_slice(&buf), path));
    buf_clear(&buf);
    put(&buf, "harding", "My Type"); /* another guardian-name */
    assert_int_equal(buf.size, strlen(path) - 1);
    assert_memory_equal(buf.data, "/system/harding", 15);
    assert_memory_equal(buf.data + 15, path + 16, buf.size - 15);
    buf_fini(&buf);
}

static void paths_of_a_type_are_akkas_SHD116_SHD117_SHD118(void **state)
{
    (void)state;
    check_path(region_path_put, "/system/sharding/My+Type");
    check_path(proxy_path_put, "/system/sharding/My+TypeProxy");
    check_path(coordinator_manager_path_put,
               "/system/sharding/My+TypeCoordinator");
    check_path(coordinator_path_put,
               "/system/sharding/My+TypeCoordinator/singleton/coordinator");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_messages_are_encoded_like_akkas),
        cmocka_unit_test(registrations_survive_a_round_trip),
        cmocka_unit_test(a_large_registration_fits_a_frame),
        cmocka_unit_test(a_registration_that_fits_stays_as_it_was),
        cmocka_unit_test(a_registration_that_inflates_without_end_is_refused),
        cmocka_unit_test(hand_offs_survive_a_round_trip),
        cmocka_unit_test(homes_of_one_region_share_an_entry),
        cmocka_unit_test(messages_of_a_coordinator_survive_a_round_trip_SHD174),
        cmocka_unit_test(
            statistics_of_a_shard_survive_a_round_trip_SHD178_SHD179),
        cmocka_unit_test(
            statistics_of_a_region_survive_a_round_trip_SHD180_SHD181),
        cmocka_unit_test(statistics_of_a_cluster_survive_a_round_trip_SHD184),
        cmocka_unit_test(current_regions_survive_a_round_trip_SHD183),
        cmocka_unit_test(the_start_of_an_entity_survives_a_round_trip_SHD182),
        cmocka_unit_test(states_survive_a_round_trip),
        cmocka_unit_test(the_query_of_a_leaving_region_survives_a_round_trip),
        cmocka_unit_test(every_kind_is_found_by_its_name),
        cmocka_unit_test(a_message_s_memory_is_bounded),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(names_are_encoded_as_in_java),
        cmocka_unit_test(paths_of_a_type_are_akkas_SHD116_SHD117_SHD118),
    };

    return cmocka_run_group_tests_name("shard_wire", tests, NULL, NULL);
}
