/* Tests the rules that a workload checks itself. A behavior between it and the node lies, or the
 * test changes its book. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/timers.h"
#include "sim/world/verdict.h"
#include "sim/workload/workload_inside.h"
#include "sim/workload/workload_world.h"

typedef enum sherd_next lie(struct sherd_ctx *ctx, void *self,
                            const struct sherd_msg *msg);

static const struct sherd_behavior *honest = &workload_entity_persistent;

static uint32_t entity_type = WORKLOAD_COUNTER; /* of the entities */
static struct world *world;
static struct workload_world *load;
static struct workload *workload;

/* One node whose entities receive, and apply, what the test wants. */
static void begin_with(lie *receive, void (*apply)(void *, uint32_t, struct sherd_bytes),
                       bool versions,
                       const char *(*checked)(void *, uint32_t, struct sherd_bytes))
{
    struct world_settings settings = { .seed = 1 };
    struct workload_settings what = { .types = 1u << entity_type,
                                      .ids = 5,
                                      .event_versions = versions };
    struct node_settings node;

    world = world_new(&settings);
    load = workload_world_new(world, &what);
    workload = workload_world_of(load);
    if (receive)
        workload->types[0].behavior.receive = receive;
    if (apply)
        workload->types[0].behavior.apply = apply;
    if (checked)
        workload->types[0].behavior.apply_checked = checked;
    node = world_node_settings(world, 0, workload->types, 1);
    node.probes = true;
    world_start(world, 0, &node);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
}

static void begin(lie *receive, void (*apply)(void *, uint32_t, struct sherd_bytes))
{
    begin_with(receive, apply, false, NULL);
}

static void end(void)
{
    world_free(world);
    workload_world_free(load);
}

static const struct violation *found(const char *invariant)
{
    return verdict_find(world_verdict(world), invariant);
}

static void assert_found(const char *invariant, const char *text)
{
    const struct violation *violation = found(invariant);

    assert_non_null(violation);
    if (!strstr(violation->text, text))
        print_message("%s\n", violation->text);
    assert_non_null(strstr(violation->text, text));
}

static void run_until_found(const char *invariant, const char *text)
{
    for (int i = 0; i < 300 && !found(invariant); i++)
        world_run(world, SECOND);
    assert_found(invariant, text);
    end();
}

static void honest_actors_break_no_rule(void **state)
{
    struct sherd_status status;

    (void)state;
    begin(NULL, NULL);
    world_run(world, 60 * SECOND);
    workload_world_sample(load);
    assert_true(workload_world_drain(load, 60 * SECOND));
    assert_int_equal(verdict_count(world_verdict(world)), 0);
    status = world_status(world, 0);
    assert_true(status.delivered > 1000);
    world_status_fini(&status);
    end();
}

/* ---- events of several versions ---- */

static uint64_t rejections;

/* Hides the rejection of each hundredth event from the library. */
static const char *hidden(void *self, uint32_t type, struct sherd_bytes event)
{
    workload->settings.event_rejections = ++rejections % 100 ? 0 : 1;
    (void)workload_entity_checked.apply_checked(self, type, event);
    workload->settings.event_rejections = 0;
    return NULL;
}

static void begin_versions(const char *(*checked)(void *, uint32_t, struct sherd_bytes))
{
    begin_with(NULL, NULL, true, checked);
}

static void a_message_after_a_rejected_event_is_found(void **state)
{
    (void)state;
    begin_versions(hidden);
    run_until_found("rejected-event", "handles a message after it rejected an event");
}

static void versions_of_events_break_no_rule(void **state)
{
    struct sherd_status status;

    (void)state;
    begin_versions(NULL);
    world_run(world, 60 * SECOND);
    workload_world_sample(load);
    assert_int_equal(verdict_count(world_verdict(world)), 0);
    status = world_status(world, 0);
    assert_true(status.recoveries.done > 0 && status.recoveries.running == 0);
    status.recoveries.done++; /* a place is given twice */
    workload_world_recoveries(load, 0, &status.recoveries, 1);
    assert_found("recovery-limit", "recoveries have started");
    world_status_fini(&status);
    end();
}

/* ---- lies to entities ---- */

static enum sherd_next twice(struct sherd_ctx *ctx, void *self,
                             const struct sherd_msg *msg)
{
    if (msg->kind == SHERD_MESSAGE && msg->msg == WORKLOAD_TELL)
        (void)honest->receive(ctx, self, msg);
    return honest->receive(ctx, self, msg);
}

static void a_message_that_is_given_twice_is_found(void **state)
{
    (void)state;
    begin(twice, NULL);
    run_until_found("at-most-once", "is delivered twice");
}

static enum sherd_next never(struct sherd_ctx *ctx, void *self,
                             const struct sherd_msg *msg)
{
    return msg->kind == SHERD_MESSAGE && msg->msg == WORKLOAD_TELL
               ? SHERD_CONTINUE
               : honest->receive(ctx, self, msg);
}

static void a_message_that_is_not_given_is_found(void **state)
{
    (void)state;
    begin(never, NULL);
    world_run(world, 10 * SECOND);
    assert_false(workload_world_drain(load, 20 * SECOND));
    assert_found("message-accounting", "still open after the drain");
    workload_world_sample(load); /* and the node's counters say otherwise */
    end();
}

/* Each second message waits for the next. */
static enum sherd_next swapped(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    static uint8_t kept[4096];
    static struct sherd_msg waits;
    static void *whose;
    enum sherd_next next;

    if (msg->kind != SHERD_MESSAGE || msg->msg != WORKLOAD_TELL)
        return honest->receive(ctx, self, msg);
    if (!whose && msg->body.size <= sizeof kept) {
        memcpy(kept, msg->body.data, msg->body.size);
        waits = *msg;
        waits.body.data = kept;
        whose = self;
        return SHERD_CONTINUE;
    }
    next = honest->receive(ctx, self, msg);
    if (whose == self) {
        next = honest->receive(ctx, self, &waits);
        whose = NULL;
    }
    return next;
}

static void messages_that_are_given_in_another_order_are_found(void **state)
{
    (void)state;
    begin(swapped, NULL);
    run_until_found("message-order", "which was sent later");
}

static enum sherd_next anothers(struct sherd_ctx *ctx, void *self,
                                const struct sherd_msg *msg)
{
    uint8_t body[4096];
    struct sherd_msg other = *msg;

    if (msg->kind == SHERD_MESSAGE && msg->msg == WORKLOAD_TELL &&
        msg->body.size <= sizeof body) {
        memcpy(body, msg->body.data, msg->body.size);
        body[4] ^= 1; /* the id */
        other.body.data = body;
    }
    return honest->receive(ctx, self, &other);
}

static void a_message_for_another_is_found(void **state)
{
    (void)state;
    begin(anothers, NULL);
    run_until_found("right-receiver", "was given what is for k");
}

/* Changes the byte at that place, or removes `shorter` bytes there. */
static enum sherd_next changed(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg, size_t at,
                               size_t shorter)
{
    uint8_t body[4096];
    struct sherd_msg other = *msg;

    if (msg->kind == SHERD_MESSAGE && msg->body.size > 60 &&
        msg->body.size <= sizeof body) {
        memcpy(body, msg->body.data, msg->body.size);
        memmove(body + at, body + at + shorter, msg->body.size - at - shorter);
        body[at] ^= !shorter;
        other.body.data = body;
        other.body.size -= shorter;
    }
    return honest->receive(ctx, self, &other);
}

static enum sherd_next flipped(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    return changed(ctx, self, msg, 40, 0);
}

static enum sherd_next flipped_at_its_head(struct sherd_ctx *ctx, void *self,
                                           const struct sherd_msg *msg)
{
    return changed(ctx, self, msg, 30, 0);
}

static enum sherd_next cut(struct sherd_ctx *ctx, void *self,
                           const struct sherd_msg *msg)
{
    return changed(ctx, self, msg, 33, 2);
}

static void a_body_that_was_changed_is_found(void **state)
{
    (void)state;
    begin(flipped, NULL);
    run_until_found("body-intact", "has another body than was sent");
    begin(flipped_at_its_head, NULL);
    run_until_found("body-intact", "has another body than was sent");
}

static void a_body_that_was_cut_is_found(void **state)
{
    (void)state;
    begin(cut, NULL);
    run_until_found("body-intact", "has a body of ");
}

static enum sherd_next of_before(struct sherd_ctx *ctx, void *self,
                                 const struct sherd_msg *msg)
{
    struct sherd_msg other = *msg;

    if (msg->kind == SHERD_TIMER)
        other.tag -= 4;
    return honest->receive(ctx, self, &other);
}

static void a_timer_of_an_ended_incarnation_is_found(void **state)
{
    (void)state;
    begin(of_before, NULL);
    run_until_found("same-incarnation", "was given a timer of incarnation");
}

/* The actor's clock cannot lie, so one timer's end is given as another's, or not at all. */
static enum sherd_next of_another(struct sherd_ctx *ctx, void *self,
                                  const struct sherd_msg *msg)
{
    struct sherd_msg other = *msg;

    if (msg->kind == SHERD_TIMER && msg->tag % 4 != 0)
        other.tag = msg->tag / 4 * 4 + 3 - msg->tag % 4;
    return honest->receive(ctx, self, &other);
}

static enum sherd_next not_the_second(struct sherd_ctx *ctx, void *self,
                                      const struct sherd_msg *msg)
{
    return msg->kind == SHERD_TIMER && msg->tag % 4 == 2
               ? SHERD_CONTINUE
               : honest->receive(ctx, self, msg);
}

static enum sherd_next no_timer(struct sherd_ctx *ctx, void *self,
                                const struct sherd_msg *msg)
{
    return msg->kind == SHERD_TIMER ? SHERD_CONTINUE
                                    : honest->receive(ctx, self, msg);
}

static void a_timer_that_comes_too_early_is_found(void **state)
{
    (void)state;
    begin(of_another, NULL);
    run_until_found("timer-on-time", "comes too early");
}

static void a_timer_that_is_passed_by_another_is_found(void **state)
{
    (void)state;
    begin(not_the_second, NULL);
    run_until_found("timer-on-time", "comes before one, or an ask, that runs out earlier");
}

static void a_timer_that_never_comes_is_found(void **state)
{
    (void)state;
    begin(no_timer, NULL);
    world_run(world, 20 * SECOND);
    workload_stop(workload);
    world_run(world, 70 * SECOND);
    (void)workload_world_drain(load, 20 * SECOND);
    assert_found("timer-on-time", "has not come");
    end();
}

static enum sherd_next without_a_word(struct sherd_ctx *ctx, void *self,
                                      const struct sherd_msg *msg)
{
    return msg->kind == SHERD_STOPPING
               ? SHERD_CONTINUE
               : workload_entity_plain.receive(ctx, self, msg);
}

static void an_entity_that_ends_without_notice_is_found(void **state)
{
    (void)state;
    entity_type = WORKLOAD_STREAM;
    begin(without_a_word, NULL);
    run_until_found("stop-notice", "and not told before");
    entity_type = WORKLOAD_COUNTER;
}

static enum sherd_next unasked(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    if (msg->kind == SHERD_NO_ANSWER || msg->kind == SHERD_ANSWER)
        (void)honest->receive(ctx, self, msg);
    return honest->receive(ctx, self, msg);
}

static void an_answer_to_nothing_is_found(void **state)
{
    (void)state;
    begin(unasked, NULL);
    run_until_found("same-incarnation", "hears of an ask of");
}

static enum sherd_next deaf(struct sherd_ctx *ctx, void *self,
                            const struct sherd_msg *msg)
{
    return msg->kind == SHERD_JOB ? SHERD_CONTINUE
                                  : honest->receive(ctx, self, msg);
}

static void a_job_with_an_unheard_end_is_found(void **state)
{
    (void)state;
    begin(deaf, NULL);
    run_until_found("job-runs-once", "has not heard of 1 jobs that are over");
}

/* ---- lies about events ---- */

static void forgets(void *self, uint32_t type, struct sherd_bytes event)
{
    (void)self;
    (void)type;
    (void)event;
}

static void an_event_that_is_not_applied_is_found(void **state)
{
    (void)state;
    begin(NULL, forgets);
    run_until_found("faithful-replay", "recovered with 0 events applied");
}

static void rubbish(void *self, uint32_t type, struct sherd_bytes event)
{
    event.size = 0;
    honest->apply(self, type, event);
}

static void an_event_that_is_given_without_its_bytes_is_found(void **state)
{
    (void)state;
    begin(NULL, rubbish);
    run_until_found("faithful-replay", "was given other events than its replay had");
}

static void (*truth)(void *user, uint32_t node, const char *type,
                     const char *id, uint64_t events, uint64_t snapshot, uint64_t hash);

static void one_less(void *user, uint32_t node, const char *type,
                     const char *id, uint64_t events, uint64_t snapshot, uint64_t hash)
{
    truth(user, node, type, id, events ? events - 1 : 0, snapshot, hash);
}

static void an_event_that_a_recovery_leaves_out_is_found(void **state)
{
    (void)state;
    begin(NULL, NULL);
    truth = workload->hooks.recovered;
    workload->hooks.recovered = one_less;
    run_until_found("no-lost-ack", ", its replay had ");
}

/* ---- a wrong book ---- */

static enum sherd_next not_to_ask(struct sherd_ctx *ctx, void *self,
                                  const struct sherd_msg *msg)
{
    return msg->kind == SHERD_MESSAGE && msg->msg == WORKLOAD_ECHO
               ? SHERD_CONTINUE
               : honest->receive(ctx, self, msg);
}

static struct client *client_with_ask(struct open_ask **ask)
{
    for (int turn = 0; turn < 100000; turn++) {
        for (uint32_t i = 0; i < workload->clients.count; i++)
            for (uint32_t j = 0; j < OPEN_ASKS_MAX; j++)
                if (workload->clients.items[i]->asks[j].is_open) {
                    *ask = &workload->clients.items[i]->asks[j];
                    return workload->clients.items[i];
                }
        world_run(world, MS / 10);
    }
    fail();
    return NULL;
}

static void an_ask_that_ends_twice_is_found(void **state)
{
    struct open_ask *ask;

    (void)state;
    begin(NULL, NULL);
    client_with_ask(&ask)->open--;
    ask->is_open = false; /* as if it had ended already */
    run_until_found("ask-ends-once", "that is not open has ended");
}

static struct open_ask *open_another(struct client *client,
                                     const struct open_ask *ask)
{
    struct open_ask *other =
        &client->asks[(ask->tag + OPEN_ASKS_MAX / 2) % OPEN_ASKS_MAX];

    client->open++;
    other->is_open = true;
    return other;
}

static void an_ask_that_outlives_its_time_out_is_found(void **state)
{
    struct client *client;
    struct open_ask *ask;

    (void)state;
    begin(NULL, NULL);
    client = client_with_ask(&ask);
    ask = open_another(client, ask);
    client->first_due = ask->due = 1;
    run_until_found("ask-ends-once", " ms after its time-out");
}

static void an_ask_that_runs_out_too_early_is_found(void **state)
{
    (void)state;
    begin(not_to_ask, NULL);
    for (int turn = 0; turn < 100 && !found("ask-ends-once"); turn++) {
        struct open_ask *ask;

        (void)client_with_ask(&ask);
        ask->due += 3600000;
        world_run(world, SECOND);
    }
    run_until_found("ask-ends-once", " ms too early");
}

static void a_clients_timer_that_comes_too_early_is_found(void **state)
{
    struct open_ask *ask;

    (void)state;
    begin(NULL, NULL);
    client_with_ask(&ask)->round_due += 1000;
    run_until_found("timer-on-time", "a client's timer comes ");
}

static void an_ask_that_never_ends_is_found(void **state)
{
    struct client *client;
    struct open_ask *ask;

    (void)state;
    begin(NULL, NULL);
    client = client_with_ask(&ask);
    ask = open_another(client, ask);
    ask->due = UINT64_MAX / 2;
    assert_false(workload_world_drain(load, 30 * SECOND));
    assert_found("ask-ends-once", "has not ended");
    end();
}

static struct client *client_with_watch(void)
{
    for (int turn = 0; turn < 100; turn++) {
        for (uint32_t i = 0; i < workload->clients.count; i++)
            if (workload->clients.items[i]->watches.count)
                return workload->clients.items[i];
        world_run(world, 100 * MS);
    }
    fail();
    return NULL;
}

static void the_end_of_an_actor_that_is_not_watched_is_found(void **state)
{
    (void)state;
    begin(NULL, NULL);
    client_with_watch()->watches.count = 0; /* as if all had got their notices */
    run_until_found("watch-ends-once", "which is not watched");
}

static bool names_nobody;

static enum sherd_next unnamed(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    return names_nobody && msg->kind == SHERD_MESSAGE &&
                   msg->msg == WORKLOAD_WATCH
               ? SHERD_CONTINUE
               : honest->receive(ctx, self, msg);
}

static void the_end_of_an_actor_that_lives_is_found(void **state)
{
    struct sherd_ref ref;

    (void)state;
    begin(unnamed, NULL);
    (void)client_with_watch();
    names_nobody = true;
    world_run(world, SECOND);
    ref = client_with_watch()->watches.items[0];
    mem_free(map_take(&workload->watched,
                      slice_of(&ref, sizeof ref))); /* its end is not in the book */
    run_until_found("watch-ends-once", ", which lives, was told");
    names_nobody = false;
}

static void a_missing_undelivered_notice_is_found(void **state)
{
    (void)state;
    begin(NULL, NULL);
    world_run(world, 10 * SECOND);
    workload->places.items[0]->ended_here++;
    (void)workload_world_drain(load, 30 * SECOND);
    assert_found("undelivered-notice", "1 tells ended undelivered, their senders were notified of 0");
    end();
}

static void a_watcher_without_its_notice_is_found(void **state)
{
    struct sherd_ref nobody = { 77, 78 };

    (void)state;
    begin(NULL, NULL);
    vec_push(&client_with_watch()->watches, nobody);
    watched_begin(workload, nobody); /* it has ended */
    assert_false(workload_world_drain(load, 30 * SECOND));
    assert_found("watch-ends-once", "its watcher was not told");
    end();
}

/* ---- buffers ---- */

static void a_buffer_over_its_limit_is_found(void **state)
{
    struct sherd_type_status type = { .name = "counter", .waiting = 11 };
    struct sherd_status status = { .types = &type, .type_count = 1 };

    (void)state;
    begin(NULL, NULL);
    workload_status(workload, 7, &status, 11, 2);
    workload_status(workload, 7, &status, 1, 11); /* each lane has one */
    assert_null(found("bounded-buffers"));
    workload_status(workload, 7, &status, 10, 2);
    assert_found("bounded-buffers", "11 messages wait in the region of counter, at most 10");
    end();
}

static void a_buffer_that_was_over_its_limit_is_found(void **state)
{
    struct sherd_status status = { .held_max = 11 };

    (void)state;
    begin(NULL, NULL);
    workload_status(workload, 7, &status, 11, 2);
    workload_status(workload, 7, &status, 1, 11);
    assert_null(found("bounded-buffers"));
    workload_status(workload, 7, &status, 10, 2);
    assert_found("bounded-buffers", "11 messages have waited in a region, at most 10");
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(honest_actors_break_no_rule),
        cmocka_unit_test(a_message_after_a_rejected_event_is_found),
        cmocka_unit_test(versions_of_events_break_no_rule),
        cmocka_unit_test(a_message_that_is_given_twice_is_found),
        cmocka_unit_test(a_message_that_is_not_given_is_found),
        cmocka_unit_test(messages_that_are_given_in_another_order_are_found),
        cmocka_unit_test(a_message_for_another_is_found),
        cmocka_unit_test(a_body_that_was_changed_is_found),
        cmocka_unit_test(a_body_that_was_cut_is_found),
        cmocka_unit_test(a_timer_of_an_ended_incarnation_is_found),
        cmocka_unit_test(a_timer_that_comes_too_early_is_found),
        cmocka_unit_test(a_timer_that_is_passed_by_another_is_found),
        cmocka_unit_test(a_timer_that_never_comes_is_found),
        cmocka_unit_test(an_entity_that_ends_without_notice_is_found),
        cmocka_unit_test(an_answer_to_nothing_is_found),
        cmocka_unit_test(a_job_with_an_unheard_end_is_found),
        cmocka_unit_test(an_event_that_is_not_applied_is_found),
        cmocka_unit_test(an_event_that_is_given_without_its_bytes_is_found),
        cmocka_unit_test(an_event_that_a_recovery_leaves_out_is_found),
        cmocka_unit_test(an_ask_that_ends_twice_is_found),
        cmocka_unit_test(an_ask_that_outlives_its_time_out_is_found),
        cmocka_unit_test(an_ask_that_runs_out_too_early_is_found),
        cmocka_unit_test(a_clients_timer_that_comes_too_early_is_found),
        cmocka_unit_test(an_ask_that_never_ends_is_found),
        cmocka_unit_test(the_end_of_an_actor_that_is_not_watched_is_found),
        cmocka_unit_test(the_end_of_an_actor_that_lives_is_found),
        cmocka_unit_test(a_missing_undelivered_notice_is_found),
        cmocka_unit_test(a_watcher_without_its_notice_is_found),
        cmocka_unit_test(a_buffer_over_its_limit_is_found),
        cmocka_unit_test(a_buffer_that_was_over_its_limit_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
