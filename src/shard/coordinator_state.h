/* The coordinator's inside, shared by its own files only: coordinator.c (face), coordinator_receive.c (messages),
 * registration.c (members, regions, claims), homes.c (allocation), telling.c (who hears of homes, and when), handoff.c
 * (moving), cluster_stats.c (queries). */
#ifndef SHERD_SHARD_COORDINATOR_STATE_H
#define SHERD_SHARD_COORDINATOR_STATE_H

#include "base/map.h"
#include "base/probe.h"
#include "base/timers.h"
#include "base/vec.h"
#include "shard/coordinator.h"
#include "shard/state_store.h"

#define FENCE_PART_MAX (UINT64_MAX / 2) /* of what may be reported or stored: room to count on from there */

/* A member of the cluster, of any role. */
struct coordinator_member {
    struct peer peer;
    char *version_rest;    /* what peer.version.rest points to */
    uint64_t report;       /* of the last registration of its region, and of its proxy; 0 = none */
    uint64_t proxy_report;
    bool has_answered;     /* what it hosts is known: registered, has no region, was refused, or is foreign */
    bool is_foreign;       /* no region of it is registered that was not stored */
    uint32_t questions;    /* that it left unanswered while it was reachable */
    bool is_question_due;  /* when there is room for it */
    bool is_late;          /* first seen when all others were known already */
    bool is_refused;       /* the refusal was logged */
};

struct registrant {
    struct node_id node;
    struct slice ref;   /* owned */
    struct slice path;  /* inside ref, with "#uid" */
    uint64_t number;    /* never used again; in order of registration */
    uint64_t mark;      /* of the last announcement of a home that it waits for */
    uint64_t version;   /* of the change that it was (keeping.h) */
    uint32_t lanes;     /* 0 = a JVM node */
    bool is_proxy;
    bool is_shutting_down;
    bool is_dismissed;   /* with is_shutting_down: it was told that nothing comes any more */
    bool is_registered; /* else it is only known from the stored state, and is told nothing */
    bool is_known;      /* with is_welcome_due: it was registered before */
    bool is_welcome_due; /* when it is stored */
    bool has_old_homes;  /* it may know homes from an earlier coordinator */
    bool is_terminating; /* its member is removed, the margin runs */
    VEC(struct shard *) shards; /* whose home it is, in order of allocation */
};

/* Who is told of a home. */
enum audience {
    AUDIENCE_ASKED,  /* the regions that wait for it */
    AUDIENCE_UNSURE, /* those, and those that may know another home from an earlier coordinator */
    AUDIENCE_ALL
};

struct shard {
    struct slice id; /* owned */
    struct registrant *home;
    struct handoff *handoff;
    struct fence fence; /* of the home, or of the last one */
    struct fence loaded; /* that was stored when the coordinator began */
    struct fence ended;  /* of the last home that ended here */
    uint64_t version;   /* of the last change of home or fence (keeping.h) */
    uint64_t mark;      /* of the last report that named it */
    uint32_t index;     /* in coordinator.shards */
    uint32_t generation; /* of the timer that repeats HostShard */
    uint64_t rehosted_at; /* ns; 0 = never */
    uint32_t refusals;  /* since it started last, up to where the wait grows no more */
    uint32_t unanswered; /* HostShard that was repeated, in a row */
    bool is_started;    /* the home said so */
    bool is_refused;    /* the home does not host it: a higher fence is needed, a timer asks again */
    bool is_wanted;     /* gets a home as soon as possible; counted in coordinator.unplaced while it has none */
    bool is_last_resort; /* its home shuts down, as all do: it is not handed off before it has started */
    bool is_pushed;     /* its next home is announced to all regions */
    bool is_due;        /* in one of telling's lists; the next two say what for */
    bool is_host_due;   /* HostShard */
    bool is_announced;  /* its home to an audience */
    bool is_disputed;   /* two regions claim it under one fence: it needs a higher one */
    VEC(struct registrant *) waiting; /* asked for the home */
    enum audience audience; /* with is_announced */
    uint64_t told_to;       /* the same: number of the last region that was told; 0 = none yet */
};

/* What is to be said and has to wait (telling.c). */
struct home_announcements {
    struct coordinator_room *room; /* lent, or own */
    struct coordinator_room own;
    uint32_t head;     /* of ready: those before it are told */
    bool has_welcomes; /* of regions that are stored */
    VEC(struct shard *) ready;    /* their homes are stored */
    VEC(struct shard *) unstored; /* not yet */
};

enum handoff_state {
    HANDOFF_BEGINNING, /* waits until all regions hold the shard */
    HANDOFF_STOPPING   /* waits for the owner */
};

struct handoff {
    struct shard *shard;
    uint64_t attempt;
    enum handoff_state state;
    uint32_t ticks; /* query intervals in this state */
    bool is_only;   /* no other one might be begun beside it */
    VEC(struct registrant *) remaining; /* must acknowledge yet */
    VEC(struct registrant *) holding;   /* did; those of this library owe markers */
    VEC(struct registrant *) untold;    /* are told to begin, again or for the first time, from `told` on */
    uint32_t told;
};

struct query_count {
    size_t offset; /* of the shard's id in texts */
    size_t size;
    int32_t value;
    uint32_t region; /* index in addresses */
};

struct cluster_query {
    struct node_id node;
    struct buf path; /* of who asked */
    uint64_t number;
    VEC(struct registrant *) remaining;
    VEC(struct address) addresses; /* that answered */
    VEC(struct query_count) counts;
    struct buf texts;
};

enum timer_kind {
    TIMER_HOST,
    TIMER_HANDOFF,
    TIMER_REBALANCE,
    TIMER_QUERY,
    TIMER_STATS,
    TIMER_MARGIN,
    TIMER_TERM,
    TIMER_KEEP,
    TIMER_HURRY,
    TIMER_OUTBID,
    TIMER_END       /* a coordinator that stops waits no longer */
};

struct coordinator {
    const struct identity *identity;
    struct trace *trace;
    struct probes *probes;
    uint16_t type_index;
    struct coordinator_settings settings; /* with the defaults filled in */
    char *type;
    struct buf path;
    uint64_t term;         /* 0 = none yet */
    uint64_t term_version; /* of the change to it (keeping.h) */
    struct state_store state_store;
    struct home_announcements telling;
    uint64_t term_seen;    /* the highest that a region reported */
    uint64_t outbid_at;    /* not before then again; see coordinator_outbid */
    uint64_t outbid_term;  /* a term of others that waits for that; 0 = none */
    uint32_t outbid_times; /* since the members changed last */
    uint64_t attempt;      /* of the last hand-off */
    uint64_t region_number;
    uint64_t mark;
    uint64_t query_number;
    uint32_t unplaced;     /* wanted shards without a home */
    uint32_t disputed;
    uint32_t moves_head;
    uint32_t moves_max;    /* hand-offs that are open at a time, since some have failed; 0: as many as rebalances decide */
    uint64_t moves_after;  /* nothing is moved before then, since what was tried alone has failed */
    uint64_t moves_wait;   /* ns; how long that was, until one ends well or the members change */
    VEC(uint32_t) moves;   /* indexes of shards that the last rebalance moves, from moves_head on */
    bool is_placing;       /* more shards want a home than a step places */
    bool may_fill;         /* a region may be shutting down: else none is looked for among all */
    bool is_filling;       /* more hand-offs are due than a step begins */
    bool is_beginning;     /* regions are to be told yet that a hand-off begins */
    bool has_questions;    /* members are to be asked yet what they host */
    bool is_rebalancing;   /* it is to be decided yet what moves */
    bool is_active;        /* has a term above all that were reported, and it is stored */
    bool is_term_wanted;   /* another one, before the present one was active */
    bool has_opened;       /* once everybody had answered: shards may move */
    bool has_members;      /* min_members were reached once */
    bool is_stopping;
    bool is_ending; /* own region and all else is done: it decides nothing more, and waits for the answers to its last orders and its last write */
    bool is_stopped;
    uint64_t ends_at; /* with is_ending: at the latest; 0 = nothing to wait for yet */
    bool is_cluster_stopping; /* a member prepares for full shutdown: no rebalance */
    VEC(struct coordinator_member *) members;
    struct map by_uid; /* the same */
    VEC(struct registrant *) regions; /* proxies too, in order of registration */
    VEC(struct shard *) shards;   /* in order of first mention */
    struct map shard_ids;
    VEC(struct handoff *) handoffs;
    VEC(struct cluster_query *) queries;
    struct timers timers;
    VEC(struct coordinator_news) news;
    uint32_t news_head;
    struct coordinator_counters counters;
};

/* coordinator.c */
void coordinator_tell(struct coordinator *coordinator,
                      const struct registrant *region,
                      struct shard_message message, struct outbox *outbox);
void coordinator_news_put(struct coordinator *coordinator,
                          enum coordinator_news_kind kind, uint64_t term);
void coordinator_probe(const struct coordinator *coordinator,
                       enum probe_kind kind); /* about itself: its term */
/* Does everything that has become possible: disputed fences, allocations, waiting hand-offs. At the end of every input. */
void coordinator_settle(struct coordinator *coordinator, uint64_t now,
                        struct outbox *outbox);

/* The term is stored: it may be active. */
void coordinator_activate(struct coordinator *coordinator, uint64_t now,
                          struct outbox *outbox);

/* registration.c */
struct coordinator_member *coordinator_member_of(const struct coordinator *coordinator,
                         const struct node_id *node);
void coordinator_member_drop(struct coordinator_member *member);
struct registrant *registrant_of(const struct coordinator *coordinator,
                         const struct node_id *node, struct slice path);
/* Forgets a region; its shards want another home. */
void registrant_remove(struct coordinator *coordinator, uint64_t now,
                   struct registrant *region, enum probe_home why,
                   struct outbox *outbox);
/* A region says that it hosts nothing any more; it may be gone then. */
void registrant_stopped(struct coordinator *coordinator, uint64_t now,
                        struct registrant *region, struct outbox *outbox);
void registrant_drop(struct registrant *region);
/* One that is stored and has not registered. */
struct registrant *registrant_load(struct coordinator *coordinator,
                                   const struct node_id *node,
                                   struct slice ref, struct slice path,
                                   bool is_proxy);
void registration_receive(struct coordinator *coordinator, uint64_t now,
                          const struct inbound *inbound,
                          const struct shard_message *message,
                          struct outbox *outbox);
/* Somebody has stored a higher term: takes one above it, at once or after a wait. At most so often: two that live must not do so in turn
 * for ever. */
void coordinator_outbid(struct coordinator *coordinator, uint64_t now,
                        uint64_t stored_term);
void coordinator_outbid_due(struct coordinator *coordinator, uint64_t now); /* the timer */
void coordinator_outbid_anew(struct coordinator *coordinator, uint64_t now); /* the members have changed: who had the higher term may be gone */
void registration_acknowledge(struct coordinator *coordinator,
                              const struct registrant *region,
                              struct outbox *outbox);
/* When it is stored and there is room for it; is_known: it was registered before. */
void registration_welcome(struct coordinator *coordinator,
                          struct registrant *region, bool is_known,
                          struct outbox *outbox);
/* The welcome itself: the acknowledgement and the homes. Gives how many of these. */
uint32_t registration_greet(struct coordinator *coordinator,
                            struct registrant *region, struct outbox *outbox);
/* Asks what a member hosts, when there is room for it. */
void registration_ask(struct coordinator *coordinator,
                      struct coordinator_member *member, struct outbox *outbox);
/* Who has not answered; is_again: was asked before. */
void registration_ask_all(struct coordinator *coordinator, bool is_again,
                          struct outbox *outbox);
void registration_ask_on(struct coordinator *coordinator,
                         struct outbox *outbox); /* those that waited for room */
bool coordinator_member_is_asked(const struct coordinator_member *member); /* until it answers */
bool coordinator_has_to_ask(const struct coordinator *coordinator); /* one of them */

/* homes.c */
struct shard *shard_find(const struct coordinator *coordinator,
                         struct slice id);
struct shard *shard_get(struct coordinator *coordinator,
                        struct slice id); /* made when new; null at the limit */
void shard_drop(struct shard *shard);
void shard_probe(const struct coordinator *coordinator, enum probe_kind kind,
                 const struct shard *shard, enum probe_home why); /* it has a home */
void shard_link(struct coordinator *coordinator, struct shard *shard,
                struct registrant *region, struct fence fence,
                enum probe_home why);
void shard_unlink(struct coordinator *coordinator, struct shard *shard,
                  enum probe_home why);
/* The home stays, under a fence that is not lower. */
void shard_raise(struct coordinator *coordinator, struct shard *shard,
                 struct fence fence);
void shard_want(struct coordinator *coordinator, struct shard *shard);
struct fence shard_next_fence(const struct coordinator *coordinator,
                              const struct shard *shard);
void shard_wait(struct shard *shard, struct registrant *region);
/* As shard_unlink, but it stays in its home's list. */
void shard_lose_home(struct coordinator *coordinator, struct shard *shard,
                 enum probe_home why);
void shard_rehost(struct coordinator *coordinator, uint64_t now,
                  struct shard *shard, struct outbox *outbox);
void shard_homes_place_all(struct coordinator *coordinator, uint64_t now,
                     struct outbox *outbox);
void shard_homes_receive(struct coordinator *coordinator, uint64_t now,
                   const struct inbound *inbound,
                   const struct shard_message *message,
                   struct outbox *outbox); /* GetShardHome */
void shard_homes_rebalance(struct coordinator *coordinator,
                     uint64_t now); /* what moves is to be decided */
void shard_homes_rebalance_on(struct coordinator *coordinator); /* decides it, if the step has room for that */
void shard_homes_move(struct coordinator *coordinator, uint64_t now,
                struct outbox *outbox); /* begins with what there is room for */

/* telling.c: at once when it is stored and the step has room, else later, in this order. */
void announce_fini(struct home_announcements *telling);
bool announce_waits(const struct coordinator *coordinator);
uint32_t announce_room(const struct coordinator *coordinator); /* messages that may be sent now: 0 while others wait */
void announce_charge(struct coordinator *coordinator, uint32_t messages);
void announce_stored(struct coordinator *coordinator, uint64_t now,
                    struct outbox *outbox); /* a write has succeeded */
void announce_step(struct coordinator *coordinator, uint64_t now,
                  struct outbox *outbox); /* goes on with what waits */
void announce_welcome(struct coordinator *coordinator,
                     struct registrant *region, struct outbox *outbox);
/* HostShard to the home. */
void shard_host(struct coordinator *coordinator, uint64_t now,
                struct shard *shard, struct outbox *outbox);
/* The same, as there was no answer: the next one comes later. */
void shard_host_again(struct coordinator *coordinator, uint64_t now,
                      struct shard *shard, struct outbox *outbox);
/* Its home is stored and was told to host it: others may hear of it. */
bool shard_is_tellable(const struct coordinator *coordinator,
                       const struct shard *shard);
void shard_tell_home(struct coordinator *coordinator,
                     struct shard *shard, struct registrant *region,
                     struct outbox *outbox);
void shard_announce(struct coordinator *coordinator, uint64_t now,
                    struct shard *shard, enum audience audience,
                    struct outbox *outbox);

/* cluster_stats.c */
void cluster_stats_ask(struct coordinator *coordinator, uint64_t now,
                       const struct inbound *inbound,
                       const struct shard_message *message,
                       struct outbox *outbox);
void cluster_stats_answer(struct coordinator *coordinator,
                          const struct inbound *inbound,
                          const struct shard_message *message,
                          struct outbox *outbox);
void cluster_stats_timeout(struct coordinator *coordinator, uint64_t number,
                           struct outbox *outbox);
void cluster_stats_forget(struct coordinator *coordinator,
                          const struct registrant *region, struct outbox *outbox);
void cluster_stats_drop(struct cluster_query *query);

#endif
