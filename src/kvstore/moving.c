/* Sends keys to their new replicas after a change of the ring.
 *
 * A walk visits all keys, some in each turn. A key goes to those of its replicas that the ring of
 * the last complete walk lacked. If this node is no longer a replica, it sends the key to all and
 * drops it when all have it. Every holder sends, so a new member merges the key from each old one.
 * Another walk repeats refused moves.
 *
 * A node with another ring may send a key of which this node is no replica. This node takes it and
 * moves it on. A key is dropped only when all receivers see themselves as its replicas, so two
 * nodes with different rings cannot both drop it.
 *
 * A leaving node sends to the replicas of the ring without it. Until it stops it answers reads,
 * because the others may not have its keys yet. */
#include "base/limits.h"
#include "base/mark.h"
#include "kvstore/broker.h"

#define NO_WALK UINT32_MAX
#define TICK_MS 20
#define MOVE_TIMEOUT_MS 5000

void moving_begin(struct broker *broker, struct sherd_ctx *ctx)
{
    broker->walk = 0;
    broker->walk_number++;
    broker->walk_failed = false;
    sherd_timer(ctx, TIMER_MOVE, TICK_MS);
}

static bool has(const uint64_t *uids, uint32_t count, uint64_t uid)
{
    for (uint32_t i = 0; i < count; i++)
        if (uids[i] == uid)
            return true;
    return false;
}

/* Finds a key's replicas, or those after this node leaves. */
static uint32_t find_keepers(const struct broker *broker,
                             const struct item *item, uint64_t *uids)
{
    uint64_t all[SHERD_STORE_REPLICAS_MAX + 1];
    uint32_t wanted = broker->settings.replicas;
    uint32_t found = places_find(&broker->places, item_key(item),
                                 wanted + broker->is_leaving, all);
    uint32_t count = 0;

    for (uint32_t i = 0; i < found && count < wanted; i++)
        if (!broker->is_leaving || all[i] != broker->self.node)
            uids[count++] = all[i];
    return count;
}

bool moving_is_replica(const struct broker *broker, struct slice key)
{
    uint64_t uids[SHERD_STORE_REPLICAS_MAX];
    uint32_t count =
        places_find(&broker->places, key, broker->settings.replicas, uids);

    return has(uids, count, broker->self.node);
}

static bool is_on_ring(const struct broker *broker)
{
    for (uint32_t i = 0; i < broker->places.items.count; i++)
        if (broker->places.items.items[i].uid == broker->self.node)
            return true;
    return false;
}

/* A node off its own ring soon sees another ring, which starts a walk. */
void moving_astray(struct broker *broker, struct sherd_ctx *ctx,
                   struct item *item)
{
    item->walked = 0;
    if (broker->walk != NO_WALK) {
        broker->walk_failed = true;
        return;
    }
    if (!is_on_ring(broker))
        return;
    broker->walk = 0;
    sherd_timer(ctx, TIMER_MOVE, KVSTORE_ASTRAY_MS);
}

/* Leaves the key to the next walk. */
static void failed(struct broker *broker, struct item *item)
{
    broker->walk_failed = true;
    item->walked = 0;
}

void moving_ended(struct broker *broker, struct call *call)
{
    struct item *item =
        keep_find(&broker->keep, slice_of(call->key, call->key_size));

    broker->moves--;
    if (item && call->answers < call->wanted) {
        failed(broker, item);
    } else if (item && call->gives_up) {
        uint64_t uids[SHERD_STORE_REPLICAS_MAX];
        uint32_t count = find_keepers(broker, item, uids);

        /* Not if the key or the ring changed meanwhile. */
        if (!siblings_equal(&item->siblings, &call->merged) ||
            has(uids, count, broker->self.node)) {
            failed(broker, item);
        } else {
            REACHED("the store: a key is dropped where others keep it");
            broker->counts[SHERD_STORE_DROPPED]++;
            keep_drop(broker, item);
        }
    }
    call_free(broker, call);
}

static void move_item(struct broker *broker, struct sherd_ctx *ctx,
                      struct item *item)
{
    uint64_t old[SHERD_STORE_REPLICAS_MAX], uids[SHERD_STORE_REPLICAS_MAX];
    uint32_t count = find_keepers(broker, item, uids);
    uint32_t old_count = places_find(&broker->settled, item_key(item),
                                     broker->settings.replicas, old);
    bool stays = has(uids, count, broker->self.node);
    struct call *call = NULL;
    struct buf body = { 0 };

    item->walked = broker->walk_number; /* until a move fails */
    for (uint32_t i = 0; i < count; i++) {
        if (uids[i] == broker->self.node ||
            (stays && has(old, old_count, uids[i])))
            continue;
        if (!call) {
            call = call_new(broker, ctx, CALL_MOVE, item_key(item),
                            MOVE_TIMEOUT_MS);
            if (!call) {
                failed(broker, item);
                return;
            }
            broker->moves++;
            call->gives_up = !stays && !broker->is_leaving;
            siblings_copy(&call->merged, &item->siblings);
            write_body(item_key(item), &item->siblings, &body);
        }
        call->wanted++;
        broker->counts[SHERD_STORE_MOVED]++;
        (void)call_ask(broker, ctx, call, uids[i], KVSTORE_WRITE,
                       buf_slice(&body)); /* moving_ended handles a failure */
    }
    buf_fini(&body);
    if (call && !call->out)
        moving_ended(broker, call);
}

static void walk_ended(struct broker *broker, struct sherd_ctx *ctx)
{
    if (broker->walk_failed) {
        broker->walk = 0;
        broker->walk_failed = false;
        sherd_timer(ctx, TIMER_MOVE, KVSTORE_MOVE_RETRY_MS);
        return;
    }
    broker->walk = NO_WALK;
    places_copy(&broker->settled, &broker->places);
    if (broker->is_leaving)
        sherd_shutdown_done(ctx, SHERD_BEFORE_CLUSTER_SHUTDOWN);
}

void moving_tick(struct broker *broker, struct sherd_ctx *ctx)
{
    if (broker->walk == NO_WALK)
        return;
    for (uint32_t i = 0; i < KVSTORE_WALK_KEYS && broker->moves < KVSTORE_MOVES_MAX &&
                         broker->walk < broker->keep.items.count;
         i++) {
        struct item *item = broker->keep.items.items[broker->walk++];

        if (item->walked != broker->walk_number)
            move_item(broker, ctx, item);
    }
    if (broker->walk >= broker->keep.items.count && !broker->moves)
        walk_ended(broker, ctx);
    else
        sherd_timer(ctx, TIMER_MOVE, TICK_MS);
}

void moving_leave(struct broker *broker, struct sherd_ctx *ctx)
{
    broker->is_leaving = true;
    moving_begin(broker, ctx);
}
