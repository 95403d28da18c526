/* Decides where shards run: two nodes of one process, of which the second has the role "gpu".
 *
 *   allocation    prints where two entities run, and ends
 *
 * A Camera is placed by a strategy of the program: on a node with the role. While there is none, an
 * actor answers later. An Order has the strategy "external": the program sets its location. */
#include <sherd/sherd.h>

#include <stdio.h>
#include <string.h>

enum { WHERE = 1, LATER, RETRY = 10, RETRY_MS = 200 };

static struct sherd_system *nodes[2];
static struct sherd_ref planner; /* an actor of the first node */
static const struct sherd_bytes nothing;
/* [choose] */
static int choose(void *user, const struct sherd_allocation_request *request)
{
    (void)user;
    for (uint32_t i = 0; i < request->region_count; i++)
        if (sherd_cluster_has_role(&request->regions[i].member, "gpu"))
            return (int)i;
    /* No such node: the function must not wait, so an actor answers. */
    if (sherd_system_tell(nodes[0], planner, LATER,
                          (struct sherd_bytes){ &request->number, sizeof request->number }))
        return SHERD_ALLOCATION_DEFAULT;
    return SHERD_ALLOCATION_LATER;
}

static const struct sherd_allocation_strategy strategy = { .allocate = choose };
/* [choose end] */

/* [later] */
static void answer(struct sherd_ctx *ctx, const struct sherd_msg *msg, const char *address)
{
    struct sherd_allocation_choice choice = { .address = address };

    memcpy(&choice.request, msg->body.data, sizeof choice.request);
    if (sherd_allocation_answer(ctx, &choice))
        fprintf(stderr, "%s is no address\n", address);
}
/* [later end] */

/* [locate] */
static int locate(struct sherd_ctx *ctx, const char *address)
{
    struct sherd_shard_location location = { .shard = sherd_shard_of("order-7", 50),
                                             .address = address };

    return sherd_locations_set(ctx, "Order", &location, 1, RETRY);
}
/* [locate end] */

/* An entity of both types tells which node it is on. */
static enum sherd_next entity(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    uint64_t node = sherd_self(ctx).node;

    (void)self;
    if (msg->kind == SHERD_MESSAGE)
        sherd_reply(ctx, WHERE, (struct sherd_bytes){ &node, sizeof node });
    return SHERD_CONTINUE;
}

static const char *const ids[] = { "camera-1", "order-7" };

static void ask(struct sherd_ctx *ctx, uint32_t which)
{
    sherd_entity_ask(ctx, which ? "Order" : "Camera", ids[which], WHERE, nothing, which, 10000);
}

/* Prints the first entity's node, then the second one's once it has moved to its location. */
static void print(struct sherd_ctx *ctx, const struct sherd_msg *msg)
{
    uint64_t node = 0;

    if (msg->kind == SHERD_ANSWER)
        memcpy(&node, msg->body.data, sizeof node);
    if (!node || node == sherd_self(ctx).node) {
        sherd_timer(ctx, RETRY + msg->tag, RETRY_MS);
        return;
    }
    printf("%s runs on the node with the role gpu\n", ids[msg->tag]);
    if (msg->tag == 0)
        ask(ctx, 1);
    else
        sherd_leave(nodes[0]);
}

static enum sherd_next plan(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    char address[32];

    (void)self;
    (void)snprintf(address, sizeof address, "127.0.0.1:%u", sherd_port(nodes[1]));
    if (msg->kind == SHERD_STARTED)
        return locate(ctx, address) ? SHERD_FAIL : SHERD_CONTINUE;
    if (msg->kind == SHERD_MESSAGE && msg->msg == LATER)
        answer(ctx, msg, address);
    else if (msg->kind == SHERD_ANSWER || msg->kind == SHERD_NO_ANSWER)
        print(ctx, msg);
    else if (msg->kind == SHERD_DATA || msg->kind == SHERD_TIMER)
        ask(ctx, msg->tag - RETRY);
    return SHERD_CONTINUE;
}

static int start(uint32_t index)
{
    char seed[32] = "127.0.0.1:1";
    const char *const roles[] = { index ? "gpu" : "cpu", NULL }, *const seeds[] = { seed, NULL };
    const struct sherd_behavior behavior = { .name = "entity", .receive = entity };
    struct sherd_options options = {
        .port = SHERD_PORT_ANY, .alone = !index, .lanes = 1, .roles = roles,
        .seed_nodes = seeds + !index, .log_level = SHERD_LOG_ERROR,
        .config_text = "akka.cluster.sharding.rebalance-interval = 1s"
    };
    /* [types] */
    const struct sherd_entity_type camera = { .name = "Camera", .behavior = behavior,
                                              .strategy = &strategy };
    const struct sherd_entity_type order = { .name = "Order", .behavior = behavior,
                                             .shards = 50, .allocation = "external" };
    /* [types end] */
    int error;

    if (index)
        (void)snprintf(seed, sizeof seed, "127.0.0.1:%u", sherd_port(nodes[0]));
    error = sherd_open(&nodes[index], &options);
    error = error ? error : sherd_entity_register(nodes[index], &camera);
    error = error ? error : sherd_entity_register(nodes[index], &order);
    return error ? error : sherd_start(nodes[index]);
}

int main(void)
{
    const struct sherd_behavior behavior = { .name = "planner", .receive = plan };
    int error = start(0);

    error = error ? error : start(1);
    error = error ? error : sherd_system_spawn(nodes[0], &behavior, nothing, &planner);
    error = error ? error : sherd_wait(nodes[0]);
    if (error)
        fprintf(stderr, "allocation: %s\n", sherd_strerror(error));
    sherd_close(nodes[1]);
    sherd_close(nodes[0]);
    return error != 0;
}
