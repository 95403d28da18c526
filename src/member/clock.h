/* Defines vector clocks, the versions of the gossip. An absent key is not the same as zero. */
#ifndef SHERD_MEMBER_CLOCK_H
#define SHERD_MEMBER_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "member/profile.h"

struct clock_entry {
    struct clock_key key;
    int64_t count;
};

/* Sorted by key. Zero is empty. */
struct clock {
    VEC(struct clock_entry) entries;
};

enum clock_order {
    CLOCK_SAME,
    CLOCK_BEFORE, /* left is older */
    CLOCK_AFTER,
    CLOCK_CONCURRENT
};

void clock_fini(struct clock *clock);
int64_t clock_get(const struct clock *clock, const struct clock_key *key); /* 0: absent */
/* Sets a count. False, with nothing changed: the key is there already. */
bool clock_add(struct clock *clock, const struct clock_key *key, int64_t count);
void clock_increment(struct clock *clock, const struct clock_key *key);
enum clock_order clock_compare(const struct clock *left,
                               const struct clock *right);
/* Drops the entries whose flag is false; one flag each, in order. */
void clock_keep(struct clock *clock, const bool *flags);
/* UINT32_MAX: absent. */
uint32_t clock_index(const struct clock *clock, const struct clock_key *key);
/* Takes the larger count of each key of both. The result must be a third clock. */
void clock_merge(struct clock *result, const struct clock *left,
                 const struct clock *right);

#endif
