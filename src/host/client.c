/* Opens and closes clients, and takes their requests (sherd/client.h). */
#define _GNU_SOURCE
#include "host/client.h"

#include "actor/entity_ref.h"
#include "base/check.h"
#include "base/limits.h"
#include "host/thread.h"

/* ---- the ports ---- */

static struct client_port *own_of(struct port *port)
{
    return (struct client_port *)port;
}

static void lock(struct port *port)
{
    uv_mutex_lock(&own_of(port)->mutex);
}

static void unlock(struct port *port)
{
    uv_mutex_unlock(&own_of(port)->mutex);
}

/* The actor runs, so the system's threads exist. One wake of a port is on its way at a time, which
 * limits their number in the inbox. */
static void wake(struct port *port, struct sherd_ref actor)
{
    struct sherd_system *system = own_of(port)->system;
    uint32_t machine;
    struct mail mail = node_mail_wake(actor, &machine);
    struct thread *thread = system_thread(system, machine);

    inbox_put_command(&thread->inbox, machine, &mail);
    thread_wake(thread);
}

static void signal_done(struct port *port)
{
    if (own_of(port)->client)
        client_signal(own_of(port)->client);
}

static const struct port_hooks hooks = { lock, unlock, wake, signal_done, client_port_gone };

/* Under the system's mutex. */
static struct client_port *port_new(struct sherd_client *client, uint32_t lane)
{
    struct sherd_system *system = client->system;
    struct client_port *port = mem_alloc(sizeof *port);

    check(uv_mutex_init(&port->mutex) == 0);
    port_init(&port->port, &hooks, lane, client->options.waits_until_up,
              system->is_up);
    atomic_store(&port->holders, 2);
    port->client = client;
    port->system = system;
    client_port_add(port);
    return port;
}

/* The lane has too many actors, or the mail was not read. */
static void unstarted(struct sherd_bytes init)
{
    struct port *port;

    check(init.size == sizeof port);
    memcpy(&port, init.data, sizeof port);
    port_end(port, SHERD_EFULL, SHERD_CLIENT_REFUSED);
    client_port_gone(port);
}

/* After the port is in the list of the system. */
static void spawn(struct client_port *own, uint32_t lane)
{
    struct port *port = &own->port;
    struct node_spawn spawn = { .behavior = &port_behavior,
                                .init = { &port, sizeof port },
                                .unstarted = unstarted };
    struct thread *thread = system_thread(own->system, lane + 1);
    struct mail mail;

    check(node_mail_spawn(&spawn, &mail));
    inbox_put_command(&thread->inbox, lane + 1, &mail);
    thread_wake(thread);
}

/* ---- a client's life ---- */

static int add(struct sherd_system *system, struct sherd_client *client)
{
    int result = 0;

    uv_mutex_lock(&system->mutex);
    if (system_state_of(system) != SYSTEM_RUNNING) {
        result = SHERD_ESTATE;
    } else if (system->client_count >= SYSTEM_CLIENTS_MAX) {
        result = SHERD_EFULL;
    } else {
        system->client_count++;
        client->next = system->clients;
        if (client->next)
            client->next->prev = client;
        system->clients = client;
        for (uint32_t i = 0; i < client->port_count; i++)
            client->ports[i] = port_new(client, i);
        for (uint32_t i = 0; i < client->port_count; i++)
            spawn(client->ports[i], i);
    }
    uv_mutex_unlock(&system->mutex);
    return result;
}

static void leave_system(struct sherd_client *client)
{
    struct sherd_system *system = client->system;

    if (!system)
        return;
    uv_mutex_lock(&system->mutex);
    system->client_count--;
    if (client->prev)
        client->prev->next = client->next;
    else
        system->clients = client->next;
    if (client->next)
        client->next->prev = client->prev;
    uv_mutex_unlock(&system->mutex);
}

int sherd_client_open(struct sherd_client **client, struct sherd_system *system,
                      const struct sherd_client_options *options)
{
    struct sherd_client *opened;
    int result;

    if (!client)
        return SHERD_EINVAL;
    *client = NULL;
    if (!system || (options && options->requests_max > CLIENT_REQUESTS_MAX))
        return SHERD_EINVAL;
    if (system_state_of(system) != SYSTEM_RUNNING)
        return SHERD_ESTATE;
    opened = mem_alloc(sizeof *opened);
    opened->system = system;
    opened->mark = system->mark;
    if (options)
        opened->options = *options;
    if (!opened->options.requests_max)
        opened->options.requests_max = CLIENT_REQUESTS;
    result = client_done_open(opened);
    if (result != 0) {
        mem_free(opened);
        return result;
    }
    opened->port_count = system->settings.node.lanes;
    result = add(system, opened);
    if (result != 0) {
        opened->port_count = 0;
        client_done_close(opened);
        mem_free(opened);
        return result;
    }
    result = client_done_start(opened);
    if (result != 0)
        (void)sherd_client_close(opened); /* it has no thread: this is no callback */
    else
        *client = opened;
    return result;
}

void sherd_client_stop(struct sherd_client *client)
{
    if (!client || fork_watch_is_child(client->mark))
        return;
    for (uint32_t i = 0; i < client->port_count; i++)
        port_stop(&client->ports[i]->port, SHERD_ESTATE,
                  SHERD_CLIENT_CANCELLED);
}

int sherd_client_close(struct sherd_client *client)
{
    if (!client || fork_watch_is_child(client->mark))
        return 0;
    if (client_is_calling(client))
        return SHERD_ESTATE;
    for (uint32_t i = 0; i < client->port_count; i++)
        port_close(&client->ports[i]->port);
    client_done_close(client);
    leave_system(client);
    for (uint32_t i = 0; i < client->port_count; i++) {
        uv_mutex_lock(&client->ports[i]->mutex);
        client->ports[i]->client = NULL;
        uv_mutex_unlock(&client->ports[i]->mutex);
        client_port_drop(client->ports[i]);
    }
    mem_free(client);
    return 0;
}

/* ---- requests ---- */

/* A request on its way to a port: all of it is lent. */
struct wanted {
    struct node_receiver receiver;
    struct sherd_extracted message;
    const char *id;
    enum client_way way;
};

static int find_region(const struct node *node, const struct sherd_request *request,
                       struct wanted *wanted)
{
    bool is_handled;

    if (request->start)
        return SHERD_EINVAL;
    if (!node_region_receiver(node, request->region, &wanted->message,
                              &wanted->receiver, &is_handled))
        return SHERD_ENOTYPE;
    wanted->id = wanted->message.id;
    if (is_handled)
        return 0;
    wanted->way = CLIENT_REGION;
    wanted->message.msg = request->msg;
    wanted->message.body = request->body;
    return 0;
}

static int find_entity(const struct node *node, const struct sherd_request *request,
                       struct wanted *wanted)
{
    if (!entity_ref_is_valid(request->entity))
        return SHERD_EINVAL;
    if (!node_entity_receiver(node, request->entity, &wanted->receiver))
        return SHERD_ENOTYPE;
    wanted->id = request->entity->id;
    if (!request->start)
        return 0;
    wanted->way = CLIENT_START;
    wanted->message.body = (struct sherd_bytes){ NULL, 0 };
    return 0;
}

/* Finds the receiver, or returns why the request cannot be made. */
static int find(const struct sherd_client *client,
                const struct sherd_request *request, struct wanted *wanted)
{
    const struct node *node;
    int result = 0;

    if (!client || !request)
        return SHERD_EINVAL;
    if (fork_watch_is_child(client->mark) || !client->system ||
        system_state_of(client->system) != SYSTEM_RUNNING)
        return SHERD_ESTATE;
    node = client->system->node;
    *wanted = (struct wanted){ .message = { .msg = request->msg,
                                            .body = request->body } };
    if (request->region)
        result = find_region(node, request, wanted);
    else if (request->entity)
        result = find_entity(node, request, wanted);
    else if (!request->actor.node || request->start)
        return SHERD_EINVAL;
    else
        wanted->receiver = node_actor_receiver(node, request->actor);
    if (result)
        return result;
    return node_takes_body(node, &wanted->receiver, request->actor,
                           wanted->message.body.size)
               ? 0
               : SHERD_EINVAL;
}

static struct client_request *make(const struct sherd_request *request,
                                   const struct wanted *wanted)
{
    return client_request_new(&(struct client_message){
        .type = wanted->receiver.type,
        .id = wanted->id,
        .to = request->actor,
        .msg = wanted->message.msg,
        .body = wanted->message.body,
        .way = wanted->way,
        .may_fail = request->or_fail != 0,
        .user = request->user,
    });
}

int sherd_client_ask(struct sherd_client *client,
                     const struct sherd_request *request, uint64_t *id)
{
    struct wanted wanted;
    int result = find(client, request, &wanted);
    struct client_request *made;
    uint64_t own;

    if (result != 0)
        return result;
    if (atomic_fetch_add(&client->open, 1) >= client->options.requests_max) {
        (void)atomic_fetch_sub(&client->open, 1);
        (void)atomic_fetch_add(&client->refused, 1);
        return SHERD_EFULL;
    }
    made = make(request, &wanted);
    result = port_ask(&client->ports[wanted.receiver.lane]->port, made,
                      uv_hrtime() / MS, request->timeout_ms, id ? id : &own);
    if (result != 0) {
        (void)atomic_fetch_sub(&client->open, 1);
        mem_free(made);
    }
    return result;
}

int sherd_client_tell(struct sherd_client *client,
                      const struct sherd_request *request)
{
    struct wanted wanted;
    int result = find(client, request, &wanted);
    struct client_request *made;

    if (result != 0)
        return result;
    made = make(request, &wanted);
    result = port_tell(&client->ports[wanted.receiver.lane]->port, made);
    if (result != 0)
        mem_free(made);
    return result;
}

int sherd_client_cancel(struct sherd_client *client, uint64_t id)
{
    uint64_t port = (id >> 56) - 1;

    if (!client || fork_watch_is_child(client->mark))
        return SHERD_ESTATE;
    return port < client->port_count &&
                   port_cancel(&client->ports[port]->port, id)
               ? 0
               : SHERD_ESTATE;
}

/* ---- numbers ---- */

void sherd_client_counts(struct sherd_client *client,
                         struct sherd_client_counts *counts)
{
    memset(counts, 0, sizeof *counts);
    if (!client || fork_watch_is_child(client->mark))
        return;
    counts->refused = atomic_load(&client->refused);
    counts->open = atomic_load(&client->open);
    for (uint32_t i = 0; i < client->port_count; i++) {
        struct port_counts one = port_counts(&client->ports[i]->port);

        counts->asked += one.asked;
        counts->told += one.told;
        counts->refused += one.refused;
        counts->tells_dropped += one.tells_dropped;
        for (uint32_t k = 0; k < SHERD_CLIENT_STATUS_COUNT; k++)
            counts->ended[k] += one.ended[k];
    }
}
