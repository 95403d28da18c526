/* Splits connections into frames as their readers do, and names each frame by its content. */
#include "sherd-sim-frames.h"

#include <stdio.h>
#include <string.h>

#include "artery/envelope.h"
#include "artery/inlet.h"
#include "base/check.h"

#define LENGTH_SIZE 4
#define SHARE_MIN 50 /* kinds below this part of all bytes get no line */
#define BATCH 16

void frames_fini(struct frames *frames)
{
    struct map_entry entry;
    uint32_t at = 0;

    while (map_next(&frames->inlets, &at, &entry))
        inlet_free(entry.value);
    map_fini(&frames->inlets);
    vec_fini(&frames->kinds);
}

static struct inlet *inlet_of(struct frames *frames, uint64_t pipe)
{
    /* Lent to every inlet for its life. */
    static const struct inlet_options options = {
        .magics = { "AKKA", "PEKK" }, .large_size_max = FRAME_LARGE_SIZE_MAX
    };
    struct inlet *inlet = map_get(&frames->inlets, map_u64(&pipe));

    if (!inlet) {
        inlet = inlet_new(0, &options);
        inlet_accept(inlet, 1, 0, 0); /* the uid does not matter */
        (void)map_put(&frames->inlets, map_u64(&pipe), inlet);
    }
    return inlet;
}

static void name_frame(char *name, size_t size, struct slice frame)
{
    struct envelope envelope = { 0 };
    struct selection selection = { 0 };
    enum envelope_error error = envelope_read(frame, NULL, &envelope);
    bool wraps =
        (error == ENVELOPE_OK || error == ENVELOPE_TABLE) &&
        envelope.serializer == SERIALIZER_SELECTION &&
        envelope_unwrap_selection(envelope.recipient, envelope.payload,
                                  &selection);
    struct slice manifest = wraps ? selection.manifest : envelope.manifest;

    /* A manifest that is a number of the reader's table has no text here. */
    (void)snprintf(name, size, "%d %.*s",
                   (int)(wraps ? selection.serializer : envelope.serializer),
                   (int)manifest.size,
                   manifest.size ? (const char *)manifest.data : "");
}

static void count(struct frames *frames, struct slice frame)
{
    struct frame_kind added = { .count = 0 };
    struct frame_kind *kind = NULL;

    name_frame(added.name, sizeof added.name, frame);
    for (uint32_t i = 0; i < frames->kinds.count && !kind; i++)
        if (strcmp(frames->kinds.items[i].name, added.name) == 0)
            kind = &frames->kinds.items[i];
    if (!kind) {
        vec_push(&frames->kinds, added);
        kind = &frames->kinds.items[frames->kinds.count - 1];
    }
    kind->count++;
    kind->bytes += LENGTH_SIZE + frame.size;
}

void frames_written(struct frames *frames, uint64_t pipe, struct slice bytes)
{
    struct inlet *inlet = inlet_of(frames, pipe);
    struct slice batch[BATCH];
    uint32_t got;

    inlet_receive(inlet, bytes);
    while ((got = inlet_batch(inlet, batch, BATCH)) != 0)
        for (uint32_t i = 0; i < got; i++)
            count(frames, batch[i]);
}

void frames_ended(struct frames *frames, uint64_t pipe)
{
    inlet_free(map_take(&frames->inlets, map_u64(&pipe)));
}

void frames_print(struct frames *frames, uint32_t nodes, double seconds)
{
    uint64_t all = 0;

    for (uint32_t i = 0; i < frames->kinds.count; i++)
        all += frames->kinds.items[i].bytes;
    for (uint32_t i = 0; i < frames->kinds.count; i++) {
        const struct frame_kind *kind = &frames->kinds.items[i];

        if (kind->bytes && kind->bytes >= all / SHARE_MIN)
            printf("            %-12s %10.0f bytes a node and s, %8.2f of %7.0f "
                   "bytes\n",
                   kind->name, (double)kind->bytes / nodes / seconds,
                   (double)kind->count / nodes / seconds,
                   (double)kind->bytes / (double)kind->count);
    }
    for (uint32_t i = 0; i < frames->kinds.count; i++)
        frames->kinds.items[i].count = frames->kinds.items[i].bytes = 0;
}
