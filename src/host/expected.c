/* Who is expected, and where from. */
#define _GNU_SOURCE
#include "host/expected.h"

#include <netdb.h>
#include <string.h>
#include <sys/socket.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/vec.h"
#include "host/handle.h"
#include "host/socket_address.h"

struct place;

/* A look-up under way; freed by its callback. */
struct look {
    uv_getaddrinfo_t request;
    struct place *place; /* null when it is gone */
};

struct place {
    struct expected *expected;
    char host[HOST_MAX + 1];
    struct look *look;
    VEC(struct in6_addr) addresses;
};

struct expected {
    uv_loop_t *loop;
    uv_timer_t *timer;
    VEC(struct place *) places;
};

static void take(struct place *place, const struct addrinfo *found)
{
    place->addresses.count = 0;
    for (; found && place->addresses.count < EXPECTED_ADDRESSES_MAX;
         found = found->ai_next)
        if (found->ai_family == AF_INET || found->ai_family == AF_INET6)
            vec_push(&place->addresses, socket_address(found->ai_addr));
}

static void on_look(uv_getaddrinfo_t *request, int status,
                    struct addrinfo *found)
{
    struct look *look = (struct look *)request;

    if (look->place) {
        look->place->look = NULL;
        if (status == 0)
            take(look->place, found);
    }
    uv_freeaddrinfo(found);
    mem_free(look);
}

static void look_up(struct place *place)
{
    const struct addrinfo hints = { .ai_family = AF_UNSPEC,
                                    .ai_socktype = SOCK_STREAM };
    struct look *look;

    if (place->look)
        return; /* it takes its time */
    look = mem_alloc(sizeof *look);
    look->place = place;
    if (uv_getaddrinfo(place->expected->loop, &look->request, on_look,
                       place->host, NULL, &hints) == 0)
        place->look = look;
    else
        mem_free(look); /* no name can be like that */
}

/* False: it is a name. */
static bool is_number(struct place *place)
{
    const struct addrinfo hints = { .ai_family = AF_UNSPEC,
                                    .ai_socktype = SOCK_STREAM,
                                    .ai_flags = AI_NUMERICHOST };
    struct addrinfo *found = NULL;

    if (getaddrinfo(place->host, NULL, &hints, &found) != 0)
        return false;
    take(place, found);
    freeaddrinfo(found);
    return true;
}

static void on_timer(uv_timer_t *timer)
{
    struct expected *expected = timer->data;

    for (uint32_t i = 0; expected && i < expected->places.count; i++)
        if (!is_number(expected->places.items[i]))
            look_up(expected->places.items[i]);
}

struct expected *expected_new(uv_loop_t *loop)
{
    struct expected *expected = mem_alloc(sizeof *expected);

    expected->loop = loop;
    expected->timer = mem_alloc(sizeof *expected->timer);
    check(uv_timer_init(loop, expected->timer) == 0);
    expected->timer->data = expected;
    return expected;
}

static void place_free(struct place *place)
{
    if (place->look) {
        place->look->place = NULL;
        (void)uv_cancel((uv_req_t *)&place->look->request); /* else its end is not waited for */
    }
    vec_fini(&place->addresses);
    mem_free(place);
}

static struct place *find(const struct expected *expected, const char *host)
{
    for (uint32_t i = 0; i < expected->places.count; i++)
        if (strcmp(expected->places.items[i]->host, host) == 0)
            return expected->places.items[i];
    return NULL;
}

static void add(struct expected *expected, const char *host)
{
    struct place *place;

    if (find(expected, host) || expected->places.count >= MEMBER_SEEDS_MAX)
        return;
    place = mem_alloc(sizeof *place);
    place->expected = expected;
    memcpy(place->host, host, sizeof place->host);
    vec_push(&expected->places, place);
    if (!is_number(place))
        look_up(place);
}

static bool is_among(const char *host, const struct address *nodes,
                     uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(nodes[i].host, host) == 0)
            return true;
    return false;
}

void expected_set(struct expected *expected, const struct address *nodes,
                  uint32_t count)
{
    for (uint32_t i = 0; i < expected->places.count;) {
        struct place *place = expected->places.items[i];

        if (is_among(place->host, nodes, count)) {
            i++; /* what is known of it stays */
            continue;
        }
        vec_remove(&expected->places, i);
        place_free(place);
    }
    for (uint32_t i = 0; i < count; i++)
        add(expected, nodes[i].host);
    check(uv_timer_start(expected->timer, on_timer, EXPECTED_LOOK_MS,
                         EXPECTED_LOOK_MS) == 0);
}

bool expected_has(const struct expected *expected,
                  const struct in6_addr *address)
{
    for (uint32_t i = 0; i < expected->places.count; i++) {
        const struct place *place = expected->places.items[i];

        for (uint32_t k = 0; k < place->addresses.count; k++)
            if (IN6_ARE_ADDR_EQUAL(&place->addresses.items[k], address))
                return true;
    }
    return false;
}

void expected_free(struct expected *expected)
{
    if (!expected)
        return;
    for (uint32_t i = 0; i < expected->places.count; i++)
        place_free(expected->places.items[i]);
    vec_fini(&expected->places);
    handle_close((uv_handle_t *)expected->timer);
    mem_free(expected);
}
