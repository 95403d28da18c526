/* Implements wrong.h. */
#include "mgmt/wrong.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"

void wrong_tokens_fini(struct wrong_tokens *wrong)
{
    vec_fini(&wrong->items);
}

/* Null: none within the last minute. */
static struct wrong *find(struct wrong_tokens *wrong, const char *address, uint64_t now)
{
    for (uint32_t i = 0; i < wrong->items.count; i++) {
        struct wrong *one = &wrong->items.items[i];

        if (strcmp(one->address, address) != 0)
            continue;
        if (now < one->since + MGMT_WRONG_MS)
            return one;
        vec_remove(&wrong->items, i);
        return NULL;
    }
    return NULL;
}

bool wrong_tokens_too_many(struct wrong_tokens *wrong, const char *address, uint64_t now)
{
    const struct wrong *one = find(wrong, address, now);

    return one && one->count >= MGMT_WRONG_MAX;
}

uint32_t wrong_tokens_add(struct wrong_tokens *wrong, const char *address, uint64_t now)
{
    struct wrong *one = find(wrong, address, now);

    if (!one) {
        struct wrong first = { .since = now };

        (void)snprintf(first.address, sizeof first.address, "%s", address); /* fits */
        if (wrong->items.count == MGMT_WRONG_ADDRESSES_MAX)
            vec_remove(&wrong->items, 0);
        vec_push(&wrong->items, first);
        one = &wrong->items.items[wrong->items.count - 1];
    }
    if (++one->count == MGMT_WRONG_MAX)
        one->since = now; /* the minute of waiting begins */
    return one->count;
}
