/* Tests a lane without a driver, with the test as its store: a write that ended with its shard
 * confirms no later one, and neither do control's answers. */
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
#include "node/machine/machine.h"
#include "shard/remember_keys.h"
#include "shard/shard_id.h"

#define SHARDS 8
#define BASE_AFTER 100

struct fixture {
    struct node *node;
    struct machine *machine;
    struct book *book;
    struct journal_request *held; /* a commit without an answer yet */
    uint32_t passes;            /* commits that get their answers at once */
    uint64_t now;
};

static bool passivates; /* with their first message */

static enum sherd_next receive(struct sherd_ctx *ctx, void *state,
                               const struct sherd_msg *msg)
{
    (void)state;
    if (msg->kind == SHERD_MESSAGE && passivates)
        sherd_passivate(ctx);
    else if (msg->kind == SHERD_MESSAGE)
        sherd_persist(ctx, 1, (struct sherd_bytes){ "x", 1 });
    return SHERD_CONTINUE;
}

static void apply(void *state, uint32_t type, struct sherd_bytes event)
{
    (void)state;
    (void)type;
    (void)event;
}

static uint32_t shards = SHARDS; /* of later nodes */
static uint64_t kept;            /* of later nodes: records before a base that stay */

static void set(struct fixture *fixture, bool in_data)
{
    const struct sherd_entity_type type = {
        .name = "T",
        .shards = shards,
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
        .remember.base_after = BASE_AFTER,
        .remembered_kept = kept,
    };
    char error[200];

    fixture->now = SECOND;
    fixture->node = node_new(&settings, error, sizeof error);
    assert_non_null(fixture->node);
    fixture->machine = node_machine(fixture->node, 1);
}

static void begin(struct fixture *fixture, bool in_data)
{
    *fixture = (struct fixture){ .book = book_new("test") };
    set(fixture, in_data);
}

static void answer(struct fixture *fixture, struct journal_request *request)
{
    if (request->verb == BACKEND_REPLAY)
        book_read(fixture->book, request);
    else
        book_write(fixture->book, request);
    book_keep(fixture->book);
    machine_stored(fixture->machine, fixture->now, request);
}

static void carry(struct fixture *fixture)
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
            fixture->passes -= request.journal->verb == BACKEND_APPEND;
            answer(fixture, request.journal);
        }
    }
}

static void release(struct fixture *fixture)
{
    struct journal_request *request = fixture->held;

    assert_non_null(request);
    fixture->held = NULL;
    answer(fixture, request);
    carry(fixture);
}

static void give(struct fixture *fixture, struct mail_content content)
{
    struct mail mail = mail_seal(&content);

    machine_mail(fixture->machine, 1, &mail, 1);
}

static void host(struct fixture *fixture, int32_t shard, struct fence fence)
{
    give(fixture, mail_for_shard(0, shard, MAIL(host, .fence = fence)));
    carry(fixture);
}

static void tell(struct fixture *fixture, int32_t shard, int n)
{
    struct message *message;
    char id[16];

    for (int i = 0; n; i++) {
        (void)snprintf(id, sizeof id, "e%d", i);
        n -= hash_shard(slice_text(id), shards) == shard;
    }
    message = message_new_heap(0, slice_text(id), slice_text("x"));
    message->entity.shard = shard;
    message->entity.has_shard = 1;
    message->arrived = 1;
    give(fixture, MAIL(messages, .own = { message }));
    carry(fixture);
}

/* Another node claims the shard. */
static void claim_elsewhere(struct fixture *fixture, int32_t shard,
                            struct fence fence)
{
    char text[SHARD_TEXT_MAX];
    struct journal_request *request = journal_request_claim(
        slice_text("T"), shard_text(shard, text), fence);

    book_write(fixture->book, request);
    book_keep(fixture->book);
    assert_int_equal(request->result, BACKEND_DONE);
    journal_request_free(request);
}

static uint64_t kept_starts(const struct fixture *fixture)
{
    return fixture->machine->lane->types[0].remember.counters.kept;
}

static uint32_t count(const struct fixture *fixture, int32_t shard)
{
    return remember_count(&fixture->machine->lane->types[0].remember, shard);
}

static void a_write_of_an_earlier_start_confirms_no_later_one(void **state)
{
    struct fixture fixture;
    (void)state;

    begin(&fixture, false);
    host(&fixture, 1, (struct fence){ 1, 1 });
    host(&fixture, 2, (struct fence){ 1, 1 });
    fixture.passes = 1; /* its start; its event is held */
    tell(&fixture, 1, 1);
    assert_int_equal(kept_starts(&fixture), 1);
    tell(&fixture, 1, 2); /* their starts go with the next commit */
    tell(&fixture, 2, 1);
    claim_elsewhere(&fixture, 1, (struct fence){ 2, 1 });
    release(&fixture); /* shard 1 ends: only the start in shard 2 is left */
    assert_non_null(fixture.held);
    assert_int_equal(kept_starts(&fixture), 1);
    host(&fixture, 1, (struct fence){ 3, 1 });
    assert_int_equal(owned_state(&fixture.machine->lane->types[0].owned, 1),
                     OWNED_RUNNING);
    tell(&fixture, 1, 3); /* waits for the next commit */
    release(&fixture);
    assert_int_equal(kept_starts(&fixture), 2);
    fixture.passes = 100;
    release(&fixture);
    assert_int_equal(remember_count(
                         &fixture.machine->lane->types[0].remember, 1),
                     3);
    assert_int_equal(kept_starts(&fixture), 4);
    book_free(fixture.book);
    node_free(fixture.node);
}

static void a_refused_start_confirms_nothing(void **state)
{
    struct fixture fixture;
    (void)state;

    begin(&fixture, false);
    host(&fixture, 1, (struct fence){ 1, 1 });
    tell(&fixture, 1, 1);
    claim_elsewhere(&fixture, 1, (struct fence){ 2, 1 });
    release(&fixture);
    assert_int_equal(kept_starts(&fixture), 0);
    book_free(fixture.book);
    node_free(fixture.node);
}

/* Returns the ticket of the last request; 0: none. */
static uint64_t asked(struct fixture *fixture, enum remember_verb verb)
{
    const struct mail *mail;
    uint32_t count = machine_outgoing(fixture->machine, 0, &mail);
    uint64_t ticket = 0;

    for (uint32_t i = 0; i < count; i++) {
        struct mail_content content = mail_open(&mail[i]);

        if (content.kind == MAIL_REMEMBER &&
            mail_remember_of(&content)->verb == verb)
            ticket = mail_remember_of(&content)->ticket;
        mail_content_free(&content);
    }
    machine_sent(fixture->machine, 0, count);
    return ticket;
}

static enum owned_state told(struct fixture *fixture, uint64_t ticket,
                              enum remember_verb verb)
{
    give(fixture, mail_for_shard(0, 1, MAIL(remembered, .ticket = ticket,
                                            .verb = verb)));
    carry(fixture);
    return owned_state(&fixture->machine->lane->types[0].owned, 1);
}

static void an_answer_to_an_earlier_start_starts_no_entity(void **state)
{
    struct fixture fixture;
    uint64_t first, second, write;
    (void)state;

    begin(&fixture, true);
    host(&fixture, 1, (struct fence){ 1, 1 });
    first = asked(&fixture, REMEMBER_READ);
    assert_int_not_equal(first, 0);
    give(&fixture, mail_for_shard(0, 1, MAIL(lost, .fence = { 2, 1 })));
    carry(&fixture);
    assert_int_equal(asked(&fixture, REMEMBER_GIVE_UP), first);
    host(&fixture, 1, (struct fence){ 3, 1 });
    second = asked(&fixture, REMEMBER_READ);
    assert_int_not_equal(second, first);
    assert_int_equal(told(&fixture, first, REMEMBER_READ), OWNED_CLAIMING);
    assert_int_equal(told(&fixture, second, REMEMBER_READ), OWNED_RUNNING);
    tell(&fixture, 1, 1);
    write = asked(&fixture, REMEMBER_STORE);
    assert_int_not_equal(write, 0);
    (void)told(&fixture, second, REMEMBER_STORE);
    assert_int_equal(kept_starts(&fixture), 0);
    (void)told(&fixture, write, REMEMBER_STORE);
    assert_int_equal(kept_starts(&fixture), 1);
    book_free(fixture.book);
    node_free(fixture.node);
}

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
    give(fixture, mail_for_shard(0, 1, MAIL(remembered, .ticket = ticket,
                                            .verb = REMEMBER_READ,
                                            .own = { record })));
}

/* Whether the lane asks for the keys' values. */
static bool follows(struct fixture *fixture)
{
    const struct mail *mail;
    uint32_t count = machine_outgoing(fixture->machine, 0, &mail);
    bool found = false;

    for (uint32_t i = 0; i < count; i++) {
        struct mail_content content = mail_open(&mail[i]);

        found = found || (content.kind == MAIL_REMEMBER &&
                          mail_remember_of(&content)->verb == REMEMBER_FOLLOW);
        mail_content_free(&content);
    }
    machine_sent(fixture->machine, 0, count);
    return found;
}

/* Other nodes empty the id's key. */
static void give_changed(struct fixture *fixture, const char *id)
{
    struct buf *record = mem_alloc(sizeof *record);

    remember_starts_put(record, slice_of(NULL, 0), 0);
    give(fixture,
         mail_for_shard(0, 1, MAIL(remember_changed,
                                   .key = remember_key_of(slice_text(id)),
                                   .own = { record })));
    carry(fixture);
}

/* Keys are read one by one over several turns: a change in between may be in none, so the lane asks
 * again. */
static void an_entity_removed_during_its_read_is_stored_again(void **state)
{
    struct fixture fixture;
    uint64_t ticket;
    (void)state;

    begin(&fixture, true);
    host(&fixture, 1, (struct fence){ 1, 1 });
    ticket = asked(&fixture, REMEMBER_READ);
    give_read(&fixture, ticket, 1500);
    assert_false(follows(&fixture));
    give_changed(&fixture, "e0");
    assert_true(follows(&fixture)); /* it runs by now */
    give_changed(&fixture, "e0");
    assert_int_not_equal(asked(&fixture, REMEMBER_STORE), 0);
    assert_true(fixture.machine->lane->types[0].remember.counters.again > 0);
    book_free(fixture.book);
    node_free(fixture.node);
}

static void a_read_is_taken_in_parts(void **state)
{
    struct fixture fixture;
    const struct remember *remember;
    struct lane_type *type;
    uint64_t ticket;
    (void)state;

    begin(&fixture, true);
    type = &fixture.machine->lane->types[0];
    remember = &type->remember;
    host(&fixture, 1, (struct fence){ 1, 1 });
    give_read(&fixture, asked(&fixture, REMEMBER_READ), 2500);
    assert_int_equal(remember_count(remember, 1), 1000);
    assert_true(machine_deadline(fixture.machine) <= fixture.now);
    (void)machine_turn(fixture.machine, ++fixture.now, 0);
    assert_int_equal(remember_count(remember, 1), 2000);
    assert_int_equal(owned_state(&type->owned, 1), OWNED_CLAIMING);
    (void)machine_turn(fixture.machine, ++fixture.now, 0);
    assert_int_equal(remember_count(remember, 1), 2500);
    assert_int_equal(owned_state(&type->owned, 1), OWNED_RUNNING);
    carry(&fixture);
    assert_int_equal(type->readings.count, 0);

    /* its shard ends: the rest has no receiver */
    give(&fixture, mail_for_shard(0, 1, MAIL(lost, .fence = { 2, 1 })));
    carry(&fixture);
    host(&fixture, 1, (struct fence){ 3, 1 });
    ticket = asked(&fixture, REMEMBER_READ);
    give_read(&fixture, ticket, 2500);
    give(&fixture, mail_for_shard(0, 1, MAIL(lost, .fence = { 4, 1 })));
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

/* Replaced records are deleted. */
static void a_stream_stays_short(void **state)
{
    struct slice stream = slice_text("|T|1");
    struct fixture fixture;
    uint64_t rows;
    (void)state;

    for (kept = 0; kept <= 200; kept += 200) {
        begin(&fixture, false);
        fixture.passes = 1000000;
        passivates = true;
        host(&fixture, 1, (struct fence){ 1, 1 });
        for (int i = 0; i < 3000; i++)
            tell(&fixture, 1, 1);
        passivates = false;
        assert_int_equal(kept_starts(&fixture), 3000);
        assert_int_equal(book_last(fixture.book, stream), 6000);
        rows = 6001 - book_first(fixture.book, stream);
        print_message("3000 starts and passivations: %u rows, %u kept before the base\n",
                      (unsigned)rows, (unsigned)kept);
        assert_in_range(rows, kept + 1, kept + BASE_AFTER);
        host(&fixture, 1, (struct fence){ 2, 1 });
        assert_int_equal(count(&fixture, 1), 0);
        book_free(fixture.book);
        node_free(fixture.node);
    }
    kept = 0;
}

static void give_stray(struct fixture *fixture, int32_t shard, uint64_t term)
{
    give(fixture,
         mail_for_shard(0, shard, MAIL(orphan, .fence = { term, 1 })));
    carry(fixture);
}

static uint64_t stored_term(const struct fixture *fixture, const char *shard)
{
    return book_fence(fixture->book, slice_text("T"), slice_text(shard)).term;
}

/* Stores two entities of shard 9 of 16; now there are eight shards. */
static void set_fewer(struct fixture *fixture)
{
    *fixture = (struct fixture){ .book = book_new("test") };
    shards = 2 * SHARDS;
    set(fixture, false);
    fixture->passes = 100;
    host(fixture, 9, (struct fence){ 1, 1 });
    tell(fixture, 9, 1);
    tell(fixture, 9, 2);
    assert_int_equal(count(fixture, 9), 2);
    node_free(fixture->node);
    shards = SHARDS;
    set(fixture, false);
    fixture->passes = 100;
}

static void entities_of_an_orphan_shard_move(void **state)
{
    struct fixture fixture;
    (void)state;

    set_fewer(&fixture);
    give_stray(&fixture, 9, 2);
    assert_int_equal(stored_term(&fixture, "9"), 2);
    assert_int_equal(count(&fixture, 9), 2); /* they wait for their shard */
    host(&fixture, 1, (struct fence){ 2, 1 });
    fixture.now += 5 * SECOND; /* requested again */
    carry(&fixture);
    assert_int_equal(count(&fixture, 1), 2);
    assert_int_equal(count(&fixture, 9), 0);
    host(&fixture, 1, (struct fence){ 3, 1 });
    assert_int_equal(count(&fixture, 1), 2);
    give_stray(&fixture, 9, 3); /* it is empty */
    assert_int_equal(stored_term(&fixture, "9"), 3);
    assert_int_equal(count(&fixture, 9), 0);
    assert_int_equal(
        fixture.machine->lane->types[0].remember.counters.moved, 2);
    book_free(fixture.book);
    node_free(fixture.node);
}

/* A former coordinator's node reads and writes nothing. */
static void only_the_last_coordinators_node_moves_entities(void **state)
{
    struct fixture fixture;
    (void)state;

    set_fewer(&fixture);
    claim_elsewhere(&fixture, 9, (struct fence){ 5, 1 });
    give_stray(&fixture, 9, 4);
    assert_int_equal(count(&fixture, 9), 0);
    give_stray(&fixture, 9, 6); /* this node's term */
    assert_int_equal(count(&fixture, 9), 2);
    claim_elsewhere(&fixture, 9, (struct fence){ 7, 1 });
    host(&fixture, 1, (struct fence){ 6, 1 });
    fixture.now += 5 * SECOND;
    carry(&fixture);
    assert_int_equal(count(&fixture, 1), 2);
    assert_int_equal(count(&fixture, 9), 0); /* its stops were refused: it ended */
    give_stray(&fixture, 9, 8);
    assert_in_range(fixture.machine->lane->types[0].remember.counters.moved, 3,
                    4); /* one or both once more */
    give_stray(&fixture, 9, 9);
    assert_int_equal(count(&fixture, 9), 0);
    book_free(fixture.book);
    node_free(fixture.node);
}

/* Few are read at a time. */
static void moves_end_with_the_coordinator(void **state)
{
    struct fixture fixture;
    const struct lane_type *type;
    uint32_t reading = 0;
    (void)state;

    begin(&fixture, true);
    type = &fixture.machine->lane->types[0];
    for (int32_t shard = SHARDS; shard < SHARDS + 100; shard++)
        give_stray(&fixture, shard, 2);
    for (int32_t shard = SHARDS; shard < SHARDS + 100; shard++)
        reading += type->lives.items[shard_place(shard)].orphan == ORPHAN_READS;
    assert_in_range(reading, 1, 99);
    assert_int_equal(type->orphans_reading, reading);
    assert_int_not_equal(asked(&fixture, REMEMBER_READ), 0);
    give(&fixture, mail_orphans_end_new());
    carry(&fixture);
    assert_int_equal(type->orphans_reading, 0);
    assert_int_not_equal(asked(&fixture, REMEMBER_GIVE_UP), 0);
    for (uint32_t i = 0; i < type->lives.count; i++)
        assert_int_equal(type->lives.items[i].orphan, ORPHAN_NOT);
    give_stray(&fixture, SHARDS, 2);
    assert_int_equal(type->orphans_reading, 1);
    book_free(fixture.book);
    node_free(fixture.node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_write_of_an_earlier_start_confirms_no_later_one),
        cmocka_unit_test(a_refused_start_confirms_nothing),
        cmocka_unit_test(an_answer_to_an_earlier_start_starts_no_entity),
        cmocka_unit_test(an_entity_removed_during_its_read_is_stored_again),
        cmocka_unit_test(a_read_is_taken_in_parts),
        cmocka_unit_test(a_stream_stays_short),
        cmocka_unit_test(entities_of_an_orphan_shard_move),
        cmocka_unit_test(only_the_last_coordinators_node_moves_entities),
        cmocka_unit_test(moves_end_with_the_coordinator),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
