/* Declares the inside of the singleton manager for singleton.c and oldest.c. */
#ifndef SHERD_SINGLETON_SINGLETON_STATE_H
#define SHERD_SINGLETON_SINGLETON_STATE_H

#include "base/kept_members.h"
#include "base/timers.h"
#include "base/vec.h"
#include "singleton/singleton.h"

#define CLEANUP_INTERVAL (60 * SECOND) /* pause between clean-ups of removed members */
#define REMOVED_TTL (15 * 60 * SECOND)

enum singleton_timer {
    TIMER_RETRY,
    TIMER_REMOVED,
    TIMER_CLEANUP,
    TIMER_LEASE,  /* ACQUIRING: asks again */
    TIMER_RELEASE /* the hand-over waits no longer for the release */
};

enum {
    MARK_COUNTS = 1, /* may be the oldest */
    MARK_MAY_RUN = 2, /* may still run the instance, counted or not */
    MARK_EXITED = 4   /* was exiting */
};

struct removals {
    uint64_t at;
    uint32_t count; /* members removed then and not forgotten */
};

struct delayed_removal {
    struct kept_member peer;
    uint64_t number; /* of the timer; 0: waits for the whole view */
};

struct oldest_change {
    struct node_id node;
    bool is_any;
};

struct singleton {
    const struct identity *identity;
    struct trace *trace;
    struct singleton_settings settings;
    struct buf path;
    uint32_t hand_over_retries;
    uint32_t take_over_retries;
    enum singleton_state state;
    uint32_t generation; /* the state's; earlier timers are void */
    uint32_t retry;      /* retry that the timer waits for */
    bool has_instance;
    bool has_lease;
    bool is_lease_asked; /* held, or perhaps */
    bool is_releasing;   /* the instance has ended; what follows waits for the lease's release */
    uint32_t release;    /* number of the last release; earlier timers are void */
    bool has_exited;
    bool is_exit_told;
    bool is_viewed;
    bool is_preparing;   /* full shutdown */
    bool is_self_removed;
    bool is_stuck;       /* STOPPING to start again */
    bool begins_anew;    /* STARTING again */
    bool has_next_head;  /* BECOMING_OLDEST: the head was removed, the next one is not asked yet */
    bool has_head;       /* `head` holds the last queued one */
    bool has_new_oldest; /* new_oldest is valid; in WAS_OLDEST */
    bool has_successor;  /* successor is valid; in HANDING_OVER */
    struct node_id head;
    struct node_id new_oldest;
    struct node_id successor;
    struct buf successor_path;
    uint64_t delayed_number;
    uint64_t now;               /* time of the last membership news */
    uint64_t time;              /* of the last call */
    /* older nodes that may still run the instance, the head last */
    struct kept_members previous;
    struct kept_members members;
    VEC(struct oldest_change) changes;
    struct kept_members removed;
    VEC(struct removals) removals; /* times of removals, in order */
    VEC(struct delayed_removal) delayed;
    VEC(enum singleton_news) news;
    uint32_t news_head;
    struct timers timers;
    struct singleton_counters counters;
};

/* lease.c */
/* Asks for the lease, unless the cluster shuts down. */
void singleton_lease_ask(struct singleton *singleton);
/* Whether the lease must be given up before another node takes over; then it does that. */
bool singleton_lease_lets_go(struct singleton *singleton);
/* Gives it up without waiting. */
void singleton_lease_drop(struct singleton *singleton);

/* news.c */
void singleton_news_put(struct singleton *singleton, enum singleton_news news);

/* singleton.c */
void singleton_settle(struct singleton *singleton, uint64_t now,
                      struct outbox *outbox);
void singleton_removed(struct singleton *singleton,
                       const struct kept_member *peer); /* after the margin */
void singleton_new_oldest_removed(struct singleton *singleton,
                                  const struct node_id *node);
void singleton_self_lost(struct singleton *singleton, bool is_removed);
void singleton_prepares(struct singleton *singleton);

/* oldest.c */
void singleton_members_fini(struct singleton *singleton);
bool singleton_is_member(const struct singleton *singleton,
                         const struct node_id *node);
bool singleton_is_removed(const struct singleton *singleton,
                          const struct node_id *node);
void singleton_remember_removed(struct singleton *singleton,
                                const struct kept_member *peer);
bool singleton_take_delayed(struct singleton *singleton,
                            uint64_t number); /* false: none has that number */
void singleton_cleanup(struct singleton *singleton, uint64_t now);
bool singleton_self_counts(const struct singleton *singleton);
bool singleton_self_exits(const struct singleton *singleton);
bool singleton_self_leaves(const struct singleton *singleton);
void singleton_view_anew(struct singleton *singleton);
void singleton_forget_self(struct singleton *singleton);
/* Puts the older members into `previous`, oldest first. Returns true if this node may start at once
 * when there is none: neither it nor one of them is leaving, exiting or down. */
bool singleton_find_previous(struct singleton *singleton);
void singleton_put_previous(struct singleton *singleton,
                            const struct node_id *node); /* as the head, unless present */
void singleton_put_head(struct singleton *singleton,
                        const struct node_id *node); /* as the head, also if present */
void singleton_forget_previous(struct singleton *singleton);

#endif
