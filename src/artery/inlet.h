/* One accepted connection: the preamble, then frames, out of segments of any size (wire 1.2, 1.3).
 *
 * The machine that accepts makes the inlet and feeds it until inlet_first shows the first frame; by stream and sender it
 * picks the machine that keeps the connection and gives it the inlet (it holds no trace and no clock). Nothing is ever
 * written on an accepted connection. A frame that lies whole in the given bytes is not copied. */
#ifndef SHERD_ARTERY_INLET_H
#define SHERD_ARTERY_INLET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "base/outbox.h"
#include "base/probe.h"

/* Why an inlet is closed. The driver closes the socket of one that is not INLET_OPEN. */
enum inlet_reason {
    INLET_OPEN,
    INLET_BAD_MAGIC,     /* not the preamble of this protocol: another program, or TLS on a plain port */
    INLET_BAD_STREAM,    /* a stream that we do not serve */
    INLET_FRAME_EMPTY,   /* length zero */
    INLET_FRAME_TOO_LARGE,
    INLET_UNKNOWN_TOO_LARGE, /* a frame above INLET_UNKNOWN_SIZE_MAX before the sender was accepted */
    INLET_HANDSHAKE_LATE,    /* no preamble or no accepted sender in time */
    INLET_OVER,              /* of a life of the sender that is over */
    INLET_SUPERSEDED,        /* a newer connection of the same sending lane is in use */
    INLET_NOT_VOUCHED,       /* its peer's certificate is not for the address that the sender claims */
    INLET_REFUSED,           /* the node does not want this sender: quarantined, foreign, garbage */
};

struct inlet;

struct inlet_counts {
    uint64_t frames; /* handed out */
    uint64_t bytes;  /* received */
    uint64_t dropped_bytes; /* received and not handed out when it was closed */
};

struct inlet_options {
    const char *magics[2]; /* accepted first four bytes, e.g. "AKKA", "PEKK"; null = none; literals */
    uint32_t large_size_max; /* of a frame on the large stream; 0: FRAME_LARGE_SIZE */
    /* Of a sender that is not accepted yet; 0: INLET_UNKNOWN_SIZE_MAX, INLET_PREAMBLE_MS, INLET_HANDSHAKE_MS. */
    uint32_t unknown_size_max;
    uint64_t preamble_within, handshake_within; /* ns since the inlet was made; the second is no shorter */
    struct probes *probes; /* of bytes that are not handed out; may be null */
};

/* Given to the caller, who frees it. Options are lent for its life. */
struct inlet *inlet_new(uint64_t now, const struct inlet_options *options);
void inlet_free(struct inlet *inlet);

/* Feeds bytes, lent until inlet_batch has returned 0. They are ignored, and counted, when the inlet is closed. */
void inlet_receive(struct inlet *inlet, struct slice bytes);
/* Splits off up to max frames (envelopes without length), lent until the next call on the inlet. To be called until it
 * returns 0, which keeps what is left of the bytes. While the sender is not accepted it gives one frame at a time. */
uint32_t inlet_batch(struct inlet *inlet, struct slice *frames, uint32_t max);
/* The first frame without taking it, lent until the next call; false when it is not there yet. After the last
 * inlet_batch; only while no frame was taken. Keeps the bytes: they need not live on. */
bool inlet_first(struct inlet *inlet, struct slice *frame);

/* The sender is known (its handshake was read, or its uid is one we know): frames up to the stream's limit are taken from
 * here on. lane, generation: from the handshake's extension; 0 for a JVM. */
void inlet_accept(struct inlet *inlet, uint64_t uid, uint32_t lane,
                  uint64_t generation);
void inlet_close(struct inlet *inlet, enum inlet_reason reason); /* keeps the first reason; what is left is dropped and counted */
void inlet_tick(struct inlet *inlet, uint64_t now);
uint64_t inlet_deadline(const struct inlet *inlet);

enum inlet_reason inlet_reason(const struct inlet *inlet);
const char *inlet_reason_text(enum inlet_reason reason);
int inlet_stream(const struct inlet *inlet); /* enum stream; 0 while the preamble is not complete */
uint64_t inlet_uid(const struct inlet *inlet); /* 0 while not accepted */
uint32_t inlet_lane(const struct inlet *inlet);
uint64_t inlet_generation(const struct inlet *inlet);
/* Its place among all connections that came to this node, from 1: of two lives of a peer, the one by whose connection a higher
 * one was seen is the later, in whatever order they are read. 0 until it is set. */
uint64_t inlet_order(const struct inlet *inlet);
void inlet_set_order(struct inlet *inlet, uint64_t order);
struct inlet_counts inlet_counts(const struct inlet *inlet);

#endif
