/* Tests allocation strategies on whole nodes: locations that actors set, strategies of a program,
 * the hash ring, and the version of an application. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <sherd/allocation.h>
#include <sherd/ddata.h>
#include <sherd/extractor.h>

#include "base/limits.h"
#include "cast.h"
#include "node/entity_type.h"

#define SHARDS 20
#define NODES 4
#define NO_ID (-1)

static const struct sherd_allocation_strategy *strategy; /* of the types of the next nodes */
static const char *version; /* of the next nodes */

static const struct sherd_extractor *extractor; /* likewise */
static uint64_t lease_ttl; /* ns, of the next nodes; 0: their coordinators have no leases */

static void start(struct world *world, uint32_t node, enum allocation_kind kind)
{
    static const struct address seeds[] = { { "n0", 2551 }, { "n1", 2551 } };
    static const char *const roles[] = { "big", "host" };
    struct sherd_entity_type type = cast_types[0];
    struct node_settings settings;

    type.strategy = strategy;
    type.extractor = extractor;
    settings = world_node_settings(world, node, &type, 1);
    settings.alone = node == 0 && world_node_count(world) == 0;
    settings.seed_nodes = seeds;
    settings.seed_node_count = settings.alone ? 0 : 2;
    settings.allocation = kind;
    settings.app_version = version;
    settings.roles = roles;
    settings.role_count = node ? 1 : 2;
    if (lease_ttl)
        settings.coordinator_lease = LEASE_PROVIDER_MEMORY;
    settings.lease_ttl = lease_ttl;
    settings.lease_interval = lease_ttl / 10;
    settings.lease_patience = SECOND;
    settings.coordinator_lease_retry = SECOND;
    world_start(world, node, &settings);
}

static struct world *world_of(uint64_t seed, uint32_t count, enum allocation_kind kind)
{
    struct world *world = cast_new(seed);

    cast_begin();
    for (uint32_t i = 0; i < count; i++)
        start(world, i, kind);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    world_run(world, 5 * SECOND);
    return world;
}

/* The next id whose shard no earlier one has; -1: none. */
static int next_id(int after)
{
    bool used[SHARDS] = { false };

    for (int i = 0; i < 1000; i++) {
        char id[16];
        int32_t shard;

        snprintf(id, sizeof id, "e%d", i);
        shard = sherd_shard_of(id, SHARDS);
        if (!used[shard] && i > after)
            return i;
        used[shard] = true;
    }
    return NO_ID;
}

static uint32_t node_with(struct world *world, uint64_t uid)
{
    uint32_t node = 0;

    while (world_node(world, node)->settings.identity.node.uid != uid)
        node++;
    return node;
}

static uint32_t home(struct player *player, const char *id)
{
    return node_with(player->world, player_asks(player, "E", id, ECHO));
}

/* ---- locations ---- */

static struct {
    const char *ids[8];
    const char *texts[8]; /* of shards; null: the shard of the id */
    const char *addresses[8];
    uint32_t count;
    int result;
} wanted;

static void set_locations(struct sherd_ctx *ctx, struct player *player)
{
    struct sherd_shard_location locations[8];
    (void)player;

    for (uint32_t i = 0; i < wanted.count; i++)
        locations[i] = (struct sherd_shard_location){ sherd_shard_of(wanted.ids[i], SHARDS),
                                                      wanted.addresses[i], wanted.texts[i] };
    wanted.result = sherd_locations_set(ctx, "E", locations, wanted.count, 77);
}

/* text: of the shard; null: the shard of the id. */
static void locate_text(struct player *player, const char *id, const char *text,
                        const char *address)
{
    const struct heard *heard;

    wanted.ids[0] = id;
    wanted.texts[0] = text;
    wanted.addresses[0] = address;
    wanted.count = 1;
    player->count = 0;
    player_do(player, set_locations);
    heard = player_hears(player, SECOND);
    assert_int_equal(wanted.result, 0);
    assert_int_equal(heard->kind, SHERD_DATA);
    assert_int_equal(heard->msg, SHERD_DATA_UPDATED);
    assert_int_equal(heard->tag, 77);
}

static void locate(struct player *player, const char *id, const char *address)
{
    locate_text(player, id, NULL, address);
}

static void a_shard_without_a_location_starts_where_it_is_asked_for_SHD255_SHD256_SHD257(void **state)
{
    struct world *world = world_of(1, 3, ALLOCATION_EXTERNAL);
    struct player player;
    int id = -1;
    (void)state;

    for (uint32_t i = 0; i < 3; i++) {
        char text[16];

        id = next_id(id);
        snprintf(text, sizeof text, "e%d", id);
        player_spawn(&player, world, i, 0);
        assert_int_equal(home(&player, text), i);
    }
    world_free(world);
}

static void a_location_from_any_node_is_honoured_SHD260(void **state)
{
    struct world *world = world_of(2, 3, ALLOCATION_EXTERNAL);
    struct player setter, asker;
    (void)state;

    player_spawn(&setter, world, 2, 0);
    player_spawn(&asker, world, 1, 1);
    locate(&setter, "cats", "n0:2551");
    world_run(world, 2 * SECOND);
    assert_int_equal(home(&asker, "cats"), 0);
    locate(&setter, "cats", "akka://World@n1:2551");
    world_run(world, 5 * SECOND);
    assert_int_equal(home(&setter, "cats"), 1);
    locate(&setter, "cats", NULL); /* stays where it is */
    locate(&asker, "dogs", "n3:2551"); /* not there yet */
    world_run(world, 5 * SECOND);
    assert_int_equal(home(&setter, "cats"), 1);
    assert_int_equal(home(&setter, "dogs"), 2);
    start(world, 3, ALLOCATION_EXTERNAL);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    world_run(world, 10 * SECOND);
    assert_int_equal(home(&setter, "dogs"), 3);
    world_free(world);
}

static void locations_outlive_their_coordinator(void **state)
{
    struct world *world = world_of(3, 4, ALLOCATION_EXTERNAL);
    struct player player;
    (void)state;

    player_spawn(&player, world, 3, 0);
    locate(&player, "cats", "n2:2551");
    locate(&player, "dogs", "n1:2551");
    world_run(world, 2 * SECOND);
    assert_int_equal(home(&player, "cats"), 2);
    world_crash_as(world, 0, WORLD_KILLED); /* the coordinator's node, before "dogs" has a home */
    world_down(world, 1, 0);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    assert_int_equal(home(&player, "dogs"), 1);
    assert_int_equal(home(&player, "cats"), 2);
    locate(&player, "cats", "n1:2551");
    world_run(world, 10 * SECOND);
    assert_int_equal(home(&player, "cats"), 1);
    world_free(world);
}

/* The coordinator's node is cut off from the lease provider until the lease has expired. The next
 * coordinator is on the same node, because the members have not changed. */
static void locations_outlive_the_lease_of_their_coordinator(void **state)
{
    struct world *world;
    struct player player;
    (void)state;

    lease_ttl = 10 * SECOND;
    world = world_of(12, 3, ALLOCATION_EXTERNAL);
    lease_ttl = 0;
    player_spawn(&player, world, 2, 0);
    locate(&player, "cats", "n1:2551");
    locate(&player, "dogs", "n1:2551");
    world_run(world, 2 * SECOND);
    assert_int_equal(home(&player, "cats"), 1);
    world_cut_leases(world, 0, true);
    world_run(world, 12 * SECOND);
    assert_true(world_logged(world, 0, "leases lost"));
    locate(&player, "birds", "n1:2551"); /* while no coordinator lives */
    assert_int_equal(home(&player, "cats"), 1); /* regions know it */
    player_ask(&player, "E", "dogs", ECHO, 60000);
    world_run(world, 5 * SECOND);
    world_cut_leases(world, 0, false);
    assert_non_null(player_hears(&player, 10 * SECOND));
    assert_int_equal(node_with(world, player_last(&player)->value), 1); /* set before the loss */
    assert_int_equal(home(&player, "birds"), 1);
    locate(&player, "cats", "n0:2551"); /* set after it */
    world_run(world, 5 * SECOND);
    assert_int_equal(home(&player, "cats"), 0);
    world_free(world);
}

static void get_locations(struct sherd_ctx *ctx, struct player *player)
{
    (void)player;
    assert_int_equal(sherd_locations_get(ctx, "E", 5), 0);
    assert_int_equal(sherd_locations_get(ctx, "", 5), SHERD_EINVAL);
    assert_int_equal(sherd_locations_get(ctx, NULL, 5), SHERD_EINVAL);
}

static struct {
    uint32_t seen;
    uint32_t ids; /* texts of shards, decimal ones, too */
    char text[200];
} found;

static void take_found(const struct sherd_msg *msg)
{
    struct sherd_value *value = sherd_data_value(msg);
    struct sherd_bytes address, id;
    uint32_t at = 0;
    int32_t shard;
    size_t size = 0;

    found.seen = msg->msg;
    assert_string_equal(sherd_data_key(msg), "external-sharding-E");
    while (value && sherd_location_next(value, &at, &shard, &address))
        size += (size_t)snprintf(found.text + size, sizeof found.text - size, "%d=%.*s ", shard,
                                 (int)address.size, (const char *)address.data);
    for (at = 0; value && sherd_location_next_id(value, &at, &id, &address);)
        found.ids++;
    sherd_value_free(value);
}

static enum sherd_next reader_receive(struct sherd_ctx *ctx, void *self,
                                      const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_STARTED)
        get_locations(ctx, NULL);
    if (msg->kind == SHERD_DATA)
        take_found(msg);
    return SHERD_CONTINUE;
}

static void read_on(struct world *world, uint32_t node)
{
    static const struct sherd_behavior reader = { .name = "reader", .receive = reader_receive };

    memset(&found, 0, sizeof found);
    world_spawn(world, node, 0, &reader, "", 0);
    world_run(world, 6 * SECOND);
}

static void locations_can_be_read_on_any_node_SHD185(void **state)
{
    struct world *world = world_of(4, 3, ALLOCATION_EXTERNAL);
    struct player player;
    char expected[80];
    (void)state;

    read_on(world, 2);
    assert_int_equal(found.seen, SHERD_DATA_NOT_FOUND);
    player_spawn(&player, world, 1, 0);
    locate(&player, "cats", "n2:2551");
    read_on(world, 2);
    snprintf(expected, sizeof expected, "%d=akka://World@n2:2551 ", sherd_shard_of("cats", SHARDS));
    assert_int_equal(found.seen, SHERD_DATA_FOUND);
    assert_string_equal(found.text, expected);
    assert_int_equal(found.ids, 1);
    locate(&player, "cats", NULL);
    read_on(world, 0);
    assert_string_equal(found.text, "");
    world_crash_as(world, 0, WORLD_KILLED);
    world_crash_as(world, 2, WORLD_KILLED);
    read_on(world, 1);
    assert_int_equal(found.seen, SHERD_DATA_TIMEOUT);
    world_free(world);
}

static void set_wrong(struct sherd_ctx *ctx, struct player *player)
{
    static struct sherd_shard_location many[1001];
    static char long_id[SHERD_SHARD_MAX + 2];
    static const char *const wrong_ids[] = { "", "\xff", long_id };
    static const char *const wrong[] = { "", "n0", "n0:0", "akka://Other@n0:1", "pekko://World@n0:1" };
    (void)player;

    memset(long_id, 'a', SHERD_SHARD_MAX + 1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct sherd_shard_location location = { 1, wrong[i], NULL };

        assert_int_equal(sherd_locations_set(ctx, "E", &location, 1, 1), SHERD_EINVAL);
    }
    for (size_t i = 0; i < sizeof wrong_ids / sizeof *wrong_ids; i++) {
        struct sherd_shard_location location = { 1, "n0:2551", wrong_ids[i] };

        assert_int_equal(sherd_locations_set(ctx, "E", &location, 1, 1), SHERD_EINVAL);
    }
    assert_int_equal(sherd_locations_set(ctx, "E", many, 0, 1), SHERD_EINVAL);
    assert_int_equal(sherd_locations_set(ctx, "E", many, 1001, 1), SHERD_EINVAL);
    assert_int_equal(sherd_locations_set(ctx, NULL, many, 1, 1), SHERD_EINVAL);
}

static void wrong_locations_are_refused_by_the_call(void **state)
{
    struct world *world = world_of(5, 1, ALLOCATION_EXTERNAL);
    struct player player;
    (void)state;

    player_spawn(&player, world, 0, 0);
    player_do(&player, set_wrong);
    world_run(world, SECOND);
    assert_int_equal(player.count, 0);
    world_free(world);
}

/* ---- strategies of a program ---- */

static struct {
    const char *address; /* of the region to choose; null: later */
    uint64_t open;       /* the last open request */
    char shard_id[20];   /* of the last request; empty: none */
    uint32_t asked;
    char seen[400]; /* regions of the last request */
} program;

static int allocate(void *user, const struct sherd_allocation_request *request)
{
    size_t at = 0;
    (void)user;

    program.asked++;
    program.open = request->number;
    snprintf(program.shard_id, sizeof program.shard_id, "%s",
             request->shard_id ? request->shard_id : "");
    for (uint32_t i = 0; i < request->region_count; i++) {
        const struct sherd_allocation_region *region = &request->regions[i];

        at += (size_t)snprintf(program.seen + at, sizeof program.seen - at, "%s,%s,%s,%d,%d ",
                               region->member.address, region->member.app_version,
                               region->member.data_center, region->member.status == SHERD_UP,
                               sherd_cluster_has_role(&region->member, "host"));
    }
    for (uint32_t i = 0; program.address && i < request->region_count; i++)
        if (strcmp(request->regions[i].member.address, program.address) == 0)
            return (int)i;
    return SHERD_ALLOCATION_LATER;
}

static const struct sherd_allocation_strategy custom = { .allocate = allocate };

static struct world *custom_world(uint64_t seed)
{
    struct world *world;

    memset(&program, 0, sizeof program);
    strategy = &custom;
    version = "1.2.3";
    world = world_of(seed, 3, ALLOCATION_LEAST_SHARD);
    strategy = NULL;
    version = NULL;
    return world;
}

static void the_program_sees_members_and_chooses(void **state)
{
    struct world *world = custom_world(6);
    struct player player;
    (void)state;

    player_spawn(&player, world, 1, 0);
    program.address = "n2:2551";
    assert_int_equal(home(&player, "cats"), 2);
    for (int i = 0; i < 3; i++) {
        char text[40];

        snprintf(text, sizeof text, "n%d:2551,1.2.3,default,1,%d ", i, i == 0);
        assert_non_null(strstr(program.seen, text));
    }
    world_free(world);
}

static bool is_asked(struct world *world, void *arg)
{
    (void)world;
    (void)arg;
    return program.asked > 0;
}

static void answer_in_receive(struct sherd_ctx *ctx, struct player *player)
{
    struct sherd_allocation_choice choice = { .request = program.open, .address = "n1" };
    (void)player;

    assert_int_equal(sherd_allocation_answer(ctx, &choice), SHERD_EINVAL);
    choice.address = "n1:2551";
    choice.shard_count = ALLOCATION_MOVES_MAX + 1;
    assert_int_equal(sherd_allocation_answer(ctx, &choice), SHERD_EINVAL);
    choice.shard_count = 0;
    assert_int_equal(sherd_allocation_answer(ctx, &choice), 0);
}

static void answer_from_a_thread(struct world *world, uint32_t node, uint64_t request,
                                 const char *address)
{
    struct sherd_allocation_choice choice = { .request = request, .address = address };

    world_allocate(world, node, &choice);
}

/* From an actor, then from a thread of the program. */
static void a_later_answer_reaches_its_coordinator_SHD202(void **state)
{
    struct world *world = custom_world(7);
    struct player asker, strategist;
    (void)state;

    player_spawn(&asker, world, 2, 0);
    player_spawn(&strategist, world, 0, 1);
    player_ask(&asker, "E", "cats", ECHO, 10000);
    assert_true(world_until(world, is_asked, NULL, SECOND));
    world_run(world, SECOND);
    assert_int_equal(asker.count, 0);
    player_do(&strategist, answer_in_receive);
    assert_int_equal(node_with(world, player_hears(&asker, SECOND)->value), 1);

    program.asked = asker.count = 0;
    player_ask(&asker, "E", "dogs", ECHO, 10000);
    assert_true(world_until(world, is_asked, NULL, SECOND));
    answer_from_a_thread(world, 0, program.open ^ 1, "n2:2551"); /* no such request */
    answer_from_a_thread(world, 0, UINT64_MAX, "n2:2551");
    answer_from_a_thread(world, 0, program.open, "n2:2551");
    assert_int_equal(node_with(world, player_hears(&asker, SECOND)->value), 2);
    world_free(world);
}

/* Its successor asks anew, and refuses the answer to the former request. */
static void a_request_ends_with_its_coordinator(void **state)
{
    struct world *world = custom_world(8);
    struct player asker;
    uint64_t former;
    (void)state;

    player_spawn(&asker, world, 2, 0);
    player_ask(&asker, "E", "cats", ECHO, 60000);
    assert_true(world_until(world, is_asked, NULL, SECOND));
    former = program.open;
    program.asked = 0;
    world_leave(world, 0);
    assert_true(world_until(world, is_asked, NULL, 60 * SECOND));
    assert_int_equal(asker.count, 0);
    answer_from_a_thread(world, 1, former, "n2:2551");
    world_run(world, SECOND);
    assert_int_equal(asker.count, 0);
    answer_from_a_thread(world, 1, program.open, "n2:2551");
    assert_int_equal(node_with(world, player_hears(&asker, 5 * SECOND)->value), 2);
    world_free(world);
}

/* ---- texts of shards ---- */

/* "red-1" is in the shard "red". */
static int colour_of(void *user, const struct sherd_extracted *message,
                     char shard[SHERD_SHARD_MAX + 1])
{
    size_t size = strcspn(message->id, "-");

    (void)user;
    memcpy(shard, message->id, size);
    shard[size] = 0;
    return 1;
}

static const struct sherd_extractor colours = { .shard = colour_of };

static void a_location_may_name_a_text_shard(void **state)
{
    struct world *world;
    struct player player;
    (void)state;

    extractor = &colours;
    world = world_of(13, 3, ALLOCATION_EXTERNAL);
    player_spawn(&player, world, 2, 0);
    locate_text(&player, "", "red", "n1:2551");
    world_run(world, 2 * SECOND);
    assert_int_equal(home(&player, "red-1"), 1);
    assert_int_equal(home(&player, "blue-1"), 2); /* where it is asked for */
    locate_text(&player, "", "red", "n0:2551");
    locate_text(&player, "", "blue", "n1:2551");
    world_run(world, 5 * SECOND);
    assert_int_equal(home(&player, "red-2"), 0);
    assert_int_equal(home(&player, "blue-1"), 1);
    read_on(world, 0);
    assert_int_equal(found.ids, 2);
    assert_string_equal(found.text, ""); /* they have no numbers */
    extractor = NULL;
    world_free(world);
}

/* Red shards belong to n1, and move there. */
static int move_red(void *user, const struct sherd_allocation_request *request, int32_t *shards)
{
    int count = 0;

    (void)user;
    for (uint32_t i = 0; i < request->region_count; i++)
        for (uint32_t j = 0; j < request->regions[i].shard_count; j++)
            if (strcmp(request->regions[i].shards[j].shard_id, "red") == 0 &&
                strcmp(request->regions[i].member.address, "n1:2551") != 0)
                shards[count++] = request->regions[i].shards[j].shard;
    program.address = count ? "n1:2551" : program.address;
    return count;
}

static void a_strategy_sees_the_texts_of_shards(void **state)
{
    static const struct sherd_allocation_strategy moves = { .allocate = allocate,
                                                            .rebalance = move_red };
    struct world *world;
    struct player player;
    (void)state;

    memset(&program, 0, sizeof program);
    extractor = &colours;
    strategy = &moves;
    program.address = "n2:2551";
    world = world_of(14, 3, ALLOCATION_LEAST_SHARD);
    strategy = NULL;
    extractor = NULL;
    player_spawn(&player, world, 0, 0);
    assert_int_equal(home(&player, "blue-1"), 2);
    assert_string_equal(program.shard_id, "blue");
    assert_int_equal(home(&player, "red-1"), 2);
    assert_string_equal(program.shard_id, "red");
    world_run(world, 20 * SECOND);
    assert_int_equal(home(&player, "red-1"), 1);
    assert_int_equal(home(&player, "blue-1"), 2);
    world_free(world);
}

/* The type comes to nodes that run, and its strategy with it. */
static void a_type_that_comes_later_has_its_own_strategy(void **state)
{
    struct world *world = world_of(11, 3, ALLOCATION_LEAST_SHARD);
    struct sherd_entity_type late = cast_types[0];
    struct player asker;
    (void)state;

    late.name = "Late";
    late.strategy = &custom;
    for (uint32_t i = 0; i < 3; i++)
        world_add_type(world, i, &late);
    world_run(world, SECOND);
    memset(&program, 0, sizeof program);
    program.address = "n2:2551";
    player_spawn(&asker, world, 1, 0);
    assert_int_equal(node_with(world, player_asks(&asker, "Late", "cats", ECHO)), 2);
    assert_int_equal(program.asked, 1);
    world_free(world);
}

/* ---- the others ---- */

/* Types with one number of shards have the same shards on one node. */
static void hashing_puts_a_shard_of_two_types_on_one_node(void **state)
{
    struct sherd_entity_type types[2] = { cast_types[0], cast_types[0] };
    struct world *world = cast_new(9);
    struct player player;
    (void)state;

    cast_begin();
    types[1].name = "F";
    for (uint32_t i = 0; i < 3; i++) {
        struct node_settings settings = world_node_settings(world, i, types, 2);

        settings.allocation = ALLOCATION_CONSISTENT_HASHING;
        world_start(world, i, &settings);
    }
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    world_run(world, 5 * SECOND);
    player_spawn(&player, world, 2, 0);
    for (int i = 0; i < 12; i++) {
        char id[16];

        snprintf(id, sizeof id, "e%d", i);
        assert_int_equal(player_asks(&player, "E", id, ECHO), player_asks(&player, "F", id, ECHO));
    }
    world_free(world);
}

static uint32_t hosted(struct world *world, uint32_t node)
{
    struct sherd_status status = world_status(world, node);
    uint32_t count = status.types[0].shards_here;

    world_status_fini(&status);
    return count;
}

static bool has_ended(struct world *world, void *node)
{
    return !world_node(world, *(uint32_t *)node)->node;
}

static void leaves(struct world *world, uint32_t node)
{
    world_leave(world, node);
    assert_true(world_until(world, has_ended, &node, 120 * SECOND));
}

/* As Akka's test, with a rebalance every second. */
static void new_shards_prefer_the_newest_version_SHD266_SHD267(void **state)
{
    struct world *world;
    struct player player;
    int id = -1;
    uint32_t before[2];
    (void)state;

    version = "1.0.0";
    world = world_of(10, 2, ALLOCATION_LEAST_SHARD);
    player_spawn(&player, world, 1, 0);
    for (int i = 0; i < 6; i++) {
        char text[16];

        id = next_id(id);
        snprintf(text, sizeof text, "e%d", id);
        (void)home(&player, text);
    }
    assert_int_equal(hosted(world, 0), 3);
    assert_int_equal(hosted(world, 1), 3);
    version = "1.0.1";
    start(world, 2, ALLOCATION_LEAST_SHARD);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    world_run(world, 20 * SECOND); /* no shard moves while versions differ */
    assert_int_equal(hosted(world, 2), 0);
    for (int i = 0; i < 8; i++) {
        char text[16];

        id = next_id(id);
        snprintf(text, sizeof text, "e%d", id);
        assert_int_equal(home(&player, text), 2);
    }
    assert_int_equal(hosted(world, 2), 8); /* more than any old one */
    start(world, 3, ALLOCATION_LEAST_SHARD);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    before[0] = hosted(world, 1);
    leaves(world, 0);
    world_run(world, 10 * SECOND);
    assert_int_equal(hosted(world, 1), before[0]); /* its shards went to the new version */
    leaves(world, 1);
    world_run(world, 20 * SECOND); /* one version: the shards are balanced again */
    assert_int_equal(hosted(world, 2), 7);
    assert_int_equal(hosted(world, 3), 7);
    version = NULL;
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shard_without_a_location_starts_where_it_is_asked_for_SHD255_SHD256_SHD257),
        cmocka_unit_test(a_location_from_any_node_is_honoured_SHD260),
        cmocka_unit_test(locations_outlive_their_coordinator),
        cmocka_unit_test(locations_outlive_the_lease_of_their_coordinator),
        cmocka_unit_test(locations_can_be_read_on_any_node_SHD185),
        cmocka_unit_test(wrong_locations_are_refused_by_the_call),
        cmocka_unit_test(the_program_sees_members_and_chooses),
        cmocka_unit_test(a_later_answer_reaches_its_coordinator_SHD202),
        cmocka_unit_test(a_request_ends_with_its_coordinator),
        cmocka_unit_test(a_location_may_name_a_text_shard),
        cmocka_unit_test(a_strategy_sees_the_texts_of_shards),
        cmocka_unit_test(a_type_that_comes_later_has_its_own_strategy),
        cmocka_unit_test(hashing_puts_a_shard_of_two_types_on_one_node),
        cmocka_unit_test(new_shards_prefer_the_newest_version_SHD266_SHD267),
    };

    return cmocka_run_group_tests_name("node_allocation", tests, NULL, NULL);
}
