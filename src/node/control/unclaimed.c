/* Counts messages that no part of this node takes: those of JVM nodes for services that are not here,
 * by service, and those to actors that do not exist. */
#include "node/control/control.h"

#include "artery/extension.h"
#include "ddata/replicator.h"
#include "shard/wire.h"
#include "singleton/singleton.h"

#define PUBSUB_SERIALIZER 9
#define METRICS_SERIALIZER 10
#define CLIENT_SERIALIZER 15

/* Akka's serializer of each service; the path may be the user's. */
static const struct service {
    int32_t serializer;
    enum sherd_counter counter;
} services[] = {
    { PUBSUB_SERIALIZER, SHERD_PUBSUB_IGNORED },
    { METRICS_SERIALIZER, SHERD_METRICS_IGNORED },
    { CLIENT_SERIALIZER, SHERD_CLIENTS_IGNORED },
    { SINGLETON_SERIALIZER, SHERD_SINGLETONS_IGNORED },
    { SHARDING_SERIALIZER, SHERD_SHARDING_IGNORED },
    { REPLICATOR_SERIALIZER, SHERD_REPLICATORS_IGNORED },
};

#define SERVICE_COUNT (sizeof services / sizeof *services)

_Static_assert(SERVICE_COUNT <= CONTROL_SERVICES, "room for each service");

void control_unclaimed_status(const struct control *control, uint64_t *counters)
{
    for (size_t i = 0; i < SERVICE_COUNT; i++)
        counters[services[i].counter] += control->ignored[i];
    counters[SHERD_SHARDING_IGNORED] += control->queries.refused;
}

/* The oldest member has the singletons and coordinators of a JVM's roles, and this node runs none of
 * them. So the JVM waits until this node leaves. A Sherd node gets no warning: what it looks for opens
 * when this node registers it, and its own region warns if that takes long. */
static void warn_asked_over(struct control *control,
                            const struct inbound *inbound)
{
    const struct peer *peer = peers_uid(&control->machine->peers, inbound->from.uid);
    char text[ADDRESS_TEXT_MAX];

    if (control->is_asked_over || (peer && peer->capabilities))
        return;
    control->is_asked_over = true;
    trace_put(control->machine->trace, TRACE_WARNING, "node",
              "a JVM member looks for a singleton or a coordinator on this "
              "node, which has none, because this node is the oldest member "
              "from=%s path=%.*s hint=\"give the JVM's singletons and "
              "sharding a role that this node does not have\"",
              address_text(&inbound->from.address, text, sizeof text),
              (int)inbound->recipient.size,
              (const char *)inbound->recipient.data);
}

#define SINGLETON "/singleton" /* a manager's child, to which proxies send */

void control_unidentified(struct control *control, const struct inbound *inbound)
{
    struct slice path = inbound->recipient;
    size_t size = sizeof SINGLETON - 1;

    if (path.size > size &&
        !memcmp(path.data + path.size - size, SINGLETON, size))
        warn_asked_over(control, inbound);
}

void control_unclaimed(struct control *control, const struct inbound *inbound)
{
    struct machine *machine = control->machine;
    enum sherd_reason reason = inbound->is_selected
                                   ? SHERD_REASON_NO_MATCH
                                   : SHERD_REASON_NO_SUCH_ACTOR;
    uint32_t number;

    for (size_t i = 0; i < SERVICE_COUNT; i++) {
        if (services[i].serializer != inbound->serializer)
            continue;
        control->ignored[i]++;
        if (inbound->serializer == SINGLETON_SERIALIZER ||
            inbound->serializer == SHARDING_SERIALIZER)
            warn_asked_over(control, inbound);
        return;
    }
    if (inbound->serializer == SERIALIZER_SHERD &&
        !message_manifest_read(inbound->manifest, &number)) {
        control->unknown++;
        machine_message_ended(machine, SHERD_REASON_NO_HANDLER,
                              inbound->serializer, inbound->manifest,
                              inbound->payload);
        return;
    }
    machine->undelivered[reason]++;
    machine_frame_ended(machine, reason, inbound->payload);
}
