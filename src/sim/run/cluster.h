/* Starts incarnations at the places of one cluster, with the owner's settings and running nodes as
 * seed nodes. */
#ifndef SHERD_SIM_RUN_CLUSTER_H
#define SHERD_SIM_RUN_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/rng.h"
#include "sim/faults/nemesis.h"
#include "sim/faults/backend_faults.h"

#define CLUSTER_SEEDS 3 /* seed nodes that a node gets */
#define CLUSTER_CENTERS_MAX 3
/* without changes, before a node with discovery founds a cluster */
#define CLUSTER_SEEDS_STABLE (3 * SECOND)

/* Whether discovery shows a node's address. It follows starts and ends with a delay. */
struct cluster_listing {
    bool is_shown;
    bool is_alive;  /* as it will be shown */
    uint64_t since; /* NEVER: it is shown already */
};

/* The plans for a place: a loss of power, a restart. */
struct cluster_power {
    struct cluster *cluster;
    uint32_t node;
    uint64_t until; /* ns; 0: none */
    uint64_t start_after; /* ns between its graceful end and its next start */
    uint32_t leaving; /* number of the incarnation that leaves to start again; 0: none */
    bool is_watched;  /* until it has ended */
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
    /* Sets the owner's settings; seed nodes are set afterwards. */
    void (*settings)(void *user, struct node_settings *settings);
    void *user;
    uint32_t centers; /* data centers: node n is in number n modulo this; 0: one */
    bool finds; /* nodes look up their seed nodes, which change, instead of getting them */
    struct cluster_listing *listings; /* of all places */
    struct rng rng;
    bool resolves; /* nodes have resolvers; operators act beside them */
    bool power_waits; /* a loss of power waits for a backend that writes */
    struct power_wait power;
    uint64_t refused; /* handshakes with another cluster's name, each counted once by a node */
    uint64_t fake_joins; /* of strangers, refused */
    uint32_t strangers;  /* addresses invented by them */
    struct cluster_power *powers; /* of all places */
    struct address (*seeds)[CLUSTER_SEEDS]; /* of each incarnation */
};

void cluster_init(struct cluster *cluster); /* other members are set before; all is lent */
void cluster_fini(struct cluster *cluster); /* after world_free, because nodes use the seeds */
/* Starts the first incarnations, with equal seed nodes. */
void cluster_form(struct cluster *cluster);
void cluster_start(struct cluster *cluster, uint32_t node);
/* Lets an operator command the running node `by` to down the node. */
void cluster_down(struct cluster *cluster, uint32_t by, uint32_t node);
/* Crashes every running node outside the cluster, as an operator would restart it, and returns
 * their number. Such a node waits for one that died before it announced the join. Or it was
 * excluded while it lived (facts.h), and all nodes that know it have ended. With several data
 * centers this includes nodes that no longer know the first running node, or are unknown to it. */
uint32_t cluster_crash_outsiders(struct cluster *cluster);
/* Whether a node should be up after that time (ns) without faults. False if something keeps the
 * leader from moving members up, the node that welcomed it has ended, it knows no member that is
 * up, or it started too late. */
bool cluster_waits_wrongly(const struct cluster *cluster, uint32_t node,
                           uint64_t time);
/* Nodes that are in the surviving cluster, or must be welcomed to it. */
uint32_t cluster_belonging(const struct cluster *cluster);
bool cluster_lives(const struct cluster *cluster, uint32_t node);
/* The nemesis' functions for this cluster and its backends. */
struct nemesis_hands cluster_hands(struct cluster *cluster, uint64_t delay_min,
                                   uint64_t delay_mean);

#endif
