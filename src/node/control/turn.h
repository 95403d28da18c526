/* Decides how much of its waiting work control does in one turn.
 *
 * Member events, coordinators' walks over all members, coordinators' writes and membership's own
 * step may all wait at once. A turn takes a share of them, and no kind of work waits for long. */
#ifndef SHERD_NODE_CONTROL_TURN_H
#define SHERD_NODE_CONTROL_TURN_H

#include <stdbool.h>
#include <stdint.h>

/* Zero is the turn before the first one. Only turn.c and tests use the fields. */
struct turn {
    bool is_stirred;    /* a type's core had an input, or was due, since its events were wired */
    uint64_t types_due; /* no type's core is due before, unless stirred */
    uint32_t cost;      /* of the member events of this turn */
    uint32_t members;   /* when all events were last wired */
    uint32_t walked;    /* members walked in this turn for coordinators */
    bool has_walks;     /* a walk waits for the next turn */
    bool is_for_walks;  /* no events of members, no steps of membership and types */
    bool has_writes;    /* a coordinator's write waits for member events */
    uint64_t crowd_until; /* writes wait until then; 0: no crowd of events */
    bool step_waits;    /* membership's step waits, because this turn had its share of events */
    bool has_ended;     /* cost is of the last turn */
    bool has_events;    /* these two: since all events were last wired */
    bool has_changes;
};

/* The member events since all events were last wired. */
struct turn_events {
    bool has_any;
    bool has_changes; /* a member came, went or changed */
};

void turn_begin(struct turn *turn);
/* Notes the end. The next events belong to the next turn. */
void turn_end(struct turn *turn);
/* Whether work waits, so the next turn must follow at once. */
bool turn_has_more(const struct turn *turn);

/* A type's core had an input: types are looked at in this turn, or in the next one. */
void turn_stir(struct turn *turn);
bool turn_is_stirred(const struct turn *turn);
/* Returns whether types are looked at in this turn: a core had an input, or is due. */
bool turn_begin_types(struct turn *turn, uint64_t now);
/* All events of types are wired. due: when the next core is due. */
void turn_end_types(struct turn *turn, uint64_t due);
/* Returns the last `due`. It no longer counts once the turn is stirred. */
uint64_t turn_types_due(const struct turn *turn);

/* Events come before the turn begins: they belong to it. */
void turn_early_events(struct turn *turn);
/* Returns the cost up to which this turn wires member events. */
uint32_t turn_share(const struct turn *turn);
/* Whether this turn wires another event. max: a cost, as from turn_share. */
bool turn_takes_event(const struct turn *turn, uint32_t max);
/* Counts a member event. A removal costs more in a large cluster. */
void turn_event(struct turn *turn, bool is_removal);
/* A member came, went or changed: cores that look at all members run once all events are wired. */
void turn_members_changed(struct turn *turn);
/* All events are wired. members: now. Returns what they were; changes stir the turn. */
struct turn_events turn_events_done(struct turn *turn, uint32_t members);

/* Returns whether membership's step waited for this turn, and forgets it. */
bool turn_step_waited(struct turn *turn);
/* Whether the step waits for the next turn, because this turn has wired its share of events. */
bool turn_defers_step(struct turn *turn);
/* The step ran, and was as much work as a share of events. */
void turn_full(struct turn *turn);

/* Whether this turn leaves its events and the steps of membership and types to the next one. */
bool turn_is_for_walks(const struct turn *turn);
/* Whether this turn may walk the members for a coordinator. If not, the next turn is for walks. */
bool turn_may_walk(struct turn *turn, uint32_t members);
void turn_walked(struct turn *turn, uint32_t members);
/* Whether coordinators' writes wait, because many member events wait: each event would change the
 * state and send it again. has_events: some wait. */
bool turn_delays_writes(struct turn *turn, uint64_t now, bool has_events);

#endif
