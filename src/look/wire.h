/* Reads and writes the two frames of looks: `L` asks, `V` answers. docs/protocol/looks.md has the
 * fields. Both have protobuf's form, so a reader skips fields that it does not know. */
#ifndef SHERD_LOOK_WIRE_H
#define SHERD_LOOK_WIRE_H

#include "base/bytes.h"
#include "base/limits.h"
#include "look/kinds.h"

/* The begin of a part. The node that answers makes it, and nobody else reads it. Size 0: at the
 * first row. */
struct look_cursor {
    uint8_t size;
    uint8_t bytes[LOOK_CURSOR_MAX];
};

enum look_error {
    LOOK_ERROR_NONE,
    LOOK_ERROR_BUSY,       /* too many looks at once: ask again */
    LOOK_ERROR_KIND,       /* a kind or an order that this node does not know */
    LOOK_ERROR_CURSOR      /* none that this node has made */
};

/* Texts are lent. */
struct look_request {
    uint64_t id; /* of the asker */
    enum sherd_look_kind kind;
    struct slice type;   /* empty: all */
    struct slice shard;  /* likewise */
    struct slice entity; /* likewise */
    struct look_cursor cursor;
    uint32_t limit; /* rows of the part, 1 to SHERD_LOOK_ROWS_MAX */
    uint32_t order; /* a column, or LOOK_NO_ORDER */
    uint32_t within_ms; /* the asker waits no longer */
    uint64_t since_ms;
};

struct look_reply {
    uint64_t id; /* of the request */
    struct slice rows;        /* row.h; lent */
    struct look_cursor next;  /* size 0: that was all */
    enum look_error error;
    uint64_t wall_ms; /* when the part was made */
};

void look_request_put(struct buf *buf, const struct look_request *request);
/* False: malformed. *error: a kind or an order is not known here; the request has an id then. */
bool look_request_read(struct slice payload, struct look_request *request, enum look_error *error);
void look_reply_put(struct buf *buf, const struct look_reply *reply);
bool look_reply_read(struct slice payload, struct look_reply *reply);

#endif
