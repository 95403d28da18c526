/* Searches the share of the admission window that gives the most hits, by hill climbing
 * (Einziger, Eytan, Friedman, Manes: "Adaptive Software Cache Management"), with the steps of Akka's
 * HillClimbingAdmissionOptimizer. */
#ifndef SHERD_ACTOR_PASSIVATION_CLIMB_H
#define SHERD_ACTOR_PASSIVATION_CLIMB_H

#include <stdbool.h>
#include <stdint.h>

struct climb_settings {
    double adjust_multiplier; /* uses between two steps for each entity of the limit */
    double initial_step;
    double restart_threshold; /* a larger change of the rate restores the initial step */
    double step_decay;
};

struct climb {
    struct climb_settings settings;
    double adjust_size; /* uses between two steps */
    double rate;        /* hits of the last period, 0 to 1 */
    double step;
    uint32_t uses, hits;
};

void climb_init(struct climb *climb, const struct climb_settings *settings, uint32_t limit);
void climb_limit(struct climb *climb, uint32_t limit);
/* Counts a use; is_hit: the entity was active. Returns the change of the window's share; 0 until a
 * period ends. */
double climb_use(struct climb *climb, bool is_hit);

#endif
