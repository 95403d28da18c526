/* Asks an entity on the main thread, and waits there for the answer:   call */
/* [run] */
#include <sherd/sherd.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ADD = 1, TOTAL };
static struct sherd_system *node;

static enum sherd_next counter(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    if (msg->kind == SHERD_MESSAGE && msg->msg == ADD) {
        uint32_t step;

        memcpy(&step, msg->body.data, sizeof step);
        *(uint32_t *)self += step;
        sherd_reply(ctx, TOTAL, (struct sherd_bytes){ self, sizeof(uint32_t) });
    }
    return SHERD_CONTINUE;
}

/* One question. The thread and the actor that asks for it share it; the last one frees it. */
struct call {
    struct call *next; /* of abandoned */
    pthread_mutex_t lock;
    pthread_cond_t ended;
    int holders, done;
    enum sherd_reason reason;
    uint32_t step, total;
    char id[64];
};

/* Calls that nobody waits for any more. Their actors may never start, so the program frees the
 * calls after sherd_close. */
static struct call *abandoned;
static pthread_mutex_t abandoned_lock = PTHREAD_MUTEX_INITIALIZER;

static void call_free(struct call *call)
{
    pthread_mutex_destroy(&call->lock);
    pthread_cond_destroy(&call->ended);
    free(call);
}

static void call_drop(struct call *call)
{
    pthread_mutex_lock(&call->lock);
    int last = --call->holders == 0;
    pthread_mutex_unlock(&call->lock);
    if (last)
        call_free(call);
}

static void call_abandon(struct call *call)
{
    pthread_mutex_lock(&abandoned_lock);
    call->next = abandoned;
    abandoned = call;
    pthread_mutex_unlock(&abandoned_lock);
}

static enum sherd_next caller(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    struct call *call;

    if (msg->kind == SHERD_STARTED) { /* the body is what sherd_system_spawn copied: a pointer */
        memcpy(self, msg->body.data, sizeof call);
        call = *(struct call **)self;
        sherd_entity_ask(ctx, "Counter", call->id, ADD,
                         (struct sherd_bytes){ &call->step, sizeof call->step }, 0, 5000);
        return SHERD_CONTINUE;
    }
    call = *(struct call **)self;
    pthread_mutex_lock(&call->lock);
    call->reason = msg->kind == SHERD_NO_ANSWER ? msg->reason : call->reason;
    if (msg->kind == SHERD_ANSWER) {
        call->reason = SHERD_REASON_NONE;
        memcpy(&call->total, msg->body.data, sizeof call->total);
    }
    pthread_mutex_unlock(&call->lock);
    return SHERD_STOP;
}

/* Runs once when the actor ends, whatever the cause is: wakes the thread. */
static void caller_release(void *self)
{
    struct call *call = *(struct call **)self;

    if (!call)
        return; /* the node ended before the actor started */
    pthread_mutex_lock(&call->lock);
    call->done = 1;
    pthread_cond_signal(&call->ended);
    pthread_mutex_unlock(&call->lock);
    call_drop(call);
}

/* Blocks at most 6 seconds. Never call it on a thread of the library. */
static enum sherd_reason counter_add(const char *id, uint32_t step, uint32_t *total)
{
    static const struct sherd_behavior behavior = { .name = "caller",
                                                    .state_size = sizeof(void *),
                                                    .receive = caller,
                                                    .release = caller_release };
    struct call *call = calloc(1, sizeof *call);
    enum sherd_reason reason = SHERD_REASON_SHUTTING_DOWN;
    struct timespec until;
    int late = 0;

    if (!call)
        abort();
    *call = (struct call){ .holders = 2, .reason = reason, .step = step };
    pthread_mutex_init(&call->lock, NULL);
    pthread_cond_init(&call->ended, NULL);
    snprintf(call->id, sizeof call->id, "%s", id);
    if (sherd_system_spawn(node, &behavior, (struct sherd_bytes){ &call, sizeof call }, NULL)) {
        call_free(call); /* the node is closing, or its inbox is full */
        return reason;
    }
    /* [wait] */
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 6;
    pthread_mutex_lock(&call->lock);
    while (!call->done && !late)
        late = pthread_cond_timedwait(&call->ended, &call->lock, &until);
    if (call->done)
        reason = call->reason;
    *total = call->total;
    pthread_mutex_unlock(&call->lock);
    /* [wait end] */
    if (late)
        call_abandon(call);
    else
        call_drop(call);
    return reason;
}

int main(void)
{
    const struct sherd_options options = { .alone = 1, .port = SHERD_PORT_ANY, .log_level = SHERD_LOG_WARNING };
    const struct sherd_entity_type type = {
        .name = "Counter",
        .behavior = { .name = "counter", .state_size = sizeof(uint32_t), .receive = counter }
    };
    uint32_t total = 0;
    int failed = sherd_open(&node, &options) || sherd_entity_register(node, &type) ||
                 sherd_start(node);

    for (uint32_t i = 1; i <= 3 && !failed; i++) {
        enum sherd_reason reason = counter_add("clicks", i, &total);

        if (reason)
            printf("no answer: %s\n", sherd_reason_text(reason));
        else
            printf("total %u\n", total);
        failed = reason != SHERD_REASON_NONE;
    }
    sherd_close(node);
    while (abandoned) { /* no thread of the library uses them now */
        struct call *call = abandoned;

        abandoned = call->next;
        call_free(call);
    }
    return failed || total != 6;
}
