/* Cluster membership of one node, as a pure machine: who is in the cluster, in which status, who is reachable, who leads.
 *
 * Speaks Akka's cluster messages (serializer 5) byte for byte: seed-node join, gossip with a vector clock and a seen set,
 * heartbeats with an accrual failure detector, the leader's actions, leaving and downing. It is told messages and the time;
 * it leaves messages in an outbox, news, and a deadline. The node wires it: see docs/protocol/gossip.md.
 *
 * Order of use: member_new, member_start (or member_join), then member_receive and member_step as things happen, and after
 * each of those member_next_news until it returns false. Times are monotonic nanoseconds unless named otherwise. */
#ifndef SHERD_MEMBER_MEMBER_H
#define SHERD_MEMBER_MEMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/address.h"
#include "base/outbox.h"
#include "base/probe.h"
#include "base/trace.h"
#include "member/profile.h"

/* Values are those of the wire. */
#define MEMBER_STATUSES(X)                                                     \
    X(MEMBER_JOINING, 0, "joining")                                            \
    X(MEMBER_UP, 1, "up")                                                      \
    X(MEMBER_LEAVING, 2, "leaving")                                            \
    X(MEMBER_EXITING, 3, "exiting")                                            \
    X(MEMBER_DOWN, 4, "down")                                                  \
    X(MEMBER_REMOVED, 5, "removed")                                            \
    X(MEMBER_WEAKLY_UP, 6, "weakly-up")                                        \
    X(MEMBER_PREPARING_FOR_SHUTDOWN, 7, "preparing-for-shutdown")              \
    X(MEMBER_READY_FOR_SHUTDOWN, 8, "ready-for-shutdown")

enum member_status {
#define X(name, value, text) name = value,
    MEMBER_STATUSES(X)
#undef X
};
#define MEMBER_STATUS_COUNT 9

#define UP_NUMBER_NONE INT32_MAX /* of a member that was never up */

/* The serializer of every message of this core, and the paths it answers to: the daemon with all that is below it, and the
 * heartbeat receiver. The node passes messages of this serializer to member_receive, whatever their path. */
#define MEMBER_SERIALIZER 5
#define GOSSIP_DIGEST_SERIALIZER 7300 /* of this library; messages of it that name no recipient (brief.h) */
#define MEMBER_DAEMON_PATH "/system/cluster/core/daemon"
#define MEMBER_HEARTBEAT_PATH "/system/cluster/heartbeatReceiver"

const char *member_status_text(enum member_status status); /* "up"; a literal */

/* In which form a node is spoken to. */
enum peer_form {
    PEER_USUAL,   /* as the reference */
    PEER_UNKNOWN, /* it was never met: as the reference, what is short first */
    PEER_BRIEF    /* it has said that it understands GOSSIP_DIGEST_SERIALIZER */
};

/* At least this many members with the role before any joining member is moved to up. */
struct member_role_minimum {
    const char *role;
    uint32_t count;
};

/* All lent to member_new, which copies what it keeps. Zero or null = the reference's default, in brackets. */
struct member_settings {
    const struct address *seeds; /* in order; only the first may found a cluster. None: wait for member_join */
    uint32_t seed_count;
    bool finds_seeds; /* lists of seeds come through member_found; there are none above */
    bool founds_never; /* finds_seeds: joins clusters that are there, and founds none */
    uint32_t required_seeds; /* finds_seeds: a list has so many before a cluster is founded on it [1] */
    uint32_t stable_margin_ms; /* finds_seeds: and was the same for this long [0] */
    uint32_t find_interval_ms; /* finds_seeds: between two lists [1000] */
    uint32_t find_backoff_ms; /* finds_seeds: the same after failures, which double it, at most [15000] */
    const char *const *roles; /* without the data center; none may start with "dc-" */
    uint32_t role_count;
    const char *data_center; /* ["default"] */
    const char *app_version; /* ["0.0.0"]; must pass version_parse: a bad one would poison every peer */
    const char *config; /* JSON text of the settings that must agree, e.g. {"akka":{"cluster":{"downing-provider-class":
                           "...", ...}}}; [just the downing provider of a node without one]. See member_settings_valid */
    bool accept_incompatible; /* join although the check failed; [false: enforce-configuration-check-on-join] */
    uint32_t min_members; /* members before joining ones are moved to up [1] */
    const struct member_role_minimum *role_minimums;
    uint32_t role_minimum_count;
    uint32_t seed_timeout_ms; /* between attempts; the first seed founds after it [5000] */
    uint32_t join_retry_ms; /* no welcome: start over [10000] */
    uint32_t join_give_up_ms; /* no cluster found: news MEMBER_NEWS_REFUSED [0 = never] */
    uint32_t gossip_interval_ms; /* [1000] */
    uint32_t leader_interval_ms; /* leader's actions [1000] */
    uint32_t reaper_interval_ms; /* look at the failure detectors [1000] */
    uint32_t stats_interval_ms; /* between two lines of the log on gossip [0 = none] */
    uint32_t initial_delay_ms; /* before the first of the four above and the first heartbeat, which come after their own interval at the earliest [1000] */
    uint32_t weakly_up_after_ms; /* without convergence [7000] */
    bool weakly_up_off;
    bool one_word_ends; /* this node ends when one member takes it for removed [when more than half do] */
    uint32_t tombstone_ttl_ms; /* of removed members [86400000] */
    uint32_t different_view_percent; /* gossip to those who have not seen [80] */
    uint32_t different_view_reduce; /* members from which that is reduced [400] */
    uint32_t heartbeat_interval_ms; /* [1000] */
    uint32_t heartbeat_expected_ms; /* first answer due [1000] */
    uint32_t heartbeat_pause_ms; /* acceptable pause [3000] */
    uint32_t heartbeat_deviation_ms; /* smallest standard deviation [100] */
    uint32_t heartbeat_samples_max; /* [1000] */
    double heartbeat_threshold; /* phi [8] */
    uint32_t monitored_by; /* peers that each node monitors [9] */
    uint32_t cross_connections; /* the oldest of each data center, so many, talk to other data centers [5] */
    uint32_t cross_gossip_percent; /* of their rounds that go there; more while a data center has less than 5 members [20] */
    uint32_t cross_heartbeat_interval_ms; /* to other data centers [3000] */
    uint32_t cross_heartbeat_expected_ms; /* first answer due [1000] */
    uint32_t cross_heartbeat_pause_ms; /* acceptable pause above the interval [10000] */
    bool log_info_off; /* what goes as it should is traced as debugging [false: as information] */
    struct probes *probes; /* lent for the member's life [none] */
    /* Asked when something is to be sent to that incarnation [all are PEER_USUAL] */
    enum peer_form (*form_of)(const void *user, const struct node_id *node);
    /* Asks for the memory that this and sending need, of several that are to be sent to [nothing is asked for] */
    void (*fetch)(const void *user, const uint64_t *uids, uint32_t count);
    const void *user; /* lent for the member's life */
};

/* False with the reason in text (cut at size) when member_new would not take the settings: a role or version the peers cannot
 * read, a config text that is no JSON object or lacks PREFIX.cluster.downing-provider-class (its absence stops JVM peers). */
bool member_settings_valid(const struct member_settings *settings, char *text,
                           size_t size);

/* A member as this node sees it. Its profile is lent with the view: a node keeps a thousand of both, and says each name once. */
struct member_view {
    struct profile *profile; /* what never changes about it; held by the core */
    int32_t up_number; /* UP_NUMBER_NONE before up */
    enum member_status status;
    bool reachable; /* false: some member of this node's data center observes it unreachable or terminated */
    bool seen; /* it has seen the current version of the gossip */
};

#define MEMBER_NEWS(X)                                                         \
    X(MEMBER_NEWS_WELCOME, "welcome") /* this node is in the cluster */        \
    X(MEMBER_NEWS_MEMBER, "member") /* a member is new or changed its status */ \
    X(MEMBER_NEWS_REMOVED, "removed") /* a member is gone; see previous */     \
    X(MEMBER_NEWS_UNREACHABLE, "unreachable") /* of the own data center only */ \
    X(MEMBER_NEWS_REACHABLE, "reachable")                                      \
    X(MEMBER_NEWS_CENTER_UNREACHABLE, "data-center-unreachable") /* members of the own one do not reach that in detail */ \
    X(MEMBER_NEWS_CENTER_REACHABLE, "data-center-reachable")                   \
    X(MEMBER_NEWS_LEADER, "leader") /* another leader; view null = none */     \
    X(MEMBER_NEWS_ROLE_LEADER, "role-leader") /* the same among the members with the role in detail */ \
    X(MEMBER_NEWS_SELF_UP, "self-up")                                          \
    X(MEMBER_NEWS_SELF_EXITING, "self-exiting") /* hand over, then call member_exiting_done */ \
    X(MEMBER_NEWS_SELF_STOPPED, "self-stopped") /* downed or removed: this incarnation must end; see previous */ \
    X(MEMBER_NEWS_REFUSED, "refused") /* joining was given up; see detail */

enum member_news_kind {
#define X(name, text) name,
    MEMBER_NEWS(X)
#undef X
};

const char *member_news_text(enum member_news_kind kind); /* "unreachable"; a literal */

struct member_news {
    enum member_news_kind kind;
    struct node_id node; /* the member meant; zero when there is none */
    const struct member_view *view; /* null when the member is gone; lent until the next call on this core */
    enum member_status previous; /* REMOVED, SELF_STOPPED: the last status seen */
    const char *detail; /* REFUSED: every reason, a sentence each; ROLE_LEADER: the role; CENTER_...: its name; else empty. Lent likewise */
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
    X(dropped_stranger, "messages of nodes that are no members")               \
    X(dropped_misdirected, "messages for another incarnation")                 \
    X(dropped_unreachable, "gossips of members this node cannot reach")        \
    X(dropped_state, "messages that do not fit this node's state")             \
    X(dropped_full, "joins and confirmed ends refused: too many members")      \
    X(folded, "changes of members that were not told apart from later ones")   \
    X(forgotten, "tombstones dropped: too many removals in a day")             \
    X(unknown_manifest, "messages of an unknown kind")

struct member_counters {
#define X(name, text) uint64_t name;
    MEMBER_COUNTERS(X)
#undef X
};

struct member;

/* The identity is lent for the member's life; settings must be valid. seed drives all random choices. trace may be null. */
struct member *member_new(const struct identity *identity,
                          const struct member_settings *settings, uint64_t seed,
                          struct trace *trace);
void member_free(struct member *member);

/* Starts to join through the seeds; does nothing without any, unless they are to be found. Call once. Behaviour 4.3. */
void member_start(struct member *member, uint64_t now, uint64_t wall_ms,
                  struct outbox *outbox);
/* finds_seeds: true when a list is wanted, once; whoever asks looks for one and calls member_found, however long it takes. */
bool member_wants_seeds(struct member *member);
/* The seeds as they were found, in the order that all nodes see, none twice, at most MEMBER_SEEDS_MAX; copied. None: the look
 * failed; the list before stays, unconfirmed. */
void member_found(struct member *member, uint64_t now,
                  const struct address *seeds, uint32_t count,
                  struct outbox *outbox);
/* Joins the node at that address without a configuration check; the own address founds a cluster. Abandons an attempt under
 * way. A cluster of one may join another: it takes nobody in from here on, and what is seen of it stays as it is until the welcome.
 * False when this node is in a cluster with others already, or stopped. Behaviour 4.2, 10.3. */
bool member_join(struct member *member, uint64_t now, uint64_t wall_ms,
                 const struct address *address, struct outbox *outbox);
/* Ends an attempt to join that is under way: a welcome that comes later is none. Nothing for who is a member, or stopped. */
void member_join_no_more(struct member *member);
/* Asks the member at that address, own or other, to leave. False when there is none, or its status does not allow it. Where the cluster
 * prepares for its end the leader is asked to let this node go, so it has to be said again until that is seen. */
bool member_leave(struct member *member, uint64_t now,
                  const struct address *address, struct outbox *outbox);
/* Declares the member at that address dead for good. False when there is none. The own address stops this node. */
bool member_down(struct member *member, uint64_t now,
                 const struct address *address, struct outbox *outbox);
/* The same for incarnations that the split brain resolver has decided on, all in one change; the own one last. How many of them are
 * members. */
uint32_t member_down_decided(struct member *member, uint64_t now,
                             const struct node_id *nodes, uint32_t count,
                             struct outbox *outbox);
/* After MEMBER_NEWS_SELF_EXITING: everything is handed over. Confirms to the leader, and stops (news SELF_STOPPED). In another
 * state it does nothing. Behaviour 6.2. */
void member_exiting_done(struct member *member, uint64_t now,
                         struct outbox *outbox);
/* Full shutdown of the cluster: every up member prepares; joins and moves to up end. False when not in a cluster. 6.6. */
bool member_prepare_shutdown(struct member *member, uint64_t now,
                             struct outbox *outbox);
/* Whether this node has heard of it, also where its own status says nothing, as it is not up. */
bool member_is_preparing(const struct member *member);
/* The transport declared that incarnation dead: it is observed as terminated, for ever. Behaviour 6.7. */
void member_quarantined(struct member *member, uint64_t now,
                        const struct node_id *node);

/* That node takes this incarnation for dead, it says. One word is not enough, or one sick node would end a healthy cluster: this node
 * stops (news SELF_STOPPED) when more than half of the members that it reaches in its data center, or that say so, say so. Others
 * than members have no say. */
void member_refused(struct member *member, uint64_t now,
                    const struct node_id *by);

/* Takes in a message of MEMBER_SERIALIZER, lent. What does not decode or does not fit is counted and dropped. */
void member_receive(struct member *member, uint64_t now, uint64_t wall_ms,
                    const struct inbound *inbound, struct outbox *outbox);
/* Does what is due at now. wall_ms: wall-clock milliseconds since 1970, data for tombstones only. True: that was work enough for a turn
 * of the node, and its news had better wait for the next one; a few times in a row at most. */
bool member_step(struct member *member, uint64_t now, uint64_t wall_ms,
                 struct outbox *outbox);
/* Asks for the memory that a message and a step need, in two steps, some time apart: 0, and then 1, which needs what 0 has asked for. */
void member_fetch(const struct member *member, uint32_t step);
uint64_t member_deadline(const struct member *member); /* when to call member_step next; NEVER when stopped */

/* The next thing to tell, in the reference's order (behaviour 7): removals, changes, unreachable, reachable, the same of data
 * centers, leader, role leaders, self.
 * Level-triggered: it compares the state with what was told, so steps between two calls collapse into one. */
bool member_next_news(struct member *member, struct member_news *news);
bool member_has_news(const struct member *member); /* or may have: member_next_news was not called until it returned false */

/* From here on leaders of roles are kept and told. The role that stands for the data center is left out. */
void member_follow_roles(struct member *member);
/* The roles that are kept, in order, and their leaders (null: none); false past the last. role is lent as news are. */
bool member_role_at(const struct member *member, uint32_t index,
                    const char **role, const struct member_view **leader);

/* The version of its gossip, to be compared by checkers; lent until the next call that changes the core. */
const struct clock *member_version(const struct member *member);

/* The members, sorted by address and uid. Lent until the next call that changes the core. */
uint32_t member_count(const struct member *member);
const struct member_view *member_at(const struct member *member,
                                    uint32_t index);
const struct member_view *member_find(const struct member *member,
                                      const struct node_id *node); /* uid 0 = whoever is at the address; null when none */
const struct member_view *member_self(const struct member *member); /* null before the welcome; after the stop as last seen */
bool member_is_in(const struct member *member); /* welcomed and not stopped */
bool member_is_stopped(const struct member *member);

/* The leader of the own data center as this node sees it; null when none. */
const struct member_view *member_leader(const struct member *member);
bool member_is_leader(const struct member *member); /* this node is */
bool member_is_converged(const struct member *member); /* behaviour 2.6 */

bool member_has_role(const struct member_view *view, const char *role); /* null or "" = every member */
/* Whether two members are of one data center. */
bool member_same_center(const struct member_view *left,
                        const struct member_view *right);
/* The other data centers that are unreachable, by name; false past the last. Lent as news are. */
bool member_unreachable_center_at(const struct member *member, uint32_t index,
                                  const char **name);
/* Age: the smaller up number is the older, then the lower address; of members of one data center. < 0: left is older. */
int member_compare_age(const struct member_view *left,
                       const struct member_view *right);
/* The oldest member with the role in the own data center whose status is up, leaving, exiting or one of the two of a full
 * shutdown, reachable or not (what singletons follow); null when none. */
const struct member_view *member_oldest(const struct member *member,
                                        const char *role);

/* The suspicion of a monitored member: 0 = just heard of, 8 = unreachable by default; -1 = not monitored by this node. */
double member_phi(const struct member *member, uint64_t now,
                  const struct node_id *node);
/* One observation of a member by a member. What a downing strategy reads. */
struct member_observation {
    uint32_t observer; /* as member_at counts */
    uint32_t subject;
    bool terminated; /* else unreachable */
};
/* Where a walk over the observations stands; zero is its beginning. */
struct member_walk {
    uint32_t observer;
    uint32_t row;
};
/* The next one, by observer; false past the last. The core must not change during a walk. */
bool member_next_observation(const struct member *member,
                             struct member_walk *walk,
                             struct member_observation *observation);

const struct member_counters *member_counters(const struct member *member);

#endif
