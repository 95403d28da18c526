/* Keeps generations of connections by stream and sending lane. Most peers have one lane, whose
 * generation needs no array. */
#include "artery/sender.h"

#include "base/check.h"

struct sender {
    struct {
        union {
            uint64_t first;  /* with a count of 1, as most have */
            uint64_t *items; /* generation, by sending lane */
        };
        uint32_t count; /* highest lane so far, plus one */
    } newest[STREAM_LARGE]; /* by stream */
};

struct sender *sender_new(void)
{
    return mem_alloc(sizeof(struct sender));
}

void sender_free(struct sender *sender)
{
    for (uint32_t i = 0; i < STREAM_LARGE; i++)
        if (sender->newest[i].count > 1)
            mem_free(sender->newest[i].items);
    mem_free(sender);
}

uint64_t sender_newest(const struct sender *sender, enum stream stream,
                       uint32_t lane)
{
    uint32_t at = (uint32_t)stream - 1;

    if (lane >= sender->newest[at].count)
        return 0;
    return sender->newest[at].count > 1 ? sender->newest[at].items[lane]
                                        : sender->newest[at].first;
}

static void set_newest(struct sender *sender, enum stream stream, uint32_t lane,
                       uint64_t generation)
{
    uint32_t at = (uint32_t)stream - 1;
    uint32_t count = sender->newest[at].count;
    uint64_t first = sender->newest[at].first;
    uint64_t *items = count > 1 ? sender->newest[at].items : NULL;

    if (!lane && count <= 1) {
        sender->newest[at].first = generation;
        sender->newest[at].count = 1;
        return;
    }
    if (count <= lane) {
        items = mem_resize(items, (lane + 1) * sizeof *items);
        if (count == 1)
            items[0] = first;
        memset(items + count, 0, (lane + 1 - count) * sizeof *items);
        sender->newest[at].count = lane + 1;
        sender->newest[at].items = items;
    }
    items[lane] = generation;
}

enum sender_connection sender_connects(struct sender *sender,
                                       enum stream stream, uint32_t lane,
                                       uint64_t generation)
{
    uint64_t newest = sender_newest(sender, stream, lane);

    if (!generation || generation == newest)
        return SENDER_FIRST;
    if (generation < newest)
        return SENDER_OLDER;
    set_newest(sender, stream, lane, generation);
    return newest ? SENDER_NEWER : SENDER_FIRST;
}
