/* Passes the user's messages and faults to the nodes.
 *
 * An ask from outside is a plain actor on the node's first lane, which asks and stores its answer
 * here. */
#include "sim/face/face.h"

#include <string.h>

#include "base/check.h"

#define GRACE_MS 100

/* Initial argument of the asker, followed by the id and the body. */
struct asking {
    struct sherd_sim *sim;
    uint64_t number;
    const char *type;
    uint64_t timeout_ms;
    uint32_t msg;
    uint32_t id_size;
};

struct asker {
    struct sherd_sim *sim;
    uint64_t number;
};

static int needs(const struct sherd_sim *sim, uint32_t node, bool alive)
{
    if (node >= sim->cluster.nodes)
        return SHERD_EINVAL;
    return cluster_lives(&sim->cluster, node) == alive ? 0 : SHERD_ESTATE;
}

static const struct sherd_entity_type *find_type(const struct sherd_sim *sim,
                                                 const char *name)
{
    for (uint32_t i = 0; name && i < sim->cluster.type_count; i++)
        if (!strcmp(sim->types[i].name, name))
            return &sim->types[i];
    return NULL;
}

static int is_address(const struct sherd_sim *sim, const char *type,
                      const char *id, size_t size)
{
    return find_type(sim, type) && id && *id && strlen(id) <= SHERD_ID_MAX &&
           size <= SHERD_BODY_MAX;
}

static void ask(struct sherd_ctx *ctx, struct asker *asker,
                struct sherd_bytes init)
{
    char id[SHERD_ID_MAX + 1] = "";
    const char *rest = (const char *)init.data + sizeof(struct asking);
    struct asking asking;

    memcpy(&asking, init.data, sizeof asking);
    memcpy(id, rest, asking.id_size);
    asker->sim = asking.sim;
    asker->number = asking.number;
    sherd_entity_ask(ctx, asking.type, id, asking.msg,
                     (struct sherd_bytes){ rest + asking.id_size,
                                           init.size - sizeof asking -
                                               asking.id_size },
                     1, asking.timeout_ms);
}

static enum sherd_next asker_receive(struct sherd_ctx *ctx, void *self,
                                     const struct sherd_msg *msg)
{
    struct asker *asker = self;
    struct sherd_sim *sim = asker->sim;

    if (msg->kind == SHERD_STARTED) {
        ask(ctx, asker, msg->body);
        return SHERD_CONTINUE;
    }
    if (sim->asks == asker->number && !sim->is_answered) {
        sim->is_answered = true;
        sim->result.reason = msg->kind == SHERD_ANSWER ? SHERD_REASON_NONE
                             : msg->kind == SHERD_NO_ANSWER
                                 ? msg->reason
                                 : SHERD_REASON_SHUTTING_DOWN;
        sim->result.stage =
            msg->kind == SHERD_NO_ANSWER ? msg->stage : SHERD_STAGE_NONE;
        sim->result.msg = msg->msg;
        buf_put(&sim->answer, msg->body.data, msg->body.size);
    }
    return SHERD_STOP;
}

/* Runs the world until the answer is there, the time is over, or the asker has ended. Waits a
 * little longer than the asker: its clock may be slow, and it knows how far the message came. */
static void wait_for_answer(struct sherd_sim *sim, uint32_t node,
                            uint64_t timeout_ms)
{
    uint64_t end = sherd_sim_now(sim) + timeout_ms + timeout_ms / 16 + GRACE_MS;
    uint32_t life = world_node(sim->world, node)->life;

    while (!sim->is_answered && sherd_sim_now(sim) < end) {
        sherd_sim_run(sim, 1);
        if (!sim->is_answered && (!cluster_lives(&sim->cluster, node) ||
                                  world_node(sim->world, node)->life != life)) {
            sim->result.reason = SHERD_REASON_NODE_GONE;
            return;
        }
    }
    if (!sim->is_answered)
        sim->result.reason = SHERD_REASON_TIMEOUT;
}

int sherd_sim_entity_ask(struct sherd_sim *sim, uint32_t node, const char *type,
                         const char *id, uint32_t msg, struct sherd_bytes body,
                         uint64_t timeout_ms, struct sherd_sim_answer *answer)
{
    static const struct sherd_behavior asker = {
        .name = "asker",
        .state_size = sizeof(struct asker),
        .receive = asker_receive,
    };
    struct asking asking;
    struct buf init = { 0 };
    int error = needs(sim, node, true);

    memset(&sim->result, 0, sizeof sim->result);
    buf_clear(&sim->answer);
    sim->result.reason = SHERD_REASON_NODE_GONE;
    *answer = sim->result;
    if (!is_address(sim, type, id, body.size) || !timeout_ms ||
        timeout_ms > 3600000)
        return SHERD_EINVAL;
    if (error)
        return error;
    memset(&asking, 0, sizeof asking);
    asking.sim = sim;
    asking.number = ++sim->asks;
    asking.type = find_type(sim, type)->name;
    asking.timeout_ms = timeout_ms;
    asking.msg = msg;
    asking.id_size = (uint32_t)strlen(id);
    buf_put(&init, &asking, sizeof asking);
    buf_put(&init, id, asking.id_size);
    buf_put(&init, body.data, body.size);
    sim->is_answered = false;
    world_spawn(sim->world, node, 0, &asker, init.data, init.size);
    buf_fini(&init);
    wait_for_answer(sim, node, timeout_ms);
    sim->result.body =
        (struct sherd_bytes){ sim->answer.data, sim->answer.size };
    *answer = sim->result;
    return 0;
}

int sherd_sim_entity_tell(struct sherd_sim *sim, uint32_t node,
                          const char *type, const char *id, uint32_t msg,
                          struct sherd_bytes body)
{
    int error = needs(sim, node, true);

    if (!is_address(sim, type, id, body.size))
        return SHERD_EINVAL;
    if (!error)
        world_tell_entity(sim->world, node, type, id, msg, body);
    return error;
}

int sherd_sim_spawn(struct sherd_sim *sim, uint32_t node,
                    const struct sherd_behavior *behavior,
                    struct sherd_bytes init, struct sherd_ref *ref)
{
    struct node_spawn spawn = { .behavior = behavior, .init = init };
    int error = needs(sim, node, true);

    if (ref)
        *ref = spawn.ref;
    if (!behavior || !behavior->receive || init.size > SHERD_BODY_MAX)
        return SHERD_EINVAL;
    if (error)
        return error;
    if (ref)
        *ref = spawn.ref = world_reserve(sim->world, node, 0);
    world_spawn_as(sim->world, node, 0, &spawn);
    return 0;
}

/* ---- faults ---- */

int sherd_sim_crash(struct sherd_sim *sim, uint32_t node)
{
    int error = needs(sim, node, true);

    if (!error)
        world_crash(sim->world, node);
    return error;
}

int sherd_sim_start(struct sherd_sim *sim, uint32_t node)
{
    int error = needs(sim, node, false);

    if (!error)
        cluster_start(&sim->cluster, node);
    return error;
}

int sherd_sim_pause(struct sherd_sim *sim, uint32_t node, int paused)
{
    int error = needs(sim, node, true);

    if (!error)
        world_pause(sim->world, node, paused);
    return error;
}

int sherd_sim_cut(struct sherd_sim *sim, uint32_t from, uint32_t to, int cut)
{
    if (from >= sim->cluster.nodes || to >= sim->cluster.nodes || from == to)
        return SHERD_EINVAL;
    net_cut(sim->world, from, to, NET_BOTH, cut);
    return 0;
}

int sherd_sim_leave(struct sherd_sim *sim, uint32_t node)
{
    int error = needs(sim, node, true);

    if (!error)
        world_leave(sim->world, node);
    return error;
}

int sherd_sim_leave_member(struct sherd_sim *sim, uint32_t node, uint32_t which)
{
    int error = needs(sim, node, true);

    if (which >= sim->cluster.nodes)
        return SHERD_EINVAL;
    if (!error)
        world_leave_member(sim->world, node, which);
    return error;
}

int sherd_sim_down(struct sherd_sim *sim, uint32_t node, uint32_t which)
{
    int error = needs(sim, node, true);

    if (which >= sim->cluster.nodes)
        return SHERD_EINVAL;
    if (!error)
        cluster_down(&sim->cluster, node, which);
    return error;
}

int sherd_sim_alive(const struct sherd_sim *sim, uint32_t node)
{
    return cluster_lives(&sim->cluster, node);
}

int sherd_sim_status(struct sherd_sim *sim, uint32_t node,
                     struct sherd_status *status)
{
    int error = needs(sim, node, true);

    memset(status, 0, sizeof *status);
    if (!error)
        *status = world_status(sim->world, node);
    return error;
}
