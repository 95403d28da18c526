/* Makes, ends and times the groups of leases, one for each provider that is used, and asks for those of
 * singletons. */
#include "node/control/control.h"

#include "node/peers/lease_names.h"

void control_leases_open(struct control *control, enum lease_provider_kind provider)
{
    const struct machine *machine = control->machine;
    const struct node_settings *settings = machine->settings;
    char owner[ADDRESS_TEXT_MAX];
    struct buf name = { 0 };
    struct lease_options options = {
        .owner = address_text(&machine->self->node.address, owner, sizeof owner),
        .ttl = settings->lease_ttl,
        .interval = settings->lease_interval,
        .patience = settings->lease_patience,
        .provider = provider,
        .use = LEASE_USE_GROUP,
        .trace = machine->trace,
    };

    if (!provider || control->leases.groups[provider])
        return;
    control->leases.is_used = true;
    session_lease_name_put(&name, settings);
    buf_put_u8(&name, 0);
    options.name = (const char *)name.data;
    control->leases.groups[provider] = lease_group_new(&options);
    buf_fini(&name);
}

void control_leases_add(struct control *control, uint32_t type)
{
    const struct machine *machine = control->machine;

    control_leases_open(control, machine->node->names[type].lease);
    if (control->types[type].singleton)
        control_leases_open(control, machine->settings->coordinator_lease);
}

void control_leases_ask_for(struct control *control, enum lease_provider_kind provider,
                            uint32_t singleton, uint32_t ticket, struct slice name)
{
    lease_group_take(control->leases.groups[provider], control->machine->now,
                     LEASE_KEY_SINGLETON | singleton, ticket, name);
}

void control_leases_give_up_of(struct control *control, enum lease_provider_kind provider,
                               uint32_t singleton, uint32_t ticket)
{
    lease_group_give_up(control->leases.groups[provider], control->machine->now,
                        LEASE_KEY_SINGLETON | singleton, ticket);
}

void control_leases_fini(struct control *control)
{
    for (uint32_t i = 0; i < LEASE_PROVIDER_COUNT; i++)
        lease_group_free(control->leases.groups[i]);
}

void control_leases_end(struct control *control)
{
    for (uint32_t i = 0; i < LEASE_PROVIDER_COUNT; i++)
        if (control->leases.groups[i])
            lease_group_end(control->leases.groups[i], control->machine->now);
}

bool control_leases_end_waits(const struct control *control)
{
    for (uint32_t i = 0; i < LEASE_PROVIDER_COUNT; i++)
        if (control->leases.groups[i] && lease_group_ends(control->leases.groups[i]))
            return true;
    return false;
}

uint64_t control_leases_deadline(const struct control *control)
{
    uint64_t deadline = NEVER;

    for (uint32_t i = 0; control->leases.is_used && i < LEASE_PROVIDER_COUNT; i++) {
        uint64_t next = control->leases.groups[i]
                            ? lease_group_deadline(control->leases.groups[i])
                            : NEVER;

        deadline = next < deadline ? next : deadline;
    }
    return deadline;
}
