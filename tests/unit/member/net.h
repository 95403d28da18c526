/* Runs N membership cores in virtual time for tests of whole clusters. Messages take random times,
 * may be lost, and arrive in any order unless they share a stream. */
#ifndef TESTS_MEMBER_NET_H
#define TESTS_MEMBER_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "base/timers.h"
#include "base/vec.h"
#include "member/member.h"

#define NET_NODES_MAX 1024
#define NET_WALL_MS UINT64_C(1700000000000) /* wall clock at time 0 */

struct net_message {
    struct node_id from;
    uint32_t to;
    struct node_id to_node; /* uid 0: any incarnation */
    struct buf bytes; /* sender, recipient, manifest, payload */
    size_t sizes[4];
    int32_t serializer;
};

/* A node's news. */
struct net_news {
    uint64_t at; /* ns */
    enum member_news_kind kind;
    enum member_status status;   /* of the member, if it exists */
    enum member_status previous;
    uint16_t port;
    uint64_t uid;
    char detail[16]; /* cut */
};

struct net_node {
    struct identity identity;
    struct member *member;
    VEC(struct net_news) news;
    bool is_dead; /* crashed: receives and sends nothing */
};

struct net {
    struct rng rng;
    uint64_t now;
    struct net_node nodes[NET_NODES_MAX];
    uint32_t count;
    bool cut[NET_NODES_MAX]; /* messages between these nodes and all others are lost */
    bool deaf[NET_NODES_MAX]; /* messages to that node are lost */
    struct timers arrivals;
    VEC(struct net_message *) flying; /* by timer id; null: arrived */
    uint32_t loss_percent;
    uint64_t sent;
    uint64_t sent_bytes;
    uint64_t sent_gossip; /* full gossips among them */
    bool hand_over; /* exiting nodes finish at once */
    struct trace *trace;
    /* Sees every sent message, even if it is lost. */
    void (*tap)(struct net *net, uint32_t from, uint32_t to, const struct outbound *out);
    void *tap_user;
};

struct net *net_new(uint64_t seed);
void net_free(struct net *net);
struct address net_address(uint32_t index); /* Node index is 10.0.0.1:2551 + index. */
/* Adds a node, or a new incarnation of a crashed or stopped one, without starting it. Settings are
 * copied. Seed nodes are 0 and 1 unless given or to be found. */
void net_add(struct net *net, uint32_t index, const struct member_settings *settings);
void net_start(struct net *net, uint32_t index); /* Joins the seed nodes. */
void net_crash(struct net *net, uint32_t index);
/* Runs for that time. */
void net_run(struct net *net, uint64_t duration);
/* Runs until all living nodes are members, see each other as up and reachable, and have equal seen
 * sets. False: not in time. */
bool net_converge(struct net *net, uint64_t limit);
bool net_is_converged(const struct net *net);
/* Counts a node's news of that kind about a port (0: any). */
uint32_t net_told(const struct net *net, uint32_t index,
                  enum member_news_kind kind, uint16_t port);
void net_flush(struct net *net, uint32_t index, struct outbox *outbox); /* Sends, and reads news. */

#endif
