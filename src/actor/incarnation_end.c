/* Ends incarnations, and decides what follows: the next one at once, after a pause, or none.
 *
 * An entity's slot stays in the table and in its shard's row while it has an incarnation or waiting
 * messages. Messages that arrive while an incarnation ends wait and start the next one. */
#include "actor/inside.h"

#include "base/line.h"
#include "base/mark.h"

void incarnation_request_end(struct actors *actors, uint32_t index, struct slot *slot)
{
    if (!(slot->flags & FLAG_UNDURABLE)) {
        incarnation_end(actors, index, slot);
        return;
    }
    /* It ends when its events are durable. Unread messages go to the next incarnation, before later
     * ones. */
    REACHED("an entity ends while the journal writes its events");
    entity_unused(actors, index, slot);
    if (slot->status != SLOT_ENDING)
        mailbox_split(actors, slot);
    slot->status = SLOT_ENDING;
}

/* Keeps what the next incarnation reads, ends the rest. */
static void mailbox_sift(struct actors *actors, struct slot *slot)
{
    struct extra *extra = extra_of(actors, slot);
    struct message *rest = slot->last;
    struct message *kept = NULL;
    struct message *message;
    bool entity = (slot->flags & FLAG_ENTITY) != 0;

    slot->last = NULL;
    slot->flags &= (uint8_t)~FLAG_MARKED;
    for (;;) {
        message = message_ring_take(&rest);
        if (!message && extra && extra->behind) {
            REACHED("messages arrive while an entity ends");
            rest = extra->behind;
            extra->behind = NULL;
            message = message_ring_take(&rest);
        }
        if (!message)
            break;
        if (entity && (message_to_entity(message) ||
                       message->kind == MESSAGE_STOPPING)) {
            if (message->kind == MESSAGE_STOPPING)
                slot->flags |= FLAG_MARKED;
            message_ring_put(&kept, message);
            continue;
        }
        mailbox_uncount(actors, slot, message);
        if (message->kind == MESSAGE_TELL || message_is_job(message))
            mailbox_undelivered(actors, message, SHERD_REASON_STOPPED);
        else
            mailbox_undelivered(actors, message, SHERD_REASON_ASKER_GONE);
    }
    slot->last = kept;
}

static enum end_cause cause_by_slot(const struct actors *actors,
                                    const struct slot *slot)
{
    if (slot->flags & FLAG_FAILED)
        return END_FAILED;
    if (actors->rows.items[slot->row].state == ROW_STOPPING)
        return END_SHARD_STOPS;
    switch ((enum slot_leaving)slot->leaving) {
    case LEAVES_IDLE:
        return END_IDLE;
    case LEAVES_SURPLUS:
        return END_SURPLUS;
    case LEAVES_FOR_GOOD:
        return END_REQUESTED;
    default:
        return END_BY_ITSELF;
    }
}

static void trace_end(const struct actors *actors, const struct slot *slot,
                      enum end_cause cause)
{
    static const char *const texts[] = {
        [END_FAILED] = "failed",
        [END_SHARD_STOPS] = "shard-stops",
        [END_IDLE] = "idle",
        [END_SURPLUS] = "limit",
        [END_REQUESTED] = "requested",
        [END_BY_ITSELF] = "by-itself",
        [END_STOP_TIMEOUT] = "stop-timeout",
        [END_FENCED] = "fenced",
        [END_LEASE_LOST] = "lease-lost",
        [END_NOT_STORED] = "not-stored",
        [END_RECOVERY_FAILED] = "recovery-failed",
    };
    char text[80];

    if (!(slot->flags & FLAG_ENTITY) ||
        !trace_on(actors->settings.trace, TRACE_DEBUG))
        return;
    if (cause == END_BY_SLOT)
        cause = cause_by_slot(actors, slot);
    line_format(text, sizeof text, "entity %s cause=%s",
                cause >= END_IDLE && cause <= END_REQUESTED ? "passivated"
                                                            : "stopped",
                texts[cause]); /* fits */
    slot_trace(actors, slot, TRACE_DEBUG, text);
}

static void count_end(struct type *type, enum end_cause cause)
{
    static const enum figures_stop stops[] = {
        [END_FAILED] = FIGURES_STOP_FAILED,
        [END_SHARD_STOPS] = FIGURES_STOP_MOVED,
        [END_IDLE] = FIGURES_STOP_IDLE,
        [END_SURPLUS] = FIGURES_STOP_IDLE,
        [END_REQUESTED] = FIGURES_STOP_ASKED,
        [END_BY_ITSELF] = FIGURES_STOP_ASKED,
        [END_STOP_TIMEOUT] = FIGURES_STOP_MOVED,
        [END_FENCED] = FIGURES_STOP_FENCED,
        [END_LEASE_LOST] = FIGURES_STOP_FENCED,
        [END_NOT_STORED] = FIGURES_STOP_FAILED,
        [END_RECOVERY_FAILED] = FIGURES_STOP_FAILED,
    };

    type->running--;
    type->figures.stops[stops[cause]]++;
}

static void name_end(struct actors *actors, uint64_t actor)
{
    if (map_take(&actors->named, map_u64(&actor)))
        slot_news_put(actors, &(struct actors_news){ .kind = ACTORS_NAME_END,
                                                     .actor = actor });
}

void incarnation_close(struct actors *actors, uint32_t index, struct slot *slot,
                       enum end_cause cause)
{
    const struct behavior *behavior = behavior_of(actors, slot);
    uint64_t actor = slot_ref(actors, slot, index).actor;

    trace_end(actors, slot, cause);
    if (slot->flags & FLAG_ENTITY)
        count_end(&actors->types[behavior->type], cause == END_BY_SLOT ? cause_by_slot(actors, slot) : cause);
    entity_unused(actors, index, slot);
    incarnation_release(actors, index, slot);
    if (slot->flags & FLAG_PERSISTENT)
        slot_news_put(actors, &(struct actors_news){ .kind = ACTORS_FORGET,
                                                     .actor = actor });
    timer_drop_all(actors, slot);
    slot->flags &=
        (uint8_t) ~(FLAG_STARTED_DUE | FLAG_UNDURABLE | FLAG_FAILED);
    slot->asks = 0;
    if (slot->extra)
        extra_of(actors, slot)->is_refused = false;
    /* From here on the old ref is invalid. */
    slot->status = SLOT_BACKOFF;
    watches_end(actors, index, slot);
    slot->generation++;
    if (actors->named.count)
        name_end(actors, actor);
    mailbox_sift(actors, slot);
}

void incarnation_end_unstored(struct actors *actors, uint32_t index, struct slot *slot)
{
    bool waits = (slot->flags & FLAG_STARTED_DUE) != 0;
    struct extra *extra;

    incarnation_close(actors, index, slot, END_NOT_STORED);
    extra = slot_extra(actors, slot);
    waits = waits || extra->attempts > 0;
    if (!waits)
        extra->attempts = 1;
    incarnation_next(actors, index, slot, waits);
}

void incarnation_end(struct actors *actors, uint32_t index, struct slot *slot)
{
    const struct extra *extra = extra_of(actors, slot);
    bool waits = (slot->flags & FLAG_STARTED_DUE) != 0;

    if (extra && extra->is_refused) {
        incarnation_end_unstored(actors, index, slot);
        return;
    }
    incarnation_close(actors, index, slot, END_BY_SLOT);
    incarnation_next(actors, index, slot, waits);
}

/* Its waiting messages make it active again. */
static void start_again(struct actors *actors, uint32_t index, struct slot *slot)
{
    incarnation_start(actors, index, slot);
    entity_used(actors, index, slot);
}

void incarnation_next(struct actors *actors, uint32_t index, struct slot *slot,
                      bool waits)
{
    if (!(slot->flags & FLAG_ENTITY)) {
        actors->counts.actors--;
        slot_free(actors, index);
        return;
    }
    if (actors->rows.items[slot->row].state == ROW_STOPPING) {
        /* Messages before the mark are still handled here, unless the deadline is over or the
         * entity fails: the other entities of the shard must not wait for a start that may never
         * succeed. */
        if (actors->rows.items[slot->row].over || waits || !slot->last ||
            slot->last->next->kind == MESSAGE_STOPPING) {
            mailbox_hand_back(actors, slot);
            entity_release(actors, index, slot);
            return;
        }
    } else {
        mailbox_unmark(actors, slot);
        if (slot_remembers(actors, slot) &&
            slot->leaving == LEAVES_FOR_GOOD) {
            entity_forget_stored(actors, index, slot);
            return;
        }
        if (slot_remembers(actors, slot) && !slot->last &&
            slot->leaving == LEAVES_BY_ITSELF) {
            entity_restart_later(actors, index, slot);
            return;
        }
    }
    if (!slot->last)
        entity_release(actors, index, slot);
    else if (waits)
        incarnation_back_off(actors, index, slot);
    else
        start_again(actors, index, slot);
}

/* Doubles with each attempt, with a jitter of a quarter. */
void incarnation_back_off(struct actors *actors, uint32_t index,
                          struct slot *slot)
{
    struct extra *extra = slot_extra(actors, slot);
    uint32_t doublings = extra->attempts < 6 ? extra->attempts : 6;
    uint64_t delay = (uint64_t)ENTITY_BACKOFF_MS << doublings;
    uint32_t entry;

    if (delay > ENTITY_BACKOFF_MS_MAX)
        delay = ENTITY_BACKOFF_MS_MAX;
    delay += rng_below(&actors->rng, delay / 4 + 1);
    REACHED("an entity waits before it starts again");
    extra->attempts++;
    slot->status = SLOT_BACKOFF;
    entry = entry_new(actors, delay);
    if (entry == 0) { /* too many timers: it starts at once */
        start_again(actors, index, slot);
        return;
    }
    entry_at(actors, entry)->kind = ENTRY_BACKOFF;
    entry_at(actors, entry)->slot = index;
    entry_at(actors, entry)->generation = slot->generation;
}

void incarnation_back_off_end(struct actors *actors, uint32_t index, struct slot *slot)
{
    struct extra *extra = extra_of(actors, slot);
    bool is_wanted = slot->last || slot_remembers(actors, slot) || (extra && extra->is_asked_for);

    if (extra)
        extra->is_asked_for = false;
    slot->generation++;
    if (is_wanted)
        start_again(actors, index, slot);
    else
        entity_release(actors, index, slot);
}
