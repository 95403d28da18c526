/* Checks persistence: recovery, held effects, failures while effects are held, fences, limits. */
#include "lab.h"

/* Starts the entity of type P and lets it recover; then the log is empty. Returns the actor. */
static uint64_t start(const char *id)
{
    uint64_t actor;

    lab_entity_tell(TYPE_P, id, 5);
    lab_run();
    assert_int_equal(lab.want_count, 1);
    actor = lab.wants[0];
    lab_recover_all();
    lab_run();
    lab.log[0] = 0;
    return actor;
}

static void an_entity_recovers_before_it_starts(void **state)
{
    uint64_t x;
    (void)state;

    lab_entity_tell(TYPE_P, "x", 5);
    lab_entity_tell(TYPE_P, "x", 6);
    lab_run();
    lab_expect("");
    assert_int_equal(lab.want_count, 1);
    x = lab.wants[0];
    actors_replay_event(lab.actors, x, 1,
                        (struct entity_event){ .type = 9, .payload = slice_text("e") });
    actors_replay_event(lab.actors, x, 2,
                        (struct entity_event){ .type = 9, .payload = slice_text("e") });
    actors_replay_event(lab.actors, x + 1, 3,
                        (struct entity_event){ .type = 9, .payload = slice_text("e") }); /* not an actor */
    actors_recovered(lab.actors, x, 2);
    lab_run();
    lab_expect("x+ x.5 x.6 ");
    actors_recovered(lab.actors, x, 2); /* late: ignored */
    lab_run();
    assert_int_equal(lab_status().ignored, 2);
    ENTITY_ORDER(TYPE_P, "x", { DO_PERSIST, 1, .ms = 3 });
    lab_run();
    assert_int_equal(lab.events, 1);
}

static void effects_wait_until_their_event_is_durable(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    struct sherd_ref far = { 88, 1 };
    (void)state;

    start("x");
    ENTITY_ORDER(TYPE_P, "x", { DO_TELL, 10, .ref = a },
                 { DO_PERSIST, 1, .ms = 3 }, { DO_TELL, 11, .ref = a },
                 { DO_TELL, 12, .ref = far },
                 { DO_ENTITY_TELL, 13, .type = "A", .id = "y" },
                 { DO_PERSIST, 2, .ms = 3 }, { DO_TELL, 14, .ref = a });
    lab_run();
    lab_expect("x.1 a.10 ");
    assert_int_equal(lab_status().held, 4);
    /* Effects of its next messages have the same position. */
    ENTITY_ORDER(TYPE_P, "x", { DO_TELL, 15, .ref = a });
    lab_run();
    lab_expect("x.1 ");
    actors_durable(lab.actors, 1);
    lab_run();
    lab_expect("a.11 y+ y.13 ");
    assert_int_equal(lab.out_count, 1);
    actors_durable(lab.actors, 2);
    lab_run();
    lab_expect("a.14 a.15 ");
    ENTITY_ORDER(TYPE_P, "x", { DO_TELL, 16, .ref = a });
    lab_run();
    lab_expect("x.1 a.16 ");
    assert_int_equal(lab_status().held, 0);
}

static void only_effects_of_the_persisting_entity_are_held(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    start("x");
    start("y");
    ENTITY_ORDER(TYPE_P, "x", { DO_PERSIST, 1, .ms = 3 },
                 { DO_TELL, 11, .ref = a });
    ENTITY_ORDER(TYPE_P, "y", { DO_TELL, 12, .ref = a },
                 { DO_PERSIST, 1, .ms = 3 }, { DO_TELL, 13, .ref = a });
    ENTITY_ORDER(TYPE_P, "x", { DO_TELL, 14, .ref = a });
    lab_run();
    lab_expect("x.1 x.1 y.1 a.12 ");
    actors_durable(lab.actors, 1);
    lab_run();
    lab_expect("a.11 a.14 ");
    actors_durable(lab.actors, 2);
    lab_run();
    lab_expect("a.13 ");
}

/* Others use positions of the same count: an effect waits for its own event, not for the next. */
static void positions_of_others_lie_between_those_of_events(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    start("x");
    start("y");
    lab.position = 10;
    ENTITY_ORDER(TYPE_P, "x", { DO_PERSIST, 1, .ms = 3 },
                 { DO_TELL, 11, .ref = a });
    lab_run();
    lab.position = 20;
    ENTITY_ORDER(TYPE_P, "y", { DO_PERSIST, 1, .ms = 3 },
                 { DO_TELL, 12, .ref = a });
    ENTITY_ORDER(TYPE_P, "x", { DO_PERSIST, 2, .ms = 3 },
                 { DO_TELL, 13, .ref = a });
    lab_run();
    lab_expect("x.1 y.1 x.1 ");
    actors_durable(lab.actors, 10);
    lab_run();
    lab_expect("");
    actors_durable(lab.actors, 11);
    lab_run();
    lab_expect("a.11 ");
    actors_durable(lab.actors, 21);
    lab_run();
    lab_expect("a.12 ");
    actors_durable(lab.actors, 30); /* of another's write */
    lab_run();
    lab_expect("a.13 ");
    assert_int_equal(lab_status().held, 0);
}

/* The journal refuses at once, and reports the failure later. */
static void effects_of_a_refused_event_never_leave(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    uint64_t x;
    (void)state;

    x = start("x");
    start("y");
    ENTITY_ORDER(TYPE_P, "x", { DO_PERSIST, 1, .ms = 3 },
                 { DO_TELL, 11, .ref = a });
    lab_run();
    lab.refuses = true;
    ENTITY_ORDER(TYPE_P, "x", { DO_PERSIST, 2, .ms = 3 },
                 { DO_TELL, 12, .ref = a });
    lab_run();
    lab.refuses = false;
    ENTITY_ORDER(TYPE_P, "y", { DO_PERSIST, 1, .ms = 3 },
                 { DO_TELL, 13, .ref = a });
    lab_run();
    lab_expect("x.1 x.1 y.1 ");
    actors_durable(lab.actors, 1);
    lab_run();
    lab_expect("a.11 "); /* its event is stored */
    actors_store_failed(lab.actors, x, SHERD_REASON_NOT_STORED);
    actors_durable(lab.actors, 2);
    lab_run();
    lab_expect("a.13 ");
    assert_int_equal(lab_status().held, 0);
    assert_int_equal(lab_status().undelivered[SHERD_REASON_NOT_STORED], 1);
}

static void a_spawned_actor_runs_once_the_event_is_durable(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    struct sherd_ref child;
    (void)state;

    start("x");
    ENTITY_ORDER(TYPE_P, "x", { DO_PERSIST, 1, .ms = 3 },
                 { DO_SPAWN, .id = "c" });
    lab_run();
    lab_expect("x.1 ");
    child = lab.last;
    assert_int_equal(lab_status().actors, 2);
    ENTITY_ORDER(TYPE_P, "x", { DO_TELL, 11, .ref = child });
    lab_tell(child, 12); /* not from x: it waits in the mailbox */
    lab_run();
    lab_expect("x.1 ");
    actors_durable(lab.actors, 1);
    lab_run();
    lab_expect("c+ c.12 c.11 ");
    /* It runs at once when no event is on its way, also without init. */
    ENTITY_ORDER(TYPE_P, "x", { DO_SPAWN, .id = "d" },
                 { DO_PERSIST, 1, .ms = 3 }, { DO_SPAWN, .id = "" },
                 { DO_TELL, 13, .ref = a });
    lab_run();
    lab_expect("x.1 d+ ");
    actors_durable(lab.actors, 2);
    lab_run();
    lab_expect("+ a.13 ");
}

/* Actor a asks x with a body of orders, which x carries out. */
static void ask_x(struct sherd_ref a, const struct order *orders,
                  uint32_t count)
{
    struct message *message;
    uint64_t ask;

    ORDER(a, { DO_ASK, 5, .ref = { 88, 1 }, .tag = 7, .ms = 100 });
    lab_run();
    ask = lab.out[0]->ask;
    lab_free_out();
    lab.log[0] = 0;
    message = actors_entity_message(lab.actors, TYPE_P, slice_text("x"),
                                    slice_of(orders, count * sizeof *orders));
    message->msg = 1;
    message->sender = a;
    message->ask = ask;
    message->entity.shard = hash_shard(slice_text("x"), 10);
    message->entity.has_shard = 1;
    actors_deliver_entities(lab.actors, &message, 1);
    lab_run();
    lab_expect("x.1 ");
}

static void a_reply_waits_for_durability_SHT011(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    struct order orders[2] = { { DO_PERSIST, 1, .ms = 3 }, { DO_REPLY, 33 } };
    (void)state;

    start("x");
    ask_x(a, orders, 2);
    lab_run();
    lab_expect("");
    actors_durable(lab.actors, 1);
    lab_run();
    lab_expect("a=7:33 ");
}

static uint64_t entity_ref(const char *id)
{
    /* Its own ref. */
    struct sherd_ref ref;

    ENTITY_ORDER(TYPE_P, id, { DO_TELL, 4, .ref = { 88, 1 } });
    lab_run();
    assert_int_equal(lab.out_count, 1);
    ref = lab.out[0]->sender;
    lab_free_out();
    lab.log[0] = 0;
    return ref.actor;
}

static void a_failed_write_ends_the_entity_and_it_recovers(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    struct order orders[4] = { { DO_PERSIST, 1, .ms = 3 },
                               { DO_REPLY, 33 },
                               { DO_TELL, 12, .ref = a },
                               { DO_ENTITY_TELL, 13, .type = "A", .id = "y" } };
    uint64_t x;
    (void)state;

    start("x");
    x = entity_ref("x");
    ask_x(a, orders, 4);
    lab_entity_tell(TYPE_P, "x", 6);
    actors_store_failed(lab.actors, x, SHERD_REASON_NOT_STORED);
    lab_run();
    lab_expect("a!7:12:7 ");
    assert_int_equal(lab.alive, 1); /* only a: x has been released */
    assert_int_equal(lab.forget_count, 1);
    assert_int_equal(lab.want_count, 1);
    assert_int_equal(lab_status().undelivered[SHERD_REASON_NOT_STORED], 3);
    actors_durable(lab.actors, 1); /* settled, for an ended incarnation */
    lab_recover_all();
    lab_run();
    lab_expect("x+ x.6 ");
    /* Without waiting messages it is only released. */
    x = entity_ref("x");
    ENTITY_ORDER(TYPE_P, "x", { DO_PERSIST, 1, .ms = 3 });
    lab_run();
    actors_store_failed(lab.actors, x, SHERD_REASON_NOT_STORED);
    lab_run();
    assert_int_equal(lab_status().entities, 0);
    actors_durable(lab.actors, 2);
}

static void an_actor_spawned_after_a_failed_write_never_runs(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    struct sherd_ref child;
    uint64_t x;
    (void)state;

    start("x");
    x = entity_ref("x");
    ENTITY_ORDER(TYPE_P, "x", { DO_PERSIST, 1, .ms = 3 },
                 { DO_SPAWN, .id = "c" });
    lab_run();
    child = lab.last;
    lab_tell(child, 12);
    actors_store_failed(lab.actors, x, SHERD_REASON_NOT_STORED);
    lab_run();
    lab_expect("x.1 ");
    assert_int_equal(lab_status().actors, 1);
    assert_int_equal(lab_status().undelivered[SHERD_REASON_STOPPED], 1);
    ORDER(a, { DO_WATCH, .ref = child });
    lab_run();
    lab_expect("a.1 a# ");
    /* An event that is too large fails when the handler returns. */
    start("x");
    ENTITY_ORDER(TYPE_P, "x", { DO_PERSIST, 1, .ms = SHERD_BODY_MAX + 1 },
                 { DO_SPAWN, .id = "d" });
    lab_run();
    lab_expect("x.1 ");
    assert_int_equal(lab_status().actors, 1);
    assert_true(lab_traced("event too large, entity stops size=200001 max=200000"));
}

static void a_spawned_actor_stops_when_all_stop(void **state)
{
    (void)state;

    start("x");
    ENTITY_ORDER(TYPE_P, "x", { DO_PERSIST, 1, .ms = 3 },
                 { DO_SPAWN, .id = "c" });
    lab_run();
    lab_expect("x.1 ");
    actors_stop_all(lab.actors, lab.now + 1000 * 1000000ull);
    lab_run();
    lab_expect("x- ");
    actors_durable(lab.actors, 1);
    lab_run();
    lab_expect("c+ c- ");
    assert_int_equal(actors_alive(lab.actors), 0);
}

/* The outcome of its parent's event stays open. */
static void an_actor_that_stops_late_is_named(void **state)
{
    (void)state;

    start("x");
    ENTITY_ORDER(TYPE_P, "x", { DO_PERSIST, 1, .ms = 3 },
                 { DO_SPAWN, .id = "c" });
    lab_run();
    actors_stop_all(lab.actors, lab.now + 1000 * 1000000ull);
    lab_run();
    assert_false(lab_traced("in time"));
    lab_advance(1000);
    assert_true(lab_traced("did not stop in time actor="));
}

static void repeated_failures_back_off(void **state)
{
    uint64_t x;
    (void)state;

    start("x");
    x = entity_ref("x");
    ENTITY_ORDER(TYPE_P, "x", { DO_PERSIST, 1, .ms = 3 });
    lab_run();
    lab_entity_tell(TYPE_P, "x", 6);
    actors_store_failed(lab.actors, x, SHERD_REASON_NOT_STORED);
    lab_run();
    assert_int_equal(lab.want_count, 1);
    x = lab.wants[0];
    lab_recover_all();
    ENTITY_ORDER(TYPE_P, "x", { DO_PERSIST, 1, .ms = 3 });
    lab_entity_tell(TYPE_P, "x", 7);
    actors_run(lab.actors, lab.now, 0, 1);
    lab_run();
    lab_entity_tell(TYPE_P, "x", 8);
    actors_store_failed(lab.actors, x, SHERD_REASON_NOT_STORED);
    lab_run();
    assert_int_equal(lab.want_count, 0);
    lab_advance(600);
    assert_int_equal(lab.want_count, 1);
    lab_recover_all();
    lab_run();
    assert_non_null(strstr(lab.log, "x.8 "));
}

static void an_end_waits_for_its_events(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    start("x");
    {
        struct sherd_ref x = { NODE, entity_ref("x") };

        ORDER(a, { DO_WATCH, .ref = x });
    }
    lab_run();
    lab.log[0] = 0;
    ENTITY_ORDER(TYPE_P, "x", { DO_PERSIST, 1, .ms = 3 },
                 { DO_TELL, 11, .ref = a }, { DO_SELF_STOP });
    lab_entity_tell(TYPE_P, "x", 6);
    lab_entity_tell(TYPE_P, "x", 7);
    lab_run();
    lab_expect("x.1 "); /* 6 and 7 are for the next incarnation */
    lab_entity_tell(TYPE_P, "x", 8);
    lab_run();
    assert_int_equal(lab.forget_count, 0);
    actors_durable(lab.actors, 1);
    lab_run();
    lab_expect("a.11 a# ");
    assert_int_equal(lab.forget_count, 1);
    lab_recover_all();
    lab_run();
    lab_expect("x+ x.6 x.7 x.8 ");
}

static void a_passivation_waits_for_its_events(void **state)
{
    (void)state;

    start("x");
    ENTITY_ORDER(TYPE_P, "x", { DO_PERSIST, 1, .ms = 3 }, { DO_PASSIVATE });
    lab_run();
    lab_expect("x.1 x- ");
    assert_int_equal(lab_status().entities, 1);
    lab_entity_tell(TYPE_P, "x", 6);
    actors_durable(lab.actors, 1);
    lab_run();
    assert_int_equal(lab.want_count, 1);
    lab_recover_all();
    lab_run();
    lab_expect("x+ x.6 ");
}

static void a_failed_handler_keeps_durable_effects(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    start("x");
    ENTITY_ORDER(TYPE_P, "x", { DO_PERSIST, 1, .ms = 3 },
                 { DO_TELL, 11, .ref = a }, { DO_FAIL });
    lab_run();
    lab_expect("x.1 ");
    actors_durable(lab.actors, 1);
    lab_run();
    lab_expect("a.11 ");
    assert_int_equal(lab_status().entities, 0);
}

static void a_hand_off_waits_for_its_events(void **state)
{
    (void)state;

    start("x");
    ENTITY_ORDER(TYPE_P, "x", { DO_PERSIST, 1, .ms = 3 });
    lab_run();
    lab_expect("x.1 ");
    actors_shard_stop(lab.actors, TYPE_P, hash_shard(slice_text("x"), 10),
                      lab.now + SECOND);
    lab_run();
    lab_expect("x- ");
    assert_int_equal(lab.empty_count, 0);
    lab_advance(2000); /* also past the deadline */
    assert_int_equal(lab.empty_count, 0);
    actors_durable(lab.actors, 1);
    lab_run();
    assert_int_equal(lab.empty_count, 1);
}

static void a_fence_drops_effects_and_fails_open_asks(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    struct order orders[3] = { { DO_PERSIST, 1, .ms = 3 },
                               { DO_REPLY, 33 },
                               { DO_TELL, 12, .ref = a } };
    int32_t shard = hash_shard(slice_text("x"), 10);
    uint64_t x;
    (void)state;

    start("x");
    x = entity_ref("x");
    ask_x(a, orders, 3);
    lab_entity_tell(TYPE_P, "x", 6);
    lab_entity_tell(TYPE_P, "x", 7);
    lab.route = false;
    /* The store reports the entity first, then the shard. */
    actors_store_failed(lab.actors, x, SHERD_REASON_FENCED);
    assert_int_equal(lab_status().entities, 1);
    actors_shard_fenced(lab.actors, TYPE_P, shard);
    lab_run();
    lab_expect("a!7:13:7 ");
    assert_int_equal(lab.out_count, 2);
    assert_int_equal(lab.out[0]->msg, 6);
    assert_int_equal(lab.out[1]->msg, 7);
    assert_int_equal(lab.want_count, 0);
    assert_int_equal(lab_status().entities, 0);
    actors_durable(lab.actors, 1);
    lab_run();
    lab_expect("");
}

static void a_failed_recovery_ends_its_messages_and_backs_off(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    ORDER(a, { DO_ENTITY_ASK, 50, .type = "P", .id = "x", .tag = 7, .ms = 99 });
    lab_run();
    lab_expect("a+ a.1 ");
    actors_recovery_failed(lab.actors, lab.wants[0], "damaged");
    lab.want_count = 0;
    lab_run();
    lab_expect("a!7:14:4 ");
    lab_entity_tell(TYPE_P, "x", 6);
    lab_run();
    assert_int_equal(lab.want_count, 0);
    lab_advance(250);
    assert_int_equal(lab.want_count, 1);
    lab_recover_all();
    lab_run();
    lab_expect("x+ x.6 ");
}

/* An entity in back-off recovers at once when its shard stops. Its messages are read or end here,
 * because other nodes reach the new home sooner. */
static void a_hand_off_does_not_wait_for_a_back_off(void **state)
{
    (void)state;

    for (int recovers = 1; recovers >= 0; recovers--) {
        const char *id = recovers ? "y" : "z";

        lab.route = true;
        lab_entity_tell(TYPE_P, id, 6);
        lab_run();
        actors_recovery_failed(lab.actors, lab.wants[0], "damaged");
        lab.want_count = 0;
        lab_entity_tell(TYPE_P, id, 7);
        lab_run();
        lab.route = false;
        actors_shard_stop(lab.actors, TYPE_P, hash_shard(slice_text(id), 10),
                          lab.now + SECOND);
        lab_run();
        assert_int_equal(lab.out_count, 0);
        assert_int_equal(lab.want_count, 1);
        if (!recovers) {
            actors_recovery_failed(lab.actors, lab.wants[0], "damaged");
            lab.want_count = 0;
            lab_run();
            assert_int_equal(
                lab_status().undelivered[SHERD_REASON_RECOVERY_FAILED], 3);
        } else {
            lab_recover_all();
            lab_run();
            lab_expect("y+ y.7 y- ");
        }
        assert_int_equal(lab.out_count, 0);
        assert_int_equal(lab.empty_count, recovers ? 1 : 2);
    }
}

static void an_event_too_large_fails_the_entity(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    start("x");
    ENTITY_ORDER(TYPE_P, "x", { DO_PERSIST, 1, .ms = SHERD_BODY_MAX },
                 { DO_TELL, 11, .ref = a });
    lab_run();
    actors_durable(lab.actors, 1);
    lab_run();
    lab_expect("x.1 a.11 ");
    /* Its later effects do not leave. */
    ENTITY_ORDER(TYPE_P, "x", { DO_TELL, 12, .ref = a },
                 { DO_PERSIST, 1, .ms = SHERD_BODY_MAX + 1 },
                 { DO_TELL, 13, .ref = a }, { DO_JOB, 0 });
    lab_run();
    lab_expect("x.1 a.12 ");
    assert_null(lab_job());
    assert_int_equal(lab.args, 0);
    assert_int_equal(lab_status().undelivered[SHERD_REASON_NOT_STORED], 1);
    assert_int_equal(lab_status().store_failures, 1);
    assert_int_equal(lab_status().entities, 0);
}

static void an_entity_at_the_limit_of_events_is_not_scheduled(void **state)
{
    struct order orders[100];
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    for (int i = 0; i < 100; i++)
        orders[i] = (struct order){ DO_PERSIST, 1, .ms = 1 };
    start("x");
    for (int i = 0; i < ENTITY_EVENTS_MAX / 100; i++) {
        lab_entity_order(TYPE_P, "x", orders, 100);
        lab_run();
        assert_int_equal(lab.events, (i + 1) * 100);
    }
    lab.log[0] = 0;
    ENTITY_ORDER(TYPE_P, "x", { DO_TELL, 11, .ref = a });
    lab_run();
    lab_expect("");
    assert_int_equal(lab_status().waiting, 1);
    actors_durable(lab.actors, 1);
    lab_run();
    lab_expect("x.1 ");
    actors_durable(lab.actors, lab.events);
    lab_run();
    lab_expect("a.11 ");
}

/* Events that became durable together stop counting, however many. */
static void durable_events_leave_room_for_others(void **state)
{
    struct order orders[100];
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    for (int i = 0; i < 100; i++)
        orders[i] = (struct order){ DO_PERSIST, 1, .ms = 1 };
    start("x");
    for (int i = 0; i < 2 * ENTITY_EVENTS_MAX / 100; i++) {
        lab_entity_order(TYPE_P, "x", orders, 100);
        lab_run();
        actors_durable(lab.actors, lab.events);
    }
    lab.log[0] = 0;
    ENTITY_ORDER(TYPE_P, "x", { DO_PERSIST, 1, .ms = 1 });
    lab_run();
    ENTITY_ORDER(TYPE_P, "x", { DO_TELL, 11, .ref = a });
    lab_run();
    assert_int_equal(lab_status().waiting, 1); /* the held tell; its mailbox is empty */
    lab_expect("x.1 x.1 ");
    actors_durable(lab.actors, lab.events);
    lab_run();
    lab_expect("a.11 ");
}

static void an_entity_at_the_limit_of_effects_is_not_scheduled(void **state)
{
    struct order orders[101];
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    start("x");
    orders[0] = (struct order){ DO_PERSIST, 1, .ms = 1 };
    for (int i = 1; i <= 100; i++)
        orders[i] = (struct order){ DO_TELL, 5, .ref = a };
    lab.quiet = true;
    for (int i = 0; i < 10; i++)
        lab_entity_order(TYPE_P, "x", orders, 101);
    for (int i = 0; i < 9; i++) {
        lab_run();
        for (int j = 0; j < 10; j++)
            lab_entity_order(TYPE_P, "x", orders, 101);
    }
    lab_run();
    assert_int_equal(lab_status().held, ENTITY_HELD_MAX);
    lab_entity_tell(TYPE_P, "x", 6);
    lab_run();
    assert_int_equal(lab_status().waiting, 1 + ENTITY_HELD_MAX);
    actors_durable(lab.actors, 1);
    lab_run();
    assert_int_equal(lab_status().waiting, ENTITY_HELD_MAX - 100);
    actors_durable(lab.actors, lab.events);
    lab_run();
    assert_int_equal(lab_status().waiting, 0);
}

static void persistent_entities_wait_without_room_in_the_lane(void **state)
{
    (void)state;

    start("x");
    actors_set_storing_room(lab.actors, false);
    lab_entity_tell(TYPE_P, "x", 6);
    lab_entity_tell(TYPE_A, "y", 6);
    lab_run();
    lab_expect("y+ y.6 ");
    lab_entity_tell(TYPE_P, "x", 7);
    lab_run();
    actors_set_storing_room(lab.actors, true);
    lab_run();
    lab_expect("x.6 x.7 ");
}

static void only_persistent_entities_can_persist(void **state)
{
    (void)state;

    ENTITY_ORDER(TYPE_A, "x", { DO_PERSIST, 1, .ms = 1 });
    lab_run();
    assert_int_equal(lab.events, 0);
    lab_expect("x+ x.1 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)
        TEST(an_entity_recovers_before_it_starts),
        TEST(effects_wait_until_their_event_is_durable),
        TEST(only_effects_of_the_persisting_entity_are_held),
        TEST(positions_of_others_lie_between_those_of_events),
        TEST(effects_of_a_refused_event_never_leave),
        TEST(a_spawned_actor_runs_once_the_event_is_durable),
        TEST(a_reply_waits_for_durability_SHT011),
        TEST(a_failed_write_ends_the_entity_and_it_recovers),
        TEST(an_actor_spawned_after_a_failed_write_never_runs),
        TEST(a_spawned_actor_stops_when_all_stop),
        TEST(an_actor_that_stops_late_is_named),
        TEST(repeated_failures_back_off),
        TEST(an_end_waits_for_its_events),
        TEST(a_passivation_waits_for_its_events),
        TEST(a_failed_handler_keeps_durable_effects),
        TEST(a_hand_off_waits_for_its_events),
        TEST(a_fence_drops_effects_and_fails_open_asks),
        TEST(a_failed_recovery_ends_its_messages_and_backs_off),
        TEST(a_hand_off_does_not_wait_for_a_back_off),
        TEST(an_event_too_large_fails_the_entity),
        TEST(an_entity_at_the_limit_of_events_is_not_scheduled),
        TEST(durable_events_leave_room_for_others),
        TEST(an_entity_at_the_limit_of_effects_is_not_scheduled),
        TEST(persistent_entities_wait_without_room_in_the_lane),
        TEST(only_persistent_entities_can_persist),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
