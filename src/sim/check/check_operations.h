/* Judges the operations of nodes' programs.
 *
 *   operation-ends   an operation ends exactly once: in its time, at the limit of open ones, or with
 *                    the node that asked. A move that is done had its target as the shard's home
 *   cordon-honoured  a cordoned node gets no shard while another node takes shards */
#ifndef SHERD_SIM_CHECK_OPERATIONS_H
#define SHERD_SIM_CHECK_OPERATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/operate.h>

#include "base/probe.h"

struct check_safety;
struct verdict;
struct check_operations;

/* After its time, an operation of a healthy node has ended. */
#define CHECK_OPERATIONS_LATE_NS UINT64_C(2000000000)
/* After a cordon was confirmed, an earlier registration may still be on its way to a coordinator. */
#define CHECK_OPERATIONS_CORDON_NS UINT64_C(20000000000)

struct check_operations_counts {
    uint64_t begun, done, failed, refused, lost; /* lost: with the nodes that asked */
    uint64_t codes[SHERD_OPERATION_CODE_COUNT]; /* of failed ones */
    uint64_t cordoned; /* allocations while a node was cordoned */
};

struct check_operations_begin {
    uint64_t number;
    uint32_t node; /* the asking one */
    enum sherd_operation_kind kind;
    uint64_t now;    /* the world's, ns */
    uint64_t within; /* ns */
    uint64_t harm;   /* to the node so far */
    uint64_t uid;    /* CORDON, UNCORDON: of the node */
    uint32_t place;  /* MOVE_SHARD: the number of the node that is to be the home */
    bool is_dry_run;
    uint16_t type;   /* MOVE_SHARD, as in probes */
    int32_t shard;   /* likewise */
};

struct check_operations_end {
    uint64_t number;
    uint32_t node;
    uint64_t now;
    int result;
    enum sherd_operation_state state;
    enum sherd_operation_code code;
};

struct check_operations *check_operations_new(struct verdict *verdict); /* lent for life */
void check_operations_free(struct check_operations *check);
/* Nodes outside (facts.h); lent for life. */
void check_operations_safety(struct check_operations *check, const struct check_safety *safety);
void check_operations_begun(struct check_operations *check,
                            const struct check_operations_begin *begin); /* copied */
void check_operations_ended(struct check_operations *check,
                            const struct check_operations_end *end);
void check_operations_node_ended(struct check_operations *check, uint32_t node);
/* place: the number of the probe's node. */
void check_operations_probe(struct check_operations *check, uint64_t now, uint32_t node,
                            uint32_t place, const struct probe *probe);
/* Looks for late ones of a node. harm: as above; a node that was harmed meanwhile gets its time
 * again. */
void check_operations_at(struct check_operations *check, uint64_t now, uint32_t node,
                         uint64_t harm);
uint32_t check_operations_open(const struct check_operations *check);
struct check_operations_counts check_operations_counts(const struct check_operations *check);

#endif
