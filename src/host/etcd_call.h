/* Requests to an etcd cluster through its v3 JSON gateway: one at a time, over libcurl, each with a time limit, at the
 * endpoint that answered last, and at the next one when it does not. One thread calls, which may wait; any may stop
 * it. */
#ifndef SHERD_HOST_ETCD_CALL_H
#define SHERD_HOST_ETCD_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* Where and how. Texts are copied; null or "" is none. Times in ns. */
struct etcd_options {
    const char *const *endpoints; /* "http://host:2379", "https://..." */
    uint32_t endpoint_count;
    const char *prefix; /* of the keys */
    const char *user;
    const char *password;
    const char *ca_file;   /* PEM; none: the system's authorities */
    const char *cert_file; /* PEM, of a client that shows one, with the next */
    const char *key_file;
    uint64_t request_timeout; /* of one request */
    uint64_t patience; /* of all requests for one answer */
};

struct etcd_calls;

/* 0, or -1 with one line in error: no endpoint, a URL that is none, a file that cannot be read. Nothing is sent yet. */
int etcd_calls_open(struct etcd_calls **calls,
                    const struct etcd_options *options, char *error,
                    size_t size) __attribute__((warn_unused_result));
void etcd_calls_close(struct etcd_calls *calls); /* null is fine */
/* Any thread: the call under way ends soon, further ones at once, without an answer. */
void etcd_calls_stop(struct etcd_calls *calls);
bool etcd_calls_stopped(const struct etcd_calls *calls);

#define ETCD_DONE 200 /* the only status whose body is an answer */
#define ETCD_GONE 404 /* the lease that was named is not there; nothing was done */
#define ETCD_SILENT 0 /* no answer that can be read: what was asked may be done or not */

/* Posts the JSON text to a path ("/v3/kv/range") and returns the status, after signing in when a user is set. The body
 * is lent until the next call. until: of the clock of uv_hrtime; at most the time limit of one request is waited. A
 * status other than the two first ones makes the next endpoint the one that is asked next. */
long etcd_call(struct etcd_calls *calls, uint64_t until, const char *path,
               const char *json, struct slice *body);
/* The body of the last answer was none: as if nothing had come. */
void etcd_call_refuse(struct etcd_calls *calls);
/* Why the last call that failed did; a line. Lent until the next call. */
const char *etcd_call_why(const struct etcd_calls *calls);

#endif
