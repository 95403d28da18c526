/* Plans and carries out the faults of a run. nemesis_draw makes the schedule from the seed's
 * options, nemesis_new starts and ends its faults in a world. The runner calls nemesis_step at
 * nemesis_deadline.
 *
 * The nemesis is also the operator that downs dead nodes. It skips a fault whose condition does not
 * hold at its time, so any part of a schedule is a schedule. */
#ifndef SHERD_SIM_FAULTS_NEMESIS_H
#define SHERD_SIM_FAULTS_NEMESIS_H

#include <stdint.h>

#include "base/timers.h"
#include "sim/seed/options.h"
#include "sim/faults/schedule.h"

#define NEMESIS_OFF_WITHIN (5 * SECOND)

struct world;

/* Draws the faults of the safety phase into an empty schedule. They start in the phase and may end
 * after it. */
void nemesis_draw(const struct options *options, struct schedule *schedule);

/* Functions of the runner. */
struct nemesis_hands {
    void *user;
    uint64_t delay_min, delay_mean; /* ns, without a fault */
    void (*start)(void *user, uint32_t node); /* starts another incarnation; none runs */
    /* commands `by`, which is up, to down node */
    void (*down)(void *user, uint32_t by, uint32_t node);
    /* Starts or ends a fault of storage; power and disk-sync only start. False: not a fault of
     * storage. */
    bool (*disk)(void *user, enum fault_verb verb, bool on);
    /* Makes the running node leave, and starts it `after` ns after its end. Without `on`: it starts no
     * more. */
    void (*restart)(void *user, uint32_t node, uint64_t after, bool on);
    /* Power fails within NEMESIS_OFF_WITHIN, earlier if the node's disk writes. */
    void (*power_off)(void *user, uint32_t node);
    /* Starts a node of another cluster at a free place, with this cluster's nodes as seed nodes;
     * without `on` kills it. False: no node runs that it could ask. */
    bool (*foreign)(void *user, uint32_t node, bool on);
    /* A stranger that listens nowhere asks the running node to join, under many addresses. */
    void (*fake_joins)(void *user, uint32_t node);
    /* Strangers shake hands with the running node, more than it keeps, and some claim the addresses
     * of other nodes. */
    void (*flood)(void *user, uint32_t node);
    /* Effects so far of storage faults, "foreign", "fake-joins", "flood", "power-off" or "down". */
    uint64_t (*harm)(void *user, enum fault_verb verb);
    /* The states of a node, as machine_states (node/states.h), empty if none runs. May be null. */
    uint64_t (*states)(void *user, uint32_t node);
};

struct nemesis;

/* Effects of the faults of one verb. */
struct nemesis_effect {
    uint64_t faults; /* faults with an effect */
    uint64_t harm;   /* in the unit of nemesis_effect_text; overlapping faults both count it */
};

/* Special kinds of the faults that happened. */
struct nemesis_kinds {
    uint64_t one_way;  /* cuts and flaps of one direction */
    uint64_t part;     /* of one kind of stream */
    uint64_t isolated; /* of one node from all others */
    uint64_t pair;     /* of two nodes from each other only */
    uint64_t zombies;  /* running nodes that were downed */
    uint64_t asleep;   /* of them, paused */
    uint64_t soon;     /* starts within 30 s of a crash, at the same address */
};

/* States of nodes when faults of one verb began, as sets of machine_states. */
struct nemesis_cells {
    uint64_t met;    /* of any node */
    uint64_t struck; /* of affected nodes */
};

/* Plans every fault of the schedule from now. The schedule is lent until the end, the hands are
 * copied. */
struct nemesis *nemesis_new(struct world *world,
                            const struct schedule *schedule, uint32_t nodes,
                            const struct nemesis_hands *hands);
uint64_t nemesis_deadline(const struct nemesis *nemesis); /* or NEVER */
void nemesis_step(struct nemesis *nemesis);
/* Ends all faults. Dead nodes stay dead. */
void nemesis_end(struct nemesis *nemesis);
uint64_t nemesis_count(const struct nemesis *nemesis, enum fault_verb verb);
/* Counts ended faults. */
struct nemesis_effect nemesis_effect(const struct nemesis *nemesis,
                                     enum fault_verb verb);
const char *nemesis_effect_text(enum fault_verb verb); /* such as "calls refused"; a literal */
struct nemesis_kinds nemesis_kinds(const struct nemesis *nemesis);
struct nemesis_cells nemesis_cells(const struct nemesis *nemesis,
                                   enum fault_verb verb);
uint64_t nemesis_skipped(const struct nemesis *nemesis);
void nemesis_free(struct nemesis *nemesis);

#endif
