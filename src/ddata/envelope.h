/* Combines what is kept and sent of one key: the value, pruning markers, and versions of contained
 * deltas. */
#ifndef SHERD_DDATA_ENVELOPE_H
#define SHERD_DDATA_ENVELOPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "ddata/pruning.h"
#include "ddata/value.h"
#include "ddata/versions.h"

struct origin;
struct envelope;
typedef VEC(struct envelope) envelope_list;

/* Zero is empty. A deleted key has the value DD_DELETED and nothing else. */
struct envelope {
    struct dd_value *value;
    struct pruning pruning;
    struct versions versions;
    /* Null: the value merges here. Else whose state it is, and it may have siblings: other states of
     * the key (opaque.h). */
    struct origin *origin;
    envelope_list siblings; /* in order of arrival, before this one; they have none */
};

void envelope_fini(struct envelope *envelope); /* empty, and usable again */
void envelope_copy(struct envelope *to, const struct envelope *from); /* `to` must be empty */
bool envelope_is_deleted(const struct envelope *envelope);
void envelope_delete(struct envelope *envelope);

enum envelope_merged {
    ENVELOPE_SAME,    /* neither value nor pruning changed */
    ENVELOPE_CHANGED, /* the value changed, or the siblings */
    ENVELOPE_MARKED,  /* only the pruning changed */
    ENVELOPE_FULL,    /* too many siblings; nothing changed */
    ENVELOPE_REFUSED  /* another type; nothing changed */
};
static inline bool envelope_is_merged(enum envelope_merged merged)
{
    return merged <= ENVELOPE_MARKED;
}

/* Merges the other one (a state or delta), whose values are spent. Removes parts from both that
 * markers not obsolete at wall_ms declare pruned. Values that do not merge here become siblings;
 * then both need an origin. */
enum envelope_merged envelope_merge(struct envelope *envelope,
                                    struct envelope *other, int64_t wall_ms);
/* Merges only a value, which is spent. */
enum envelope_merged envelope_merge_value(struct envelope *envelope,
                                          struct dd_value *value);
/* Turns a delta alone into the state that it makes from nothing. False: impossible. */
bool envelope_settle(struct envelope *envelope);

/* The owner begins to prune the removed node, or performs it. */
void envelope_prune_begin(struct envelope *envelope,
                          const struct node_id *removed,
                          const struct node_id *owner);
void envelope_prune(struct envelope *envelope, const struct node_id *removed,
                    struct dd_writer *into, int64_t obsolete_at);

#endif
