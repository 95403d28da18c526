/* Forgets old deletions when no replica of the key has anything older.
 *
 * Each replica sends the deletion to the others, which merge it if they have the key, and drops its
 * own when all have answered. While one cannot be asked, all keep the deletion. A former replica
 * that could not hand its keys over is not asked. So nothing is forgotten while a member of the
 * ring is unreachable, or shortly after a change of members. */
#include "base/limits.h"
#include "base/mark.h"
#include "kvstore/broker.h"

#define FORGET_TIMEOUT_MS 5000

static bool is_due(const struct broker *broker, const struct item *item,
                   uint64_t now_s)
{
    uint64_t at = siblings_deleted_at(&item->siblings);

    return at && at + broker->settings.keep_deleted_ms / 1000 < now_s;
}

/* Are all members reachable, and unchanged for long enough? */
static bool is_calm(const struct broker *broker, uint64_t now)
{
    if (broker->walk != UINT32_MAX ||
        now < broker->changed_at + KVSTORE_FORGET_CALM_MS)
        return false;
    for (uint32_t i = 0; i < broker->members.count; i++)
        if (broker->members.items[i].is_on_ring &&
            !broker->members.items[i].member.reachable)
            return false;
    return true;
}

void forgetting_ended(struct broker *broker, struct call *call)
{
    struct item *item =
        keep_find(&broker->keep, slice_of(call->key, call->key_size));

    broker->forgets--;
    if (item) {
        item->is_confirmed = false;
        if (call->answers == call->wanted &&
            siblings_equal(&item->siblings, &call->merged)) {
            REACHED("the store: a deletion is forgotten");
            broker->counts[SHERD_STORE_DROPPED]++;
            keep_drop(broker, item);
        }
    }
    call_free(broker, call);
}

static void forget(struct broker *broker, struct sherd_ctx *ctx,
                   struct item *item)
{
    uint64_t uids[SHERD_STORE_REPLICAS_MAX];
    uint32_t count = places_find(&broker->places, item_key(item),
                                 broker->settings.replicas, uids);
    struct call *call = call_new(broker, ctx, CALL_FORGET, item_key(item),
                                 FORGET_TIMEOUT_MS);
    struct buf body = { 0 };

    if (!call)
        return; /* the next round checks it again */
    item->is_confirmed = true;
    broker->forgets++;
    siblings_copy(&call->merged, &item->siblings);
    write_body(item_key(item), &item->siblings, &body);
    for (uint32_t i = 0; i < count; i++) {
        if (uids[i] == broker->self.node)
            continue;
        call->wanted++;
        (void)call_ask(broker, ctx, call, uids[i], KVSTORE_CONFIRM,
                       buf_slice(&body)); /* forgetting_ended handles a failure */
    }
    buf_fini(&body);
    if (!call->out)
        forgetting_ended(broker, call);
}

void forgetting_tick(struct broker *broker, struct sherd_ctx *ctx)
{
    uint64_t now_s = wall_s(ctx);
    uint32_t count = broker->keep.items.count;

    if (!is_calm(broker, sherd_now(ctx)))
        return;
    count = count < KVSTORE_SWEEP_KEYS ? count : KVSTORE_SWEEP_KEYS;
    for (uint32_t i = 0; i < count && broker->keep.items.count &&
                         broker->forgets < KVSTORE_FORGETS_MAX;
         i++) {
        struct item *item;

        if (broker->sweep >= broker->keep.items.count)
            broker->sweep = 0;
        item = broker->keep.items.items[broker->sweep++];
        if (!item->is_confirmed && is_due(broker, item, now_s))
            forget(broker, ctx, item);
    }
}
