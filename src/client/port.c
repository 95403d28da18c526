/* Keeps the requests of one lane, and ends each of them once. */
#include "client/port.h"

#include "base/bound.h"
#include "base/check.h"
#include "base/limits.h"
#include "client/port_inside.h"

/* ---- lists ---- */

static void list_put(struct client_list *list, struct client_request *request)
{
    request->next = NULL;
    request->prev = list->last;
    if (list->last)
        list->last->next = request;
    else
        list->first = request;
    list->last = request;
    list->count++;
}

static void list_drop(struct client_list *list, struct client_request *request)
{
    if (request->prev)
        request->prev->next = request->next;
    else
        list->first = request->next;
    if (request->next)
        request->next->prev = request->prev;
    else
        list->last = request->prev;
    list->count--;
}

/* ---- the lock, and the way to the actor ---- */

void port_lock(struct port *port)
{
    if (port->hooks->lock)
        port->hooks->lock(port);
}

void port_unlock(struct port *port)
{
    if (port->hooks->unlock)
        port->hooks->unlock(port);
}

/* Before its start the actor needs no wake: it looks when it starts. */
static void ring(struct port *port)
{
    if (port->is_rung || !port->is_running)
        return;
    port->is_rung = true;
    if (port->hooks->wake)
        port->hooks->wake(port, port->actor);
}

/* ---- slots ---- */

static uint32_t slot_new(struct port *port)
{
    struct port_slot slot = { 0 };
    uint32_t at;

    if (!port->free_slot) {
        vec_push(&port->slots, slot);
        return port->slots.count - 1;
    }
    at = port->free_slot - 1;
    port->free_slot = port->slots.items[at].next_free;
    return at;
}

static void slot_free(struct port *port, uint32_t at)
{
    struct port_slot *slot = &port->slots.items[at];

    slot->state = PORT_FREE;
    slot->request = NULL;
    slot->next_free = port->free_slot;
    port->free_slot = at + 1;
}

struct port_slot *port_slot_of(struct port *port, uint32_t tag)
{
    uint32_t at = tag & 0xffff;
    struct port_slot *slot;

    if (at >= port->slots.count)
        return NULL;
    slot = &port->slots.items[at];
    return slot->request && (uint32_t)slot->id == tag ? slot : NULL;
}

/* ---- the end of a request ---- */

void port_complete(struct port *port, struct port_slot *slot,
                   enum sherd_client_status status, const struct sherd_msg *msg)
{
    uint32_t at = (uint32_t)(slot - port->slots.items);
    struct client_request *request = slot->request;

    if (slot->state == PORT_WAITING)
        port_unwait(port, request);
    request = client_request_end(request, status, msg);
    port->counts.ended[status]++;
    list_put(&port->done, request);
    if (slot->state == PORT_ASKED && !msg) {
        slot->state = PORT_LOST;
        slot->request = NULL;
        vec_push(&port->lost, at);
    } else {
        slot_free(port, at);
    }
    if (port->done.count == 1 && port->hooks->signal)
        port->hooks->signal(port);
}

void port_lost_end(struct port *port, void (*drop)(void *user, uint64_t ask),
                   void *user)
{
    for (uint32_t i = 0; i < port->lost.count; i++) {
        uint32_t at = port->lost.items[i];

        drop(user, port->slots.items[at].ask);
        slot_free(port, at);
    }
    port->lost.count = 0;
}

static void end_all(struct port *port, enum sherd_client_status status)
{
    for (uint32_t i = 0; i < port->slots.count; i++)
        if (port->slots.items[i].request)
            port_complete(port, &port->slots.items[i], status, NULL);
}

void port_unwait(struct port *port, struct client_request *request)
{
    list_drop(&port->waiting, request);
    port->bytes -= request->body_size;
    port->tells -= request->id == 0;
}

static void drop_tells(struct port *port)
{
    while (port->waiting.first) {
        struct client_request *request = port->waiting.first;

        check(request->id == 0); /* asks have ended */
        port_unwait(port, request);
        port->counts.tells_dropped++;
        mem_free(request);
    }
}

/* ---- requests ---- */

/* The error of a request that is not accepted, or 0. */
static int fault_of(const struct port *port, const struct client_request *request,
                    bool has_room)
{
    if (port->error)
        return port->error;
    if (!port->is_up && !port->waits_until_up)
        return SHERD_ENOTREADY;
    if (!has_room || request->body_size > CLIENT_WAITING_BYTES_MAX - port->bytes)
        return SHERD_EFULL;
    return 0;
}

static void put_last(struct port *port, struct client_request *request)
{
    list_put(&port->waiting, request);
    port->bytes += request->body_size;
    ring(port);
}

static bool is_waiting(const void *owner, const struct timer *timer)
{
    const struct port *port = owner;
    const struct port_slot *slot = &port->slots.items[timer->id & 0xffff];

    return slot->state == PORT_WAITING && slot->id == timer->id;
}

/* Asks that end early leave their timers. */
static void set_timer(struct port *port, const struct client_request *request)
{
    if (port->timers.count >= 2 * CLIENT_REQUESTS_MAX)
        timers_keep(&port->timers, is_waiting, port);
    timers_put(&port->timers, request->deadline * MS, 0, request->id, 0);
}

static uint64_t in_range(uint64_t timeout)
{
    if (timeout < 1)
        return 1;
    return timeout < ACTOR_ASK_MS_MAX ? timeout : ACTOR_ASK_MS_MAX;
}

int port_ask(struct port *port, struct client_request *request, uint64_t now,
             uint64_t timeout, uint64_t *id)
{
    struct port_slot *slot;
    uint32_t at;
    int fault;

    port_lock(port);
    fault = fault_of(port, request,
                     port->free_slot || port->slots.count < CLIENT_REQUESTS_MAX);
    if (fault == 0) {
        at = slot_new(port);
        BOUNDED("asks of a client's port", port->slots.count, CLIENT_REQUESTS_MAX);
        slot = &port->slots.items[at];
        request->id = (uint64_t)(port->number + 1) << 56 |
                      (++port->uses & 0xffffffffff) << 16 | at;
        request->deadline = now + in_range(timeout);
        *slot = (struct port_slot){ .request = request,
                                    .id = request->id,
                                    .state = PORT_WAITING };
        *id = request->id;
        if (!port->is_up)
            set_timer(port, request);
        put_last(port, request);
        port->counts.asked++;
    }
    port->counts.refused += fault == SHERD_EFULL;
    port_unlock(port);
    return fault;
}

int port_tell(struct port *port, struct client_request *request)
{
    int fault;

    port_lock(port);
    fault = fault_of(port, request, port->tells < CLIENT_TELLS_MAX);
    if (fault == 0) {
        request->id = 0;
        port->tells++;
        BOUNDED("tells of a client's port", port->tells, CLIENT_TELLS_MAX);
        put_last(port, request);
        port->counts.told++;
    }
    port->counts.refused += fault == SHERD_EFULL;
    port_unlock(port);
    return fault;
}

bool port_cancel(struct port *port, uint64_t id)
{
    struct port_slot *slot;

    port_lock(port);
    slot = port_slot_of(port, (uint32_t)id);
    if (slot && slot->id != id)
        slot = NULL;
    if (slot) {
        port_complete(port, slot, SHERD_CLIENT_CANCELLED, NULL);
        if (port->lost.count)
            ring(port);
    }
    port_unlock(port);
    return slot != NULL;
}

struct client_request *port_take(struct port *port, uint32_t max, uint32_t *count)
{
    struct client_request *first = NULL, *last;

    *count = 0;
    if (!max)
        return NULL;
    port_lock(port);
    first = last = port->done.first;
    while (last && ++*count < max && last->next)
        last = last->next;
    if (last) {
        port->done.first = last->next;
        if (last->next)
            last->next->prev = NULL;
        else
            port->done.last = NULL;
        last->next = NULL;
        port->done.count -= *count;
    }
    port_unlock(port);
    return first;
}

bool port_has_done(struct port *port)
{
    bool has;

    port_lock(port);
    has = port->done.count > 0;
    port_unlock(port);
    return has;
}

struct port_counts port_counts(struct port *port)
{
    struct port_counts counts;

    port_lock(port);
    counts = port->counts;
    port_unlock(port);
    return counts;
}

/* ---- the life of a port ---- */

void port_init(struct port *port, const struct port_hooks *hooks,
               uint32_t number, bool waits_until_up, bool is_up)
{
    memset(port, 0, sizeof *port);
    port->hooks = hooks;
    port->number = (uint8_t)number;
    port->waits_until_up = waits_until_up;
    port->is_up = is_up;
}

void port_up(struct port *port, bool is_up)
{
    port_lock(port);
    port->is_up = is_up;
    if (is_up)
        timers_fini(&port->timers);
    if (port->waiting.count)
        ring(port);
    port_unlock(port);
}

void port_stop(struct port *port, int error, enum sherd_client_status status)
{
    port_lock(port);
    if (!port->error)
        port->error = error;
    end_all(port, status);
    if (port->lost.count)
        ring(port);
    port_unlock(port);
}

void port_close(struct port *port)
{
    port_stop(port, SHERD_ESTATE, SHERD_CLIENT_CANCELLED);
    port_lock(port);
    port->is_closing = true;
    if (!port->is_running || !port->is_up)
        drop_tells(port);
    ring(port);
    port_unlock(port);
}

void port_end(struct port *port, int error, enum sherd_client_status status)
{
    port_lock(port);
    port->error = error;
    port->is_running = false;
    end_all(port, status);
    drop_tells(port);
    port_unlock(port);
}

static void list_free(struct client_list *list)
{
    while (list->first) {
        struct client_request *request = list->first;

        list->first = request->next;
        mem_free(request);
    }
}

void port_fini(struct port *port)
{
    for (uint32_t i = 0; i < port->slots.count; i++)
        check(!port->slots.items[i].request);
    check(!port->waiting.count);
    list_free(&port->done);
    vec_fini(&port->slots);
    vec_fini(&port->lost);
    timers_fini(&port->timers);
}
