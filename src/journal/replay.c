/* Recovers entities: a limited number at a time, each in chunks, with verified records, one event a
 * call. */
#include <stdio.h>

#include "base/bound.h"
#include "base/limits.h"
#include "base/mark.h"
#include "journal/record.h"
#include "journal/state.h"

/* Returns the last forgotten entity of the same id with pending events; null if there is none. */
static struct entity *predecessor(struct journal *journal,
                                  const struct entity *entity)
{
    for (uint32_t i = journal->leaving.count; i > 0; i--) {
        struct entity *leaving =
            &journal->entities.items[journal->leaving.items[i - 1]];

        if (leaving->key == entity->key &&
            slice_equal(leaving->id, entity->id))
            return leaving;
    }
    return NULL;
}

void replay_start(struct journal *journal, struct entity *entity)
{
    struct entity *leaving;

    if (entity->shard->state == SHARD_FENCED) {
        entity->state = ENTITY_QUEUED;
        entity_fail(journal, entity, JOURNAL_FENCED,
                    "the shard has a newer owner");
        return;
    }
    if (entity->shard->state != SHARD_CLAIMED) {
        entity->state = ENTITY_UNCLAIMED;
        refs_push(&entity->shard->waiting, entity_ref(journal, entity));
        return;
    }
    leaving = predecessor(journal, entity);
    SOMETIMES("a recovery waits for the events of the last incarnation",
              leaving != NULL);
    if (entity->events || leaving) {
        entity->state = ENTITY_UNSETTLED;
        if (leaving)
            leaving->follower = entity_ref(journal, entity);
        return;
    }
    entity->seq = 0;
    entity->base = 0;
    entity->gap = 0;
    entity->seeks = entity->own;
    if (entity->saves)
        recovery_begin(entity);
    entity->state = ENTITY_QUEUED;
    journal->status.replays_waiting++;
    refs_push(&journal->recoveries, entity_ref(journal, entity));
}

static void replay(struct journal *journal, uint64_t handle, struct slice type,
                   struct slice shard, struct slice id, bool saves)
{
    struct entity *entity = entity_find(journal, handle);

    if (!entity) {
        struct shard *found = journal_shard_find(journal, type, shard);

        if (!found) {
            put_news(journal,
                     &(struct journal_news){ .kind = JOURNAL_FAILED,
                                             .handle = handle,
                                             .reason = JOURNAL_FENCED },
                     "the shard is not claimed here");
            return;
        }
        entity = entity_new(journal, handle, found, id);
    }
    replay_stop(journal, entity, &journal->status.replays_stopped);
    entity->saves = saves;
    replay_start(journal, entity);
}

void journal_replay(struct journal *journal, uint64_t handle,
                    struct slice type, struct slice shard, struct slice id)
{
    replay(journal, handle, type, shard, id, false);
}

void journal_recover(struct journal *journal, uint64_t handle, struct slice type,
                     struct slice shard, struct slice id)
{
    replay(journal, handle, type, shard, id, true);
}

void journal_reject_snapshot(struct journal *journal, uint64_t handle, const char *why)
{
    struct entity *entity = entity_find(journal, handle);

    if (!entity || entity->state != ENTITY_REPLAYING || !entity->recovery) {
        journal->status.ignored++;
        return;
    }
    recovery_refuse(journal, entity, why);
    entity->serial = 0; /* the events of its chunk are not used */
    refs_push(&journal->reads, entity_ref(journal, entity));
}

void journal_reject(struct journal *journal, uint64_t handle)
{
    struct entity *entity = entity_find(journal, handle);

    if (!entity || entity->state != ENTITY_REPLAYING) {
        journal->status.ignored++;
        return;
    }
    replay_stop(journal, entity, &journal->status.replays_failed);
}

void journal_forget(struct journal *journal, uint64_t handle)
{
    struct entity *entity = entity_find(journal, handle);

    if (entity)
        entity_forget(journal, entity);
    else
        journal->status.ignored++;
}

/* Removes the entity from the queue or the running ones; its chunks are recognised by its
 * serial. */
void replay_stop(struct journal *journal, struct entity *entity, uint64_t *outcome)
{
    if (entity->state == ENTITY_QUEUED)
        journal->status.replays_waiting--;
    if (entity->state == ENTITY_REPLAYING) {
        journal->status.replays_running--;
        ++*outcome;
    }
    entity->state = ENTITY_FAILED;
    entity->serial = 0;
    recovery_end(entity);
}

struct journal_request *replay_take_request(struct journal *journal,
                                          uint64_t now)
{
    struct journal_request *request;
    struct entity *entity = NULL;
    uint64_t ref;

    while (!entity && refs_take(&journal->reads, &ref)) {
        entity = entity_at(journal, ref);
        if (entity && entity->state != ENTITY_REPLAYING)
            entity = NULL;
    }
    while (!entity &&
           journal->status.replays_running < journal->options.replays_max &&
           refs_take(&journal->recoveries, &ref)) {
        entity = entity_at(journal, ref);
        if (entity && entity->state != ENTITY_QUEUED)
            entity = NULL;
        if (!entity)
            continue;
        entity->state = ENTITY_REPLAYING;
        journal->status.replays_waiting--;
        journal->status.replays_running++;
        journal->status.replays_started++;
        BOUNDED("recoveries at a time", journal->status.replays_running,
                JOURNAL_REPLAYS_MAX);
    }
    if (!entity)
        return NULL;
    request = recovery_request(entity);
    if (!request)
        request = journal_request_replay(entity->id,
                                       entity->seeks ? BACKEND_LAST : entity->seq + 1,
                                       JOURNAL_CHUNK_EVENTS_MAX,
                                       JOURNAL_CHUNK_SIZE_MAX);
    entity->asked = now;
    entity->serial = ++journal->serial;
    request->tag = ref;
    request->serial = entity->serial;
    return request;
}

/* The newest measurement counts an eighth. */
static void measure(struct journal *journal, uint64_t took)
{
    uint64_t *mean = &journal->status.replay_ns;

    journal->status.replay_reads++;
    *mean = *mean ? *mean - *mean / 8 + took / 8 : took;
}

void replay_reply(struct journal *journal, uint64_t now,
                  struct journal_request *reply)
{
    struct entity *entity = entity_at(journal, reply->tag);

    if (!entity || entity->state != ENTITY_REPLAYING ||
        entity->serial != reply->serial) {
        REACHED("a chunk arrives for a recovery that has ended");
        journal->status.ignored++;
        journal_request_free(reply);
        return;
    }
    measure(journal, now - entity->asked);
    if (reply->result != BACKEND_DONE) {
        REACHED("a recovery could not be read");
        entity_fail(journal, entity, JOURNAL_UNREADABLE, reply->error);
        journal_request_free(reply);
        return;
    }
    vec_push(&journal->chunks,
             ((struct chunk){ .reply = reply, .entity = reply->tag }));
}

void replay_damaged(struct journal *journal, struct entity *entity, const char *text)
{
    journal->status.damaged++;
    entity_fail(journal, entity, JOURNAL_DAMAGED, text);
}

/* In a shard's own stream each record names the distance of its base. */
static const char *wrong_base(struct entity *entity, uint64_t seq,
                              const struct record *record)
{
    if (record->event_version)
        return "the record of a shard's own stream has an event version";
    if (record->event_type == 0)
        entity->base = seq;
    if (!entity->base || seq - entity->base != record->event_type)
        return "the record names another base";
    return NULL;
}

/* found: the number in place of the next one. */
static void gap(struct journal *journal, struct entity *entity, uint64_t found)
{
    const struct recovery *recovery = entity->recovery;
    char text[192 + RECOVERY_TRIED_MAX];
    int used;

    used = snprintf(text, sizeof text,
                    "gap in the journal: expected event %llu, found %llu",
                    (unsigned long long)entity->seq + 1,
                    (unsigned long long)found);
    if (recovery && recovery->refused)
        (void)snprintf(text + used, sizeof text - (size_t)used,
                       "; %u snapshots refused, the last because %s", recovery->refused,
                       recovery->why);
    replay_damaged(journal, entity, text);
}

/* Handles the last record of a shard's own stream: the replay begins at its base. False if the
 * stream is empty. */
static bool seek(struct journal *journal, struct entity *entity,
                 const struct chunk *chunk)
{
    const struct backend_record *last = chunk->reply->records.items;
    struct record record;
    const char *wrong;
    char text[128];

    entity->seeks = false;
    if (!chunk->reply->records.count)
        return false;
    wrong = record_decode(backend_slice(chunk->reply, last->bytes), entity->key,
                          last->seq, &record);
    if (!wrong && record.event_type >= last->seq)
        wrong = "the record names another base";
    if (wrong) {
        (void)snprintf(text, sizeof text, "event %llu: %s",
                       (unsigned long long)last->seq, wrong);
        replay_damaged(journal, entity, text);
        return true;
    }
    if (entity->gap && last->seq - record.event_type <= entity->seq + 1) {
        gap(journal, entity, entity->gap); /* no newer base replaces the missing records */
        return true;
    }
    entity->seq = last->seq - record.event_type - 1;
    entity->base = 0;
    entity->gap = 0;
    refs_push(&journal->reads, chunk->entity);
    return true;
}

/* A newer owner may have written a base and deleted records that this replay needs; it continues at
 * that base. The newer claim is discovered later. */
static bool seek_again(struct journal *journal, struct entity *entity,
                       const struct chunk *chunk)
{
    uint64_t seq = chunk->reply->records.items[0].seq;

    if (!entity->own || chunk->next || seq <= entity->seq + 1)
        return false;
    REACHED("a stream's base is replaced while it is read");
    entity->seeks = true;
    entity->gap = seq;
    refs_push(&journal->reads, chunk->entity);
    return true;
}

/* Returns one record of the chunk as news; false if it is damaged. */
static bool hand_out(struct journal *journal, struct entity *entity,
                     struct chunk *chunk, struct journal_news *news)
{
    const struct backend_record *stored =
        &chunk->reply->records.items[chunk->next++];
    const char *wrong;
    struct record record;
    char text[128];

    if (stored->seq != entity->seq + 1) {
        gap(journal, entity, stored->seq);
        return false;
    }
    wrong = record_decode(backend_slice(chunk->reply, stored->bytes),
                          entity->key, stored->seq, &record);
    if (!wrong && entity->own)
        wrong = wrong_base(entity, stored->seq, &record);
    if (wrong) {
        (void)snprintf(text, sizeof text, "event %llu: %s",
                       (unsigned long long)stored->seq, wrong);
        replay_damaged(journal, entity, text);
        return false;
    }
    entity->seq = stored->seq;
    journal->status.events_replayed++;
    *news = (struct journal_news){ .kind = JOURNAL_EVENT,
                                   .handle = entity->handle,
                                   .seq = stored->seq,
                                   .fence = record.fence,
                                   .event = { record.event_type, record.event_version,
                                              record.payload } };
    return true;
}

/* Ends a chunk: requests the next one, or the entity is ready. */
static bool chunk_end(struct journal *journal, struct entity *entity,
                      const struct chunk *chunk, struct journal_news *news)
{
    if (chunk->reply->more && chunk->reply->records.count) {
        refs_push(&journal->reads, chunk->entity);
        return false;
    }
    replay_stop(journal, entity, &journal->status.replays_done);
    entity->state = ENTITY_READY;
    *news = (struct journal_news){ .kind = JOURNAL_RECOVERED,
                                   .handle = entity->handle,
                                   .seq = entity->seq };
    return true;
}

static bool recovery_is_choosing(const struct entity *entity)
{
    return entity->recovery && entity->recovery->step != RECOVERY_EVENTS;
}

/* Handles a step of the choice of a snapshot. True: news is the snapshot. */
static bool choose(struct journal *journal, struct entity *entity, struct chunk *chunk,
                   struct journal_news *news)
{
    enum recovery_answer answer =
        recovery_take(journal, entity, chunk->reply, &chunk->next, news);

    if (answer == RECOVERY_GIVES)
        return true; /* its events follow */
    refs_push(&journal->reads, chunk->entity);
    if (answer == RECOVERY_GOES_ON)
        journal_request_free(chunk->reply);
    journal->chunk_head++;
    return false;
}

bool replay_next(struct journal *journal, struct journal_news *news)
{
    while (journal->chunk_head < journal->chunks.count) {
        struct chunk *chunk = &journal->chunks.items[journal->chunk_head];
        struct entity *entity = entity_at(journal, chunk->entity);
        bool alive = entity && entity->serial == chunk->reply->serial &&
                     entity->state == ENTITY_REPLAYING;
        bool has_more = alive && chunk->next < chunk->reply->records.count;
        bool reported = false;

        if (alive && entity->recovery)
            recovery_given(entity);
        if (alive && recovery_is_choosing(entity)) {
            if (choose(journal, entity, chunk, news))
                return true;
            continue;
        }

        if (alive && (entity->seeks
                          ? seek(journal, entity, chunk)
                          : has_more && seek_again(journal, entity, chunk))) {
            journal_request_free(chunk->reply);
            journal->chunk_head++;
            if (entity->state == ENTITY_FAILED)
                return news_take(journal, news);
            continue;
        }
        if (has_more) {
            if (hand_out(journal, entity, chunk, news))
                return true;
            return news_take(journal, news);
        }
        if (alive)
            reported = chunk_end(journal, entity, chunk, news);
        /* The bytes lent last are no longer needed. */
        journal_request_free(chunk->reply);
        journal->chunk_head++;
        if (reported)
            return true;
    }
    journal->chunks.count = journal->chunk_head = 0;
    return false;
}

void replay_fini(struct journal *journal)
{
    for (uint32_t i = journal->chunk_head; i < journal->chunks.count; i++)
        journal_request_free(journal->chunks.items[i].reply);
    vec_fini(&journal->chunks);
    vec_fini(&journal->recoveries.list);
    vec_fini(&journal->reads.list);
}
