/* Implements events.h. */
#include "mgmt/events.h"

#include "base/limits.h"

void event_queue_fini(struct events *events)
{
    buf_fini(&events->text);
}

bool event_queue_add(struct events *events, struct slice text)
{
    if (events->text.size + text.size > MGMT_EVENTS_BYTES_MAX)
        events->is_over = true;
    if (!events->is_over)
        buf_put_slice(&events->text, text);
    return !events->is_over;
}

struct buf event_queue_take(struct events *events)
{
    struct buf text = events->text;

    events->text = (struct buf){ 0 };
    return text;
}
