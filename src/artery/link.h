/* One outgoing connection to a peer: control's, or one lane's, for what is ordinary or for what is large. We write only on connections that we opened.
 *
 *   idle -> connecting -> handshaking -> open      lost or failed: backing off (1 s .. 5 s), then connecting, or idle when
 *                                                  nothing waits
 *
 * After every connect the preamble and a HandshakeReq go out first; queued frames follow when the peer's incarnation is
 * known (link_answered), except handshake responses, which never wait. Frames are kept in large chunks, so that one write
 * carries hundreds. A frame of which only a part was written is sent whole on the next connection; what was written whole
 * may be lost with the connection, as Artery allows. The driver carries out the wants and reports what became of them. */
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

enum link_want {
    LINK_WANT_NOTHING,
    LINK_WANT_CONNECT, /* open a connection; then link_connected or link_failed */
    LINK_WANT_CLOSE,   /* close it, or give up connecting; report nothing more about that connection */
};

enum link_news_kind {
    LINK_NEWS_OPEN,     /* the peer's incarnation is confirmed on this connection; uid is set */
    LINK_NEWS_LOST,     /* the connection was lost or could not be made */
    LINK_NEWS_RENEWED,  /* another incarnation answered: frames for the old one were dropped */
};

struct link_news {
    enum link_news_kind kind;
    uint64_t uid;    /* of the peer, as far as known */
    uint32_t frames; /* dropped; 0 for open */
};

struct link_counts {
    uint64_t frames;        /* written whole to the connection */
    uint64_t bytes;         /* written */
    uint64_t refused;       /* by the full queue */
    uint64_t too_large;     /* messages above the frame limit, or with a malformed ref */
    uint64_t stale;         /* for an incarnation that is gone: never written */
    enum sherd_reason refusal; /* why link_send refused last: LINK_FULL, TOO_LARGE, or NODE_GONE for stale */
    uint64_t dropped;       /* of those, the ones that waited in the queue */
    uint64_t connects;      /* connections made */
    uint64_t failures;      /* connections refused or lost */
    uint32_t failed;        /* of those, since the last open */
};

/* What all links of a machine have in common. What it points to is lent for the links' life. */
struct link_sender {
    const struct identity *self;
    uint32_t lane;         /* the sending machine: 0 = control, lanes from 1; below ORIGIN_LANES_MAX */
    uint32_t lanes;        /* how many this node has; told to the peer */
    uint64_t capabilities; /* extension.h; told to the peer */
    const char *magic;     /* four bytes, "AKKA" */
    uint32_t large_size_max; /* of a frame on a large link; 0: FRAME_LARGE_SIZE */
    uint32_t large_frames_max; /* that wait on one; 0: LINK_LARGE_FRAMES */
    struct trace *trace;
    struct buf *scratch; /* to write a frame in, between two calls */
    struct probes *probes; /* of frames of an ordinary stream that end unwritten; may be null */
    uint64_t *lost; /* counts the dropped of all links but control's; may be null */
    uint64_t *left_out; /* [REPEATS_COUNT]: of all links, what was not put behind one of its kind; may be null */
};

/* Pointers are lent for the link's life. */
struct link_options {
    const struct link_sender *sender;
    const struct kept_address *peer; /* lent for life */
    enum stream stream;
    uint64_t seed;
    const bool *leaves; /* whether the peer is on its way out: then it is no warning that it hangs up. May be null */
};

struct link;

/* Given to the caller, who frees it. Connects when the first frame comes. */
struct link *link_new(const struct link_options *options);
void link_free(struct link *link);
void link_end_waiting(struct link *link); /* the node's end: what waits ends as SHUTTING_DOWN */

/* Sending. Control plane: encodes and queues; false when refused (counted; on control it is also news). tables: the peer's,
 * or null. A message with to.uid other than the one that an open link leads to is dropped as stale. A system message (manifest j) is not
 * kept while the link is not open or half full: it comes again each second, and would fill the queue. Neither is one that repeats
 * while one of its kind waits (counted in left_out), values of distributed data only where much does: to a slow peer they would be all that is carried, each too old to
 * be of use. */
bool link_send(struct link *link, uint64_t now, const struct peer_tables *tables,
               const struct outbound *message);
/* Sending: counts a message that is for an incarnation before the peer's as stale. */
void link_refuse_stale(struct link *link);
/* Sending, data path: a buffer with room for one frame of at most size_max bytes, or null when the queue is full; append
 * exactly one frame (envelope_head_put, sharding_envelope_put), then link_end. Nothing else on this link in between. A head
 * made with a peer's tables must be for link_uid(link). A frame above the limit is dropped and counted by link_end. */
struct buf *link_begin(struct link *link, size_t size_max);
void link_end(struct link *link, uint64_t now);
/* How many more frames fit by count; 0 when full by count or bytes. To hold back instead of being refused. */
uint32_t link_room(const struct link *link);
/* Takes back the oldest frame that was not written (length first; lent until the next call), to re-route or report it.
 * Only while the link is idle, connecting or backing off: false then means none is left. */
bool link_take_back(struct link *link, struct slice *frame);

/* Driver. What to write: one contiguous piece, lent until the next call on the link; false when there is nothing. */
bool link_pending(struct link *link, uint64_t now, struct slice *bytes);
void link_wrote(struct link *link, uint64_t now, size_t size); /* that many bytes of it went to the connection */
enum link_want link_next_want(struct link *link); /* until nothing; may change with every call on the link */
void link_connected(struct link *link, uint64_t now);
void link_failed(struct link *link, uint64_t now, const char *reason); /* the connection could not be made */
void link_closed(struct link *link, uint64_t now, const char *reason); /* the connection was lost */

/* The peer's incarnation, as `associations` learned it. generation: of the request it answers, 0 = not told (a JVM): then
 * it counts for the connection that is there. Any lane and generation of another link is ignored. */
void link_answered(struct link *link, uint64_t now, uint64_t uid, uint32_t lane,
                   uint64_t generation);
/* Another incarnation is at the peer's address (ASSOCIATION_UP): what waits for the one before is dropped, and a connection
 * that led to it is closed. */
void link_expect(struct link *link, uint64_t now, uint64_t uid);
/* The peer left or is quarantined: everything waiting is dropped and counted as stale, the connection closed. The link
 * stays usable for a new incarnation. */
void link_drop(struct link *link, uint64_t now);
void link_tick(struct link *link, uint64_t now);
uint64_t link_deadline(const struct link *link);
bool link_next_news(struct link *link, struct link_news *news);

enum link_state link_state(const struct link *link);
const char *link_state_text(enum link_state state);
uint64_t link_uid(const struct link *link); /* last confirmed; 0 = none yet */
uint64_t link_generation(const struct link *link); /* of the connection; grows with each, by the clock */
uint32_t link_waiting(const struct link *link); /* frames not yet written whole */
struct link_counts link_counts(const struct link *link);

#endif
