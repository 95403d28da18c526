/* Records the homes of each coordinator, its writes, and the confirmed ones among them. */
#include "sim/check/check_state_store.h"

#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "base/vec.h"
#include "shard/stored.h"
#include "sim/seed/shard_text.h"
#include "sim/world/verdict.h"

#define READ_WHOLE 2048 /* bytes: a larger state is read once in SAMPLE writes */
#define SAMPLE 8

struct stored_fence {
    int32_t shard;
    struct fence fence;
};

typedef VEC(struct stored_fence) fence_list;

/* A type's coordinator at a node. */
struct part {
    uint64_t life;      /* number of the coordinator, over all nodes */
    uint32_t homes;     /* number of its homes */
    uint64_t changes;   /* of homes and their fences, so far */
    uint64_t stored;    /* confirmed up to this change */
    uint64_t sent;      /* change of the write in flight */
    uint64_t ticket;    /* of that write */
    uint64_t writes;
    bool is_first;      /* nothing was sent since the read */
    bool is_read;       /* read_fences are what it read */
    uint32_t fences;    /* of its last confirmed write that was read */
    uint64_t read_term;
    uint64_t sent_term; /* 0: that write was not read */
    struct buf state;   /* of that write, until its fences arrive */
    fence_list read_fences;
    fence_list sent_fences;
};

/* void in another incarnation of the coordinator */
struct home {
    uint64_t life;
    uint64_t change; /* its last one; 0: unchanged since the read */
    bool is_there;
    struct fence fence;
};

struct check_state_store {
    struct verdict *verdict;
    const struct check_safety *safety;
    struct map parts;  /* node, type */
    struct map homes;  /* node, shard */
    struct map fences; /* shard: last confirmed, inside */
    struct map terms;  /* type: last confirmed, inside */
    uint64_t life;
    struct check_state_store_counts counts;
};

struct check_state_store *check_state_store_new(struct verdict *verdict,
                                                const struct check_safety *safety)
{
    struct check_state_store *check = mem_alloc(sizeof *check);

    check->verdict = verdict;
    check->safety = safety;
    return check;
}

static void part_reset(struct part *part, uint64_t life)
{
    buf_fini(&part->state);
    vec_fini(&part->read_fences);
    vec_fini(&part->sent_fences);
    *part = (struct part){ .life = life, .is_first = true };
}

void check_state_store_free(struct check_state_store *check)
{
    struct map_entry entry;

    if (!check)
        return;
    for (uint32_t at = 0; map_next(&check->parts, &at, &entry);)
        part_reset(entry.value, 0);
    facts_fini(&check->parts);
    facts_fini(&check->homes);
    facts_fini(&check->fences);
    facts_fini(&check->terms);
    mem_free(check);
}

static struct part *part_of(struct check_state_store *check, uint32_t node,
                            uint16_t type)
{
    return facts_of(&check->parts, (struct fact_key){ { node, type } },
                    sizeof(struct part));
}

static struct home *home_of(struct check_state_store *check, uint32_t node,
                            uint16_t type, int32_t shard)
{
    struct home *home = facts_of(
        &check->homes,
        (struct fact_key){ { node, fact_shard(type, shard) } }, sizeof *home);
    uint64_t life = part_of(check, node, type)->life;

    if (home->life != life)
        *home = (struct home){ .life = life };
    return home;
}

void check_state_store_node_started(struct check_state_store *check, uint32_t node)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&check->parts, &at, &entry);) {
        uint64_t of;

        memcpy(&of, entry.key.data, sizeof of);
        if (of == node)
            part_reset(entry.value, ++check->life);
    }
}

static const struct fence *find(const fence_list *list, int32_t shard)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->items[i].shard == shard)
            return &list->items[i].fence;
    return NULL;
}

static bool is_outside(const struct check_state_store *check, uint32_t node)
{
    return check->safety && check->safety->outside[node];
}

/* ---- homes of a coordinator ---- */

/* An unchanged entry need not be written. */
static uint64_t change_of(struct part *part, const struct probe *probe)
{
    const struct fence *read =
        part->is_read && part->is_first ? find(&part->read_fences, probe->shard)
                                        : NULL;

    return read && fence_compare(*read, probe->fence) == 0 ? 0
                                                           : ++part->changes;
}

static void home_set(struct check_state_store *check, uint32_t node,
                     const struct probe *probe)
{
    struct part *part = part_of(check, node, probe->type);
    struct home *home = home_of(check, node, probe->type, probe->shard);

    part->homes += !home->is_there;
    home->is_there = true;
    home->fence = probe->fence;
    home->change = change_of(part, probe);
}

static void home_ended(struct check_state_store *check, uint32_t node,
                       const struct probe *probe)
{
    struct part *part = part_of(check, node, probe->type);
    struct home *home = home_of(check, node, probe->type, probe->shard);

    part->homes -= home->is_there;
    home->is_there = false;
    home->change = ++part->changes;
}

static void home_told(struct check_state_store *check, uint32_t node,
                      const struct probe *probe)
{
    const struct part *part = part_of(check, node, probe->type);
    const struct home *home = home_of(check, node, probe->type, probe->shard);

    check->counts.told++;
    if (!home->is_there || fence_compare(home->fence, probe->fence) != 0 ||
        home->change > part->stored)
        violation(check->verdict, "coordinator-state", node,
                  "type %u shard %d: its home under %" PRIu64 ".%" PRIu64
                  " is told and is not stored: change %" PRIu64 " of %" PRIu64,
                  probe->type, probe->shard, probe->fence.term,
                  probe->fence.epoch, home->change, part->stored);
}

/* ---- bytes ---- */

static void take_fences(fence_list *list, const struct stored *stored)
{
    list->count = 0;
    for (uint32_t i = 0; i < stored->fence_count; i++) {
        struct stored_fence fence = { .fence = stored->fences[i].fence };

        if (sim_shard_number(stored->fences[i].shard, &fence.shard))
            vec_push(list, fence);
    }
}

static void was_read(struct check_state_store *check, uint32_t node,
                     const struct probe *probe)
{
    struct part *part = part_of(check, node, probe->type);
    struct stored stored;

    check->counts.reads++;
    if (!stored_read(&stored, slice_of(NULL, 0), probe->bytes))
        return; /* made anew */
    take_fences(&part->read_fences, &stored);
    part->read_term = stored.term;
    part->is_read = true;
    stored_fini(&stored);
}

static void judge_homes(struct check_state_store *check, uint32_t node,
                        const struct probe *probe, const struct stored *stored)
{
    const struct part *part = part_of(check, node, probe->type);
    uint32_t missing = 0;

    for (uint32_t i = 0; i < stored->home_count; i++) {
        int32_t shard = INT32_MIN;

        (void)sim_shard_number(stored->homes[i].shard, &shard); /* else it stays none */
        missing += !home_of(check, node, probe->type, shard)->is_there;
    }
    if (missing || stored->home_count != part->homes)
        violation(check->verdict, "coordinator-state", node,
                  "type %u: a coordinator with %u homes stores %u, %u of "
                  "which it has not",
                  probe->type, part->homes, stored->home_count, missing);
}

static void judge_fences(struct check_state_store *check, uint32_t node,
                         const struct probe *probe)
{
    const struct part *part = part_of(check, node, probe->type);

    for (uint32_t i = 0; i < part->sent_fences.count; i++) {
        const struct stored_fence *sent = &part->sent_fences.items[i];
        const struct home *home =
            home_of(check, node, probe->type, sent->shard);

        if (home->is_there && fence_compare(home->fence, sent->fence) != 0)
            violation(check->verdict, "coordinator-state", node,
                      "type %u shard %d: its home has fence %" PRIu64
                      ".%" PRIu64 ", %" PRIu64 ".%" PRIu64 " is to be stored",
                      probe->type, sent->shard, home->fence.term,
                      home->fence.epoch, sent->fence.term, sent->fence.epoch);
    }
}

static void judge_first(struct check_state_store *check, uint32_t node,
                        const struct probe *probe)
{
    const struct part *part = part_of(check, node, probe->type);

    if (part->sent_term <= part->read_term)
        violation(check->verdict, "coordinator-state", node,
                  "type %u: a coordinator of term %" PRIu64
                  " writes after it has read %" PRIu64,
                  probe->type, part->sent_term, part->read_term);
    for (uint32_t i = 0; i < part->read_fences.count; i++) {
        const struct stored_fence *read = &part->read_fences.items[i];
        const struct fence *sent = find(&part->sent_fences, read->shard);

        if (!sent || fence_compare(*sent, read->fence) < 0)
            violation(check->verdict, "coordinator-state", node,
                      "type %u shard %d: fence %" PRIu64 ".%" PRIu64
                      " was read, and %" PRIu64 ".%" PRIu64 " is written",
                      probe->type, read->shard, read->fence.term,
                      read->fence.epoch, sent ? sent->term : 0,
                      sent ? sent->epoch : 0);
    }
}

static void state_sent(struct check_state_store *check, uint32_t node,
                       const struct probe *probe)
{
    struct part *part = part_of(check, node, probe->type);

    part->ticket = probe->first;
    part->sent = part->changes;
    part->sent_term = 0;
    buf_clear(&part->state);
    buf_put_slice(&part->state, probe->bytes);
}

static void fences_sent(struct check_state_store *check, uint32_t node,
                        const struct probe *probe)
{
    struct part *part = part_of(check, node, probe->type);
    struct stored stored;
    bool is_looked_at = part->is_first || probe->bytes.size <= READ_WHOLE ||
                        part->writes % SAMPLE == 0;

    part->writes++;
    if (!is_looked_at || !probe->bytes.size)
        return;
    if (!stored_read(&stored, buf_slice(&part->state), probe->bytes)) {
        violation(check->verdict, "coordinator-state", node,
                  "type %u: what a coordinator stores cannot be read",
                  probe->type);
        return;
    }
    check->counts.decoded++;
    take_fences(&part->sent_fences, &stored);
    part->sent_term = stored.term;
    if (part->state.size)
        judge_homes(check, node, probe, &stored);
    judge_fences(check, node, probe);
    if (part->is_read && part->is_first)
        judge_first(check, node, probe);
    part->is_first = false;
    stored_fini(&stored);
}

/* ---- confirmed writes ---- */

static void fence_confirmed(struct check_state_store *check, uint32_t node,
                            const struct probe *probe,
                            const struct stored_fence *stored)
{
    struct fence *last = facts_of(
        &check->fences,
        (struct fact_key){ { fact_shard(probe->type, stored->shard) } },
        sizeof *last);

    if (fence_compare(stored->fence, *last) < 0)
        violation(check->verdict, "coordinator-state", node,
                  "type %u shard %d: fence %" PRIu64 ".%" PRIu64
                  " is stored after %" PRIu64 ".%" PRIu64,
                  probe->type, stored->shard, stored->fence.term,
                  stored->fence.epoch, last->term, last->epoch);
    *last = stored->fence;
}

static void state_stored(struct check_state_store *check, uint32_t node,
                         const struct probe *probe)
{
    struct part *part = part_of(check, node, probe->type);
    uint64_t *term = facts_of(&check->terms, (struct fact_key){ { probe->type } },
                              sizeof *term);

    check->counts.writes++;
    if (probe->first != part->ticket)
        violation(check->verdict, "coordinator-state", node,
                  "type %u: write %" PRIu64 " is confirmed, the last one is "
                  "%" PRIu64,
                  probe->type, probe->first, part->ticket);
    part->stored = part->sent;
    if (!part->sent_term || is_outside(check, node))
        return;
    if (part->sent_term < *term)
        violation(check->verdict, "coordinator-state", node,
                  "type %u: term %" PRIu64 " is stored after %" PRIu64,
                  probe->type, part->sent_term, *term);
    *term = part->sent_term;
    if (part->sent_fences.count < part->fences)
        violation(check->verdict, "coordinator-state", node,
                  "type %u: a coordinator that had stored %u fences has "
                  "stored %u",
                  probe->type, part->fences, part->sent_fences.count);
    part->fences = part->sent_fences.count;
    for (uint32_t i = 0; i < part->sent_fences.count; i++)
        fence_confirmed(check, node, probe, &part->sent_fences.items[i]);
}

void check_state_store_forget(struct check_state_store *check, uint16_t type)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&check->fences, &at, &entry);) {
        uint64_t of;

        memcpy(&of, entry.key.data, sizeof of);
        if (fact_shard_type(of) == type)
            *(struct fence *)entry.value = (struct fence){ 0 };
    }
}

/* ---- feeding ---- */

void check_state_store_probe(struct check_state_store *check, uint32_t node,
                             const struct probe *probe)
{
    switch (probe->kind) {
    case PROBE_COORDINATOR_STARTED:
        part_reset(part_of(check, node, probe->type), ++check->life);
        break;
    case PROBE_HOME_SET:
    case PROBE_HOME_FENCED:
        home_set(check, node, probe);
        break;
    case PROBE_HOME_ENDED:
        home_ended(check, node, probe);
        break;
    case PROBE_HOME_TOLD:
        home_told(check, node, probe);
        break;
    case PROBE_FENCES_READ:
        was_read(check, node, probe);
        break;
    case PROBE_STATE_SENT:
        state_sent(check, node, probe);
        break;
    case PROBE_FENCES_SENT:
        fences_sent(check, node, probe);
        break;
    case PROBE_STATE_STORED:
        state_stored(check, node, probe);
        break;
    default:
        break;
    }
}

struct check_state_store_counts
check_state_store_counts(const struct check_state_store *check)
{
    return check->counts;
}
