/* Declares the inside of the coordinator for its own files: coordinator.c (interface),
 * coordinator_output.c (messages to regions, news), coordinator_receive.c (messages), registrants.c
 * (members and regions), registration.c and registration_reply.c (registrations, claims), shards.c
 * (homes and fences), shard_homes.c (allocation), strategy*.c (allocation strategies), operations.c (moves that operators want), announce.c
 * and announce_queue.c (announcements), handoff.c (moves), state_changes.c, state_store.c,
 * state_load.c and state_answers.c (stored state), cluster_stats.c (queries). */
#ifndef SHERD_SHARD_COORDINATOR_STATE_H
#define SHERD_SHARD_COORDINATOR_STATE_H

#include "base/map.h"
#include "base/probe.h"
#include "base/timers.h"
#include "base/vec.h"
#include "shard/allocation_ring.h"
#include "shard/coordinator.h"
#include "shard/state_store.h"

#define FENCE_PART_MAX (UINT64_MAX / 2) /* leaves room to count on from reported numbers */

/* A member, with any role. */
struct coordinator_member {
    struct kept_member kept; /* with reachable and has_role */
    struct member_version version; /* its text is owned; null = a release */
    uint64_t report;       /* number of its region's last report, and of its proxy's; 0 = none */
    uint64_t proxy_report;
    bool is_far;           /* in another data center than this node */
    bool has_answered;     /* its shards are known, or none of them counts */
    bool is_jvm;       /* its region is registered only if it is stored */
    uint32_t questions;    /* queries ignored while reachable */
    bool is_question_due;
    bool is_late;          /* first seen after has_opened */
    bool is_early;         /* tried to register before it was up */
    bool is_refused;
};

struct registrant {
    struct node_id node;
    struct slice ref;   /* owned */
    struct slice path;  /* inside ref, with "#uid" */
    uint64_t number;    /* in order of registration; never reused */
    uint64_t mark;      /* number of the last announcement that it waits for */
    uint64_t version;   /* number of the last change (state_store.h) */
    uint32_t lanes;     /* 0 = a JVM node */
    bool is_proxy;
    bool is_shutting_down;
    bool is_dismissed;   /* was told that no shard comes any more */
    bool is_registered; /* else it is known only from the stored state */
    bool is_known;      /* with is_welcome_due: was registered before */
    bool is_welcome_due;
    bool has_old_homes;  /* may know homes from an earlier coordinator */
    bool is_terminating; /* its member is removed; the margin runs */
    enum cordon_level cordon; /* not CORDON_NOT: gets shards only if no other region takes them */
    uint64_t drain_at; /* with CORDON_DRAINING: no hand-off begins before; one has failed */
    VEC(struct shard *) shards; /* its shards, in order of allocation */
};

enum audience {
    AUDIENCE_ASKED,  /* regions that wait for it */
    AUDIENCE_UNSURE, /* AUDIENCE_ASKED, and regions with old homes */
    AUDIENCE_ALL
};

/* Why a shard gets a home; for the log. */
enum shard_cause {
    SHARD_CAUSE_MESSAGE,    /* a region asked for it */
    SHARD_CAUSE_REMEMBERED, /* its entities start without a message */
    SHARD_CAUSE_REBALANCE,
    SHARD_CAUSE_SHUTDOWN,   /* its region shuts down gracefully */
    SHARD_CAUSE_STOPPED,    /* its region has stopped */
    SHARD_CAUSE_RESTARTED,  /* its node has another region now */
    SHARD_CAUSE_REMOVED,    /* its node was removed from the cluster */
    SHARD_CAUSE_CONTESTED   /* another region has a higher fence */
};

/* Shards that went from one node to another; texts are addresses. */
struct home_sum {
    char *from; /* null: they had no home */
    char *to;
    enum shard_cause cause;
    uint32_t count;
};

struct home_log {
    uint32_t lines; /* in this query interval */
    uint32_t rest;  /* shards without a line and without a sum */
    VEC(struct home_sum) sums;
};

/* The last home of a shard that has none; for the log. */
struct former_home {
    enum shard_cause cause; /* why it ended */
    uint64_t duration;      /* of the hand-off that ended it; ns */
    char address[];
};

struct shard {
    struct slice id; /* owned */
    struct former_home *former; /* owned; or null */
    struct registrant *home;
    struct handoff *handoff;
    struct fence fence; /* of the home, or of the last one */
    struct fence loaded; /* stored when the coordinator began */
    struct fence ended;  /* of the last home that ended here */
    uint64_t version;   /* number of the last change of home or fence (state_store.h) */
    uint64_t mark;      /* number of the last report that named it */
    uint32_t index;     /* position in coordinator.shards */
    uint32_t generation; /* of the timer that repeats HostShard */
    uint64_t rehosted_at; /* ns; 0 = never */
    uint32_t refusals;  /* since its last start, up to the longest wait */
    uint32_t unanswered; /* repeated HostShards in a row */
    bool is_started;
    bool is_refused;    /* its home lacks it and needs a higher fence; a timer asks again */
    bool is_wanted;     /* needs a home; coordinator.unplaced counts it until then */
    /* its home, like all regions, shuts down: no hand-off before it has started */
    bool is_last_resort;
    bool is_pushed;     /* its next home is announced to all regions */
    bool is_due;        /* in a list of home_announcements, for one of the next two reasons */
    bool is_host_due;
    bool is_announced;
    bool is_disputed;   /* two claims with one fence: needs a higher one */
    struct strategy_request *request; /* to the program's strategy; or null */
    uint32_t tries;     /* such requests in vain since the last home */
    VEC(struct registrant *) waiting; /* regions that asked for the home */
    enum audience audience; /* with is_announced */
    uint64_t announced_to;       /* number of the last region that was told; 0 = none yet */
    uint64_t held_until; /* no rebalance moves it before; ns */
};

/* Announcements that wait for a write or for room (announce.c). */
struct home_announcements {
    struct coordinator_room *room; /* lent, or `own` */
    struct coordinator_room own;
    uint32_t head;     /* index in `ready`; earlier ones are done */
    bool has_welcomes;
    VEC(struct shard *) ready;    /* their homes are stored */
    VEC(struct shard *) unstored; /* their homes are not */
};

enum handoff_state {
    HANDOFF_BEGINNING, /* waits until all regions buffer for the shard */
    HANDOFF_STOPPING   /* waits for the owner */
};

struct handoff {
    struct shard *shard;
    uint64_t attempt;
    uint64_t began_at;
    enum handoff_state state;
    uint32_t ticks; /* query intervals in this state */
    bool is_only;   /* the only one that the limit allowed */
    VEC(struct registrant *) remaining; /* have not acknowledged */
    VEC(struct registrant *) holding;   /* have acknowledged; those of this library owe markers */
    VEC(struct registrant *) uninformed;    /* need BeginHandOff, from `informed` on */
    uint32_t informed;
};

struct query_count {
    size_t offset; /* of the shard's id in `texts` */
    size_t size;
    int32_t value;
    uint32_t region; /* position in `addresses` */
};

struct cluster_query {
    struct node_id node;
    struct buf path; /* path of the asker */
    uint64_t number;
    VEC(struct registrant *) remaining;
    VEC(struct address) addresses; /* of regions that answered */
    VEC(struct query_count) counts;
    struct buf texts;
};

enum request_state {
    REQUEST_OPEN,     /* waits for the program's answer, or its time limit */
    REQUEST_ANSWERED, /* waits for the next step, which acts on the answer */
    REQUEST_PAUSED    /* in vain: its shard is asked for again after a pause */
};

/* A request to the program's strategy. */
struct strategy_request {
    uint64_t number;
    struct shard *shard; /* null: for moves */
    enum request_state state;
    /* ANSWERED */
    struct kept_address *region; /* owned; null: the default choice */
    VEC(uint32_t) moves;         /* shards by index */
};

/* The state of the allocation strategy. */
struct strategy_state {
    struct allocation_ring ring;
    VEC(struct registrant *) regions; /* of the ring, by address */
    VEC(uint64_t) numbers;            /* of these regions */
    struct map locations; /* shard's id -> struct kept_address, owned */
    const struct sherd_allocation_strategy *custom;
    bool (*describe)(const void *user, const struct node_id *node,
                     struct coordinator_traits *traits);
    const void *user;
    struct strategy_view *view; /* of the present step; or null */
    VEC(struct strategy_request *) requests; /* in order of numbers */
    struct strategy_request *moves; /* the one for moves; or null */
    uint64_t number;  /* of the last request */
    uint32_t open;    /* requests for shards that are open */
    uint32_t ready;   /* those that are answered */
    uint32_t blocked; /* shards whose request is open or paused */
};

/* Operations of operators (operations.c). */
struct coordinator_operations {
    VEC(struct operation *) open;  /* at most OPERATIONS_OF_TYPE_MAX */
    VEC(struct operation *) ended; /* the last ones: a ring of OPERATIONS_ENDED_MAX */
    uint32_t next; /* in that ring */
    struct buf pause; /* as in struct stored */
    uint64_t pause_version; /* number of its last change (state_store.h) */
    struct operation_ids pauses;
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
    TIMER_END,      /* limit of a coordinator's end */
    TIMER_REQUEST   /* limit or pause of a request to the program's strategy */
};

struct coordinator {
    const struct identity *identity;
    struct trace *trace;
    struct probes *probes;
    uint16_t type_index;
    struct shard_names *names;
    struct coordinator_settings settings; /* with defaults filled in */
    char *type;
    struct buf path;
    struct buf guardian; /* path of the actor above all regions */
    uint64_t term;         /* 0 = none yet */
    uint64_t proof;        /* stored by the journal with the term; 0 = none */
    struct proof proof_seen; /* of the former coordinator, as stored; value 0 = none */
    uint64_t term_version; /* number of the last change (state_store.h) */
    struct state_store state_store;
    struct home_announcements announcements;
    struct home_log home_log;
    struct strategy_state strategy;
    struct coordinator_operations operations;
    uint64_t term_seen;    /* highest reported term */
    uint64_t outbid_at;    /* not before, see coordinator_outbid */
    uint64_t outbid_term;  /* higher term that waits until then; 0 = none */
    uint32_t outbid_times; /* since the members changed */
    uint64_t attempt;      /* last hand-off's number */
    uint64_t region_number;
    uint64_t mark;
    uint64_t query_number;
    uint32_t unplaced;     /* wanted shards without a home */
    uint32_t takers;       /* regions that took shards when the last homes were given */
    uint32_t disputed;
    uint32_t moves_head;
    uint32_t moves_max;    /* limit of open hand-offs after failures; 0 = none */
    uint64_t moves_after;  /* none starts before: one that ran alone failed */
    uint64_t moves_wait;   /* ns; length of that wait, for as long as hand-offs fail */
    VEC(uint32_t) moves;   /* shards to move, from moves_head on */
    bool is_placing;       /* more shards to place than a step can */
    bool may_fill;         /* a region may be shutting down */
    bool is_filling;       /* more hand-offs to begin than a step can */
    uint64_t proxies_until; /* hand-offs wait no longer for stored proxies to register */
    bool is_beginning;     /* regions still need BeginHandOff */
    bool has_questions;    /* members still need a query */
    bool is_rebalancing;   /* the next moves are undecided */
    bool is_active;        /* its term is stored, and above all reported ones */
    bool is_term_wanted;   /* needs another term before the present one was active */
    bool has_opened;       /* all members have answered once, so shards may move */
    bool has_members;      /* min_members were once reached */
    bool is_stopping;
    bool is_ending; /* decides nothing more; waits for answers to its last orders and write */
    bool is_stopped;
    uint64_t ends_at; /* with is_ending: latest end; 0 = open */
    bool is_cluster_stopping; /* a member prepares for full shutdown: no rebalance */
    VEC(struct coordinator_member *) members;
    struct map by_uid;
    VEC(struct registrant *) regions; /* and proxies, in order of registration */
    VEC(struct shard *) shards;   /* in order of first mention */
    struct map shard_ids;
    VEC(struct handoff *) handoffs;
    VEC(struct cluster_query *) queries;
    struct timers timers;
    VEC(struct coordinator_news) news;
    uint32_t news_head;
    struct coordinator_counters counters;
};

/* coordinator_output.c */
void coordinator_tell(struct coordinator *coordinator,
                      const struct registrant *region,
                      struct shard_message message, struct outbox *outbox);
void coordinator_news_put(struct coordinator *coordinator,
                          enum coordinator_news_kind kind, uint64_t term);
void coordinator_probe(const struct coordinator *coordinator,
                       enum probe_kind kind); /* with its term */

/* coordinator.c */
/* Does what has become possible: fences, allocations, hand-offs. Ends every input. */
void coordinator_settle(struct coordinator *coordinator, uint64_t now,
                        struct outbox *outbox);

/* The term is stored. */
void coordinator_activate(struct coordinator *coordinator, uint64_t now,
                          struct outbox *outbox);

/* registrants.c */
struct coordinator_member *coordinator_member_of(const struct coordinator *coordinator,
                         const struct node_id *node);
void coordinator_member_set(struct coordinator_member *member,
                            const struct member_info *info);
void coordinator_member_drop(struct coordinator_member *member);
bool coordinator_member_is_asked(const struct coordinator_member *member);
bool coordinator_has_to_ask(const struct coordinator *coordinator);
/* A reachable member has not registered its stored proxy yet. */
bool coordinator_awaits_proxies(const struct coordinator *coordinator);
/* Returns the member of a stored proxy that has not registered and will; or null. */
struct coordinator_member *coordinator_awaited_proxy(const struct coordinator *coordinator,
                                                     const struct registrant *region);
struct registrant *registrant_of(const struct coordinator *coordinator,
                         const struct node_id *node, struct slice path);
void registrant_drop(struct registrant *region);
/* For a stored region that has not registered. */
struct registrant *registrant_load(struct coordinator *coordinator,
                                   const struct node_id *node,
                                   struct slice ref, struct slice path,
                                   bool is_proxy);

/* registration.c */
/* Forgets a region; its shards want another home. */
void registrant_remove(struct coordinator *coordinator, uint64_t now,
                   struct registrant *region, enum probe_home why,
                   struct outbox *outbox);
/* A region reports that it hosts nothing. May free it. */
void registrant_stopped(struct coordinator *coordinator, uint64_t now,
                        struct registrant *region, struct outbox *outbox);
void registration_receive(struct coordinator *coordinator, uint64_t now,
                          const struct inbound *inbound,
                          const struct shard_message *message,
                          struct outbox *outbox);
/* Takes a term above another coordinator's stored one, at once or after a wait. Limited in number,
 * or two living coordinators would outbid each other for ever. */
void coordinator_outbid(struct coordinator *coordinator, uint64_t now,
                        uint64_t stored_term);
void coordinator_outbid_due(struct coordinator *coordinator, uint64_t now);
/* Members have changed; the other coordinator may have gone. */
void coordinator_outbid_anew(struct coordinator *coordinator, uint64_t now);
/* Welcomes a region when it is stored and there is room. */
void registration_welcome(struct coordinator *coordinator,
                          struct registrant *region, bool is_known,
                          struct outbox *outbox);
/* Sends now or when there is room. */
void registration_ask(struct coordinator *coordinator,
                      struct coordinator_member *member, struct outbox *outbox);
/* Queries members without an answer; is_again: another time. */
void registration_ask_proxies(struct coordinator *coordinator, struct outbox *outbox);
void registration_ask_all(struct coordinator *coordinator, bool is_again,
                          struct outbox *outbox);
void registration_ask_on(struct coordinator *coordinator,
                         struct outbox *outbox);

/* registration_reply.c */
void registration_acknowledge(struct coordinator *coordinator,
                              const struct registrant *region,
                              struct outbox *outbox);
/* Sends acknowledgement and homes. Returns the number of homes. */
uint32_t registration_greet(struct coordinator *coordinator,
                            struct registrant *region, struct outbox *outbox);
/* Sends known homes, or those at one region, in at most SHARD_HOMES_MESSAGES_MAX messages. Returns
 * the number of homes. */
uint32_t registration_send_homes(struct coordinator *coordinator,
                                 struct registrant *to,
                                 const struct registrant *only,
                                 struct outbox *outbox);

/* shards.c */
struct shard *shard_find(const struct coordinator *coordinator,
                         struct slice id);
struct shard *shard_get(struct coordinator *coordinator,
                        struct slice id); /* Adds it if new; null at the limit. */
void shard_drop(struct shard *shard);
void shard_probe(const struct coordinator *coordinator, enum probe_kind kind,
                 const struct shard *shard, enum probe_home why); /* for a shard with a home */
void shard_link(struct coordinator *coordinator, struct shard *shard,
                struct registrant *region, struct fence fence,
                enum probe_home why);
void shard_unlink(struct coordinator *coordinator, struct shard *shard,
                  enum probe_home why);
/* Keeps the home, under a higher or equal fence. */
void shard_raise(struct coordinator *coordinator, struct shard *shard,
                 struct fence fence);
void shard_needs_home(struct coordinator *coordinator, struct shard *shard);
struct fence shard_next_fence(const struct coordinator *coordinator,
                              const struct shard *shard);
void shard_wait(struct shard *shard, struct registrant *region);
/* Like shard_unlink, but keeps it in the home's list. */
void shard_lose_home(struct coordinator *coordinator, struct shard *shard,
                 enum probe_home why);

/* shard_homes.c */
void shard_rehost(struct coordinator *coordinator, uint64_t now,
                  struct shard *shard, struct outbox *outbox);
void shard_homes_place_all(struct coordinator *coordinator, uint64_t now,
                     struct outbox *outbox);
void shard_homes_receive(struct coordinator *coordinator, uint64_t now,
                   const struct inbound *inbound,
                   const struct shard_message *message,
                   struct outbox *outbox); /* GetShardHome */
void shard_homes_rebalance(struct coordinator *coordinator,
                     uint64_t now); /* Decides the moves later. */
/* Decides them if the step has room. */
void shard_homes_rebalance_on(struct coordinator *coordinator, uint64_t now);
void shard_homes_move(struct coordinator *coordinator, uint64_t now,
                struct outbox *outbox); /* Begins them as far as there is room. */

/* announce_queue.c */
void announce_fini(struct home_announcements *announcements);
bool announce_waits(const struct coordinator *coordinator);
/* Returns how many messages this step may still send; 0 while earlier ones wait. */
uint32_t announce_room(const struct coordinator *coordinator);
void announce_charge(struct coordinator *coordinator, uint32_t messages);
/* Queues a shard, once, by whether its last change is stored. */
void announce_wait(struct coordinator *coordinator, struct shard *shard);
void announce_later(struct coordinator *coordinator, struct shard *shard,
                    enum audience audience);
/* Sends a region the home of a shard, now. */
void announce_home(struct coordinator *coordinator, const struct shard *shard,
                   const struct registrant *region, struct outbox *outbox);
/* Its home is stored and has its order. */
bool shard_is_tellable(const struct coordinator *coordinator,
                       const struct shard *shard);
/* Now, or with the next announcement of the shard. */
void shard_tell_home(struct coordinator *coordinator,
                     struct shard *shard, struct registrant *region,
                     struct outbox *outbox);

/* announce.c: sends at once if stored and the step has room, else later, in order. */
void announce_stored(struct coordinator *coordinator, uint64_t now,
                    struct outbox *outbox); /* A write has succeeded. */
void announce_step(struct coordinator *coordinator, uint64_t now,
                  struct outbox *outbox);
void announce_welcome(struct coordinator *coordinator,
                     struct registrant *region, struct outbox *outbox);
void shard_host(struct coordinator *coordinator, uint64_t now,
                struct shard *shard, struct outbox *outbox);
/* After no answer; the next repetition waits longer. */
void shard_host_again(struct coordinator *coordinator, uint64_t now,
                      struct shard *shard, struct outbox *outbox);
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
