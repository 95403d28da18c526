/* What is kept and sent of one key: the value, the marks of pruning, and which deltas of whom it contains (behaviour
 * 13.5). */
#ifndef SHERD_DDATA_ENVELOPE_H
#define SHERD_DDATA_ENVELOPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "ddata/pruning.h"
#include "ddata/value.h"
#include "ddata/versions.h"

/* Zero is none. A deleted key's has DD_DELETED as its value, and nothing else. */
struct envelope {
    struct dd_value *value;
    struct pruning pruning;
    struct versions versions;
};

void envelope_fini(struct envelope *envelope); /* empty and usable again */
void envelope_copy(struct envelope *to, const struct envelope *from); /* to is empty before */
bool envelope_is_deleted(const struct envelope *envelope);
void envelope_delete(struct envelope *envelope);

enum envelope_merged {
    ENVELOPE_SAME,     /* nothing of value or pruning changed */
    ENVELOPE_CHANGED,  /* the value did */
    ENVELOPE_MARKED,   /* only the pruning did */
    ENVELOPE_REPLACED, /* of an unknown type: the other value stands in its place, but may be the older one */
    ENVELOPE_REFUSED   /* another type; all is as it was */
};

/* Merges the other one, a state or a delta, whose value is spent. Both are cleaned of what was pruned, as far as the
 * markers are not obsolete at that time. */
enum envelope_merged envelope_merge(struct envelope *envelope,
                                    struct envelope *other, int64_t wall_ms);
/* Merges a value alone, also spent. */
enum envelope_merged envelope_merge_value(struct envelope *envelope,
                                          struct dd_value *value);
/* A delta alone is not kept: it becomes what it makes of nothing. False when it cannot be. */
bool envelope_settle(struct envelope *envelope);

/* The removed node: the owner begins, or has done it. */
void envelope_prune_begin(struct envelope *envelope,
                          const struct node_id *removed,
                          const struct node_id *owner);
void envelope_prune(struct envelope *envelope, const struct node_id *removed,
                    struct dd_writer *into, int64_t obsolete_at);

#endif
