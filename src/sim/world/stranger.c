/* Lets programs that are no nodes of the world, and listen nowhere, shake hands with a node and ask
 * to join. */
#include "sim/world/inside.h"

#include "base/check.h"
#include "sim/world/stranger_bytes.h"

/* Returns the worker that reads the connection. */
static struct worker *connect(struct world *world, struct site *site,
                              uint64_t conn, struct slice bytes)
{
    const char *why;
    uint32_t machine = 0;
    struct worker *worker;

    check(site->face.node != NULL);
    check(node_accepts(site->face.node, bytes, &machine, &why) == NODE_ACCEPT);
    worker = &site->workers[machine];
    machine_accepted(worker->machine, site_runs(world, site),
                     &(struct arrival){ conn, conn, "stranger" });
    machine_bytes(worker->machine, site_runs(world, site), conn, bytes);
    return worker;
}

static struct identity identity_of(const struct site *site,
                                   const struct node_id *claimed)
{
    struct identity identity = site->face.settings.identity;

    identity.node = *claimed;
    return identity;
}

void world_fake_join(struct world *world, uint32_t node,
                     const struct node_id *claimed)
{
    struct site *site = world->sites.items[node];
    struct identity from = identity_of(site, claimed);
    uint64_t conn = ++world->pipes;
    struct worker *worker;
    struct buf bytes = { 0 };

    stranger_join(&bytes, &from, &site->face.settings.identity);
    worker = connect(world, site, conn, buf_slice(&bytes));
    machine_conn_closed(worker->machine, site_runs(world, site), conn);
    worker_touched(world, worker);
    worker_carry_out(world, worker);
    buf_fini(&bytes);
}

void world_shake(struct world *world, uint32_t node,
                 const struct node_id *claimed, enum stream stream)
{
    struct site *site = world->sites.items[node];
    struct identity from = identity_of(site, claimed);
    struct worker *worker;
    struct buf bytes = { 0 };

    stranger_shake(&bytes, &from, &site->face.settings.identity, stream);
    worker = connect(world, site, ++world->pipes, buf_slice(&bytes));
    worker_touched(world, worker);
    worker_carry_out(world, worker);
    buf_fini(&bytes);
}
