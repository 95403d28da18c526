/* Implements a bounded queue of facts. */
#include "base/probe.h"

#include "base/check.h"
#include "base/limits.h"
#include "base/vec.h"

enum {
    KEPT_ITEMS_MAX = 32,
    KEPT_BYTES_MAX = 4096,
};

struct probes {
    VEC(struct probe) items; /* bytes.data is set when it is taken */
    VEC(size_t) ends;        /* of each item's bytes in `bytes` */
    struct buf bytes;
    uint32_t head;
    uint64_t lost;
};

struct probes *probes_new(void)
{
    return mem_alloc(sizeof(struct probes));
}

void probes_free(struct probes *probes)
{
    if (!probes)
        return;
    vec_fini(&probes->items);
    vec_fini(&probes->ends);
    buf_fini(&probes->bytes);
    mem_free(probes);
}

static bool is_full(const struct probes *probes, size_t size)
{
    return probes->items.count - probes->head >= PROBES_MAX ||
           probes->bytes.size + size > PROBES_BYTES_MAX;
}

void probes_put(struct probes *probes, const struct probe *probe)
{
    if (!probes)
        return;
    if (is_full(probes, probe->bytes.size)) {
        probes->lost++;
        return;
    }
    buf_put_slice(&probes->bytes, probe->bytes);
    vec_push(&probes->items, *probe);
    vec_push(&probes->ends, probes->bytes.size);
}

/* Frees the memory of a burst, such as a thousand new members. */
static void empty(struct probes *probes)
{
    probes->head = probes->items.count = probes->ends.count = 0;
    buf_clear(&probes->bytes);
    if (probes->items.capacity > KEPT_ITEMS_MAX) {
        vec_fini(&probes->items);
        vec_fini(&probes->ends);
    }
    if (probes->bytes.capacity > KEPT_BYTES_MAX)
        buf_fini(&probes->bytes);
}

bool probes_next(struct probes *probes, struct probe *probe)
{
    if (!probes)
        return false;
    if (probes->head == probes->items.count) {
        empty(probes);
        return false;
    }
    *probe = probes->items.items[probes->head];
    probe->bytes.data = probe->bytes.size
                            ? probes->bytes.data +
                                  probes->ends.items[probes->head] -
                                  probe->bytes.size
                            : NULL;
    probes->head++;
    return true;
}

uint64_t probes_lost(const struct probes *probes)
{
    return probes ? probes->lost : 0;
}

const char *probe_kind_text(enum probe_kind kind)
{
#define X(name, text) [name] = text,
    static const char *const texts[] = { PROBE_KINDS(X) };
#undef X

    return (unsigned)kind < PROBE_KIND_COUNT ? texts[kind] : "unknown";
}
