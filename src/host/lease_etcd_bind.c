/* Takes and gives up bound leases in etcd: reads all keys of a request and its session in one
 * transaction, then the sessions that hold them, and writes all changes in another, on condition that
 * nothing has changed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/vec.h"
#include "host/etcd_reply.h"
#include "host/lease_etcd_inside.h"

/* Another session that holds leases of the request. */
struct holder {
    char name[LEASE_TEXT_MAX];
    uint64_t token;
    struct buf key; /* base64, as those below */
    bool lives;
};

/* One try. */
struct attempt {
    struct lease_etcd *etcd;
    uint64_t until;
    struct lease_request *request;
    struct buf own; /* value of a lease of this session */
    struct buf *keys; /* the request's; its session is the last one */
    const char **texts; /* of the keys */
    struct etcd_key *found;
    VEC(struct holder) holders;
    struct buf compare, success; /* of the transaction that writes */
};

static const char *text_of(const struct buf *buf)
{
    return (const char *)buf->data;
}

static void put_item(struct buf *list, const char *format, const char *key, const char *rest)
{
    char text[2048];

    if (list->size)
        buf_put_u8(list, ',');
    /* fits: names are below LEASE_TEXT_MAX, the prefix below ETCD_PREFIX_MAX */
    (void)snprintf(text, sizeof text, format, key, rest);
    buf_put_text(list, text);
}

static bool transact(struct attempt *attempt, const struct buf *compare, const struct buf *success,
                     struct slice *body)
{
    struct buf json = { 0 };
    long status;

    buf_put_text(&json, "{\"compare\":[");
    buf_put_slice(&json, buf_slice(compare));
    buf_put_text(&json, "],\"success\":[");
    buf_put_slice(&json, buf_slice(success));
    buf_put_text(&json, "]}");
    buf_put_u8(&json, 0);
    status = etcd_call(attempt->etcd->calls, attempt->until, "/v3/kv/txn", text_of(&json), body);
    buf_fini(&json);
    return status == ETCD_DONE;
}

static bool read_keys(struct attempt *attempt, const char *const *keys, uint32_t count,
                      struct etcd_key *found)
{
    static const struct buf none = { 0 };
    struct buf ranges = { 0 };
    struct slice body;
    bool good;

    for (uint32_t i = 0; i < count; i++)
        put_item(&ranges, "{\"request_range\":{\"key\":\"%s\"%s}}", keys[i], "");
    good = transact(attempt, &none, &ranges, &body);
    buf_fini(&ranges);
    if (!good)
        return false;
    if (etcd_read_ranges(body, keys, count, found))
        return true;
    etcd_call_refuse(attempt->etcd->calls);
    return false;
}

/* ---- the sessions that hold them ---- */

/* Reads "SESSION TOKEN". False: the value is no bound lease. */
static bool read_value(const char *value, struct holder *holder)
{
    struct buf text = { 0 };
    const char *blank;
    bool good = etcd_get_base64(&text, value);

    buf_put_u8(&text, 0);
    blank = strchr(text_of(&text), ' ');
    good = good && blank && (size_t)(blank - text_of(&text)) < sizeof holder->name &&
           blank[1] >= '1' && blank[1] <= '9';
    if (good) {
        memcpy(holder->name, text_of(&text), (size_t)(blank - text_of(&text)));
        holder->name[blank - text_of(&text)] = 0;
        holder->token = strtoull(blank + 1, NULL, 10);
    }
    buf_fini(&text);
    return good;
}

static struct holder *find_holder(struct attempt *attempt, const struct holder *like)
{
    for (uint32_t i = 0; i < attempt->holders.count; i++) {
        struct holder *holder = &attempt->holders.items[i];

        if (holder->token == like->token && strcmp(holder->name, like->name) == 0)
            return holder;
    }
    return NULL;
}

static bool is_own(const struct attempt *attempt, const struct etcd_key *key)
{
    return key->found && strcmp(key->value, text_of(&attempt->own)) == 0;
}

/* Null: the lease is not taken, or its value is none of a bound lease. */
static struct holder *holder_of(struct attempt *attempt, const struct etcd_key *key)
{
    struct holder holder = { .token = 0 };

    return key->found && read_value(key->value, &holder) ? find_holder(attempt, &holder) : NULL;
}

static void collect_holders(struct attempt *attempt)
{
    for (uint32_t i = 0; i < attempt->request->count; i++) {
        const struct etcd_key *key = &attempt->found[i];
        struct holder holder = { .token = 0 };

        if (!key->found || is_own(attempt, key) || attempt->request->bound[i].is_given_up ||
            !read_value(key->value, &holder) || find_holder(attempt, &holder))
            continue;
        lease_etcd_put_name(&holder.key, attempt->etcd->prefix, holder.name);
        vec_push(&attempt->holders, holder);
    }
}

static bool look_at_holders(struct attempt *attempt)
{
    uint32_t count = attempt->holders.count;
    const char **keys;
    struct etcd_key *found;
    bool good;

    if (!count)
        return true;
    keys = mem_alloc(count * sizeof *keys);
    found = mem_alloc(count * sizeof *found);
    for (uint32_t i = 0; i < count; i++)
        keys[i] = text_of(&attempt->holders.items[i].key);
    good = read_keys(attempt, keys, count, found);
    for (uint32_t i = 0; i < count; i++)
        attempt->holders.items[i].lives =
            found[i].found && found[i].create_revision == attempt->holders.items[i].token;
    mem_free(found);
    mem_free(keys);
    return good;
}

/* ---- the changes ---- */

static void put_change(struct attempt *attempt, uint32_t index)
{
    const char *key = attempt->texts[index];
    char number[32];

    (void)snprintf(number, sizeof number, "%" PRIu64, attempt->found[index].mod_revision);
    put_item(&attempt->compare,
             "{\"key\":\"%s\",\"target\":\"MOD\",\"result\":\"EQUAL\",\"mod_revision\":\"%s\"}", key,
             number);
    if (attempt->request->bound[index].is_given_up)
        put_item(&attempt->success, "{\"request_delete_range\":{\"key\":\"%s\"%s}}", key, "");
    else
        put_item(&attempt->success, "{\"request_put\":{\"key\":\"%s\",\"value\":\"%s\"}}", key,
                 text_of(&attempt->own));
}

/* Leases of a session that has ended would belong to nobody. */
static bool is_alive(const struct attempt *attempt)
{
    const struct lease_request *request = attempt->request;
    const struct etcd_key *session = &attempt->found[request->count];

    return session->found && session->create_revision == request->token;
}

/* True: the lease must change. Else it is answered. */
static bool decide(struct attempt *attempt, uint32_t index)
{
    struct lease_bound *bound = &attempt->request->bound[index];
    const struct etcd_key *key = &attempt->found[index];
    const struct holder *holder;

    if (is_own(attempt, key) != bound->is_given_up) {
        bound->answer = LEASE_GRANTED;
        return false;
    }
    if (bound->is_given_up || !key->found)
        return true;
    holder = holder_of(attempt, key);
    if (holder && !holder->lives)
        return true;
    bound->answer = LEASE_REFUSED; /* also if somebody wrote something else there */
    return false;
}

static void put_created(struct attempt *attempt, const char *key, bool is_equal, uint64_t revision)
{
    char rest[64];

    (void)snprintf(rest, sizeof rest, "%s\",\"create_revision\":\"%" PRIu64,
                   is_equal ? "EQUAL" : "NOT_EQUAL", revision);
    put_item(&attempt->compare, "{\"key\":\"%s\",\"target\":\"CREATE\",\"result\":\"%s\"}", key,
             rest);
}

/* The own session lives. A holder that had ended must not have begun a session with the same token: it
 * cannot, but its reading might be old. */
static void put_sessions(struct attempt *attempt)
{
    const struct lease_request *request = attempt->request;

    put_created(attempt, attempt->texts[request->count], true, request->token);
    for (uint32_t i = 0; i < attempt->holders.count; i++) {
        const struct holder *holder = &attempt->holders.items[i];

        if (!holder->lives)
            put_created(attempt, text_of(&holder->key), false, holder->token);
    }
}

static bool write_changes(struct attempt *attempt)
{
    struct lease_request *request = attempt->request;
    bool *changes = mem_alloc(request->count * sizeof *changes);
    struct slice body;
    uint64_t revision;
    bool done = true;

    for (uint32_t i = 0; i < request->count; i++) {
        changes[i] = decide(attempt, i);
        if (changes[i])
            put_change(attempt, i);
    }
    if (attempt->success.size) {
        put_sessions(attempt);
        if (!transact(attempt, &attempt->compare, &attempt->success, &body)) {
            done = false;
        } else if (!etcd_read_txn(body, &done, &revision)) {
            etcd_call_refuse(attempt->etcd->calls);
            done = false;
        }
    }
    for (uint32_t i = 0; done && i < request->count; i++)
        if (changes[i])
            request->bound[i].answer = LEASE_GRANTED;
    mem_free(changes);
    return done;
}

static void begin(struct attempt *attempt)
{
    const struct lease_request *request = attempt->request;
    char token[32];

    (void)snprintf(token, sizeof token, " %" PRIu64, request->token);
    lease_etcd_put_name(&attempt->own, request->name, token);
    attempt->keys = mem_alloc((request->count + 1) * sizeof *attempt->keys);
    attempt->texts = mem_alloc((request->count + 1) * sizeof *attempt->texts);
    attempt->found = mem_alloc((request->count + 1) * sizeof *attempt->found);
    for (uint32_t i = 0; i <= request->count; i++) {
        lease_etcd_put_name(&attempt->keys[i], attempt->etcd->prefix,
                            i < request->count ? request->bound[i].name : request->name);
        attempt->texts[i] = text_of(&attempt->keys[i]);
    }
}

static void end(struct attempt *attempt)
{
    for (uint32_t i = 0; i <= attempt->request->count; i++)
        buf_fini(&attempt->keys[i]);
    for (uint32_t i = 0; i < attempt->holders.count; i++)
        buf_fini(&attempt->holders.items[i].key);
    mem_free(attempt->keys);
    mem_free(attempt->texts);
    mem_free(attempt->found);
    vec_fini(&attempt->holders);
    buf_fini(&attempt->own);
    buf_fini(&attempt->compare);
    buf_fini(&attempt->success);
}

bool lease_etcd_bind(struct lease_etcd *etcd, uint64_t until, struct lease_request *request)
{
    struct attempt attempt = { .etcd = etcd, .until = until, .request = request };
    bool done;

    lease_request_answer_all(request, LEASE_UNKNOWN);
    begin(&attempt);
    done = read_keys(&attempt, attempt.texts, request->count + 1, attempt.found);
    if (done && is_alive(&attempt)) {
        collect_holders(&attempt);
        done = look_at_holders(&attempt) && write_changes(&attempt);
        request->answer = done ? LEASE_GRANTED : LEASE_UNKNOWN;
    }
    end(&attempt);
    return done;
}
