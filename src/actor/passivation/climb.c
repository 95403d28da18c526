/* Keeps the direction of the steps while the rate of hits grows, and turns it when the rate
 * falls. */
#include "actor/passivation/climb.h"

void climb_init(struct climb *climb, const struct climb_settings *settings, uint32_t limit)
{
    *climb = (struct climb){ .settings = *settings };
    climb->step = -settings->initial_step;
    climb_limit(climb, limit);
}

void climb_limit(struct climb *climb, uint32_t limit)
{
    climb->adjust_size = climb->settings.adjust_multiplier * limit;
}

double climb_use(struct climb *climb, bool is_hit)
{
    double rate, change, taken;

    climb->uses++;
    climb->hits += is_hit;
    if (climb->uses < climb->adjust_size)
        return 0;
    rate = (double)climb->hits / climb->uses;
    change = rate - climb->rate;
    taken = change >= 0 ? climb->step : -climb->step;
    if ((change < 0 ? -change : change) >= climb->settings.restart_threshold)
        climb->step = taken >= 0 ? climb->settings.initial_step : -climb->settings.initial_step;
    else
        climb->step = taken * climb->settings.step_decay;
    climb->rate = rate;
    climb->uses = 0;
    climb->hits = 0;
    return taken;
}
