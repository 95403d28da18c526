/* Stores the events of an account. Its node ends, and the next one finds the balance again:
 *   account */
/* [run] */
#include <sherd/sherd.h>

#include <stdio.h>
#include <string.h>

enum { DEPOSIT = 1, WITHDRAW, BALANCE, REFUSED, STOP }; /* messages */

struct account {
    int64_t balance;
};

/* [events] */
/* Numbers of events are for ever: never change one, and never use one again. */
enum {
    DEPOSITED_SMALL = 1, /* uint32_t; written until release 1.3 */
    WITHDRAWN = 2,       /* int64_t */
    DEPOSITED = 3,       /* int64_t; since release 1.4 */
};

static void account_apply(void *self, uint32_t type, struct sherd_bytes event)
{
    struct account *account = self;
    uint32_t small;
    int64_t amount = 0;

    if (type == DEPOSITED_SMALL) {
        memcpy(&small, event.data, sizeof small);
        amount = small;
    } else if (type == DEPOSITED || type == WITHDRAWN) {
        memcpy(&amount, event.data, sizeof amount);
    }
    account->balance += type == WITHDRAWN ? -amount : amount;
}
/* [events end] */

/* [receive] */
static enum sherd_next account_receive(struct sherd_ctx *ctx, void *self,
                                       const struct sherd_msg *msg)
{
    struct account *account = self;
    struct sherd_bytes balance = { &account->balance, sizeof account->balance };
    int64_t amount;

    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE; /* SHERD_STARTED: all events are applied by now */
    if (msg->msg == STOP)
        return SHERD_STOP; /* the type's stop message: hand-off or passivation */
    if (msg->body.size != sizeof amount)
        return SHERD_CONTINUE; /* any node may send any bytes */
    memcpy(&amount, msg->body.data, sizeof amount);
    if (amount < 0 || (msg->msg == WITHDRAW && amount > account->balance)) {
        sherd_reply(ctx, REFUSED, balance);
        return SHERD_CONTINUE;
    }
    sherd_persist(ctx, msg->msg == WITHDRAW ? WITHDRAWN : DEPOSITED, msg->body);
    sherd_reply(ctx, BALANCE, balance); /* the new one; it leaves when the event is durable */
    return SHERD_CONTINUE;
}
/* [receive end] */

/* [type] */
static const struct sherd_entity_type account_type = {
    .name = "Account",
    .behavior = { .name = "account", .state_size = sizeof(struct account),
                  .receive = account_receive, .apply = account_apply }, /* persistent */
    .shards = 100,
    .stop_msg = STOP,
    .idle_ms = 60000, /* out of memory after a minute without a message */
};
/* [type end] */

static int64_t last;
static struct sherd_system *node;

/* Asks four things; the answers of one entity come in order. */
static enum sherd_next user(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    static const struct {
        uint32_t msg;
        int64_t amount;
    } asks[] = { { DEPOSIT, 100 }, { WITHDRAW, 30 }, { WITHDRAW, 1000000 }, { DEPOSIT, 1 } };

    (void)self;
    if (msg->kind == SHERD_STARTED) {
        for (uint32_t i = 0; i < 4; i++)
            sherd_entity_ask(ctx, "Account", "alice", asks[i].msg,
                             (struct sherd_bytes){ &asks[i].amount, sizeof asks[i].amount }, i,
                             10000);
        return SHERD_CONTINUE;
    }
    if (msg->kind == SHERD_ANSWER) {
        memcpy(&last, msg->body.data, sizeof last);
        printf("%s %lld\n", msg->msg == REFUSED ? "refused, balance" : "balance",
               (long long)last);
    } else if (msg->kind == SHERD_NO_ANSWER) {
        printf("no answer: %s\n", sherd_reason_text(msg->reason));
    }
    if (msg->tag == 3)
        sherd_leave(node);
    return SHERD_CONTINUE;
}

/* One life of the node. */
static int live(void)
{
    static const struct sherd_behavior behavior = { .name = "user", .receive = user };
    const struct sherd_options options = { .alone = 1,
                                           .port = SHERD_PORT_ANY,
                                           .log_level = SHERD_LOG_WARNING,
                                           .journal = "sqlite:account.db" };
    int error = sherd_open(&node, &options);

    if (!error)
        error = sherd_entity_register(node, &account_type);
    if (!error)
        error = sherd_start(node);
    if (!error)
        error = sherd_system_spawn(node, &behavior, (struct sherd_bytes){ NULL, 0 }, NULL);
    if (!error)
        error = sherd_wait(node);
    sherd_close(node);
    return error;
}

int main(void)
{
    int64_t first;

    if (live())
        return 1;
    first = last;
    return live() || last != first + 71;
}
