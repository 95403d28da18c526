/* Keeps a queue of frames in chunks. */
#include "artery/chunks.h"

#include "base/check.h"
#include "base/limits.h"

enum { CHUNK_SIZE_FIRST = 512 };

void chunks_init(struct chunks *chunks, bool keeps_room)
{
    *chunks = (struct chunks){ .next_size = CHUNK_SIZE_FIRST,
                               .keeps_room = keeps_room };
}

static void chunk_free(struct chunk *chunk)
{
    if (!chunk)
        return;
    buf_fini(&chunk->bytes);
    mem_free(chunk);
}

void chunks_fini(struct chunks *chunks)
{
    while (chunks->head) {
        struct chunk *next = chunks->head->next;

        chunk_free(chunks->head);
        chunks->head = next;
    }
    chunk_free(chunks->spare);
    chunks->tail = chunks->spare = NULL;
}

static void add_chunk(struct chunks *chunks, size_t size)
{
    struct chunk *chunk = chunks->spare;

    if (size < chunks->next_size)
        size = chunks->next_size;
    chunks->spare = NULL;
    if (chunk && chunk->bytes.capacity < size) {
        chunk_free(chunk);
        chunk = NULL;
    }
    if (!chunk) {
        chunk = mem_alloc(sizeof *chunk);
        (void)buf_reserve(&chunk->bytes, size);
    }
    chunk->next = NULL;
    chunk->at = chunk->written = chunk->bytes.size = 0;
    chunk->frames = 0;
    *(chunks->tail ? &chunks->tail->next : &chunks->head) = chunk;
    chunks->tail = chunk;
    /* Rarely used links stay small; busy ones soon reach large writes. */
    if (chunks->next_size < LINK_CHUNK_SIZE)
        chunks->next_size *= 2;
}

/* Reuses, keeps as spare, or frees the finished head. */
static void retire_head(struct chunks *chunks)
{
    struct chunk *chunk = chunks->head;

    if (chunk == chunks->tail &&
        (!chunks->keeps_room || chunk->bytes.capacity <= CHUNK_SIZE_FIRST)) {
        /* Links with rare messages keep no room: there may be a thousand. */
        chunk_free(chunks->spare);
        chunk_free(chunk);
        chunks->head = chunks->tail = chunks->spare = NULL;
        chunks->next_size = CHUNK_SIZE_FIRST;
        return;
    }
    if (chunk == chunks->tail) {
        chunk->at = chunk->written = chunk->bytes.size = 0;
        chunk->frames = 0;
        return;
    }
    chunks->head = chunk->next;
    if (!chunks->spare && chunk->bytes.capacity >= chunks->next_size &&
        chunk->bytes.capacity <= 2 * LINK_CHUNK_SIZE)
        chunks->spare = chunk;
    else
        chunk_free(chunk);
}

void chunks_grow(struct chunks *chunks, size_t size)
{
    struct chunk *tail = chunks->tail;
    bool unused = tail && !tail->bytes.size;

    add_chunk(chunks, size);
    if (unused && chunks->head == tail)
        retire_head(chunks);
}

/* Frames at the front of the head. */
static void count_out(struct chunks *chunks, uint32_t frames, size_t size)
{
    chunks->head->at += size;
    chunks->head->frames -= frames;
    chunks->frames -= frames;
    chunks->size -= (uint32_t)size;
}

struct slice chunks_pending(struct chunks *chunks)
{
    struct chunk *head = chunks->head;

    while (head->written == head->bytes.size) {
        retire_head(chunks);
        head = chunks->head;
    }
    return slice_of(head->bytes.data + head->written,
                    head->bytes.size - head->written);
}

uint32_t chunks_wrote(struct chunks *chunks, size_t size)
{
    struct chunk *head = chunks->head;
    uint32_t before = chunks->frames;

    check(head && size <= head->bytes.size - head->written);
    head->written += size;
    if (head->written == head->bytes.size) /* whole frames */
        count_out(chunks, head->frames, head->written - head->at);
    while (head->written - head->at >= FRAME_LENGTH_SIZE) {
        size_t frame =
            FRAME_LENGTH_SIZE + frame_length(head->bytes.data + head->at);

        if (head->written - head->at < frame)
            break;
        count_out(chunks, 1, frame);
    }
    if (head->at == head->bytes.size)
        retire_head(chunks);
    return before - chunks->frames;
}

bool chunks_is_inside(const struct chunks *chunks)
{
    return chunks->head && chunks->head->written > chunks->head->at;
}

void chunks_rewind(struct chunks *chunks)
{
    if (chunks->head)
        chunks->head->written = chunks->head->at;
}

void chunks_take(struct chunks *chunks, struct buf *frame)
{
    struct chunk *head = chunks->head;
    size_t size;

    while (head->at == head->bytes.size) {
        retire_head(chunks);
        head = chunks->head;
    }
    size = FRAME_LENGTH_SIZE + frame_length(head->bytes.data + head->at);
    buf_clear(frame);
    buf_put(frame, head->bytes.data + head->at, size);
    count_out(chunks, 1, size);
    head->written = head->at;
    if (head->at == head->bytes.size)
        retire_head(chunks);
}

void chunks_each(const struct chunks *chunks,
                 void (*call)(void *context, struct slice frame), void *context)
{
    for (const struct chunk *chunk = chunks->head; chunk; chunk = chunk->next) {
        for (size_t at = chunk->at; at < chunk->bytes.size;) {
            const uint8_t *frame = chunk->bytes.data + at;
            size_t size = FRAME_LENGTH_SIZE + frame_length(frame);

            call(context, slice_of(frame, size));
            at += size;
        }
    }
}

uint32_t chunks_clear(struct chunks *chunks)
{
    uint32_t dropped = chunks->frames;

    while (chunks->head != chunks->tail)
        retire_head(chunks);
    if (chunks->head)
        retire_head(chunks);
    chunks->frames = 0;
    chunks->size = 0;
    return dropped;
}
