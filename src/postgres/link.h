/* Defines what a store needs from a connection to its server: the steps that a driver carries out, and
 * functions that read what the server answered.
 *
 * The store decides (store.h). The driver sends, waits and measures time: pgdriver/ does it with libpq, and
 * the simulator with a model of the server. */
#ifndef SHERD_POSTGRES_LINK_H
#define SHERD_POSTGRES_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "postgres/cells.h"
#include "postgres/error_class.h"
#include "postgres/sql.h"

#define PG_CALL_PARAMETERS 12
#define PG_RUN_MAX 64 /* statements of one run */
#define PG_ERROR_SIZE 200
#define PG_TIMELINE_SIZE 16

/* One statement of a run. */
struct pg_call {
    enum pg_statement which;
    struct slice parameters[PG_CALL_PARAMETERS]; /* lent until the run ends */
    uint32_t count;      /* parameters */
    enum pg_class class; /* out: PG_NONE: it succeeded */
    void *result;        /* out; the link's, until `clear` */
};

enum pg_step_kind {
    PG_STEP_CONNECT, /* once; also checks the server and its tables */
    PG_STEP_RUN,     /* runs statements in order, all in one pipeline */
    PG_STEP_PAUSE,   /* waits */
};

struct pg_step {
    enum pg_step_kind kind;
    uint64_t deadline; /* ms; a run that lasts longer is cut off. PAUSE: its end */
    struct pg_call *calls;
    uint32_t count;
    bool each;   /* each statement is a transaction of its own, which no other one fails */
    bool claims; /* sessions of former owners that a claim waits for are ended after a while */
};

/* How a step ended. Lent for the call. */
struct pg_outcome {
    bool is_good; /* connected, or all statements succeeded */
    bool is_open; /* the connection, afterwards */
    enum pg_class class;  /* of the first failure */
    const char *text;     /* of the first failure, one line */
    const char *timeline; /* after CONNECT: names the server's history; "": it is not known */
};

struct pg_link;

struct pg_link_ops {
    void (*close)(struct pg_link *link);
    uint32_t (*rows)(const struct pg_call *call);
    /* Reads a row's cells. False: it has another number of columns. */
    bool (*row)(const struct pg_call *call, uint32_t row, struct pg_cell *cells, uint32_t count);
    void (*clear)(struct pg_call *calls, uint32_t count);
    const char *(*label)(const struct pg_link *link); /* host, port, database, user */
};

/* The first part of a driver's connection. */
struct pg_link {
    const struct pg_link_ops *ops;
};

#endif
