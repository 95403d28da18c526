/* Implements wire.h. */
#include "look/wire.h"

#include "base/fields.h"

enum request_field {
    REQUEST_ID = 1,
    REQUEST_KIND,
    REQUEST_TYPE,
    REQUEST_SHARD,
    REQUEST_ENTITY,
    REQUEST_CURSOR,
    REQUEST_LIMIT,
    REQUEST_ORDER, /* the column's number + 1 */
    REQUEST_WITHIN,
    REQUEST_SINCE
};

enum reply_field { REPLY_ID = 1, REPLY_ROWS, REPLY_NEXT, REPLY_ERROR, REPLY_WALL };

static void put_cursor(struct buf *buf, uint32_t field, const struct look_cursor *cursor)
{
    field_put_bytes(buf, field, slice_of(cursor->bytes, cursor->size));
}

static void read_cursor(struct cursor *cursor, struct slice bytes, struct look_cursor *at)
{
    if (bytes.size > sizeof at->bytes) {
        cursor->failed = true;
        return;
    }
    at->size = (uint8_t)bytes.size;
    bytes_copy(at->bytes, bytes.data, bytes.size);
}

void look_request_put(struct buf *buf, const struct look_request *request)
{
    field_put_number(buf, REQUEST_ID, request->id);
    field_put_number(buf, REQUEST_KIND, (uint64_t)request->kind);
    field_put_bytes(buf, REQUEST_TYPE, request->type);
    field_put_bytes(buf, REQUEST_SHARD, request->shard);
    field_put_bytes(buf, REQUEST_ENTITY, request->entity);
    put_cursor(buf, REQUEST_CURSOR, &request->cursor);
    field_put_number(buf, REQUEST_LIMIT, request->limit);
    field_put_number(buf, REQUEST_ORDER,
               request->order == LOOK_NO_ORDER ? 0 : (uint64_t)request->order + 1);
    field_put_number(buf, REQUEST_WITHIN, request->within_ms);
    field_put_number(buf, REQUEST_SINCE, request->since_ms);
}

/* Numbers of a request, before they are compared with those that this node knows. */
struct raw {
    uint64_t kind, order, limit, within;
};

static void take_request_field(struct look_request *request, struct raw *raw, struct cursor *cursor,
                               const struct field *field)
{
    switch (field->number) {
    case REQUEST_ID:
        request->id = field->value;
        break;
    case REQUEST_KIND:
        raw->kind = field->value;
        break;
    case REQUEST_TYPE:
        request->type = field->bytes;
        break;
    case REQUEST_SHARD:
        request->shard = field->bytes;
        break;
    case REQUEST_ENTITY:
        request->entity = field->bytes;
        break;
    case REQUEST_CURSOR:
        read_cursor(cursor, field->bytes, &request->cursor);
        break;
    case REQUEST_LIMIT:
        raw->limit = field->value;
        break;
    case REQUEST_ORDER:
        raw->order = field->value;
        break;
    case REQUEST_WITHIN:
        raw->within = field->value;
        break;
    case REQUEST_SINCE:
        request->since_ms = field->value;
        break;
    default:
        break; /* of a newer node */
    }
}

bool look_request_read(struct slice payload, struct look_request *request, enum look_error *error)
{
    struct cursor cursor = cursor_of(payload);
    struct raw raw = { .kind = 0 };
    struct field field;

    *request = (struct look_request){ .order = LOOK_NO_ORDER };
    *error = LOOK_ERROR_NONE;
    while (field_next(&cursor, &field))
        take_request_field(request, &raw, &cursor, &field);
    if (cursor.failed || !request->id || request->type.size > LOOK_NAME_MAX ||
        request->shard.size > LOOK_NAME_MAX || request->entity.size > LOOK_NAME_MAX ||
        !raw.limit || raw.limit > SHERD_LOOK_ROWS_MAX || raw.within > LOOK_WITHIN_MAX_MS)
        return false;
    request->limit = (uint32_t)raw.limit;
    request->within_ms = (uint32_t)raw.within;
    if (!look_kind_is(raw.kind)) {
        *error = LOOK_ERROR_KIND;
        return true;
    }
    request->kind = (enum sherd_look_kind)raw.kind;
    if (!raw.order)
        return true;
    if (look_order_is(request->kind, raw.order - 1))
        request->order = (uint32_t)(raw.order - 1);
    else
        *error = LOOK_ERROR_KIND;
    return true;
}

void look_reply_put(struct buf *buf, const struct look_reply *reply)
{
    field_put_number(buf, REPLY_ID, reply->id);
    field_put_bytes(buf, REPLY_ROWS, reply->rows);
    put_cursor(buf, REPLY_NEXT, &reply->next);
    field_put_number(buf, REPLY_ERROR, (uint64_t)reply->error);
    field_put_number(buf, REPLY_WALL, reply->wall_ms);
}

bool look_reply_read(struct slice payload, struct look_reply *reply)
{
    struct cursor cursor = cursor_of(payload);
    struct field field;
    uint64_t error = 0;

    *reply = (struct look_reply){ .id = 0 };
    while (field_next(&cursor, &field)) {
        switch (field.number) {
        case REPLY_ID:
            reply->id = field.value;
            break;
        case REPLY_ROWS:
            reply->rows = field.bytes;
            break;
        case REPLY_NEXT:
            read_cursor(&cursor, field.bytes, &reply->next);
            break;
        case REPLY_ERROR:
            error = field.value;
            break;
        case REPLY_WALL:
            reply->wall_ms = field.value;
            break;
        default:
            break;
        }
    }
    /* an error of a newer node is as one that this node does not understand */
    reply->error = error <= LOOK_ERROR_CURSOR ? (enum look_error)error : LOOK_ERROR_KIND;
    return !cursor.failed && reply->id && reply->rows.size <= LOOK_PART_BYTES_MAX;
}
