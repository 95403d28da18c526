/* Runs the thread that keeps a node's durable keys in files (docs/protocol/durable.md).
 *
 * All waiting requests become one transaction, and come back when it is durable. With write-behind
 * they come back at once; each key's last value is written after the interval and at the end. While
 * writing fails, every write is refused: nothing is acknowledged that might not last. */
#ifndef SHERD_HOST_DURABLE_H
#define SHERD_HOST_DURABLE_H

#include <stdint.h>

#include "ddata/durable.h"

struct durable;

struct durable_options {
    const char *directory; /* created if missing, its parent not. Copied */
    const char *cluster;   /* the cluster's id. Copied */
    uint64_t map_size;     /* initial size limit in bytes, at least 1 MiB: lmdb.map-size */
    uint32_t write_behind_ms; /* 0: none */
    /* Receives a finished request, given. Like the next two, on the thread; must not block. */
    void (*done)(void *context, struct durable_request *request);
    /* Receives the result of a write-behind transaction: the fault, lent, or null. May be null. */
    void (*written)(void *context, const char *error);
    /* Receives a line, lent, if acknowledged changes are lost at the end. May be null. */
    void (*warn)(void *context, const char *text);
    /* Receives a line, lent, once the files are not those that were opened: from then on every write
     * fails. May be null. */
    void (*lost)(void *context, const char *why);
    void *context;
};

/* 0, or -1 with one line in error (DURABLE_ERROR_MAX bytes). */
int durable_open(struct durable **durable,
                 const struct durable_options *options, char *error)
    __attribute__((warn_unused_result));

/* given; any thread. The first is a LOAD. At DURABLE_QUEUE_MAX it comes back at once, failed, on
 * the caller's thread. */
void durable_submit(struct durable *durable, struct durable_request *request);

/* Writes what waits, ends the thread, and returns after all requests came back. Null is allowed. */
void durable_close(struct durable *durable);

/* Any thread. */
struct durable_counters {
    uint64_t transactions;
    uint64_t changes;  /* in written transactions */
    uint64_t failures; /* transactions */
    uint64_t refused;  /* requests at a full queue, or while writing fails */
};
void durable_get_counters(struct durable *durable,
                          struct durable_counters *counters);

#endif
