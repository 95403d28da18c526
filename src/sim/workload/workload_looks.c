/* Implements workload_looks.h. */
#include "sim/workload/workload_looks.h"

#include <stdio.h>

#include "base/check.h"
#include "base/rng.h"
#include "base/timers.h"
#include "base/vec.h"
#include "member/member.h"
#include "node/mail/look_call.h"
#include "sim/seed/streams.h"

#define OPEN_MAX 64 /* of the whole world */
#define IDS 40      /* entities of the other workload have such ids */

/* A look, until it ends or its node does. */
struct pending {
    uint64_t number;
    uint32_t node;
    uint32_t life;
};

/* A page that has a next one. */
struct page_left {
    uint32_t node;
    uint32_t life;
    enum sherd_look_kind kind;
    uint8_t bytes[SHERD_LOOK_CURSOR_MAX];
    size_t size; /* 0: none */
};

struct look_load {
    struct look_load_settings settings;
    struct world *world;
    struct check_looks *check;
    struct rng rng;
    VEC(struct pending) pending;
    struct page_left left;
    VEC(uint64_t) uids; /* scratch */
    uint64_t number;
    bool is_stopped;
};

static uint64_t harm_to(const struct look_load *load, uint32_t node)
{
    struct world_harm harm = world_harm(load->world, node);

    return harm.held + harm.slow_turns;
}

static void list_members(struct look_load *load, uint32_t node)
{
    struct node *running = world_node(load->world, node)->node;
    const struct member *member = machine_membership(node_machine(running, 0));

    load->uids.count = 0;
    for (uint32_t i = 0; member && i < member_count(member); i++)
        vec_push(&load->uids, member_at(member, i)->profile->uid);
}

/* ---- the begin ---- */

static const char *draw_order(struct look_load *load, enum sherd_look_kind kind)
{
    uint32_t count;
    const struct sherd_look_column *columns = sherd_look_columns(kind, &count);
    const struct sherd_look_column *column = &columns[rng_below(&load->rng, count)];

    return column->can_order ? column->name : NULL;
}

static void begin(struct look_load *load, uint32_t node, enum sherd_look_kind kind,
                  const struct sherd_look_options *options)
{
    const struct world_node *place = world_node(load->world, node);
    struct check_looks_begin begun = {
        .number = ++load->number,
        .node = node,
        .now = world_now(load->world),
        .within = (uint64_t)options->timeout_ms * MS,
        .harm = harm_to(load, node),
        .count = options->count,
        .is_whole = !options->cursor.size,
    };
    struct look_call *call;

    list_members(load, node);
    begun.uids = load->uids.items;
    begun.uid_count = load->uids.count;
    check(look_call_new(kind, options, &call) == 0);
    call->number = load->number;
    check_looks_begun(load->check, &begun);
    vec_push(&load->pending, ((struct pending){ load->number, node, place->life }));
    world_look(load->world, node, call);
}

static void look(struct look_load *load, uint32_t node)
{
    uint64_t kind = rng_below(&load->rng, SHERD_LOOK_KIND_COUNT);
    uint64_t type = rng_below(&load->rng, 2ull * load->settings.type_count + 1);
    struct sherd_look_options options = {
        .count = 1 + (uint32_t)rng_below(&load->rng, 300),
        .timeout_ms = 100 + (uint32_t)rng_below(&load->rng, 10000),
    };
    char id[16];

    if (load->left.size && load->left.node == node &&
        load->left.life == world_node(load->world, node)->life) {
        options.cursor = (struct sherd_bytes){ load->left.bytes, load->left.size };
        kind = load->left.kind;
        load->left.size = 0;
    }
    if (kind == SHERD_LOOK_ENTITY && !load->settings.type_count)
        kind = SHERD_LOOK_NODES;
    if (type < load->settings.type_count)
        options.type = load->settings.types[type].name;
    if (kind == SHERD_LOOK_ENTITY) {
        (void)snprintf(id, sizeof id, "%u", (unsigned)rng_below(&load->rng, IDS));
        options.entity = id;
        options.type = load->settings.types[type % load->settings.type_count].name;
    }
    options.order = draw_order(load, (enum sherd_look_kind)kind);
    begin(load, node, (enum sherd_look_kind)kind, &options);
}

static void cancel_one(struct look_load *load)
{
    const struct pending *pending =
        &load->pending.items[rng_below(&load->rng, load->pending.count)];

    check_looks_cancelled(load->check, pending->number);
    world_look_cancel(load->world, pending->node, pending->number);
}

static bool is_running(const struct look_load *load, uint32_t node)
{
    const struct world_node *place = world_node(load->world, node);

    return place->node && !place->is_paused;
}

static void act_later(struct look_load *load);

static void act(struct world *world, void *arg)
{
    struct look_load *load = arg;
    uint32_t nodes = world_node_count(world);
    uint32_t node = nodes ? (uint32_t)rng_below(&load->rng, nodes) : 0;

    for (uint32_t i = 0; i < nodes; i++)
        if (is_running(load, i))
            check_looks_at(load->check, world_now(world), i, harm_to(load, i));
    if (!load->is_stopped && nodes && is_running(load, node)) {
        if (load->pending.count < OPEN_MAX)
            look(load, node);
        if (load->pending.count && rng_below(&load->rng, 8) == 0)
            cancel_one(load);
    }
    act_later(load);
}

static void act_later(struct look_load *load)
{
    world_at(load->world,
             world_now(load->world) +
                 (1 + rng_below(&load->rng, 2 * load->settings.interval_ms)) * MS,
             act, load);
}

/* ---- reports of the world ---- */

static void forget(struct look_load *load, uint32_t node, uint64_t number)
{
    for (uint32_t i = load->pending.count; i-- > 0;)
        if (load->pending.items[i].node == node &&
            (!number || load->pending.items[i].number == number))
            vec_remove(&load->pending, i);
}

static void looked(void *user, uint32_t node, struct look_call *call)
{
    struct look_load *load = user;
    struct sherd_look_page page;
    struct check_looks_end end = { .number = call->number, .node = node, .result = call->result };

    list_members(load, node);
    end.uids = load->uids.items;
    end.uid_count = load->uids.count;
    if (!call->result) {
        gather_page(call->gather, &page);
        end.page = &page;
        end.bytes = gather_bytes(call->gather);
        end.asked = gather_asked(call->gather);
        load->left = (struct page_left){ .node = node,
                                         .life = world_node(load->world, node)->life,
                                         .kind = call->kind,
                                         .size = page.next.size };
        memcpy(load->left.bytes, page.next.data, page.next.size);
    }
    check_looks_ended(load->check, &end);
    forget(load, node, call->number);
}

static void node_ended(void *user, uint32_t node, bool crashed, int error)
{
    struct look_load *load = user;

    (void)crashed;
    (void)error;
    check_looks_node_ended(load->check, node);
    forget(load, node, 0);
}

/* ---- a run ---- */

struct look_load *look_load_new(struct world *world, const struct look_load_settings *settings)
{
    struct look_load *load = mem_alloc(sizeof *load);
    const struct world_observer observer = { .user = load,
                                             .node_ended = node_ended,
                                             .looked = looked };

    load->settings = *settings;
    load->world = world;
    load->check = check_looks_new(world_verdict(world));
    load->rng = stream_rng(world_seed(world), STREAM_LOOKS, 0);
    world_observe(world, &observer);
    act_later(load);
    return load;
}

void look_load_free(struct look_load *load)
{
    if (!load)
        return;
    check_looks_free(load->check);
    vec_fini(&load->pending);
    vec_fini(&load->uids);
    mem_free(load);
}

void look_load_stop(struct look_load *load)
{
    load->is_stopped = true;
}

void look_load_resume(struct look_load *load)
{
    load->is_stopped = false;
}

bool look_load_idle(const struct look_load *load)
{
    return check_looks_open(load->check) == 0;
}

struct check_looks_counts look_load_counts(const struct look_load *load)
{
    return check_looks_counts(load->check);
}
