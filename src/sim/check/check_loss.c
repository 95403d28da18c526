/* Remembers the events that each node knows as stored, and the shards whose loss it must notice. */
#include "sim/check/check_loss.h"

#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "base/map.h"
#include "base/vec.h"
#include "sim/world/verdict.h"

/* The confirmed events of one entity on a node. */
struct confirmed {
    uint32_t node;
    uint64_t last;
    struct slice id;    /* own copy, as is the next */
    struct slice shard; /* key of its shard on the node */
};

/* An append on its way. */
struct asked {
    const struct journal_request *request;
    uint32_t node;
    bool is_old; /* of before the last loss */
};

/* A shard of a node whose server lost events that this node knew. */
struct lost_shard {
    /* How far its position is below the one that the node knew, at least. At 0 other nodes may have
     * written as much since, and the position proves nothing any more. */
    uint64_t missing;
};

struct check_loss {
    struct verdict *verdict;
    struct map confirmed; /* node and persistence id -> struct confirmed */
    struct map lost;      /* node, type and shard -> struct lost_shard */
    struct map durable;   /* persistence id -> uint64_t: its last event */
    VEC(struct asked) asked; /* without an answer */
    struct buf key;
    struct check_loss_counts counts;
};

struct check_loss *check_loss_new(struct verdict *verdict)
{
    struct check_loss *check = mem_alloc(sizeof *check);

    check->verdict = verdict;
    return check;
}

static void free_confirmed(struct confirmed *confirmed)
{
    mem_free((void *)(uintptr_t)confirmed->id.data);
    mem_free((void *)(uintptr_t)confirmed->shard.data);
    mem_free(confirmed);
}

void check_loss_free(struct check_loss *check)
{
    struct map_entry entry;

    if (!check)
        return;
    for (uint32_t at = 0; map_next(&check->confirmed, &at, &entry);)
        free_confirmed(entry.value);
    map_fini(&check->confirmed);
    for (uint32_t at = 0; map_next(&check->lost, &at, &entry);)
        mem_free(entry.value);
    map_fini(&check->lost);
    for (uint32_t at = 0; map_next(&check->durable, &at, &entry);)
        mem_free(entry.value);
    map_fini(&check->durable);
    vec_fini(&check->asked);
    buf_fini(&check->key);
    mem_free(check);
}

struct check_loss_counts check_loss_counts(const struct check_loss *check)
{
    return check->counts;
}

static struct slice key_of(struct check_loss *check, uint32_t node, struct slice first,
                           struct slice second)
{
    buf_clear(&check->key);
    buf_put_u32(&check->key, node);
    buf_put_u32(&check->key, (uint32_t)first.size);
    buf_put_slice(&check->key, first);
    buf_put_slice(&check->key, second);
    return buf_slice(&check->key);
}

static struct slice shard_key(struct check_loss *check, uint32_t node,
                              const struct journal_request *request,
                              const struct backend_shard *shard)
{
    return key_of(check, node, backend_slice(request, shard->type),
                  backend_slice(request, shard->shard));
}

static uint64_t *durable_of(struct check_loss *check, struct slice id)
{
    uint64_t *last = map_get(&check->durable, id);

    if (!last) {
        last = mem_alloc(sizeof *last);
        (void)map_put(&check->durable, id, last); /* was absent */
    }
    return last;
}

/* The node must notice a loss of the shard. */
static struct lost_shard *must_notice(struct check_loss *check, struct slice shard)
{
    struct lost_shard *lost = map_get(&check->lost, shard);

    if (!lost) {
        lost = mem_alloc(sizeof *lost);
        (void)map_put(&check->lost, shard, lost); /* was absent */
    }
    return lost;
}

/* An event that was lost while its confirmation was on its way is one of the lost ones. */
static void confirm(struct check_loss *check, uint32_t node, const struct journal_request *request,
                    const struct backend_record *record, bool is_old)
{
    const struct backend_entity *entity = &request->entities.items[record->entity];
    struct slice id = backend_slice(request, entity->id);
    struct slice key = key_of(check, node, id, (struct slice){ 0 });
    struct confirmed *confirmed = map_get(&check->confirmed, key);

    if (!confirmed) {
        confirmed = mem_alloc(sizeof *confirmed);
        confirmed->node = node;
        confirmed->id = slice_of(mem_copy(id.data, id.size), id.size);
        (void)map_put(&check->confirmed, key, confirmed); /* was absent */
    }
    mem_free((void *)(uintptr_t)confirmed->shard.data);
    key = shard_key(check, node, request, &request->shards.items[entity->shard]);
    confirmed->shard = slice_of(mem_copy(key.data, key.size), key.size);
    confirmed->last = record->seq;
    if (is_old && *durable_of(check, id) < record->seq) {
        confirmed->last = *durable_of(check, id);
        (void)must_notice(check, confirmed->shard); /* others may have written since */
    }
}

/* Another node may write these records, so the positions of the shards may rise by their number. */
static void count_written(struct check_loss *check, uint32_t node,
                          const struct journal_request *request)
{
    struct map_entry entry;

    for (uint32_t i = 0; i < request->records.count && check->lost.count; i++) {
        const struct backend_entity *entity =
            &request->entities.items[request->records.items[i].entity];
        struct slice key =
            shard_key(check, node, request, &request->shards.items[entity->shard]);

        for (uint32_t at = 0; map_next(&check->lost, &at, &entry);) {
            struct lost_shard *lost = entry.value;
            bool is_same = entry.key.size == key.size &&
                           memcmp(entry.key.data + 4, key.data + 4, key.size - 4) == 0;
            bool is_other = is_same && memcmp(entry.key.data, key.data, 4) != 0;

            lost->missing -= is_other && lost->missing > 0;
        }
    }
}

static void asked(void *user, uint32_t node, const struct journal_request *request)
{
    struct check_loss *check = user;

    if (request->verb != BACKEND_APPEND)
        return;
    vec_push(&check->asked, ((struct asked){ request, node, false }));
    count_written(check, node, request);
}

/* Tells whether the last loss was after it. */
static bool take_asked(struct check_loss *check, const struct journal_request *request)
{
    bool is_old = false;

    for (uint32_t i = 0; i < check->asked.count; i++)
        if (check->asked.items[i].request == request) {
            is_old = check->asked.items[i].is_old;
            vec_remove(&check->asked, i);
            break;
        }
    return is_old;
}

static void append_answered(struct check_loss *check, uint32_t node,
                            const struct journal_request *request)
{
    bool is_old = take_asked(check, request);

    for (uint32_t i = 0; i < request->shards.count; i++) {
        const struct backend_shard *shard = &request->shards.items[i];
        const struct lost_shard *lost = map_get(&check->lost, shard_key(check, node, request, shard));
        struct slice name = backend_slice(request, shard->shard);

        if (!lost || (is_old && shard->result != BACKEND_FENCED))
            continue; /* an old one may have been written before */
        if (shard->result == BACKEND_FENCED)
            check->counts.noticed++;
        else if (shard->result != BACKEND_DONE)
            continue;
        if (shard->result == BACKEND_DONE)
            violation(check->verdict, "loss-detected", node,
                      "shard %.*s goes on, although the server lost events of it that it had confirmed",
                      (int)name.size, (const char *)name.data);
        else if (!is_old && lost->missing && !request->error[0])
            violation(check->verdict, "loss-detected", node,
                      "shard %.*s was refused without a word, although the server lost events of it that "
                      "it had confirmed",
                      (int)name.size, (const char *)name.data);
        mem_free(map_take(&check->lost, shard_key(check, node, request, shard)));
    }
    for (uint32_t i = 0; i < request->records.count; i++) {
        const struct backend_record *record = &request->records.items[i];

        if (request->entities.items[record->entity].result == BACKEND_DONE)
            confirm(check, node, request, record, is_old);
    }
}

static void answered(void *user, uint32_t node, const struct journal_request *request)
{
    struct check_loss *check = user;
    struct slice key;

    if (request->verb == BACKEND_APPEND) {
        append_answered(check, node, request);
    } else if (request->verb == BACKEND_CLAIM && request->result == BACKEND_DONE) {
        key = key_of(check, node, backend_slice(request, request->type),
                     backend_slice(request, request->shard));
        mem_free(map_take(&check->lost, key));
    }
}

static void node_gone(void *user, uint32_t node)
{
    struct check_loss *check = user;
    struct map_entry entry;

    for (uint32_t i = 0; i < check->asked.count;)
        if (check->asked.items[i].node == node)
            vec_remove(&check->asked, i);
        else
            i++;
    for (uint32_t at = 0; map_next(&check->confirmed, &at, &entry);) {
        struct confirmed *confirmed = entry.value;
        struct slice key;

        if (confirmed->node != node)
            continue;
        mem_free(map_take(&check->lost, confirmed->shard));
        key = key_of(check, node, confirmed->id, (struct slice){ 0 });
        (void)map_take(&check->confirmed, key);
        free_confirmed(confirmed);
    }
}

static void committed(void *user, const struct book *book, struct journal_request *const *requests,
                      uint32_t count)
{
    struct check_loss *check = user;

    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; requests[i]->verb == BACKEND_APPEND && k < requests[i]->entities.count; k++) {
            struct slice id = backend_slice(requests[i], requests[i]->entities.items[k].id);

            *durable_of(check, id) = book_last(book, id);
        }
}

static void rewound(void *user, const struct book *book)
{
    struct check_loss *check = user;
    struct map_entry entry;

    for (uint32_t i = 0; i < check->asked.count; i++)
        check->asked.items[i].is_old = true;
    for (uint32_t at = 0; map_next(&check->confirmed, &at, &entry);) {
        struct confirmed *confirmed = entry.value;
        uint64_t found = book_last(book, confirmed->id);

        if (confirmed->last <= found)
            continue;
        must_notice(check, confirmed->shard)->missing += confirmed->last - found;
        confirmed->last = found;
        check->counts.lost++;
    }
    for (uint32_t at = 0; map_next(&check->durable, &at, &entry);)
        *(uint64_t *)entry.value = book_last(book, entry.key);
    for (uint32_t i = 0; i < check->asked.count; i++)
        count_written(check, check->asked.items[i].node, check->asked.items[i].request);
}

struct disk_backend_observer check_loss_observer(struct check_loss *check)
{
    return (struct disk_backend_observer){
        .user = check, .asked = asked, .answered = answered, .committed = committed, .node_gone = node_gone,
        .rewound = rewound };
}
