/* Implements reserved refs as a stack under a mutex. */
#define _GNU_SOURCE
#include "host/reserved_refs.h"

#include "actor/message.h"
#include "base/check.h"

void reserved_refs_init(struct reserved_refs *refs)
{
    check(uv_mutex_init(&refs->mutex) == 0);
}

void reserved_refs_fini(struct reserved_refs *refs)
{
    uv_mutex_destroy(&refs->mutex);
}

static uint32_t count_of(const struct reserved_refs *refs)
{
    return atomic_load_explicit(&refs->count, memory_order_relaxed);
}

static void set_count(struct reserved_refs *refs, uint32_t count)
{
    atomic_store_explicit(&refs->count, count, memory_order_relaxed);
}

void reserved_refs_fill(struct reserved_refs *refs, struct machine *machine)
{
    if (count_of(refs) >= RESERVED_REFS_MAX / 2)
        return;
    uv_mutex_lock(&refs->mutex);
    while (count_of(refs) < RESERVED_REFS_MAX) {
        struct sherd_ref ref = machine_reserve(machine);

        if (ref_is_nobody(ref))
            break; /* the next turn tries again */
        refs->items[count_of(refs)] = ref;
        set_count(refs, count_of(refs) + 1);
    }
    uv_mutex_unlock(&refs->mutex);
}

bool reserved_refs_take(struct reserved_refs *refs, struct sherd_ref *ref)
{
    bool is_there;

    uv_mutex_lock(&refs->mutex);
    is_there = count_of(refs) > 0;
    if (is_there) {
        set_count(refs, count_of(refs) - 1);
        *ref = refs->items[count_of(refs)];
    }
    uv_mutex_unlock(&refs->mutex);
    return is_there;
}

void reserved_refs_return(struct reserved_refs *refs, struct sherd_ref ref)
{
    uv_mutex_lock(&refs->mutex);
    /* The lane may have filled up; then the ref stays unused until the node's end. */
    if (count_of(refs) < RESERVED_REFS_MAX) {
        refs->items[count_of(refs)] = ref;
        set_count(refs, count_of(refs) + 1);
    }
    uv_mutex_unlock(&refs->mutex);
}
