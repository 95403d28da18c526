/* Declares what the files of the PostgreSQL back end share. */
#ifndef SHERD_PGDRIVER_INSIDE_H
#define SHERD_PGDRIVER_INSIDE_H

#include <sherd/backend.h>

#include "base/map.h"
#include "pgdriver/link.h"
#include "pgdriver/options.h"
#include "postgres/group.h"
#include "postgres/known.h"

#define PG_RUN_MAX 64 /* claims or replays in one pipeline */
#define PG_TYPES_HALTED_MAX 256

struct pg_store {
    struct pg_options *options;
    struct pg_link *link;
    enum sherd_backend_mode mode;
    void (*log)(void *user, enum sherd_backend_level level, const char *line);
    void *log_user;
    uint64_t claim;      /* a random number: which writer claimed a shard */
    struct pg_known known;
    struct pg_ids ids;
    struct map halted;   /* types that write nothing more, because of a loss */
    char store_id[64];   /* empty: not read yet */
    char timeline[16];   /* of the server's history, when it was connected last */
    bool was_opened;     /* the notes about the server were logged */
    bool is_down;        /* this was logged */
    uint32_t tries;      /* of connecting, since the last success */
    bool is_refused;     /* another store answers: nothing is written any more */
};

/* session.c */
/* Connects, with pauses between tries, and checks the store; until the deadline. False: the link's text
 * has the reason. */
bool pg_store_ready(struct pg_store *store, uint64_t deadline);
void pg_store_log(struct pg_store *store, enum sherd_backend_level level,
                  const char *format, ...) __attribute__((format(printf, 3, 4)));
/* After an error: closes a connection that is of no use, and waits before the next try. Returns whether
 * there is time for one. */
bool pg_store_retry(struct pg_store *store, enum pg_class class, uint64_t deadline,
                    uint32_t *attempt);
/* Undoes an open transaction. */
void pg_store_rollback(struct pg_store *store);

/* check.c: what a new connection finds. False: class and text of the link have the reason. */
bool pg_store_check(struct pg_store *store, uint64_t deadline);
/* Compares all known shards with the server's, after its history changed. */
void pg_store_compare(struct pg_store *store, uint64_t deadline);
/* Notes and logs the loss of a shard's confirmed records. */
void pg_store_lost(struct pg_store *store, struct slice type, struct slice shard,
                   uint64_t confirmed, uint64_t found);

/* Reads the fence that is stored for the request's shard. False: it could not be read; there is no such
 * shard: zero. */
bool pg_read_stored(struct pg_store *store, const struct sherd_backend_request *request,
                    uint64_t deadline, struct sherd_fence *stored);

/* append.c, claim.c, replay.c, snapshots.c: run requests of one kind. */
void pg_append(struct pg_store *store, struct sherd_backend_request *const *requests,
               uint32_t count, uint64_t deadline);
void pg_claim(struct pg_store *store, struct sherd_backend_request *const *requests,
              uint32_t count, uint64_t deadline);
void pg_take_term(struct pg_store *store, struct sherd_backend_request *request,
                  uint64_t deadline);
/* SAVE, TRIM or DROP */
void pg_own(struct pg_store *store, struct sherd_backend_request *request, uint64_t deadline);
void pg_load(struct pg_store *store, struct sherd_backend_request *request, uint64_t deadline);
void pg_replay(struct pg_store *store, struct sherd_backend_request *const *requests,
               uint32_t count, uint64_t deadline);

static inline struct slice pg_slice(struct sherd_bytes bytes)
{
    return slice_of(bytes.data, bytes.size);
}

#endif
