/* Imports a journal into PostgreSQL. Events get positions in the order of the export, of writer 0. */
#include "sherd-journal-remote.h"
#include "sherd-journal-target.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/map.h"
#include "postgres/array.h"
#include "postgres/sql.h"

#define BATCH_RECORDS 1000
#define BATCH_BYTES (4 * 1024 * 1024)

/* A shard's row. */
struct target_shard {
    uint64_t id;
};

struct target {
    struct journal *journal;
    uint32_t shards; /* number-of-shards */
    bool refuses;
    struct map rows; /* type, a zero byte and shard -> struct target_shard */
    struct target_shard *shard; /* of the entity */
    uint64_t entity, entity_end; /* its number, and the end of the reserved ones */
    uint64_t last; /* the position of the last event */
    struct pg_array entities, seqs, owners, positions, records;
};

const char *target_error(const struct target *target)
{
    return target->journal->error;
}

bool target_refuses(const struct target *target)
{
    return target->refuses;
}

/* False. */
static bool refuse(struct target *target, const char *text)
{
    target->refuses = true;
    (void)snprintf(target->journal->error, sizeof target->journal->error, "journal in PostgreSQL: %s", text); /* fits */
    return false;
}

static void clear_batch(struct target *target)
{
    pg_array_clear(&target->entities, false);
    pg_array_clear(&target->seqs, false);
    pg_array_clear(&target->owners, false);
    pg_array_clear(&target->positions, false);
    pg_array_clear(&target->records, true);
}

static bool do_run(struct target *target, const char *text, const struct slice *parameters, int count)
{
    PGresult *result = journal_remote_run(target->journal, text, parameters, count, 1);

    PQclear(result);
    return result != NULL;
}

static bool flush_batch(struct target *target)
{
    static const char text[] =
        "WITH added AS (INSERT INTO @event (entity, seq, shard, writer, pos, at, record)"
        " SELECT r.entity, r.seq, r.shard, 0, r.pos, clock_timestamp(), r.record"
        " FROM unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::bytea[])"
        " AS r (entity, seq, shard, pos, record) RETURNING 1) SELECT count(*) FROM added";
    struct slice parameters[] = { pg_array_value(&target->entities), pg_array_value(&target->seqs),
                                  pg_array_value(&target->owners), pg_array_value(&target->positions),
                                  pg_array_value(&target->records) };
    bool good = !target->records.count || do_run(target, text, parameters, 5);

    clear_batch(target);
    return good;
}

struct target *target_open(const char *url, const char *schema, uint32_t shards)
{
    struct target *target = mem_alloc(sizeof *target);
    bool is_connected;

    target->shards = shards;
    target->journal = journal_remote_connect(url, schema, &is_connected);
    clear_batch(target);
    return target;
}

/* Nodes that are connected would go on with what they know. */
static bool check_users(struct target *target)
{
    struct journal_info info = { .version = 0 };
    bool good = target->journal->ops->info(target->journal, &info);

    buf_fini(&info.cluster);
    if (good && info.users == 1)
        return refuse(target, "nodes are connected; stop all nodes that use it");
    if (good && info.entities)
        return refuse(target, "it has entities already; an import needs an empty journal");
    return good;
}

bool target_begin(struct target *target, struct slice cluster)
{
    static const char name[] =
        "WITH added AS (INSERT INTO @meta (store_id, cluster, schema, min_reader)"
        " VALUES (gen_random_uuid(), convert_from($1::bytea, 'UTF8'), 2, 2) ON CONFLICT DO NOTHING RETURNING 1)"
        " SELECT 1 FROM @meta WHERE cluster = convert_from($1::bytea, 'UTF8') UNION ALL SELECT 1 FROM added";
    PGresult *result;
    bool is_own;

    if (target->journal->error[0] || !journal_remote_execute(target->journal, "BEGIN READ WRITE") ||
        !journal_remote_execute(target->journal, "SET LOCAL client_min_messages = warning") ||
        !journal_remote_execute(target->journal, journal_remote_schema) ||
        !journal_remote_execute(target->journal, "LOCK TABLE @writer IN EXCLUSIVE MODE"))
        return false;
    result = journal_remote_run(target->journal, name, &cluster, 1, 1);
    is_own = result && PQntuples(result) > 0;
    PQclear(result);
    if (result && !is_own)
        return refuse(target, "it belongs to another cluster");
    return result && check_users(target);
}

/* The row of a shard, which is made if it is new. Null on failure. */
static struct target_shard *shard_of(struct target *target, struct slice type, struct slice shard)
{
    static const char text[] =
        "WITH added AS (INSERT INTO @shard (type, shard, term, epoch, claim, owner)"
        " VALUES ($1::bytea, $2::bytea, 0, 0, 0, 'import') ON CONFLICT DO NOTHING RETURNING id)"
        " SELECT id FROM added UNION ALL SELECT id FROM @shard WHERE type = $1 AND shard = $2";
    struct slice parameters[] = { type, shard };
    struct buf key = { 0 };
    struct target_shard *row;

    buf_put_slice(&key, type);
    buf_put_u8(&key, 0);
    buf_put_slice(&key, shard);
    row = map_get(&target->rows, buf_slice(&key));
    if (!row) {
        PGresult *result = journal_remote_run(target->journal, text, parameters, 2, 1);

        if (result && PQntuples(result) > 0) {
            row = mem_alloc(sizeof *row);
            row->id = journal_remote_number(result, 0, 0);
            mem_free(map_put(&target->rows, buf_slice(&key), row));
        }
        PQclear(result);
    }
    buf_fini(&key);
    return row;
}

static bool next_entity(struct target *target)
{
    PGresult *result;

    if (++target->entity < target->entity_end)
        return true;
    result = journal_remote_run(target->journal, "SELECT nextval('@entity_id')", NULL, 0, 1);
    if (result) {
        target->entity = journal_remote_number(result, 0, 0);
        target->entity_end = target->entity + PG_IDS_COUNT;
    }
    PQclear(result);
    return result != NULL;
}

bool target_entity(struct target *target, struct slice id, size_t type_size)
{
    static const char text[] = "WITH added AS (INSERT INTO @entity (id, shard, pid)"
                               " VALUES ($1::int8, $2::int8, $3::bytea) ON CONFLICT DO NOTHING RETURNING 1)"
                               " SELECT count(*) FROM added";
    size_t start = journal_is_stream(id) ? 1 : 0;
    struct slice type = slice_of(id.data + start, type_size);
    struct slice rest = slice_of(type.data + type_size + 1, id.size - start - type_size - 1);
    char name[16];
    uint8_t numbers[2][8];
    struct slice parameters[] = { { numbers[0], 8 }, { numbers[1], 8 }, id };
    PGresult *result;
    bool is_new;

    if (!start) {
        (void)snprintf(name, sizeof name, "%d", (int)hash_shard(rest, target->shards)); /* fits */
        rest = slice_text(name);
    }
    target->shard = shard_of(target, type, rest);
    if (!target->shard || !next_entity(target))
        return false;
    pg_put_int8(numbers[0], target->entity);
    pg_put_int8(numbers[1], target->shard->id);
    result = journal_remote_run(target->journal, text, parameters, 3, 1);
    is_new = result && journal_remote_number(result, 0, 0) == 1;
    PQclear(result);
    return is_new || (result && refuse(target, "the export has an entity twice"));
}

bool target_event(struct target *target, uint64_t seq, struct slice record)
{
    pg_array_add(&target->entities, target->entity);
    pg_array_add(&target->seqs, seq);
    pg_array_add(&target->owners, target->shard->id);
    pg_array_add(&target->positions, ++target->last);
    pg_array_add_bytes(&target->records, record);
    return (target->records.count < BATCH_RECORDS && target->records.bytes.size < BATCH_BYTES) || flush_batch(target);
}

bool target_snapshot(struct target *target, uint64_t seq, struct slice record)
{
    static const char text[] = "WITH added AS (INSERT INTO @snapshot (entity, seq, at, record)"
                               " VALUES ($1::int8, $2::int8, clock_timestamp(), $3::bytea) RETURNING 1)"
                               " SELECT count(*) FROM added";
    uint8_t numbers[2][8];
    struct slice parameters[] = { { numbers[0], 8 }, { numbers[1], 8 }, record };

    pg_put_int8(numbers[0], target->entity);
    pg_put_int8(numbers[1], seq);
    return do_run(target, text, parameters, 3);
}

bool target_term(struct target *target, struct slice type, uint64_t term)
{
    static const char text[] = "WITH added AS (INSERT INTO @term AS t (type, last) VALUES ($1::bytea, $2::int8)"
                               " ON CONFLICT (type) DO UPDATE SET last = greatest(t.last, excluded.last) RETURNING 1)"
                               " SELECT count(*) FROM added";
    uint8_t number[8];
    struct slice parameters[] = { type, { number, 8 } };

    pg_put_int8(number, term);
    return do_run(target, text, parameters, 2);
}

bool target_fence(struct target *target, struct slice type, struct slice shard, struct fence fence)
{
    static const char text[] =
        "WITH raised AS (UPDATE @shard SET term = $2::int8, epoch = $3::int8 WHERE id = $1::int8"
        " AND (term, epoch) < ($2::int8, $3::int8) RETURNING 1) SELECT count(*) FROM raised";
    struct target_shard *row = shard_of(target, type, shard);
    uint8_t numbers[3][8];
    struct slice parameters[] = { { numbers[0], 8 }, { numbers[1], 8 }, { numbers[2], 8 } };

    if (!row)
        return false;
    pg_put_int8(numbers[0], row->id);
    pg_put_int8(numbers[1], fence.term);
    pg_put_int8(numbers[2], fence.epoch);
    return do_run(target, text, parameters, 3);
}

/* Each event was written under a fence of its shard. A shard without one shows that entities were put
 * into other shards than those of the nodes. */
static bool check_shards(struct target *target)
{
    PGresult *result = journal_remote_run(target->journal, "SELECT type, shard FROM @shard WHERE (term, epoch) = (0, 0)",
                                          NULL, 0, 2);
    bool good = result && PQntuples(result) == 0;

    PQclear(result);
    return good || (result && refuse(target, "the export has no fence for the shard of an entity: --number-of-shards "
                                             "is not that of the nodes, or the type has another extractor"));
}

/* Takes all claims away, too: a node that lives is fenced at its next write. */
static bool put_position(struct target *target)
{
    static const char unclaim[] = "UPDATE @shard SET claim = 0;"
                                  " UPDATE @writer SET generation = " PG_RAISED("generation") ", taken = taken + 1";
    static const char text[] =
        "WITH made AS (INSERT INTO @writer (id, generation, last, taken, owner) VALUES (0, 1, $1::int8, 1, 'import')"
        " ON CONFLICT (id) DO UPDATE SET last = excluded.last RETURNING 1) SELECT count(*) FROM made";
    uint8_t number[8];
    struct slice parameters[] = { { number, 8 } };

    pg_put_int8(number, target->last);
    return journal_remote_execute(target->journal, unclaim) && do_run(target, text, parameters, 1);
}

bool target_commit(struct target *target)
{
    return flush_batch(target) && put_position(target) && check_shards(target) &&
           journal_remote_execute(target->journal, "COMMIT");
}

void target_close(struct target *target)
{
    struct map_entry entry;

    if (!target)
        return;
    for (uint32_t at = 0; map_next(&target->rows, &at, &entry);)
        mem_free(entry.value);
    map_fini(&target->rows);
    pg_array_fini(&target->entities);
    pg_array_fini(&target->seqs);
    pg_array_fini(&target->owners);
    pg_array_fini(&target->positions);
    pg_array_fini(&target->records);
    target->journal->ops->close(target->journal);
    mem_free(target);
}
