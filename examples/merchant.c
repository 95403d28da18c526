/* Runs one node of a payment service. Merchants take orders, and customers pay for them. Each is a
 * sharded, persistent entity, and money moves between two of them by deliveries (sherd/delivery.h):
 * no cent is lost or made, whatever crashes.
 *
 *   merchant --port N [--seed HOST:PORT]... --journal FILE
 *
 *   --journal FILE   the file of an SQLite journal, or postgres:URL
 *
 * The node reads instructions from standard input, one in each line:
 *
 *   orders FROM TO   send the orders FROM to TO - 1 to their merchants, each again until it is answered
 *   status           print what is open
 *   leave            hand off the shards and leave the cluster, as at the end of the input
 *
 * It writes these lines:
 *
 *   accepted N       the merchant has stored order N, now or when it was sent before
 *   status up U members M waiting W open O repeated R again A expired X
 *                    U: 1 if this node is a member. W: orders without an answer. O, R, X: deliveries
 *                    of this node's entities. A: repetitions that its entities did not need
 *   left E           the node has left
 *
 * examples/merchant_demo.py kills such nodes, and examples/merchant_check.py counts the money. */
#include <sherd/sherd.h>
#ifdef WITH_POSTGRES
#include <sherd/postgres.h>
#endif

#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MERCHANTS 5
#define CUSTOMERS 40
#define OPENING 8000 /* cents that a customer has at first; some orders are too expensive */

/* Messages. */
enum { ORDER = 1, CHARGE, PAID, DECLINED };
/* Events of a merchant, and of a customer. */
enum { ORDERED = 1, EARNED, REFUSED, SPENT, SHORT };

/* An order is an event and a message, too. */
struct order {
    uint32_t number;
    uint32_t cents;
};

static struct sherd_bytes bytes_of(const struct order *order)
{
    return (struct sherd_bytes){ order, sizeof *order };
}

/* The orders of the demonstration: merchant, customer and price follow from the number. */
static struct order order_of(uint32_t number)
{
    return (struct order){ number, 1 + number * 37 % 500 };
}

/* ---- both kinds of entities ---- */

struct account {
    int64_t cents; /* a merchant's earnings, or what a customer has spent, negative */
};

static void apply(void *self, uint32_t type, struct sherd_bytes event)
{
    struct account *account = self;
    struct order order;

    if (event.size != sizeof order)
        return;
    memcpy(&order, event.data, sizeof order);
    if (type == EARNED)
        account->cents += order.cents;
    else if (type == SPENT)
        account->cents -= order.cents;
}

static int save(const void *self, struct sherd_out *out)
{
    sherd_out_put(out, (struct sherd_bytes){ self, sizeof(struct account) });
    return 0;
}

static int load(void *self, uint32_t version, struct sherd_bytes image)
{
    (void)version;
    if (image.size != sizeof(struct account))
        return 1;
    memcpy(self, image.data, sizeof(struct account));
    return 0;
}

/* ---- merchants ---- */

/* The order is stored, and with it the delivery to the customer. A repeated order gets the reply of
 * the first one. */
static void take_order(struct sherd_ctx *ctx, const struct sherd_msg *msg)
{
    struct order order;
    char customer[16];

    memcpy(&order, msg->body.data, sizeof order);
    if (sherd_once(ctx, (struct sherd_bytes){ &order.number, sizeof order.number }) != SHERD_ONCE_NEW)
        return;
    sherd_persist(ctx, ORDERED, msg->body);
    snprintf(customer, sizeof customer, "c%" PRIu32, order.number * 7 % CUSTOMERS);
    if (!sherd_deliver(ctx, "Customer", customer, CHARGE, msg->body, 0))
        abort(); /* far fewer than SHERD_DELIVERIES_MAX are open */
    sherd_reply(ctx, ORDER, msg->body);
}

static enum sherd_next merchant(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind != SHERD_MESSAGE || msg->body.size != sizeof(struct order))
        return SHERD_CONTINUE;
    if (msg->msg == ORDER)
        take_order(ctx, msg);
    else if (msg->msg == PAID)
        sherd_persist(ctx, EARNED, msg->body);
    else if (msg->msg == DECLINED)
        sherd_persist(ctx, REFUSED, msg->body);
    return SHERD_CONTINUE;
}

/* ---- customers ---- */

/* The money leaves the customer and is on its way to the merchant in one commit. */
static enum sherd_next customer(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    struct account *account = self;
    struct sherd_delivery delivery;
    struct order order;
    int is_short;

    if (msg->kind != SHERD_MESSAGE || msg->msg != CHARGE || msg->body.size != sizeof order ||
        !sherd_delivery_get(ctx, &delivery))
        return SHERD_CONTINUE;
    memcpy(&order, msg->body.data, sizeof order);
    is_short = OPENING + account->cents < (int64_t)order.cents;
    sherd_persist(ctx, is_short ? SHORT : SPENT, msg->body);
    if (!sherd_deliver(ctx, delivery.type, delivery.id, is_short ? DECLINED : PAID, msg->body, 0))
        abort();
    return SHERD_CONTINUE;
}

/* ---- the feeder ---- */

enum { FEED = 100, STATUS };

#define WINDOW 64 /* orders without an answer */
#define PATIENCE_MS 2000

struct feeder {
    struct sherd_system *system;
    uint32_t next, end;
    uint32_t numbers[WINDOW]; /* by the tag of the ask */
    int busy[WINDOW];
    uint32_t waiting;
};

static void send_order(struct sherd_ctx *ctx, const struct feeder *feeder, uint32_t tag)
{
    struct order order = order_of(feeder->numbers[tag]);
    char id[16];

    snprintf(id, sizeof id, "m%" PRIu32, order.number % MERCHANTS);
    sherd_entity_ask(ctx, "Merchant", id, ORDER, bytes_of(&order), tag, PATIENCE_MS);
}

static void feed(struct sherd_ctx *ctx, struct feeder *feeder)
{
    for (uint32_t tag = 0; tag < WINDOW && feeder->next < feeder->end; tag++) {
        if (feeder->busy[tag])
            continue;
        feeder->busy[tag] = 1;
        feeder->waiting++;
        feeder->numbers[tag] = feeder->next++;
        send_order(ctx, feeder, tag);
    }
}

static void print_status(const struct feeder *feeder, const struct sherd_status *status)
{
    printf("status up %d members %" PRIu32 " waiting %" PRIu32 " open %" PRIu64 " repeated %" PRIu64
           " again %" PRIu64 " expired %" PRIu64 "\n",
           status->up, status->member_count, feeder->waiting + feeder->end - feeder->next,
           status->deliveries.open, status->deliveries.repeated, status->deliveries.received_again,
           status->undelivered[SHERD_REASON_EXPIRED]);
}

/* Without an answer the order may be stored or not: it is sent again with the same id. */
static enum sherd_next feeder_receive(struct sherd_ctx *ctx, void *self,
                                      const struct sherd_msg *msg)
{
    struct feeder *feeder = self;
    uint32_t range[2];

    if (msg->kind == SHERD_STARTED) {
        memcpy(&feeder->system, msg->body.data, sizeof feeder->system);
    } else if (msg->kind == SHERD_MESSAGE && msg->msg == FEED) {
        memcpy(range, msg->body.data, sizeof range);
        feeder->next = range[0];
        feeder->end = range[1];
    } else if (msg->kind == SHERD_MESSAGE && msg->msg == STATUS) {
        print_status(feeder, msg->body.data);
    } else if (msg->kind == SHERD_NO_ANSWER) {
        sherd_timer(ctx, msg->tag, 100);
    } else if (msg->kind == SHERD_TIMER) {
        send_order(ctx, feeder, msg->tag);
    } else if (msg->kind == SHERD_ANSWER) {
        printf("accepted %" PRIu32 "\n", feeder->numbers[msg->tag]);
        feeder->busy[msg->tag] = 0;
        feeder->waiting--;
    }
    feed(ctx, feeder);
    fflush(stdout);
    return SHERD_CONTINUE;
}

/* ---- the program ---- */

static int instruct(struct sherd_system *system, struct sherd_ref feeder, const char *line)
{
    struct sherd_status status;
    uint32_t range[2];
    int error;

    if (sscanf(line, "orders %" SCNu32 " %" SCNu32, &range[0], &range[1]) == 2)
        return sherd_system_tell(system, feeder, FEED, (struct sherd_bytes){ range, sizeof range });
    if (strcmp(line, "status\n")) {
        fprintf(stderr, "merchant: unknown instruction: %s", line);
        return 0;
    }
    error = sherd_get_status(system, &status);
    if (!error) /* the feeder uses no array of it */
        error = sherd_system_tell(system, feeder, STATUS,
                                  (struct sherd_bytes){ &status, sizeof status });
    sherd_status_free(&status);
    return error;
}

/* Reads the next instruction. Returns null at the end of the input, or when the node has ended because
 * others declared it down. */
static const char *next_line(struct sherd_system *system, char *line, int size)
{
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
    struct sherd_status status;
    int error;

    while (poll(&input, 1, 500) == 0) { /* stdin has no buffer that could hide a line from poll */
        error = sherd_get_status(system, &status);
        if (!error)
            sherd_status_free(&status);
        if (error == SHERD_ESTATE)
            return NULL;
    }
    return fgets(line, size, stdin);
}

static int run(struct sherd_system *system)
{
    struct sherd_entity_type type = { .name = "Merchant",
                                      .behavior = { .name = "merchant",
                                                    .state_size = sizeof(struct account),
                                                    .receive = merchant,
                                                    .apply = apply,
                                                    .save = save,
                                                    .load = load,
                                                    .save_every = 50 },
                                      .shards = 20,
                                      .remember = 1 }; /* so that open deliveries continue */
    const struct sherd_behavior behavior = { .name = "feeder",
                                             .state_size = sizeof(struct feeder),
                                             .receive = feeder_receive };
    struct sherd_ref feeder;
    char line[256];
    int error = sherd_entity_register(system, &type);

    type.name = "Customer";
    type.behavior.name = "customer";
    type.behavior.receive = customer;
    if (!error)
        error = sherd_entity_register(system, &type);
    if (!error)
        error = sherd_start(system);
    if (!error)
        error = sherd_system_spawn(system, &behavior,
                                   (struct sherd_bytes){ &system, sizeof system }, &feeder);
    if (error)
        return error;
    setvbuf(stdin, NULL, _IONBF, 0);
    while (next_line(system, line, sizeof line) && strcmp(line, "leave\n"))
        if (instruct(system, feeder, line))
            break; /* the node has ended */
    sherd_leave(system);
    error = sherd_wait(system);
    printf("left %d\n", error);
    return error;
}

static int usage(FILE *to, int status)
{
    fprintf(to, "usage: merchant --port N [--seed HOST:PORT]... --journal FILE\n");
    return status;
}

enum { SEEDS_MAX = 7 };

int main(int argc, char **argv)
{
    static const struct option known[] = { { "port", required_argument, NULL, 'p' },
                                           { "seed", required_argument, NULL, 's' },
                                           { "journal", required_argument, NULL, 'j' },
                                           { "help", no_argument, NULL, 'h' },
                                           { NULL, 0, NULL, 0 } };
    const char *seeds[SEEDS_MAX + 1] = { NULL };
    char journal[4096] = "";
    struct sherd_options options = { .name = "Merchants",
                                     .seed_nodes = seeds,
                                     .journal = journal,
                                     .config_text =
                                         "akka.cluster.sharding.remember-entities-store = eventsourced" };
    struct sherd_system *system = NULL;
    uint32_t seed_count = 0;
    int option, error;

    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (option == 'p')
            options.port = (uint16_t)strtoul(optarg, NULL, 10);
        else if (option == 's' && seed_count < SEEDS_MAX)
            seeds[seed_count++] = optarg;
        else if (option == 'j')
            snprintf(journal, sizeof journal, "%s%s", strncmp(optarg, "postgres:", 9) ? "sqlite:" : "",
                     optarg);
        else
            return option == 'h' ? usage(stdout, 0) : usage(stderr, 2);
    }
    if (optind != argc || !options.port || !*journal)
        return usage(stderr, 2);
    options.alone = !seed_count;
#ifdef WITH_POSTGRES
    (void)sherd_postgres_register(); /* the first call cannot fail */
#endif
    error = sherd_open(&system, &options);
    if (!error)
        error = run(system);
    if (error)
        fprintf(stderr, "merchant: %s\n", sherd_strerror(error));
    sherd_close(system);
    return error != 0;
}
