/* Decides which actors get messages from other nodes by the large stream, so that large messages do
 * not delay small ones (akka.remote.artery.large-message-destinations).
 *
 * An entry is a path: "/user/store", "/system/sharding/Picture". "*" stands for any one element, a
 * "*" at the end of an element for its rest, a last "**" for everything below. */
#ifndef SHERD_NODE_LARGE_H
#define SHERD_NODE_LARGE_H

#include "node/node.h"

bool large_entry_good(const char *entry);
/* Whether an entry matches a path without address; a "#uid" at its end is ignored. */
bool large_path(const struct node_settings *settings, struct slice path);
/* Returns the stream for an actor elsewhere with that path. */
enum stream large_stream(const struct node_settings *settings,
                         struct slice path);
/* Returns the bytes of a body in a frame of the large stream; at least SHERD_BODY_MAX. */
uint32_t large_body_max(const struct node_settings *settings);
/* Returns the bytes of the largest body of any message here. */
uint32_t large_any_max(const struct node_settings *settings);

#endif
