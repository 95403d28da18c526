/* Includes every public header of Sherd, cluster sharding for C. sherd/sim.h is
 * not among them, because it belongs to another library.
 *
 * Begin with sherd/system.h (a node) and sherd/actor.h (entities and actors).
 * docs/guide/README.md lists the guides. */
#ifndef SHERD_H
#define SHERD_H

#include <sherd/actor.h>
#include <sherd/allocation.h>
#include <sherd/client.h>
#include <sherd/cluster.h>
#include <sherd/daemon.h>
#include <sherd/ddata.h>
#include <sherd/entity_ref.h>
#include <sherd/delivery.h>
#include <sherd/error.h>
#include <sherd/extractor.h>
#include <sherd/inspect.h>
#include <sherd/job.h>
#include <sherd/look.h>
#include <sherd/operate.h>
#include <sherd/passivation.h>
#include <sherd/sharding.h>
#include <sherd/shutdown.h>
#include <sherd/singleton.h>
#include <sherd/store.h>
#include <sherd/system.h>

#endif
