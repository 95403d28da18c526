/* Tests the limits of membership: at each, and one above. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/rng.h"
#include "member/cluster.pb-c.h"
#include "member/compat.h"
#include "member/inside.h"
#include "member/gossip_pack.h"
#include "member/version.h"
#include "member/wire.h"
#include "values.h"

static bool parses(const struct buf *buf)
{
    struct compat settings;
    bool good = compat_parse(&settings, buf_slice(buf));

    if (good)
        compat_fini(&settings);
    return good;
}

static void a_configuration_to_check_has_limits(void **state)
{
    struct buf buf = { 0 };
    (void)state;

    buf_put_text(&buf, "{}");
    while (buf.size < MEMBER_CONFIG_SIZE_MAX)
        buf_put_u8(&buf, ' ');
    assert_true(parses(&buf));
    buf_put_u8(&buf, ' ');
    assert_false(parses(&buf));
    for (int extra = 0; extra < 2; extra++) {
        buf_clear(&buf);
        for (int i = 1; i < MEMBER_CONFIG_DEPTH_MAX + extra; i++)
            buf_put_text(&buf, "{\"a\":");
        buf_put_text(&buf, "{\"a\":1}");
        for (int i = 1; i < MEMBER_CONFIG_DEPTH_MAX + extra; i++)
            buf_put_text(&buf, "}");
        assert_int_equal(parses(&buf), extra == 0);
        buf_clear(&buf);
        buf_put_text(&buf, "{\"a\":1");
        for (int i = 1; i < MEMBER_CONFIG_KEYS_MAX + extra; i++)
            buf_put_text(&buf, ",\"a\":1");
        buf_put_text(&buf, "}");
        assert_int_equal(parses(&buf), extra == 0);
    }
    buf_fini(&buf);
}

static void roles_of_a_member_have_a_limit(void **state)
{
    const char *roles[MEMBER_ROLES_MAX];
    char name[MEMBER_ROLE_SIZE_MAX + 2];
    struct member_settings settings = { .roles = roles };
    char text[128];
    (void)state;

    memset(name, 'r', sizeof name);
    name[MEMBER_ROLE_SIZE_MAX] = 0;
    for (int i = 0; i < MEMBER_ROLES_MAX; i++)
        roles[i] = name;
    settings.role_count = MEMBER_ROLES_MAX - 1; /* the data center is one, too */
    assert_true(member_settings_valid(&settings, text, sizeof text));
    settings.role_count = MEMBER_ROLES_MAX;
    assert_false(member_settings_valid(&settings, text, sizeof text));
    settings.role_count = 1;
    name[MEMBER_ROLE_SIZE_MAX] = 'r';
    name[MEMBER_ROLE_SIZE_MAX + 1] = 0;
    assert_false(member_settings_valid(&settings, text, sizeof text));
}

static void the_oldest_tombstone_is_dropped(void **state)
{
    struct gossip gossip = { 0 };
    struct node_id node;
    (void)state;

    for (uint32_t i = 1; i <= MEMBER_TOMBSTONES_MAX; i++) {
        node = test_node("z", i, i);
        assert_true(gossip_add_tombstone(&gossip, &node, i));
    }
    node = test_node("z", 1, 1);
    assert_true(gossip_is_tombstoned(&gossip, &node));
    assert_int_equal(gossip.forgotten, 0);
    node = test_node("a", 1, 77777);
    assert_true(gossip_add_tombstone(&gossip, &node, 77777));
    assert_int_equal(gossip.forgotten, 1);
    assert_int_equal(gossip.tombstones.count, MEMBER_TOMBSTONES_MAX);
    assert_true(gossip_is_tombstoned(&gossip, &node));
    node = test_node("z", 1, 1);
    assert_false(gossip_is_tombstoned(&gossip, &node));
    node = test_node("z", 2, 2);
    assert_true(gossip_is_tombstoned(&gossip, &node));
    gossip_fini(&gossip);
}

/* Confirmed exiting members that are gone leave at the next leader action, up to a limit. */
static void exiting_confirmations_have_a_limit(void **state)
{
    struct member_settings settings = { 0 };
    struct member *member = member_new(&test_identity, &settings, 1, NULL);
    struct outbox outbox = { 0 };
    struct buf payload = { 0 };
    struct inbound inbound = { .from = test_identity.node };
    (void)state;

    assert_true(member_join(member, 1, 1, &test_identity.node.address, &outbox));
    for (uint32_t i = 0; i < MEMBER_EXITING_MAX; i++)
        vec_push(&member->confirmed, test_node("z", 1, 2 + i));
    wire_put_node(&test_identity, &payload, &test_identity.node);
    inbound.payload = buf_slice(&payload);
    assert_int_equal(member_counters(member)->dropped_full, 0);
    leave_receive_confirmed(member, &inbound);
    assert_int_equal(member_counters(member)->dropped_full, 1);
    assert_int_equal(member->confirmed.count, MEMBER_EXITING_MAX);
    member->confirmed.count--;
    leave_receive_confirmed(member, &inbound);
    assert_int_equal(member->confirmed.count, MEMBER_EXITING_MAX);
    assert_int_equal(member_counters(member)->dropped_full, 1);
    buf_fini(&payload);
    outbox_fini(&outbox);
    member_free(member);
}

/* Nodes that wait until the member at their address is removed. The oldest is dropped, and asks
 * again. One that asks again has one place. */
static void joins_that_wait_have_a_limit(void **state)
{
    struct member_settings settings = { 0 };
    struct member *member = member_new(&test_identity, &settings, 1, NULL);
    struct outbox outbox = { 0 };
    (void)state;

    assert_true(member_join(member, 1, 1, &test_identity.node.address, &outbox));
    for (int twice = 0; twice < 2; twice++)
        for (uint32_t i = 0; i < MEMBER_JOINERS_MAX; i++) {
            struct profile *profile = test_profile("z", i + 1, i + 2, NULL);

            joiners_keep(member, 1, profile, slice_text("/a"));
            profile_drop(profile);
            assert_int_equal(member->joiners.count,
                             twice ? MEMBER_JOINERS_MAX : i + 1);
        }
    assert_int_equal(member_counters(member)->dropped_full, 0);
    {
        struct profile *profile = test_profile("z", 9999, 2, NULL);

        joiners_keep(member, 1, profile, slice_text("/a"));
        profile_drop(profile);
    }
    assert_int_equal(member->joiners.count, MEMBER_JOINERS_MAX);
    assert_int_equal(member_counters(member)->dropped_full, 1);
    assert_true(profile_is(member->joiners.items[0].profile, &(struct node_id){
        PROFILE_NODE(member->joiners.items[0].profile)->address, 3 }));
    outbox_fini(&outbox);
    member_free(member);
}

static double threshold_of(double configured)
{
    struct member_settings settings = { .heartbeat_threshold = configured };
    struct member *member = member_new(&test_identity, &settings, 1, NULL);
    double threshold = member->heart_settings.phi.threshold;

    member_free(member);
    return threshold;
}

static void a_threshold_of_suspicion_has_a_fraction(void **state)
{
    (void)state;
    assert_true(threshold_of(8.5) == 8.5);
    assert_true(threshold_of(0) == 8.0);
}

/* Tombstones dropped by this member, and in applied gossips. */
static void dropped_tombstones_are_counted(void **state)
{
    struct member_settings settings = { 0 };
    struct member *member = member_new(&test_identity, &settings, 1, NULL);
    struct outbox outbox = { 0 };
    struct node_id node;
    (void)state;

    assert_true(member_join(member, 1, 1, &test_identity.node.address, &outbox));
    for (uint32_t i = 1; i <= MEMBER_TOMBSTONES_MAX + 2; i++) {
        node = test_node("z", i, i);
        assert_true(gossip_add_tombstone(&member->gossip, &node, i));
    }
    member_gossip_replaced(member);
    member_settle(member, 1);
    assert_int_equal(member_counters(member)->forgotten, 2);
    outbox_fini(&outbox);
    member_free(member);
}

static enum verdict read_back(const struct gossip *gossip)
{
    struct gossip known = { 0 };
    struct gossip read = { 0 };
    struct buf packed = { 0 };
    enum verdict verdict;

    wire_put_gossip(&test_identity, &packed, gossip);
    verdict = wire_get_gossip(&test_identity, buf_slice(&packed), &known, &read);
    gossip_fini(&read);
    buf_fini(&packed);
    return verdict;
}

/* 256 observers of 256 subjects, and one more. Their rows differ, because a message must not
 * compress too well. */
static void observations_of_a_gossip_have_a_limit(void **state)
{
    enum { SUBJECTS = 256 };
    struct gossip gossip = { 0 };
    struct profile *profiles[2 * SUBJECTS + 1];
    uint32_t rows = 0;
    struct rng rng;
    (void)state;

    rng_init(&rng, 1);
    for (uint32_t i = 0; i < 2 * SUBJECTS + 1; i++) {
        struct profile *profile = test_profile("z", i + 1, i + 1, NULL);

        gossip_add(&gossip, profile, MEMBER_UP, (int32_t)i + 1);
        profile_drop(profile);
    }
    for (uint32_t i = 0; i < 2 * SUBJECTS + 1; i++)
        profiles[i] = gossip.members.items[i].profile;
    for (uint32_t i = 0; i < SUBJECTS; i++) {
        for (uint32_t j = 0; j < SUBJECTS; j++, rows++)
            (void)reachability_change(&gossip.reachability, profiles[i],
                                      profiles[SUBJECTS + j],
                                      rng_below(&rng, 2) ? UNREACHABLE
                                                         : TERMINATED);
    }
    assert_int_equal(rows, MEMBER_ROWS_MAX);
    assert_int_equal(read_back(&gossip), WIRE_OK);
    (void)reachability_change(&gossip.reachability, profiles[2 * SUBJECTS],
                              profiles[SUBJECTS], UNREACHABLE);
    assert_int_equal(read_back(&gossip), WIRE_HOSTILE);
    gossip_fini(&gossip);
}

static enum verdict read_raw(const Cluster__Gossip *part)
{
    struct gossip known = { 0 };
    struct gossip read = { 0 };
    struct buf packed = { 0 };
    struct buf bytes = { 0 };
    size_t size = cluster__gossip__get_packed_size(part);
    enum verdict verdict;

    (void)cluster__gossip__pack(part, buf_reserve(&bytes, size));
    bytes.size = size;
    gossip_pack_deflate(&packed, buf_slice(&bytes));
    verdict = wire_get_gossip(&test_identity, buf_slice(&packed), &known, &read);
    gossip_fini(&read);
    buf_fini(&packed);
    buf_fini(&bytes);
    return verdict;
}

/* Texts without references, as a JVM writes them for each member. */
static void texts_of_a_gossip_have_a_limit(void **state)
{
    struct gossip gossip = { 0 };
    struct buf packed = { 0 };
    struct buf bytes = { 0 };
    Cluster__Gossip *part;
    char(*texts)[8] = mem_alloc((MEMBER_TABLE_MAX + 1) * sizeof *texts);
    char **versions = mem_alloc((MEMBER_TABLE_MAX + 1) * sizeof *versions);
    size_t own_count;
    char **own;
    (void)state;

    (void)test_add(&gossip, 'a', MEMBER_UP, 1, true);
    wire_put_gossip(&test_identity, &packed, &gossip);
    assert_true(gossip_pack_inflate(&bytes, buf_slice(&packed)));
    part = cluster__gossip__unpack(NULL, bytes.size, bytes.data);
    assert_non_null(part);
    own_count = part->n_app_versions;
    own = part->app_versions;
    for (uint32_t i = 0; i < MEMBER_TABLE_MAX + 1; i++) {
        uint32_t digits = i * 2654435761u; /* equal ones would compress too well */

        snprintf(texts[i], sizeof texts[i], "%u.%u", digits % 100,
                 digits / 100 % 100);
        versions[i] = i < own_count ? own[i] : texts[i];
    }
    part->app_versions = versions;
    part->n_app_versions = MEMBER_TABLE_MAX;
    assert_int_equal(read_raw(part), WIRE_OK);
    part->n_app_versions++;
    assert_int_equal(read_raw(part), WIRE_BEYOND);
    part->app_versions = own;
    part->n_app_versions = own_count;
    cluster__gossip__free_unpacked(part, NULL);
    gossip_fini(&gossip);
    buf_fini(&packed);
    buf_fini(&bytes);
    mem_free(texts);
    mem_free(versions);
}

#define LONG_ROLES 1000
#define LONG_ROLE_SIZE 4000 /* bytes */

/* Different texts of that size that do not compress too well. */
static char **texts_of(uint32_t count, size_t size)
{
    char **texts = mem_alloc(count * sizeof *texts);
    struct rng rng;

    rng_init(&rng, 1);
    for (uint32_t i = 0; i < count; i++) {
        texts[i] = mem_alloc(size + 1);
        for (size_t k = 0; k < size; k++)
            texts[i][k] = (char)('a' + rng_below(&rng, 26));
        (void)snprintf(texts[i], size, "%06u", i);
        texts[i][6] = '-';
    }
    return texts;
}

static void free_texts(char **texts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        mem_free(texts[i]);
    mem_free(texts);
}

/* Reads a gossip whose members all have these roles and version; nothing if it is refused. */
static enum verdict read_members(char **roles, uint32_t role_count,
                                 const char *version, uint32_t member_count,
                                 struct gossip *read)
{
    struct gossip gossip = { 0 }, known = { 0 };
    struct buf packed = { 0 };
    enum verdict verdict;

    for (uint32_t i = 0; i < member_count; i++) {
        struct node_id node = test_node("m", i + 1, i + 1);
        struct profile *profile =
            profile_new(&test_identity, &node, (const char *const *)roles,
                        role_count, version);

        (void)gossip_add(&gossip, profile, MEMBER_UP, 1);
        clock_increment(&gossip.clock, &profile->key);
        profile_drop(profile);
    }
    wire_put_gossip(&test_identity, &packed, &gossip);
    verdict = wire_get_gossip(&test_identity, buf_slice(&packed), &known, read);
    if (verdict != WIRE_OK)
        gossip_fini(read);
    buf_fini(&packed);
    gossip_fini(&gossip);
    return verdict;
}

/* A JVM's roles are unlimited in number and length; "dc-default" is one. */
static void roles_in_a_gossip_have_a_limit(void **state)
{
    char **roles = texts_of(MEMBER_ROLES_MAX, 20);
    char **longer = texts_of(2, MEMBER_ROLE_SIZE_MAX + 1);
    struct gossip read = { 0 };
    (void)state;

    assert_int_equal(
        read_members(roles, MEMBER_ROLES_MAX - 1, "1.0", 2, &read), WIRE_OK);
    for (uint32_t i = 0; i < 2; i++) {
        const struct profile *profile = read.members.items[i].profile;

        assert_int_equal(profile->traits->role_count, MEMBER_ROLES_MAX);
        assert_true(profile_has_role(profile, roles[0]));
        assert_true(profile_has_role(profile, roles[MEMBER_ROLES_MAX - 2]));
        assert_true(profile_has_role(profile, "dc-default"));
        assert_false(profile_has_role(profile, roles[MEMBER_ROLES_MAX - 1]));
    }
    gossip_fini(&read);
    assert_int_equal(read_members(roles, MEMBER_ROLES_MAX, "1.0", 2, &read),
                     WIRE_BEYOND);
    assert_int_equal(read_members(longer, 1, "1.0", 1, &read), WIRE_BEYOND);
    longer[1][MEMBER_ROLE_SIZE_MAX] = 0;
    assert_int_equal(read_members(longer + 1, 1, "1.0", 1, &read), WIRE_OK);
    assert_true(profile_has_role(read.members.items[0].profile, longer[1]));
    gossip_fini(&read);
    free_texts(roles, MEMBER_ROLES_MAX);
    free_texts(longer, 2);
}

static void bytes_of_a_version_have_a_limit(void **state)
{
    char text[VERSION_SIZE_MAX + 2];
    struct gossip read = { 0 };
    (void)state;

    memset(text, 'v', sizeof text);
    memcpy(text, "1.2.3-", 6);
    text[VERSION_SIZE_MAX] = 0;
    assert_int_equal(read_members(NULL, 0, text, 1, &read), WIRE_OK);
    assert_string_equal(read.members.items[0].profile->traits->app_version,
                        text);
    gossip_fini(&read);
    text[VERSION_SIZE_MAX] = 'v';
    text[VERSION_SIZE_MAX + 1] = 0;
    assert_int_equal(read_members(NULL, 0, text, 1, &read), WIRE_BEYOND);
}

/* A role occurs once in a gossip, but each member keeps it: at most 32 MB in all. */
static void the_roles_of_a_gossip_have_a_limit_together(void **state)
{
    char **roles = texts_of(LONG_ROLES, LONG_ROLE_SIZE);
    uint32_t most =
        MEMBER_DECODE_SIZE_MAX / (LONG_ROLES * (LONG_ROLE_SIZE + 8) + 100);
    struct gossip read = { 0 };
    (void)state;

    assert_int_equal(read_members(roles, LONG_ROLES, "1.0", most, &read),
                     WIRE_OK);
    assert_int_equal(read.members.count, most);
    gossip_fini(&read);
    assert_int_equal(read_members(roles, LONG_ROLES, "1.0", most + 1, &read),
                     WIRE_BEYOND);
    free_texts(roles, LONG_ROLES);
}

static void inflated_bytes_have_limits(void **state)
{
    struct buf bytes = { 0 };
    struct buf packed = { 0 };
    struct buf read = { 0 };
    struct rng rng;
    (void)state;

    rng_init(&rng, 1);
    (void)buf_reserve(&bytes, MEMBER_INFLATE_SIZE_MAX + 1);
    memset(bytes.data, 0, MEMBER_INFLATE_SIZE_MAX + 1);
    for (uint32_t i = 0; i < MEMBER_INFLATE_SIZE_MAX; i += 64) /* compresses about 20 to 1 */
        bytes.data[i] = (uint8_t)rng_below(&rng, 256);
    bytes.size = MEMBER_INFLATE_SIZE_MAX;
    gossip_pack_deflate(&packed, buf_slice(&bytes));
    assert_true(packed.size * MEMBER_INFLATE_RATIO_MAX > bytes.size);
    assert_true(gossip_pack_inflate(&read, buf_slice(&packed)));
    buf_clear(&packed);
    buf_clear(&read);
    bytes.size++;
    gossip_pack_deflate(&packed, buf_slice(&bytes));
    assert_false(gossip_pack_inflate(&read, buf_slice(&packed)));
    buf_fini(&bytes);
    buf_fini(&packed);
    buf_fini(&read);
}

static void memory_of_decoding_has_a_limit(void **state)
{
    enum { PIECE = 1024 };
    struct arena arena;
    size_t used = 0;
    (void)state;

    arena_init(&arena, MEMBER_DECODE_SIZE_MAX);
    assert_null(arena.allocator.alloc(&arena, MEMBER_DECODE_SIZE_MAX + 1));
    while (arena.allocator.alloc(&arena, PIECE))
        used += PIECE;
    assert_true(arena.size <= MEMBER_DECODE_SIZE_MAX);
    assert_true(used > MEMBER_DECODE_SIZE_MAX / 2);
    assert_true(used <= MEMBER_DECODE_SIZE_MAX);
    arena_fini(&arena);
}

static uint32_t take_all(struct outbox *outbox)
{
    struct outbound out;
    uint32_t count = 0;

    while (outbox_next(outbox, &out))
        count += slice_is(out.manifest, "GE");
    return count;
}

/* All that due steps send. Each stays within its limit. */
static uint32_t take_steps(struct member *member, struct outbox *outbox)
{
    uint32_t count = 0;

    while (!member_deadline(member)) {
        uint32_t taken;

        member_step(member, 2, 2, outbox);
        taken = take_all(outbox);
        assert_in_range(taken, 0, MEMBER_REPLIES_OF_STEP);
        count += taken;
    }
    return count;
}

enum { MEMBERS = MEMBER_REPLIES_MAX + 2 };

/* A member in a cluster with so many others. */
static struct member *among_members(struct node_id *nodes,
                                    struct outbox *outbox)
{
    struct member_settings settings = { 0 };
    struct member *member = member_new(&test_identity, &settings, 1, NULL);

    assert_true(member_join(member, 1, 1, &test_identity.node.address, outbox));
    for (uint32_t i = 0; i < MEMBERS; i++) {
        struct profile *profile = test_profile("z", i + 1, i + 2, NULL);

        gossip_add(&member->gossip, profile, MEMBER_UP, (int32_t)i + 2);
        nodes[i] = profile_node(profile);
        profile_drop(profile);
    }
    member_gossip_changed(member);
    member_settle(member, 1);
    (void)take_all(outbox);
    return member;
}

/* Replies for a large gossip wait for the next steps: one for each node, up to a limit. */
static void waiting_replies_have_a_limit(void **state)
{
    struct outbox outbox = { 0 };
    struct node_id nodes[MEMBERS];
    struct member *member = among_members(nodes, &outbox);
    (void)state;

    for (int twice = 0; twice < 2; twice++)
        for (uint32_t i = 0; i < MEMBER_REPLIES_MAX; i++)
            gossip_send_reply(member, &nodes[i], slice_text("/a"), twice, &outbox);
    assert_int_equal(take_all(&outbox), 0);
    assert_int_equal(member_deadline(member), 0);
    gossip_send_reply(member, &nodes[MEMBERS - 1], slice_text("/a"), false, &outbox);
    assert_int_equal(take_all(&outbox), 1);
    /* A removed node gets none. */
    (void)gossip_remove(&member->gossip, &nodes[0], 1);
    member_gossip_changed(member);
    assert_int_equal(take_steps(member, &outbox), MEMBER_REPLIES_MAX - 1);
    assert_true(member_deadline(member) > 2);
    outbox_fini(&outbox);
    member_free(member);
}

/* Each down is a version, but members get one, in several steps, even if another reply waits. */
static void members_downed_by_command_are_notified_in_steps(void **state)
{
    struct outbox outbox = { 0 };
    struct node_id nodes[MEMBERS];
    struct member *member = among_members(nodes, &outbox);
    struct outbound out;
    (void)state;

    for (uint32_t i = 0; i < MEMBERS; i++)
        assert_true(member_down(member, 2, &nodes[i].address, &outbox));
    assert_int_equal(take_all(&outbox), 0);
    for (int packed = 0; packed < 2; packed++) { /* names, then the rest */
        assert_true(member_step(member, 2, 2, &outbox));
        assert_int_equal(take_all(&outbox), 0);
    }
    assert_true(member_step(member, 2, 2, &outbox));
    assert_true(outbox_next(&outbox, &out));
    assert_true(node_equal(&out.to, &nodes[0]));
    assert_false(out.repeats);
    assert_int_equal(1 + take_all(&outbox) + take_steps(member, &outbox),
                     MEMBERS);
    outbox_fini(&outbox);
    member_free(member);
}

/* The resolver's downs are one new version. Reachable members get it in several steps. */
static void downing_many_members_is_one_change(void **state)
{
    struct outbox outbox = { 0 };
    struct node_id nodes[MEMBERS + 1];
    struct member *member = among_members(nodes, &outbox);
    int64_t before = clock_get(&member->gossip.clock, &member->self->key);
    (void)state;

    nodes[MEMBERS] = (struct node_id){ { "nobody", 1 }, 1 };
    (void)reachability_change(&member->gossip.reachability, member->self,
                              member->gossip.members.items[MEMBERS - 1].profile,
                              UNREACHABLE);
    assert_int_equal(member_down_decided(member, 2, nodes, MEMBERS + 1, &outbox),
                     MEMBERS);
    assert_true(clock_get(&member->gossip.clock, &member->self->key) ==
                before + 1);
    for (uint32_t i = 0; i < MEMBERS; i++)
        assert_int_equal(member_find(member, &nodes[i])->status, MEMBER_DOWN);
    assert_int_equal(take_all(&outbox), 0);
    assert_int_equal(take_steps(member, &outbox), MEMBERS - 1);
    assert_int_equal(member_down_decided(member, 2, nodes, 2, &outbox), 2);
    assert_true(clock_get(&member->gossip.clock, &member->self->key) ==
                before + 1); /* already down */
    outbox_fini(&outbox);
    member_free(member);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_configuration_to_check_has_limits),
        cmocka_unit_test(roles_of_a_member_have_a_limit),
        cmocka_unit_test(the_oldest_tombstone_is_dropped),
        cmocka_unit_test(exiting_confirmations_have_a_limit),
        cmocka_unit_test(joins_that_wait_have_a_limit),
        cmocka_unit_test(waiting_replies_have_a_limit),
        cmocka_unit_test(members_downed_by_command_are_notified_in_steps),
        cmocka_unit_test(downing_many_members_is_one_change),
        cmocka_unit_test(dropped_tombstones_are_counted),
        cmocka_unit_test(a_threshold_of_suspicion_has_a_fraction),
        cmocka_unit_test(observations_of_a_gossip_have_a_limit),
        cmocka_unit_test(texts_of_a_gossip_have_a_limit),
        cmocka_unit_test(roles_in_a_gossip_have_a_limit),
        cmocka_unit_test(bytes_of_a_version_have_a_limit),
        cmocka_unit_test(the_roles_of_a_gossip_have_a_limit_together),
        cmocka_unit_test(inflated_bytes_have_limits),
        cmocka_unit_test(memory_of_decoding_has_a_limit),
    };

    return cmocka_run_group_tests_name("member_limits", tests, NULL, NULL);
}
