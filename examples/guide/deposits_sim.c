/* Tests accounts under faults: no acknowledged deposit is lost, and none counts twice.
 *   deposits_sim [SEEDS [FIRST]] */
/* [run: 20] */
#include <sherd/sim.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* [entity] */
enum { DEPOSIT = 1, BALANCE }; /* messages */
enum { DEPOSITED = 1 };        /* events */

struct account {
    uint32_t balance;
};

static void account_apply(void *self, uint32_t type, struct sherd_bytes event)
{
    struct account *account = self;
    uint32_t amount;

    if (type == DEPOSITED && event.size == sizeof amount) {
        memcpy(&amount, event.data, sizeof amount);
        account->balance += amount;
    }
}

static enum sherd_next account_receive(struct sherd_ctx *ctx, void *self,
                                       const struct sherd_msg *msg)
{
    struct account *account = self;

    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    if (msg->msg == DEPOSIT && msg->body.size == sizeof(uint32_t))
        sherd_persist(ctx, DEPOSITED, msg->body);
    sherd_reply(ctx, BALANCE, (struct sherd_bytes){ &account->balance,
                                                    sizeof account->balance });
    return SHERD_CONTINUE;
}
/* [entity end] */

/* [ask] */
/* Asks the account through a node: 0 and the balance, or -1 when no answer came. */
static int ask(struct sherd_sim *sim, uint32_t node, uint32_t msg,
               uint32_t amount, uint32_t *balance)
{
    struct sherd_bytes body = { &amount, sizeof amount };
    struct sherd_sim_answer answer;

    if (sherd_sim_entity_ask(sim, node, "Account", "alice", msg, body, 5000,
                             &answer) ||
        answer.reason || answer.body.size != sizeof *balance)
        return -1;
    memcpy(balance, answer.body.data, sizeof *balance);
    return 0;
}
/* [ask end] */

/* [test] */
static int deposits_survive(struct sherd_sim *sim, void *arg)
{
    uint32_t sent = 0, acknowledged = 0, balance;

    (void)arg;
    for (uint32_t i = 0; i < 60; i++) {
        sent += 10;
        if (ask(sim, i % 3, DEPOSIT, 10, &balance) == 0)
            acknowledged += 10; /* without an answer: deposited or not */
        sherd_sim_run(sim, 2000);
    }
    if (sherd_sim_heal(sim, 120000) || ask(sim, 0, BALANCE, 0, &balance))
        return fprintf(stderr, "the cluster did not heal\n");
    if (balance < acknowledged || balance > sent)
        return fprintf(stderr, "balance %" PRIu32 ", acknowledged %" PRIu32
                       ", sent %" PRIu32 "\n", balance, acknowledged, sent);
    return 0;
}
/* [test end] */

/* The node that runs the account, or 0. */
static uint32_t find_host(struct sherd_sim *sim)
{
    uint32_t host = 0;

    for (uint32_t node = 0; node < 3; node++) {
        struct sherd_status status;

        if (sherd_sim_status(sim, node, &status))
            continue; /* it is dead */
        if (status.types[0].entities_here)
            host = node;
        sherd_status_free(&status);
    }
    return host;
}

/* [ordered] */
static int a_crash_is_survived(struct sherd_sim *sim, void *arg)
{
    uint32_t before, after, host, other;

    (void)arg;
    if (ask(sim, 0, DEPOSIT, 10, &before))
        return fprintf(stderr, "no answer before the crash\n");
    host = find_host(sim); /* by sherd_sim_status */
    other = (host + 1) % 3;
    if (sherd_sim_crash(sim, host))
        return fprintf(stderr, "the node was dead already\n");
    sherd_sim_run(sim, 10000); /* the others find it unreachable */
    if (sherd_sim_down(sim, other, host))
        return fprintf(stderr, "the node cannot be downed\n");
    sherd_sim_run(sim, 10000); /* another node recovers the account */
    if (ask(sim, other, BALANCE, 0, &after) || after != before)
        return fprintf(stderr, "the balance is lost\n");
    return 0;
}
/* [ordered end] */

static void print_line(void *user, enum sherd_log_level level, const char *module, const char *line)
{
    (void)user;
    (void)level;
    (void)module;
    fprintf(stderr, "%s\n", line);
}

int main(int argc, char **argv)
{
    const struct sherd_entity_type account = {
        .name = "Account",
        .behavior = { .name = "account",
                      .state_size = sizeof(struct account),
                      .receive = account_receive,
                      .apply = account_apply } };
    uint64_t seeds = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    /* [main] */
    struct sherd_sim_options options = {
        .types = &account, .type_count = 1,
        .log = seeds == 1 ? print_line : NULL }; /* the log of a single seed */
    uint64_t failed = sherd_sim_seeds(&options, first, first + seeds - 1,
                                      a_crash_is_survived, NULL);

    options.faults = SHERD_SIM_ALL;
    failed += sherd_sim_seeds(&options, first, first + seeds - 1,
                              deposits_survive, NULL);
    return failed != 0;
    /* [main end] */
}
