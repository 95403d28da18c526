/* Declares what the files of the simulated database share. */
#ifndef SHERD_SIM_WORLD_DATABASE_INSIDE_H
#define SHERD_SIM_WORLD_DATABASE_INSIDE_H

#include "base/check.h"
#include "base/rng.h"
#include "base/timers.h"
#include "journal/lent.h"
#include "postgres/store.h"
#include "sim/seed/streams.h"
#include "sim/world/database.h"
#include "sim/world/database_statement.h"

#define DATABASE_READERS 2
#define DATABASE_CONNECTIONS (1 + DATABASE_READERS)
#define DATABASE_GROUP_MAX 1024 /* requests */

enum database_event {
    /* at a client, by its number; generation: the step's, which has ended if it is older */
    DATABASE_BEGIN,    /* work waits */
    DATABASE_ANSWERED, /* a reply has arrived */
    DATABASE_LATE,     /* the step's time is over */
    DATABASE_BROKEN,   /* generation: of the session */
    /* at the server */
    DATABASE_CALLED,   /* a client's connection; generation: the step's */
    DATABASE_ARRIVED,  /* a message, by its number */
    DATABASE_WOKEN,    /* a session, whose lock may be free */
    DATABASE_WAITED,   /* a session has waited too long; generation: the wait's */
    DATABASE_IMPATIENT, /* a claim has waited for a while, as above */
    DATABASE_IDLE,     /* a session in a transaction was idle, as above */
    DATABASE_LEFT,     /* a session's client is gone */
    DATABASE_FLUSHED,  /* a commit, by its number */
    DATABASE_UP,       /* the server starts; generation: its process */
    DATABASE_FAULT,    /* the next own fault; generation: of the faults */
};

struct database_ticket {
    struct journal_request *request;
    uint32_t node;
};

/* A run of statements on its way, or being run. */
struct database_message {
    uint64_t number, session, client;
    uint32_t step; /* of the client */
    uint32_t count;
    bool each, claims;
    struct database_call calls[PG_RUN_MAX];
    enum pg_class classes[PG_RUN_MAX];
    const char *states[PG_RUN_MAX]; /* SQLSTATE; null: none */
    struct database_result *results[PG_RUN_MAX];
    struct buf bytes;
};

/* One connection of a node, with its store. */
struct database_client {
    struct pg_link link; /* first */
    struct database *database;
    struct pg_store store;
    uint64_t number;
    uint32_t node;
    uint32_t step;    /* counts */
    bool works;       /* on a group */
    const struct pg_step *running; /* null: none */
    uint64_t session; /* 0: none is open */
    bool is_broken;   /* the session is over, and the store does not know */
    struct database_message *reply; /* the one that has arrived, or null */
    VEC(struct journal_request *) waits;
    VEC(struct journal_request *) group;
    struct journal_lent *lent; /* of the group */
    struct sherd_backend_request **requests;
};

struct database_node {
    struct database_client *clients[DATABASE_CONNECTIONS]; /* null: no process */
    bool is_paused;
    VEC(struct timer) parked; /* events of a stopped process */
};

struct database_session {
    uint64_t number, client;
    struct database_message *message; /* being run; null: idle */
    uint32_t at;       /* its next call */
    bool is_explicit;  /* in a transaction of its own */
    bool has_failed;   /* the transaction */
    bool is_gone;      /* its client */
    bool is_committing;
    bool is_refused;   /* its last wait ended by its time */
    uint32_t wait;     /* counts; see waits */
    struct slice waits; /* own copy of a lock's key; empty: none */
    VEC(struct slice) locks; /* keys, owned by the table */
    struct database_writes writes;
};

/* A committed transaction in the log. */
struct database_commit {
    uint64_t number, session;
    uint64_t flushed_at, standby_at;
    struct database_writes writes;
};

struct database {
    struct database_settings settings;
    struct rng rng, fault_rng;
    struct timers events;
    uint64_t now;
    VEC(struct database_node *) nodes;
    struct map clients;  /* number -> struct database_client */
    VEC(struct database_ticket) done;
    struct database_counters counters;
    struct disk_backend_observer observers[DISK_STORE_OBSERVERS_MAX];
    uint32_t observer_count;
    uint64_t last_number; /* of clients, sessions, messages and commits */

    /* the server */
    struct database_rows rows;
    bool is_up;
    uint64_t crashed_at;
    uint32_t process, timeline;
    uint64_t next_shard, next_entity;
    struct map messages, sessions; /* number -> as named */
    struct map locks;              /* key -> struct database_session */
    VEC(struct database_commit *) pending; /* in order; not applied */
    VEC(struct database_commit *) log;     /* applied; with a standby only */
    uint64_t stalls_until, lags_until;
    bool has_faults;
    uint32_t fault_count;
};

#define DATABASE_TELL(database, member, ...)                                  \
    do {                                                                      \
        for (uint32_t i_ = 0; i_ < (database)->observer_count; i_++)          \
            if ((database)->observers[i_].member)                             \
                (database)->observers[i_].member((database)->observers[i_].user, \
                                                 __VA_ARGS__);                \
    } while (0)

static inline void database_event(struct database *database, uint64_t at, enum database_event kind,
                                  uint64_t id, uint32_t generation)
{
    timers_put(&database->events, at, (uint32_t)kind, id, generation);
}

static inline uint64_t database_way(struct database *database)
{
    return stream_delay(&database->rng, 1, database->settings.way_mean);
}

static inline bool database_odds(struct database *database, uint64_t one_in)
{
    return database->has_faults && rng_below(&database->fault_rng, one_in) == 0;
}

/* database_client.c */
struct database_client *database_client_new(struct database *database, uint32_t node, bool writes);
void database_client_free(struct database_client *client);
void database_client_event(struct database_client *client, const struct timer *event);

/* database_server.c */
void database_message_free(struct database_message *message);
/* Opens a session for a client; 0: the server is down. */
uint64_t database_session_open(struct database *database, uint64_t client);
void database_session_left(struct database *database, uint64_t session); /* its client closes it */
void database_server_event(struct database *database, const struct timer *event);
/* Ends a session: its transaction is undone unless it commits, and its client hears that soon. */
void database_session_end(struct database *database, struct database_session *session);

/* database_faults.c */
/* Sets the times at which a commit arrives. */
void database_commit_times(struct database *database, struct database_commit *commit);
void database_commit_apply(struct database *database, struct database_commit *commit);
void database_commit_free(struct database_commit *commit);
void database_fault_event(struct database *database, const struct timer *event);

#endif
