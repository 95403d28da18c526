/* Runs an entity with snapshots twice: the second run recovers it from the last one.
 *   snapshots */
/* [run] */
#include <sherd/sherd.h>

#include <stdio.h>
#include <string.h>

enum { DEPOSIT = 1, BALANCE }; /* messages */
enum { DEPOSITED = 1 };        /* events */

struct account {
    int64_t cents;
    uint64_t deposits;
};

struct answer {
    int64_t cents;
    uint64_t events, snapshot;
};

/* [save] */
static int save(const void *self, struct sherd_out *out)
{
    const struct account *account = self;

    sherd_out_put(out, (struct sherd_bytes){ &account->cents, sizeof account->cents });
    sherd_out_put(out, (struct sherd_bytes){ &account->deposits, sizeof account->deposits });
    return 0;
}

static int load(void *self, uint32_t version, struct sherd_bytes image)
{
    struct account *account = self;
    const uint8_t *bytes = image.data;

    if (version != 1 || image.size != sizeof account->cents + sizeof account->deposits)
        return -1;
    memcpy(&account->cents, bytes, sizeof account->cents);
    memcpy(&account->deposits, bytes + sizeof account->cents, sizeof account->deposits);
    return 0;
}
/* [save end] */

static void apply(void *self, uint32_t type, struct sherd_bytes event)
{
    struct account *account = self;
    int64_t cents = 0;

    if (type == DEPOSITED && event.size == sizeof cents)
        memcpy(&cents, event.data, sizeof cents);
    account->cents += cents;
    account->deposits++;
}

static enum sherd_next receive(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    struct account *account = self;
    struct answer answer;
    int64_t cents = 5;

    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    if (msg->msg == DEPOSIT)
        sherd_persist(ctx, DEPOSITED, (struct sherd_bytes){ &cents, sizeof cents });
    answer = (struct answer){ account->cents, sherd_sequence(ctx), sherd_snapshot_sequence(ctx) };
    sherd_reply(ctx, BALANCE, (struct sherd_bytes){ &answer, sizeof answer });
    return SHERD_CONTINUE;
}

/* [type] */
static const struct sherd_entity_type accounts = {
    .name = "Account",
    .behavior = { .name = "account", .state_size = sizeof(struct account),
                  .receive = receive, .apply = apply,
                  .save = save, .load = load, .save_version = 1, .save_every = 100 },
    .keep_snapshots = 2,
    .delete_events = 1, /* those that no kept snapshot needs */
};
/* [type end] */

/* [inspect] */
static int describe(const void *self, struct sherd_out *out)
{
    const struct account *account = self;
    char text[80];
    int size = snprintf(text, sizeof text, "%lld cents in %llu deposits", (long long)account->cents,
                        (unsigned long long)account->deposits);

    sherd_out_put(out, (struct sherd_bytes){ text, (size_t)size });
    return 0;
}

SHERD_API const struct sherd_inspected *sherd_inspect(void)
{
    static const struct sherd_inspected rows[] = { { &accounts, describe }, { 0 } };

    return rows;
}
/* [inspect end] */

/* Deposits so often, and returns the last answer; all zero: there was none. */
static struct answer deposit(struct sherd_system *node, int times)
{
    struct sherd_client_options options = { .waits_until_up = 1 };
    struct sherd_entity_ref alice;
    struct sherd_request request = { .entity = &alice, .msg = DEPOSIT, .timeout_ms = 10000 };
    struct answer answer = { 0, 0, 0 };
    struct sherd_client *client;

    if (sherd_client_open(&client, node, &options) ||
        sherd_entity_ref_make(&alice, "Account", "alice", NULL))
        return answer;
    for (int i = 0; i < times; i++) {
        struct sherd_completion done;

        if (sherd_client_ask(client, &request, NULL))
            break;
        sherd_client_poll(client, &done, 1, -1);
        if (done.status == SHERD_CLIENT_ANSWERED)
            memcpy(&answer, done.body.data, sizeof answer);
        sherd_completions_free(&done, 1);
    }
    (void)sherd_client_close(client); /* nothing is open */
    return answer;
}

static int expect(int times, int64_t cents, uint64_t events)
{
    struct sherd_options options = { .alone = 1, .port = SHERD_PORT_ANY,
                                     .journal = "sqlite:snapshots.db" };
    struct sherd_system *node;
    struct answer answer = { 0, 0, 0 };
    int error = sherd_open(&node, &options) || sherd_entity_register(node, &accounts) ||
                sherd_start(node);

    if (!error)
        answer = deposit(node, times);
    error = error || answer.cents != cents || answer.events != events ||
            answer.snapshot + 125 < events; /* 100 events, or up to a quarter more */
    sherd_leave(node);
    error = sherd_wait(node) || error;
    sherd_close(node);
    printf("%d deposits: %s\n", times, error ? "failed" : "as expected");
    return error;
}

int main(void)
{
    return expect(400, 2000, 400) || expect(1, 2005, 401);
}
