/* The singleton manager's inside, shared by its two files only: singleton.c (states) and oldest.c (who is the oldest). */
#ifndef SHERD_SINGLETON_SINGLETON_STATE_H
#define SHERD_SINGLETON_SINGLETON_STATE_H

#include "base/kept.h"
#include "base/timers.h"
#include "base/vec.h"
#include "singleton/singleton.h"

#define CLEANUP_INTERVAL (60 * SECOND) /* of what is known of removed members */
#define REMOVED_TTL (15 * 60 * SECOND)

enum singleton_timer { TIMER_RETRY, TIMER_REMOVED, TIMER_CLEANUP };

/* Marks of a member. */
enum {
    MARK_COUNTS = 1, /* it may be the oldest */
    MARK_MAY_RUN = 2 /* or, where it does not count any more, may still run the instance */
};

struct removals {
    uint64_t at;    /* ns */
    uint32_t count; /* members that were removed then, and are not forgotten */
};

struct delayed_removal {
    struct kept_peer peer;
    uint64_t number; /* of the timer; 0: until the view is whole */
};

/* The head of the members by age changed: to node, or to nobody. */
struct oldest_change {
    struct node_id node;
    bool is_any;
};

struct singleton {
    const struct identity *identity;
    struct trace *trace;
    struct singleton_settings settings; /* with the defaults filled in */
    struct buf path;
    uint32_t hand_over_retries;
    uint32_t take_over_retries;
    enum singleton_state state;
    uint32_t generation; /* of the state: older timers mean nothing */
    uint32_t retry;      /* number of the retry that the timer waits for */
    bool has_instance;   /* started and not yet stopped */
    bool has_exited;     /* singleton_exit was called */
    bool is_exit_told;
    bool is_viewed;      /* singleton_peers_done was called */
    bool is_preparing;   /* full shutdown of the cluster */
    bool is_self_removed;
    bool is_stuck;       /* STOPPING in order to begin anew */
    bool begins_anew;    /* STARTING, not for the first time */
    bool has_head;       /* the head last queued */
    bool has_new_oldest; /* of WAS_OLDEST */
    bool has_successor;  /* of HANDING_OVER */
    struct node_id head;
    struct node_id new_oldest;
    struct node_id successor;
    struct buf successor_path;
    uint64_t delayed_number;
    uint64_t now;               /* of the last membership news */
    struct kept previous;       /* every older node that may still run the instance, the head last; see singleton_find_previous and younger_changed */
    struct kept members;
    VEC(struct oldest_change) changes;
    struct kept removed;
    VEC(struct removals) removals; /* when they were, in their order */
    VEC(struct delayed_removal) delayed;
    VEC(enum singleton_news) news;
    uint32_t news_head;
    struct timers timers;
    struct singleton_counters counters;
};

/* singleton.c */
void singleton_news_put(struct singleton *singleton, enum singleton_news news);
void singleton_settle(struct singleton *singleton, uint64_t now,
                      struct outbox *outbox);
void singleton_removed(struct singleton *singleton,
                       const struct kept_peer *peer); /* after the margin */
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
                                const struct kept_peer *peer);
bool singleton_take_delayed(struct singleton *singleton,
                            uint64_t number); /* false: none of that number is left */
void singleton_cleanup(struct singleton *singleton, uint64_t now);
bool singleton_self_counts(const struct singleton *singleton);
bool singleton_self_exits(const struct singleton *singleton);
bool singleton_self_leaves(const struct singleton *singleton);
void singleton_view_anew(struct singleton *singleton); /* in state STARTING */
void singleton_forget_self(struct singleton *singleton);
/* Whoever is older than this one becomes `previous`, oldest first; true when this node may start at once if there is none: neither
 * it nor one of them is leaving, exiting or down. Behaviour 12.2. */
bool singleton_find_previous(struct singleton *singleton);
void singleton_put_previous(struct singleton *singleton,
                            const struct node_id *node); /* at the front, unless it is there */
void singleton_forget_previous(struct singleton *singleton); /* all of them */

#endif
