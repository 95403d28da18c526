/* Tests the public simulator by its header, and uses its inside only to break rules that users
 * cannot break. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sherd/sim.h>

#include "base/check.h"
#include "sim/face/face.h"

enum { ADD = 1, TOTAL, SILENCE };

static const struct sherd_bytes nothing;

/* ---- entities ---- */

/* An account that answers after its event is stored. */
static void account_apply(void *self, uint32_t type, struct sherd_bytes event)
{
    (void)event;
    *(uint64_t *)self += type == ADD;
}

static enum sherd_next account_receive(struct sherd_ctx *ctx, void *self,
                                       const struct sherd_msg *msg)
{
    if (msg->kind != SHERD_MESSAGE || msg->msg == SILENCE)
        return SHERD_CONTINUE;
    if (msg->msg == ADD)
        sherd_persist(ctx, ADD, nothing);
    sherd_reply(ctx, TOTAL, (struct sherd_bytes){ self, sizeof(uint64_t) });
    return SHERD_CONTINUE;
}

/* The planted bug: every fourth change happens outside of apply and is not stored. */
static enum sherd_next forgetful_receive(struct sherd_ctx *ctx, void *self,
                                         const struct sherd_msg *msg)
{
    uint64_t *total = self;

    if (msg->kind != SHERD_MESSAGE || msg->msg != ADD || (*total + 1) % 4)
        return account_receive(ctx, self, msg);
    ++*total;
    sherd_reply(ctx, TOTAL, (struct sherd_bytes){ self, sizeof(uint64_t) });
    return SHERD_CONTINUE;
}

static const struct sherd_entity_type account = {
    .name = "Account",
    .behavior = { .name = "account",
                  .state_size = sizeof(uint64_t),
                  .receive = account_receive,
                  .apply = account_apply },
};

static struct sherd_entity_type forgetful_type(void)
{
    struct sherd_entity_type type = account;

    type.behavior.receive = forgetful_receive;
    return type;
}

/* ---- helpers ---- */

static struct sherd_sim *opened(uint64_t seed, uint32_t faults)
{
    const struct sherd_sim_options options = {
        .seed = seed, .types = &account, .type_count = 1, .faults = faults
    };
    struct sherd_sim *sim;

    assert_int_equal(sherd_sim_open(&sim, &options), 0);
    return sim;
}

static int ask(struct sherd_sim *sim, uint32_t node, uint32_t msg,
               struct sherd_sim_answer *answer)
{
    return sherd_sim_entity_ask(sim, node, "Account", "a", msg, nothing, 5000,
                                answer);
}

/* Returns the total of the account "a", which must answer. */
static uint64_t total(struct sherd_sim *sim, uint32_t node, uint32_t msg)
{
    struct sherd_sim_answer answer;
    uint64_t result;

    assert_int_equal(ask(sim, node, msg, &answer), 0);
    assert_int_equal(answer.reason, SHERD_REASON_NONE);
    assert_int_equal(answer.msg, TOTAL);
    assert_int_equal(answer.body.size, sizeof result);
    memcpy(&result, answer.body.data, sizeof result);
    return result;
}

/* Returns the uid of `which` among the members of `by` if it is reachable, else 0. */
static uint64_t seen(struct sherd_sim *sim, uint32_t by, uint32_t which)
{
    struct sherd_status status;
    char address[32];
    uint64_t uid = 0;

    (void)snprintf(address, sizeof address, "n%u:2551", which);
    assert_int_equal(sherd_sim_status(sim, by, &status), 0);
    for (uint32_t i = 0; i < status.member_count; i++)
        if (!strcmp(status.members[i].address, address) &&
            status.members[i].reachable && status.members[i].status == SHERD_UP)
            uid = status.members[i].uid;
    sherd_status_free(&status);
    return uid;
}

static uint32_t member_count(struct sherd_sim *sim, uint32_t by)
{
    struct sherd_status status;
    uint32_t count;

    assert_int_equal(sherd_sim_status(sim, by, &status), 0);
    count = status.member_count;
    sherd_status_free(&status);
    return count;
}

/* Returns the node where the account runs; SHERD_SIM_NODES_MAX if none. */
static uint32_t home(struct sherd_sim *sim)
{
    for (uint32_t i = 0; i < 3; i++) {
        struct sherd_status status;
        uint64_t here;

        if (sherd_sim_status(sim, i, &status))
            continue;
        here = status.types[0].entities_here;
        sherd_status_free(&status);
        if (here)
            return i;
    }
    return SHERD_SIM_NODES_MAX;
}

static uint64_t delivered(struct sherd_sim *sim, uint32_t node)
{
    struct sherd_status status;
    uint64_t count;

    assert_int_equal(sherd_sim_status(sim, node, &status), 0);
    count = status.delivered;
    sherd_status_free(&status);
    return count;
}

/* ---- errors ---- */

static int error_of_open(const struct sherd_sim_options *options)
{
    struct sherd_sim *sim = (struct sherd_sim *)options; /* anything */
    int error = sherd_sim_open(&sim, options);

    assert_true(error ? !sim : !!sim);
    sherd_sim_close(sim);
    return error;
}

static void options_that_are_wrong_are_refused(void **state)
{
    struct sherd_sim_options options = { .nodes = SHERD_SIM_NODES_MAX + 1 };
    struct sherd_sim *sim;
    uint64_t before = mem_live();

    (void)state;
    assert_int_equal(error_of_open(&options), SHERD_EINVAL);
    options = (struct sherd_sim_options){ .lanes = 65 };
    assert_int_equal(error_of_open(&options), SHERD_EINVAL);
    options = (struct sherd_sim_options){ .faults = SHERD_SIM_ALL + 1 };
    assert_int_equal(error_of_open(&options), SHERD_EINVAL);
    options = (struct sherd_sim_options){ .shards = 20001 };
    assert_int_equal(error_of_open(&options), SHERD_EINVAL);
    options = (struct sherd_sim_options){ .type_count = 1 };
    assert_int_equal(error_of_open(&options), SHERD_EINVAL);
    assert_int_equal(error_of_open(NULL), SHERD_EINVAL);
    assert_int_equal(sherd_sim_open(NULL, &options), SHERD_EINVAL);
    sim = opened(1, 0);
    sherd_sim_close(sim);
    sherd_sim_close(NULL);
    assert_int_equal(mem_live(), before);
}

static void types_that_are_wrong_are_refused(void **state)
{
    char name[SHERD_TYPE_MAX + 2];
    struct sherd_entity_type types[2] = { account, account };
    struct sherd_sim_options options = { .types = types, .type_count = 1 };

    (void)state;
    types[0].name = NULL;
    assert_int_equal(error_of_open(&options), SHERD_EINVAL);
    types[0].name = "";
    assert_int_equal(error_of_open(&options), SHERD_EINVAL);
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    types[0].name = name;
    assert_int_equal(error_of_open(&options), SHERD_EINVAL);
    types[0] = account;
    types[0].behavior.receive = NULL;
    assert_int_equal(error_of_open(&options), SHERD_EINVAL);
    types[0] = account;
    types[0].shards = 20001;
    assert_int_equal(error_of_open(&options), SHERD_EINVAL);
    types[0] = account;
    types[0].name = "Account|Savings";
    assert_int_equal(error_of_open(&options), SHERD_EINVAL);
    types[0] = account;
    options.type_count = 2;
    assert_int_equal(error_of_open(&options), SHERD_EEXIST);
    types[1].name = "AccountProxy";
    assert_int_equal(error_of_open(&options), SHERD_EEXIST);
    types[1].name = "Other";
    assert_int_equal(error_of_open(&options), 0);
}

static void bad_nodes_are_refused_by_every_verb(void **state)
{
    struct sherd_sim *sim = opened(2, 0);
    struct sherd_sim_answer answer;
    struct sherd_status status;

    (void)state;
    assert_int_equal(ask(sim, 3, ADD, &answer), SHERD_EINVAL);
    assert_int_not_equal(answer.reason, SHERD_REASON_NONE);
    assert_int_equal(
        sherd_sim_entity_tell(sim, 3, "Account", "a", ADD, nothing),
        SHERD_EINVAL);
    assert_int_equal(sherd_sim_spawn(sim, 3, &account.behavior, nothing, NULL),
                     SHERD_EINVAL);
    assert_int_equal(sherd_sim_crash(sim, 3), SHERD_EINVAL);
    assert_int_equal(sherd_sim_start(sim, 3), SHERD_EINVAL);
    assert_int_equal(sherd_sim_pause(sim, 3, 1), SHERD_EINVAL);
    assert_int_equal(sherd_sim_cut(sim, 0, 3, 1), SHERD_EINVAL);
    assert_int_equal(sherd_sim_cut(sim, 3, 0, 1), SHERD_EINVAL);
    assert_int_equal(sherd_sim_cut(sim, 1, 1, 1), SHERD_EINVAL);
    assert_int_equal(sherd_sim_leave(sim, 3), SHERD_EINVAL);
    assert_int_equal(sherd_sim_leave_member(sim, 3, 0), SHERD_EINVAL);
    assert_int_equal(sherd_sim_leave_member(sim, 0, 3), SHERD_EINVAL);
    assert_int_equal(sherd_sim_down(sim, 3, 0), SHERD_EINVAL);
    assert_int_equal(sherd_sim_down(sim, 0, 3), SHERD_EINVAL);
    assert_int_equal(sherd_sim_status(sim, 3, &status), SHERD_EINVAL);
    assert_int_equal(status.member_count, 0);
    assert_int_equal(sherd_sim_alive(sim, 3), 0);
    assert_int_equal(sherd_sim_alive(sim, UINT32_MAX), 0);
    sherd_sim_close(sim);
}

static void bad_messages_are_refused(void **state)
{
    static char id[SHERD_ID_MAX + 2];
    static char body[SHERD_BODY_MAX + 1];
    const struct sherd_bytes large = { body, sizeof body };
    const struct sherd_behavior none = { .name = "none" };
    struct sherd_sim *sim = opened(3, 0);
    struct sherd_sim_answer answer;
    const struct {
        const char *type, *id;
        struct sherd_bytes body;
    } wrong[] = {
        { "Nobody", "a", nothing }, { NULL, "a", nothing },
        { "Account", "", nothing }, { "Account", NULL, nothing },
        { "Account", id, nothing }, { "Account", "a", large },
    };

    (void)state;
    memset(id, 'i', sizeof id - 1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        answer.reason = SHERD_REASON_NONE;
        assert_int_equal(sherd_sim_entity_ask(sim, 0, wrong[i].type,
                                              wrong[i].id, ADD, wrong[i].body,
                                              1000, &answer),
                         SHERD_EINVAL);
        assert_int_not_equal(answer.reason, SHERD_REASON_NONE);
        assert_int_equal(sherd_sim_entity_tell(sim, 0, wrong[i].type,
                                               wrong[i].id, ADD,
                                               wrong[i].body),
                         SHERD_EINVAL);
    }
    id[SHERD_ID_MAX] = 0; /* the longest */
    assert_int_equal(sherd_sim_entity_tell(sim, 0, "Account", id, ADD, nothing),
                     0);
    assert_int_equal(sherd_sim_entity_ask(sim, 0, "Account", "a", ADD, nothing,
                                          0, &answer),
                     SHERD_EINVAL);
    assert_int_equal(sherd_sim_entity_ask(sim, 0, "Account", "a", ADD, nothing,
                                          3600001, &answer),
                     SHERD_EINVAL);
    assert_int_equal(sherd_sim_spawn(sim, 0, NULL, nothing, NULL), SHERD_EINVAL);
    assert_int_equal(sherd_sim_spawn(sim, 0, &none, nothing, NULL), SHERD_EINVAL);
    assert_int_equal(sherd_sim_spawn(sim, 0, &account.behavior, large, NULL),
                     SHERD_EINVAL);
    sherd_sim_close(sim);
}

static void dead_nodes_refuse_commands(void **state)
{
    struct sherd_sim *sim = opened(4, 0);
    struct sherd_sim_answer answer;
    struct sherd_status status;

    (void)state;
    assert_int_equal(sherd_sim_start(sim, 2), SHERD_ESTATE); /* it runs */
    assert_int_equal(sherd_sim_crash(sim, 2), 0);
    assert_int_equal(sherd_sim_alive(sim, 2), 0);
    assert_int_equal(sherd_sim_crash(sim, 2), SHERD_ESTATE);
    assert_int_equal(sherd_sim_pause(sim, 2, 1), SHERD_ESTATE);
    assert_int_equal(sherd_sim_leave(sim, 2), SHERD_ESTATE);
    assert_int_equal(sherd_sim_leave_member(sim, 2, 0), SHERD_ESTATE);
    assert_int_equal(sherd_sim_down(sim, 2, 0), SHERD_ESTATE);
    assert_int_equal(ask(sim, 2, ADD, &answer), SHERD_ESTATE);
    assert_int_not_equal(answer.reason, SHERD_REASON_NONE);
    assert_int_equal(
        sherd_sim_entity_tell(sim, 2, "Account", "a", ADD, nothing),
        SHERD_ESTATE);
    assert_int_equal(sherd_sim_spawn(sim, 2, &account.behavior, nothing, NULL),
                     SHERD_ESTATE);
    assert_int_equal(sherd_sim_status(sim, 2, &status), SHERD_ESTATE);
    assert_int_equal(sherd_sim_cut(sim, 0, 2, 1), 0); /* a cut needs no running node */
    assert_int_equal(sherd_sim_heal(sim, 600000), 0);
    assert_int_equal(sherd_sim_alive(sim, 2), 1);
    sherd_sim_close(sim);
}

/* ---- asks ---- */

static void an_ask_ends_with_an_answer_or_a_reason_SHT027(void **state)
{
    struct sherd_sim *sim = opened(5, 0);
    struct sherd_sim_answer answer;
    uint64_t before;

    (void)state;
    assert_int_equal(total(sim, 0, ADD), 1);
    assert_int_equal(total(sim, 1, ADD), 2);
    assert_int_equal(total(sim, 2, TOTAL), 2);
    before = sherd_sim_now(sim);
    assert_int_equal(ask(sim, (home(sim) + 1) % 3, SILENCE, &answer), 0);
    assert_int_equal(answer.reason, SHERD_REASON_TIMEOUT);
    assert_int_equal(answer.stage, SHERD_STAGE_SENT); /* as far as is known there */
    assert_int_equal(answer.body.size, 0);
    assert_in_range(sherd_sim_now(sim) - before, 5000, 5100);
    /* A late answer to one ask is not the answer to the next. */
    assert_int_equal(total(sim, 0, TOTAL), 2);
    assert_null(sherd_sim_violation(sim));
    sherd_sim_close(sim);
}

static void an_ask_from_a_paused_node_times_out(void **state)
{
    struct sherd_sim *sim = opened(6, 0);
    struct sherd_sim_answer answer;

    (void)state;
    assert_int_equal(sherd_sim_pause(sim, 1, 1), 0);
    assert_int_equal(ask(sim, 1, ADD, &answer), 0);
    assert_int_equal(answer.reason, SHERD_REASON_TIMEOUT);
    assert_int_equal(sherd_sim_pause(sim, 1, 0), 0);
    sherd_sim_run(sim, 1000);
    assert_int_equal(total(sim, 0, TOTAL), 1); /* it was only late */
    sherd_sim_close(sim);
}

static void an_ask_ends_when_its_node_leaves(void **state)
{
    struct sherd_sim *sim = opened(7, 0);
    struct sherd_sim_answer answer;
    uint64_t before;

    (void)state;
    assert_int_equal(sherd_sim_leave(sim, 1), 0);
    before = sherd_sim_now(sim);
    assert_int_equal(sherd_sim_entity_ask(sim, 1, "Account", "a", SILENCE,
                                          nothing, 600000, &answer),
                     0);
    assert_true(answer.reason == SHERD_REASON_SHUTTING_DOWN ||
                answer.reason == SHERD_REASON_NODE_GONE);
    assert_true(sherd_sim_now(sim) - before < 300000);
    sherd_sim_close(sim);
}

/* ---- faults ---- */

static void a_crashed_node_restarts_as_another_incarnation(void **state)
{
    struct sherd_sim *sim = opened(8, 0);
    uint64_t first;
    uint32_t other, node;

    (void)state;
    assert_int_equal(total(sim, 0, ADD), 1);
    node = home(sim);
    assert_true(node < 3);
    other = (node + 1) % 3;
    first = seen(sim, other, node);
    assert_true(first != 0);
    assert_int_equal(sherd_sim_crash(sim, node), 0);
    sherd_sim_run(sim, 30000);
    assert_int_equal(seen(sim, other, node), 0);
    assert_int_equal(sherd_sim_start(sim, node), 0);
    assert_int_equal(sherd_sim_start(sim, node), SHERD_ESTATE);
    sherd_sim_run(sim, 60000);
    assert_true(seen(sim, other, node) != 0);
    assert_true(seen(sim, other, node) != first); /* another incarnation */
    assert_int_equal(total(sim, other, ADD), 2);
    assert_null(sherd_sim_violation(sim));
    sherd_sim_close(sim);
}

static void a_paused_node_is_unreachable_until_it_resumes(void **state)
{
    struct sherd_sim *sim = opened(9, 0);

    (void)state;
    assert_int_equal(sherd_sim_pause(sim, 2, 1), 0);
    sherd_sim_run(sim, 30000);
    assert_int_equal(sherd_sim_alive(sim, 2), 1);
    assert_int_equal(seen(sim, 0, 2), 0);
    assert_int_equal(member_count(sim, 0), 3);
    assert_int_equal(sherd_sim_pause(sim, 2, 0), 0);
    sherd_sim_run(sim, 30000);
    assert_true(seen(sim, 0, 2) != 0);
    sherd_sim_close(sim);
}

static void a_cut_is_one_way_and_delivers_late(void **state)
{
    struct sherd_sim *sim = opened(10, 0);
    uint32_t from, node;
    uint64_t before;

    (void)state;
    assert_int_equal(total(sim, 0, ADD), 1);
    node = home(sim);
    from = (node + 1) % 3;
    /* Its lane knows the route. */
    assert_int_equal(
        sherd_sim_entity_tell(sim, from, "Account", "a", TOTAL, nothing), 0);
    sherd_sim_run(sim, 1000);
    before = delivered(sim, node);
    assert_int_equal(sherd_sim_cut(sim, from, node, 1), 0);
    assert_int_equal(
        sherd_sim_entity_tell(sim, from, "Account", "a", ADD, nothing), 0);
    sherd_sim_run(sim, 1000);
    assert_int_equal(delivered(sim, node), before);
    assert_int_equal(sherd_sim_cut(sim, from, node, 0), 0);
    assert_int_equal(sherd_sim_cut(sim, node, from, 1), 0);
    sherd_sim_run(sim, 1000);
    assert_int_equal(delivered(sim, node), before + 1);
    assert_int_equal(
        sherd_sim_entity_tell(sim, from, "Account", "a", ADD, nothing), 0);
    sherd_sim_run(sim, 1000);
    assert_int_equal(delivered(sim, node), before + 2);
    sherd_sim_run(sim, 30000);
    assert_int_equal(seen(sim, from, node), 0); /* it hears nothing */
    assert_int_equal(sherd_sim_heal(sim, 600000), 0);
    assert_true(seen(sim, from, node) != 0);
    assert_int_equal(total(sim, from, TOTAL), 3);
    sherd_sim_close(sim);
}

static void a_node_that_left_can_start_again(void **state)
{
    struct sherd_sim *sim = opened(11, 0);

    (void)state;
    assert_int_equal(total(sim, 0, ADD), 1);
    assert_int_equal(sherd_sim_leave(sim, 1), 0);
    sherd_sim_run(sim, 60000);
    assert_int_equal(sherd_sim_alive(sim, 1), 0);
    assert_int_equal(member_count(sim, 0), 2);
    assert_int_equal(total(sim, 2, ADD), 2);
    assert_int_equal(sherd_sim_start(sim, 1), 0);
    sherd_sim_run(sim, 60000);
    assert_int_equal(member_count(sim, 0), 3);
    assert_int_equal(total(sim, 1, ADD), 3);
    assert_null(sherd_sim_violation(sim));
    sherd_sim_close(sim);
}

static void a_downed_node_ends(void **state)
{
    struct sherd_sim *sim = opened(12, 0);

    (void)state;
    assert_int_equal(sherd_sim_down(sim, 0, 2), 0);
    sherd_sim_run(sim, 60000);
    assert_int_equal(sherd_sim_alive(sim, 2), 0);
    assert_int_equal(member_count(sim, 0), 2);
    assert_int_equal(member_count(sim, 1), 2);
    assert_int_equal(total(sim, 1, ADD), 1);
    assert_null(sherd_sim_violation(sim));
    sherd_sim_close(sim);
}

/* Also a member that gets the command late, and an address without a node. */
static void a_member_leaves_at_the_command_of_another(void **state)
{
    struct sherd_sim *sim = opened(12, 0);

    (void)state;
    assert_int_equal(sherd_sim_crash(sim, 2), 0);
    assert_int_equal(sherd_sim_leave_member(sim, 0, 2), 0);
    assert_int_equal(sherd_sim_heal(sim, 600000), 0);
    assert_int_equal(sherd_sim_pause(sim, 1, 1), 0);
    assert_int_equal(sherd_sim_leave_member(sim, 0, 1), 0);
    sherd_sim_run(sim, 1000);
    assert_int_equal(sherd_sim_alive(sim, 1), 1);
    assert_int_equal(sherd_sim_pause(sim, 1, 0), 0);
    sherd_sim_run(sim, 60000);
    assert_int_equal(sherd_sim_alive(sim, 1), 0);
    assert_int_equal(member_count(sim, 0), 2);
    assert_int_equal(total(sim, 0, ADD), 1);
    assert_int_equal(sherd_sim_leave_member(sim, 2, 2), 0);
    sherd_sim_run(sim, 60000);
    assert_int_equal(sherd_sim_alive(sim, 2), 0);
    assert_int_equal(member_count(sim, 0), 1);
    assert_null(sherd_sim_violation(sim));
    sherd_sim_close(sim);
}

static void healing_ends_every_fault_or_returns_an_error(void **state)
{
    struct sherd_sim *sim = opened(13, SHERD_SIM_ALL);

    (void)state;
    sherd_sim_run(sim, 120000);
    if (sherd_sim_alive(sim, 0))
        assert_int_equal(sherd_sim_crash(sim, 0), 0);
    if (sherd_sim_alive(sim, 1))
        assert_int_equal(sherd_sim_pause(sim, 1, 1), 0);
    assert_int_equal(sherd_sim_cut(sim, 1, 2, 1), 0);
    assert_int_equal(sherd_sim_heal(sim, 1), SHERD_ETIME);
    assert_int_equal(sherd_sim_heal(sim, 600000), 0);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(member_count(sim, i), 3);
        for (uint32_t j = 0; j < 3; j++)
            assert_true(seen(sim, i, j) != 0);
    }
    sherd_sim_run(sim, 600000); /* and none starts again */
    for (uint32_t i = 0; i < 3; i++)
        assert_true(seen(sim, i, (i + 1) % 3) != 0);
    assert_null(sherd_sim_violation(sim));
    sherd_sim_close(sim);
}

static void healing_accepts_any_time_limit(void **state)
{
    struct sherd_sim *sim = opened(13, SHERD_SIM_ALL);

    (void)state;
    sherd_sim_run(sim, 60000);
    assert_int_equal(sherd_sim_heal(sim, UINT64_MAX), 0);
    sherd_sim_close(sim);
}

/* As the header describes disks. */
static void disks_stall_fail_fill_up_and_lose_power(void **state)
{
    struct sherd_sim *sim = opened(14, SHERD_SIM_DISK);
    bool met[FAULT_VERBS] = { false };

    (void)state;
    for (uint32_t i = 0; i < sim->schedule.faults.count; i++)
        met[sim->schedule.faults.items[i].verb] = true;
    assert_true(met[FAULT_VERB_DISK_STALL]);
    assert_true(met[FAULT_VERB_DISK_ERROR]);
    assert_true(met[FAULT_VERB_DISK_FULL]);
    assert_true(met[FAULT_VERB_DISK_SYNC]);
    assert_true(met[FAULT_VERB_POWER]);
    assert_false(met[FAULT_VERB_PAUSE]);
    sherd_sim_close(sim);
}

/* ---- actors, status, closing ---- */

static enum sherd_next teller_receive(struct sherd_ctx *ctx, void *self,
                                      const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind != SHERD_STARTED)
        return SHERD_CONTINUE;
    for (size_t i = 0; i < msg->body.size; i++)
        sherd_entity_tell(ctx, "Account", "a", ADD, nothing);
    return SHERD_STOP;
}

static void actors_start_with_their_initial_argument(void **state)
{
    static const struct sherd_behavior teller = { .name = "teller",
                                                  .receive = teller_receive };
    struct sherd_sim *sim = opened(14, 0);

    (void)state;
    assert_int_equal(
        sherd_sim_spawn(sim, 1, &teller, (struct sherd_bytes){ "seven..", 7 }, NULL),
        0);
    sherd_sim_run(sim, 5000);
    assert_int_equal(total(sim, 0, TOTAL), 7);
    sherd_sim_close(sim);
}

static enum sherd_next asker_receive(struct sherd_ctx *ctx, void *self,
                                     const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_STARTED)
        sherd_entity_ask(ctx, "Account", "a", SILENCE, nothing, 1, 600000);
    return SHERD_CONTINUE;
}

static void a_simulation_closes_with_open_asks(void **state)
{
    static const struct sherd_behavior asker = { .name = "asker",
                                                 .receive = asker_receive };
    uint64_t before = mem_live();
    struct sherd_sim *sim = opened(15, SHERD_SIM_ALL);

    (void)state;
    for (uint32_t i = 0; i < 3; i++)
        if (sherd_sim_alive(sim, i))
            assert_int_equal(sherd_sim_spawn(sim, i, &asker, nothing, NULL), 0);
    sherd_sim_run(sim, 500);
    for (uint32_t i = 0; i < 3; i++) /* they remain unread */
        if (sherd_sim_alive(sim, i))
            assert_int_equal(sherd_sim_entity_tell(sim, i, "Account", "b", ADD,
                                                   nothing),
                             0);
    sherd_sim_close(sim);
    assert_int_equal(mem_live(), before);
}

static void the_status_is_the_nodes_own(void **state)
{
    struct sherd_sim *sim = opened(16, 0);
    struct sherd_status status;

    (void)state;
    (void)total(sim, 0, ADD);
    assert_int_equal(sherd_sim_status(sim, home(sim), &status), 0);
    assert_int_equal(status.up, 1);
    assert_int_equal(status.member_count, 3);
    assert_int_equal(status.type_count, 1);
    assert_string_equal(status.types[0].name, "Account");
    assert_int_not_equal(status.types[0].coordinator[0], 0);
    assert_int_equal(status.types[0].entities_here, 1);
    assert_int_equal(status.events, 1);
    sherd_status_free(&status);
    sherd_sim_close(sim);
}

/* Answers each message once more than its number says. */
static enum sherd_next replier_receive(struct sherd_ctx *ctx, void *self,
                                       const struct sherd_msg *msg)
{
    (void)self;
    for (uint32_t i = 0; msg->kind == SHERD_MESSAGE && i <= msg->msg; i++)
        sherd_reply(ctx, TOTAL, nothing);
    return SHERD_CONTINUE;
}

/* Over all nodes: the entity's home is not known here. */
static uint64_t replies_dropped(struct sherd_sim *sim)
{
    uint64_t sum = 0;

    for (uint32_t node = 0; node < 3; node++) {
        struct sherd_status status;

        assert_int_equal(sherd_sim_status(sim, node, &status), 0);
        sum += status.counters[SHERD_REPLIES_DROPPED];
        sherd_status_free(&status);
    }
    return sum;
}

static void a_status_counts_every_reply_after_the_first(void **state)
{
    const struct sherd_entity_type type = {
        .name = "Replier",
        .behavior = { .name = "replier", .receive = replier_receive }
    };
    const struct sherd_sim_options options = { .types = &type, .type_count = 1 };
    struct sherd_sim_answer answer;
    struct sherd_sim *sim;

    (void)state;
    assert_string_equal(sherd_counter_text(SHERD_REPLIES_DROPPED),
                        "replies dropped");
    assert_int_equal(sherd_sim_open(&sim, &options), 0);
    for (uint32_t msg = 0; msg < 3; msg++) {
        assert_int_equal(sherd_sim_entity_ask(sim, 0, "Replier", "r", msg,
                                              nothing, 5000, &answer),
                         0);
        assert_int_equal(answer.reason, SHERD_REASON_NONE);
        sherd_sim_run(sim, 100);
        assert_int_equal(replies_dropped(sim), msg * (msg + 1) / 2);
    }
    sherd_sim_close(sim);
}

struct lines {
    uint64_t count;
    bool has_time;
};

static void count_line(void *user, enum sherd_log_level level,
                       const char *module, const char *line)
{
    struct lines *lines = user;

    assert_in_range(level, 1, 4);
    assert_int_not_equal(*module, 0);
    lines->count++;
    lines->has_time |= strstr(line, "t=") == line && strstr(line, " node=1 ");
}

static void nodes_log_with_simulated_times(void **state)
{
    struct lines lines = { 0 };
    const struct sherd_sim_options options = { .log = count_line,
                                               .log_user = &lines };
    struct sherd_sim *sim;

    (void)state;
    assert_int_equal(sherd_sim_open(&sim, &options), 0);
    sherd_sim_close(sim);
    assert_true(lines.count > 0);
    assert_true(lines.has_time);
}

/* ---- seeds ---- */

/* A little of everything, with asks. */
static void live(struct sherd_sim *sim, uint32_t step)
{
    struct sherd_sim_answer answer;

    for (uint32_t i = 0; i < 3; i++)
        (void)!ask(sim, (step + i) % 3, ADD, &answer);
    if (step == 3)
        (void)!sherd_sim_crash(sim, 1);
    if (step == 5)
        (void)!sherd_sim_start(sim, 1);
    sherd_sim_run(sim, 5000);
}

static void equal_seeds_give_equal_simulations(void **state)
{
    struct sherd_sim *sims[3] = { opened(20, SHERD_SIM_ALL),
                                  opened(20, SHERD_SIM_ALL),
                                  opened(21, SHERD_SIM_ALL) };

    (void)state;
    for (uint32_t step = 0; step < 10; step++) {
        for (int i = 0; i < 3; i++)
            live(sims[i], step);
        assert_true(sherd_sim_digest(sims[0]) == sherd_sim_digest(sims[1]));
        assert_true(sherd_sim_now(sims[0]) == sherd_sim_now(sims[1]));
        assert_true(sherd_sim_digest(sims[0]) != sherd_sim_digest(sims[2]));
    }
    for (int i = 0; i < 3; i++)
        sherd_sim_close(sims[i]);
}

/* No answered change is lost. */
static int totals_grow(struct sherd_sim *sim, void *arg)
{
    uint64_t known = 0;

    ++*(uint32_t *)arg;
    for (uint32_t i = 0; i < 30; i++) {
        struct sherd_sim_answer answer;
        uint64_t now;

        if (!ask(sim, i % 3, ADD, &answer) && !answer.reason) {
            memcpy(&now, answer.body.data, sizeof now);
            if (now <= known)
                return -7;
            known = now;
        }
        sherd_sim_run(sim, 2000);
    }
    return 0;
}

/* Runs seeds and keeps their output in text. */
static uint64_t seeds(const struct sherd_sim_options *options, uint64_t first,
                      uint64_t last, sherd_sim_test test, uint32_t *runs,
                      char *text, size_t size)
{
    FILE *file = tmpfile();
    int kept = dup(STDERR_FILENO);
    uint64_t failed;
    size_t got;

    *runs = 0;
    assert_non_null(file);
    assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
    failed = sherd_sim_seeds(options, first, last, test, runs);
    (void)fflush(stderr);
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    (void)close(kept);
    rewind(file);
    got = fread(text, 1, size - 1, file);
    text[got] = 0;
    (void)fclose(file);
    return failed;
}

static void a_planted_bug_is_found(void **state)
{
    const struct sherd_entity_type forgetful = forgetful_type();
    struct sherd_sim_options options = { .types = &forgetful,
                                         .type_count = 1,
                                         .faults = SHERD_SIM_CRASHES };
    char text[4096];
    uint32_t runs;
    uint64_t failed =
        seeds(&options, 1, 12, totals_grow, &runs, text, sizeof text);

    (void)state;
    assert_int_equal(runs, 12);
    assert_true(failed > 0);
    assert_non_null(strstr(text, ": the test returned -7 at t="));
    assert_non_null(strstr(text, " passed, "));
    /* Faults alone do not fail a seed. */
    options.types = &account;
    assert_int_equal(
        seeds(&options, 1, 12, totals_grow, &runs, text, sizeof text), 0);
    assert_int_equal(runs, 12);
    assert_string_equal(text, "12 passed, 0 failed\n");
}

static int breaks_a_rule(struct sherd_sim *sim, void *arg)
{
    ++*(uint32_t *)arg;
    assert_true(sherd_sim_seed(sim) == 5 || sherd_sim_seed(sim) == UINT64_MAX);
    violation(world_verdict(sim->world), "single-activation", 2, "two of them");
    assert_non_null(strstr(sherd_sim_violation(sim), "two of them"));
    return 0;
}

static void a_broken_rule_fails_a_seed_whose_test_passes(void **state)
{
    const struct sherd_sim_options options = { .types = &account,
                                               .type_count = 1,
                                               .seed = 99 };
    char text[4096];
    uint32_t runs;

    (void)state;
    assert_int_equal(
        seeds(&options, 5, 5, breaks_a_rule, &runs, text, sizeof text), 1);
    assert_int_equal(runs, 1);
    assert_non_null(strstr(text, "FAIL seed=5 inv=single-activation "));
    assert_non_null(strstr(text, "node=2 : two of them\n"));
    assert_non_null(strstr(text, "0 passed, 1 failed\n"));
    /* The largest seed ends the count, too. */
    assert_int_equal(seeds(&options, UINT64_MAX, UINT64_MAX, breaks_a_rule,
                           &runs, text, sizeof text),
                     1);
    assert_int_equal(runs, 1);
}

static void bounds_without_a_seed_are_a_failure(void **state)
{
    const struct sherd_sim_options options = { 0 };
    char text[4096];
    uint32_t runs;

    (void)state;
    assert_int_equal(
        seeds(&options, 5, 3, breaks_a_rule, &runs, text, sizeof text), 1);
    assert_int_equal(runs, 0);
    assert_string_equal(text,
                        "sherd_sim_seeds: from 5 to 3 there is no seed\n"
                        "0 passed, 1 failed\n");
}

static void refused_options_are_reported_once(void **state)
{
    const struct sherd_entity_type two[] = { account, account };
    const struct {
        struct sherd_sim_options options;
        const char *said;
    } wrong[] = {
        { { .lanes = 65 }, "lanes is 65, at most 64" },
        { { .nodes = 2000 }, "nodes is 2000, at most 1000" },
        { { .shards = 20001 }, "shards is 20001, at most 20000" },
        { { .faults = 128 }, "faults is 128, at most 127" },
        { { .type_count = 1 }, "types[0]: no name" },
        { { .types = two, .type_count = 2 },
          "types[0] and types[1]: one name or path" },
    };
    char text[4096], wanted[200];
    uint32_t runs;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(seeds(&wrong[i].options, 1, 2, totals_grow, &runs,
                               text, sizeof text),
                         2);
        assert_int_equal(runs, 0);
        (void)snprintf(wanted, sizeof wanted,
                       "sherd_sim_seeds: %s\n0 passed, 2 failed\n",
                       wrong[i].said);
        assert_string_equal(text, wanted);
    }
    assert_int_equal(seeds(NULL, 1, 2, totals_grow, &runs, text, sizeof text),
                     2);
    assert_non_null(strstr(text, "sherd_sim_seeds: options is null\n"));
    assert_int_equal(
        seeds(&wrong[0].options, 1, 2, NULL, &runs, text, sizeof text), 2);
    assert_non_null(strstr(text, "sherd_sim_seeds: test is null\n"));
}

/* ---- tests that die ---- */

static int no_bound; /* unknown at compile time, against the optimizer */

static int recurse(int depth)
{
    volatile char page[4096];

    page[0] = (char)depth;
    return no_bound ? page[0] : recurse(depth + 1) + page[0];
}

/* Ends by *arg in seed 6. A memory fault is a real one. */
static int dies(struct sherd_sim *sim, void *arg)
{
    int by = *(const int *)arg;

    if (sherd_sim_seed(sim) < 6)
        return 0;
    return by == SIGSEGV ? recurse(0) : raise(by);
}

/* Returns how a process ends that runs seeds 5 to 7 of `dies`, with those signals at their default
 * or ignored. text gets its output. */
static int ended(int by, void (*before)(int), char *text, size_t size)
{
    const struct sherd_sim_options options = { .nodes = 1 };
    int ends[2], status;
    size_t used = 0;
    ssize_t got;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (!child) {
        const struct rlimit no_core = { 0, 0 };

        (void)setrlimit(RLIMIT_CORE, &no_core);
        (void)dup2(ends[1], STDERR_FILENO);
        (void)signal(by, before);
        (void)!sherd_sim_seeds(&options, 5, 7, dies, &by);
        (void)signal(by, SIG_DFL);
        (void)raise(by); /* it prints nothing more */
        _exit(0);
    }
    (void)close(ends[1]);
    while ((got = read(ends[0], text + used, size - 1 - used)) > 0)
        used += (size_t)got;
    text[used] = 0;
    (void)close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void a_test_that_dies_names_its_seed(void **state)
{
    static const int signals[] = { SIGSEGV, SIGABRT, SIGFPE, SIGINT, SIGTERM, SIGALRM };
    char text[4096], wanted[64];

    (void)state;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        int status = ended(signals[i], SIG_DFL, text, sizeof text);

        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), signals[i]);
        (void)snprintf(wanted, sizeof wanted, "seed 6: ended by signal %d\n",
                       signals[i]);
        assert_string_equal(text, wanted);
    }
}

static void an_existing_signal_handler_stays(void **state)
{
    char text[4096];
    int status = ended(SIGTERM, SIG_IGN, text, sizeof text);

    (void)state;
    assert_true(WIFSIGNALED(status));
    assert_string_equal(text, "3 passed, 0 failed\n");
}

static void large_clusters_form(void **state)
{
    const struct sherd_sim_options options = {
        .nodes = 30, .lanes = 1, .types = &account, .type_count = 1
    };
    struct sherd_sim *sim;

    (void)state;
    assert_int_equal(sherd_sim_open(&sim, &options), 0);
    assert_int_equal(member_count(sim, 29), 30);
    assert_int_equal(total(sim, 29, ADD), 1);
    sherd_sim_close(sim);
}

/* ---- text shards ---- */

static int bank_of(void *user, const struct sherd_extracted *message, char shard[SHERD_SHARD_MAX + 1])
{
    (void)user;
    (void)snprintf(shard, SHERD_SHARD_MAX + 1, "bank %.*s", (int)strcspn(message->id, "/"), message->id);
    return 1;
}

/* Nodes see the banks in different orders, and the oldest one crashes: no rule is broken. */
static void worlds_take_types_with_text_shards(void **state)
{
    const struct sherd_extractor banks = { .shard = bank_of };
    struct sherd_entity_type type = account;
    struct sherd_sim_options options = { .seed = 5, .types = &type, .type_count = 1 };
    struct sherd_sim_answer answer;
    struct sherd_sim *sim;
    char id[32];

    (void)state;
    type.extractor = &banks;
    assert_int_equal(sherd_sim_open(&sim, &options), 0);
    for (uint32_t round = 1; round <= 2; round++) {
        for (uint32_t i = 0; i < 24; i++) {
            uint32_t node = round - 1 + i % 2;

            (void)snprintf(id, sizeof id, "%u/a", node % 2 ? i / 2 : 11 - i / 2);
            assert_int_equal(sherd_sim_entity_ask(sim, node, "Account", id, ADD, nothing, 20000, &answer), 0);
            assert_int_equal(answer.reason, SHERD_REASON_NONE);
        }
        if (round == 1)
            assert_int_equal(sherd_sim_crash(sim, 0), 0);
        assert_int_equal(sherd_sim_heal(sim, 120000), 0);
    }
    assert_null(sherd_sim_violation(sim));
    sherd_sim_close(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worlds_take_types_with_text_shards),
        cmocka_unit_test(options_that_are_wrong_are_refused),
        cmocka_unit_test(types_that_are_wrong_are_refused),
        cmocka_unit_test(bad_nodes_are_refused_by_every_verb),
        cmocka_unit_test(bad_messages_are_refused),
        cmocka_unit_test(dead_nodes_refuse_commands),
        cmocka_unit_test(an_ask_ends_with_an_answer_or_a_reason_SHT027),
        cmocka_unit_test(an_ask_from_a_paused_node_times_out),
        cmocka_unit_test(an_ask_ends_when_its_node_leaves),
        cmocka_unit_test(a_crashed_node_restarts_as_another_incarnation),
        cmocka_unit_test(a_paused_node_is_unreachable_until_it_resumes),
        cmocka_unit_test(a_cut_is_one_way_and_delivers_late),
        cmocka_unit_test(a_node_that_left_can_start_again),
        cmocka_unit_test(a_downed_node_ends),
        cmocka_unit_test(a_member_leaves_at_the_command_of_another),
        cmocka_unit_test(healing_ends_every_fault_or_returns_an_error),
        cmocka_unit_test(healing_accepts_any_time_limit),
        cmocka_unit_test(disks_stall_fail_fill_up_and_lose_power),
        cmocka_unit_test(actors_start_with_their_initial_argument),
        cmocka_unit_test(a_simulation_closes_with_open_asks),
        cmocka_unit_test(the_status_is_the_nodes_own),
        cmocka_unit_test(a_status_counts_every_reply_after_the_first),
        cmocka_unit_test(nodes_log_with_simulated_times),
        cmocka_unit_test(equal_seeds_give_equal_simulations),
        cmocka_unit_test(a_planted_bug_is_found),
        cmocka_unit_test(a_broken_rule_fails_a_seed_whose_test_passes),
        cmocka_unit_test(bounds_without_a_seed_are_a_failure),
        cmocka_unit_test(refused_options_are_reported_once),
        cmocka_unit_test(a_test_that_dies_names_its_seed),
        cmocka_unit_test(an_existing_signal_handler_stays),
        cmocka_unit_test(large_clusters_form),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
