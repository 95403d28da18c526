/* Stores snapshots after their events, and then deletes the events that they replace.
 *
 * A lane has one snapshot at the backend at a time. If events are to be deleted, the oldest snapshot
 * that stays is read back first. Each failure ends the work on this snapshot and nothing else: the
 * next one begins anew. */
#include "base/check.h"
#include "base/limits.h"
#include "base/mark.h"
#include "journal/record.h"
#include "journal/state.h"

#define SAVING_TAG UINT64_MAX /* no entity's ref */

void journal_save(struct journal *journal, uint64_t handle,
                  const struct journal_snapshot *snapshot)
{
    struct entity *entity = entity_find(journal, handle);
    struct saving *saving;

    if (!entity || entity->state != ENTITY_READY || !entity->seq ||
        snapshot->part.size + snapshot->image.size > JOURNAL_SNAPSHOT_SIZE_MAX) {
        journal->status.ignored++;
        return;
    }
    saving = mem_alloc(sizeof *saving);
    saving->entity = entity_ref(journal, entity);
    saving->handle = handle;
    saving->key = entity->key;
    saving->seq = entity->seq;
    saving->fence = entity->shard->fence;
    saving->position = entity->events ? journal->status.position : 0;
    saving->type = copy_slice(entity->shard->type);
    saving->shard = copy_slice(entity->shard->name);
    saving->id = copy_slice(entity->id);
    saving->keep = snapshot->keep ? snapshot->keep : 1;
    saving->trims = snapshot->trims;
    saving->keep_events = snapshot->keep_events;
    snapshot_encode(&saving->bytes, entity->key, entity->seq,
                    &(struct snapshot){ snapshot->version, entity->shard->fence,
                                        snapshot->part, snapshot->image });
    saving_put(journal, saving);
}

/* ---- requests ---- */

static struct journal_request *by_owner(const struct saving *saving, enum backend_verb verb)
{
    struct journal_request *request = journal_request_owner(verb, saving->type, saving->shard,
                                                            saving->fence, saving->id);

    request->tag = SAVING_TAG;
    return request;
}

static struct journal_request *store(struct saving *saving)
{
    struct journal_request *request = by_owner(saving, BACKEND_SAVE);
    struct backend_record record = { .seq = saving->seq };

    record.bytes = backend_put(request, buf_slice(&saving->bytes));
    vec_push(&request->records, record);
    request->count_max = saving->keep;
    saving->step = SAVING_STORES;
    return request;
}

static struct journal_request *trim(const struct saving *saving)
{
    struct journal_request *request = by_owner(saving, BACKEND_TRIM);

    request->from = saving->oldest + 1 - saving->keep_events; /* at least 2 */
    request->count_max = JOURNAL_TRIM_MAX;
    return request;
}

/* Whether the shard is still the node's by the claim under which the image was taken. After another
 * claim, the snapshot's event may be one that the store lost, and another one may have its number. */
static bool is_owned(struct journal *journal, const struct saving *saving)
{
    const struct shard *shard = journal_shard_find(journal, saving->type, saving->shard);

    return shard && !shard->released && shard->state == SHARD_CLAIMED &&
           fence_compare(shard->fence, saving->fence) == 0;
}

struct journal_request *saving_take_request(struct journal *journal, uint64_t now)
{
    (void)now;
    while (journal->savings.count && !journal->saving_is_out) {
        struct saving *saving = journal->savings.items[0];
        struct journal_request *request;

        if (saving->position > journal->status.durable)
            return NULL;
        if (!is_owned(journal, saving)) {
            SOMETIMES("a shard leaves before a snapshot is stored", saving->step == SAVING_WAITS);
            if (saving->step == SAVING_WAITS)
                journal->status.snapshots_failed++;
            saving_remove(journal, 0);
            continue;
        }
        if (saving->step == SAVING_VERIFIES)
            request = journal_request_load(saving->id, saving->oldest);
        else if (saving->step == SAVING_TRIMS)
            request = trim(saving);
        else
            request = store(saving);
        request->tag = SAVING_TAG;
        journal->saving_is_out = true;
        return request;
    }
    return NULL;
}

/* ---- answers ---- */

bool saving_owns(const struct journal_request *reply)
{
    return reply->tag == SAVING_TAG && reply->verb >= BACKEND_SAVE;
}

/* Warns at most once a minute. */
static void warn(struct journal *journal, uint64_t now, const struct saving *saving,
                 const char *what, const char *why)
{
    if (journal->saving_said && now - journal->saving_said < LONG_REPLAY_SAID_NS)
        return;
    journal->saving_said = now;
    trace_put(journal->options.trace, TRACE_WARNING, "journal",
              "%s id=%.*s event=%llu detail=\"%s\" "
              "hint=\"check the journal's database and disk\"",
              what, (int)saving->id.size, (const char *)saving->id.data,
              (unsigned long long)saving->seq, why);
}

static void stored(struct journal *journal, struct saving *saving,
                   const struct journal_request *reply)
{
    struct entity *entity = entity_at(journal, saving->entity);

    journal->status.snapshots_saved++;
    saving_empty(journal, saving);
    if (entity && entity->handle)
        put_news(journal,
                 &(struct journal_news){ .kind = JOURNAL_SAVED,
                                         .handle = saving->handle,
                                         .seq = saving->seq },
                 NULL);
    saving->oldest = reply->from;
    if (saving->trims && reply->from > saving->keep_events)
        saving->step = SAVING_VERIFIES;
    else
        saving_remove(journal, 0);
}

static void verified(struct journal *journal, uint64_t now, struct saving *saving,
                     const struct journal_request *reply)
{
    const struct backend_record *read = reply->records.items;
    const char *wrong = "it is missing";
    struct snapshot snapshot;

    if (reply->records.count && read->seq == saving->oldest)
        wrong = snapshot_decode(backend_slice(reply, read->bytes), saving->key, read->seq,
                                &snapshot);
    if (!wrong) {
        saving->step = SAVING_TRIMS;
        return;
    }
    REACHED("events stay because the oldest snapshot is damaged");
    warn(journal, now, saving, "events are not deleted, the oldest snapshot is not good", wrong);
    saving_remove(journal, 0);
}

/* A shard that was claimed again with a higher fence stays. */
static void fenced(struct journal *journal, const struct saving *saving, struct fence found)
{
    struct shard *shard = journal_shard_find(journal, saving->type, saving->shard);

    if (shard && fence_compare(shard->wanted, found) < 0)
        shard_fence(journal, shard, found);
}

static void failed(struct journal *journal, uint64_t now, struct saving *saving,
                   const struct journal_request *reply)
{
    if (saving->step == SAVING_STORES)
        journal->status.snapshots_failed++;
    SOMETIMES("a snapshot is fenced off", reply->result == BACKEND_FENCED);
    if (reply->result == BACKEND_FENCED)
        fenced(journal, saving, reply->fence);
    else
        warn(journal, now, saving,
             saving->step == SAVING_STORES ? "snapshot not stored"
                                           : "events behind a snapshot not deleted",
             reply->result == BACKEND_CONFLICT ? "the journal has no event with its number"
                                               : reply->error);
    saving_remove(journal, 0);
}

void saving_reply(struct journal *journal, uint64_t now, struct journal_request *reply)
{
    struct saving *saving;

    check(journal->saving_is_out && journal->savings.count);
    journal->saving_is_out = false;
    saving = journal->savings.items[0];
    if (reply->result != BACKEND_DONE) {
        failed(journal, now, saving, reply);
    } else if (saving->step == SAVING_STORES) {
        stored(journal, saving, reply);
    } else if (saving->step == SAVING_VERIFIES) {
        verified(journal, now, saving, reply);
    } else {
        journal->status.events_trimmed += reply->deleted < JOURNAL_TRIM_MAX ? reply->deleted : JOURNAL_TRIM_MAX;
        if (!reply->more)
            saving_remove(journal, 0);
    }
    journal_request_free(reply);
}
