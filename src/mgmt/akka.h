/* Writes the answers of Akka Management's routes, byte for byte: fields in alphabetical order, no
 * spaces (its JSON library keeps the fields of an object sorted). */
#ifndef SHERD_MGMT_AKKA_H
#define SHERD_MGMT_AKKA_H

#include <sherd/manage.h>
#include <sherd/sharding.h>

#include "base/bytes.h"

/* The parts of addresses. */
struct akka_names {
    const char *protocol, *system;
    const char *self; /* "host:port" of this node */
    const char *data_center;
};

/* "Up", "WeaklyUp", ... */
const char *akka_status(enum sherd_member_status status);
/* A set of bits 1 << status for a name; 0: there is none. */
uint32_t akka_status_bit(const char *name);
/* `akka://System@host:port`, without quotes. */
void akka_address(struct buf *buf, const struct akka_names *names, const char *address);
/* `["backend","dc-default"]` */
void akka_roles(struct buf *buf, const char *roles, const char *data_center);

void akka_message(struct buf *buf, const char *message);
void akka_members(struct buf *buf, const struct akka_names *names, const struct sherd_cluster_view *view);
void akka_member(struct buf *buf, const struct akka_names *names, const struct sherd_cluster_member *member);
/* Finds a member by `akka://System@host:port` or `System@host:port`. Null: none. */
const struct sherd_cluster_member *akka_find(const struct akka_names *names,
                                             const struct sherd_cluster_view *view, const char *text);
void akka_types(struct buf *buf, const struct sherd_cluster_view *view);
void akka_shards(struct buf *buf, const struct sherd_regions *regions);
void akka_shard_stats(struct buf *buf, const struct akka_names *names, const struct sherd_regions *regions);
void akka_seed_nodes(struct buf *buf, const struct akka_names *names, const struct sherd_cluster_view *view);

/* The kinds of events that a list of types asks for, as sherd_cluster_subscribe takes them. A parent
 * stands for all below it; unknown ones add nothing. */
uint32_t akka_events(struct slice type);
/* The kinds to subscribe to for these: a data center is a role in Akka, so its leader is a role's. */
uint32_t akka_subscription(uint32_t kinds);
/* Appends the texts of an event of a subscription: none, one, or two. */
void akka_stream_event(struct buf *buf, const struct akka_names *names, uint32_t kinds,
                       const struct sherd_cluster_event *event);
/* Appends an event as the stream has it. False: Akka's stream has no such event. */
bool akka_event(struct buf *buf, const struct akka_names *names, const struct sherd_cluster_event *event);

#endif
