/* Implements the reachability table: sorted observers with sorted rows. */
#include "member/reachability.h"

#include "base/mark.h"
#include "base/sorted.h"

#include <string.h>

static int order_of_observer(const void *observer, const void *node)
{
    return profile_order(((const struct observer *)observer)->profile, node);
}

static int order_of_row(const void *row, const void *node)
{
    return profile_order(((const struct observation *)row)->subject, node);
}

/* at: its index or where it belongs; may be null. */
static struct observer *find(const struct reachability *table,
                             const struct node_id *node, uint32_t *at)
{
    uint32_t place =
        sorted_vec_place(&table->observers, order_of_observer, node);

    if (at)
        *at = place;
    return place < table->observers.count &&
                   profile_is(table->observers.items[place].profile,
                              node)
               ? &table->observers.items[place]
               : NULL;
}

/* The same. */
static struct observation *find_row(const struct observer *observer,
                                    const struct node_id *node, uint32_t *at)
{
    uint32_t place = sorted_vec_place(&observer->rows, order_of_row, node);

    if (at)
        *at = place;
    return place < observer->rows.count &&
                   profile_is(observer->rows.items[place].subject, node)
               ? &observer->rows.items[place]
               : NULL;
}

static struct observer *insert(struct reachability *table,
                               struct profile *profile, int64_t version)
{
    struct observer observer = { .profile = profile, .version = version };
    uint32_t at = 0;

    check(find(table, PROFILE_NODE(profile), &at) == NULL);
    (void)profile_hold(profile);
    vec_push(&table->observers, observer);
    memmove(&table->observers.items[at + 1], &table->observers.items[at],
            (table->observers.count - 1 - at) * sizeof observer);
    table->observers.items[at] = observer;
    return &table->observers.items[at];
}

static void insert_row(struct observer *observer, struct profile *subject,
                       enum reach status, int64_t version)
{
    struct observation row = { subject, version, status };
    uint32_t at = 0;

    check(find_row(observer, PROFILE_NODE(subject), &at) == NULL);
    (void)profile_hold(subject);
    vec_push(&observer->rows, row);
    memmove(&observer->rows.items[at + 1], &observer->rows.items[at],
            (observer->rows.count - 1 - at) * sizeof row);
    observer->rows.items[at] = row;
}

/* As the two above, if it belongs after the last. */
static struct observer *push_observer(struct reachability *table,
                                      struct profile *profile, int64_t version)
{
    struct observer observer = { .profile = profile_hold(profile),
                                 .version = version };

    vec_push(&table->observers, observer);
    return &table->observers.items[table->observers.count - 1];
}

static void push_row(struct observer *observer, struct profile *subject,
                     enum reach status, int64_t version)
{
    struct observation row = { profile_hold(subject), version, status };

    vec_push(&observer->rows, row);
}

static void clear_rows(struct observer *observer)
{
    for (uint32_t i = 0; i < observer->rows.count; i++)
        profile_drop(observer->rows.items[i].subject);
    observer->rows.count = 0;
}

static void fini_observer(struct observer *observer)
{
    clear_rows(observer);
    vec_fini(&observer->rows);
    profile_drop(observer->profile);
}

void reachability_fini(struct reachability *table)
{
    for (uint32_t i = 0; i < table->observers.count; i++)
        fini_observer(&table->observers.items[i]);
    vec_fini(&table->observers);
}

void reachability_copy(struct reachability *table,
                       const struct reachability *other)
{
    reachability_fini(table);
    for (uint32_t i = 0; i < other->observers.count; i++) {
        const struct observer *from = &other->observers.items[i];
        struct observer *to =
            push_observer(table, from->profile, from->version);

        for (uint32_t k = 0; k < from->rows.count; k++)
            push_row(to, from->rows.items[k].subject,
                     from->rows.items[k].status, from->rows.items[k].version);
    }
}

bool reachability_add_observer(struct reachability *table,
                               struct profile *observer, int64_t version)
{
    if (find(table, PROFILE_NODE(observer), NULL))
        return false;
    (void)insert(table, observer, version);
    return true;
}

bool reachability_add_row(struct reachability *table,
                          const struct node_id *observer,
                          struct profile *subject, enum reach status,
                          int64_t version)
{
    struct observer *found = find(table, observer, NULL);

    if (!found || find_row(found, PROFILE_NODE(subject), NULL))
        return false;
    insert_row(found, subject, status, version);
    return true;
}

/* True if all rows but one say reachable. */
static bool others_reachable(const struct observer *observer,
                             const struct observation *except)
{
    for (uint32_t i = 0; i < observer->rows.count; i++)
        if (&observer->rows.items[i] != except &&
            observer->rows.items[i].status != REACHABLE)
            return false;
    return true;
}

bool reachability_change(struct reachability *table, struct profile *observer,
                         struct profile *subject, enum reach status)
{
    struct observer *found = find(table, PROFILE_NODE(observer), NULL);
    struct observation *row;

    if (!found || !found->rows.count) {
        if (status == REACHABLE)
            return false;
        if (!found)
            found = insert(table, observer, 0);
        insert_row(found, subject, status, ++found->version);
        return true;
    }
    row = find_row(found, PROFILE_NODE(subject), NULL);
    if (row && (row->status == TERMINATED || row->status == status))
        return false;
    found->version++;
    if (status == REACHABLE && others_reachable(found, row)) {
        clear_rows(found); /* no rows: all reachable */
    } else if (row) {
        row->status = status;
        row->version = found->version;
    } else {
        insert_row(found, subject, status, found->version);
    }
    return true;
}

static void remove_rows(struct observer *observer, reachability_keep keep,
                        const void *context)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < observer->rows.count; i++) {
        struct observation row = observer->rows.items[i];
        bool goes = !keep(context, row.subject);

        SOMETIMES("a removed member was unreachable for another", goes);
        if (goes)
            profile_drop(row.subject);
        else
            observer->rows.items[kept++] = row;
    }
    observer->rows.count = kept;
}

void reachability_remove(struct reachability *table, reachability_keep keep,
                         const void *context)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < table->observers.count; i++) {
        struct observer observer = table->observers.items[i];

        if (!keep(context, observer.profile)) {
            fini_observer(&observer);
            continue;
        }
        remove_rows(&observer, keep, context);
        table->observers.items[kept++] = observer;
    }
    table->observers.count = kept;
}

/* Copies the rows whose subject is kept. */
static void take_rows(struct observer *to, const struct observer *from,
                      reachability_keep keep, const void *context)
{
    for (uint32_t i = 0; i < from->rows.count; i++) {
        const struct observation *row = &from->rows.items[i];
        struct profile *subject = keep(context, row->subject);

        if (subject)
            push_row(to, subject, row->status, row->version);
    }
}

/* One observer of left, right or both; at least one is not null. */
static void merge_observer(struct reachability *result,
                           const struct observer *left,
                           const struct observer *right, reachability_keep keep,
                           const void *context)
{
    const struct observer *any = left ? left : right;
    struct profile *profile = keep(context, any->profile);
    int64_t left_version = left ? left->version : 0;
    int64_t right_version = right ? right->version : 0;
    bool left_rows = left && left->rows.count;
    bool right_rows = right && right->rows.count;
    struct observer *merged;

    if (!profile) {
        REACHED("a merge drops what a removed member observed");
        return;
    }
    merged = push_observer(result, profile,
                           left_version > right_version ? left_version
                                                        : right_version);
    if (left_rows && right_rows)
        take_rows(merged, left_version > right_version ? left : right, keep,
                  context);
    else if (left_rows && left_version > right_version)
        take_rows(merged, left, keep, context);
    else if (right_rows && right_version > left_version)
        take_rows(merged, right, keep, context);
    /* otherwise the observer has cleared its rows since */
}

void reachability_merge(struct reachability *result,
                        const struct reachability *left,
                        const struct reachability *right,
                        reachability_keep keep, const void *context)
{
    uint32_t l = 0;
    uint32_t r = 0;

    check(result->observers.count == 0);
    while (l < left->observers.count || r < right->observers.count) {
        const struct observer *a =
            l < left->observers.count ? &left->observers.items[l] : NULL;
        const struct observer *b =
            r < right->observers.count ? &right->observers.items[r] : NULL;
        int order = !a   ? 1
                    : !b ? -1
                    : a->profile == b->profile
                        ? 0
                        : profile_compare(a->profile, b->profile);

        merge_observer(result, order <= 0 ? a : NULL, order >= 0 ? b : NULL,
                       keep, context);
        l += order <= 0;
        r += order >= 0;
    }
}

const struct observer *reachability_observer(const struct reachability *table,
                                             const struct node_id *observer)
{
    return find(table, observer, NULL);
}

enum reach reachability_by(const struct reachability *table,
                           const struct node_id *observer,
                           const struct node_id *subject)
{
    const struct observer *found = find(table, observer, NULL);
    const struct observation *row =
        found ? find_row(found, subject, NULL) : NULL;

    return row ? row->status : REACHABLE;
}

enum reach reachability_of(const struct reachability *table,
                           const struct node_id *subject)
{
    enum reach worst = REACHABLE;

    for (uint32_t i = 0; i < table->observers.count; i++) {
        const struct observation *row =
            find_row(&table->observers.items[i], subject, NULL);

        if (row && row->status > worst)
            worst = row->status;
    }
    return worst;
}

static bool equal_observers(const struct observer *left,
                            const struct observer *right)
{
    if (!profile_same(left->profile, right->profile) ||
        left->version != right->version ||
        left->rows.count != right->rows.count)
        return false;
    for (uint32_t i = 0; i < left->rows.count; i++) {
        const struct observation *a = &left->rows.items[i];
        const struct observation *b = &right->rows.items[i];

        if (!profile_same(a->subject, b->subject) ||
            a->status != b->status || a->version != b->version)
            return false;
    }
    return true;
}

bool reachability_equal(const struct reachability *left,
                        const struct reachability *right)
{
    if (left->observers.count != right->observers.count)
        return false;
    for (uint32_t i = 0; i < left->observers.count; i++)
        if (!equal_observers(&left->observers.items[i],
                             &right->observers.items[i]))
            return false;
    return true;
}
