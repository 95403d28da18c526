/* Declares what the two sides of a port call in each other. Private to src/client. */
#ifndef SHERD_CLIENT_PORT_INSIDE_H
#define SHERD_CLIENT_PORT_INSIDE_H

#include "client/port.h"

void port_lock(struct port *port);
void port_unlock(struct port *port);

/* The rest is called with the port locked. */

/* The slot of an open ask by the lower half of its id; null: it has ended. */
struct port_slot *port_slot_of(struct port *port, uint32_t tag);
/* Ends an open ask. msg: the message that ended the actor's ask; null: that ask is still open, if it
 * was made. */
void port_complete(struct port *port, struct port_slot *slot,
                   enum sherd_client_status status, const struct sherd_msg *msg);
/* Takes a request out of the list of waiting ones; it becomes the caller's, or its slot's. */
void port_unwait(struct port *port, struct client_request *request);
/* Calls a function with each ask of the actor that is to be dropped, and frees their slots. */
void port_lost_end(struct port *port, void (*drop)(void *user, uint64_t ask),
                   void *user);

#endif
