/* Tests large gossips in two parts: they are the same message as in one, and only the tail is read
 * if the head is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/limits.h"
#include "base/rng.h"
#include "member/gossip_cache.h"
#include "member/wire_parts.h"
#include "values.h"

#define MEMBERS 50

static void fill(struct gossip *gossip, uint32_t members)
{
    struct node_id gone = test_node("gone", 1, 5);

    for (uint32_t i = 0; i < members; i++) {
        char host[16];
        struct profile *profile;

        (void)snprintf(host, sizeof host, "host%u", i);
        profile = test_profile(host, 9, 1000 + i, "store");
        (void)gossip_add(gossip, profile, MEMBER_UP, (int32_t)i + 1);
        if (i % 7 == 0)
            clock_increment(&gossip->clock, &profile->key);
        profile_drop(profile);
    }
    (void)gossip_add_tombstone(gossip, &gone, 123456789);
    (void)reachability_change(
        &gossip->reachability, gossip->members.items[1].profile,
        gossip->members.items[2].profile, UNREACHABLE);
}

static void put(struct buf *packed, const struct gossip *gossip,
                struct gossip_cache *head)
{
    buf_clear(packed);
    gossip_cache_put_gossip(&test_identity, packed, gossip, head);
}

/* A gossip in two parts. */
struct parts {
    struct gossip gossip;
    struct gossip_cache head;
    struct buf packed;
    bool seen[MEMBERS];
};

static void parts_make(struct parts *parts)
{
    *parts = (struct parts){ 0 };
    fill(&parts->gossip, MEMBERS);
    put(&parts->packed, &parts->gossip, &parts->head);
}

static void parts_drop(struct parts *parts)
{
    gossip_cache_fini(&parts->head);
    gossip_fini(&parts->gossip);
    buf_fini(&parts->packed);
}

static bool get_seen(struct parts *parts, struct slice packed)
{
    return gossip_cache_get_seen(packed, &parts->gossip, &parts->head, parts->seen);
}

static bool same(const struct gossip *left, const struct gossip *right)
{
    struct buf a = { 0 };
    struct buf b = { 0 };
    bool equal;

    wire_put_gossip(&test_identity, &a, left);
    wire_put_gossip(&test_identity, &b, right);
    equal = slice_equal(buf_slice(&a), buf_slice(&b));
    buf_fini(&a);
    buf_fini(&b);
    return equal;
}

/* As read without knowledge of parts. */
static void expect_reads(const struct buf *packed, const struct gossip *gossip)
{
    struct gossip none = { 0 };
    struct gossip read = { 0 };

    assert_int_equal(
        wire_get_gossip(&test_identity, buf_slice(packed), &none, &read),
        WIRE_OK);
    assert_true(same(gossip, &read));
    gossip_fini(&read);
}

static void a_cached_head_and_a_tail_give_the_same_gossip(void **state)
{
    static const uint32_t sizes[] = { 1, GOSSIP_CACHE_MEMBERS_MIN - 1,
                                      GOSSIP_CACHE_MEMBERS_MIN, MEMBERS, 1000 };
    (void)state;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct gossip gossip = { 0 };
        struct gossip_cache head = { 0 };
        struct buf packed = { 0 };

        if (sizes[i] == 1)
            (void)test_add(&gossip, 'a', MEMBER_UP, 1, true);
        else
            fill(&gossip, sizes[i]);
        put(&packed, &gossip, &head);
        assert_int_equal(head.bytes.size > 0, sizes[i] >= GOSSIP_CACHE_MEMBERS_MIN);
        expect_reads(&packed, &gossip);
        for (uint32_t k = 0; k < gossip.members.count; k += 3)
            gossip.members.items[k].seen = true;
        put(&packed, &gossip, &head); /* with the existing head */
        expect_reads(&packed, &gossip);
        gossip_cache_fini(&head);
        gossip_fini(&gossip);
        buf_fini(&packed);
    }
}

static void the_same_version_is_read_by_its_tail(void **state)
{
    struct gossip gossip = { 0 };
    struct gossip_cache head = { 0 };
    struct gossip_cache other = { 0 };
    struct buf packed = { 0 };
    bool seen[MEMBERS];
    struct rng rng;
    (void)state;

    rng_init(&rng, 1);
    fill(&gossip, MEMBERS);
    for (int round = 0; round < 20; round++) {
        for (uint32_t i = 0; i < MEMBERS; i++)
            gossip.members.items[i].seen = rng_below(&rng, 2);
        put(&packed, &gossip, &head);
        assert_true(
            gossip_cache_get_seen(buf_slice(&packed), &gossip, &head, seen));
        for (uint32_t i = 0; i < MEMBERS; i++)
            assert_int_equal(seen[i], gossip.members.items[i].seen);
    }
    /* another version, and one without a head */
    clock_increment(&gossip.clock, &gossip.members.items[3].profile->key);
    put(&packed, &gossip, &other);
    assert_false(gossip_cache_get_seen(buf_slice(&packed), &gossip, &head, seen));
    buf_clear(&packed);
    wire_put_gossip(&test_identity, &packed, &gossip);
    assert_false(gossip_cache_get_seen(buf_slice(&packed), &gossip, &other, seen));
    gossip_cache_fini(&head);
    gossip_cache_fini(&other);
    gossip_fini(&gossip);
    buf_fini(&packed);
}

static void other_observations_are_read_whole(void **state)
{
    struct gossip_cache other = { 0 };
    struct buf packed = { 0 };
    struct gossip *gossip;
    struct parts parts;
    (void)state;

    parts_make(&parts);
    gossip = &parts.gossip;
    (void)reachability_change(
        &gossip->reachability, gossip->members.items[1].profile,
        gossip->members.items[3].profile, UNREACHABLE);
    put(&packed, gossip, &other);
    assert_false(get_seen(&parts, buf_slice(&packed)));
    expect_reads(&packed, gossip);
    gossip_cache_fini(&other);
    buf_fini(&packed);
    parts_drop(&parts);
}

/* A tail may have only the seen set: observations would change the head. */
static void a_tail_with_observations_is_read_whole(void **state)
{
    struct buf tail = { 0 };
    struct buf packed = { 0 };
    struct parts parts;
    uint32_t crc;
    (void)state;

    parts_make(&parts);
    gossip_write_seen(&tail, &parts.gossip);
    gossip_write_observations(&tail, &parts.gossip);
    crc = (uint32_t)crc32(crc32(0, NULL, 0), tail.data, (uInt)tail.size);
    buf_put(&packed, parts.packed.data, 10); /* gzip's header */
    buf_put_slice(&packed, buf_slice(&parts.head.bytes));
    gossip_pack_part(&packed, buf_slice(&tail), 0, true);
    buf_put_u32(&packed, (uint32_t)crc32_combine(parts.head.crc, crc,
                                                 (z_off_t)tail.size));
    buf_put_u32(&packed, (uint32_t)(parts.head.size + tail.size));
    assert_false(get_seen(&parts, buf_slice(&packed)));
    buf_fini(&tail);
    buf_fini(&packed);
    parts_drop(&parts);
}

static void a_received_head_is_reused(void **state)
{
    struct gossip gossip = { 0 };
    struct gossip none = { 0 };
    struct gossip read = { 0 };
    struct gossip_cache head = { 0 };
    struct gossip_cache taken = { 0 };
    struct gossip_cache_opened opened = { .bytes = { 0 } };
    struct buf packed = { 0 };
    struct buf again = { 0 };
    (void)state;

    fill(&gossip, MEMBERS);
    put(&packed, &gossip, &head);
    assert_int_equal(gossip_cache_get_gossip(&test_identity, buf_slice(&packed), &none,
                                     &taken, &read, &opened),
                     WIRE_OK);
    gossip_cache_take(&test_identity, buf_slice(&packed), &opened, &read, &taken);
    assert_true(slice_equal(buf_slice(&head.bytes), buf_slice(&taken.bytes)));
    assert_int_equal(head.crc, taken.crc);
    put(&again, &read, &taken);
    assert_true(slice_equal(buf_slice(&packed), buf_slice(&again)));
    /* Not from another gossip, and not from one without parts. */
    clock_increment(&read.clock, &read.members.items[3].profile->key);
    gossip_cache_take(&test_identity, buf_slice(&packed), &opened, &read, &taken);
    assert_int_equal(taken.bytes.size, 0);
    gossip_cache_opened_fini(&opened);
    gossip_fini(&read);
    buf_clear(&packed);
    wire_put_gossip(&test_identity, &packed, &gossip);
    assert_int_equal(gossip_cache_get_gossip(&test_identity, buf_slice(&packed), &none,
                                     &taken, &read, &opened),
                     WIRE_OK);
    gossip_cache_take(&test_identity, buf_slice(&packed), &opened, &read, &taken);
    assert_int_equal(taken.bytes.size, 0);
    gossip_cache_opened_fini(&opened);
    gossip_fini(&read);
    gossip_fini(&gossip);
    gossip_cache_fini(&head);
    gossip_cache_fini(&taken);
    buf_fini(&packed);
    buf_fini(&again);
}

/* Reads with the names of `parts` and without. Both must agree. */
static enum verdict read_both(const struct parts *parts, struct slice packed,
                              const struct gossip *expected)
{
    struct gossip read = { 0 };
    struct gossip plain = { 0 };
    struct gossip_cache_opened opened = { .bytes = { 0 } };
    enum verdict verdict =
        gossip_cache_get_gossip(&test_identity, packed, &parts->gossip, &parts->head,
                        &read, &opened);

    assert_int_equal(verdict, wire_get_gossip(&test_identity, packed,
                                              &parts->gossip, &plain));
    if (verdict == WIRE_OK) {
        assert_true(same(&read, &plain));
        assert_true(!expected || same(&read, expected));
        for (uint32_t i = 0; i < read.members.count; i++)
            if (i < parts->gossip.members.count && expected)
                assert_ptr_equal(read.members.items[i].profile,
                                 expected->members.items[i].profile);
    }
    gossip_cache_opened_fini(&opened);
    gossip_fini(&read);
    gossip_fini(&plain);
    return verdict;
}

/* Opened in one step and read in a later one: as opened if the names are still known, otherwise
 * again. */
static void an_opened_gossip_is_read_later(void **state)
{
    struct gossip_cache none = { 0 };
    struct parts parts;
    (void)state;

    parts_make(&parts);
    for (int opened_known = 0; opened_known < 2; opened_known++)
        for (int read_known = 0; read_known < 2; read_known++) {
            struct gossip read = { 0 };
            struct gossip_cache_opened opened = { .bytes = { 0 } };
            const void *bytes;
            size_t size;

            gossip_cache_open(buf_slice(&parts.packed), opened_known ? &parts.head : &none,
                      &opened);
            assert_true(opened.is_open);
            bytes = opened.bytes.data;
            size = opened.bytes.size;
            assert_int_equal(gossip_cache_get_gossip(&test_identity, buf_slice(&parts.packed),
                                             &parts.gossip, read_known ? &parts.head : &none,
                                             &read, &opened),
                             WIRE_OK);
            assert_true(same(&read, &parts.gossip));
            if (opened_known && !read_known)
                assert_true(opened.bytes.size > size);
            else
                assert_ptr_equal(opened.bytes.data, bytes);
            gossip_cache_opened_fini(&opened);
            gossip_fini(&read);
        }
    parts_drop(&parts);
}

static void known_names_are_not_read(void **state)
{
    struct node_id late = test_node("late", 1, 77);
    struct gossip_cache other = { 0 };
    struct buf packed = { 0 };
    struct buf names = { 0 };
    struct parts parts;
    (void)state;

    parts_make(&parts);
    buf_put_slice(&names, buf_slice(&parts.head.names.bytes));
    /* another version of the same nodes: the names' bytes are equal */
    parts.gossip.members.items[7].status = MEMBER_LEAVING;
    parts.gossip.members.items[9].seen = true;
    clock_increment(&parts.gossip.clock,
                    &parts.gossip.members.items[3].profile->key);
    put(&packed, &parts.gossip, &other);
    assert_true(
        slice_equal(buf_slice(&names), buf_slice(&other.names.bytes)));
    assert_int_equal(read_both(&parts, buf_slice(&packed), &parts.gossip),
                     WIRE_OK);
    expect_reads(&packed, &parts.gossip);
    gossip_cache_clear(&parts.head); /* keeps the names */
    assert_int_equal(read_both(&parts, buf_slice(&packed), &parts.gossip),
                     WIRE_OK);
    put(&packed, &parts.gossip, &parts.head);
    assert_true(
        slice_equal(buf_slice(&names), buf_slice(&parts.head.names.bytes)));
    expect_reads(&packed, &parts.gossip);
    /* other nodes: one is removed, and one has a tombstone instead of another */
    (void)gossip_remove(&parts.gossip,
                        PROFILE_NODE(parts.gossip.members.items[5].profile), 1);
    gossip_cache_clear(&other);
    put(&packed, &parts.gossip, &other);
    expect_reads(&packed, &parts.gossip);
    assert_int_equal(read_both(&parts, buf_slice(&packed), &parts.gossip),
                     WIRE_OK);
    parts.gossip.tombstones.items[1].node = late;
    gossip_cache_clear(&other);
    put(&packed, &parts.gossip, &other);
    expect_reads(&packed, &parts.gossip);
    gossip_cache_fini(&other);
    buf_fini(&packed);
    buf_fini(&names);
    parts_drop(&parts);
}

static void broken_bytes_behind_known_names_are_refused(void **state)
{
    struct gossip_cache other = { 0 };
    struct parts parts;
    struct slice packed;
    (void)state;

    parts_make(&parts);
    clock_increment(&parts.gossip.clock,
                    &parts.gossip.members.items[3].profile->key);
    put(&parts.packed, &parts.gossip, &other);
    packed = buf_slice(&parts.packed);
    for (size_t at = 0; at < packed.size; at++) {
        parts.packed.data[at] ^= (uint8_t)(1 + at % 255);
        (void)read_both(&parts, packed, NULL);
        parts.packed.data[at] ^= (uint8_t)(1 + at % 255);
    }
    for (size_t size = 0; size < packed.size; size++)
        assert_int_not_equal(
            read_both(&parts, slice_of(packed.data, size), NULL), WIRE_OK);
    gossip_cache_fini(&other);
    parts_drop(&parts);
}

/* A gossip with broken bytes is not read as our version; at most it adds to the seen set. */
static void broken_bytes_are_refused(void **state)
{
    struct parts parts;
    struct slice packed;
    (void)state;

    parts_make(&parts);
    packed = buf_slice(&parts.packed);
    for (size_t at = 0; at < packed.size; at++) {
        parts.packed.data[at] ^= (uint8_t)(1 + at % 255);
        assert_false(get_seen(&parts, packed));
        parts.packed.data[at] ^= (uint8_t)(1 + at % 255);
    }
    for (size_t size = 0; size < packed.size; size++)
        assert_false(get_seen(&parts, slice_of(packed.data, size)));
    assert_true(get_seen(&parts, packed));
    parts_drop(&parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cached_head_and_a_tail_give_the_same_gossip),
        cmocka_unit_test(the_same_version_is_read_by_its_tail),
        cmocka_unit_test(other_observations_are_read_whole),
        cmocka_unit_test(a_tail_with_observations_is_read_whole),
        cmocka_unit_test(a_received_head_is_reused),
        cmocka_unit_test(an_opened_gossip_is_read_later),
        cmocka_unit_test(known_names_are_not_read),
        cmocka_unit_test(broken_bytes_behind_known_names_are_refused),
        cmocka_unit_test(broken_bytes_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
