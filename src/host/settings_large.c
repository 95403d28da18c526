/* Reads remote.artery.large-message-destinations and the limits of the stream of large messages. */
#include "host/settings.h"

#include "base/limits.h"
#include "node/machine/large.h"

#define DESTINATIONS "remote.artery.large-message-destinations"
#define FRAME "remote.artery.advanced.maximum-large-frame-size"
#define QUEUE "remote.artery.advanced.outbound-large-message-queue-size"

int settings_read_large(struct settings *settings, char *error, size_t size)
{
    const struct config *config = settings->config;
    struct node_settings *node = &settings->node;
    uint32_t count = config_list(config, DESTINATIONS);
    uint64_t frame = config_size(config, FRAME);

    if (count > LARGE_DESTINATIONS_MAX)
        return settings_refuse(settings, error, size, DESTINATIONS,
                               "has %u entries; at most %d are allowed",
                               (unsigned)count, LARGE_DESTINATIONS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        const char *entry = config_list_at(config, DESTINATIONS, i);

        if (!large_entry_good(entry))
            return settings_refuse(
                settings, error, size, DESTINATIONS,
                "has \"%s\", which is not a path: \"/user/name\", with \"*\" "
                "for an element or at an element's end, or \"**\" as the last "
                "one",
                entry);
        vec_push(&settings->large_destinations, entry);
    }
    if (frame < FRAME_LARGE_SIZE_MIN || frame > FRAME_LARGE_SIZE_MAX)
        return settings_refuse(settings, error, size, FRAME,
                               "must be from %d to %d bytes",
                               FRAME_LARGE_SIZE_MIN, FRAME_LARGE_SIZE_MAX);
    node->large_destinations = settings->large_destinations.items;
    node->large_destination_count = count;
    node->large_frame_size = (uint32_t)frame;
    node->outbound_large_queue = (uint32_t)config_int(config, QUEUE);
    return 0;
}
