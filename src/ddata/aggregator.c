/* Chooses the replicas that a write or read asks, and when it asks them. */
#include "base/bound.h"
#include "base/check.h"
#include "base/limits.h"
#include "ddata/replicator_inside.h"

#define DIGIT_BITS 6
#define NAME_SIZE_MAX 16
#define TIMERS_SPARE 64 /* ended timers are dropped only above this */
#define TIMEOUT_MS_LONGEST (UINT64_C(24) * 3600 * 1000)

/* Akka's names of anonymous actors, so that paths look like Akka's. */
static const char digits[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+~";

uint32_t consistency_majority(uint32_t cap_min, uint32_t count,
                              uint32_t additional)
{
    uint64_t majority = (uint64_t)count / 2 + 1 + additional;

    if (majority < cap_min)
        majority = cap_min;
    return majority < count ? (uint32_t)majority : count;
}

bool is_local(const struct replicator *replicator,
              const struct consistency *consistency)
{
    switch (consistency->level) {
    case CONSISTENCY_LOCAL:
        return true;
    case CONSISTENCY_COUNT:
        return consistency->count < 2;
    case CONSISTENCY_MAJORITY:
    case CONSISTENCY_ALL:
        return !replicator->replicas.up_count;
    case CONSISTENCY_MAJORITY_PLUS:
        break;
    }
    return false;
}

static int64_t missing_allowed(const struct consistency *consistency,
                               uint32_t count)
{
    uint32_t all = count + 1;

    switch (consistency->level) {
    case CONSISTENCY_COUNT:
        return (int64_t)count - ((int64_t)consistency->count - 1);
    case CONSISTENCY_MAJORITY:
        return all - consistency_majority(consistency->cap_min, all, 0);
    case CONSISTENCY_MAJORITY_PLUS:
        return all - consistency_majority(consistency->cap_min, all,
                                          consistency->count);
    case CONSISTENCY_LOCAL:
    case CONSISTENCY_ALL:
        break;
    }
    return 0;
}

typedef VEC(const struct replica *) replica_list;

static void shuffle(struct rng *rng, const struct replica **items,
                    uint32_t count)
{
    for (uint32_t i = count; i > 1; i--) {
        uint32_t other = (uint32_t)rng_below(rng, i);
        const struct replica *item = items[i - 1];

        items[i - 1] = items[other];
        items[other] = item;
    }
}

/* Oldest first. */
static void sort_by_age(const struct replica **items, uint32_t count)
{
    const struct replica **sorted = mem_alloc(count * sizeof *sorted);

    for (uint32_t width = 1; width < count; width *= 2) {
        for (uint32_t start = 0; start < count; start += 2 * width) {
            uint32_t middle = start + width < count ? start + width : count;
            uint32_t end = middle + width < count ? middle + width : count;
            uint32_t left = start;
            uint32_t right = middle;

            for (uint32_t to = start; to < end; to++)
                sorted[to] =
                    left < middle &&
                            (right == end ||
                             kept_member_compare_age(&items[left]->peer,
                                                     &items[right]->peer) <= 0)
                        ? items[left++]
                        : items[right++];
        }
        memcpy(items, sorted, count * sizeof *items);
    }
    mem_free(sorted);
}

/* The replicas that count, reachable ones first. */
static void list_replicas(struct replicator *replicator,
                          const struct consistency *consistency,
                          bool is_ordered, replica_list *list)
{
    const struct replicas *replicas = &replicator->replicas;
    bool without_exiting = consistency->level == CONSISTENCY_MAJORITY_PLUS ||
                           consistency->level == CONSISTENCY_ALL;
    uint32_t reachable_count = 0;

    for (int reachable = 1; reachable >= 0; reachable--) {
        for (uint32_t i = 0; i < replicas->items.count; i++) {
            const struct replica *replica = &replicas->items.items[i];

            if (replica->group != REPLICA_UP ||
                replica->is_reachable != (bool)reachable ||
                (without_exiting && replica->peer.status == MEMBER_EXITING))
                continue;
            vec_push(list, replica);
        }
        if (reachable)
            reachable_count = list->count;
    }
    if (!list->count)
        return;
    if (replicator->settings.prefer_oldest) {
        sort_by_age(list->items, reachable_count);
        sort_by_age(list->items + reachable_count,
                    list->count - reachable_count);
    } else if (!is_ordered) {
        shuffle(&replicator->rng, list->items, reachable_count);
        shuffle(&replicator->rng, list->items + reachable_count,
                list->count - reachable_count);
    }
}

static uint64_t size_of(const struct aggregator *aggregator)
{
    return sizeof *aggregator + aggregator->key.size +
           aggregator->count * sizeof *aggregator->targets;
}

bool aggregator_has_room(const struct replicator *replicator)
{
    return replicator->aggregators.count < REPLICATOR_AGGREGATORS_MAX &&
           replicator->aggregator_bytes +
                   replicator->replicas.up_count * sizeof(struct target) <=
               REPLICATOR_AGGREGATOR_BYTES_MAX;
}

static void choose_targets(struct aggregator *aggregator,
                           const replica_list *list)
{
    int64_t primary = (int64_t)list->count - aggregator->done_when;

    aggregator->count = aggregator->remaining = aggregator->silent =
        list->count;
    aggregator->targets = mem_alloc(list->count * sizeof *aggregator->targets);
    for (uint32_t i = 0; i < list->count; i++)
        aggregator->targets[i].node = kept_member_node(&list->items[i]->peer);
    if (primary < 0)
        primary = 0;
    if (primary > list->count)
        primary = list->count;
    aggregator->primary_count = (uint32_t)primary;
    aggregator->secondary_count = list->count - aggregator->primary_count;
    if (aggregator->secondary_count > REPLICATOR_SECONDARIES_MAX)
        aggregator->secondary_count = REPLICATOR_SECONDARIES_MAX;
}

struct aggregator *aggregator_new(struct replicator *replicator, uint64_t now,
                                  uint64_t token, struct slice key,
                                  const struct consistency *consistency,
                                  bool is_ordered)
{
    uint64_t timeout = consistency->timeout_ms < TIMEOUT_MS_LONGEST
                           ? consistency->timeout_ms
                           : TIMEOUT_MS_LONGEST;
    struct aggregator *aggregator;
    replica_list list = { 0 };

    if (!aggregator_has_room(replicator))
        return NULL;
    aggregator = mem_alloc(sizeof *aggregator);
    aggregator->id = replicator->aggregator_id++;
    aggregator->token = token;
    aggregator->key = slice_of(mem_copy(key.data, key.size), key.size);
    list_replicas(replicator, consistency, is_ordered, &list);
    /* This replica always counts, but cannot answer for a damaged key: one more must answer. */
    aggregator->done_when = missing_allowed(consistency, list.count) -
                            key_is_held(replicator, key);
    choose_targets(aggregator, &list);
    vec_fini(&list);
    (void)map_put(&replicator->aggregators, map_u64(&aggregator->id),
                  aggregator);
    replicator->aggregator_bytes += size_of(aggregator);
    BOUNDED("writes and reads of replicas", replicator->aggregators.count,
            REPLICATOR_AGGREGATORS_MAX);
    timers_put(&replicator->timers, now + timeout * MS / 5, TIMER_SECONDARY,
               aggregator->id, 0);
    timers_put(&replicator->timers, now + timeout * MS, TIMER_TIMEOUT,
               aggregator->id, 0);
    return aggregator;
}

static void free_aggregator(struct aggregator *aggregator)
{
    mem_free(aggregator->targets);
    mem_free((void *)(uintptr_t)aggregator->key.data);
    mem_free(aggregator);
}

static bool is_wanted(const void *owner, const struct timer *timer)
{
    return (timer->kind != TIMER_SECONDARY && timer->kind != TIMER_TIMEOUT) ||
           aggregator_by_id(owner, timer->id);
}

/* Time-outs may be an hour away, so ended timers are dropped when they are about half of all. */
void aggregator_end(struct replicator *replicator,
                    struct aggregator *aggregator)
{
    replicator->aggregator_bytes -= size_of(aggregator);
    (void)map_take(&replicator->aggregators, map_u64(&aggregator->id));
    free_aggregator(aggregator);
    if (replicator->timers.count >
        4 * replicator->aggregators.count + TIMERS_SPARE)
        timers_keep(&replicator->timers, is_wanted, replicator);
}

void aggregators_fini(struct replicator *replicator)
{
    struct map_entry entry;
    uint32_t at = 0;

    while (map_next(&replicator->aggregators, &at, &entry))
        free_aggregator(entry.value);
    map_fini(&replicator->aggregators);
}

/* "$" and the number, its lowest digit first. */
static struct slice name_of(uint64_t id, char name[NAME_SIZE_MAX])
{
    size_t size = 0;

    name[size++] = '$';
    do {
        name[size++] = digits[id & ((1 << DIGIT_BITS) - 1)];
        id >>= DIGIT_BITS;
    } while (id);
    return slice_of(name, size);
}

static bool id_of(struct slice name, uint64_t *id)
{
    *id = 0;
    if (name.size < 2 || name.size > NAME_SIZE_MAX - 4 || name.data[0] != '$')
        return false;
    for (size_t i = name.size; i-- > 1;) {
        const char *digit =
            name.data[i] ? strchr(digits, name.data[i]) : NULL;

        if (!digit)
            return false;
        *id = *id << DIGIT_BITS | (uint64_t)(digit - digits);
    }
    return true;
}

struct aggregator *aggregator_by_id(const struct replicator *replicator,
                                    uint64_t id)
{
    return map_get(&replicator->aggregators, map_u64(&id));
}

bool aggregator_id_of(const struct replicator *replicator, struct slice path,
                      uint64_t *id)
{
    struct slice own = path_plain(buf_slice(&replicator->path));

    return path.size > own.size + 1 &&
           memcmp(path.data, own.data, own.size) == 0 &&
           path.data[own.size] == '/' &&
           id_of(slice_of(path.data + own.size + 1, path.size - own.size - 1),
                 id);
}

struct aggregator *aggregator_of(const struct replicator *replicator,
                                 struct slice recipient)
{
    uint64_t id;

    return aggregator_id_of(replicator, recipient, &id)
               ? aggregator_by_id(replicator, id)
               : NULL;
}

/* Answers name the replica only by address. */
struct target *aggregator_target(const struct aggregator *aggregator,
                                 const struct address *address)
{
    for (uint32_t i = 0; i < aggregator->count; i++)
        if (address_equal(&aggregator->targets[i].node.address, address))
            return &aggregator->targets[i];
    return NULL;
}

void aggregator_done(struct aggregator *aggregator, struct target *target)
{
    if (target->is_done)
        return;
    target->is_done = true;
    aggregator->remaining--;
    if (!target->has_nacked)
        aggregator->silent--;
}

bool aggregator_lacks_nodes(const struct aggregator *aggregator)
{
    return aggregator->done_when < 0 ||
           (int64_t)aggregator->count < aggregator->done_when;
}

void aggregator_path_put(const struct replicator *replicator,
                         const struct aggregator *aggregator, struct buf *path)
{
    char name[NAME_SIZE_MAX];

    buf_put_slice(path, path_plain(buf_slice(&replicator->path)));
    buf_put_u8(path, '/');
    buf_put_slice(path, name_of(aggregator->id, name));
}
