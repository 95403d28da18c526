/* Actors that have a stream of their own for what other nodes send them, so that large messages do not stand before small ones
 * (remote.artery.large-message-destinations). An entry is a path: "/user/store", "/system/sharding/Picture". "*" stands for any
 * one element, a "*" at the end of an element for its rest, "**" as the last element for all that is below. Each entry counts by itself. */
#ifndef SHERD_NODE_LARGE_H
#define SHERD_NODE_LARGE_H

#include "node/node.h"

bool large_entry_good(const char *entry);
/* Whether an entry means that path: one without an address. What stands behind "#" does not count. */
bool large_path(const struct node_settings *settings, struct slice path);
/* By which an actor elsewhere, of that path, is told. */
enum stream large_stream(const struct node_settings *settings,
                         struct slice path);
/* Bytes of a body that a frame of the large stream has room for; never less than SHERD_BODY_MAX. */
uint32_t large_body_max(const struct node_settings *settings);
/* Bytes of the largest body that any message may have here: without entries SHERD_BODY_MAX. */
uint32_t large_any_max(const struct node_settings *settings);

#endif
