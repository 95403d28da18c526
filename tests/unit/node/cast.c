/* Implements the cast's behaviors and actions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cast.h"


struct cast cast;

struct entity {
    uint64_t given;
    uint64_t events;
    uint64_t stops;
};

static void answer(struct sherd_ctx *ctx, uint32_t msg, uint64_t value)
{
    sherd_reply(ctx, msg, (struct sherd_bytes){ &value, sizeof value });
}

static void numbered(const struct sherd_msg *msg)
{
    struct numbered body;

    memcpy(&body, msg->body.data, sizeof body);
    cast.numbered++;
    if (body.number != cast.last[body.sender][body.entity] + 1)
        cast.disorder++;
    if (body.number <= cast.last[body.sender][body.entity])
        cast.overtaken++;
    cast.last[body.sender][body.entity] = body.number;
}

static enum sherd_next understand(struct sherd_ctx *ctx, struct entity *entity,
                                  const struct sherd_msg *msg)
{
    switch ((enum cast_message)msg->msg) {
    case ECHO:
        answer(ctx, ECHO, sherd_self(ctx).node);
        break;
    case FAIL:
        return SHERD_FAIL;
    case STOP:
        return SHERD_STOP;
    case PASSIVATE:
        sherd_passivate(ctx);
        answer(ctx, PASSIVATE, entity->given);
        break;
    case QUIET:
        sherd_passivate(ctx);
        break;
    case STORE:
        sherd_persist(ctx, 1, (struct sherd_bytes){ "x", 1 });
        answer(ctx, STORE, entity->events);
        break;
    case COUNT:
        answer(ctx, COUNT, entity->given);
        break;
    case NUMBERED:
        numbered(msg);
        break;
    case FORWARD:
        sherd_forward(ctx, cast.forward_to);
        break;
    case END:
        cast.stop_messages++;
        sherd_timer(ctx, END, 50);
        break;
    case SILENT:
    case CALL:
        break;
    }
    return SHERD_CONTINUE;
}

static enum sherd_next entity_receive(struct sherd_ctx *ctx, void *self,
                                      const struct sherd_msg *msg)
{
    struct entity *entity = self;

    if (msg->kind == SHERD_STARTED)
        cast.started++;
    if (msg->kind == SHERD_TIMER && msg->tag == END)
        return SHERD_STOP;
    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    entity->given++;
    return understand(ctx, entity, msg);
}

static void entity_apply(void *self, uint32_t type, struct sherd_bytes event)
{
    struct entity *entity = self;

    (void)type;
    (void)event;
    entity->events++;
}

static void entity_release(void *self)
{
    (void)self;
    cast.ended++;
}

#define BEHAVIOR .state_size = sizeof(struct entity), \
                 .receive = entity_receive, .release = entity_release

const struct sherd_entity_type cast_types[CAST_TYPES] = {
    { .name = "E", .behavior = { .name = "e", BEHAVIOR } },
    { .name = "P",
      .behavior = { .name = "p", BEHAVIOR, .apply = entity_apply } },
    { .name = "S", .behavior = { .name = "s", BEHAVIOR }, .stop_msg = END },
    { .name = "R", .behavior = { .name = "r", BEHAVIOR }, .role = "host" },
};

/* ---- players ---- */

static void remember(struct player *player, const struct sherd_msg *msg)
{
    struct heard *heard = &player->heard[player->count % 64];

    player->count++;
    *heard = (struct heard){ .kind = msg->kind,
                             .msg = msg->msg,
                             .tag = msg->tag,
                             .reason = msg->reason,
                             .stage = msg->stage,
                             .sender = msg->sender };
    if (msg->body.size >= 8)
        memcpy(&heard->value, msg->body.data, 8);
    if (msg->where)
        (void)snprintf(heard->where, sizeof heard->where, "%s", msg->where);
    if (player->hears)
        player->hears(player, heard);
}

static enum sherd_next player_receive(struct sherd_ctx *ctx, void *self,
                                      const struct sherd_msg *msg)
{
    struct player **of = self;
    player_act *act;

    if (msg->kind == SHERD_STARTED) {
        memcpy(of, msg->body.data, sizeof *of);
        (*of)->ref = sherd_self(ctx);
    } else if (msg->kind == SHERD_MESSAGE && msg->msg == CALL) {
        memcpy(&act, msg->body.data, sizeof act);
        act(ctx, *of);
    } else if (msg->kind == SHERD_MESSAGE && msg->msg == STOP) {
        return SHERD_STOP;
    } else if (msg->kind == SHERD_UNDELIVERED && msg->msg == NUMBERED) {
        cast.undelivered++;
        remember(*of, msg);
    } else if (msg->kind != SHERD_STOPPING) {
        remember(*of, msg);
        if (msg->kind == SHERD_MESSAGE && msg->msg == ECHO)
            answer(ctx, ECHO, sherd_self(ctx).node);
    }
    return SHERD_CONTINUE;
}

void cast_begin(void)
{
    memset(&cast, 0, sizeof cast);
}

void player_spawn(struct player *player, struct world *world, uint32_t node,
                  uint32_t lane)
{
    static const struct sherd_behavior behavior = {
        .name = "player",
        .state_size = sizeof(struct player *),
        .receive = player_receive,
        .wants_undelivered = 1,
    };

    memset(player, 0, sizeof *player);
    player->world = world;
    player->node = node;
    world_spawn(world, node, lane, &behavior, &player, sizeof player);
    world_run(world, MS);
    assert_true(player->ref.actor || player->ref.node);
}

void player_do(struct player *player, player_act *act)
{
    world_tell(player->world, player->node, player->ref, CALL,
               (struct sherd_bytes){ &act, sizeof act });
    world_run(player->world, 100000);
}

static void ask(struct sherd_ctx *ctx, struct player *player)
{
    struct sherd_bytes none = { NULL, 0 };

    if (player->type)
        sherd_entity_ask(ctx, player->type, player->id, player->msg, none,
                         player->tag, player->timeout_ms);
    else
        sherd_ask(ctx, player->other, player->msg, none, player->tag,
                  player->timeout_ms);
}

void player_ask(struct player *player, const char *type, const char *id,
                uint32_t msg, uint64_t timeout_ms)
{
    player->type = type;
    player->id = id;
    player->msg = msg;
    player->timeout_ms = timeout_ms;
    player->tag++;
    player_do(player, ask);
}

static void tell(struct sherd_ctx *ctx, struct player *player)
{
    struct sherd_bytes none = { NULL, 0 };

    if (player->type)
        sherd_entity_tell(ctx, player->type, player->id, player->msg, none);
    else
        sherd_tell(ctx, player->other, player->msg, none);
}

void player_tell(struct player *player, const char *type, const char *id,
                 uint32_t msg)
{
    player->type = type;
    player->id = id;
    player->msg = msg;
    player_do(player, tell);
}

const struct heard *player_last(const struct player *player)
{
    return player->count ? &player->heard[(player->count - 1) % 64] : NULL;
}

static bool has_heard(struct world *world, void *arg)
{
    struct player *player = arg;

    (void)world;
    return player->count != 0;
}

const struct heard *player_hears(struct player *player, uint64_t limit)
{
    return world_until(player->world, has_heard, player, limit)
               ? player_last(player)
               : NULL;
}

uint64_t player_asks(struct player *player, const char *type, const char *id,
                     uint32_t msg)
{
    const struct heard *heard;

    player->count = 0;
    player_ask(player, type, id, msg, 10000);
    heard = player_hears(player, 11 * SECOND);
    assert_non_null(heard);
    if (heard->kind != SHERD_ANSWER)
        print_message("ask of %s/%s: %s, %s\n", type ? type : "-",
                      id ? id : "-", sherd_reason_text(heard->reason),
                      sherd_stage_text(heard->stage));
    assert_int_equal(heard->kind, SHERD_ANSWER);
    assert_int_equal(heard->msg, msg);
    assert_int_equal(heard->tag, player->tag);
    return heard->value;
}

struct world_settings cast_settings(uint64_t seed)
{
    return (struct world_settings){ .seed = seed, .keep_lines = true };
}

struct world *cast_new(uint64_t seed)
{
    struct world_settings settings = cast_settings(seed);

    return world_new(&settings);
}

struct world *cast_world(uint64_t seed, uint32_t count, uint32_t lanes)
{
    struct world *world = cast_new(seed);

    cast_begin();
    for (uint32_t i = 0; i < count; i++) {
        struct node_settings settings =
            world_node_settings(world, i, cast_types, CAST_TYPES);
        static const char *const roles[] = { "host" };

        settings.lanes = lanes;
        settings.roles = roles;
        settings.role_count = i == 0;
        world_start(world, i, &settings);
    }
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    return world;
}

uint64_t cast_running(struct world *world, uint32_t type)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < world_node_count(world); i++) {
        struct sherd_status status;

        if (!world_node(world, i)->node)
            continue;
        status = world_status(world, i);
        sum += status.types[type].entities_here;
        world_status_fini(&status);
    }
    return sum;
}

struct awaited {
    uint32_t type;
    uint64_t count;
};

static bool are_running(struct world *world, void *arg)
{
    const struct awaited *awaited = arg;

    return cast_running(world, awaited->type) == awaited->count;
}

void cast_await_running(struct world *world, uint32_t type, uint64_t count)
{
    struct awaited awaited = { type, count };

    if (!world_until(world, are_running, &awaited, 90 * SECOND))
        fail_msg("%llu run, not %llu",
                 (unsigned long long)cast_running(world, type),
                 (unsigned long long)count);
    world_run(world, 3 * SECOND);
    assert_int_equal(cast_running(world, type), count);
}

void cast_wake(struct world *world, const char *type, uint32_t count)
{
    struct player player;
    char id[16];

    player_spawn(&player, world, 0, 0);
    for (uint32_t i = 0; i < count; i++) {
        (void)snprintf(id, sizeof id, "e%u", i);
        (void)player_asks(&player, type, id, ECHO);
    }
}

uint32_t cast_home(struct player *player, const char *type, const char *id)
{
    uint64_t uid = player_asks(player, type, id, ECHO);

    for (uint32_t i = 0; i < world_node_count(player->world); i++)
        if (world_node(player->world, i)->settings.identity.node.uid == uid)
            return i;
    fail();
    return 0;
}

const char *cast_id_at(struct player *player, const char *type, uint32_t node)
{
    static char ids[CAST_ENTITIES][8];

    for (uint32_t i = 0; i < CAST_ENTITIES; i++) {
        (void)snprintf(ids[i], sizeof ids[i], "e%u", i);
        if (cast_home(player, type, ids[i]) == node)
            return ids[i];
    }
    fail();
    return NULL;
}
