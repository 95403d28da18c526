/* Tests a lane without a driver, with the test as its store: events of entities and writes of
 * remembered entities share the journal's positions, and each effect waits for its own event. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/limits.h"
#include "journal/book.h"
#include "node/lane/lane.h"
#include "shard/shard_id.h"

#define SHARDS 8
#define ONE 2 /* two shards of lane 0 */
#define TWO 4
#define UID 11

struct fixture {
    struct node *node;
    struct machine *machine; /* lane 0; the askers are on lane 1 */
    struct book *book;
    struct journal_request *held; /* a commit without an answer yet */
    bool passes;                  /* commits get their answers at once */
    uint32_t commits;             /* answered */
    uint64_t now;
    uint32_t read; /* mail to the askers */
    char log[256]; /* "3 ": ask 3 has its answer; "!3 ": it has none */
};

/* Persists an event of as many bytes as the message, and answers. */
static enum sherd_next receive(struct sherd_ctx *ctx, void *state,
                               const struct sherd_msg *msg)
{
    (void)state;
    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    sherd_persist(ctx, 1, msg->body);
    sherd_reply(ctx, 2, (struct sherd_bytes){ "y", 1 });
    return SHERD_CONTINUE;
}

static void apply(void *state, uint32_t type, struct sherd_bytes event)
{
    (void)state;
    (void)type;
    (void)event;
}

static int setup(void **state)
{
    const struct sherd_entity_type type = {
        .name = "T",
        .shards = SHARDS,
        .remember = 1,
        .behavior = { .name = "t", .state_size = 8, .receive = receive,
                      .apply = apply },
    };
    const struct node_settings settings = {
        .identity = { "akka", "S", { { "a", 1 }, UID } },
        .lanes = 2,
        .seed = 1,
        .buffer_size = 1000,
        .types = &type,
        .type_count = 1,
        .remember.base_after = 100,
    };
    struct fixture *fixture = mem_alloc(sizeof *fixture);
    char error[200];

    fixture->book = book_new("test");
    fixture->now = SECOND;
    fixture->passes = true;
    fixture->node = node_new(&settings, error, sizeof error);
    assert_non_null(fixture->node);
    fixture->machine = node_machine(fixture->node, 1);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    journal_request_free(fixture->held);
    node_free(fixture->node);
    book_free(fixture->book);
    mem_free(fixture);
    return 0;
}

static void note_answers(struct fixture *fixture)
{
    const struct mail *mail;
    uint32_t count = machine_outgoing(fixture->machine, 2, &mail);
    size_t used = strlen(fixture->log);

    for (; fixture->read < count; fixture->read++) {
        struct mail_content content = mail_open(&mail[fixture->read]);
        const struct message *message =
            content.kind == MAIL_MESSAGES
                ? mail_messages_of(&content)->own.first
                : NULL;

        for (; message; message = message->next)
            used += (size_t)snprintf(
                fixture->log + used, sizeof fixture->log - used, "%s%u ",
                message->kind == MESSAGE_ANSWER ? "" : "!",
                (unsigned)message->ask);
    }
}

static void expect(struct fixture *fixture, const char *log)
{
    assert_string_equal(fixture->log, log);
    fixture->log[0] = 0;
}

static void answer(struct fixture *fixture, struct journal_request *request)
{
    fixture->commits += request->verb == BACKEND_APPEND;
    if (request->verb == BACKEND_REPLAY)
        book_read(fixture->book, request);
    else
        book_write(fixture->book, request);
    book_keep(fixture->book);
    machine_stored(fixture->machine, fixture->now, request);
}

static void run(struct fixture *fixture)
{
    for (int i = 0; i < 20; i++) {
        struct driver_request request;

        (void)machine_turn(fixture->machine, ++fixture->now, 0);
        while (machine_next_request(fixture->machine, &request)) {
            if (request.kind != DRIVER_STORE)
                continue;
            if (request.journal->verb == BACKEND_APPEND && !fixture->passes) {
                assert_null(fixture->held);
                fixture->held = request.journal;
                continue;
            }
            answer(fixture, request.journal);
        }
        note_answers(fixture);
    }
}

/* The commit that is out gets its answer; the next one is held. */
static void release(struct fixture *fixture)
{
    struct journal_request *request = fixture->held;

    assert_non_null(request);
    fixture->held = NULL;
    answer(fixture, request);
    run(fixture);
}

static void give(struct fixture *fixture, struct mail_content content)
{
    struct mail mail = mail_seal(&content);

    machine_mail(fixture->machine, 1, &mail, 1);
}

static void host(struct fixture *fixture, int32_t shard)
{
    give(fixture, mail_for_shard(0, shard,
                                 MAIL(host, .fence = { 1, 1 })));
    run(fixture);
}

/* An asker of the other lane sends a message to the shard's n-th entity. */
static void ask(struct fixture *fixture, int32_t shard, int n, uint64_t number)
{
    struct message *message;
    char id[16];

    for (int i = 0; n; i++) {
        (void)snprintf(id, sizeof id, "e%d", i);
        n -= hash_shard(slice_text(id), SHARDS) == shard;
    }
    message = message_new_heap(0, slice_text(id), slice_text("x"));
    message->entity.shard = shard;
    message->entity.has_shard = 1;
    message->arrived = 1;
    message->sender = (struct sherd_ref){ UID, actor_id_make(1, 1, 1) };
    message->ask = number;
    give(fixture, MAIL(messages, .own = { message }));
}

/* Another node claims the shard. */
static void claim_elsewhere(struct fixture *fixture, int32_t shard)
{
    char text[SHARD_TEXT_MAX];
    struct journal_request *request = journal_request_claim(
        slice_text("T"), shard_text(shard, text), (struct fence){ 2, 1 });

    book_write(fixture->book, request);
    book_keep(fixture->book);
    assert_int_equal(request->result, BACKEND_DONE);
    journal_request_free(request);
}

static uint32_t remember_writes(const struct fixture *fixture)
{
    return fixture->machine->lane->remember_writes.count;
}

static void an_effect_waits_for_its_own_event_between_other_writes(void **state)
{
    struct fixture *fixture = *state;

    host(fixture, ONE);
    ask(fixture, ONE, 1, 1);
    run(fixture);
    expect(fixture, "1 ");
    fixture->passes = false;
    ask(fixture, ONE, 1, 2);
    run(fixture); /* the commit with this event is held */
    ask(fixture, ONE, 2, 3);
    run(fixture); /* the start of a second entity collects */
    assert_int_equal(remember_writes(fixture), 1);
    ask(fixture, ONE, 1, 4);
    run(fixture);
    ask(fixture, ONE, 3, 5);
    run(fixture);
    expect(fixture, "");
    release(fixture);
    expect(fixture, "2 ");
    assert_int_equal(remember_writes(fixture), 1);
    release(fixture); /* the second entity's start, and the event after it */
    expect(fixture, "4 ");
    release(fixture); /* the third one's start */
    expect(fixture, "");
    release(fixture); /* the second one's event, appended before that start was stored */
    expect(fixture, "3 ");
    release(fixture);
    expect(fixture, "5 ");
    assert_null(fixture->held);
    assert_int_equal(remember_writes(fixture), 0);
}

/* All events that a turn appends leave with one commit, in the order of their messages. */
static void effects_of_a_commit_leave_in_the_order_of_their_events(void **state)
{
    struct fixture *fixture = *state;
    uint32_t commits;

    host(fixture, ONE);
    host(fixture, TWO);
    for (uint64_t i = 1; i <= 4; i++)
        ask(fixture, i % 2 ? TWO : ONE, 1 + (int)i / 3, i);
    run(fixture);
    fixture->log[0] = 0;
    commits = fixture->commits;
    for (uint64_t i = 11; i <= 18; i++)
        ask(fixture, i % 2 ? TWO : ONE, 1 + (int)i % 4 / 2, i);
    run(fixture);
    /* an entity's messages run together */
    expect(fixture, "11 15 12 16 13 17 14 18 ");
    assert_int_equal(fixture->commits, commits + 1);
}

/* The journal refuses events of one shard in a commit with those of another. */
static void a_refused_event_drops_only_effects_of_its_entity(void **state)
{
    struct fixture *fixture = *state;

    host(fixture, ONE);
    host(fixture, TWO);
    ask(fixture, ONE, 1, 1);
    ask(fixture, TWO, 1, 2);
    run(fixture);
    expect(fixture, "1 2 ");
    fixture->passes = false;
    ask(fixture, TWO, 1, 3);
    run(fixture);
    claim_elsewhere(fixture, ONE);
    ask(fixture, ONE, 1, 4); /* this event is refused */
    ask(fixture, TWO, 1, 5);
    ask(fixture, ONE, 2, 6); /* its start is refused */
    ask(fixture, TWO, 2, 7);
    run(fixture);
    expect(fixture, "");
    assert_int_equal(remember_writes(fixture), 2);
    release(fixture);
    expect(fixture, "3 ");
    release(fixture);
    expect(fixture, "!4 5 ");
    release(fixture);
    expect(fixture, "7 ");
    assert_int_equal(owned_state(&fixture->machine->lane->types[0].owned, ONE),
                     OWNED_ABSENT);
    ask(fixture, TWO, 1, 8);
    run(fixture);
    release(fixture);
    expect(fixture, "8 ");
}

/* A report covers the commit that returned, not events that were appended since. */
static void a_late_report_releases_only_what_it_stored(void **state)
{
    struct fixture *fixture = *state;

    host(fixture, ONE);
    ask(fixture, ONE, 1, 1);
    ask(fixture, ONE, 2, 2);
    run(fixture);
    fixture->log[0] = 0;
    fixture->passes = false;
    for (uint64_t i = 0; i < 10; i++) { /* the first one's event goes alone */
        ask(fixture, ONE, 1 + (int)i % 2, 10 + i);
        run(fixture);
    }
    fixture->now += 60 * SECOND;
    run(fixture);
    expect(fixture, "");
    backend_settle(fixture->held, BACKEND_UNKNOWN, "lost"); /* it is repeated */
    machine_stored(fixture->machine, fixture->now, fixture->held);
    fixture->held = NULL;
    run(fixture);
    expect(fixture, "");
    fixture->now += 60 * SECOND;
    run(fixture);
    release(fixture);
    expect(fixture, "10 ");
    release(fixture);
    /* an entity's effects leave together */
    expect(fixture, "11 13 15 17 19 12 14 16 18 ");
}

/* Dropped writes leave gaps among the positions of the commit. */
static void dropped_writes_keep_no_effect_back(void **state)
{
    struct fixture *fixture = *state;

    host(fixture, ONE);
    host(fixture, TWO);
    ask(fixture, ONE, 1, 1);
    ask(fixture, TWO, 1, 2);
    run(fixture);
    fixture->log[0] = 0;
    fixture->passes = false;
    ask(fixture, ONE, 1, 3);
    run(fixture);
    claim_elsewhere(fixture, ONE);
    ask(fixture, ONE, 2, 4); /* a start, an event, a start */
    ask(fixture, TWO, 1, 5);
    ask(fixture, ONE, 3, 6);
    run(fixture);
    release(fixture); /* shard 1 is fenced: its part of the next commit is dropped */
    expect(fixture, "!3 ");
    release(fixture);
    expect(fixture, "5 ");
    assert_null(fixture->held);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_effect_waits_for_its_own_event_between_other_writes),
        TEST(effects_of_a_commit_leave_in_the_order_of_their_events),
        TEST(a_refused_event_drops_only_effects_of_its_entity),
        TEST(a_late_report_releases_only_what_it_stored),
        TEST(dropped_writes_keep_no_effect_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
