/* Allocates a lane's memory: messages by size class, states, slots, extras. All but large ones come
 * from chunks that grow, and return to free lists; malloc gets nothing back before the end. */
#include "actor/inside.h"

#include <stdlib.h>

#define CHUNK_SIZE_FIRST ((size_t)4 * 1024) /* the largest message fits */
#define CHUNK_SIZE ((size_t)64 * 1024)
#define CACHE_LINE 64u

_Static_assert(sizeof(struct slot) == CACHE_LINE, "a slot is a cache line");
_Static_assert(sizeof(struct entry) == 32, "an ask costs 32 bytes");
_Static_assert(offsetof(struct message, data) % 8 == 0, "bodies are aligned");

const uint16_t message_class_sizes[MESSAGE_CLASSES] = {
    128, 192, 256, 384, 512, 1024, 2048, 4096, 0
};

const uint8_t message_class_of[65] = {
    0, 0, 0, 1, 2, 3, 3, 4, 4, 5, 5, 5, 5, 5, 5, 5, 5, 6, 6, 6, 6, 6,
    6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7
};

#define X(name, text) text,
static const char *const kind_texts[] = { MESSAGE_KINDS(X) };
#undef X

const char *message_kind_text(enum message_kind kind)
{
    return (unsigned)kind < MESSAGE_KIND_COUNT ? kind_texts[kind] : "unknown";
}

/* Cuts aligned pieces from the current chunk; sizes are multiples of 16. */
static void *bump(struct actors *actors, size_t size)
{
    uint8_t *piece;

    if ((size_t)(actors->bump_end - actors->bump) < size) {
        size_t room = actors->chunk_size ? actors->chunk_size : CHUNK_SIZE_FIRST;
        uint8_t *chunk = mem_alloc(room + CACHE_LINE);

        vec_push(&actors->chunks, chunk);
        actors->memory += room + CACHE_LINE;
        actors->bump = chunk + (CACHE_LINE - (uintptr_t)chunk % CACHE_LINE);
        actors->bump_end = actors->bump + room;
        actors->chunk_size = room < CHUNK_SIZE ? room * 2 : CHUNK_SIZE;
    }
    piece = actors->bump;
    actors->bump += size;
    return piece;
}

struct message *message_new_slow(struct actors *actors, size_t size)
{
    size_t units = (sizeof(struct message) + size + 63) / 64;
    struct message *message;
    uint8_t size_class;

    if (units > 64) {
        message = mem_alloc(sizeof *message + size);
        message->owner = MESSAGE_OWNER_NONE;
        message->size_class = MESSAGE_CLASS_LARGE;
        if (actors->large_bytes > actors->settings.waiting_bytes_max)
            actors->full = true;
        return message;
    }
    size_class = message_class_of[units];
    message = bump(actors, message_class_sizes[size_class]);
    message->owner = (uint8_t)actors->lane;
    message->size_class = size_class;
    actors->message_bytes += message_class_sizes[size_class];
    if (actors->message_bytes > actors->settings.waiting_bytes_max)
        actors->full = true; /* this one is still made: delivery refuses */
    return message;
}

void message_free_slow(struct actors *actors, struct message *message)
{
    struct chain *chain;

    if (message->owner == MESSAGE_OWNER_NONE) {
        mem_free(message);
        return;
    }
    check(message->owner < actors->settings.lanes);
    chain = &actors->returns[message->owner];
    message->next = chain->first;
    chain->first = message;
}

uint64_t memory_free_bytes(const struct actors *actors, uint64_t enough)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < MESSAGE_CLASS_LARGE; i++)
        for (const struct message *message = actors->free_messages[i];
             message && bytes < enough; message = message->next)
            bytes += message_class_sizes[i];
    return bytes;
}

struct message *actors_take_returns(struct actors *actors, uint32_t lane)
{
    struct message *chain;

    check(lane < actors->settings.lanes);
    chain = actors->returns[lane].first;
    actors->returns[lane].first = NULL;
    return chain;
}

void actors_give_returns(struct actors *actors, struct message *chain)
{
    while (chain) {
        struct message *next = chain->next;

        check(chain->owner == actors->lane);
        message_free(actors, chain);
        chain = next;
    }
}

static inline void set_header(struct message *message, uint16_t type,
                              struct slice id, struct slice body)
{
    uint8_t owner = message->owner;
    uint8_t size_class = message->size_class;

    memset(message, 0, offsetof(struct message, data));
    message->owner = owner;
    message->size_class = size_class;
    message->type = type;
    message->body_size = (uint32_t)body.size;
    message->id_size = (uint8_t)id.size;
    if (body.size)
        memcpy(message->data, body.data, body.size);
    bytes_copy(message->data + body.size, id.data, id.size);
    message->data[body.size + id.size] = 0;
    if (type != TYPE_NONE)
        message->entity.hash = hash_bytes(id);
}

struct message *message_new_heap(uint16_t type, struct slice id,
                                    struct slice body)
{
    struct message *message =
        mem_alloc(sizeof *message + body.size + id.size + 1);

    check(id.size <= SHERD_ID_MAX && body.size <= FRAME_LARGE_SIZE_MAX);
    message->owner = MESSAGE_OWNER_NONE;
    message->size_class = MESSAGE_CLASS_LARGE;
    set_header(message, type, id, body);
    return message;
}

void message_free_heap(struct message *message)
{
    if (message && message->owner == MESSAGE_OWNER_NONE)
        mem_free(message);
}

struct message *memory_notice(struct actors *actors, struct slice body)
{
    struct message *message = message_new(actors, body.size + 1);

    set_header(message, TYPE_NONE, slice_of(NULL, 0), body);
    return message;
}

struct message *actors_message(struct actors *actors, struct slice body)
{
    check(body.size <= FRAME_LARGE_SIZE_MAX);
    return memory_notice(actors, body);
}

struct message *actors_entity_message(struct actors *actors, uint16_t type,
                                      struct slice id, struct slice body)
{
    struct message *message;

    check(body.size <= FRAME_LARGE_SIZE_MAX);
    check(id.size > 0 && id.size <= SHERD_ID_MAX);
    message = message_new(actors, body.size + id.size + 1);
    set_header(message, type, id, body);
    return message;
}

void actors_message_free(struct actors *actors, struct message *message)
{
    message_free(actors, message);
}

/* --- states --- */

struct free_state {
    struct free_state *next;
};

static uint32_t state_class(size_t size)
{
    return (uint32_t)((size + 15) / 16);
}

void *slot_state_new(struct actors *actors, size_t size)
{
    uint32_t size_class = state_class(size);
    struct free_state *state;

    if (size == 0)
        return NULL;
    if (size_class > STATE_CLASSES)
        return mem_alloc(size);
    state = actors->free_states[size_class];
    if (state)
        actors->free_states[size_class] = state->next;
    else
        state = bump(actors, (size_t)size_class * 16);
    memset(state, 0, (size_t)size_class * 16);
    return state;
}

void slot_state_free(struct actors *actors, void *state, size_t size)
{
    uint32_t size_class = state_class(size);
    struct free_state *free_state = state;

    if (!state)
        return;
    if (size_class > STATE_CLASSES) {
        mem_free(state);
        return;
    }
    free_state->next = actors->free_states[size_class];
    actors->free_states[size_class] = free_state;
}

/* --- slots --- */

static void slot_chunk_add(struct actors *actors)
{
    uint32_t count = actors->slot_chunk_count;
    uint32_t more = count < 64 ? 1 : count < 4096 ? count / 8 : 512;
    size_t size = more * SLOT_CHUNK * sizeof(struct slot);
    uint8_t *memory = mem_alloc(size + CACHE_LINE);

    /* Large blocks, so that the system can map them in large pages. */
    vec_push(&actors->chunks, memory);
    actors->memory += size + CACHE_LINE;
    memory += CACHE_LINE - (uintptr_t)memory % CACHE_LINE;
    actors->slot_chunks = mem_resize(
        actors->slot_chunks, (count + more) * sizeof *actors->slot_chunks);
    for (uint32_t i = 0; i < more; i++)
        actors->slot_chunks[count + i] =
            (struct slot *)(void *)memory + (size_t)i * SLOT_CHUNK;
    actors->slot_chunk_count = count + more;
}

/* The run queue has room for every slot. */
static void queue_grow(struct actors *actors)
{
    uint32_t size = actors->queue ? (actors->queue_mask + 1) * 2 : SLOT_CHUNK;
    uint32_t *queue = mem_alloc(size * sizeof *queue);

    for (uint32_t i = 0; i < actors->queue_count; i++)
        queue[i] = actors->queue[(actors->queue_head + i) & actors->queue_mask];
    mem_free(actors->queue);
    actors->queue = queue;
    actors->queue_mask = size - 1;
    actors->queue_head = 0;
}

uint32_t slot_new(struct actors *actors)
{
    uint32_t index = actors->slot_free;
    struct slot *slot;
    uint8_t queued;

    if (index == 0) {
        if (actors->slot_used > actors->settings.slots_max)
            return 0;
        index = actors->slot_used++;
        if (index / SLOT_CHUNK >= actors->slot_chunk_count)
            slot_chunk_add(actors);
        if (!actors->queue || actors->slot_used > actors->queue_mask)
            queue_grow(actors);
        slot_at(actors, index)->generation = 1;
        return index;
    }
    slot = slot_at(actors, index);
    actors->slot_free = slot->row_index;
    /* A slot freed while in the run queue is still there. */
    queued = slot->flags & FLAG_QUEUED;
    *slot = (struct slot){ .generation = slot->generation, .flags = queued };
    return index;
}

void slot_free(struct actors *actors, uint32_t index)
{
    struct slot *slot = slot_at(actors, index);

    check(!slot->last && !slot->state);
    extra_free(actors, slot);
    slot->status = SLOT_FREE;
    slot->waiting = 0;
    /* A slot without unused generations is not used again: no ref may name two actors. */
    if (slot->generation == 0xffffff)
        return;
    slot->row_index = actors->slot_free;
    actors->slot_free = index;
}

struct extra *slot_extra(struct actors *actors, struct slot *slot)
{
    struct extra *extra;
    uint32_t index = actors->extra_free;

    if (slot->extra)
        return extra_of(actors, slot);
    if (index == 0) {
        uint32_t count = actors->extra_chunk_count;

        index = actors->extra_used++;
        if (index / EXTRA_CHUNK >= count) {
            if ((count & (count - 1)) == 0)
                actors->extra_chunks = mem_resize(
                    actors->extra_chunks,
                    (count ? count * 2u : 1u) * sizeof *actors->extra_chunks);
            actors->extra_chunks[count] =
                mem_alloc(EXTRA_CHUNK * sizeof(struct extra));
            actors->memory += EXTRA_CHUNK * sizeof(struct extra);
            actors->extra_chunk_count = count + 1;
        }
        slot->extra = index;
        return extra_of(actors, slot);
    }
    slot->extra = index;
    extra = extra_of(actors, slot);
    actors->extra_free = extra->next;
    *extra = (struct extra){ 0 };
    return extra;
}

void extra_free(struct actors *actors, struct slot *slot)
{
    struct extra *extra = extra_of(actors, slot);

    if (!extra)
        return;
    check(!extra->held_first && !extra->behind && !extra->timers &&
          !extra->watching && !extra->watchers);
    mem_free(extra->fault);
    extra->fault = NULL;
    extra->next = actors->extra_free;
    actors->extra_free = slot->extra;
    slot->extra = 0;
}

void memory_fini(struct actors *actors)
{
    for (uint32_t i = 0; i < actors->chunks.count; i++)
        mem_free(actors->chunks.items[i]);
    vec_fini(&actors->chunks);
    mem_free(actors->slot_chunks);
    buf_fini(&actors->event);
    for (uint32_t i = 1; i < actors->extra_used; i++)
        mem_free(actors->extra_chunks[i / EXTRA_CHUNK][i % EXTRA_CHUNK].fault);
    for (uint32_t i = 0; i < actors->extra_chunk_count; i++)
        mem_free(actors->extra_chunks[i]);
    mem_free(actors->extra_chunks);
    mem_free(actors->queue);
    mem_free(actors->returns);
    vec_fini(&actors->parked);
}
