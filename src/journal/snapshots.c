/* Chooses the snapshot of an entity's recovery: the newest one that is intact, is not above the last
 * event, and is followed by its events without a gap. The entity gets nothing before all this is
 * known, so that it never has a part of a state. */
#include <stdio.h>

#include "base/limits.h"
#include "base/mark.h"
#include "journal/record.h"
#include "journal/state.h"

void recovery_begin(struct entity *entity)
{
    recovery_end(entity);
    entity->recovery = mem_alloc(sizeof *entity->recovery);
    entity->recovery->step = RECOVERY_LOAD;
    entity->recovery->below = BACKEND_NEWEST;
}

void recovery_end(struct entity *entity)
{
    if (!entity->recovery)
        return;
    journal_request_free(entity->recovery->loaded);
    mem_free(entity->recovery);
    entity->recovery = NULL;
}

void recovery_given(struct entity *entity)
{
    struct recovery *recovery = entity->recovery;

    if (recovery->step != RECOVERY_EVENTS)
        return;
    journal_request_free(recovery->loaded);
    recovery->loaded = NULL;
}

struct journal_request *recovery_request(const struct entity *entity)
{
    const struct recovery *recovery = entity->recovery;
    struct journal_request *request;

    if (!recovery || recovery->step == RECOVERY_EVENTS)
        return NULL;
    if (recovery->step == RECOVERY_LOAD)
        return journal_request_load(entity->id, recovery->below);
    if (recovery->step == RECOVERY_CHECK)
        return journal_request_replay(entity->id, recovery->seq, JOURNAL_CHUNK_EVENTS_MAX,
                                      JOURNAL_CHUNK_SIZE_MAX);
    request = journal_request_owner(BACKEND_DROP, entity->shard->type, entity->shard->name,
                                    entity->shard->fence, entity->id);
    request->from = recovery->seq;
    return request;
}

void recovery_refuse(struct journal *journal, struct entity *entity, const char *why)
{
    struct recovery *recovery = entity->recovery;

    journal->status.snapshots_refused++;
    recovery->refused++;
    (void)snprintf(recovery->why, sizeof recovery->why, "of event %llu: %s",
                   (unsigned long long)recovery->seq, why); /* may be cut */
    trace_put(journal->options.trace, TRACE_WARNING, "journal",
              "snapshot refused, an older one or all events are used id=%.*s event=%llu "
              "reason=\"%s\" hint=\"restore the journal from a backup, or run a program that "
              "knows the snapshot\"",
              (int)entity->id.size, (const char *)entity->id.data,
              (unsigned long long)recovery->seq, why);
    journal_request_free(recovery->loaded);
    recovery->loaded = NULL;
    recovery->image = (struct slice){ 0 };
    recovery->step = RECOVERY_LOAD;
    recovery->below = recovery->seq - 1;
    entity->seq = 0;
}

static enum recovery_answer loaded(struct journal *journal, struct entity *entity,
                                   struct journal_request *reply)
{
    struct recovery *recovery = entity->recovery;
    const struct backend_record *stored = reply->records.items;
    struct snapshot snapshot;
    const char *wrong;

    if (!reply->records.count || stored->seq == 0 || stored->seq > recovery->below) {
        recovery->step = RECOVERY_EVENTS;
        return RECOVERY_GOES_ON;
    }
    recovery->seq = stored->seq;
    wrong = snapshot_decode(backend_slice(reply, stored->bytes), entity->key, stored->seq,
                            &snapshot);
    if (wrong) {
        REACHED("a damaged snapshot is refused");
        recovery_refuse(journal, entity, wrong);
        return RECOVERY_GOES_ON;
    }
    recovery->step = RECOVERY_CHECK;
    recovery->loaded = reply;
    recovery->version = snapshot.version;
    recovery->part = snapshot.part;
    recovery->image = snapshot.image;
    return RECOVERY_KEEPS;
}

/* The snapshot's own event is there, or was deleted and later ones are. */
static enum recovery_answer checked(struct journal *journal, struct entity *entity,
                                    const struct journal_request *reply, uint32_t *next,
                                    struct journal_news *news)
{
    struct recovery *recovery = entity->recovery;
    uint64_t first = reply->records.count ? reply->records.items[0].seq : 0;

    if (!first) {
        REACHED("a snapshot is above the last event");
        recovery_refuse(journal, entity, "the journal has no event with its number or a later one");
        recovery->step = RECOVERY_DROP;
        return RECOVERY_GOES_ON;
    }
    if (first > recovery->seq + 1) {
        recovery_refuse(journal, entity, "the event after it is missing");
        return RECOVERY_GOES_ON;
    }
    *next = first == recovery->seq;
    recovery->step = RECOVERY_EVENTS;
    entity->seq = recovery->seq;
    journal->status.snapshots_loaded++;
    *news = (struct journal_news){ .kind = JOURNAL_SNAPSHOT,
                                   .handle = entity->handle,
                                   .seq = recovery->seq,
                                   .event = { 0, recovery->version, recovery->image },
                                   .part = recovery->part };
    return RECOVERY_GIVES;
}

enum recovery_answer recovery_take(struct journal *journal, struct entity *entity,
                                   struct journal_request *reply, uint32_t *next,
                                   struct journal_news *news)
{
    if (entity->recovery->step == RECOVERY_LOAD)
        return loaded(journal, entity, reply);
    if (entity->recovery->step == RECOVERY_CHECK)
        return checked(journal, entity, reply, next, news);
    entity->recovery->step = RECOVERY_LOAD; /* the snapshots that were too high are deleted */
    return RECOVERY_GOES_ON;
}
