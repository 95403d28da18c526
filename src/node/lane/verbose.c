/* Logs where each message to an entity goes (akka.cluster.sharding.verbose-debug-logging). */
#include "node/lane/lane.h"

#include "shard/shard_id.h"

void lane_say_sent(const struct lane *lane, const struct message *message, enum place place,
                   struct route route)
{
    static const char *const texts[] = {
        [PLACE_ENTITY] = "entity here",
        [PLACE_WAIT] = "waits for its shard to start here",
        [PLACE_HOLD] = "waits for the home of its shard",
        [PLACE_LANE] = "another lane",
        [PLACE_PEER] = "",
        [PLACE_INVALID] = "nowhere: no such shard",
    };
    const struct slice id = message_id(message);
    char shard[SHARD_TEXT_MAX];
    char address[ADDRESS_TEXT_MAX];
    const char *to = texts[place];

    if (place == PLACE_PEER)
        to = kept_address_text(lane->machine->peers.all.items[route.peer]->address, address,
                               sizeof address);
    trace_put(lane->machine->trace, TRACE_DEBUG, "region",
              "message routed to=\"%s\" msg=%u type=%s shard=%s id=%.*s", to,
              (unsigned)message->msg, lane->machine->node->names[message->type].name,
              shard_label(lane_shard_names(lane, message->type), message->entity.shard, shard),
              (int)id.size, (const char *)id.data);
}
