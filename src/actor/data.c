/* Handles a lane's part of distributed data (sherd/ddata.h): calls as effects, answers, and
 * subscribers of keys. */
#include "actor/inside.h"

#include <sherd/ddata.h>

bool actors_call(struct sherd_ctx *ctx, uint32_t verb, uint32_t tag,
                 struct slice body)
{
    struct message *message;

    if (body.size > SHERD_BODY_MAX)
        return false;
    message = actors_message(ctx->actors, body);
    message->kind = MESSAGE_CALL;
    message->to = MESSAGE_TO_NODE;
    message->sender = ctx->self;
    message->msg = verb;
    message->ask = tag;
    effects_emit(ctx->actors, message);
    return true;
}

/* Answers ignore the mailbox limit: their number is limited by the calls. */
static void put(struct actors *actors, uint64_t actor, struct slot *slot,
                uint32_t what, uint32_t tag, struct slice body)
{
    struct message *message = memory_notice(actors, body);

    message->kind = MESSAGE_DATA;
    message->msg = what;
    message->ask = tag;
    mailbox_put(actors, actor_id_slot(actor), slot, message);
}

void actors_data(struct actors *actors, uint64_t actor, uint32_t what,
                 uint32_t tag, struct slice body)
{
    struct slot *slot = slot_of(actors, actor);

    if (slot && slot_has_incarnation(slot))
        put(actors, actor, slot, what, tag, body);
    else
        actors->counts.ignored++;
}

void actors_call_refused(struct sherd_ctx *ctx, uint32_t what, uint32_t tag,
                         struct slice body)
{
    actors_data(ctx->actors, ctx->self.actor, what, tag, body);
}

/* ---- subscribers ---- */

/* The replicator reserves a final star: it means all keys that begin so. */
static bool is_key(const char *key)
{
    size_t size = key ? strlen(key) : 0;

    return size && size <= SHERD_DATA_KEY_MAX && key[size - 1] != '*' &&
           text_is_valid(slice_of(key, size));
}

static struct follower *find(struct actors *actors, uint64_t actor,
                             const char *key)
{
    for (uint32_t i = 0; i < actors->followers.count; i++)
        if (actors->followers.items[i].actor == actor &&
            strcmp(actors->followers.items[i].key, key) == 0)
            return &actors->followers.items[i];
    return NULL;
}

static bool is_followed(const struct actors *actors, const char *key)
{
    for (uint32_t i = 0; i < actors->followers.count; i++)
        if (strcmp(actors->followers.items[i].key, key) == 0)
            return true;
    return false;
}

/* Removes a subscriber; reports a key without subscribers. */
static void drop(struct actors *actors, uint32_t index)
{
    char *key = actors->followers.items[index].key;

    actors->followers_missed -= actors->followers.items[index].missed;
    vec_remove(&actors->followers, index);
    if (!is_followed(actors, key))
        slot_news_put(actors, &(struct actors_news){ .kind = ACTORS_UNFOLLOW_KEY,
                                                     .key = slice_text(key) });
    mem_free(key);
}

void followers_fini(struct actors *actors)
{
    for (uint32_t i = 0; i < actors->followers.count; i++)
        mem_free(actors->followers.items[i].key);
    vec_fini(&actors->followers);
}

void actors_data_changed(struct actors *actors, const char *key, uint32_t what,
                         struct slice body)
{
    for (uint32_t i = 0; i < actors->followers.count; i++) {
        struct follower *follower = &actors->followers.items[i];
        struct slot *slot = slot_of(actors, follower->actor);

        if (!slot) {
            drop(actors, i--);
        } else if (strcmp(follower->key, key) == 0 && !follower->missed) {
            if (slot_is_full(actors, slot)) {
                follower->missed = true;
                actors->followers_missed++;
                actors->counts.data_missed++;
            } else {
                put(actors, follower->actor, slot, what, follower->tag, body);
            }
        }
    }
}

void actors_data_refused(struct actors *actors, uint64_t actor,
                         const char *key)
{
    struct slice body = slice_of(key, strlen(key) + 1);

    for (uint32_t i = 0; i < actors->followers.count; i++) {
        const struct follower *follower = &actors->followers.items[i];

        if ((actor && follower->actor != actor) ||
            strcmp(follower->key, key) != 0)
            continue;
        actors_data(actors, follower->actor, SHERD_DATA_REFUSED, follower->tag,
                    body);
        actors->counts.subscribers_refused++;
        drop(actors, i--);
    }
}

static void follow_news(struct actors *actors, const struct follower *follower,
                        bool is_first)
{
    slot_news_put(actors,
                  &(struct actors_news){
                      .kind = ACTORS_FOLLOW_KEY,
                      .values.follow = { follower->tag, is_first },
                      .actor = follower->actor,
                      .key = slice_text(follower->key) });
}

void followers_retry(struct actors *actors)
{
    for (uint32_t i = 0; i < actors->followers.count; i++) {
        struct follower *follower = &actors->followers.items[i];
        struct slot *slot = slot_of(actors, follower->actor);

        if (!slot) {
            drop(actors, i--);
        } else if (follower->missed && !slot_is_full(actors, slot)) {
            follower->missed = false;
            actors->followers_missed--;
            follow_news(actors, follower, false);
        }
    }
}

SHERD_API int sherd_data_subscribe(struct sherd_ctx *ctx, const char *key,
                                   uint32_t tag)
{
    struct actors *actors = ctx->actors;
    uint64_t actor = ctx->self.actor;
    struct follower *follower;
    bool is_first;

    if (!is_key(key))
        return SHERD_EINVAL;
    follower = find(actors, actor, key);
    /* At the limit, subscribers that have ended make room. */
    for (uint32_t i = 0; !follower &&
                         actors->followers.count >= DATA_FOLLOWERS_MAX &&
                         i < actors->followers.count;
         i++)
        if (!slot_of(actors, actors->followers.items[i].actor))
            drop(actors, i--);
    if (!follower && actors->followers.count >= DATA_FOLLOWERS_MAX) {
        actors->counts.subscribers_refused++;
        return SHERD_EFULL;
    }
    is_first = !is_followed(actors, key); /* the loop may have dropped the last one */
    if (!follower) {
        struct follower added = { .actor = actor, .key = mem_text(key) };

        vec_push(&actors->followers, added);
        follower = &actors->followers.items[actors->followers.count - 1];
    }
    follower->tag = tag;
    follow_news(actors, follower, is_first);
    return 0;
}

SHERD_API void sherd_data_unsubscribe(struct sherd_ctx *ctx, const char *key)
{
    struct follower *follower =
        is_key(key) ? find(ctx->actors, ctx->self.actor, key) : NULL;

    if (follower)
        drop(ctx->actors,
             (uint32_t)(follower - ctx->actors->followers.items));
}
