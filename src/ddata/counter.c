/* Implements counters. A node's share only grows, so the larger of two is newer. A delta is the new
 * share, and may come twice. A PN counter is two of them. */
#include "ddata/inside.h"

#include "base/sort.h"
#include "base/sorted.h"

static int order_of_node(const void *item, const void *key)
{
    return node_compare(&((const struct share *)item)->node, key);
}

static struct share *find(const struct counter *counter,
                          const struct node_id *node)
{
    uint32_t at = sorted_vec_place(&counter->shares, order_of_node, node);

    return at < counter->shares.count &&
                   node_equal(&counter->shares.items[at].node, node)
               ? &counter->shares.items[at]
               : NULL;
}

void counter_fini(struct counter *counter)
{
    vec_fini(&counter->shares);
}

void counter_copy(struct counter *copy, const struct counter *counter)
{
    for (uint32_t i = 0; i < counter->shares.count; i++)
        vec_push(&copy->shares, counter->shares.items[i]);
}

bool counter_equal(const struct counter *left, const struct counter *right)
{
    if (left->shares.count != right->shares.count)
        return false;
    for (uint32_t i = 0; i < left->shares.count; i++) {
        const struct share *a = &left->shares.items[i];
        const struct share *b = &right->shares.items[i];

        if (!node_equal(&a->node, &b->node) ||
            natural_compare(a->amount, b->amount))
            return false;
    }
    return true;
}

static int compare_shares(const void *left, const void *right)
{
    return node_compare(&((const struct share *)left)->node,
                        &((const struct share *)right)->node);
}

bool counter_sort(struct counter *counter)
{
    sort_stable(counter->shares.items, counter->shares.count,
                sizeof(struct share), compare_shares);
    for (uint32_t i = 1; i < counter->shares.count; i++)
        if (!compare_shares(&counter->shares.items[i - 1],
                            &counter->shares.items[i]))
            return false;
    return true;
}

static void put(struct counter *counter, const struct node_id *node,
                struct dd_natural amount)
{
    uint32_t at = sorted_vec_place(&counter->shares, order_of_node, node);
    struct share share = { *node, amount };

    vec_push(&counter->shares, share);
    memmove(&counter->shares.items[at + 1], &counter->shares.items[at],
            (counter->shares.count - 1 - at) * sizeof share);
    counter->shares.items[at] = share;
}

/* True if it was below. */
static bool raise(struct counter *counter, const struct node_id *node,
                  struct dd_natural amount)
{
    struct share *share = find(counter, node);

    if (!share) {
        put(counter, node, amount);
        return true;
    }
    if (natural_compare(share->amount, amount) >= 0)
        return false;
    share->amount = amount;
    return true;
}

#define FEW 8 /* shares that are looked up one by one */

bool counter_merge(struct counter *counter, const struct counter *other)
{
    struct counter merged = { 0 };
    bool changed = false;
    uint32_t l = 0;
    uint32_t r = 0;

    if (other->shares.count <= FEW) {
        for (; r < other->shares.count; r++)
            if (raise(counter, &other->shares.items[r].node,
                      other->shares.items[r].amount))
                changed = true;
        return changed;
    }
    while (l < counter->shares.count || r < other->shares.count) {
        const struct share *a = &counter->shares.items[l];
        const struct share *b = &other->shares.items[r];
        int order = l == counter->shares.count  ? 1
                    : r == other->shares.count ? -1
                                               : compare_shares(a, b);
        bool is_theirs = order > 0 ||
                         (!order && natural_compare(b->amount, a->amount) > 0);

        vec_push(&merged.shares, is_theirs ? *b : *a);
        changed = changed || is_theirs;
        l += order <= 0;
        r += order >= 0;
    }
    counter_fini(counter);
    *counter = merged;
    return changed;
}

/* The delta gets the new share. */
static void add(struct counter *counter, const struct node_id *node,
                struct dd_natural amount, struct counter *delta)
{
    const struct share *share = find(counter, node);
    struct dd_natural sum = amount;

    if (share)
        sum = natural_limit(natural_add(share->amount, amount));
    raise(counter, node, sum);
    raise(delta, node, sum);
}

static struct dd_natural sum_of(const struct counter *counter)
{
    struct dd_natural sum = { 0 };

    for (uint32_t i = 0; i < counter->shares.count; i++)
        sum = natural_add(sum, counter->shares.items[i].amount);
    return sum;
}

bool counter_has(const struct counter *counter, const struct node_id *node)
{
    return find(counter, node) != NULL;
}

void counter_add_nodes(const struct counter *counter, struct dd_nodes *nodes)
{
    for (uint32_t i = 0; i < counter->shares.count; i++)
        dd_nodes_add(nodes, &counter->shares.items[i].node);
}

bool counter_drop(struct counter *counter, const struct node_id *node)
{
    struct share *share = find(counter, node);

    if (!share)
        return false;
    vec_remove(&counter->shares, (uint32_t)(share - counter->shares.items));
    return true;
}

bool counter_leave(struct counter *counter, const struct node_id *node)
{
    const struct share *share = find(counter, node);
    uint32_t count = share != NULL;

    if (counter->shares.count == count)
        return false;
    if (share)
        counter->shares.items[0] = *share;
    counter->shares.count = count;
    return true;
}

/* Moves a share to another node. */
static bool collapse(struct counter *counter, const struct node_id *removed,
                     const struct node_id *into, struct counter *delta)
{
    const struct share *share = find(counter, removed);
    struct dd_natural amount;

    if (!share || node_equal(removed, into))
        return false;
    amount = share->amount;
    counter_drop(counter, removed);
    add(counter, into, amount, delta);
    return true;
}

bool counter_prune(struct dd_value *value, const struct node_id *removed,
                   const struct node_id *into)
{
    if (!counter_has(&value->is.counter, removed))
        return false;
    return collapse(&value->is.counter, removed, into,
                    &value_pending(value, DD_GCOUNTER)->is.counter);
}

bool pncounter_prune(struct dd_value *value, const struct node_id *removed,
                     const struct node_id *into)
{
    struct pncounter *counter = &value->is.pncounter;
    struct pncounter *delta;
    bool changed;

    if (!counter_has(&counter->up, removed) &&
        !counter_has(&counter->down, removed))
        return false;
    delta = &value_pending(value, DD_PNCOUNTER)->is.pncounter;
    changed = collapse(&counter->up, removed, into, &delta->up);
    if (collapse(&counter->down, removed, into, &delta->down))
        changed = true;
    return changed;
}

void dd_gcounter_add(struct dd_value *value, const struct node_id *node,
                     uint64_t amount)
{
    check(value->kind == DD_GCOUNTER);
    if (!amount)
        return;
    add(&value->is.counter, node, (struct dd_natural){ 0, amount },
        &value_pending(value, DD_GCOUNTER)->is.counter);
    value_touch(value);
}

struct dd_natural dd_gcounter_get(const struct dd_value *value)
{
    check(value->kind == DD_GCOUNTER);
    return sum_of(&value->is.counter);
}

void dd_pncounter_add(struct dd_value *value, const struct node_id *node,
                      int64_t amount)
{
    struct pncounter *delta;

    check(value->kind == DD_PNCOUNTER);
    if (!amount)
        return;
    delta = &value_pending(value, DD_PNCOUNTER)->is.pncounter;
    if (amount > 0)
        add(&value->is.pncounter.up, node,
            (struct dd_natural){ 0, (uint64_t)amount }, &delta->up);
    else
        add(&value->is.pncounter.down, node,
            (struct dd_natural){ 0, 0 - (uint64_t)amount }, &delta->down);
    value_touch(value);
}

struct dd_integer dd_pncounter_get(const struct dd_value *value)
{
    struct dd_natural up;
    struct dd_natural down;

    check(value->kind == DD_PNCOUNTER);
    up = sum_of(&value->is.pncounter.up);
    down = sum_of(&value->is.pncounter.down);
    if (natural_compare(up, down) >= 0)
        return (struct dd_integer){ false, natural_subtract(up, down) };
    return (struct dd_integer){ true, natural_subtract(down, up) };
}

static void take_share(struct counter *to, const struct counter *from,
                       const struct node_id *node)
{
    const struct share *share = find(from, node);

    if (share)
        put(to, node, share->amount);
}

struct dd_value *dd_counted_by(const struct dd_value *value,
                               const struct node_id *node)
{
    struct dd_value *counted;

    if (value->kind != DD_GCOUNTER && value->kind != DD_PNCOUNTER)
        return NULL;
    counted = dd_new(value->kind);
    if (value->kind == DD_GCOUNTER) {
        take_share(&counted->is.counter, &value->is.counter, node);
    } else {
        take_share(&counted->is.pncounter.up, &value->is.pncounter.up, node);
        take_share(&counted->is.pncounter.down, &value->is.pncounter.down,
                   node);
    }
    return counted;
}
