/* Sends the events of one lane's entities to the journal backend, and reads them back for recovery.
 * Pure: it leaves requests and news; its inputs are replies and the time.
 *
 * Writing. journal_append gives every event a position that increases over the whole lane. Events
 * collect in a group during a commit; the next group leaves when the commit returns, whatever its
 * size. The node holds an entity's messages after an event until JOURNAL_DURABLE reaches its
 * position.
 *
 * Ownership. Nothing is read or written for a shard before its fence is claimed in the backend. A
 * higher stored fence ends the shard here.
 *
 * Recovery. journal_replay reads an entity's events in bounded chunks; a limited number of entities
 * recovers at a time, the others wait in order.
 *
 * Order of calls: journal_claim for a shard; journal_replay for an entity, its news until
 * JOURNAL_RECOVERED; journal_append; journal_forget when the entity stops; journal_release when the
 * shard has left. Drain the news after every journal_reply and before any entity runs:
 * JOURNAL_FAILED must reach the entity before its next turn. */
#ifndef SHERD_JOURNAL_JOURNAL_H
#define SHERD_JOURNAL_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/event.h"
#include "base/fence.h"
#include "base/trace.h"
#include "journal/backend.h"

struct journal;

#define POSITION_NEVER UINT64_MAX /* of an event that never becomes durable */

struct journal_options {
    uint64_t seed;       /* for the jitter of retries */
    uint32_t replays_max; /* at a time; 0, and at most: JOURNAL_REPLAYS_MAX */
    uint64_t kept;       /* records before the newest base that a shard's own stream keeps */
    struct trace *trace; /* lent for the journal's lifetime; may be null */
};

struct journal *journal_new(const struct journal_options *options);
void journal_free(struct journal *journal); /* the driver frees requests that are still out */

/* --- shards --- */

/* Claims a shard; JOURNAL_CLAIMED or JOURNAL_SHARD_FENCED follows, or JOURNAL_OTHER_STORE if the
 * coordinator's proof is not in the backend. While the backend fails, the claim repeats with
 * back-off. A second claim with a higher fence raises it, with the same fence is
 * answered again, with a lower one is ignored. Copied. */
void journal_claim(struct journal *journal, struct slice type,
                   struct slice shard, struct fence fence, struct proof proof);
/* The same under a coordinator without terms: the backend gives the next epoch. Once for each
 * host-shard that starts the shard, never on a refused write. */
void journal_claim_next(struct journal *journal, struct slice type,
                        struct slice shard);
/* The shard has left this node. All its entities must be forgotten; their pending events are still
 * written under its fence. Unknown shards are ignored. */
void journal_release(struct journal *journal, struct slice type,
                     struct slice shard);

/* --- entities --- */

/* Starts an entity's recovery, or repeats it after a failure. `handle` names its slot, unique on
 * the lane. The read waits for the shard's claim, the entity's own pending events, and its turn.
 * JOURNAL_EVENT for each event and JOURNAL_RECOVERED follow, or JOURNAL_FAILED (JOURNAL_FENCED if
 * the shard is not here). Copied. */
void journal_replay(struct journal *journal, uint64_t handle,
                    struct slice type, struct slice shard, struct slice id);
/* As journal_replay, for an entity with snapshots: JOURNAL_SNAPSHOT of the newest good one, then the
 * events after it. If there is none, all events. A snapshot above the last event is deleted. */
void journal_recover(struct journal *journal, uint64_t handle, struct slice type,
                     struct slice shard, struct slice id);
/* The entity rejects the JOURNAL_SNAPSHOT that it was just given: an older one follows, or all events.
 * Unknown handles are ignored. */
void journal_reject_snapshot(struct journal *journal, uint64_t handle, const char *why);
/* The entity rejects an event that it was given: its recovery ends, without news. Unknown handles are
 * ignored. */
void journal_reject(struct journal *journal, uint64_t handle);
/* The entity has stopped: no news for this handle follows. Pending events are still written.
 * Unknown handles are ignored. */
void journal_forget(struct journal *journal, uint64_t handle);

/* May this entity run? False at a limit of the entity or the lane; only JOURNAL_DURABLE or
 * JOURNAL_FAILED make room. One turn may exceed the limits. */
bool journal_has_room(const struct journal *journal, uint64_t handle);

/* Appends one event of a recovered entity and returns its position. Copied. POSITION_NEVER if the
 * entity has failed or the event exceeds JOURNAL_EVENT_SIZE_MAX (it fails with JOURNAL_TOO_LARGE).
 */
uint64_t journal_append(struct journal *journal, uint64_t handle, struct entity_event event);

/* Takes back the entity's events after number `seq`, which were appended since the last
 * journal_take_request: they are never stored, and their numbers are free again. Unknown handles and
 * failed entities are ignored. */
void journal_withdraw(struct journal *journal, uint64_t handle, uint64_t seq);

/* ---- snapshots ---- */

struct journal_snapshot {
    uint32_t version; /* of the application's format */
    struct slice part; /* the library's; counts for the limit of the image */
    struct slice image; /* at most JOURNAL_SNAPSHOT_SIZE_MAX bytes */
    uint32_t keep; /* newest ones of the entity that stay, at least 1 */
    bool trims;    /* deletes the events up to the oldest one that stays, once that was read back */
    uint64_t keep_events; /* with trims: so many events before that one stay */
};

/* Stores the state of a recovered entity after its last event, once that event is durable. Copied.
 * JOURNAL_SAVED follows if it is stored. A failure is logged once a minute, and changes nothing. */
void journal_save(struct journal *journal, uint64_t handle,
                  const struct journal_snapshot *snapshot);

/* ---- a shard's own stream ---- */

/* A shard's own stream has the persistence id |TYPE|SHARD, which no entity has: journal_replay with
 * an empty id. A base replaces all records before it. A replay begins at the newest stored base, so
 * an owner writes one from time to time. A base's commit deletes earlier records except the last
 * `kept`. event.type is one of these; in a JOURNAL_EVENT it is the distance from the base. A base
 * and its continuation are appended in one turn, so that one commit has all or none. */
enum { JOURNAL_BASE = 0, JOURNAL_MORE = 1 };

/* --- for the driver --- */

/* Returns the next request, owned by the caller; null if none. Call it at the end of a turn and at
 * the deadline, until null. */
struct journal_request *journal_take_request(struct journal *journal,
                                           uint64_t now);
/* Takes over a request that came back. */
void journal_reply(struct journal *journal, uint64_t now,
                   struct journal_request *reply);
/* When to call journal_take_request; NEVER when nothing waits for time. */
uint64_t journal_deadline(const struct journal *journal);

/* --- news --- */

enum journal_news_kind {
    /* position: each event up to it is stored, or its entity's JOURNAL_FAILED came before */
    JOURNAL_DURABLE = 1,
    /* handle, reason, text: events not reported durable are lost, unless its recovery finds them;
     * unsent effects are dropped */
    JOURNAL_FAILED,
    JOURNAL_CLAIMED,      /* type, shard, fence */
    /* type, shard, fence (the stored one): another owner exists; comes after FAILED of its entities
     * with pending events or a replay */
    JOURNAL_SHARD_FENCED,
    /* type, shard, fence (the wanted one): the coordinator has another store; the shard ends here as
     * after SHARD_FENCED */
    JOURNAL_OTHER_STORE,
    JOURNAL_EVENT,        /* handle, seq, event: apply it */
    JOURNAL_RECOVERED,    /* handle, seq (the highest, 0 = no event yet) */
    /* handle, seq, event.version, event.payload, part: the state after that event */
    JOURNAL_SNAPSHOT,
    JOURNAL_SAVED,        /* handle, seq: the snapshot of that event is stored */
};

enum journal_reason {
    JOURNAL_OK = 0,
    JOURNAL_FENCED,     /* another owner has the shard */
    JOURNAL_NOT_STORED, /* the backend refused or failed: recover from the journal */
    JOURNAL_CONFLICT,   /* another writer used the sequence number: recover */
    JOURNAL_TOO_LARGE,
    JOURNAL_DAMAGED,    /* replay: a gap or a wrong checksum: it cannot start */
    JOURNAL_UNREADABLE, /* replay: the backend could not read: try again later */
};

/* Slices and text are lent until the next call on the journal. */
struct journal_news {
    enum journal_news_kind kind;
    enum journal_reason reason;
    struct entity_event event;
    struct slice part; /* of a snapshot */
    uint64_t position;
    uint64_t handle;
    uint64_t seq;
    struct fence fence;
    struct slice type;
    struct slice shard;
    const char *text;
};

/* Takes the next news; false if none. Events of replays follow all other news, one each call, so a
 * turn may stop between them. */
bool journal_next_news(struct journal *journal, struct journal_news *news);

const char *journal_reason_text(enum journal_reason reason);


struct journal_status {
    uint64_t position;        /* last given */
    uint64_t durable;         /* last settled */
    uint32_t events_waiting;  /* appended, not settled */
    uint32_t bytes_waiting;
    uint32_t replays_running;
    uint32_t replays_waiting;
    uint64_t replays_started; /* running + done + failed + stopped */
    uint64_t replays_done;
    uint64_t replays_failed;  /* could not be read, or rejected by their entities */
    uint64_t replays_stopped; /* by the end of their entity or shard */
    uint64_t replay_ns;       /* decaying mean time to read a chunk; 0 = none was read */
    uint64_t replay_reads;    /* chunks in this mean */
    uint64_t commits;         /* groups settled */
    uint64_t events_stored;
    uint64_t events_replayed;
    uint64_t events_failed;   /* not stored, for any reason */
    uint64_t fenced;
    uint64_t retries;         /* requests sent again: unknown outcomes and failed claims */
    uint64_t damaged;         /* replays that ended at a damaged record or a gap */
    uint64_t snapshots_saved;
    uint64_t snapshots_failed; /* not stored, for any reason */
    uint64_t snapshots_loaded;
    uint64_t snapshots_refused; /* damaged, too high, without their events, or rejected */
    uint64_t events_trimmed;   /* events that were deleted behind snapshots */
    uint64_t ignored;         /* unknown handles or shards, late replies */
};

void journal_status(const struct journal *journal,
                    struct journal_status *status);
/* Work in progress, one bit each; 0: none. */
enum journal_work {
    JOURNAL_WRITING = 1,
    JOURNAL_COLLECTING = 2, /* events wait for the next commit */
    JOURNAL_REPEATING = 4, /* the last outcome is unknown: the commit repeats */
    JOURNAL_RAISING = 8,   /* fences are being raised: no commit leaves meanwhile */
    JOURNAL_REPLAYING = 16
};
uint32_t journal_work(const struct journal *journal);
/* Returns the last number given to an entity; 0 if unknown. */
uint64_t journal_seq(const struct journal *journal, uint64_t handle);

#endif
