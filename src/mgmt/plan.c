/* Says which looks a native route needs. */
#include "base/check.h"
#include "look/kinds.h"
#include "mgmt/api_inside.h"
#include "mgmt/explain.h"

static int hex_digit(uint8_t byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

static bool read_cursor(struct slice text, struct buf *cursor)
{
    if (text.size % 2 || text.size > 2 * (size_t)SHERD_LOOK_CURSOR_MAX)
        return false;
    for (size_t i = 0; i < text.size; i += 2) {
        int high = hex_digit(text.data[i]), low = hex_digit(text.data[i + 1]);

        if (high < 0 || low < 0)
            return false;
        buf_put_u8(cursor, (uint8_t)(high << 4 | low));
    }
    return true;
}

bool api_request_set(struct api_request *request, const struct api_args *args)
{
    for (int i = 0; i < API_PARAM_COUNT; i++) {
        request->numbers[i] = args->numbers[i];
        if (args->words[i].data)
            request->words[i] = mem_copy(args->words[i].data, args->words[i].size);
    }
    return read_cursor(args->words[API_CURSOR], &request->cursor);
}

void api_request_fini(struct api_request *request)
{
    for (int i = 0; i < API_PARAM_COUNT; i++)
        mem_free(request->words[i]);
    buf_fini(&request->cursor);
    memset(request, 0, sizeof *request);
}

/* ---- looks ---- */

static uint32_t plan_list(const struct api_request *request, struct api_ask *asks)
{
    uint32_t count = 0;
    struct api_ask *ask = api_ask_add(request, api_row(request->route)->kind, asks, &count);

    ask->is_whole = false;
    ask->options.type = request->words[API_TYPE];
    ask->options.shard = request->words[API_SHARD];
    ask->options.node = request->words[API_NODE];
    ask->options.order = request->words[API_ORDER];
    ask->options.cursor = (struct sherd_bytes){ request->cursor.data, request->cursor.size };
    ask->options.since_ms = request->numbers[API_SINCE];
    ask->options.count = request->is_lines ? SHERD_LOOK_ROWS_MAX : (uint32_t)request->numbers[API_LIMIT];
    return count;
}

static uint32_t plan_members(const struct api_request *request, struct api_ask *asks)
{
    const char *view = request->words[API_VIEW], *node = api_node(request->words[API_NODE]);
    uint32_t count = 0;

    api_ask_add(request, SHERD_LOOK_MEMBERS, asks, &count)->options.node = view ? api_node(view) : request->self;
    api_ask_add(request, SHERD_LOOK_NODES, asks, &count)->options.node = node;
    if (node)
        api_ask_add(request, SHERD_LOOK_LANES, asks, &count)->options.node = node;
    return count;
}

static uint32_t plan_types(const struct api_request *request, struct api_ask *asks)
{
    uint32_t count = 0;

    api_ask_add(request, SHERD_LOOK_TYPES, asks, &count)->options.type = request->words[API_TYPE];
    api_ask_add(request, SHERD_LOOK_COORDINATORS, asks, &count)->options.type = request->words[API_TYPE];
    return count;
}

static uint32_t plan_entity(const struct api_request *request, struct api_ask *asks)
{
    uint32_t count = 0;
    struct api_ask *ask = api_ask_add(request, SHERD_LOOK_ENTITY, asks, &count);

    ask->options.type = request->words[API_TYPE];
    ask->options.entity = request->words[API_ID];
    api_ask_add(request, SHERD_LOOK_TYPES, asks, &count)->options.type = request->words[API_TYPE];
    return count;
}

static uint32_t plan_home(const struct api_request *request, const struct facts *facts, struct api_ask *asks)
{
    uint32_t count = 0;
    char shard[API_SHARD_SIZE];

    if (api_shard(request, &facts[1], shard))
        api_ask_shard(request, shard, asks, &count);
    return count;
}

static uint32_t plan_status(const struct api_request *request, struct api_ask *asks)
{
    static const enum sherd_look_kind kinds[] = { SHERD_LOOK_NODES, SHERD_LOOK_LANES, SHERD_LOOK_TYPES,
                                                  SHERD_LOOK_COORDINATORS };
    uint32_t count = 0;

    api_ask_add(request, SHERD_LOOK_MEMBERS, asks, &count)->options.node = request->self;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        (void)api_ask_add(request, kinds[i], asks, &count);
    return count;
}

uint32_t api_plan(const struct api_request *request, const struct facts *facts, uint32_t had,
                  struct api_ask *asks)
{
    uint32_t count = 0;

    if (request->route == API_EXPLAIN_ROUTE)
        return explain_plan(request, facts, had, asks);
    if (had)
        return request->route == API_ENTITY_WHERE_ROUTE && had == 2 ? plan_home(request, facts, asks) : 0;
    if (api_row(request->route)->kind != API_NO_KIND)
        return plan_list(request, asks);
    switch (request->route) {
    case API_STATUS_ROUTE:
        return plan_status(request, asks);
    case API_MEMBER_LIST_ROUTE:
    case API_MEMBER_SHOW_ROUTE:
        return plan_members(request, asks);
    case API_TYPE_LIST_ROUTE:
    case API_TYPE_SHOW_ROUTE:
        return plan_types(request, asks);
    case API_SHARD_SHOW_ROUTE:
        api_ask_shard(request, request->words[API_SHARD], asks, &count);
        api_ask_add(request, SHERD_LOOK_TYPES, asks, &count)->options.type = request->words[API_TYPE];
        return count;
    case API_ENTITY_SHOW_ROUTE:
    case API_ENTITY_WHERE_ROUTE:
        return plan_entity(request, asks);
    case API_CONFIG_DIFF_ROUTE:
        (void)api_ask_add(request, SHERD_LOOK_CONFIG, asks, &count);
        return count;
    default:
        return 0;
    }
}
