/* Runs persistent entities through the public interface; see persist_entities.h. */
#define _GNU_SOURCE
#include "persist_entities.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "systems.h"

enum { PERSIST = 1, TELL_COUNT };

#define UNDER_WAY_MAX 2000
#define WARM_IDS 1000 /* entities without events, enough to start every shard */
#define WAITS_MAX 200000

/* The state of an entity: the number of its events. */
struct counter {
    uint32_t events;
};

/* The body of its answer. */
struct answer {
    uint32_t number;
    uint32_t events;
};

static void apply(void *self, uint32_t type, struct sherd_bytes event)
{
    (void)type;
    (void)event;
    ((struct counter *)self)->events++;
}

static enum sherd_next on_counter(struct sherd_ctx *ctx, void *self,
                                  const struct sherd_msg *msg)
{
    struct counter *counter = self;
    struct answer answer;

    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    memcpy(&answer.number, msg->body.data, sizeof answer.number);
    if (msg->msg == PERSIST)
        sherd_persist(ctx, 1, msg->body);
    answer.events = counter->events;
    sherd_reply(ctx, msg->msg,
                (struct sherd_bytes){&answer, sizeof answer});
    return SHERD_CONTINUE;
}

static struct sherd_system *open_journal(const char *journal)
{
    const struct sherd_options options = {
        .port = SHERD_PORT_ANY,
        .alone = 1,
        .lanes = 1,
        .journal = journal,
        .log_level = SHERD_LOG_ERROR,
    };
    const struct sherd_entity_type type = {
        .name = "Counter",
        .behavior = {.name = "counter",
                     .state_size = sizeof(struct counter),
                     .receive = on_counter,
                     .apply = apply},
        .shards = 100,
    };
    struct sherd_system *system;

    system = bench_open_system(&options, &type);
    bench_wait_members(system, 1);
    return system;
}

/* ---- the driver: one actor at a time ---- */

static struct {
    uint32_t entities;
    uint32_t events;  /* events of each entity, expected or to store */
    double seconds;   /* 0: runs until all entities have answered */
    uint64_t wanted;
    double rate;
    double waits[WAITS_MAX];
    uint32_t wait_count;
} work;

struct driver {
    uint32_t warm; /* answers of the WARM_IDS so far */
    uint64_t sent, answered;
    uint64_t began_at;
    uint64_t sent_at; /* time of the last command */
};

static void command(struct sherd_ctx *ctx, const char *kind, uint32_t number,
                    uint32_t what)
{
    static uint8_t event[EVENT_SIZE] = {9};
    char id[32];

    memcpy(event, &number, sizeof number);
    (void)snprintf(id, sizeof id, "%s-%u", kind, number); /* fits */
    sherd_entity_tell(ctx, "Counter", id, what,
                      (struct sherd_bytes){event, sizeof event});
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return a < b ? -1 : a > b;
}

static enum sherd_next end(struct driver *driver, uint64_t now)
{
    work.rate = (double)driver->answered /
                ((double)(now - driver->began_at) / 1e9) / 1e3;
    bench_finish();
    return SHERD_STOP;
}

static void expect(const struct sherd_msg *msg, uint32_t events)
{
    struct answer answer;

    memcpy(&answer, msg->body.data, sizeof answer);
    if (answer.events == events)
        return;
    (void)fprintf(stderr, "persist: entity %u has %u events, not %u\n",
                  answer.number, answer.events, events);
    exit(1);
}

/* Starts all shards: they run when all of these entities have answered. */
static int is_warm(struct sherd_ctx *ctx, struct driver *driver,
                   const struct sherd_msg *msg)
{
    if (driver->warm > WARM_IDS)
        return 1;
    if (msg->kind == SHERD_STARTED)
        for (uint32_t i = 0; i < WARM_IDS; i++)
            command(ctx, "warm", i, TELL_COUNT);
    else if (msg->kind == SHERD_MESSAGE)
        expect(msg, 0);
    return driver->warm++ == WARM_IDS;
}

static enum sherd_next on_writer(struct sherd_ctx *ctx, void *self,
                                 const struct sherd_msg *msg)
{
    struct driver *driver = self;
    uint32_t number;
    uint64_t now;

    if (!is_warm(ctx, driver, msg))
        return SHERD_CONTINUE;
    now = bench_now_ns();
    if (!driver->began_at) {
        driver->began_at = driver->sent_at = now;
        for (uint32_t i = 0; i < work.entities && i < UNDER_WAY_MAX; i++)
            command(ctx, "user", (uint32_t)driver->sent++, PERSIST);
        return SHERD_CONTINUE;
    }
    if (msg->kind != SHERD_MESSAGE || msg->msg != PERSIST)
        return SHERD_CONTINUE;
    driver->answered++;
    if (work.entities == 1 && work.wait_count < WAITS_MAX)
        work.waits[work.wait_count++] = (double)(now - driver->sent_at) / 1e3;
    if (work.seconds ? now - driver->began_at > (uint64_t)(work.seconds * 1e9)
                     : driver->answered == work.wanted)
        return end(driver, now);
    driver->sent_at = now;
    if (work.seconds) {
        memcpy(&number, msg->body.data, sizeof number);
        command(ctx, "user", number, PERSIST);
    } else if (driver->sent < work.wanted) {
        command(ctx, "user", (uint32_t)(driver->sent++ % work.entities),
                PERSIST);
    }
    return SHERD_CONTINUE;
}

static enum sherd_next on_reader(struct sherd_ctx *ctx, void *self,
                                 const struct sherd_msg *msg)
{
    struct driver *driver = self;
    uint32_t under_way =
        work.entities < UNDER_WAY_MAX ? work.entities : UNDER_WAY_MAX;

    if (!is_warm(ctx, driver, msg))
        return SHERD_CONTINUE;
    if (!driver->began_at) {
        driver->began_at = bench_now_ns();
        while (driver->sent < under_way)
            command(ctx, "user",
                    entity_at((uint32_t)driver->sent++, work.entities),
                    TELL_COUNT);
        return SHERD_CONTINUE;
    }
    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    expect(msg, work.events);
    driver->answered++;
    if (driver->sent < work.entities)
        command(ctx, "user",
                entity_at((uint32_t)driver->sent++, work.entities),
                TELL_COUNT);
    if (driver->answered < work.entities)
        return SHERD_CONTINUE;
    return end(driver, bench_now_ns());
}

static double drive(const char *journal, uint32_t entities, uint32_t events,
                    double seconds,
                    enum sherd_next (*receive)(struct sherd_ctx *, void *,
                                               const struct sherd_msg *))
{
    struct sherd_system *system = open_journal(journal);

    work.entities = entities;
    work.events = events;
    work.seconds = seconds;
    work.wanted = (uint64_t)entities * events;
    work.wait_count = 0;
    bench_run_actor(system, "driver", sizeof(struct driver), receive);
    sherd_close(system);
    return work.rate;
}

double entities_write(const char *journal, uint32_t entities, double seconds,
                      double *wait_us)
{
    double rate = drive(journal, entities, 0, seconds, on_writer);

    if (wait_us && work.wait_count) {
        qsort(work.waits, work.wait_count, sizeof *work.waits, compare);
        *wait_us = work.waits[work.wait_count / 2];
    }
    return rate;
}

void entities_fill(const char *journal, uint32_t entities, uint32_t events)
{
    (void)drive(journal, entities, events, 0, on_writer);
}

double entities_recover(const char *journal, uint32_t entities, uint32_t events)
{
    return drive(journal, entities, events, 0, on_reader);
}
