/* Has the text of every statement, with @ for the schema. */
#include "postgres/sql.h"

#include <string.h>

#define HELD                                                                        \
    "WITH held AS (SELECT id FROM @shard WHERE type = $1::bytea AND shard = $2::bytea" \
    " AND term = $3::int8 AND epoch = $4::int8 AND claim = $5::int8 FOR NO KEY UPDATE)"

#define OWN                                                                      \
    "WITH own AS (UPDATE @writer SET last = last + cardinality($5::int8[])"       \
    " WHERE id = $1::int8 AND generation = $2::int8 AND last = $3::int8 RETURNING id),"

#define ADDED                                                                                  \
    " added AS (INSERT INTO @event (entity, seq, shard, writer, pos, at, record)"              \
    " SELECT r.entity, r.seq, r.shard, own.id, $3 + r.n, clock_timestamp(), r.record FROM own," \
    " unnest($4::int8[], $5::int8[], $6::int8[], $7::bytea[]) WITH ORDINALITY"                  \
    " AS r (entity, seq, shard, record, n))"

static const struct {
    const char *name, *text;
} statements[PG_STATEMENTS] = {
    [PG_BEGIN] = { "begin", "BEGIN ISOLATION LEVEL READ COMMITTED" },
    [PG_COMMIT] = { "commit", "COMMIT" },
    [PG_ROLLBACK] = { "rollback", "ROLLBACK" },
    /* $1 writer, $2 its generation, $3 its position. Records: $4 entity, $5 number, $6 shard, $7 bytes.
     * New entities: $8 number, $9 shard, $10 persistence id. Deletions: $11 entity, $12 below; at most
     * BACKEND_CUT_MAX of an entity, lowest first. Returns the writer, or no row: nothing was written.
     *
     * Everything is written only if the writer's row is as expected, also after a wait for another
     * transaction. A claim of any of its shards raises the generation, so all shards of the group are
     * still the writer's.
     *
     * Transactions lock rows in this order, so none waits in a circle: a shard, then a writer. A group
     * locks its own writer only; a claim its shard, then the shard's former writer; a snapshot its
     * shard only. The row of a new writer is inserted by its first claim, and no other one waits for
     * it: no shard names it before that commits. Later claims do not insert it: that would wait for a
     * claim of another writer's that has the row.
     *
     * A generation rises by a random number. After the loss of a server's last commits it could
     * otherwise become what it was, with other shards. */
    [PG_APPEND] = { "append",
        OWN
        " named AS (INSERT INTO @entity (id, shard, pid) SELECT r.id, r.shard, r.pid"
        " FROM own, unnest($8::int8[], $9::int8[], $10::bytea[]) AS r (id, shard, pid)),"
        ADDED ","
        " cut AS (DELETE FROM @event e USING (SELECT c.entity,"
        " least(c.below, (SELECT min(f.seq) FROM @event f WHERE f.entity = c.entity) + 10000) AS below"
        " FROM own, unnest($11::int8[], $12::int8[]) AS c (entity, below)) d"
        " WHERE e.entity = d.entity AND e.seq < d.below)"
        " SELECT id FROM own" },
    /* The same without new entities and deletions, whose parts take time also if they are empty. */
    [PG_APPEND_KNOWN] = { "append_known", OWN ADDED " SELECT id FROM own" },
    /* The same for one record: $4 to $7 are no arrays. */
    [PG_APPEND_RECORD] = { "append_record",
        "WITH own AS (UPDATE @writer SET last = last + 1"
        " WHERE id = $1::int8 AND generation = $2::int8 AND last = $3::int8 RETURNING id)"
        " INSERT INTO @event (entity, seq, shard, writer, pos, at, record)"
        " SELECT $4::int8, $5::int8, $6::int8, id, $3 + 1, clock_timestamp(), $7::bytea FROM own"
        " RETURNING writer" },
    /* $1 writer. Locks its row until the commit: no claim of its shards commits meanwhile, and no
     * earlier try of this writer writes any more. Returns generation and position, or no row. */
    [PG_RENEW] = { "renew",
        "UPDATE @writer SET generation = " PG_RAISED("generation") " WHERE id = $1::int8 RETURNING generation, last" },
    /* $1 types, $2 names, $3 writer. Returns struct pg_shard_row. */
    [PG_NAMED] = { "named",
        "SELECT s.type, s.shard, s.id, s.term, s.epoch, s.claim,"
        " coalesce((SELECT last FROM @writer WHERE id = $3::int8), 0) FROM @shard s"
        " JOIN unnest($1::bytea[], $2::bytea[]) AS w (type, shard) ON s.type = w.type AND s.shard = w.shard" },
    /* $1 persistence ids. Returns struct pg_entity_row. */
    [PG_ENTITIES] = { "entities",
        "SELECT w.n, e.id, coalesce((SELECT max(seq) FROM @event WHERE entity = e.id), 0)"
        " FROM unnest($1::bytea[]) WITH ORDINALITY AS w (pid, n) JOIN @entity e ON e.pid = w.pid" },
    /* $1 persistence ids, $2 numbers, $3 records. Returns each one's place and whether it is equal. */
    [PG_SAME] = { "same",
        "SELECT w.n, ev.record = w.record"
        " FROM unnest($1::bytea[], $2::int8[], $3::bytea[]) WITH ORDINALITY AS w (pid, seq, record, n)"
        " JOIN @entity e ON e.pid = w.pid JOIN @event ev ON ev.entity = e.id AND ev.seq = w.seq" },
    [PG_IDS] = { "ids", "SELECT nextval('@entity_id')" },
    /* $1 type, $2 shard, $3 term, $4 epoch, $5 writer, $6 term of the proof, $7 proof or 0, $8 the next
     * epoch is wanted, $9 owner. Returns struct pg_claim_row.
     *
     * The shard's row is locked first and read as it is then, so the writer that it names is the last
     * one, and its generation is raised. A shard's row that another claim made meanwhile is not visible
     * to this statement: nothing is written, and the claim runs again. */
    [PG_CLAIM] = { "claim",
        "WITH old AS MATERIALIZED (SELECT claim FROM @shard"
        " WHERE type = $1::bytea AND shard = $2::bytea FOR NO KEY UPDATE),"
        " p AS MATERIALIZED (SELECT (SELECT count(*) FROM old) AS found,"
        " coalesce((SELECT last FROM @term WHERE type = $1), 0) AS last,"
        " coalesce((SELECT min(term) FROM @proof WHERE type = $1), 0) AS lowest,"
        " coalesce((SELECT value FROM @proof WHERE type = $1 AND term = $6::int8), 0) AS value),"
        " made AS (INSERT INTO @writer (id, generation, last, taken, owner)"
        " SELECT $5::int8, 1, 0, 0, $9::text FROM p WHERE ($7::int8 = 0 OR p.value = $7)"
        " AND NOT EXISTS (SELECT 1 FROM old WHERE claim = $5)"
        " AND NOT EXISTS (SELECT 1 FROM @writer WHERE id = $5) ON CONFLICT (id) DO NOTHING),"
        " w AS (INSERT INTO @shard AS s (type, shard, term, epoch, claim, owner)"
        " SELECT $1, $2, $3::int8, $4::int8, $5, $9 FROM p WHERE $7 = 0 OR p.value = $7"
        " ON CONFLICT (type, shard) DO UPDATE SET"
        " term = CASE WHEN $8::bool THEN s.term ELSE $3 END,"
        " epoch = CASE WHEN $8 THEN s.epoch + 1 ELSE $4 END, claim = $5, owner = $9"
        " WHERE ($8 OR (s.term, s.epoch) <= ($3, $4)) AND (SELECT found FROM p) = 1"
        " RETURNING s.id, s.term, s.epoch),"
        " ended AS (INSERT INTO @writer AS f (id, generation, last, taken, owner)"
        " SELECT claim, 1, 0, 0, '' FROM old WHERE claim <> 0 AND EXISTS (SELECT 1 FROM w)"
        " ON CONFLICT (id) DO UPDATE SET generation = " PG_RAISED("f.generation") ", taken = f.taken + (f.id <> $5)::int)"
        " SELECT p.last, p.lowest, p.value, w.id, w.term, w.epoch,"
        " coalesce((SELECT last FROM @writer WHERE id = $5), 0), s.term, s.epoch"
        " FROM p LEFT JOIN w ON true LEFT JOIN @shard s ON s.type = $1 AND s.shard = $2" },
    /* $1 type, $2 shard. Returns term and epoch. */
    [PG_SHARD] = { "shard", "SELECT term, epoch FROM @shard WHERE type = $1::bytea AND shard = $2::bytea" },
    /* $1 type, $2 a term that is known to be used, $3 new proof or 0, $4 term of the proof, $5 proof or
     * 0, $6 proofs to keep. Returns the last term and the lowest one with a proof, both before, the
     * wanted proof, and the new term; null: the proof is not here, and nothing was taken. */
    [PG_TERM] = { "term",
        "WITH p AS (SELECT coalesce((SELECT last FROM @term WHERE type = $1::bytea), 0) AS last,"
        " coalesce((SELECT min(term) FROM @proof WHERE type = $1), 0) AS lowest,"
        " coalesce((SELECT value FROM @proof WHERE type = $1 AND term = $4::int8), 0) AS value),"
        " t AS (INSERT INTO @term AS t (type, last) SELECT $1, $2::int8 + 1 FROM p"
        " WHERE $5::int8 = 0 OR p.value = $5 OR (p.value = 0 AND $4 <= p.last AND $4 < p.lowest)"
        " ON CONFLICT (type) DO UPDATE SET last = greatest(t.last, $2) + 1 RETURNING t.last),"
        " a AS (INSERT INTO @proof (type, term, value, at) SELECT $1, t.last, $3::int8, clock_timestamp() FROM t WHERE $3 <> 0),"
        " d AS (DELETE FROM @proof WHERE type = $1 AND $3 <> 0 AND term <= (SELECT term FROM @proof WHERE type = $1"
        " ORDER BY term DESC OFFSET $6::int8 - 1 LIMIT 1))"
        " SELECT p.last, p.lowest, p.value, t.last FROM p LEFT JOIN t ON true" },
    /* $1 type. Returns names. */
    [PG_SHARDS] = { "shards", "SELECT shard FROM @shard WHERE type = $1::bytea ORDER BY shard" },
    /* $1 numbers, $2 writer. Returns struct pg_shard_row. */
    [PG_OWNED] = { "owned",
        "SELECT type, shard, id, term, epoch, claim, coalesce((SELECT last FROM @writer WHERE id = $2::int8), 0)"
        " FROM @shard WHERE id = ANY ($1::int8[])" },
    [PG_LIVES] = { "lives", "SELECT 1" },
    [PG_TOUCH] = { "touch", "UPDATE @meta SET touched = clock_timestamp()" },
    /* $1 persistence id, $2 first number, $3 most records, $4 most bytes. Returns struct pg_replay_row.
     * The server sends no more than these bytes or one record. The entity's number is a subquery: with a
     * join, the server would sort all of a stream for each page. */
    [PG_REPLAY] = { "replay",
        "SELECT seq, CASE WHEN n = 1 OR (n <= $3 AND size <= $4::int8) THEN record END"
        " FROM (SELECT seq, record, row_number() OVER w AS n, sum(octet_length(record)) OVER w AS size"
        " FROM (SELECT seq, record FROM @event"
        " WHERE entity = (SELECT id FROM @entity WHERE pid = $1::bytea) AND seq >= $2::int8"
        " ORDER BY seq LIMIT $3::int8 + 1) found"
        " WINDOW w AS (ORDER BY seq ROWS UNBOUNDED PRECEDING)) counted"
        " WHERE n <= 2 OR size - octet_length(record) <= $4 ORDER BY seq" },
    /* $1 persistence id. The first PG_SHORT_COUNT records and one more; large ones without bytes. Without
     * the sums of PG_REPLAY it takes half the time. */
    [PG_REPLAY_SHORT] = { "replay_short",
        "SELECT seq, CASE WHEN octet_length(record) <= 32768 THEN record END FROM @event"
        " WHERE entity = (SELECT id FROM @entity WHERE pid = $1::bytea) ORDER BY seq LIMIT 9" },
    /* $1 persistence id. */
    [PG_REPLAY_LAST] = { "replay_last",
        "SELECT seq, record FROM @event WHERE entity = (SELECT id FROM @entity WHERE pid = $1::bytea)"
        " ORDER BY seq DESC LIMIT 1" },
    /* HELD: $1 type, $2 shard, $3 term, $4 epoch, $5 claim. Locks the shard's row if it is the owner's,
     * so that no claim comes between; $6 persistence id.
     *
     * $7 number, $8 record, $9 snapshots that stay. A statement does not see its own rows: so what stays
     * is computed before. Returns rows held, 1 if the number's event or a later one is stored, and the
     * lowest number that stays or 0. */
    [PG_SAVE] = { "save",
        HELD ", e AS MATERIALIZED (SELECT e.id FROM @entity e JOIN held ON true WHERE e.pid = $6::bytea"
        " AND (SELECT max(seq) FROM @event WHERE entity = e.id) >= $7::int8),"
        " n AS (SELECT s.seq FROM @snapshot s JOIN e ON s.entity = e.id WHERE s.seq <> $7 UNION ALL SELECT $7 FROM e),"
        " b AS (SELECT coalesce((SELECT seq FROM n ORDER BY seq DESC OFFSET $9::int8 - 1 LIMIT 1), 0) AS seq),"
        " a AS (INSERT INTO @snapshot (entity, seq, at, record)"
        " SELECT e.id, $7, clock_timestamp(), $8::bytea FROM e, b WHERE $7 >= b.seq"
        " ON CONFLICT (entity, seq) DO UPDATE SET at = excluded.at, record = excluded.record),"
        " d AS (DELETE FROM @snapshot s USING e, b WHERE s.entity = e.id AND s.seq < b.seq)"
        " SELECT (SELECT count(*) FROM held), (SELECT count(*) FROM e), b.seq FROM b" },
    /* $7 lowest record that stays, $8 most records to delete. Returns rows held, 1 if more are to be
     * deleted, and how many were. */
    [PG_TRIM] = { "trim",
        HELD ", e AS MATERIALIZED (SELECT e.id, (SELECT min(seq) FROM @event WHERE entity = e.id) AS first,"
        " (SELECT max(seq) FROM @event WHERE entity = e.id) AS last"
        " FROM @entity e JOIN held ON true WHERE e.pid = $6::bytea),"
        " d AS (DELETE FROM @event v USING e WHERE v.entity = e.id AND v.seq < least($7::int8, e.last, e.first + $8::int8)"
        " RETURNING 1)"
        " SELECT (SELECT count(*) FROM held),"
        " (SELECT count(*) FROM e WHERE least($7, e.last) - e.first > $8), (SELECT count(*) FROM d)" },
    /* $7 lowest snapshot that goes. Returns rows held. */
    [PG_DROP] = { "drop",
        HELD ", d AS (DELETE FROM @snapshot s USING @entity e, held"
        " WHERE e.pid = $6::bytea AND s.entity = e.id AND s.seq >= $7::int8)"
        " SELECT count(*) FROM held" },
    /* $1 persistence id, $2 highest number. Returns number and record. */
    [PG_LOAD] = { "load",
        "SELECT s.seq, s.record FROM @entity e JOIN @snapshot s ON s.entity = e.id"
        " WHERE e.pid = $1::bytea AND s.seq <= $2::int8 ORDER BY s.seq DESC LIMIT 1" },
};

bool pg_schema_is_valid(const char *schema)
{
    size_t size = strlen(schema);

    return size >= 1 && size <= PG_SCHEMA_MAX &&
           strspn(schema, "abcdefghijklmnopqrstuvwxyz0123456789_") == size &&
           (schema[0] < '0' || schema[0] > '9');
}

void pg_sql_fill(struct buf *text, const char *template, const char *schema)
{
    for (; *template; template++) {
        if (*template != '@' && *template != '#') {
            buf_put(text, template, 1);
            continue;
        }
        buf_put_text(text, schema);
        if (*template == '@')
            buf_put_text(text, ".");
    }
}

void pg_sql_put(struct buf *text, enum pg_statement which, const char *schema)
{
    pg_sql_fill(text, statements[which].text, schema);
    buf_put_u8(text, 0);
}

const char *pg_sql_name(enum pg_statement which)
{
    return statements[which].name;
}
