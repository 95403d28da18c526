/* Checks when snapshots of entities are taken, what they hold, and how they are loaded. */
#include "lab.h"

enum { TYPE_E = 4 };

/* An entity that adds up its events, and owns memory. */
struct sum {
    uint64_t total;
    char *owned;
};

static struct {
    uint64_t total; /* of the entity that handled a message last */
    uint64_t sequence;
    uint32_t released;
    int save_fails, load_fails;
    enum sherd_next next;
    size_t padding; /* more bytes in each image */

    uint32_t saves; /* calls of the journal */
    uint64_t image; /* in the last call */
    uint64_t events; /* before the last one */
    struct actors_snapshot last;
} seen;

static void add(void *self, uint32_t type, struct sherd_bytes event)
{
    struct sum *sum = self;

    (void)event;
    sum->total += type;
}

static int save(const void *self, struct sherd_out *out)
{
    const struct sum *sum = self;
    uint8_t *padding = calloc(seen.padding + 1, 1);

    sherd_out_put(out, (struct sherd_bytes){ &sum->total, sizeof sum->total });
    if (seen.padding)
        sherd_out_put(out, (struct sherd_bytes){ padding, seen.padding });
    free(padding);
    return seen.save_fails;
}

static int load(void *self, uint32_t version, struct sherd_bytes image)
{
    struct sum *sum = self;

    assert_int_equal(sum->total, 0); /* always a fresh state */
    assert_null(sum->owned);
    assert_int_equal(version, 3);
    memcpy(&sum->total, image.data, sizeof sum->total);
    sum->owned = malloc(10);
    return seen.load_fails;
}

static int save_now(const void *self, uint32_t type, struct sherd_bytes event)
{
    (void)self;
    (void)event;
    return type == 50;
}

static void drop(void *self)
{
    struct sum *sum = self;

    free(sum->owned);
    seen.released++;
}

/* A message n stores n times an event 1; 50 one event of that type. */
static enum sherd_next sum_receive(struct sherd_ctx *ctx, void *self,
                                   const struct sherd_msg *msg)
{
    struct sum *sum = self;

    if (msg->kind == SHERD_MESSAGE && msg->msg == 50)
        sherd_persist(ctx, 50, (struct sherd_bytes){ NULL, 0 });
    else if (msg->kind == SHERD_MESSAGE)
        for (uint32_t i = 0; i < msg->msg; i++)
            sherd_persist(ctx, 1, (struct sherd_bytes){ NULL, 0 });
    seen.total = sum->total;
    seen.sequence = sherd_snapshot_sequence(ctx);
    return seen.next;
}

static void saved(void *user, uint64_t actor, const struct actors_snapshot *snapshot)
{
    (void)user;
    (void)actor;
    seen.saves++;
    seen.events = lab.events;
    seen.last = *snapshot;
    memcpy(&seen.image, snapshot->image.data, sizeof seen.image);
}

static int setup(void **state)
{
    struct sherd_entity_type type = { .name = "E",
                                      .behavior = { .name = "sum",
                                                    .state_size = sizeof(struct sum),
                                                    .receive = sum_receive,
                                                    .apply = add,
                                                    .release = drop,
                                                    .save = save,
                                                    .load = load,
                                                    .save_version = 3,
                                                    .save_every = 3,
                                                    .save_now = save_now },
                                      .shards = 10,
                                      .keep_snapshots = 4,
                                      .delete_events = 1,
                                      .keep_events = 7 };

    (void)state;
    memset(&seen, 0, sizeof seen);
    lab_open_with((struct actors_settings){ .save = saved });
    actors_add_type(lab.actors, TYPE_E, &type);
    return 0;
}

/* Starts the entity x, whose recovery is wanted by lab.wants[0], with a message. */
static void start(uint32_t msg)
{
    lab_entity_tell(TYPE_E, "x", msg);
    lab_run();
    assert_int_equal(lab.want_count, 1);
}

static void recovered(uint64_t seq)
{
    actors_recovered(lab.actors, lab.wants[0], seq);
    lab_run();
}

static void tell(uint32_t msg)
{
    lab_entity_tell(TYPE_E, "x", msg);
    lab_run();
}

static void a_snapshot_is_taken_every_n_events(void **state)
{
    (void)state;

    start(2);
    recovered(0);
    assert_int_equal(seen.saves, 0);
    tell(1);
    assert_int_equal(seen.saves, 1);
    assert_int_equal(seen.image, 3);
    tell(1);
    tell(1);
    assert_int_equal(seen.saves, 1);
    tell(1);
    assert_int_equal(seen.saves, 2);
    assert_int_equal(seen.image, 6);
    assert_int_equal(seen.last.version, 3);
    assert_int_equal(seen.last.keep, 4);
    assert_true(seen.last.deletes_events);
    assert_int_equal(seen.last.keep_events, 7);
}

/* The state after a part of a message's events is no state that the program has shown. */
static void the_image_is_taken_after_the_message(void **state)
{
    (void)state;

    start(10);
    recovered(0);
    assert_int_equal(seen.saves, 1);
    assert_int_equal(seen.image, 10);
    assert_int_equal(seen.events, 10);
}

static void the_predicate_asks_for_a_snapshot(void **state)
{
    (void)state;

    start(1);
    recovered(0);
    tell(50);
    assert_int_equal(seen.saves, 1);
    assert_int_equal(seen.image, 51);
}

static void a_recovery_of_many_events_ends_with_a_snapshot(void **state)
{
    (void)state;

    start(0);
    for (uint64_t seq = 1; seq <= 5; seq++)
        assert_true(actors_replay_event(lab.actors, lab.wants[0], seq,
                                        (struct entity_event){ .type = 1 }));
    recovered(5);
    assert_int_equal(seen.saves, 1);
    assert_int_equal(seen.image, 5);
    assert_int_equal(seen.events, 0);
}

static void a_recovery_begins_with_the_snapshot(void **state)
{
    uint64_t total = 40;
    (void)state;

    start(0);
    assert_null(actors_replay_snapshot(lab.actors, lab.wants[0], 20, 3, slice_text(""),
                                       slice_of(&total, sizeof total)));
    assert_true(actors_replay_event(lab.actors, lab.wants[0], 21,
                                    (struct entity_event){ .type = 2 }));
    recovered(21);
    assert_int_equal(seen.total, 42);
    assert_int_equal(seen.sequence, 20);
    assert_int_equal(seen.saves, 0);
    tell(2);
    assert_int_equal(seen.saves, 1); /* three events after the one of the snapshot */
    actors_snapshot_saved(lab.actors, lab.wants[0], 23);
    tell(0);
    assert_int_equal(seen.sequence, 23);
}

static void a_refused_snapshot_leaves_a_fresh_state(void **state)
{
    uint64_t total = 40;
    (void)state;

    start(0);
    seen.load_fails = 1;
    assert_string_equal(actors_replay_snapshot(lab.actors, lab.wants[0], 20, 3, slice_text(""),
                                       slice_of(&total, sizeof total)),
                        "load returned an error");
    assert_int_equal(seen.released, 1);
    seen.load_fails = 0;
    total = 10;
    assert_null(actors_replay_snapshot(lab.actors, lab.wants[0], 5, 3, slice_text(""),
                                       slice_of(&total, sizeof total)));
    recovered(5);
    assert_int_equal(seen.total, 10);
}

static void a_snapshot_of_a_newer_version_is_refused(void **state)
{
    uint64_t total = 40;
    const char *why;
    (void)state;

    start(0);
    why = actors_replay_snapshot(lab.actors, lab.wants[0], 20, 4, slice_text(""),
                                       slice_of(&total, sizeof total));
    assert_non_null(strstr(why, "a newer program"));
    assert_int_equal(seen.released, 0);
    recovered(0);
    assert_int_equal(seen.total, 0);
}

static void a_save_that_fails_is_tried_after_as_many_events(void **state)
{
    (void)state;

    start(3);
    seen.save_fails = 1;
    recovered(0);
    assert_int_equal(seen.saves, 0);
    assert_true(lab_traced("save returned an error"));
    seen.save_fails = 0;
    tell(2);
    assert_int_equal(seen.saves, 0);
    tell(1);
    assert_int_equal(seen.saves, 1);
}

static void an_image_above_the_limit_is_not_stored(void **state)
{
    struct actors_status status;
    (void)state;

    seen.padding = SHERD_SNAPSHOT_MAX - sizeof(uint64_t);
    start(3);
    recovered(0);
    assert_int_equal(seen.saves, 1);
    seen.padding++;
    tell(3);
    assert_int_equal(seen.saves, 1);
    assert_true(lab_traced("larger than journal.snapshot-size-max"));
    actors_status(lab.actors, &status);
    assert_int_equal(status.snapshots_failed, 1);
}

static void a_wrong_state_is_not_saved(void **state)
{
    (void)state;

    start(1);
    recovered(0);
    seen.next = SHERD_FAIL;
    tell(2);
    assert_int_equal(seen.saves, 0);
}

static void a_state_whose_event_was_refused_is_not_saved(void **state)
{
    (void)state;

    start(1);
    recovered(0);
    lab.refuses = true;
    tell(4);
    assert_int_equal(seen.saves, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_snapshot_is_taken_every_n_events, setup, lab_teardown),
        cmocka_unit_test_setup_teardown(the_image_is_taken_after_the_message, setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(the_predicate_asks_for_a_snapshot, setup, lab_teardown),
        cmocka_unit_test_setup_teardown(a_recovery_of_many_events_ends_with_a_snapshot, setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(a_recovery_begins_with_the_snapshot, setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(a_refused_snapshot_leaves_a_fresh_state, setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(a_snapshot_of_a_newer_version_is_refused, setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(a_save_that_fails_is_tried_after_as_many_events, setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(an_image_above_the_limit_is_not_stored, setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(a_wrong_state_is_not_saved, setup, lab_teardown),
        cmocka_unit_test_setup_teardown(a_state_whose_event_was_refused_is_not_saved, setup,
                                        lab_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
