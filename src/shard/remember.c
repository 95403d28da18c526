/* Keeps, writes and loads the set of remembered entities of each shard. */
#include "shard/remember_inside.h"

#include "base/check.h"
#include "base/limits.h"
#include "base/mark.h"
#include "shard/remember_keys.h"
#include "shard/shard_id.h"

#define FLAG_BASE 1

void remember_init(struct remember *remember,
                   const struct remember_options *options)
{
    *remember = (struct remember){ .options = *options };
    if (!remember->options.shard_count)
        return;
    check(remember->options.shard_count <= SHARDS_MAX);
    if (!remember->options.frequency)
        remember->options.frequency = 100 * MS;
    if (!remember->options.batch)
        remember->options.batch = 5;
    if (!remember->options.target)
        remember->options.target = 20 * MS;
    if (!remember->options.part_ids)
        remember->options.part_ids = 100;
    if (!remember->options.base_after)
        remember->options.base_after = 1000;
    if (!remember->options.failure_backoff)
        remember->options.failure_backoff = 10 * SECOND;
    if (!remember->options.load_timeout)
        remember->options.load_timeout = 2 * SECOND;
    if (!remember->options.write_timeout)
        remember->options.write_timeout = 5 * SECOND;
    if (!remember->options.moves_max ||
        remember->options.moves_max > REMEMBER_MOVES_MAX)
        remember->options.moves_max = REMEMBER_MOVES_MAX;
    if (!remember->options.ids_max ||
        remember->options.ids_max > REMEMBERED_MAX)
        remember->options.ids_max = REMEMBERED_MAX;
    if (!remember->options.move_again)
        remember->options.move_again = 2 * SECOND;
    remember->window = REMEMBER_WINDOW;
}

struct remember_shard *remember_here(const struct remember *remember,
                                     int32_t shard)
{
    uint32_t place = shard_place(shard);

    return place < remember->shards.count ? remember->shards.items[place]
                                          : NULL;
}

struct remember_shard *remember_shard_of(struct remember *remember,
                                       int32_t shard)
{
    struct remember_shard *at = remember_here(remember, shard);

    remember->counters.ignored += !at;
    return at;
}

/* --- news --- */

static void free_news(struct remember_news *news)
{
    mem_free((void *)(uintptr_t)news->id.data);
    mem_free((void *)(uintptr_t)news->record.data);
}

void remember_tell(struct remember *remember, enum remember_news_kind kind,
                 int32_t shard, const struct remembered *entity)
{
    struct remember_news news = { .kind = kind, .shard = shard };

    if (entity) {
        news.token = entity->token;
        news.id = slice_of(mem_copy(entity->id, entity->id_size),
                           entity->id_size);
    }
    vec_push(&remember->news, news);
}

bool remember_next_news(struct remember *remember, struct remember_news *news)
{
    free_news(&remember->last_news);
    remember->last_news = (struct remember_news){ 0 };
    if (remember->news_head == remember->news.count) {
        remember->news_head = remember->news.count = 0;
        return false;
    }
    remember->last_news = remember->news.items[remember->news_head++];
    *news = remember->last_news;
    return true;
}

/* --- the set --- */

struct remembered *remember_find(const struct remember_shard *at,
                                 struct slice id)
{
    return map_get(&at->ids, id);
}

struct remembered *remember_add(struct remember *remember,
                                struct remember_shard *at, struct slice id)
{
    struct remembered *entity;

    if (remember->ids >= remember->options.ids_max)
        return NULL;
    entity = mem_alloc(sizeof *entity + id.size);
    entity->id_size = (uint8_t)id.size;
    memcpy(entity->id, id.data, id.size);
    (void)map_put(&at->ids, remembered_id(entity), entity);
    remember->ids++;
    if (remember->options.changes_only)
        at->of_key[remember_key_of(id)]++;
    return entity;
}

static void drop(struct remember *remember, struct remember_shard *at,
                 struct remembered *entity)
{
    remember_due_drop(remember, at, entity);
    remember_move_drop(remember, at, entity);
    if (remember->options.changes_only)
        at->of_key[remember_key_of(remembered_id(entity))]--;
    (void)map_take(&at->ids, remembered_id(entity));
    mem_free(entity);
    remember->ids--;
}

static void shard_clear(struct remember *remember, struct remember_shard *at)
{
    struct map_entry entry;

    remember_dues_drop(remember, at);
    remember_moves_drop(remember, at);
    for (uint32_t i = 0; map_next(&at->ids, &i, &entry);) {
        mem_free(entry.value);
        remember->ids--;
    }
    map_fini(&at->ids);
    memset(at->of_key, 0, sizeof at->of_key);
    at->ids.is_lent = true;
    vec_fini(&at->queue);
    vec_fini(&at->flying);
    at->writes = false;
    at->runs = false;
    at->parts = 0;
}

static void shard_free(struct remember *remember, uint32_t place)
{
    struct remember_shard *at = remember->shards.items[place];

    if (!at)
        return;
    shard_clear(remember, at);
    map_fini(&at->ids);
    mem_free(at);
    remember->shards.items[place] = NULL;
}

void remember_fini(struct remember *remember)
{
    for (uint32_t i = 0; i < remember->shards.count; i++)
        shard_free(remember, i);
    vec_fini(&remember->shards);
    vec_fini(&remember->runs);
    vec_fini(&remember->movers);
    vec_fini(&remember->slots);
    vec_fini(&remember->slots_free);
    timers_fini(&remember->timers);
    free_news(&remember->last_news);
    for (uint32_t i = remember->news_head; i < remember->news.count; i++)
        free_news(&remember->news.items[i]);
    vec_fini(&remember->news);
    *remember = (struct remember){ 0 };
}

/* --- writing --- */

void remember_watch(struct remember *remember, struct remember_shard *at,
                       int32_t shard, uint64_t due)
{
    at->due = due;
    at->is_late = false;
    timers_put(&remember->timers, due, REMEMBER_TIMER_SHARD,
               shard_place(shard), 0);
}

struct part {
    struct buf starts;
    struct buf stops;
    uint32_t start_count;
    uint32_t stop_count;
};

static void part_tell(struct remember *remember, int32_t shard,
                      struct part *part, bool is_base)
{
    struct remember_news news = { .kind = REMEMBER_WRITE,
                                  .shard = shard,
                                  .is_base = is_base,
                                  .more = true };
    struct buf record = { 0 };

    buf_put_u8(&record, REMEMBER_RECORD_VERSION);
    buf_put_u8(&record, is_base ? FLAG_BASE : 0);
    buf_put_varint(&record, part->start_count);
    buf_put_slice(&record, buf_slice(&part->starts));
    buf_put_varint(&record, part->stop_count);
    buf_put_slice(&record, buf_slice(&part->stops));
    buf_fini(&part->starts);
    buf_fini(&part->stops);
    part->start_count = part->stop_count = 0;
    news.record = slice_of(mem_copy(record.data, record.size), record.size);
    buf_fini(&record);
    vec_push(&remember->news, news);
}

static bool part_is_full(const struct remember *remember,
                         const struct part *part)
{
    return part->start_count + part->stop_count >=
               remember->options.part_ids ||
           part->starts.size + part->stops.size >= REMEMBER_PART_SIZE_MAX;
}

static void part_put(struct part *part, const struct remembered *entity)
{
    struct buf *ids = entity->wanted ? &part->starts : &part->stops;

    buf_put_u8(ids, entity->id_size);
    buf_put_slice(ids, remembered_id(entity));
    if (entity->wanted)
        part->start_count++;
    else
        part->stop_count++;
}

static uint32_t write_base(struct remember *remember,
                           struct remember_shard *at, int32_t shard)
{
    struct part part = { 0 };
    struct map_entry entry;
    uint32_t parts = 0;

    for (uint32_t i = 0; map_next(&at->ids, &i, &entry);) {
        const struct remembered *entity = entry.value;

        if (!entity->wanted)
            continue;
        if (part_is_full(remember, &part))
            part_tell(remember, shard, &part, parts++ == 0);
        part_put(&part, entity);
    }
    part_tell(remember, shard, &part, parts++ == 0);
    remember->counters.bases++;
    return parts;
}

static uint32_t write_changes(struct remember *remember,
                              struct remember_shard *at, int32_t shard)
{
    struct part part = { 0 };
    uint32_t parts = 1;

    for (uint32_t i = 0; i < at->flying.count; i++) {
        if (part_is_full(remember, &part)) {
            part_tell(remember, shard, &part, false);
            parts++;
        }
        part_put(&part, at->flying.items[i]);
    }
    part_tell(remember, shard, &part, false);
    return parts;
}

/* A base follows at least as many parts as it has, so its cost stays in proportion. */
static bool wants_base(const struct remember *remember,
                       const struct remember_shard *at)
{
    uint32_t of_base = at->ids.count / remember->options.part_ids;

    return !remember->options.changes_only &&
           (at->parts == 0 || (at->parts >= remember->options.base_after &&
                               at->parts / 2 >= of_base));
}

static void answer(struct remember *remember, struct remember_shard *at,
                   int32_t shard, struct remembered *entity)
{
    if (entity->asked) {
        remember_tell(remember, entity->wanted ? REMEMBER_KEPT : REMEMBER_FORGOTTEN,
             shard, entity);
        entity->asked = false;
    }
    if (!entity->wanted && !entity->stored)
        drop(remember, at, entity);
}

void remember_queue_put(struct remember_shard *at, struct remembered *entity)
{
    if (entity->queued)
        return;
    entity->queued = true;
    vec_push(&at->queue, entity);
}

void remember_write_next(struct remember *remember, uint64_t now,
                         struct remember_shard *at, int32_t shard)
{
    if (at->state != REMEMBER_READY || at->writes)
        return;
    for (uint32_t i = 0; i < at->queue.count; i++) {
        struct remembered *entity = at->queue.items[i];

        entity->queued = false;
        if (entity->wanted == entity->stored) {
            REACHED("a change of remembered entities is undone before its write");
            answer(remember, at, shard, entity);
            continue;
        }
        entity->flying = true;
        vec_push(&at->flying, entity);
    }
    at->queue.count = 0;
    if (!at->flying.count)
        return;
    at->writes = true;
    if (wants_base(remember, at))
        at->parts = write_base(remember, at, shard);
    else
        at->parts += write_changes(remember, at, shard);
    /* Flying entities count as stored in their wanted state; a later change makes another write. */
    for (uint32_t i = 0; i < at->flying.count; i++)
        at->flying.items[i]->stored = at->flying.items[i]->wanted;
    remember->news.items[remember->news.count - 1].more = false;
    remember->counters.writes++;
    remember_watch(remember, at, shard, now + remember->options.write_timeout);
}

void remember_written(struct remember *remember, uint64_t now, int32_t shard)
{
    struct remember_shard *at = remember_shard_of(remember, shard);

    if (!at)
        return;
    if (!at->writes) {
        remember->counters.ignored++;
        return;
    }
    at->writes = false;
    at->failures = 0;
    at->due = NEVER;
    for (uint32_t i = 0; i < at->flying.count; i++) {
        struct remembered *entity = at->flying.items[i];

        entity->flying = entity->stays = false;
        if (entity->stored)
            remember->counters.kept++;
        else if (!entity->refused)
            remember->counters.forgotten++;
        entity->refused = false;
        if (!entity->queued)
            answer(remember, at, shard, entity);
    }
    at->flying.count = 0;
    remember_write_next(remember, now, at, shard);
}

void remember_refuse(struct remember *remember, int32_t shard,
                     struct slice id)
{
    struct remember_shard *at = remember_shard_of(remember, shard);
    struct remembered *entity = at ? remember_find(at, id) : NULL;

    if (!entity || !entity->flying || !entity->stored)
        return;
    if (entity->stays) { /* stored again with the next changes of other nodes */
        entity->refused = true;
        entity->stored = false;
        return;
    }
    if (!entity->asked)
        return;
    entity->refused = true;
    entity->stored = entity->wanted = entity->asked = false;
    remember->counters.refused++;
    remember_tell(remember, REMEMBER_REFUSED, shard, entity);
}

/* --- loading --- */

void remember_begin(struct remember *remember, uint64_t now, int32_t shard)
{
    uint32_t place = shard_place(shard);
    struct remember_shard *at;

    check(remember->options.shard_count && place < 2 * SHARDS_MAX - 1);
    while (remember->shards.count <= place)
        vec_push(&remember->shards, NULL);
    if (!remember->shards.items[place])
        remember->shards.items[place] = mem_alloc(sizeof *at);
    at = remember->shards.items[place];
    shard_clear(remember, at);
    at->state = REMEMBER_LOADING;
    at->waits = false;
    at->failures = 0;
    remember->counters.loads++;
    remember_watch(remember, at, shard, now + remember->options.load_timeout);
    remember_tell(remember, REMEMBER_LOAD, shard, NULL);
}

static bool load_one(struct remember *remember, struct remember_shard *at,
                     struct slice id, bool started)
{
    struct remembered *entity;

    if (id.size < 1)
        return false;
    entity = remember_find(at, id);
    if (!entity) {
        if (!started)
            return true;
        entity = remember_add(remember, at, id);
        if (!entity)
            return false;
    }
    entity->stored = started;
    if (at->state != REMEMBER_LOADING || entity->asked)
        return true;
    entity->wanted = started;
    if (!started)
        drop(remember, at, entity);
    return true;
}

static bool load_ids(struct remember *remember, struct remember_shard *at,
                     struct cursor *cursor, bool started)
{
    uint64_t count = cursor_varint(cursor);

    while (count-- && !cursor->failed) {
        struct slice id = cursor_slice(cursor, cursor_u8(cursor));

        if (cursor->failed || !load_one(remember, at, id, started))
            return false;
    }
    return !cursor->failed;
}

/* A base replaces everything read before it. */
static void load_base(struct remember *remember, struct remember_shard *at)
{
    struct map_entry entry;

    at->parts = 0;
    for (uint32_t i = 0; map_next(&at->ids, &i, &entry);) {
        struct remembered *entity = entry.value;

        entity->stored = false;
        if (at->state == REMEMBER_LOADING && !entity->asked)
            drop(remember, at, entity);
    }
}

bool remember_record(struct remember *remember, int32_t shard,
                     struct slice record)
{
    struct remember_shard *at = remember_shard_of(remember, shard);
    struct cursor cursor = cursor_of(record);
    uint8_t flags;

    if (!at || at->state == REMEMBER_READY)
        return true;
    if (cursor_u8(&cursor) != REMEMBER_RECORD_VERSION)
        return false;
    flags = cursor_u8(&cursor);
    if (flags > FLAG_BASE)
        return false;
    if (flags & FLAG_BASE)
        load_base(remember, at);
    at->parts++;
    return load_ids(remember, at, &cursor, true) &&
           load_ids(remember, at, &cursor, false) && !cursor_left(&cursor);
}

/* After a failure: writes the differences from the stored set. A replica also holds changes that it
 * failed to store. There a read does not confirm an open request, which is written again. */
static void compare_all(struct remember *remember, struct remember_shard *at,
                        int32_t shard)
{
    struct map_entry entry;

    for (uint32_t i = 0; map_next(&at->ids, &i, &entry);) {
        struct remembered *entity = entry.value;
        bool is_open = entity->asked || entity->leaves || entity->stays;

        if (!is_open && remember->options.changes_only && entity->wanted &&
            !entity->stored) {
            remember_store_again(remember, entity);
            is_open = true;
        }
        /* from a replica that was not asked before */
        if (!is_open && entity->stored && !entity->wanted)
            remember_due_put(remember, at, entity);
        if (!is_open) /* the owner knows what was stored last */
            entity->wanted = entity->stored;
        else if (remember->options.changes_only)
            entity->stored = !entity->wanted;
        if (entity->wanted != entity->stored)
            remember_queue_put(at, entity);
        else if (!entity->queued)
            answer(remember, at, shard, entity);
    }
}

void remember_loaded(struct remember *remember, uint64_t now, int32_t shard)
{
    struct remember_shard *at = remember_shard_of(remember, shard);
    struct map_entry entry;
    bool first;

    if (!at || at->state == REMEMBER_READY || at->waits)
        return;
    first = at->state == REMEMBER_LOADING;
    at->state = REMEMBER_READY;
    at->due = NEVER;
    if (first) {
        for (uint32_t i = 0; map_next(&at->ids, &i, &entry);)
            if (!((struct remembered *)entry.value)->queued)
                remember_due_put(remember, at, entry.value);
        trace_put(remember->options.trace, TRACE_DEBUG, "shard",
                  "remembered entities loaded type=%s shard=%d entities=%u",
                  remember->options.type, shard, at->ids.count);
        remember_tell(remember, REMEMBER_LOADED, shard, NULL);
    } else {
        compare_all(remember, at, shard);
        remember_line_up(remember, now, at, shard);
    }
    remember_write_next(remember, now, at, shard);
}

/* One second at first, doubled by each failure. */
static uint64_t back_off_of(const struct remember *remember,
                            struct remember_shard *at)
{
    uint64_t time = SECOND << (at->failures < 10 ? at->failures : 10);

    at->failures++;
    return time < remember->options.failure_backoff
               ? time
               : remember->options.failure_backoff;
}

void remember_failed(struct remember *remember, uint64_t now, int32_t shard,
                     const char *why)
{
    struct remember_shard *at = remember_shard_of(remember, shard);
    struct map_entry entry;
    uint64_t back_off;
    char text[SHARD_TEXT_MAX];

    if (!at || at->waits)
        return;
    back_off = back_off_of(remember, at);
    remember->counters.failures++;
    trace_put(remember->options.trace, TRACE_ERROR, "shard",
              "%s of remembered entities failed, tried again type=%s shard=%s ms=%llu "
              "hint=\"check the journal, or that the members are reachable\" "
              "detail=\"%s\"",
              at->state == REMEMBER_READY ? "a write" : "a load",
              remember->options.type,
              shard_label(remember->options.names, shard, text),
              (unsigned long long)(back_off / MS),
              why);
    SOMETIMES("a remembered entity could not be written", at->state == REMEMBER_READY);
    if (at->state == REMEMBER_LOADING) {
        shard_clear(remember, at);
    } else {
        at->state = REMEMBER_RELOADING;
        at->writes = false;
        at->parts = 0;
        for (uint32_t i = 0; i < at->flying.count; i++)
            at->flying.items[i]->flying = false;
        at->flying.count = 0;
        for (uint32_t i = 0; map_next(&at->ids, &i, &entry);)
            ((struct remembered *)entry.value)->stored = false;
    }
    at->waits = true;
    remember_watch(remember, at, shard, now + back_off);
}

void remember_end(struct remember *remember, int32_t shard)
{
    if (remember_here(remember, shard))
        shard_free(remember, shard_place(shard));
}

/* --- entities --- */

static void ask(struct remember *remember, uint64_t now,
                struct remember_shard *at, int32_t shard,
                struct remembered *entity, bool wanted, uint64_t token)
{
    if (entity->stays && !entity->flying)
        entity->stored = !wanted; /* other nodes may have it or not */
    entity->wanted = wanted;
    entity->asked = true;
    entity->leaves = entity->stays = false;
    entity->token = token;
    remember_due_drop(remember, at, entity);
    remember_move_drop(remember, at, entity);
    if (wanted == entity->stored && !entity->flying && !entity->queued &&
        at->state == REMEMBER_READY) {
        answer(remember, at, shard, entity);
        return;
    }
    remember_queue_put(at, entity);
    remember_write_next(remember, now, at, shard);
}

void remember_drop_later(struct remember *remember, uint64_t now,
                         struct remember_shard *at, int32_t shard,
                         struct remembered *entity)
{
    entity->wanted = false;
    entity->leaves = true;
    remember_queue_put(at, entity);
    remember_write_next(remember, now, at, shard);
}

void remember_start(struct remember *remember, uint64_t now, int32_t shard,
                    struct slice id, uint64_t token)
{
    struct remember_shard *at = remember_shard_of(remember, shard);
    struct remembered *entity;

    if (!at)
        return;
    entity = remember_find(at, id);
    if (!entity)
        entity = remember_add(remember, at, id);
    if (entity) {
        ask(remember, now, at, shard, entity, true, token);
        return;
    }
    remember->counters.refused++;
    vec_push(&remember->news,
             ((struct remember_news){
                 .kind = REMEMBER_REFUSED,
                 .shard = shard,
                 .token = token,
                 .id = slice_of(mem_copy(id.data, id.size), id.size) }));
}

void remember_stop(struct remember *remember, uint64_t now, int32_t shard,
                   struct slice id, uint64_t token)
{
    struct remember_shard *at = remember_shard_of(remember, shard);
    struct remembered *entity = at ? remember_find(at, id) : NULL;

    if (entity)
        ask(remember, now, at, shard, entity, false, token);
    else if (at)
        vec_push(&remember->news,
                 ((struct remember_news){
                     .kind = REMEMBER_FORGOTTEN,
                     .shard = shard,
                     .token = token,
                     .id = slice_of(mem_copy(id.data, id.size), id.size) }));
}

bool remember_has(const struct remember *remember, int32_t shard,
                  struct slice id)
{
    const struct remember_shard *at = remember_here(remember, shard);
    const struct remembered *entity = at ? remember_find(at, id) : NULL;

    return entity && entity->wanted;
}

bool remember_is_ready(const struct remember *remember, int32_t shard)
{
    const struct remember_shard *at = remember_here(remember, shard);

    return at && at->state != REMEMBER_LOADING;
}

uint32_t remember_count(const struct remember *remember, int32_t shard)
{
    const struct remember_shard *at = remember_here(remember, shard);

    return at ? at->ids.count : 0;
}
