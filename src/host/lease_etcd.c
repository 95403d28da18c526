/* Implements leases in etcd: reads the key, writes it on condition that it has not changed, and
 * reads again if that failed or the result is unknown. */
#define _GNU_SOURCE
#include "host/lease_etcd.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <uv.h>

#include "base/check.h"
#include "base/timers.h"
#include "host/etcd_reply.h"
#include "host/lease_etcd_inside.h"

#define JSON_MAX 4096 /* bytes of a request */
/* before the third and further tries; the second goes to another endpoint at once */
#define PAUSE_MS 50

/* A request and its progress. */
struct turn {
    struct lease_etcd *etcd;
    struct lease_request *request;
    uint64_t until;
    struct buf key, owner; /* base64, zero-terminated */
    uint64_t lease; /* granted for this request; 0: not yet */
};

static const char *text_of(const struct buf *buf)
{
    return (const char *)buf->data;
}

int lease_etcd_open(struct lease_etcd **opened,
                    const struct etcd_options *options, char *error,
                    size_t size)
{
    struct lease_etcd *etcd;
    struct etcd_calls *calls;

    *opened = NULL;
    if (options->prefix && strlen(options->prefix) > ETCD_PREFIX_MAX) {
        (void)snprintf(error, size,
                       "the prefix of keys in etcd has more than %d bytes",
                       ETCD_PREFIX_MAX);
        return -1;
    }
    if (etcd_calls_open(&calls, options, error, size) != 0)
        return -1;
    etcd = mem_alloc(sizeof *etcd);
    etcd->calls = calls;
    etcd->prefix = mem_text(options->prefix ? options->prefix : "");
    etcd->patience = options->patience;
    *opened = etcd;
    return 0;
}

void lease_etcd_close(struct lease_etcd *etcd)
{
    if (!etcd)
        return;
    etcd_calls_close(etcd->calls);
    mem_free(etcd->prefix);
    mem_free(etcd);
}

void lease_etcd_stop(struct lease_etcd *etcd)
{
    etcd_calls_stop(etcd->calls);
}

const char *lease_etcd_why(const struct lease_etcd *etcd)
{
    return etcd_call_why(etcd->calls);
}

/* ---- one call each ---- */

static bool read_key(struct turn *turn, struct etcd_key *key)
{
    struct lease_etcd *etcd = turn->etcd;
    char json[JSON_MAX];
    struct slice body;

    /* fits, like all here */
    (void)snprintf(json, sizeof json, "{\"key\":\"%s\"}", text_of(&turn->key));
    if (etcd_call(etcd->calls, turn->until, "/v3/kv/range", json, &body) !=
        ETCD_DONE)
        return false;
    if (etcd_read_range(body, text_of(&turn->key), key))
        return true;
    etcd_call_refuse(etcd->calls);
    return false;
}

static bool take_etcd_lease(struct turn *turn)
{
    struct lease_etcd *etcd = turn->etcd;
    uint64_t wanted = (turn->request->ttl + SECOND - 1) / SECOND;
    uint64_t lease, ttl;
    char json[JSON_MAX];
    struct slice body;

    (void)snprintf(json, sizeof json, "{\"TTL\":\"%" PRIu64 "\"}", wanted);
    if (etcd_call(etcd->calls, turn->until, "/v3/lease/grant", json, &body) !=
        ETCD_DONE)
        return false;
    /* The server may grant more time than was asked for, never less. */
    if (etcd_read_grant(body, &lease, &ttl) && ttl >= wanted) {
        turn->lease = lease;
        return true;
    }
    etcd_call_refuse(etcd->calls);
    return false;
}

/* Puts or deletes, if the key is unchanged. False: not done, or unknown. */
static bool write_key(struct turn *turn, const struct etcd_key *seen,
                      const char *operation, uint64_t *revision)
{
    struct lease_etcd *etcd = turn->etcd;
    char json[JSON_MAX];
    struct slice body;
    bool succeeded;
    long status;

    (void)snprintf(json, sizeof json,
                   "{\"compare\":[{\"key\":\"%s\",\"target\":\"MOD\",\"result\":"
                   "\"EQUAL\",\"mod_revision\":\"%" PRIu64
                   "\"}],\"success\":[%s]}",
                   text_of(&turn->key), seen->mod_revision, operation);
    status = etcd_call(etcd->calls, turn->until, "/v3/kv/txn", json, &body);
    if (status == ETCD_GONE)
        turn->lease = 0;
    if (status != ETCD_DONE)
        return false;
    if (etcd_read_txn(body, &succeeded, revision))
        return succeeded;
    etcd_call_refuse(etcd->calls);
    return false;
}

/* ---- acquire and release: true if there is an answer ---- */

static void grant(struct turn *turn, uint64_t token)
{
    turn->request->answer = LEASE_GRANTED;
    turn->request->token = token;
    turn->lease = 0; /* a key uses it */
}

static bool is_own(const struct turn *turn, const struct etcd_key *key)
{
    const struct lease_request *request = turn->request;

    return key->found && strcmp(key->value, text_of(&turn->owner)) == 0 &&
           (!request->token || request->verb == LEASE_BEGIN ||
            request->token == key->create_revision);
}

/* A session has the revision at which its key was created, so the next one needs a new key. */
static bool delete_former(struct turn *turn, struct etcd_key *key)
{
    char operation[JSON_MAX / 2];
    uint64_t revision;

    (void)snprintf(operation, sizeof operation, "{\"request_delete_range\":{\"key\":\"%s\"}}",
                   text_of(&turn->key));
    if (!write_key(turn, key, operation, &revision))
        return false;
    turn->etcd->idle = key->lease;
    *key = (struct etcd_key){ .found = false };
    return true;
}

static bool take(struct turn *turn)
{
    char operation[JSON_MAX / 2];
    bool renews = turn->request->verb == LEASE_TAKE && turn->request->token;
    struct etcd_key key;
    uint64_t revision;

    if (!read_key(turn, &key))
        return false;
    if (turn->lease && key.lease == turn->lease) {
        grant(turn, key.create_revision); /* the write was done, only the reply was lost */
        return true;
    }
    if (!is_own(turn, &key) && (key.found || renews)) {
        turn->request->answer = LEASE_REFUSED;
        return true;
    }
    if (turn->request->verb == LEASE_BEGIN && key.found && !delete_former(turn, &key))
        return false;
    if (!turn->lease && !take_etcd_lease(turn))
        return false;
    (void)snprintf(operation, sizeof operation,
                   "{\"request_put\":{\"key\":\"%s\",\"value\":\"%s\","
                   "\"lease\":\"%" PRIu64 "\"}}",
                   text_of(&turn->key), text_of(&turn->owner), turn->lease);
    if (!write_key(turn, &key, operation, &revision))
        return false;
    grant(turn, key.found ? key.create_revision : revision);
    if (key.lease)
        turn->etcd->idle = key.lease;
    return true;
}

static bool give_up(struct turn *turn)
{
    char operation[JSON_MAX / 2];
    struct etcd_key key;
    uint64_t revision;

    if (!read_key(turn, &key))
        return false;
    if (is_own(turn, &key)) {
        (void)snprintf(operation, sizeof operation,
                       "{\"request_delete_range\":{\"key\":\"%s\"}}",
                       text_of(&turn->key));
        if (!write_key(turn, &key, operation, &revision))
            return false;
        turn->etcd->idle = key.lease;
    }
    turn->request->answer = LEASE_GRANTED;
    return true;
}

void lease_etcd_put_name(struct buf *buf, const char *first, const char *second)
{
    struct buf whole = { 0 };

    buf_put_text(&whole, first);
    buf_put_text(&whole, second);
    etcd_put_base64(buf, buf_slice(&whole));
    buf_put_u8(buf, 0);
    buf_fini(&whole);
}

/* Tells whether to try again. */
static bool go_on(const struct lease_etcd *etcd, uint64_t until, uint32_t tries)
{
    if (tries > 1)
        uv_sleep(PAUSE_MS);
    return uv_hrtime() + MS < until && !etcd_calls_stopped(etcd->calls);
}

static bool bind_all(struct lease_etcd *etcd, struct lease_request *request)
{
    uint64_t until = uv_hrtime() + etcd->patience;
    bool done = false;
    uint32_t tries = 0;

    do
        done = lease_etcd_bind(etcd, until, request);
    while (!done && go_on(etcd, until, ++tries));
    return done;
}

bool lease_etcd_do(struct lease_etcd *etcd, struct lease_request *request)
{
    struct turn turn = { .etcd = etcd,
                         .request = request,
                         .until = uv_hrtime() + etcd->patience };
    bool done = false;
    uint32_t tries = 0;

    if (request->verb == LEASE_BIND)
        return bind_all(etcd, request);
    request->answer = LEASE_UNKNOWN;
    lease_etcd_put_name(&turn.key, etcd->prefix, request->name);
    lease_etcd_put_name(&turn.owner, request->owner, "");
    do
        done = request->verb == LEASE_GIVE_UP ? give_up(&turn) : take(&turn);
    while (!done && go_on(etcd, turn.until, ++tries));
    /* The request was refused. Revoking its etcd lease also stops a write that is still on its way.
     * After an unknown result, an earlier grant may depend on it. */
    if (request->answer == LEASE_REFUSED && turn.lease)
        etcd->idle = turn.lease;
    buf_fini(&turn.key);
    buf_fini(&turn.owner);
    return done;
}

void lease_etcd_tidy(struct lease_etcd *etcd)
{
    char json[64];
    struct slice body;

    if (!etcd->idle)
        return;
    (void)snprintf(json, sizeof json, "{\"ID\":\"%" PRIu64 "\"}", etcd->idle); /* fits */
    etcd->idle = 0;
    (void)etcd_call(etcd->calls, uv_hrtime() + etcd->patience,
                    "/v3/lease/revoke", json, &body); /* otherwise it expires */
}

bool lease_etcd_look(struct lease_etcd *etcd)
{
    struct turn turn = { .etcd = etcd,
                         .until = uv_hrtime() + etcd->patience };
    struct etcd_key key;
    bool found = false;
    uint32_t tries = 0;

    lease_etcd_put_name(&turn.key, etcd->prefix, "");
    do
        found = read_key(&turn, &key);
    while (!found && go_on(etcd, turn.until, ++tries));
    buf_fini(&turn.key);
    return found;
}
