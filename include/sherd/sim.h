/* Simulates a whole cluster in this process, on one thread, in simulated time,
 * to test entities under faults.
 *
 * The nodes are those that you ship; the clocks, the network, the disks and
 * the crashes are simulated. A seed decides everything: the same seed gives the
 * same run, so a failure among thousands of seeds is repeated by its number.
 * Link libsherd-sim.a in place of libsherd, which it contains (pkg-config
 * sherd-sim, CMake sherd::sim). Guide: docs/guide/simulator.md; program:
 * examples/hello_sim.c.
 *
 * Threads: all functions are called on one thread, for one simulation at a
 * time; several may be open. Entities run there, too. They must be
 * deterministic: they use no clock but sherd_now and sherd_wall, no random
 * numbers of their own, and no static data that outlives a simulation. */
#ifndef SHERD_SIM_H
#define SHERD_SIM_H

#include <sherd/actor.h>
#include <sherd/system.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sherd_sim;

/* The most nodes of a simulation. */
#define SHERD_SIM_NODES_MAX 1000

/* Faults that come by themselves, drawn from the seed. Combine them with |.
 * They end with sherd_sim_heal, and after the first six simulated hours. */
enum sherd_sim_fault {
    SHERD_SIM_CRASHES = 1,    /* nodes end without notice and start again */
    SHERD_SIM_PAUSES = 2,     /* nodes are paused, up to minutes */
    SHERD_SIM_PARTITIONS = 4, /* links are cut, in one or both directions */
    SHERD_SIM_RESETS = 8,     /* connections break, with their content */
    SHERD_SIM_CLOCKS = 16,    /* wall clocks jump, clocks drift */
    SHERD_SIM_DISK = 32,      /* a slow, full or failing disk that forgets */
    SHERD_SIM_LEAVES = 64,    /* nodes leave gracefully and come back */
    SHERD_SIM_ALL = 127       /* all of them */
};

/* The options of a simulation. Zero means the default. */
struct sherd_sim_options {
    /* Every random choice is drawn from it. */
    uint64_t seed;
    /* Nodes, 1 to SHERD_SIM_NODES_MAX; default 3. Functions name a node by its
     * index, from 0. */
    uint32_t nodes;
    /* Lanes of each node, 1 to 64; default 2. */
    uint32_t lanes;
    /* Shards of types that do not say, up to 10,000; default 20. */
    uint32_t shards;
    /* Registered on every node. They and what they point to must stay valid
     * until sherd_sim_close. */
    const struct sherd_entity_type *types;
    /* Entries of types. */
    uint32_t type_count;
    /* enum sherd_sim_fault, combined with |; default none. */
    uint32_t faults;
    /* 1: remembered entities are kept in distributed data and on each node's
     * disk. 0: in the journal. */
    int remember_in_data;
    /* Receives every line of every node, with simulated times; default none. */
    sherd_log_function log;
    /* The first argument of log. */
    void *log_user;
};

/* Starts all nodes, and runs until they are one cluster.
 *
 * sim: gets the simulation, to be closed by sherd_sim_close. options: copied.
 * Result: 0; SHERD_EINVAL: an option or a type is wrong; SHERD_EEXIST: two
 * types have one name or path; SHERD_ETIME: no cluster in 10 simulated
 * minutes. */
SHERD_API SHERD_MUST_USE int
sherd_sim_open(struct sherd_sim **sim, const struct sherd_sim_options *options);

/* Frees a simulation. Null is fine. */
SHERD_API void sherd_sim_close(struct sherd_sim *sim);

/* ---- many seeds ---- */

/* One test: 0 if it passes, else any other number. */
typedef int (*sherd_sim_test)(struct sherd_sim *sim, void *arg);

/* Runs a test for each seed from first to last, in a simulation of its own.
 * Prints a line to standard error for each seed that fails, with the test's
 * result or the broken rule, and the count at the end.
 *
 * options: copied; each run has its own seed. arg: lent to the test.
 * Result: the number of seeds that failed. If an option is wrong, no seed runs:
 * it prints the reason and returns the number of seeds. If first is above last,
 * it prints that and returns 1.
 *
 * A test that crashes ends the process. Before that, a line names its seed, as
 * "seed 17: ended by signal 11". This holds for SIGSEGV, SIGBUS, SIGFPE,
 * SIGILL, SIGTRAP, SIGABRT, SIGINT, SIGTERM, SIGQUIT, SIGALRM and SIGXCPU,
 * where the program has no handler of its own. Nothing ends a test that hangs:
 * call alarm(60) in main, or run the program under timeout(1). */
SHERD_API SHERD_MUST_USE uint64_t
sherd_sim_seeds(const struct sherd_sim_options *options, uint64_t first,
                uint64_t last, sherd_sim_test test, void *arg);

/* ---- time ---- */

/* Lets ms milliseconds of simulated time pass. An hour of a cluster takes from
 * one to some seconds. */
SHERD_API void sherd_sim_run(struct sherd_sim *sim, uint64_t ms);

/* Returns the simulated milliseconds since the beginning. */
SHERD_API uint64_t sherd_sim_now(const struct sherd_sim *sim);

/* Ends all faults, drawn and ordered: starts dead nodes, resumes paused ones,
 * restores cut links. Then runs until all nodes are one cluster again.
 *
 * Result: 0; SHERD_ETIME: they are not, after limit_ms simulated
 * milliseconds. */
SHERD_API SHERD_MUST_USE int sherd_sim_heal(struct sherd_sim *sim,
                                            uint64_t limit_ms);

/* ---- entities and actors ---- */

/* The end of an ask. */
struct sherd_sim_answer {
    enum sherd_reason reason; /* SHERD_REASON_NONE: it was answered */
    enum sherd_stage stage;   /* else: how far the message was known to be */
    uint32_t msg;             /* the answer's number */
    struct sherd_bytes body;  /* lent until the next call with this sim */
};

/* Send a message to an entity through a node; the second one also runs the
 * simulation until the entity has answered.
 *
 * type, id, msg, body: as for sherd_entity_tell.
 * timeout_ms: 1 to 3,600,000, by the node's clock. answer: always filled; the
 * call returns 0 also if there is no answer.
 * Result: 0; SHERD_EINVAL: no such node, type or id, a body or a time that is
 * too large; SHERD_ESTATE: the node is dead. */
SHERD_API SHERD_MUST_USE int
sherd_sim_entity_tell(struct sherd_sim *sim, uint32_t node, const char *type,
                      const char *id, uint32_t msg, struct sherd_bytes body);
SHERD_API SHERD_MUST_USE int
sherd_sim_entity_ask(struct sherd_sim *sim, uint32_t node, const char *type,
                     const char *id, uint32_t msg, struct sherd_bytes body,
                     uint64_t timeout_ms, struct sherd_sim_answer *answer);

/* Starts a plain actor on a node's first lane, as sherd_system_spawn.
 *
 * behavior, init: copied. ref: gets its reference; may be null.
 * Result: 0; SHERD_EINVAL: no such node, no receive, or init is above
 * SHERD_BODY_MAX; SHERD_ESTATE: the node is dead. */
SHERD_API SHERD_MUST_USE int
sherd_sim_spawn(struct sherd_sim *sim, uint32_t node,
                const struct sherd_behavior *behavior, struct sherd_bytes init,
                struct sherd_ref *ref);

/* ---- ordered faults ---- */

/* Faults at a chosen moment. They may come together with drawn ones.
 * Result: 0; SHERD_EINVAL: no such node; SHERD_ESTATE: the node is in the wrong
 * state (dead or running) for this call. */

/* Ends a node without notice. Its last writes may be lost. Nodes have no split
 * brain resolver: the dead node stays a member until sherd_sim_down or
 * sherd_sim_start. */
SHERD_API SHERD_MUST_USE int sherd_sim_crash(struct sherd_sim *sim,
                                             uint32_t node);
/* Starts a dead node again: a new incarnation with the same address. */
SHERD_API SHERD_MUST_USE int sherd_sim_start(struct sherd_sim *sim,
                                             uint32_t node);
/* Pauses (1) or resumes (0) a node. */
SHERD_API SHERD_MUST_USE int sherd_sim_pause(struct sherd_sim *sim,
                                             uint32_t node, int paused);
/* Cuts (1) or restores (0) the path from one node to another. Bytes wait. */
SHERD_API SHERD_MUST_USE int sherd_sim_cut(struct sherd_sim *sim, uint32_t from,
                                           uint32_t to, int cut);
/* Makes a node leave gracefully. It is dead when it has left. */
SHERD_API SHERD_MUST_USE int sherd_sim_leave(struct sherd_sim *sim,
                                             uint32_t node);
/* Commands `node` to make `which` leave, as sherd_leave_member. `which` learns
 * it by gossip, so it leaves only after the link to it is restored. With the
 * same node twice the call is sherd_sim_leave. A `which` that is no member is
 * ignored. */
SHERD_API SHERD_MUST_USE int
sherd_sim_leave_member(struct sherd_sim *sim, uint32_t node, uint32_t which);
/* Commands `node` to declare `which` dead, as sherd_down. The members remove
 * it, and its shards start elsewhere. */
SHERD_API SHERD_MUST_USE int sherd_sim_down(struct sherd_sim *sim,
                                            uint32_t node, uint32_t which);

/* ---- looking ---- */

/* Returns 1 if the node runs, even if it is paused. */
SHERD_API int sherd_sim_alive(const struct sherd_sim *sim, uint32_t node);

/* Takes a snapshot of a node, as sherd_get_status. sherd_status_free frees it.
 * Result: 0; SHERD_EINVAL: no such node; SHERD_ESTATE: the node is dead. */
SHERD_API SHERD_MUST_USE int sherd_sim_status(struct sherd_sim *sim,
                                              uint32_t node,
                                              struct sherd_status *status);

/* Returns the first broken rule as a line with the seed, the rule, the time and
 * the node, lent; null if there is none.
 *
 * The simulator checks its rules at every event. At most one incarnation of an
 * entity runs, unless a living node is downed by command. A type has at most
 * one coordinator. Hand-offs and membership keep their rules. The journal has
 * no gaps, and one writer for each shard. docs/invariants.md lists all
 * rules. */
SHERD_API const char *sherd_sim_violation(const struct sherd_sim *sim);

/* Returns the seed of the simulation, for a test to print. */
SHERD_API uint64_t sherd_sim_seed(const struct sherd_sim *sim);

/* Returns a hash of everything that happened: equal for equal seeds and equal
 * code. */
SHERD_API uint64_t sherd_sim_digest(const struct sherd_sim *sim);

#ifdef __cplusplus
}
#endif

#endif
