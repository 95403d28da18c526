/* Looks at the whole cluster from one node: nodes, types, coordinators, shards,
 * entities, messages that were not delivered, decisions, configuration.
 *
 * A look asks every member and gives one page of rows. The next page is pulled
 * with the cursor of the last one, so neither side keeps anything in between.
 * A row is an array of typed values, one for each column of its kind. One table
 * (sherd_look_columns) describes them, so that a program can print every kind
 * as JSON or text.
 *
 * Each member is a part of the page. A part that is missing is marked with the
 * reason, and never looks like a part without rows. Nothing is collected while
 * nobody looks. A page is no snapshot: things change while it is made. An
 * entity that starts or moves meanwhile may be missing or come twice. */
#ifndef SHERD_LOOK_H
#define SHERD_LOOK_H

#include <stddef.h>
#include <stdint.h>

#include <sherd/actor.h>
#include <sherd/system.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The kinds of looks: name, text. */
#define SHERD_LOOKS(X)                                                         \
    X(SHERD_LOOK_NODES, "nodes")     /* each member, as it describes itself */ \
    X(SHERD_LOOK_LANES, "lanes")     /* the lanes of each member */            \
    X(SHERD_LOOK_MEMBERS, "members") /* the members, as each one sees them */  \
    X(SHERD_LOOK_TYPES, "types")     /* entity types on each member */         \
    X(SHERD_LOOK_COORDINATORS, "coordinators")                                 \
    X(SHERD_LOOK_REGIONS, "regions") /* as the coordinator knows them */       \
    X(SHERD_LOOK_HOMES, "homes")     /* of shards, likewise */                 \
    X(SHERD_LOOK_SHARDS, "shards")   /* as their nodes run them */             \
    X(SHERD_LOOK_ENTITIES, "entities")                                         \
    X(SHERD_LOOK_ENTITY, "entity")   /* one; looking starts nothing */         \
    X(SHERD_LOOK_HOT, "hot")         /* entities with the most messages */     \
    X(SHERD_LOOK_UNDELIVERED, "undelivered") /* the last ones of each lane */  \
    X(SHERD_LOOK_TIMELINE, "timeline") /* decisions, the newest first */       \
    X(SHERD_LOOK_CONFIG, "config")

#define X(name, text) name,
enum sherd_look_kind { SHERD_LOOKS(X) SHERD_LOOK_KIND_COUNT };
#undef X

/* The types of columns: name, text. */
#define SHERD_LOOK_TYPES_OF_COLUMNS(X)                                         \
    X(SHERD_LOOK_NUMBER, "number")                                             \
    X(SHERD_LOOK_FLAG, "flag")   /* 0 or 1 */                                  \
    X(SHERD_LOOK_MS, "ms")       /* a duration in milliseconds */              \
    X(SHERD_LOOK_TIME, "time")   /* milliseconds since 1970 */                 \
    X(SHERD_LOOK_TEXT, "text")   /* UTF-8 */                                   \
    X(SHERD_LOOK_BYTES, "bytes") /* an id: any bytes */

#define X(name, text) name,
enum sherd_look_column_type { SHERD_LOOK_TYPES_OF_COLUMNS(X) };
#undef X

struct sherd_look_column {
    const char *name; /* as in "mailbox" */
    enum sherd_look_column_type type;
    int can_order; /* 1: sherd_look_options.order may name it */
};

#define SHERD_LOOK_COLUMNS_MAX 24

/* A value of a row. The type of its column says which field counts. */
struct sherd_look_value {
    int is_known; /* 0: the member did not say */
    uint64_t number;
    struct sherd_bytes bytes; /* of a text or an id; lent by the page */
};

/* The state of a member's part: name, text. */
#define SHERD_LOOK_STATES(X)                                                   \
    X(SHERD_LOOK_OK, "ok")                                                     \
    X(SHERD_LOOK_TIMEOUT, "timeout")         /* did not answer in time */      \
    X(SHERD_LOOK_UNREACHABLE, "unreachable") /* was not asked */               \
    X(SHERD_LOOK_BUSY, "busy")               /* too many looks there */        \
    X(SHERD_LOOK_OLD, "old")  /* its version knows no looks of this kind */    \
    X(SHERD_LOOK_JVM, "jvm")  /* a JVM node: was not asked */                  \
    X(SHERD_LOOK_GONE, "gone") /* was removed during the look */               \
    X(SHERD_LOOK_FAILED, "failed") /* its answer could not be used */

#define X(name, text) name,
enum sherd_look_state { SHERD_LOOK_STATES(X) SHERD_LOOK_STATE_COUNT };
#undef X

/* A member in a page. */
struct sherd_look_part {
    char address[128]; /* "host:port" */
    uint64_t uid;      /* of its incarnation */
    enum sherd_look_state state;
    uint32_t row_count; /* its rows in this page */
    uint64_t wall_ms;   /* when it made its last part; 0: never */
};

/* A page. */
struct sherd_look_page {
    enum sherd_look_kind kind;
    uint32_t row_count;
    const struct sherd_look_part *parts;
    uint32_t part_count;
    int is_partial; /* 1: some part is not SHERD_LOOK_OK */
    /* The cursor of the next page; size 0: this was the last one. */
    struct sherd_bytes next;
    const void *memory; /* the library's */
};

/* A page has at most so many rows. An ordered one has at most half of them. */
#define SHERD_LOOK_ROWS_MAX 1000
#define SHERD_LOOK_CURSOR_MAX 64

/* Zero is the default of each field. */
struct sherd_look_options {
    const char *type;   /* only this entity type; null: all */
    const char *shard;  /* only this shard, with a type; null: all */
    const char *entity; /* SHERD_LOOK_ENTITY: its id, with a type */
    const char *node;   /* only the member at "host:port"; null: all */
    const char *order;  /* the column by which rows are ordered, the largest
                         * first; null: the order of the kind */
    struct sherd_bytes cursor; /* `next` of the page before */
    uint64_t since_ms;  /* TIMELINE, UNDELIVERED: from this time on */
    uint32_t count;     /* rows at most; 0: 200 */
    uint32_t timeout_ms; /* 100 to 30,000; 0: 5,000 */
};

/* Starts a look.
 *
 * options: copied; null: the defaults. done: called exactly once if the result
 * is 0: within a second after the time-out, or in sherd_close if the node
 * ended. result: 0; SHERD_ESTATE: cancelled, or the node ended; SHERD_EINVAL: a
 * foreign cursor. Without 0 page is null. The page is lent for the call. `done`
 * runs on a thread of the library, must return within a millisecond, and may
 * call sherd_look. user: its argument. look: for sherd_look_cancel, or null.
 * Result: 0; SHERD_EINVAL: an option is wrong, such as an order that the kind
 * does not have; SHERD_EFULL: 16 looks are open; SHERD_ESTATE.
 * Threads: any, from sherd_start on.
 * Limits: a page has at most 256 KiB of rows. Rows of an ordered look come in
 * one page. */
typedef void sherd_look_done(void *user, int result,
                             const struct sherd_look_page *page);
SHERD_API SHERD_MUST_USE int
sherd_look(struct sherd_system *system, enum sherd_look_kind kind,
           const struct sherd_look_options *options, sherd_look_done *done,
           void *user, uint64_t *look);

/* Ends a look early: its `done` is called with SHERD_ESTATE. A look that has
 * ended is ignored. Threads: any. */
SHERD_API void sherd_look_cancel(struct sherd_system *system, uint64_t look);

/* Reads a row of a page. values: one for each column of the page's kind.
 * part: gets the index of its part; may be null.
 * Result: 1; 0: there is no such row. Threads: that of `done`. */
SHERD_API int
sherd_look_row(const struct sherd_look_page *page, uint32_t row,
               struct sherd_look_value values[SHERD_LOOK_COLUMNS_MAX],
               uint32_t *part);

/* Return the columns of a kind with their number, its name, the kind of a name
 * (SHERD_LOOK_KIND_COUNT: none), and the name of a state. All are constants.
 * Threads: any. */
SHERD_API const struct sherd_look_column *
sherd_look_columns(enum sherd_look_kind kind, uint32_t *count);
SHERD_API const char *sherd_look_kind_text(enum sherd_look_kind kind);
SHERD_API enum sherd_look_kind sherd_look_kind_of(const char *text);
SHERD_API const char *sherd_look_state_text(enum sherd_look_state state);

#ifdef __cplusplus
}
#endif

#endif
