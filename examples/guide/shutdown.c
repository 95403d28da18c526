/* Shows when a node is ready, and ends it phase by phase:   shutdown PORT [once] */
/* [run: 65535 once] */
#include <sherd/sherd.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LOOK = 1, REQUEST_DONE }; /* tags of timers */

static struct sherd_system *node;
static int once, closed, finished;

/* [ready] */
/* Keeps a file as long as the node is ready: a probe looks for it. Called each second. */
static void show_readiness(void)
{
    if (sherd_is_ready(node)) {
        FILE *file = fopen("ready", "w");

        if (file)
            fclose(file);
    } else {
        remove("ready");
    }
}
/* [ready end] */

/* [tasks] */
/* The front of a service: it accepts requests, and must finish them before the node's shards go. */
struct front {
    int open; /* requests that are not answered yet */
    int draining;
};

static enum sherd_next front_receive(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    struct front *front = self;

    if (msg->kind == SHERD_STARTED) {
        if (sherd_shutdown_task(ctx, SHERD_SERVICE_UNBIND, "close the listener") ||
            sherd_shutdown_task(ctx, SHERD_SERVICE_REQUESTS_DONE, "finish requests"))
            return SHERD_FAIL;
    } else if (msg->kind == SHERD_SHUTDOWN && msg->msg == SHERD_SERVICE_UNBIND) {
        closed = 1; /* accept nothing new */
        sherd_shutdown_done(ctx, SHERD_SERVICE_UNBIND);
    } else if (msg->kind == SHERD_SHUTDOWN && msg->msg == SHERD_SERVICE_REQUESTS_DONE) {
        front->draining = 1;
    } else if (msg->kind == SHERD_TIMER && msg->tag == REQUEST_DONE) {
        front->open--;
    }
    if (front->draining && !front->open) {
        finished = 1;
        sherd_shutdown_done(ctx, SHERD_SERVICE_REQUESTS_DONE); /* twice is harmless */
    }
    /* [tasks end] */
    if (msg->kind == SHERD_STARTED || (msg->kind == SHERD_TIMER && msg->tag == LOOK)) {
        show_readiness();
        sherd_timer(ctx, LOOK, 1000);
    }
    if (once && msg->kind == SHERD_TIMER && msg->tag == LOOK && access("ready", F_OK) == 0) {
        once = 0;
        front->open = 1; /* a request that takes half a second; SIGTERM comes before its end */
        sherd_timer(ctx, REQUEST_DONE, 500);
        kill(getpid(), SIGTERM);
    }
    return SHERD_CONTINUE;
}

static void start_front(void *user)
{
    static const struct sherd_behavior behavior = { .name = "front",
                                                    .state_size = sizeof(struct front),
                                                    .receive = front_receive };

    (void)user;
    if (sherd_system_spawn(node, &behavior, (struct sherd_bytes){ NULL, 0 }, NULL))
        abort();
}

int main(int argc, char **argv)
{
    once = argc > 2;
    /* [main] */
    const struct sherd_options options = {
        .port = (uint16_t)(argc > 1 ? atoi(argv[1]) : 2551),
        .alone = 1,
        .log_level = SHERD_LOG_WARNING,
        .config_text = "akka.cluster {\n"
                       "  app-version = \"1.4.0\"\n"
                       "  downing-provider-class = akka.cluster.sbr.SplitBrainResolverProvider\n"
                       "}\n",
    };
    int error = sherd_open(&node, &options);

    if (!error)
        error = sherd_on_up(node, start_front, NULL); /* a service opens when its node is up */
    if (!error)
        error = sherd_run(node); /* until SIGINT or SIGTERM, and the whole graceful end */
    remove("ready");
    if (error)
        fprintf(stderr, "shutdown: %s\n", sherd_strerror(error));
    /* [main end] */
    sherd_close(node);
    return error || (argc > 2 && !(closed && finished));
}
