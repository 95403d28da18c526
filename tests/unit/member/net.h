/* N membership cores in one memory under virtual time: messages take a random while, may be lost, and arrive in any order unless
 * they stand in one stream. What the tests of whole clusters are built on. */
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
    struct node_id to_node; /* uid 0 = any incarnation */
    struct buf bytes; /* sender, recipient, manifest, payload */
    size_t sizes[4];
    int32_t serializer;
};

/* Something told by a node. */
struct net_news {
    uint64_t at; /* ns */
    enum member_news_kind kind;
    enum member_status status;   /* of the member, when it is there */
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
    bool cut[NET_NODES_MAX]; /* a node whose messages to and from those not cut are lost */
    bool deaf[NET_NODES_MAX]; /* what arrives at that node is lost */
    struct timers arrivals;
    VEC(struct net_message *) flying; /* by timer id; null = arrived */
    uint32_t loss_percent;
    uint64_t sent;
    uint64_t sent_bytes;
    uint64_t sent_gossip; /* full gossips among them */
    bool hand_over; /* an exiting node is done at once */
    struct trace *trace;
    /* Sees every message that is sent, also those that are lost. */
    void (*tap)(struct net *net, uint32_t from, uint32_t to, const struct outbound *out);
    void *tap_user;
};

struct net *net_new(uint64_t seed);
void net_free(struct net *net);
struct address net_address(uint32_t index); /* node index is 10.0.0.1:2551 + index */
/* Adds a node, or a new incarnation of a crashed or stopped one at index; settings are copied, seeds are nodes 0 and 1 unless
 * given or to be found. Does not start it. */
void net_add(struct net *net, uint32_t index, const struct member_settings *settings);
void net_start(struct net *net, uint32_t index); /* joins the seeds */
void net_crash(struct net *net, uint32_t index);
/* Runs until the time has passed. */
void net_run(struct net *net, uint64_t duration);
/* Runs until all living nodes are in, see exactly each other, all up, reachable, and agree on who has seen it; false when that did not
 * happen in time. */
bool net_converge(struct net *net, uint64_t limit);
bool net_is_converged(const struct net *net);
/* How often a node was told that of a node at a port (0 = any). */
uint32_t net_told(const struct net *net, uint32_t index,
                  enum member_news_kind kind, uint16_t port);
void net_flush(struct net *net, uint32_t index, struct outbox *outbox); /* sends, and reads news */

#endif
