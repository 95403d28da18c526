/* Fuzzes the bytes of deliveries. Input: events of the library, each after its kind (a byte) and size (two
 * bytes); or, after the kind 255, the part of a snapshot.
 *
 * Oracle: what was accepted has a part of a snapshot that is read as the same state again. */
#include <stdlib.h>

#include "actor/delivery/book.h"
#include "base/limits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { COMMANDS = 5, IMAGE = 255 };

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void look(struct delivery *delivery)
{
    struct delivery *other = mem_alloc(sizeof *other);
    struct buf first = { 0 };
    struct buf second = { 0 };

    require(delivery->commands.list.count <= COMMANDS);
    require(delivery->outgoing.list.count <= SHERD_DELIVERIES_MAX);
    for (uint32_t i = 0; i < delivery->outgoing.list.count; i++) {
        const struct open_delivery *open = delivery->outgoing.list.items[i];

        require(outgoing_find(&delivery->outgoing, open->parcel.number) == open);
        require(outgoing_floor(&delivery->outgoing, open) <= open->parcel.number);
    }
    delivery_image_write(delivery, &first, 0);
    require(delivery_image_read(other, buf_slice(&first), COMMANDS));
    delivery_image_write(other, &second, 0);
    require(slice_equal(buf_slice(&first), buf_slice(&second)));
    buf_fini(&first);
    buf_fini(&second);
    delivery_free(other);
}

/* An entity's own mark ends a repetition, whatever came before. */
static void look_at_mark(struct delivery *delivery, struct slice event)
{
    struct receipt mark;
    struct parcel parcel = { 0 };

    if (!receipt_read(event, &mark))
        return;
    parcel.number = mark.number;
    parcel.type = mark.type;
    parcel.id = mark.id;
    require(incoming_look(&delivery->incoming, &parcel, 0) != INCOMING_NEW);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cursor cursor = cursor_of(slice_of(data, size));
    struct delivery *delivery = mem_alloc(sizeof *delivery);
    bool is_good = true;

    while (size <= 8192 && cursor_left(&cursor) && is_good) {
        uint8_t kind = cursor_u8(&cursor);
        struct slice event;

        if (kind == IMAGE) {
            is_good = delivery_image_read(
                delivery, cursor_slice(&cursor, cursor_left(&cursor)), COMMANDS);
            break;
        }
        event = cursor_slice(&cursor, cursor_u16(&cursor));
        if (cursor.failed)
            break;
        if (!delivery_apply(delivery, LIBRARY_NUMBERS + kind, event, COMMANDS) && kind == 2)
            look_at_mark(delivery, event);
    }
    if (is_good)
        look(delivery);
    delivery_free(delivery);
    return 0;
}
