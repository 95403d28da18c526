/* Encodes and decodes the library's own events and messages of delivery. */
#include "actor/delivery/format.h"

#include "base/limits.h"

enum { FORMAT = 1 };

static void put_short(struct buf *buf, struct slice text)
{
    buf_put_u8(buf, (uint8_t)text.size);
    buf_put_slice(buf, text);
}

static struct slice take_short(struct cursor *cursor, size_t max)
{
    size_t size = cursor_u8(cursor);

    cursor->failed |= size == 0 || size > max;
    return cursor_slice(cursor, size);
}

static struct cursor begin(struct slice bytes)
{
    struct cursor cursor = cursor_of(bytes);

    cursor.failed |= cursor_u8(&cursor) != FORMAT;
    return cursor;
}

static struct slice take_rest(struct cursor *cursor)
{
    return cursor_slice(cursor, cursor->failed ? 0 : cursor_left(cursor));
}

static uint32_t take_u32(struct cursor *cursor)
{
    uint64_t value = cursor_varint(cursor);

    cursor->failed |= value > UINT32_MAX;
    return (uint32_t)value;
}

static uint64_t take_number(struct cursor *cursor)
{
    uint64_t number = cursor_varint(cursor);

    cursor->failed |= number == 0 || number > DELIVERY_NUMBER_MAX;
    return number;
}

void parcel_write(struct buf *buf, const struct parcel *parcel)
{
    buf_put_u8(buf, FORMAT);
    buf_put_varint(buf, parcel->number);
    buf_put_varint(buf, parcel->floor);
    buf_put_varint(buf, parcel->made);
    buf_put_varint(buf, parcel->expires);
    put_short(buf, parcel->type);
    put_short(buf, parcel->id);
    buf_put_varint(buf, parcel->msg);
    buf_put_slice(buf, parcel->body);
}

bool parcel_read(struct slice bytes, struct parcel *parcel)
{
    struct cursor cursor = begin(bytes);

    parcel->number = take_number(&cursor);
    parcel->floor = cursor_varint(&cursor);
    parcel->made = cursor_varint(&cursor);
    parcel->expires = cursor_varint(&cursor);
    parcel->type = take_short(&cursor, SHERD_TYPE_MAX);
    parcel->id = take_short(&cursor, SHERD_ID_MAX);
    parcel->msg = take_u32(&cursor);
    parcel->body = take_rest(&cursor);
    return !cursor.failed && parcel->floor <= parcel->number;
}

void outcome_write(struct buf *buf, const struct outcome *outcome)
{
    buf_put_u8(buf, FORMAT);
    buf_put_varint(buf, outcome->number);
    buf_put_u8(buf, (uint8_t)outcome->end);
}

bool outcome_read(struct slice bytes, struct outcome *outcome)
{
    struct cursor cursor = begin(bytes);
    uint8_t end;

    outcome->number = take_number(&cursor);
    end = cursor_u8(&cursor);
    outcome->end = (enum sherd_delivery_end)end;
    return !cursor.failed && cursor_left(&cursor) == 0 && end >= SHERD_DELIVERY_HANDLED &&
           end <= SHERD_DELIVERY_GIVEN_UP;
}

void receipt_write(struct buf *buf, const struct receipt *mark)
{
    buf_put_u8(buf, FORMAT);
    buf_put_varint(buf, mark->number);
    buf_put_varint(buf, mark->floor);
    buf_put_varint(buf, mark->at);
    buf_put_u8(buf, (uint8_t)mark->end);
    put_short(buf, mark->type);
    put_short(buf, mark->id);
}

bool receipt_read(struct slice bytes, struct receipt *mark)
{
    struct cursor cursor = begin(bytes);
    uint8_t end;

    mark->number = take_number(&cursor);
    mark->floor = cursor_varint(&cursor);
    mark->at = cursor_varint(&cursor);
    end = cursor_u8(&cursor);
    mark->end = (enum sherd_delivery_end)end;
    mark->type = take_short(&cursor, SHERD_TYPE_MAX);
    mark->id = take_short(&cursor, SHERD_ID_MAX);
    return !cursor.failed && cursor_left(&cursor) == 0 && mark->floor <= mark->number &&
           (end == SHERD_DELIVERY_HANDLED || end == SHERD_DELIVERY_EXPIRED);
}

void command_write(struct buf *buf, const struct command *command)
{
    buf_put_u8(buf, FORMAT);
    buf_put_varint(buf, command->at);
    put_short(buf, command->id);
    buf_put_u8(buf, command->has_reply);
    if (!command->has_reply)
        return;
    buf_put_varint(buf, command->msg);
    buf_put_slice(buf, command->body);
}

bool command_read(struct slice bytes, struct command *command)
{
    struct cursor cursor = begin(bytes);
    uint8_t has_reply;

    *command = (struct command){ 0 };
    command->at = cursor_varint(&cursor);
    command->id = take_short(&cursor, SHERD_COMMAND_MAX);
    has_reply = cursor_u8(&cursor);
    command->has_reply = has_reply == 1;
    if (command->has_reply) {
        command->msg = take_u32(&cursor);
        command->body = take_rest(&cursor);
    }
    return !cursor.failed && has_reply <= 1 && cursor_left(&cursor) == 0 &&
           command->body.size <= SHERD_COMMAND_REPLY_MAX;
}
