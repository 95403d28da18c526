/* Tests how a group is planned and judged, without a server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/check.h"
#include "postgres/group.h"

#define OWN 42 /* this writer's claim */

/* One request with one shard "s", and entity "e" with records from a number on. */
struct one {
    struct sherd_backend_request request;
    struct sherd_backend_shard shard;
    struct sherd_backend_entity entity;
    struct sherd_backend_record records[4];
    struct sherd_backend_request *list[1];
    struct pg_known known;
    struct pg_ids ids;
    struct pg_group group;
};

static void set_up(struct one *one, uint64_t from, uint32_t count)
{
    memset(one, 0, sizeof *one);
    one->shard.type = (struct sherd_bytes){ "T", 1 };
    one->shard.shard = (struct sherd_bytes){ "s", 1 };
    one->shard.fence = (struct sherd_fence){ 1, 2 };
    one->entity.id = (struct sherd_bytes){ "T|e", 3 };
    for (uint32_t i = 0; i < count; i++)
        one->records[i] = (struct sherd_backend_record){ .seq = from + i, .bytes = { "r", 1 } };
    one->request = (struct sherd_backend_request){
        .verb = SHERD_BACKEND_APPEND, .shards = &one->shard, .shard_count = 1,
        .entities = &one->entity, .entity_count = 1, .records = one->records,
        .record_count = count,
    };
    one->list[0] = &one->request;
}

static void know_shard(struct one *one, uint64_t last)
{
    struct buf key = { 0 };

    pg_know_shard(&one->known, pg_shard_key(&key, slice_text("T"), slice_text("s")),
                  (struct pg_known_shard){ .id = 7, .fence = { 1, 2 }, .last = last });
    buf_fini(&key);
}

static void begin(struct one *one)
{
    one->known.generation = 5;
    one->known.position = 9;
    pg_group_begin(&one->group, &one->known, &one->ids, OWN, one->list, 1);
}

static void tear_down(struct one *one)
{
    pg_group_fini(&one->group);
    pg_known_fini(&one->known);
    vec_fini(&one->ids.blocks);
}

/* The row of the shard as the server has it. */
static void give_row(struct one *one, struct fence fence, uint64_t claim, uint64_t last)
{
    struct pg_shard_row row = { slice_text("T"), slice_text("s"), 7, fence, claim, last };

    pg_group_ask_shards(&one->group);
    pg_group_shard_row(&one->group, &row);
}

static void give_entity(struct one *one, uint64_t last)
{
    struct pg_entity_row row = { 1, 100, last };

    pg_group_ask_entities(&one->group);
    if (last)
        assert_true(pg_group_entity(&one->group, &row));
    pg_group_looked(&one->group);
    pg_ids_add(&one->ids, 1000, 10);
}

static void a_claimed_shard_with_known_entities_needs_one_statement(void **state)
{
    struct one one;
    (void)state;

    set_up(&one, 4, 2);
    know_shard(&one, 9);
    pg_know_entity(&one.known, slice_text("T|e"), (struct pg_known_entity){ 100, 3, { 1, 2 } });
    begin(&one);
    assert_int_equal(pg_group_plan(&one.group), PG_WAY_ONE);
    assert_int_equal(one.group.parameters[0].count, 2);
    assert_int_equal(one.group.parameters[4].count, 0);
    pg_group_settle(&one.group);
    assert_int_equal(one.entity.result, SHERD_BACKEND_DONE);
    assert_true(pg_known_entity(&one.known, slice_text("T|e"))->last == 5);
    assert_true(one.known.position == 11);
    tear_down(&one);
}

/* The store may have gone back before the connection, so another claim may have the same generation. */
static void the_first_group_of_a_connection_looks_first(void **state)
{
    struct one one;
    (void)state;

    set_up(&one, 4, 1);
    know_shard(&one, 9);
    begin(&one);
    one.known.generation = 0;
    assert_int_equal(pg_group_plan(&one.group), PG_WAY_SLOW);
    tear_down(&one);
}

static void a_group_of_a_taken_shard_looks_first(void **state)
{
    struct one one;
    struct buf key = { 0 };
    (void)state;

    set_up(&one, 4, 1);
    know_shard(&one, 9);
    pg_known_shard(&one.known, pg_shard_key(&key, slice_text("T"), slice_text("s")))->is_taken = true;
    begin(&one);
    assert_int_equal(pg_group_plan(&one.group), PG_WAY_SLOW);
    buf_fini(&key);
    tear_down(&one);
}

/* Plans records of one entity, and returns the statement; count: of its parameters. */
static enum pg_statement statement_of(struct one *one, uint64_t id, uint32_t records,
                                      struct slice parameters[PG_APPEND_PARAMETERS], uint32_t *count)
{
    set_up(one, 4, records);
    know_shard(one, 9);
    pg_know_entity(&one->known, slice_text("T|e"), (struct pg_known_entity){ id, 3, { 1, 2 } });
    pg_ids_add(&one->ids, 1000, 10);
    begin(one);
    assert_int_equal(pg_group_plan(&one->group), PG_WAY_ONE);
    return pg_group_statement(&one->group, parameters, count);
}

static void a_group_takes_the_shortest_statement(void **state)
{
    struct slice parameters[PG_APPEND_PARAMETERS];
    const uint8_t own[8] = { 0, 0, 0, 0, 0, 0, 0, OWN }, generation[8] = { 0, 0, 0, 0, 0, 0, 0, 5 },
                  position[8] = { 0, 0, 0, 0, 0, 0, 0, 9 };
    struct one one;
    uint32_t count;
    (void)state;

    assert_int_equal(statement_of(&one, 100, 1, parameters, &count), PG_APPEND_RECORD);
    assert_int_equal(count, 7);
    assert_true(slice_equal(parameters[0], slice_of(own, 8)));
    assert_true(slice_equal(parameters[1], slice_of(generation, 8)));
    assert_true(slice_equal(parameters[2], slice_of(position, 8)));
    assert_true(slice_equal(parameters[6], slice_text("r")));
    tear_down(&one);
    assert_int_equal(statement_of(&one, 100, 2, parameters, &count), PG_APPEND_KNOWN);
    assert_int_equal(count, 7);
    assert_true(slice_equal(parameters[0], slice_of(own, 8)));
    assert_true(slice_equal(parameters[6], pg_array_value(&one.group.parameters[3])));
    tear_down(&one);
}

static void new_entities_and_deletions_take_the_long_statement(void **state)
{
    struct slice parameters[PG_APPEND_PARAMETERS];
    struct one one;
    uint32_t count;
    (void)state;

    assert_int_equal(statement_of(&one, 0, 1, parameters, &count), PG_APPEND);
    assert_int_equal(count, PG_APPEND_PARAMETERS);
    tear_down(&one);
    (void)statement_of(&one, 100, 1, parameters, &count);
    one.entity.cut = 3;
    pg_group_put_cut(&one.group, &one.entity);
    assert_int_equal(pg_group_statement(&one.group, parameters, &count), PG_APPEND);
    tear_down(&one);
}

static void an_unknown_entity_is_looked_up(void **state)
{
    struct one one;
    struct pg_entity_row stranger = { 2, 100, 3 };
    (void)state;

    set_up(&one, 1, 1);
    know_shard(&one, 0);
    begin(&one);
    assert_int_equal(pg_group_plan(&one.group), PG_WAY_LOOK);
    assert_false(pg_group_entity(&one.group, &stranger));
    pg_group_looked(&one.group);
    assert_int_equal(pg_group_new(&one.group), 1);
    pg_ids_add(&one.ids, 1000, 10);
    assert_int_equal(pg_group_plan(&one.group), PG_WAY_ONE);
    assert_int_equal(one.group.parameters[4].count, 1);
    tear_down(&one);
}

static void numbers_read_under_another_fence_are_looked_up(void **state)
{
    struct one one;
    (void)state;

    set_up(&one, 4, 1);
    know_shard(&one, 9);
    pg_know_entity(&one.known, slice_text("T|e"), (struct pg_known_entity){ 100, 3, { 1, 1 } });
    begin(&one);
    assert_int_equal(pg_group_plan(&one.group), PG_WAY_LOOK);
    tear_down(&one);
}

static void a_repetition_and_a_gap_look_first(void **state)
{
    struct one one;
    (void)state;

    for (int i = 0; i < 3; i++) {
        set_up(&one, i == 0 ? 5 : 4, 1);
        know_shard(&one, 9);
        pg_know_entity(&one.known, slice_text("T|e"), (struct pg_known_entity){ 100, 3, { 1, 2 } });
        one.request.again = i == 1;
        one.shard.fence.epoch += i == 2;
        begin(&one);
        assert_int_equal(pg_group_plan(&one.group), PG_WAY_SLOW);
        tear_down(&one);
    }
}

static void another_owner_fences(void **state)
{
    struct one one;
    (void)state;

    for (int i = 0; i < 2; i++) {
        set_up(&one, 4, 1);
        know_shard(&one, 9);
        begin(&one);
        give_row(&one, i ? (struct fence){ 1, 2 } : (struct fence){ 2, 1 }, i ? OWN + 1 : OWN, 9);
        give_entity(&one, 3);
        assert_int_equal(pg_group_ask_records(&one.group), 0);
        assert_false(pg_group_judge(&one.group));
        assert_int_equal(one.entity.result, SHERD_BACKEND_FENCED);
        assert_int_equal(one.shard.result, SHERD_BACKEND_FENCED);
        tear_down(&one);
    }
}

static void a_lower_position_is_a_loss(void **state)
{
    struct one one;
    (void)state;

    set_up(&one, 4, 1);
    know_shard(&one, 9);
    begin(&one);
    give_row(&one, (struct fence){ 1, 2 }, OWN, 8);
    give_entity(&one, 2);
    assert_int_equal(pg_group_ask_records(&one.group), 0);
    assert_false(pg_group_judge(&one.group));
    assert_int_equal(one.entity.result, SHERD_BACKEND_LOST);
    assert_non_null(strstr(one.request.error, "it has 8 of this node's 9"));
    tear_down(&one);
}

/* A writer's position never falls, so a lower one proves a loss also after another node claimed it. */
static void a_lower_position_is_named_also_under_another_claim(void **state)
{
    struct one one;
    struct buf key = { 0 };
    (void)state;

    set_up(&one, 4, 1);
    know_shard(&one, 9);
    begin(&one);
    give_row(&one, (struct fence){ 1, 3 }, OWN + 1, 8);
    give_entity(&one, 2);
    assert_int_equal(pg_group_ask_records(&one.group), 0);
    assert_false(pg_group_judge(&one.group));
    assert_int_equal(one.entity.result, SHERD_BACKEND_FENCED);
    assert_non_null(strstr(one.request.error, "it has 8 of this node's 9"));
    assert_true(one.group.shards.items[0].is_lost);
    pg_group_learn(&one.group);
    assert_true(pg_known_shard(&one.known, pg_shard_key(&key, slice_text("T"), slice_text("s")))->last == 9);
    buf_fini(&key);
    tear_down(&one);
}

static void another_owners_position_does_not_count_as_confirmed(void **state)
{
    struct one one;
    struct buf key = { 0 };
    (void)state;

    set_up(&one, 4, 1);
    know_shard(&one, 9);
    begin(&one);
    give_row(&one, (struct fence){ 1, 3 }, OWN + 1, 12);
    give_entity(&one, 3);
    assert_false(pg_group_judge(&one.group));
    assert_int_equal(one.entity.result, SHERD_BACKEND_FENCED);
    assert_true(one.request.error[0] == 0);
    pg_group_learn(&one.group);
    assert_true(pg_known_shard(&one.known, pg_shard_key(&key, slice_text("T"), slice_text("s")))->last == 9);
    buf_fini(&key);
    tear_down(&one);
}

static void a_lower_fence_or_no_row_is_a_loss(void **state)
{
    struct one one;
    (void)state;

    for (int i = 0; i < 2; i++) {
        set_up(&one, 4, 1);
        know_shard(&one, 9);
        begin(&one);
        if (i)
            give_row(&one, (struct fence){ 1, 1 }, OWN + 1, 9);
        else
            pg_group_ask_shards(&one.group);
        give_entity(&one, 3);
        assert_int_equal(pg_group_ask_records(&one.group), 0);
        assert_false(pg_group_judge(&one.group));
        assert_int_equal(one.entity.result, SHERD_BACKEND_LOST);
        tear_down(&one);
    }
}

/* An own try may have been written: its position is above the confirmed one. */
static void a_repetition_whose_first_try_was_written_is_done(void **state)
{
    struct one one;
    (void)state;

    set_up(&one, 4, 2);
    know_shard(&one, 9);
    one.request.again = 1;
    begin(&one);
    give_row(&one, (struct fence){ 1, 2 }, OWN, 11);
    give_entity(&one, 5);
    assert_int_equal(pg_group_ask_records(&one.group), 2);
    assert_true(pg_group_same(&one.group, 1, true));
    assert_true(pg_group_same(&one.group, 2, true));
    assert_false(pg_group_same(&one.group, 3, true));
    assert_false(pg_group_judge(&one.group));
    assert_int_equal(one.entity.result, SHERD_BACKEND_DONE);
    tear_down(&one);
}

static void a_repetition_writes_only_what_is_missing(void **state)
{
    struct one one;
    (void)state;

    set_up(&one, 4, 3);
    know_shard(&one, 9);
    one.request.again = 1;
    begin(&one);
    give_row(&one, (struct fence){ 1, 2 }, OWN, 10);
    give_entity(&one, 4);
    assert_int_equal(pg_group_ask_records(&one.group), 3);
    assert_true(pg_group_same(&one.group, 1, true));
    assert_true(pg_group_judge(&one.group));
    assert_int_equal(one.entity.result, SHERD_BACKEND_DONE);
    assert_int_equal(one.group.parameters[1].count, 2);
    pg_group_learn(&one.group);
    assert_true(pg_known_entity(&one.known, slice_text("T|e"))->last == 6);
    tear_down(&one);
}

static void other_bytes_are_a_conflict(void **state)
{
    struct one one;
    (void)state;

    set_up(&one, 4, 1);
    know_shard(&one, 9);
    one.request.again = 1;
    begin(&one);
    give_row(&one, (struct fence){ 1, 2 }, OWN, 10);
    give_entity(&one, 4);
    assert_int_equal(pg_group_ask_records(&one.group), 1);
    assert_true(pg_group_same(&one.group, 1, false));
    assert_false(pg_group_judge(&one.group));
    assert_int_equal(one.entity.result, SHERD_BACKEND_CONFLICT);
    tear_down(&one);
}

/* A lane's group has shards of several types, in any order. */
static void a_halted_type_does_not_stop_the_others(void **state)
{
    (void)state;
    for (uint32_t halted = 0; halted < 2; halted++) {
        struct sherd_backend_shard shards[2] = {
            { .type = { "A", 1 }, .shard = { "s", 1 }, .fence = { 1, 2 } },
            { .type = { "B", 1 }, .shard = { "s", 1 }, .fence = { 1, 2 } },
        };
        struct sherd_backend_entity entities[2] = { { .shard = 0, .id = { "A|e", 3 } },
                                                    { .shard = 1, .id = { "B|e", 3 } } };
        const struct sherd_backend_record records[2] = { { .entity = 0, .seq = 4, .bytes = { "r", 1 } },
                                                         { .entity = 1, .seq = 4, .bytes = { "r", 1 } } };
        struct map types = { 0 };
        struct buf key = { 0 };
        struct one one;

        set_up(&one, 4, 0);
        one.request = (struct sherd_backend_request){
            .verb = SHERD_BACKEND_APPEND, .shards = shards, .shard_count = 2, .entities = entities,
            .entity_count = 2, .records = records, .record_count = 2,
        };
        (void)map_put(&types, halted ? slice_text("B") : slice_text("A"), &one);
        for (uint64_t i = 0; i < 2; i++) {
            pg_know_shard(&one.known, pg_shard_key(&key, slice_of(shards[i].type.data, 1), slice_text("s")),
                          (struct pg_known_shard){ .id = 7 + i, .fence = { 1, 2 }, .last = 9 });
            pg_know_entity(&one.known, slice_of(entities[i].id.data, 3), (struct pg_known_entity){ 100 + i, 3, { 1, 2 } });
        }
        begin(&one);
        one.group.halted = &types;
        assert_int_equal(pg_group_plan(&one.group), PG_WAY_SLOW);
        pg_group_ask_shards(&one.group);
        pg_group_ask_entities(&one.group);
        for (uint64_t i = 0; i < 2; i++) {
            struct pg_shard_row row = { slice_of(shards[i].type.data, 1), slice_text("s"), 7 + i, { 1, 2 }, OWN, 9 };
            struct pg_entity_row found = { i + 1, 100 + i, 3 };

            pg_group_shard_row(&one.group, &row);
            assert_true(pg_group_entity(&one.group, &found));
        }
        pg_group_looked(&one.group);
        assert_true(pg_group_judge(&one.group));
        assert_int_equal(entities[halted].result, SHERD_BACKEND_FAILED);
        assert_int_equal(entities[!halted].result, SHERD_BACKEND_DONE);
        assert_int_equal(one.group.parameters[1].count, 1); /* numbers of records */
        map_fini(&types);
        buf_fini(&key);
        tear_down(&one);
    }
}

static void the_writer_forgets_entities_at_the_limit(void **state)
{
    struct pg_known known = { .shards = { 0 } };
    (void)state;

    for (uint64_t i = 0; i <= PG_KNOWN_ENTITIES_MAX; i++)
        pg_know_entity(&known, map_u64(&i), (struct pg_known_entity){ i, 1, { 1, 1 } });
    assert_int_equal(known.entities.count, 1);
    for (uint64_t i = 0; i <= PG_KNOWN_SHARDS_MAX; i++)
        pg_know_shard(&known, map_u64(&i), (struct pg_known_shard){ .id = i });
    assert_int_equal(known.shards.count, 1);
    pg_known_fini(&known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_claimed_shard_with_known_entities_needs_one_statement),
        cmocka_unit_test(the_first_group_of_a_connection_looks_first),
        cmocka_unit_test(a_group_of_a_taken_shard_looks_first),
        cmocka_unit_test(a_group_takes_the_shortest_statement),
        cmocka_unit_test(new_entities_and_deletions_take_the_long_statement),
        cmocka_unit_test(an_unknown_entity_is_looked_up),
        cmocka_unit_test(numbers_read_under_another_fence_are_looked_up),
        cmocka_unit_test(a_repetition_and_a_gap_look_first),
        cmocka_unit_test(another_owner_fences),
        cmocka_unit_test(a_lower_position_is_a_loss),
        cmocka_unit_test(a_lower_position_is_named_also_under_another_claim),
        cmocka_unit_test(another_owners_position_does_not_count_as_confirmed),
        cmocka_unit_test(a_lower_fence_or_no_row_is_a_loss),
        cmocka_unit_test(a_repetition_whose_first_try_was_written_is_done),
        cmocka_unit_test(a_repetition_writes_only_what_is_missing),
        cmocka_unit_test(other_bytes_are_a_conflict),
        cmocka_unit_test(a_halted_type_does_not_stop_the_others),
        cmocka_unit_test(the_writer_forgets_entities_at_the_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
