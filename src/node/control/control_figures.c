/* Fills in control's figures for metrics. */
#include "node/control/control.h"

#include "base/check.h"
#include "base/figures.h"

static double highest_phi(const struct control *control)
{
    double highest = 0;

    for (uint32_t i = 0; i < member_count(control->member); i++) {
        const struct member_view *view = member_at(control->member, i);
        double phi = member_phi(control->member, control->machine->now, PROFILE_NODE(view->profile));

        highest = phi > highest ? phi : highest;
    }
    return highest;
}

void control_count_news(struct control *control, enum member_news_kind kind)
{
    switch (kind) {
    case MEMBER_NEWS_MEMBER:
        control->events[FIGURES_EVENT_CHANGED]++;
        break;
    case MEMBER_NEWS_REMOVED:
        control->events[FIGURES_EVENT_REMOVED]++;
        break;
    case MEMBER_NEWS_UNREACHABLE:
        control->events[FIGURES_EVENT_UNREACHABLE]++;
        break;
    case MEMBER_NEWS_REACHABLE:
        control->events[FIGURES_EVENT_REACHABLE]++;
        break;
    case MEMBER_NEWS_LEADER:
        control->events[FIGURES_EVENT_LEADER]++;
        break;
    default:
        break;
    }
}

static void put_decisions(const struct control *control, struct machine_figures *figures)
{
    const struct resolver_counters *counters;

    if (!control->resolver)
        return;
    counters = resolver_counters(control->resolver);
    figures->has_resolver = 1;
    figures->decided = counters->decisions;
    figures->unstable = counters->unstable;
    figures->reversed = counters->reversed;
}

void control_figures(struct control *control, struct machine_figures *figures)
{
    const struct member_view *leader = member_leader(control->member);

    figures->is_leader = leader && leader == member_self(control->member);
    figures->phi = highest_phi(control);
    memcpy(figures->events, control->events, sizeof figures->events);
    put_decisions(control, figures);
    figures->type_count = control->type_count;
    figures->types = mem_alloc(control->type_count * sizeof *figures->types);
    for (uint32_t i = 0; i < control->type_count; i++) {
        const struct coordinator *coordinator = control->types[i].coordinator;
        struct type_figures *type = &figures->types[i];
        struct coordinator_moves moves;

        type->registered = region_registered(control->types[i].region);
        if (!coordinator)
            continue;
        moves = coordinator_moves(coordinator);
        type->coordinates = coordinator_is_active(coordinator);
        type->handoffs = moves.beginning + moves.stopping;
        type->unplaced = coordinator_unplaced(coordinator);
    }
}
