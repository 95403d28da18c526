/* Copies and frees the texts in the settings of services above the node. */
#include "node/service_settings.h"

#include "actor/services.h"
#include "base/check.h"

enum { TEXTS = 6 };

static void texts_of(struct service_defaults *services, const char **texts[TEXTS])
{
    texts[0] = &services->singleton_name;
    texts[1] = &services->singleton_role;
    texts[2] = &services->singleton_lease;
    texts[3] = &services->proxy_name;
    texts[4] = &services->proxy_role;
    texts[5] = &services->daemon_role;
}

void service_settings_copy(struct service_defaults *services)
{
    const char **texts[TEXTS];

    texts_of(services, texts);
    for (int i = 0; i < TEXTS; i++)
        *texts[i] = mem_text(*texts[i]);
}

void service_settings_fini(struct service_defaults *services)
{
    const char **texts[TEXTS];

    texts_of(services, texts);
    for (int i = 0; i < TEXTS; i++)
        mem_free((void *)(uintptr_t)*texts[i]);
}
