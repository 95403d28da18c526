/* Facts for checkers: what a core did, left here and taken by the driver, which gives them to whoever judges the run.
 *
 * A machine has probes only when node_settings.probes asks for them; otherwise the pointer is null and a fact costs one branch.
 * Facts are never an input of a core. Bounded: see PROBES_MAX; what is beyond is counted, not kept. */
#ifndef SHERD_BASE_PROBE_H
#define SHERD_BASE_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/bytes.h"
#include "base/fence.h"

/* What happened: name, text. Behind each the fields that are set; `type` is an index into the node's types.
 *
 * A message ends once: delivered, or with one of the next three. HANDLER_FAILED is the one reason that comes after a delivery. */
#define PROBE_KINDS(X)                                                         \
    X(PROBE_MESSAGE_ENDED, "message ended")   /* undelivered. reason; bytes: the body; type: of an entity's */ \
    X(PROBE_FRAME_ENDED, "frame ended")       /* a frame of an ordinary stream that nobody reads any more. reason; bytes: the frame */ \
    X(PROBE_BYTES_ENDED, "bytes ended")       /* of an accepted connection that were not read as frames. bytes; node: uid of the sender */ \
    X(PROBE_ENTITY_STARTED, "entity started") /* before its first callback. type, shard; first: the actor; bytes: the id */ \
    X(PROBE_ENTITY_STOPPED, "entity stopped") /* after its last one. The same */

#define X(name, text) name,
enum probe_kind { PROBE_KINDS(X) PROBE_KIND_COUNT };
#undef X

#define PROBE_TYPE_NONE UINT16_MAX

struct probe {
    enum probe_kind kind;
    uint16_t type; /* PROBE_TYPE_NONE: of no entity type */
    uint8_t reason; /* enum sherd_reason */
    int32_t shard;
    struct fence fence;
    struct node_id node;
    uint64_t first, second; /* as the kind says */
    struct slice bytes;     /* lent until the next call on these probes */
};

struct probes; /* one for each machine (control, each lane) */

struct probes *probes_new(void);
void probes_free(struct probes *probes); /* null is fine */
void probes_put(struct probes *probes, const struct probe *probe); /* copied; null probes is fine */
bool probes_next(struct probes *probes, struct probe *probe); /* in order; false when empty, and for null */
uint64_t probes_lost(const struct probes *probes); /* facts dropped at the limit so far */
const char *probe_kind_text(enum probe_kind kind); /* a constant */

#endif
