/* Counts the frames that a machine drops, and leaves their probes. */
#include "node/machine/machine.h"

#include "artery/extension.h"

void machine_frame_ended(struct machine *machine, enum sherd_reason reason,
                         struct slice frame)
{
    struct probe probe = { .kind = PROBE_FRAME_ENDED,
                           .type = PROBE_TYPE_NONE,
                           .reason = (uint8_t)reason,
                           .bytes = frame };

    probes_put(machine->probes, &probe);
}

void machine_message_ended(struct machine *machine, enum sherd_reason reason,
                           int32_t serializer, struct slice manifest,
                           struct slice frame)
{
    uint32_t number;

    machine->undelivered[reason] +=
        serializer == SERIALIZER_SHARDING_TYPED ||
        (serializer == SERIALIZER_SHERD &&
         message_manifest_read(manifest, &number));
    machine_frame_ended(machine, reason, frame);
}

void machine_envelope_ended(struct machine *machine, enum sherd_reason reason,
                            const struct envelope *envelope,
                            struct slice frame)
{
    machine_message_ended(machine, reason, envelope->serializer,
                          envelope->manifest, frame);
}
