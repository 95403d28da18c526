/* Declares how the commands of `sherd journal` read a journal: one interface for every back end.
 *
 * A call is one short read transaction, so it does not keep a node's log from being emptied. */
#ifndef SHERD_CMD_JOURNAL_H
#define SHERD_CMD_JOURNAL_H

#include "sherd.h"

#include "base/bytes.h"
#include "base/fence.h"
#include "base/vec.h"
#include "journal/backend.h"

#define JOURNAL_PAGE 1000 /* ids or events of one call */

struct journal_info {
    char kind[16];
    char store[STORE_ID_MAX];
    struct buf cluster;
    int64_t version; /* of the tables */
    uint64_t bytes;
    uint64_t entities, events, snapshots;
    char moved[80]; /* where its events were moved to; else empty */
    int users; /* 1: nodes have it open; 0: none; -1: unknown */
};

struct journal;

/* An entity, or a shard's stream. Lent. */
struct journal_id {
    struct slice id;
    uint64_t first, last; /* numbers of its events; 0: none is stored */
    uint64_t snapshots;   /* how many are stored */
};

typedef void (*journal_found)(void *context, uint64_t seq, struct slice record);

/* A change of a journal that no node uses. */
enum journal_change_kind {
    JOURNAL_DELETE_EVENTS,    /* all of `id` */
    JOURNAL_DELETE_SNAPSHOTS, /* those of `id` from `from` to `to` */
    JOURNAL_PUT_SNAPSHOT,     /* `bytes`, of `id` and the event `from` */
};

struct journal_change {
    enum journal_change_kind kind;
    struct buf id;
    uint64_t from, to;
    struct buf bytes;
};

/* Changes of one transaction, in order. All zero: none. */
struct journal_changes {
    struct journal_change *items;
    uint32_t count, capacity;
};

/* Functions return false on a failure, with a line in journal_error. Texts and bytes are lent for the
 * call of `found`. */
struct journal_ops {
    bool (*info)(struct journal *journal, struct journal_info *info);
    /* In the order of the bytes: ids that begin with `prefix` and come after `after`. */
    bool (*ids)(struct journal *journal, struct slice prefix, struct slice after, uint64_t limit,
                void (*found)(void *context, const struct journal_id *id), void *context);
    /* Events from a number on, at most JOURNAL_PAGE and about a MiB. */
    bool (*events)(struct journal *journal, struct slice id, uint64_t from, journal_found found, void *context);
    /* The first snapshot from a number on. */
    bool (*snapshot)(struct journal *journal, struct slice id, uint64_t from, journal_found found, void *context);
    /* Begins or ends one read transaction for several calls. */
    bool (*hold)(struct journal *journal, bool begins);
    bool (*terms)(struct journal *journal, void (*found)(void *context, struct slice type, uint64_t term),
                  void *context);
    bool (*fences)(struct journal *journal,
                   void (*found)(void *context, struct slice type, struct slice shard, struct fence fence),
                   void *context);
    /* Compares the tables with each other. */
    bool (*faults)(struct journal *journal, void (*found)(void *context, struct slice part, const char *why),
                   void *context);
    bool (*schema)(struct journal *journal, void (*found)(void *context, const char *sql), void *context);
    /* Upgrades the tables. Null: a file is opened to write. */
    bool (*migrate)(struct journal *journal);
    /* Makes changes in one transaction, unless nodes use the journal. Null: a file is opened to write. */
    bool (*change)(struct journal *journal, const struct journal_changes *changes);
    void (*close)(struct journal *journal);
};

/* The beginning of each back end's own struct. */
struct journal {
    const struct journal_ops *ops;
    char error[BACKEND_ERROR_MAX];
    bool is_used; /* the error is that nodes use it */
    bool is_old;  /* its tables are of an older version */
    bool must_migrate; /* so old that only ops->schema and migrate work */
};

/* sherd-journal-open.c */
/* Opens the journal of a command, its first argument, to read it. Null, with a line on standard error. */
struct journal *journal_open(const struct cmd_call *call);
/* As above, also with must_migrate. */
struct journal *journal_open_old(const struct cmd_call *call);
/* Tells whether the journal of a command is in PostgreSQL. */
bool journal_is_remote(const struct cmd_call *call);
/* The URL of "postgres:URL", or of "postgresql://..."; null: a file. */
const char *journal_url(const char *place);
const char *journal_schema(const struct cmd_call *call);
/* CMD_UNREACHABLE, with the journal's error on standard error. */
enum cmd_exit journal_failed(const struct journal *journal);
/* Calls `found` for each event from `from` to `to`, until it returns false. */
bool journal_each_event(struct journal *journal, struct slice id, uint64_t from, uint64_t to,
                        bool (*found)(void *context, uint64_t seq, struct slice record), void *context);
/* As journal_each_event, for the snapshots of an entity. */
bool journal_each_snapshot(struct journal *journal, struct slice id, uint64_t from, uint64_t to,
                           bool (*found)(void *context, uint64_t seq, struct slice record), void *context);
/* Begins a read transaction, and reads the entity's numbers in it, which a node may have changed. */
bool journal_hold(struct journal *journal, struct journal_id *id);
/* Calls `found` for each entity, until it returns false. `found` may read. */
bool journal_each_id(struct journal *journal, struct slice prefix, struct slice after,
                     bool (*found)(void *context, const struct journal_id *id), void *context);
/* Tells whether a folder has a file. */
bool journal_has_file(const char *folder, const char *name);
/* Deletes FILE with this end, if it is there. */
void journal_delete_beside(const char *path, const char *end);
/* TYPE of TYPE|ENTITY and of |TYPE|SHARD; empty: there is none. */
struct slice journal_type_of(struct slice id);
/* A shard's stream is |TYPE|SHARD. */
static inline bool journal_is_stream(struct slice id)
{
    return id.size && id.data[0] == '|';
}

/* sherd-journal-change.c */
/* Adds a change, and copies. */
void journal_change_add(struct journal_changes *changes, enum journal_change_kind kind, struct slice id,
                        uint64_t from, uint64_t to, struct slice bytes);
/* Makes all changes, or none, in the journal of a command. */
enum cmd_exit journal_change(const struct cmd_call *call, const struct journal_changes *changes);
void journal_changes_fini(struct journal_changes *changes);

/* sherd-journal-read.c */
/* Reads the argument N of state-at. False, with a line on standard error: it is no number. */
bool journal_number_of(const struct cmd_call *call, uint64_t *number);

/* sherd-journal-state.c: state-at with --program */
enum cmd_exit journal_state_by_program(const struct cmd_call *call);

/* sherd-journal-verify.c */
struct program;
/* Reads all events and snapshots, prints what is damaged, and adds to the sum. False: the journal failed. */
bool journal_verify(struct journal *journal, bool is_json, bool is_deep, const struct program *program,
                    struct backend_check *sum);

/* sherd-journal-sqlite.c */
struct journal *journal_open_sqlite(const char *path, char *error);

/* sherd-journal-postgres.c; the schema is lent until the close */
struct journal *journal_open_postgres(const char *url, const char *schema, char *error);

/* sherd-journal-print.c */
/* Printable ASCII; other bytes and '\' as \xNN. At most `max` bytes, then "...". */
void journal_print_text(struct slice text, size_t max);
/* Copies a text for an error line: other bytes become '?', and it may be cut. */
void journal_printable(struct slice text, char *to, size_t size);
void journal_print_hex(struct slice bytes);
/* Prints `,"name":"text"` or `,"name_base64":"..."`; with `first` without the comma. */
void journal_print_json(const char *name, struct slice text, bool first);
void journal_print_base64(const char *name, struct slice bytes);

#endif
