/* Shares control's turns between member events, walks, writes and membership's step. */
#include "node/control/turn.h"

#include "base/limits.h"
#include "base/timers.h"

#define CROWD_WAIT SECOND /* several crowds in a row delay a write no longer */

static bool is_full(const struct turn *turn)
{
    return turn->cost >= NEWS_OF_TURN_MAX;
}

void turn_stir(struct turn *turn)
{
    turn->is_stirred = true;
}

bool turn_is_stirred(const struct turn *turn)
{
    return turn->is_stirred;
}

bool turn_begin_types(struct turn *turn, uint64_t now)
{
    turn->is_stirred = turn->is_stirred || turn->types_due <= now;
    return turn->is_stirred;
}

void turn_end_types(struct turn *turn, uint64_t due)
{
    turn->types_due = due;
    turn->is_stirred = false;
}

uint64_t turn_types_due(const struct turn *turn)
{
    return turn->types_due;
}

void turn_early_events(struct turn *turn)
{
    if (turn->has_ended)
        turn->cost = 0;
    turn->has_ended = false;
}

void turn_begin(struct turn *turn)
{
    turn->walked = 0;
    turn_early_events(turn);
    turn->is_stirred = turn->is_stirred || turn->has_walks || turn->has_writes;
    /* so nothing else waits for long */
    turn->is_for_walks = turn->has_walks && !turn->is_for_walks;
    turn->has_walks = turn->has_writes = false;
}

void turn_end(struct turn *turn)
{
    turn->has_ended = true;
}

bool turn_has_more(const struct turn *turn)
{
    return turn->has_walks || turn->has_writes || turn->step_waits;
}

uint32_t turn_share(const struct turn *turn)
{
    return turn->is_for_walks ? 0 : NEWS_OF_TURN_MAX;
}

bool turn_takes_event(const struct turn *turn, uint32_t max)
{
    return turn->cost < max;
}

void turn_event(struct turn *turn, bool is_removal)
{
    turn->has_events = true;
    turn->cost += is_removal && turn->members >= NEWS_OF_TURN_MAX
                      ? NEWS_REMOVAL_COST
                      : 1;
}

void turn_members_changed(struct turn *turn)
{
    turn->has_changes = true;
}

struct turn_events turn_events_done(struct turn *turn, uint32_t members)
{
    const struct turn_events events = { turn->has_events, turn->has_changes };

    turn->has_events = turn->has_changes = false;
    turn->is_stirred = turn->is_stirred || events.has_changes;
    turn->crowd_until = 0;
    turn->members = members;
    return events;
}

bool turn_step_waited(struct turn *turn)
{
    bool has_waited = turn->step_waits;

    turn->step_waits = false;
    return has_waited;
}

bool turn_defers_step(struct turn *turn)
{
    turn->step_waits = is_full(turn);
    return turn->step_waits;
}

void turn_full(struct turn *turn)
{
    turn->cost = NEWS_OF_TURN_MAX;
}

bool turn_is_for_walks(const struct turn *turn)
{
    return turn->is_for_walks;
}

/* Coordinators of all types may start or write at once: they do so in several turns, none with a
 * full share of events. */
bool turn_may_walk(struct turn *turn, uint32_t members)
{
    bool may = (!is_full(turn) || turn->is_for_walks) &&
               (!turn->walked || turn->walked + members <= WALKS_OF_TURN_MAX);

    turn->has_walks = turn->has_walks || !may;
    return may;
}

void turn_walked(struct turn *turn, uint32_t members)
{
    turn->walked += members;
}

bool turn_delays_writes(struct turn *turn, uint64_t now, bool has_events)
{
    bool is_crowd = has_events && turn->members >= NEWS_OF_TURN_MAX;

    if (is_crowd && !turn->crowd_until)
        turn->crowd_until = now + CROWD_WAIT;
    is_crowd = is_crowd && now < turn->crowd_until;
    turn->has_writes = turn->has_writes || is_crowd;
    return is_crowd;
}
