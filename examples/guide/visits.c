/* Counts the visits of pages:   visits PORT [HOST:PORT OF A MEMBER] */
/* [run: 65535 < tell home; ask home; fill 10; status] */
#include <sherd/sherd.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <unistd.h>

enum { VISIT = 1, COUNT }; /* the numbers of our messages */
struct count {
    uint32_t visits, port;
};
static struct sherd_system *node;
static struct sherd_client *client;
static const struct sherd_bytes nothing;

/* [entity] */
/* The entity. `self` is its state: one number, which begins as zero. */
static enum sherd_next page(struct sherd_ctx *ctx, void *self,
                            const struct sherd_msg *msg)
{
    if (msg->kind == SHERD_MESSAGE && msg->msg == VISIT) {
        struct count count = { ++*(uint32_t *)self, sherd_port(node) };

        sherd_reply(ctx, COUNT, (struct sherd_bytes){ &count, sizeof count });
    }
    return SHERD_CONTINUE;
}
/* [entity end] */

/* [ask] */
/* Asks a page, waits for the answer, and prints it. */
static int ask(const char *name)
{
    struct sherd_entity_ref ref;
    struct sherd_request request = { .entity = &ref, .msg = VISIT, .timeout_ms = 5000 };
    struct sherd_completion done;
    int error = sherd_entity_ref_make(&ref, "Page", name, NULL);

    if (!error)
        error = sherd_client_ask(client, &request, NULL);
    if (error)
        return error;
    sherd_client_poll(client, &done, 1, -1); /* each accepted request ends */
    if (done.status == SHERD_CLIENT_ANSWERED) {
        const struct count *count = done.body.data;

        printf("visits=%u, the page lives on port %u\n", count->visits, count->port);
    } else {
        printf("no answer: %s\n", sherd_client_status_text(done.status));
    }
    sherd_completions_free(&done, 1);
    return 0;
}
/* [ask end] */

static void print_status(void)
{
    struct sherd_status status;

    if (sherd_get_status(node, &status))
        return; /* the node has not started or has ended */
    for (uint32_t i = 0; i < status.member_count; i++)
        printf("member %s, %s\n", status.members[i].address,
               status.members[i].reachable ? "reachable" : "unreachable");
    printf("ready=%d shards=%u pages=%llu\n", sherd_is_ready(node), status.types[0].shards_here,
           (unsigned long long)status.types[0].entities_here);
    sherd_status_free(&status);
}

static int obey(const char *line)
{
    char name[64] = "";
    unsigned pages;
    int error = 0;

    /* [send] */
    if (sscanf(line, "tell %63s", name) == 1)
        error = sherd_system_entity_tell(node, "Page", name, VISIT, nothing);
    else if (sscanf(line, "ask %63s", name) == 1)
        error = ask(name);
    /* [send end] */
    else if (sscanf(line, "down %63s", name) == 1)
        error = sherd_down(node, name);
    else if (sscanf(line, "fill %u", &pages) == 1)
        for (; pages && !error; pages--) {
            snprintf(name, sizeof name, "page-%u", pages);
            error = sherd_system_entity_tell(node, "Page", name, VISIT, nothing);
        }
    else
        print_status();
    return error;
}

static void on_signal(int number)
{
    (void)number;
    sherd_leave(node); /* a signal handler may call it */
}

static pthread_t main_thread;

/* The node is no member any more: ends the wait for the next command. */
static void on_removed(void *user)
{
    (void)user;
    pthread_kill(main_thread, SIGTERM);
}

/* Waits for a command. Signals are blocked elsewhere, so one that arrives earlier ends the wait. */
static int has_command(void)
{
    sigset_t none;
    fd_set input;

    sigemptyset(&none);
    FD_ZERO(&input);
    FD_SET(STDIN_FILENO, &input);
    return pselect(STDIN_FILENO + 1, &input, NULL, NULL, NULL, &none) > 0;
}

int main(int argc, char **argv)
{
    sigset_t signals;
    const char *seeds[] = { argc > 2 ? argv[2] : NULL, NULL };
    /* [open] */
    struct sherd_options options = {
        .port = (uint16_t)(argc > 1 ? atoi(argv[1]) : 2551),
        .alone = argc < 3,   /* the first node founds the cluster */
        .seed_nodes = seeds, /* others join the member that is named */
    };
    const struct sherd_entity_type type = {
        .name = "Page",
        .behavior = { .name = "page", .state_size = sizeof(uint32_t), .receive = page },
        .shards = 20,
        .rebalance_absolute_limit = 20, /* all that should move, moves at once */
        .rebalance_relative_limit = 1,
        .idle_ms = UINT64_MAX, /* pages stay in memory */
    };
    /* [open end] */
    const struct sherd_client_options waits = { .waits_until_up = 1 };
    char line[100];
    int error;

    setvbuf(stdin, NULL, _IONBF, 0); /* otherwise commands would wait in a buffer */
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    main_thread = pthread_self();
    error = sherd_open(&node, &options);
    if (!error)
        error = sherd_entity_register(node, &type);
    if (!error)
        error = sherd_start(node);
    if (!error)
        error = sherd_client_open(&client, node, &waits);
    if (!error) {
        sigaction(SIGINT, &(struct sigaction){ .sa_handler = on_signal }, NULL);
        sigaction(SIGTERM, &(struct sigaction){ .sa_handler = on_signal }, NULL);
        error = sherd_on_removed(node, on_removed, NULL);
        while (!error && has_command() && fgets(line, sizeof line, stdin))
            error = obey(line);
        pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
        sherd_leave(node);
        error = sherd_wait(node);
    }
    if (error)
        fprintf(stderr, "visits: %s\n", sherd_strerror(error));
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    sherd_client_close(client);
    sherd_close(node);
    return error != 0;
}
