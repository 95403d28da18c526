/* Implements sherd/singleton.h: checks a singleton, completes it by the configuration, and starts its
 * keeper. */
#include <sherd/singleton.h>

#include "actor/actors.h"
#include "actor/services.h"
#include "lease/request.h"
#include "services/keeper.h"

static int refuse(struct sherd_ctx *ctx, const char *name, const char *why, const char *hint)
{
    sherd_log(ctx, SHERD_LOG_ERROR, "singleton refused: %s name=%.64s hint=\"%s\"", why, name, hint);
    return SHERD_EINVAL;
}

static const char *first(const char *given, const char *configured, const char *standard)
{
    if (given)
        return given;
    return configured && *configured ? configured : standard;
}

static uint32_t buffer_size(const struct service_defaults *defaults, uint32_t given)
{
    uint32_t size = given ? given : defaults->proxy_buffer;

    if (!size)
        return SINGLETON_BUFFER;
    if (size == SHERD_SINGLETON_NO_BUFFER) /* also PROXY_BUFFER_NONE */
        return 0;
    return size;
}

_Static_assert(SHERD_SINGLETON_NO_BUFFER == PROXY_BUFFER_NONE, "one value means no buffer");

static int check_texts(struct sherd_ctx *ctx, const struct sherd_singleton *singleton,
                       const char *name, const char *role)
{
    const char *center = singleton->data_center ? singleton->data_center : "";
    bool is_host = !singleton->proxy && !*center;

    if (strlen(name) > SHERD_SINGLETON_NAME_MAX || !actor_name_is_valid(slice_text(name)))
        return refuse(ctx, name, "its name is not valid", "see sherd/singleton.h");
    if (strlen(role) > KEEPER_TEXT_MAX || strlen(center) > KEEPER_TEXT_MAX)
        return refuse(ctx, name, "its role or data center is too long", "use a shorter one");
    if (is_host && !singleton->behavior.receive)
        return refuse(ctx, name, "its behavior has no receive",
                      "set behavior.receive, or proxy = 1");
    return 0;
}

static int check_numbers(struct sherd_ctx *ctx, const struct sherd_singleton *singleton,
                         const char *name)
{
    if (singleton->init.size > SHERD_SINGLETON_INIT_MAX)
        return refuse(ctx, name, "its init is too large",
                      "use at most SHERD_SINGLETON_INIT_MAX bytes");
    if (singleton->buffer_size > SINGLETON_BUFFER_MAX &&
        singleton->buffer_size != SHERD_SINGLETON_NO_BUFFER)
        return refuse(ctx, name, "its buffer_size is too large", "use at most 10,000");
    if (singleton->hand_over_retry_ms > SINGLETON_TIME_MAX_MS ||
        singleton->identification_ms > SINGLETON_TIME_MAX_MS ||
        singleton->hand_over_retries > SINGLETON_RETRIES_MAX)
        return refuse(ctx, name, "a time or number of retries is too large",
                      "use at most an hour, and at most 100,000 retries");
    return 0;
}

/* The provider is open afterwards. */
static int check_lease(struct sherd_ctx *ctx, const struct sherd_singleton *singleton,
                       const char *name, struct keeper_start *start)
{
    const struct service_defaults *defaults = actors_service_defaults(ctx);
    enum lease_provider_kind lease;

    if (!lease_provider_parse(singleton->lease ? singleton->lease : defaults->singleton_lease, &lease))
        return refuse(ctx, name, "its lease provider is unknown",
                      "use \"etcd\", \"file\", \"memory\", or \"\" for none");
    if (singleton->lease_retry_ms > SINGLETON_TIME_MAX_MS)
        return refuse(ctx, name, "its lease_retry_ms is too large", "use at most an hour");
    if (!start->is_host || !lease)
        return 0;
    if (defaults->open_lease && !defaults->open_lease(defaults->user, lease))
        return refuse(ctx, name, "its lease provider cannot be used",
                      "an earlier line says why; check the settings sherd.lease.* and "
                      "akka.coordination.lease.*");
    start->lease = lease;
    start->lease_retry_ms = singleton->lease_retry_ms ? singleton->lease_retry_ms
                                                      : defaults->lease_retry_ms;
    return 0;
}

static void copy_text(char *to, const char *text)
{
    memcpy(to, text, strlen(text) + 1); /* checked: it fits */
}

SHERD_API int sherd_singleton_open(struct sherd_ctx *ctx,
                                   const struct sherd_singleton *singleton,
                                   struct sherd_ref *ref)
{
    const struct service_defaults *defaults = actors_service_defaults(ctx);
    const char *center = singleton->data_center ? singleton->data_center : "";
    bool is_proxy = singleton->proxy || *center;
    const char *name = first(singleton->name,
                             is_proxy ? defaults->proxy_name : defaults->singleton_name,
                             "singleton");
    const char *role = first(singleton->role,
                             is_proxy ? defaults->proxy_role : defaults->singleton_role, "");
    struct keeper_start start = {
        .behavior = singleton->behavior,
        .is_host = !is_proxy,
        .stop_msg = singleton->stop_msg,
        .retries = singleton->hand_over_retries ? singleton->hand_over_retries
                                                : defaults->hand_over_retries,
        .buffer_size = buffer_size(defaults, singleton->buffer_size),
        .retry_ms = singleton->hand_over_retry_ms ? singleton->hand_over_retry_ms
                                                  : defaults->hand_over_retry_ms,
        .interval_ms = singleton->identification_ms ? singleton->identification_ms
                                                    : defaults->identification_ms,
        .init_size = (uint32_t)singleton->init.size,
    };
    struct buf init = { 0 };
    int result;

    *ref = (struct sherd_ref){ 0, 0 };
    result = check_texts(ctx, singleton, name, role);
    if (!result)
        result = check_numbers(ctx, singleton, name);
    if (!result)
        result = check_lease(ctx, singleton, name, &start);
    if (result)
        return result;
    copy_text(start.name, name);
    copy_text(start.role, role);
    copy_text(start.center, center);
    if (!start.interval_ms)
        start.interval_ms = SINGLETON_IDENTIFICATION_MS;
    buf_put(&init, &start, sizeof start);
    buf_put(&init, singleton->init.data, singleton->init.size);
    *ref = sherd_spawn(ctx, keeper_behavior(), (struct sherd_bytes){ init.data, init.size });
    buf_fini(&init);
    return ref->actor || ref->node ? 0 : SHERD_EFULL;
}
