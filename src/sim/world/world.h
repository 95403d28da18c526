/* Runs many nodes in one process, on one thread, in virtual time, from one seed. It is the second
 * driver of node/node.h, beside host/.
 *
 * Production nodes run in a world unchanged. The world is their operating system: it runs each
 * machine's turns and carries mail, bytes (net.h) and journal requests, each with a drawn delay.
 * Tests, the nemesis and workloads control it with the functions here and in net.h, and watch it
 * with an observer. Equal settings give equal worlds and equal digests, from any compiler.
 *
 * A place is an index from 0 with an address. Incarnations of a node run there one after another.
 * Times are ns of the world's own clock, which no node sees. Do not call these functions from
 * observers. */
#ifndef SHERD_SIM_WORLD_H
#define SHERD_SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "base/timers.h"
#include "base/trace.h"
#include "journal/backend.h"
#include "node/node.h"
#include "sim/world/database.h"

#define WORLD_NODES_MAX 1024
#define WORLD_WALL_MS INT64_C(1700000000000) /* wall clock at time 0 */

struct world;
struct verdict;
struct lease_book;

#define WORLD_NO_NODE UINT32_MAX

/* The progress of a world, in memory that outlives the process which runs it. */
struct world_place {
    uint64_t now;
    uint64_t event; /* number of the last event that has begun */
    uint32_t node; /* node of the machine that ran last; WORLD_NO_NODE: none */
};

/* Zero is a default for each. Copied. */
struct world_settings {
    uint64_t seed;
    uint64_t link_min;    /* least ns of a piece, as in stream_delay */
    uint64_t link_mean;   /* mean ns; default 0.5 ms, with a least of 0.05 ms */
    uint64_t mail_delay;  /* longest ns of mail between machines of a node; default 20 us */
    uint64_t backend_delay; /* about the mean ns of a write in the journal backend; default 2 ms */
    uint32_t pipe_size;   /* bytes that a connection takes without a read; default 256 KiB */
    uint64_t give_up;     /* ns until a connection without answers fails; default 924 s, as Linux */
    uint32_t stores;      /* journal backends; node n uses number n modulo this; default 1 */
    enum database_servers database; /* the backends are databases of that kind, not disks */
    bool byte_mode;       /* pieces are cut anywhere, from one byte to 64 KiB */
    bool keep_lines;      /* needed for world_logged */
    struct world_place *place; /* written as time passes; lent; may be null */
};

struct world *world_new(const struct world_settings *settings);
void world_free(struct world *world); /* observers are not called */
uint64_t world_seed(const struct world *world);
uint64_t world_now(const struct world *world); /* starts at one second */
/* Sets *at to 0 now, and to the time of the event with this number once it happens. Lent until
 * then. */
void world_tells_event(struct world *world, uint64_t event, uint64_t *at);
uint64_t world_clock(const struct world *world, uint32_t index);
/* Covers the time, node, kind and content of every event. */
uint64_t world_digest(const struct world *world);
struct verdict *world_verdict(struct world *world); /* lent */

/* ---- nodes ---- */

/* The visible state of a place. */
struct world_node {
    struct node *node;   /* null: none runs here */
    struct node_settings settings; /* of the last incarnation; the starter owns texts and arrays */
    uint32_t life;       /* counts incarnations, from 1 */
    bool is_paused;
    bool is_up;     /* in this incarnation */
    bool is_ready;  /* and not leaving */
    bool has_ended; /* by itself, with `error` */
    int error;
    uint32_t types_called; /* answers to world_add_type and world_stop_region */
    int type_result;       /* of the last one */
    struct query_part *answer; /* the last one to world_query, or null; lent */
};

uint32_t world_node_count(const struct world *world); /* the highest used index + 1 */
/* lent; an unused place is all zero */
const struct world_node *world_node(const struct world *world, uint32_t index);
/* Returns settings of node `index` ("n<index>:2551") for a cluster with short time-outs that node 0
 * founds. Texts and arrays are constants or the caller's. Each call draws another uid and seed. */
struct node_settings world_node_settings(struct world *world, uint32_t index,
                                         const struct sherd_entity_type *types,
                                         uint32_t type_count);
/* Starts a node, or the next incarnation of an ended one. Settings are copied; objects behind them
 * are lent until the next start. */
void world_start(struct world *world, uint32_t index,
                 const struct node_settings *settings);
/* How a crash looks from outside. */
enum world_crash {
    /* the process dies: its kernel sends what was written, closes, and refuses calls */
    WORLD_KILLED,
    WORLD_RESET,  /* the same, but bytes in flight are lost */
    /* the machine dies: peers hear nothing, calls get no answer until the next start, and any part
     * of the bytes in flight arrives */
    WORLD_DARK,
};

/* Draws the kind of crash: one half killed, one quarter each of the others. */
void world_crash(struct world *world, uint32_t index);
void world_crash_as(struct world *world, uint32_t index, enum world_crash how);
/* Stops or resumes the node's threads. Its kernel accepts and buffers, and commands wait. */
void world_pause(struct world *world, uint32_t index, bool paused);
uint32_t world_paused(const struct world *world);
/* Makes a turn take factor times 10 us, and 1 us for each input. 0: no time. */
void world_slow(struct world *world, uint32_t index, uint32_t factor);
/* Clocks continue across incarnations. */
void world_wall_jump(struct world *world, uint32_t index, int64_t ms);
/* rate of the monotonic clock, 950000 to 1050000 */
void world_drift(struct world *world, uint32_t index, uint32_t ppm);
/* Sets the longest delay of mail from now on. Two machines keep their order. */
void world_mail_delay(struct world *world, uint64_t most);

/* Answers nodes with settings.finds_seeds after a delay; one in 16 gets no answer. Fills in at most
 * MEMBER_SEEDS_MAX addresses, in an order equal for all nodes. Returns their number; 0: unknown. */
typedef uint32_t world_find(void *arg, uint32_t index,
                            struct address *addresses);
void world_finds(struct world *world, world_find *find, void *arg);

/* Cuts the node off from the lease provider, or ends that. */
void world_cut_leases(struct world *world, uint32_t index, bool on);
const struct lease_book *world_leases(const struct world *world); /* of the provider; lent */

/* Effects of faults on a place so far, in all its incarnations. */
struct world_harm {
    uint64_t held;       /* inputs and turns that waited while it was paused */
    uint64_t slow_turns;
    uint64_t refused;    /* by its kernel */
    uint64_t slow_calls; /* calls that it did not read at once */
    uint64_t unanswered;
    uint64_t ended;      /* incarnations that ended by themselves */
    uint64_t lease_answers; /* lost ones of the lease provider */
};
struct world_harm world_harm(const struct world *world, uint32_t index);

/* ---- time ---- */

void world_run(struct world *world, uint64_t duration); /* ns */
typedef bool world_condition(struct world *world, void *arg);
/* Runs until the condition holds, checked every 10 ms. False if it does not within `limit`. */
bool world_until(struct world *world, world_condition *condition, void *arg,
                 uint64_t limit);
/* Calls a function at a time from now on. Equal times have a drawn order. */
typedef void world_call(struct world *world, void *arg);
void world_at(struct world *world, uint64_t at, world_call *function,
              void *arg);
uint64_t world_events(const struct world *world);
/* all running nodes see each other as up and reachable; arg unused */
bool world_all_up(struct world *world, void *arg);
bool world_node_ended(struct world *world, void *index); /* index: uint32_t */

/* ---- commands to a running node; `which` is named by its address ---- */

void world_spawn(struct world *world, uint32_t node, uint32_t lane,
                 const struct sherd_behavior *behavior, const void *init,
                 size_t size);
/* The same with all that a driver can say. */
void world_spawn_as(struct world *world, uint32_t node, uint32_t lane,
                    const struct node_spawn *spawn);
/* Reserves a ref for it; the result is nobody if the lane is at a limit. */
struct sherd_ref world_reserve(struct world *world, uint32_t node,
                               uint32_t lane);
void world_tell_entity(struct world *world, uint32_t node, const char *type,
                       const char *id, uint32_t msg,
                       struct sherd_bytes body);
void world_tell(struct world *world, uint32_t node, struct sherd_ref to,
                uint32_t msg, struct sherd_bytes body);
/* Wakes an actor that acts for threads of the program (node_mail_wake). */
void world_wake(struct world *world, uint32_t node, struct sherd_ref actor);
void world_leave(struct world *world, uint32_t node);
/* A stranger connects to the running node, says that it is `claimed`, answers the node's handshake
 * unasked, asks to join, and hangs up. It listens nowhere. */
void world_fake_join(struct world *world, uint32_t node,
                     const struct node_id *claimed);
/* A stranger shakes hands with the running node on a connection that it holds open. On a control
 * stream it also answers the node's handshake unasked, as a JVM. */
void world_shake(struct world *world, uint32_t node,
                 const struct node_id *claimed, enum stream stream);
void world_leave_from(struct world *world, uint32_t node,
                      enum sherd_phase from);
void world_prepare_shutdown(struct world *world, uint32_t node);
void world_join(struct world *world, uint32_t node, uint32_t which);
void world_leave_member(struct world *world, uint32_t node, uint32_t which);
void world_down(struct world *world, uint32_t node, uint32_t which);
/* Changes the limits of a region's active entities on the node; 0: none. An unknown type is
 * ignored. */
void world_active_limit(struct world *world, uint32_t node, const char *type,
                        uint32_t entities, uint64_t bytes);
/* Answers a request of a coordinator on the running node, as a thread of the program does by
 * sherd_system_allocation_answer. An address that is none is ignored. */
struct sherd_allocation_choice;
void world_allocate(struct world *world, uint32_t node,
                    const struct sherd_allocation_choice *choice);

/* Adds a type to a node that runs, or shuts a region down; an answer follows. At most two types can be
 * added to an incarnation. Texts and functions are lent until the node's end. */
void world_add_type(struct world *world, uint32_t node, const struct sherd_entity_type *type);
void world_stop_region(struct world *world, uint32_t node, const char *type);
/* Asks the node about a type's regions. The answer follows, unless the node ends before. timeout: ns;
 * 0: the settings'. An unknown type is ignored. */
void world_query(struct world *world, uint32_t node, const char *type,
                 enum node_query query, uint64_t timeout);

/* Starts a look of the program, given (node/mail/look_call.h). An observer gets it back, unless the
 * node ends before. */
struct look_call;
void world_look(struct world *world, uint32_t node, struct look_call *call);
void world_look_cancel(struct world *world, uint32_t node, uint64_t number);
/* Starts an operation of the program, given (node/mail/operate_call.h). An observer gets it back,
 * unless the node ends before. */
struct operate_call;
void world_operate(struct world *world, uint32_t node, struct operate_call *call);

/* ---- observers ---- */

/* An input or a turn of one machine. */
struct world_step {
    const char *what; /* "turn", "bytes", or the kind of the mail; a literal */
    size_t size;
    uint64_t at;
    uint32_t node;
    uint32_t machine; /* 0 is control */
};

/* Null members are skipped. Everything is lent for the call. A pipe is one connection, written by
 * the node that opened it; its number is not used again. */
struct world_observer {
    void *user;
    void (*node_started)(void *user, uint32_t node, uint64_t uid);
    void (*node_leaves)(void *user, uint32_t node); /* by a command */
    void (*node_ended)(void *user, uint32_t node, bool crashed, int error);
    void (*line)(void *user, uint32_t node, const struct trace_line *line);
    void (*probe)(void *user, uint32_t node, uint32_t machine,
                  /* Comes from nodes with settings.probes, after each turn and before a status. */
                  const struct probe *probe);
    void (*written)(void *user, uint64_t pipe, uint32_t from, uint32_t to,
                    struct slice bytes); /* handed to the connection */
    void (*arrived)(void *user, uint64_t pipe, uint32_t from, uint32_t to,
                    struct slice bytes); /* in the order of writing */
    /* A machine closes its end by itself, while the other end is open and without a fault of the
     * connection. */
    void (*pipe_closed)(void *user, uint64_t pipe, uint32_t from, uint32_t to,
                        bool by_reader);
    /* The writer's end is closed and nothing more arrives; the last `lost` bytes did not. broken:
     * by the network, or for lack of an answer. */
    void (*pipe_ended)(void *user, uint64_t pipe, uint32_t from, uint32_t to,
                       size_t lost, bool broken);
    /* A look (world_look) has ended. */
    void (*looked)(void *user, uint32_t node, struct look_call *call);
    /* An operation (world_operate) has ended. */
    void (*operated)(void *user, uint32_t node, struct operate_call *call);
    /* Before and after each input and turn of a machine. */
    void (*step)(void *user, const struct world_step *step, bool begins);
};

/* copied; several are called in order */
void world_observe(struct world *world, const struct world_observer *observer);

/* Sums up the node's machines. Free it with world_status_fini. */
struct sherd_status world_status(struct world *world, uint32_t node);
struct sherd_status world_counts(struct world *world,
                                 uint32_t index); /* the same without members */
void world_status_fini(struct sherd_status *status);
/* Whether a node has logged a line ("module: text") with this text. Needs keep_lines. */
bool world_logged(const struct world *world, uint32_t node, const char *text);

/* The first journal backend, for reading and for faults (disk_backend.h), between runs or in a call
 * of world_at. Lent. Its disk is as fast as backend_delay says until it gets other faults. */
struct disk_backend *world_backend(struct world *world);
/* Number 0 is that of world_backend. */
uint32_t world_store_count(const struct world *world);
struct disk_backend *world_store_at(struct world *world, uint32_t index);
/* The database that nodes use in its place; null: none. */
struct database *world_database_at(struct world *world, uint32_t index);
/* For either. */
void world_store_observe(struct world *world, uint32_t index,
                         const struct disk_backend_observer *observer);
void world_store_power_loss(struct world *world, uint32_t index);
void world_store_reopen(struct world *world, uint32_t index);
/* Starts or ends the own faults of all databases. */
void world_database_faults(struct world *world, bool on);

#endif
