/* Runs a job when its drawn time ends, so jobs of a node end in any order. Jobs of a node that ends
 * never run. */
#include "sim/world/inside.h"

#include "actor/job.h"
#include "base/check.h"
#include "sim/seed/streams.h"

#define JOB_MIN (MS / 10)
#define JOB_MEAN (20 * MS)

struct labour {
    struct event event;
    struct site *site;
    struct job *job;
    uint32_t at; /* index in the site's list */
};

void jobs_take(struct world *world, struct site *site, struct job *job)
{
    struct labour *labour = mem_alloc(sizeof *labour);

    labour->event.kind = EVENT_JOB;
    labour->site = site;
    labour->job = job;
    labour->at = site->labours.count;
    vec_push(&site->labours, labour);
    events_put(&world->events, &labour->event,
               world->now + stream_delay(&site->job_rng, JOB_MIN, JOB_MEAN));
}

struct site *jobs_site(const struct event *event)
{
    return ((const struct labour *)(const void *)event)->site;
}

void jobs_event(struct world *world, struct event *event)
{
    struct labour *labour = (struct labour *)(void *)event;
    struct site *site = labour->site;
    struct job *job = labour->job;
    struct worker *worker = &site->workers[job->machine];
    struct labour *last = site->labours.items[site->labours.count - 1];

    last->at = labour->at;
    site->labours.items[labour->at] = last;
    site->labours.count--;
    mem_free(labour);
    job->face.run(job->arg);
    digest_add(world, site->index, EVENT_JOB, job->tag);
    worker_touched(world, worker);
    machine_job_done(worker->machine, site_runs(world, site),
                     job);
}

void jobs_end(struct world *world, struct site *site)
{
    for (uint32_t i = 0; i < site->labours.count; i++) {
        struct labour *labour = site->labours.items[i];

        events_drop(&world->events, &labour->event);
        job_free(labour->job);
        mem_free(labour);
    }
    vec_fini(&site->labours);
}
