/* The enemy of a run: what goes wrong when. nemesis_draw makes the schedule from the seed's options; nemesis_new lets it happen
 * in a world, each fault at its time, and ends each at its own. The runner calls nemesis_step when nemesis_deadline has come.
 *
 * The operator is part of it: nodes that are dead are downed by command on another node, since nobody else does that. A fault
 * whose condition does not hold when its time comes (a node that is dead already crashes) is skipped, so that any part of a
 * schedule is a schedule. */
#ifndef SHERD_SIM_NEMESIS_H
#define SHERD_SIM_NEMESIS_H

#include <stdint.h>

#include "base/timers.h"
#include "sim/options.h"
#include "sim/schedule.h"

#define NEMESIS_OFF_WITHIN (5 * SECOND)

struct world;

/* Draws the faults of the safety phase into an empty schedule. Beginnings lie in the phase; ends may lie behind it. */
void nemesis_draw(const struct options *options, struct schedule *schedule);

/* What the runner does for the nemesis, which knows no settings of nodes and no disk. */
struct nemesis_hands {
    void *user;
    uint64_t delay_min, delay_mean; /* ns: of a path that is well */
    void (*start)(void *user, uint32_t node); /* another life; none runs */
    void (*down)(void *user, uint32_t by, uint32_t node); /* by is up and is told that node is down */
    /* A fault of the store begins or ends; power and disk-sync only begin. False: there is no such fault. */
    bool (*disk)(void *user, enum fault_verb verb, bool on);
    /* The machine of a node that lives loses power: by NEMESIS_OFF_WITHIN, and before that as soon as its own disk writes. */
    void (*power_off)(void *user, uint32_t node);
    /* A life of another cluster begins where none runs, and asks this one for the way in; without `on` it is killed, if it lives yet. False: nobody
     * lives here who could be asked. */
    bool (*foreign)(void *user, uint32_t node, bool on);
    /* What faults of that verb, of the store, "foreign", "power-off" or "down", have done so far. */
    uint64_t (*harm)(void *user, enum fault_verb verb);
    /* What a node is in the midst of: a set as of machine_states (node/states.h), empty where none runs; null: nobody asks. */
    uint64_t (*states)(void *user, uint32_t node);
};

struct nemesis;

/* What came of the faults of one verb. A fault that held nobody up and broke nothing shows nothing. */
struct nemesis_effect {
    uint64_t faults; /* that did something to somebody, of those that happened */
    uint64_t harm;   /* how much: nemesis_effect_text says of what. Of two at the same place both count it */
};

/* What stands behind the verbs: of the faults that happened. */
struct nemesis_kinds {
    uint64_t one_way;  /* cuts and flaps of one direction */
    uint64_t part;     /* of one kind of stream */
    uint64_t isolated; /* cuts of one node from all others */
    uint64_t pair;     /* of two nodes from each other: not transitive */
    uint64_t zombies;  /* nodes downed that ran */
    uint64_t asleep;   /* of them: paused */
    uint64_t soon;     /* starts within 30 s of a crash, at the same address */
};

/* In which states nodes were when faults of one verb began: sets as of machine_states. */
struct nemesis_cells {
    uint64_t met;    /* of any node */
    uint64_t struck; /* of those that it was done to */
};

/* Arms every fault of the schedule, counted from now. The schedule is lent until the end, the hands are copied. */
struct nemesis *nemesis_new(struct world *world,
                            const struct schedule *schedule, uint32_t nodes,
                            const struct nemesis_hands *hands);
uint64_t nemesis_deadline(const struct nemesis *nemesis); /* the world's time, NEVER if none */
void nemesis_step(struct nemesis *nemesis); /* does what is due */
/* Ends what goes on and lets nothing more happen. Dead nodes stay dead. */
void nemesis_end(struct nemesis *nemesis);
uint64_t nemesis_count(const struct nemesis *nemesis, enum fault_verb verb); /* faults that happened */
/* Of faults that are over. */
struct nemesis_effect nemesis_effect(const struct nemesis *nemesis,
                                     enum fault_verb verb);
const char *nemesis_effect_text(enum fault_verb verb); /* "calls refused"; a literal */
struct nemesis_kinds nemesis_kinds(const struct nemesis *nemesis);
struct nemesis_cells nemesis_cells(const struct nemesis *nemesis,
                                   enum fault_verb verb);
uint64_t nemesis_skipped(const struct nemesis *nemesis); /* faults whose condition did not hold */
void nemesis_free(struct nemesis *nemesis); /* null is fine */

#endif
