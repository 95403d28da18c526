/* Checks references to entities (sherd/entity_ref.h). */
#ifndef SHERD_ACTOR_ENTITY_REF_H
#define SHERD_ACTOR_ENTITY_REF_H

#include <stdbool.h>

#include <sherd/entity_ref.h>

#include "base/bytes.h"

/* Whether each text ends, is valid and is not too long. */
bool entity_ref_is_valid(const struct sherd_entity_ref *ref);

#endif
