/* Decodes the gossip in any valid form with the general decoder: tables of texts and addresses;
 * members, rows and clock entries that refer to them by index.
 *
 * A decoded gossip keeps every invariant on which Akka's peers rely. Otherwise it is hostile, and
 * nothing is used. */
#include "base/check.h"
#include "base/limits.h"
#include "member/version.h"
#include "member/wire_parts.h"

void *part_alloc(struct arena *arena, size_t size)
{
    void *memory =
        arena->allocator.alloc(arena->allocator.allocator_data, size);

    check(memory != NULL);
    return memory;
}

static void hex_of(const struct clock_key *key, char text[])
{
    static const char digits[] = "0123456789abcdef";

    for (int i = 0; i < CLOCK_KEY_SIZE; i++) {
        text[2 * i] = digits[key->bytes[i] >> 4];
        text[2 * i + 1] = digits[key->bytes[i] & 15];
    }
    text[2 * CLOCK_KEY_SIZE] = 0;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool key_of_hex(struct clock_key *key, const char *text)
{
    if (strlen(text) != 2 * CLOCK_KEY_SIZE)
        return false;
    for (int i = 0; i < CLOCK_KEY_SIZE; i++) {
        int high = hex_digit(text[2 * i]);
        int low = hex_digit(text[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        key->bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

Cluster__Clock *part_of_clock(struct arena *arena, const struct clock *clock,
                              char ***hashes)
{
    uint32_t count = clock->entries.count;
    Cluster__Clock *part = part_alloc(arena, sizeof *part);
    Cluster__Clock__Version *versions =
        part_alloc(arena, count * sizeof *versions);
    char *texts = part_alloc(arena, count * (2 * CLOCK_KEY_SIZE + 1));

    cluster__clock__init(part);
    part->has_timestamp = true; /* Akka writes 0 */
    part->n_versions = count;
    part->versions = part_alloc(arena, count * sizeof *part->versions);
    *hashes = part_alloc(arena, count * sizeof **hashes);
    for (uint32_t i = 0; i < count; i++) {
        (*hashes)[i] = texts + i * (2 * CLOCK_KEY_SIZE + 1);
        hex_of(&clock->entries.items[i].key, (*hashes)[i]);
        cluster__clock__version__init(&versions[i]);
        versions[i].hash = (int32_t)i;
        versions[i].count = clock->entries.items[i].count;
        part->versions[i] = &versions[i];
    }
    return part;
}

enum verdict part_get_clock(const Cluster__Clock *part, char *const *hashes,
                            size_t hash_count, struct clock *clock)
{
    if (part->n_versions > GOSSIP_MEMBERS_MAX)
        return WIRE_HOSTILE;
    for (size_t i = 0; i < part->n_versions; i++) {
        const Cluster__Clock__Version *version = part->versions[i];
        struct clock_key key;

        if (version->hash < 0 || (size_t)version->hash >= hash_count ||
            version->count < 0 || version->count > COUNT_MAX ||
            !key_of_hex(&key, hashes[version->hash]) ||
            !clock_add(clock, &key, version->count))
            return WIRE_HOSTILE;
    }
    return WIRE_OK;
}

/* The state of decoding a gossip. */
struct decoding {
    const struct identity *identity;
    const Cluster__Gossip *part;
    const struct gossip *known;
    struct gossip *gossip;
    const struct node_id *const *nodes; /* part->addresses, decoded */
    struct profile **
        profiles; /* of the same index, if a member; lent from the gossip */
    size_t traits_size; /* bytes of roles and versions of unknown members */
    bool is_beyond;     /* a member passes a limit */
};

static enum verdict get_addresses(struct decoding *decoding,
                                  struct arena *arena)
{
    const Cluster__Gossip *part = decoding->part;
    ProtobufCAllocator *allocator = &arena->allocator;
    size_t count = part->n_addresses;
    const struct node_id **nodes;
    struct node_id *memory;

    if (count > GOSSIP_MEMBERS_MAX + MEMBER_TOMBSTONES_MAX)
        return WIRE_BEYOND;
    decoding->profiles = allocator->alloc(allocator->allocator_data,
                                          count * sizeof *decoding->profiles);
    if (!decoding->profiles)
        return WIRE_HOSTILE;
    if (decoding->nodes)
        return WIRE_OK;
    memory = allocator->alloc(allocator->allocator_data,
                              count * sizeof *memory);
    nodes = allocator->alloc(allocator->allocator_data, count * sizeof *nodes);
    if (!memory || !nodes)
        return WIRE_HOSTILE;
    for (size_t i = 0; i < count; i++) {
        enum verdict verdict = part_get_node(
            decoding->identity, part->addresses[i], &memory[i]);

        if (verdict != WIRE_OK)
            return verdict == WIRE_BEYOND ? WIRE_BEYOND : WIRE_HOSTILE;
        nodes[i] = &memory[i];
    }
    decoding->nodes = nodes;
    return WIRE_OK;
}

/* A member's version. Without a table all have the default. Null: wrong index. */
static const char *get_version(const Cluster__Gossip *part,
                               const Cluster__Member *member)
{
    if (!part->n_app_versions)
        return "0.0.0";
    if (member->app_version < 0 ||
        (size_t)member->app_version >= part->n_app_versions)
        return NULL;
    return part->app_versions[member->app_version];
}

/* The profile of a new member stays as long as it is a member. Role indexes repeat texts, so all
 * profiles of a gossip are limited before they are made. */
static bool is_within(struct decoding *decoding, const char *const *roles,
                      size_t role_count, const char *app_version)
{
    size_t size = strlen(app_version);
    bool good = size <= VERSION_SIZE_MAX;

    for (size_t i = 0; i < role_count; i++) {
        size_t role_size = strlen(roles[i]);

        good = good && role_size <= MEMBER_ROLE_SIZE_MAX;
        size += role_size + sizeof *roles;
    }
    decoding->traits_size += size;
    good = good && decoding->traits_size <= MEMBER_DECODE_SIZE_MAX;
    decoding->is_beyond = !good;
    return good;
}

/* A profile for a member, held by the caller: the known one of that incarnation, or a new one.
 * Null: it breaks a rule or passes a limit. */
static struct profile *get_profile(struct decoding *decoding,
                                   const Cluster__Member *member)
{
    const Cluster__Gossip *part = decoding->part;
    const struct node_id *node = decoding->nodes[member->address];
    const struct gossip_member *known = gossip_find(decoding->known, node);
    const char *app_version = get_version(part, member);
    const char *roles[MEMBER_ROLES_MAX];
    struct version version;

    if (!app_version)
        return NULL;
    decoding->is_beyond = member->n_roles > MEMBER_ROLES_MAX;
    if (decoding->is_beyond)
        return NULL;
    for (size_t i = 0; i < member->n_roles; i++) {
        if (member->roles[i] < 0 || (size_t)member->roles[i] >= part->n_roles)
            return NULL;
        roles[i] = part->roles[member->roles[i]];
    }
    if (known)
        return profile_hold(known->profile);
    for (size_t i = 0; i < member->n_roles; i++)
        if (!*roles[i])
            return NULL;
    if (!is_within(decoding, roles, member->n_roles, app_version) ||
        !version_parse(&version, app_version))
        return NULL;
    return profile_new(decoding->identity, node, roles,
                       (uint32_t)member->n_roles, app_version);
}

static bool get_member(struct decoding *decoding, const Cluster__Member *member)
{
    struct profile *profile;

    if (member->address < 0 ||
        (size_t)member->address >= decoding->part->n_addresses ||
        member->status < 0 || member->status >= MEMBER_STATUS_COUNT ||
        member->status == MEMBER_REMOVED || member->up_number < 0 ||
        (member->up_number > UP_NUMBER_MAX &&
         member->up_number != UP_NUMBER_NONE) ||
        gossip_find(decoding->gossip, decoding->nodes[member->address]))
        return false;
    profile = get_profile(decoding, member);
    if (!profile)
        return false;
    (void)gossip_add(decoding->gossip, profile,
                     (enum member_status)member->status, member->up_number);
    profile_drop(profile); /* the gossip holds it */
    decoding->profiles[member->address] = profile;
    return true;
}

/* The member at an index of the address table. Null: out of range, or no member. */
static struct profile *profile_at(const struct decoding *decoding,
                                  int32_t index)
{
    return index >= 0 && (size_t)index < decoding->part->n_addresses
               ? decoding->profiles[index]
               : NULL;
}

static bool get_observer(struct decoding *decoding,
                         const Cluster__Observer *part)
{
    struct reachability *table = &decoding->gossip->reachability;
    struct profile *observer = profile_at(decoding, part->address);

    if (!observer || part->version < 0 || part->version > COUNT_MAX ||
        !reachability_add_observer(table, observer, part->version))
        return false;
    for (size_t i = 0; i < part->n_subjects; i++) {
        const Cluster__Subject *row = part->subjects[i];
        struct profile *subject = profile_at(decoding, row->address);

        if (!subject || subject == observer || row->status < 0 ||
            row->status > TERMINATED || row->version < 0 ||
            row->version > part->version ||
            !reachability_add_row(table, PROFILE_NODE(observer), subject,
                                  (enum reach)row->status, row->version))
            return false;
    }
    return true;
}

static bool get_overview(struct decoding *decoding)
{
    const Cluster__Overview *part = decoding->part->overview;
    size_t rows = 0;

    for (size_t i = 0; i < part->n_seen; i++) {
        const struct profile *profile = profile_at(decoding, part->seen[i]);

        if (!profile)
            return false;
        gossip_find_profile(decoding->gossip, profile)->seen = true;
    }
    for (size_t i = 0; i < part->n_observers; i++) {
        rows += part->observers[i]->n_subjects;
        if (rows > MEMBER_ROWS_MAX ||
            !get_observer(decoding, part->observers[i]))
            return false;
    }
    return true;
}

static bool get_tombstones(struct decoding *decoding)
{
    const Cluster__Gossip *part = decoding->part;

    if (part->n_tombstones > MEMBER_TOMBSTONES_MAX)
        return false;
    for (size_t i = 0; i < part->n_tombstones; i++) {
        const Cluster__Tombstone *tombstone = part->tombstones[i];
        const struct node_id *node;

        if (tombstone->address < 0 ||
            (size_t)tombstone->address >= part->n_addresses ||
            tombstone->at < 0 || decoding->profiles[tombstone->address])
            return false;
        node = decoding->nodes[tombstone->address];
        if (gossip_find(decoding->gossip, node) ||
            !gossip_add_tombstone(decoding->gossip, node,
                                  (uint64_t)tombstone->at))
            return false;
    }
    return true;
}

enum verdict part_get_gossip(struct arena *arena,
                             const struct identity *identity,
                             const Cluster__Gossip *part,
                             const struct node_id *const *nodes,
                             const struct gossip *known, struct gossip *gossip)
{
    struct decoding decoding = {
        .identity = identity,
        .part = part,
        .known = known,
        .gossip = gossip,
        .nodes = nodes,
    };
    enum verdict verdict;

    if (part->n_members > GOSSIP_MEMBERS_MAX ||
        part->n_roles > MEMBER_TABLE_MAX ||
        part->n_app_versions > MEMBER_TABLE_MAX ||
        part->n_hashes > MEMBER_TABLE_MAX)
        return WIRE_BEYOND;
    verdict = get_addresses(&decoding, arena);
    if (verdict != WIRE_OK)
        return verdict;
    for (size_t i = 0; i < part->n_members; i++)
        if (!get_member(&decoding, part->members[i]))
            return decoding.is_beyond ? WIRE_BEYOND : WIRE_HOSTILE;
    if (!get_overview(&decoding) || !get_tombstones(&decoding))
        return WIRE_HOSTILE;
    verdict = part_get_clock(part->clock, part->hashes, part->n_hashes,
                             &gossip->clock);
    if (verdict == WIRE_OK && !gossip_valid(gossip))
        return WIRE_HOSTILE;
    return verdict;
}
