/* Tests how a coordinator asks a strategy of the program: answers at once and later, time limits,
 * refusals, and the end of requests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <sherd/allocation.h>

#include "base/limits.h"
#include "scene.h"

#define counter(scene, name) (coordinator_counters((scene)->coordinator)->name)
#define INTERVAL 10000 /* ms between two rebalances */
#define LATER SHERD_ALLOCATION_LATER

/* Plays the program. */
struct program {
    int answer;  /* of allocate */
    int moves;   /* of rebalance: the result */
    int32_t shards[8];
    uint32_t asked, asked_moves;
    uint64_t numbers[400];
    struct sherd_allocation_request last; /* its pointers are not valid */
    char regions[8192]; /* of the last request */
};

static struct program program;

static void note(const struct sherd_allocation_request *request)
{
    size_t at = 0;

    program.last = *request;
    program.regions[0] = 0;
    for (uint32_t i = 0; i < request->region_count; i++) {
        const struct sherd_allocation_region *region = &request->regions[i];

        at += (size_t)snprintf(program.regions + at, sizeof program.regions - at, "%s%s%s:",
                               i ? " " : "", region->member.address, region->leaving ? "!" : "");
        for (uint32_t j = 0; j < region->shard_count; j++)
            at += (size_t)snprintf(program.regions + at, sizeof program.regions - at, "%s%d%s",
                                   j ? "," : "", region->shards[j].shard,
                                   region->shards[j].moving ? "*" : "");
    }
}

static int allocate(void *user, const struct sherd_allocation_request *request)
{
    assert_ptr_equal(user, &program);
    note(request);
    program.numbers[program.asked++ % 400] = request->number;
    return program.answer;
}

static int rebalance(void *user, const struct sherd_allocation_request *request, int32_t *shards)
{
    assert_ptr_equal(user, &program);
    note(request);
    program.asked_moves++;
    for (int i = 0; i < program.moves && i < 3; i++)
        shards[i] = program.shards[i];
    return program.moves;
}

static const struct sherd_allocation_strategy strategy = { .allocate = allocate,
                                                           .rebalance = rebalance,
                                                           .user = &program };
static const struct coordinator_settings custom = { .allocation = ALLOCATION_CUSTOM,
                                                    .number_of_shards = 1000 };

static struct scene *begin(int count, int answer)
{
    struct scene *scene = scene_unread_by(&custom, &strategy);

    program = (struct program){ .answer = answer };
    scene_drain(scene);
    return scene_begin(scene, count);
}

/* n below 0: the default. */
static void answer(struct scene *scene, uint64_t number, int n)
{
    struct address address = node_of(n < 0 ? 0 : n).address;
    struct coordinator_choice choice = { .region = n < 0 ? NULL : &address };

    coordinator_answer(scene->coordinator, scene->now, number, &choice, &scene->outbox);
    scene_drain(scene);
    play(scene);
}

static void expect_line(struct scene *scene, const char *text)
{
    struct trace_line line;

    while (trace_next(scene->trace, &line))
        if (strstr(line.text, text))
            return;
    fail_msg("no line with \"%s\"", text);
}

static void the_program_chooses_a_region_at_once(void **state)
{
    struct scene *scene = begin(3, 2);
    (void)state;

    asks(scene, 1, "7");
    assert_int_equal(home_of(scene, "7"), 2);
    assert_int_equal(program.last.shard, 7);
    assert_int_equal(program.last.requester, 1);
    assert_int_equal(program.last.tries, 0);
    assert_int_equal(program.last.calm, 1);
    assert_string_equal(program.regions, "n0:2550: n1:2550: n2:2550:");
    program.answer = 0;
    asks(scene, 1, "8");
    asks(scene, 1, "-9");
    assert_string_equal(program.regions, "n0:2550:8 n1:2550: n2:2550:7");
    assert_int_equal(home_of(scene, "-9"), 0);
    assert_int_equal(program.asked, 3);
    scene_free(scene);
}

static void shards_of_one_step_are_seen_by_the_next_request(void **state)
{
    struct scene *scene = begin(2, 1);
    (void)state;

    scene->is_silent[0] = true;
    asks(scene, 0, "1");
    asks(scene, 0, "2");
    play(scene);
    program.answer = 0;
    peer_removed(scene, 1); /* both need another home, in one step */
    assert_int_equal(program.asked, 4);
    assert_string_equal(program.regions, "n0:2550:1");
    assert_int_equal(shards_at(scene, 0), 2);
    scene_free(scene);
}

static void a_later_answer_places_the_shard_SHD202(void **state)
{
    struct scene *scene = begin(3, LATER);
    (void)state;

    asks(scene, 0, "1");
    asks(scene, 1, "1"); /* repeats are not asked again */
    passes(scene, 1000);
    asks(scene, 0, "1");
    assert_int_equal(home_of(scene, "1"), -1);
    assert_int_equal(program.asked, 1);
    answer(scene, program.numbers[0], 2);
    assert_int_equal(home_of(scene, "1"), 2);
    assert_int_equal(sent_count(scene, SHARD_HOME, 0), 1);
    assert_int_equal(sent_count(scene, SHARD_HOME, 1), 1);
    answer(scene, program.numbers[0], 0); /* a second answer has no effect */
    assert_int_equal(home_of(scene, "1"), 2);
    assert_int_equal(counter(scene, answers_late), 1);
    scene_free(scene);
}

static void other_shards_do_not_wait_for_an_answer(void **state)
{
    struct scene *scene = begin(3, LATER);
    (void)state;

    asks(scene, 0, "1");
    program.answer = 1;
    asks(scene, 0, "2");
    assert_int_equal(home_of(scene, "2"), 1);
    assert_int_equal(home_of(scene, "1"), -1);
    forget_sent(scene);
    asks(scene, 2, "2");
    assert_int_equal(sent_count(scene, SHARD_HOME, 2), 1);
    answer(scene, program.numbers[0], -1);
    assert_int_equal(home_of(scene, "1"), 0); /* the emptiest */
    scene_free(scene);
}

static void an_index_that_is_none_is_refused(void **state)
{
    struct scene *scene = begin(3, 3);
    (void)state;

    asks(scene, 0, "1");
    expect_line(scene, "answer of the allocation strategy refused type=T shard=1 answer=\"3\"");
    asks(scene, 0, "1");
    passes(scene, 900);
    assert_int_equal(program.asked, 1);
    program.answer = -7;
    passes(scene, 200);
    assert_int_equal(program.asked, 2);
    assert_int_equal(program.last.tries, 1);
    program.answer = 1;
    passes(scene, 1100);
    assert_int_equal(home_of(scene, "1"), 1);
    assert_int_equal(program.last.tries, 2);
    assert_int_equal(counter(scene, answers_refused), 2);
    program.answer = 3;
    asks(scene, 0, "2");
    assert_int_equal(program.last.tries, 0);
    scene_free(scene);
}

static void an_address_without_a_region_is_refused(void **state)
{
    struct scene *scene = begin(3, LATER);
    (void)state;

    asks(scene, 0, "1");
    answer(scene, program.numbers[0], 8);
    expect_line(scene, "refused type=T shard=1 answer=\"n8:2550\"");
    assert_int_equal(home_of(scene, "1"), -1);
    program.answer = 2;
    passes(scene, 1000);
    assert_int_equal(home_of(scene, "1"), 2);
    scene_free(scene);
}

static void a_region_that_leaves_before_the_answer_is_refused(void **state)
{
    struct scene *scene = begin(3, LATER);
    char ref[80];
    (void)state;

    asks(scene, 0, "1");
    ref_of(ref, sizeof ref, 2, false);
    say(scene, 2, (struct shard_message){ .kind = SHARD_GRACEFUL_SHUTDOWN, .ref = slice_text(ref) });
    answer(scene, program.numbers[0], 2);
    assert_int_equal(home_of(scene, "1"), -1);
    passes(scene, 1000);
    assert_string_equal(program.regions, "n0:2550: n1:2550:");
    scene_free(scene);
}

static void a_request_without_an_answer_is_given_up_and_asked_again(void **state)
{
    struct scene *scene = begin(3, LATER);
    (void)state;

    asks(scene, 0, "1");
    passes(scene, 4999);
    assert_int_equal(counter(scene, requests_late), 0);
    passes(scene, 1);
    expect_line(scene, "allocation strategy has not answered in time, asked again type=T shard=1 tries=1");
    assert_int_equal(counter(scene, requests_late), 1);
    answer(scene, program.numbers[0], 1); /* too late */
    assert_int_equal(home_of(scene, "1"), -1);
    assert_int_equal(counter(scene, answers_late), 1);
    passes(scene, 1000);
    assert_int_equal(program.asked, 2);
    assert_int_equal(program.last.tries, 1);
    answer(scene, program.numbers[0], 1); /* the first number is void */
    assert_int_equal(home_of(scene, "1"), -1);
    answer(scene, program.numbers[1], 1);
    assert_int_equal(home_of(scene, "1"), 1);
    passes(scene, 60000);
    assert_int_equal(counter(scene, requests_late), 1);
    scene_free(scene);
}

static void a_report_of_a_region_ends_the_request(void **state)
{
    struct scene *scene = begin(3, LATER);
    (void)state;

    asks(scene, 0, "1");
    registers_one(scene, 2, "1", (struct fence){ 1, 5 });
    assert_int_equal(home_of(scene, "1"), 2);
    answer(scene, program.numbers[0], 0);
    assert_int_equal(home_of(scene, "1"), 2);
    assert_int_equal(counter(scene, answers_late), 1);
    scene_free(scene);
}

static void a_coordinator_may_end_while_requests_are_open(void **state)
{
    struct scene *scene = begin(1, LATER);
    (void)state;

    asks(scene, 0, "1");
    program.moves = LATER;
    passes(scene, INTERVAL);
    coordinator_stop(scene->coordinator, scene->now, &scene->outbox);
    scene_drain(scene);
    say(scene, 0, (struct shard_message){ .kind = SHARD_REGION_STOPPED,
                                          .ref = slice_text("akka://S@n0:2550" REGION_PATH) });
    answer(scene, program.numbers[0], 0);
    assert_true(has_news(scene, COORDINATOR_NEWS_STOPPED));
    answer(scene, program.numbers[0], 0);
    scene_free(scene);
}

/* Without a region that takes shards, none could be chosen. */
static void the_last_regions_take_shards_without_a_request(void **state)
{
    struct scene *scene = begin(1, 0);
    (void)state;

    say(scene, 0, (struct shard_message){ .kind = SHARD_GRACEFUL_SHUTDOWN,
                                          .ref = slice_text("akka://S@n0:2550" REGION_PATH) });
    asks(scene, 0, "1");
    assert_int_equal(home_of(scene, "1"), 0);
    assert_int_equal(program.asked, 0);
    scene_free(scene);
}

static void more_shards_than_requests_wait_for_their_turn(void **state)
{
    struct scene *scene = begin(2, LATER);
    uint32_t shards = COORDINATOR_REQUESTS_MAX + 10;
    char text[12];
    (void)state;

    for (uint32_t i = 0; i < shards; i++) {
        snprintf(text, sizeof text, "%u", i);
        asks(scene, 0, text);
    }
    assert_int_equal(program.asked, COORDINATOR_REQUESTS_MAX);
    answer(scene, program.numbers[5], 1);
    assert_int_equal(program.asked, COORDINATOR_REQUESTS_MAX + 1);
    /* Given up ones make room for others before they are asked for again. */
    passes(scene, 5000);
    assert_int_equal(program.asked, shards);
    program.answer = 0;
    passes(scene, 1000);
    assert_int_equal(shards_at(scene, 0), COORDINATOR_REQUESTS_MAX);
    scene_free(scene);
}

/* ---- moves ---- */

static struct scene *with_shards(void)
{
    struct scene *scene = begin(3, 0);

    asks(scene, 0, "1");
    asks(scene, 0, "2");
    asks(scene, 0, "3");
    play(scene);
    program.answer = 2;
    return scene;
}

static void the_program_moves_shards(void **state)
{
    struct scene *scene = with_shards();
    (void)state;

    program.moves = 3;
    memcpy(program.shards, (int32_t[]){ 3, 77, 3 }, 3 * sizeof(int32_t));
    passes(scene, INTERVAL);
    assert_string_equal(program.regions, "n0:2550:1,2,3 n1:2550: n2:2550:");
    assert_int_equal(program.last.calm, 1);
    play(scene);
    assert_int_equal(counter(scene, moves), 1);
    assert_int_equal(home_of(scene, "3"), 2);
    program.moves = 4; /* more than there are */
    passes(scene, INTERVAL);
    expect_line(scene, "refused type=T shard= answer=\"4\"");
    assert_int_equal(shards_at(scene, 0), 2);
    scene_free(scene);
}

static void moves_may_be_answered_later(void **state)
{
    struct scene *scene = with_shards();
    struct coordinator_choice choice = { .shards = (int32_t[]){ 2, 2, 500 }, .shard_count = 3 };
    (void)state;

    program.moves = LATER;
    passes(scene, INTERVAL);
    assert_int_equal(program.asked_moves, 1);
    coordinator_answer(scene->coordinator, scene->now, program.last.number, &choice, &scene->outbox);
    scene_drain(scene);
    play(scene);
    assert_int_equal(counter(scene, moves), 1);
    assert_int_equal(home_of(scene, "2"), 2);
    scene_free(scene);
}

static void moves_are_asked_for_once_at_a_time(void **state)
{
    struct scene *scene;
    struct coordinator_settings settings = custom;
    (void)state;

    settings.rebalance_interval_ms = 1000;
    scene = scene_unread_by(&settings, &strategy);
    program = (struct program){ .moves = LATER };
    scene_drain(scene);
    (void)scene_begin(scene, 2);
    for (int i = 0; i < 5; i++)
        passes(scene, 1000);
    assert_int_equal(program.asked_moves, 1);
    passes(scene, 1000);
    passes(scene, 1000);
    expect_line(scene, "allocation strategy has not answered in time type=T shard= ");
    assert_int_equal(program.asked_moves, 2);
    scene_free(scene);
}

static void the_default_moves_shards_as_least_shard(void **state)
{
    struct scene *scene = with_shards();
    (void)state;

    program.moves = SHERD_ALLOCATION_DEFAULT;
    passes(scene, INTERVAL);
    play(scene);
    assert_int_equal(counter(scene, moves), 1);
    program.moves = -5;
    passes(scene, INTERVAL);
    expect_line(scene, "refused type=T shard= answer=\"-5\"");
    scene_free(scene);
}

static void the_program_hears_that_members_are_not_calm(void **state)
{
    struct scene *scene = with_shards();
    char ref[80];
    (void)state;

    peer_is(scene, 2, MEMBER_UP, true, false);
    ref_of(ref, sizeof ref, 1, false);
    scene->is_silent[0] = true;
    say(scene, 1, (struct shard_message){ .kind = SHARD_GRACEFUL_SHUTDOWN, .ref = slice_text(ref) });
    passes(scene, INTERVAL);
    assert_int_equal(program.last.calm, 0);
    assert_string_equal(program.regions, "n0:2550:1,2,3 n1:2550!: n2:2550:");
    scene_free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_program_chooses_a_region_at_once),
        cmocka_unit_test(shards_of_one_step_are_seen_by_the_next_request),
        cmocka_unit_test(a_later_answer_places_the_shard_SHD202),
        cmocka_unit_test(other_shards_do_not_wait_for_an_answer),
        cmocka_unit_test(an_index_that_is_none_is_refused),
        cmocka_unit_test(an_address_without_a_region_is_refused),
        cmocka_unit_test(a_region_that_leaves_before_the_answer_is_refused),
        cmocka_unit_test(a_request_without_an_answer_is_given_up_and_asked_again),
        cmocka_unit_test(a_report_of_a_region_ends_the_request),
        cmocka_unit_test(a_coordinator_may_end_while_requests_are_open),
        cmocka_unit_test(the_last_regions_take_shards_without_a_request),
        cmocka_unit_test(more_shards_than_requests_wait_for_their_turn),
        cmocka_unit_test(the_program_moves_shards),
        cmocka_unit_test(moves_may_be_answered_later),
        cmocka_unit_test(moves_are_asked_for_once_at_a_time),
        cmocka_unit_test(the_default_moves_shards_as_least_shard),
        cmocka_unit_test(the_program_hears_that_members_are_not_calm),
    };

    return cmocka_run_group_tests_name("strategy_requests", tests, NULL, NULL);
}
