/* Contains what the benchmarks of whole nodes share: clocks, pinning to processors, a node, a
 * second node in another process, and an actor that measures. A program makes one measurement in
 * each run, so these functions keep global state. */
#ifndef SHERD_BENCH_SYSTEMS_H
#define SHERD_BENCH_SYSTEMS_H

#include <sherd/sherd.h>

#include <sys/types.h>

/* Messages that the entities of every row understand. */
enum { COUNT = 1, ANSWER, ANSWERED, GO, WHERE, FEED };
#define FEED_COUNT 1000 /* messages that the sender of FEED gets, the last of them FEED */

uint64_t bench_now_ns(void); /* returns monotonic time */
uint64_t bench_cpu_ns(void); /* returns the processor time of this process */
uint64_t bench_socket_writes(void); /* returns the number of this process's writes on sockets */
uint64_t bench_socket_bytes(void); /* returns the number of bytes in these writes */
/* pins this process and its later children to these processors */
void bench_pin(int first, int last);
void bench_pin_lanes(void); /* pins lane 1 of a node to processor 0, and lane 2 to processor 1 */
uint64_t bench_random_next(uint64_t *state); /* xorshift; *state is not 0 */
void bench_id_put(char *id, uint32_t number); /* writes "user-123"; id has 32 bytes */
void bench_fail(const char *what, int error); /* prints the error and ends the process */

/* Opens and starts a node with one entity type. */
struct sherd_system *bench_open_system(const struct sherd_options *options,
                                       const struct sherd_entity_type *type);
/* Starts a node with the entity type "User", whose entities count messages and answer on request.
 * seed: the port of another node on this host, or 0 to found a cluster. lanes: 0 means one for each
 * processor. config: may be null. */
struct sherd_system *bench_open_node(uint16_t seed, uint32_t lanes, const char *config, int proxy,
                                     uint32_t shards);
/* waits until this number of members is up */
void bench_wait_members(struct sherd_system *system, uint32_t wanted);
/* Returns a configuration. poll: auto, latency or frugal. The text is lent until the next call. */
const char *bench_poll_config(const char *poll);
/* returns the number of undelivered messages */
uint64_t bench_undelivered(struct sherd_system *system);
/* Runs one actor until it calls bench_finish(). */
void bench_run_actor(struct sherd_system *system, const char *name, size_t state_size,
                     enum sherd_next (*receive)(struct sherd_ctx *, void *, const struct sherd_msg *));
void bench_finish(void);

/* The other process: a node that founds the cluster, owns all shards, and ends with this
 * process. */
struct other {
    pid_t process;
    int port_in;
    int end_out;
};

struct other bench_start_other(int processor, uint32_t lanes, const char *config, uint32_t shards);
uint16_t bench_port_of(const struct other *other); /* waits for the port; call it once */
/* ends the process; returns its processor time in ns */
double bench_end_other(const struct other *other);

#endif
