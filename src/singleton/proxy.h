/* Follows which member runs a singleton, like Akka's cluster singleton proxy.
 *
 * The instance is on the oldest member with the role. The proxy asks that member for the instance
 * until it answers, and begins again when another member is the oldest or the instance has ended.
 *
 * Order of use: proxy_new; proxy_peer for every member, then proxy_peers_done, again at each change.
 * After each call drain proxy_next_news, then look at proxy_deadline. */
#ifndef SHERD_SINGLETON_PROXY_H
#define SHERD_SINGLETON_PROXY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/member_info.h"

enum proxy_news {
    PROXY_NEWS_ASK,  /* ask proxy_target for the instance; pass its answer to proxy_found */
    PROXY_NEWS_FOUND, /* the instance that proxy_found named runs there */
    PROXY_NEWS_LOST  /* there is no known instance any more */
};

struct proxy;

/* interval_ms: singleton-identification-interval, not 0. */
struct proxy *proxy_new(uint64_t interval_ms);
void proxy_free(struct proxy *proxy);

/* Passes a new or changed member, lent; has_role = may run the singleton. */
void proxy_peer(struct proxy *proxy, const struct member_info *peer);
void proxy_peer_removed(struct proxy *proxy, const struct node_id *node);
/* The members so far are one consistent view. */
void proxy_peers_done(struct proxy *proxy, uint64_t now);

/* A member has named its instance. Ignored unless it is the target and no instance is known. */
void proxy_found(struct proxy *proxy, const struct node_id *from);
/* The instance that was found has ended: asks again after the interval. */
void proxy_ended(struct proxy *proxy, uint64_t now);

void proxy_step(struct proxy *proxy, uint64_t now);
uint64_t proxy_deadline(const struct proxy *proxy); /* NEVER: none */
bool proxy_next_news(struct proxy *proxy, enum proxy_news *news);
/* Returns the oldest member that may run the singleton; false if there is none. */
bool proxy_target(const struct proxy *proxy, struct node_id *node);

#endif
