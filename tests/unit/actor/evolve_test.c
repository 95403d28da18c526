/* Checks events that are rejected, upcast, or stored by an actor that cannot apply them. */
#include "lab.h"

enum { TYPE_E = 4, TYPE_LAX = 5 };
enum { PUT = 1, OLD = 2, DOUBLE = 3, NOTHING_LEFT = 4, ENDLESS = 5, MANY = 6, LARGE = 8, WORDY = 9 };

/* An entity that keeps the payloads of the events that it applied. */
struct tape {
    char text[64];
};

static struct {
    char tape[64];   /* of the entity that handled a message last */
    char why[256];   /* body of the last notice */
    uint32_t notices;
    enum sherd_reason reason;
    uint32_t version; /* of the event that the entity stores */
    uint32_t upcasts;
} seen;

static const char *checked(void *self, uint32_t type, struct sherd_bytes event)
{
    struct tape *tape = self;

    if (type != PUT)
        return "unknown type";
    (void)strncat(tape->text, event.data, event.size);
    return NULL;
}

static const uint8_t large[UPCAST_BYTES_MAX / 2 + 1];

/* Version 1 of OLD is one PUT; of DOUBLE two of version 0 of OLD; of NOTHING_LEFT none. */
static const char *to(uint32_t type, uint32_t version, struct sherd_bytes event,
                      struct sherd_events *newer)
{
    seen.upcasts++;
    if (type == OLD && version == 0)
        sherd_events_add(newer, PUT, 0, event);
    else if (type == DOUBLE)
        for (int i = 0; i < 2; i++)
            sherd_events_add(newer, OLD, 0, event);
    else if (type == ENDLESS)
        sherd_events_add(newer, ENDLESS, 0, event);
    else if (type == MANY)
        for (int i = 0; i < UPCAST_EVENTS_MAX + 1; i++)
            sherd_events_add(newer, PUT, 0, (struct sherd_bytes){ NULL, 0 });
    else if (type == LARGE)
        for (int i = 0; i < 2; i++)
            sherd_events_add(newer, PUT, 0,
                             (struct sherd_bytes){ large, UPCAST_BYTES_MAX / 2 + 1 });
    else if (type == WORDY)
        return "a text that is longer than what a caller gets, because nobody reads more, and a caller "
               "must not wait for a whole book about an event, and a few more words, and a few more";
    return type == OLD && version != 0 ? "no such version" : NULL;
}

static const struct sherd_upcast upcasts[] = { { OLD, 2, to },          { DOUBLE, 1, to },
                                               { NOTHING_LEFT, 1, to }, { ENDLESS, 1, to },
                                               { MANY, 1, to },         { 7, 3, NULL },
                                               { LARGE, 1, to },        { WORDY, 1, to } };

static enum sherd_next tape_receive(struct sherd_ctx *ctx, void *self,
                                    const struct sherd_msg *msg)
{
    struct tape *tape = self;

    if (msg->kind == SHERD_MESSAGE && msg->msg >= 10) {
        sherd_persist_version(ctx, msg->msg - 10, seen.version, (struct sherd_bytes){ "n", 1 });
        sherd_reply(ctx, 1, (struct sherd_bytes){ NULL, 0 });
    }
    memcpy(seen.tape, tape->text, sizeof seen.tape);
    return SHERD_CONTINUE;
}

static enum sherd_next ask(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_MESSAGE && msg->msg >= 200)
        sherd_entity_ask(ctx, "N", "x", msg->msg - 200, (struct sherd_bytes){ NULL, 0 }, 7, 1000);
    else if (msg->kind == SHERD_MESSAGE && msg->msg < 100)
        sherd_entity_ask(ctx, "E", "x", msg->msg, (struct sherd_bytes){ NULL, 0 }, 7, 1000);
    else if (msg->kind == SHERD_MESSAGE)
        sherd_entity_tell(ctx, "E", "x", 5, (struct sherd_bytes){ NULL, 0 });
    if (msg->kind != SHERD_NO_ANSWER && msg->kind != SHERD_UNDELIVERED)
        return SHERD_CONTINUE;
    seen.notices++;
    seen.reason = msg->reason;
    assert_true(msg->body.size < sizeof seen.why);
    if (msg->body.size)
        memcpy(seen.why, msg->body.data, msg->body.size);
    seen.why[msg->body.size] = 0;
    return SHERD_CONTINUE;
}

static const struct sherd_behavior asker = { .name = "asker", .receive = ask,
                                             .wants_undelivered = 1 };

static struct sherd_ref setup(void)
{
    struct sherd_entity_type type = { .name = "E",
                                      .behavior = { .name = "tape",
                                                    .state_size = sizeof(struct tape),
                                                    .receive = tape_receive,
                                                    .apply_checked = checked },
                                      .shards = 10,
                                      .upcasts = upcasts,
                                      .upcast_count = sizeof upcasts / sizeof upcasts[0] };

    memset(&seen, 0, sizeof seen);
    actors_add_type(lab.actors, TYPE_E, &type);
    return actors_spawn(lab.actors, &asker, slice_text(""));
}

/* Starts the entity x; the replay is wanted by lab.wants[0]. */
static struct sherd_ref wanted(void)
{
    struct sherd_ref from = setup();

    lab_tell(from, 5);
    lab_run();
    assert_int_equal(lab.want_count, 1);
    return from;
}

static bool replay(uint64_t seq, uint32_t type, uint32_t version)
{
    return actors_replay_event(lab.actors, lab.wants[0], seq,
                               (struct entity_event){ type, version, slice_text("e") });
}

static void recover(uint64_t highest)
{
    actors_recovered(lab.actors, lab.wants[0], highest);
    lab.want_count = 0;
    lab_run();
}

static void a_rejected_event_ends_the_recovery_and_tells_callers_why(void **state)
{
    struct sherd_ref from = wanted();
    (void)state;

    lab_tell(from, 100);
    lab_run();
    assert_true(replay(1, PUT, 0));
    assert_false(replay(2, 99, 0));
    assert_true(replay(3, PUT, 0)); /* late: nobody takes it */
    lab_run();
    assert_int_equal(seen.notices, 2); /* of the ask and of the tell */
    assert_int_equal(seen.reason, SHERD_REASON_RECOVERY_FAILED);
    assert_string_equal(seen.why, "event 2 (type 99, version 0, 1 bytes) rejected: unknown type");
    assert_string_equal(seen.tape, ""); /* it handled nothing */
    assert_int_equal(lab_status().rejected, 1);
    assert_true(lab_traced("the entity rejects an event"));
}

static void callers_during_the_back_off_learn_why_at_once(void **state)
{
    struct sherd_ref from = wanted();
    (void)state;

    assert_false(replay(1, 99, 0));
    lab.want_count = 0;
    lab_run();
    for (uint32_t i = 0; i < 3; i++) {
        lab_tell(from, 5);
        lab_run();
        assert_int_equal(seen.notices, i + 2);
        assert_non_null(strstr(seen.why, "unknown type"));
    }
    assert_int_equal(lab.want_count, 0); /* no recovery for each of them */
    lab_advance(260);
    lab_run();
    assert_int_equal(lab.want_count, 1); /* one after the back-off, as some asked */
    assert_false(replay(1, 99, 0));
    lab.want_count = 0;
    lab_tell(from, 5);
    lab_advance(260);
    lab_run();
    assert_int_equal(lab.want_count, 0); /* the next back-off is longer */
    lab_advance(260);
    lab_run();
    assert_int_equal(lab.want_count, 1);
    assert_true(replay(1, PUT, 0)); /* a program that knows the event */
    recover(1);
    lab_tell(from, 5);
    lab_run();
    assert_string_equal(seen.tape, "e");
    assert_int_equal(lab_status().entities, 1);
}

static void an_entity_that_nobody_asks_for_is_forgotten_after_its_back_off(void **state)
{
    (void)state;

    (void)wanted();
    assert_false(replay(1, 99, 0));
    lab.want_count = 0;
    lab_run();
    lab_advance(260);
    lab_run();
    assert_int_equal(lab.want_count, 0);
    assert_int_equal(lab_status().entities, 0);
}

static void an_entity_that_rejects_stops_with_its_shard(void **state)
{
    struct sherd_ref from = wanted();
    (void)state;

    assert_false(replay(1, 99, 0));
    lab.want_count = 0;
    lab_tell(from, 5);
    lab_run();
    actors_shard_stop(lab.actors, TYPE_E, hash_shard(slice_text("x"), 10), lab.now + SECOND);
    lab_run();
    assert_int_equal(lab.want_count, 1);
    assert_false(replay(1, 99, 0));
    lab_run();
    assert_int_equal(lab.empty_count, 1);
    assert_int_equal(lab_status().entities, 0);
}

static void an_old_event_becomes_any_number_of_newer_ones(void **state)
{
    struct sherd_ref from = wanted();
    (void)state;

    assert_true(replay(1, OLD, 0));
    assert_true(replay(2, DOUBLE, 0)); /* by two steps */
    assert_true(replay(3, NOTHING_LEFT, 0));
    assert_true(replay(4, PUT, 0));
    recover(4);
    lab_tell(from, 5);
    lab_run();
    assert_string_equal(seen.tape, "eeee");
    assert_int_equal(seen.upcasts, 5);
}

static void an_event_of_a_newer_version_is_rejected(void **state)
{
    (void)state;

    (void)wanted();
    assert_false(replay(1, OLD, 3));
    lab_run();
    assert_string_equal(seen.why, "event 1 (type 2, version 3, 1 bytes) rejected: "
                                  "a newer program wrote it: this one does not know the version");
}

/* Each of them with its part of the reason. */
static void faults_of_upcasters_are_rejections(void **state)
{
    static const struct {
        uint32_t type, version;
        const char *why;
    } cases[] = {
        { OLD, 1, "no such version" },
        { PUT, 1, "a newer program wrote it" },
        { 7, 2, "no function `to`" },
        { ENDLESS, 0, "more than 16 upcasts" },
        { MANY, 0, "more than 1,000 events" },
        { LARGE, 0, "more than 1,000 events, or 1 MiB" },
        { WORDY, 0, "a text that is longer" },
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (i) {
            (void)lab_teardown(NULL);
            (void)lab_setup(NULL);
        }
        (void)wanted();
        assert_false(replay(1, cases[i].type, cases[i].version));
        lab_run();
        assert_non_null(strstr(seen.why, cases[i].why));
        if (cases[i].type == WORDY)
            assert_int_equal(strlen(seen.why), EVENT_FAULT_MAX - 1);
        assert_int_equal(seen.upcasts, cases[i].type == ENDLESS ? UPCAST_STEPS_MAX : cases[i].type != PUT &&
                                                                          cases[i].type != 7);
    }
}

static void an_event_of_an_older_version_is_upcast_before_it_is_applied(void **state)
{
    struct sherd_ref from = wanted();
    (void)state;

    recover(0);
    lab_tell(from, 10 + DOUBLE);
    lab_run();
    assert_string_equal(seen.tape, "nn");
    assert_int_equal(lab.events, 1); /* stored as it was given */
}

static void a_rejected_event_is_not_stored(void **state)
{
    struct sherd_ref from = wanted();
    (void)state;

    recover(0);
    for (uint32_t i = 0; i < 2; i++) {
        seen.version = i; /* PUT is of version 0 only */
        lab_tell(from, 10 + (i ? PUT : 50));
        lab_run();
        assert_int_equal(seen.notices, i + 1);
        assert_int_equal(seen.reason, SHERD_REASON_NOT_STORED);
        assert_non_null(strstr(seen.why, "event 1 (type "));
        assert_non_null(strstr(seen.why, "rejected: "));
        assert_int_equal(lab.events, 0);
        lab_tell(from, 5);
        lab_run();
        recover(0);
    }
    assert_int_equal(lab_status().rejected, 2);
}

static void an_actor_without_apply_stops_when_it_persists(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    ENTITY_ORDER(TYPE_A, "y", { DO_PERSIST, 1, .ms = 3 }, { DO_TELL, 11, .ref = a });
    lab_run();
    lab_expect("a+ y+ y.1 "); /* the tell after the event is dropped */
    assert_true(lab_traced("persist by an actor that is not a persistent entity"));
    assert_int_equal(lab.events, 0);
    assert_int_equal(lab_status().store_failures, 1);
}

static void callers_of_a_type_without_apply_learn_what_is_missing(void **state)
{
    struct sherd_entity_type type = { .name = "N",
                                      .behavior = { .name = "no apply",
                                                    .state_size = sizeof(struct tape),
                                                    .receive = tape_receive },
                                      .shards = 10 };
    struct sherd_ref from = setup();
    (void)state;

    actors_add_type(lab.actors, TYPE_LAX, &type);
    lab_tell(from, 205); /* no event: such types are fine */
    lab_run();
    assert_int_equal(seen.notices, 0);
    for (uint32_t i = 1; i <= 2; i++) {
        lab_tell(from, 210 + PUT);
        lab_run();
        assert_int_equal(seen.notices, i);
        assert_int_equal(seen.reason, SHERD_REASON_NOT_STORED);
        assert_string_equal(seen.why, "type N cannot store anything: its behavior has neither apply "
                                      "nor apply_checked");
        assert_true(lab_traced("hint=\"set apply in the behavior of the type\" type=N"));
    }
}

static uint32_t warnings(void)
{
    struct trace_line line;
    uint32_t count = 0;

    while (trace_next(lab.trace, &line))
        count += strstr(line.text, "recovery reads many events") != NULL;
    return count;
}

static void a_long_recovery_is_reported_once_a_minute_for_each_type(void **state)
{
    const struct actors_settings settings = { .long_replay = 3 };
    uint32_t said = 0;
    (void)state;

    (void)lab_teardown(NULL);
    lab_open_with(settings);
    (void)setup();
    for (uint32_t i = 0; i < 4; i++) {
        lab_entity_tell(TYPE_E, (char[]){ (char)('a' + i), 0 }, 5);
        lab_run();
        assert_int_equal(lab.want_count, 1);
        for (uint64_t seq = 1; seq <= 2 + (i > 0); seq++)
            assert_true(replay(seq, PUT, 0));
        recover(2 + (i > 0));
        if (i == 2)
            lab_advance(60000);
        said += warnings();
    }
    assert_int_equal(said, 2); /* the second and the fourth one; the first was short */
    assert_int_equal(lab_status().long_replays, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)
        TEST(a_rejected_event_ends_the_recovery_and_tells_callers_why),
        TEST(callers_during_the_back_off_learn_why_at_once),
        TEST(an_entity_that_nobody_asks_for_is_forgotten_after_its_back_off),
        TEST(an_entity_that_rejects_stops_with_its_shard),
        TEST(an_old_event_becomes_any_number_of_newer_ones),
        TEST(an_event_of_a_newer_version_is_rejected),
        TEST(faults_of_upcasters_are_rejections),
        TEST(an_event_of_an_older_version_is_upcast_before_it_is_applied),
        TEST(a_rejected_event_is_not_stored),
        TEST(an_actor_without_apply_stops_when_it_persists),
        TEST(callers_of_a_type_without_apply_learn_what_is_missing),
        TEST(a_long_recovery_is_reported_once_a_minute_for_each_type),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
