/* Sends requests to an etcd cluster's v3 JSON gateway, by libcurl.
 *
 * Each goes to the endpoint that answered last, and to the next one after a failure. One thread
 * calls and may block; any may stop it. */
#ifndef SHERD_HOST_ETCD_CALL_H
#define SHERD_HOST_ETCD_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* Texts are copied; null or "" means none. Times in ns. */
struct etcd_options {
    const char *const *endpoints; /* "http://host:2379", "https://..." */
    uint32_t endpoint_count;
    const char *prefix; /* of all keys */
    const char *user;
    const char *password;
    const char *ca_file;   /* PEM; none: the system's */
    const char *cert_file; /* PEM, client certificate, with the next */
    const char *key_file;
    uint64_t request_timeout; /* one request */
    uint64_t patience; /* all requests for one answer */
};

struct etcd_calls;

/* 0, or -1 with one line in error. Sends nothing yet. */
int etcd_calls_open(struct etcd_calls **calls,
                    const struct etcd_options *options, char *error,
                    size_t size) __attribute__((warn_unused_result));
void etcd_calls_close(struct etcd_calls *calls); /* null is allowed */
/* Any thread: calls end soon, without an answer. */
void etcd_calls_stop(struct etcd_calls *calls);
bool etcd_calls_stopped(const struct etcd_calls *calls);

#define ETCD_DONE 200 /* only its body is an answer */
#define ETCD_GONE 404 /* the lease does not exist; nothing was done */
#define ETCD_SILENT 0 /* no readable answer: the request may be done */

/* Posts JSON to a path ("/v3/kv/range") and returns the status; signs in if a user is set. The body
 * is lent until the next call. Waits until `until` (uv_hrtime), at most for one request's limit.
 * Any but the first two statuses selects the next endpoint for the next call. */
long etcd_call(struct etcd_calls *calls, uint64_t until, const char *path,
               const char *json, struct slice *body);
/* The last body was invalid: as if there was no answer. */
void etcd_call_refuse(struct etcd_calls *calls);
/* Why the last failed call failed. Lent until the next call. */
const char *etcd_call_why(const struct etcd_calls *calls);

#endif
