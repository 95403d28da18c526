/* Stores and compares members for the cores that follow them. */
#include "base/member_info.h"

#include "base/check.h"

void kept_member_fini(struct kept_member *kept)
{
    if (kept->is_copied)
        mem_free((void *)(uintptr_t)kept->address);
    *kept = (struct kept_member){ 0 };
}

void kept_member_set(struct kept_member *kept,
                     const struct member_info *member)
{
    bool is_known = kept->address && kept_member_is(kept, &member->node);

    if (!kept->address ||
        !kept_address_equal(kept->address, &member->node.address)) {
        kept_member_fini(kept);
        kept->is_copied = !member->lasting;
        kept->address = member->lasting ? member->lasting
                                      : address_keep(&member->node.address);
    }
    kept->uid = member->node.uid;
    if (!is_known || member->up_number != INT32_MAX)
        kept->up_number = member->up_number;
    kept->status = (uint8_t)member->status;
}

struct kept_member kept_member_again(const struct kept_member *kept)
{
    struct kept_member again = *kept;
    struct address address;

    if (kept->is_copied) {
        address = address_again(kept->address);
        again.address = address_keep(&address);
    }
    return again;
}

static int compare_uids(uint64_t left, uint64_t right)
{
    int64_t a = (int64_t)left, b = (int64_t)right;

    return (a > b) - (a < b);
}

int kept_member_compare(const struct kept_member *left,
                        const struct kept_member *right)
{
    int order = kept_addresses_compare(left->address, right->address);

    return order ? order : compare_uids(left->uid, right->uid);
}

int kept_member_compare_age(const struct kept_member *left,
                            const struct kept_member *right)
{
    if (left->up_number != right->up_number)
        return left->up_number < right->up_number ? -1 : 1;
    return kept_member_compare(left, right);
}
