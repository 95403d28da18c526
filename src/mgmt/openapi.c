/* Writes the OpenAPI document from the table of api.h and the columns of looks. */
#include "mgmt/api.h"
#include "mgmt/explain.h"
#include "mgmt/fields.h"
#include "mgmt/json.h"
#include "mgmt/rows.h"

static const struct {
    const char *name, *fields;
} schemas[] = {
#define X(name, fields) { name, fields },
    API_SCHEMAS(X)
#undef X
};

static const struct {
    const char *name, *text;
    bool is_count;
    uint64_t least, most;
} params[API_PARAM_COUNT] = {
#define WORD_IS_COUNT false
#define COUNT_IS_COUNT true
#define X(id, name, kind, least, most, text) [API_##id] = { name, text, kind##_IS_COUNT, least, most },
    API_PARAMS(X)
#undef X
};

/* ---- types ---- */

/* The types with a name; others are schemas. */
static const struct {
    const char *name, *schema;
} types[] = {
    { "text", "{\"type\":\"string\"}" },
    { "decimal", "{\"type\":\"string\",\"pattern\":\"^[0-9]+$\"}" },
    { "count", "{\"type\":\"integer\",\"minimum\":0}" },
    { "real", "{\"type\":\"number\"}" },
    { "flag", "{\"type\":\"boolean\"}" },
    { "time", "{\"type\":\"string\",\"format\":\"date-time\"}" },
    { "ms", "{\"type\":\"integer\",\"minimum\":0,\"description\":\"milliseconds\"}" },
    { "words", "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}" },
    { "counts", "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"integer\"}}" },
    { "object", "{\"type\":\"object\"}" },
};

static void put_row_name(struct buf *buf, const char *kind)
{
    buf_put_u8(buf, (uint8_t)(*kind - 'a' + 'A'));
    buf_put_text(buf, kind + 1);
    buf_put_text(buf, "Row");
}

static void put_type_name(struct buf *buf, struct slice type)
{
    char kind[32] = "";

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (slice_is(type, types[i].name)) {
            buf_put_text(buf, types[i].schema);
            return;
        }
    buf_put_text(buf, "{\"$ref\":\"#/components/schemas/");
    if (type.size > 4 && type.size < 4 + sizeof kind && memcmp(type.data, "row.", 4) == 0) {
        memcpy(kind, type.data + 4, type.size - 4);
        put_row_name(buf, kind);
    } else {
        buf_put_slice(buf, type);
    }
    buf_put_text(buf, "\"}");
}

/* A type as the table writes it: `*` before is a list, `?` behind lets it be null. */
static void put_type(struct buf *buf, struct slice type)
{
    bool is_list = type.data[0] == '*';
    bool may_be_null = type.data[type.size - 1] == '?';

    type = slice_of(type.data + is_list, type.size - is_list - may_be_null);
    if (may_be_null)
        buf_put_text(buf, "{\"anyOf\":[");
    if (is_list)
        buf_put_text(buf, "{\"type\":\"array\",\"items\":");
    put_type_name(buf, type);
    if (is_list)
        buf_put_u8(buf, '}');
    if (may_be_null)
        buf_put_text(buf, ",{\"type\":\"null\"}]}");
}

struct field {
    struct slice name, type;
    bool is_optional;
};

static bool take_field(const char **fields, struct field *field)
{
    size_t size = strcspn(*fields, " "), name = strcspn(*fields, ":");

    if (!size)
        return false;
    field->type = slice_of(*fields + name + 1, size - name - 1);
    field->is_optional = (*fields)[name - 1] == '~';
    field->name = slice_of(*fields, name - field->is_optional);
    *fields += size + ((*fields)[size] == ' ');
    return true;
}

static void put_schema(struct buf *buf, const char *name, const char *fields)
{
    const char *at = fields;
    struct field field;

    field_name(buf, name);
    buf_put_text(buf, "{\"type\":\"object\",\"properties\":{");
    while (take_field(&at, &field)) {
        json_next(buf);
        json_slice(buf, field.name);
        buf_put_u8(buf, ':');
        put_type(buf, field.type);
    }
    buf_put_text(buf, "},\"required\":[");
    for (at = fields; take_field(&at, &field);)
        if (!field.is_optional) {
            json_next(buf);
            json_slice(buf, field.name);
        }
    buf_put_text(buf, "]}");
}

/* ---- rows of looks ---- */

static void put_row_schema(struct buf *buf, enum sherd_look_kind kind)
{
    uint32_t count;
    const struct sherd_look_column *columns = sherd_look_columns(kind, &count);

    json_next(buf);
    buf_put_u8(buf, '"');
    put_row_name(buf, sherd_look_kind_text(kind));
    buf_put_text(buf, "\":{\"type\":\"object\",\"properties\":{\"node\":{\"type\":\"string\"}");
    for (uint32_t i = 0; i < count; i++) {
        field_name(buf, columns[i].name);
        put_type(buf, slice_text(row_type(&columns[i])));
        if (columns[i].type != SHERD_LOOK_BYTES)
            continue;
        buf_put_text(buf, ",\"idHex\":");
        put_type_name(buf, slice_text("text"));
    }
    buf_put_text(buf, "},\"required\":[\"node\"");
    for (uint32_t i = 0; i < count; i++)
        if (columns[i].type != SHERD_LOOK_BYTES) {
            json_next(buf);
            json_text(buf, columns[i].name);
        }
    buf_put_text(buf, "]}");
}

static void put_list_schema(struct buf *buf, enum sherd_look_kind kind)
{
    buf_put_text(buf, "{\"type\":\"object\",\"properties\":{\"items\":{\"type\":\"array\",\"items\":"
                      "{\"$ref\":\"#/components/schemas/");
    put_row_name(buf, sherd_look_kind_text(kind));
    buf_put_text(buf, "\"}},\"next\":{\"type\":[\"string\",\"null\"]},\"partial\":{\"type\":\"boolean\"},"
                      "\"nodes\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/components/schemas/Part\"}}},"
                      "\"required\":[\"items\",\"next\",\"partial\",\"nodes\"]}");
}

/* ---- operations ---- */

static void put_explained(struct buf *buf)
{
    static const char *const names[] = {
#define X(name, text) text,
        EXPLAIN_OF(X)
#undef X
    };

    field_name(buf, "enum");
    buf_put_u8(buf, '[');
    for (int i = 0; i < EXPLAIN_OF_COUNT; i++) {
        json_next(buf);
        json_text(buf, names[i]);
    }
    buf_put_u8(buf, ']');
}

static void put_param(struct buf *buf, struct slice name, bool is_path, const struct api_row *row)
{
    json_next(buf);
    buf_put_text(buf, "{\"name\":");
    json_slice(buf, name);
    buf_put_text(buf, is_path ? ",\"in\":\"path\",\"required\":true" : ",\"in\":\"query\"");
    for (int i = 0; i < API_PARAM_COUNT; i++) {
        if (!slice_is(name, params[i].name))
            continue;
        if (!is_path)
            field_text(buf, "description", params[i].text);
        buf_put_text(buf, ",\"schema\":{");
        field_text(buf, "type", params[i].is_count ? "integer" : "string");
        if (params[i].is_count) {
            field_count(buf, "minimum", params[i].least);
            field_count(buf, "maximum", params[i].most);
        }
        if (i == API_ORDER)
            put_orders(buf, row->kind);
        if (i == API_OF)
            put_explained(buf);
        buf_put_u8(buf, '}');
    }
    buf_put_u8(buf, '}');
}

static void put_params(struct buf *buf, const struct api_row *row)
{
    field_name(buf, "parameters");
    buf_put_u8(buf, '[');
    for (const char *at = strchr(row->path, '{'); at; at = strchr(at + 1, '{'))
        put_param(buf, slice_of(at + 1, strcspn(at, "}") - 1), true, row);
    for (int i = 0; i < API_PARAM_COUNT; i++)
        if (row->params & UINT32_C(1) << i)
            put_param(buf, slice_text(params[i].name), false, row);
    buf_put_u8(buf, ']');
}

static void put_content(struct buf *buf, const char *schema)
{
    buf_put_text(buf, "\"content\":{\"application/json\":{\"schema\":");
    put_type_name(buf, slice_text(schema));
    buf_put_text(buf, "}");
}

static void put_answers(struct buf *buf, const struct api_row *row)
{
    field_name(buf, "responses");
    buf_put_text(buf, row->method == METHOD_POST ? "{\"202\":{\"description\":\"It has begun.\","
                                                 : "{\"200\":{\"description\":\"The answer.\",");
    if (row->schema) {
        put_content(buf, row->schema);
    } else {
        buf_put_text(buf, "\"content\":{\"application/json\":{\"schema\":");
        put_list_schema(buf, row->kind);
        buf_put_text(buf, "},\"application/x-ndjson\":{\"schema\":{\"type\":\"string\",\"description\":"
                          "\"One row a line, without a limit; then a line with `end`.\"}}");
    }
    buf_put_text(buf, "}}");
    if (row->right == RIGHT_OPEN) {
        buf_put_text(buf, ",\"503\":{\"description\":\"It is not so.\",");
        put_content(buf, row->schema);
        buf_put_text(buf, "}}");
    }
    buf_put_text(buf, ",\"default\":{\"description\":\"An error.\",");
    put_content(buf, "Error");
    buf_put_text(buf, "}}}");
}

static void put_operation(struct buf *buf, const struct api_row *row)
{
    static const char *const names[] = {
        [METHOD_GET] = "get", [METHOD_POST] = "post", [METHOD_PUT] = "put", [METHOD_DELETE] = "delete",
    };

    field_name(buf, names[row->method]);
    buf_put_u8(buf, '{');
    field_text(buf, "operationId", row->operation);
    field_text(buf, "summary", row->text);
    field_text(buf, "x-sherd-right", right_text(row->right));
    if (row->command)
        field_text(buf, "x-sherd-command", row->command);
    put_params(buf, row);
    if (row->body) {
        buf_put_text(buf, ",\"requestBody\":{\"required\":true,");
        put_content(buf, row->body);
        buf_put_text(buf, "}}");
    }
    put_answers(buf, row);
    buf_put_u8(buf, '}');
}

static bool is_first(int route)
{
    for (int i = 0; i < route; i++)
        if (strcmp(api_row((enum api_route)i)->path, api_row((enum api_route)route)->path) == 0)
            return false;
    return true;
}

static void put_paths(struct buf *buf)
{
    field_name(buf, "paths");
    buf_put_u8(buf, '{');
    for (int i = 0; i < API_ROUTE_COUNT; i++) {
        const char *path = api_row((enum api_route)i)->path;

        if (!is_first(i))
            continue;
        json_next(buf);
        buf_put_text(buf, "\"" API_BASE);
        buf_put_text(buf, path);
        buf_put_text(buf, "\":{");
        for (int j = i; j < API_ROUTE_COUNT; j++)
            if (strcmp(api_row((enum api_route)j)->path, path) == 0)
                put_operation(buf, api_row((enum api_route)j));
        buf_put_u8(buf, '}');
    }
    buf_put_u8(buf, '}');
}

void api_document(struct buf *buf, const char *version, const char *base_path)
{
    buf_put_text(buf, "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"Sherd\"");
    field_text(buf, "version", version);
    buf_put_text(buf, ",\"description\":\"Looks at a cluster of Sherd and acts on it, from any of its nodes.\"}");
    buf_put_text(buf, ",\"servers\":[{\"url\":\"/");
    buf_put_text(buf, base_path);
    buf_put_text(buf, "\"}],\"security\":[{},{\"bearer\":[]},{\"basic\":[]},{\"certificate\":[]}]");
    put_paths(buf);
    buf_put_text(buf, ",\"components\":{\"securitySchemes\":{\"bearer\":{\"type\":\"http\",\"scheme\":\"bearer\"},"
                      "\"basic\":{\"type\":\"http\",\"scheme\":\"basic\"},\"certificate\":{\"type\":\"mutualTLS\"}},"
                      "\"schemas\":{");
    for (size_t i = 0; i < sizeof schemas / sizeof schemas[0]; i++)
        put_schema(buf, schemas[i].name, schemas[i].fields);
    for (int i = 0; i < SHERD_LOOK_KIND_COUNT; i++)
        put_row_schema(buf, (enum sherd_look_kind)i);
    buf_put_text(buf, "}}}");
}
