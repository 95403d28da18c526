/* Names the states of a node's automata, as a set: an observer reads which the node was in when
 * something failed (sim/run/cells.h). */
#ifndef SHERD_NODE_STATES_H
#define SHERD_NODE_STATES_H

#include <stdbool.h>
#include <stdint.h>

struct machine;
struct node_id;

/* X(id, automaton, name). A node has one state of membership, of its resolver and of its lease, and
 * all states of its coordinators, regions, shards and lanes. Conditions that last less than a turn
 * are no states. During a shutdown of the whole cluster it counts as up. */
#define NODE_STATES(X)                                                         \
    X(OUTSIDE, "member", "outside")          /* it has not been welcomed */    \
    X(JOINING, "member", "joining")                                            \
    X(WEAKLY_UP, "member", "weakly-up")                                        \
    X(UP, "member", "up")                                                      \
    X(LEAVING, "member", "leaving")                                            \
    X(EXITING, "member", "exiting")                                            \
    X(STOPPED, "member", "stopped")          /* removed, downed or refused, and not ended */ \
    X(READING, "handoff", "coordinator-reads") /* not active: no state or term yet */ \
    X(BEGINNING, "handoff", "coordinator-begins") /* it asks regions to buffer for a shard */ \
    X(ORDERED, "handoff", "coordinator-stops") /* it asks a shard's home to stop it */ \
    X(REGISTERING, "handoff", "region-registers")                              \
    X(SHARD_LEASING, "handoff", "shard-leases") /* it waits for its lease */    \
    X(CLAIMING, "handoff", "shard-claims")                                     \
    X(RUNNING, "handoff", "shard-runs")                                        \
    X(DRAINING, "handoff", "shard-drains")   /* markers are missing */         \
    X(STOPPING, "handoff", "shard-stops")    /* its entities stop */            \
    X(SHARD_RELEASING, "handoff", "shard-releases") /* its lease */             \
    X(FENCED, "handoff", "shard-is-fenced")  /* another owner exists: its entities end */ \
    X(CALM, "resolver", "calm")                                                \
    X(WATCHING, "resolver", "watches")                                         \
    X(DELAYED, "resolver", "lets-others-ask")                                  \
    X(ASKING, "resolver", "asks")            /* for the lease */               \
    X(LEASE_FREE, "lease", "free")                                             \
    X(LEASE_ACQUIRING, "lease", "acquires")                                    \
    X(LEASE_HELD, "lease", "held")                                             \
    X(LEASE_UNSURE, "lease", "unsure")       /* not renewed in time: another node may have it */ \
    X(LEASE_RELEASING, "lease", "releases")                                    \
    X(RESTING, "journal", "rests")           /* the journal of a lane with shards */  \
    X(WRITING, "journal", "writes")          /* and no event waits */ \
    X(QUEUEING, "journal", "queues")         /* events wait for a commit */ \
    X(REPEATING, "journal", "repeats")       /* the result of the last commit is unknown */ \
    X(RAISING, "journal", "raises")          /* fences */                      \
    X(REPLAYING, "journal", "replays")

enum node_state {
#define X(id, automaton, name) NODE_##id,
    NODE_STATES(X)
#undef X
        NODE_STATE_COUNT
};

_Static_assert(NODE_STATE_COUNT <= 64, "a set is 64 bits");

#define NODE_STATE_BIT(state) (UINT64_C(1) << (state))

const char *node_state_automaton(enum node_state state);
const char *node_state_name(enum node_state state);

/* Returns the states of a machine between two of its turns; `now` as for a turn. A node has those
 * of all its machines. */
uint64_t machine_states(const struct machine *machine, uint64_t now);

/* Iterates over the shards of a type whose home the node's region asks for, in order, from *at = 0;
 * false after the last. Machine 0, between two turns. */
bool machine_next_wanted(const struct machine *machine, uint32_t type,
                         uint32_t *at, int32_t *shard);

/* Iterates over the homes of a type's shards that the coordinator here knows; false after the last,
 * and without an active coordinator. As above. */
bool machine_next_home(const struct machine *machine, uint32_t type,
                       uint32_t *at, int32_t *shard, struct node_id *home);

#endif
