/* Runs one instance on the oldest member and hands it over, like Akka's cluster singleton manager.
 * Each entity type's coordinator is such an instance, and each singleton of a program.
 *
 * Managers at the same path exchange four messages (serializer 14); docs/protocol/shard.md has the
 * states. News tell the node when to start and stop the instance. With a lease the instance runs only
 * while this node holds it. A full shutdown of the cluster starts and hands over nothing.
 *
 * Order of use: singleton_new; singleton_peer for every member, then singleton_peers_done, again at
 * each change. After each call drain singleton_next_news and the outbox, then look at
 * singleton_deadline. */
#ifndef SHERD_SINGLETON_SINGLETON_H
#define SHERD_SINGLETON_SINGLETON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/outbox.h"
#include "base/member_info.h"
#include "base/trace.h"

#define SINGLETON_SERIALIZER 14

/* Zero means Akka's default, in brackets. */
struct singleton_settings {
    uint64_t retry_interval_ms; /* hand-over-retry-interval [1000] */
    /* time from a member's removal to its effect, unless it has left [0] */
    uint64_t removal_margin_ms;
    uint32_t retries_min;       /* min-number-of-hand-over-retries [15] */
    bool uses_lease;            /* use-lease [false] */
    uint64_t lease_retry_ms;    /* lease-retry-interval [5000] */
    /* a hand-over does not wait longer for the lease's release; lease-operation-timeout [5000] */
    uint64_t release_timeout_ms;
};

struct singleton_options {
    const struct identity *identity; /* lent for its lifetime */
    /* the manager's path, encoded, e.g. "/system/sharding/CounterCoordinator"; copied */
    const char *path;
    struct singleton_settings settings;
    struct trace *trace; /* lent likewise; may be null */
    uint64_t seed;       /* for the actor uid of its path */
};

#define SINGLETON_STATES(X)                                                    \
    X(SINGLETON_STARTING, "starting") /* this member is not up yet */          \
    X(SINGLETON_YOUNGER, "younger")                                            \
    X(SINGLETON_BECOMING_OLDEST, "becoming-oldest")                            \
    X(SINGLETON_ACQUIRING, "acquiring-lease") /* the oldest, without the lease */ \
    X(SINGLETON_OLDEST, "oldest")                                              \
    X(SINGLETON_WAS_OLDEST, "was-oldest")                                      \
    X(SINGLETON_HANDING_OVER, "handing-over")                                  \
    X(SINGLETON_STOPPING, "stopping")                                          \
    X(SINGLETON_ENDED, "ended") /* handed over, waits for its own removal */ \
    X(SINGLETON_STOPPED, "stopped")

enum singleton_state {
#define X(name, text) name,
    SINGLETON_STATES(X)
#undef X
};

enum singleton_news {
    SINGLETON_NEWS_START,
    SINGLETON_NEWS_STOP,       /* stop it, then call singleton_stopped */
    SINGLETON_NEWS_END,        /* its lease is lost: end it at once; singleton_stopped */
    SINGLETON_NEWS_LEASE,      /* take the lease; then singleton_leased or singleton_lease_denied */
    SINGLETON_NEWS_RELEASE,    /* give it up, held or asked for; then singleton_released */
    /* after singleton_exit: the singleton no longer delays the node's leaving */
    SINGLETON_NEWS_EXIT_DONE,
    SINGLETON_NEWS_OLDEST /* the oldest member changed, or there is none; see singleton_oldest */
};

#define SINGLETON_COUNTERS(X)                                                  \
    X(hand_overs, "instances handed over")                                     \
    X(starts, "instances started here")                                        \
    X(retries, "hand-over messages sent again")                                \
    X(stuck, "hand-overs given up and begun anew")                             \
    X(leases_denied, "tries to get the lease that failed")                     \
    X(leases_lost, "instances ended because the lease was lost")               \
    X(forgotten, "removed members forgotten: too many in 15 minutes")          \
    X(ignored, "messages that do not fit the state or the sender")             \
    X(unknown, "messages of an unknown kind")

struct singleton_counters {
#define X(name, text) uint64_t name;
    SINGLETON_COUNTERS(X)
#undef X
};

struct singleton;

struct singleton *singleton_new(const struct singleton_options *options,
                                uint64_t now);
void singleton_free(struct singleton *singleton);

/* Passes a new or changed member, also this node, lent; has_role = may run the singleton. */
void singleton_peer(struct singleton *singleton, uint64_t now,
                    const struct member_info *peer);
/* has_left: it exited and confirmed that it runs nothing any more, so its removal needs no margin. */
void singleton_peer_removed(struct singleton *singleton, uint64_t now,
                            const struct node_id *node, bool has_left);
/* The members so far are one consistent view: acts on it. Call it after each batch of the two
 * above. */
void singleton_peers_done(struct singleton *singleton, uint64_t now,
                          struct outbox *outbox);

/* Takes a message of SINGLETON_SERIALIZER for this path, lent. */
void singleton_receive(struct singleton *singleton, uint64_t now,
                       const struct inbound *inbound, struct outbox *outbox);
/* The instance has ended, after SINGLETON_NEWS_STOP or by itself. */
void singleton_stopped(struct singleton *singleton, uint64_t now,
                       struct outbox *outbox);
/* This node leaves (phase cluster-exiting): hands over; then SINGLETON_NEWS_EXIT_DONE. */
void singleton_exit(struct singleton *singleton, uint64_t now,
                    struct outbox *outbox);

/* The time for the hand-over is over: ends the instance without a successor. Call it after
 * singleton_exit; the same news comes. */
void singleton_give_up(struct singleton *singleton, uint64_t now,
                       struct outbox *outbox);

/* Answers to SINGLETON_NEWS_LEASE and SINGLETON_NEWS_RELEASE. */
void singleton_leased(struct singleton *singleton);
void singleton_lease_denied(struct singleton *singleton, uint64_t now);
void singleton_released(struct singleton *singleton, uint64_t now, struct outbox *outbox);
/* The lease that this node held is lost. */
void singleton_lease_lost(struct singleton *singleton, uint64_t now, struct outbox *outbox);

void singleton_step(struct singleton *singleton, uint64_t now,
                    struct outbox *outbox);
uint64_t singleton_deadline(const struct singleton *singleton);
bool singleton_next_news(struct singleton *singleton,
                         enum singleton_news *news);
bool singleton_has_news(const struct singleton *singleton);

/* Whether the instance may run: it needs no lease, or this node has not lost it. */
bool singleton_may_run(const struct singleton *singleton);
enum singleton_state singleton_state(const struct singleton *singleton);
const char *singleton_state_text(enum singleton_state state);
/* Returns the oldest member with the role that this node knows; false if there is none. */
bool singleton_oldest(const struct singleton *singleton, struct node_id *node);
/* With "#uid"; lent for its lifetime. */
struct slice singleton_path(const struct singleton *singleton);
const struct singleton_counters *
singleton_counters(const struct singleton *singleton);

#endif
