/* Tests the limits of regions, coordinators and waiting messages, each at the limit and one
 * above. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "scene.h"
#include "shard/region.h"
#include "shard/route.h"

#define PATH "/system/sharding/T#5"

/* ---- the region ---- */

struct place {
    struct identity self;
    struct outbox outbox;
    struct region *region;
};

static void place_open(struct place *place, uint32_t shard_count)
{
    *place = (struct place){ .self = { "akka", "S", node_of(0) } };
    place->region = region_new(&(struct region_options){
        .self = &place->self, .outbox = &place->outbox, .type = "T",
        .path = PATH, .coordinator_path = "/system/c",
        .shard_count = shard_count, .lanes = 2 });
}

static void place_close(struct place *place)
{
    region_free(place->region);
    outbox_fini(&place->outbox);
}

static void see(struct place *place, int n)
{
    region_peer(place->region, 0,
                &(struct member_info){ .node = node_of(n), .up_number = n + 1,
                                .status = MEMBER_UP });
}

static uint64_t limited(const struct place *place)
{
    return region_counters(place->region)->limited;
}

/* As many as gossip may name. */
static void a_region_takes_every_member_of_a_gossip(void **state)
{
    struct place place;
    struct node_id gone = node_of(7);
    (void)state;

    assert_true(MEMBERS_MAX >= GOSSIP_MEMBERS_MAX);
    place_open(&place, 1);
    for (int n = 0; n < GOSSIP_MEMBERS_MAX; n++)
        see(&place, n);
    assert_int_equal(limited(&place), 0);
    for (int n = GOSSIP_MEMBERS_MAX; n < MEMBERS_MAX + 1; n++)
        see(&place, n);
    assert_int_equal(limited(&place), 1);
    see(&place, 3);
    assert_int_equal(limited(&place), 1);
    region_peer_removed(place.region, 0, &gone);
    see(&place, MEMBERS_MAX + 1);
    assert_int_equal(limited(&place), 1);
    place_close(&place);
}

static void count_gone(struct place *place, uint32_t *count)
{
    struct region_news news;

    *count = 0;
    while (region_next_news(place->region, &news))
        *count += news.kind == REGION_NODE_GONE;
}

/* A ring: it forgets the oldest. */
static void removed_nodes_of_a_region_have_a_limit(void **state)
{
    struct place place;
    struct node_id node;
    uint32_t count;
    (void)state;

    place_open(&place, 1);
    for (int n = 1; n <= GONE_MAX; n++) {
        node = node_of(n);
        region_peer_removed(place.region, 0, &node);
    }
    count_gone(&place, &count);
    assert_int_equal(count, GONE_MAX);
    node = node_of(1);
    region_peer_removed(place.region, 0, &node);
    count_gone(&place, &count);
    assert_int_equal(count, 0);
    assert_int_equal(region_counters(place.region)->forgotten, 0);
    node = node_of(GONE_MAX + 1);
    region_peer_removed(place.region, 0, &node);
    assert_int_equal(region_counters(place.region)->forgotten, 1);
    node = node_of(2);
    region_peer_removed(place.region, 0, &node);
    count_gone(&place, &count);
    assert_int_equal(count, 1);
    node = node_of(1);
    region_peer_removed(place.region, 0, &node);
    count_gone(&place, &count);
    assert_int_equal(count, 1);
    place_close(&place);
}

static void shards_of_a_type_have_a_limit(void **state)
{
    struct place place;
    struct pending_budget budget;
    struct routes routes;
    (void)state;

    place_open(&place, SHARDS_MAX);
    place_close(&place);
    pending_budget_init(&budget, 0, 0, 1);
    routes_init(&routes, &(struct routes_options){ SHARDS_MAX, &budget });
    assert_int_equal(routes_find(&routes, SHARDS_MAX - 1).state,
                     ROUTE_UNKNOWN);
    assert_int_equal(routes_find(&routes, SHARDS_MAX).state, ROUTE_INVALID);
    routes_forget(&routes, SHARDS_MAX);
    assert_int_equal(routes.counters.ignored, 1);
    routes_fini(&routes);
}

/* ---- waiting messages ---- */

static void waiting_messages_have_a_limit(void **state)
{
    struct pending_item *held = mem_alloc((PENDING_COUNT_MAX + 1) * sizeof *held);
    struct pending_budget budget;
    struct pending_queue queue = { 0 };
    (void)state;

    pending_budget_init(&budget, 0, 0, 1);
    for (uint32_t i = 0; i < PENDING_COUNT_MAX; i++)
        assert_true(pending_put(&queue, &budget, 1, &held[i]));
    assert_int_equal(budget.refused, 0);
    assert_false(pending_put(&queue, &budget, 1, &held[PENDING_COUNT_MAX]));
    assert_int_equal(budget.refused, 1);
    assert_int_equal(budget.count_peak, PENDING_COUNT_MAX);
    assert_ptr_equal(pending_take(&queue, &budget), &held[0]);
    assert_true(pending_put(&queue, &budget, 1, &held[PENDING_COUNT_MAX]));
    mem_free(held);
}

static void waiting_bytes_have_a_limit(void **state)
{
    struct pending_item held[3] = { { .size = PENDING_BYTES_MAX - 1 },
                            { .size = 1 },
                            { .size = 1 } };
    struct pending_budget budget;
    struct pending_queue queue = { 0 };
    (void)state;

    pending_budget_init(&budget, 0, 0, 1);
    assert_true(pending_put(&queue, &budget, 1, &held[0]));
    assert_true(pending_put(&queue, &budget, 1, &held[1]));
    assert_true(budget.bytes == PENDING_BYTES_MAX);
    assert_false(pending_put(&queue, &budget, 1, &held[2]));
    assert_int_equal(budget.refused, 1);
    pending_budget_init(&budget, 0, 0, 4);
    assert_true(budget.count_max == PENDING_COUNT_MAX / 4);
    assert_true(budget.bytes_max == PENDING_BYTES_MAX / 4);
}

/* ---- the coordinator ---- */

static uint64_t full(const struct scene *scene)
{
    return coordinator_counters(scene->coordinator)->dropped_full;
}

static void proxy_registers(struct scene *scene, uint32_t number)
{
    char ref[80];

    snprintf(ref, sizeof ref, "akka://S@n0:2550/system/sharding/P%u#1",
             (unsigned)number);
    say_from(scene, 0, ref + strlen("akka://S@n0:2550"),
             (struct shard_message){ .kind = SHARD_REGISTER_PROXY,
                                     .ref = slice_text(ref), .lanes = 2 });
}

static void regions_of_a_coordinator_have_a_limit(void **state)
{
    struct scene *scene = scene_with(1, NULL);
    (void)state;

    for (uint32_t i = 0; i < COORDINATOR_REGIONS_MAX - 1; i++)
        proxy_registers(scene, i);
    assert_int_equal(full(scene), 0);
    assert_int_equal(sent_count(scene, SHARD_REGISTER_ACK, 0),
                     COORDINATOR_REGIONS_MAX - 1);
    proxy_registers(scene, COORDINATOR_REGIONS_MAX);
    assert_int_equal(full(scene), 1);
    assert_int_equal(sent_count(scene, SHARD_REGISTER_ACK, 0),
                     COORDINATOR_REGIONS_MAX - 1);
    scene_free(scene);
}

/* A message with the limit is readable, one with more is not. */
static void regions_in_a_hand_off_have_a_limit(void **state)
{
    struct identity self = { "akka", "S", node_of(0) };
    struct shard_owing *owing =
        mem_alloc((COORDINATOR_REGIONS_MAX + 1) * sizeof *owing);
    struct shard_message order = { .kind = SHARD_HAND_OFF,
                                   .shard = slice_text("1"),
                                   .fence = { 1, 1 },
                                   .attempt = 1,
                                   .owing = owing };
    (void)state;

    for (uint32_t i = 0; i < COORDINATOR_REGIONS_MAX + 1; i++)
        owing[i] = (struct shard_owing){
            .ref = slice_text("akka://S@n0:2550" REGION_PATH),
            .uid = i + 1, .lanes = 1 };
    for (uint32_t extra = 0; extra < 2; extra++) {
        struct shard_message message;
        struct buf buf = { 0 };
        bool ok;

        order.owing_count = COORDINATOR_REGIONS_MAX + extra;
        shard_message_put(&buf, &order, &self);
        ok = shard_message_read(
            &message, shard_message_serializer(order.kind),
            slice_text(shard_message_manifest(order.kind)), buf_slice(&buf));
        assert_int_equal(ok, extra == 0);
        if (ok)
            assert_int_equal(message.owing_count, COORDINATOR_REGIONS_MAX);
        if (ok)
            shard_message_fini(&message);
        buf_fini(&buf);
    }
    mem_free(owing);
}

/* The other homes are asked for when needed. */
static void homes_in_an_answer_to_a_registration_have_a_limit(void **state)
{
    enum { HOMES = SHARD_HOMES_MAX * SHARD_HOMES_MESSAGES_MAX };
    struct scene *scene = scene_with(1, NULL);
    struct shard_hosted *hosted = mem_alloc((HOMES + 1) * sizeof *hosted);
    char(*ids)[12] = mem_alloc((HOMES + 1) * sizeof *ids);
    uint32_t told = 0;
    (void)state;

    for (uint32_t i = 0; i < HOMES + 1; i++) {
        snprintf(ids[i], sizeof ids[i], "%u", i);
        hosted[i] =
            (struct shard_hosted){ slice_text(ids[i]), { 1, 1 } };
    }
    registers_with(scene, 0, ++scene->report[0], hosted, HOMES + 1);
    assert_int_equal(shards_at(scene, 0), HOMES + 1);
    forget_sent(scene);
    peer_up(scene, 1);
    registers(scene, 1);
    for (uint32_t i = 0; i < scene->sent.count; i++) {
        const struct sent *sent = &scene->sent.items[i];

        if (sent->kind != SHARD_HOMES || sent->node != 1)
            continue;
        assert_true(sent->home_count <= SHARD_HOMES_MAX);
        told += sent->home_count;
    }
    assert_int_equal(sent_count(scene, SHARD_HOMES, 1),
                     SHARD_HOMES_MESSAGES_MAX);
    assert_int_equal(told, HOMES);
    assert_int_equal(coordinator_counters(scene->coordinator)->homes_left, 1);
    mem_free(ids);
    mem_free(hosted);
    scene_free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_region_takes_every_member_of_a_gossip),
        cmocka_unit_test(removed_nodes_of_a_region_have_a_limit),
        cmocka_unit_test(shards_of_a_type_have_a_limit),
        cmocka_unit_test(waiting_messages_have_a_limit),
        cmocka_unit_test(waiting_bytes_have_a_limit),
        cmocka_unit_test(regions_of_a_coordinator_have_a_limit),
        cmocka_unit_test(regions_in_a_hand_off_have_a_limit),
        cmocka_unit_test(homes_in_an_answer_to_a_registration_have_a_limit),
    };

    return cmocka_run_group_tests_name("shard_limits", tests, NULL, NULL);
}
