/* Runs accounts that deliver to each other, and tellers that tell them to. */
#include "sim/workload/workload_delivery.h"

#include <stdio.h>

#include <sherd/sherd.h>

#include "base/check.h"
#include "base/vec.h"
#include "sim/seed/streams.h"
#include "sim/workload/workload_commands.h"
#include "sim/world/verdict.h"

#define TICK 1
#define ACCOUNTS 10
#define SAVE_EVERY 7
#define LATER_MS 3000   /* most until a delivery is confirmed later */
#define SHORT_TTL_MS 8000
#define WAKE_MS 500     /* between two acts of a teller that only wakes */
#define REFUSED 3       /* of 100 calls of an account store an event last that is refused */

enum { PAY = 1, MONEY, WAKE };

struct pay {
    uint64_t to;
    uint64_t ttl_ms; /* 0: none */
};

struct delivery_load {
    struct delivery_load_settings settings;
    struct world *world;
    struct rng rng;
    struct rng refusals;
    VEC(struct check_delivery *) checks; /* one for each journal */
    struct commands_load *commands;
    struct sherd_entity_type *types; /* of the nodes */
    bool is_stopped;
};

static struct delivery_load *current;

/* ---- accounts ---- */

struct account {
    uint64_t number;
    struct sherd_delivery later; /* to confirm at TICK */
};

static char *name_of(char text[8], uint64_t number)
{
    (void)snprintf(text, 8, "b%u", (unsigned)(number % ACCOUNTS)); /* fits */
    return text;
}

static void apply(void *self, uint32_t type, struct sherd_bytes event)
{
    (void)self;
    check(type >= EFFECT_TAKEN && type <= EFFECT_COMMAND &&
          event.size == (type == EFFECT_COMMAND ? sizeof(struct command_effect)
                                                : sizeof(struct delivery_effect)));
}

/* The state has nothing but what the library keeps. */
static int save(const void *self, struct sherd_out *out)
{
    (void)self;
    sherd_out_put(out, (struct sherd_bytes){ "account", 7 });
    return 0;
}

static int load_image(void *self, uint32_t version, struct sherd_bytes image)
{
    (void)self;
    return version != 0 || image.size != 7;
}

static void store(struct sherd_ctx *ctx, enum delivery_effect_kind kind, uint64_t sender,
                  uint64_t number)
{
    const struct delivery_effect effect = { number, sender };

    sherd_persist(ctx, kind, (struct sherd_bytes){ &effect, sizeof effect });
}

static void pay(struct sherd_ctx *ctx, const struct account *account, const struct sherd_msg *msg)
{
    struct pay order;
    char to[8];
    uint64_t number;

    memcpy(&order, msg->body.data, sizeof order);
    number = sherd_deliver(ctx, DELIVERY_TYPE, name_of(to, order.to), MONEY,
                           (struct sherd_bytes){ "cent", 4 }, order.ttl_ms);
    if (number)
        store(ctx, EFFECT_TAKEN, account->number, number);
}

static uint64_t sender_of(const struct sherd_delivery *delivery)
{
    uint64_t number;

    check(check_delivery_account(slice_text(delivery->id), &number));
    return number;
}

/* Handles a delivery at once, later, or fails before or after it has stored the effect. */
static enum sherd_next take(struct sherd_ctx *ctx, struct account *account)
{
    uint64_t draw = current->is_stopped ? 99 : rng_below(&current->rng, 100);
    struct sherd_delivery delivery;

    if (!sherd_delivery_get(ctx, &delivery) || draw < 5)
        return SHERD_FAIL;
    if (draw < 20 && !account->later.number) {
        check(sherd_confirm_later(ctx, &account->later));
        sherd_timer(ctx, TICK, 1 + rng_below(&current->rng, LATER_MS));
        return SHERD_CONTINUE;
    }
    store(ctx, EFFECT_GIVEN, sender_of(&delivery), delivery.number);
    return draw < 25 ? SHERD_FAIL : SHERD_CONTINUE;
}

static enum sherd_next handle(struct sherd_ctx *ctx, struct account *account,
                              const struct sherd_msg *msg)
{
    struct sherd_bytes id = sherd_id(ctx);

    switch (msg->kind) {
    case SHERD_STARTED:
        check(check_delivery_account(slice_of(id.data, id.size), &account->number));
        break;
    case SHERD_MESSAGE:
        if (msg->msg == PAY)
            pay(ctx, account, msg);
        else if (msg->msg == MONEY)
            return take(ctx, account);
        else if (msg->msg == COMMAND)
            return commands_load_take(current->commands, ctx, msg);
        break;
    case SHERD_TIMER:
        store(ctx, EFFECT_GIVEN, sender_of(&account->later), account->later.number);
        sherd_confirm(ctx, &account->later);
        break;
    case SHERD_DELIVERY:
        if (msg->msg == SHERD_DELIVERY_EXPIRED)
            store(ctx, EFFECT_RETURNED, account->number, sherd_delivery_number(msg));
        break;
    default:
        break;
    }
    return SHERD_CONTINUE;
}

/* Nothing of a call may be stored if its last event is refused. */
static enum sherd_next account_receive(struct sherd_ctx *ctx, void *self,
                                       const struct sherd_msg *msg)
{
    enum sherd_next next = handle(ctx, self, msg);

    if (msg->kind != SHERD_STARTED && !current->is_stopped &&
        rng_below(&current->refusals, 100) < REFUSED)
        sherd_persist(ctx, SHERD_NUMBERS_END, (struct sherd_bytes){ NULL, 0 });
    return next;
}

/* ---- tellers ---- */

struct teller {
    uint32_t center;
};

static void act(struct sherd_ctx *ctx, const struct teller *teller)
{
    struct rng *rng = &current->rng;
    uint64_t most = current->is_stopped ? WAKE_MS : 2 * current->settings.interval_ms;
    bool pays = !current->is_stopped && rng_below(rng, 4) > 0;
    struct pay order = { .to = rng_below(rng, ACCOUNTS) };
    char id[8];

    sherd_timer(ctx, TICK, 1 + rng_below(rng, most));
    if (!rng_below(rng, 4))
        order.ttl_ms = 1 + rng_below(rng, SHORT_TTL_MS);
    sherd_entity_tell(ctx, DELIVERY_TYPE, name_of(id, rng_below(rng, ACCOUNTS)), pays ? PAY : WAKE,
                      (struct sherd_bytes){ &order, sizeof order });
    commands_load_act(current->commands, ctx, teller->center, ACCOUNTS);
}

static enum sherd_next teller_receive(struct sherd_ctx *ctx, void *self,
                                      const struct sherd_msg *msg)
{
    struct teller *teller = self;

    if (msg->kind == SHERD_STARTED) {
        memcpy(teller, msg->body.data, sizeof *teller);
        sherd_timer(ctx, TICK, 1);
    } else if (msg->kind == SHERD_TIMER) {
        act(ctx, teller);
    } else if (msg->kind == SHERD_ANSWER) {
        commands_load_answered(current->commands, teller->center, msg);
    }
    return SHERD_CONTINUE;
}

static void node_started(void *user, uint32_t node, uint64_t uid)
{
    static const struct sherd_behavior behavior = { .name = "teller",
                                                    .state_size = sizeof(struct teller),
                                                    .receive = teller_receive };
    struct delivery_load *load = user;
    const struct teller teller = { .center = node % load->checks.count };

    (void)uid;
    world_spawn(load->world, node, node % world_node(load->world, node)->settings.lanes, &behavior,
                &teller, sizeof teller);
}

/* ---- lifetime ---- */

struct delivery_load *delivery_load_new(struct world *world,
                                        const struct delivery_load_settings *settings)
{
    struct delivery_load *load = mem_alloc(sizeof *load);
    struct world_observer observer = { .user = load, .node_started = node_started };

    check(!current);
    load->settings = *settings;
    if (!load->settings.interval_ms)
        load->settings.interval_ms = 1000;
    load->world = world;
    load->rng = stream_rng(world_seed(world), STREAM_DELIVERY, 0);
    load->refusals = stream_rng(world_seed(world), STREAM_DELIVERY, 1);
    load->commands = commands_load_new(world_seed(world));
    for (uint32_t i = 0; i < world_store_count(world); i++) {
        struct check_delivery *check = check_delivery_new(world_verdict(world));
        struct disk_backend_observer stored = check_delivery_observer(check);

        check_command_window(check_delivery_commands(check), settings->commands_max,
                             settings->commands_age_ms);
        commands_load_add(load->commands, check_delivery_commands(check));
        vec_push(&load->checks, check);
        world_store_observe(world, i, &stored);
    }
    world_observe(world, &observer);
    current = load;
    return load;
}

const struct sherd_entity_type *delivery_load_types(struct delivery_load *load,
                                                    const struct sherd_entity_type *types,
                                                    uint32_t count)
{
    load->types = mem_alloc((count + 1) * sizeof *types);
    if (count)
        memcpy(load->types, types, count * sizeof *types);
    load->types[count] = (struct sherd_entity_type){
        .name = DELIVERY_TYPE,
        .behavior = { .name = "sim-account",
                      .state_size = sizeof(struct account),
                      .receive = account_receive,
                      .apply = apply,
                      .save = save,
                      .load = load_image,
                      .save_every = SAVE_EVERY },
        .shards = load->settings.shards,
    };
    return load->types;
}

void delivery_load_set_shards(struct delivery_load *load, uint32_t count, uint32_t shards)
{
    for (uint32_t i = 0; i < count; i++)
        load->types[i].shards = shards;
}

void delivery_load_free(struct delivery_load *load)
{
    if (!load)
        return;
    for (uint32_t i = 0; i < load->checks.count; i++)
        check_delivery_free(load->checks.items[i]);
    vec_fini(&load->checks);
    commands_load_free(load->commands);
    mem_free(load->types);
    mem_free(load);
    current = NULL;
}

/* ---- a run ---- */

void delivery_load_stop(struct delivery_load *load)
{
    load->is_stopped = true;
    commands_load_stop(load->commands, true);
}

void delivery_load_resume(struct delivery_load *load)
{
    load->is_stopped = false;
    commands_load_stop(load->commands, false);
}

/* Whether a node runs in the data center of a journal: the faults may have ended all of them. */
static bool has_nodes(const struct delivery_load *load, uint32_t center)
{
    uint32_t centers = load->checks.count;

    for (uint32_t i = center; i < world_node_count(load->world); i += centers)
        if (world_node(load->world, i)->node)
            return true;
    return false;
}

bool delivery_load_has_ended(const struct delivery_load *load, char *text, size_t size)
{
    for (uint32_t i = 0; i < load->checks.count; i++)
        if (has_nodes(load, i) && !check_delivery_has_ended(load->checks.items[i], text, size))
            return false;
    return true;
}

bool delivery_load_commands_end(const struct delivery_load *load, char *text, size_t size)
{
    for (uint32_t i = 0; i < load->checks.count; i++)
        if (has_nodes(load, i) && !commands_load_is_idle(load->commands, i, text, size))
            return false;
    return true;
}

struct check_command_counts delivery_load_command_counts(const struct delivery_load *load)
{
    struct check_command_counts sum = { 0 };

    for (uint32_t i = 0; i < load->checks.count; i++) {
        struct check_command_counts more =
            check_command_counts(check_delivery_commands(load->checks.items[i]));

        sum.stored += more.stored;
        sum.again += more.again;
        sum.answered += more.answered;
        sum.seen += more.seen;
    }
    return sum;
}

struct check_delivery_counts delivery_load_counts(const struct delivery_load *load)
{
    struct check_delivery_counts sum = { 0 };

    for (uint32_t i = 0; i < load->checks.count; i++) {
        struct check_delivery_counts more = check_delivery_counts(load->checks.items[i]);

        sum.deliveries += more.deliveries;
        sum.handled += more.handled;
        sum.expired += more.expired;
        sum.given_up += more.given_up;
    }
    return sum;
}
