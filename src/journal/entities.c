/* Stores entities in slots, found by the node's handle or by a ref. */
#include "base/check.h"
#include "journal/record.h"
#include "journal/state.h"

/* Spreads handles, whose low bits may all be equal. */
static uint32_t handle_hash(uint64_t handle)
{
    return (uint32_t)((handle * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

/* Returns the index in handles of this handle, or of its free place. */
static uint32_t handle_place(const struct journal *journal, uint64_t handle)
{
    uint32_t mask = journal->handle_capacity - 1;
    uint32_t at = handle_hash(handle) & mask;

    while (journal->handles[at] &&
           journal->entities.items[journal->handles[at]].handle != handle)
        at = (at + 1) & mask;
    return at;
}

struct entity *entity_find(const struct journal *journal, uint64_t handle)
{
    uint32_t index;

    if (!journal->handle_capacity)
        return NULL;
    index = journal->handles[handle_place(journal, handle)];
    return index ? &journal->entities.items[index] : NULL;
}

static void handles_grow(struct journal *journal)
{
    uint32_t *old = journal->handles;
    uint32_t capacity = journal->handle_capacity;

    if ((journal->handle_count + 1) * 4 < capacity * 3)
        return;
    journal->handle_capacity = capacity ? capacity * 2 : 64;
    journal->handles =
        mem_alloc(journal->handle_capacity * sizeof *journal->handles);
    for (uint32_t i = 0; i < capacity; i++)
        if (old[i])
            journal->handles[handle_place(
                journal, journal->entities.items[old[i]].handle)] = old[i];
    mem_free(old);
}

/* Removes the handle and moves back those that probed past it. */
static void handle_remove(struct journal *journal, uint64_t handle)
{
    uint32_t mask = journal->handle_capacity - 1;
    uint32_t hole = handle_place(journal, handle);
    uint32_t at = hole;

    check(journal->handles[hole] != 0);
    for (;;) {
        uint32_t home;

        at = (at + 1) & mask;
        if (!journal->handles[at])
            break;
        home = handle_hash(
                   journal->entities.items[journal->handles[at]].handle) &
               mask;
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            journal->handles[hole] = journal->handles[at];
            hole = at;
        }
    }
    journal->handles[hole] = 0;
    journal->handle_count--;
}

struct entity *entity_at(struct journal *journal, uint64_t ref)
{
    uint32_t index = (uint32_t)ref;
    struct entity *entity;

    if (!index || index >= journal->entities.count)
        return NULL;
    entity = &journal->entities.items[index];
    return entity->state != ENTITY_FREE &&
                   entity->generation == (uint32_t)(ref >> 32)
               ? entity
               : NULL;
}

uint64_t entity_ref(const struct journal *journal, const struct entity *entity)
{
    return (uint64_t)entity->generation << 32 |
           (uint32_t)(entity - journal->entities.items);
}

struct entity *entity_new(struct journal *journal, uint64_t handle,
                          struct shard *shard, struct slice id)
{
    struct entity *entity;
    uint32_t generation;
    uint32_t index;

    if (!journal->entities.count)
        vec_push(&journal->entities, (struct entity){ 0 });
    if (journal->entities_free.count) {
        index =
            journal->entities_free.items[--journal->entities_free.count];
    } else {
        index = journal->entities.count;
        vec_push(&journal->entities, (struct entity){ 0 });
    }
    handles_grow(journal);
    journal->handles[handle_place(journal, handle)] = index;
    journal->handle_count++;
    entity = &journal->entities.items[index];
    generation = entity->generation + 1;
    *entity = (struct entity){
        .handle = handle,
        .shard = shard,
        .generation = generation,
        .state = ENTITY_FAILED,
    };
    entity->own = !id.size;
    buf_clear(&journal->scratch);
    if (entity->own) /* no entity's id: a type has a name */
        buf_put_u8(&journal->scratch, '|');
    buf_put_slice(&journal->scratch, shard->type);
    buf_put_u8(&journal->scratch, '|');
    buf_put_slice(&journal->scratch, entity->own ? shard->name : id);
    entity->id = copy_slice(buf_slice(&journal->scratch));
    entity->key = record_key(entity->id);
    shard->entity_count++;
    return entity;
}

static void entity_free(struct journal *journal, struct entity *entity)
{
    check(entity->events == 0);
    mem_free((void *)(uintptr_t)entity->id.data);
    entity->id = (struct slice){ 0 };
    entity->state = ENTITY_FREE;
    vec_push(&journal->entities_free,
             (uint32_t)(entity - journal->entities.items));
    shard_leave(journal, entity->shard);
}

void entity_forget(struct journal *journal, struct entity *entity)
{
    replay_stop(journal, entity, &journal->status.replays_stopped);
    handle_remove(journal, entity->handle);
    entity->handle = 0;
    if (!entity->events) {
        entity_free(journal, entity);
        return;
    }
    entity->state = ENTITY_LEAVING;
    vec_push(&journal->leaving, (uint32_t)(entity - journal->entities.items));
}

static const char *remedy_of(enum journal_reason reason)
{
    switch (reason) {
    case JOURNAL_FENCED:
    case JOURNAL_CONFLICT:
        return "check whether this process was suspended or cut off";
    case JOURNAL_TOO_LARGE:
        return "persist smaller events";
    case JOURNAL_DAMAGED:
        return "restore the journal from a backup";
    default:
        return "check the journal's database and disk";
    }
}

void entity_fail(struct journal *journal, struct entity *entity,
                 enum journal_reason reason, const char *text)
{
    enum entity_state before = entity->state;

    saving_drop(journal, entity_ref(journal, entity));
    write_drop(journal, entity);
    if (entity->state == ENTITY_LEAVING || entity->state == ENTITY_FAILED ||
        entity->state == ENTITY_FREE)
        return;
    /* An entity that waits for its events will then read the stored ones. So only its shard's fence
     * can fail it. */
    if (before == ENTITY_UNSETTLED && reason != JOURNAL_FENCED)
        return;
    replay_stop(journal, entity,
                reason == JOURNAL_FENCED ? &journal->status.replays_stopped
                                         : &journal->status.replays_failed);
    entity->state = ENTITY_FAILED;
    put_news(journal,
             &(struct journal_news){ .kind = JOURNAL_FAILED,
                                     .handle = entity->handle,
                                     .reason = reason },
             text);
    trace_put(journal->options.trace, TRACE_WARNING, "journal",
              "entity failed type=%.*s shard=%.*s id=%.*s reason=\"%s\" "
              "detail=\"%s\" hint=\"%s\"",
              (int)entity->shard->type.size,
              (const char *)entity->shard->type.data,
              (int)entity->shard->name.size,
              (const char *)entity->shard->name.data, (int)entity->id.size, (const char *)entity->id.data,
              journal_reason_text(reason), text ? text : "", remedy_of(reason));
}

void entity_settle(struct journal *journal, struct entity *entity,
                   uint32_t events, uint32_t bytes)
{
    struct entity *follower;
    uint64_t ref;

    check(entity->events >= events);
    check(entity->bytes >= bytes);
    entity->events -= events;
    entity->bytes -= bytes;
    journal->status.events_waiting -= events;
    journal->status.bytes_waiting -= bytes;
    if (entity->events)
        return;
    if (entity->state == ENTITY_UNSETTLED) {
        replay_start(journal, entity);
        return;
    }
    if (entity->state != ENTITY_LEAVING)
        return;
    for (uint32_t i = 0; i < journal->leaving.count; i++) {
        if (&journal->entities.items[journal->leaving.items[i]] == entity) {
            vec_remove(&journal->leaving, i);
            break;
        }
    }
    ref = entity->follower;
    entity_free(journal, entity);
    follower = entity_at(journal, ref);
    if (follower && follower->state == ENTITY_UNSETTLED)
        replay_start(journal, follower);
}

void entities_fini(struct journal *journal)
{
    for (uint32_t i = 0; i < journal->entities.count; i++) {
        mem_free((void *)(uintptr_t)journal->entities.items[i].id.data);
        recovery_end(&journal->entities.items[i]);
    }
    vec_fini(&journal->entities);
    vec_fini(&journal->entities_free);
    vec_fini(&journal->leaving);
    mem_free(journal->handles);
}
