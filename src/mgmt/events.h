/* Keeps events of a stream until its peer takes them. A stream whose peer is too slow ends. */
#ifndef SHERD_MGMT_EVENTS_H
#define SHERD_MGMT_EVENTS_H

#include "base/bytes.h"

/* Zero is an empty one. */
struct events {
    struct buf text;
    bool is_over; /* there were more than MGMT_EVENTS_BYTES_MAX, or the owner set it */
};

void event_queue_fini(struct events *events);
/* False: the queue is over. */
bool event_queue_add(struct events *events, struct slice text);
/* Gives the text away. */
struct buf event_queue_take(struct events *events);

#endif
