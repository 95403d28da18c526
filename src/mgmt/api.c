/* Finds the native route of a request, and reads its parameters. */
#include "mgmt/api.h"

static const struct api_row rows[API_ROUTE_COUNT] = {
#define X(id, operation, method, path, action, right, params, kind, schema, body, command, text) \
    [API_##id##_ROUTE] = { operation, path, METHOD_##method, ACTION_##action, RIGHT_##right, params, kind, schema, \
                           body, command, text },
    API_ROUTES(X)
#undef X
};

enum param_kind { PARAM_WORD, PARAM_COUNT };

struct param_row {
    const char *name;
    enum param_kind kind;
    uint64_t least, most;
};

static const struct param_row param_rows[API_PARAM_COUNT] = {
#define X(id, name, kind, least, most, text) [API_##id] = { name, PARAM_##kind, least, most },
    API_PARAMS(X)
#undef X
};

const struct api_row *api_row(enum api_route route)
{
    return &rows[route];
}

/* Takes the next segment of a path of the table, without its slash. False: it has no more. */
static bool take_segment(const char **path, struct slice *segment)
{
    size_t size;

    if (!**path)
        return false;
    size = strcspn(*path + 1, "/");
    *segment = slice_of(*path + 1, size);
    *path += 1 + size;
    return true;
}

static bool is_name(struct slice segment)
{
    return segment.size > 2 && segment.data[0] == '{';
}

static bool fits(const char *path, const struct target *target, uint32_t from)
{
    struct slice segment;

    for (; take_segment(&path, &segment); from++) {
        if (from >= target->count)
            return false;
        if (is_name(segment) ? !target->segments[from].size : !slice_equal(segment, target->segments[from]))
            return false;
    }
    return from == target->count;
}

static void add_method(char methods[API_METHODS_SIZE], enum method method)
{
    static const char *const names[] = { "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH" };

    if (strstr(methods, names[method]))
        return;
    if (*methods)
        strcat(methods, ", "); /* the room suffices for all names */
    strcat(methods, names[method]);
}

enum api_route api_find(const struct target *target, uint32_t from, enum method method,
                        char methods[API_METHODS_SIZE])
{
    *methods = '\0';
    if (method == METHOD_HEAD)
        method = METHOD_GET;
    for (int i = 0; i < API_ROUTE_COUNT; i++) {
        if (!fits(rows[i].path, target, from))
            continue;
        if (rows[i].method == method)
            return (enum api_route)i;
        add_method(methods, rows[i].method);
    }
    return API_ROUTE_COUNT;
}

/* ---- parameters ---- */

static bool read_number(struct slice text, uint64_t *number)
{
    *number = 0;
    if (!text.size || text.size > 18)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        *number = *number * 10 + (uint64_t)(text.data[i] - '0');
    }
    return true;
}

static int param_named(struct slice name)
{
    for (int i = 0; i < API_PARAM_COUNT; i++)
        if (slice_is(name, param_rows[i].name))
            return i;
    return API_PARAM_COUNT;
}

/* False: the value is wrong, or came twice. */
static bool put(struct api_args *args, int param, struct slice value)
{
    const struct param_row *row = &param_rows[param];

    if (args->words[param].data || !value.size)
        return false;
    args->words[param] = value;
    if (row->kind == PARAM_WORD)
        return true;
    return read_number(value, &args->numbers[param]) && args->numbers[param] >= row->least &&
           args->numbers[param] <= row->most;
}

struct slice api_read(enum api_route route, const struct target *target, uint32_t from, struct api_args *args)
{
    const char *path = rows[route].path;
    struct slice segment;

    memset(args, 0, sizeof *args);
    for (; take_segment(&path, &segment); from++)
        if (is_name(segment) &&
            !put(args, param_named(slice_of(segment.data + 1, segment.size - 2)), target->segments[from]))
            return segment;
    for (uint32_t i = 0; i < target->query.count; i++) {
        const struct param *param = &target->query.items[i];
        int named = param_named(param->name);

        if (named == API_PARAM_COUNT || !(rows[route].params & UINT32_C(1) << named) || !put(args, named, param->value))
            return param->name.size ? param->name : slice_text("=");
    }
    return slice_of(NULL, 0);
}
