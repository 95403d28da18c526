/* Fuzzes the records of remembered entities, and entities that start and stop after the records
 * were loaded. Input: 1 byte choice, 1 byte number of records, for each record 2 bytes size (little
 * endian) and its bytes; then pairs of a step and its argument.
 *
 * Oracle: the core refuses the same records as a simple decoder here, and loads the same entities.
 * Failed writes lose nothing: at the end, all requested changes are stored, and another core that
 * loads the records has the same entities. */
#include <stdint.h>

#include "base/check.h"
#include "base/timers.h"
#include "base/vec.h"
#include "shard/remember.h"

#define SHARD 2
#define RECORDS_MAX 8
#define NAMES 16 /* ids of steps that do not use a loaded entity */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct ids {
    VEC(struct slice) list;
};

struct world {
    struct remember remember;
    uint64_t now;
    VEC(struct buf) stored;
    VEC(struct buf) coming; /* records of the open write */
    bool is_base;           /* whether the open write replaces all records */
    bool writes;
    bool loads;
    struct ids wanted;
    struct ids asked; /* entities with an open request */
    struct ids restarted;
    struct ids moving; /* entities that must start in another shard */
};

static int64_t place_of(const struct ids *ids, struct slice id)
{
    for (uint32_t i = 0; i < ids->list.count; i++)
        if (slice_equal(ids->list.items[i], id))
            return i;
    return -1;
}

static void ids_set(struct ids *ids, struct slice id, bool is_in)
{
    int64_t at = place_of(ids, id);

    if (is_in && at < 0)
        vec_push(&ids->list, id);
    else if (!is_in && at >= 0)
        vec_remove(&ids->list, (uint32_t)at);
}

/* ---- the simple decoder ---- */

static bool read_ids(struct cursor *cursor, struct ids *ids, bool is_start)
{
    uint64_t count = cursor_varint(cursor);

    for (uint64_t i = 0; i < count && !cursor->failed; i++) {
        struct slice id = cursor_slice(cursor, cursor_u8(cursor));

        if (cursor->failed || !id.size)
            return false;
        ids_set(ids, id, is_start);
    }
    return !cursor->failed;
}

static bool read_record(struct ids *ids, struct slice record)
{
    struct cursor cursor = cursor_of(record);
    uint8_t version = cursor_u8(&cursor);
    uint8_t flags = cursor_u8(&cursor);

    if (cursor.failed || version != 1 || flags > 1)
        return false;
    if (flags)
        ids->list.count = 0;
    return read_ids(&cursor, ids, true) && read_ids(&cursor, ids, false) &&
           !cursor_left(&cursor);
}

/* ---- the store ---- */

static void drop_records(struct world *world, bool of_write)
{
    if (of_write) {
        for (uint32_t i = 0; i < world->coming.count; i++)
            buf_fini(&world->coming.items[i]);
        world->coming.count = 0;
        return;
    }
    for (uint32_t i = 0; i < world->stored.count; i++)
        buf_fini(&world->stored.items[i]);
    world->stored.count = 0;
}

static void commit(struct world *world)
{
    if (world->is_base)
        drop_records(world, false);
    for (uint32_t i = 0; i < world->coming.count; i++)
        vec_push(&world->stored, world->coming.items[i]);
    world->coming.count = 0;
}

static void take_part(struct world *world, const struct remember_news *news)
{
    struct buf record = { 0 };

    check(!world->writes);
    check(!news->is_base || !world->coming.count);
    if (!world->coming.count)
        world->is_base = news->is_base;
    buf_put_slice(&record, news->record);
    vec_push(&world->coming, record);
    world->writes = !news->more;
}

static void drain(struct world *world)
{
    struct remember_news news;

    while (remember_next_news(&world->remember, &news)) {
        int64_t at;

        check(news.shard == SHARD);
        switch (news.kind) {
        case REMEMBER_LOAD:
            world->loads = true;
            break;
        case REMEMBER_LOADED:
            break;
        case REMEMBER_WRITE:
            take_part(world, &news);
            break;
        case REMEMBER_KEPT:
        case REMEMBER_FORGOTTEN:
            at = place_of(&world->asked, news.id);
            check(at >= 0);
            vec_remove(&world->asked.list, (uint32_t)at);
            check((news.kind == REMEMBER_KEPT) ==
                  (place_of(&world->wanted, news.id) >= 0));
            break;
        case REMEMBER_MOVE:
            check(place_of(&world->moving, news.id) >= 0);
            break;
        case REMEMBER_RESTART:
            at = place_of(&world->wanted, news.id); /* an entity that moved does not restart */
            check(at >= 0 && place_of(&world->restarted, news.id) < 0);
            ids_set(&world->restarted, world->wanted.list.items[at], true);
            break;
        case REMEMBER_REFUSED:
            check_failed(__FILE__, __LINE__, "refused");
        }
    }
}

static void begin(struct world *world, uint8_t choice)
{
    struct remember_options options = {
        .shard_count = 4,
        .part_ids = 1 + (choice & 7),
        .base_after = choice & 8 ? 1 : 6,
        .type = "T",
    };

    world->now = SECOND;
    remember_init(&world->remember, &options);
    remember_begin(&world->remember, world->now, SHARD);
    drain(world);
    check(world->loads);
    world->loads = false;
}

static void end(struct world *world)
{
    drop_records(world, false);
    drop_records(world, true);
    vec_fini(&world->stored);
    vec_fini(&world->coming);
    vec_fini(&world->wanted.list);
    vec_fini(&world->asked.list);
    vec_fini(&world->restarted.list);
    vec_fini(&world->moving.list);
    remember_fini(&world->remember);
}

/* ---- steps ---- */

static void load_again(struct world *world)
{
    world->loads = false;
    for (uint32_t i = 0; i < world->stored.count; i++)
        check(remember_record(&world->remember, SHARD,
                              buf_slice(&world->stored.items[i])));
    remember_loaded(&world->remember, world->now, SHARD);
}

static void answer(struct world *world, bool is_good, bool is_stored)
{
    if (!world->writes)
        return;
    world->writes = false;
    if (is_stored)
        commit(world);
    else
        drop_records(world, true);
    if (is_good)
        remember_written(&world->remember, world->now, SHARD);
    else
        remember_failed(&world->remember, world->now, SHARD, "a test");
}

static void passes(struct world *world, uint64_t time)
{
    world->now += time;
    remember_step(&world->remember, world->now,
                  &(struct remember_pressure){ 0 });
    drain(world);
    if (world->loads)
        load_again(world);
}

/* The entity belongs to another shard, or (is_there) has started in the other shard. */
static void move(struct world *world, struct slice id, bool is_there)
{
    if (is_there) {
        if (place_of(&world->moving, id) >= 0)
            ids_set(&world->wanted, id, false);
        ids_set(&world->moving, id, false);
        remember_moved(&world->remember, world->now, SHARD, id);
    } else {
        if (place_of(&world->wanted, id) >= 0 &&
            place_of(&world->asked, id) < 0)
            ids_set(&world->moving, id, true);
        remember_move(&world->remember, world->now, SHARD, id);
    }
    drain(world);
}

static void act(struct world *world, uint8_t step, uint8_t x)
{
    static const uint8_t names[NAMES + 1] = "abcdefghijklmnop";
    struct slice id = slice_of(&names[x % NAMES], 1);

    if (x & 128 && world->restarted.list.count)
        id = world->restarted.list.items[x % world->restarted.list.count];
    if (step & 64) {
        move(world, id, step & 1);
        return;
    }
    switch (step % 8) {
    case 0:
    case 1:
    case 2:
    case 3:
        if (place_of(&world->asked, id) >= 0)
            return;
        ids_set(&world->asked, id, true);
        ids_set(&world->wanted, id, step % 8 < 2);
        ids_set(&world->moving, id, false);
        if (step % 8 < 2)
            remember_start(&world->remember, world->now, SHARD, id, x);
        else
            remember_stop(&world->remember, world->now, SHARD, id, x);
        break;
    case 4:
    case 5:
        answer(world, true, true);
        break;
    case 6:
        answer(world, false, x & 1);
        break;
    default:
        passes(world, (uint64_t)x * 100 * MS);
    }
    drain(world);
}

/* Checks that the stored entities are the wanted ones, also for another core that loads the
 * records. */
static void check_stored(const struct world *world, uint8_t choice)
{
    struct world *other = mem_alloc(sizeof *other);

    begin(other, choice);
    for (uint32_t i = 0; i < world->stored.count; i++)
        check(remember_record(&other->remember, SHARD,
                              buf_slice(&world->stored.items[i])));
    remember_loaded(&other->remember, other->now, SHARD);
    check(remember_count(&other->remember, SHARD) ==
          world->wanted.list.count);
    for (uint32_t i = 0; i < world->wanted.list.count; i++)
        check(remember_has(&other->remember, SHARD,
                           world->wanted.list.items[i]) &&
              remember_has(&world->remember, SHARD,
                           world->wanted.list.items[i]));
    check(remember_count(&world->remember, SHARD) ==
          world->wanted.list.count);
    end(other);
    mem_free(other);
}

/* Loads the records of the input. Returns false if one was refused; then nothing is loaded. */
static bool load(struct world *world, struct cursor *input)
{
    uint8_t count = cursor_u8(input) % (RECORDS_MAX + 1);

    for (uint8_t i = 0; i < count; i++) {
        size_t size = cursor_u8(input);
        struct buf record = { 0 };
        struct slice bytes;
        bool is_good;

        size |= (size_t)cursor_u8(input) << 8;
        if (size > cursor_left(input))
            size = cursor_left(input);
        bytes = cursor_slice(input, size);
        is_good = read_record(&world->wanted, bytes);
        check(remember_record(&world->remember, SHARD, bytes) == is_good);
        if (!is_good) {
            remember_failed(&world->remember, world->now, SHARD, "a test");
            check(!remember_is_ready(&world->remember, SHARD));
            check(!remember_count(&world->remember, SHARD));
            return false;
        }
        buf_put_slice(&record, bytes);
        vec_push(&world->stored, record);
    }
    remember_loaded(&world->remember, world->now, SHARD);
    remember_run(&world->remember, world->now, SHARD);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world *world;
    struct cursor input;

    if (size < 2 || size > 4096)
        return 0;
    world = mem_alloc(sizeof *world);
    input = cursor_of(slice_of(data + 1, size - 1));
    begin(world, data[0]);
    if (load(world, &input)) {
        for (int i = 0; i < 8; i++) /* one step restarts only some of the entities */
            passes(world, 0);
        check(world->restarted.list.count == world->wanted.list.count);
        while (cursor_left(&input) >= 2) {
            uint8_t step = cursor_u8(&input);

            act(world, step, cursor_u8(&input));
        }
        for (int i = 0; i < 8; i++) {
            answer(world, true, true);
            passes(world, 20 * SECOND);
        }
        check(!world->writes && !world->asked.list.count);
        check_stored(world, data[0]);
    }
    end(world);
    mem_free(world);
    return 0;
}
