/* Manages the places of one cluster in a world: starts incarnations with the owner's settings, and
 * gives them running nodes as seed nodes. */
#ifndef SHERD_SIM_CLUSTER_H
#define SHERD_SIM_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/rng.h"
#include "sim/nemesis.h"
#include "sim/backend_faults.h"

#define CLUSTER_SEEDS 3 /* seed nodes that a node gets */
#define CLUSTER_CENTERS_MAX 3
/* time without change before a cluster with discovery is founded */
#define CLUSTER_SEEDS_STABLE (3 * SECOND)

/* Whether discovery shows a node's address. It follows starts and ends with a delay. */
struct cluster_listing {
    bool is_shown;
    bool is_alive;  /* as it will be shown */
    uint64_t since; /* time of the change; NEVER: it is shown already */
};

/* A place that is about to lose power. */
struct cluster_power {
    struct cluster *cluster;
    uint32_t node;
    uint64_t until; /* ns: power goes by then; 0: not planned */
    uint32_t foreign; /* number of the last incarnation of another cluster here; 0: none */
};

struct checks;
struct node_settings;
struct sherd_entity_type;
struct world;

struct cluster {
    struct world *world;
    struct checks *checks;
    uint32_t nodes; /* number of places, from 0 */
    const struct sherd_entity_type *types;
    uint32_t type_count;
    /* Sets the owner's settings of a new incarnation. Seed nodes are set afterwards. */
    void (*settings)(void *user, struct node_settings *settings);
    void *user;
    uint32_t centers; /* data centers: node n is in number n modulo this; 0: one */
    bool finds; /* nodes look up their seed nodes, which change, instead of getting them */
    struct cluster_listing *listings; /* of all places; created by cluster_init, as rng */
    struct rng rng;
    bool resolves; /* nodes have resolvers; operators act beside them */
    bool power_waits; /* losses of power wait until a backend writes */
    struct power_wait power;
    /* handshakes refused because of the cluster's name, each logged once by a node */
    uint64_t refused;
    struct cluster_power *powers; /* of each place; created by cluster_init */
    /* of each place's incarnation; created by cluster_init */
    struct address (*seeds)[CLUSTER_SEEDS];
};

void cluster_init(struct cluster *cluster); /* the other members are set; all is lent */
/* call it after world_free, because nodes use the seeds; a zeroed one is allowed */
void cluster_fini(struct cluster *cluster);
/* Starts the first incarnations, all with the same seed nodes. */
void cluster_form(struct cluster *cluster);
/* Starts another incarnation at a free place. */
void cluster_start(struct cluster *cluster, uint32_t node);
/* Lets an operator command the running node `by` to down the node. */
void cluster_down(struct cluster *cluster, uint32_t by, uint32_t node);
/* Crashes every running node outside the cluster, as an operator would restart it, and returns
 * their number. Such a node waits for a node that died before it announced the join. Or it was
 * excluded while it lived (facts.h) and considers itself a member, because all better informed
 * nodes have ended. With several data centers this includes nodes that no longer know the first
 * running node, or are unknown to it. */
uint32_t cluster_crash_strays(struct cluster *cluster);
/* Whether a node should be up but has waited for that time (ns) without faults, and nothing
 * prevents the leader from moving members up. False if the node that welcomed it has ended, it
 * knows no member that is up, or it started too late. */
bool cluster_waits_wrongly(const struct cluster *cluster, uint32_t node,
                           uint64_t time);
/* Returns the number of nodes that are in the surviving cluster, or must be welcomed to it. */
uint32_t cluster_belonging(const struct cluster *cluster);
bool cluster_lives(const struct cluster *cluster, uint32_t node);
/* Returns the functions by which the nemesis acts on this cluster and its backends. */
struct nemesis_hands cluster_hands(struct cluster *cluster, uint64_t delay_min,
                                   uint64_t delay_mean);

#endif
