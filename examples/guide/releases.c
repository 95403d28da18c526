/* Runs two releases of a program on one journal: the second one changes the format of an event.
 *   releases */
/* [run] */
#include <sherd/sherd.h>

#include <stdio.h>
#include <string.h>

enum { DEPOSIT = 1, BALANCE }; /* messages */
enum { DEPOSITED = 1 };        /* events */

struct account {
    int64_t cents;
};

static struct sherd_system *node;
static int writes_cents; /* a setting of release 2: version 1 is written */

static enum sherd_next receive(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    struct account *account = self;

    if (msg->kind != SHERD_MESSAGE || msg->msg != DEPOSIT)
        return SHERD_CONTINUE;
    /* [write] */
    uint32_t euros = 1;
    int64_t cents = 100;

    if (writes_cents)
        sherd_persist_version(ctx, DEPOSITED, 1, (struct sherd_bytes){ &cents, sizeof cents });
    else
        sherd_persist(ctx, DEPOSITED, (struct sherd_bytes){ &euros, sizeof euros });
    /* [write end] */
    sherd_reply(ctx, BALANCE, (struct sherd_bytes){ &account->cents, sizeof account->cents });
    return SHERD_CONTINUE;
}

/* [apply] */
/* Release 1: a deposit is a uint32_t in euros. */
static const char *apply_euros(void *self, uint32_t type, struct sherd_bytes event)
{
    struct account *account = self;
    uint32_t euros;

    if (type != DEPOSITED)
        return "this release does not know the type";
    if (event.size != sizeof euros)
        return "a deposit has another size";
    memcpy(&euros, event.data, sizeof euros); /* the event may have any alignment */
    account->cents += (int64_t)euros * 100;
    return NULL;
}
/* [apply end] */

static const struct sherd_entity_type release_1 = {
    .name = "Account",
    .behavior = { .name = "account", .state_size = sizeof(struct account),
                  .receive = receive, .apply_checked = apply_euros },
};

/* [upcast] */
/* Release 2: version 0 is a uint32_t in euros, version 1 an int64_t in cents. */
static const char *to_cents(uint32_t type, uint32_t version, struct sherd_bytes event,
                            struct sherd_events *newer)
{
    uint32_t euros;
    int64_t cents;

    (void)type;
    (void)version; /* 0 is the only older one */
    if (event.size != sizeof euros)
        return "a deposit of version 0 has another size";
    memcpy(&euros, event.data, sizeof euros);
    cents = (int64_t)euros * 100;
    sherd_events_add(newer, DEPOSITED, 1, (struct sherd_bytes){ &cents, sizeof cents });
    return NULL;
}

static const struct sherd_upcast upcasts[] = { { DEPOSITED, 1, to_cents } };
/* [upcast end] */

static const char *apply_cents(void *self, uint32_t type, struct sherd_bytes event)
{
    struct account *account = self;
    int64_t cents;

    if (type != DEPOSITED || event.size != sizeof cents)
        return "this release does not know the event";
    memcpy(&cents, event.data, sizeof cents);
    account->cents += cents;
    return NULL;
}

static const struct sherd_entity_type release_2 = {
    .name = "Account",
    .behavior = { .name = "account", .state_size = sizeof(struct account),
                  .receive = receive, .apply_checked = apply_cents },
    .upcasts = upcasts,
    .upcast_count = 1,
};

/* Deposits one euro. Returns the balance in cents; -1: the entity cannot be recovered. */
static int64_t deposit(void)
{
    struct sherd_client_options options = { .waits_until_up = 1 };
    struct sherd_client *client;
    struct sherd_entity_ref alice;
    struct sherd_request request = { .entity = &alice, .msg = DEPOSIT, .timeout_ms = 10000 };
    struct sherd_completion done;
    int64_t cents = -1;

    if (sherd_client_open(&client, node, &options) ||
        sherd_entity_ref_make(&alice, "Account", "alice", NULL) ||
        sherd_client_ask(client, &request, NULL))
        return -2;
    sherd_client_poll(client, &done, 1, -1);
    /* [caller] */
    if (done.status == SHERD_CLIENT_ANSWERED)
        memcpy(&cents, done.body.data, sizeof cents);
    else
        printf("%s: %.*s\n", sherd_reason_text(done.reason), (int)done.body.size,
               (const char *)done.body.data);
    /* [caller end] */
    sherd_completions_free(&done, 1);
    return sherd_client_close(client) ? -2 : cents;
}

static int expect(const struct sherd_entity_type *release, int64_t cents)
{
    struct sherd_options options = { .alone = 1, .port = SHERD_PORT_ANY,
                                     .journal = "sqlite:releases.db" };
    int error = sherd_open(&node, &options) || sherd_entity_register(node, release) ||
                sherd_start(node) || deposit() != cents;

    sherd_leave(node);
    error = sherd_wait(node) || error;
    sherd_close(node);
    printf("release %d: %s\n", release == &release_1 ? 1 : 2, error ? "failed" : "as expected");
    return error;
}

int main(void)
{
    int error = expect(&release_1, 100) || expect(&release_2, 200); /* it reads both, and writes 0 */

    writes_cents = 1;
    return error || expect(&release_2, 300) || expect(&release_1, -1) || expect(&release_2, 400);
}
