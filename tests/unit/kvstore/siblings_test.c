/* Tests versioned values and their clocks: the versions that a write replaces or a merge keeps,
 * encoding, limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/rng.h"
#include "kvstore/siblings.h"

#define REPLICAS 4
#define WRITES 60

static struct dot dot_of(uint64_t node, uint64_t number)
{
    return (struct dot){ .broker = node, .number = number };
}

static void put(struct siblings *siblings, const struct history *seen,
                uint64_t node, uint64_t number, const char *value)
{
    struct dot dot = dot_of(node, number);

    assert_true(siblings_write(siblings, seen, &dot, 100, false,
                               slice_text(value)));
}

/* Expects the values in order, with a blank after each. */
static void expect(const struct siblings *siblings, const char *text)
{
    char all[256] = "";

    for (uint32_t i = 0; i < siblings->versions.count; i++) {
        const struct version *version = &siblings->versions.items[i];

        strncat(all, version->is_deletion ? "-" : (const char *)version->value.data,
                version->is_deletion ? 1 : version->value.size);
        strcat(all, " ");
    }
    assert_string_equal(all, text);
}

static void a_write_replaces_what_was_read(void **state)
{
    struct siblings replica = { 0 };
    struct history none = { 0 }, read = { 0 };

    (void)state;
    put(&replica, &none, 1, 1, "a");
    put(&replica, &none, 1, 2, "b"); /* by a writer that had read nothing */
    expect(&replica, "a b ");
    history_copy(&read, &replica.history);
    put(&replica, &none, 1, 3, "c");
    put(&replica, &read, 1, 4, "d"); /* its writer had read a and b, not c */
    expect(&replica, "c d ");
    assert_true(siblings_write(&replica, &replica.history, &(struct dot){ .broker = 1, .number = 5 }, 7,
                               true, slice_of(NULL, 0)));
    expect(&replica, "- ");
    assert_int_equal(siblings_live(&replica), 0);
    assert_int_equal(siblings_deleted_at(&replica), 7);
    history_fini(&read);
    siblings_fini(&replica);
}

static void replicas_are_merged(void **state)
{
    struct siblings left = { 0 }, right = { 0 }, old = { 0 };
    struct history none = { 0 };

    (void)state;
    put(&left, &none, 1, 1, "a");
    siblings_copy(&right, &left);
    siblings_copy(&old, &left);
    put(&left, &left.history, 1, 2, "b");
    put(&right, &right.history, 2, 1, "c");
    assert_true(siblings_merge(&left, &right));
    expect(&left, "b c "); /* both replaced a, neither the other */
    assert_true(siblings_merge(&right, &left));
    assert_true(siblings_equal(&left, &right));
    assert_true(siblings_merge(&left, &old)); /* late */
    expect(&left, "b c ");
    assert_true(siblings_equal(&left, &right));
    assert_false(siblings_equal(&left, &old));
    siblings_fini(&left);
    siblings_fini(&right);
    siblings_fini(&old);
}

/* ---- a model: every version with the exact set of those that it replaced ---- */

struct model {
    struct siblings replicas[REPLICAS];
    uint32_t epochs[REPLICAS];
    uint64_t numbers[REPLICAS];
    struct rng rng;
    uint64_t replaced; /* bits of writes */
    uint32_t writes;
};

static uint64_t writes_of(const struct siblings *siblings)
{
    uint64_t bits = 0;

    for (uint32_t i = 0; i < siblings->versions.count; i++)
        bits |= UINT64_C(1) << siblings->versions.items[i].value.data[0];
    return bits;
}

/* Reads one or two replicas, and writes at a third with that context. */
static void model_write(struct model *model)
{
    uint32_t at = (uint32_t)rng_below(&model->rng, REPLICAS);
    uint8_t value = (uint8_t)model->writes;
    struct siblings read = { 0 };
    struct dot dot = { at + 1, model->epochs[at], ++model->numbers[at] };

    for (uint64_t reads = rng_below(&model->rng, 3); reads > 0; reads--)
        assert_true(siblings_merge(
            &read, &model->replicas[rng_below(&model->rng, REPLICAS)]));
    if (siblings_write(&model->replicas[at], &read.history, &dot, 1, false,
                       slice_of(&value, 1))) {
        model->replaced |= writes_of(&read);
        model->writes++;
    }
    siblings_fini(&read);
}

/* Hands its whole content to another replica, and starts empty. */
static void model_forget(struct model *model)
{
    uint32_t at = (uint32_t)rng_below(&model->rng, REPLICAS);
    uint32_t to = (at + 1) % REPLICAS;

    assert_true(siblings_merge(&model->replicas[to], &model->replicas[at]));
    siblings_fini(&model->replicas[at]);
    model->epochs[at]++;
}

static void exchange(struct model *model)
{
    uint32_t from = (uint32_t)rng_below(&model->rng, REPLICAS);
    uint32_t to = (uint32_t)rng_below(&model->rng, REPLICAS);

    if (from != to)
        assert_true(siblings_merge(&model->replicas[to],
                                   &model->replicas[from]));
}

static void run_model(uint64_t seed)
{
    struct model model = { .writes = 0 };
    struct siblings all = { 0 }, back = { 0 };

    rng_init(&model.rng, seed);
    while (model.writes < WRITES) {
        switch (rng_below(&model.rng, 8)) {
        case 0:
        case 1:
        case 2:
            model_write(&model);
            break;
        case 3:
            model_forget(&model);
            break;
        default:
            exchange(&model);
        }
    }
    for (uint32_t i = 0; i < REPLICAS; i++)
        assert_true(siblings_merge(&all, &model.replicas[i]));
    for (uint32_t i = REPLICAS; i-- > 0;)
        assert_true(siblings_merge(&back, &model.replicas[i]));
    assert_true(siblings_equal(&all, &back));
    assert_int_equal(writes_of(&all),
                     ((UINT64_C(1) << WRITES) - 1) & ~model.replaced);
    siblings_fini(&all);
    siblings_fini(&back);
    for (uint32_t i = 0; i < REPLICAS; i++)
        siblings_fini(&model.replicas[i]);
}

static void unreplaced_versions_are_never_lost(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 500; seed++)
        run_model(seed);
}

/* ---- bytes and limits ---- */

static void written_bytes_are_read_back_SEED033(void **state)
{
    struct siblings one = { 0 }, two = { 0 };
    struct history none = { 0 };
    struct buf bytes = { 0 };

    (void)state;
    put(&one, &none, 1, 1, "a");
    put(&one, &none, UINT64_MAX, UINT64_MAX, "bb");
    assert_true(siblings_write(&one, &none, &(struct dot){ 5, 6, 7 }, 8, true,
                               slice_of(NULL, 0)));
    siblings_put(&one, &bytes);
    assert_true(siblings_get(buf_slice(&bytes), &two));
    assert_true(siblings_equal(&one, &two));
    expect(&two, "a - bb ");
    for (size_t size = 0; size < bytes.size; size++)
        assert_false(siblings_get(slice_of(bytes.data, size), &two));
    assert_int_equal(two.versions.count, 0);
    bytes.data[bytes.size - 1] ^= 1; /* the last byte of "bb": its hash is wrong */
    assert_false(siblings_get(buf_slice(&bytes), &two));
    bytes.data[bytes.size - 1] ^= 1;
    buf_put_u8(&bytes, 0);
    assert_false(siblings_get(buf_slice(&bytes), &two));
    buf_clear(&bytes);
    /* one version twice, and then out of order */
    one.versions.items[1].dot = one.versions.items[0].dot;
    siblings_put(&one, &bytes);
    assert_false(siblings_get(buf_slice(&bytes), &two));
    buf_clear(&bytes);
    one.versions.items[1].dot = one.versions.items[2].dot;
    one.versions.items[2].dot = (struct dot){ 5, 6, 7 };
    siblings_put(&one, &bytes);
    assert_false(siblings_get(buf_slice(&bytes), &two));
    buf_fini(&bytes);
    history_fini(&one.history); /* a version that its clock does not cover could not be replaced */
    siblings_put(&one, &bytes);
    assert_false(siblings_get(buf_slice(&bytes), &two));
    buf_fini(&bytes);
    siblings_fini(&one);
}

static void versions_are_limited(void **state)
{
    struct siblings one = { 0 }, other = { 0 };
    struct history none = { 0 };
    struct dot dot = dot_of(1, KVSTORE_SIBLINGS_PUT_MAX + 1);
    uint64_t node = 1;

    (void)state;
    for (uint64_t i = 1; i <= KVSTORE_SIBLINGS_PUT_MAX; i++)
        put(&one, &none, 1, i, "x");
    assert_false(siblings_write(&one, &none, &dot, 1, false, slice_text("x")));
    assert_int_equal(one.versions.count, KVSTORE_SIBLINGS_PUT_MAX);
    while (one.versions.count < KVSTORE_SIBLINGS_MAX) {
        siblings_fini(&other);
        put(&other, &none, ++node, 1, "y");
        assert_true(siblings_merge(&one, &other));
    }
    siblings_fini(&other);
    put(&other, &none, ++node, 1, "y");
    assert_false(siblings_merge(&one, &other));
    assert_int_equal(one.versions.count, KVSTORE_SIBLINGS_MAX);
    put(&one, &one.history, 1, 99, "z"); /* by a writer that has read all */
    expect(&one, "z ");
    siblings_fini(&one);
    siblings_fini(&other);
}

static void the_bytes_of_siblings_are_limited(void **state)
{
    struct siblings one = { 0 };
    struct history none = { 0 };
    struct dot dot = dot_of(1, 1);
    uint8_t *large = mem_alloc(KVSTORE_STATE_SIZE_MAX);

    (void)state;
    assert_false(siblings_write(&one, &none, &dot, 1, false,
                                slice_of(large, KVSTORE_STATE_SIZE_MAX)));
    assert_true(siblings_write(&one, &none, &dot, 1, false,
                               slice_of(large, KVSTORE_STATE_SIZE_MAX / 2)));
    dot.number++;
    assert_false(siblings_write(&one, &none, &dot, 1, false,
                                slice_of(large, KVSTORE_STATE_SIZE_MAX / 2)));
    assert_int_equal(one.versions.count, 1);
    siblings_fini(&one);
    mem_free(large);
}

/* ---- clocks ---- */

static void clocks_are_compared(void **state)
{
    struct history a = { 0 }, b = { 0 };
    struct dot one = dot_of(1, 1), two = dot_of(2, 3), later = dot_of(1, 4);
    struct dot epoch = { 1, 1, 1 };

    (void)state;
    assert_int_equal(history_compare(&a, &b), HISTORY_SAME);
    history_add(&a, &one, 1);
    assert_int_equal(history_compare(&a, &b), HISTORY_AFTER);
    assert_int_equal(history_compare(&b, &a), HISTORY_BEFORE);
    history_add(&b, &two, 1);
    assert_int_equal(history_compare(&a, &b), HISTORY_CONCURRENT);
    history_merge(&b, &a);
    assert_int_equal(history_compare(&a, &b), HISTORY_BEFORE);
    history_add(&a, &later, 1);
    assert_int_equal(history_compare(&a, &b), HISTORY_CONCURRENT);
    assert_true(history_has(&a, &one));
    assert_false(history_has(&b, &later));
    assert_false(history_has(&a, &epoch)); /* another epoch has its own numbers */
    history_fini(&a);
    history_fini(&b);
}

/* Riak's four limits decide which entries are dropped. */
static void clocks_are_pruned_SEED023(void **state)
{
    struct history history = { 0 }, copy = { 0 };
    struct dot first = dot_of(1, 1), last;

    (void)state;
    for (uint64_t i = 1; i <= KVSTORE_HISTORY_MAX + 5; i++) {
        last = dot_of(i, 1);
        history_add(&history, &last, 1000 + i);
    }
    history_prune(&history, 1010, NULL, 0); /* all are young: only the maximum applies */
    assert_int_equal(history.entries.count, KVSTORE_HISTORY_MAX);
    assert_false(history_has(&history, &first));
    history_prune(&history, 1000 + KVSTORE_HISTORY_MAX + KVSTORE_HISTORY_YOUNG_S + 5,
                  NULL, 0);
    assert_int_equal(history.entries.count, KVSTORE_HISTORY_BIG);
    history_prune(&history, 2000 + KVSTORE_HISTORY_OLD_S, NULL, 0);
    assert_int_equal(history.entries.count, KVSTORE_HISTORY_SMALL);
    assert_true(history_has(&history, &last));
    history_add(&history, &first, 1);
    history_prune(&history, 2000 + KVSTORE_HISTORY_OLD_S, &first, 1);
    assert_int_equal(history.entries.count, KVSTORE_HISTORY_SMALL);
    assert_true(history_has(&history, &first)); /* the oldest, and kept */
    history_copy(&copy, &history);
    history_merge(&history, &copy);
    assert_int_equal(history.entries.count, KVSTORE_HISTORY_SMALL);
    assert_int_equal(history_compare(&history, &copy), HISTORY_SAME);
    history_fini(&history);
    history_fini(&copy);
}

/* Writes by `count` coordinators, down to 100, each replacing the previous version. The first of
 * equally old entries remains. */
static void write_by_many(struct siblings *replica, uint32_t count,
                          uint64_t wall_s)
{
    for (uint32_t i = 0; i < count; i++) {
        struct dot dot = dot_of(99 + count - i, 1);

        assert_true(siblings_write(replica, &replica->history, &dot, wall_s,
                                   false, slice_text("old")));
    }
}

/* The replaced version was written long ago, so its entry is one of the oldest. */
static void a_replaced_version_disappears_from_all_replicas(void **state)
{
    struct siblings here = { 0 }, there = { 0 }, elsewhere = { 0 };
    struct dot dot = dot_of(1, 1);
    uint64_t later = 1000 + 2 * KVSTORE_HISTORY_OLD_S;

    (void)state;
    write_by_many(&here, KVSTORE_HISTORY_SMALL + 1, 1000);
    siblings_copy(&there, &here);
    assert_true(siblings_write(&here, &there.history, &dot, later, false,
                               slice_text("new")));
    assert_int_equal(here.history.entries.count, KVSTORE_HISTORY_SMALL);
    assert_true(siblings_merge(&there, &here));
    expect(&there, "new ");
    /* By a coordinator without any version of it. */
    siblings_fini(&there);
    write_by_many(&there, KVSTORE_HISTORY_SMALL + 1, 1000);
    assert_true(siblings_write(&elsewhere, &there.history, &dot, later, false,
                               slice_text("new")));
    assert_true(siblings_merge(&there, &elsewhere));
    expect(&there, "new ");
    siblings_fini(&here);
    siblings_fini(&there);
    siblings_fini(&elsewhere);
}

/* A write by a clock behind all others is the oldest. */
static void a_present_version_can_be_replaced(void **state)
{
    struct siblings replica = { 0 };
    struct dot early = dot_of(1, 1), late = dot_of(2, 1);

    (void)state;
    write_by_many(&replica, KVSTORE_HISTORY_MAX, 1000);
    assert_true(siblings_write(&replica, &replica.history, &early, 1, false,
                               slice_text("early")));
    assert_int_equal(replica.history.entries.count, KVSTORE_HISTORY_MAX);
    expect(&replica, "early ");
    assert_true(siblings_write(&replica, &replica.history, &late, 1000, false,
                               slice_text("late")));
    expect(&replica, "late ");
    siblings_fini(&replica);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_write_replaces_what_was_read),
        cmocka_unit_test(replicas_are_merged),
        cmocka_unit_test(unreplaced_versions_are_never_lost),
        cmocka_unit_test(written_bytes_are_read_back_SEED033),
        cmocka_unit_test(versions_are_limited),
        cmocka_unit_test(the_bytes_of_siblings_are_limited),
        cmocka_unit_test(clocks_are_compared),
        cmocka_unit_test(clocks_are_pruned_SEED023),
        cmocka_unit_test(a_replaced_version_disappears_from_all_replicas),
        cmocka_unit_test(a_present_version_can_be_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
