/* Passes the shutdown tasks of actors (sherd/shutdown.h) to the node, which keeps them. */
#include "actor/inside.h"

#include <sherd/shutdown.h>

SHERD_API const char *sherd_phase_text(enum sherd_phase phase)
{
#define X(name, text) text,
    static const char *const texts[] = { SHERD_PHASES(X) };
#undef X
    return (unsigned)phase < SHERD_PHASE_COUNT ? texts[phase] : "unknown";
}

SHERD_API int sherd_shutdown_task(struct sherd_ctx *ctx, enum sherd_phase phase,
                                  const char *name)
{
    size_t size = name ? strlen(name) : 0;

    if ((unsigned)phase >= SHERD_PHASE_COUNT || !size || size > SHERD_ID_MAX)
        return SHERD_EINVAL;
    slot_news_put(ctx->actors,
                  &(struct actors_news){ .kind = ACTORS_TASK,
                                         .values.phase = phase,
                                         .actor = ctx->self.actor,
                                         .name = slice_of(name, size) });
    return 0;
}

SHERD_API void sherd_shutdown_done(struct sherd_ctx *ctx,
                                   enum sherd_phase phase)
{
    if ((unsigned)phase < SHERD_PHASE_COUNT)
        slot_news_put(ctx->actors,
                      &(struct actors_news){ .kind = ACTORS_TASK_DONE,
                                             .values.phase = phase,
                                             .actor = ctx->self.actor });
}

bool actors_phase(struct actors *actors, uint64_t actor, uint32_t phase)
{
    struct slot *slot = slot_of(actors, actor);
    struct message *message;

    if (!slot || !slot_has_incarnation(slot))
        return false;
    message = actors_message(actors, slice_of(NULL, 0));
    message->kind = MESSAGE_SHUTDOWN;
    message->msg = phase;
    mailbox_put(actors, actor_id_slot(actor), slot, message);
    return true;
}

bool actors_is_alive(const struct actors *actors, uint64_t actor)
{
    return slot_of(actors, actor) != NULL;
}
