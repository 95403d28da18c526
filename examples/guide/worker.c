/* Counts primes by jobs of an entity, with a timer and a watch:   worker */
/* [run] */
#include <sherd/sherd.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1, PRIMES, BUSY, STOP };
enum { COUNTED = 1 }; /* tags of jobs */

static struct sherd_system *node;
static const struct sherd_bytes nothing;
static int failed = 1;

/* [job] */
struct work {
    uint32_t below;  /* the input */
    uint32_t primes; /* the result */
};

/* On a thread of the pool: it may block. It sees nothing but its argument. */
static void count_primes(void *arg)
{
    struct work *work = arg;

    for (uint32_t n = 2, d; n < work->below; n++) {
        for (d = 2; d * d <= n && n % d; d++)
            ;
        work->primes += d * d > n;
    }
}

static const struct sherd_job count_job = { "count", count_primes, free };
/* [job end] */

static struct work *work_new(struct sherd_bytes body)
{
    struct work *work = calloc(1, sizeof *work);

    if (!work)
        abort();
    if (body.size == sizeof work->below) /* any node may send any bytes */
        memcpy(&work->below, body.data, body.size);
    return work;
}

struct worker {
    int open;     /* jobs */
    int stopping; /* the stop message has come */
};

/* [worker] */
static enum sherd_next worker_receive(struct sherd_ctx *ctx, void *self,
                                      const struct sherd_msg *msg)
{
    struct worker *worker = self;

    if (msg->kind == SHERD_JOB) { /* the reply goes to the asker that the job was started for */
        const struct work *work = sherd_job_arg(msg);

        sherd_reply(ctx, PRIMES, (struct sherd_bytes){ &work->primes, sizeof work->primes });
        worker->open--;
    } else if (msg->kind == SHERD_MESSAGE && msg->msg == COUNT) {
        if (sherd_job_start(ctx, &count_job, work_new(msg->body), COUNTED))
            sherd_reply(ctx, BUSY, nothing); /* too many jobs; the argument is freed already */
        else
            worker->open++;
    } else if (msg->kind == SHERD_MESSAGE && msg->msg == STOP) {
        worker->stopping = 1; /* the shard moves, or the entity is passivated */
    }
    return worker->stopping && !worker->open ? SHERD_STOP : SHERD_CONTINUE;
}
/* [worker end] */

enum { LOOK = 1 }; /* tags of timers */

static enum sherd_next watcher_receive(struct sherd_ctx *ctx, void *self,
                                       const struct sherd_msg *msg)
{
    uint32_t below = 100000, primes;

    (void)self;
    switch (msg->kind) {
    case SHERD_STARTED:
        sherd_timer(ctx, LOOK, 100); /* once; set it again for the next time */
        break;
    case SHERD_TIMER:
        sherd_entity_ask(ctx, "Worker", "one", COUNT,
                         (struct sherd_bytes){ &below, sizeof below }, 0, 30000);
        break;
    case SHERD_ANSWER:
        if (msg->msg == PRIMES) {
            memcpy(&primes, msg->body.data, sizeof primes);
            printf("%u primes below %u\n", primes, below);
            failed = primes != 9592;
        }
        sherd_watch(ctx, msg->sender); /* the incarnation that has answered */
        sherd_stop(ctx, msg->sender);
        break;
    case SHERD_NO_ANSWER:
        printf("no answer: %s, %s\n", sherd_reason_text(msg->reason),
               sherd_stage_text(msg->stage));
        sherd_timer(ctx, LOOK, 1000);
        break;
    case SHERD_TERMINATED: /* sender: the watched actor */
        sherd_leave(node);
        break;
    default:
        break;
    }
    return SHERD_CONTINUE;
}

int main(void)
{
    static const struct sherd_behavior watcher = { .name = "watcher",
                                                   .receive = watcher_receive };
    const struct sherd_options options = { .alone = 1, .port = SHERD_PORT_ANY, .log_level = SHERD_LOG_WARNING };
    const struct sherd_entity_type type = {
        .name = "Worker",
        .behavior = { .name = "worker",
                      .state_size = sizeof(struct worker),
                      .receive = worker_receive },
        .stop_msg = STOP,
    };
    int error = sherd_open(&node, &options);

    if (!error)
        error = sherd_entity_register(node, &type);
    if (!error)
        error = sherd_start(node);
    if (!error)
        error = sherd_system_spawn(node, &watcher, nothing, NULL);
    if (!error)
        error = sherd_wait(node);
    sherd_close(node);
    return error || failed;
}
