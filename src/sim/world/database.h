/* Simulates a PostgreSQL server with the journal of all nodes, below the store that real nodes use.
 *
 * Each node has a writer and readers: the store of src/postgres, whose steps are carried out on simulated
 * connections. The server runs the statements on its rows, with locks, transactions and commits that take
 * time. It crashes, restarts, stalls and cuts connections, so that nodes do not know the outcome of what
 * they sent. With a standby it also fails over.
 *
 * The interface is that of disk_backend.h; time never decreases. */
#ifndef SHERD_SIM_WORLD_DATABASE_H
#define SHERD_SIM_WORLD_DATABASE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/world/disk_backend.h"

enum database_servers {
    DATABASE_NONE,
    DATABASE_ONE,   /* one server */
    DATABASE_SYNC,  /* a commit waits for the standby */
    DATABASE_ASYNC, /* a promoted standby may lack the last commits */
    DATABASE_SERVERS
};

struct database;

struct database_settings {
    enum database_servers servers;
    uint64_t seed, index; /* of the streams of random numbers */
    uint64_t way_mean;    /* ns from a node to the server, on average */
    uint64_t flush_mean;  /* ns of a commit's write */
};

struct database_counters {
    uint64_t commits, runs, waits;         /* of transactions; of requests to the server; for locks */
    uint64_t cuts, late, ended;            /* connections that were cut, ran out of time, were ended */
    uint64_t crashes, failovers, stalls;   /* of the server */
    uint64_t lost;                         /* confirmed transactions that a promoted standby lacked */
    uint64_t reported;                     /* shards whose loss a node has logged */
};

struct database *database_new(const struct database_settings *settings);
void database_free(struct database *database); /* may be null */
void database_observe(struct database *database, const struct disk_backend_observer *observer);
const struct database_counters *database_counters(const struct database *database);

void database_submit(struct database *database, uint64_t now, uint32_t node,
                     struct journal_request *request);
uint64_t database_deadline(const struct database *database); /* or NEVER */
/* Returns the next request that is back at its node, given; null: none. */
struct journal_request *database_next_done(struct database *database, uint64_t now,
                                           uint32_t *node);
/* Ends a node's process: its connections are reset. */
void database_drop(struct database *database, uint64_t now, uint32_t node);
/* A node whose process is stopped sends nothing more, and its transactions stay open. */
void database_pause(struct database *database, uint64_t now, uint32_t node, bool on);

/* --- faults --- */

/* Starts or ends the server's own faults. At their end it runs. */
void database_faults(struct database *database, uint64_t now, bool on);
void database_crash(struct database *database, uint64_t now);
/* Starts it again unless it runs. */
void database_restart(struct database *database, uint64_t now);
/* Lets the standby take over. */
void database_fail_over(struct database *database, uint64_t now);

#endif
