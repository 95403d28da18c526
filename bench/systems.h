/* What the benchmarks of whole systems have in common: clocks, processors, a node, another node in a process of its own, and
 * an actor that measures. One measurement for each run of a program: what is said here is true once a process. */
#ifndef SHERD_BENCH_SYSTEMS_H
#define SHERD_BENCH_SYSTEMS_H

#include <sherd/sherd.h>

#include <sys/types.h>

/* Messages that the entities of every row understand. */
enum { COUNT = 1, ANSWER, ANSWERED, GO, WHERE, FEED };
#define FEED_COUNT 1000 /* messages to who sends FEED, the last of them FEED */

uint64_t now_ns(void); /* monotonic */
uint64_t cpu_ns(void); /* processor time of this process */
uint64_t socket_writes(void); /* writes on sockets by this process so far */
uint64_t socket_bytes(void); /* and their bytes */
void pin(int first, int last); /* this process, and those it starts, to these processors */
void pin_lanes(void); /* of a node that has several: lane 1 to processor 0, lane 2 to 1 */
uint64_t random_next(uint64_t *state); /* xorshift; *state not 0 */
void id_put(char *id, uint32_t number); /* "user-123"; id: 32 bytes */
void fail(const char *what, int error); /* says it and ends the process */

struct sherd_system *open_system(const struct sherd_options *options, const struct sherd_entity_type *type); /* started */
/* A node of entity type "User", whose entities count, and answer when they are asked to. seed: 0 = alone, else another node's
 * port on this host. lanes: 0 = all processors. config: may be null. */
struct sherd_system *open_node(uint16_t seed, uint32_t lanes, const char *config, int proxy, uint32_t shards);
void wait_members(struct sherd_system *system, uint32_t wanted); /* until this node and so many in all are up */
const char *poll_config(const char *poll); /* auto, latency or frugal; lent until the next call */
uint64_t undelivered(struct sherd_system *system); /* messages, for whatever reason */
/* Runs one actor until it calls finish(). */
void run_actor(struct sherd_system *system, const char *name, size_t state_size,
               enum sherd_next (*receive)(struct sherd_ctx *, void *, const struct sherd_msg *));
void finish(void);

/* The other process: a node alone that hosts, and ends with this one. */
struct other {
    pid_t process;
    int port_in;
    int end_out;
};

struct other start_other(int processor, uint32_t lanes, const char *config, uint32_t shards);
uint16_t port_of(const struct other *other); /* waits for it; once */
double end_other(const struct other *other); /* its processor time, in ns */

#endif
