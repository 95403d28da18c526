/* Keeps which deliveries a receiver has handled, for each sender: all below a floor, and a set above. */
#include "actor/delivery/book.h"
#include "base/limits.h"

#define KEY_SIZE_MAX (SHERD_TYPE_MAX + 1 + SHERD_ID_MAX)

struct key {
    uint8_t bytes[KEY_SIZE_MAX];
    size_t size;
};

/* The persistence id: no type contains the sign. */
static struct key key_of(struct slice type, struct slice id)
{
    struct key key;

    bytes_copy(key.bytes, type.data, type.size);
    key.bytes[type.size] = '|';
    bytes_copy(key.bytes + type.size + 1, id.data, id.size);
    key.size = type.size + 1 + id.size;
    return key;
}

static struct sender *find(const struct incoming *incoming, struct slice type, struct slice id)
{
    struct key key = key_of(type, id);

    return map_get(&incoming->senders, slice_of(key.bytes, key.size));
}

static struct sender *find_or_make(struct incoming *incoming, struct slice type, struct slice id)
{
    struct key key = key_of(type, id);
    struct sender *sender = map_get(&incoming->senders, slice_of(key.bytes, key.size));

    if (sender)
        return sender;
    sender = mem_alloc(sizeof *sender);
    (void)map_put(&incoming->senders, slice_of(key.bytes, key.size), sender);
    return sender;
}

static void sender_free(struct sender *sender)
{
    vec_fini(&sender->seen);
    vec_fini(&sender->taken);
    mem_free(sender);
}

/* The place of the first item that is not below a value. */
static uint32_t place(const struct sender *sender, uint64_t value)
{
    uint32_t low = 0;
    uint32_t high = sender->seen.count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (sender->seen.items[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void raise_floor(struct sender *sender, uint64_t floor)
{
    uint32_t gone;

    if (floor <= sender->floor)
        return;
    sender->floor = floor;
    gone = place(sender, floor << 1);
    if (!gone)
        return;
    sender->seen.count -= gone;
    memmove(sender->seen.items, sender->seen.items + gone,
            sender->seen.count * sizeof *sender->seen.items);
}

static void forget_silent(struct incoming *incoming, uint64_t before)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&incoming->senders, &at, &entry);) {
        struct sender *sender = entry.value;

        if (sender->at >= before || sender->taken.count)
            continue;
        (void)map_take(&incoming->senders, entry.key);
        sender_free(sender);
    }
}

static bool is_taken(const struct sender *sender, uint64_t number)
{
    for (uint32_t i = 0; i < sender->taken.count; i++)
        if (sender->taken.items[i] == number)
            return true;
    return false;
}

enum incoming_answer incoming_look(struct incoming *incoming, const struct parcel *parcel,
                                   uint64_t forget)
{
    struct sender *sender = find(incoming, parcel->type, parcel->id);
    uint32_t at;

    if (!sender) {
        if (incoming->senders.count >= DELIVERY_SENDERS_MAX)
            forget_silent(incoming, forget);
        return incoming->senders.count < DELIVERY_SENDERS_MAX ? INCOMING_NEW : INCOMING_FULL;
    }
    raise_floor(sender, parcel->floor);
    if (parcel->number < sender->floor)
        return INCOMING_ENDED;
    at = place(sender, parcel->number << 1);
    if (at < sender->seen.count && sender->seen.items[at] >> 1 == parcel->number)
        return sender->seen.items[at] & 1 ? INCOMING_EXPIRED : INCOMING_HANDLED;
    if (is_taken(sender, parcel->number))
        return INCOMING_TAKEN;
    /* The lowest open one always has room: the next message raises the floor above it. */
    if (sender->seen.count + sender->taken.count >= DELIVERY_SEEN_MAX &&
        parcel->number > sender->floor)
        return INCOMING_FULL;
    return INCOMING_NEW;
}

static void untake(struct incoming *incoming, struct sender *sender, uint64_t number)
{
    for (uint32_t i = 0; i < sender->taken.count; i++)
        if (sender->taken.items[i] == number) {
            vec_remove(&sender->taken, i);
            incoming->taken--;
            return;
        }
}

void incoming_mark(struct incoming *incoming, const struct receipt *mark)
{
    struct sender *sender = find_or_make(incoming, mark->type, mark->id);
    uint64_t value = mark->number << 1 | (mark->end == SHERD_DELIVERY_EXPIRED);
    uint32_t at;

    sender->at = mark->at;
    untake(incoming, sender, mark->number);
    raise_floor(sender, mark->floor);
    if (mark->number < sender->floor)
        return;
    at = place(sender, mark->number << 1);
    if (at < sender->seen.count && sender->seen.items[at] >> 1 == mark->number)
        return;
    vec_push(&sender->seen, value);
    memmove(sender->seen.items + at + 1, sender->seen.items + at,
            (sender->seen.count - 1 - at) * sizeof *sender->seen.items);
    sender->seen.items[at] = value;
}

void incoming_take(struct incoming *incoming, struct slice type, struct slice id, uint64_t number)
{
    vec_push(&find_or_make(incoming, type, id)->taken, number);
    incoming->taken++;
}

bool incoming_is_taken(const struct incoming *incoming, struct slice type, struct slice id,
                       uint64_t number)
{
    const struct sender *sender = find(incoming, type, id);

    return sender && is_taken(sender, number);
}

uint64_t incoming_floor(const struct incoming *incoming, struct slice type, struct slice id)
{
    const struct sender *sender = find(incoming, type, id);

    return sender ? sender->floor : 0;
}
