/* Judges a time in which nodes restart gracefully, one after another, and nothing else is wrong.
 *
 *   graceful-restart  a type is without a coordinator for at most CHECK_RESTART_MISSING_NS, no ask of
 *                     a member that all see, and that stays, fails or takes more than
 *                     CHECK_RESTART_ASK_NS */
#ifndef SHERD_SIM_CHECK_RESTART_H
#define SHERD_SIM_CHECK_RESTART_H

#include <stdbool.h>
#include <stdint.h>

#include "base/probe.h"

#define CHECK_RESTART_MISSING_NS UINT64_C(1000000000)
#define CHECK_RESTART_ASK_NS UINT64_C(500000000)

struct verdict;
struct check_restart;

struct check_restart_counts {
    uint64_t asks;          /* judged */
    uint64_t slowest_ns;    /* of them */
    uint64_t hand_overs;    /* a type lost its last coordinator, and got another one */
    uint64_t missing_ns;    /* longest time without a coordinator */
};

struct check_restart *check_restart_new(struct verdict *verdict); /* lent for life */
void check_restart_free(struct check_restart *check);

/* From the first node's start to the end. */
void check_restart_probe(struct check_restart *check, uint64_t now, uint32_t node,
                         const struct probe *probe);
void check_restart_node_ended(struct check_restart *check, uint64_t now, uint32_t node);

/* Judges from now on, until the end. */
void check_restart_begin(struct check_restart *check, uint64_t now);
void check_restart_end(struct check_restart *check, uint64_t now);

/* An ask has ended; since: its start. failure: null if it was answered. Asks from before
 * check_restart_begin are not judged. */
void check_restart_asked(struct check_restart *check, uint64_t now, uint32_t node, uint64_t since,
                         const char *failure);

struct check_restart_counts check_restart_counts(const struct check_restart *check);

#endif
