/* Lists the statements that a connection prepares, and writes their text for a schema. */
#ifndef SHERD_POSTGRES_SQL_H
#define SHERD_POSTGRES_SQL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/* A generation that differs from all earlier ones of its writer, also after a loss of the last ones. */
#define PG_RAISED(generation) generation " + 1 + floor(random() * 1e9)::int8"

/* Parameters and columns are described in sql.c. */
enum pg_statement {
    PG_BEGIN,
    PG_COMMIT,
    PG_ROLLBACK,
    PG_APPEND,   /* checks the writer's row, and writes: one statement, one commit */
    PG_APPEND_KNOWN,
    PG_APPEND_RECORD,
    PG_RENEW,    /* takes a new generation, and locks the writer's row until the commit */
    PG_NAMED,    /* shards by their names */
    PG_ENTITIES, /* looks up entities */
    PG_SAME,     /* compares stored records with given ones */
    PG_IDS,      /* reserves PG_IDS_COUNT numbers of entities */
    PG_CLAIM,
    PG_SHARD,    /* the fence of one shard */
    PG_TERM,     /* takes a term */
    PG_SHARDS,   /* the shards of a type */
    PG_OWNED,    /* shards by their numbers */
    PG_TOUCH,    /* writes something without a meaning */
    PG_LIVES,    /* asks for a sign of life */
    PG_REPLAY,
    PG_REPLAY_SHORT, /* all records of an entity that has few */
    PG_REPLAY_LAST,
    PG_SAVE,     /* stores a snapshot, and deletes the oldest ones */
    PG_TRIM,     /* deletes the oldest records of an entity */
    PG_DROP,     /* deletes the newest snapshots of an entity */
    PG_LOAD,     /* reads a snapshot */
    PG_STATEMENTS,
};

#define PG_IDS_COUNT 1000 /* as in 001.sql */
#define PG_TABLES_OLD                                                           \
    "its tables are of version 1: export them with the program that made them " \
    "(sherd journal export), drop the schema, and import"
#define PG_SHORT_COUNT 8  /* records of PG_REPLAY_SHORT; as in its text, as the next */
#define PG_SHORT_SIZE 32768 /* bytes of each */
#define PG_SCHEMA_MAX 63  /* bytes of a schema's name */

/* Tells whether a schema's name needs no quotes: a-z, 0-9 and _, no digit first. */
bool pg_schema_is_valid(const char *schema);
/* Appends a statement's text with a zero byte. */
void pg_sql_put(struct buf *text, enum pg_statement which, const char *schema);
/* Appends any text in which @ stands for the schema and a dot, and # for the schema; no zero byte. */
void pg_sql_fill(struct buf *text, const char *template, const char *schema);
/* The name of a prepared statement: a literal. */
const char *pg_sql_name(enum pg_statement which);

#endif
