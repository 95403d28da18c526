/* Keeps the addresses of peers that are expected to connect. */
#define _GNU_SOURCE
#include "host/expected_peers.h"

#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/vec.h"
#include "host/handle.h"
#include "host/dns_lookup.h"
#include "host/socket_address.h"

struct place {
    struct expected *expected;
    char host[HOST_MAX + 1];
    struct dns_lookup *lookup; /* null: none is running */
    VEC(struct in6_addr) addresses;
};

struct expected {
    uv_timer_t *timer;
    struct asker *asker; /* null: names are not looked up */
    VEC(struct place *) places;
};

/* Given. If empty, the last addresses stay. */
static void take(void *context, struct found *found)
{
    struct place *place = context;

    place->lookup = NULL;
    if (found->count)
        place->addresses.count = 0;
    for (uint32_t i = 0; i < found->count; i++)
        vec_push(&place->addresses, socket_address(&found->addresses[i].any));
    mem_free(found);
}

/* Numeric addresses count at once. */
static void look(struct place *place)
{
    struct asker *asker = place->expected->asker;
    struct found *number = dns_lookup_number(place->host);

    if (number)
        take(place, number);
    else if (asker && !place->lookup) /* else it goes on */
        place->lookup = dns_lookup_start(asker, place->host, take, place);
}

static void on_timer(uv_timer_t *timer)
{
    struct expected *expected = timer->data;

    for (uint32_t i = 0; expected && i < expected->places.count; i++)
        look(expected->places.items[i]);
}

struct expected *expected_new(uv_loop_t *loop, struct dns_lookups *lookups)
{
    struct expected *expected = mem_alloc(sizeof *expected);

    expected->asker = lookups ? asker_new(lookups, loop) : NULL;
    expected->timer = mem_alloc(sizeof *expected->timer);
    check(uv_timer_init(loop, expected->timer) == 0);
    expected->timer->data = expected;
    return expected;
}

static void place_free(struct place *place)
{
    dns_lookup_cancel(place->lookup);
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
    look(place);
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
            i++;
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
    asker_free(expected->asker);
    handle_close((uv_handle_t *)expected->timer);
    mem_free(expected);
}
