/* Says where a part of a look begins on this node: at a machine, and there at two numbers whose
 * meaning depends on the kind. Its bytes are the cursor that other nodes give back. */
#ifndef SHERD_NODE_MACHINE_LOOK_PLACE_H
#define SHERD_NODE_MACHINE_LOOK_PLACE_H

#include "look/wire.h"

struct look_place {
    uint32_t machine; /* 0: control; lanes from 1 */
    uint64_t first;
    uint64_t second;
};

static inline struct look_cursor look_place_put(const struct look_place *place)
{
    struct look_cursor cursor = { .size = 0 };
    struct buf bytes = { 0 };

    buf_put_u8(&bytes, (uint8_t)place->machine);
    buf_put_varint(&bytes, place->first);
    buf_put_varint(&bytes, place->second);
    cursor.size = (uint8_t)bytes.size;
    bytes_copy(cursor.bytes, bytes.data, bytes.size);
    buf_fini(&bytes);
    return cursor;
}

/* Reads the place of a request, or the first one of its kind. False: not of this node. */
static inline bool look_place_read(const struct look_request *request, uint32_t lanes,
                                   struct look_place *place)
{
    struct cursor cursor = cursor_of(slice_of(request->cursor.bytes, request->cursor.size));
    enum look_place_of of = look_kind_place(request->kind);

    *place = (struct look_place){ .machine = of == LOOK_PLACE_LANES };
    if (!request->cursor.size)
        return true;
    place->machine = cursor_u8(&cursor);
    place->first = cursor_varint(&cursor);
    place->second = cursor_varint(&cursor);
    return !cursor.failed && !cursor_left(&cursor) && place->machine <= lanes &&
           (place->machine ? of != LOOK_PLACE_CONTROL : of != LOOK_PLACE_LANES);
}

/* The cursor of the machine after this one, whose rows have ended; size 0: it was the last one. */
static inline struct look_cursor look_place_after(enum sherd_look_kind kind, uint32_t machine,
                                                  uint32_t lanes)
{
    if (machine == lanes || look_kind_place(kind) == LOOK_PLACE_CONTROL)
        return (struct look_cursor){ .size = 0 };
    return look_place_put(&(struct look_place){ .machine = machine + 1 });
}

#endif
