/* Lets a program that is no node of the world, and listens nowhere, ask a node to join. */
#include "sim/world/inside.h"

#include "base/check.h"
#include "sim/world/stranger_bytes.h"

void world_fake_join(struct world *world, uint32_t node,
                     const struct node_id *claimed)
{
    struct site *site = world->sites.items[node];
    struct worker *worker = &site->workers[0];
    struct identity from = site->face.settings.identity;
    uint64_t conn = ++world->pipes;
    struct buf bytes = { 0 };

    check(site->face.node != NULL);
    from.node = *claimed;
    stranger_put(&bytes, &from, &site->face.settings.identity);
    machine_accepted(worker->machine, site_runs(world, site),
                     &(struct arrival){ conn, conn, "stranger" });
    machine_bytes(worker->machine, site_runs(world, site), conn,
                  buf_slice(&bytes));
    machine_conn_closed(worker->machine, site_runs(world, site), conn);
    worker_touched(world, worker);
    worker_carry_out(world, worker);
    buf_fini(&bytes);
}
