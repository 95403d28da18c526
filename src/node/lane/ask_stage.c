/* Reports to an asker's lane where its message waits, so that a time-out can name it: on this lane,
 * another lane (mail), or another node (serializer 7300, manifest "S"). Each stage of a message at
 * most once; nothing depends on a report. */
#include "node/lane/lane.h"

#include "artery/extension.h"
#include "base/bound.h"
#include "base/limits.h"

static bool is_here(const struct lane *lane, struct sherd_ref ref)
{
    return ref.node == lane->machine->self->node.uid &&
           actor_id_lane(ref.actor) == lane->own;
}

static void report_remote(struct lane *lane, struct sherd_ref asker,
                          uint64_t ask, enum sherd_stage stage)
{
    struct peer_links *links = &lane->machine->links;
    struct peer *peer = peers_uid(&lane->machine->peers, asker.node);
    uint8_t payload = (uint8_t)stage;
    char recipient[64];
    struct outbound outbound = { .stream = STREAM_ORDINARY,
                                 .serializer = SERIALIZER_SHERD,
                                 .manifest = slice_text(MANIFEST_STAGE),
                                 .payload = slice_of(&payload, 1) };

    if (!peer || peer->gone ||
        !(peer->capabilities & CAPABILITY_SHERD))
        return;
    outbound.to = peer_node(peer);
    outbound.recipient =
        slice_of(recipient, name_path(recipient, asker.actor, ask));
    (void)link_send(peer_link(links, peer, STREAM_ORDINARY),
                    lane->machine->now,
                    peer->tables, &outbound); /* refused: the report is lost */
    peer_touched(links, peer, STREAM_ORDINARY);
}

/* Reports to the lane of this node that asked. reporter: the node where the message waits. */
static void report_lane(struct lane *lane, uint64_t actor, uint64_t ask,
                        enum sherd_stage stage, uint64_t reporter)
{
    struct mail_stage report = { ask, reporter, stage };
    struct mail_content content;
    uint32_t to = actor_id_lane(actor);

    if (to == lane->own) {
        lane_ask_stage_read(lane, &report);
    } else if (to < lane->machine->settings->lanes) {
        content = mail_from(lane->own, mail_stage_new(report));
        outputs_post(&lane->machine->outputs, to + 1, &content);
    }
}

static void report(struct lane *lane, struct sherd_ref asker, uint64_t ask,
                   enum sherd_stage stage)
{
    uint64_t self = lane->machine->self->node.uid;

    if (asker.node == self)
        report_lane(lane, asker.actor, ask, stage, self);
    else
        report_remote(lane, asker, ask, stage);
}

void lane_ask_stage(struct lane *lane, struct message *message,
                enum sherd_stage stage)
{
    if (!message->ask || message->kind != MESSAGE_TELL ||
        ref_is_nobody(message->sender))
        return;
    if (is_here(lane, message->sender)) {
        actors_ask_stage(lane->actors, message->ask, stage, 0);
        return;
    }
    if (message->stage == stage)
        return;
    message->stage = (uint8_t)stage;
    report(lane, message->sender, message->ask, stage);
}

void lane_ask_stage_homeless(struct lane *lane, const struct lane_type *type)
{
    enum sherd_stage stage = type->coordinator_known
                                 ? SHERD_STAGE_HOME_UNKNOWN
                                 : SHERD_STAGE_NO_COORDINATOR;
    int32_t count = (int32_t)type->routes.shard_count;

    if (!type->budget.count)
        return;
    for (int32_t shard = 1 - count; shard < count; shard++)
        for (const struct pending_item *held = routes_homeless(&type->routes, shard);
             held; held = held->next)
            lane_ask_stage(lane, ((const struct waiting *)held)->message, stage);
}

uint16_t lane_peer_name(struct lane *lane, struct peer *peer)
{
    char text[ADDRESS_TEXT_MAX];

    if (!peer->name)
        peer->name = actors_peer(
            lane->actors, peer->uid,
            kept_address_text(peer->address, text, sizeof text));
    return peer->name;
}

void lane_ask_stage_read(struct lane *lane, const struct mail_stage *report)
{
    struct peer *peer =
        report->uid == lane->machine->self->node.uid
            ? NULL
            : peers_uid(&lane->machine->peers, report->uid);
    enum sherd_stage stage = report->stage;

    /* No report tells that a recovery has ended, so the asker cannot know it at its time-out. */
    if (stage == SHERD_STAGE_RECOVERING)
        stage = SHERD_STAGE_SENT;
    actors_ask_stage(lane->actors, report->ask, stage,
                     peer ? lane_peer_name(lane, peer) : 0);
}

bool lane_ask_stage_frame(struct lane *lane, uint64_t actor, uint64_t ask,
                      const struct envelope *envelope)
{
    if (!ask || envelope->payload.size != 1 ||
        envelope->payload.data[0] >= SHERD_STAGE_COUNT)
        return false;
    report_lane(lane, actor, ask, (enum sherd_stage)envelope->payload.data[0],
                envelope->origin);
    return true;
}

/* ---- asks that wait in mailboxes ---- */

void lane_ask_stage_watch(struct lane *lane, const struct message *message)
{
    struct asked asked = { .at = lane->machine->now,
                           .hash = message->entity.hash,
                           .sender = message->sender,
                           .ask = message->ask,
                           .type = message->type };

    if (ref_is_nobody(message->sender) || is_here(lane, message->sender))
        return;
    if (lane->asked_head == lane->asked.count)
        lane->asked_head = lane->asked.count = 0;
    if (lane->asked.count >= STAGES_MAX) {
        lane->asked_refused++;
        return;
    }
    vec_push(&lane->asked, asked);
    BOUNDED("asks from elsewhere", lane->asked.count, STAGES_MAX);
}

/* Tells whether the asker gets a report of the stage. "Delivered" is reported within the node only.
 * Another node knows "sent", which says nearly as much, and each slow answer would cost a frame.
 * "Recovering" is reported everywhere: the asker counts it as sent, which ends an earlier stage
 * such as an unknown home. */
static bool is_worth(const struct lane *lane, const struct asked *asked,
                     enum sherd_stage stage)
{
    return stage != SHERD_STAGE_NONE &&
           (stage != SHERD_STAGE_DELIVERED ||
            asked->sender.node == lane->machine->self->node.uid);
}

void lane_ask_stages_step(struct lane *lane)
{
    while (lane_ask_stages_deadline(lane) <= lane->machine->now) {
        const struct asked *asked = &lane->asked.items[lane->asked_head++];
        enum sherd_stage stage = actors_asked_stage(
            lane->actors, asked->type, asked->hash, asked->sender, asked->ask);

        if (is_worth(lane, asked, stage))
            report(lane, asked->sender, asked->ask, stage);
    }
}

uint64_t lane_ask_stages_deadline(const struct lane *lane)
{
    return lane->asked_head == lane->asked.count
               ? NEVER
               : lane->asked.items[lane->asked_head].at + STAGE_WAIT_NS;
}
