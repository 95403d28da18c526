/* The journal of one lane: what entities persist, on its way to the store, and
 * back when they recover. Pure: it leaves store requests and news, and is told
 * replies and the time.
 *
 * Writing. journal_append gives every event a position, increasing over the
 * whole lane. Events collect in a group while one commit is under way; when
 * that is back the next group goes out, however small: it never waits to
 * fill. The node holds back what an entity sends after an event until
 * JOURNAL_DURABLE has passed the event's position.
 *
 * Owning. Nothing is read or written for a shard before its fence is claimed
 * in the store (journal_claim). A higher fence found there ends the shard here.
 *
 * Recovering. journal_replay reads an entity's events in bounded chunks; few
 * entities at a time, the others wait in order.
 *
 * Order of calls: journal_claim for a shard; journal_replay for an entity, its
 * news until JOURNAL_RECOVERED; then journal_append; journal_forget when the
 * entity stops; journal_release when the shard is gone. Drain the news after
 * every journal_reply and before any entity runs: a JOURNAL_FAILED must reach
 * the entity before its next turn. */
#ifndef SHERD_JOURNAL_JOURNAL_H
#define SHERD_JOURNAL_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/fence.h"
#include "base/trace.h"
#include "journal/backend.h"

struct journal;

#define POSITION_NEVER UINT64_MAX /* the position of what never becomes durable */

struct journal_options {
    uint64_t seed;       /* for the jitter of retries */
    uint64_t kept;       /* of a shard's own stream: records before its newest base that are not deleted */
    struct trace *trace; /* lent for the journal's life; may be null */
};

struct journal *journal_new(const struct journal_options *options);
void journal_free(struct journal *journal); /* null is fine; requests still out are the driver's to free */

/* --- shards --- */

/* Claims a shard with its fence; news follow: JOURNAL_CLAIMED or
 * JOURNAL_SHARD_FENCED. A store that fails is asked again, with back-off, for
 * as long as the shard is here. A second claim of the same shard with a higher
 * fence raises it, with the same fence it is answered again, with a lower one
 * it is ignored. Copied. */
void journal_claim(struct journal *journal, struct slice type,
                   struct slice shard, struct fence fence);
/* The same under a coordinator without terms: the store gives the next epoch
 * (once for each host-shard that starts the shard, never on a refused write);
 * JOURNAL_CLAIMED tells the fence. */
void journal_claim_next(struct journal *journal, struct slice type,
                        struct slice shard);
/* The shard has left this node. All of its entities must be forgotten; events
 * on their way are still written under its fence. Unknown shards are ignored. */
void journal_release(struct journal *journal, struct slice type,
                     struct slice shard);

/* --- entities --- */

/* Starts (or, after a failure, starts again) the recovery of an entity of a
 * shard that was told to journal_claim. `handle` is the node's name for the
 * entity's slot, unique on the lane. The read begins when the shard is claimed,
 * when the entity's own events on their way are settled, and when it is its
 * turn. JOURNAL_EVENT for each event and then JOURNAL_RECOVERED follow, or
 * JOURNAL_FAILED (with JOURNAL_FENCED when the shard is not here). Copied. */
void journal_replay(struct journal *journal, uint64_t handle,
                    struct slice type, struct slice shard, struct slice id);
/* The entity has stopped: its replay ends, no more news for this handle. Events on
 * their way are still written. Unknown handles are ignored. */
void journal_forget(struct journal *journal, uint64_t handle);

/* May this entity run? False at a limit of the entity or the lane: do not
 * schedule it, its mailbox waits. Room comes back only with JOURNAL_DURABLE or
 * JOURNAL_FAILED news. One turn may go past the limits. */
bool journal_has_room(const struct journal *journal, uint64_t handle);

/* Appends one event of an entity that has recovered; returns its position.
 * Copied. POSITION_NEVER when it cannot be stored: the entity has failed (the
 * news is on its way) or the event is larger than JOURNAL_EVENT_SIZE_MAX (then
 * the entity fails with JOURNAL_TOO_LARGE). `event_type` is the application's. */
uint64_t journal_append(struct journal *journal, uint64_t handle,
                        uint32_t event_type, struct slice payload);

/* ---- a shard's own stream ---- */

/* What a shard keeps about itself stands in a stream of its own, under the persistence id |TYPE|SHARD, which no entity has: journal_replay
 * with an empty id. Its records are bases, which replace all records before them, and others. A replay begins with the newest base
 * that was stored, so it is bounded when its owner writes one from time to time; and the commit that has a base deletes what stands before
 * it, but for the last ones (`kept`). Here event_type is one of these, and of a JOURNAL_EVENT how many records ago the base was. A base
 * with records that belong to it is appended in one turn: a commit has all of them or none. */
enum { JOURNAL_BASE = 0, JOURNAL_MORE = 1 };

/* --- driver's side --- */

/* The next request for the store, given to the caller; null when there is none.
 * Call at the end of a turn and at the deadline, until null. */
struct journal_request *journal_take_request(struct journal *journal,
                                           uint64_t now);
/* A request that has come back, given. */
void journal_reply(struct journal *journal, uint64_t now,
                   struct journal_request *reply);
/* When to call journal_take_request at the latest; NEVER when nothing waits for
 * time. (base/timers.h) */
uint64_t journal_deadline(const struct journal *journal);

/* --- news --- */

enum journal_news_kind {
    JOURNAL_DURABLE = 1,  /* position: every event up to it is stored, or its entity's JOURNAL_FAILED came before */
    JOURNAL_FAILED,       /* handle, reason, text: its events that were not reported durable are lost (or found again by its recovery); its unsent effects die */
    JOURNAL_CLAIMED,      /* type, shard, fence */
    JOURNAL_SHARD_FENCED, /* type, shard, fence (the stored one): another owner exists; FAILED of its entities with events or a replay on their way came before */
    JOURNAL_EVENT,        /* handle, seq, event_type, payload: apply it */
    JOURNAL_RECOVERED,    /* handle, seq (the highest, 0 = no event yet) */
};

enum journal_reason {
    JOURNAL_OK = 0,
    JOURNAL_FENCED,     /* another owner has the shard: no restart here */
    JOURNAL_NOT_STORED, /* the store refused or failed: recover from the journal */
    JOURNAL_CONFLICT,   /* another writer used the sequence number: recover */
    JOURNAL_TOO_LARGE,  /* the event is above the limit */
    JOURNAL_DAMAGED,    /* replay: a gap or a record with a wrong checksum: this entity cannot start */
    JOURNAL_UNREADABLE, /* replay: the store could not read: try again later */
};

/* Slices and text are lent until the next call on the journal. */
struct journal_news {
    enum journal_news_kind kind;
    enum journal_reason reason;
    uint32_t event_type;
    uint64_t position;
    uint64_t handle;
    uint64_t seq;
    struct fence fence;
    struct slice type;
    struct slice shard;
    struct slice payload;
    const char *text;
};

/* Takes the next piece of news; false when there is none. Events of replays come
 * after all other news, one each call, so a turn may stop between them and go
 * on later. */
bool journal_next_news(struct journal *journal, struct journal_news *news);

const char *journal_reason_text(enum journal_reason reason); /* "not stored" */

/* --- to look at --- */

struct journal_status {
    uint64_t position;        /* last given */
    uint64_t durable;         /* last settled */
    uint32_t events_waiting;  /* appended, not settled */
    uint32_t bytes_waiting;
    uint32_t replays_running;
    uint32_t replays_waiting;
    uint64_t replay_ns;       /* a chunk takes so long from the request to the answer: a mean that forgets; 0 = none was read */
    uint64_t replay_reads;    /* chunks that this is the mean of */
    uint64_t commits;         /* groups settled */
    uint64_t events_stored;
    uint64_t events_replayed;
    uint64_t events_failed;   /* not stored, for any reason */
    uint64_t fenced;          /* shards found fenced */
    uint64_t retries;         /* requests sent again: unknown outcomes and failed claims */
    uint64_t damaged;         /* replays that ended at a damaged record or a gap */
    uint64_t ignored;         /* calls for unknown handles or shards, late replies */
};

void journal_status(const struct journal *journal,
                    struct journal_status *status);
/* What it is in the midst of, a bit each; none: it rests. */
enum journal_work {
    JOURNAL_WRITING = 1,   /* a commit is out */
    JOURNAL_COLLECTING = 2, /* events wait for the next one */
    JOURNAL_REPEATING = 4, /* nobody knows what became of the last one: it is sent again */
    JOURNAL_RAISING = 8,   /* fences are raised: no commit goes out meanwhile */
    JOURNAL_REPLAYING = 16
};
uint32_t journal_work(const struct journal *journal);
/* Highest sequence number given to an entity; 0 when unknown. */
uint64_t journal_seq(const struct journal *journal, uint64_t handle);

#endif
