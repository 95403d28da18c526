/* Asks for and gives up the singleton's lease, and times the answers. */
#include "singleton/singleton_state.h"

void singleton_lease_ask(struct singleton *singleton)
{
    if (singleton->is_preparing)
        return; /* full shutdown: no instance starts */
    singleton->is_lease_asked = true;
    singleton_news_put(singleton, SINGLETON_NEWS_LEASE);
}

void singleton_lease_drop(struct singleton *singleton)
{
    if (singleton->is_lease_asked)
        singleton_news_put(singleton, SINGLETON_NEWS_RELEASE);
    singleton->has_lease = singleton->is_lease_asked = singleton->is_releasing = false;
}

bool singleton_may_run(const struct singleton *singleton)
{
    return !singleton->settings.uses_lease || singleton->has_lease;
}

bool singleton_lease_lets_go(struct singleton *singleton)
{
    if (!singleton->is_lease_asked)
        return false;
    singleton_lease_drop(singleton);
    singleton->is_releasing = true;
    singleton->release++;
    timers_put(&singleton->timers,
               singleton->time + singleton->settings.release_timeout_ms * MS, TIMER_RELEASE, 0,
               singleton->release);
    return true;
}

void singleton_lease_denied(struct singleton *singleton, uint64_t now)
{
    singleton->time = now;
    singleton->counters.leases_denied++;
    if (singleton->state == SINGLETON_ACQUIRING && singleton->is_lease_asked &&
        !singleton->has_lease)
        timers_put(&singleton->timers, now + singleton->settings.lease_retry_ms * MS, TIMER_LEASE,
                   0, singleton->generation);
}
