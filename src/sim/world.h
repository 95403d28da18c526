/* Runs many nodes in one process, on one thread, in virtual time, from one seed. It is the second
 * driver of node/node.h, beside host/.
 *
 * Production nodes run in a world unchanged. The world is their operating system: it runs each
 * machine's turns and carries mail, bytes (net.h) and requests to the journal backend, each with a
 * drawn delay. It keeps the nodes' clocks (clock.h). Tests, the nemesis and workloads control it
 * with the functions here and in net.h, and watch it with an observer. Everything depends on the
 * settings only: equal seeds give equal worlds and equal digests, from any compiler.
 *
 * A place is an index from 0 with an address. Incarnations of a node run there one after another.
 * Times are ns of the world's own clock, which no node sees. Callers may use these functions
 * between two runs and in functions of world_at, but not in observers. */
#ifndef SHERD_SIM_WORLD_H
#define SHERD_SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "base/timers.h"
#include "base/trace.h"
#include "journal/backend.h"
#include "node/node.h"

#define WORLD_NODES_MAX 1024
#define WORLD_WALL_MS INT64_C(1700000000000) /* wall clock at time 0 */

struct world;
struct verdict;
struct disk_backend;

#define WORLD_NO_NODE UINT32_MAX

/* Where a world stands. It remains readable after the process with the world has died. */
struct world_place {
    uint64_t now;  /* ns of the world */
    uint64_t event; /* the number of the last event that has begun */
    uint32_t node; /* the machine that ran last belongs to it; WORLD_NO_NODE: none */
};

/* Zero is a default for each. Copied. */
struct world_settings {
    uint64_t seed;
    uint64_t link_min;    /* least ns of a piece on a connection, as in stream_delay */
    uint64_t link_mean;   /* mean ns; default 0.5 ms, with a least of 0.05 ms */
    uint64_t mail_delay;  /* longest ns of mail between machines of a node; default 20 us */
    /* about the mean ns of a write in the journal backend, there and back; default 2 ms */
    uint64_t backend_delay;
    /* bytes that a connection takes before its reader must read; default 256 KiB */
    uint32_t pipe_size;
    /* ns that a kernel repeats unanswered bytes before the connection fails; default 924 s, as
     * Linux */
    uint64_t give_up;
    uint32_t stores;      /* journal backends; node n uses number n modulo this; default 1 */
    bool byte_mode;       /* pieces are cut anywhere, from one byte to 64 KiB */
    bool keep_lines;      /* needed for world_logged */
    /* written as time passes; lent until the world is freed; may be null */
    struct world_place *place;
};

struct world *world_new(const struct world_settings *settings); /* to be freed by the caller */
void world_free(struct world *world); /* frees running nodes without a call of the observers */
uint64_t world_seed(const struct world *world);
uint64_t world_now(const struct world *world); /* starts at one second */
/* Sets *at to 0 now, and to the time of the event with this number once it happens. Lent until
 * then. */
void world_tells_event(struct world *world, uint64_t event, uint64_t *at);
uint64_t world_clock(const struct world *world, uint32_t index); /* the node's monotonic clock */
/* Covers everything that happened: time, node, kind of event, hash of the carried data. */
uint64_t world_digest(const struct world *world);
struct verdict *world_verdict(struct world *world); /* lent; checkers report to it */

/* ---- nodes ---- */

/* The visible state of a place. */
struct world_node {
    struct node *node;   /* null: no incarnation runs here */
    struct node_settings settings; /* of the last incarnation; the starter owns texts and arrays */
    uint32_t life;       /* counts incarnations, from 1 */
    bool is_paused;
    bool is_up;     /* it was up in this incarnation */
    bool is_ready;  /* it is up and not leaving */
    bool has_ended; /* the incarnation ended by itself, with `error` */
    int error;
};

uint32_t world_node_count(const struct world *world); /* used places: the highest index + 1 */
/* lent; an unused place is all zero */
const struct world_node *world_node(const struct world *world, uint32_t index);
/* Returns settings of node `index` ("n<index>:2551") for a cluster with short time-outs. The node
 * joins node 0, and node 0 joins itself. Texts and arrays are constants or the caller's. Each call
 * draws another uid and seed. */
struct node_settings world_node_settings(struct world *world, uint32_t index,
                                         const struct sherd_entity_type *types,
                                         uint32_t type_count);
/* Starts a node, or the next incarnation of an ended one. The settings are copied. Objects that
 * they point to are lent until the next incarnation. */
void world_start(struct world *world, uint32_t index,
                 const struct node_settings *settings);
/* How a crash looks from outside. */
enum world_crash {
    /* the process dies: its kernel sends what was written, then closes, and refuses calls */
    WORLD_KILLED,
    WORLD_RESET,  /* the same, but bytes in flight are lost */
    /* the machine dies: peers hear nothing, calls get no answer until the next start, and any part
     * of the bytes in flight arrives */
    WORLD_DARK,
};

/* Ends the process, with a drawn kind of crash: one half killed, one quarter each of the others. */
void world_crash(struct world *world, uint32_t index);
void world_crash_as(struct world *world, uint32_t index, enum world_crash how);
/* Stops or resumes the node's threads. Meanwhile its kernel accepts and buffers, and commands from
 * outside wait. */
void world_pause(struct world *world, uint32_t index, bool paused);
uint32_t world_paused(const struct world *world); /* number of paused nodes */
/* Makes each turn take factor times 10 us, and 1 us for each input. Meanwhile nothing reaches that
 * machine. 0: turns take no time. */
void world_slow(struct world *world, uint32_t index, uint32_t factor);
/* The clocks of a place continue from one incarnation to the next. */
void world_wall_jump(struct world *world, uint32_t index, int64_t ms);
/* sets the rate of its monotonic clock, from 950000 to 1050000 */
void world_drift(struct world *world, uint32_t index, uint32_t ppm);
/* Sets the longest delay of mail between machines of a node from now on. Two machines keep their
 * order. */
void world_mail_delay(struct world *world, uint64_t most);

/* Answers nodes with settings.finds_seeds, some time after each asked; one in 16 gets no answer.
 * Fills in at most MEMBER_SEEDS_MAX addresses, in an order that is the same for all nodes. Returns
 * their number; 0: unknown. Called as time passes. */
typedef uint32_t world_find(void *arg, uint32_t index,
                            struct address *addresses);
void world_finds(struct world *world, world_find *find, void *arg);

/* Effects of faults on a place so far, in all its incarnations. They show whether a fault does
 * anything. */
struct world_harm {
    uint64_t held;       /* inputs and turns that waited while it was paused */
    uint64_t slow_turns; /* turns that took time */
    uint64_t refused;    /* calls to it that its kernel refused */
    uint64_t slow_calls; /* calls to it that it did not read at once */
    uint64_t unanswered; /* calls to it that nobody answered */
    uint64_t ended;      /* incarnations that ended by themselves */
};
struct world_harm world_harm(const struct world *world, uint32_t index);

/* ---- time ---- */

void world_run(struct world *world, uint64_t duration); /* ns */
typedef bool world_condition(struct world *world, void *arg);
/* Runs until the condition holds, which is checked every 10 ms. Returns false if it does not hold
 * within `limit`. */
bool world_until(struct world *world, world_condition *condition, void *arg,
                 uint64_t limit);
/* A call at a time from now on. Calls run in the order of times, and equal times in a drawn
 * order. */
typedef void world_call(struct world *world, void *arg);
void world_at(struct world *world, uint64_t at, world_call *function,
              void *arg);
uint64_t world_events(const struct world *world); /* number of events so far */
/* whether all running nodes see each other as up and reachable; arg unused */
bool world_all_up(struct world *world, void *arg);
bool world_node_ended(struct world *world, void *index); /* index: uint32_t */

/* ---- commands from outside the nodes' actors; the node must run ---- */

void world_spawn(struct world *world, uint32_t node, uint32_t lane,
                 const struct sherd_behavior *behavior, const void *init,
                 size_t size);
void world_tell_entity(struct world *world, uint32_t node, const char *type,
                       const char *id, uint32_t msg,
                       struct sherd_bytes body);
void world_tell(struct world *world, uint32_t node, struct sherd_ref to,
                uint32_t msg, struct sherd_bytes body);
void world_leave(struct world *world, uint32_t node);
void world_leave_from(struct world *world, uint32_t node,
                      enum sherd_phase from);
/* commands node to prepare the cluster for its shutdown */
void world_prepare_shutdown(struct world *world, uint32_t node);
void world_join(struct world *world, uint32_t node, uint32_t which); /* at the address of `which` */
/* commands node to make the address of `which` leave */
void world_leave_member(struct world *world, uint32_t node, uint32_t which);
/* commands node to down the address of `which` */
void world_down(struct world *world, uint32_t node, uint32_t which);

/* ---- observers ---- */

/* An input or a turn of one machine. */
struct world_step {
    const char *what; /* "turn", "bytes" of a connection, or the kind of the mail; a literal */
    size_t size;      /* of the bytes */
    uint64_t at;      /* ns of the world */
    uint32_t node;
    uint32_t machine; /* 0 is control */
};

/* Functions that the world calls as things happen. Null members are skipped. Everything is lent for
 * the call. A pipe is one connection, written by the node that opened it. Its number is not used
 * again in this world. */
struct world_observer {
    void *user;
    void (*node_started)(void *user, uint32_t node, uint64_t uid);
    void (*node_leaves)(void *user, uint32_t node); /* it was commanded to leave */
    void (*node_ended)(void *user, uint32_t node, bool crashed, int error);
    void (*line)(void *user, uint32_t node, const struct trace_line *line);
    void (*probe)(void *user, uint32_t node, uint32_t machine,
                  /* Comes from nodes with settings.probes, after each turn and before a status, in
                   * order for each machine. */
                  const struct probe *probe);
    void (*written)(void *user, uint64_t pipe, uint32_t from, uint32_t to,
                    struct slice bytes); /* handed to the connection */
    void (*arrived)(void *user, uint64_t pipe, uint32_t from, uint32_t to,
                    /* given to a machine of the reader, in the order of writing */
                    struct slice bytes);
    /* A machine of the reader or writer closes its end by itself. The other end is open, both
     * incarnations continue, and no fault has hit the connection. */
    void (*pipe_closed)(void *user, uint64_t pipe, uint32_t from, uint32_t to,
                        bool by_reader);
    /* The writer's end is closed, and nothing more arrives. The last `lost` written bytes did not
     * arrive. broken: the network broke the connection, or its writer got no answer. */
    void (*pipe_ended)(void *user, uint64_t pipe, uint32_t from, uint32_t to,
                       size_t lost, bool broken);
    /* A machine is about to take an input or its turn, or has done so. Measurements use it. */
    void (*step)(void *user, const struct world_step *step, bool begins);
};

/* copied; several are called in order */
void world_observe(struct world *world, const struct world_observer *observer);

/* Returns the node's status, summed over its machines. Free it with world_status_fini. */
struct sherd_status world_status(struct world *world, uint32_t node);
struct sherd_status world_counts(struct world *world,
                                 uint32_t index); /* the same without members */
void world_status_fini(struct sherd_status *status);
/* Whether a node has logged a line ("module: text") that contains this text. Needs keep_lines. */
bool world_logged(const struct world *world, uint32_t node, const char *text);

/* The first journal backend of the nodes, for reading and for faults (disk_backend.h), between two
 * runs or in a call of world_at. Lent. Its disk is as fast as backend_delay says until it gets
 * other faults. */
struct disk_backend *world_backend(struct world *world);
/* Number 0 is the one of world_backend. */
uint32_t world_store_count(const struct world *world);
struct disk_backend *world_store_at(struct world *world, uint32_t index);

#endif
