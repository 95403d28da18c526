/* Has the text of every statement, with @ for the schema. */
#include "postgres/sql.h"

#include <string.h>

#define HELD                                                                        \
    "WITH held AS (SELECT id FROM @shard WHERE type = $1::bytea AND shard = $2::bytea" \
    " AND term = $3::int8 AND epoch = $4::int8 AND claim = $5::int8 FOR NO KEY UPDATE)"

#define OWNED                                                                               \
    " owned AS (UPDATE @shard s SET last = s.last + w.n FROM want w WHERE s.id = w.shard"    \
    " AND s.term = w.term AND s.epoch = w.epoch AND s.claim = w.claim AND s.last = w.last" \
    " RETURNING s.id)"

static const struct {
    const char *name, *text;
} statements[PG_STATEMENTS] = {
    [PG_BEGIN] = { "begin", "BEGIN ISOLATION LEVEL READ COMMITTED" },
    [PG_COMMIT] = { "commit", "COMMIT" },
    [PG_ROLLBACK] = { "rollback", "ROLLBACK" },
    /* Shards: $1 number, $2 term, $3 epoch, $4 claim, $5 position, $6 new records. New entities: $7
     * number, $8 shard, $9 persistence id. Records: $10 entity, $11 number, $12 shard, $13 position,
     * $14 bytes. Deletions: $15 entity, $16 shard, $17 below; at
     * most BACKEND_CUT_MAX of an entity, lowest first. Returns the shards that were written.
     *
     * A shard's row is written only if it is as expected, also after a wait for another transaction,
     * and everything else only with its shard. Rows are locked in any order: a group locks rows of its
     * own writer's claim only, and a writer has one group at a time, so no two groups wait for each
     * other. After a lost connection they may, and the server then ends one. */
    [PG_APPEND] = { "append",
        "WITH want AS (SELECT * FROM unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::int8[])"
        " AS w (shard, term, epoch, claim, last, n)),"
        OWNED ","
        " named AS (INSERT INTO @entity (id, shard, pid) SELECT r.id, r.shard, r.pid"
        " FROM unnest($7::int8[], $8::int8[], $9::bytea[]) AS r (id, shard, pid) JOIN owned o ON o.id = r.shard),"
        " added AS (INSERT INTO @event (entity, seq, shard, pos, at, record)"
        " SELECT r.entity, r.seq, r.shard, r.pos, clock_timestamp(), r.record"
        " FROM unnest($10::int8[], $11::int8[], $12::int8[], $13::int8[], $14::bytea[])"
        " AS r (entity, seq, shard, pos, record) JOIN owned o ON o.id = r.shard),"
        " cut AS (DELETE FROM @event e USING (SELECT c.entity,"
        " least(c.below, (SELECT min(f.seq) FROM @event f WHERE f.entity = c.entity) + 10000) AS below"
        " FROM unnest($15::int8[], $16::int8[], $17::int8[]) AS c (entity, shard, below)"
        " JOIN owned o ON o.id = c.shard) d WHERE e.entity = d.entity AND e.seq < d.below)"
        " SELECT id FROM owned" },
    /* The same without new entities and deletions, whose parts take time also if they are empty: $7
     * entity, $8 number, $9 shard, $10 position, $11 bytes. */
    [PG_APPEND_KNOWN] = { "append_known",
        "WITH want AS (SELECT * FROM unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::int8[])"
        " AS w (shard, term, epoch, claim, last, n)),"
        OWNED ","
        " added AS (INSERT INTO @event (entity, seq, shard, pos, at, record)"
        " SELECT r.entity, r.seq, r.shard, r.pos, clock_timestamp(), r.record"
        " FROM unnest($7::int8[], $8::int8[], $9::int8[], $10::int8[], $11::bytea[])"
        " AS r (entity, seq, shard, pos, record) JOIN owned o ON o.id = r.shard)"
        " SELECT id FROM owned" },
    /* The same for one shard: $1 to $6 are numbers, and $7 entity, $8 number, $9 position, $10 bytes. */
    [PG_APPEND_ONE] = { "append_one",
        "WITH owned AS (UPDATE @shard SET last = last + $6::int8 WHERE id = $1::int8"
        " AND term = $2::int8 AND epoch = $3::int8 AND claim = $4::int8 AND last = $5::int8 RETURNING id),"
        " added AS (INSERT INTO @event (entity, seq, shard, pos, at, record)"
        " SELECT r.entity, r.seq, o.id, r.pos, clock_timestamp(), r.record"
        " FROM owned o, unnest($7::int8[], $8::int8[], $9::int8[], $10::bytea[])"
        " AS r (entity, seq, pos, record))"
        " SELECT id FROM owned" },
    /* The same for one record: also $7 to $10 are no arrays. */
    [PG_APPEND_RECORD] = { "append_record",
        "WITH owned AS (UPDATE @shard SET last = last + $6::int8 WHERE id = $1::int8"
        " AND term = $2::int8 AND epoch = $3::int8 AND claim = $4::int8 AND last = $5::int8 RETURNING id)"
        " INSERT INTO @event (entity, seq, shard, pos, at, record)"
        " SELECT $7::int8, $8::int8, id, $9::int8, clock_timestamp(), $10::bytea FROM owned"
        " RETURNING shard" },
    /* $1 types, $2 names. Returns struct pg_shard_row. */
    [PG_LOCK] = { "lock",
        "SELECT s.type, s.shard, s.id, s.term, s.epoch, s.claim, s.last FROM @shard s"
        " JOIN unnest($1::bytea[], $2::bytea[]) AS w (type, shard) ON s.type = w.type AND s.shard = w.shard"
        " ORDER BY s.id FOR NO KEY UPDATE OF s" },
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
    /* $1 type, $2 shard, $3 term, $4 epoch, $5 claim, $6 term of the proof, $7 proof or 0, $8 the next
     * epoch is wanted, $9 owner. Returns struct pg_claim_row. */
    [PG_CLAIM] = { "claim",
        "WITH p AS (SELECT coalesce((SELECT last FROM @term WHERE type = $1::bytea), 0) AS last,"
        " coalesce((SELECT min(term) FROM @proof WHERE type = $1), 0) AS lowest,"
        " coalesce((SELECT value FROM @proof WHERE type = $1 AND term = $6::int8), 0) AS value),"
        " w AS (INSERT INTO @shard AS s (type, shard, term, epoch, claim, last, owner)"
        " SELECT $1, $2::bytea, $3::int8, $4::int8, $5::int8, 0, $9::text FROM p WHERE $7::int8 = 0 OR p.value = $7"
        " ON CONFLICT (type, shard) DO UPDATE SET"
        " term = CASE WHEN $8::bool THEN s.term ELSE $3 END,"
        " epoch = CASE WHEN $8 THEN s.epoch + 1 ELSE $4 END, claim = $5, owner = $9"
        " WHERE $8 OR (s.term, s.epoch) <= ($3, $4) RETURNING s.id, s.term, s.epoch, s.last)"
        " SELECT p.last, p.lowest, p.value, w.id, w.term, w.epoch, w.last, s.term, s.epoch"
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
    /* $1 numbers. Returns struct pg_shard_row. */
    [PG_OWNED] = { "owned",
        "SELECT type, shard, id, term, epoch, claim, last FROM @shard WHERE id = ANY ($1::int8[])" },
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
