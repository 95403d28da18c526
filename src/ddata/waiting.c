/* Takes commands from the node. Keeps those that come during loading, and runs them afterwards in
 * order. */
#include "base/bound.h"
#include "base/limits.h"
#include "ddata/replicator_inside.h"

static bool must_wait(const struct replicator *replicator, uint64_t token)
{
    if (replicator->waiting_head == replicator->waiting.count)
        return replicator->is_loading;
    return !replicator->is_modifying ||
           replicator->waiting.items[replicator->waiting_head].token != token;
}

/* Keeps a command until loading ends; false at the limit. */
static bool keep(struct replicator *replicator, const struct waiting *waiting)
{
    struct waiting kept = *waiting;

    if (replicator->waiting.count - replicator->waiting_head >=
            REPLICATOR_WAITING_MAX ||
        waiting->key.size > REPLICATOR_KEY_SIZE_MAX)
        return false;
    kept.key.data = mem_copy(waiting->key.data, waiting->key.size);
    vec_push(&replicator->waiting, kept);
    BOUNDED("commands that wait for durable keys",
            replicator->waiting.count - replicator->waiting_head,
            REPLICATOR_WAITING_MAX);
    return true;
}

static void drop_first(struct replicator *replicator)
{
    mem_free((void *)(uintptr_t)
                 replicator->waiting.items[replicator->waiting_head]
                     .key.data);
    replicator->waiting_head++;
    if (replicator->waiting_head == replicator->waiting.count)
        replicator->waiting_head = replicator->waiting.count = 0;
}

/* Runs waiting commands in order up to an update, since later ones may need its result. */
void waiting_go_on(struct replicator *replicator, uint64_t now,
                   struct outbox *outbox)
{
    while (replicator->waiting_head < replicator->waiting.count) {
        const struct waiting *first =
            &replicator->waiting.items[replicator->waiting_head];

        switch (first->kind) {
        case WAITING_UPDATE:
            replicator->is_modifying = true;
            news_put(replicator,
                     &(struct news_item){ .kind = REPLICATOR_NEWS_MODIFY,
                                          .token = first->token },
                     first->key, slice_of(NULL, 0));
            return;
        case WAITING_GET:
            command_get(replicator, now, first->token, first->key,
                        &first->consistency, outbox);
            break;
        case WAITING_SHOW:
            command_show(replicator, first->token, first->key);
            break;
        case WAITING_DELETE:
            command_delete(replicator, now, first->token, first->key,
                           &first->consistency, outbox);
            break;
        case WAITING_RELEASE:
            command_release(replicator, first->token, first->key);
            break;
        }
        drop_first(replicator);
    }
}

/* The update has finished: waiting commands continue. */
static void end_update(struct replicator *replicator, uint64_t now,
                       struct outbox *outbox)
{
    if (!replicator->is_modifying)
        return;
    replicator->is_modifying = false;
    drop_first(replicator);
    waiting_go_on(replicator, now, outbox);
}

/* True if the command waits, or was refused. */
static bool waits(struct replicator *replicator, enum waiting_kind kind,
                  uint64_t token, struct slice key,
                  const struct consistency *consistency)
{
    struct waiting waiting = { kind, token, key, { .count = 0 } };

    if (replicator->has_ended) {
        news_answer(replicator, token, REPLICATOR_STOPPED, key);
        return true;
    }
    if (!must_wait(replicator, token))
        return false;
    if (consistency)
        waiting.consistency = *consistency;
    if (!keep(replicator, &waiting))
        command_refuse(replicator, token, REPLICATOR_FULL, key);
    return true;
}

void replicator_show(struct replicator *replicator, uint64_t token,
                     struct slice key)
{
    if (!waits(replicator, WAITING_SHOW, token, key, NULL))
        command_show(replicator, token, key);
}

void replicator_get(struct replicator *replicator, uint64_t now, uint64_t token,
                    struct slice key, const struct consistency *consistency,
                    struct outbox *outbox)
{
    if (!waits(replicator, WAITING_GET, token, key, consistency))
        command_get(replicator, now, token, key, consistency, outbox);
}

void replicator_delete(struct replicator *replicator, uint64_t now,
                       uint64_t token, struct slice key,
                       const struct consistency *consistency,
                       struct outbox *outbox)
{
    if (!waits(replicator, WAITING_DELETE, token, key, consistency))
        command_delete(replicator, now, token, key, consistency, outbox);
}

void replicator_release(struct replicator *replicator, uint64_t token,
                        struct slice key)
{
    if (!waits(replicator, WAITING_RELEASE, token, key, NULL))
        command_release(replicator, token, key);
}

enum replicator_begin replicator_update_begin(struct replicator *replicator,
                                              uint64_t now, uint64_t token,
                                              struct slice key,
                                              const struct dd_value **current,
                                              struct outbox *outbox)
{
    struct waiting waiting = { .kind = WAITING_UPDATE,
                               .token = token,
                               .key = key };
    enum replicator_begin begin;

    *current = NULL;
    if (!replicator->has_ended && must_wait(replicator, token)) {
        if (keep(replicator, &waiting))
            return REPLICATOR_WAIT;
        command_refuse(replicator, token, REPLICATOR_FULL, key);
        return REPLICATOR_ANSWERED;
    }
    begin = command_update_begin(replicator, token, key, current);
    if (begin == REPLICATOR_ANSWERED)
        end_update(replicator, now, outbox);
    return begin;
}

void replicator_update_fail(struct replicator *replicator, uint64_t now,
                            uint64_t token, struct slice key,
                            struct outbox *outbox)
{
    command_update_fail(replicator, token, key);
    end_update(replicator, now, outbox);
}

void replicator_update(struct replicator *replicator, uint64_t now,
                       uint64_t token, struct slice key, struct dd_value *value,
                       const struct consistency *consistency,
                       struct outbox *outbox)
{
    replicator_update_made(replicator, now, token, key, NULL, value,
                           consistency, outbox);
}

void replicator_update_made(struct replicator *replicator, uint64_t now,
                            uint64_t token, struct slice key,
                            const struct dd_value *current,
                            struct dd_value *value,
                            const struct consistency *consistency,
                            struct outbox *outbox)
{
    command_update(replicator, now, token, key, current, value, consistency,
                   outbox);
    end_update(replicator, now, outbox);
}

/* Answers all waiting commands: the replicator stops. */
void waiting_fini(struct replicator *replicator)
{
    while (replicator->waiting_head < replicator->waiting.count) {
        const struct waiting *first =
            &replicator->waiting.items[replicator->waiting_head];

        news_answer(replicator, first->token, REPLICATOR_STOPPED, first->key);
        drop_first(replicator);
    }
    replicator->is_modifying = false;
    vec_fini(&replicator->waiting);
}
