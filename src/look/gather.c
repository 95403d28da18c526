/* Implements gather.h. */
#include "look/gather.h"

#include "base/check.h"
#include "base/limits.h"
#include "base/sort.h"
#include "base/timers.h"
#include "look/page.h"
#include "look/top.h"

#define PATIENCE_MIN (100 * MS) /* for an answer, while other nodes come after it */
#define AGAIN_PAUSE (50 * MS)
#define CURSOR_UID 8

struct target {
    struct node_id node;
    enum sherd_look_state state; /* LOOK_ASKED until its rows have ended, or never come */
    uint64_t id;       /* of the open request; 0: none */
    uint32_t limit;    /* its rows at most */
    uint64_t until;    /* no longer; 0: not asked yet */
    uint64_t again_at; /* not before then; 0: at once */
    bool is_busy;      /* it said so */
    struct look_cursor cursor; /* of its next part */
    struct look_cursor after;  /* of the one after `part` */
    struct buf part;           /* rows that wait for their turn */
    uint32_t part_rows;
    bool has_part;
    bool is_in_page;
    uint32_t rows;
    uint32_t part_index; /* in the page */
    uint64_t wall_ms;
};

/* A row of an ordered look. */
struct best {
    uint32_t target;
    uint32_t size;
    uint8_t bytes[];
};

struct gather {
    enum sherd_look_kind kind;
    struct buf type, shard, entity;
    uint32_t order;
    uint32_t count;
    uint64_t since_ms;
    uint64_t deadline;
    uint64_t from_uid; /* of the cursor */
    struct look_cursor from;
    VEC(struct target) targets; /* by uid */
    uint32_t head;              /* the first one that is not over */
    uint32_t asked;
    struct look_rows rows;
    VEC(struct page_row) places;
    struct top top; /* ordered: pointers to struct best, owned */
    uint32_t arrivals;
    bool is_done;
    uint8_t next[SHERD_LOOK_CURSOR_MAX];
    uint32_t next_size;
    struct sherd_look_part *parts; /* of the page */
    struct page_memory memory;
};

/* A row while the rows with its key are summed. */
struct sums {
    struct sherd_look_value values[SHERD_LOOK_COLUMNS_MAX];
};

static void copy(struct buf *buf, struct slice text)
{
    buf_put_slice(buf, text);
}

static bool read_cursor(struct gather *gather, struct slice bytes)
{
    struct cursor cursor = cursor_of(bytes);

    if (!bytes.size)
        return true;
    gather->from_uid = cursor_u64(&cursor);
    if (cursor.failed || cursor_left(&cursor) > LOOK_CURSOR_MAX)
        return false;
    gather->from.size = (uint8_t)cursor_left(&cursor);
    bytes_copy(gather->from.bytes, cursor.at, gather->from.size);
    return true;
}

struct gather *gather_new(const struct gather_options *options)
{
    struct gather *gather = mem_alloc(sizeof *gather);

    gather->kind = options->kind;
    gather->order = options->order;
    gather->count = options->count;
    if (gather->order != LOOK_NO_ORDER && gather->count > LOOK_TOP_MAX)
        gather->count = LOOK_TOP_MAX;
    gather->since_ms = options->since_ms;
    gather->deadline = options->deadline;
    copy(&gather->type, options->type);
    copy(&gather->shard, options->shard);
    copy(&gather->entity, options->entity);
    if (read_cursor(gather, options->cursor))
        return gather;
    gather_free(gather);
    return NULL;
}

static void free_best(const struct top_item *item)
{
    mem_free((struct best *)(uintptr_t)item->value);
}

void gather_free(struct gather *gather)
{
    if (!gather)
        return;
    for (uint32_t i = 0; i < gather->targets.count; i++)
        buf_fini(&gather->targets.items[i].part);
    for (uint32_t i = 0; i < gather->top.items.count; i++)
        free_best(&gather->top.items.items[i]);
    top_fini(&gather->top);
    vec_fini(&gather->targets);
    vec_fini(&gather->places);
    look_rows_fini(&gather->rows);
    buf_fini(&gather->type);
    buf_fini(&gather->shard);
    buf_fini(&gather->entity);
    mem_free(gather->parts);
    mem_free(gather);
}

void gather_add(struct gather *gather, const struct node_id *node, enum sherd_look_state state)
{
    struct target target = { .node = *node, .state = state };

    if (node->uid < gather->from_uid)
        return; /* of an earlier page */
    if (node->uid == gather->from_uid)
        target.cursor = gather->from;
    vec_push(&gather->targets, target);
}

static bool is_ordered(const struct gather *gather)
{
    return gather->order != LOOK_NO_ORDER;
}

static bool is_summed(const struct gather *gather)
{
    return look_kind_key(gather->kind) != LOOK_NO_ORDER;
}

/* ---- the end ---- */

static void end(struct gather *gather, const struct target *next)
{
    gather->is_done = true;
    if (!next)
        return;
    for (uint32_t i = 0; i < CURSOR_UID; i++)
        gather->next[i] = (uint8_t)(next->node.uid >> (8 * i));
    memcpy(gather->next + CURSOR_UID, next->cursor.bytes, next->cursor.size);
    gather->next_size = CURSOR_UID + next->cursor.size;
}

/* The request, if any, is answered or given up. */
static void close_request(struct gather *gather, struct target *target)
{
    gather->asked -= target->id != 0;
    target->id = 0;
}

static void close_target(struct gather *gather, struct target *target, enum sherd_look_state state)
{
    close_request(gather, target);
    target->state = state;
    target->has_part = false;
    buf_fini(&target->part);
}

/* ---- rows of a walk ---- */

static void put_row(struct gather *gather, uint32_t target, struct slice fields)
{
    struct page_row place = { .at = gather->rows.bytes.size, .target = target };

    look_row_begin(&gather->rows);
    buf_put_slice(&gather->rows.bytes, fields);
    look_row_end(&gather->rows);
    vec_push(&gather->places, place);
    gather->targets.items[target].rows++;
}

static void add_sums(enum sherd_look_kind kind, struct sherd_look_value *to,
                     const struct sherd_look_value *from)
{
    for (uint32_t i = 0; i < look_column_count(kind); i++) {
        if (!from[i].is_known)
            continue;
        if (!to[i].is_known)
            to[i] = from[i];
        else if (look_column_role(kind, i) == LOOK_SUM)
            to[i].number += from[i].number;
    }
}

static bool same_key(const struct sherd_look_value *left, const struct sherd_look_value *right)
{
    return slice_equal(slice_of(left->bytes.data, left->bytes.size),
                       slice_of(right->bytes.data, right->bytes.size));
}

/* A kind with sums: rows of one node's machines with the same key become one row. The machines list
 * them in one order, so a search goes on from the last row that was found. */
static void put_sums(struct gather *gather, uint32_t target, struct slice part)
{
    uint32_t key = look_kind_key(gather->kind);
    VEC(struct sums) all = { 0 };
    struct cursor cursor = cursor_of(part);
    uint32_t at = 0;
    struct slice row;

    while (look_row_next(&cursor, &row)) {
        struct sums sums;
        uint32_t tried = 0;

        check(look_row_read(gather->kind, row, sums.values)); /* as when it came */
        while (tried < all.count &&
               !same_key(&all.items[(at + tried) % all.count].values[key], &sums.values[key]))
            tried++;
        if (tried == all.count) {
            vec_push(&all, sums);
            at = 0;
            continue;
        }
        at = (at + tried) % all.count;
        add_sums(gather->kind, all.items[at].values, sums.values);
        at = (at + 1) % all.count;
    }
    for (uint32_t i = 0; i < all.count; i++) {
        struct page_row place = { .at = gather->rows.bytes.size, .target = target };

        look_row_begin(&gather->rows);
        look_put_values(&gather->rows, gather->kind, all.items[i].values);
        look_row_end(&gather->rows);
        vec_push(&gather->places, place);
        gather->targets.items[target].rows++;
    }
    vec_fini(&all);
}

static void put_part(struct gather *gather, uint32_t index)
{
    struct target *target = &gather->targets.items[index];
    struct cursor cursor = cursor_of(buf_slice(&target->part));
    struct slice row;

    target->is_in_page = true;
    if (is_summed(gather))
        put_sums(gather, index, buf_slice(&target->part));
    else
        while (look_row_next(&cursor, &row))
            put_row(gather, index, row);
    target->has_part = false;
    target->cursor = target->after;
    target->until = 0;
    if (!target->cursor.size)
        close_target(gather, target, SHERD_LOOK_OK);
    else
        buf_clear(&target->part);
}

static bool is_full(const struct gather *gather)
{
    return gather->places.count >= gather->count ||
           gather->rows.bytes.size >= LOOK_PAGE_BYTES_MAX;
}

/* A part that was asked ahead may have more rows than the page has room for. */
static bool has_room(const struct gather *gather, const struct target *target)
{
    return !gather->places.count || is_summed(gather) ||
           gather->places.count + target->part_rows <= gather->count;
}

/* Nodes that were busy or not met until their time was over are not asked any more. */
static void give_up_asking(struct gather *gather, uint64_t now)
{
    for (uint32_t i = gather->head; i < gather->targets.count; i++) {
        struct target *target = &gather->targets.items[i];

        if (!target->id && target->until && now >= target->until)
            target->again_at = NEVER;
    }
}

static void walk(struct gather *gather, uint64_t now)
{
    while (!gather->is_done) {
        struct target *target;

        if (gather->head == gather->targets.count) {
            end(gather, NULL);
            return;
        }
        target = &gather->targets.items[gather->head];
        if (target->state != LOOK_ASKED) {
            target->is_in_page = true;
            gather->head++;
        } else if (is_full(gather) || (target->has_part && !has_room(gather, target))) {
            end(gather, target);
        } else if (target->has_part) {
            put_part(gather, gather->head);
        } else if (target->until && now >= target->until) {
            close_target(gather, target,
                         target->is_busy ? SHERD_LOOK_BUSY : SHERD_LOOK_TIMEOUT);
        } else if (now >= gather->deadline) {
            end(gather, target); /* it was not asked: the next page begins there */
        } else {
            give_up_asking(gather, now);
            return;
        }
    }
}

/* ---- rows of an ordered look ---- */

/* Equal rows come by node, then by arrival, so that equal answers give equal pages. */
static void put_ordered(struct gather *gather, uint32_t target, struct slice part)
{
    struct sherd_look_value values[SHERD_LOOK_COLUMNS_MAX];
    struct cursor cursor = cursor_of(part);
    struct top_item left;
    struct slice row;

    while (look_row_next(&cursor, &row)) {
        struct best *best = mem_alloc(sizeof *best + row.size);

        check(look_row_read(gather->kind, row, values)); /* as when it came */
        best->target = target;
        best->size = (uint32_t)row.size;
        bytes_copy(best->bytes, row.data, row.size);
        if (top_put(&gather->top, gather->count,
                    (struct top_item){ .key = values[gather->order].number,
                                       .tie = (uint64_t)target << 32 | gather->arrivals++,
                                       .value = (uintptr_t)best },
                    &left))
            free_best(&left);
    }
}

/* Makes the page of the best rows, the best one first. */
static void end_ordered(struct gather *gather)
{
    top_sort(&gather->top);
    for (uint32_t i = 0; i < gather->top.items.count; i++) {
        const struct best *best = (struct best *)(uintptr_t)gather->top.items.items[i].value;

        put_row(gather, best->target, slice_of(best->bytes, best->size));
        free_best(&gather->top.items.items[i]);
    }
    top_fini(&gather->top);
    end(gather, NULL);
}

static void order(struct gather *gather, uint64_t now)
{
    bool is_over = true;

    for (uint32_t i = gather->head; i < gather->targets.count; i++) {
        struct target *target = &gather->targets.items[i];

        target->is_in_page = true;
        if (target->state == LOOK_ASKED &&
            (now >= gather->deadline || (target->until && now >= target->until)))
            close_target(gather, target,
                         target->is_busy ? SHERD_LOOK_BUSY : SHERD_LOOK_TIMEOUT);
        is_over = is_over && target->state != LOOK_ASKED;
        if (is_over)
            gather->head = i + 1;
    }
    if (is_over)
        end_ordered(gather);
}

static void advance(struct gather *gather, uint64_t now)
{
    if (gather->is_done)
        return;
    if (is_ordered(gather))
        order(gather, now);
    else
        walk(gather, now);
    if (!gather->is_done)
        return;
    for (uint32_t i = 0; i < gather->targets.count; i++) { /* asked ahead, and not needed */
        close_request(gather, &gather->targets.items[i]);
        buf_fini(&gather->targets.items[i].part);
    }
}

/* ---- in and out ---- */

static int compare_targets(const void *left, const void *right)
{
    const struct target *one = left, *other = right;

    return one->node.uid < other->node.uid ? -1 : one->node.uid > other->node.uid;
}

void gather_begin(struct gather *gather, uint64_t now)
{
    if (gather->targets.count)
        sort_stable(gather->targets.items, gather->targets.count, sizeof *gather->targets.items,
                    compare_targets);
    advance(gather, now);
}

/* While nodes come after it, one that is silent takes at most half of the time that is left. */
static uint64_t patience(const struct gather *gather, uint32_t index, uint64_t now)
{
    uint64_t left = gather->deadline - now;
    uint64_t half = left / 2 > PATIENCE_MIN ? left / 2 : PATIENCE_MIN;

    if (is_ordered(gather) || index + 1 == gather->targets.count || half > left)
        return gather->deadline;
    return now + half;
}

/* Whether it is to be asked at again_at. If its time is over before, it is marked when its turn
 * comes. */
static bool is_asked_again(const struct target *target)
{
    return target->state == LOOK_ASKED && !target->id && !target->has_part &&
           (!target->until || target->again_at < target->until);
}

static bool is_askable(const struct target *target, uint64_t now)
{
    return is_asked_again(target) && now >= target->again_at &&
           (!target->until || now < target->until);
}

static uint32_t limit_of(const struct gather *gather)
{
    if (is_summed(gather))
        return SHERD_LOOK_ROWS_MAX;
    return is_ordered(gather) ? gather->count : gather->count - gather->places.count;
}

/* The end of the nodes that may be asked: so many that are open, from the head on. */
static uint32_t window_end(const struct gather *gather)
{
    uint32_t left = look_kind_window(gather->kind);
    uint32_t at = gather->head;

    if (is_ordered(gather))
        left = LOOK_TARGETS_MAX;
    for (; at < gather->targets.count && left; at++)
        left -= gather->targets.items[at].state == LOOK_ASKED;
    return at;
}

bool gather_next_ask(struct gather *gather, uint64_t now, uint64_t id, struct node_id *node,
                     struct look_request *request)
{
    uint32_t last;

    if (gather->is_done || now >= gather->deadline)
        return false;
    last = window_end(gather);
    for (uint32_t i = gather->head; i < last; i++) {
        struct target *target = &gather->targets.items[i];

        if (!is_askable(target, now))
            continue;
        target->id = id;
        target->limit = limit_of(gather);
        if (!target->until)
            target->until = patience(gather, i, now);
        gather->asked++;
        *node = target->node;
        *request = (struct look_request){
            .id = id,
            .kind = gather->kind,
            .type = buf_slice(&gather->type),
            .shard = buf_slice(&gather->shard),
            .entity = buf_slice(&gather->entity),
            .cursor = target->cursor,
            .limit = target->limit,
            .order = gather->order,
            .within_ms = (uint32_t)((target->until - now) / MS),
            .since_ms = gather->since_ms,
        };
        return true;
    }
    return false;
}

/* Counts the rows of a part; false: malformed, or more than asked. */
static bool are_rows(const struct gather *gather, const struct target *target, struct slice rows,
                     uint32_t *count)
{
    struct sherd_look_value values[SHERD_LOOK_COLUMNS_MAX];
    struct cursor cursor = cursor_of(rows);
    struct slice row;

    *count = 0;
    while (look_row_next(&cursor, &row)) {
        if (++*count > target->limit || !look_row_read(gather->kind, row, values))
            return false;
    }
    return !cursor.failed && rows.size <= LOOK_PART_BYTES_MAX;
}

static bool same_cursor(const struct look_cursor *left, const struct look_cursor *right)
{
    return slice_equal(slice_of(left->bytes, left->size), slice_of(right->bytes, right->size));
}

static void take_part(struct gather *gather, uint32_t index, const struct look_reply *reply)
{
    struct target *target = &gather->targets.items[index];
    uint32_t count;

    if (!are_rows(gather, target, reply->rows, &count) ||
        (reply->next.size && same_cursor(&reply->next, &target->cursor)) ||
        (is_summed(gather) && target->part.size + reply->rows.size > LOOK_PAGE_BYTES_MAX)) {
        close_target(gather, target, SHERD_LOOK_FAILED);
        return;
    }
    target->wall_ms = reply->wall_ms;
    target->is_busy = false;
    if (is_ordered(gather)) {
        put_ordered(gather, index, reply->rows);
        target->cursor = reply->next;
        if (!reply->next.size)
            close_target(gather, target, SHERD_LOOK_OK);
        return;
    }
    buf_put_slice(&target->part, reply->rows);
    target->part_rows = count;
    if (is_summed(gather) && reply->next.size) {
        target->cursor = reply->next;
        return;
    }
    target->has_part = true;
    target->after = reply->next;
}

bool gather_reply(struct gather *gather, uint64_t now, const struct node_id *from,
                  const struct look_reply *reply)
{
    uint32_t at = 0;
    struct target *target;

    while (at < gather->targets.count && (gather->targets.items[at].id != reply->id ||
                                          gather->targets.items[at].node.uid != from->uid))
        at++;
    if (at == gather->targets.count || !reply->id)
        return false;
    target = &gather->targets.items[at];
    close_request(gather, target);
    switch (reply->error) {
    case LOOK_ERROR_NONE:
        take_part(gather, at, reply);
        break;
    case LOOK_ERROR_BUSY:
        target->is_busy = true;
        target->again_at = now + AGAIN_PAUSE;
        break;
    case LOOK_ERROR_KIND:
        close_target(gather, target, SHERD_LOOK_OLD);
        break;
    case LOOK_ERROR_CURSOR:
        close_target(gather, target, SHERD_LOOK_FAILED);
        break;
    }
    advance(gather, now);
    return true;
}

void gather_later(struct gather *gather, uint64_t now, uint64_t id)
{
    for (uint32_t i = 0; i < gather->targets.count; i++) {
        struct target *target = &gather->targets.items[i];

        if (!id || target->id != id)
            continue;
        close_request(gather, target);
        target->again_at = now + AGAIN_PAUSE;
    }
}

void gather_failed(struct gather *gather, uint64_t now, uint64_t uid, enum sherd_look_state state)
{
    for (uint32_t i = 0; i < gather->targets.count; i++)
        if (gather->targets.items[i].node.uid == uid &&
            gather->targets.items[i].state == LOOK_ASKED)
            close_target(gather, &gather->targets.items[i], state);
    advance(gather, now);
}

void gather_gone(struct gather *gather, uint64_t now, uint64_t uid)
{
    gather_failed(gather, now, uid, SHERD_LOOK_GONE);
}

void gather_tick(struct gather *gather, uint64_t now)
{
    advance(gather, now);
}

uint64_t gather_deadline(const struct gather *gather)
{
    uint64_t deadline = gather->deadline;
    uint32_t last = window_end(gather);

    if (gather->is_done)
        return NEVER;
    for (uint32_t i = gather->head; i < last; i++) {
        const struct target *target = &gather->targets.items[i];

        /* a node that was asked ahead may answer until its turn comes */
        bool has_turn = is_ordered(gather) || i == gather->head;

        if (target->state != LOOK_ASKED || target->has_part)
            continue;
        if (has_turn && target->until && target->until < deadline)
            deadline = target->until;
        if (is_asked_again(target) && target->again_at < deadline)
            deadline = target->again_at;
    }
    return deadline;
}

bool gather_is_done(const struct gather *gather)
{
    return gather->is_done;
}

size_t gather_bytes(const struct gather *gather)
{
    size_t bytes = gather->rows.bytes.size;

    for (uint32_t i = 0; i < gather->targets.count; i++)
        bytes += gather->targets.items[i].part.size;
    for (uint32_t i = 0; i < gather->top.items.count; i++)
        bytes += ((struct best *)(uintptr_t)gather->top.items.items[i].value)->size;
    return bytes;
}

uint32_t gather_asked(const struct gather *gather)
{
    return gather->asked;
}

void gather_page(struct gather *gather, struct sherd_look_page *page)
{
    struct sherd_look_part *part;

    check(gather->is_done);
    mem_free(gather->parts);
    gather->parts = mem_alloc((gather->targets.count + 1) * sizeof *gather->parts);
    *page = (struct sherd_look_page){
        .kind = gather->kind,
        .row_count = gather->places.count,
        .parts = gather->parts,
        .next = { gather->next, gather->next_size },
    };
    for (uint32_t i = 0; i < gather->targets.count; i++) {
        struct target *target = &gather->targets.items[i];

        if (!target->is_in_page)
            continue;
        target->part_index = page->part_count;
        part = &gather->parts[page->part_count++];
        (void)address_text(&target->node.address, part->address, sizeof part->address);
        part->uid = target->node.uid;
        part->state = target->state == LOOK_ASKED ? SHERD_LOOK_OK : target->state;
        part->row_count = target->rows;
        part->wall_ms = target->wall_ms;
        page->is_partial = page->is_partial || part->state != SHERD_LOOK_OK;
    }
    for (uint32_t i = 0; i < gather->places.count; i++)
        gather->places.items[i].part =
            gather->targets.items[gather->places.items[i].target].part_index;
    gather->memory = (struct page_memory){ gather->kind, buf_slice(&gather->rows.bytes),
                                           gather->places.items, gather->places.count };
    page->memory = &gather->memory;
}
