/* Starts, opens, hands off and fences the shards that are here.
 *
 * In a hand-off each entity reads the messages it has before it stops. Later ones return to the
 * region in order. */
#include "actor/inside.h"

#include "base/limits.h"
#include "base/line.h"
#include "base/mark.h"

void actors_shard_start(struct actors *actors, uint16_t type, int32_t shard)
{
    struct type *known = &actors->types[type];
    struct row row = { .state = ROW_CLOSED, .type = type, .shard = shard };
    uint32_t index;

    check(type < actors->type_count && known->known);
    check(shard > -(int32_t)known->shards && shard < (int32_t)known->shards);
    entity_flush(actors);
    if (shard_row_find(actors, type, shard))
        return;
    if (!known->rows)
        known->rows = mem_alloc(2 * (size_t)known->shards * sizeof *known->rows);
    index = actors->rows.count;
    if (actors->rows_free) {
        for (index = 1; actors->rows.items[index].state != ROW_FREE;)
            index++;
        actors->rows.items[index] = row;
        actors->rows_free--;
    } else {
        vec_push(&actors->rows, row);
    }
    known->rows[shard + (int32_t)known->shards] = index;
    active_begin(actors, &actors->rows.items[index]);
}

void actors_shard_open(struct actors *actors, uint16_t type, int32_t shard,
                       bool open)
{
    uint32_t row = shard_row_find(actors, type, shard);
    struct row *here = &actors->rows.items[row];

    entity_flush(actors);
    if (row == 0 || here->state == ROW_STOPPING)
        return;
    here->state = open ? ROW_OPEN : ROW_CLOSED;
}

static void stop_one(struct actors *actors, uint32_t index, struct slot *slot)
{
    SOMETIMES("a shard stops while an entity recovers",
              slot->status == SLOT_RECOVERING);
    /* Messages after an older mark are handled here, too. */
    mailbox_unmark(actors, slot);
    if (slot->status == SLOT_RESTARTING) { /* has no messages */
        slot->generation++;
        entity_release(actors, index, slot);
        return;
    }
    mailbox_mark(actors, index, slot);
    if (slot->status == SLOT_BACKOFF) {
        REACHED("a shard stops while an entity waits to start");
        slot->generation++; /* it waits no longer */
        incarnation_start(actors, index, slot);
    }
}

void actors_shard_stop(struct actors *actors, uint16_t type, int32_t shard,
                       uint64_t deadline)
{
    uint32_t row = shard_row_find(actors, type, shard);
    struct row *here;

    check(!actors->ctx.slot);
    entity_flush(actors);
    if (row == 0)
        return;
    here = &actors->rows.items[row];
    if (here->state == ROW_STOPPING) {
        here->deadline = deadline < here->deadline ? deadline : here->deadline;
        return;
    }
    here->state = ROW_STOPPING;
    active_stop(actors, here);
    here->over = false;
    here->deadline = 0; /* not empty before the loop's end */
    actors->rows_stopping++;
    for (uint32_t i = here->slots.count; i-- > 0;) {
        uint32_t index = here->slots.items[i];

        stop_one(actors, index, slot_at(actors, index));
    }
    here->deadline = deadline ? deadline : 1;
    if (here->slots.count == 0)
        shard_row_empty(actors, row);
}

/* At the deadline: sends no stop message, but still waits for durability. */
static void force_end(struct actors *actors, uint32_t index, struct slot *slot)
{
    SOMETIMES("an entity ignores its stop", slot->status == SLOT_STOPPING);
    SOMETIMES("an entity recovers when its stop is forced",
              slot->status == SLOT_RECOVERING);
    if (slot->flags & FLAG_UNDURABLE) {
        REACHED("an entity's stop is forced while the journal writes its events");
        incarnation_request_end(actors, index, slot);
        return; /* incarnation_next sees that the deadline is over */
    }
    if (slot_has_incarnation(slot))
        incarnation_close(actors, index, slot, END_STOP_TIMEOUT);
    else
        slot->generation++;
    mailbox_hand_back(actors, slot);
    entity_release(actors, index, slot);
}

/* Why an actor has not stopped in time. */
enum late { LATE_START, LATE_JOURNAL, LATE_STOP, LATE_UNREAD, LATE_COUNT };

static const char *const late_texts[LATE_COUNT] = {
    [LATE_START] = "waits to start",
    [LATE_JOURNAL] = "the journal has not answered",
    [LATE_STOP] = "has not finished its stop",
    [LATE_UNREAD] = "has unread messages",
};

static enum late late_of(const struct slot *slot)
{
    if (slot->flags & FLAG_UNDURABLE)
        return LATE_JOURNAL;
    if (slot->status == SLOT_STOPPING)
        return LATE_STOP;
    return slot->status == SLOT_ALIVE ? LATE_UNREAD : LATE_START;
}

/* Names the first few, with their causes. */
static void name_late(const struct actors *actors, const struct slot *slot,
                      uint32_t *named)
{
    if ((*named)++ >= STOP_LATE_NAMED_MAX)
        return;
    slot_trace_why(actors, slot, "did not stop in time",
                   late_texts[late_of(slot)]);
}

/* counts: actors by cause. The hint is for the first cause that has actors. */
static void trace_late(const struct actors *actors, const char *text,
                       const uint32_t counts[LATE_COUNT])
{
    const char *hint =
        counts[LATE_STOP]
            ? "receive must return SHERD_STOP soon after the stop message"
        : counts[LATE_JOURNAL]
            ? "the journal is slow: check its database and disk"
            : "messages or starts were left: lower the load of this node";

    trace_put(actors->settings.trace, TRACE_WARNING, "actor", "%s hint=\"%s\"", text,
              hint);
}

static void force_row(struct actors *actors, uint32_t row)
{
    struct row *here = &actors->rows.items[row];
    uint32_t named = 0, counts[LATE_COUNT] = { 0 };
    char text[TRACE_TEXT_MAX], number[SHARD_TEXT_MAX];

    for (uint32_t i = 0; i < here->slots.count; i++)
        counts[late_of(slot_at(actors, here->slots.items[i]))]++;
    line_format(text, sizeof text,
                "entities did not stop in time, stopped by force type=%s "
                "shard=%s entities=%u",
                actors->types[here->type].name,
                shard_label(actors->types[here->type].rule.names, here->shard, number),
                here->slots.count);
    trace_late(actors, text, counts);
    here->deadline = 0;
    here->over = true;
    for (uint32_t i = here->slots.count; i-- > 0;) {
        uint32_t index = here->slots.items[i];

        name_late(actors, slot_at(actors, index), &named);
        force_end(actors, index, slot_at(actors, index));
    }
    here->deadline = NEVER;
    if (here->slots.count == 0)
        shard_row_empty(actors, row);
}

void shards_step(struct actors *actors)
{
    uint32_t stopping = actors->rows_stopping, named = 0;
    uint32_t counts[LATE_COUNT] = { 0 };
    char text[96];

    for (uint32_t i = 1; stopping && i < actors->rows.count; i++) {
        struct row *row = &actors->rows.items[i];

        if (row->state != ROW_STOPPING)
            continue;
        stopping--;
        if (row->deadline > actors->now)
            continue;
        force_row(actors, i);
    }
    if (!actors->stopping || actors->now < actors->stop_deadline)
        return;
    actors->stop_deadline = NEVER;
    for (uint32_t i = 1; i < actors->slot_used; i++) {
        struct slot *slot = slot_at(actors, i);

        if (slot->status == SLOT_FREE || slot->is_reserved || (slot->flags & FLAG_ENTITY))
            continue;
        counts[late_of(slot)]++;
        name_late(actors, slot, &named);
        incarnation_end(actors, i, slot);
    }
    if (!named)
        return;
    line_format(text, sizeof text,
                "actors did not stop in time, stopped by force actors=%u",
                named); /* fits */
    trace_late(actors, text, counts);
}

uint64_t shards_deadline(const struct actors *actors)
{
    uint64_t earliest = actors->stopping ? actors->stop_deadline : NEVER;
    uint32_t stopping = actors->rows_stopping;

    for (uint32_t i = 1; stopping && i < actors->rows.count; i++) {
        const struct row *row = &actors->rows.items[i];

        if (row->state != ROW_STOPPING)
            continue;
        stopping--;
        if (row->deadline < earliest)
            earliest = row->deadline;
    }
    return earliest;
}

enum shard_loss { SHARD_FENCED, SHARD_LEASE_LOST };

static void trace_loss(const struct actors *actors, const struct row *row, uint16_t type,
                       int32_t shard, enum shard_loss loss)
{
    char text[SHARD_TEXT_MAX];
    const char *label = shard_label(actors->types[type].rule.names, shard, text);

    if (loss == SHARD_FENCED)
        trace_put(actors->settings.trace, TRACE_WARNING, "actor",
                  "shard fenced, its entities stopped: another node owns it "
                  "type=%s shard=%s entities=%u "
                  "hint=\"check whether this process was suspended or cut off\"",
                  actors->types[type].name, label, row->slots.count);
    else
        trace_put(actors->settings.trace, row->slots.count ? TRACE_WARNING : TRACE_INFO, "actor",
                  "shard lost its lease, its entities stopped type=%s shard=%s entities=%u "
                  "hint=\"it starts again when the lease can be had\"",
                  actors->types[type].name, label, row->slots.count);
}

static void end_at_once(struct actors *actors, uint16_t type, int32_t shard, enum shard_loss loss)
{
    uint32_t row = shard_row_find(actors, type, shard);
    struct row *here;

    check(!actors->ctx.slot);
    entity_flush(actors);
    if (row == 0)
        return;
    here = &actors->rows.items[row];
    if (here->state != ROW_STOPPING)
        actors->rows_stopping++;
    here->state = ROW_STOPPING;
    active_stop(actors, here);
    here->deadline = 0; /* no ACTORS_SHARD_EMPTY */
    trace_loss(actors, here, type, shard, loss);
    while (here->slots.count) {
        uint32_t index = here->slots.items[here->slots.count - 1];
        struct slot *slot = slot_at(actors, index);

        SOMETIMES("an entity is fenced off with effects held",
                  slot->flags & FLAG_UNDURABLE);
        effects_drop_held(actors, slot,
                          loss == SHARD_FENCED ? SHERD_REASON_FENCED : SHERD_REASON_LEASE_LOST, "");
        if (slot_has_incarnation(slot))
            incarnation_close(actors, index, slot,
                              loss == SHARD_FENCED ? END_FENCED : END_LEASE_LOST);
        else
            slot->generation++;
        mailbox_hand_back(actors, slot);
        entity_release(actors, index, slot);
    }
    shard_row_free(actors, row);
}

void actors_shard_fenced(struct actors *actors, uint16_t type, int32_t shard)
{
    end_at_once(actors, type, shard, SHARD_FENCED);
}

void actors_shard_unleased(struct actors *actors, uint16_t type, int32_t shard)
{
    end_at_once(actors, type, shard, SHARD_LEASE_LOST);
}

void actors_stop_all(struct actors *actors, uint64_t deadline)
{
    actors->stopping = true;
    actors->stop_deadline = deadline;
    for (uint32_t i = 1; i < actors->rows.count; i++) {
        const struct row *row = &actors->rows.items[i];

        if (row->state != ROW_FREE)
            actors_shard_stop(actors, row->type, row->shard, deadline);
    }
    for (uint32_t i = 1; i < actors->slot_used; i++) {
        struct slot *slot = slot_at(actors, i);

        if ((slot->flags & (FLAG_ENTITY | FLAG_MARKED)) == 0 &&
            (slot->status == SLOT_ALIVE || slot->status == SLOT_RECOVERING))
            mailbox_mark(actors, i, slot);
    }
}

uint32_t actors_shard_entities(const struct actors *actors, uint16_t type,
                               int32_t shard)
{
    return actors->rows.items[shard_row_find(actors, type, shard)].slots.count;
}

bool actors_shard_next_entity(struct actors *actors, uint16_t type,
                              int32_t shard, uint32_t *at, struct slice *id)
{
    const struct row *here =
        &actors->rows.items[shard_row_find(actors, type, shard)];

    if (*at >= here->slots.count)
        return false;
    *id = slot_id(slot_at(actors, here->slots.items[(*at)++]));
    return true;
}
