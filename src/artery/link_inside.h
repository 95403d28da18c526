/* Declares the inside of `struct link` for link.c (states) and link_send.c (the queue). */
#ifndef SHERD_ARTERY_LINK_INSIDE_H
#define SHERD_ARTERY_LINK_INSIDE_H

#include "artery/chunks.h"
#include "artery/link.h"
#include "base/vec.h"

/* Parts that a link needs while it connects, or rarely. */
struct handshake_buffers {
    struct buf greeting; /* preamble, requests, responses: before the chunks */
    size_t greeted;      /* bytes of it written */
    struct buf urgent;   /* responses that wait for a connection */
    struct buf returned; /* for link_take_back */
};

/* A node has thousands of links: rare parts are made when needed. */
struct link {
    uint64_t uid;        /* last confirmed; 0 = none */
    uint64_t generation; /* of the connection */
    /* end of connecting, handshaking, backing off, or of the wait for a doubted peer */
    uint64_t until;
    uint64_t request_at; /* when the last handshake request was made, or of the last failure */
    uint8_t state;       /* enum link_state */
    uint8_t stream;      /* enum stream */
    uint8_t urgent_count;
    uint8_t refusal;     /* enum sherd_reason; as the counts below: see struct link_counts */
    bool connect_due : 1;
    bool close_due : 1;
    bool overflowed : 1; /* refused control frames were logged */
    bool is_named : 1;   /* the peer's answer named this connection */
    bool is_doubted : 1; /* open: the peer must answer once more */
    bool is_wanted : 1;  /* backing off: connect then, even if nothing waits */
    bool begun : 1;
    bool has_rng : 1;    /* it failed once */
    /* waiting frames up to the last of each repeating kind, at most UINT16_MAX; 0: none waits */
    uint16_t behind[REPEATS_COUNT - 1];
    uint32_t mark;        /* size of the tail at link_begin */
    struct chunks chunks; /* the queue */
    const struct link_sender *sender;
    VEC(struct link_news) news; /* at most NEWS_MAX */
    uint64_t frames, bytes;
    uint32_t refused, too_large, stale, dropped;
    uint32_t connects, failures, failed;
    const struct kept_address *peer;
    struct handshake_buffers *handshake; /* null: none of it is needed */
    union {
        uint64_t seed; /* until it fails */
        struct rng *rng;
    };
    const bool *leaves;
};

_Static_assert(sizeof(struct link) <= 3 * 64, "three cache lines");

/* Unwritten bytes of the greeting. */
static inline size_t link_ungreeted(const struct link *link)
{
    return link->handshake ? link->handshake->greeting.size - link->handshake->greeted : 0;
}

static inline bool link_is_control(const struct link *link)
{
    return link->stream == STREAM_CONTROL;
}

/* link_send.c: appends an own frame, without limits. */
void link_append_frame(struct link *link, struct slice frame);

/* link.c */
struct handshake_buffers *link_handshake_buffers(struct link *link); /* Makes them. */
void link_greeting_end(struct link *link); /* Releases the greeting once it is written. */
/* Leaves the probe of a frame of messages that ends unwritten. */
void link_frame_ended(const struct link *link, enum sherd_reason reason,
                      struct slice frame);
void link_say(const struct link *link, enum trace_level level,
              enum link_event event, const char *reason);
void link_start_connecting(struct link *link, uint64_t now);
void link_wake(struct link *link, uint64_t now); /* Connects if something waits. */
void link_append_request(struct link *link, uint64_t now, struct buf *buf);

#endif
