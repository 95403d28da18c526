/* Runs a singleton's instance on this node, and passes messages on to the instance of the cluster. */
#include "services/keeper.h"

#include "actor/actors.h"
#include "actor/data_call.h"
#include "actor/singleton_call.h"
#include "base/check.h"
#include "base/mark.h"
#include "services/kept_queue.h"

#define TIMER_RESTART 1
#define CALM_MS 10000 /* an instance that ran for so long starts again without a long delay */

struct keeper {
    struct keeper_start start;
    uint8_t *init;
    bool is_on;       /* control wants an instance here */
    bool is_stopping; /* control waits for its end */
    bool is_over;     /* none may start any more */
    struct sherd_ref own;   /* the instance here */
    struct sherd_ref found; /* where messages go */
    uint32_t delay_ms;      /* before the next start */
    uint64_t began;         /* ms: when the instance here began */
    struct kept_queue waiting;
};

static const struct sherd_ref nobody;

static bool is_same(struct sherd_ref left, struct sherd_ref right)
{
    return left.node == right.node && left.actor == right.actor;
}

/* ---- control ---- */

static void call(struct sherd_ctx *ctx, const struct singleton_call *call)
{
    struct buf bytes = { 0 };

    singleton_call_put(&bytes, call);
    check(actors_call(ctx, DATA_SINGLETON, 0, buf_slice(&bytes))); /* fits */
    buf_fini(&bytes);
}

static void open_singleton(struct keeper *keeper, struct sherd_ctx *ctx)
{
    const struct keeper_start *start = &keeper->start;

    call(ctx, &(struct singleton_call){
                  .verb = KEEPER_OPEN,
                  .name = slice_text(start->name),
                  .role = slice_text(start->role),
                  .center = slice_text(start->center),
                  .is_host = start->is_host,
                  .retry_ms = start->retry_ms,
                  .interval_ms = start->interval_ms,
                  .retries = start->retries,
                  .lease = start->lease,
                  .lease_retry_ms = start->lease_retry_ms,
              });
}

/* ---- the instance here ---- */

static void restart_later(struct keeper *keeper, struct sherd_ctx *ctx)
{
    uint32_t delay = keeper->delay_ms ? keeper->delay_ms * 2 : SINGLETON_RESTART_MS;

    keeper->delay_ms = delay < SINGLETON_RESTART_MAX_MS ? delay : SINGLETON_RESTART_MAX_MS;
    sherd_timer(ctx, TIMER_RESTART, keeper->delay_ms);
}

static void start_instance(struct keeper *keeper, struct sherd_ctx *ctx)
{
    if (!keeper->is_on || keeper->is_stopping || keeper->own.actor)
        return;
    if (keeper->start.lease && !actors_lease_is_held(ctx)) {
        restart_later(keeper, ctx); /* it is extended, or control says that it is lost */
        return;
    }
    keeper->own = sherd_spawn(ctx, &keeper->start.behavior,
                              (struct sherd_bytes){ keeper->init, keeper->start.init_size });
    if (!keeper->own.actor) {
        restart_later(keeper, ctx); /* the log has the limit */
        return;
    }
    if (keeper->start.lease)
        actors_lease_bind(ctx, keeper->own.actor);
    keeper->began = sherd_now(ctx);
    sherd_watch(ctx, keeper->own);
    call(ctx, &(struct singleton_call){ .verb = KEEPER_RUNS, .instance = keeper->own.actor });
}

static void report_end(struct keeper *keeper, struct sherd_ctx *ctx)
{
    keeper->is_on = keeper->is_stopping = false;
    keeper->delay_ms = 0;
    sherd_timer_cancel(ctx, TIMER_RESTART);
    if (keeper->start.lease)
        actors_lease_drop(ctx);
    call(ctx, &(struct singleton_call){ .verb = KEEPER_ENDED });
}

static void say_end(const struct keeper *keeper, struct sherd_ctx *ctx)
{
    if (keeper->start.lease && !actors_lease_is_held(ctx))
        sherd_log(ctx, SHERD_LOG_WARNING,
                  "singleton ended, its lease is lost name=%s "
                  "hint=\"it starts again when the lease can be had\"",
                  keeper->start.name);
    else
        sherd_log(ctx, SHERD_LOG_WARNING,
                  "singleton ended by itself, starts again name=%s delay-ms=%u "
                  "hint=\"see earlier lines\"",
                  keeper->start.name, keeper->delay_ms);
}

static void own_has_ended(struct keeper *keeper, struct sherd_ctx *ctx)
{
    keeper->own = nobody;
    if (keeper->is_stopping) {
        report_end(keeper, ctx);
        return;
    }
    REACHED("a singleton's instance ends by itself");
    if (sherd_now(ctx) - keeper->began > CALM_MS)
        keeper->delay_ms = 0;
    call(ctx, &(struct singleton_call){ .verb = KEEPER_RUNS }); /* no instance until the restart */
    restart_later(keeper, ctx);
    say_end(keeper, ctx);
}

static void stop(struct keeper *keeper, struct sherd_ctx *ctx, bool now)
{
    if (!keeper->own.actor && (keeper->is_on || keeper->is_stopping)) {
        report_end(keeper, ctx);
        return;
    }
    if (!keeper->own.actor)
        return;
    keeper->is_stopping = true;
    if (keeper->start.stop_msg && !now)
        sherd_tell(ctx, keeper->own, keeper->start.stop_msg, (struct sherd_bytes){ NULL, 0 });
    else
        sherd_stop(ctx, keeper->own);
}

/* ---- the instance of the cluster ---- */

static void forget(struct keeper *keeper, struct sherd_ctx *ctx)
{
    if (keeper->found.actor && !is_same(keeper->found, keeper->own))
        sherd_unwatch(ctx, keeper->found);
    keeper->found = nobody;
}

static void find(struct keeper *keeper, struct sherd_ctx *ctx, const struct sherd_msg *msg)
{
    forget(keeper, ctx);
    check(msg->body.size == sizeof keeper->found);
    memcpy(&keeper->found, msg->body.data, sizeof keeper->found);
    if (!is_same(keeper->found, keeper->own))
        sherd_watch(ctx, keeper->found);
    kept_queue_send(&keeper->waiting, ctx, keeper->found);
}

static void terminated(struct keeper *keeper, struct sherd_ctx *ctx, struct sherd_ref actor)
{
    bool is_found = is_same(actor, keeper->found);

    if (is_found)
        keeper->found = nobody;
    if (is_same(actor, keeper->own))
        own_has_ended(keeper, ctx);
    if (is_found)
        call(ctx, &(struct singleton_call){ .verb = KEEPER_NOT_THERE });
}

static enum sherd_next answered(struct keeper *keeper, struct sherd_ctx *ctx,
                                const struct sherd_msg *msg)
{
    switch ((enum singleton_answer)msg->msg) {
    case KEEPER_START:
        if (keeper->is_over) {
            call(ctx, &(struct singleton_call){ .verb = KEEPER_ENDED });
            break;
        }
        keeper->is_on = true;
        start_instance(keeper, ctx);
        break;
    case KEEPER_STOP:
        stop(keeper, ctx, false);
        break;
    case KEEPER_STOP_NOW:
        keeper->is_over = true;
        stop(keeper, ctx, true);
        break;
    case KEEPER_UNLEASED:
        stop(keeper, ctx, true);
        break;
    case KEEPER_FOUND:
        find(keeper, ctx, msg);
        break;
    case KEEPER_LOST:
        forget(keeper, ctx);
        break;
    case KEEPER_REFUSED:
        kept_queue_end(&keeper->waiting, ctx, SHERD_REASON_NO_SUCH_ACTOR);
        return SHERD_STOP;
    }
    return SHERD_CONTINUE;
}

/* ---- the actor ---- */

static void started(struct keeper *keeper, struct sherd_ctx *ctx, const struct sherd_msg *msg)
{
    const uint8_t *body = msg->body.data;

    memcpy(&keeper->start, body, sizeof keeper->start);
    if (keeper->start.init_size)
        keeper->init = mem_copy(body + sizeof keeper->start, keeper->start.init_size);
    keeper->waiting.max = keeper->start.buffer_size;
    open_singleton(keeper, ctx);
}

static enum sherd_next receive(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    struct keeper *keeper = self;

    switch (msg->kind) {
    case SHERD_STARTED:
        started(keeper, ctx, msg);
        return SHERD_CONTINUE;
    case SHERD_MESSAGE:
        if (keeper->found.actor)
            sherd_forward(ctx, keeper->found);
        else
            kept_queue_put(&keeper->waiting, ctx);
        return SHERD_CONTINUE;
    case SHERD_DATA:
        return answered(keeper, ctx, msg);
    case SHERD_TERMINATED:
        terminated(keeper, ctx, msg->sender);
        return SHERD_CONTINUE;
    case SHERD_TIMER:
        start_instance(keeper, ctx);
        return SHERD_CONTINUE;
    case SHERD_STOPPING:
        kept_queue_end(&keeper->waiting, ctx, SHERD_REASON_SHUTTING_DOWN);
        return SHERD_STOP;
    default:
        return SHERD_CONTINUE;
    }
}

static void release(void *self)
{
    struct keeper *keeper = self;

    kept_queue_fini(&keeper->waiting);
    mem_free(keeper->init);
}

const struct sherd_behavior *keeper_behavior(void)
{
    static const struct sherd_behavior behavior = {
        .name = "singleton",
        .state_size = sizeof(struct keeper),
        .receive = receive,
        .release = release,
    };

    return &behavior;
}
