/* Runs the requests of a journal on one connection to a PostgreSQL server, as steps for a driver (link.h).
 *
 * It connects again after a loss, repeats what may be repeated until its deadline, reads unknown outcomes
 * back, and notices a server that lost what it confirmed. Pure: the driver passes the time. */
#ifndef SHERD_POSTGRES_STORE_H
#define SHERD_POSTGRES_STORE_H

#include <sherd/backend.h>

#include "base/map.h"
#include "postgres/group.h"
#include "postgres/known.h"
#include "postgres/link.h"

#define PG_TYPES_HALTED_MAX 256
#define PG_OWNER_SIZE 80

struct pg_store;
struct pg_job;

/* Tells what follows an answer, or the start of a try. */
enum pg_next {
    PG_NEXT_STEP,  /* the store's step is set */
    PG_NEXT_AGAIN, /* another try, at once */
    PG_NEXT_RETRY, /* another try, if the class allows it and there is time */
    PG_NEXT_OVER,  /* the job's requests have their results */
};

struct pg_settings {
    bool is_writer;
    bool halts; /* a type writes nothing more after a loss */
    uint32_t group_ms;
    uint64_t claim; /* a random number: which writer claimed a shard */
    char owner[PG_OWNER_SIZE]; /* the process, for people */
    void (*log)(void *user, enum sherd_backend_level level, const char *line);
    void *log_user;
};

enum pg_phase_of_store { PG_IDLE, PG_TRY, PG_CONNECTING, PG_COMPARING, PG_RUNNING, PG_PAUSING };

struct pg_store {
    struct pg_settings settings;
    struct pg_link *link;
    struct pg_known known;
    struct pg_ids ids;
    struct map halted; /* types that write nothing more, because of a loss */
    char timeline[PG_TIMELINE_SIZE]; /* of the server's history, when shards were compared last */
    char next_timeline[PG_TIMELINE_SIZE];
    bool is_open;    /* the connection */
    bool was_opened; /* once */
    bool is_down;    /* this was logged */

    enum pg_phase_of_store phase;
    struct sherd_backend_request **requests; /* those that are not answered yet */
    uint32_t count, at;
    const struct pg_job *job; /* it runs `length` requests from `at` on */
    uint32_t length;
    void *work; /* the job's */
    bool has_failed; /* the last job gave up */
    uint64_t now, deadline;
    uint32_t attempt, connects; /* tries of the job, and of connecting */
    struct pg_step step;
    struct pg_call *calls, *answers; /* PG_RUN_MAX of the next run, and of the last one */
    struct pg_array owned;           /* parameter of pg_ask_owned */
    uint8_t number[8];               /* the writer's, as a parameter */
    enum pg_class class;             /* of the last failure */
    char text[PG_ERROR_SIZE];
};

/* A kind of work. `requests` and `length` of the store are its own. */
struct pg_job {
    void *(*start)(struct pg_store *store); /* the job's memory; may be null */
    enum pg_next (*begin)(struct pg_store *store); /* of a try, on an open connection */
    enum pg_next (*took)(struct pg_store *store, bool is_good); /* the step's answers are there */
    void (*give_up)(struct pg_store *store);
    void (*end)(struct pg_store *store); /* may be null: frees the memory */
};

void pg_store_init(struct pg_store *store, struct pg_link *link, const struct pg_settings *settings);
void pg_store_fini(struct pg_store *store); /* requests under way get no results */

/* Starts work: requests of a writer or of a reader; a connection; a write without a meaning; a
 * question. The array is
 * copied, the requests are lent until pg_store_next returns null. */
void pg_store_begin(struct pg_store *store, struct sherd_backend_request *const *requests,
                    uint32_t count, uint64_t now);
void pg_store_begin_open(struct pg_store *store, uint64_t now, uint64_t deadline);
void pg_store_begin_touch(struct pg_store *store, uint64_t now, uint64_t deadline);
void pg_store_begin_look(struct pg_store *store, uint64_t now, uint64_t deadline); /* a sign of life */
/* Takes how the last step ended (null at first), and returns the next one, lent; null: the work is done. */
const struct pg_step *pg_store_next(struct pg_store *store, uint64_t now,
                                    const struct pg_outcome *outcome);

/* ---- job.c: for jobs ---- */

extern const struct pg_job pg_job_append, pg_job_claim, pg_job_term, pg_job_replay, pg_job_one;

/* Prepares a call of the next run. */
struct pg_call *pg_call_put(struct pg_store *store, uint32_t index, enum pg_statement which,
                            uint32_t parameters);
enum pg_next pg_run(struct pg_store *store, uint32_t count, bool each);
uint32_t pg_rows(const struct pg_store *store, uint32_t index);
bool pg_row(const struct pg_store *store, uint32_t index, uint32_t row, struct pg_cell *cells,
            uint32_t count);
/* Whether the call has an answer. */
bool pg_is_answered(const struct pg_store *store, uint32_t index);
/* A question for the stored fence of a request's shard, and its answer: false: it is damaged; no such
 * shard: zero. */
void pg_ask_stored(struct pg_store *store, uint32_t index,
                   const struct sherd_backend_request *request);
bool pg_read_stored(const struct pg_store *store, uint32_t index, struct sherd_fence *stored);

void pg_store_log(struct pg_store *store, enum sherd_backend_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* store.c: true, with the answer, for a request whose types all lost events under on-lost = halt. */
bool pg_store_refuse_halted(struct pg_store *store, struct sherd_backend_request *request);

/* ---- loss.c ---- */

/* The writer's number as a parameter. */
struct slice pg_own_number(struct pg_store *store);
/* Asks for the rows of all known shards. */
void pg_ask_owned(struct pg_store *store, uint32_t index);
/* Notes which of them are taken or lost, and logs losses. False: a row is damaged. */
bool pg_read_owned(struct pg_store *store, uint32_t index);
/* Whether the known shards are to be compared with those of a server with another history. Sets the step. */
bool pg_store_must_compare(struct pg_store *store, const char *timeline);
void pg_store_compared(struct pg_store *store, bool is_good);
/* Logs the loss of a shard's confirmed records. */
void pg_store_lost(struct pg_store *store, struct slice type, struct slice shard,
                   uint64_t confirmed, uint64_t found);

static inline struct sherd_backend_request *pg_request(const struct pg_store *store, uint32_t index)
{
    return store->requests[store->at + index];
}

static inline struct slice pg_slice(struct sherd_bytes bytes)
{
    return slice_of(bytes.data, bytes.size);
}

#endif
