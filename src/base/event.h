/* Defines an event of an entity, as the journal and the actors pass it to each other. */
#ifndef SHERD_BASE_EVENT_H
#define SHERD_BASE_EVENT_H

#include <stdint.h>

#include "base/bytes.h"

struct entity_event {
    uint32_t type;    /* these two are the application's */
    uint32_t version; /* of the type's format */
    struct slice payload;
};

#endif
