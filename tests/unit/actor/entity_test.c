/* Checks entities: start, passivation and its races, stop messages, failure, hand-off, fencing, the
 * table. */
#include "lab.h"

#include <stdio.h>

static int32_t shard_of(const char *id)
{
    return hash_shard(slice_text(id), 10);
}

static void an_entity_is_started_by_its_first_message_SHT026_SHT028(
    void **state)
{
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    ORDER(a, { DO_ENTITY_TELL, 5, .type = "A", .id = "x" },
          { DO_ENTITY_TELL, 6, .type = "A", .id = "y" },
          { DO_ENTITY_ASK, 50, .type = "A", .id = "x", .tag = 1, .ms = 10 },
          { DO_ENTITY_TELL, 7, .type = "A", .id = "y" });
    lab_run();
    lab_expect("a+ a.1 x+ x.5 x.50 y+ y.6 y.7 a=1:150 ");
    assert_int_equal(actors_type_entities(lab.actors, TYPE_A), 2);
    assert_int_equal(lab_status().entities, 2);
    assert_int_equal(
        actors_shard_entities(lab.actors, TYPE_A, shard_of("x")),
        shard_of("x") == shard_of("y") ? 2 : 1);
}

static void ids_may_be_long_and_types_share_them(void **state)
{
    char id[SHERD_ID_MAX + 1];
    (void)state;

    memset(id, 'z', SHERD_ID_MAX);
    for (size_t size = 1; size <= SHERD_ID_MAX; size++) {
        id[size] = 0;
        lab_entity_tell(TYPE_A, id, 5);
        lab_entity_tell(TYPE_S, id, 5);
        id[size] = 'z';
    }
    lab.quiet = true;
    lab_run();
    assert_int_equal(actors_type_entities(lab.actors, TYPE_A), SHERD_ID_MAX);
    assert_int_equal(actors_type_entities(lab.actors, TYPE_S), SHERD_ID_MAX);
    assert_int_equal(lab.received, 2 * SHERD_ID_MAX);
}

static void messages_during_a_passivation_start_the_next_incarnation_SHD083_SHT024(
    void **state)
{
    (void)state;

    ENTITY_ORDER(TYPE_A, "x", { DO_PASSIVATE }, { DO_SELF_TELL, 9 });
    lab_entity_tell(TYPE_A, "x", 5);
    lab_run();
    /* 5 came before the mark; its own 9 was for this incarnation only, and came after. */
    lab_expect("x+ x.1 x.5 x- ");
    assert_int_equal(lab_status().undelivered[SHERD_REASON_STOPPED], 1);
    assert_int_equal(lab_status().entities, 0);

    ENTITY_ORDER(TYPE_A, "x", { DO_PASSIVATE },
                 { DO_ENTITY_TELL, 6, .type = "A", .id = "x" },
                 { DO_ENTITY_TELL, 7, .type = "A", .id = "x" });
    lab_run();
    lab_expect("x+ x.1 x- x+ x.6 x.7 ");
}

static void a_second_passivation_has_no_effect(void **state)
{
    (void)state;

    ENTITY_ORDER(TYPE_A, "x", { DO_PASSIVATE }, { DO_PASSIVATE });
    lab_entity_tell(TYPE_A, "x", 5);
    lab_run();
    lab_expect("x+ x.1 x.5 x- ");
    assert_int_equal(lab_status().entities, 0);
}

static void a_stop_message_lets_an_entity_finish(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    ENTITY_ORDER(TYPE_S, "x", { DO_PASSIVATE }, { DO_TIMER, .tag = 3, .ms = 5 },
                 { DO_ASK, 50, .ref = a, .tag = 4, .ms = 50 });
    lab_run();
    lab_expect("a+ x+ x.1 x.99 a.50 x=4:150 ");
    lab_entity_tell(TYPE_S, "x", 7); /* waits for the next incarnation */
    lab_run();
    lab_expect("");
    lab_advance(5);
    lab_expect("x@3 ");
    assert_int_equal(lab_status().waiting, 1);
}

static enum sherd_next stops_on_99(struct sherd_ctx *ctx, void *self,
                                   const struct sherd_msg *msg)
{
    enum sherd_next next = puppet.receive(ctx, self, msg);

    return msg->kind == SHERD_TIMER ||
                   (msg->kind == SHERD_MESSAGE && msg->msg == 99)
               ? SHERD_STOP
               : next;
}

static void an_entity_decides_when_to_end_after_its_stop_message_SHT023(
    void **state)
{
    struct sherd_entity_type type = { .name = "T",
                                      .behavior = puppet,
                                      .shards = 10,
                                      .stop_msg = 98,
                                      .idle_ms = UINT64_MAX };
    (void)state;

    type.behavior.receive = stops_on_99;
    actors_add_type(lab.actors, 7, &type);
    ENTITY_ORDER(7, "x", { DO_PASSIVATE }, { DO_TIMER, .tag = 3, .ms = 5 },
                 { DO_ENTITY_TELL, 5, .type = "T", .id = "x" });
    lab_run();
    lab_expect("x+ x.1 x.98 ");
    lab_entity_tell(7, "x", 6);
    lab_advance(5);
    lab_expect("x@3 x+ x.5 x.6 ");
}

static void a_failing_entity_restarts_with_its_messages(void **state)
{
    (void)state;

    lab_entity_tell(TYPE_A, "x", 5);
    lab_entity_tell(TYPE_A, "x", 61);
    lab_entity_tell(TYPE_A, "x", 6);
    lab_run();
    lab_expect("x+ x.5 x.61 x+ x.6 ");
    assert_int_equal(lab_status().undelivered[SHERD_REASON_HANDLER_FAILED], 1);
    lab_entity_tell(TYPE_A, "x", 60);
    lab_run();
    lab_expect("x.60 ");
    assert_int_equal(lab_status().entities, 0);
    lab_entity_tell(TYPE_A, "x", 60);
    lab_entity_tell(TYPE_A, "x", 7);
    lab_run();
    lab_expect("x+ x.60 x+ x.7 ");
    assert_true(lab_traced("receive returned SHERD_FAIL, actor stopped"));
}

static void an_entity_that_cannot_start_backs_off(void **state)
{
    (void)state;

    lab.on_started = SHERD_FAIL;
    lab_entity_tell(TYPE_A, "x", 5);
    lab_run();
    lab_expect("x+ ");
    assert_int_equal(lab_status().waiting, 1);
    lab_advance(199);
    lab_expect("");
    lab_advance(51);
    lab_expect("x+ "); /* the second delay is doubled */
    lab_advance(399);
    lab_expect("");
    lab.on_started = SHERD_CONTINUE;
    lab_advance(101);
    lab_expect("x+ x.5 ");
    assert_int_equal(lab_status().waiting, 0);
}

/* When its shard stops meanwhile, it is tried once more, at once. Then its messages come out as
 * returned ones: the other entities must not wait. */
static void a_failing_start_does_not_delay_its_shards_stop(void **state)
{
    (void)state;

    lab.on_started = SHERD_FAIL;
    lab_entity_tell(TYPE_A, "x", 5);
    lab_run();
    lab_expect("x+ ");
    lab.route = false;
    actors_shard_stop(lab.actors, TYPE_A, shard_of("x"), lab.now + SECOND);
    lab_run();
    lab_expect("x+ ");
    assert_int_equal(lab.empty_count, 1);
    assert_int_equal(lab.out_count, 1);
    assert_int_equal(lab.out[0]->returned, 1);
}

static void an_idle_entity_is_passivated_a_busy_one_is_not(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    lab_entity_tell(TYPE_IDLE, "x", 5);
    ENTITY_ORDER(TYPE_IDLE, "asks",
                 { DO_ASK, 5, .ref = a, .tag = 1, .ms = 10000 });
    lab_run();
    lab_expect("a+ x+ x.5 asks+ asks.1 a.5 ");
    assert_true(actors_deadline(lab.actors) <= lab.now + 125 * MS);
    for (int i = 0; i < 20; i++)
        lab_advance(50);
    lab_expect(""); /* not before 1000 ms */
    for (int i = 0; i < 8; i++)
        lab_advance(50);
    lab_expect("x- ");
    lab_entity_tell(TYPE_IDLE, "y", 5);
    for (int i = 0; i < 60; i++) {
        lab_advance(50);
        if (i % 10 == 0)
            lab_entity_tell(TYPE_IDLE, "y", 5);
    }
    lab_expect("y+ y.5 y.5 y.5 y.5 y.5 y.5 y.5 ");
    for (int i = 0; i < 300; i++)
        lab_advance(50);
    lab_expect("y- asks!1:1:7 asks- ");
    assert_int_equal(lab_status().entities, 0);
    assert_true(actors_deadline(lab.actors) == NEVER);
}

/* Without a limit no entity is idle; each incarnation counts from its last message. */
static void idleness_is_counted_per_incarnation_SHD051_SHD153(void **state)
{
    (void)state;

    lab_entity_tell(TYPE_A, "kept", 5);
    lab_run();
    lab_expect("kept+ kept.5 ");
    for (int round = 0; round < 3; round++) {
        lab_entity_tell(TYPE_IDLE, "x", 5);
        lab_run();
        for (int i = 0; i < 19; i++)
            lab_advance(50);
        lab_entity_tell(TYPE_IDLE, "x", 6);
        for (int i = 0; i < 20; i++)
            lab_advance(50);
        lab_expect("x+ x.5 x.6 ");
        for (int i = 0; i < 8; i++)
            lab_advance(50);
        lab_expect("x- ");
    }
    lab_advance(1000 * 1000);
    lab_expect("");
    assert_int_equal(lab_status().entities, 1);
}

/* The second one gets messages for a while. */
static void each_entity_is_idle_on_its_own_SHD159(void **state)
{
    (void)state;

    assert_int_not_equal(shard_of("x"), shard_of("y"));
    for (int round = 0; round < 2; round++) {
        lab_entity_tell(TYPE_IDLE, "x", 5);
        lab_entity_tell(TYPE_IDLE, "y", 5);
        lab_run();
        lab_advance(500);
        lab_entity_tell(TYPE_IDLE, "y", 6);
        for (int i = 0; i < 10; i++)
            lab_advance(50);
        lab_expect("x+ x.5 y+ y.5 y.6 "); /* 1000 ms */
        for (int i = 0; i < 8; i++)
            lab_advance(50);
        lab_expect("x- ");
        lab_entity_tell(TYPE_IDLE, "y", 7);
        for (int i = 0; i < 20; i++)
            lab_advance(50);
        lab_expect("y.7 ");
        for (int i = 0; i < 8; i++)
            lab_advance(50);
        lab_expect("y- ");
    }
}

static void a_reference_finds_its_entity_SHD082(void **state)
{
    struct sherd_ref x;
    (void)state;

    ENTITY_ORDER(TYPE_A, "x", { DO_SHOW });
    lab_run();
    x = lab.last;
    ENTITY_ORDER(TYPE_A, "y", { DO_SHOW });
    lab_run();
    lab_expect("x+ x.1 y+ y.1 ");
    lab_tell(lab.last, 5);
    lab_tell(x, 6);
    lab_run();
    lab_expect("y.5 x.6 ");
}

/* It does not wait for the end that it asked for. */
static void an_entity_that_passivates_and_stops_starts_again_SHD146(
    void **state)
{
    (void)state;

    ENTITY_ORDER(TYPE_A, "x", { DO_PASSIVATE }, { DO_SELF_STOP });
    lab_entity_tell(TYPE_A, "x", 5);
    lab_run();
    lab_entity_tell(TYPE_A, "x", 6);
    lab_run();
    lab_expect("x+ x.1 x+ x.5 x.6 ");
}

/* As in Akka's passivation, only messages through sharding count. */
static void messages_outside_sharding_do_not_end_idleness(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    struct sherd_ref x;
    (void)state;

    ENTITY_ORDER(TYPE_IDLE, "x", { DO_SHOW });
    lab_run();
    x = lab.last;
    lab_expect("a+ x+ x.1 ");
    for (int i = 0; i < 20; i++) {
        if (i % 10 == 0)
            ORDER(x, { DO_SELF_TELL, 9 },
                  { DO_ASK, 50, .ref = a, .tag = 1, .ms = 100 });
        lab_advance(50);
    }
    lab_tell(x, 8);
    lab_run();
    lab_expect("x.1 x.9 a.50 x=1:150 x.1 x.9 a.50 x=1:150 x.8 ");
    for (int i = 0; i < 8; i++)
        lab_advance(50);
    lab_expect("x- ");
}

static void a_message_that_meets_the_idle_mark_is_not_lost(void **state)
{
    (void)state;

    lab_entity_tell(TYPE_IDLE, "x", 5);
    lab_run();
    for (int i = 0; i < 40 && !actors_runnable(lab.actors); i++) {
        lab.now += 50 * MS;
        actors_step(lab.actors, lab.now, 0);
    }
    assert_true(actors_runnable(lab.actors)); /* the mark is in its mailbox */
    lab_entity_tell(TYPE_IDLE, "x", 6);
    lab_run();
    lab_expect("x+ x.5 x- x+ x.6 ");
}

static void a_hand_off_reads_old_messages_and_returns_later_ones(void **state)
{
    struct message *message;
    (void)state;

    lab_entity_tell(TYPE_A, "x", 5);
    lab_run();
    lab_entity_tell(TYPE_A, "x", 6);
    lab_entity_tell(TYPE_A, "x", 7);
    lab.route = false;
    actors_shard_stop(lab.actors, TYPE_A, shard_of("x"), lab.now + SECOND);
    message = actors_entity_message(lab.actors, TYPE_A, slice_text("x"),
                                    slice_of(NULL, 0));
    message->entity.shard = shard_of("x");
    message->entity.has_shard = 1;
    actors_deliver_entities(lab.actors, &message, 1);
    assert_int_equal(lab.empty_count, 0);
    lab_run();
    lab_expect("x+ x.5 x.6 x.7 x- ");
    assert_int_equal(lab.empty_count, 1);
    assert_int_equal(lab.out_count, 1);
    assert_int_equal(actors_alive(lab.actors), 0);
    /* No longer here: it comes out again. */
    message = lab.out[0];
    lab.out_count = 0;
    actors_deliver_entities(lab.actors, &message, 1);
    lab_run();
    assert_int_equal(lab.out_count, 1);
    lab_expect("");
}

static void an_empty_shard_stops_at_once(void **state)
{
    (void)state;

    actors_shard_start(lab.actors, TYPE_A, 3);
    actors_shard_stop(lab.actors, TYPE_A, 3, lab.now + SECOND);
    lab_run();
    assert_int_equal(lab.empty_count, 1);
    actors_shard_stop(lab.actors, TYPE_A, 3, lab.now + SECOND);
    lab_run();
    assert_int_equal(lab.empty_count, 1);
}

static void a_hand_off_can_meet_a_passivation(void **state)
{
    (void)state;

    ENTITY_ORDER(TYPE_A, "x", { DO_PASSIVATE });
    actors_run(lab.actors, lab.now, 0, 2);
    /* The mark is in the mailbox; 6 comes after it, and is still read here. */
    lab.log[0] = 0;
    lab_entity_tell(TYPE_A, "x", 6);
    lab.route = false;
    actors_shard_stop(lab.actors, TYPE_A, shard_of("x"), lab.now + SECOND);
    lab_run();
    assert_int_equal(lab.empty_count, 1);
    assert_int_equal(lab.out_count, 0);
    assert_non_null(strstr(lab.log, "x.6 "));
}

static void a_hand_off_can_meet_a_pending_stop_message(void **state)
{
    (void)state;

    ENTITY_ORDER(TYPE_S, "x", { DO_PASSIVATE });
    lab_run();
    lab_entity_tell(TYPE_S, "x", 6); /* after the stop message */
    lab.route = false;
    actors_shard_stop(lab.actors, TYPE_S, shard_of("x"), lab.now + SECOND);
    lab_run();
    lab_expect("x+ x.1 x.99 ");
    assert_int_equal(lab.empty_count, 0);
    /* It never returns SHERD_STOP: at the deadline it is ended and 6 comes out. */
    assert_true(actors_deadline(lab.actors) <= lab.now + SECOND);
    lab_advance(1000);
    assert_int_equal(lab.empty_count, 1);
    assert_int_equal(lab.out_count, 1);
    assert_int_equal(lab.out[0]->msg, 6);
    lab_expect("");
}

static void a_hand_off_without_a_deadline_can_get_one(void **state)
{
    (void)state;

    lab_entity_tell(TYPE_A, "x", 5);
    lab_entity_tell(TYPE_A, "x", 60);
    lab_entity_tell(TYPE_A, "x", 7);
    lab_entity_tell(TYPE_S, "x", 5);
    lab.route = false;
    actors_shard_stop(lab.actors, TYPE_A, shard_of("x"), NEVER);
    actors_shard_stop(lab.actors, TYPE_S, shard_of("x"), NEVER);
    lab_run();
    lab_expect("x+ x.5 x.60 x+ x.5 x.99 x+ x.7 x- ");
    assert_int_equal(lab.empty_count, 1);
    lab_advance(1000000);
    assert_int_equal(lab.empty_count, 1);
    actors_shard_stop(lab.actors, TYPE_S, shard_of("x"), lab.now);
    assert_true(actors_deadline(lab.actors) <= lab.now);
    lab_advance(0);
    assert_int_equal(lab.empty_count, 2);
}

static void an_entity_started_after_a_long_silence_is_not_idle(void **state)
{
    struct message *message = actors_entity_message(
        lab.actors, TYPE_IDLE, slice_text("y"), slice_of(NULL, 0));
    (void)state;

    lab.now += 1000 * SECOND; /* without a step */
    lab_entity_tell(TYPE_IDLE, "x", 5);
    message->kind = MESSAGE_START;
    message->entity.shard = shard_of("y");
    message->entity.has_shard = 1;
    actors_shard_start(lab.actors, TYPE_IDLE, shard_of("y"));
    actors_deliver_entities(lab.actors, &message, 1);
    lab_run();
    for (int i = 0; i < 9; i++)
        lab_advance(100);
    lab_expect("x+ x.5 y+ ");
}

static void an_entity_that_ends_in_a_hand_off_reads_all(void **state)
{
    (void)state;

    lab_entity_tell(TYPE_A, "x", 5);
    lab_entity_tell(TYPE_A, "x", 60);
    lab_entity_tell(TYPE_A, "x", 61);
    lab_entity_tell(TYPE_A, "x", 7);
    lab.route = false;
    actors_shard_stop(lab.actors, TYPE_A, shard_of("x"), lab.now + SECOND);
    lab_run();
    lab_expect("x+ x.5 x.60 x+ x.61 x+ x.7 x- ");
    assert_int_equal(lab.empty_count, 1);
}

static void a_shard_can_start_again(void **state)
{
    (void)state;

    for (int i = 0; i < 3; i++) {
        lab_entity_tell(TYPE_A, "x", 5);
        lab_run();
        actors_shard_stop(lab.actors, TYPE_A, shard_of("x"), lab.now + SECOND);
        lab_run();
    }
    lab_expect("x+ x.5 x- x+ x.5 x- x+ x.5 x- ");
    assert_int_equal(lab.empty_count, 3);
}

static void an_open_shard_takes_messages_directly(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    lab.route = false;
    actors_shard_start(lab.actors, TYPE_A, shard_of("x"));
    actors_shard_open(lab.actors, TYPE_A, shard_of("x"), true);
    ORDER(a, { DO_ENTITY_TELL, 5, .type = "A", .id = "x" });
    lab_run();
    lab_expect("a+ a.1 x+ x.5 ");
    assert_int_equal(lab.out_count, 0);
    actors_shard_open(lab.actors, TYPE_A, shard_of("x"), false);
    ORDER(a, { DO_ENTITY_TELL, 6, .type = "A", .id = "x" },
          { DO_ENTITY_TELL, 7, .type = "A", .id = "x" });
    lab_run();
    lab_expect("a.1 ");
    assert_int_equal(lab.out_count, 2);
    assert_int_equal(lab.out[0]->msg, 6);
    assert_int_equal(lab.out[0]->entity.shard, shard_of("x"));
    assert_int_equal(lab.out[1]->msg, 7);
}

static void a_fenced_shard_ends_at_once_and_gives_back_messages(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    ENTITY_ORDER(TYPE_A, "x", { DO_TIMER, .tag = 1, .ms = 5 },
                 { DO_WATCH, .ref = a });
    lab_run();
    lab_entity_tell(TYPE_A, "x", 6);
    lab_entity_tell(TYPE_A, "x", 7);
    lab.route = false;
    actors_shard_fenced(lab.actors, TYPE_A, shard_of("x"));
    assert_int_equal(lab.alive, 1); /* actor a */
    lab_run();
    lab_advance(10);
    lab_expect("a+ x+ x.1 ");
    assert_int_equal(lab.out_count, 2);
    assert_int_equal(lab.out[0]->msg, 6);
    assert_int_equal(lab.out[1]->msg, 7);
    assert_int_equal(lab.empty_count, 0);
    assert_int_equal(lab_status().entities, 0);
    assert_int_equal(lab_status().watches, 0);
}

static void stopping_all_stops_actors_and_shards(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    lab_entity_tell(TYPE_A, "x", 5);
    lab_entity_tell(TYPE_S, "y", 5);
    lab_tell(a, 6);
    lab_run();
    lab.log[0] = 0;
    actors_stop_all(lab.actors, lab.now + SECOND);
    lab_run();
    lab_expect("x- y.99 a- ");
    assert_int_equal(actors_alive(lab.actors), 1);
    assert_false(lab_traced("did not stop in time"));
    lab_advance(1000);
    assert_int_equal(actors_alive(lab.actors), 0);
    assert_true(lab_traced("why=\"has not finished its stop\" id=y"));
    assert_int_equal(lab.empty_count, 2);
}

/* Only the first STOP_LATE_NAMED_MAX of a shard are named; all are counted. */
static void the_first_late_entities_are_named(void **state)
{
    int32_t shard = shard_of("y0");
    uint32_t count = 0, named = 0;
    struct trace_line line;
    char id[16];

    (void)state;
    for (int i = 0; count <= STOP_LATE_NAMED_MAX; i++) {
        (void)snprintf(id, sizeof id, "y%d", i);
        if (shard_of(id) != shard)
            continue;
        lab_entity_tell(TYPE_S, id, 5);
        count++;
    }
    lab_run();
    actors_stop_all(lab.actors, lab.now + SECOND);
    lab_run();
    lab_advance(1000);
    while (trace_next(lab.trace, &line))
        named += strstr(line.text, "why=\"has not finished its stop\"") !=
                 NULL;
    assert_int_equal(named, STOP_LATE_NAMED_MAX);
    assert_int_equal(actors_alive(lab.actors), 0);
}

static void many_entities_start_and_end(void **state)
{
    char id[40];
    struct rng rng;
    uint32_t sent = 0;
    (void)state;

    rng_init(&rng, 5);
    lab.quiet = true;
    for (int round = 0; round < 60; round++) {
        struct message *batch[200];

        for (int i = 0; i < 200; i++) {
            /* Long and short ones, also ones that differ only at the end. */
            snprintf(id, sizeof id, i % 3 ? "user-%u" : "a-rather-long-user-%u",
                     (unsigned)rng_below(&rng, 3000));
            batch[i] = actors_entity_message(lab.actors, TYPE_IDLE,
                                             slice_text(id), slice_of(NULL, 0));
            batch[i]->msg = rng_below(&rng, 4) ? 5 : 60;
            batch[i]->entity.shard = shard_of(id);
            batch[i]->entity.has_shard = 1;
            actors_shard_start(lab.actors, TYPE_IDLE, shard_of(id));
            sent++;
        }
        actors_deliver_entities(lab.actors, batch, 200);
        lab_advance(rng_below(&rng, 300));
    }
    assert_int_equal(lab.received, sent);
    for (int i = 0; i < 40; i++)
        lab_advance(100);
    assert_int_equal(lab_status().entities, 0);
    assert_int_equal(lab.alive, 0);
}

static void the_ids_of_a_shard_can_be_listed(void **state)
{
    struct slice id;
    uint32_t at = 0;
    uint32_t count = 0;
    (void)state;

    for (int i = 0; i < 50; i++) {
        char text[40];

        snprintf(text, sizeof text, "entity-with-number-%d", i);
        lab_entity_tell(TYPE_A, text, 5);
    }
    lab_run();
    while (actors_shard_next_entity(lab.actors, TYPE_A, 3, &at, &id)) {
        assert_int_equal(hash_shard(id, 10), 3);
        count++;
    }
    assert_int_equal(count, actors_shard_entities(lab.actors, TYPE_A, 3));
    assert_true(count > 0);
}

static void a_start_request_starts_an_entity_without_a_message(void **state)
{
    struct message *message = actors_entity_message(
        lab.actors, TYPE_A, slice_text("x"), slice_of(NULL, 0));
    (void)state;

    message->kind = MESSAGE_START;
    message->entity.shard = shard_of("x");
    message->entity.has_shard = 1;
    actors_shard_start(lab.actors, TYPE_A, shard_of("x"));
    actors_deliver_entities(lab.actors, &message, 1);
    lab_run();
    lab_expect("x+ ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)
        TEST(an_entity_is_started_by_its_first_message_SHT026_SHT028),
        TEST(ids_may_be_long_and_types_share_them),
        TEST(
            messages_during_a_passivation_start_the_next_incarnation_SHD083_SHT024),
        TEST(a_second_passivation_has_no_effect),
        TEST(a_stop_message_lets_an_entity_finish),
        TEST(an_entity_decides_when_to_end_after_its_stop_message_SHT023),
        TEST(a_failing_entity_restarts_with_its_messages),
        TEST(an_entity_that_cannot_start_backs_off),
        TEST(a_failing_start_does_not_delay_its_shards_stop),
        TEST(an_idle_entity_is_passivated_a_busy_one_is_not),
        TEST(idleness_is_counted_per_incarnation_SHD051_SHD153),
        TEST(each_entity_is_idle_on_its_own_SHD159),
        TEST(a_reference_finds_its_entity_SHD082),
        TEST(an_entity_that_passivates_and_stops_starts_again_SHD146),
        TEST(messages_outside_sharding_do_not_end_idleness),
        TEST(a_message_that_meets_the_idle_mark_is_not_lost),
        TEST(a_hand_off_reads_old_messages_and_returns_later_ones),
        TEST(an_empty_shard_stops_at_once),
        TEST(a_hand_off_can_meet_a_passivation),
        TEST(a_hand_off_can_meet_a_pending_stop_message),
        TEST(a_hand_off_without_a_deadline_can_get_one),
        TEST(an_entity_started_after_a_long_silence_is_not_idle),
        TEST(an_entity_that_ends_in_a_hand_off_reads_all),
        TEST(a_shard_can_start_again),
        TEST(an_open_shard_takes_messages_directly),
        TEST(a_fenced_shard_ends_at_once_and_gives_back_messages),
        TEST(stopping_all_stops_actors_and_shards),
        TEST(the_first_late_entities_are_named),
        TEST(many_entities_start_and_end),
        TEST(the_ids_of_a_shard_can_be_listed),
        TEST(a_start_request_starts_an_entity_without_a_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
