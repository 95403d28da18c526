/* The places of one cluster in a world, and what is done to all of them alike: lives begin there, with the settings that the
 * owner gives, and ask those for the way in who are there. */
#ifndef SHERD_SIM_CLUSTER_H
#define SHERD_SIM_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/rng.h"
#include "sim/nemesis.h"
#include "sim/backend_faults.h"

#define CLUSTER_SEEDS 3 /* seed nodes that a node knows */
#define CLUSTER_CENTERS_MAX 3
#define CLUSTER_SEEDS_STABLE (3 * SECOND) /* so long nobody comes or goes before a cluster is founded, where seed nodes are found */

/* Whether a node's address can be found. It follows the node's life with a delay: what is shown is of the past. */
struct cluster_listing {
    bool is_shown;
    bool is_alive;  /* as it will be shown */
    uint64_t since; /* from then on; NEVER: it is shown so */
};

/* A place that is about to lose power. */
struct cluster_power {
    struct cluster *cluster;
    uint32_t node;
    uint64_t until; /* ns: by then; 0: it is not */
    uint32_t foreign; /* the number of the last life of another cluster here; 0: none was */
};

struct checks;
struct node_settings;
struct sherd_entity_type;
struct world;

struct cluster {
    struct world *world;
    struct checks *checks;
    uint32_t nodes; /* places, from 0 */
    const struct sherd_entity_type *types;
    uint32_t type_count;
    /* Sets what the owner wants of a life that begins; seed nodes are set afterwards. */
    void (*settings)(void *user, struct node_settings *settings);
    void *user;
    uint32_t centers; /* data centers: node n is in number n modulo that; 0: one */
    bool finds; /* nodes find their seed nodes, which change as nodes come and go, and are not given them */
    struct cluster_listing *listings; /* of all places; made by cluster_init, as rng */
    struct rng rng;
    bool resolves; /* nodes have resolvers; operators act beside them */
    bool power_waits; /* losses of power wait until a store writes */
    struct power_wait power;
    uint64_t refused; /* handshakes between lives of two clusters' names, each said once by a node */
    struct cluster_power *powers; /* of each place; made by cluster_init */
    struct address (*seeds)[CLUSTER_SEEDS]; /* of each node's life; made by cluster_init */
};

void cluster_init(struct cluster *cluster); /* the other members are set; all is lent */
void cluster_fini(struct cluster *cluster); /* after world_free, since lives have the seeds; of a zeroed one, too */
/* The first lives: all know the same seed nodes. */
void cluster_form(struct cluster *cluster);
/* Another life, where none runs. */
void cluster_start(struct cluster *cluster, uint32_t node);
/* An operator tells `by`, which lives, that node is down. */
void cluster_down(struct cluster *cluster, uint32_t by, uint32_t node);
/* Whoever lives and is not in the cluster. One that is not up waits for a node that is gone: who took it in died before it
 * told anybody, or never answered. One that was given up while it lived (facts.h) may take itself for a member still, when all
 * who know better are gone. An operator would start them again; here they crash. So do, with several data centers, those who
 * have grown strangers to the first of them that lives. How many there were. */
uint32_t cluster_crash_strays(struct cluster *cluster);
/* Does a node wait to be up that should be, when nothing has gone wrong for so long (ns), and nothing keeps the members from being moved
 * up? Not who was taken in by one that is gone, nor who knows nobody that is up, nor who starts too late. */
bool cluster_waits_wrongly(const struct cluster *cluster, uint32_t node,
                           uint64_t time);
/* How many are in the cluster that goes on, or have to be taken into it. */
uint32_t cluster_belonging(const struct cluster *cluster);
bool cluster_lives(const struct cluster *cluster, uint32_t node);
/* The nemesis' hands on this cluster and on its store. */
struct nemesis_hands cluster_hands(struct cluster *cluster, uint64_t delay_min,
                                   uint64_t delay_mean);

#endif
