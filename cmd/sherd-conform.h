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
    bool tells_owners; /* of equal fences, the later claim has the shard */
    char type[64];     /* a type of the case's own */
    void *writer, *other, *reader; /* `other` is like the writer of another process */
    const char *failed;
    int line;
    const char *skipped; /* why the case does not apply */
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

struct conform_case {
    const char *name;
    void (*run)(struct run *run);
};

extern const struct conform_case conform_replays[], conform_appends[],
    conform_fences[], conform_stores[], conform_snapshots[];

static const struct fence one = { 1, 1 }, two = { 1, 2 }, three = { 2, 1 };

/* sherd-conform-calls.c */

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
/* The persistence id of an entity of the case's type. */
void conform_id(const struct run *run, const char *id, char text[400]);

#endif
