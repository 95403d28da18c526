/* Names the leases of a node, of its types' shards, of coordinators and of singletons. All nodes of a data center use
 * the same names; those of JVM nodes differ only in data centers other than "default". */
#ifndef SHERD_NODE_PEERS_LEASE_NAMES_H
#define SHERD_NODE_PEERS_LEASE_NAMES_H

#include "base/bytes.h"
#include "node/node.h"

/* Appends "SYSTEM-node-HOST:PORT". */
void session_lease_name_put(struct buf *name, const struct node_settings *settings);
/* Appends "SYSTEM-shard-TYPE-SHARD", with SYSTEM@CENTER for a data center that is not "default". If that
 * is too long, the end of SHARD, a text, becomes a hash of it. */
void shard_lease_name_put(struct buf *name, const struct node_settings *settings, const char *type,
                          struct slice shard);
/* Appends "SYSTEM-singleton-PATH", likewise; PATH is that of the type's singleton manager. */
void coordinator_lease_name_put(struct buf *name, const struct node_settings *settings,
                                const char *type);
/* Likewise, of a singleton of actors; path: its manager's, such as "/system/singletonManagerNAME". */
void singleton_lease_name_put(struct buf *name, const struct node_settings *settings,
                              const char *path);
/* Whether names are below LEASE_TEXT_MAX, for every shard. */
bool lease_names_fit(const struct node_settings *settings, const char *type, bool has_texts);
bool coordinator_lease_name_fits(const struct node_settings *settings, const char *type);

#endif
