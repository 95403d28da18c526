/* Implements sherd/daemon.h: the entity type, and the coordinator, a singleton that starts missing
 * daemons and changes their count. */
#include <sherd/daemon.h>

#include <sherd/ddata.h>
#include <sherd/extractor.h>
#include <sherd/singleton.h>

#include <stdio.h>

#include "actor/actors.h"
#include "actor/services.h"
#include "base/check.h"
#include "base/daemon_id.h"
#include "base/limits.h"
#include "base/mark.h"
#include "base/vec.h"
#include "services/daemons_state.h"

enum { SET_COUNT = 1 }; /* the message to the coordinator; body: u32 */
enum { TIMER_PING = 1, TIMER_AGAIN };
enum { TAG_DATA = 1 };

#define AGAIN_MS 1000 /* after a failed read or write */
#define END_ROUND_MS 250 /* between two requests to a daemon that ends */
#define END_TIMEOUT_MS 5000

static const struct sherd_consistency majority = { SHERD_MAJORITY, 0, 5000 };
static const struct sherd_bytes none = { NULL, 0 };

/* The coordinator is started with it. */
struct daemons_start {
    char type[SHERD_TYPE_MAX + 1]; /* also the key of the state */
    uint32_t count;
    uint64_t keep_alive_ms;
};

enum phase {
    PHASE_READING,
    PHASE_RUNNING,
    PHASE_WRITING,   /* the new count */
    PHASE_ENDING,    /* the former daemons */
    PHASE_COMPLETING /* the new count is written as complete */
};

struct text {
    char at[DAEMONS_STATE_MAX];
};

struct coordinator {
    struct daemons_start start;
    enum phase phase;
    struct daemons_state state;
    VEC(struct text) stored; /* states in the set that the next write replaces */
    struct sherd_question asker; /* of the present change */
    uint32_t ping; /* the next daemon to start in this round */
    uint8_t *ended; /* ENDING: for each former daemon, 1: it has ended */
    uint32_t open;  /* ENDING: asks of this round */
    uint32_t left;  /* ENDING: daemons that have not ended */
};

/* ---- starting daemons ---- */

static void ping(struct coordinator *coordinator, struct sherd_ctx *ctx)
{
    struct daemon_id id = { coordinator->state.revision, coordinator->state.count, 0 };
    char text[DAEMON_ID_MAX];

    for (uint32_t i = 0; i < DAEMON_PINGS_MAX && coordinator->ping < id.count; i++) {
        id.number = coordinator->ping++;
        daemon_id_put(text, &id);
        sherd_entity_start(ctx, coordinator->start.type, text);
    }
    if (coordinator->ping < id.count) {
        sherd_timer(ctx, TIMER_PING, DAEMON_PING_PAUSE_MS);
        return;
    }
    coordinator->ping = 0;
    sherd_timer(ctx, TIMER_PING, coordinator->start.keep_alive_ms);
}

static void run(struct coordinator *coordinator, struct sherd_ctx *ctx)
{
    coordinator->phase = PHASE_RUNNING;
    coordinator->ping = 0;
    ping(coordinator, ctx);
    if (coordinator->asker.asker.actor || coordinator->asker.asker.node)
        sherd_answer(ctx, &coordinator->asker, SHERD_DAEMONS_CHANGED, none);
}

/* ---- the stored state ---- */

static void read_state(struct coordinator *coordinator, struct sherd_ctx *ctx)
{
    coordinator->phase = PHASE_READING;
    sherd_data_get(ctx, coordinator->start.type, &majority, TAG_DATA);
}

/* Adds the state, and removes those that it replaces. */
static void write_state(struct coordinator *coordinator, struct sherd_ctx *ctx)
{
    struct sherd_change changes[DAEMON_STATES_MAX + 1];
    uint32_t count = 0;
    char text[DAEMONS_STATE_MAX];

    daemons_state_put(text, &coordinator->state);
    for (uint32_t i = 0; i < coordinator->stored.count && count < DAEMON_STATES_MAX; i++)
        if (strcmp(coordinator->stored.items[i].at, text) != 0)
            changes[count++] = (struct sherd_change){
                .verb = SHERD_REMOVE, .item = sherd_text(coordinator->stored.items[i].at)
            };
    changes[count++] = (struct sherd_change){ .verb = SHERD_ADD, .item = sherd_text(text) };
    sherd_data_update(ctx, coordinator->start.type, SHERD_OR_SET, changes, count, &majority,
                      TAG_DATA);
}

static void remember_text(struct coordinator *coordinator, const char *from, size_t size)
{
    struct text text = { { 0 } };

    memcpy(text.at, from, size);
    vec_push(&coordinator->stored, text);
}

static void take_state(struct coordinator *coordinator, const struct sherd_msg *msg)
{
    struct sherd_value *value = sherd_data_value(msg);
    struct sherd_item item;
    struct daemons_state state;
    uint32_t at = 0;

    coordinator->stored.count = 0;
    coordinator->state = (struct daemons_state){ 0, coordinator->start.count, 0, true };
    while (value && sherd_value_next(value, &at, &item)) {
        if (item.kind != SHERD_ITEM_TEXT || item.text.size >= DAEMONS_STATE_MAX ||
            !daemons_state_read(slice_of(item.text.data, item.text.size), &state) ||
            state.count > SHERD_DAEMONS_COUNT_MAX || state.former > SHERD_DAEMONS_COUNT_MAX)
            continue;
        daemons_state_merge(&coordinator->state, &state);
        remember_text(coordinator, item.text.data, item.text.size);
    }
    sherd_value_free(value);
}

/* ---- ending the former daemons ---- */

static void end_round(struct coordinator *coordinator, struct sherd_ctx *ctx)
{
    struct daemon_id id = { coordinator->state.revision - 1, coordinator->state.former, 0 };
    char text[DAEMON_ID_MAX];

    for (; id.number < id.count; id.number++) {
        if (coordinator->ended[id.number])
            continue;
        daemon_id_put(text, &id);
        coordinator->open++;
        sherd_entity_ask(ctx, coordinator->start.type, text, DAEMON_END, none, id.number,
                         END_TIMEOUT_MS);
    }
}

static void end_former(struct coordinator *coordinator, struct sherd_ctx *ctx)
{
    coordinator->phase = PHASE_ENDING;
    mem_free(coordinator->ended);
    coordinator->ended = mem_alloc(coordinator->state.former + 1);
    coordinator->left = coordinator->state.former;
    coordinator->open = 0;
    end_round(coordinator, ctx);
}

static void complete(struct coordinator *coordinator, struct sherd_ctx *ctx)
{
    coordinator->phase = PHASE_COMPLETING;
    coordinator->state.is_complete = true;
    write_state(coordinator, ctx);
}

static void ended(struct coordinator *coordinator, struct sherd_ctx *ctx,
                  const struct sherd_msg *msg)
{
    if (coordinator->phase != PHASE_ENDING || msg->tag >= coordinator->state.former)
        return;
    coordinator->open--;
    if (msg->kind == SHERD_ANSWER && msg->msg == DAEMON_ENDED && !coordinator->ended[msg->tag]) {
        coordinator->ended[msg->tag] = 1;
        coordinator->left--;
    }
    if (coordinator->open)
        return;
    if (coordinator->left)
        sherd_timer(ctx, TIMER_AGAIN, END_ROUND_MS);
    else
        complete(coordinator, ctx);
}

/* ---- the state was read or written ---- */

static void proceed(struct coordinator *coordinator, struct sherd_ctx *ctx)
{
    if (!coordinator->state.is_complete)
        end_former(coordinator, ctx);
    else
        run(coordinator, ctx);
}

static void data(struct coordinator *coordinator, struct sherd_ctx *ctx,
                 const struct sherd_msg *msg)
{
    char text[DAEMONS_STATE_MAX];

    if (msg->tag != TAG_DATA)
        return;
    if (coordinator->phase == PHASE_READING &&
        (msg->msg == SHERD_DATA_FOUND || msg->msg == SHERD_DATA_NOT_FOUND)) {
        take_state(coordinator, msg);
        proceed(coordinator, ctx);
        return;
    }
    if (coordinator->phase != PHASE_READING && msg->msg == SHERD_DATA_UPDATED) {
        daemons_state_put(text, &coordinator->state);
        coordinator->stored.count = 0;
        remember_text(coordinator, text, strlen(text));
        proceed(coordinator, ctx);
        return;
    }
    REACHED("the count of daemons was not read or written in time");
    sherd_timer(ctx, TIMER_AGAIN, AGAIN_MS);
}

static void again(struct coordinator *coordinator, struct sherd_ctx *ctx)
{
    switch (coordinator->phase) {
    case PHASE_READING:
        read_state(coordinator, ctx);
        break;
    case PHASE_WRITING:
    case PHASE_COMPLETING:
        write_state(coordinator, ctx);
        break;
    case PHASE_ENDING:
        end_round(coordinator, ctx);
        break;
    case PHASE_RUNNING:
        break;
    }
}

/* ---- a change of the count ---- */

static void set_count(struct coordinator *coordinator, struct sherd_ctx *ctx,
                      const struct sherd_msg *msg)
{
    struct daemons_state *state = &coordinator->state;
    uint32_t count = 0;

    if (msg->body.size == sizeof count)
        memcpy(&count, msg->body.data, sizeof count);
    if (!count || count > SHERD_DAEMONS_COUNT_MAX || coordinator->phase != PHASE_RUNNING ||
        state->revision == UINT32_MAX) {
        sherd_reply(ctx, SHERD_DAEMONS_REFUSED, none);
        return;
    }
    if (count == state->count) {
        sherd_reply(ctx, SHERD_DAEMONS_CHANGED, none);
        return;
    }
    coordinator->asker = sherd_reply_later(ctx);
    sherd_timer_cancel(ctx, TIMER_PING);
    *state = (struct daemons_state){ state->revision + 1, count, state->count, false };
    coordinator->phase = PHASE_WRITING;
    sherd_log(ctx, SHERD_LOG_INFO, "number of daemons changes type=%s count=%u former=%u",
              coordinator->start.type, count, state->former);
    write_state(coordinator, ctx);
}

/* ---- the coordinator ---- */

static enum sherd_next receive(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    struct coordinator *coordinator = self;

    switch (msg->kind) {
    case SHERD_STARTED:
        memcpy(&coordinator->start, msg->body.data, sizeof coordinator->start);
        read_state(coordinator, ctx);
        break;
    case SHERD_DATA:
        data(coordinator, ctx, msg);
        break;
    case SHERD_TIMER:
        if (msg->tag == TIMER_AGAIN)
            again(coordinator, ctx);
        else if (coordinator->phase == PHASE_RUNNING)
            ping(coordinator, ctx);
        break;
    case SHERD_ANSWER:
    case SHERD_NO_ANSWER:
        ended(coordinator, ctx, msg);
        break;
    case SHERD_MESSAGE:
        if (msg->msg == SET_COUNT)
            set_count(coordinator, ctx, msg);
        break;
    default:
        break;
    }
    return SHERD_CONTINUE;
}

static void release(void *self)
{
    struct coordinator *coordinator = self;

    vec_fini(&coordinator->stored);
    mem_free(coordinator->ended);
}

/* ---- the public calls ---- */

/* Each daemon has a shard of its own, named by its number: shards are spread evenly. */
static int name_shard(void *user, const struct sherd_extracted *message,
                      char shard[SHERD_SHARD_MAX + 1])
{
    struct daemon_id id;

    (void)user;
    if (!daemon_id_parse(slice_text(message->id), &id))
        return 0;
    daemon_id_put(shard, &(struct daemon_id){ 0, 0, id.number });
    return 1;
}

_Static_assert(DAEMON_ID_MAX <= SHERD_SHARD_MAX, "the number of a daemon fits");

SHERD_API int sherd_daemons_type(const struct sherd_daemons *daemons,
                                 struct sherd_daemons_type *type)
{
    static const struct sherd_extractor extractor = { .shard = name_shard };
    size_t size = daemons->name ? strlen(daemons->name) : 0;

    *type = (struct sherd_daemons_type){ { 0 }, { 0 } };
    if (!size || size > SHERD_DAEMONS_NAME_MAX || !daemons->behavior.receive ||
        !actor_name_is_valid(slice_text(daemons->name)) || !daemons->count ||
        daemons->count > SHERD_DAEMONS_COUNT_MAX)
        return SHERD_EINVAL;
    (void)snprintf(type->name, sizeof type->name, DAEMON_TYPE "%s", daemons->name); /* fits */
    type->type = (struct sherd_entity_type){
        .name = type->name,
        .behavior = daemons->behavior,
        .role = daemons->role,
        .shards = SHERD_DAEMONS_COUNT_MAX,
        .extractor = &extractor,
        .allocation = "least-shard",
        .stop_msg = daemons->stop_msg,
        .idle_ms = UINT64_MAX,
        .remember = -1,
    };
    return 0;
}

SHERD_API int sherd_daemons_open(struct sherd_ctx *ctx, const struct sherd_daemons *daemons,
                                 struct sherd_ref *ref)
{
    const struct service_defaults *defaults = actors_service_defaults(ctx);
    uint64_t configured = defaults->keep_alive_ms;
    const char *role = defaults->daemon_role ? defaults->daemon_role : "";
    struct sherd_daemons_type type;
    struct daemons_start start = { .count = daemons->count,
                                   .keep_alive_ms = daemons->keep_alive_ms };
    struct sherd_singleton coordinator = {
        .behavior = { .name = "daemons",
                      .state_size = sizeof(struct coordinator),
                      .receive = receive,
                      .release = release },
        .init = { &start, sizeof start },
        .role = daemons->role && *daemons->role ? daemons->role : role,
    };

    *ref = (struct sherd_ref){ 0, 0 };
    if (sherd_daemons_type(daemons, &type) != 0 ||
        daemons->keep_alive_ms > SINGLETON_TIME_MAX_MS) {
        sherd_log(ctx, SHERD_LOG_ERROR, "daemons refused: a field is wrong name=%.64s hint=\"see "
                                        "struct sherd_daemons in sherd/daemon.h\"",
                  daemons->name ? daemons->name : "");
        return SHERD_EINVAL;
    }
    if (actors_type(actors_of(ctx), slice_text(type.name)) == TYPE_NONE)
        return SHERD_ENOTYPE;
    memcpy(start.type, type.name, sizeof start.type);
    if (!start.keep_alive_ms)
        start.keep_alive_ms = configured ? configured : DAEMON_KEEP_ALIVE_MS;
    coordinator.name = type.name;
    return sherd_singleton_open(ctx, &coordinator, ref);
}

SHERD_API int sherd_daemon(const struct sherd_ctx *ctx, struct sherd_daemon *daemon)
{
    struct sherd_bytes text = sherd_id(ctx);
    struct daemon_id id;

    *daemon = (struct sherd_daemon){ 0, 0, 0 };
    if (!daemon_type_is(sherd_type(ctx)) ||
        !daemon_id_parse(slice_of(text.data, text.size), &id))
        return 0;
    *daemon = (struct sherd_daemon){ id.number, id.count, id.revision };
    return 1;
}

SHERD_API void sherd_daemons_set_count(struct sherd_ctx *ctx, struct sherd_ref ref,
                                       uint32_t count, uint32_t tag, uint64_t timeout_ms)
{
    sherd_ask(ctx, ref, SET_COUNT, (struct sherd_bytes){ &count, sizeof count }, tag,
              timeout_ms);
}
