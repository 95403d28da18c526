/* Runs the broker's actor: its settings, messages and timers. */
#include "kvstore/broker.h"

#include <stdio.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/limits.h"

#define SWEEP_MS 1000

uint64_t wall_s(const struct sherd_ctx *ctx)
{
    int64_t ms = sherd_wall(ctx);

    return ms > 0 ? (uint64_t)ms / 1000 : 0;
}

/* ---- settings ---- */

static bool is_text(const char *text, size_t max)
{
    size_t size = strlen(text);

    for (size_t i = 0; i < size; i++)
        if ((unsigned char)text[i] <= ' ' || (unsigned char)text[i] > '~' ||
            text[i] == '*')
            return false;
    return size <= max;
}

bool broker_settings(const struct sherd_store_settings *settings,
                     struct sherd_store_settings *full)
{
    uint32_t quorum;

    if (!settings || !settings->name)
        return false;
    *full = *settings;
    full->role = full->role ? full->role : "";
    full->replicas = full->replicas ? full->replicas : 3;
    quorum = full->replicas / 2 + 1;
    full->read = full->read ? full->read : quorum;
    full->write = full->write ? full->write : quorum;
    full->timeout_ms = full->timeout_ms ? full->timeout_ms : KVSTORE_TIMEOUT_MS;
    full->keys_max = full->keys_max ? full->keys_max : KVSTORE_KEYS;
    full->bytes_max = full->bytes_max ? full->bytes_max : KVSTORE_BYTES;
    if (!full->keep_deleted_ms)
        full->keep_deleted_ms = KVSTORE_KEEP_DELETED_MS;
    return *full->name && is_text(full->name, SHERD_STORE_NAME_MAX) &&
           strlen(full->role) <= MEMBER_ROLE_SIZE_MAX &&
           full->replicas <= SHERD_STORE_REPLICAS_MAX &&
           full->read <= full->replicas && full->write <= full->replicas &&
           full->timeout_ms <= KVSTORE_TIMEOUT_MS_MAX &&
           full->bytes_max >= KVSTORE_BYTES_MIN;
}

void broker_settings_put(const struct sherd_store_settings *settings,
                         struct buf *buf)
{
    buf_put_u32(buf, settings->replicas);
    buf_put_u32(buf, settings->read);
    buf_put_u32(buf, settings->write);
    buf_put_u32(buf, settings->keys_max);
    buf_put_u64(buf, settings->timeout_ms);
    buf_put_u64(buf, settings->keep_deleted_ms);
    buf_put_u64(buf, settings->bytes_max);
    buf_put(buf, settings->name, strlen(settings->name) + 1);
    buf_put(buf, settings->role, strlen(settings->role) + 1);
}

/* The bytes come from sherd_store_open in this process. */
static void settings_get(struct broker *broker, struct sherd_bytes init)
{
    struct cursor cursor = cursor_of(slice_of(init.data, init.size));
    struct sherd_store_settings *settings = &broker->settings;

    settings->replicas = cursor_u32(&cursor);
    settings->read = cursor_u32(&cursor);
    settings->write = cursor_u32(&cursor);
    settings->keys_max = cursor_u32(&cursor);
    settings->timeout_ms = cursor_u64(&cursor);
    settings->keep_deleted_ms = cursor_u64(&cursor);
    settings->bytes_max = cursor_u64(&cursor);
    check(!cursor.failed);
    settings->name = mem_text((const char *)cursor.at);
    settings->role =
        mem_text((const char *)cursor.at + strlen(settings->name) + 1);
}

/* ---- the actor ---- */

/* Unique to each broker, also if one follows another on a node. */
static uint64_t id_of(const struct sherd_ref *self)
{
    struct buf bytes = { 0 };
    uint64_t id;

    buf_put_u64(&bytes, self->node);
    buf_put_u64(&bytes, self->actor);
    id = hash_bytes(buf_slice(&bytes));
    buf_fini(&bytes);
    return id;
}

static void start(struct broker *broker, struct sherd_ctx *ctx,
                  struct sherd_bytes init)
{
    char key[SHERD_STORE_NAME_MAX + 16];

    settings_get(broker, init);
    (void)snprintf(key, sizeof key, "sherd-store-%s",
                   broker->settings.name);
    broker->data_key = mem_text(key);
    broker->self = sherd_self(ctx);
    broker->id = id_of(&broker->self);
    broker->calls = mem_alloc(KVSTORE_CALLS_MAX * sizeof *broker->calls);
    broker->walk = UINT32_MAX;
    check(sherd_shutdown_task(ctx, SHERD_BEFORE_CLUSTER_SHUTDOWN, "store") == 0);
    broker_members_begin(broker, ctx);
    sherd_timer(ctx, TIMER_SWEEP, SWEEP_MS);
}

static void on_timer(struct broker *broker, struct sherd_ctx *ctx,
                     enum broker_timer timer)
{
    switch (timer) {
    case TIMER_MOVE:
        moving_tick(broker, ctx);
        break;
    case TIMER_SWEEP:
        forgetting_tick(broker, ctx);
        sherd_timer(ctx, TIMER_SWEEP, SWEEP_MS);
        break;
    case TIMER_REFS:
        broker_members_retry(broker, ctx);
        break;
    }
}

static enum sherd_next receive(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    struct broker *broker = self;

    switch (msg->kind) {
    case SHERD_STARTED:
        start(broker, ctx, msg->body);
        break;
    case SHERD_MESSAGE:
        calls_request(broker, ctx, msg);
        break;
    case SHERD_ANSWER:
    case SHERD_NO_ANSWER:
        calls_answer(broker, ctx, msg);
        break;
    case SHERD_CLUSTER:
        broker_members_cluster(broker, ctx, msg);
        break;
    case SHERD_DATA:
        broker_members_data(broker, ctx, msg);
        break;
    case SHERD_SHUTDOWN:
        moving_leave(broker, ctx);
        break;
    case SHERD_TIMER:
        on_timer(broker, ctx, (enum broker_timer)msg->tag);
        break;
    default:
        break; /* a stop needs no action: release cleans up */
    }
    return SHERD_CONTINUE;
}

/* A broker that never began holds nothing. */
static void release(void *self)
{
    struct broker *broker = self;

    for (uint32_t i = 0; broker->calls && i < KVSTORE_CALLS_MAX; i++) {
        siblings_fini(&broker->calls[i].merged);
        siblings_fini(&broker->calls[i].found);
        buf_fini(&broker->calls[i].passed);
    }
    mem_free(broker->calls);
    keep_fini(&broker->keep);
    broker_members_fini(broker);
    mem_free(broker->data_key);
    mem_free(broker->center);
    mem_free((void *)(uintptr_t)broker->settings.name);
    mem_free((void *)(uintptr_t)broker->settings.role);
}

const struct sherd_behavior *broker_behavior(void)
{
    static const struct sherd_behavior behavior = {
        .name = "store",
        .state_size = sizeof(struct broker),
        .receive = receive,
        .release = release,
    };

    return &behavior;
}
