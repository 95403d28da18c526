/* The thread that keeps the durable keys of one replicator in files.
 *
 * Without write-behind all requests that wait are written as one transaction, and come back when it is durable. With it they
 * come back at once; of each key the last value is written after the interval, and at the end. While writing fails, because
 * the disk is full, every write is refused: nothing is acknowledged that might not last.
 *
 * Behaviour 13.10; the files are in durable_files.h, requests in ddata/durable.h. */
#ifndef SHERD_HOST_DURABLE_H
#define SHERD_HOST_DURABLE_H

#include <stdint.h>

#include "ddata/durable.h"

struct durable;

struct durable_options {
    const char *directory; /* made when it is not there; its parent is. Copied */
    const char *cluster;   /* the cluster's id. Copied */
    uint64_t map_size;     /* bytes that the database may grow to at first, at least 1 MiB: lmdb.map-size */
    uint32_t write_behind_ms; /* 0: none */
    /* Receives a request that is done, given, on the thread. It must not block. */
    void (*done)(void *context, struct durable_request *request);
    /* Receives the end of each transaction of write-behind: why it was not written, lent; null: it is durable. On the thread; may be null. */
    void (*written)(void *context, const char *error);
    /* Receives one line for a person, lent: what write-behind acknowledged is lost at the end. On the thread; may be null. */
    void (*warn)(void *context, const char *text);
    void *context;
};

/* Starts the thread. 0, or -1 with one line in error (DURABLE_ERROR_MAX bytes): no rights, in use by another system. */
int durable_open(struct durable **durable,
                 const struct durable_options *options, char *error)
    __attribute__((warn_unused_result));

/* given; any thread. The first one is a LOAD. When DURABLE_QUEUE_MAX wait it comes back at once, failed, on the caller's
 * thread. */
void durable_submit(struct durable *durable, struct durable_request *request);

/* Writes what waits, and ends the thread; every request has come back before. Null is fine. */
void durable_close(struct durable *durable);

/* Any thread. */
struct durable_counters {
    uint64_t transactions;
    uint64_t changes;  /* written in them */
    uint64_t failures; /* transactions that were not written */
    uint64_t refused;  /* requests at a full queue, or while writing fails */
};
void durable_get_counters(struct durable *durable,
                          struct durable_counters *counters);

#endif
