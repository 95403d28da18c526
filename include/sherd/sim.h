/* The simulator: a whole cluster of nodes in this process, on this thread, in a world made of one seed.
 *
 * The nodes are the production ones, control and lanes; what is simulated is the world: clocks, network, disk, crashes. A
 * cluster-hour takes a second to some seconds, and the same seed gives the same run, byte for byte, so that a failure found among
 * thousands of seeds is repeated by its number. Entities run unchanged: give their types to sherd_sim_open and test them
 * under faults as examples/hello_sim.c does.
 *
 * Link libsherd-sim.a in place of libsherd: it contains all of it (pkg-config sherd-sim, CMake sherd::sim). One thread; one
 * simulation at a time is run, several may be open. Entities must be deterministic: no clock, no random numbers of their own, no
 * static data that outlives a simulation.
 *
 * The simulator checks by itself, at every event: at most one incarnation of an entity (while the operator downs nothing that
 * is alive), one coordinator of a type, the rules of hand-off, of membership, and of the journal (numbers without gaps, a single
 * writer); see sherd_sim_violation and docs/invariants.md. */
#ifndef SHERD_SIM_H
#define SHERD_SIM_H

#include <sherd/actor.h>
#include <sherd/system.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sherd_sim;

#define SHERD_SIM_NODES_MAX 1000

/* What goes wrong by itself, drawn from the seed, until sherd_sim_heal, and in the first six simulated hours; to be joined by |. */
enum sherd_sim_fault {
    SHERD_SIM_CRASHES = 1,    /* nodes end without notice and are started again, later, under the same address */
    SHERD_SIM_PAUSES = 2,     /* nodes stand still for up to minutes, and go on */
    SHERD_SIM_PARTITIONS = 4, /* links are cut, in one direction or both, some of them or all of a node's */
    SHERD_SIM_RESETS = 8,     /* connections break, with what was on them */
    SHERD_SIM_CLOCKS = 16,    /* wall clocks jump, clocks drift */
    SHERD_SIM_DISK = 32,      /* the journal is slow, fails, is full, loses what was not synced */
    SHERD_SIM_LEAVES = 64,    /* nodes leave gracefully and come back */
    SHERD_SIM_ALL = 127
};

/* Zero means the default. Copied by sherd_sim_open; types and what they point to must live as long as the simulation. */
struct sherd_sim_options {
    uint64_t seed;    /* of everything that is drawn */
    uint32_t nodes;   /* 1 to SHERD_SIM_NODES_MAX; default 3; named by their index, from 0 */
    uint32_t lanes;   /* of each node, 1 to 64; default 2 */
    uint32_t shards;  /* of types that do not say, up to 10,000; default 20 */
    const struct sherd_entity_type *types; /* registered on every node */
    uint32_t type_count;
    uint32_t faults;  /* enum sherd_sim_fault joined by |; default none */
    int remember_in_data; /* 1: remembered entities are kept in distributed data and on each node's disk, not in the journal */
    sherd_log_function log; /* every line of every node, with simulated times; default: none */
    void *log_user;
};

/* Starts all nodes and runs until they are one cluster. On success *sim is the caller's, to be closed. SHERD_EINVAL: an option
 * or a type is not valid; SHERD_EEXIST: two types have one name or path; SHERD_ETIME: they did not become one in 10 simulated
 * minutes. */
SHERD_API SHERD_MUST_USE int
sherd_sim_open(struct sherd_sim **sim, const struct sherd_sim_options *options);
SHERD_API void sherd_sim_close(struct sherd_sim *sim); /* null is fine */

/* Lets the world run for so many simulated milliseconds. */
SHERD_API void sherd_sim_run(struct sherd_sim *sim, uint64_t ms);
SHERD_API uint64_t sherd_sim_now(const struct sherd_sim *sim); /* ms since the world began */
/* Ends all faults, drawn or ordered: starts what is dead, lets go on what is paused, joins what is cut; then runs until all
 * nodes are one cluster again. SHERD_ETIME when they are not within limit_ms. */
SHERD_API SHERD_MUST_USE int sherd_sim_heal(struct sherd_sim *sim,
                                            uint64_t limit_ms);

/* An answer, or why there is none. */
struct sherd_sim_answer {
    enum sherd_reason reason; /* SHERD_REASON_NONE: answered */
    enum sherd_stage stage;   /* how far the message was known to have come, when not answered */
    uint32_t msg;
    struct sherd_bytes body;  /* lent until the next call on this simulation */
};

/* Tells, or asks, from outside through the region of a node. An ask lets the world run until it is answered or timeout_ms
 * (1 to 3,600,000; simulated, by the clock of the node) are over, and always fills *answer. SHERD_EINVAL: no such node, type
 * or id, a body or a time that is too large; SHERD_ESTATE: the node is dead. An ask returns 0 also
 * when there is no answer: see its reason. */
SHERD_API SHERD_MUST_USE int
sherd_sim_entity_tell(struct sherd_sim *sim, uint32_t node, const char *type,
                      const char *id, uint32_t msg, struct sherd_bytes body);
SHERD_API SHERD_MUST_USE int
sherd_sim_entity_ask(struct sherd_sim *sim, uint32_t node, const char *type,
                     const char *id, uint32_t msg, struct sherd_bytes body,
                     uint64_t timeout_ms, struct sherd_sim_answer *answer);
/* Starts a plain actor on a node's first lane; as sherd_system_spawn. */
SHERD_API SHERD_MUST_USE int
sherd_sim_spawn(struct sherd_sim *sim, uint32_t node,
                const struct sherd_behavior *behavior, struct sherd_bytes init);

/* Ordered faults; any mix with drawn ones. Nodes out of range are SHERD_EINVAL, a dead or living one where the other is needed
 * is SHERD_ESTATE. */
SHERD_API SHERD_MUST_USE int sherd_sim_crash(struct sherd_sim *sim,
                                             uint32_t node); /* what it wrote last may be lost */
SHERD_API SHERD_MUST_USE int sherd_sim_start(struct sherd_sim *sim,
                                             uint32_t node); /* a new incarnation at the same address */
SHERD_API SHERD_MUST_USE int sherd_sim_pause(struct sherd_sim *sim,
                                             uint32_t node, int paused);
SHERD_API SHERD_MUST_USE int sherd_sim_cut(struct sherd_sim *sim, uint32_t from,
                                           uint32_t to, int cut); /* one way: bytes wait */
SHERD_API SHERD_MUST_USE int sherd_sim_leave(struct sherd_sim *sim,
                                             uint32_t node); /* gracefully; dead when it has left */
/* `node` is told to make `which` leave, as sherd_leave_member: that one ends as by sherd_sim_leave when it has heard of it, by gossip, which takes as
 * long as the way there is cut. With itself as `which` it is sherd_sim_leave; where no member has that place nothing happens. */
SHERD_API SHERD_MUST_USE int sherd_sim_leave_member(struct sherd_sim *sim,
                                                    uint32_t node,
                                                    uint32_t which);
SHERD_API SHERD_MUST_USE int sherd_sim_down(struct sherd_sim *sim, uint32_t node,
                                            uint32_t which); /* the operator's command, given on `node` */
SHERD_API int sherd_sim_alive(const struct sherd_sim *sim, uint32_t node); /* 1: there, even if paused */

/* As sherd_get_status, at this moment; to be freed with sherd_status_free. SHERD_EINVAL, SHERD_ESTATE: the node is dead. */
SHERD_API SHERD_MUST_USE int sherd_sim_status(struct sherd_sim *sim,
                                              uint32_t node,
                                              struct sherd_status *status);
/* The first rule that was broken, as one line with the seed, the rule, the time and the node; null when none was. Lent. */
SHERD_API const char *sherd_sim_violation(const struct sherd_sim *sim);
SHERD_API uint64_t sherd_sim_seed(const struct sherd_sim *sim); /* what it was opened with: for a test to say */
/* Of all that happened: equal for equal seeds and equal code. */
SHERD_API uint64_t sherd_sim_digest(const struct sherd_sim *sim);

/* Runs `test` for each seed from `first` to `last` in a simulation of its own, with options->seed replaced. test returns 0 when
 * it is content. Prints one line to standard error for each seed that fails: what `test` said, or the rule that was
 * broken; and at the end the count. Returns the number of seeds that failed.
 *
 * Where nothing can be run it says once what is wrong, an option, or bounds without a seed between them, and returns more than 0:
 * as many as there are seeds, or 1.
 *
 * A test that dies takes the process with it, and no seed is run after it. Until sherd_sim_seeds returns, signals that end a process
 * (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT; SIGINT, SIGTERM, SIGQUIT, SIGALRM, SIGXCPU) print which seed ran before they
 * do, as "seed 17: ended by signal 11", where the program has no handler of its own for them. Nothing ends a test that hangs:
 * alarm(60) in main, or timeout(1) around the program, ends it, and the line names the seed. */
typedef int (*sherd_sim_test)(struct sherd_sim *sim, void *arg);
SHERD_API SHERD_MUST_USE uint64_t
sherd_sim_seeds(const struct sherd_sim_options *options, uint64_t first,
                uint64_t last, sherd_sim_test test, void *arg);

#ifdef __cplusplus
}
#endif

#endif
