/* Writes the answers of native routes from the facts that looks brought. */
#include "look/kinds.h"
#include "mgmt/api_inside.h"
#include "mgmt/explain.h"
#include "mgmt/fields.h"
#include "mgmt/json.h"
#include "mgmt/rows.h"

/* ---- lists ---- */

static void put_list(const struct facts *facts, struct buf *body)
{
    buf_put_text(body, "{\"items\":[");
    for (uint32_t i = 0; i < facts_count(facts); i++)
        put_row(body, facts, i);
    buf_put_u8(body, ']');
    if (facts->next.size)
        field_hex(body, "next", buf_slice(&facts->next));
    else
        field_null(body, "next");
    put_parts(body, facts, 1);
    buf_put_u8(body, '}');
}

void api_lines(const struct facts *facts, struct buf *lines)
{
    struct buf row = { 0 };

    for (uint32_t i = 0; i < facts_count(facts); i++) {
        buf_clear(&row);
        put_row(&row, facts, i);
        buf_put_slice(lines, buf_slice(&row));
        buf_put_u8(lines, '\n');
    }
    buf_fini(&row);
}

void api_last_line(const struct facts *facts, struct buf *lines)
{
    buf_put_text(lines, "{\"end\":{");
    put_parts(lines, facts, 1);
    buf_put_text(lines, "}}\n");
}

/* ---- types ---- */

/* facts: those of TYPES, COORDINATORS. */
static void put_type(const struct facts *facts, const struct type_sums *sums, struct buf *body)
{
    static const uint32_t columns[] = { LOOK_TYPES_TYPE, LOOK_COORDINATORS_TYPE };
    static const char *const names[] = { "byNode", "coordinators" };

    json_next(body);
    buf_put_u8(body, '{');
    type_put(body, sums);
    for (int i = 0; i < 2; i++) {
        field_name(body, names[i]);
        buf_put_u8(body, '[');
        for (uint32_t row = 0; row < facts_count(&facts[i]); row++)
            if (fact_is(&facts[i], row, columns[i], sums->type))
                put_row(body, &facts[i], row);
        buf_put_u8(body, ']');
    }
    put_parts(body, facts, 2);
    buf_put_u8(body, '}');
}

static void put_types(const struct facts *facts, struct buf *body)
{
    struct type_sums sums;

    buf_put_text(body, "{\"items\":[");
    for (uint32_t i = 0; i < facts_count(&facts[0]); i++)
        if (type_first(&facts[0], i, &sums))
            put_type(facts, &sums, body);
    buf_put_u8(body, ']');
    put_parts(body, facts, 2);
    buf_put_u8(body, '}');
}

/* No member has the type, and all were asked. */
static enum mgmt_error type_error(const struct facts *types)
{
    if (facts_count(types))
        return ERROR_NONE;
    return types->is_partial || !types->parts.count ? ERROR_LATE : ERROR_NO_TYPE;
}

/* ---- one of them ---- */

static void put_one(struct buf *body, const char *name, const struct facts *facts, uint32_t row)
{
    field_name(body, name);
    if (row < facts_count(facts))
        put_row(body, facts, row);
    else
        buf_put_text(body, "null");
}

/* facts: those of HOMES, SHARDS, TYPES. */
static enum mgmt_error put_shard(const struct api_request *request, const struct facts *facts, struct buf *body)
{
    enum mgmt_error error = type_error(&facts[2]);
    bool is_partial = facts[0].is_partial || facts[1].is_partial;

    if (error != ERROR_NONE)
        return error;
    if (!facts_count(&facts[0]) && !facts_count(&facts[1]) && !is_partial)
        return ERROR_NO_HOME;
    buf_put_u8(body, '{');
    field_text(body, "type", request->words[API_TYPE]);
    field_text(body, "shard", request->words[API_SHARD]);
    put_one(body, "home", &facts[0], 0);
    field_name(body, "running");
    buf_put_u8(body, '[');
    for (uint32_t i = 0; i < facts_count(&facts[1]); i++)
        put_row(body, &facts[1], i);
    buf_put_u8(body, ']');
    put_parts(body, facts, 2);
    buf_put_u8(body, '}');
    return ERROR_NONE;
}

static void put_names(const struct api_request *request, struct buf *body)
{
    buf_put_u8(body, '{');
    field_text(body, "type", request->words[API_TYPE]);
    field_text(body, "id", request->words[API_ID]);
}

/* facts: those of ENTITY, TYPES. */
static enum mgmt_error put_entity(const struct api_request *request, const struct facts *facts, struct buf *body)
{
    enum mgmt_error error = type_error(&facts[1]);

    if (error != ERROR_NONE)
        return error;
    if (!facts_count(&facts[0]) && !facts[0].is_partial)
        return ERROR_NOT_RUNNING;
    put_names(request, body);
    put_one(body, "entity", &facts[0], 0);
    put_parts(body, facts, 2);
    buf_put_u8(body, '}');
    return ERROR_NONE;
}

static void put_fence(struct buf *body, const struct facts *facts, uint32_t row, uint32_t term, uint32_t epoch)
{
    field_name(body, "fence");
    buf_put_u8(body, '{');
    field_decimal(body, "term", fact_number(facts, row, term));
    field_decimal(body, "epoch", fact_number(facts, row, epoch));
    buf_put_u8(body, '}');
}

/* facts: those of ENTITY, TYPES, and if the shard is known of HOMES, SHARDS. The member that runs the shard
 * knows best where the entity is; else the coordinator. */
static enum mgmt_error put_where(const struct api_request *request, const struct facts *facts, uint32_t count,
                                 struct buf *body)
{
    enum mgmt_error error = type_error(&facts[1]);
    const struct facts *homes = &facts[2], *shards = &facts[3];
    bool has_home = count > 2 && facts_count(homes), runs = count > 2 && facts_count(shards);
    struct slice none = slice_of(NULL, 0), node = none, state = none, shard;
    char number[API_SHARD_SIZE];

    shard = api_shard(request, &facts[1], number) ? slice_text(number) : none;
    if (error != ERROR_NONE)
        return error;
    if (has_home)
        node = fact_text(homes, 0, LOOK_HOMES_HOME);
    if (runs) {
        node = slice_text(fact_part(shards, 0)->address);
        state = fact_text(shards, 0, LOOK_SHARDS_STATE);
    }
    if (facts_count(&facts[0])) {
        node = slice_text(fact_part(&facts[0], 0)->address);
        shard = fact_text(&facts[0], 0, LOOK_ENTITY_SHARD);
    }
    put_names(request, body);
    field_slice(body, "shard", shard);
    field_slice(body, "node", node);
    if (runs)
        put_fence(body, shards, 0, LOOK_SHARDS_TERM, LOOK_SHARDS_EPOCH);
    else if (has_home)
        put_fence(body, homes, 0, LOOK_HOMES_TERM, LOOK_HOMES_EPOCH);
    else
        field_null(body, "fence");
    field_slice(body, "shardState", state);
    put_one(body, "entity", &facts[0], 0);
    put_parts(body, facts, count);
    buf_put_u8(body, '}');
    return ERROR_NONE;
}

/* ---- settings ---- */

/* The value of the key at the member; data is null if it is not set there. *source likewise. */
static struct slice setting_of(const struct facts *facts, struct slice key, const char *address, struct slice *source)
{
    for (uint32_t i = 0; i < facts_count(facts); i++)
        if (fact_is(facts, i, LOOK_CONFIG_KEY, key) && strcmp(fact_part(facts, i)->address, address) == 0) {
            *source = fact_text(facts, i, LOOK_CONFIG_SOURCE);
            return fact_text(facts, i, LOOK_CONFIG_VALUE);
        }
    *source = slice_of(NULL, 0);
    return *source;
}

/* Keys that differ on purpose: each node has its own. */
static bool is_own_key(struct slice key)
{
    static const char *const ends[] = { "canonical.hostname", "canonical.port", "bind.hostname", "bind.port" };

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t size = strlen(ends[i]);

        if (key.size >= size && memcmp(key.data + key.size - size, ends[i], size) == 0)
            return true;
    }
    return false;
}

static bool differs(const struct facts *facts, struct slice key)
{
    struct slice source, first = slice_of(NULL, 0), value;
    bool has_first = false;

    for (uint32_t i = 0; i < facts->parts.count; i++) {
        if (facts->parts.items[i].state != SHERD_LOOK_OK)
            continue;
        value = setting_of(facts, key, facts->parts.items[i].address, &source);
        if (has_first && (!value.data != !first.data || !slice_equal(value, first)))
            return true;
        first = value;
        has_first = true;
    }
    return false;
}

static void put_difference(const struct facts *facts, struct slice key, struct buf *body)
{
    struct slice source, value;

    json_next(body);
    buf_put_u8(body, '{');
    field_slice(body, "key", key);
    field_name(body, "values");
    buf_put_u8(body, '[');
    for (uint32_t i = 0; i < facts->parts.count; i++) {
        if (facts->parts.items[i].state != SHERD_LOOK_OK)
            continue;
        value = setting_of(facts, key, facts->parts.items[i].address, &source);
        json_next(body);
        buf_put_u8(body, '{');
        field_text(body, "node", facts->parts.items[i].address);
        field_slice(body, "value", value);
        field_slice(body, "source", source);
        buf_put_u8(body, '}');
    }
    buf_put_text(body, "]}");
}

static void put_config_diff(const struct facts *facts, struct buf *body)
{
    buf_put_text(body, "{\"items\":[");
    for (uint32_t i = 0; i < facts_count(facts); i++) {
        struct slice key = fact_text(facts, i, LOOK_CONFIG_KEY);

        if (type_row(facts, LOOK_CONFIG_KEY, key) == i && !is_own_key(key) && differs(facts, key))
            put_difference(facts, key, body);
    }
    buf_put_u8(body, ']');
    put_parts(body, facts, 1);
    buf_put_u8(body, '}');
}

/* ---- all of them ---- */

enum mgmt_error api_answer(const struct api_request *request, const struct facts *facts, uint32_t count,
                           struct buf *body)
{
    enum mgmt_error error = ERROR_NONE;
    struct type_sums sums;

    if (api_row(request->route)->kind != API_NO_KIND) {
        put_list(facts, body);
        return ERROR_NONE;
    }
    switch (request->route) {
    case API_STATUS_ROUTE:
        api_put_status(request, facts, body);
        break;
    case API_MEMBER_LIST_ROUTE:
        api_put_members(facts, body);
        break;
    case API_MEMBER_SHOW_ROUTE:
        return api_put_member(request, facts, body);
    case API_TYPE_LIST_ROUTE:
        put_types(facts, body);
        break;
    case API_TYPE_SHOW_ROUTE:
        error = type_error(&facts[0]);
        if (error == ERROR_NONE && type_first(&facts[0], 0, &sums))
            put_type(facts, &sums, body);
        return error;
    case API_SHARD_SHOW_ROUTE:
        return put_shard(request, facts, body);
    case API_ENTITY_SHOW_ROUTE:
        return put_entity(request, facts, body);
    case API_ENTITY_WHERE_ROUTE:
        return put_where(request, facts, count, body);
    case API_EXPLAIN_ROUTE:
        return explain_answer(request, facts, count, body);
    case API_CONFIG_DIFF_ROUTE:
        put_config_diff(facts, body);
        break;
    default:
        return ERROR_NOT_FOUND;
    }
    return error;
}
