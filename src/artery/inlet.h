/* Reads one accepted connection: the preamble, then frames, from segments of any size.
 *
 * The accepting machine makes the inlet and feeds it until inlet_first shows the first frame. By
 * stream and sender it then picks the machine that keeps the connection, and gives it the inlet,
 * which holds no trace and no clock. Nothing is written on an accepted connection. A frame that
 * lies whole in the given bytes is not copied. */
#ifndef SHERD_ARTERY_INLET_H
#define SHERD_ARTERY_INLET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "base/outbox.h"
#include "base/probe.h"

/* Why an inlet is closed. The driver then closes its socket. */
enum inlet_reason {
    INLET_OPEN,
    INLET_BAD_MAGIC,     /* not this protocol's preamble: another program, or TLS on a plain port */
    INLET_BAD_STREAM,
    INLET_FRAME_EMPTY,
    INLET_FRAME_TOO_LARGE,
    INLET_UNKNOWN_TOO_LARGE, /* above INLET_UNKNOWN_SIZE_MAX before the sender was accepted */
    INLET_HANDSHAKE_LATE,    /* no preamble or no accepted sender in time */
    INLET_OVER,              /* the sender's incarnation is over */
    INLET_SUPERSEDED,        /* a newer connection of the same sending lane is in use */
    INLET_FORGOTTEN,         /* the sender never answered, and made room for others */
    INLET_NOT_VOUCHED,       /* the peer's certificate is not for the claimed address */
    INLET_REFUSED,           /* the node refuses the sender: quarantined, another system, garbage */
};

struct inlet;

struct inlet_counts {
    uint64_t frames;
    uint64_t bytes;
    uint64_t dropped_bytes; /* received, not handed out before the close */
};

struct inlet_options {
    const char *magics[2]; /* accepted first four bytes, e.g. "AKKA"; null = none; literals */
    uint32_t large_size_max; /* 0: FRAME_LARGE_SIZE */
    /* Before the sender is accepted; 0: INLET_UNKNOWN_SIZE_MAX, INLET_PREAMBLE_MS,
     * INLET_HANDSHAKE_MS. */
    uint32_t unknown_size_max;
    uint64_t preamble_within, handshake_within; /* ns since inlet_new; the second is no shorter */
    struct probes *probes; /* facts about bytes that are not handed out; may be null */
};

/* Options are lent for its lifetime. */
struct inlet *inlet_new(uint64_t now, const struct inlet_options *options);
void inlet_free(struct inlet *inlet);

/* Feeds bytes, lent until inlet_batch has returned 0. A closed inlet counts and ignores them. */
void inlet_receive(struct inlet *inlet, struct slice bytes);
/* Splits off up to max frames (envelopes without length), lent until the next call. Call it until
 * it returns 0; then it keeps the remaining bytes. One frame at a time while the sender is not
 * accepted. */
uint32_t inlet_batch(struct inlet *inlet, struct slice *frames, uint32_t max);
/* Shows the first frame, lent until the next call; false when it is incomplete. Call it after the
 * last inlet_batch, while no frame was taken. Keeps the bytes: they need not live on. */
bool inlet_first(struct inlet *inlet, struct slice *frame);

/* Accepts a sender by its handshake or known UID; from here on frames may have the stream's limit.
 * lane, generation: from the handshake's extension; 0 for a JVM. */
void inlet_accept(struct inlet *inlet, uint64_t uid, uint32_t lane,
                  uint64_t generation);
/* Notes a sender that is not accepted yet: another incarnation is at its address, and stays until
 * this one answers there. */
void inlet_claim(struct inlet *inlet, uint64_t uid, uint32_t lane,
                 uint64_t generation);
/* Keeps the first reason; drops and counts what is left. */
void inlet_close(struct inlet *inlet, enum inlet_reason reason);
void inlet_tick(struct inlet *inlet, uint64_t now);
uint64_t inlet_deadline(const struct inlet *inlet);

enum inlet_reason inlet_reason(const struct inlet *inlet);
const char *inlet_reason_text(enum inlet_reason reason);
int inlet_stream(const struct inlet *inlet); /* enum stream; 0 while the preamble is incomplete */
uint64_t inlet_uid(const struct inlet *inlet); /* 0 while not accepted */
uint64_t inlet_claimed(const struct inlet *inlet); /* by inlet_claim; 0 = none, or accepted since */
uint32_t inlet_lane(const struct inlet *inlet);    /* also of a claim */
uint64_t inlet_generation(const struct inlet *inlet);
/* Its place among all connections accepted by this node, from 1; 0 until set. The incarnation of a
 * peer with the higher one is the newer, in whatever order they are read. */
uint64_t inlet_order(const struct inlet *inlet);
void inlet_set_order(struct inlet *inlet, uint64_t order);
struct inlet_counts inlet_counts(const struct inlet *inlet);

#endif
