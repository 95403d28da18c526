/* Implements route.h. */
#include "mgmt/route.h"

#include "mgmt/api.h"

#define NOT_FOUND "The requested resource could not be found."
#define METHOD_UNSUPPORTED \
    "A request was made of a resource using a request method not supported by that resource;"
#define METHODS_OF "HTTP method not allowed, supported methods: "
#define FORBIDDEN_TEXT "The supplied authentication is not authorized to access this resource."

struct route_row {
    const char *audit, *methods, *text;
};

static const struct route_row rows[ROUTE_COUNT] = {
#define X(name, audit, methods) [name] = { audit, methods, METHODS_OF methods },
    MGMT_ROUTES(X)
#undef X
};

const char *route_text(enum route route)
{
    return rows[route].audit;
}

const char *action_text(enum action action)
{
    static const char *const texts[] = { "look", "join", "leave", "down", "prepare-shutdown", "log-level", "cordon",
                                         "uncordon", "drain", "move", "rebalance-pause", "rebalance-resume" };

    return texts[action];
}

void decision_fini(struct decision *decision)
{
    target_fini(&decision->target);
    params_fini(&decision->form);
    buf_fini(&decision->name);
}

bool is_word(struct slice text, const char *lower_case)
{
    if (text.size != strlen(lower_case))
        return false;
    for (size_t i = 0; i < text.size; i++) {
        uint8_t byte = text.data[i];

        if ((byte >= 'A' && byte <= 'Z' ? byte + 32 : byte) != lower_case[i])
            return false;
    }
    return true;
}

/* ---- the path ---- */

/* Skips the base path. Returns the first segment behind it, or the number of segments. */
static uint32_t skip_base(const struct mgmt_settings *settings, const struct target *target)
{
    const char *at = settings->base_path;
    uint32_t index = 0;

    while (*at) {
        size_t size = strcspn(at, "/");

        if (index >= target->count || !slice_equal(target->segments[index], slice_of(at, size)))
            return target->count;
        index++;
        at += size + (at[size] == '/');
    }
    return index;
}

static bool is_path(const struct target *target, uint32_t from, const char *path)
{
    struct buf rest = { 0 };
    bool is_same;

    target_put_rest(target, from, &rest);
    is_same = slice_is(buf_slice(&rest), path);
    buf_fini(&rest);
    return is_same;
}

static enum route health_route(const struct mgmt_settings *settings, const struct target *target,
                               uint32_t from)
{
    if (is_path(target, from, settings->startup))
        return ROUTE_STARTUP;
    if (is_path(target, from, settings->ready))
        return ROUTE_READY;
    return is_path(target, from, settings->alive) ? ROUTE_ALIVE : ROUTE_NONE;
}

static void take_name(struct decision *decision, uint32_t from, uint32_t end)
{
    uint32_t count = decision->target.count;

    decision->target.count = end;
    target_put_rest(&decision->target, from, &decision->name);
    decision->target.count = count;
    buf_put_u8(&decision->name, 0);
}

/* first: of the segment behind "cluster". */
static enum route cluster_route(struct decision *decision, uint32_t first)
{
    const struct target *target = &decision->target;
    uint32_t count = target->count - first;
    struct slice name = count ? target->segments[first] : slice_of("", 0);
    bool has_more = count > 1;
    bool is_alone = count == 1 || (count == 2 && !target->segments[first + 1].size);

    if (!count || (count == 1 && !name.size))
        return ROUTE_CLUSTER;
    if (slice_is(name, "members") && is_alone)
        return ROUTE_MEMBERS;
    if (slice_is(name, "domain-events"))
        return ROUTE_EVENTS;
    if (slice_is(name, "shards") && !has_more)
        return ROUTE_SHARD_TYPES;
    if (slice_is(name, "members")) {
        take_name(decision, first + 1, target->count);
        return ROUTE_MEMBER;
    }
    if (!slice_is(name, "shards"))
        return ROUTE_NONE;
    if (count == 3 && slice_is(target->segments[first + 2], "stats")) {
        take_name(decision, first + 1, first + 2);
        return ROUTE_SHARD_STATS;
    }
    take_name(decision, first + 1, target->count);
    return ROUTE_SHARDS;
}

/* `/` and `/ui` lead to the page, whose files are below `/ui/`. */
static enum route page_route(struct decision *decision, uint32_t from)
{
    const struct target *target = &decision->target;
    struct slice name = target->segments[from];

    if (target->count - from == 1 && (!name.size || slice_is(name, "ui"))) {
        buf_put_text(&decision->name, "/");
        buf_put_u8(&decision->name, 0);
        return ROUTE_PAGE;
    }
    if (target->count - from != 2 || !slice_is(name, "ui"))
        return ROUTE_NONE;
    take_name(decision, from + 1, target->count);
    return ROUTE_PAGE;
}

static enum route find_route(const struct mgmt_settings *settings, struct decision *decision)
{
    const struct target *target = &decision->target;
    uint32_t from = skip_base(settings, target);
    enum route route = ROUTE_NONE;
    struct slice name;

    if (from >= target->count)
        return ROUTE_NONE;
    if (settings->health)
        route = health_route(settings, target, from);
    if (route != ROUTE_NONE)
        return route;
    name = target->segments[from];
    if (slice_is(name, "api") && from + 1 < target->count && slice_is(target->segments[from + 1], "v1")) {
        decision->first = from + 2;
        return ROUTE_API;
    }
    if (slice_is(name, "cluster") && settings->cluster)
        return cluster_route(decision, from + 1);
    if (target->count - from == 1 && slice_is(name, "metrics"))
        return ROUTE_METRICS;
    if (settings->dashboard && (route = page_route(decision, from)) != ROUTE_NONE)
        return route;
    if (target->count - from != 2)
        return ROUTE_NONE;
    if (slice_is(name, "bootstrap") && settings->bootstrap &&
        slice_is(target->segments[from + 1], "seed-nodes"))
        return ROUTE_SEED_NODES;
    if (slice_is(name, "loglevel") && settings->log_level &&
        (slice_is(target->segments[from + 1], "akka") || slice_is(target->segments[from + 1], "pekko")))
        return ROUTE_LOG_LEVEL;
    return ROUTE_NONE;
}

/* ---- refusals ---- */

static void answer(struct decision *decision, unsigned status, const char *text)
{
    decision->status = status;
    decision->text = text;
}

static bool is_look(enum method method)
{
    return method == METHOD_GET || method == METHOD_HEAD;
}

static bool is_open(enum route route)
{
    return route == ROUTE_STARTUP || route == ROUTE_READY || route == ROUTE_ALIVE ||
           route == ROUTE_SEED_NODES || route == ROUTE_PAGE;
}

static bool is_health(const struct decision *decision)
{
    if (decision->route == ROUTE_API)
        return decision->native < API_ROUTE_COUNT && api_row((enum api_route)decision->native)->right == RIGHT_OPEN;
    return is_open(decision->route) && decision->route != ROUTE_SEED_NODES && decision->route != ROUTE_PAGE;
}

static enum mgmt_error site_error(const struct mgmt_request *request, const struct decision *decision)
{
    if (!is_health(decision) && !site_is_own(&request->site, request->host))
        return ERROR_MISDIRECTED;
    if (!is_look(request->method) && request->method != METHOD_OPTIONS &&
        !site_is_same(&request->site, request->host, request->origin, request->fetch_site))
        return ERROR_CROSS_SITE;
    if (params_find(&decision->target.query, "token").data)
        return ERROR_TOKEN_IN_URL;
    return ERROR_NONE;
}

static bool takes(enum route route, enum method method)
{
    switch (method) {
    case METHOD_GET:
    case METHOD_HEAD:
        return route != ROUTE_CLUSTER;
    case METHOD_POST:
        return route == ROUTE_MEMBERS;
    case METHOD_PUT:
        return route == ROUTE_CLUSTER || route == ROUTE_MEMBER || route == ROUTE_LOG_LEVEL;
    case METHOD_DELETE:
        return route == ROUTE_MEMBER;
    case METHOD_OPTIONS:
    case METHOD_PATCH:
        break;
    }
    return false;
}

/* Akka's routes on a read-only TCP port answer so. */
static bool refuse_read_only(const struct mgmt_request *request, struct decision *decision)
{
    if (is_look(request->method))
        return false;
    switch (decision->route) {
    case ROUTE_MEMBERS:
    case ROUTE_MEMBER:
        answer(decision, 405, METHOD_UNSUPPORTED);
        return true;
    case ROUTE_CLUSTER:
        answer(decision, 404, NOT_FOUND);
        return true;
    case ROUTE_LOG_LEVEL:
        answer(decision, 403, FORBIDDEN_TEXT);
        return true;
    default:
        return false;
    }
}

/* ---- forms ---- */

/* Reads the form of a request, and finds the field. */
static bool take_field(const struct mgmt_request *request, struct decision *decision, const char *name,
                       const char *missing, struct slice *value)
{
    if (!params_read_form(&decision->form, request->type, request->body)) {
        decision->error = ERROR_BAD_REQUEST;
        return false;
    }
    *value = params_find(&decision->form, name);
    if (!value->data)
        answer(decision, 400, missing);
    return value->data != NULL;
}

/* Finds out what a request does. False: it is refused. */
static bool find_action(const struct mgmt_request *request, struct decision *decision)
{
    struct slice value;

    if (is_look(request->method))
        return true;
    if (decision->route == ROUTE_LOG_LEVEL) {
        decision->action = ACTION_LOG_LEVEL;
        return true;
    }
    if (request->method == METHOD_POST) {
        if (!take_field(request, decision, "address",
                        "Request is missing required form field 'address'", &value))
            return false;
        decision->action = ACTION_JOIN;
        buf_put_slice(&decision->name, value);
        buf_put_u8(&decision->name, 0);
        return true;
    }
    decision->action = ACTION_LEAVE;
    if (request->method == METHOD_DELETE)
        return true;
    if (!take_field(request, decision, "operation", "Request is missing required form field 'operation'",
                    &value))
        return false;
    if (decision->route == ROUTE_CLUSTER)
        decision->action = is_word(value, "prepare-for-full-shutdown") ? ACTION_PREPARE : ACTION_LOOK;
    else if (is_word(value, "down"))
        decision->action = ACTION_DOWN;
    else if (!is_word(value, "leave"))
        decision->action = ACTION_LOOK;
    return true;
}

/* A look with another method is an operation that does not exist. */
static enum right right_of(const struct decision *decision, enum method method)
{
    if (is_open(decision->route))
        return RIGHT_OPEN;
    if (is_look(method))
        return RIGHT_READ;
    switch (decision->action) {
    case ACTION_JOIN:
    case ACTION_DOWN:
    case ACTION_PREPARE:
        return RIGHT_ADMIN;
    default:
        return RIGHT_OPERATE;
    }
}

/* ---- native routes ---- */

static bool is_json(struct slice type)
{
    static const char json[] = "application/json";
    size_t size = sizeof json - 1;

    return type.size >= size && is_word(slice_of(type.data, size), json) &&
           (type.size == size || type.data[size] == ';' || type.data[size] == ' ');
}

static enum mgmt_error native_error(const struct mgmt_settings *settings, const struct mgmt_request *request,
                                    struct decision *decision, const struct api_row *row)
{
    struct api_args args;
    struct slice wrong;

    if (row->action != ACTION_LOOK && settings->read_only && !request->site.is_socket)
        return ERROR_READ_ONLY;
    if (request->right < row->right)
        return request->has_credentials ? ERROR_FORBIDDEN : ERROR_UNAUTHORIZED;
    if (row->action != ACTION_LOOK && (row->body || request->body.size) && !is_json(request->type))
        return ERROR_CONTENT_TYPE;
    wrong = api_read((enum api_route)decision->native, &decision->target, decision->first, &args);
    buf_put_slice(&decision->name, wrong.data ? wrong : args.words[API_NODE]);
    buf_put_u8(&decision->name, 0);
    return wrong.data ? ERROR_BAD_PARAMETER : ERROR_NONE;
}

static void decide_native(const struct mgmt_settings *settings, const struct mgmt_request *request,
                          struct decision *decision)
{
    const struct api_row *row;

    if (decision->native == API_ROUTE_COUNT) {
        decision->allow = decision->methods[0] ? decision->methods : NULL;
        if (decision->allow && request->method == METHOD_OPTIONS)
            answer(decision, 204, NULL);
        else
            decision->error = decision->allow ? ERROR_NOT_ALLOWED : ERROR_NOT_FOUND;
        return;
    }
    row = api_row((enum api_route)decision->native);
    decision->action = row->action;
    decision->error = native_error(settings, request, decision, row);
}

void mgmt_decide(const struct mgmt_settings *settings, const struct mgmt_request *request,
                 struct decision *decision)
{
    if (!target_read(&decision->target, request->target)) {
        decision->error = ERROR_BAD_REQUEST;
        return;
    }
    decision->route = find_route(settings, decision);
    if (decision->route == ROUTE_API)
        decision->native = api_find(&decision->target, decision->first, request->method, decision->methods);
    decision->error = site_error(request, decision);
    if (decision->error != ERROR_NONE)
        return;
    if (decision->route == ROUTE_API) {
        decide_native(settings, request, decision);
        return;
    }
    if (decision->route == ROUTE_NONE) {
        answer(decision, 404, NOT_FOUND);
        return;
    }
    if (request->method == METHOD_OPTIONS) {
        answer(decision, 204, NULL);
        decision->allow = rows[decision->route].methods;
        return;
    }
    if (settings->read_only && !request->site.is_socket && refuse_read_only(request, decision))
        return;
    if (!takes(decision->route, request->method)) {
        answer(decision, 405, rows[decision->route].text);
        decision->allow = rows[decision->route].methods;
        return;
    }
    if (!find_action(request, decision))
        return;
    if (request->right < right_of(decision, request->method))
        decision->error = request->has_credentials ? ERROR_FORBIDDEN : ERROR_UNAUTHORIZED;
}
