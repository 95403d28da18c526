/* Fires entries in time with a hierarchical wheel of four levels of 256 buckets, a millisecond a
 * tick (Varghese and Lauck 1987, scheme 7).
 *
 * A bucket's head has a number like an entry, so an entry leaves its list without knowing its
 * bucket. `bits` names buckets that may have entries; a look clears empty ones. Entries of one tick
 * fire in the order of their bucket, which depends only on the calls made. */
#include "actor/inside.h"
#include "base/bound.h"

/* Allocates several in one block where there are many. */
static void chunk_add(struct actors *actors)
{
    struct wheel *wheel = &actors->wheel;
    uint32_t count = wheel->chunk_count;
    uint32_t more = count < 8 ? 1 : count < 2048 ? count / 4 : 512;
    size_t size = more * ENTRY_CHUNK * sizeof(struct entry);
    struct entry *entries = mem_alloc(size);

    vec_push(&actors->chunks, entries);
    actors->memory += size;
    wheel->chunks = mem_resize(wheel->chunks,
                               (count + more) * sizeof *wheel->chunks);
    for (uint32_t i = 0; i < more; i++)
        wheel->chunks[count + i] = entries + (size_t)i * ENTRY_CHUNK;
    wheel->chunk_count = count + more;
}

static struct neighbours *places_of(const struct actors *actors, uint32_t index)
{
    return index < WHEEL_BUCKETS ? &actors->wheel.heads[index]
                                 : &entry_at(actors, index)->places;
}

void wheel_init(struct actors *actors)
{
    struct wheel *wheel = &actors->wheel;

    wheel->heads = mem_alloc(WHEEL_BUCKETS * sizeof *wheel->heads);
    actors->memory += WHEEL_BUCKETS * sizeof *wheel->heads;
    for (uint32_t i = 0; i < WHEEL_BUCKETS; i++)
        wheel->heads[i] = (struct neighbours){ .next = i, .prev = i };
    wheel->used = WHEEL_BUCKETS;
    wheel->next = UINT64_MAX;
    wheel->tick = actors->now / MS;
}

void wheel_fini(struct actors *actors)
{
    mem_free(actors->wheel.heads);
    mem_free(actors->wheel.chunks);
}

/* Cyclic distance, 1 to 256, from place to the next set bit; 0 = none. */
static uint32_t next_bit(const uint64_t bits[4], uint32_t place)
{
    uint32_t at = (place + 1) & 255;

    for (uint32_t i = 0; i <= 4; i++) {
        uint64_t word = bits[at / 64] >> (at % 64);

        if (word) {
            uint32_t found = at + (uint32_t)__builtin_ctzll(word);
            uint32_t distance = (found - place) & 255;

            return distance ? distance : 256;
        }
        at = (at / 64 * 64 + 64) & 255;
    }
    return 0;
}

/* The value for wheel->next. */
static uint64_t next_tick(const struct wheel *wheel)
{
    uint64_t earliest = UINT64_MAX;

    if (wheel->count == 0)
        return earliest;
    for (uint32_t level = 0; level < WHEEL_LEVELS; level++) {
        uint64_t base = wheel->tick >> (8 * level);
        uint32_t distance =
            next_bit(wheel->bits[level], (uint32_t)base & 255);
        uint64_t at = (base + distance) << (8 * level);

        if (distance && at < earliest)
            earliest = at;
    }
    return earliest;
}

/* Inserts it into the bucket for its distance from `tick`. */
static void insert(struct actors *actors, uint32_t index, uint64_t due)
{
    struct wheel *wheel = &actors->wheel;
    uint64_t distance = due - wheel->tick;
    struct neighbours *places = &entry_at(actors, index)->places;
    struct neighbours *head;
    uint32_t level = 0;
    uint32_t place;
    uint32_t bucket;

    while (level < WHEEL_LEVELS - 1 && distance >> (8 * (level + 1)))
        level++;
    place = (uint32_t)(due >> (8 * level)) & 255;
    bucket = level * 256 + place;
    wheel->bits[level][place / 64] |= UINT64_C(1) << (place % 64);
    head = &wheel->heads[bucket];
    places->next = bucket;
    places->prev = head->prev;
    places_of(actors, head->prev)->next = index;
    head->prev = index;
    if (wheel->count++ == 0)
        wheel->next = next_tick(wheel); /* emptied buckets may have left bits */
    else if (due >> (8 * level) << (8 * level) < wheel->next)
        wheel->next = due >> (8 * level) << (8 * level);
}

uint32_t entry_new(struct actors *actors, uint64_t delay_ms)
{
    struct wheel *wheel = &actors->wheel;
    uint32_t index = wheel->free;
    struct entry *entry;
    uint64_t due;

    if (index) {
        wheel->free = entry_at(actors, index)->places.next;
    } else {
        if (wheel->used >= actors->settings.asks_max + WHEEL_BUCKETS)
            return 0;
        index = wheel->used++;
        BOUNDED("asks and timers of a lane", wheel->used,
                actors->settings.asks_max + WHEEL_BUCKETS);
        if ((index - WHEEL_BUCKETS) / ENTRY_CHUNK >= wheel->chunk_count)
            chunk_add(actors);
    }
    /* An empty wheel skips the time in which nothing waited. */
    if (wheel->count == 0 && wheel->tick < actors->now / MS)
        wheel->tick = actors->now / MS;
    if (delay_ms > ACTOR_TIMER_MS_MAX)
        delay_ms = ACTOR_TIMER_MS_MAX;
    due = (actors->now + delay_ms * MS + MS - 1) / MS;
    if (due <= wheel->tick)
        due = wheel->tick + 1;
    entry = entry_at(actors, index);
    entry->due = (uint32_t)due;
    insert(actors, index, due);
    return index;
}

void entry_again(struct actors *actors, uint32_t index, uint64_t delay_ms)
{
    uint64_t due = actors->wheel.tick + delay_ms;

    entry_at(actors, index)->due = (uint32_t)due;
    insert(actors, index, due);
}

void wheel_remove(struct actors *actors, struct entry *entry)
{
    places_of(actors, entry->places.next)->prev = entry->places.prev;
    places_of(actors, entry->places.prev)->next = entry->places.next;
    if (--actors->wheel.count == 0)
        actors->wheel.next = UINT64_MAX;
}

void entry_free(struct actors *actors, uint32_t index)
{
    struct entry *entry = entry_at(actors, index);

    if (entry->kind != ENTRY_FIRED)
        wheel_remove(actors, entry);
    entry->kind = ENTRY_FREE;
    entry->places.next = actors->wheel.free;
    actors->wheel.free = index;
}

/* Empties a bucket of a coarse level: its entries go to finer ones. */
static void cascade(struct actors *actors, uint32_t level)
{
    struct wheel *wheel = &actors->wheel;
    uint32_t place = (uint32_t)(wheel->tick >> (8 * level)) & 255;
    uint32_t bucket = level * 256 + place;
    const struct neighbours *head = &wheel->heads[bucket];
    uint32_t last = head->prev;
    uint32_t index;

    wheel->bits[level][place / 64] &= ~(UINT64_C(1) << (place % 64));
    if (last == bucket)
        return;
    do {
        struct entry *entry;
        uint64_t due;

        index = head->next;
        entry = entry_at(actors, index);
        due = wheel->tick + (uint32_t)(entry->due - (uint32_t)wheel->tick);
        wheel_remove(actors, entry);
        insert(actors, index, due);
    } while (index != last);
}

bool wheel_advance(struct actors *actors)
{
    struct wheel *wheel = &actors->wheel;
    uint64_t now = actors->now / MS;
    uint32_t place;

    if (wheel->next > now) {
        if (wheel->tick < now)
            wheel->tick = now;
        return false;
    }
    wheel->tick = wheel->next;
    for (uint32_t level = WHEEL_LEVELS - 1; level > 0; level--)
        if ((wheel->tick & ((UINT64_C(1) << (8 * level)) - 1)) == 0)
            cascade(actors, level);
    place = (uint32_t)wheel->tick & 255;
    wheel->bits[0][place / 64] &= ~(UINT64_C(1) << (place % 64));
    wheel->next = next_tick(wheel);
    return true;
}

uint32_t wheel_take(struct actors *actors)
{
    uint32_t bucket = (uint32_t)actors->wheel.tick & 255;
    uint32_t index = actors->wheel.heads[bucket].next;

    /* New entries are due later: they never enter this bucket. */
    if (index == bucket)
        return 0;
    wheel_remove(actors, entry_at(actors, index));
    return index;
}

uint64_t wheel_deadline(const struct actors *actors)
{
    uint64_t tick = actors->wheel.next;

    return tick == UINT64_MAX ? NEVER : tick * MS;
}
