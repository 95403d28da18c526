/* Judges the looks of nodes' programs.
 *
 *   look-ends-once  a look ends exactly once: in its time, when it is cancelled, at the limit of open
 *                   looks, or with its node. Its page keeps its limits, has each member at most once,
 *                   no part is ok without an answer, and the last page leaves out no member that stayed */
#ifndef SHERD_SIM_CHECK_LOOKS_H
#define SHERD_SIM_CHECK_LOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/look.h>

struct verdict;
struct check_looks;

/* After its time, a look of a healthy node has ended. */
#define CHECK_LOOKS_LATE_NS UINT64_C(2000000000)

struct check_looks_counts {
    uint64_t begun, ended, cancelled, refused, lost; /* lost: with their nodes */
    uint64_t rows, parts, missing; /* missing: parts that are not ok */
};

struct check_looks_begin {
    uint64_t number;
    uint32_t node;
    uint64_t now;     /* the world's, ns */
    uint64_t within;  /* ns */
    uint64_t harm;    /* to the node so far */
    uint32_t count;   /* rows at most */
    bool is_whole;    /* it has no cursor, and asks all members */
    const uint64_t *uids; /* of the members that the node sees */
    uint32_t uid_count;
};

struct check_looks_end {
    uint64_t number;
    uint32_t node;
    int result;
    const struct sherd_look_page *page; /* result 0 */
    uint64_t bytes;  /* held by the look */
    uint32_t asked;  /* its requests without an answer */
    const uint64_t *uids; /* of the members that the node sees now */
    uint32_t uid_count;
};

struct check_looks *check_looks_new(struct verdict *verdict); /* lent for life */
void check_looks_free(struct check_looks *check);
void check_looks_begun(struct check_looks *check, const struct check_looks_begin *begin); /* copied */
void check_looks_cancelled(struct check_looks *check, uint64_t number);
void check_looks_ended(struct check_looks *check, const struct check_looks_end *end);
void check_looks_node_ended(struct check_looks *check, uint32_t node);
/* Looks for late ones of a node. harm: as above; a node that was harmed meanwhile gets its time again. */
void check_looks_at(struct check_looks *check, uint64_t now, uint32_t node, uint64_t harm);
uint32_t check_looks_open(const struct check_looks *check);
struct check_looks_counts check_looks_counts(const struct check_looks *check);

#endif
