/* Sees that this node and the other members have one journal.
 *
 * Nodes tell each other the identity of their store when their association is up. A node that finds
 * another store at an older member of its data center leaves; so does one whose claims do not find
 * the coordinator's proof. Entities of two stores would lose each other's events. */
#include "node/control/control.h"

#include "artery/extension.h"
#include "base/limits.h"
#include "base/mark.h"
#include "journal/backend.h"

static const char *own_center(const struct control *control)
{
    const char *center = control->machine->settings->data_center;

    return center ? center : "default";
}

void control_store_tell(struct control *control, const struct node_id *peer)
{
    struct machine *machine = control->machine;
    const char *center = own_center(control);
    const char *store = machine->settings->store_id;
    struct buf payload = { 0 };
    struct outbound message = {
        .to = *peer,
        .manifest = slice_text(MANIFEST_STORE),
        .serializer = SERIALIZER_SHERD,
        .stream = STREAM_CONTROL,
    };

    if (!store)
        return;
    buf_put_u8(&payload, (uint8_t)strlen(center));
    buf_put_text(&payload, center);
    buf_put_text(&payload, store);
    message.payload = buf_slice(&payload);
    outbox_put(&machine->outbox, &message);
    buf_fini(&payload);
}

bool control_is_store(const struct inbound *inbound)
{
    return inbound->serializer == SERIALIZER_SHERD && !inbound->recipient.size &&
           slice_is(inbound->manifest, MANIFEST_STORE);
}

/* True if the text is one that a node may send as its store's identity. */
static bool is_identity(struct slice text)
{
    for (size_t i = 0; i < text.size; i++)
        if (!strchr("0123456789abcdef-", text.data[i]) || !text.data[i])
            return false;
    return text.size > 0 && text.size < STORE_ID_MAX;
}

/* The oldest entry makes room: many are seen only while many nodes are wrong. */
static void remember(struct control *control, const struct node_id *node)
{
    for (uint32_t i = 0; i < control->other_stores.count; i++)
        if (node_equal(&control->other_stores.items[i], node))
            return;
    if (control->other_stores.count == OTHER_STORES_MAX)
        vec_remove(&control->other_stores, 0);
    vec_push(&control->other_stores, *node);
}

void control_store_heard(struct control *control, const struct inbound *inbound)
{
    struct machine *machine = control->machine;
    const struct node_settings *settings = machine->settings;
    struct cursor cursor = cursor_of(inbound->payload);
    struct slice center = cursor_slice(&cursor, cursor_u8(&cursor));
    struct slice store = cursor_slice(&cursor, cursor_left(&cursor));
    char text[ADDRESS_TEXT_MAX];

    if (cursor.failed || !is_identity(store)) {
        control->unknown++;
        return;
    }
    if (!settings->store_id || !slice_is(center, own_center(control)) ||
        slice_is(store, settings->store_id))
        return;
    REACHED("a node tells the identity of another store");
    remember(control, &inbound->from);
    turn_members_changed(&control->turn); /* compares with the members once events are wired */
    trace_put(machine->trace, TRACE_ERROR, "journal",
              "this node's journal is not that of another node journal=\"%s\" "
              "store=%s peer=%s peer_store=%.*s hint=\"give all nodes of a "
              "data center one journal\"",
              settings->store_name ? settings->store_name : "",
              settings->store_id,
              address_text(&inbound->from.address, text, sizeof text),
              (int)store.size, (const char *)store.data);
}

void control_check_stores(struct control *control)
{
    const struct member_view *self = member_self(control->member);

    if (!control->other_stores.count || !self ||
        control->shutdown != SHUTDOWN_NOT)
        return;
    for (uint32_t i = 0; i < control->other_stores.count; i++) {
        const struct member_view *view =
            member_find(control->member, &control->other_stores.items[i]);

        if (view && control_is_younger(self, view)) {
            REACHED("a younger node stops: a member has another store");
            control_give_way(control);
            return;
        }
    }
}

void control_other_store(struct control *control, uint32_t type)
{
    struct machine *machine = control->machine;
    const struct node_id *coordinator =
        region_coordinator(control->types[type].region);
    const struct member_view *self = member_self(control->member);
    char text[ADDRESS_TEXT_MAX];

    if (control->refusal)
        return;
    trace_put(machine->trace, TRACE_ERROR, "journal",
              "this node's journal is not the coordinator's: no entity starts "
              "here, and the node leaves type=%s journal=\"%s\" store=%s "
              "coordinator=%s hint=\"give all nodes one journal; a copy of its "
              "file is another journal\"",
              machine->node->names[type].name,
              machine->settings->store_name ? machine->settings->store_name
                                            : "",
              machine->settings->store_id ? machine->settings->store_id : "",
              coordinator ? address_text(&coordinator->address, text,
                                         sizeof text)
                          : "unknown");
    if (self && control->shutdown == SHUTDOWN_NOT) {
        REACHED("a node stops: its store lacks the coordinator's proof");
        control_give_way(control);
    }
}
