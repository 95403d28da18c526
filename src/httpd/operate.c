/* Starts operations (sherd/operate.h), and keeps them: open ones, and the last that ended.
 *
 * An operation ends on a thread of the node, which copies its end here. A request with the id of one that is
 * kept gets that one. */
#define _GNU_SOURCE
#include <string.h>
#include <time.h>

#include <openssl/rand.h>

#include <sherd/operate.h>

#include "httpd/inside.h"
#include "mgmt/body.h"
#include "mgmt/fields.h"
#include "mgmt/json.h"

#define HTTPD_OPERATIONS_KEPT 64 /* ended ones, for later questions */

struct operation {
    struct operation *next; /* older */
    struct httpd *httpd;
    enum sherd_operation_kind kind;
    char *id, *node, *type, *shard, *by, *reason; /* node, type, shard, reason: may be null */
    uint64_t since; /* wall ms */
    bool is_dry_run;
    /* under the mutex */
    uint64_t ended; /* wall ms; 0: it is open */
    enum sherd_operation_state state;
    enum sherd_operation_code code;
    char *text, *decider;
    uint64_t stall_us;
};

static uint64_t wall_ms(void)
{
    struct timespec now;

    check(clock_gettime(CLOCK_REALTIME, &now) == 0);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static char *copy(const char *text)
{
    char *made = NULL;

    if (text) {
        made = mem_alloc(strlen(text) + 1);
        memcpy(made, text, strlen(text) + 1);
    }
    return made;
}

static void free_operation(struct operation *operation)
{
    mem_free(operation->id);
    mem_free(operation->node);
    mem_free(operation->type);
    mem_free(operation->shard);
    mem_free(operation->by);
    mem_free(operation->reason);
    mem_free(operation->text);
    mem_free(operation->decider);
    mem_free(operation);
}

void operate_fini(struct httpd *httpd)
{
    struct operation *next;

    for (struct operation *at = httpd->operations; at; at = next) {
        next = at->next;
        free_operation(at);
    }
    httpd->operations = NULL;
}

/* ---- the node's thread ---- */

static void came(void *user, int result, const struct sherd_operation *ended)
{
    struct operation *operation = user;

    check(pthread_mutex_lock(&operation->httpd->mutex) == 0);
    operation->ended = wall_ms();
    operation->state = result ? SHERD_OPERATION_FAILED : ended->state;
    operation->code = result ? SHERD_OPERATION_STATE : ended->code;
    operation->text = copy(result ? "the node ended" : ended->text);
    operation->decider = copy(result ? "" : ended->node);
    operation->stall_us = result ? 0 : ended->stall_us;
    check(pthread_mutex_unlock(&operation->httpd->mutex) == 0);
}

/* ---- answers ---- */

static void put_or_null(struct buf *body, const char *name, const char *text)
{
    if (text && *text)
        field_text(body, name, text);
    else
        field_null(body, name);
}

/* The caller has the mutex. */
static void put_operation(struct buf *body, const struct operation *operation)
{
    buf_put_u8(body, '{');
    field_text(body, "id", operation->id);
    field_text(body, "kind", sherd_operation_kind_text(operation->kind));
    field_flag(body, "ended", operation->ended != 0);
    field_text(body, "state", sherd_operation_state_text(operation->state));
    field_text(body, "code", sherd_operation_code_text(operation->code));
    put_or_null(body, "text", operation->text);
    put_or_null(body, "type", operation->type);
    put_or_null(body, "shard", operation->shard);
    put_or_null(body, "node", operation->node);
    put_or_null(body, "decider", operation->decider);
    field_flag(body, "dryRun", operation->is_dry_run);
    field_text(body, "by", operation->by);
    put_or_null(body, "reason", operation->reason);
    field_time(body, "since", operation->since);
    field_time(body, "until", operation->ended);
    field_count(body, "stallUs", operation->stall_us);
    buf_put_u8(body, '}');
}

static void send_operation(struct connection *connection, unsigned status, const struct operation *operation)
{
    struct buf body = { 0 };

    check(pthread_mutex_lock(&operation->httpd->mutex) == 0);
    put_operation(&body, operation);
    check(pthread_mutex_unlock(&operation->httpd->mutex) == 0);
    answer_send(connection, status, BODY_JSON, &body);
    buf_fini(&body);
}

static struct operation *find(struct httpd *httpd, const char *id)
{
    struct operation *at = httpd->operations;

    while (at && strcmp(at->id, id) != 0)
        at = at->next;
    return at;
}

static void put_all(struct connection *connection)
{
    struct httpd *httpd = connection->door->httpd;
    struct buf body = { 0 };

    buf_put_text(&body, "{\"items\":[");
    check(pthread_mutex_lock(&httpd->mutex) == 0);
    for (const struct operation *at = httpd->operations; at; at = at->next) {
        json_next(&body);
        put_operation(&body, at);
    }
    check(pthread_mutex_unlock(&httpd->mutex) == 0);
    buf_put_text(&body, "]}");
    answer_send(connection, 200, BODY_JSON, &body);
    buf_fini(&body);
}

/* ---- starting ---- */

/* Frees the oldest that have ended. */
static void forget_old(struct httpd *httpd)
{
    uint32_t kept = 0;

    check(pthread_mutex_lock(&httpd->mutex) == 0);
    for (struct operation **at = &httpd->operations; *at;) {
        struct operation *operation = *at;

        if (operation->ended && ++kept > HTTPD_OPERATIONS_KEPT) {
            *at = operation->next;
            free_operation(operation);
        } else {
            at = &operation->next;
        }
    }
    check(pthread_mutex_unlock(&httpd->mutex) == 0);
}

static void make_id(char id[20])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char random[8];

    check(RAND_bytes(random, sizeof random) == 1);
    memcpy(id, "op-", 3);
    for (size_t i = 0; i < sizeof random; i++) {
        id[3 + 2 * i] = digits[random[i] >> 4];
        id[4 + 2 * i] = digits[random[i] & 15];
    }
    id[3 + 2 * sizeof random] = 0;
}

static enum sherd_operation_kind kind_of(enum action action)
{
    switch (action) {
    case ACTION_UNCORDON:
        return SHERD_UNCORDON;
    case ACTION_DRAIN:
        return SHERD_DRAIN;
    case ACTION_MOVE:
        return SHERD_MOVE_SHARD;
    case ACTION_PAUSE:
        return SHERD_PAUSE_REBALANCE;
    case ACTION_RESUME:
        return SHERD_RESUME_REBALANCE;
    default:
        return SHERD_CORDON;
    }
}

static bool are_equal(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_same(const struct operation *operation, enum sherd_operation_kind kind,
                    const struct sherd_operation_options *options)
{
    return operation->kind == kind && are_equal(operation->node, options->node) &&
           are_equal(operation->type, options->type) && are_equal(operation->shard, options->shard) &&
           operation->is_dry_run == (options->dry_run != 0);
}

/* An error of sherd_operate becomes an answer. */
static void refuse(struct connection *connection, int result)
{
    enum mgmt_error error = result == SHERD_EINVAL  ? ERROR_BAD_REQUEST
                            : result == SHERD_EFULL ? ERROR_OPERATIONS
                                                    : ERROR_BUSY;

    audit(connection, "refused", error_status(error));
    answer_error(connection, error);
}

static void start(struct connection *connection, const struct sherd_operation_options *options)
{
    struct httpd *httpd = connection->door->httpd;
    enum sherd_operation_kind kind = kind_of(connection->decision.action);
    struct operation *operation = find(httpd, options->id);
    int result;

    if (operation) {
        if (is_same(operation, kind, options))
            send_operation(connection, 202, operation);
        else
            answer_error(connection, ERROR_SAME_ID);
        return;
    }
    forget_old(httpd);
    operation = mem_alloc(sizeof *operation);
    *operation = (struct operation){
        .next = httpd->operations, .httpd = httpd, .kind = kind, .id = copy(options->id),
        .node = copy(options->node), .type = copy(options->type), .shard = copy(options->shard),
        .by = copy(options->by), .reason = copy(options->reason), .since = wall_ms(),
        .is_dry_run = options->dry_run != 0, .state = SHERD_OPERATION_WAITING
    };
    result = sherd_operate(httpd->access->system, kind, options, came, operation);
    if (result) {
        free_operation(operation);
        refuse(connection, result);
        return;
    }
    httpd->operations = operation;
    audit(connection, "accepted", 202);
    send_operation(connection, 202, operation);
}

/* Reads the fields of a body. False: one is wrong. */
static bool read_options(const struct body *body, struct sherd_operation_options *options)
{
    uint64_t timeout = 0, hold = 0;
    bool dry_run = false;

    options->reason = body_text(body, "reason");
    if (body_text(body, "id"))
        options->id = body_text(body, "id");
    if ((body_has(body, "timeoutMs") && (!body_number(body, "timeoutMs", &timeout) || timeout > UINT32_MAX)) ||
        (body_has(body, "holdMs") && !body_number(body, "holdMs", &hold)) ||
        (body_has(body, "dryRun") && !body_flag(body, "dryRun", &dry_run)) ||
        (body_has(body, "reason") && (!options->reason || strlen(options->reason) > OPERATION_REASON_MAX)))
        return false;
    options->timeout_ms = (uint32_t)timeout;
    options->hold_ms = body_has(body, "holdMs") && !hold ? SHERD_NO_HOLD : hold;
    options->dry_run = dry_run;
    return true;
}

static char *word_of(struct slice word)
{
    char *text = NULL;

    if (word.data) {
        text = mem_alloc(word.size + 1);
        memcpy(text, word.data, word.size);
        text[word.size] = 0;
    }
    return text;
}

/* For the audit: type, shard and node. */
static void name_target(struct connection *connection, const struct sherd_operation_options *options)
{
    const char *const words[] = { options->type, options->shard, options->node };
    struct buf *name = &connection->decision.name;

    buf_clear(name);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i]) {
            if (name->size)
                buf_put_u8(name, ' ');
            buf_put_text(name, words[i]);
        }
    buf_put_u8(name, 0);
}

static void start_by(struct connection *connection, const struct api_args *args, const struct body *body)
{
    bool moves = connection->decision.action == ACTION_MOVE;
    char *node = word_of(args->words[API_NODE]), *type = word_of(args->words[API_TYPE]),
         *shard = word_of(args->words[API_SHARD]);
    char id[20], by[OPERATION_BY_MAX + 1];
    struct sherd_operation_options options = { .id = id, .by = by, .type = type, .shard = shard };

    make_id(id);
    (void)snprintf(by, sizeof by, "%.*s", OPERATION_BY_MAX, connection->caller);
    if (moves)
        options.node = body_text(body, "to") ? api_node(body_text(body, "to")) : NULL;
    else if (node)
        options.node = api_node(node);
    name_target(connection, &options);
    if (read_options(body, &options) && (!moves || options.node)) {
        start(connection, &options);
    } else {
        audit(connection, "refused", 400);
        answer_hint(connection, ERROR_BAD_BODY, "to: host:port, of a move; reason: a text; id; timeoutMs, holdMs; "
                                                "dryRun: true or false");
    }
    mem_free(node);
    mem_free(type);
    mem_free(shard);
}

void operate_carry_out(struct connection *connection)
{
    enum api_route route = (enum api_route)connection->decision.native;
    const char *fields = connection->decision.action == ACTION_MOVE ? "to holdMs reason id timeoutMs dryRun"
                                                                     : "reason id timeoutMs dryRun";
    struct api_args args;
    struct body *body;

    (void)api_read(route, &connection->decision.target, connection->decision.first, &args); /* it was right before */
    body = native_take_body(connection, fields);
    if (body)
        start_by(connection, &args, body);
    body_free(body);
}

void operate_show(struct connection *connection)
{
    struct api_args args;
    struct operation *operation;
    char *id;

    if (connection->decision.native == API_OPERATION_LIST_ROUTE) {
        put_all(connection);
        return;
    }
    (void)api_read(API_OPERATION_SHOW_ROUTE, &connection->decision.target, connection->decision.first, &args);
    id = word_of(args.words[API_ID]);
    operation = find(connection->door->httpd, id);
    mem_free(id);
    if (operation)
        send_operation(connection, 200, operation);
    else
        answer_error(connection, ERROR_NO_OPERATION);
}
