/* What a node is in the midst of: the states of its automata, as a set, for who looks on from outside and asks in which of them it was
 * when something went wrong (sim/cells.h). */
#ifndef SHERD_NODE_STATES_H
#define SHERD_NODE_STATES_H

#include <stdbool.h>
#include <stdint.h>

struct machine;

/* X(id, automaton, name). A node is in one state of membership, as it sees itself; in one of its resolver and of its lease, if it has them; and
 * in as many of the others as its coordinators, regions, shards and lanes are in. What does not outlast a turn is no state here (a shard that starts), and
 * in the two statuses of a full shutdown it is up. */
#define NODE_STATES(X)                                                         \
    X(OUTSIDE, "member", "outside")          /* it has not been welcomed */    \
    X(JOINING, "member", "joining")                                            \
    X(WEAKLY_UP, "member", "weakly-up")                                        \
    X(UP, "member", "up")                                                      \
    X(LEAVING, "member", "leaving")                                            \
    X(EXITING, "member", "exiting")                                            \
    X(STOPPED, "member", "stopped")          /* removed, downed or refused, and not ended */ \
    X(READING, "handoff", "coordinator-reads") /* it is not active: its state, or a term, is to come */ \
    X(BEGINNING, "handoff", "coordinator-begins") /* regions are told to hold a shard */ \
    X(ORDERED, "handoff", "coordinator-stops") /* a shard's home is told to stop it */ \
    X(REGISTERING, "handoff", "region-registers")                              \
    X(CLAIMING, "handoff", "shard-claims")                                     \
    X(RUNNING, "handoff", "shard-runs")                                        \
    X(DRAINING, "handoff", "shard-drains")   /* markers are to come */         \
    X(STOPPING, "handoff", "shard-stops")    /* its entities are */            \
    X(FENCED, "handoff", "shard-is-fenced")  /* another owner exists: they end */ \
    X(CALM, "resolver", "calm")                                                \
    X(WATCHING, "resolver", "watches")                                         \
    X(DELAYED, "resolver", "lets-others-ask")                                  \
    X(ASKING, "resolver", "asks")            /* for the lease */               \
    X(LEASE_FREE, "lease", "free")                                             \
    X(LEASE_ACQUIRING, "lease", "acquires")                                    \
    X(LEASE_HELD, "lease", "held")                                             \
    X(LEASE_UNSURE, "lease", "unsure")       /* it was not renewed in time: another may have it */ \
    X(LEASE_RELEASING, "lease", "releases")                                    \
    X(RESTING, "journal", "rests")           /* that of a lane with shards */  \
    X(WRITING, "journal", "writes")          /* and no event waits behind that */ \
    X(QUEUEING, "journal", "queues")         /* events wait behind a commit */ \
    X(REPEATING, "journal", "repeats")       /* nobody knows what became of the last commit */ \
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

const char *node_state_automaton(enum node_state state); /* "member"; a literal */
const char *node_state_name(enum node_state state);      /* "weakly-up"; a literal */

/* The states of what runs on that machine, between two of its turns; `now` as it would be told. A node's are those of all its machines. */
uint64_t machine_states(const struct machine *machine, uint64_t now);

/* The shards of a type whose home that node's region asks for, in order, from *at = 0 on; false past the last. Machine 0, between two of its
 * turns. */
bool machine_next_wanted(const struct machine *machine, uint32_t type,
                         uint32_t *at, int32_t *shard);

#endif
