/* Starts and ends an incarnation of a node, and gives its lines and probes to the observers. */
#include "sim/world/inside.h"

#include <stdio.h>

#include "actor/job.h"
#include "base/check.h"
#include "base/limits.h"
#include "ddata/durable.h"
#include "node/machine/machine.h"
#include "node/mail/look_call.h"
#include "node/mail/operate_call.h"
#include "sim/seed/shard_text.h"

void life_start(struct world *world, struct site *site)
{
    struct world_node *face = &site->face;
    uint64_t shown = site_runs(world, site);
    char error[200];

    face->settings.now = shown;
    if (!face->settings.store_id)
        face->settings.store_id = backend_id(world, site);
    face->life++;
    face->is_paused = face->is_up = face->is_ready = face->has_ended = false;
    face->error = 0;
    face->node = node_new(&face->settings, error, sizeof error);
    check(face->node != NULL);
    site->machines = face->settings.lanes + 1;
    site->workers = mem_alloc(site->machines * sizeof *site->workers);
    site->channels = mem_alloc((size_t)site->machines * site->machines *
                               sizeof *site->channels);
    for (uint32_t i = 0; i < site->machines * site->machines; i++) {
        site->channels[i].event.kind = EVENT_MAIL;
        site->channels[i].site = site;
        site->channels[i].from = i / site->machines;
        site->channels[i].to = i % site->machines;
    }
    for (uint32_t i = 0; i < site->machines; i++) {
        struct worker *worker = &site->workers[i];

        worker->event.kind = EVENT_TURN;
        worker->site = site;
        worker->number = i;
        worker->machine = node_machine(face->node, i);
        machine_start(worker->machine, shown,
                      clock_wall(&site->clock, world->now));
        worker_turn_at(world, worker, world->now);
    }
    site->is_dark = false;
    pipe_healed(world, &site->calls, NULL);
    for (uint32_t i = 0; i < site->in.count; i++)
        pipe_unknown(world, site->in.items[i]);
    observe(world, node_started, site->index,
            face->settings.identity.node.uid);
}

static void keep_line(struct world *world, uint32_t index,
                      const struct trace_line *line)
{
    struct world_line kept = { .node = index };
    char text[TRACE_TEXT_MAX + 64];

    (void)snprintf(text, sizeof text, "%s: %s", line->module, line->text);
    if (world->traces)
        (void)fprintf(stderr, "[%10.3f] n%u %s\n", (double)world->now / 1e6,
                      index, text);
    if (!world->settings.keep_lines)
        return;
    kept.text = mem_text(text);
    vec_push(&world->lines, kept);
}

/* A node's number of a shard with a text means nothing elsewhere: puts the text's own number. */
static void unname(const struct node *node, struct probe *probe)
{
    const struct shard_names *names = probe->type < node->settings.type_count
                                          ? node->names[probe->type].rule.names
                                          : NULL;
    char text[SHARD_TEXT_MAX];

    if (names && probe->shard != SHARD_NONE)
        (void)sim_shard_number(shard_name(names, probe->shard, text), &probe->shard);
}

void life_facts(struct world *world, struct worker *worker)
{
    uint32_t index = worker->site->index;
    struct trace *trace = machine_trace(worker->machine);
    struct trace_line line;
    struct probe probe;

    while (trace_next(trace, &line)) {
        observe(world, line, index, &line);
        if (world->settings.keep_lines || world->traces)
            keep_line(world, index, &line);
    }
    while (machine_next_probe(worker->machine, &probe)) {
        unname(worker->site->face.node, &probe);
        observe(world, probe, index, worker->number, &probe);
    }
}

static void all_facts(struct world *world, struct site *site)
{
    for (uint32_t i = 0; i < site->machines; i++)
        life_facts(world, &site->workers[i]);
}

/* Delivers all mail between the machines, on its way or not sent yet: a node that ends loses
 * none. */
static void hand_over_mail(struct world *world, struct site *site)
{
    uint64_t shown = site_runs(world, site);

    for (uint32_t i = 0; i < site->machines * site->machines; i++) {
        struct channel *channel = &site->channels[i];
        struct machine *to = site->workers[channel->to].machine;
        struct machine *from = site->workers[channel->from].machine;
        const struct mail *mail;
        uint32_t count;

        for (; channel->head < channel->mail.count; channel->head++)
            machine_mail(to, shown, &channel->mail.items[channel->head].mail,
                         1);
        if (channel->from == channel->to)
            continue;
        while ((count = machine_outgoing(from, channel->to, &mail))) {
            struct mail first = *mail;

            machine_sent(from, channel->to, 1);
            machine_mail(to, shown, &first, 1);
        }
    }
}

static void free_channels(struct world *world, struct site *site)
{
    for (uint32_t i = 0; i < site->machines * site->machines; i++) {
        struct channel *channel = &site->channels[i];

        for (uint32_t j = channel->head; j < channel->mail.count; j++)
            mail_free(&channel->mail.items[j].mail);
        vec_fini(&channel->mail);
        events_drop(&world->events, &channel->event);
    }
    mem_free(site->channels);
    site->channels = NULL;
}

static void drop_requests(struct site *site)
{
    struct driver_request request;

    for (uint32_t i = 0; i < site->machines; i++)
        while (machine_next_request(site->workers[i].machine, &request)) {
            journal_request_free(request.kind == DRIVER_STORE ? request.journal : NULL);
            mem_free(request.kind == DRIVER_LEASE ? request.lease : NULL);
            job_free(request.kind == DRIVER_JOB ? request.job : NULL);
            mem_free(request.kind == DRIVER_TYPE ? request.type : NULL);
            query_part_free(request.kind == DRIVER_QUERY ? request.query : NULL);
            look_call_free(request.kind == DRIVER_LOOK ? request.look : NULL);
            operate_call_free(request.kind == DRIVER_OPERATE ? request.operate : NULL);
            durable_request_free(request.kind == DRIVER_DURABLE ? request.durable
                                                           : NULL);
        }
}

static void end_pipes(struct world *world, struct site *site,
                      enum life_end end)
{
    for (uint32_t i = site->out.count; i-- > 0;) {
        struct pipe *pipe = site->out.items[i];

        if (!pipe->writer)
            continue;
        if (end == LIFE_DARK)
            pipe_leave(world, pipe, rng_next(&site->fate_rng));
        else if (end == LIFE_RESET)
            pipe_abort(world, pipe);
        else
            pipe_close(world, pipe);
    }
    for (uint32_t i = site->in.count; i-- > 0;) {
        struct pipe *pipe = site->in.items[i];

        if (!pipe->is_known)
            continue;
        if (end == LIFE_DARK)
            pipe_vanish(world, pipe, false);
        else
            pipe_refuse(world, pipe);
    }
}

void life_end(struct world *world, struct site *site, enum life_end end)
{
    bool crashes = end != LIFE_ENDED;

    (void)site_runs(world, site); /* the caller frees it */
    if (world->ready && world->ready->site == site)
        world->ready = NULL;
    if (!crashes) {
        hand_over_mail(world, site);
        node_close(site->face.node);
    }
    all_facts(world, site);
    drop_requests(site);
    free_channels(world, site);
    backend_end(world, site, crashes);
    leases_end(world, site);
    seeds_end(world, site);
    jobs_end(world, site);
    durable_end(world, site, crashes, end == LIFE_DARK);
    end_pipes(world, site, end);
    for (uint32_t i = 0; i < site->machines; i++) {
        events_drop(&world->events, &site->workers[i].event);
        vec_fini(&site->workers[i].links);
        vec_fini(&site->workers[i].writing);
    }
    node_free(site->face.node);
    mem_free(site->workers);
    site->workers = NULL;
    site->face.node = NULL;
    world->paused -= site->face.is_paused;
    site->face.is_paused = false;
    site->is_dark = end == LIFE_DARK;
    site->harm.ended += !crashes;
    digest_add(world, site->index, 255, end);
    observe(world, node_ended, site->index, crashes, site->face.error);
}
