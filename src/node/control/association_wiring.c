/* Connects the news of associations with control's other cores and with the lanes. */
#include "node/control/control.h"

#include "artery/extension.h"
#include "node/control/control_calls.h"
#include "node/peers/actor_path.h"

#define STRANGERS_LOG_TIME (10 * SECOND)

static void association_up(struct control *control,
                           const struct association_news *news)
{
    struct machine *machine = control->machine;
    const struct member_view *view;
    struct handshake handshake;
    enum stream stream;
    struct mail_content content =
        MAIL(peer, .capabilities = news->capabilities, .order = news->order,
             .lanes = news->lanes, .is_verdict = news->is_verdict,
             .own = { mail_node(&news->peer) });

    outputs_post_lanes(&machine->outputs, &content);
    if (news->is_verdict)
        return; /* it is known already */
    while (machine_next_claim(machine, &news->peer, &handshake, &stream))
        (void)associations_handshake(control->associations, machine->now,
                                     stream, &handshake, &machine->outbox);
    if (news->capabilities & CAPABILITY_STORE)
        control_store_tell(control, &news->peer);
    if (news->capabilities)
        return;
    control->has_jvm_peer = true;
    view = member_find(control->member, &news->peer);
    if (!view)
        return; /* the cores look at members only; a flood of strangers costs no walk */
    control_check_jvm_peer(control);
    for (uint32_t i = 0; i < control->type_count; i++)
        control_tell_region(control, view, i);
    for (uint32_t i = 0; i < control->type_count; i++)
        if (control->types[i].coordinator) {
            turn_stir(&control->turn);
            coordinator_peer_jvm(control->types[i].coordinator,
                                     machine->now, &news->peer,
                                     &machine->outbox);
        }
}

static void peer_table(struct control *control,
                       const struct association_news *news)
{
    struct machine *machine = control->machine;

    peer_links_table(&machine->links, &news->peer, news->table, news->payload);
    for (uint32_t i = 1; i < machine->node->machine_count; i++) {
        struct buf *payload = mem_alloc(sizeof *payload);
        struct mail_content content =
            MAIL(table, .kind = news->table,
                 .own = { mail_node(&news->peer), payload });

        buf_put_slice(payload, news->payload);
        outputs_post(&machine->outputs, i, &content);
    }
}

/* Whether control answers: the path names no lane's actor. A path of the node itself lives as long
 * as the node; a path that does not exist has ended. */
static bool watch_ends_here(struct control *control,
                            const struct association_news *news)
{
    struct machine *machine = control->machine;
    struct address address;
    struct slice path;

    if (!ref_parse(machine->self, news->watchee, &address, &path))
        return true;
    if (control_actor_at(control, path))
        return false;
    if (!control_identified(control, path_plain(path)).size)
        associations_terminated(control->associations, machine->now,
                                &news->peer, news->watchee, news->watcher,
                                false, false, &machine->outbox);
    return true;
}

/* Each lane sees by the ref whether the actor is its own. */
static void remote_watch(struct control *control,
                         const struct association_news *news,
                         enum watch_verb verb)
{
    if (verb == WATCH_START && watch_ends_here(control, news))
        return;
    for (uint32_t i = 1; i < control->machine->node->machine_count; i++) {
        struct watching *watching = mem_alloc(sizeof *watching);
        struct mail_content content =
            MAIL(watched, .verb = verb, .own = { watching });

        watching->peer = news->peer;
        buf_put_slice(&watching->watchee_text, news->watchee);
        buf_put_slice(&watching->watcher_text, news->watcher);
        outputs_post(&control->machine->outputs, i, &content);
    }
}

/* An answer that names a link is for that link alone, because links are answered again and
 * again. */
static void answered(struct machine *machine,
                     const struct association_news *news)
{
    struct mail_content content;

    if (news->generation &&
        (!news->lane || news->lane >= machine->node->machine_count))
        return;
    content = MAIL(answered, .lane = news->lane, .generation = news->generation,
                   .own = { mail_node(&news->peer) });
    if (news->generation)
        outputs_post(&machine->outputs, news->lane, &content);
    else
        outputs_post_lanes(&machine->outputs, &content);
}

static void joiner_answered(struct control *control,
                            const struct node_id *node)
{
    struct machine *machine = control->machine;

    if (!member_awaits_answer(control->member, node))
        return;
    control_tell_changes(control);
    member_answered(control->member, machine->now, (uint64_t)machine->wall_ms,
                    node, &machine->outbox);
}

/* Logs once in a while, as a flood causes thousands a second. */
static void stranger_forgotten(struct control *control,
                               const struct association_news *news)
{
    struct machine *machine = control->machine;
    char text[ADDRESS_TEXT_MAX];
    struct mail_content content =
        MAIL(stranger, .has_watches = news->has_watches,
             .own = { mail_node(&news->peer) });

    outputs_post_lanes(&machine->outputs, &content);
    control->strangers_unlogged++;
    if (machine->now < control->strangers_logged_at)
        return;
    trace_put(machine->trace, TRACE_WARNING, "node",
              "too many nodes that do not answer, the oldest are forgotten "
              "count=%llu limit=%u latest=%s "
              "hint=\"check what connects to this port, and whether this node "
              "can connect there\"",
              (unsigned long long)control->strangers_unlogged,
              machine->peers.options.strangers_max,
              address_text(&news->peer.address, text, sizeof text));
    control->strangers_unlogged = 0;
    control->strangers_logged_at = machine->now + STRANGERS_LOG_TIME;
}

void control_peer_forgotten(struct control *control, const struct peer *peer)
{
    associations_forget(control->associations, peer);
}

void control_wire_associations(struct control *control)
{
    struct machine *machine = control->machine;
    struct association_news news;

    while (associations_next_news(control->associations, &news)) {
        switch (news.kind) {
        case ASSOCIATION_UP:
            association_up(control, &news);
            break;
        case ASSOCIATION_ANSWERED:
            peer_links_answered(&machine->links, &news.peer, news.lane,
                                news.generation);
            answered(machine, &news);
            joiner_answered(control, &news.peer);
            break;
        case ASSOCIATION_QUARANTINED_US:
            member_refused(control->member, machine->now, &news.peer);
            break;
        case ASSOCIATION_FAILED:
            control_tell_changes(control);
            member_quarantined(control->member, machine->now, &news.peer);
            break;
        case ASSOCIATION_TABLE:
            peer_table(control, &news);
            break;
        case ASSOCIATION_CLAIMED:
            peer_links_verify(&machine->links, &news.peer);
            break;
        case ASSOCIATION_FORGOTTEN:
            stranger_forgotten(control, &news);
            break;
        case ASSOCIATION_WATCH:
            remote_watch(control, &news, WATCH_START);
            break;
        case ASSOCIATION_UNWATCH:
            remote_watch(control, &news, WATCH_STOP);
            break;
        case ASSOCIATION_TERMINATED:
            remote_watch(control, &news, WATCH_TERMINATED);
            break;
        case ASSOCIATION_TERMINATING:
        case ASSOCIATION_FLUSHED:
            break; /* membership decides what follows */
        }
    }
}
