/* The observer that feeds the checkers of probes. */
#include "sim/checks.h"

#include "base/check.h"
#include "sim/verdict.h"
#include "sim/world.h"

/* A node that is paused cannot stop. */
static void count_pauses(struct checks *checks)
{
    uint64_t now = world_now(checks->world);
    uint64_t passed = now - checks->looked_at;

    for (uint32_t i = 0; passed && i < world_node_count(checks->world); i++)
        if (world_node(checks->world, i)->is_paused)
            check_entity_paused(checks->entity, i, passed);
    checks->looked_at = now;
}

void checks_look(struct checks *checks)
{
    count_pauses(checks);
    check_entity_look(checks->entity, world_now(checks->world));
}

static void node_started(void *user, uint32_t node, uint64_t uid)
{
    struct checks *checks = user;

    check(node < CHECK_NODES_MAX);
    checks->safety.outside[node] = false;
    checks->uids[node] = uid;
    *(uint32_t *)facts_of(&checks->nodes, (struct fact_key){ { uid } },
                          sizeof(uint32_t)) = node + 1;
    check_entity_node_started(checks->entity, node, uid);
    check_coordinator_node_started(checks->coordinator, node, uid);
    check_member_node_started(checks->member, node, uid);
}

static void node_ended(void *user, uint32_t node, bool crashed, int error)
{
    struct checks *checks = user;

    (void)crashed;
    (void)error;
    checks_look(checks);
    checks->safety.outside[node] = false;
    checks->uids[node] = 0;
    check_entity_node_ended(checks->entity, world_now(checks->world), node);
    check_coordinator_node_ended(checks->coordinator, node);
    check_member_node_ended(checks->member, node);
}

/* Somebody downs a member: if its life goes on, the others need not wait for its end. */
static void downed(struct checks *checks, uint64_t uid)
{
    const uint32_t *index =
        facts_find(&checks->nodes, (struct fact_key){ { uid } });

    if (index && checks->uids[*index - 1] == uid)
        checks->safety.outside[*index - 1] = true;
}

static void probe(void *user, uint32_t node, uint32_t machine,
                  const struct probe *probe)
{
    struct checks *checks = user;

    (void)machine;
    if (probe->kind <= PROBE_BYTES_ENDED)
        return; /* messages are not judged here */
    if (probe->kind == PROBE_MEMBER_DOWNED)
        downed(checks, probe->node.uid);
    checks_look(checks);
    check_entity_probe(checks->entity, world_now(checks->world), node, probe);
    check_coordinator_probe(checks->coordinator, node, probe);
    check_member_probe(checks->member, node, probe);
}

struct checks *checks_new(struct world *world, uint64_t stop_ns)
{
    struct checks *checks = mem_alloc(sizeof *checks);
    struct verdict *verdict = world_verdict(world);
    struct world_observer observer = {
        .user = checks,
        .node_started = node_started,
        .node_ended = node_ended,
        .probe = probe,
    };

    checks->world = world;
    checks->entity = check_entity_new(verdict, &checks->safety, stop_ns);
    checks->coordinator = check_coordinator_new(verdict, &checks->safety);
    checks->member = check_member_new(verdict);
    checks->looked_at = world_now(world);
    world_observe(world, &observer);
    return checks;
}

void checks_free(struct checks *checks)
{
    if (!checks)
        return;
    check_entity_free(checks->entity);
    check_coordinator_free(checks->coordinator);
    check_member_free(checks->member);
    facts_fini(&checks->nodes);
    mem_free(checks);
}
