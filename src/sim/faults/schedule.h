/* Defines the faults of a run as a list, which the nemesis draws, a replay reads and shrinking
 * shortens.
 *
 * The text has one line for each fault, in order of time from the end of the forming phase:
 *
 *     at 12m3.5s crash 3
 *     at 12m20s start 3
 *     at 14m cut 1,2<>3-5 control for 30s
 *
 * Empty lines and text after a # are skipped. docs/man/sherd-sim.1 lists the verbs. */
#ifndef SHERD_SIM_FAULTS_SCHEDULE_H
#define SHERD_SIM_FAULTS_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/vec.h"

#define SCHEDULE_FAULTS_MAX 100000 /* lines; a run of 6 hours draws some thousand */
#define SCHEDULE_NODES_MAX 1000
#define SCHEDULE_TIME_MAX (UINT64_C(30) * 86400 * 1000000000)
#define SCHEDULE_ERROR_MAX 160 /* bytes of an error's text with its zero */

/* The parameters of a verb, in this order. */
enum fault_part {
    FAULT_NODE = 1,     /* "3" */
    FAULT_PATHS = 2,    /* "1,2>3-5", both ways "1,2<>3-5"; "*" is every node */
    FAULT_STREAMS = 4,  /* nothing, or "control", or "data" */
    FAULT_ZOMBIE = 8,   /* nothing, or "zombie" */
    FAULT_FACTOR = 16,  /* "x100" */
    FAULT_SHIFT = 32,   /* "+1h" or "-1h" */
    FAULT_RATE = 64,    /* "950000ppm" of the exact rate */
    FAULT_BY = 128,     /* "by 2s" */
    FAULT_EVERY = 256,  /* "every 5s" */
    FAULT_FOR = 512,    /* "for 30s" */
};

/* X(id, verb, parts) */
#define FAULT_LIST(X)                                                          \
    X(CRASH, "crash", FAULT_NODE)                                              \
    X(START, "start", FAULT_NODE)                                              \
    X(LEAVE, "leave", FAULT_NODE)                                              \
    X(DOWN, "down", FAULT_NODE | FAULT_ZOMBIE)                                 \
    X(PAUSE, "pause", FAULT_NODE | FAULT_FOR)                                  \
    X(SLOW, "slow", FAULT_NODE | FAULT_FACTOR | FAULT_FOR)                     \
    X(WALL, "wall", FAULT_NODE | FAULT_SHIFT)                                  \
    X(DRIFT, "drift", FAULT_NODE | FAULT_RATE | FAULT_FOR)                     \
    X(CUT, "cut", FAULT_PATHS | FAULT_STREAMS | FAULT_FOR)                     \
    X(FLAP, "flap", FAULT_PATHS | FAULT_STREAMS | FAULT_EVERY | FAULT_FOR)     \
    X(CLOG, "clog", FAULT_PATHS | FAULT_FOR)                                   \
    X(DELAY, "delay", FAULT_PATHS | FAULT_BY | FAULT_FOR)                      \
    X(RESET, "reset", FAULT_PATHS)                                             \
    X(HALF_OPEN, "half-open", FAULT_PATHS)                                     \
    X(REFUSE, "refuse", FAULT_NODE | FAULT_FOR)                                \
    X(SLOW_ACCEPT, "slow-accept", FAULT_NODE | FAULT_BY | FAULT_FOR)           \
    X(BLACK_HOLE, "black-hole", FAULT_NODE | FAULT_FOR)                        \
    X(DISK_STALL, "disk-stall", FAULT_FOR)                                     \
    X(DISK_ERROR, "disk-error", FAULT_FOR)                                     \
    X(DISK_FULL, "disk-full", FAULT_FOR)                                       \
    X(DISK_SYNC, "disk-sync", 0)                                               \
    X(POWER, "power", 0)                                                       \
    X(POWER_OFF, "power-off", FAULT_NODE)                                      \
    X(FOREIGN, "foreign", FAULT_NODE | FAULT_FOR)                              \
    X(FAKE_JOINS, "fake-joins", FAULT_NODE | FAULT_FOR)                        \
    X(FLOOD, "flood", FAULT_NODE | FAULT_FOR)                                  \
    X(LEASE_CUT, "lease-cut", FAULT_NODE | FAULT_FOR)                          \
    X(RESTART, "restart", FAULT_NODE | FAULT_BY)

enum fault_verb {
#define FAULT_ID(id, verb, parts) FAULT_VERB_##id,
    FAULT_LIST(FAULT_ID)
#undef FAULT_ID
    FAULT_VERBS
};

struct fault_nodes {
    uint32_t *items; /* ascending, each once */
    uint32_t count;
    bool all; /* every node; items is empty */
};

struct fault {
    uint64_t at; /* ns */
    enum fault_verb verb;
    uint32_t node;
    struct fault_nodes left, right;
    bool both_ways;
    uint32_t streams; /* a set of enum net_streams */
    bool zombie;
    int64_t amount; /* the factor, the shift in ns, the rate in ppm, or `by` in ns */
    uint64_t every; /* ns */
    uint64_t length; /* ns */
    uint32_t line; /* of the text that was read; 0: none */
};

/* Zero is an empty schedule. */
struct schedule {
    VEC(struct fault) faults; /* in order of time, then of lines */
};

void schedule_fini(struct schedule *schedule);
/* After those of the same time; given. */
void schedule_add(struct schedule *schedule, struct fault fault);
void fault_fini(struct fault *fault);
struct fault fault_copy(const struct fault *fault);
void fault_put(const struct fault *fault, struct buf *text); /* its line, without line end */
void schedule_put(const struct schedule *schedule, struct buf *text); /* lines */
/* Reads lines into an empty schedule. False with "line 7: the fault" in error (size
 * SCHEDULE_ERROR_MAX); then the schedule is empty. */
bool schedule_read(struct schedule *schedule, struct slice text, char *error,
                   size_t size);
/* Whether a run of so many nodes has those that faults name, and two for paths. False with "line 7:
 * the fault" in error. */
bool schedule_fits(const struct schedule *schedule, uint32_t nodes, char *error,
                   size_t size);
/* Removes nodes that a run of so many does not have, and faults without nodes. */
void schedule_clip(struct schedule *schedule, uint32_t nodes);
const char *fault_verb_name(enum fault_verb verb);
uint32_t fault_verb_parts(enum fault_verb verb); /* a set of enum fault_part */

/* Writes "1h02m11.4s", exact to the ns, into text (size TIME_TEXT_MAX). Returns text. */
#define TIME_TEXT_MAX 40
char *time_text(uint64_t ns, char *text, size_t size);
/* Reads the format of time_text. False if malformed or above SCHEDULE_TIME_MAX. */
bool time_parse(struct slice text, uint64_t *ns);

#endif
