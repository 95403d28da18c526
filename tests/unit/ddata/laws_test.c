/* Checks the laws of every kind on states that are changed and merged at random: merges are
 * commutative, associative and idempotent, and report changes; deltas do what states do; pruning
 * loses nothing; bytes contain everything.
 *
 *   DDATA_CASES=1000000   random cases of each kind instead of 24,000, shared among its laws
 *
 * A failure prints the kind and the case; cases are the same in every run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "world.h"

#include "base/check.h"

#define STEPS 48 /* of a history, before the replicas restart */

typedef void law(struct world *world);

#define KINDS_MAX 32
#define LAWS 8
#define LAWS_WITHOUT_DELTAS 5

static uint64_t looked_at[KINDS_MAX]; /* cases of each kind */

static uint32_t cases_wanted(void)
{
    const char *many = getenv("DDATA_CASES");

    return many ? (uint32_t)strtoul(many, NULL, 10) : 3000 * LAWS;
}

/* The current case, for a failure's text. */
static const char *now_name;
static uint32_t now_case;

#define holds(x)                                                  \
    do {                                                          \
        if (!(x))                                                 \
            fail_msg("%s, case %u: %s", now_name,                 \
                     (unsigned)now_case, #x);                     \
    } while (0)

static const struct dd_value *any(struct world *world)
{
    return world->replicas[rng_below(&world->rng, REPLICAS)];
}

static bool is_map(const struct world *world)
{
    return world->species.kind == DD_ORMAP ||
           world->species.kind == DD_LWWMAP ||
           world->species.kind == DD_PNCOUNTERMAP ||
           world->species.kind == DD_MULTIMAP;
}

static bool has_dots(const struct world *world)
{
    return world->species.kind == DD_ORSET || is_map(world);
}

static void deltas_are_what_was_done(struct world *world);
static void deltas_do_what_states_do(struct world *world);
static void deltas_join(struct world *world);

static bool is_of_deltas(law *of)
{
    return of == deltas_are_what_was_done ||
           of == deltas_do_what_states_do || of == deltas_join;
}

enum kinds { ALL, MAPS, NO_MAPS };

static void run(law *of, bool removes, enum kinds kinds)
{
    assert_true(world_species_count <= KINDS_MAX);
    for (uint32_t i = 0; i < world_species_count; i++) {
        bool has_deltas = dd_has_deltas(world_species[i].kind);
        uint32_t cases =
            cases_wanted() / (has_deltas ? LAWS : LAWS_WITHOUT_DELTAS) + 1;
        struct world world;

        world_init(&world, world_species[i], 1000 + i);
        world.removes = removes;
        /* A state merges with replaced parts; a delta does not. */
        world.replaces = of != deltas_join && of != deltas_are_what_was_done;
        now_name = world_species[i].name;
        for (now_case = 0; now_case < cases; now_case++) {
            if (kinds != ALL && is_map(&world) != (kinds == MAPS))
                break;
            if (is_of_deltas(of) && !has_deltas)
                break;
            if (now_case % STEPS == 0)
                world_reset(&world);
            world_step(&world);
            of(&world);
            looked_at[i]++;
        }
        world_fini(&world);
    }
}

static void commutes(struct world *world)
{
    const struct dd_value *a = any(world);
    const struct dd_value *b = any(world);
    struct dd_value *ab = world_merged(a, b);
    struct dd_value *ba = world_merged(b, a);

    holds(dd_equal(ab, ba));
    dd_free(ab);
    dd_free(ba);
}

static void is_idempotent_and_says_what_changed(struct world *world)
{
    const struct dd_value *a = any(world);
    const struct dd_value *b = any(world);
    struct dd_value *ab = dd_copy(a);
    enum dd_merged merged = dd_merge(ab, b);

    holds(merged == (dd_equal(a, ab) ? DD_UNCHANGED : DD_CHANGED));
    holds(dd_merge(ab, b) == DD_UNCHANGED);
    holds(dd_merge(ab, a) == DD_UNCHANGED);
    holds(dd_merge(ab, ab) == DD_UNCHANGED);
    dd_free(ab);
}

static void is_associative(struct world *world)
{
    const struct dd_value *a = any(world);
    const struct dd_value *b = any(world);
    const struct dd_value *c = any(world);
    struct dd_value *ab = world_merged(a, b);
    struct dd_value *bc = world_merged(b, c);
    struct dd_value *left = world_merged(ab, c);
    struct dd_value *right = world_merged(a, bc);

    holds(dd_equal(left, right));
    dd_free(ab);
    dd_free(bc);
    dd_free(left);
    dd_free(right);
}

/* A reader in the writer's last state gets the writer's new state from the delta of one change,
 * whatever it removed and whatever the type; the state adds nothing. */
static void deltas_are_what_was_done(struct world *world)
{
    uint32_t writer = (uint32_t)rng_below(&world->rng, REPLICAS);
    struct dd_value *reader = dd_copy(world->replicas[writer]);
    struct dd_value *by_state = dd_copy(reader);
    struct dd_value *delta;

    dd_reset_delta(world->replicas[writer]);
    world_change(world, writer);
    delta = dd_take_delta(world->replicas[writer]);
    if (delta)
        holds(dd_merge_delta(reader, delta) <= DD_CHANGED);
    holds(world_looks_equal(reader, world->replicas[writer]));
    holds(dd_merge(reader, world->replicas[writer]) <= DD_CHANGED);
    holds(dd_merge(by_state, world->replicas[writer]) <= DD_CHANGED);
    holds(dd_equal(reader, by_state));
    dd_free(delta);
    dd_free(by_state);
    dd_free(reader);
}

/* A reader of a writer's last state gets from the delta what it gets from the next state. It may
 * keep invisible dots that the state would have dropped; a later state drops them. Without dots
 * both are equal at once. Akka documents for multi-maps with value deltas: "on concurrent adds
 * and removals for the same key, removals can be lost". Such bindings may be lost or return here
 * too. */
static void deltas_do_what_states_do(struct world *world)
{
    uint32_t writer = (uint32_t)rng_below(&world->rng, REPLICAS);
    uint32_t count = (uint32_t)rng_below(&world->rng, 5);
    struct dd_value *reader = dd_copy(any(world));
    struct dd_value *delta;
    struct dd_value *by_state;
    bool looks = !world->species.with_deltas || !world->removes;

    check(dd_merge(reader, world->replicas[writer]) <= DD_CHANGED);
    dd_reset_delta(world->replicas[writer]);
    for (uint32_t i = 0; i < count; i++)
        world_change(world, writer);
    delta = dd_take_delta(world->replicas[writer]);
    by_state = world_merged(reader, world->replicas[writer]);
    if (!delta) {
        holds(dd_equal(reader, by_state));
    } else {
        struct dd_value *before = dd_copy(reader);
        enum dd_merged merged = dd_merge_delta(reader, delta);

        holds(merged == (dd_equal(before, reader) ? DD_UNCHANGED : DD_CHANGED));
        holds(!looks || world_looks_equal(reader, by_state));
        holds(has_dots(world) || dd_equal(reader, by_state));
        holds(dd_merge(reader, world->replicas[writer]) <= DD_CHANGED);
        holds(!looks || dd_equal(reader, by_state));
        dd_free(before);
    }
    dd_free(delta);
    dd_free(by_state);
    dd_free(reader);
}

/* A delta alone makes what it makes of the empty state; two joined deltas make what their sequence
 * makes. */
static void deltas_join(struct world *world)
{
    uint32_t writer = (uint32_t)rng_below(&world->rng, REPLICAS);
    struct dd_value *reader = dd_copy(world->replicas[writer]);
    struct dd_value *one_by_one = dd_copy(reader);
    struct dd_value *joined = NULL;

    dd_reset_delta(world->replicas[writer]);
    for (uint32_t i = 0; i < 6; i++) {
        struct dd_value *delta;

        world_change(world, writer);
        delta = dd_take_delta(world->replicas[writer]);
        if (!delta)
            continue;
        holds(dd_merge_delta(one_by_one, delta) <= DD_CHANGED);
        if (joined)
            holds(dd_merge(joined, delta) <= DD_CHANGED);
        else
            joined = dd_copy(delta);
        dd_free(delta);
    }
    if (joined) {
        holds(dd_merge_delta(reader, joined) <= DD_CHANGED);
        holds(world_looks_equal(reader, one_by_one));
        holds(world_looks_equal(reader, world->replicas[writer]));
        holds(dd_merge(reader, world->replicas[writer]) <= DD_CHANGED);
        holds(dd_equal(reader, world->replicas[writer]));
    }
    dd_free(joined);
    dd_free(reader);
    dd_free(one_by_one);
}

static struct dd_natural plus(struct dd_natural left, struct dd_natural right)
{
    struct dd_natural sum = { left.high + right.high, left.low + right.low };

    sum.high += sum.low < left.low;
    return sum;
}

/* The node's part of a counter. */
static struct dd_natural share_of(const struct dd_value *value,
                                  const struct node_id *node)
{
    struct dd_value *counted = dd_counted_by(value, node);
    struct dd_natural share = dd_gcounter_get(counted);

    dd_free(counted);
    return share;
}

/* The new owner's share is at most the largest one; only what exceeds that is lost. */
static bool is_taken_over(const struct dd_value *before,
                          const struct dd_value *pruned,
                          const struct node_id *owner,
                          const struct node_id *removed)
{
    const struct dd_natural largest = { (UINT64_C(1) << (DD_NATURAL_BITS - 64)) - 1, UINT64_MAX };
    struct dd_natural taken = plus(share_of(before, owner), share_of(before, removed));
    struct dd_natural share = share_of(pruned, owner);
    struct dd_natural there = plus(dd_gcounter_get(pruned), taken);
    struct dd_natural was;

    if (taken.high > largest.high)
        taken = largest;
    was = plus(dd_gcounter_get(before), taken);
    return share.high == taken.high && share.low == taken.low &&
           there.high == was.high && there.low == was.low;
}

/* All have seen the same when a node is removed; one prunes. */
static void pruning_loses_nothing(struct world *world)
{
    uint32_t owner = (uint32_t)rng_below(&world->rng, REPLICAS - 1);
    struct node_id removed = world->writers[REPLICAS - 1].node;
    struct dd_writer writer = world->writers[owner];
    struct dd_value *before = world_merged(any(world), any(world));
    struct dd_value *pruned = dd_copy(before);
    struct dd_value *cleaned = dd_copy(before);
    struct dd_value *delta;
    struct dd_nodes nodes = { 0 };

    holds(dd_prune(pruned, &removed, &writer) ==
          dd_needs_pruning(before, &removed));
    delta = dd_take_delta(pruned);
    holds(!dd_needs_pruning(pruned, &removed));
    dd_add_modified_by(pruned, &nodes);
    for (uint32_t i = 0; i < nodes.items.count; i++)
        holds(!node_equal(&nodes.items.items[i], &removed));
    if (world->species.amounts == LAST && world->species.kind == DD_GCOUNTER)
        holds(is_taken_over(before, pruned, &writer.node, &removed));
    else if (world->species.kind != DD_VERSIONS && world->species.amounts != LAST)
        holds(world_looks_equal(before, pruned));
    dd_cleanup(cleaned, &removed);
    holds(!dd_needs_pruning(cleaned, &removed));
    if (delta) {
        struct dd_value *by_delta = dd_copy(cleaned);

        holds(dd_merge_delta(by_delta, delta) <= DD_CHANGED);
        holds(dd_merge(by_delta, pruned) <= DD_CHANGED);
        holds(world_looks_equal(by_delta, pruned));
        dd_free(by_delta);
    }
    holds(dd_merge(cleaned, pruned) <= DD_CHANGED);
    holds(world_looks_equal(cleaned, pruned));
    vec_fini(&nodes.items);
    dd_free(before);
    dd_free(pruned);
    dd_free(cleaned);
    dd_free(delta);
}

static struct dd_value *decoded(struct dd_other other)
{
    struct dd_value *value;

    holds(dd_decode(other, &value) == DD_OK);
    return value;
}

static void bytes_say_all(struct world *world)
{
    struct dd_value *value = dd_copy(any(world));
    struct dd_value *delta = dd_take_delta(value);
    struct dd_value *merged = dd_copy(any(world));
    struct buf buf = { 0 };
    struct buf again = { 0 };
    struct dd_other other = dd_encode(value, &buf);
    struct dd_value *copy = decoded(other);
    struct dd_other kept = dd_encode(copy, &again);

    holds(other.serializer == DD_SERIALIZER);
    holds(dd_equal(value, copy));
    holds(slice_equal(other.bytes, kept.bytes));
    holds(slice_equal(other.manifest, kept.manifest));
    /* Equal states have equal bytes, however they were made. */
    if (dd_merge(merged, value) <= DD_CHANGED && dd_equal(merged, value)) {
        kept = dd_encode(merged, &again);
        holds(slice_equal(other.bytes, kept.bytes));
    }
    dd_free(copy);
    if (delta) {
        other = dd_encode(delta, &buf);
        copy = decoded(other);
        holds(dd_equal(delta, copy));
        dd_free(copy);
    }
    dd_free(delta);
    dd_free(value);
    dd_free(merged);
    buf_fini(&buf);
    buf_fini(&again);
}

static void merges_are_commutative(void **state)
{
    (void)state;
    run(commutes, true, ALL);
}

static void merges_are_idempotent(void **state)
{
    (void)state;
    run(is_idempotent_and_says_what_changed, true, ALL);
}

/* Maps without removals: as in Akka, the order of merges decides whether the value of a removed key
 * joins another. */
static void merges_are_associative(void **state)
{
    (void)state;
    run(is_associative, true, NO_MAPS);
    run(is_associative, false, MAPS);
}

static void deltas_give_the_same_value_as_states(void **state)
{
    (void)state;
    run(deltas_are_what_was_done, true, ALL);
    run(deltas_do_what_states_do, true, ALL);
    run(deltas_do_what_states_do, false, MAPS);
}

/* Maps without removals: a joined delta that removes a key and puts it again merges the new value
 * with the old one, as a state does. */
static void deltas_can_be_joined(void **state)
{
    (void)state;
    run(deltas_join, true, NO_MAPS);
    run(deltas_join, false, MAPS);
}

static void pruning_loses_no_element(void **state)
{
    (void)state;
    run(pruning_loses_nothing, true, ALL);
}

static void encoding_preserves_every_value(void **state)
{
    (void)state;
    run(bytes_say_all, true, ALL);
}

static void each_kind_had_enough_cases(void **state)
{
    uint64_t least = UINT64_MAX;
    (void)state;

    for (uint32_t i = 0; i < world_species_count; i++) {
        print_message("%s: %llu cases\n", world_species[i].name,
                      (unsigned long long)looked_at[i]);
        assert_true(looked_at[i] >= cases_wanted());
        if (looked_at[i] < least)
            least = looked_at[i];
    }
    print_message("laws: %llu random cases of each type, or more\n",
                  (unsigned long long)least); /* ./test reads this */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_are_commutative),
        cmocka_unit_test(merges_are_idempotent),
        cmocka_unit_test(merges_are_associative),
        cmocka_unit_test(deltas_give_the_same_value_as_states),
        cmocka_unit_test(deltas_can_be_joined),
        cmocka_unit_test(pruning_loses_no_element),
        cmocka_unit_test(encoding_preserves_every_value),
        cmocka_unit_test(each_kind_had_enough_cases),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
