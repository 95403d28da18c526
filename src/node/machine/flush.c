/* Sends the messages of a machine's cores to other nodes and to the machine itself. */
#include "node/machine/machine.h"

#define OUTBOX_KEPT_MAX 4096 /* bytes: a gossip is larger */
#define OUTBOX_ITEMS_KEPT_MAX 16

void machine_flush_outbox(struct machine *machine,
                          void (*own)(struct machine *,
                                      const struct outbound *))
{
    struct outbound message;

    while (machine->outbox.count) {
        /* Answers go into a new outbox: this one's texts must not move. */
        struct outbox taken = machine->outbox;

        machine->outbox = (struct outbox){ 0 };
        peer_links_fetch_outbox(&machine->links, &taken);
        while (outbox_next(&taken, &message)) {
            if (address_equal(&message.to.address,
                              &machine->self->node.address))
                own(machine, &message);
            else
                peer_links_send(&machine->links, &message);
        }
        if (machine->outbox.capacity ||
            taken.bytes.capacity > OUTBOX_KEPT_MAX ||
            taken.capacity > OUTBOX_ITEMS_KEPT_MAX)
            outbox_fini(&taken);
        else
            machine->outbox = taken;
    }
}
