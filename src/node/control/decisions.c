/* Keeps this node's decisions for looks: changes of members, coordinators, shards. Those of shards are
 * apart, because there are many at once. */
#include "node/control/decisions.h"

#include "base/limits.h"
#include "look/timeline.h"
#include "node/control/control.h"

static void put(struct control *control, struct timeline *timeline, struct timeline_event *decision)
{
    decision->wall_ms = (uint64_t)control->machine->wall_ms;
    timeline_put(timeline, control->machine->settings->timeline_max, &control->decisions,
                 decision);
}

void decided_member(struct control *control, const struct member_news *news)
{
    struct timeline_event decision = { .event = member_news_text(news->kind), .member = news->node };

    if (news->kind == MEMBER_NEWS_MEMBER && news->view)
        decision.text = member_status_text(news->view->status);
    else if (news->kind == MEMBER_NEWS_REMOVED)
        decision.text = member_status_text(news->previous);
    put(control, &control->timeline, &decision);
}

void decided(struct control *control, const char *event, const struct node_id *member)
{
    struct timeline_event decision = { .event = event };

    if (member)
        decision.member = *member;
    put(control, &control->timeline, &decision);
}

void control_lane_stalled(struct control *control, uint32_t lane, uint64_t since)
{
    if (!control->stalled[lane] != !since)
        decided(control, since ? "lane stalled" : "lane goes on", NULL);
    control->stalled[lane] = since;
}

void decided_type(struct control *control, uint32_t type, const char *event)
{
    struct timeline_event decision = { .event = event,
                                 .type = control->machine->node->names[type].name };

    put(control, &control->timeline, &decision);
}

void decided_shard(struct control *control, uint32_t type, int32_t shard, const char *event,
                   const char *text)
{
    struct timeline_event decision = { .event = event,
                                 .text = text,
                                 .type = control->machine->node->names[type].name };
    char number[SHARD_TEXT_MAX];
    struct slice name = shard_name(shard_names_of(control, type), shard, number);
    size_t size = name.size < sizeof decision.shard ? name.size : sizeof decision.shard - 1;

    bytes_copy((uint8_t *)decision.shard, name.data, size);
    put(control, &control->shard_timeline, &decision);
}

/* The later of the two rings' decisions at these indexes; null: both have ended. */
static const struct timeline_event *later(const struct control *control, uint32_t at[2])
{
    const struct timeline_event *one = timeline_at(&control->timeline, at[0]);
    const struct timeline_event *other = timeline_at(&control->shard_timeline, at[1]);

    if (one && (!other || one->number > other->number)) {
        at[0]++;
        return one;
    }
    at[1] += other != NULL;
    return other;
}

static void put_row(struct look_rows *rows, const struct timeline_event *decision)
{
    char text[ADDRESS_TEXT_MAX];

    look_row_begin(rows);
    look_put(rows, LOOK_TIMELINE_TIME, decision->wall_ms);
    look_put(rows, LOOK_TIMELINE_NUMBER, decision->number);
    look_put_text(rows, LOOK_TIMELINE_EVENT, decision->event);
    look_put_text(rows, LOOK_TIMELINE_TYPE, decision->type);
    look_put_text(rows, LOOK_TIMELINE_SHARD, decision->shard);
    if (decision->member.uid)
        look_put_text(rows, LOOK_TIMELINE_MEMBER,
                      address_text(&decision->member.address, text, sizeof text));
    look_put_text(rows, LOOK_TIMELINE_TEXT, decision->text);
    look_row_end(rows);
}

void decisions_rows(const struct control *control, const struct look_request *request,
                    struct look_rows *rows)
{
    const struct timeline_event *decision;
    uint32_t at[2] = { 0, 0 };

    while (rows->count < request->limit && rows->count < LOOK_TOP_MAX &&
           (decision = later(control, at)) && decision->wall_ms >= request->since_ms) {
        if (request->type.size && !(decision->type && slice_is(request->type, decision->type)))
            continue;
        if (request->shard.size && !slice_is(request->shard, decision->shard))
            continue;
        put_row(rows, decision);
    }
}

void decisions_fini(struct control *control)
{
    timeline_fini(&control->timeline);
    timeline_fini(&control->shard_timeline);
}
