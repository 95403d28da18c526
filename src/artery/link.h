/* Runs one outgoing connection to a peer: control's, or one lane's for ordinary or for large
 * messages. A node writes only on connections that it opened.
 *
 *  idle -> connecting -> handshaking -> open
 *  lost or failed: backing off (1 s .. 5 s), then connecting, or idle when nothing waits
 *
 * After every connect the preamble and a HandshakeReq go out first. Queued frames follow when the
 * peer's incarnation is known (link_answered), except handshake responses, which never wait. A
 * frame that was written in part is sent whole on the next connection. One that was written whole
 * may be lost with the connection, as Artery allows. The driver carries out the link's requests and
 * reports the results. docs/protocol/link.md describes the states. */
#ifndef SHERD_ARTERY_LINK_H
#define SHERD_ARTERY_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/error.h>

#include "artery/table.h"
#include "base/bytes.h"
#include "base/limits.h"
#include "base/outbox.h"
#include "base/probe.h"
#include "base/trace.h"

enum link_state {
    LINK_IDLE,
    LINK_CONNECTING,
    LINK_HANDSHAKING, /* connected, the peer's incarnation not confirmed */
    LINK_OPEN,
    LINK_BACKING_OFF,
};

enum link_request {
    LINK_REQUEST_NOTHING,
    LINK_REQUEST_CONNECT, /* open a connection; then link_connected or link_failed */
    LINK_REQUEST_CLOSE,   /* close it, or give up connecting; report nothing more about it */
};

enum link_news_kind {
    LINK_NEWS_OPEN,     /* the peer's incarnation is confirmed on this connection; uid is set */
    LINK_NEWS_LOST,
    LINK_NEWS_RENEWED,  /* another incarnation answered: frames for the old one were dropped */
};

struct link_news {
    enum link_news_kind kind;
    uint64_t uid;    /* of the peer, if known */
    uint32_t frames; /* dropped; 0 for open */
};

struct link_counts {
    uint64_t frames;        /* written whole */
    uint64_t bytes;
    uint64_t refused;       /* queue full */
    uint64_t too_large;     /* above the frame limit, or with a malformed ref */
    uint64_t stale;         /* for a past incarnation: never written */
    /* of the last refusal of link_send: LINK_FULL, TOO_LARGE, or NODE_GONE for stale */
    enum sherd_reason refusal;
    uint64_t dropped;       /* stale ones that had waited in the queue */
    uint64_t connects;
    uint64_t failures;      /* connections refused or lost */
    uint32_t failed;        /* of these, since the last open */
};

/* Settings of all links of a machine. Its pointers are lent for the links' lifetime. */
struct link_sender {
    const struct identity *self;
    uint32_t lane; /* the sending machine: 0 = control, lanes from 1; below PEER_LANES_MAX */
    uint32_t lanes;        /* of this node; announced to the peer */
    uint64_t capabilities; /* extension.h; announced to the peer */
    const char *magic;     /* four bytes, "AKKA" */
    uint32_t large_size_max; /* of a frame on a large link; 0: FRAME_LARGE_SIZE */
    uint32_t large_frames_max; /* waiting on one; 0: LINK_LARGE_FRAMES */
    struct trace *trace;
    struct buf *scratch; /* for one frame, within one call */
    struct probes *probes; /* facts about ordinary frames that end unwritten; may be null */
    uint64_t *lost; /* counts the dropped ones of all links but control's; may be null */
    uint64_t *left_out; /* [REPEATS_COUNT]: counts omitted repetitions of all links; may be null */
};

/* Pointers are lent for the link's lifetime. */
struct link_options {
    const struct link_sender *sender;
    const struct kept_address *peer;
    enum stream stream;
    uint64_t seed;
    /* whether the peer is leaving: its hang-up is no warning then. May be null */
    const bool *leaves;
};

struct link;

/* Connects when the first frame comes. */
struct link *link_new(const struct link_options *options);
void link_free(struct link *link);
/* The node shuts down: what waits ends as SHUTTING_DOWN. */
void link_end_waiting(struct link *link);

/* Encodes and queues a message of control; false when refused (counted; on control also news).
 * tables: the peer's, or null. Drops as stale a message whose to.uid differs from the open link's.
 *
 * Does not keep a system message (manifest j) while the link is not open or is half full, because
 * it comes again each second. Omits, and counts in left_out, a repetition while one of its kind
 * waits; values of distributed data only where much waits: a slow peer would receive nothing but
 * outdated values. */
bool link_send(struct link *link, uint64_t now, const struct peer_tables *tables,
               const struct outbound *message);
/* Counts a message for an older incarnation of the peer as stale. */
void link_refuse_stale(struct link *link);
/* Data path: returns room for one frame of at most size_max bytes, or null when the queue is full.
 * Append exactly one frame (envelope_head_put, sharding_envelope_put), then call link_end, without
 * other calls on this link between. A head with a peer's tables must be for link_uid(link).
 * link_end drops and counts a frame above the limit. */
struct buf *link_begin(struct link *link, size_t size_max);
void link_end(struct link *link, uint64_t now);
/* How many more frames fit; 0 when full by frames or bytes. For holding back in time. */
uint32_t link_room(const struct link *link);
/* Takes back the oldest unwritten frame (length first; lent until the next call), to re-route or
 * report it. False: none is left. Only while the link is idle, connecting or backing off. */
bool link_take_back(struct link *link, struct slice *frame);

/* For the driver: shows the next piece to write, lent until the next call on the link; false when
 * there is none. */
bool link_pending(struct link *link, uint64_t now, struct slice *bytes);
/* `size` bytes of that piece were written. */
void link_wrote(struct link *link, uint64_t now, size_t size);
enum link_request link_next_request(struct link *link); /* call until NOTHING */
void link_connected(struct link *link, uint64_t now);
void link_failed(struct link *link, uint64_t now, const char *reason);
void link_closed(struct link *link, uint64_t now, const char *reason);

/* Reports the peer's incarnation, as `associations` learned it. generation: of the request it
 * answers; 0 = unknown (a JVM): then it counts for the present connection. A lane or generation of
 * another link is ignored. */
void link_answered(struct link *link, uint64_t now, uint64_t uid, uint32_t lane,
                   uint64_t generation);
/* Another node claims the peer's address: connects without a long pause. An open link asks its peer
 * for an answer, and connects again after LINK_DOUBT_MS without one. Frames wait. */
void link_verify(struct link *link, uint64_t now);
/* Another incarnation is at the peer's address (ASSOCIATION_UP), and runs: drops what waits for the
 * previous one, closes a connection to it, and connects at once. */
void link_expect(struct link *link, uint64_t now, uint64_t uid);
/* The peer left or is quarantined: drops all and counts it as stale, closes the connection. The
 * link stays usable for a new incarnation. */
void link_drop(struct link *link, uint64_t now);
void link_tick(struct link *link, uint64_t now);
uint64_t link_deadline(const struct link *link);
bool link_next_news(struct link *link, struct link_news *news);

enum link_state link_state(const struct link *link);
const char *link_state_text(enum link_state state);
uint64_t link_uid(const struct link *link); /* last confirmed; 0 = none yet */
/* Returns the connection's generation; it grows with each connection, by the clock. */
uint64_t link_generation(const struct link *link);
uint32_t link_waiting(const struct link *link); /* frames not yet written whole */
struct link_counts link_counts(const struct link *link);

/* Events that a link logs. */
enum link_event {
    LINK_CONNECTED,
    LINK_OPENED,
    LINK_DROPPED,
    LINK_CANNOT_CONNECT,
    LINK_LOST,
    LINK_UNANSWERED, /* the connection ends before the peer's handshake */
    LINK_DOUBTED,    /* another node claims the address, and the peer does not answer */
    LINK_CONTROL_FULL
};

struct link_line {
    enum link_event event;
    const struct kept_address *peer;
    int stream;
    uint32_t waiting;   /* frames */
    const char *reason; /* null: none */
};

/* Defined in link_log.c. */
void link_log(const struct link_sender *sender, enum trace_level level,
              const struct link_line *line);

#endif
