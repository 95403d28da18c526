/* Keeps the names of this node's actors. Control gives the names; every lane has a copy of its table.
 *
 * A path with a name is "/user/NAME". */
#ifndef SHERD_NODE_PEERS_ACTOR_NAMES_H
#define SHERD_NODE_PEERS_ACTOR_NAMES_H

#include <sherd/actor.h>

#include "base/map.h"

struct actor_name {
    uint64_t actor;
    uint64_t seen; /* control: a bit for each lane that has the name */
    uint8_t size;
    char text[SHERD_NAME_MAX + 1];
};

/* Zero is an empty table. */
struct actor_names {
    struct map by_text;
    struct map by_actor;
};

void actor_names_fini(struct actor_names *names);
/* Returns null, and changes nothing, if the name is taken or there are ACTOR_NAMES_MAX. Copies the
 * text of 1 to SHERD_NAME_MAX bytes. */
struct actor_name *actor_names_put(struct actor_names *names, struct slice text,
                                   uint64_t actor);
void actor_names_drop(struct actor_names *names, uint64_t actor);
/* Returns null if there is none. */
struct actor_name *actor_names_find(const struct actor_names *names,
                                    struct slice text);
struct actor_name *actor_names_of(const struct actor_names *names,
                                  uint64_t actor);
/* Returns the actor of the path "/user/NAME", with or without "#uid"; 0: there is none. */
uint64_t actor_names_at(const struct actor_names *names, struct slice path);
/* Writes "/user/NAME"; 0: the actor has no name. text has ACTOR_NAME_PATH_MAX bytes. */
#define ACTOR_NAME_PATH_MAX (6 + SHERD_NAME_MAX)
size_t actor_names_path(const struct actor_names *names, uint64_t actor,
                        char *text);
/* Whether the path has a "*" or "?", which no name has. */
bool path_is_pattern(struct slice path);
/* Returns the next name, from *at = 0, whose path matches a pattern: "*" stands for any signs but
 * "/", and "?" for one. Null: no more. */
struct actor_name *actor_names_match(const struct actor_names *names,
                                     struct slice pattern, uint32_t *at);

#endif
