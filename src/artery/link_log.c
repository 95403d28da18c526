/* Names the states of a link, and logs its events; a warning has a remedy. */
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

static const char *const events[] = {
    [LINK_CONNECTED] = "connected",
    [LINK_OPENED] = "open",
    [LINK_DROPPED] = "dropped",
    [LINK_CANNOT_CONNECT] = "cannot connect",
    [LINK_LOST] = "connection lost",
    [LINK_UNANSWERED] = "handshake not answered",
    [LINK_DOUBTED] = "peer does not answer, connecting again",
    [LINK_CONTROL_FULL] = "control queue full, frames dropped",
};

static const char *const hints[] = {
    [LINK_CANNOT_CONNECT] = "check that the node runs and that its address is "
                            "reachable",
    [LINK_LOST] = "check that the node still runs",
    [LINK_DOUBTED] = "if no node of yours was started with that address, a "
                     "stranger reaches this port",
    [LINK_CONTROL_FULL] = "check that node's load and the network",
};

/* A node of another system name accepts the connection and answers nothing, as Akka does. */
static void log_unanswered(const struct link_sender *sender,
                           enum trace_level level, const char *peer,
                           const struct link_line *line)
{
    trace_put(sender->trace, level, "link",
              "%s peer=%s stream=%d lane=%u waiting=%u reason=\"%s\" "
              "hint=\"see the log there; a node does not answer if its own "
              "address is written in another way, or if it has another system "
              "name or protocol than %s://%s\"",
              events[LINK_UNANSWERED], peer, line->stream, sender->lane,
              line->waiting, line->reason, sender->self->protocol,
              sender->self->system);
}

void link_log(const struct link_sender *sender, enum trace_level level,
              const struct link_line *line)
{
    char peer[ADDRESS_TEXT_MAX];

    if (!trace_on(sender->trace, level))
        return;
    (void)kept_address_text(line->peer, peer, sizeof peer);
    if (line->event == LINK_UNANSWERED)
        log_unanswered(sender, level, peer, line);
    else if (line->event == LINK_CONTROL_FULL)
        trace_put(sender->trace, level, "link",
                  "%s peer=%s stream=%d lane=%u waiting=%u hint=\"%s\"",
                  events[line->event], peer, line->stream, sender->lane,
                  line->waiting, hints[line->event]);
    else if (line->reason)
        trace_put(sender->trace, level, "link",
                  "%s peer=%s stream=%d lane=%u waiting=%u reason=\"%s\" "
                  "hint=\"%s\"",
                  events[line->event], peer, line->stream, sender->lane,
                  line->waiting, line->reason, hints[line->event]);
    else
        trace_put(sender->trace, level, "link",
                  "%s peer=%s stream=%d lane=%u waiting=%u",
                  events[line->event], peer, line->stream, sender->lane,
                  line->waiting);
}
