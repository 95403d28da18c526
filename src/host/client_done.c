/* Gives the completions of a client to its program: through a queue with a file descriptor, or by
 * calls on a thread. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/check.h"
#include "host/client.h"

#define TAKEN_MAX 16 /* completions that the thread takes at a time */

/* ---- the descriptor ---- */

/* The value counts nothing: a reader looks at all ports. */
void client_signal(struct sherd_client *client)
{
    const uint64_t one = 1;

    if (atomic_exchange(&client->is_signalled, true))
        return;
    while (write(client->fd, &one, sizeof one) < 0)
        check(errno == EINTR);
}

/* All ports were empty. A completion that came since then makes it readable again: its port has
 * signalled before this call reset the flag, or finds it reset. */
static void unsignal(struct sherd_client *client)
{
    uint64_t value;

    while (read(client->fd, &value, sizeof value) < 0 && errno == EINTR)
        ; /* otherwise it was not readable */
    atomic_store(&client->is_signalled, false);
    for (uint32_t i = 0; i < client->port_count; i++)
        if (port_has_done(&client->ports[i]->port))
            client_signal(client);
}

static uint32_t take(struct sherd_client *client,
                     struct sherd_completion *completions, uint32_t max)
{
    uint32_t first = atomic_fetch_add(&client->next_port, 1);
    uint32_t total = 0;

    for (uint32_t i = 0; i < client->port_count && total < max; i++) {
        struct client_port *port =
            client->ports[(first + i) % client->port_count];
        uint32_t count;
        struct client_request *list =
            port_take(&port->port, max - total, &count);

        while (list) {
            struct client_request *next = list->next;

            completions[total++] = client_completion(list);
            list = next;
        }
    }
    if (total < max)
        unsignal(client);
    return total;
}

/* ---- the queue ---- */

/* Waits until the descriptor is readable. False: not in time. */
static bool await(const struct sherd_client *client, int timeout_ms)
{
    struct pollfd one = { .fd = client->fd, .events = POLLIN };

    return poll(&one, 1, timeout_ms) > 0;
}

static int left_of(uint64_t until)
{
    uint64_t now = uv_hrtime();

    return now >= until ? 0 : (int)((until - now + MS - 1) / MS);
}

uint32_t sherd_client_poll(struct sherd_client *client,
                           struct sherd_completion *completions, uint32_t max,
                           int timeout_ms)
{
    uint64_t until = uv_hrtime() +
                     (timeout_ms > 0 ? (uint64_t)timeout_ms * MS : 0);
    uint32_t count;

    if (!client || !max || client->options.done ||
        fork_watch_is_child(client->mark))
        return 0;
    while ((count = take(client, completions, max)) == 0) {
        int left = timeout_ms < 0 ? -1 : left_of(until);

        if (left == 0)
            return 0;
        (void)await(client, left); /* another thread may have taken them */
    }
    (void)atomic_fetch_sub(&client->open, count);
    return count;
}

int sherd_client_fd(const struct sherd_client *client)
{
    return !client || client->options.done ? -1 : client->fd;
}

/* ---- callbacks ---- */

static void call_all(struct sherd_client *client,
                     struct sherd_completion *completions, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        client->options.done(client->options.done_user, &completions[i]);
        sherd_completions_free(&completions[i], 1);
        (void)atomic_fetch_sub(&client->open, 1);
    }
}

static void serve(void *argument)
{
    struct sherd_client *client = argument;
    struct sherd_completion taken[TAKEN_MAX];

    (void)pthread_setname_np(pthread_self(), "sherd-client"); /* only for debugging */
    for (;;) {
        bool is_last = atomic_load(&client->is_closing); /* before the look */
        uint32_t count = take(client, taken, TAKEN_MAX);

        call_all(client, taken, count);
        if (count == 0 && is_last)
            return;
        if (count == 0)
            (void)await(client, -1);
    }
}

bool client_is_calling(const struct sherd_client *client)
{
    uv_thread_t self = uv_thread_self();

    return client->has_thread && uv_thread_equal(&self, &client->thread);
}

int client_done_open(struct sherd_client *client)
{
    client->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return client->fd < 0 ? SHERD_ESYSTEM : 0;
}

int client_done_start(struct sherd_client *client)
{
    client->has_thread =
        client->options.done &&
        uv_thread_create(&client->thread, serve, client) == 0;
    return client->options.done && !client->has_thread ? SHERD_ESYSTEM : 0;
}

void client_done_close(struct sherd_client *client)
{
    if (client->has_thread) {
        atomic_store(&client->is_closing, true);
        client_signal(client);
        check(uv_thread_join(&client->thread) == 0);
    }
    (void)close(client->fd); /* no byte is lost with it */
}
