/* Makes commands of clients, repeats them, and carries them out in accounts. */
#include "sim/workload/workload_commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <sherd/delivery.h>

#include "base/check.h"
#include "base/vec.h"
#include "sim/check/check_delivery.h"
#include "sim/seed/streams.h"

#define LATEST 16 /* commands of a data center that are repeated */
#define ASK_MS_MAX 5000

/* A command; all zero: none. */
struct try {
    uint64_t number;
    uint64_t account;
    bool is_answered;
};

struct center {
    struct check_command *check;
    struct try tries[LATEST]; /* by number */
};

struct commands_load {
    struct rng rng;
    uint64_t last;   /* number of a command */
    uint64_t result; /* of the last execution */
    bool is_stopped;
    VEC(struct center *) centers;
};

struct commands_load *commands_load_new(uint64_t seed)
{
    struct commands_load *load = mem_alloc(sizeof *load);

    load->rng = stream_rng(seed, STREAM_COMMANDS, 0);
    return load;
}

void commands_load_free(struct commands_load *load)
{
    if (!load)
        return;
    for (uint32_t i = 0; i < load->centers.count; i++)
        mem_free(load->centers.items[i]);
    vec_fini(&load->centers);
    mem_free(load);
}

void commands_load_add(struct commands_load *load, struct check_command *check)
{
    struct center *center = mem_alloc(sizeof *center);

    center->check = check;
    vec_push(&load->centers, center);
}

void commands_load_stop(struct commands_load *load, bool is_stopped)
{
    load->is_stopped = is_stopped;
}

/* ---- clients ---- */

static struct try *open_try(struct center *center)
{
    for (uint32_t i = 0; i < LATEST; i++)
        if (center->tries[i].number && !center->tries[i].is_answered)
            return &center->tries[i];
    return NULL;
}

/* A new command, or one of the latest ones again. */
static const struct try *choose(struct commands_load *load, struct center *center, uint64_t accounts)
{
    struct try *try;

    if (load->is_stopped)
        return open_try(center);
    try = &center->tries[rng_below(&load->rng, LATEST)];
    if (try->number && rng_below(&load->rng, 3) > 0)
        return try;
    load->last++;
    try = &center->tries[load->last % LATEST];
    *try = (struct try){ .number = load->last, .account = rng_below(&load->rng, accounts) };
    return try;
}

void commands_load_act(struct commands_load *load, struct sherd_ctx *ctx, uint32_t center,
                       uint64_t accounts)
{
    const struct try *try = choose(load, load->centers.items[center], accounts);
    uint64_t time = 1 + rng_below(&load->rng, ASK_MS_MAX);
    char id[8];

    if (!try)
        return;
    (void)snprintf(id, sizeof id, "b%u", (unsigned)(try->account % 1000)); /* fits */
    sherd_entity_ask(ctx, DELIVERY_TYPE, id, COMMAND,
                     (struct sherd_bytes){ &try->number, sizeof try->number },
                     (uint32_t)try->number, load->is_stopped ? 2 * ASK_MS_MAX : time);
}

void commands_load_answered(struct commands_load *load, uint32_t center, const struct sherd_msg *msg)
{
    struct center *at = load->centers.items[center];
    struct try *try = &at->tries[msg->tag % LATEST];
    uint64_t result;

    if (msg->msg == COMMAND_DONE) {
        check(msg->body.size == sizeof result);
        memcpy(&result, msg->body.data, sizeof result);
        check_command_answered(at->check, msg->tag, result);
    } else {
        check_command_seen(at->check, msg->tag);
    }
    try->is_answered |= try->number == msg->tag;
}

bool commands_load_is_idle(const struct commands_load *load, uint32_t center, char *text, size_t size)
{
    const struct try *try = open_try(load->centers.items[center]);

    if (try)
        (void)snprintf(text, size, "command %" PRIu64 " to account b%" PRIu64 " has no answer",
                       try->number, try->account);
    return !try;
}

/* ---- accounts ---- */

/* Carries the command out, or fails before or after it has stored the effect. */
enum sherd_next commands_load_take(struct commands_load *load, struct sherd_ctx *ctx,
                                   const struct sherd_msg *msg)
{
    uint64_t draw = load->is_stopped ? 99 : rng_below(&load->rng, 100);
    struct command_effect effect;
    int known = sherd_once(ctx, msg->body);

    if (known == SHERD_ONCE_SEEN)
        sherd_reply(ctx, COMMAND_SEEN, (struct sherd_bytes){ NULL, 0 });
    if (known != SHERD_ONCE_NEW)
        return SHERD_CONTINUE;
    if (draw < 5)
        return SHERD_FAIL;
    check(msg->body.size == sizeof effect.command);
    memcpy(&effect.command, msg->body.data, sizeof effect.command);
    effect.result = ++load->result;
    sherd_persist(ctx, EFFECT_COMMAND, (struct sherd_bytes){ &effect, sizeof effect });
    if (check_command_replies(effect.command))
        sherd_reply(ctx, COMMAND_DONE, (struct sherd_bytes){ &effect.result, sizeof effect.result });
    return draw < 10 ? SHERD_FAIL : SHERD_CONTINUE;
}
