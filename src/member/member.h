/* Keeps one node's membership in the cluster: the members, their statuses, their reachability and
 * the leader.
 *
 * A pure machine that speaks Akka's cluster messages byte for byte (docs/protocol/gossip.md). It
 * receives messages and the time. It leaves messages in an outbox, news, and a deadline.
 * Call member_new, then member_start or member_join, then member_receive and member_step. After
 * each call drain member_next_news. Times are monotonic nanoseconds unless a name says
 * otherwise. */
#ifndef SHERD_MEMBER_MEMBER_H
#define SHERD_MEMBER_MEMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/address.h"
#include "base/member_info.h"
#include "base/outbox.h"
#include "base/probe.h"
#include "base/trace.h"
#include "member/profile.h"

#define UP_NUMBER_NONE INT32_MAX /* of a member that was never up */

/* The serializer of all Akka messages of this core, and its paths: the daemon with all below it,
 * and the heartbeat receiver. The node passes messages of this serializer to member_receive,
 * whatever their path. */
#define MEMBER_SERIALIZER 5
/* This library's serializer; its messages name no recipient (gossip_digest.h). */
#define GOSSIP_DIGEST_SERIALIZER 7300
#define MEMBER_DAEMON_PATH "/system/cluster/core/daemon"
#define MEMBER_HEARTBEAT_PATH "/system/cluster/heartbeatReceiver"

const char *member_status_text(enum member_status status); /* A literal, as "up". */

/* The form of messages to a node. */
enum peer_form {
    PEER_USUAL,   /* Akka's */
    PEER_UNKNOWN, /* never met: Akka's, preceded by the short form */
    PEER_GOSSIP_DIGEST    /* short: the node understands GOSSIP_DIGEST_SERIALIZER */
};

/* Members with the role that must exist before the leader moves joining members to up. */
struct member_role_minimum {
    const char *role;
    uint32_t count;
};

/* Lent to member_new, which copies what it keeps. Zero or null = Akka's default, in brackets. */
struct member_settings {
    /* in order; only the first may found a cluster. None: waits for member_join */
    const struct address *seeds;
    uint32_t seed_count;
    bool finds_seeds; /* lists of seed nodes come through member_found; none above */
    bool founds_never; /* finds_seeds: joins existing clusters, founds none */
    uint32_t required_seeds; /* finds_seeds: nodes that a list must have to found a cluster [1] */
    uint32_t stable_margin_ms; /* finds_seeds: time for which it must have been the same [0] */
    uint32_t find_interval_ms; /* finds_seeds: between two lists [1000] */
    /* finds_seeds: most between two lists; each failure doubles the time [15000] */
    uint32_t find_backoff_ms;
    const char *const *roles; /* without the data center; none may start with "dc-" */
    uint32_t role_count;
    const char *data_center; /* ["default"] */
    const char *app_version; /* must satisfy version_parse: all peers read it ["0.0.0"] */
    /* JSON text of the settings that must agree, e.g. {"akka":{"cluster":{"downing-provider-class":
     * "...", ...}}} [an empty downing provider]. See member_settings_valid */
    const char *config;
    /* identity of the node's journal, which all nodes of its data center must have [not compared] */
    const char *store;
    /* joins although the check failed [false: enforce-configuration-check-on-join] */
    bool accept_incompatible;
    uint32_t min_members; /* members before joining ones become up [1] */
    const struct member_role_minimum *role_minimums;
    uint32_t role_minimum_count;
    /* between attempts; then the first seed node founds a cluster [5000] */
    uint32_t seed_timeout_ms;
    uint32_t join_retry_ms; /* without a Welcome, start again [10000] */
    uint32_t join_give_up_ms; /* without a cluster, news MEMBER_NEWS_REFUSED [0 = never] */
    uint32_t gossip_interval_ms; /* [1000] */
    uint32_t leader_interval_ms; /* leader actions that no event caused [1000] */
    /* changes wait for the next round, and leader actions for their interval, as in Akka [false: in
     * small clusters they do not] */
    bool waits_for_rounds;
    uint32_t reaper_interval_ms; /* check of the failure detectors [1000] */
    uint32_t stats_interval_ms; /* between two log lines about gossip [0 = none] */
    /* before the first of the four above and the first heartbeat; at least their own interval
     * [1000] */
    uint32_t initial_delay_ms;
    uint32_t weakly_up_after_ms; /* without convergence [7000] */
    bool weakly_up_off;
    /* one member's word that this node was removed ends it [needs more than half] */
    bool one_word_ends;
    uint32_t tombstone_ttl_ms; /* of removed members [86400000] */
    uint32_t different_view_percent; /* rounds to members that have not seen the version [80] */
    uint32_t different_view_reduce; /* members from which on that is reduced [400] */
    uint32_t heartbeat_interval_ms; /* [1000] */
    uint32_t heartbeat_expected_ms; /* until the first response is due [1000] */
    uint32_t heartbeat_pause_ms; /* acceptable pause [3000] */
    uint32_t heartbeat_deviation_ms; /* smallest standard deviation [100] */
    uint32_t heartbeat_samples_max; /* [1000] */
    double heartbeat_threshold; /* phi [8] */
    uint32_t monitored_by; /* peers that each node monitors [9] */
    /* oldest members of each data center that talk to other data centers [5] */
    uint32_t cross_connections;
    /* their rounds to other data centers; more in a data center of less than 5 members [20] */
    uint32_t cross_gossip_percent;
    uint32_t cross_heartbeat_interval_ms; /* to other data centers [3000] */
    uint32_t cross_heartbeat_expected_ms; /* until the first response is due [1000] */
    uint32_t cross_heartbeat_pause_ms; /* acceptable pause above the interval [10000] */
    bool log_info_off; /* expected events are logged as debugging [false: as information] */
    struct probes *probes; /* lent until member_free [none] */
    /* The form for messages to that incarnation [PEER_USUAL for all]. */
    enum peer_form (*form_of)(const void *user, const struct node_id *node);
    /* Whether that incarnation answered a handshake of this node at the address that it claims. A
     * request to join waits until it has: see member_answered [every one has]. */
    bool (*has_answered)(const void *user, const struct node_id *node);
    /* Shakes hands with that address again. Then member_answered follows for the incarnation that
     * answers. Called only if has_answered is set [nothing]. */
    void (*verify)(const void *user, const struct node_id *node);
    /* Prefetches the memory that this and sending to these nodes need [nothing]. */
    void (*fetch)(const void *user, const uint64_t *uids, uint32_t count);
    const void *user; /* lent until member_free */
};

/* False, with the reason in text (cut at size), if member_new cannot take the settings: a role or
 * version that peers cannot read; a config that is no JSON object or lacks
 * PREFIX.cluster.downing-provider-class, without which JVM peers stop. */
bool member_settings_valid(const struct member_settings *settings, char *text,
                           size_t size);

/* A member as this node sees it. The profile is shared, because a node may keep a thousand views
 * and profiles. */
struct member_view {
    struct profile *profile; /* its constant part; held by the core, lent with the view */
    int32_t up_number; /* UP_NUMBER_NONE before up */
    enum member_status status;
    /* false: a member of this node's data center observes it as unreachable or terminated */
    bool reachable;
    bool seen; /* has seen the current version of the gossip */
};

#define MEMBER_NEWS(X)                                                         \
    X(MEMBER_NEWS_WELCOME, "welcome") /* this node is in the cluster */        \
    X(MEMBER_NEWS_MEMBER, "member") /* a new member, or a new status */        \
    X(MEMBER_NEWS_REMOVED, "removed") /* a member was removed; see previous */ \
    X(MEMBER_NEWS_UNREACHABLE, "unreachable") /* this data center only */      \
    X(MEMBER_NEWS_REACHABLE, "reachable")                                      \
    /* members of this one do not reach the one in detail */                   \
    X(MEMBER_NEWS_CENTER_UNREACHABLE, "data-center-unreachable") \
    X(MEMBER_NEWS_CENTER_REACHABLE, "data-center-reachable")                   \
    X(MEMBER_NEWS_LEADER, "leader") /* view null: none */                      \
    X(MEMBER_NEWS_ROLE_LEADER, "role-leader") /* the same for the role in detail */ \
    X(MEMBER_NEWS_SELF_UP, "self-up")                                          \
    X(MEMBER_NEWS_SELF_EXITING, "self-exiting") /* hand over, then call member_exiting_done */ \
    /* downed or removed: this incarnation must end; see previous */           \
    X(MEMBER_NEWS_SELF_STOPPED, "self-stopped") \
    X(MEMBER_NEWS_REFUSED, "refused") /* gave up joining; see detail */

enum member_news_kind {
#define X(name, text) name,
    MEMBER_NEWS(X)
#undef X
};

const char *member_news_text(enum member_news_kind kind); /* A literal, as "unreachable". */

struct member_news {
    enum member_news_kind kind;
    struct node_id node; /* the member; zero if none */
    /* null if the member was removed; lent until the next call on this core */
    const struct member_view *view;
    enum member_status previous; /* REMOVED, SELF_STOPPED: last status, reported or not */
    /* REMOVED: it was exiting and reachable to the last, so it has confirmed that it runs nothing
     * any more */
    bool has_left;
    /* REFUSED: all reasons, a sentence each; ROLE_LEADER: the role; CENTER_...: its name; else
     * empty. Lent as view */
    const char *detail;
    bool gave_up; /* REFUSED: no cluster answered in time */
};

#define MEMBER_COUNTERS(X)                                                     \
    X(gossip_received, "gossips taken in")                                     \
    X(gossip_sent, "full gossips sent")                                        \
    X(status_received, "gossip statuses taken in")                             \
    X(status_sent, "gossip statuses sent")                                     \
    X(merged, "concurrent gossips merged")                                     \
    X(heartbeat_received, "heartbeats answered")                               \
    X(heartbeat_sent, "heartbeats sent")                                       \
    X(response_received, "heartbeat responses taken in")                       \
    X(join_received, "joins taken in")                                         \
    X(dropped_malformed, "messages that could not be decoded")                 \
    X(dropped_hostile, "gossips that decode but break a rule")                 \
    X(dropped_no_member, "messages of nodes that are no members")               \
    X(dropped_misdirected, "messages for another incarnation")                 \
    X(dropped_unreachable, "gossips of members this node cannot reach")        \
    X(dropped_state, "messages that do not fit this node's state")             \
    X(dropped_unanswered, "joins refused: the joiner's address did not answer a handshake") \
    X(dropped_full, "joins and confirmed ends refused: too many members")      \
    X(changes_merged, "changes of members that a later change replaced before the report") \
    X(forgotten, "tombstones dropped: too many removals in a day")             \
    X(unknown_manifest, "messages of an unknown kind")

struct member_counters {
#define X(name, text) uint64_t name;
    MEMBER_COUNTERS(X)
#undef X
};

struct member;

/* identity: lent until member_free. settings must be valid. seed: drives all random choices. trace:
 * may be null. */
struct member *member_new(const struct identity *identity,
                          const struct member_settings *settings, uint64_t seed,
                          struct trace *trace);
void member_free(struct member *member);

/* Starts to join through the seed nodes. Does nothing if there are none and none are to be found.
 * Call once. */
void member_start(struct member *member, uint64_t now, uint64_t wall_ms,
                  struct outbox *outbox);
/* finds_seeds: returns true, once, when a list is due. The caller looks for one and calls
 * member_found, however long that takes. */
bool member_wants_seeds(struct member *member);
/* Passes found seed nodes, copied: in the order that all nodes see, none twice, at most
 * MEMBER_SEEDS_MAX. None: the look-up failed; the former list stays, unconfirmed. */
void member_found(struct member *member, uint64_t now,
                  const struct address *seeds, uint32_t count,
                  struct outbox *outbox);
/* Joins the node at that address without a configuration check. This node's own address founds a
 * cluster. Abandons an attempt under way. A cluster of one may join another: from then on it
 * accepts no member, and its state stays visible until the Welcome. False: this node is in a
 * cluster with others, or stopped. */
bool member_join(struct member *member, uint64_t now, uint64_t wall_ms,
                 const struct address *address, struct outbox *outbox);
/* Ends an attempt to join. Ignores a later Welcome. Does nothing for a member or a stopped node. */
void member_join_no_more(struct member *member);
/* Asks the member at that address, or this node, to leave. False: none is there, or its status
 * forbids it. In a cluster that prepares for shutdown this asks the leader, so the caller must
 * repeat it until the status changes. */
bool member_leave(struct member *member, uint64_t now,
                  const struct address *address, struct outbox *outbox);
/* Downs the member at that address. False: none is there. This node's address stops this node. */
bool member_down(struct member *member, uint64_t now,
                 const struct address *address, struct outbox *outbox);
/* Downs the incarnations that the split brain resolver chose, in one change, this node last.
 * Returns how many of them are members. */
uint32_t member_down_decided(struct member *member, uint64_t now,
                             const struct node_id *nodes, uint32_t count,
                             struct outbox *outbox);
/* Reports, after MEMBER_NEWS_SELF_EXITING, that everything is handed over. Confirms to the leader
 * and stops (news SELF_STOPPED). Does nothing in another state. */
void member_exiting_done(struct member *member, uint64_t now,
                         struct outbox *outbox);
/* Begins a full shutdown of the cluster. Each up member prepares; no node joins or becomes up.
 * False: not in a cluster. */
bool member_prepare_shutdown(struct member *member, uint64_t now,
                             struct outbox *outbox);
/* True if this node knows of a full shutdown, even if its own status does not show it because it is
 * not up. */
bool member_is_preparing(const struct member *member);
/* The transport declared that incarnation dead: observes it as terminated, permanently. */
void member_quarantined(struct member *member, uint64_t now,
                        const struct node_id *node);

/* Another node says that this incarnation was removed. This node stops (news SELF_STOPPED) if more
 * than half of the members of its data center that it reaches, or that said so, say so. One sick
 * node must not end a healthy cluster. Non-members are ignored. */
void member_refused(struct member *member, uint64_t now,
                    const struct node_id *by);

/* Receives a message of MEMBER_SERIALIZER, lent. Counts and drops malformed and unexpected ones. */
void member_receive(struct member *member, uint64_t now, uint64_t wall_ms,
                    const struct inbound *inbound, struct outbox *outbox);
/* True if a request to join of that incarnation waits until has_answered. */
bool member_awaits_answer(const struct member *member,
                          const struct node_id *node);
/* Receives the request to join of an incarnation that has answered, if one waits. */
void member_answered(struct member *member, uint64_t now, uint64_t wall_ms,
                     const struct node_id *node, struct outbox *outbox);
/* Does what is due at now. wall_ms: milliseconds since 1970, for tombstones only. True: this was
 * enough work for a turn of the node, and the news should wait for the next one. True only a few
 * times in a row. */
bool member_step(struct member *member, uint64_t now, uint64_t wall_ms,
                 struct outbox *outbox);
/* Prefetches the memory that a message and a step need: step 0, and some time later step 1, which
 * needs the result of 0. */
void member_fetch(const struct member *member, uint32_t step);
/* When to call member_step next; NEVER if stopped. */
uint64_t member_deadline(const struct member *member);

/* Returns the next news in Akka's order: removals, changes, unreachable, reachable, the same of
 * data centers, leader, role leaders, this node. Compares the state with the last news, so changes
 * between two calls are merged. */
bool member_next_news(struct member *member, struct member_news *news);
bool member_has_news(const struct member *member); /* True until member_next_news returns false. */

/* Keeps and reports leaders of roles from now on, but not of the data center's role. */
void member_follow_roles(struct member *member);
/* The role at the index, in order, and its leader (null: none). False past the last. role is lent
 * as news are. */
bool member_role_at(const struct member *member, uint32_t index,
                    const char **role, const struct member_view **leader);

/* The version of the gossip, for checkers. Lent until the next call that changes the core. */
const struct clock *member_version(const struct member *member);

/* The members, sorted by address and uid. Lent until the next call that changes the core. */
uint32_t member_count(const struct member *member);
const struct member_view *member_at(const struct member *member,
                                    uint32_t index);
/* Uid 0: the incarnation at the address. Null: none. */
const struct member_view *member_find(const struct member *member,
                                      const struct node_id *node);
/* Null before the Welcome; after the stop as last seen. */
const struct member_view *member_self(const struct member *member);
bool member_is_in(const struct member *member); /* Has its Welcome and is not stopped. */
bool member_is_stopped(const struct member *member);

/* The leader of this data center as this node sees it; null: none. */
const struct member_view *member_leader(const struct member *member);
bool member_is_leader(const struct member *member); /* This node leads. */
bool member_is_converged(const struct member *member); /* This data center has converged. */

/* Null or "": every member has it. */
bool member_has_role(const struct member_view *view, const char *role);
/* True if both are in one data center. */
bool member_same_center(const struct member_view *left,
                        const struct member_view *right);
/* The unreachable data center at the index, by name. False past the last. Lent as news are. */
bool member_unreachable_center_at(const struct member *member, uint32_t index,
                                  const char **name);
/* Orders members of one data center by age: the lower up number, then the lower address, is older.
 * < 0: left is older. */
int member_compare_age(const struct member_view *left,
                       const struct member_view *right);
/* The oldest member with the role in this data center, reachable or not: up, leaving, exiting,
 * preparing or ready for shutdown. Singletons run on it. Null: none. */
const struct member_view *member_oldest(const struct member *member,
                                        const char *role);

/* Phi of a monitored member: 0 = just heard, 8 = unreachable by default; -1 = this node does not
 * monitor it. */
double member_phi(const struct member *member, uint64_t now,
                  const struct node_id *node);
/* A member's observation of a member, for the split brain resolver. */
struct member_observation {
    uint32_t observer; /* index for member_at */
    uint32_t subject;
    bool terminated; /* otherwise unreachable */
};
/* A position among the observations; zero is the beginning. */
struct member_walk {
    uint32_t observer;
    uint32_t row;
};
/* Returns the next observation, by observer; false past the last. The core must not change during a
 * walk. */
bool member_next_observation(const struct member *member,
                             struct member_walk *walk,
                             struct member_observation *observation);

const struct member_counters *member_counters(const struct member *member);

#endif
