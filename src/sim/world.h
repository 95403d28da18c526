/* A world: many nodes in one process, on one thread, in virtual time, made of one seed. The other driver of node/node.h.
 *
 * Production nodes run in it unchanged, control and lanes. The world is their operating system: it gives each machine its
 * turns, carries mail, bytes (net.h) and requests to the store, each with a drawn delay, and keeps the nodes' clocks
 * (clock.h). Who drives it (tests, a nemesis, workloads) calls the verbs here and in net.h, and looks on as an observer.
 * Nothing depends on anything but the settings: equal seeds give equal worlds, and equal digests, from any compiler.
 *
 * Nodes have indexes from 0; an index is a place with an address, and lives of a node run there one after another. Times are
 * ns of the world's own clock, which no node sees. Verbs may be called between two runs and from world_at's functions, not
 * from observers. */
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
struct verdict; /* verdict.h */
struct disk_backend;

#define WORLD_NO_NODE UINT32_MAX

/* Where a world stands: for who sees no more of it, as when its process has died. */
struct world_place {
    uint64_t now;  /* ns of the world */
    uint64_t event; /* the last one that has begun, as they are counted */
    uint32_t node; /* whose machine has run last; WORLD_NO_NODE: none has */
};

/* What a world is made of. Zero is a default for each; copied. */
struct world_settings {
    uint64_t seed;
    uint64_t link_min;    /* ns: the least delay of a piece on a connection; as drawn by stream_delay */
    uint64_t link_mean;   /* ns: its mean; default 0.5 ms, with a least of 0.05 ms */
    uint64_t mail_delay;  /* ns: the longest of mail between machines of a node; default 20 us */
    uint64_t backend_delay; /* ns: about the mean of a write in the store, with its ways; default 2 ms */
    uint32_t pipe_size;   /* bytes that a connection takes before its reader must read; default 256 KiB */
    uint64_t give_up;     /* ns that a kernel sends again what nobody answers, before the connection fails; default 924 s, as Linux */
    uint32_t stores;      /* node n has number n modulo that; default 1 */
    bool byte_mode;       /* pieces are cut anywhere, from one byte to 64 KiB */
    bool keep_lines;      /* for world_logged */
    struct world_place *place; /* written as time passes; lent until the world is freed; null: nobody wants it */
};

struct world *world_new(const struct world_settings *settings); /* the caller's */
void world_free(struct world *world); /* nodes that run are gone; observers are not told */
uint64_t world_seed(const struct world *world);
uint64_t world_now(const struct world *world); /* begins at one second */
/* Once that event happens, as they are counted, its time is written to *at, which is 0 before; lent until then. */
void world_tells_event(struct world *world, uint64_t event, uint64_t *at);
uint64_t world_clock(const struct world *world, uint32_t index); /* what a node's monotonic clock shows */
/* Of all that happened: time, node, kind of event, hash of what was carried. */
uint64_t world_digest(const struct world *world);
struct verdict *world_verdict(struct world *world); /* lent: where checkers report */

/* ---- nodes ---- */

/* What can be seen of a place. */
struct world_node {
    struct node *node;   /* null: no life runs here */
    struct node_settings settings; /* of the last life; its texts and arrays are the starter's */
    uint32_t life;       /* counts lives, from 1 */
    bool is_paused;
    bool is_up;     /* it was up in this life */
    bool is_ready;  /* it is up, and is not on its way out */
    bool has_ended; /* the life ended by itself, with `error` */
    int error;      /* 0 or a SHERD_E... code */
};

uint32_t world_node_count(const struct world *world); /* places used so far: the highest index + 1 */
const struct world_node *world_node(const struct world *world, uint32_t index); /* lent; of an unused place all zero */
/* Settings for node `index` ("n<index>:2551") that make a cluster of short time-outs: it joins node 0, and node 0 itself.
 * Texts and arrays are constants or the caller's. Each call draws another uid and seed. */
struct node_settings world_node_settings(struct world *world, uint32_t index,
                                         const struct sherd_entity_type *types,
                                         uint32_t type_count);
/* Starts a node, or another life of one that has ended; settings copied, what they point to lent until the next life. */
void world_start(struct world *world, uint32_t index,
                 const struct node_settings *settings);
/* How a crash looks from outside. */
enum world_crash {
    WORLD_KILLED, /* the process: its kernel sends what was written, then closes; callers are refused */
    WORLD_RESET,  /* the same, but what was on its way is lost */
    WORLD_DARK,   /* the machine: nobody is told, callers get no answer until the next life; any part of what was on its way arrives */
};

/* The process is gone; how it looks is drawn: one half killed, one quarter each of the others. */
void world_crash(struct world *world, uint32_t index);
void world_crash_as(struct world *world, uint32_t index, enum world_crash how);
/* Its threads do not run; its kernel still accepts and buffers, and what it is told from outside waits. */
void world_pause(struct world *world, uint32_t index, bool paused);
uint32_t world_paused(const struct world *world); /* how many nodes are */
/* Each turn takes it that many times 10 us, and 1 us for each input; meanwhile nothing reaches that machine. 0: no time. */
void world_slow(struct world *world, uint32_t index, uint32_t factor);
/* Its clocks; they go on from one life to the next. */
void world_wall_jump(struct world *world, uint32_t index, int64_t ms);
void world_drift(struct world *world, uint32_t index, uint32_t ppm); /* rate of its monotonic clock, from 950000 to 1050000 */
/* From now on the longest delay of mail between the machines of a node; order between two of them is kept. */
void world_mail_delay(struct world *world, uint64_t most);

/* Who tells nodes with settings.finds_seeds where nodes are, some time after each asked (one in 16 is told nothing): fills in addresses,
 * at most MEMBER_SEEDS_MAX in the order that all nodes see, and returns their number; 0: not to be found out. Called as time passes. */
typedef uint32_t world_find(void *arg, uint32_t index,
                            struct address *addresses);
void world_finds(struct world *world, world_find *find, void *arg);

/* What faults have done to a place so far, in all its lives: for who asks whether a fault does anything. */
struct world_harm {
    uint64_t held;       /* inputs and turns that waited while it was paused */
    uint64_t slow_turns; /* that took time */
    uint64_t refused;    /* calls to it, while it refuses */
    uint64_t slow_calls; /* from which it did not read at once */
    uint64_t unanswered; /* calls to it that nobody answered */
    uint64_t ended;      /* lives that ended by themselves */
};
struct world_harm world_harm(const struct world *world, uint32_t index);

/* ---- time ---- */

void world_run(struct world *world, uint64_t duration); /* ns */
typedef bool world_condition(struct world *world, void *arg);
/* Runs until the condition holds, looking at it every 10 ms; false when it does not within `limit`. */
bool world_until(struct world *world, world_condition *condition, void *arg,
                 uint64_t limit);
/* A call at a time from now on, in the order of times, equal ones in a drawn order. */
typedef void world_call(struct world *world, void *arg);
void world_at(struct world *world, uint64_t at, world_call *function,
              void *arg);
uint64_t world_events(const struct world *world); /* how many have happened */
bool world_all_up(struct world *world, void *arg); /* arg unused: all nodes there see each other up and reachable */
bool world_node_ended(struct world *world, void *index); /* index: uint32_t */

/* ---- from outside the nodes' actors; the node is there ---- */

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
void world_prepare_shutdown(struct world *world, uint32_t node); /* node is told to prepare the cluster for its end */
void world_join(struct world *world, uint32_t node, uint32_t which); /* by the address of `which` */
void world_leave_member(struct world *world, uint32_t node, uint32_t which); /* node is told to make the address of `which` leave */
void world_down(struct world *world, uint32_t node, uint32_t which); /* node is told to down the address of `which` */

/* ---- looking on ---- */

/* An input or a turn of one machine. */
struct world_step {
    const char *what; /* "turn", "bytes" of a connection, or the name of the letter; a literal */
    size_t size;      /* of the bytes */
    uint64_t at;      /* ns of the world */
    uint32_t node;
    uint32_t machine; /* 0: control */
};

/* Functions that are called as things happen; null members are skipped. Everything is lent for the call. A pipe is one
 * connection, from the node that opened it and writes; its number is not used again in this world. */
struct world_observer {
    void *user;
    void (*node_started)(void *user, uint32_t node, uint64_t uid);
    void (*node_leaves)(void *user, uint32_t node); /* it is told to */
    void (*node_ended)(void *user, uint32_t node, bool crashed, int error);
    void (*line)(void *user, uint32_t node, const struct trace_line *line);
    void (*probe)(void *user, uint32_t node, uint32_t machine,
                  const struct probe *probe); /* of nodes with settings.probes; after each turn, and before a status;
                                                 in order for each machine */
    void (*written)(void *user, uint64_t pipe, uint32_t from, uint32_t to,
                    struct slice bytes); /* handed to the connection */
    void (*arrived)(void *user, uint64_t pipe, uint32_t from, uint32_t to,
                    struct slice bytes); /* given to a machine of the reader, in the order of writing */
    /* A machine closes its end by itself, the reader's or the writer's, while the other one is open, both lives go on, and nothing
     * was done to the connection. */
    void (*pipe_closed)(void *user, uint64_t pipe, uint32_t from, uint32_t to,
                        bool by_reader);
    /* The writer's end is closed and nothing more arrives: the last `lost` bytes that were written did not. broken: by what lies
     * between, or its writer got no answer. */
    void (*pipe_ended)(void *user, uint64_t pipe, uint32_t from, uint32_t to,
                       size_t lost, bool broken);
    /* A machine is about to take an input or its turn, or has done so: for those who measure. */
    void (*step)(void *user, const struct world_step *step, bool begins);
};

void world_observe(struct world *world, const struct world_observer *observer); /* copied; several, called in order */

/* The node's status, summed over its machines; to be freed with world_status_fini. */
struct sherd_status world_status(struct world *world, uint32_t node);
struct sherd_status world_counts(struct world *world,
                                 uint32_t index); /* the same without the members */
void world_status_fini(struct sherd_status *status);
/* Whether a node has logged a line ("module: text") with this in it so far; with keep_lines. */
bool world_logged(const struct world *world, uint32_t node, const char *text);

/* The one store of all nodes, to look at and to do harm to (disk_store.h), between two runs or in a call of world_at; lent. Its
 * disk is as fast as backend_delay says until it gets other faults. */
struct disk_backend *world_backend(struct world *world);
/* Where there are several: number 0 is that one. */
uint32_t world_store_count(const struct world *world);
struct disk_backend *world_store_at(struct world *world, uint32_t index);

#endif
