/* Keeps the open deliveries of a sender, in order of their numbers. */
#include "actor/delivery/book.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/timers.h"

bool outgoing_has_room(const struct outgoing *outgoing, size_t body_size)
{
    return outgoing->list.count < SHERD_DELIVERIES_MAX &&
           outgoing->last < DELIVERY_NUMBER_MAX &&
           body_size <= SHERD_DELIVERY_BYTES_MAX - outgoing->bytes;
}

static struct slice copy(uint8_t **at, struct slice from)
{
    uint8_t *start = *at;

    bytes_copy(start, from.data, from.size);
    *at += from.size;
    return slice_of(start, from.size);
}

void outgoing_add(struct outgoing *outgoing, const struct parcel *parcel)
{
    struct open_delivery *open;
    uint8_t *at;

    if (parcel->number <= outgoing->last)
        return;
    open = mem_alloc(sizeof *open + parcel->type.size + parcel->id.size + 2 + parcel->body.size);
    at = open->data;
    open->parcel = *parcel;
    open->parcel.type = copy(&at, parcel->type);
    *at++ = 0;
    open->parcel.id = copy(&at, parcel->id);
    *at++ = 0;
    open->parcel.body = copy(&at, parcel->body);
    open->receiver = hash_bytes(parcel->id) ^ (hash_bytes(parcel->type) << 1);
    open->due = 0;
    open->transmissions = 0;
    outgoing->last = parcel->number;
    outgoing->bytes += parcel->body.size;
    vec_push(&outgoing->list, open);
}

/* The index of a number, or the count of the list. */
static uint32_t find(const struct outgoing *outgoing, uint64_t number)
{
    uint32_t low = 0;
    uint32_t high = outgoing->list.count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (outgoing->list.items[middle]->parcel.number < number)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < outgoing->list.count && outgoing->list.items[low]->parcel.number == number)
        return low;
    return outgoing->list.count;
}

struct open_delivery *outgoing_find(const struct outgoing *outgoing, uint64_t number)
{
    uint32_t at = find(outgoing, number);

    return at < outgoing->list.count ? outgoing->list.items[at] : NULL;
}

void outgoing_end(struct outgoing *outgoing, uint64_t number)
{
    uint32_t at = find(outgoing, number);

    if (at == outgoing->list.count)
        return;
    outgoing->bytes -= outgoing->list.items[at]->parcel.body.size;
    mem_free(outgoing->list.items[at]);
    vec_remove(&outgoing->list, at);
}

uint64_t outgoing_floor(const struct outgoing *outgoing, const struct open_delivery *open)
{
    for (uint32_t i = 0; i < outgoing->list.count; i++) {
        const struct open_delivery *other = outgoing->list.items[i];

        if (other->receiver == open->receiver &&
            slice_equal(other->parcel.id, open->parcel.id) &&
            slice_equal(other->parcel.type, open->parcel.type))
            return other->parcel.number;
    }
    return open->parcel.number; /* not reached: it is in the list */
}
