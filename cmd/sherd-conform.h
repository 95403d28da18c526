/* Declares what the files of sherd-conform share: a run of one case, and requests in one line. */
#ifndef SHERD_CMD_CONFORM_H
#define SHERD_CMD_CONFORM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/check.h"
#include "journal/backend.h"

/* A back end under test, and the case that runs. */
struct run {
    const struct backend_ops *ops;
    struct backend_options options;
    bool is_memory;    /* its contents end with its last connection */
    bool keeps_snapshots;
    bool tries_writes; /* it has can_write */
    bool has_one_lock; /* a stopped writer of one shard blocks all */
    bool tells_owners; /* of equal fences, the later claim has the shard */
    char type[64];     /* a type of the case's own */
    char **words;      /* the program's arguments, to start another one */
    uint32_t word_count;
    void *writer, *other, *reader; /* `other` is like the writer of another process */
    const char *name;  /* of the case */
    const char *breaks, *mends; /* commands; null: none was given */
    const char *via;   /* another place of the store, which the commands reach; null: none */
    const char *broken; /* the fault that is not mended yet */
    char told[200];    /* by a command */
    const char *failed;
    int line;
    const char *skipped; /* why the case does not apply */
    char error[BACKEND_ERROR_MAX]; /* of the last conform_reopen */
};

/* Ends the case if the condition does not hold. */
#define MUST(run, condition)                 \
    do {                                     \
        if (!(condition)) {                  \
            (run)->failed = #condition;      \
            (run)->line = __LINE__;          \
            return;                          \
        }                                    \
    } while (0)

/* The same with a text that says what is wrong. */
#define MUST_TELL(run, condition, text) \
    do {                                \
        if (!(condition)) {             \
            (run)->failed = (text);     \
            (run)->line = __LINE__;     \
            return;                     \
        }                               \
    } while (0)

struct conform_case {
    const char *name;
    void (*run)(struct run *run);
};

extern const struct conform_case conform_replays[], conform_appends[],
    conform_fences[], conform_stores[], conform_snapshots[], conform_deletions[],
    conform_races[], conform_processes[], conform_faults[], conform_closed[], conform_links[];

#define CONFORM_ALL (1u << 30) /* more bytes than a case stores */

static const struct fence one = { 1, 1 }, two = { 1, 2 }, three = { 2, 1 };

/* sherd-conform-calls.c */

double conform_seconds(void); /* of a clock that never goes back */
/* Opens a connection. Null: the case failed, or error has the reason. */
void *conform_open(struct run *run, enum backend_mode mode, char *error);
enum backend_result conform_claim(struct run *run, void *writer,
                                  const char *shard, struct fence fence);
/* Adds an entity with one record for each letter of `events`, numbered from `from`. */
void conform_add(struct run *run, struct journal_request *request,
                 const char *shard, struct fence fence, const char *id,
                 uint64_t from, const char *events);
/* Adds one record with that payload to the last entity. */
void conform_add_record(struct journal_request *request, uint64_t seq,
                        struct slice payload);
struct journal_request *conform_append(struct run *run, const char *shard,
                                       struct fence fence, const char *id,
                                       uint64_t from, const char *events);
/* Runs an append and frees it. Returns its first entity's result. */
enum backend_result conform_write(struct run *run, void *writer,
                                  struct journal_request *request);
/* The same in one call. */
enum backend_result conform_put(struct run *run, void *writer,
                                const char *shard, struct fence fence,
                                const char *id, uint64_t from,
                                const char *events);
/* Runs a request of one of the writers' other verbs. */
void conform_do(struct run *run, void *writer, struct journal_request *request);
/* Reads records; the caller frees the request. */
struct journal_request *conform_replay(struct run *run, void *reader,
                                       const char *id, uint64_t from,
                                       uint32_t count, uint32_t size);
/* Tells whether an entity's stored events are these letters, as "3:cde" if the first number is 3. */
bool conform_has(struct run *run, const char *id, const char *letters);
/* Closes the connections, and opens them again. False: it failed. */
bool conform_reopen(struct run *run);
void conform_close(struct run *run);
/* The persistence id of an entity of the case's type. */
void conform_id(const struct run *run, const char *id, char text[400]);

/* sherd-conform-hooks.c */

/* Breaks the store in a way that the user's command knows. False: the case ends, or does not apply. It is
 * mended at the latest when the case ends. */
bool conform_break(struct run *run, const char *fault);
/* Mends it. False: the command failed, and so did the case. */
bool conform_mend(struct run *run);
/* Sets the number of the try for the next command. */
void conform_round(uint32_t round);

/* sherd-conform-processes.c */

/* The option that makes a process of a case out of the program, with TYPE:SHARD. */
#define CONFORM_WRITES "--writes"
/* Claims the shard, and appends to its entity of the same name until another owner fences it. Prints a
 * line for each event that is stored. Returns the exit status. */
int conform_write_for_ever(struct run *run, const char *place);

/* sherd-conform-owner.c, all of shard "s" and entity "e" */

/* SAVE, TRIM or DROP; the caller runs it with conform_settle, or frees it. */
struct journal_request *conform_by_owner(struct run *run, enum backend_verb verb,
                                         struct fence fence);
/* Stores a snapshot, as above. */
struct journal_request *conform_save(struct run *run, struct fence fence, uint64_t seq,
                                     struct slice bytes, uint32_t keep);
/* Runs a request of the owner and frees it. */
enum backend_result conform_settle(struct run *run, struct journal_request *request);
/* Reads the snapshot of the entity "e" at this number or below. The caller frees it. */
struct journal_request *conform_load(struct run *run, uint64_t up_to);
/* Tells whether the newest snapshot up to a number is this one; seq 0: there is none. */
bool conform_loads(struct run *run, uint64_t up_to, uint64_t seq, struct slice bytes);
/* Trims to a number; false unless it is done with this `more`, and deletes so many. */
bool conform_trims(struct run *run, uint64_t from, uint32_t count, bool more, uint32_t deleted);
/* Reads a range; true if it has `count` records from `first` on, and `more` is as expected. */
bool conform_reads(struct run *run, uint64_t from, uint32_t count_max, uint32_t size_max,
                   uint32_t count, uint64_t first, bool more);

#endif
