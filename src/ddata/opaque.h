/* Keeps values side by side that only other members can merge: types of a JVM program, and maps
 * that contain one. A value is the state of one member, its origin. A later state of this member
 * contains it. A state of another member contains it if that is proved (struct sibling_shown). */
#ifndef SHERD_DDATA_OPAQUE_H
#define SHERD_DDATA_OPAQUE_H

#include "ddata/envelope.h"

/* How a value came. The messages of one member to this replicator arrive in order. */
enum origin_way {
    ORIGIN_STATE, /* by gossip: the state of that time */
    ORIGIN_WRITE, /* by a write: the state when the write began, which may be sent late */
    ORIGIN_READ,  /* by the answer to a read, which other messages may overtake */
    ORIGIN_RELAYED /* from a member that does not merge it, not from the origin */
};

/* A sibling was sent to an incarnation, with this version of this node beside it. A state of this
 * incarnation with exactly this version contains the sibling: only its own merge of that message
 * gives it the version. Other members can pass the version on without the sibling. */
struct sibling_shown {
    uint64_t uid;
    int64_t version;
};

struct origin {
    struct node_id node;
    uint64_t number; /* of the origin's write, which orders its writes; 0: not a write */
    enum origin_way way;
    bool is_own;     /* STATE: of this node */
    bool has_own;    /* the value contains the changes of this node */
    bool is_acknowledged; /* a writer was told that this node has the value, or one in it */
    bool may_skip;   /* RELAYED: the origin is there, and will send its state itself */
    bool is_echo;    /* RELAYED: the origin is this node */
    int64_t confirms; /* this node's version beside the value when it arrived; 0: none */
    uint64_t size;   /* bytes of the value as sent */
    VEC(struct sibling_shown) shown; /* the last ones */
};

struct origin *origin_new(const struct node_id *node, enum origin_way way);
/* The origin of this node's own state. */
struct origin *origin_own(const struct node_id *self);
void origin_free(struct origin *origin); /* null is fine */
struct origin *origin_copy(const struct origin *origin);
void origin_show(struct origin *origin, uint64_t uid, int64_t version);

/* The number of values: 1 without siblings. */
uint32_t opaque_count(const struct envelope *envelope);
/* From 0: the envelope itself, then its siblings, the last one first. */
struct envelope *opaque_at(struct envelope *envelope, uint32_t index);
const struct envelope *opaque_look(const struct envelope *envelope,
                                   uint32_t index);
uint64_t opaque_size(const struct envelope *envelope); /* of all values */
/* The value that this node's changes continue: the one with its own, else the last. */
struct envelope *opaque_base(struct envelope *envelope);

/* True if the two need siblings: one has an origin, or contains a value of an unknown type. */
bool opaque_is_needed(const struct envelope *envelope,
                      const struct envelope *other);
/* Adds the value and siblings of the other one, which is spent. Drops what they contain, or does not
 * add what is contained. Both have origins. At the limit it first drops values that no writer was
 * told of, and that others have; then it refuses. */
enum envelope_merged opaque_merge(struct envelope *envelope,
                                  struct envelope *other, int64_t wall_ms);
/* Replaces the value of `base`, one of the values, by a later one of this node, given; it becomes
 * the first. */
void opaque_renew(struct envelope *envelope, struct envelope *base,
                  struct dd_value *value, struct origin *origin);
/* Appends the bytes that the digest of the values covers, in any order of arrival. */
void opaque_bytes(const struct envelope *envelope, struct buf *bytes);
/* A single map whose values all merge needs no origin. True: it was dropped. */
bool opaque_end(struct envelope *envelope);

#endif
