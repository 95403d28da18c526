/* Ends actors at once when the lease that they need is over (actor/services.h). */
#include "actor/actors.h"
#include "actor/inside.h"
#include "actor/services.h"
#include "base/check.h"

static struct leased *find(struct actors *actors, uint64_t holder)
{
    for (uint32_t i = 0; i < actors->leased.count; i++)
        if (actors->leased.items[i].holder == holder)
            return &actors->leased.items[i];
    return NULL;
}

static void end_actor(struct actors *actors, struct leased *leased)
{
    struct slot *slot = leased->actor ? slot_of(actors, leased->actor) : NULL;

    if (slot && slot_has_incarnation(slot))
        incarnation_end(actors, actor_id_slot(leased->actor), slot);
    leased->actor = 0;
}

void actors_lease_granted(struct actors *actors, uint64_t holder, uint32_t provider, uint64_t until)
{
    const struct leased leased = { .holder = holder, .provider = provider, .until = until };
    struct leased *known = find(actors, holder);

    if (known)
        *known = leased;
    else
        vec_push(&actors->leased, leased);
}

void actors_leases_extended(struct actors *actors, uint32_t provider, uint64_t until)
{
    for (uint32_t i = 0; i < actors->leased.count; i++)
        if (actors->leased.items[i].provider == provider && actors->leased.items[i].until < until)
            actors->leased.items[i].until = until;
}

void actors_leases_lost(struct actors *actors, uint32_t provider)
{
    check(!actors->ctx.slot);
    for (uint32_t i = actors->leased.count; i-- > 0;) {
        if (actors->leased.items[i].provider != provider)
            continue;
        end_actor(actors, &actors->leased.items[i]);
        vec_remove(&actors->leased, i);
    }
}

void actors_leases_end_all(struct actors *actors)
{
    while (actors->leased.count)
        actors_leases_lost(actors, actors->leased.items[0].provider);
}

uint64_t actors_leases_look(struct actors *actors, uint64_t now)
{
    uint64_t end = NEVER;

    check(!actors->ctx.slot);
    for (uint32_t i = 0; i < actors->leased.count; i++) {
        struct leased *leased = &actors->leased.items[i];

        if (leased->until <= now)
            end_actor(actors, leased);
        if (leased->actor && leased->until < end)
            end = leased->until;
    }
    return end;
}

bool actors_lease_is_held(const struct sherd_ctx *ctx)
{
    const struct leased *leased = find(ctx->actors, ctx->self.actor);

    return leased && leased->until > ctx->actors->now;
}

void actors_lease_bind(struct sherd_ctx *ctx, uint64_t actor)
{
    struct leased *leased = find(ctx->actors, ctx->self.actor);

    check(leased != NULL);
    leased->actor = actor;
    if (leased->until < ctx->actors->end_of_leases)
        ctx->actors->end_of_leases = leased->until;
}

void actors_lease_drop(struct sherd_ctx *ctx)
{
    for (uint32_t i = 0; i < ctx->actors->leased.count; i++)
        if (ctx->actors->leased.items[i].holder == ctx->self.actor) {
            vec_remove(&ctx->actors->leased, i);
            return;
        }
}
