/* Writes events: the collecting group, the commit that is out, and the outcome for each of its
 * entities. */
#include <stdio.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/mark.h"
#include "journal/record.h"
#include "journal/state.h"

bool journal_has_room(const struct journal *journal, uint64_t handle)
{
    const struct entity *entity = entity_find(journal, handle);

    if (journal->status.events_waiting >= JOURNAL_LANE_EVENTS_MAX ||
        journal->status.bytes_waiting >= JOURNAL_LANE_BYTES_MAX)
        return false;
    return !entity || (entity->events < JOURNAL_ENTITY_EVENTS_MAX &&
                       entity->bytes < JOURNAL_ENTITY_BYTES_MAX);
}

static struct journal_request *group_open(struct journal *journal)
{
    if (!journal->group) {
        journal->group = journal_request_new(BACKEND_APPEND);
        journal->group_number++;
    }
    return journal->group;
}

/* Names shard and entity in the collecting group. */
static void group_enter(struct journal *journal, struct entity *entity)
{
    struct journal_request *group = group_open(journal);
    struct shard *shard = entity->shard;

    if (entity->group == journal->group_number)
        return;
    if (shard->group != journal->group_number) {
        struct backend_shard named = { .fence = shard->fence };

        named.type = backend_put(group, shard->type);
        named.shard = backend_put(group, shard->name);
        shard->group = journal->group_number;
        shard->group_index = group->shards.count;
        vec_push(&group->shards, named);
    }
    entity->group = journal->group_number;
    entity->group_seq = entity->seq + 1;
    entity->group_index = group->entities.count;
    vec_push(&group->entities,
             ((struct backend_entity){ .shard = shard->group_index,
                                     .id = backend_put(group, entity->id),
                                     .tag = entity_ref(journal, entity) }));
}

/* Distance of the next record's base in a shard's own stream; the first record is a base. */
static uint32_t back_to_base(struct entity *entity, uint32_t event_type)
{
    uint64_t seq = entity->seq + 1;

    if (event_type == JOURNAL_BASE || !entity->base)
        entity->base = seq;
    check(seq - entity->base <= UINT32_MAX);
    return (uint32_t)(seq - entity->base);
}

/* The collecting group has a base, which replaces earlier records. */
static void cut(struct journal *journal, const struct entity *entity)
{
    uint64_t kept = journal->options.kept;
    uint64_t first = entity->base > kept ? entity->base - kept : 0;

    journal->group->entities.items[entity->group_index].cut =
        first < entity->group_seq ? first : entity->group_seq;
}

uint64_t journal_append(struct journal *journal, uint64_t handle, struct entity_event event)
{
    struct entity *entity = entity_find(journal, handle);
    struct backend_record stored;
    struct record record;
    struct buf *bytes;

    if (!entity || entity->state != ENTITY_READY) {
        journal->status.ignored++;
        return POSITION_NEVER;
    }
    if (event.payload.size > JOURNAL_EVENT_SIZE_MAX) {
        char text[96];

        (void)snprintf(text, sizeof text, "event of %zu bytes, limit %d",
                       event.payload.size, JOURNAL_EVENT_SIZE_MAX);
        journal->status.events_failed++;
        entity_fail(journal, entity, JOURNAL_TOO_LARGE, text);
        return POSITION_NEVER;
    }
    group_enter(journal, entity);
    bytes = &journal->group->bytes;
    if (entity->own)
        event.type = back_to_base(entity, event.type);
    if (entity->own && event.type == JOURNAL_BASE)
        cut(journal, entity);
    record = (struct record){ .event_type = event.type,
                              .event_version = event.version,
                              .fence = entity->shard->fence,
                              .payload = event.payload };
    stored = (struct backend_record){ .entity = entity->group_index,
                                    .seq = ++entity->seq,
                                    .bytes.at = (uint32_t)bytes->size };
    record_encode(bytes, entity->key, stored.seq, &record);
    check(bytes->size <= UINT32_MAX);
    stored.bytes.size = (uint32_t)bytes->size - stored.bytes.at;
    vec_push(&journal->group->records, stored);
    entity->events++;
    entity->bytes += stored.bytes.size;
    journal->status.events_waiting++;
    journal->status.bytes_waiting += stored.bytes.size;
    return ++journal->status.position;
}

/* Removes the entity's events after a number from the collecting group. */
static void drop_after(struct journal *journal, struct entity *entity, uint64_t seq)
{
    struct journal_request *group = journal->group;
    uint32_t events = 0;
    uint32_t bytes = 0;
    uint32_t kept = 0;
    uint32_t own = 0; /* kept ones of the entity */

    if (!group || entity->group != journal->group_number)
        return;
    for (uint32_t i = 0; i < group->records.count; i++) {
        struct backend_record *record = &group->records.items[i];

        bool is_own = record->entity == entity->group_index;

        if (is_own && record->seq > seq) {
            events++;
            bytes += record->bytes.size;
        } else {
            group->records.items[kept++] = *record;
            own += is_own;
        }
    }
    group->records.count = kept;
    if (!own) { /* a later event makes a new entry */
        if (entity->group_index + 1 == group->entities.count)
            group->entities.count--;
        entity->group = 0;
    }
    journal->status.events_failed += events;
    entity_settle(journal, entity, events, bytes);
}

void write_drop(struct journal *journal, struct entity *entity)
{
    drop_after(journal, entity, 0);
}

void journal_withdraw(struct journal *journal, uint64_t handle, uint64_t seq)
{
    struct entity *entity = entity_find(journal, handle);

    if (!entity || entity->state != ENTITY_READY) {
        journal->status.ignored++;
        return;
    }
    REACHED("an entity takes events back");
    drop_after(journal, entity, seq);
    entity->seq = seq;
}

struct journal_request *write_take_request(struct journal *journal)
{
    struct journal_request *request;

    if (journal->repeat_due) {
        request = journal->repeat;
        journal->repeat = NULL;
        journal->repeat_due = false;
        return request;
    }
    if (journal->in_flight || journal->raising || !journal->group)
        return NULL;
    request = journal->group;
    journal->group = NULL;
    journal->group_number++;
    if (!request->records.count) { /* all events were dropped */
        journal_request_free(request);
        journal->status.durable = journal->status.position;
        return NULL;
    }
    journal->in_flight = true;
    journal->flight_position = journal->status.position;
    return request;
}

static bool is_unknown(const struct journal_request *reply)
{
    if (reply->result == BACKEND_UNKNOWN || reply->result == BACKEND_PENDING)
        return true;
    for (uint32_t i = 0; i < reply->entities.count; i++)
        if (reply->entities.items[i].result == BACKEND_UNKNOWN ||
            reply->entities.items[i].result == BACKEND_PENDING)
            return true;
    return false;
}

/* No event of these entities is written or answered until the outcome is known. The group shared
 * one transaction, so all of it waits. */
static void repeat(struct journal *journal, uint64_t now,
                   struct journal_request *reply)
{
    trace_put(journal->options.trace, TRACE_WARNING, "journal",
              "outcome of a commit unknown, journal read back events=%u "
              "attempt=%u detail=\"%s\" "
              "hint=\"check the journal's database and disk\"",
              reply->records.count, journal->repeat_attempt + 1,
              reply->error);
    REACHED("the outcome of a commit is unknown, so the journal is read");
    SOMETIMES("the outcome of a commit is unknown again", journal->repeat_attempt > 0);
    backend_settle(reply, BACKEND_PENDING, "");
    reply->again = true;
    journal->repeat = reply;
    journal->status.retries++;
    timers_put(&journal->timers,
               retry_at(journal, now, journal->repeat_attempt++), TIMER_REPEAT,
               0, 0);
}

static enum journal_reason reason_of(enum backend_result result)
{
    if (result == BACKEND_FENCED)
        return JOURNAL_FENCED;
    return result == BACKEND_CONFLICT ? JOURNAL_CONFLICT : JOURNAL_NOT_STORED;
}

/* The outcome of one entity: events and bytes are those of this group. */
static void settle(struct journal *journal, const struct journal_request *reply,
                   const struct backend_entity *outcome, uint32_t events,
                   uint32_t bytes)
{
    struct entity *entity = entity_at(journal, outcome->tag);

    if (outcome->result == BACKEND_DONE)
        journal->status.events_stored += events;
    else
        journal->status.events_failed += events;
    SOMETIMES("a commit was fenced off", outcome->result == BACKEND_FENCED);
    SOMETIMES("a commit met a number that is stored already",
              outcome->result == BACKEND_CONFLICT);
    SOMETIMES("a commit failed", outcome->result == BACKEND_FAILED);
    if (!events)
        return;
    check(entity != NULL); /* a slot stays while it has pending events */
    if (outcome->result != BACKEND_DONE)
        entity_fail(journal, entity, reason_of(outcome->result),
                    reply->error[0] ? reply->error : NULL);
    entity_settle(journal, entity, events, bytes);
}

static void fence_shards(struct journal *journal,
                         const struct journal_request *reply)
{
    for (uint32_t i = 0; i < reply->shards.count; i++) {
        const struct backend_shard *named = &reply->shards.items[i];
        struct shard *shard;

        if (named->result != BACKEND_FENCED)
            continue;
        shard = journal_shard_find(journal, backend_slice(reply, named->type),
                           backend_slice(reply, named->shard));
        /* A shard that was claimed again meanwhile with a higher fence stays. */
        if (shard && fence_compare(shard->wanted, named->stored) < 0)
            shard_fence(journal, shard, named->stored);
    }
}

void write_reply(struct journal *journal, uint64_t now,
                 struct journal_request *reply)
{
    struct count {
        uint32_t events;
        uint32_t bytes;
    } *counts;

    if (!journal->in_flight || journal->repeat) {
        journal->status.ignored++;
        journal_request_free(reply);
        return;
    }
    if (is_unknown(reply)) {
        repeat(journal, now, reply);
        return;
    }
    counts = mem_alloc(reply->entities.count * sizeof *counts);
    for (uint32_t i = 0; i < reply->records.count; i++) {
        const struct backend_record *record = &reply->records.items[i];

        counts[record->entity].events++;
        counts[record->entity].bytes += record->bytes.size;
    }
    journal->in_flight = false;
    journal->repeat_attempt = 0;
    for (uint32_t i = 0; i < reply->entities.count; i++)
        settle(journal, reply, &reply->entities.items[i], counts[i].events,
               counts[i].bytes);
    mem_free(counts);
    fence_shards(journal, reply);
    journal->status.durable = journal->flight_position;
    journal->status.commits++;
    journal_request_free(reply);
}

void write_fini(struct journal *journal)
{
    journal_request_free(journal->group);
    journal_request_free(journal->repeat);
}
