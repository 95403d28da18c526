/* Connects the leases of shards, coordinators and singletons: lanes and managers ask, the node's groups answer. */
#include "node/control/control.h"

#include "base/check.h"
#include "node/peers/lease_names.h"

#define COORDINATOR_BIT (UINT64_C(1) << 63)

static uint64_t shard_key(uint32_t type, int32_t shard)
{
    return (uint64_t)type << 32 | (uint32_t)shard;
}

/* ---- requests ---- */

void control_leases_mail(struct control *control, const struct mail_content *content)
{
    struct machine *machine = control->machine;
    const struct type_names *names = &machine->node->names[content->type];
    const struct mail_lease *lease = mail_lease_of(content);
    struct lease_group *group = control->leases.groups[names->lease];
    uint64_t key = shard_key(content->type, content->shard);
    struct buf name = { 0 };
    char text[SHARD_TEXT_MAX];

    check(group != NULL);
    if (lease->is_given_up) {
        lease_group_give_up(group, machine->now, key, lease->ticket);
        return;
    }
    shard_lease_name_put(&name, machine->settings, names->type,
                         shard_name(names->rule.names, content->shard, text));
    lease_group_take(group, machine->now, key, lease->ticket, buf_slice(&name));
    buf_fini(&name);
}

static struct lease_group *coordinators_group(const struct control *control)
{
    return control->leases.groups[control->machine->settings->coordinator_lease];
}

void control_leases_ask(struct control *control, uint32_t type)
{
    struct machine *machine = control->machine;
    struct buf name = { 0 };

    coordinator_lease_name_put(&name, machine->settings, machine->node->names[type].type);
    lease_group_take(coordinators_group(control), machine->now, COORDINATOR_BIT | type,
                     ++control->types[type].lease_ticket, buf_slice(&name));
    buf_fini(&name);
}

void control_leases_give_up(struct control *control, uint32_t type)
{
    lease_group_give_up(coordinators_group(control), control->machine->now, COORDINATOR_BIT | type,
                        ++control->types[type].lease_ticket);
}

void control_leases_answered(struct control *control, struct lease_request *request)
{
    lease_group_answered(control->leases.groups[request->provider], control->machine->now,
                         request);
}

void control_leases_forgotten(struct control *control, enum lease_provider_kind provider)
{
    if (!control->leases.groups[provider])
        return;
    lease_group_forgotten(control->leases.groups[provider], control->machine->now);
    (void)control_leases_wire(control); /* before any other input */
}

/* ---- news ---- */

static void to_coordinator(struct control *control, const struct lease_group_news *news)
{
    struct machine *machine = control->machine;
    uint32_t index = (uint32_t)news->key;
    struct control_type *type = &control->types[index];

    if (news->ticket != type->lease_ticket)
        return; /* it has given up since, or asked again */
    turn_stir(&control->turn);
    switch (news->kind) {
    case LEASE_GROUP_GRANTED:
        singleton_leased(type->singleton);
        break;
    case LEASE_GROUP_DENIED:
        trace_put(machine->trace, TRACE_WARNING, "lease",
                  "lease of a coordinator not acquired, tried again type=%s reason=\"%s\" "
                  "hint=\"%s\"",
                  machine->node->names[index].name,
                  news->is_unknown ? "the lease provider does not answer" : "another node has it",
                  news->is_unknown ? "check the lease provider and the network to it"
                                   : "normal after a crash, until the lease expires");
        singleton_lease_denied(type->singleton, machine->now);
        break;
    case LEASE_GROUP_RELEASED:
        singleton_released(type->singleton, machine->now, &machine->outbox);
        break;
    case LEASE_GROUP_EXTENDED:
    case LEASE_GROUP_LOST:
        break; /* they name no key */
    }
}

static struct mail_content answer_mail(enum lease_provider_kind provider,
                                       const struct lease_group_news *news)
{
    return MAIL(leased, .kind = news->kind, .provider = provider, .ticket = news->ticket,
                .until = news->until, .is_unknown = news->is_unknown);
}

static void to_lane(struct control *control, enum lease_provider_kind provider,
                    const struct lease_group_news *news)
{
    uint32_t type = (uint32_t)(news->key >> 32);
    int32_t shard = (int32_t)(uint32_t)news->key;
    struct mail_content content = mail_for_shard(type, shard, answer_mail(provider, news));

    outputs_post(&control->machine->outputs,
                 1 + shard_lane(type, shard, control->machine->settings->lanes), &content);
}

static void lost(struct control *control, enum lease_provider_kind provider)
{
    struct machine *machine = control->machine;

    if (control->shutdown < SHUTDOWN_LANES)
        trace_put(machine->trace, TRACE_ERROR, "lease",
                  "leases lost, their shards, coordinators and singletons stop until they can be "
                  "had again "
                  "provider=%s hint=\"check the lease provider, and whether this process was "
                  "suspended\"",
                  lease_provider_text(provider));
    for (uint32_t i = 0; provider == machine->settings->coordinator_lease && i < control->type_count;
         i++) {
        if (!control->types[i].singleton)
            continue;
        singleton_lease_lost(control->types[i].singleton, machine->now, &machine->outbox);
        if (control->types[i].coordinator && !singleton_may_run(control->types[i].singleton))
            control_end_coordinator(control, i); /* now: SINGLETON_NEWS_END comes later */
    }
    user_singletons_leases_lost(control, provider);
    turn_stir(&control->turn);
}

static void take_news(struct control *control, enum lease_provider_kind provider,
                      const struct lease_group_news *news)
{
    struct mail_content content;

    if (news->kind != LEASE_GROUP_EXTENDED && news->kind != LEASE_GROUP_LOST) {
        if (news->key & COORDINATOR_BIT)
            to_coordinator(control, news);
        else if (news->key & LEASE_KEY_SINGLETON)
            user_singletons_leased(control, (uint32_t)news->key, news);
        else
            to_lane(control, provider, news);
        return;
    }
    content = answer_mail(provider, news);
    outputs_post_lanes(&control->machine->outputs, &content);
    if (news->kind == LEASE_GROUP_LOST)
        lost(control, provider);
}

static void probe(struct control *control, enum lease_provider_kind provider)
{
    const struct lease_group *group = control->leases.groups[provider];
    struct probe probe = { .kind = PROBE_SESSION_ENDED,
                           .type = PROBE_TYPE_NONE,
                           .first = lease_group_token(group),
                           .second = lease_group_until(group) };

    if (probe.second == control->leases.probed[provider])
        return;
    control->leases.probed[provider] = probe.second;
    if (probe.second)
        probe.kind = PROBE_SESSION_HELD;
    probes_put(control->machine->probes, &probe);
}

bool control_leases_wire(struct control *control)
{
    struct driver_request request = { .kind = DRIVER_LEASE };
    struct lease_group_news news;
    bool any = false;

    for (uint32_t i = 0; control->leases.is_used && i < LEASE_PROVIDER_COUNT; i++) {
        struct lease_group *group = control->leases.groups[i];

        if (!group)
            continue;
        while (lease_group_next_news(group, &news)) {
            take_news(control, (enum lease_provider_kind)i, &news);
            any = true;
        }
        while (lease_group_next_request(group, &request.lease))
            outputs_request(&control->machine->outputs, &request);
        if (control->machine->probes)
            probe(control, (enum lease_provider_kind)i);
    }
    return any;
}

/* ---- time ---- */

void control_leases_look(struct control *control)
{
    uint64_t now = control->machine->now;

    if (!control->leases.is_used || control_leases_deadline(control) > now)
        return;
    for (uint32_t i = 0; i < LEASE_PROVIDER_COUNT; i++)
        if (control->leases.groups[i])
            lease_group_step(control->leases.groups[i], now);
    (void)control_leases_wire(control);
}
