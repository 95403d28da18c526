/* Keeps a book of all writes, and compares reads with it. */
#include "sim/check/check_kvstore.h"

#include "base/check.h"
#include "base/vec.h"
#include "sim/world/verdict.h"

#define REPLICAS_MAX 7

/* First read from that many replicas that found a value, in the latest epoch with one. */
struct found {
    uint64_t at; /* event */
    uint64_t epoch;
};

struct write {
    uint32_t key;
    uint32_t replicas;
    bool is_deletion;
    bool is_over;
    enum check_kvstore_end end; /* when it is over */
    uint64_t begun, ended;    /* events */
    uint64_t epoch;           /* at its begin; 0: no epoch was open */
    uint64_t losses;          /* at its begin; if equal now, its replicas have lived since */
    uint32_t next;            /* the earlier write of its key; 0: none */
    VEC(uint64_t) seen;
    uint64_t replaced_from; /* begin of the first write that had seen it; 0: none has */
    struct found found[REPLICAS_MAX + 1]; /* by R */
};

struct check_kvstore {
    struct verdict *verdict;
    uint32_t replicas;
    VEC(struct write) writes; /* by number, from 1 */
    VEC(uint32_t) keys;       /* last write of each */
    uint64_t events;
    uint64_t epochs;
    uint64_t epoch; /* 0: members come or go */
    uint64_t losses;
    struct check_kvstore_counts counts;
};

struct check_kvstore *check_kvstore_new(struct verdict *verdict, uint32_t replicas)
{
    struct check_kvstore *check = mem_alloc(sizeof *check);

    check(replicas <= REPLICAS_MAX);
    check->verdict = verdict;
    check->replicas = replicas;
    vec_push(&check->writes, (struct write){ 0 });
    return check;
}

void check_kvstore_free(struct check_kvstore *check)
{
    if (!check)
        return;
    for (uint32_t i = 0; i < check->writes.count; i++)
        vec_fini(&check->writes.items[i].seen);
    vec_fini(&check->writes);
    vec_fini(&check->keys);
    mem_free(check);
}

uint32_t check_kvstore_key(struct check_kvstore *check)
{
    vec_push(&check->keys, 0);
    return check->keys.count - 1;
}

/* ---- writes ---- */

/* Null: the key has no such write. */
static struct write *find(const struct check_kvstore *check, uint32_t key,
                          uint64_t number)
{
    struct write *write = number && number < check->writes.count
                              ? &check->writes.items[number]
                              : NULL;

    return write && write->key == key ? write : NULL;
}

uint64_t check_kvstore_write_begun(struct check_kvstore *check, uint32_t key,
                                 uint32_t replicas, bool is_deletion,
                                 const uint64_t *seen, uint32_t count)
{
    struct write write = { .key = key,
                           .replicas = replicas,
                           .is_deletion = is_deletion,
                           .begun = ++check->events,
                           .epoch = check->epoch,
                           .losses = check->losses,
                           .next = check->keys.items[key] };

    for (uint32_t i = 0; i < count; i++) {
        struct write *old = find(check, key, seen[i]);

        if (old && !old->replaced_from)
            old->replaced_from = write.begun;
        vec_push(&write.seen, seen[i]);
    }
    check->counts.writes++;
    check->keys.items[key] = check->writes.count;
    vec_push(&check->writes, write);
    return check->writes.count - 1;
}

void check_kvstore_write_ended(struct check_kvstore *check, uint64_t number,
                             enum check_kvstore_end end)
{
    struct write *write = &check->writes.items[number];

    write->is_over = true;
    write->end = end;
    write->ended = ++check->events;
}

/* ---- reads ---- */

struct check_kvstore_read check_kvstore_read_begun(const struct check_kvstore *check,
                                               uint32_t key, uint32_t node,
                                               uint32_t replicas)
{
    return (struct check_kvstore_read){ .key = key,
                                      .node = node,
                                      .replicas = replicas,
                                      .begun = check->events,
                                      .epoch = check->epoch };
}

static bool has(const uint64_t *values, uint32_t count, uint64_t value)
{
    for (uint32_t i = 0; i < count; i++)
        if (values[i] == value)
            return true;
    return false;
}

static void check_values(struct check_kvstore *check,
                         const struct check_kvstore_read *read,
                         const uint64_t *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct write *write = find(check, read->key, values[i]);

        if (!write || write->is_deletion ||
            (write->is_over && write->end == CHECK_STORE_REFUSED))
            violation(check->verdict, "store-no-foreign-value", read->node,
                      "key %u: value %llu was read, which was not written to it",
                      read->key, (unsigned long long)values[i]);
    }
}

/* The read must meet a replica of the write. */
static bool meets(const struct check_kvstore *check,
                  const struct check_kvstore_read *read,
                  const struct write *write)
{
    return write->is_over && write->end == CHECK_STORE_DONE &&
           write->ended <= read->begun && write->epoch &&
           write->epoch == read->epoch && read->epoch == check->epoch &&
           read->replicas + write->replicas > check->replicas;
}

struct reason {
    const char *rule;
    const char *text; /* "acknowledged", "found" */
    uint32_t replicas;
};

/* A read sees the write unless it may have been replaced, and nothing that it replaced. */
static void check_write(struct check_kvstore *check,
                        const struct check_kvstore_read *read, uint32_t number,
                        const struct reason *reason, const uint64_t *values,
                        uint32_t count)
{
    const struct write *write = &check->writes.items[number];

    if (!write->is_deletion && !write->replaced_from &&
        !has(values, count, number))
        violation(check->verdict, reason->rule, read->node,
                  "key %u: write %u, %s by %u of %u, is not seen by a "
                  "later read of %u",
                  read->key, number, reason->text, reason->replicas,
                  check->replicas, read->replicas);
    for (uint32_t i = 0; i < write->seen.count; i++)
        if (has(values, count, write->seen.items[i]))
            violation(check->verdict, reason->rule, read->node,
                      "key %u: value %llu is read by %u although write %u, "
                      "%s by %u of %u before, replaced it",
                      read->key, (unsigned long long)write->seen.items[i],
                      read->replicas, number, reason->text, reason->replicas,
                      check->replicas);
}

/* The smallest R of a read that found the write and that this read must meet; 0: none. */
static uint32_t met_reader(const struct check_kvstore *check,
                           const struct check_kvstore_read *read,
                           const struct write *write)
{
    if (!read->epoch || read->epoch != check->epoch)
        return 0;
    for (uint32_t i = 1; i <= check->replicas; i++)
        if (write->found[i].epoch == read->epoch &&
            write->found[i].at <= read->begun &&
            read->replicas + i > check->replicas)
            return i;
    return 0;
}

static void check_writes(struct check_kvstore *check,
                         const struct check_kvstore_read *read,
                         const uint64_t *values, uint32_t count)
{
    for (uint32_t at = check->keys.items[read->key]; at;
         at = check->writes.items[at].next) {
        const struct write *write = &check->writes.items[at];
        struct reason found = { "store-monotonic-read", "found",
                                met_reader(check, read, write) };

        if (meets(check, read, write)) {
            struct reason acknowledged = { "store-quorum-read", "acknowledged",
                                           write->replicas };

            check->counts.quorums++;
            check_write(check, read, at, &acknowledged, values, count);
        } else if (found.replicas) {
            check->counts.again++;
            check_write(check, read, at, &found, values, count);
        }
    }
}

static void note_found(struct check_kvstore *check,
                       const struct check_kvstore_read *read,
                       const uint64_t *values, uint32_t count)
{
    uint64_t now = ++check->events;

    if (!read->epoch || read->epoch != check->epoch)
        return;
    for (uint32_t i = 0; i < count; i++) {
        struct write *write = find(check, read->key, values[i]);
        struct found *found = write ? &write->found[read->replicas] : NULL;

        if (found && found->epoch != read->epoch)
            *found = (struct found){ now, read->epoch };
    }
}

void check_kvstore_read_ended(struct check_kvstore *check,
                            const struct check_kvstore_read *read,
                            const uint64_t *values, uint32_t count)
{
    check_values(check, read, values, count);
    check_writes(check, read, values, count);
    note_found(check, read, values, count);
}

void check_kvstore_final(struct check_kvstore *check,
                       const struct check_kvstore_read *read,
                       const uint64_t *values, uint32_t count)
{
    check_kvstore_read_ended(check, read, values, count);
    for (uint32_t at = check->keys.items[read->key]; at;
         at = check->writes.items[at].next) {
        const struct write *write = &check->writes.items[at];

        if (!write->is_over || write->end != CHECK_STORE_DONE ||
            write->is_deletion || write->replaced_from ||
            write->losses != check->losses)
            continue;
        check->counts.finals++;
        if (!has(values, count, at))
            violation(check->verdict, "store-no-lost-write", read->node,
                      "key %u: write %u was acknowledged, nobody replaced it, "
                      "and it is not there in the end",
                      read->key, at);
    }
}

/* ---- members ---- */

void check_kvstore_changed(struct check_kvstore *check)
{
    check->epoch = 0;
}

void check_kvstore_calm(struct check_kvstore *check)
{
    if (!check->epoch)
        check->epoch = ++check->epochs;
}

void check_kvstore_lost(struct check_kvstore *check)
{
    check->losses++;
    check->epoch = 0;
}

struct check_kvstore_counts check_kvstore_counts(const struct check_kvstore *check)
{
    return check->counts;
}
