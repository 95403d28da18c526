/* Keeps the tables of a simulated database server. */
#include "sim/world/database_rows.h"

#include "base/check.h"

static struct slice copy(struct slice bytes)
{
    return slice_of(mem_copy(bytes.data, bytes.size), bytes.size);
}

static void free_copy(struct slice bytes)
{
    mem_free((void *)(uintptr_t)bytes.data);
}

void database_rows_init(struct database_rows *rows, const char *cluster)
{
    *rows = (struct database_rows){ .book = book_new(cluster) };
}

void database_rows_fini(struct database_rows *rows)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&rows->shards, &at, &entry);) {
        struct database_shard *shard = entry.value;

        free_copy(shard->type);
        free_copy(shard->shard);
        mem_free(shard);
    }
    for (uint32_t at = 0; map_next(&rows->entities, &at, &entry);) {
        struct database_entity *entity = entry.value;

        free_copy(entity->pid);
        mem_free(entity);
    }
    for (uint32_t at = 0; map_next(&rows->writers, &at, &entry);)
        mem_free(entry.value);
    map_fini(&rows->writers);
    map_fini(&rows->shards);
    map_fini(&rows->shard_ids);
    map_fini(&rows->entities);
    map_fini(&rows->entity_ids);
    book_free(rows->book);
}

struct slice database_shard_key(struct buf *buf, struct slice type, struct slice shard)
{
    buf_clear(buf);
    buf_put_u32(buf, (uint32_t)type.size);
    buf_put_slice(buf, type);
    buf_put_slice(buf, shard);
    return buf_slice(buf);
}

struct database_shard *database_shard(const struct database_rows *rows, struct slice key)
{
    return map_get(&rows->shards, key);
}

struct database_shard *database_shard_at(const struct database_rows *rows, uint64_t id)
{
    return map_get(&rows->shard_ids, map_u64(&id));
}

struct database_writer *database_writer(const struct database_rows *rows, uint64_t id)
{
    return map_get(&rows->writers, map_u64(&id));
}

struct database_entity *database_entity(const struct database_rows *rows, struct slice pid)
{
    return map_get(&rows->entities, pid);
}

struct database_entity *database_entity_at(const struct database_rows *rows, uint64_t id)
{
    return map_get(&rows->entity_ids, map_u64(&id));
}

/* ---- transactions ---- */

void database_put(struct database_writes *writes, const struct database_change *change)
{
    struct database_change own = *change;

    own.shard.type = copy(change->shard.type);
    own.shard.shard = copy(change->shard.shard);
    own.entity.pid = copy(change->entity.pid);
    own.book.id = copy(change->book.id);
    own.book.shard = copy(change->book.shard);
    own.book.bytes = copy(change->book.bytes);
    vec_push(&writes->changes, own);
}

void database_writes_fini(struct database_writes *writes)
{
    for (uint32_t i = 0; i < writes->changes.count; i++) {
        struct database_change *change = &writes->changes.items[i];

        free_copy(change->shard.type);
        free_copy(change->shard.shard);
        free_copy(change->entity.pid);
        free_copy(change->book.id);
        free_copy(change->book.shard);
        free_copy(change->book.bytes);
    }
    for (uint32_t i = 0; i < writes->requests.count; i++)
        journal_request_free(writes->requests.items[i]);
    vec_fini(&writes->changes);
    vec_fini(&writes->requests);
}

static void set_shard(struct database_rows *rows, const struct database_shard *from)
{
    struct buf key = { 0 };
    struct slice name = database_shard_key(&key, from->type, from->shard);
    struct database_shard *shard = map_get(&rows->shards, name);

    if (!shard) {
        shard = mem_alloc(sizeof *shard);
        shard->type = copy(from->type);
        shard->shard = copy(from->shard);
        shard->id = from->id;
        (void)map_put(&rows->shards, name, shard);                     /* was absent */
        (void)map_put(&rows->shard_ids, map_u64(&shard->id), shard); /* as well */
    }
    shard->fence = from->fence;
    shard->claim = from->claim;
    buf_fini(&key);
}

static void set_writer(struct database_rows *rows, const struct database_writer *from)
{
    struct database_writer *writer = database_writer(rows, from->id);

    if (!writer) {
        writer = mem_alloc(sizeof *writer);
        (void)map_put(&rows->writers, map_u64(&from->id), writer); /* was absent */
    }
    *writer = *from;
}

static void add_entity(struct database_rows *rows, const struct database_entity *from)
{
    struct database_entity *entity;

    if (database_entity(rows, from->pid) || database_entity_at(rows, from->id))
        return;
    entity = mem_alloc(sizeof *entity);
    *entity = *from;
    entity->pid = copy(from->pid);
    (void)map_put(&rows->entities, entity->pid, entity);             /* was absent */
    (void)map_put(&rows->entity_ids, map_u64(&entity->id), entity); /* as well */
}

void database_apply(struct database_rows *rows, const struct database_writes *writes)
{
    for (uint32_t i = 0; i < writes->changes.count; i++) {
        const struct database_change *change = &writes->changes.items[i];

        switch (change->kind) {
        case DATABASE_SHARD:
            set_shard(rows, &change->shard);
            break;
        case DATABASE_WRITER:
            set_writer(rows, &change->writer);
            break;
        case DATABASE_ENTITY:
            add_entity(rows, &change->entity);
            break;
        case DATABASE_BOOK:
            (void)book_apply(rows->book, &change->book); /* see the header */
            break;
        case DATABASE_WRITE:
            book_write(rows->book, writes->requests.items[change->request]);
            break;
        }
    }
}
