/* Stores the dots of one element. */
#include "ddata/orset.h"

#include "base/check.h"

struct dot dots_at(const struct dots *dots, uint32_t index)
{
    check(index < dots->count);
    return dots->count == 1 ? (struct dot){ dots->is.version, dots->node }
                            : dots->is.many[index];
}

/* Capacity is a power of two, so that adding rarely copies. */
void dots_push(struct dots *dots, struct dot dot)
{
    uint32_t count = dots->count;

    check(!count || dots_at(dots, count - 1).node < dot.node);
    if (!count) {
        dots->node = dot.node;
        dots->is.version = dot.version;
    } else if (count == 1) {
        struct dot one = dots_at(dots, 0);

        dots->is.many = mem_alloc(2 * sizeof dot);
        dots->is.many[0] = one;
        dots->is.many[1] = dot;
    } else {
        if (!(count & (count - 1)))
            dots->is.many =
                mem_resize(dots->is.many, 2 * (size_t)count * sizeof dot);
        dots->is.many[count] = dot;
    }
    dots->count++;
}

void dots_fini(struct dots *dots)
{
    if (dots->count > 1)
        mem_free(dots->is.many);
    *dots = (struct dots){ 0 };
}
