/* Acts for a port on its lane: sends the messages that wait, and ends asks by their answers. */
#include "client/port_inside.h"

#include "actor/actors.h"
#include "base/limits.h"

#define DUE 1 /* tag of the timer for asks that wait for the node; a wake has 0 */
#define LOCKED_SENDS 16 /* messages sent in one hold of the lock: some microseconds */

/* ---- sending ---- */

static void tell(struct sherd_ctx *ctx, const struct client_request *request)
{
    if (request->way == CLIENT_START)
        sherd_entity_start(ctx, request->type, client_request_entity(request));
    else if (request->way == CLIENT_REGION)
        sherd_region_tell(ctx, request->type, request->msg, client_request_body(request));
    else if (request->type)
        sherd_entity_tell(ctx, request->type, client_request_entity(request),
                          request->msg, client_request_body(request));
    else
        sherd_tell(ctx, request->to, request->msg,
                   client_request_body(request));
}

static void ask(struct sherd_ctx *ctx, const struct client_request *request,
                uint64_t timeout)
{
    struct sherd_bytes body = client_request_body(request);
    const char *id = client_request_entity(request);
    uint32_t tag = (uint32_t)request->id;

    if (request->way == CLIENT_START)
        sherd_entity_start_ask(ctx, request->type, id, tag, timeout);
    else if (request->way == CLIENT_REGION)
        sherd_region_ask(ctx, request->type, request->msg, body, tag, timeout);
    else if (request->type && request->may_fail)
        sherd_entity_ask_or_fail(ctx, request->type, id, request->msg, body,
                                 tag, timeout);
    else if (request->type)
        sherd_entity_ask(ctx, request->type, id, request->msg, body, tag,
                         timeout);
    else if (request->may_fail)
        sherd_ask_or_fail(ctx, request->to, request->msg, body, tag, timeout);
    else
        sherd_ask(ctx, request->to, request->msg, body, tag, timeout);
}

static void time_out(struct port *port, struct port_slot *slot)
{
    const struct sherd_msg msg = { .kind = SHERD_NO_ANSWER,
                                   .reason = SHERD_REASON_TIMEOUT };

    port_complete(port, slot, SHERD_CLIENT_TIMED_OUT, &msg);
}

/* Sends the first message that waits. */
static void send(struct port *port, struct sherd_ctx *ctx)
{
    struct client_request *request = port->waiting.first;
    struct port_slot *slot;
    uint64_t now = sherd_now(ctx);

    if (request->id == 0) {
        port_unwait(port, request);
        tell(ctx, request);
        mem_free(request);
        return;
    }
    slot = port_slot_of(port, (uint32_t)request->id);
    if (request->deadline <= now) {
        time_out(port, slot);
        return;
    }
    port_unwait(port, request);
    slot->state = PORT_ASKED;
    ask(ctx, request, request->deadline - now);
    slot->ask = actors_asked(ctx);
}

/* ---- asks that wait for the node ---- */

static void end_late(struct port *port, struct sherd_ctx *ctx)
{
    uint64_t now = sherd_now(ctx) * MS;
    uint64_t next;
    struct timer timer;

    while (timers_take(&port->timers, now, &timer)) {
        struct port_slot *slot = port_slot_of(port, (uint32_t)timer.id);

        if (slot && slot->id == timer.id && slot->state == PORT_WAITING)
            time_out(port, slot);
    }
    next = timers_deadline(&port->timers);
    if (next != NEVER)
        sherd_timer(ctx, DUE, (next - now) / MS);
}

static void drop(void *ctx, uint64_t ask)
{
    actors_ask_drop(ctx, ask);
}

/* Does what the outside has asked for. False: the actor is to end. */
static bool work(struct port *port, struct sherd_ctx *ctx)
{
    bool goes_on, has_more = true;

    for (int i = 0; i < CLIENT_WORK_MAX / LOCKED_SENDS && has_more; i++) {
        port_lock(port);
        port->is_rung = false;
        port_lost_end(port, drop, ctx);
        for (int k = 0; k < LOCKED_SENDS && port->is_up && port->waiting.first; k++)
            send(port, ctx);
        if (!port->is_up)
            end_late(port, ctx);
        has_more = port->is_up && port->waiting.first;
        goes_on = !port->is_closing || has_more;
        if (has_more)
            port->is_rung = true;
        port_unlock(port);
    }
    if (has_more)
        actors_wake_self(ctx);
    return goes_on;
}

/* ---- answers ---- */

static void ended(struct port *port, const struct sherd_msg *msg)
{
    struct port_slot *slot;

    port_lock(port);
    slot = port_slot_of(port, msg->tag);
    if (slot)
        port_complete(port, slot,
                      msg->kind == SHERD_ANSWER ? SHERD_CLIENT_ANSWERED
                                                : client_status_of(msg),
                      msg);
    port_unlock(port);
}

/* ---- the actor ---- */

static void started(struct port *port, struct sherd_ctx *ctx)
{
    port_lock(port);
    port->actor = sherd_self(ctx);
    port->is_running = true;
    port_unlock(port);
}

static enum sherd_next receive(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    struct port **port = self;

    switch (msg->kind) {
    case SHERD_STARTED:
        memcpy(port, msg->body.data, sizeof *port);
        started(*port, ctx);
        return work(*port, ctx) ? SHERD_CONTINUE : SHERD_STOP;
    case SHERD_TIMER:
        return work(*port, ctx) ? SHERD_CONTINUE : SHERD_STOP;
    case SHERD_ANSWER:
    case SHERD_NO_ANSWER:
        ended(*port, msg);
        return SHERD_CONTINUE;
    case SHERD_STOPPING:
        return SHERD_STOP;
    default: /* an answer to a tell */
        return SHERD_CONTINUE;
    }
}

/* Also for an actor that ends with its node. */
static void release(void *self)
{
    struct port *port = *(struct port **)self;

    if (!port)
        return; /* it has not handled its start: the driver frees the port */
    port_end(port, SHERD_ESTATE, SHERD_CLIENT_SHUTTING_DOWN);
    if (port->hooks->gone)
        port->hooks->gone(port);
}

const struct sherd_behavior port_behavior = {
    .name = "client",
    .state_size = sizeof(struct port *),
    .receive = receive,
    .release = release,
};
