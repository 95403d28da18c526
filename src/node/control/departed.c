/* Accepts frames of a departed member for quarantine-removed-node-after (docs/protocol/config.md),
 * because its last messages may be in flight. A new member at its address ends that. */
#include "node/control/control.h"

static void silence(struct control *control, uint32_t at)
{
    struct node_id node = control->departed.items[at].node;
    struct mail_content content = MAIL(over, .own = { mail_node(&node) });

    vec_remove(&control->departed, at);
    associations_quarantine(control->associations, &node);
    outputs_post_lanes(&control->machine->outputs, &content);
}

void control_departs(struct control *control, const struct node_id *node)
{
    uint64_t within = control->machine->settings->quarantine_removed_after;
    struct departed departed = {
        .node = *node,
        .until = control->machine->now + (within ? within : DEPARTED_MS * MS),
    };

    if (control->departed.count == DEPARTED_MAX)
        silence(control, 0);
    vec_push(&control->departed, departed);
}

void control_replaces_departed(struct control *control,
                             const struct node_id *node)
{
    for (uint32_t i = control->departed.count; i--;) {
        const struct node_id *departed = &control->departed.items[i].node;

        if (departed->uid != node->uid &&
            address_equal(&departed->address, &node->address))
            silence(control, i);
    }
}

void control_departed_step(struct control *control)
{
    while (control->departed.count &&
           control->departed.items[0].until <= control->machine->now)
        silence(control, 0);
}

uint64_t control_departed_deadline(const struct control *control)
{
    return control->departed.count ? control->departed.items[0].until : NEVER;
}
