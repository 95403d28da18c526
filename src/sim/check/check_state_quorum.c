/* Records each coordinator's last request, and what the replicas had then. */
#include "sim/check/check_state_quorum.h"

#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "base/sort.h"
#include "base/vec.h"
#include "sim/world/verdict.h"

static const char *const key_names[KEPT_KEYS] = { "homes", "fences" };

/* A type's coordinator at a node. */
struct part {
    uint64_t sent; /* ticket of its last write; 0: none */
    int64_t sent_at[KEPT_KEYS]; /* CHECK_KEPT_NEVER: not in that write, or unknown */
    struct kept_quorum writers;
    uint64_t ends;  /* incarnations ended by then */
    uint64_t asked; /* ticket of its last read; 0: none */
    int64_t must[KEPT_KEYS]; /* it returns values of this time or later */
    bool is_bound; /* it returns the last confirmed fences */
};

struct last {
    bool is_there; /* else written is void */
    int64_t written; /* of the fences */
};

struct check_state_quorum {
    struct verdict *verdict;
    const struct check_safety *safety;
    struct kept_replicas replicas;
    struct map parts; /* node, type */
    struct map lasts; /* type */
    uint64_t ends;    /* ended incarnations */
    struct check_state_quorum_counts counts;
};

struct check_state_quorum *check_state_quorum_new(struct verdict *verdict,
                                  const struct check_safety *safety,
                                  const struct kept_replicas *replicas)
{
    struct check_state_quorum *check = mem_alloc(sizeof *check);

    check->verdict = verdict;
    check->safety = safety;
    check->replicas = *replicas;
    return check;
}

void check_state_quorum_free(struct check_state_quorum *check)
{
    if (!check)
        return;
    facts_fini(&check->parts);
    facts_fini(&check->lasts);
    mem_free(check);
}

static struct part *part_of(struct check_state_quorum *check, uint32_t node,
                            uint16_t type)
{
    return facts_of(&check->parts, (struct fact_key){ { node, type } },
                    sizeof(struct part));
}

static struct last *last_of(struct check_state_quorum *check, uint16_t type)
{
    return facts_of(&check->lasts, (struct fact_key){ { type } },
                    sizeof(struct last));
}

/* Its requests get no answer any more, and the next incarnation's tickets begin anew. */
void check_state_quorum_node_ended(struct check_state_quorum *check, uint32_t node)
{
    struct map_entry entry;

    check->ends++;
    for (uint32_t at = 0; map_next(&check->parts, &at, &entry);) {
        uint64_t of;

        memcpy(&of, entry.key.data, sizeof of);
        if (of == node)
            *(struct part *)entry.value = (struct part){ .sent = 0 };
    }
}

static struct kept_value value_of(const struct check_state_quorum *check, uint32_t node,
                                  uint16_t type, enum kept_key key)
{
    return check->replicas.value(check->replicas.user, node, type, key);
}

static struct kept_quorum quorum_of(const struct check_state_quorum *check,
                                    uint32_t node, bool is_read)
{
    return check->replicas.quorum(check->replicas.user, node, is_read);
}

/* ---- writes ---- */

/* Its own replica has it at once, unless a later value of another node came in the same turn. */
static void sent(struct check_state_quorum *check, uint32_t node,
                 const struct probe *probe, enum kept_key key)
{
    struct part *part = part_of(check, node, probe->type);
    struct kept_value value = value_of(check, node, probe->type, key);

    part->sent = probe->first;
    part->writers = quorum_of(check, node, false);
    part->ends = check->ends;
    part->sent_at[key] = probe->bytes.size && value.is_own ? value.written
                                                           : CHECK_KEPT_NEVER;
}

static uint32_t holders(const struct check_state_quorum *check, uint16_t type,
                        enum kept_key key, int64_t written)
{
    uint32_t nodes = check->replicas.nodes(check->replicas.user);
    uint32_t count = 0;

    for (uint32_t i = 0; i < nodes; i++)
        count += value_of(check, i, type, key).written >= written;
    return count;
}

static void confirmed(struct check_state_quorum *check, uint32_t node,
                      const struct probe *probe)
{
    const struct part *part = part_of(check, node, probe->type);
    struct kept_quorum writers = quorum_of(check, node, false);

    if (part->sent != probe->first || check->safety->outside[node])
        return;
    if (part->sent_at[KEPT_FENCES] != CHECK_KEPT_NEVER)
        *last_of(check, probe->type) =
            (struct last){ .is_there = true,
                           .written = part->sent_at[KEPT_FENCES] };
    if (writers.signature != part->writers.signature)
        return;
    check->counts.writes++;
    for (int key = 0; key < KEPT_KEYS; key++) {
        uint64_t have = check->ends - part->ends;

        if (part->sent_at[key] == CHECK_KEPT_NEVER)
            continue;
        have += holders(check, probe->type, (enum kept_key)key,
                        part->sent_at[key]);
        if (have < part->writers.needed)
            violation(check->verdict, "coordinator-state", node,
                      "type %u: write %" PRIu64 " of the %s is confirmed: %u "
                      "of %u replicas shall have it, and %" PRIu64 " do",
                      probe->type, probe->first, key_names[key],
                      part->writers.needed, part->writers.members, have);
    }
}

/* ---- reads ---- */

static int latest_first(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;

    return (*a < *b) - (*a > *b);
}

/* A read from R of N meets one of the N - R + 1 latest values. */
static int64_t must_have(const struct check_state_quorum *check, uint32_t node,
                         uint16_t type, enum kept_key key)
{
    struct kept_quorum readers = quorum_of(check, node, true);
    uint32_t nodes = check->replicas.nodes(check->replicas.user);
    int64_t must = CHECK_KEPT_NEVER;
    VEC(int64_t) times = { 0 };

    for (uint32_t i = 0; i < nodes && readers.members; i++) {
        struct kept_value value = value_of(check, i, type, key);

        if (value.written != CHECK_KEPT_NEVER &&
            check->replicas.counts(check->replicas.user, node, i))
            vec_push(&times, value.written);
    }
    sort_stable(times.items, times.count, sizeof(int64_t), latest_first);
    if (readers.members - readers.needed < times.count)
        must = times.items[readers.members - readers.needed];
    vec_fini(&times);
    return must;
}

static void asked(struct check_state_quorum *check, uint32_t node,
                  const struct probe *probe)
{
    struct part *part = part_of(check, node, probe->type);
    const struct last *last = last_of(check, probe->type);

    part->asked = probe->first;
    for (int key = 0; key < KEPT_KEYS; key++)
        part->must[key] =
            must_have(check, node, probe->type, (enum kept_key)key);
    part->is_bound =
        !last->is_there || part->must[KEPT_FENCES] >= last->written;
}

bool check_state_quorum_is_bound(struct check_state_quorum *check, uint32_t node,
                         uint16_t type)
{
    return part_of(check, node, type)->is_bound;
}

/* A read first updates the reader's replica, so the value there was read, or is later. */
static void was_read(struct check_state_quorum *check, uint32_t node,
                     const struct probe *probe, enum kept_key key)
{
    const struct part *part = part_of(check, node, probe->type);
    struct kept_value value;

    if (part->asked != probe->first || part->must[key] == CHECK_KEPT_NEVER ||
        check->safety->outside[node])
        return;
    check->counts.reads++;
    value = value_of(check, node, probe->type, key);
    if (value.written < part->must[key])
        violation(check->verdict, "coordinator-state", node,
                  "type %u: the %s that were read have not what so many "
                  "replicas had when the read began that one of them must "
                  "have said so",
                  probe->type, key_names[key]);
}

/* ---- feeding ---- */

void check_state_quorum_probe(struct check_state_quorum *check, uint32_t node,
                      const struct probe *probe)
{
    switch (probe->kind) {
    case PROBE_STATE_SENT:
        sent(check, node, probe, KEPT_STATE);
        break;
    case PROBE_FENCES_SENT:
        sent(check, node, probe, KEPT_FENCES);
        break;
    case PROBE_STATE_STORED:
        confirmed(check, node, probe);
        break;
    case PROBE_STATE_ASKED:
        asked(check, node, probe);
        break;
    case PROBE_STATE_READ:
        was_read(check, node, probe, KEPT_STATE);
        break;
    case PROBE_FENCES_READ:
        was_read(check, node, probe, KEPT_FENCES);
        break;
    default:
        break;
    }
}

struct check_state_quorum_counts
check_state_quorum_counts(const struct check_state_quorum *check)
{
    return check->counts;
}
