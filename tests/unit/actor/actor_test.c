/* Checks plain actors: tells, order, asks, timers, watches, spawn and stop, limits. */
#include "lab.h"

static void an_actor_starts_works_and_stops(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    lab_tell(a, 5);
    lab_tell(a, 6);
    lab_run();
    lab_expect("a+ a.5 a.6 ");
    ORDER(a, { DO_STOP, .ref = a }, { DO_SELF_TELL, 7 });
    lab_tell(a, 8);
    lab_run();
    /* The stop comes after earlier messages; later ones end as stopped. */
    lab_expect("a.1 a.8 a- ");
    assert_int_equal(lab_status().undelivered[SHERD_REASON_STOPPED], 1);
    lab_tell(a, 9);
    lab_run();
    lab_expect("");
    assert_int_equal(lab_status().undelivered[SHERD_REASON_NO_SUCH_ACTOR], 1);
    assert_int_equal(actors_alive(lab.actors), 0);
}

static void a_reused_slot_is_another_actor(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    struct sherd_ref b;
    (void)state;

    lab_tell(a, 60);
    lab_run();
    b = lab_spawn("b");
    assert_int_equal(actor_id_slot(a.actor), actor_id_slot(b.actor));
    lab_tell(a, 5);
    lab_tell(b, 6);
    lab_run();
    lab_expect("a+ a.60 b+ b.6 ");
}

static void order_between_two_actors_is_kept(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    struct sherd_ref b = lab_spawn("b");
    (void)state;

    ORDER(a, { DO_TELL, 10, .ref = b }, { DO_TELL, 11, .ref = b },
          { DO_TELL, 12, .ref = b });
    ORDER(a, { DO_TELL, 13, .ref = b });
    lab_run();
    lab_expect("a+ a.1 a.1 b+ b.10 b.11 b.12 b.13 ");
}

static void failed_tells_are_reported_only_on_request(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    struct sherd_ref b = lab_spawn_loud("b");
    struct sherd_ref gone = lab_spawn("gone");
    struct order orders[] = {
        { DO_TELL, 10, .ref = gone },
        { DO_TELL, 11 },
        { DO_TELL, 12, .ref = gone, .size = SHERD_BODY_MAX + 1 },
        { DO_ENTITY_TELL, 13, .type = "none", .id = "x" },
        { DO_ENTITY_TELL, 14, .type = "A", .id = "" }
    };
    struct actors_status status;
    (void)state;

    lab_tell(gone, 60);
    lab_run();
    lab_expect("a+ b+ gone+ gone.60 ");
    lab_order(a, orders, 5);
    lab_order(b, orders, 5);
    lab_run();
    lab_expect("a.1 b.1 b?10:2 b?11:2 b?12:10 b?13:3 b?14:4 ");
    status = lab_status();
    assert_int_equal(status.undelivered[SHERD_REASON_NO_SUCH_ACTOR], 4);
    assert_int_equal(status.undelivered[SHERD_REASON_TOO_LARGE], 2);
    assert_int_equal(status.undelivered[SHERD_REASON_NO_SUCH_TYPE], 2);
    assert_int_equal(status.undelivered[SHERD_REASON_EMPTY_ID], 2);
    assert_int_equal(status.waiting, 0);
}

static void the_largest_body_arrives(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    struct sherd_ref b = lab_spawn("b");
    (void)state;

    for (uint32_t size = 0; size < 5000; size += 7)
        ORDER(a, { DO_TELL, 10, .ref = b, .size = size });
    ORDER(a, { DO_TELL, 11, .ref = b, .size = SHERD_BODY_MAX });
    lab.quiet = true;
    lab_run();
    assert_int_equal(lab.received, 2 * (715 + 1));
    assert_int_equal(actors_messages_in_use(lab.actors), 0);
}

static void an_ask_has_one_answer(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    struct sherd_ref b = lab_spawn("b");
    (void)state;

    ORDER(a, { DO_ASK, 50, .tag = 7, .ms = 100, .ref = b });
    lab_run();
    lab_expect("a+ a.1 b+ b.50 a=7:150 ");
    assert_int_equal(lab_status().asks, 0);
    lab_advance(1000);
    lab_expect("");
    /* A second answer, and one without an asker, are dropped and counted. */
    lab_tell(b, 51);
    lab_run();
    assert_int_equal(lab_status().replies_dropped, 1);
    lab_expect("b.51 ");
}

static void an_ask_times_out_with_its_stage(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    struct sherd_ref b = lab_spawn("b");
    struct sherd_ref far = { 88, 5 };
    uint16_t peer;
    (void)state;

    ORDER(a, { DO_ASK, 5, .tag = 7, .ms = 100, .ref = b },
          { DO_ASK, 6, .tag = 8, .ms = 200, .ref = far },
          { DO_ASK, 7, .tag = 9, .ms = 300 });
    lab_run();
    lab_expect("a+ a.1 a!9:2:0 b+ b.5 ");
    assert_int_equal(lab.out_count, 1);
    peer = actors_peer(lab.actors, 88, "host:1");
    assert_int_equal(peer, actors_peer(lab.actors, 88, "again:2"));
    actors_ask_stage(lab.actors, lab.out[0]->ask, SHERD_STAGE_SENT, peer);
    lab_advance(99);
    lab_expect("");
    lab_advance(1);
    lab_expect("a!7:1:7 ");
    lab_advance(100);
    lab_expect("a!8:1:6host:1 ");
    /* A late answer is dropped. */
    lab.out[0]->kind = MESSAGE_ANSWER;
    lab.out[0]->to = a;
    actors_deliver(lab.actors, lab.out[0]);
    lab.out_count = 0;
    lab_run();
    lab_expect("");
    assert_int_equal(lab_status().undelivered[SHERD_REASON_ASKER_GONE], 1);
}

static void an_answer_may_come_later(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    struct sherd_ref b = lab_spawn("b");
    (void)state;

    ORDER(a, { DO_ASK, 64, .tag = 7, .ms = 100, .ref = b },
          { DO_ASK, 50, .tag = 8, .ms = 100, .ref = b });
    lab_run();
    lab_expect("a+ a.1 b+ b.64 b.50 a=8:150 ");
    assert_int_equal(lab_status().replies_dropped, 1); /* the question was taken */
    lab_advance(99);
    lab_tell(b, 65);
    lab_run();
    lab_expect("b.65 a=7:164 ");
    lab_tell(b, 65); /* the question is used up */
    lab_run();
    lab_expect("b.65 ");
    assert_int_equal(lab_status().replies_dropped, 2);
    lab_tell(b, 64); /* without a sender */
    lab_tell(b, 65);
    lab_run();
    lab_expect("b.64 b.65 ");
    assert_int_equal(lab_status().replies_dropped, 4);
    /* A question of a tell is answered by a message; the answer to a closed ask is dropped. */
    ORDER(a, { DO_TELL, 64, .ref = b }, { DO_TELL, 65, .ref = b });
    lab_run();
    lab_expect("a.1 b.64 b.65 a.164 ");
    ORDER(a, { DO_ASK, 64, .tag = 9, .ms = 100, .ref = b });
    lab_run();
    lab_advance(100);
    lab_tell(b, 65);
    lab_run();
    lab_expect("a.1 b.64 a!9:1:7 b.65 ");
    assert_int_equal(lab_status().undelivered[SHERD_REASON_ASKER_GONE], 1);
    lab_conserved();
}

static void an_ask_ends_with_its_asker(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    struct sherd_ref b = lab_spawn("b");
    (void)state;

    ORDER(a, { DO_ASK, 50, .tag = 7, .ms = 100, .ref = b }, { DO_SELF_STOP });
    lab_run();
    lab_expect("a+ a.1 b+ b.50 ");
    assert_int_equal(lab_status().undelivered[SHERD_REASON_ASKER_GONE], 1);
    assert_int_equal(lab_status().asks, 0);
    lab_advance(1000);
    lab_expect("");
}

static void the_failure_of_a_handler_answers_the_asker(void **state)
{
    struct sherd_ref a = lab_spawn_loud("a");
    struct sherd_ref b = lab_spawn("b");
    struct sherd_ref c = lab_spawn("c");
    (void)state;

    ORDER(a, { DO_ASK, 61, .tag = 7, .ms = 100, .ref = b },
          { DO_ASK, 50, .tag = 8, .ms = 100, .ref = b },
          { DO_TELL, 61, .ref = c });
    lab_run();
    lab_expect("a+ a.1 b+ b.61 c+ c.61 a!7:15:7 a!8:16:5 a?61:15 ");
    assert_int_equal(lab_status().handlers_failed, 2);
    assert_int_equal(lab_status().undelivered[SHERD_REASON_HANDLER_FAILED], 2);
    assert_int_equal(lab_status().undelivered[SHERD_REASON_STOPPED], 1);
}

static void a_forwarded_ask_is_answered_by_the_last(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    struct sherd_ref b = lab_spawn("b");
    (void)state;

    lab.last = lab_spawn("c");
    ORDER(a, { DO_ASK, 62, .tag = 7, .ms = 100, .ref = b });
    lab_run();
    lab_expect("a+ a.1 b+ b.62 c+ c.62 a=7:162 ");
    assert_int_equal(lab_status().replies_dropped, 1); /* b's, after it forwarded */
    /* Forwarded to an ended actor: the asker is notified. */
    lab_tell(lab.last, 60);
    ORDER(a, { DO_ASK, 62, .tag = 8, .ms = 100, .ref = b });
    lab_run();
    lab_expect("c.60 a.1 b.62 a!8:2:7 ");
}

static void timers_fire_once_and_are_replaced_and_cancelled(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    ORDER(a, { DO_TIMER, .tag = 1, .ms = 10 }, { DO_TIMER, .tag = 2, .ms = 5 },
          { DO_TIMER, .tag = 3, .ms = 300 }, { DO_TIMER, .tag = 4, .ms = 20 },
          { DO_TIMER, .tag = 1, .ms = 20 }, { DO_CANCEL, .tag = 4 },
          { DO_TIMER, .tag = 5, .ms = 100000 });
    lab_run();
    lab_expect("a+ a.1 ");
    assert_int_equal(lab_status().timers, 4);
    lab_advance(4);
    lab_expect("");
    lab_advance(1);
    lab_expect("a@2 ");
    lab_advance(14);
    lab_expect("");
    lab_advance(1);
    lab_expect("a@1 ");
    lab_advance(279);
    lab_expect("");
    lab_advance(1);
    lab_expect("a@3 ");
    lab_advance(99699);
    lab_expect("");
    lab_advance(1);
    lab_expect("a@5 ");
    assert_int_equal(lab_status().timers, 0);
    assert_true(actors_deadline(lab.actors) == NEVER);
}

static void a_timer_in_the_mailbox_can_still_be_cancelled(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    ORDER(a, { DO_TIMER, .tag = 1, .ms = 10 }, { DO_TIMER, .tag = 2, .ms = 10 });
    lab_run();
    lab_expect("a+ a.1 ");
    ORDER(a, { DO_CANCEL, .tag = 2 }, { DO_TIMER, .tag = 1, .ms = 50 });
    lab.now += 10 * MS;
    actors_step(lab.actors, lab.now, 0); /* both are queued after the order */
    lab_run();
    lab_expect("a.1 ");
    lab_advance(50);
    lab_expect("a@1 ");
}

static void timers_end_with_their_incarnation(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    ORDER(a, { DO_TIMER, .tag = 1, .ms = 10 }, { DO_SELF_STOP });
    lab_run();
    lab_spawn("b");
    lab_advance(100);
    lab_expect("a+ a.1 b+ ");
    assert_int_equal(lab_status().timers, 0);
}

/* Compared with a plain list: every timer fires at its time, whatever the steps. */
static void random_timers_fire_at_their_time(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    struct rng rng;
    uint64_t due[900];
    uint32_t left = 900;
    uint64_t start = lab.now;
    (void)state;

    rng_init(&rng, 3);
    for (uint32_t i = 0; i < 900; i++) {
        uint64_t ms = rng_below(&rng, UINT64_C(1) << (1 + rng_below(&rng, 26)));

        due[i] = ms;
        ORDER(a, { DO_TIMER, .tag = i, .ms = ms });
    }
    lab.quiet = true;
    lab_run();
    while (left) {
        uint64_t deadline = actors_deadline(lab.actors);
        uint64_t jump = lab.now + (1 + rng_below(&rng, 1000000)) * MS;
        uint64_t passed;

        lab.now = deadline < jump ? deadline : jump;
        passed = (lab.now - start) / MS;
        actors_step(lab.actors, lab.now, 0);
        lab_run();
        left = 0;
        for (uint32_t i = 0; i < 900; i++)
            left += due[i] > passed && !(due[i] == 0);
        assert_int_equal(lab_status().timers, left);
    }
}

static void a_watcher_is_notified_once(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    struct sherd_ref b = lab_spawn("b");
    struct sherd_ref c = lab_spawn("c");
    (void)state;

    ORDER(a, { DO_WATCH, .ref = b }, { DO_WATCH, .ref = b },
          { DO_WATCH, .ref = c }, { DO_UNWATCH, .ref = c },
          { DO_WATCH, .ref = a });
    lab_run();
    lab_tell(b, 60);
    lab_tell(c, 60);
    lab_run();
    lab_expect("a+ a.1 b+ c+ b.60 c.60 a# ");
    /* It has ended already. */
    ORDER(a, { DO_WATCH, .ref = b }, { DO_WATCH });
    lab_run();
    lab_expect("a.1 a# a# ");
    assert_int_equal(lab_status().watches, 0);
}

static void a_watch_elsewhere_goes_out_and_ends_with_the_node(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    struct sherd_ref far = { 88, 5 };
    struct sherd_ref other = { 99, 5 };
    struct message *message;
    (void)state;

    ORDER(a, { DO_WATCH, .ref = far }, { DO_WATCH, .ref = other });
    lab_run();
    assert_int_equal(lab.out_count, 2);
    assert_int_equal(lab.out[0]->kind, MESSAGE_WATCH);
    assert_true(ref_equal(lab.out[0]->to, far));
    assert_true(ref_equal(lab.out[0]->sender, a));
    lab_free_out();
    /* Watched from there. */
    message = actors_message(lab.actors, slice_of(NULL, 0));
    message->kind = MESSAGE_WATCH;
    message->to = a;
    message->sender = far;
    actors_deliver(lab.actors, message);
    message = actors_message(lab.actors, slice_of(NULL, 0));
    message->kind = MESSAGE_WATCH;
    message->to = a;
    message->sender = other;
    actors_deliver(lab.actors, message);
    assert_int_equal(lab_status().watches, 4);
    actors_node_gone(lab.actors, 88);
    lab_run();
    lab_expect("a+ a.1 a# ");
    assert_int_equal(lab_status().watches, 2);
    lab_tell(a, 60);
    lab_run();
    assert_int_equal(lab.out_count, 2);
    assert_int_equal(lab.out[0]->kind, MESSAGE_UNWATCH);
    assert_true(ref_equal(lab.out[0]->to, other));
    assert_int_equal(lab.out[1]->kind, MESSAGE_TERMINATED);
    assert_true(ref_equal(lab.out[1]->to, other));
    assert_true(ref_equal(lab.out[1]->sender, a));
    assert_int_equal(lab_status().watches, 0);
}

/* Its slot number belongs to the other node. */
static void an_actor_elsewhere_may_have_any_slot(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    struct sherd_ref far = { 88, actor_id_make(0, 1, UINT32_MAX) };
    (void)state;

    ORDER(a, { DO_WATCH, .ref = far });
    lab_run();
    lab.log[0] = 0;
    lab_free_out();
    actors_node_gone(lab.actors, 88);
    lab_run();
    lab_expect("a# ");
    assert_int_equal(lab_status().watches, 0);
}

static void a_watch_of_a_removed_node_is_answered(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    ORDER(a, { DO_WATCH, .ref = { 88, 5 } });
    lab_run();
    actors_undelivered(lab.actors, lab.out[0], SHERD_REASON_NODE_GONE);
    lab.out_count = 0;
    lab_run();
    lab_expect("a+ a.1 a# ");
}

static void timers_are_right_after_a_long_silence(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    lab.now += UINT64_C(60) * 24 * 3600 * SECOND; /* more than 2^32 ms without a step */
    ORDER(a, { DO_TIMER, .tag = 1, .ms = 300 });
    lab_run();
    lab_advance(299);
    lab_expect("a+ a.1 ");
    lab_advance(1);
    lab_expect("a@1 ");
    ORDER(a, { DO_TIMER, .tag = 1, .ms = UINT64_MAX });
    lab_run();
    lab_advance(ACTOR_TIMER_MS_MAX);
    lab_expect("a.1 ");
    assert_int_equal(lab_status().timers, 1);
}

/* The wheel covers 2^31 ms: longer timers go round again. */
static void timers_may_take_months(void **state)
{
    static const uint64_t rests[] = { 0, 1, 17 };
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    lab_run();
    lab_expect("a+ ");
    for (int i = 0; i < 3; i++) {
        ORDER(a, { DO_TIMER, .tag = 1,
                   .ms = UINT64_C(3) * ACTOR_TIMER_MS_MAX + rests[i] });
        lab_run();
        lab_advance(2 * UINT64_C(1000000000));
        lab_advance(UINT64_C(3) * ACTOR_TIMER_MS_MAX + rests[i] - 1 -
                    2 * UINT64_C(1000000000));
        lab_expect("a.1 ");
        lab_advance(1);
        lab_expect("a@1 ");
        assert_int_equal(lab_status().timers, 0);
    }
    ORDER(a, { DO_TIMER, .tag = 1, .ms = UINT64_C(2) * ACTOR_TIMER_MS_MAX });
    lab_run();
    lab_advance(ACTOR_TIMER_MS_MAX);
    ORDER(a, { DO_CANCEL, .tag = 1 });
    lab_run();
    lab_advance(ACTOR_TIMER_MS_MAX);
    lab_expect("a.1 a.1 ");
    assert_int_equal(lab_status().timers, 0);
}

static void asks_to_a_node_end_with_it(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    struct sherd_ref far = { 88, 5 };
    uint16_t peer = actors_peer(lab.actors, 88, "h:1");
    (void)state;

    ORDER(a, { DO_ASK, 5, .tag = 1, .ms = 1000, .ref = far },
          { DO_ASK, 5, .tag = 2, .ms = 1000, .ref = far });
    lab_run();
    actors_ask_stage(lab.actors, lab.out[0]->ask, SHERD_STAGE_SENT, peer);
    actors_node_gone(lab.actors, 88);
    lab_run();
    lab_expect("a+ a.1 a!1:9:6h:1 ");
    lab_advance(1000);
    lab_expect("a!2:1:0 ");
}

static void a_mailbox_is_full_at_its_limit(void **state)
{
    struct sherd_ref a = lab_spawn_loud("a");
    (void)state;

    /* 20 for an entity of type S; one more is refused with a notice. */
    for (int i = 0; i < 20; i++)
        lab_entity_tell(TYPE_S, "x", 5);
    assert_int_equal(lab_status().undelivered_total, 0);
    lab_entity_tell(TYPE_S, "x", 5);
    assert_int_equal(lab_status().undelivered[SHERD_REASON_MAILBOX_FULL], 1);
    lab.quiet = true;
    lab_run();
    assert_int_equal(lab.received, 20);
    lab.quiet = false;
    lab.log[0] = 0;
    for (int i = 0; i < 20; i++)
        lab_entity_tell(TYPE_S, "x", 5);
    ORDER(a, { DO_ENTITY_ASK, 5, .type = "S", .id = "x", .tag = 3, .ms = 50 },
          { DO_ENTITY_TELL, 6, .type = "S", .id = "x" });
    actors_run(lab.actors, lab.now, 0, 0); /* nothing */
    lab_run();
    lab_advance(60);
    assert_true(lab_status().undelivered[SHERD_REASON_MAILBOX_FULL] == 1);
}

static void asks_of_one_actor_are_bounded(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    struct order orders[1000];
    (void)state;

    lab.quiet = true;
    for (int i = 0; i < 1000; i++)
        orders[i] = (struct order){ DO_ASK, 5, .tag = 1, .ms = 1000,
                                    .ref = { 88, 5 } };
    for (int i = 0; i < 66; i++) {
        lab_order(a, orders, i == 65 ? 536 : 1000);
        actors_run(lab.actors, lab.now, 0, 1000);
        for (struct message *message;
             (message = actors_take_out(lab.actors));)
            actors_message_free(lab.actors, message);
    }
    assert_int_equal(lab_status().asks, ACTOR_ASKS_OF_ONE_MAX);
    assert_int_equal(lab_status().undelivered[SHERD_REASON_BUFFER_FULL], 1);
    lab_advance(1000);
    assert_int_equal(lab_status().asks, 0);
}

static void timers_of_one_actor_are_bounded(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    for (uint32_t i = 0; i <= ACTOR_TIMERS_OF_ONE_MAX; i++) {
        assert_int_equal(lab_status().timers_refused, 0);
        ORDER(a, { DO_TIMER, .tag = i, .ms = 1000 });
        if (i == ACTOR_TIMERS_OF_ONE_MAX - 1)
            lab_run();
    }
    lab_run();
    assert_int_equal(lab_status().timers, ACTOR_TIMERS_OF_ONE_MAX);
    assert_int_equal(lab_status().timers_refused, 1);
}

static void behaviors_are_bounded(void **state)
{
    struct sherd_behavior behavior = puppet;
    (void)state;

    for (size_t i = 0; i < ACTOR_BEHAVIORS_MAX; i++) {
        behavior.state_size = puppet.state_size + i;
        lab.last = actors_spawn(lab.actors, &behavior, slice_text("a"));
    }
    assert_true(ref_is_nobody(lab.last)); /* the types have some */
    assert_int_equal(lab_status().spawns_refused, 4);
    lab.quiet = true;
    lab_run();
}

/* Opens the laboratory again, with other limits. */
static void again(struct actors_settings settings)
{
    lab_close();
    lab_open_with(settings);
}

/* The next four limits need more memory than a test has: the tests lower them, and no setting
 * raises them. */
static void settings_cannot_exceed_the_limits(void **state)
{
    struct actors_settings none = { 0 };
    struct actors_settings high = { .waiting_bytes_max = UINT64_MAX,
                                    .slots_max = UINT32_MAX,
                                    .asks_max = UINT32_MAX,
                                    .watches_max = UINT32_MAX };
    struct actors_settings *both[] = { &none, &high };
    (void)state;

    for (int i = 0; i < 2; i++) {
        actors_limits(both[i]);
        assert_true(both[i]->waiting_bytes_max == ACTOR_WAITING_BYTES_MAX);
        assert_int_equal(both[i]->slots_max, ACTOR_SLOTS_MAX);
        assert_int_equal(both[i]->asks_max, ACTOR_ASKS_MAX);
        assert_int_equal(both[i]->watches_max, ACTOR_WATCHES_MAX);
    }
}

static void actors_are_bounded(void **state)
{
    (void)state;

    again((struct actors_settings){ .slots_max = 100 });
    for (int i = 0; i < 100; i++)
        assert_false(ref_is_nobody(lab_spawn("a")));
    assert_int_equal(lab_status().spawns_refused, 0);
    assert_true(ref_is_nobody(lab_spawn("a")));
    assert_int_equal(lab_status().spawns_refused, 1);
    lab_entity_tell(TYPE_A, "x", 5);
    assert_int_equal(lab_status().undelivered[SHERD_REASON_BUFFER_FULL], 1);
    lab.quiet = true;
    lab_run();
}

static void asks_and_timers_of_a_lane_are_bounded(void **state)
{
    struct sherd_ref a;
    (void)state;

    again((struct actors_settings){ .asks_max = 3 });
    a = lab_spawn("a");
    ORDER(a, { DO_ASK, 5, .ref = { 88, 1 }, .tag = 1, .ms = 10 },
          { DO_TIMER, .tag = 9, .ms = 20 },
          { DO_ASK, 5, .ref = { 88, 1 }, .tag = 2, .ms = 10 },
          { DO_ASK, 5, .ref = { 88, 1 }, .tag = 3, .ms = 10 },
          { DO_TIMER, .tag = 8, .ms = 20 });
    lab_run();
    lab_expect("a+ a.1 a!3:5:0 ");
    assert_int_equal(lab_status().timers_refused, 1);
    lab_advance(20);
    lab_expect("a!1:1:0 a!2:1:0 a@9 ");
}

static void watches_are_bounded(void **state)
{
    struct sherd_ref a, b;
    (void)state;

    again((struct actors_settings){ .watches_max = 2 });
    a = lab_spawn("a");
    b = lab_spawn("b");
    ORDER(a, { DO_WATCH, .ref = { 88, 1 } }, { DO_WATCH, .ref = { 88, 2 } },
          { DO_WATCH, .ref = b });
    lab_run();
    assert_int_equal(lab_status().watches, 2);
    assert_int_equal(lab_status().watches_refused, 1);
}

static void memory_of_messages_is_bounded(void **state)
{
    struct sherd_ref a;
    uint64_t before;
    (void)state;

    again((struct actors_settings){ .waiting_bytes_max = 128 * 1024 });
    a = lab_spawn("a");
    for (int i = 0; i < 1023; i++) /* plus the STARTED message */
        lab_tell(a, 5);
    assert_int_equal(lab_status().undelivered_total, 0);
    for (int i = 0; i < 100; i++)
        lab_tell(a, 5);
    assert_int_equal(lab_status().undelivered[SHERD_REASON_MAILBOX_FULL], 100);
    lab.quiet = true;
    lab_run();
    assert_int_equal(lab.received, 1023);
    /* There is room again. */
    before = lab_status().undelivered_total;
    lab_tell(a, 5);
    lab_run();
    lab_tell(a, 5);
    lab_run();
    assert_int_equal(lab_status().undelivered_total, before);
    assert_int_equal(lab.received, 1025);
    /* Large messages count too. */
    for (int i = 0; i < 10; i++)
        ORDER(a, { DO_SELF_TELL, 5, .size = 100000 });
    lab_run();
    assert_true(lab_status().undelivered_total > before);
}

static struct {
    uint64_t now;
    int64_t wall;
} told;

static enum sherd_next tell_time(struct sherd_ctx *ctx, void *self,
                                 const struct sherd_msg *msg)
{
    (void)self;
    (void)msg;
    told.now = sherd_now(ctx);
    told.wall = sherd_wall(ctx);
    return SHERD_CONTINUE;
}

static void an_actor_sees_the_clocks_of_its_turn(void **state)
{
    static const struct sherd_behavior watchmaker = { .name = "watchmaker",
                                                      .receive = tell_time };
    struct sherd_ref a =
        actors_spawn(lab.actors, &watchmaker, slice_text(""));
    uint64_t now = lab.now + 5 * SECOND;
    (void)state;

    actors_run(lab.actors, now, 1763709755123, 10);
    assert_true(told.now == now / MS && told.wall == 1763709755123);
    lab_tell(a, 5);
    actors_run(lab.actors, now + SECOND, -1, 10); /* wall time may go back */
    assert_true(told.now == now / MS + 1000 && told.wall == -1);
}

static uint64_t fake_time;

static uint64_t fake_clock(void)
{
    return fake_time += 60 * MS; /* each reading adds 60 ms */
}

static void a_run_ends_when_its_time_is_over(void **state)
{
    struct trace_line line;
    bool found = false;
    struct sherd_ref a;
    (void)state;

    again((struct actors_settings){ .clock = fake_clock });
    a = lab_spawn("a");
    lab_tell(a, 5);
    lab_run();
    assert_int_equal(lab_status().slow_handlers, 0);
    lab_close();
    lab_open_with((struct actors_settings){ .clock = fake_clock });
    a = lab_spawn("a");
    fake_time = 0;
    for (int i = 0; i < 200; i++)
        lab_tell(a, 5);
    /* A run ends when its time is over, whatever its budget. */
    assert_int_equal(actors_run(lab.actors, lab.now, 0, 1000), 64);
    /* The next slow message ends it alone. */
    assert_int_equal(actors_run(lab.actors, lab.now, 0, 1000), 1);
    assert_int_equal(actors_run(lab.actors, lab.now, 0, 1000), 1);
    lab.quiet = true;
    lab_run();
    while (trace_next(lab.trace, &line))
        found = found || strstr(line.text, "took long");
    assert_false(found); /* 60 ms is not slow */
}

static uint64_t step_time;

static uint64_t stepped_clock(void)
{
    return fake_time += step_time;
}

/* After enough quick messages in a row an actor handles 64 at once again. */
static void messages_are_timed_one_by_one_for_a_while(void **state)
{
    struct sherd_ref a;
    (void)state;

    step_time = 2 * MS;
    again((struct actors_settings){ .clock = stepped_clock });
    a = lab_spawn("a");
    lab.quiet = true;
    for (uint32_t i = 0; i < ACTOR_EXACT_MESSAGES + 128; i++)
        lab_tell(a, 5);
    assert_int_equal(actors_run(lab.actors, lab.now, 0, 1), 64);
    step_time = 0;
    for (uint32_t i = 0; i < ACTOR_EXACT_MESSAGES; i++)
        assert_int_equal(actors_run(lab.actors, lab.now, 0, 1), 1);
    assert_int_equal(actors_run(lab.actors, lab.now, 0, 1), 64);
    lab_run();
}

static uint64_t slow_clock(void)
{
    return fake_time += 101 * MS;
}

static void a_handler_above_100_ms_is_reported(void **state)
{
    struct trace_line line;
    (void)state;

    again((struct actors_settings){ .clock = slow_clock });
    trace_set_level(lab.trace, TRACE_WARNING);
    lab_entity_tell(TYPE_A, "turtle", 5);
    lab_run();
    lab_entity_tell(TYPE_A, "turtle", 7);
    lab_run();
    assert_int_equal(lab_status().slow_handlers, 2);
    assert_true(trace_next(lab.trace, &line)); /* its start and the message */
    assert_non_null(strstr(line.text, "handler took long behavior=puppet "
                                      "type=A shard="));
    assert_non_null(strstr(line.text, " id=turtle last_message=5 "
                                      "kind=\"message\" ms=101 messages=2"));
    assert_true(trace_next(lab.trace, &line));
    assert_non_null(strstr(line.text, " id=turtle message=7 "
                                      "kind=\"message\" ms=101 messages=1"));
}

/* The clock is read once for many messages until one took long. */
static void a_report_states_that_the_slow_actor_is_unknown(void **state)
{
    struct trace_line line;
    uint32_t of_several = 0, of_one = 0;
    (void)state;

    again((struct actors_settings){ .clock = slow_clock });
    for (int i = 0; i < 2; i++) {
        lab_entity_tell(TYPE_A, "hare", 5);
        lab_entity_tell(TYPE_A, "turtle", 5);
        lab_run();
    }
    while (trace_next(lab.trace, &line)) {
        of_several += strstr(line.text, "one of these handlers took long") &&
                      strstr(line.text, " actors=2 listed=1..2 candidates=\"A/") &&
                      strstr(line.text, "/hare, A/") &&
                      strstr(line.text, "/turtle\"");
        of_one += strstr(line.text, "handler took long behavior=") != NULL;
    }
    assert_int_equal(of_several, 1);
    assert_int_equal(of_one, 2);
    assert_int_equal(lab_status().slow_handlers, 3);
}

static void a_setting_defines_slow_handlers(void **state)
{
    (void)state;

    again((struct actors_settings){ .clock = slow_clock,
                                    .slow_handler = 101 * MS });
    lab_entity_tell(TYPE_A, "turtle", 5);
    lab_run();
    assert_int_equal(lab_status().slow_handlers, 0); /* not longer than the limit */
    lab_close();
    lab_open_with((struct actors_settings){ .clock = slow_clock,
                                            .slow_handler = 101 * MS - 1 });
    lab_entity_tell(TYPE_A, "turtle", 5);
    lab_run();
    assert_int_equal(lab_status().slow_handlers, 1);
    lab_close();
    lab_open_with((struct actors_settings){ .clock = slow_clock,
                                            .slow_handler = UINT64_MAX });
    lab_entity_tell(TYPE_A, "turtle", 5);
    lab_run();
    assert_int_equal(lab_status().slow_handlers, 0);
}

static void an_id_is_one_value_in_a_log_line(void **state)
{
    struct trace_line line;
    bool found = false;
    (void)state;

    again((struct actors_settings){ .clock = slow_clock });
    lab_entity_tell(TYPE_A, "a b=c node=evil\n\"", 5);
    lab_run();
    while (trace_next(lab.trace, &line))
        found = found ||
                strstr(line.text, " id=\"a b=c node=evil\\n\\\"\"");
    assert_true(found);
}

static void spawned_actors_get_their_init(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    ORDER(a, { DO_SPAWN, .id = "child" });
    lab_run();
    lab_tell(lab.last, 5);
    lab_run();
    lab_expect("a+ a.1 child+ child.5 ");
}

static void an_actor_runs_64_messages_then_the_next(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    struct sherd_ref b = lab_spawn("b");
    (void)state;

    for (int i = 0; i < 70; i++)
        lab_tell(a, 5);
    lab_tell(b, 6);
    assert_int_equal(actors_run(lab.actors, lab.now, 0, 1), 64);
    assert_null(strstr(lab.log, "b"));
    assert_true(actors_runnable(lab.actors));
    assert_int_equal(actors_run(lab.actors, lab.now, 0, 1), 2);
    assert_non_null(strstr(lab.log, "b.6"));
    lab_run();
    assert_int_equal(lab.received, 71);
    assert_false(actors_runnable(lab.actors));
}

static void a_message_is_freed_on_its_owning_lane(void **state)
{
    struct actors_settings settings = { .lane = 1, .lanes = 2, .node = NODE };
    struct actors *other = actors_new(&settings);
    struct sherd_ref a = lab_spawn("a");
    struct sherd_ref b = actors_spawn(other, &puppet, slice_text("b"));
    struct message *message;
    struct message *chain;
    struct actors_status status;
    (void)state;

    ORDER(a, { DO_TELL, 5, .ref = b }, { DO_TELL, 6, .ref = b },
          { DO_TELL, 7, .ref = b, .size = 100000 });
    actors_run(lab.actors, lab.now, 0, 100);
    while ((message = actors_take_out(lab.actors)))
        actors_deliver(other, message);
    actors_run(other, 0, 0, 100);
    lab_expect("a+ a.1 b+ b.5 b.6 b.7 ");
    chain = actors_take_returns(other, 0);
    assert_non_null(chain);
    assert_non_null(chain->next);
    assert_null(chain->next->next);
    assert_null(actors_take_returns(other, 0));
    assert_true(actors_messages_in_use(lab.actors) > 0);
    actors_give_returns(lab.actors, chain);
    assert_int_equal(actors_messages_in_use(lab.actors), 0);
    actors_status(other, &status);
    assert_int_equal(status.waiting, 0);
    actors_free(other);
}

static void messages_of_foreign_threads_have_no_lane(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    struct message *message =
        message_new_heap(TYPE_NONE, slice_of(NULL, 0), slice_text("body"));
    (void)state;

    message->to = a;
    message->msg = 5;
    actors_deliver(lab.actors, message);
    message = message_new_heap(TYPE_A, slice_text("id"), slice_text("body"));
    assert_true(slice_is(message_id(message), "id"));
    assert_true(slice_is(message_body(message), "body"));
    actors_shard_start(lab.actors, TYPE_A, hash_shard(slice_text("id"), 10));
    message->entity.shard = hash_shard(slice_text("id"), 10);
    message->entity.has_shard = 1;
    message->msg = 6;
    actors_deliver_entities(lab.actors, &message, 1);
    lab_run();
    lab_expect("a+ a.5 id+ id.6 ");
    message = message_new_heap(TYPE_NONE, slice_of(NULL, 0), slice_text(""));
    message_free_heap(message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)
        TEST(an_actor_starts_works_and_stops),
        TEST(a_reused_slot_is_another_actor),
        TEST(order_between_two_actors_is_kept),
        TEST(failed_tells_are_reported_only_on_request),
        TEST(the_largest_body_arrives),
        TEST(an_ask_has_one_answer),
        TEST(an_ask_times_out_with_its_stage),
        TEST(an_answer_may_come_later),
        TEST(an_ask_ends_with_its_asker),
        TEST(the_failure_of_a_handler_answers_the_asker),
        TEST(a_forwarded_ask_is_answered_by_the_last),
        TEST(timers_fire_once_and_are_replaced_and_cancelled),
        TEST(a_timer_in_the_mailbox_can_still_be_cancelled),
        TEST(timers_end_with_their_incarnation),
        TEST(random_timers_fire_at_their_time),
        TEST(a_watcher_is_notified_once),
        TEST(a_watch_elsewhere_goes_out_and_ends_with_the_node),
        TEST(an_actor_elsewhere_may_have_any_slot),
        TEST(a_watch_of_a_removed_node_is_answered),
        TEST(timers_are_right_after_a_long_silence),
        TEST(timers_may_take_months),
        TEST(asks_to_a_node_end_with_it),
        TEST(a_mailbox_is_full_at_its_limit),
        TEST(asks_of_one_actor_are_bounded),
        TEST(timers_of_one_actor_are_bounded),
        TEST(behaviors_are_bounded),
        TEST(settings_cannot_exceed_the_limits),
        TEST(actors_are_bounded),
        TEST(asks_and_timers_of_a_lane_are_bounded),
        TEST(watches_are_bounded),
        TEST(memory_of_messages_is_bounded),
        TEST(an_actor_sees_the_clocks_of_its_turn),
        TEST(a_run_ends_when_its_time_is_over),
        TEST(messages_are_timed_one_by_one_for_a_while),
        TEST(a_handler_above_100_ms_is_reported),
        TEST(a_report_states_that_the_slow_actor_is_unknown),
        TEST(a_setting_defines_slow_handlers),
        TEST(an_id_is_one_value_in_a_log_line),
        TEST(spawned_actors_get_their_init),
        TEST(an_actor_runs_64_messages_then_the_next),
        TEST(a_message_is_freed_on_its_owning_lane),
        TEST(messages_of_foreign_threads_have_no_lane),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
