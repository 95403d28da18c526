/* Implements profiles. The traits are one allocation with the struct, the role table and all
 * texts. */
#include "member/profile.h"

#include <md5.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"

#define CENTER_PREFIX "dc-"
#define CENTER_PREFIX_SIZE 3
#define CENTER_DEFAULT "dc-default"

struct clock_key clock_key_of(const struct identity *identity,
                              const struct node_id *node)
{
    struct buf text = { 0 };
    struct clock_key key;
    char uid[24];
    MD5_CTX md5;

    (void)snprintf(uid, sizeof uid, "-%lld",
                   (long long)(int64_t)node->uid); /* always fits */
    ref_put(&text, identity, &node->address, slice_text(uid));
    MD5Init(&md5);
    MD5Update(&md5, text.data, text.size);
    MD5Final(key.bytes, &md5);
    buf_fini(&text);
    return key;
}

static bool is_center(const char *role)
{
    return strncmp(role, CENTER_PREFIX, CENTER_PREFIX_SIZE) == 0;
}

/* The index of a role in a sorted table, or where it belongs. */
static uint32_t place_of(const char *const *roles, uint32_t count,
                         const char *role, bool *is_there)
{
    uint32_t at = 0, end = count;

    *is_there = false;
    while (at < end && !*is_there) {
        uint32_t middle = at + (end - at) / 2;
        int order = strcmp(roles[middle], role);

        *is_there = order == 0;
        if (order < 0)
            at = middle + 1;
        else
            end = middle;
    }
    return *is_there ? end : at;
}

/* Inserts into a sorted table; omits a role that is there already. */
static uint32_t insert(const char **roles, uint32_t count, const char *role)
{
    bool is_there;
    uint32_t at = place_of(roles, count, role, &is_there);

    if (is_there)
        return count;
    memmove(&roles[at + 1], &roles[at], (count - at) * sizeof *roles);
    roles[at] = role;
    return count + 1;
}

static const char *append(char **at, const char *text)
{
    const char *copy = *at;
    size_t size = strlen(text) + 1;

    memcpy(*at, text, size);
    *at += size;
    return copy;
}

static struct traits *traits_new(const char *const *roles, uint32_t role_count,
                                 const char *app_version)
{
    size_t table_size = (role_count + 1) * sizeof *roles;
    size_t text_size = strlen(app_version) + 1 + sizeof CENTER_DEFAULT;
    struct traits *traits;
    const char **table;
    char *text;

    for (uint32_t i = 0; i < role_count; i++)
        text_size += strlen(roles[i]) + 1;
    traits = mem_alloc(sizeof *traits + table_size + text_size);
    table = (const char **)(traits + 1);
    text = (char *)(traits + 1) + table_size;
    traits->holders = 1;
    traits->app_version = append(&text, app_version);
    for (uint32_t i = 0; i < role_count; i++) {
        const char *role = append(&text, roles[i]);

        traits->role_count = insert(table, traits->role_count, role);
        if (is_center(role) && !traits->data_center)
            traits->data_center = role + CENTER_PREFIX_SIZE;
    }
    if (!traits->data_center) {
        const char *role = append(&text, CENTER_DEFAULT);

        traits->role_count = insert(table, traits->role_count, role);
        traits->data_center = role + CENTER_PREFIX_SIZE;
    }
    traits->roles = table;
    return traits;
}

static void traits_drop(struct traits *traits)
{
    if (--traits->holders == 0)
        mem_free(traits);
}

/* The data center may differ with the same roles: it is that of the first such role. */
static bool traits_equal(const struct traits *left, const struct traits *right)
{
    if (left->role_count != right->role_count ||
        strcmp(left->app_version, right->app_version) != 0 ||
        strcmp(left->data_center, right->data_center) != 0)
        return false;
    for (uint32_t i = 0; i < left->role_count; i++)
        if (strcmp(left->roles[i], right->roles[i]) != 0)
            return false;
    return true;
}

struct profile *profile_new(const struct identity *identity,
                            const struct node_id *node,
                            const char *const *roles, uint32_t role_count,
                            const char *app_version)
{
    struct profile *profile =
        mem_alloc(sizeof *profile + kept_address_size(&node->address));
    struct kept_address *address = (struct kept_address *)(profile + 1);

    address_keep_at(address, &node->address);
    profile->address = address;
    profile->uid = node->uid;
    profile->key = clock_key_of(identity, node);
    profile->holders = 1;
    profile->traits = traits_new(roles, role_count, app_version);
    return profile;
}

void profile_share(struct profile *profile, const struct profile *other)
{
    check(profile->holders == 1);
    if (profile->traits == other->traits ||
        !traits_equal(profile->traits, other->traits))
        return;
    traits_drop(profile->traits);
    profile->traits = other->traits;
    profile->traits->holders++;
}

struct profile *profile_hold(struct profile *profile)
{
    profile->holders++;
    return profile;
}

void profile_drop(struct profile *profile)
{
    if (!profile || --profile->holders)
        return;
    traits_drop(profile->traits);
    mem_free(profile);
}

struct node_id profile_node(const struct profile *profile)
{
    return (struct node_id){ address_again(profile->address), profile->uid };
}

static int compare_uids(uint64_t left, uint64_t right)
{
    int64_t a = (int64_t)left;
    int64_t b = (int64_t)right;

    return (a > b) - (a < b);
}

int profile_order(const struct profile *profile, const struct node_id *node)
{
    int order = kept_address_compare(profile->address, &node->address);

    return order ? order : compare_uids(profile->uid, node->uid);
}

int profile_compare(const struct profile *left, const struct profile *right)
{
    int order = kept_addresses_compare(left->address, right->address);

    return order ? order : compare_uids(left->uid, right->uid);
}

bool profile_same(const struct profile *left, const struct profile *right)
{
    return left == right ||
           (left->uid == right->uid &&
            kept_addresses_equal(left->address, right->address));
}

bool profile_has_role(const struct profile *profile, const char *role)
{
    bool is_there;

    (void)place_of(profile->traits->roles, profile->traits->role_count, role,
                   &is_there);
    return is_there;
}

bool profile_same_center(const struct profile *left,
                         const struct profile *right)
{
    return strcmp(left->traits->data_center, right->traits->data_center) == 0;
}
