/* Serves actors that act for threads of the program: wakes them, and drops their asks. */
#include "actor/inside.h"

void actors_wake(struct actors *actors, uint64_t actor)
{
    struct slot *slot = slot_of(actors, actor);
    struct message *message;

    if (!slot || !slot_has_incarnation(slot)) {
        actors->counts.ignored++;
        return;
    }
    message = memory_notice(actors, slice_of(NULL, 0));
    message->kind = MESSAGE_WAKE;
    mailbox_put(actors, actor_id_slot(actor), slot, message);
}

void actors_wake_self(struct sherd_ctx *ctx)
{
    actors_wake(ctx->actors, ctx->self.actor);
}

uint64_t actors_asked(const struct sherd_ctx *ctx)
{
    return ctx->asked;
}

void actors_ask_drop(struct sherd_ctx *ctx, uint64_t ask)
{
    ask_drop(ctx->actors, ctx->index, ctx->slot, ask);
}
