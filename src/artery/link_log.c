/* Names the states of a link, and logs a handshake without an answer. */
#include "artery/link.h"

const char *link_state_text(enum link_state state)
{
    static const char *const texts[] = {
        [LINK_IDLE] = "idle",
        [LINK_CONNECTING] = "connecting",
        [LINK_HANDSHAKING] = "handshaking",
        [LINK_OPEN] = "open",
        [LINK_BACKING_OFF] = "backing off",
    };

    return texts[state];
}

/* A node of another system name accepts the connection and answers nothing, as Akka does. */
void link_log_unanswered(const struct link_sender *sender,
                         enum trace_level level, const char *peer, int stream,
                         uint32_t waiting, const char *reason)
{
    trace_put(sender->trace, level, "link",
              "handshake not answered peer=%s stream=%d lane=%u waiting=%u "
              "reason=\"%s\" hint=\"see the log there; a node that has another "
              "system name or protocol than %s://%s does not answer\"",
              peer, stream, sender->lane, waiting, reason,
              sender->self->protocol, sender->self->system);
}
