/* The last replay of each entity at each node, until an entity starts from it. */
#include "sim/check_recovery.h"

#include <inttypes.h>

#include "base/check.h"
#include "base/map.h"
#include "sim/verdict.h"

struct replay {
    uint32_t node;
    uint64_t events; /* that it had */
};

struct check_recovery {
    struct verdict *verdict;
    struct map replays; /* node and persistence id -> struct replay */
    struct buf key;
};

struct check_recovery *check_recovery_new(struct verdict *verdict)
{
    struct check_recovery *check = mem_alloc(sizeof *check);

    check->verdict = verdict;
    return check;
}

void check_recovery_free(struct check_recovery *check)
{
    struct map_entry entry;

    if (!check)
        return;
    for (uint32_t at = 0; map_next(&check->replays, &at, &entry);)
        mem_free(entry.value);
    map_fini(&check->replays);
    buf_fini(&check->key);
    mem_free(check);
}

/* Takes out the replay of that key; null when there is none. The caller's. */
static struct replay *take(struct check_recovery *check)
{
    return map_take(&check->replays, buf_slice(&check->key));
}

static void begin_key(struct check_recovery *check, uint32_t node)
{
    buf_clear(&check->key);
    buf_put_u32(&check->key, node);
}

/* The last chunk tells how many there are; one that failed, nothing. */
static void answered(void *user, uint32_t node,
                     const struct store_request *request)
{
    struct check_recovery *check = user;
    struct replay *replay;

    if (request->verb != STORE_REPLAY)
        return;
    begin_key(check, node);
    buf_put_slice(&check->key, store_slice(request, request->id));
    mem_free(take(check)); /* nobody starts from an earlier one any more */
    if (request->result != STORE_DONE || request->more)
        return;
    replay = mem_alloc(sizeof *replay);
    replay->node = node;
    replay->events = request->from - 1 + request->records.count;
    (void)map_put(&check->replays, buf_slice(&check->key),
                  replay); /* was taken out */
}

static void node_gone(void *user, uint32_t node)
{
    struct check_recovery *check = user;
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&check->replays, &at, &entry);)
        if (((struct replay *)entry.value)->node == node)
            mem_free(map_take(&check->replays, entry.key));
}

struct disk_store_observer check_recovery_observer(struct check_recovery *check)
{
    return (struct disk_store_observer){ .user = check,
                                         .answered = answered,
                                         .node_gone = node_gone };
}

void check_recovery_started(struct check_recovery *check, uint32_t node,
                            const char *type, const char *id, uint64_t events)
{
    struct replay *replay;

    begin_key(check, node);
    buf_put_text(&check->key, type);
    buf_put_u8(&check->key, '|');
    buf_put_text(&check->key, id);
    replay = take(check);
    if (!replay)
        violation(check->verdict, "I4", node,
                  "%s of %s starts with %" PRIu64 " events and has had no "
                  "replay",
                  id, type, events);
    else if (replay->events != events)
        violation(check->verdict, "I4", node,
                  "%s of %s recovered with %" PRIu64 " events, its replay "
                  "had %" PRIu64,
                  id, type, events, replay->events);
    mem_free(replay);
}
