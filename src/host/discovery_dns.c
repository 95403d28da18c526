/* Finds nodes by DNS, through c-ares and a loop that waits for its sockets. */
#define _GNU_SOURCE
#include "host/discovery.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ares.h>
#include <uv.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/vec.h"

#define CLASS_IN 1
#define TYPE_SRV 33
#define TRY_MS 1000 /* per server and try */
#define TRIES 2
#define LOOK_MS 100 /* between two checks whether to stop */

struct asking {
    const struct dns_question *question;
    ares_channel channel;
    VEC(struct address) found;
    int status; /* ARES_SUCCESS also if the name does not exist */
    bool is_done;
    uint32_t unfit; /* hosts without a port or with too long names */
};

static uv_once_t once = UV_ONCE_INIT;

static void init_ares(void)
{
    check(ares_library_init(ARES_LIB_INIT_ALL) == ARES_SUCCESS);
}

static void put(struct asking *asking, const char *host, uint32_t port)
{
    struct address address;
    size_t size = strlen(host);

    if (size && host[size - 1] == '.')
        size--;
    if (!address_set_named(&address, host, size, port)) {
        asking->unfit++;
        return;
    }
    for (char *at = address.host; *at; at++)
        if (*at >= 'A' && *at <= 'Z')
            *at = (char)(*at + ('a' - 'A')); /* DNS ignores case */
    vec_push(&asking->found, address);
}

static void on_srv(void *context, int status, int timeouts,
                   unsigned char *answer, int size)
{
    struct asking *asking = context;
    struct ares_srv_reply *replies = NULL;

    (void)timeouts;
    if (status == ARES_SUCCESS)
        status = ares_parse_srv_reply(answer, size, &replies);
    for (const struct ares_srv_reply *at = replies; at; at = at->next)
        put(asking, at->host, at->port);
    if (replies)
        ares_free_data(replies);
    asking->status = status;
    asking->is_done = true;
}

static void on_addresses(void *context, int status, int timeouts,
                         struct ares_addrinfo *result)
{
    struct asking *asking = context;
    const struct ares_addrinfo_node *at = result ? result->nodes : NULL;

    (void)timeouts;
    for (; at; at = at->ai_next) {
        char text[INET6_ADDRSTRLEN] = "";
        const void *bytes =
            at->ai_family == AF_INET
                ? (const void *)&((const struct sockaddr_in *)(const void *)
                                      at->ai_addr)->sin_addr
                : (const void *)&((const struct sockaddr_in6 *)(const void *)
                                      at->ai_addr)->sin6_addr;

        if (inet_ntop(at->ai_family, bytes, text, sizeof text))
            put(asking, text, asking->question->port);
    }
    if (result)
        ares_freeaddrinfo(result);
    asking->status = status;
    asking->is_done = true;
}

/* Also returns when c-ares must repeat a query. */
static void wait_once(ares_channel channel)
{
    ares_socket_t sockets[ARES_GETSOCK_MAXNUM];
    struct pollfd file_watch[ARES_GETSOCK_MAXNUM];
    /* c-ares's macros shift into the sign bit. Low bits: sockets to read, high bits: to write. */
    unsigned bits =
        (unsigned)ares_getsock(channel, sockets, ARES_GETSOCK_MAXNUM);
    nfds_t count = 0;

    for (int i = 0; i < ARES_GETSOCK_MAXNUM; i++) {
        bool reads = bits >> i & 1;
        bool writes = bits >> (i + ARES_GETSOCK_MAXNUM) & 1;
        short events = (short)((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));

        if (events)
            file_watch[count++] = (struct pollfd){ .fd = sockets[i],
                                              .events = events };
    }
    if (poll(file_watch, count, LOOK_MS) < 0)
        return;
    for (nfds_t i = 0; i < count; i++)
        ares_process_fd(channel,
                        file_watch[i].revents & ~POLLOUT ? file_watch[i].fd
                                                    : ARES_SOCKET_BAD,
                        file_watch[i].revents & POLLOUT ? file_watch[i].fd
                                                   : ARES_SOCKET_BAD);
    ares_process_fd(channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD); /* time-outs */
}

static void ask(struct asking *asking, const _Atomic bool *stopped)
{
    const struct dns_question *question = asking->question;
    uint64_t until = uv_hrtime() + question->timeout;
    const struct ares_addrinfo_hints hints = { .ai_family = AF_UNSPEC,
                                               .ai_socktype = SOCK_STREAM,
                                               .ai_flags = ARES_AI_NOSORT };

    if (question->is_srv)
        ares_search(asking->channel, question->name, CLASS_IN, TYPE_SRV,
                    on_srv, asking);
    else
        ares_getaddrinfo(asking->channel, question->name, NULL, &hints,
                         on_addresses, asking);
    while (!asking->is_done) {
        wait_once(asking->channel);
        if (uv_hrtime() >= until || atomic_load(stopped))
            ares_cancel(asking->channel); /* calls the callback at once */
    }
}

static int open_channel(struct asking *asking)
{
    const struct dns_question *question = asking->question;
    struct ares_options options = { .timeout = TRY_MS, .tries = TRIES };
    int status = ares_init_options(&asking->channel, &options,
                                   ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES);

    if (status != ARES_SUCCESS || !question->servers || !question->servers[0])
        return status;
    status = ares_set_servers_ports_csv(asking->channel, question->servers);
    if (status != ARES_SUCCESS)
        ares_destroy(asking->channel);
    return status;
}

static int by_address(const void *left, const void *right)
{
    return address_compare(left, right);
}

/* Sorts, removes duplicates, and keeps the first ones. */
static void make_list(struct asking *asking, struct seed_list *list,
                      char why[DISCOVERY_CAUSE_MAX])
{
    const char *name = asking->question->name;

    if (asking->found.count)
        qsort(asking->found.items, asking->found.count,
              sizeof *asking->found.items, by_address);
    for (uint32_t i = 0; i < asking->found.count; i++) {
        const struct address *address = &asking->found.items[i];

        if (i && address_equal(address, &asking->found.items[i - 1]))
            continue;
        if (list->count == MEMBER_SEEDS_MAX) {
            (void)snprintf(why, DISCOVERY_CAUSE_MAX,
                           "%s: more than %d nodes, the first are taken", name,
                           MEMBER_SEEDS_MAX);
            return;
        }
        list->addresses[list->count++] = *address;
    }
    if (asking->unfit)
        (void)snprintf(why, DISCOVERY_CAUSE_MAX,
                       "%s: %u of its hosts have no port or too long a name",
                       name, asking->unfit);
    else if (!list->count)
        (void)snprintf(why, DISCOVERY_CAUSE_MAX, "%s: DNS names no node", name);
}

struct seed_list *discovery_ask_dns(const struct dns_question *question,
                                 const _Atomic bool *stopped,
                                 char why[DISCOVERY_CAUSE_MAX])
{
    struct seed_list *list =
        mem_alloc(sizeof *list + MEMBER_SEEDS_MAX * sizeof(struct address));
    struct asking asking = { .question = question };

    uv_once(&once, init_ares);
    asking.status = open_channel(&asking);
    if (asking.status == ARES_SUCCESS) {
        ask(&asking, stopped);
        ares_destroy(asking.channel);
    }
    if (asking.status == ARES_SUCCESS)
        make_list(&asking, list, why);
    else
        (void)snprintf(why, DISCOVERY_CAUSE_MAX, "%s: %s", question->name,
                       asking.status == ARES_ECANCELLED
                           ? "DNS did not answer in time"
                           : ares_strerror(asking.status));
    vec_fini(&asking.found);
    return list;
}
