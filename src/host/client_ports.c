/* Keeps a system's list of clients' ports with an actor, and tells them what becomes of the node. */
#define _GNU_SOURCE
#include "base/check.h"
#include "host/client.h"

void client_port_drop(struct client_port *port)
{
    if (atomic_fetch_sub(&port->holders, 1) > 1)
        return;
    port_fini(&port->port);
    uv_mutex_destroy(&port->mutex);
    mem_free(port);
}

void client_port_add(struct client_port *port)
{
    struct sherd_system *system = port->system;

    port->next = system->client_ports;
    if (port->next)
        port->next->prev = port;
    system->client_ports = port;
}

void client_port_gone(struct port *port)
{
    struct client_port *own = (struct client_port *)port;
    struct sherd_system *system = own->system;

    uv_mutex_lock(&system->mutex);
    if (own->prev)
        own->prev->next = own->next;
    else
        system->client_ports = own->next;
    if (own->next)
        own->next->prev = own->prev;
    uv_mutex_unlock(&system->mutex);
    client_port_drop(own);
}

/* ---- news of the system ---- */

void clients_up(struct sherd_system *system, bool is_up)
{
    uv_mutex_lock(&system->mutex);
    system->is_up = is_up;
    for (struct client_port *port = system->client_ports; port; port = port->next)
        port_up(&port->port, is_up);
    uv_mutex_unlock(&system->mutex);
}

void clients_end(struct sherd_system *system)
{
    uv_mutex_lock(&system->mutex);
    for (struct client_port *port = system->client_ports; port; port = port->next)
        port_end(&port->port, SHERD_ESTATE, SHERD_CLIENT_SHUTTING_DOWN);
    uv_mutex_unlock(&system->mutex);
}

void clients_detach(struct sherd_system *system)
{
    while (system->client_ports) /* their actors have not read their start */
        client_port_gone(&system->client_ports->port);
    uv_mutex_lock(&system->mutex);
    for (struct sherd_client *client = system->clients; client; client = client->next)
        client->system = NULL;
    system->clients = NULL;
    uv_mutex_unlock(&system->mutex);
}
