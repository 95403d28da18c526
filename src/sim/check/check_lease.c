/* Records which nodes believe that they hold the lease, and until when. */
#include "sim/check/check_lease.h"

#include <inttypes.h>

#include "base/check.h"
#include "base/timers.h"
#include "base/vec.h"
#include "sim/world/verdict.h"

struct holder {
    uint32_t node;
    uint64_t until; /* by its own clock */
};

struct check_lease {
    struct verdict *verdict;
    check_lease_clock *clock;
    void *user;
    VEC(struct holder) holders; /* some are over */
    uint64_t token;             /* the highest */
    uint32_t token_node;        /* its holder */
    uint64_t count;
};

struct check_lease *check_lease_new(struct verdict *verdict,
                                    check_lease_clock *clock, void *user)
{
    struct check_lease *check = mem_alloc(sizeof *check);

    check->verdict = verdict;
    check->clock = clock;
    check->user = user;
    return check;
}

void check_lease_free(struct check_lease *check)
{
    if (!check)
        return;
    vec_fini(&check->holders);
    mem_free(check);
}

static void forget(struct check_lease *check, uint32_t node)
{
    for (uint32_t i = check->holders.count; i-- > 0;)
        if (check->holders.items[i].node == node)
            vec_remove(&check->holders, i);
}

static void judge_token(struct check_lease *check, uint32_t node,
                        uint64_t token)
{
    bool is_other = node != check->token_node;

    if (token < check->token || !token ||
        (token == check->token && is_other))
        violation(check->verdict, "single-lease-holder", node,
                  "it holds the lease by token %" PRIu64
                  ", and node %u had token %" PRIu64 " before",
                  token, check->token_node, check->token);
    check->count += is_other || !check->token;
    if (token > check->token)
        check->token = token;
    check->token_node = node;
}

/* The node got or renewed the lease. */
static void held(struct check_lease *check, uint32_t node,
                 const struct probe *probe)
{
    const struct holder holder = { node, probe->second };

    forget(check, node);
    for (uint32_t i = 0; i < check->holders.count; i++) {
        const struct holder *other = &check->holders.items[i];
        uint64_t now = check->clock(check->user, other->node);

        if (now < other->until)
            violation(check->verdict, "single-lease-holder", node,
                      "it holds the lease, and node %u believes so for %" PRIu64
                      " ms more",
                      other->node, (other->until - now) / MS);
    }
    judge_token(check, node, probe->first);
    vec_push(&check->holders, holder);
}

void check_lease_node_ended(struct check_lease *check, uint32_t node)
{
    forget(check, node);
}

void check_lease_probe(struct check_lease *check, uint32_t node,
                       const struct probe *probe)
{
    if (probe->kind == PROBE_LEASE_HELD)
        held(check, node, probe);
    else if (probe->kind == PROBE_LEASE_ENDED)
        forget(check, node);
}

bool check_lease_is_held(const struct check_lease *check, uint32_t node)
{
    for (uint32_t i = 0; i < check->holders.count; i++)
        if (check->holders.items[i].node == node)
            return check->clock(check->user, node) <
                   check->holders.items[i].until;
    return false;
}

uint64_t check_lease_count(const struct check_lease *check)
{
    return check->count;
}
