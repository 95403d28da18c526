/* Applies the library's events to an entity's deliveries, and packs these for a snapshot. */
#include "actor/delivery/book.h"

#include "base/limits.h"

void delivery_free(struct delivery *delivery)
{
    struct map_entry entry;

    if (!delivery)
        return;
    for (uint32_t i = 0; i < delivery->outgoing.list.count; i++)
        mem_free(delivery->outgoing.list.items[i]);
    vec_fini(&delivery->outgoing.list);
    for (uint32_t at = 0; map_next(&delivery->incoming.senders, &at, &entry);) {
        struct sender *sender = entry.value;

        vec_fini(&sender->seen);
        vec_fini(&sender->taken);
        mem_free(sender);
    }
    map_fini(&delivery->incoming.senders);
    for (uint32_t i = 0; i < delivery->commands.list.count; i++)
        mem_free(delivery->commands.list.items[i]);
    vec_fini(&delivery->commands.list);
    mem_free(delivery);
}

const char *delivery_apply(struct delivery *delivery, uint32_t type, struct slice event,
                           uint32_t commands_max)
{
    struct parcel parcel;
    struct outcome outcome;
    struct receipt mark;
    struct command command;

    switch (type) {
    case EVENT_PARCEL:
        if (!parcel_read(event, &parcel))
            break;
        outgoing_add(&delivery->outgoing, &parcel);
        return NULL;
    case EVENT_OUTCOME:
        if (!outcome_read(event, &outcome))
            break;
        outgoing_end(&delivery->outgoing, outcome.number);
        return NULL;
    case EVENT_RECEIPT:
        if (!receipt_read(event, &mark))
            break;
        incoming_mark(&delivery->incoming, &mark);
        return NULL;
    case EVENT_COMMAND:
        if (!command_read(event, &command))
            break;
        commands_add(&delivery->commands, &command, commands_max);
        return NULL;
    default:
        return "a newer library wrote it: this one does not know the type";
    }
    return "a newer library wrote it, or it is damaged";
}

/* ---- snapshots ---- */

enum { IMAGE_FORMAT = 1 };

/* An item with its size in front, which is known afterwards. */
static void put_item(struct buf *buf, struct buf *item)
{
    buf_put_varint(buf, item->size);
    buf_put_slice(buf, buf_slice(item));
    buf_clear(item);
}

static void put_senders(const struct incoming *incoming, struct buf *buf, uint64_t forget)
{
    struct map_entry entry;
    uint32_t count = 0;

    for (uint32_t at = 0; map_next(&incoming->senders, &at, &entry);)
        count += ((const struct sender *)entry.value)->at >= forget;
    buf_put_varint(buf, count);
    for (uint32_t at = 0; map_next(&incoming->senders, &at, &entry);) {
        const struct sender *sender = entry.value;
        uint64_t last = sender->floor << 1;

        if (sender->at < forget)
            continue;
        buf_put_varint(buf, entry.key.size);
        buf_put_slice(buf, entry.key);
        buf_put_varint(buf, sender->floor);
        buf_put_varint(buf, sender->at);
        buf_put_varint(buf, sender->seen.count);
        for (uint32_t i = 0; i < sender->seen.count; i++) {
            buf_put_varint(buf, sender->seen.items[i] - last);
            last = sender->seen.items[i];
        }
    }
}

void delivery_image_write(const struct delivery *delivery, struct buf *buf, uint64_t forget)
{
    struct buf item = { 0 };

    buf_put_u8(buf, IMAGE_FORMAT);
    buf_put_varint(buf, delivery->outgoing.last);
    buf_put_varint(buf, delivery->outgoing.list.count);
    for (uint32_t i = 0; i < delivery->outgoing.list.count; i++) {
        parcel_write(&item, &delivery->outgoing.list.items[i]->parcel);
        put_item(buf, &item);
    }
    put_senders(&delivery->incoming, buf, forget);
    buf_put_varint(buf, delivery->commands.list.count);
    for (uint32_t i = 0; i < delivery->commands.list.count; i++) {
        command_write(&item, &delivery->commands.list.items[i]->command);
        put_item(buf, &item);
    }
    buf_fini(&item);
}

static struct slice take_item(struct cursor *cursor)
{
    uint64_t size = cursor_varint(cursor);

    cursor->failed |= size > cursor_left(cursor);
    return cursor_slice(cursor, cursor->failed ? 0 : (size_t)size);
}

static void read_open(struct outgoing *outgoing, struct cursor *cursor)
{
    uint64_t last = cursor_varint(cursor);
    uint64_t count = cursor_varint(cursor);
    struct parcel parcel;

    cursor->failed |= last > DELIVERY_NUMBER_MAX || count > SHERD_DELIVERIES_MAX;
    for (uint64_t i = 0; i < count && !cursor->failed; i++) {
        cursor->failed |= !parcel_read(take_item(cursor), &parcel) || parcel.number > last ||
                          parcel.number <= outgoing->last ||
                          !outgoing_has_room(outgoing, parcel.body.size);
        if (!cursor->failed)
            outgoing_add(outgoing, &parcel);
    }
    outgoing->last = last;
}

static void read_seen(struct sender *sender, struct cursor *cursor)
{
    uint64_t count = cursor_varint(cursor);
    uint64_t last = sender->floor << 1;

    cursor->failed |= count > DELIVERY_SEEN_MAX + 1;
    for (uint64_t i = 0; i < count && !cursor->failed; i++) {
        uint64_t more = cursor_varint(cursor);

        cursor->failed |= (i && more == 0) || more > (DELIVERY_NUMBER_MAX << 1 | 1) - last;
        last += more;
        if (!cursor->failed)
            vec_push(&sender->seen, last);
    }
}

static void read_senders(struct incoming *incoming, struct cursor *cursor)
{
    uint64_t count = cursor_varint(cursor);

    cursor->failed |= count > DELIVERY_SENDERS_MAX;
    for (uint64_t i = 0; i < count && !cursor->failed; i++) {
        struct slice key = take_item(cursor);
        uint64_t floor = cursor_varint(cursor);
        struct sender *sender;

        cursor->failed |= key.size < 3 || key.size > SHERD_TYPE_MAX + 1 + SHERD_ID_MAX ||
                          floor > DELIVERY_NUMBER_MAX || map_get(&incoming->senders, key);
        if (cursor->failed)
            return;
        sender = mem_alloc(sizeof *sender);
        (void)map_put(&incoming->senders, key, sender);
        sender->floor = floor;
        sender->at = cursor_varint(cursor);
        read_seen(sender, cursor);
    }
}

bool delivery_image_read(struct delivery *delivery, struct slice image, uint32_t commands_max)
{
    struct cursor cursor = cursor_of(image);
    struct command command;
    uint64_t count;

    cursor.failed |= cursor_u8(&cursor) != IMAGE_FORMAT;
    read_open(&delivery->outgoing, &cursor);
    read_senders(&delivery->incoming, &cursor);
    count = cursor_varint(&cursor);
    for (uint64_t i = 0; i < count && !cursor.failed; i++) {
        cursor.failed |= !command_read(take_item(&cursor), &command);
        if (!cursor.failed)
            commands_add(&delivery->commands, &command, commands_max);
    }
    return !cursor.failed && cursor_left(&cursor) == 0;
}
