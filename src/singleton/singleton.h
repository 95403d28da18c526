/* The cluster singleton manager: makes sure that one thing runs on the oldest member, and hands it over.
 *
 * Wire 7.2, behaviour 12: states, and four messages (serializer 14) between the managers at the same path of the members with
 * the role. The thing itself is the node's: news say when to start and to stop it. One instance for each name, e.g. the
 * coordinator of each entity type. Leases and full shutdown of the cluster: it starts nothing and hands nothing over then.
 *
 * Order of use: singleton_new; singleton_peer for every member, then singleton_peers_done; the same at each change of
 * membership. After each call drain singleton_next_news and the outbox, look at singleton_deadline. */
#ifndef SHERD_SINGLETON_SINGLETON_H
#define SHERD_SINGLETON_SINGLETON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/outbox.h"
#include "base/peer.h"
#include "base/trace.h"

#define SINGLETON_SERIALIZER 14

/* Zero = the reference's default, in brackets (behaviour 12.1). */
struct singleton_settings {
    uint64_t retry_interval_ms; /* hand-over-retry-interval [1000] */
    uint64_t removal_margin_ms; /* between a member's removal and acting on it [0] */
    uint32_t retries_min;       /* min-number-of-hand-over-retries [15] */
};

struct singleton_options {
    const struct identity *identity; /* lent for life */
    const char *path; /* of the manager, encoded, e.g. "/system/sharding/CounterCoordinator"; copied */
    struct singleton_settings settings;
    struct trace *trace; /* lent for life; may be null */
    uint64_t seed;       /* gives the actor uid of its path */
};

/* States of behaviour 12.3, without leases. */
#define SINGLETON_STATES(X)                                                    \
    X(SINGLETON_STARTING, "starting") /* this member is not up yet */          \
    X(SINGLETON_YOUNGER, "younger")                                            \
    X(SINGLETON_BECOMING_OLDEST, "becoming-oldest")                            \
    X(SINGLETON_OLDEST, "oldest")                                              \
    X(SINGLETON_WAS_OLDEST, "was-oldest")                                      \
    X(SINGLETON_HANDING_OVER, "handing-over")                                  \
    X(SINGLETON_STOPPING, "stopping")                                          \
    X(SINGLETON_ENDED, "ended") /* handed over, waiting for the own removal */ \
    X(SINGLETON_STOPPED, "stopped")

enum singleton_state {
#define X(name, text) name,
    SINGLETON_STATES(X)
#undef X
};

enum singleton_news {
    SINGLETON_NEWS_START,      /* start the thing */
    SINGLETON_NEWS_STOP,       /* stop it, then call singleton_stopped */
    SINGLETON_NEWS_EXIT_DONE,  /* after singleton_exit: nothing holds the node's leaving up any more */
    SINGLETON_NEWS_OLDEST      /* another member is the oldest with the role, or none; see singleton_oldest */
};

#define SINGLETON_COUNTERS(X)                                                  \
    X(hand_overs, "instances handed over")                                     \
    X(starts, "instances started here")                                        \
    X(retries, "hand-over messages sent again")                                \
    X(stuck, "hand-overs given up and begun anew")                             \
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

/* A member, this node included, is new or has changed its status; has_role = it may run the singleton. Lent. */
void singleton_peer(struct singleton *singleton, uint64_t now,
                    const struct peer *peer);
void singleton_peer_removed(struct singleton *singleton, uint64_t now,
                            const struct node_id *node);
/* The members told are one consistent view: acts on it. Call after each batch of the two above. */
void singleton_peers_done(struct singleton *singleton, uint64_t now,
                          struct outbox *outbox);

/* A message of SINGLETON_SERIALIZER whose recipient is the path; lent. */
void singleton_receive(struct singleton *singleton, uint64_t now,
                       const struct inbound *inbound, struct outbox *outbox);
/* The thing that SINGLETON_NEWS_STOP meant has ended, or it ended by itself. */
void singleton_stopped(struct singleton *singleton, uint64_t now,
                       struct outbox *outbox);
/* This node leaves and everything else is done (phase cluster-exiting): hand over. Then comes SINGLETON_NEWS_EXIT_DONE. */
void singleton_exit(struct singleton *singleton, uint64_t now,
                    struct outbox *outbox);

/* The time for that is over: what runs here ends for nobody else. After singleton_exit; the same news. */
void singleton_give_up(struct singleton *singleton, uint64_t now,
                       struct outbox *outbox);

void singleton_step(struct singleton *singleton, uint64_t now,
                    struct outbox *outbox);
uint64_t singleton_deadline(const struct singleton *singleton);
bool singleton_next_news(struct singleton *singleton,
                         enum singleton_news *news);
bool singleton_has_news(const struct singleton *singleton);

enum singleton_state singleton_state(const struct singleton *singleton);
const char *singleton_state_text(enum singleton_state state); /* a literal */
/* The oldest member with the role as far as this node knows; false when there is none. */
bool singleton_oldest(const struct singleton *singleton, struct node_id *node);
struct slice singleton_path(const struct singleton *singleton); /* with "#uid"; lent for its life */
const struct singleton_counters *
singleton_counters(const struct singleton *singleton);

#endif
