/* Checks which values that do not merge here stay side by side, and which contain others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/limits.h"
#include "ddata/message.h"
#include "ddata/opaque.h"
#include "world.h"

#define SELF 'z'

/* A value of a member, by its letter. */
static struct envelope value_of(const char *text, char letter,
                                enum origin_way way, uint64_t number)
{
    struct envelope envelope = { 0 };
    struct node_id node = node_of(letter);

    check(dd_decode((struct dd_other){ .serializer = 99, .bytes = slice_text(text) },
                    &envelope.value) == DD_OK);
    envelope.origin = origin_new(&node, way);
    envelope.origin->number = number;
    envelope.origin->size = strlen(text);
    return envelope;
}

static enum envelope_merged add(struct envelope *here, struct envelope fresh)
{
    enum envelope_merged merged = envelope_merge(here, &fresh, 0);

    envelope_fini(&fresh);
    return merged;
}

static enum envelope_merged state(struct envelope *here, const char *text, char letter)
{
    return add(here, value_of(text, letter, ORIGIN_STATE, 0));
}

/* The texts of all values, the last one first. */
static const char *texts(const struct envelope *envelope)
{
    static char line[4096];
    struct buf unused = { 0 };

    line[0] = 0;
    for (uint32_t i = 0; i < opaque_count(envelope); i++) {
        struct slice bytes = dd_encode(opaque_look(envelope, i)->value, &unused).bytes;

        (void)snprintf(line + strlen(line), sizeof line - strlen(line), "%s%.*s",
                       i ? " " : "", (int)bytes.size, (const char *)bytes.data);
    }
    return line;
}

static void a_later_state_of_a_member_replaces_its_earlier_values(void **nothing)
{
    struct envelope here = value_of("a1", 'a', ORIGIN_STATE, 0);
    (void)nothing;

    assert_int_equal(state(&here, "a2", 'a'), ENVELOPE_CHANGED);
    assert_string_equal(texts(&here), "a2");
    assert_int_equal(add(&here, value_of("a3", 'a', ORIGIN_WRITE, 7)), ENVELOPE_CHANGED);
    assert_int_equal(add(&here, value_of("a4", 'a', ORIGIN_READ, 0)), ENVELOPE_CHANGED);
    assert_string_equal(texts(&here), "a4 a3 a2"); /* each may be the latest */
    assert_int_equal(state(&here, "a5", 'a'), ENVELOPE_CHANGED);
    assert_string_equal(texts(&here), "a5");
    envelope_fini(&here);
}

static void states_of_two_members_stay_side_by_side(void **nothing)
{
    struct envelope here = value_of("a1", 'a', ORIGIN_STATE, 0);
    (void)nothing;

    assert_int_equal(state(&here, "b1", 'b'), ENVELOPE_CHANGED);
    assert_string_equal(texts(&here), "b1 a1");
    assert_int_equal(state(&here, "a2", 'a'), ENVELOPE_CHANGED);
    assert_string_equal(texts(&here), "a2 b1");
    assert_int_equal(state(&here, "b1", 'b'), ENVELOPE_SAME);
    assert_string_equal(texts(&here), "a2 b1");
    envelope_fini(&here);
}

/* A write that waited for its second round of members contains an old state. */
static void a_late_write_does_not_replace_a_later_one(void **nothing)
{
    struct envelope here = value_of("a5", 'a', ORIGIN_WRITE, 5);
    (void)nothing;

    assert_int_equal(add(&here, value_of("a4", 'a', ORIGIN_WRITE, 4)), ENVELOPE_SAME);
    assert_string_equal(texts(&here), "a5");
    assert_int_equal(add(&here, value_of("a6", 'a', ORIGIN_WRITE, 6)), ENVELOPE_CHANGED);
    assert_string_equal(texts(&here), "a6");
    /* of another member, or without a number, it is not known which is later */
    assert_int_equal(add(&here, value_of("b1", 'b', ORIGIN_WRITE, 9)), ENVELOPE_CHANGED);
    assert_int_equal(add(&here, value_of("a", 'a', ORIGIN_WRITE, 0)), ENVELOPE_CHANGED);
    assert_string_equal(texts(&here), "a b1 a6");
    /* numbers count also when another member relays them */
    assert_int_equal(add(&here, value_of("b0", 'b', ORIGIN_RELAYED, 8)), ENVELOPE_SAME);
    assert_int_equal(add(&here, value_of("b2", 'b', ORIGIN_RELAYED, 10)), ENVELOPE_CHANGED);
    assert_string_equal(texts(&here), "b2 a a6");
    envelope_fini(&here);
}

/* A write and a read do not show what else their member has. */
static void only_a_state_replaces_a_state(void **nothing)
{
    struct envelope here = value_of("a1", 'a', ORIGIN_STATE, 0);
    (void)nothing;

    assert_int_equal(add(&here, value_of("a2", 'a', ORIGIN_READ, 0)), ENVELOPE_CHANGED);
    assert_int_equal(add(&here, value_of("a3", 'a', ORIGIN_READ, 0)), ENVELOPE_CHANGED);
    assert_int_equal(add(&here, value_of("a4", 'a', ORIGIN_WRITE, 3)), ENVELOPE_CHANGED);
    assert_int_equal(add(&here, value_of("a5", 'a', ORIGIN_RELAYED, 0)), ENVELOPE_CHANGED);
    assert_string_equal(texts(&here), "a5 a4 a3 a1");
    assert_int_equal(state(&here, "a6", 'a'), ENVELOPE_CHANGED);
    assert_string_equal(texts(&here), "a6 a5"); /* the relayed one may be later */
    envelope_fini(&here);
}

/* A replicator that failed begins again without values. */
static void a_state_with_fewer_versions_replaces_nothing(void **nothing)
{
    struct envelope here = value_of("a1", 'a', ORIGIN_STATE, 0);
    struct envelope fresh = value_of("a0", 'a', ORIGIN_STATE, 0);
    struct node_id a = node_of('a');
    (void)nothing;

    versions_set(&here.versions, &a, 5);
    versions_set(&fresh.versions, &a, 4);
    assert_int_equal(add(&here, fresh), ENVELOPE_CHANGED);
    assert_string_equal(texts(&here), "a0 a1");
    fresh = value_of("a2", 'a', ORIGIN_STATE, 0);
    versions_set(&fresh.versions, &a, 6);
    assert_int_equal(add(&here, fresh), ENVELOPE_CHANGED);
    assert_string_equal(texts(&here), "a2");
    envelope_fini(&here);
}

static struct envelope confirming(const char *text, char letter,
                                  enum origin_way way, int64_t version)
{
    struct envelope fresh = value_of(text, letter, way, way == ORIGIN_WRITE);

    fresh.origin->confirms = version;
    return fresh;
}

static void a_value_goes_when_a_member_confirms_that_it_has_merged_it(void **nothing)
{
    struct node_id b = node_of('b'), c = node_of('c');
    (void)nothing;

    for (int way = ORIGIN_STATE; way <= ORIGIN_RELAYED; way++) {
        struct envelope here = value_of("a1", 'a', ORIGIN_STATE, 0);
        bool is_proof = way == ORIGIN_STATE || way == ORIGIN_WRITE;

        origin_show(here.origin, b.uid, 7);
        origin_show(here.origin, c.uid, 8);
        /* another version, or one that was sent to another member */
        assert_int_equal(add(&here, confirming("b1", 'b', (enum origin_way)way, 6)), ENVELOPE_CHANGED);
        assert_int_equal(add(&here, confirming("b2", 'b', (enum origin_way)way, 8)),
                         way == ORIGIN_WRITE ? ENVELOPE_SAME : ENVELOPE_CHANGED);
        assert_non_null(strstr(texts(&here), "a1"));
        envelope_fini(&here);

        here = value_of("a1", 'a', ORIGIN_STATE, 0);
        origin_show(here.origin, b.uid, 7);
        assert_int_equal(add(&here, confirming("b3", 'b', (enum origin_way)way, 7)), ENVELOPE_CHANGED);
        assert_string_equal(texts(&here), is_proof ? "b3" : "b3 a1");
        envelope_fini(&here);
    }
}

static void the_last_members_that_were_sent_a_value_are_known(void **nothing)
{
    struct node_id node = node_of('a');
    struct origin *origin = origin_new(&node, ORIGIN_STATE);
    (void)nothing;

    for (uint64_t uid = 1; uid <= SIBLING_SHOWN_MAX + 2; uid++)
        origin_show(origin, uid, (int64_t)uid);
    origin_show(origin, 9, 99);
    assert_int_equal(origin->shown.count, SIBLING_SHOWN_MAX);
    assert_int_equal(origin->shown.items[0].uid, 3);
    assert_int_equal(origin->shown.items[SIBLING_SHOWN_MAX - 1].version, 99);
    origin_free(origin);
}

static void equal_values_are_one(void **nothing)
{
    struct envelope here = value_of("x", 'a', ORIGIN_WRITE, 3);
    struct node_id removed = node_of('r'), b = node_of('b');
    struct envelope fresh;
    (void)nothing;

    here.origin->is_acknowledged = true;
    assert_int_equal(state(&here, "x", 'b'), ENVELOPE_SAME);
    assert_true(node_equal(&here.origin->node, &b)); /* the next state of b contains it */
    assert_true(here.origin->is_acknowledged);
    assert_int_equal(state(&here, "y", 'b'), ENVELOPE_CHANGED);
    assert_string_equal(texts(&here), "y");
    assert_true(here.origin->is_acknowledged);
    /* a relayed one leaves the origin, which is known better */
    assert_int_equal(add(&here, value_of("y", 'c', ORIGIN_RELAYED, 0)), ENVELOPE_SAME);
    assert_true(node_equal(&here.origin->node, &b));
    /* markers are merged */
    fresh = value_of("y", 'b', ORIGIN_STATE, 0);
    pruning_put(&fresh.pruning, &removed)->owner = b;
    assert_int_equal(add(&here, fresh), ENVELOPE_MARKED);
    assert_int_equal(here.pruning.marks.count, 1);
    envelope_fini(&here);
}

/* A relaying member adds its own version, which the origin has not seen. */
static void a_relayed_value_leaves_the_versions_of_its_origin(void **nothing)
{
    struct envelope here = value_of("a1", 'a', ORIGIN_STATE, 0);
    struct envelope fresh = value_of("a1", 'a', ORIGIN_RELAYED, 0);
    struct node_id a = node_of('a'), b = node_of('b');
    (void)nothing;

    versions_set(&here.versions, &a, 5);
    versions_set(&fresh.versions, &a, 5);
    versions_set(&fresh.versions, &b, 9);
    assert_int_equal(add(&here, fresh), ENVELOPE_SAME);
    assert_int_equal(versions_get(&here.versions, &b), 0);
    fresh = value_of("a2", 'a', ORIGIN_STATE, 0);
    versions_set(&fresh.versions, &a, 6);
    assert_int_equal(add(&here, fresh), ENVELOPE_CHANGED);
    assert_string_equal(texts(&here), "a2");
    /* when the origin sends the relayed value itself, its versions count */
    fresh = value_of("c1", 'c', ORIGIN_RELAYED, 0);
    versions_set(&fresh.versions, &b, 9);
    assert_int_equal(add(&here, fresh), ENVELOPE_CHANGED);
    assert_int_equal(state(&here, "c1", 'c'), ENVELOPE_SAME);
    assert_int_equal(state(&here, "c2", 'c'), ENVELOPE_CHANGED);
    assert_string_equal(texts(&here), "c2 a2");
    envelope_fini(&here);
}

static void a_relayed_value_is_not_needed_while_its_origin_is_there(void **nothing)
{
    struct envelope here = value_of("a2", 'a', ORIGIN_STATE, 0);
    struct envelope fresh = value_of("a1", 'a', ORIGIN_RELAYED, 0);
    (void)nothing;

    fresh.origin->may_skip = true;
    assert_int_equal(add(&here, fresh), ENVELOPE_SAME);
    assert_string_equal(texts(&here), "a2");
    fresh = value_of("b1", 'b', ORIGIN_RELAYED, 0); /* the only one of b */
    fresh.origin->may_skip = true;
    assert_int_equal(add(&here, fresh), ENVELOPE_CHANGED);
    assert_string_equal(texts(&here), "b1 a2");
    /* an old state of this node, in what is here */
    here.origin->has_own = true;
    fresh = value_of("z1", SELF, ORIGIN_RELAYED, 0);
    fresh.origin->is_echo = true;
    assert_int_equal(add(&here, fresh), ENVELOPE_SAME);
    assert_string_equal(texts(&here), "b1 a2");
    envelope_fini(&here);
}

/* ---- limits ---- */

static struct envelope numbered(uint32_t number, enum origin_way way)
{
    struct envelope fresh;
    char text[16];

    (void)snprintf(text, sizeof text, "%u", (unsigned)number);
    fresh = value_of(text, 'a', way, 0);
    fresh.origin->node.uid = 1000 + number;
    return fresh;
}

static void the_limit_drops_what_others_have_and_refuses_the_rest(void **nothing)
{
    struct envelope here = numbered(0, ORIGIN_RELAYED);
    struct envelope fresh;
    (void)nothing;

    for (uint32_t i = 1; i < SIBLINGS_MAX; i++)
        assert_int_equal(add(&here, numbered(i, i < 3 ? ORIGIN_RELAYED : ORIGIN_STATE)), ENVELOPE_CHANGED);
    /* of the relayed ones the oldest goes first, unless a writer was told of it */
    here.siblings.items[0].origin->is_acknowledged = true;
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(add(&here, numbered(SIBLINGS_MAX + i, ORIGIN_STATE)), ENVELOPE_CHANGED);
    assert_int_equal(opaque_count(&here), SIBLINGS_MAX);
    assert_int_equal(here.siblings.items[0].origin->node.uid, 1000);
    assert_int_equal(here.siblings.items[1].origin->node.uid, 1003);
    assert_int_equal(add(&here, numbered(SIBLINGS_MAX + 2, ORIGIN_STATE)), ENVELOPE_FULL);
    assert_int_equal(opaque_count(&here), SIBLINGS_MAX);
    /* a member that is here already always has room */
    fresh = numbered(5, ORIGIN_STATE);
    dd_free(fresh.value);
    check(dd_decode((struct dd_other){ .serializer = 99, .bytes = slice_text("new") },
                    &fresh.value) == DD_OK);
    assert_int_equal(add(&here, fresh), ENVELOPE_CHANGED);
    assert_int_equal(opaque_count(&here), SIBLINGS_MAX);
    envelope_fini(&here);
}

static void the_bytes_of_all_values_are_limited(void **nothing)
{
    struct envelope here = numbered(0, ORIGIN_STATE);
    struct envelope fresh = numbered(1, ORIGIN_READ);
    (void)nothing;

    here.origin->size = SIBLINGS_SIZE_MAX - 100;
    fresh.origin->size = 100;
    assert_int_equal(add(&here, fresh), ENVELOPE_CHANGED);
    fresh = numbered(2, ORIGIN_STATE);
    fresh.origin->size = 101;
    assert_int_equal(add(&here, fresh), ENVELOPE_FULL);
    fresh = numbered(2, ORIGIN_STATE);
    fresh.origin->size = 100;
    assert_int_equal(add(&here, fresh), ENVELOPE_CHANGED);
    assert_string_equal(texts(&here), "2 0");
    assert_int_equal(opaque_size(&here), SIBLINGS_SIZE_MAX);
    envelope_fini(&here);
}

/* ---- maps and other types ---- */

static struct envelope map_of(const char *custom, char letter)
{
    struct envelope envelope = { .value = dd_new(DD_ORMAP) };
    struct dd_writer writer = writer_of(letter);
    struct dd_element key = dd_text("k"), other = dd_text("flag");
    struct node_id node = node_of(letter);
    struct dd_value *inside;

    check(dd_ormap_put(envelope.value, &writer, &other, dd_new(DD_FLAG)));
    if (custom) {
        check(dd_decode((struct dd_other){ .serializer = 99, .bytes = slice_text(custom) },
                        &inside) == DD_OK);
        check(dd_ormap_put(envelope.value, &writer, &key, inside));
    }
    dd_reset_delta(envelope.value);
    envelope.origin = origin_new(&node, ORIGIN_STATE);
    envelope.origin->size = 100;
    return envelope;
}

static void a_map_with_a_custom_value_is_kept_as_a_whole(void **nothing)
{
    struct envelope here = map_of(NULL, 'a');
    (void)nothing;

    assert_null(dd_find_opaque(here.value));
    assert_int_equal(add(&here, map_of("one", 'b')), ENVELOPE_CHANGED);
    assert_int_equal(opaque_count(&here), 2);
    assert_false(opaque_end(&here));
    assert_int_equal(add(&here, map_of("two", 'b')), ENVELOPE_CHANGED);
    assert_int_equal(opaque_count(&here), 2);
    assert_int_equal(add(&here, map_of(NULL, 'b')), ENVELOPE_CHANGED);
    assert_int_equal(opaque_count(&here), 2);
    envelope_fini(&here);

    here = map_of("one", 'a');
    assert_int_equal(add(&here, map_of(NULL, 'a')), ENVELOPE_CHANGED);
    assert_true(opaque_end(&here)); /* it merges again */
    assert_null(here.origin);
    envelope_fini(&here);
}

static void another_type_is_refused(void **nothing)
{
    struct envelope here = value_of("a1", 'a', ORIGIN_STATE, 0);
    struct envelope fresh = map_of("one", 'b');
    (void)nothing;

    assert_int_equal(envelope_merge(&here, &fresh, 0), ENVELOPE_REFUSED);
    envelope_fini(&fresh);
    assert_string_equal(texts(&here), "a1");
    fresh = (struct envelope){ .value = dd_new(DD_DELETED) };
    assert_int_equal(envelope_merge(&here, &fresh, 0), ENVELOPE_CHANGED);
    assert_true(envelope_is_deleted(&here));
    envelope_fini(&fresh);
    envelope_fini(&here);
}

/* This node's own change of a map. */
static void a_change_replaces_the_value_that_it_continues(void **nothing)
{
    struct envelope here = map_of("one", 'a');
    struct node_id self = node_of(SELF);
    struct dd_value *changed;
    (void)nothing;

    here.origin->has_own = true;
    assert_int_equal(add(&here, map_of("two", 'b')), ENVELOPE_CHANGED);
    assert_ptr_equal(opaque_base(&here), &here.siblings.items[0]);
    changed = dd_copy(opaque_base(&here)->value);
    opaque_renew(&here, opaque_base(&here), changed, origin_own(&self));
    assert_int_equal(opaque_count(&here), 2);
    assert_ptr_equal(here.value, changed);
    assert_true(here.origin->is_own);
    assert_ptr_equal(opaque_base(&here), &here);
    envelope_fini(&here);
}

/* ---- encoding ---- */

static void all_values_are_stored_with_their_origins(void **nothing)
{
    struct envelope here = value_of("a1", 'a', ORIGIN_STATE, 0);
    struct envelope again = { 0 };
    struct node_id self = node_of(SELF), a = node_of('a');
    struct buf bytes = { 0 }, twice = { 0 };
    (void)nothing;

    here.origin->is_acknowledged = true;
    check(add(&here, value_of("b1", 'b', ORIGIN_WRITE, 300)) == ENVELOPE_CHANGED);
    check(add(&here, value_of("c1", 'c', ORIGIN_RELAYED, 0)) == ENVELOPE_CHANGED);
    check(add(&here, value_of("d1", 'd', ORIGIN_READ, 0)) == ENVELOPE_CHANGED);
    origin_free(here.origin);
    here.origin = origin_own(&self);
    here.origin->size = 2;
    envelope_encode(&bytes, &here, NULL, ENVELOPE_STORED);
    assert_true(envelope_decode_stored(buf_slice(&bytes), &again));
    assert_string_equal(texts(&again), "d1 c1 b1 a1");
    assert_int_equal(opaque_look(&again, 2)->origin->number, 300);
    assert_int_equal(opaque_look(&again, 2)->origin->way, ORIGIN_WRITE);
    assert_true(opaque_look(&again, 3)->origin->is_acknowledged);
    assert_true(node_equal(&opaque_look(&again, 3)->origin->node, &a));
    assert_true(node_equal(&again.origin->node, &self));
    assert_false(again.origin->is_own); /* of an earlier incarnation */
    assert_int_equal(opaque_size(&again), bytes.size);
    envelope_encode(&twice, &again, NULL, ENVELOPE_STORED);
    assert_true(slice_equal(buf_slice(&bytes), buf_slice(&twice)));
    envelope_fini(&again);

    /* from a member only the first one */
    assert_true(envelope_decode(buf_slice(&bytes), &again));
    assert_string_equal(texts(&again), "d1");
    assert_int_equal(again.origin->way, ORIGIN_RELAYED);
    assert_false(again.origin->is_acknowledged);
    envelope_fini(&again);
    for (size_t size = 0; size < bytes.size; size++) {
        (void)envelope_decode_stored(slice_of(bytes.data, size), &again);
        envelope_fini(&again);
    }
    buf_fini(&bytes);
    buf_fini(&twice);
    envelope_fini(&here);
}

static void a_members_own_state_names_no_origin(void **nothing)
{
    struct envelope here = value_of("a1", 'a', ORIGIN_STATE, 0);
    struct envelope again = { 0 };
    struct node_id self = node_of(SELF);
    struct buf bytes = { 0 }, plain = { 0 };
    (void)nothing;

    envelope_encode(&bytes, &here, NULL, ENVELOPE_WHOLE);
    assert_true(envelope_decode(buf_slice(&bytes), &again));
    assert_int_equal(again.origin->way, ORIGIN_RELAYED);
    envelope_fini(&again);
    envelope_encode(&plain, &here, NULL, ENVELOPE_PLAIN); /* nor do digests cover it */
    assert_true(plain.size < bytes.size);
    origin_free(here.origin);
    here.origin = origin_own(&self);
    buf_clear(&bytes);
    envelope_encode(&bytes, &here, NULL, ENVELOPE_WHOLE);
    assert_true(slice_equal(buf_slice(&bytes), buf_slice(&plain)));
    buf_fini(&bytes);
    buf_fini(&plain);
    envelope_fini(&here);
}

static void siblings_in_siblings_are_malformed(void **nothing)
{
    struct envelope here = value_of("a1", 'a', ORIGIN_STATE, 0);
    struct envelope again = { 0 };
    struct buf bytes = { 0 };
    (void)nothing;

    check(state(&here, "b1", 'b') == ENVELOPE_CHANGED);
    vec_push(&here.siblings.items[0].siblings, value_of("c1", 'c', ORIGIN_STATE, 0));
    envelope_encode(&bytes, &here, NULL, ENVELOPE_STORED);
    assert_false(envelope_decode_stored(buf_slice(&bytes), &again));
    assert_null(again.value);
    buf_fini(&bytes);
    envelope_fini(&here);
}

static void the_order_of_arrival_does_not_change_the_digest(void **nothing)
{
    struct envelope left = value_of("a1", 'a', ORIGIN_STATE, 0);
    struct envelope right = value_of("b1", 'b', ORIGIN_RELAYED, 4);
    struct buf bytes = { 0 }, other = { 0 };
    (void)nothing;

    check(state(&left, "b1", 'b') == ENVELOPE_CHANGED);
    check(state(&right, "a1", 'a') == ENVELOPE_CHANGED);
    opaque_bytes(&left, &bytes);
    opaque_bytes(&right, &other);
    assert_true(slice_equal(buf_slice(&bytes), buf_slice(&other)));
    buf_fini(&bytes);
    buf_fini(&other);
    envelope_fini(&left);
    envelope_fini(&right);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_later_state_of_a_member_replaces_its_earlier_values),
        cmocka_unit_test(states_of_two_members_stay_side_by_side),
        cmocka_unit_test(a_late_write_does_not_replace_a_later_one),
        cmocka_unit_test(only_a_state_replaces_a_state),
        cmocka_unit_test(a_state_with_fewer_versions_replaces_nothing),
        cmocka_unit_test(a_value_goes_when_a_member_confirms_that_it_has_merged_it),
        cmocka_unit_test(the_last_members_that_were_sent_a_value_are_known),
        cmocka_unit_test(equal_values_are_one),
        cmocka_unit_test(a_relayed_value_leaves_the_versions_of_its_origin),
        cmocka_unit_test(a_relayed_value_is_not_needed_while_its_origin_is_there),
        cmocka_unit_test(the_limit_drops_what_others_have_and_refuses_the_rest),
        cmocka_unit_test(the_bytes_of_all_values_are_limited),
        cmocka_unit_test(a_map_with_a_custom_value_is_kept_as_a_whole),
        cmocka_unit_test(another_type_is_refused),
        cmocka_unit_test(a_change_replaces_the_value_that_it_continues),
        cmocka_unit_test(all_values_are_stored_with_their_origins),
        cmocka_unit_test(a_members_own_state_names_no_origin),
        cmocka_unit_test(siblings_in_siblings_are_malformed),
        cmocka_unit_test(the_order_of_arrival_does_not_change_the_digest),
    };

    return cmocka_run_group_tests_name("ddata_opaque", tests, NULL, NULL);
}
