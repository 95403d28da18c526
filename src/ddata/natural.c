/* Implements naturals of two words. */
#include "ddata/natural.h"

#include "base/check.h"

#define HIGH_MAX ((UINT64_C(1) << (DD_NATURAL_BITS - 64)) - 1)

int natural_compare(struct dd_natural left, struct dd_natural right)
{
    if (left.high != right.high)
        return left.high < right.high ? -1 : 1;
    return (left.low > right.low) - (left.low < right.low);
}

struct dd_natural natural_add(struct dd_natural left, struct dd_natural right)
{
    struct dd_natural sum = { left.high + right.high, left.low + right.low };

    sum.high += sum.low < left.low;
    return sum;
}

struct dd_natural natural_subtract(struct dd_natural left,
                                   struct dd_natural right)
{
    return (struct dd_natural){
        left.high - right.high - (left.low < right.low),
        left.low - right.low,
    };
}

struct dd_natural natural_limit(struct dd_natural natural)
{
    if (natural.high <= HIGH_MAX)
        return natural;
    return (struct dd_natural){ HIGH_MAX, UINT64_MAX };
}

size_t natural_put(struct dd_natural natural, uint8_t bytes[NATURAL_SIZE_MAX])
{
    uint8_t all[17] = { 0 }; /* 16 and a leading zero */
    size_t at = 0;

    for (unsigned i = 0; i < 8; i++) {
        all[1 + i] = (uint8_t)(natural.high >> (8 * (7 - i)));
        all[9 + i] = (uint8_t)(natural.low >> (8 * (7 - i)));
    }
    while (at < 16 && !all[at] && !(all[at + 1] & 0x80))
        at++;
    check(17 - at <= NATURAL_SIZE_MAX);
    memcpy(bytes, all + at, 17 - at);
    return 17 - at;
}

enum dd_verdict natural_get(struct slice bytes, struct dd_natural *natural)
{
    *natural = (struct dd_natural){ 0 };
    if (!bytes.size || bytes.data[0] & 0x80)
        return DD_MALFORMED; /* empty or negative */
    for (size_t i = 0; i < bytes.size; i++) {
        if (natural->high > HIGH_MAX >> 8)
            return DD_TOO_LARGE;
        natural->high = natural->high << 8 | natural->low >> 56;
        natural->low = natural->low << 8 | bytes.data[i];
    }
    return DD_OK;
}
