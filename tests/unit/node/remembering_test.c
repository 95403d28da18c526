/* One lane machine without a driver, whose store the test is: a write that was given up with its shard is not taken for one that came after;
 * in distributed data the same of what control answers, of which each turn takes a part. */
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
#include "node/lane.h"
#include "node/machine.h"
#include "shard/remember_keys.h"
#include "shard/shard_id.h"

#define SHARDS 8

struct fixture {
    struct node *node;
    struct machine *machine;
    struct book *book;
    struct store_request *held; /* a commit that is not answered yet */
    uint32_t passes;            /* commits that are answered at once */
    uint64_t now;
};

static enum sherd_next receive(struct sherd_ctx *ctx, void *state,
                               const struct sherd_msg *msg)
{
    (void)state;
    if (msg->kind == SHERD_MESSAGE)
        sherd_persist(ctx, 1, (struct sherd_bytes){ "x", 1 });
    return SHERD_CONTINUE;
}

static void apply(void *state, uint32_t type, struct sherd_bytes event)
{
    (void)state;
    (void)type;
    (void)event;
}

static void set(struct fixture *fixture, bool in_data)
{
    const struct sherd_entity_type type = {
        .name = "T",
        .shards = SHARDS,
        .remember = 1,
        .behavior = { .name = "t", .state_size = 8, .receive = receive,
                      .apply = in_data ? NULL : apply },
    };
    const struct node_settings settings = {
        .identity = { "akka", "S", { { "a", 1 }, 11 } },
        .lanes = 1,
        .seed = 1,
        .buffer_size = 1000,
        .types = &type,
        .type_count = 1,
        .remembers_in_data = in_data,
    };
    char error[200];

    *fixture = (struct fixture){ .now = SECOND };
    fixture->node = node_new(&settings, error, sizeof error);
    assert_non_null(fixture->node);
    fixture->machine = node_machine(fixture->node, 1);
    fixture->book = book_new("test");
}

static void answer(struct fixture *fixture, struct store_request *request)
{
    if (request->verb == STORE_REPLAY)
        book_read(fixture->book, request);
    else
        book_write(fixture->book, request);
    book_keep(fixture->book);
    machine_stored(fixture->machine, fixture->now, request);
}

static void carry(struct fixture *fixture)
{
    for (int i = 0; i < 20; i++) {
        struct want want;

        (void)machine_turn(fixture->machine, ++fixture->now, 0);
        while (machine_next_want(fixture->machine, &want)) {
            if (want.kind != WANT_STORE)
                continue;
            if (want.request->verb == STORE_APPEND && !fixture->passes) {
                assert_null(fixture->held);
                fixture->held = want.request;
                continue;
            }
            fixture->passes -= want.request->verb == STORE_APPEND;
            answer(fixture, want.request);
        }
    }
}

static void release(struct fixture *fixture)
{
    struct store_request *request = fixture->held;

    assert_non_null(request);
    fixture->held = NULL;
    answer(fixture, request);
    carry(fixture);
}

static void give(struct fixture *fixture, struct letter letter)
{
    struct mail mail;

    memcpy(&mail, &letter, sizeof mail);
    machine_mail(fixture->machine, 1, &mail, 1);
}

static void host(struct fixture *fixture, int32_t shard, struct fence fence)
{
    give(fixture, (struct letter){ .kind = LETTER_HOST, .shard = shard,
                                   .fence = fence });
    carry(fixture);
}

/* A message for the n-th entity of the shard. */
static void tell(struct fixture *fixture, int32_t shard, int n)
{
    struct message *message;
    char id[16];

    for (int i = 0; n; i++) {
        (void)snprintf(id, sizeof id, "e%d", i);
        n -= hash_shard(slice_text(id), SHARDS) == shard;
    }
    message = message_new_foreign(0, slice_text(id), slice_text("x"));
    message->entity.shard = shard;
    message->entity.has_shard = 1;
    message->arrived = 1;
    give(fixture, (struct letter){ .kind = LETTER_MESSAGES, .body = message });
    carry(fixture);
}

/* Another node claims the shard. */
static void claim_elsewhere(struct fixture *fixture, int32_t shard,
                            struct fence fence)
{
    char text[SHARD_TEXT_MAX];
    struct store_request *request = store_request_claim(
        slice_text("T"), shard_text(shard, text), fence);

    book_write(fixture->book, request);
    book_keep(fixture->book);
    assert_int_equal(request->result, STORE_DONE);
    store_request_free(request);
}

static uint64_t kept(const struct fixture *fixture)
{
    return fixture->machine->lane->types[0].remember.counters.kept;
}

static void a_write_of_a_former_life_answers_nothing(void **state)
{
    struct fixture fixture;
    (void)state;

    set(&fixture, false);
    host(&fixture, 1, (struct fence){ 1, 1 });
    host(&fixture, 2, (struct fence){ 1, 1 });
    fixture.passes = 1; /* the start of the first one; its event is held */
    tell(&fixture, 1, 1);
    assert_int_equal(kept(&fixture), 1);
    tell(&fixture, 1, 2); /* their starts go with the next commit */
    tell(&fixture, 2, 1);
    claim_elsewhere(&fixture, 1, (struct fence){ 2, 1 });
    release(&fixture); /* shard 1 ends: only the start in shard 2 is left of that commit */
    assert_non_null(fixture.held);
    assert_int_equal(kept(&fixture), 1);
    host(&fixture, 1, (struct fence){ 3, 1 });
    assert_int_equal(hosted_state(&fixture.machine->lane->types[0].hosted, 1),
                     HOSTED_RUNNING);
    tell(&fixture, 1, 3); /* its start waits for the commit after that one */
    release(&fixture);
    assert_int_equal(kept(&fixture), 2);
    fixture.passes = 100;
    release(&fixture);
    assert_int_equal(remember_count(
                         &fixture.machine->lane->types[0].remember, 1),
                     3);
    assert_int_equal(kept(&fixture), 4);
    book_free(fixture.book);
    node_free(fixture.node);
}

/* What the lane asked of control last; 0: nothing of remembered entities. */
static uint64_t asked(struct fixture *fixture, enum remember_verb verb)
{
    const struct mail *mail;
    uint32_t count = machine_outgoing(fixture->machine, 0, &mail);
    uint64_t ticket = 0;

    for (uint32_t i = 0; i < count; i++) {
        struct letter letter = mail_open(&mail[i]);

        if (letter.kind == LETTER_REMEMBER && letter.count == verb)
            ticket = letter.a;
        letter_free(&letter);
    }
    machine_sent(fixture->machine, 0, count);
    return ticket;
}

static enum hosted_state told(struct fixture *fixture, uint64_t ticket,
                              enum remember_verb verb)
{
    give(fixture, (struct letter){ .kind = LETTER_REMEMBERED, .shard = 1,
                                   .a = ticket, .b = 1, .count = verb });
    carry(fixture);
    return hosted_state(&fixture->machine->lane->types[0].hosted, 1);
}

static void an_answer_to_a_former_life_starts_nothing(void **state)
{
    struct fixture fixture;
    uint64_t first, second, write;
    (void)state;

    set(&fixture, true);
    host(&fixture, 1, (struct fence){ 1, 1 });
    first = asked(&fixture, REMEMBER_READ);
    assert_int_not_equal(first, 0);
    give(&fixture, (struct letter){ .kind = LETTER_LOST, .shard = 1,
                                    .fence = { 2, 1 } });
    carry(&fixture);
    assert_int_equal(asked(&fixture, REMEMBER_GIVE_UP), first);
    host(&fixture, 1, (struct fence){ 3, 1 });
    second = asked(&fixture, REMEMBER_READ);
    assert_int_not_equal(second, first);
    assert_int_equal(told(&fixture, first, REMEMBER_READ), HOSTED_CLAIMING);
    assert_int_equal(told(&fixture, second, REMEMBER_READ), HOSTED_RUNNING);
    tell(&fixture, 1, 1);
    write = asked(&fixture, REMEMBER_STORE);
    assert_int_not_equal(write, 0);
    (void)told(&fixture, second, REMEMBER_STORE);
    assert_int_equal(kept(&fixture), 0);
    (void)told(&fixture, write, REMEMBER_STORE);
    assert_int_equal(kept(&fixture), 1);
    book_free(fixture.book);
    node_free(fixture.node);
}

/* An answer with so many entities. */
static void give_read(struct fixture *fixture, uint64_t ticket, uint32_t count)
{
    struct buf *record = mem_alloc(sizeof *record);
    struct buf ids = { 0 };
    char id[16];

    for (uint32_t i = 0; i < count; i++) {
        (void)snprintf(id, sizeof id, "e%u", i);
        buf_put_u8(&ids, (uint8_t)strlen(id));
        buf_put_text(&ids, id);
    }
    remember_starts_put(record, buf_slice(&ids), count);
    buf_fini(&ids);
    give(fixture, (struct letter){ .kind = LETTER_REMEMBERED, .shard = 1,
                                   .a = ticket, .b = 1,
                                   .count = REMEMBER_READ, .body = record });
}

static void what_was_read_is_taken_in_parts(void **state)
{
    struct fixture fixture;
    const struct remember *remember;
    struct lane_type *type;
    uint64_t ticket;
    (void)state;

    set(&fixture, true);
    type = &fixture.machine->lane->types[0];
    remember = &type->remember;
    host(&fixture, 1, (struct fence){ 1, 1 });
    give_read(&fixture, asked(&fixture, REMEMBER_READ), 2500);
    assert_int_equal(remember_count(remember, 1), 1000);
    assert_true(machine_deadline(fixture.machine) <= fixture.now);
    (void)machine_turn(fixture.machine, ++fixture.now, 0);
    assert_int_equal(remember_count(remember, 1), 2000);
    assert_int_equal(hosted_state(&type->hosted, 1), HOSTED_CLAIMING);
    (void)machine_turn(fixture.machine, ++fixture.now, 0);
    assert_int_equal(remember_count(remember, 1), 2500);
    assert_int_equal(hosted_state(&type->hosted, 1), HOSTED_RUNNING);
    carry(&fixture);
    assert_int_equal(type->readings.count, 0);

    /* Its shard ends meanwhile: the rest is nobody's. */
    give(&fixture, (struct letter){ .kind = LETTER_LOST, .shard = 1,
                                    .fence = { 2, 1 } });
    carry(&fixture);
    host(&fixture, 1, (struct fence){ 3, 1 });
    ticket = asked(&fixture, REMEMBER_READ);
    give_read(&fixture, ticket, 2500);
    give(&fixture, (struct letter){ .kind = LETTER_LOST, .shard = 1,
                                    .fence = { 4, 1 } });
    carry(&fixture);
    assert_int_equal(type->readings.count, 0);
    host(&fixture, 1, (struct fence){ 5, 1 });
    give_read(&fixture, asked(&fixture, REMEMBER_READ), 3);
    assert_int_equal(remember_count(remember, 1), 3);
    give_read(&fixture, ticket, 2500); /* late */
    assert_int_equal(remember_count(remember, 1), 3);
    book_free(fixture.book);
    node_free(fixture.node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_write_of_a_former_life_answers_nothing),
        cmocka_unit_test(an_answer_to_a_former_life_starts_nothing),
        cmocka_unit_test(what_was_read_is_taken_in_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
