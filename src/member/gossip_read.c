/* Reads the gossip message without the general decoder, whose structs take half of the time for a
 * large gossip.
 *
 * Reads only the usual form: fields in the order in which this library and Akka write them;
 * members, rows, clock and tombstones sorted; no error. All else goes to part_get_gossip, which
 * decides and reports. */
#include "base/check.h"
#include "base/limits.h"
#include "member/version.h"
#include "member/wire_parts.h"

enum { VARINT = 0, BYTES = 2 };

#define KNOWN_AHEAD 8 /* nodes compared before a search */

/* Fields of Gossip in cluster.proto. */
enum field {
    FIELD_ADDRESSES = 1,
    FIELD_ROLES,
    FIELD_HASHES,
    FIELD_MEMBERS,
    FIELD_OVERVIEW,
    FIELD_CLOCK,
    FIELD_TOMBSTONES,
    FIELD_VERSIONS,
    FIELD_COUNT
};

/* Consecutive fields of one number, each with its size. */
struct run {
    struct cursor fields;
    uint32_t count;
};

/* A node of the address table. */
struct named {
    const struct node_id *node; /* null if there is a profile */
    struct profile *profile; /* of that incarnation, if known; not held */
    uint32_t known;          /* its index there + 1; 0: no known member */
    uint32_t gone;           /* the same among known tombstones */
    uint32_t member;         /* the same among members of this gossip */
};

struct reading {
    struct arena *arena;
    const struct identity *identity;
    const struct gossip *known;
    struct gossip *gossip;
    struct run runs[FIELD_COUNT];
    struct cursor overviews[2]; /* an overview may come in two pieces */
    uint32_t overview_count;
    struct named *named;
    uint32_t named_count;
    uint32_t known_next; /* next to compare among known members and tombstones */
    uint32_t gone_next;
    uint32_t new_count; /* members not known before */
    struct slice *roles;
    struct slice *versions;
    uint64_t rows;
};

/* ---- parts ---- */

static uint64_t take_number(struct cursor *cursor)
{
    if (cursor->at < cursor->end && *cursor->at < 128)
        return *cursor->at++;
    return cursor_varint(cursor);
}

/* True if this field is the next one. */
static bool is_field(struct cursor *cursor, uint32_t number, uint32_t type)
{
    return cursor->at < cursor->end &&
           *cursor->at == (number << 3 | type) && cursor->at++;
}

/* Fails the cursor if another field is next. */
static uint64_t number_of(struct cursor *cursor, uint32_t field)
{
    if (!is_field(cursor, field, VARINT)) {
        cursor->failed = true;
        return 0;
    }
    return take_number(cursor);
}

static struct slice take_bytes(struct cursor *cursor)
{
    uint64_t size = take_number(cursor);
    struct slice bytes = { 0 };

    if (cursor->failed || size > cursor_left(cursor)) {
        cursor->failed = true;
        return bytes;
    }
    bytes = slice_of(cursor->at, (size_t)size);
    cursor->at += size;
    return bytes;
}

static struct slice bytes_of(struct cursor *cursor, uint32_t field)
{
    if (!is_field(cursor, field, BYTES)) {
        cursor->failed = true;
        return (struct slice){ 0 };
    }
    return take_bytes(cursor);
}

static bool is_done(const struct cursor *cursor)
{
    return !cursor->failed && cursor->at == cursor->end;
}

/* Null: the message takes too much memory. */
static void *allocate(struct reading *reading, size_t count, size_t size)
{
    ProtobufCAllocator *allocator = &reading->arena->allocator;

    return allocator->alloc(allocator->allocator_data, (count + 1) * size);
}

/* The next of a run; the cursor is at its field number. */
static struct slice next_of(struct run *run, enum field field)
{
    return bytes_of(&run->fields, field);
}

/* Takes consecutive fields of one number. */
static void take_run(struct cursor *message, enum field field, struct run *run)
{
    run->fields = *message;
    while (is_field(message, field, BYTES)) {
        (void)take_bytes(message);
        run->count++;
    }
    run->fields.end = message->at;
}

static bool find_runs(struct reading *reading, struct slice bytes)
{
    struct cursor message = cursor_of(bytes);

    while (!message.failed && cursor_left(&message)) {
        uint32_t field = *message.at >> 3;
        struct run run = { .count = 0 };

        if (!field || field >= FIELD_COUNT)
            return false;
        take_run(&message, field, &run);
        if (!run.count || reading->runs[field].count)
            return false;
        if (field != FIELD_OVERVIEW) {
            reading->runs[field] = run;
            continue;
        }
        while (cursor_left(&run.fields)) {
            if (reading->overview_count == 2)
                return false;
            reading->overviews[reading->overview_count++] =
                cursor_of(next_of(&run, FIELD_OVERVIEW));
        }
    }
    return !message.failed && reading->overview_count &&
           reading->runs[FIELD_CLOCK].count == 1;
}

/* ---- names ---- */

struct raw_node {
    struct slice host;
    uint64_t port;
    uint64_t uid;
};

static bool read_node(const struct reading *reading, struct slice bytes,
                      struct raw_node *node)
{
    struct cursor cursor = cursor_of(bytes);
    struct cursor address = cursor_of(bytes_of(&cursor, 1));
    uint64_t low = number_of(&cursor, 2);
    uint64_t high = number_of(&cursor, 3);
    struct slice system = bytes_of(&address, 1);
    struct slice protocol;

    node->host = bytes_of(&address, 2);
    node->port = number_of(&address, 3);
    protocol = bytes_of(&address, 4);
    node->uid = low | high << 32;
    return is_done(&cursor) && is_done(&address) && low <= UINT32_MAX &&
           high <= UINT32_MAX && node->uid && node->port <= UINT16_MAX &&
           slice_is(system, reading->identity->system) &&
           slice_is(protocol, reading->identity->protocol);
}

static bool is_node(const struct node_id *node, const struct raw_node *raw)
{
    return node->uid == raw->uid && node->address.port == raw->port &&
           raw->host.size <= HOST_MAX &&
           !memcmp(node->address.host, raw->host.data, raw->host.size) &&
           !node->address.host[raw->host.size];
}

static bool is_profile(const struct profile *profile,
                       const struct raw_node *raw)
{
    return profile->uid == raw->uid && profile->address->port == raw->port &&
           profile->address->host_size == raw->host.size &&
           !memcmp(profile->address->host, raw->host.data, raw->host.size);
}

/* As node_compare. */
static int compare_named(const struct named *left, const struct named *right)
{
    if (left->profile && right->profile)
        return profile_compare(left->profile, right->profile);
    if (left->profile)
        return profile_order(left->profile, right->node);
    if (right->profile)
        return -profile_order(right->profile, left->node);
    return node_compare(left->node, right->node);
}

static struct node_id node_of(const struct named *named)
{
    return named->profile ? profile_node(named->profile) : *named->node;
}

/* All lists of nodes have one order. Usually it is the known node after the last one, perhaps after
 * a few that were removed. */
static bool is_next_known(struct reading *reading, const struct raw_node *raw,
                          struct named *named)
{
    const struct gossip *known = reading->known;
    uint32_t at = reading->known_next;
    uint32_t gone = reading->gone_next;

    while (at < known->members.count && at - reading->known_next < KNOWN_AHEAD &&
           !is_profile(known->members.items[at].profile, raw))
        at++;
    if (at < known->members.count && at - reading->known_next < KNOWN_AHEAD) {
        named->profile = known->members.items[at].profile;
        named->known = reading->known_next = at + 1;
        return true;
    }
    if (gone < known->tombstones.count &&
        is_node(&known->tombstones.items[gone].node, raw)) {
        named->node = &known->tombstones.items[gone].node;
        named->gone = reading->gone_next = gone + 1;
        return true;
    }
    return false;
}

static void look_for(struct reading *reading, struct named *named)
{
    const struct gossip_member *found =
        gossip_find(reading->known, named->node);

    if (!found)
        return;
    named->profile = found->profile;
    named->node = NULL;
    named->known = reading->known_next =
        (uint32_t)(found - reading->known->members.items) + 1;
}

static bool read_name(struct reading *reading, struct slice bytes,
                      struct named *named)
{
    struct node_id *node;
    struct raw_node raw;

    if (!read_node(reading, bytes, &raw))
        return false;
    if (is_next_known(reading, &raw, named))
        return true;
    node = allocate(reading, 1, sizeof *node);
    if (!node)
        return false;
    memset(node, 0, sizeof *node);
    node->uid = raw.uid;
    named->node = node;
    if (!address_set(&node->address, (const char *)raw.host.data,
                     raw.host.size, (uint32_t)raw.port))
        return false;
    look_for(reading, named);
    return true;
}

static bool read_names(struct reading *reading)
{
    struct run *run = &reading->runs[FIELD_ADDRESSES];

    if (run->count > GOSSIP_MEMBERS_MAX + MEMBER_TOMBSTONES_MAX)
        return false;
    reading->named = allocate(reading, run->count, sizeof *reading->named);
    if (!reading->named)
        return false;
    reading->named_count = run->count;
    for (uint32_t i = 0; i < run->count; i++) {
        reading->named[i] = (struct named){ .node = NULL };
        if (!read_name(reading, next_of(run, FIELD_ADDRESSES),
                       &reading->named[i]))
            return false;
    }
    return true;
}

/* The same for nodes known from another gossip. */
static bool take_names(struct reading *reading, const struct given_names *given)
{
    const struct gossip *known = reading->known;
    uint32_t count = given->member_count + given->gone_count;

    if (reading->runs[FIELD_ADDRESSES].count)
        return false;
    reading->named = allocate(reading, count, sizeof *reading->named);
    if (!reading->named)
        return false;
    reading->named_count = count;
    for (uint32_t i = 0; i < given->member_count; i++) {
        struct named *named = &reading->named[i];
        uint32_t at = reading->known_next;
        struct node_id *node;

        *named = (struct named){ .node = NULL };
        if (at < known->members.count &&
            known->members.items[at].profile == given->members[i]) {
            named->profile = given->members[i];
            named->known = reading->known_next = at + 1;
            continue;
        }
        node = allocate(reading, 1, sizeof *node);
        if (!node)
            return false;
        *node = profile_node(given->members[i]);
        named->node = node;
        look_for(reading, named);
    }
    for (uint32_t i = 0; i < given->gone_count; i++) {
        struct named *named = &reading->named[given->member_count + i];

        uint32_t at = reading->gone_next;

        *named = (struct named){ .node = &given->gone[i] };
        if (at < known->tombstones.count &&
            node_equal(&known->tombstones.items[at].node, named->node))
            named->gone = reading->gone_next = at + 1;
        else
            look_for(reading, named);
    }
    return true;
}

/* ---- members ---- */

static struct slice *read_texts(struct reading *reading, enum field field)
{
    struct run *run = &reading->runs[field];
    struct slice *texts;

    if (run->count > MEMBER_TABLE_MAX)
        return NULL;
    texts = allocate(reading, run->count, sizeof *texts);
    for (uint32_t i = 0; texts && i < run->count; i++) {
        texts[i] = next_of(run, field);
        if (texts[i].size && memchr(texts[i].data, 0, texts[i].size))
            return NULL;
    }
    return texts;
}

static const char *text_of(struct reading *reading, struct slice text)
{
    char *copy = allocate(reading, text.size, 1);

    if (!copy)
        return NULL;
    if (text.size)
        memcpy(copy, text.data, text.size);
    copy[text.size] = 0;
    return copy;
}

/* A member while its indexes are resolved. */
struct raw_member {
    struct gossip_member member; /* without a profile */
    uint64_t address;
    struct cursor roles; /* indexes */
    uint64_t version;
};

static bool read_raw_member(const struct reading *reading, struct slice bytes,
                            struct raw_member *member)
{
    struct cursor cursor = cursor_of(bytes);
    uint64_t up_number;
    uint64_t status;

    member->address = number_of(&cursor, 1);
    up_number = number_of(&cursor, 2);
    status = number_of(&cursor, 3);
    member->roles = cursor_of((struct slice){ 0 });
    if (is_field(&cursor, 4, BYTES))
        member->roles = cursor_of(take_bytes(&cursor));
    member->version =
        is_field(&cursor, 5, VARINT) ? take_number(&cursor) : 0;
    if (!is_done(&cursor) || member->address >= reading->named_count ||
        status >= MEMBER_STATUS_COUNT || status == MEMBER_REMOVED ||
        (up_number > UP_NUMBER_MAX && up_number != UP_NUMBER_NONE) ||
        (reading->runs[FIELD_VERSIONS].count &&
         member->version >= reading->runs[FIELD_VERSIONS].count))
        return false;
    member->member = (struct gossip_member){ .up_number = (int32_t)up_number,
                                             .status = (enum member_status)status };
    return true;
}

static bool read_roles(const struct reading *reading,
                       const struct raw_member *member,
                       uint32_t indexes[MEMBER_ROLES_MAX], uint32_t *count)
{
    struct cursor cursor = member->roles;

    for (*count = 0; cursor_left(&cursor); ++*count) {
        uint64_t index = take_number(&cursor);

        if (cursor.failed || *count == MEMBER_ROLES_MAX ||
            index >= reading->runs[FIELD_ROLES].count)
            return false;
        indexes[*count] = (uint32_t)index;
    }
    return true;
}

static struct profile *make_profile(struct reading *reading,
                                    const struct node_id *node,
                                    const struct raw_member *member,
                                    const uint32_t *indexes, uint32_t count)
{
    const char *app_version = "0.0.0";
    const char *roles[MEMBER_ROLES_MAX];
    struct version version;

    for (uint32_t i = 0; i < count; i++) {
        struct slice role = reading->roles[indexes[i]];

        if (!role.size || role.size > MEMBER_ROLE_SIZE_MAX)
            return NULL;
        roles[i] = text_of(reading, role);
        if (!roles[i])
            return NULL;
    }
    if (reading->runs[FIELD_VERSIONS].count)
        app_version = text_of(reading, reading->versions[member->version]);
    if (!app_version || !version_parse(&version, app_version))
        return NULL;
    return profile_new(reading->identity, node, roles, count, app_version);
}

/* True if it is after the last member in order. */
static bool is_behind(const struct named *last, const struct named *named)
{
    if (!last)
        return true;
    if (last->known && named->known)
        return last->known < named->known;
    return compare_named(last, named) < 0;
}

static bool read_members(struct reading *reading)
{
    struct run *run = &reading->runs[FIELD_MEMBERS];
    const struct named *last = NULL;
    const struct profile *before = NULL; /* of the previous member */

    reading->roles = read_texts(reading, FIELD_ROLES);
    reading->versions = read_texts(reading, FIELD_VERSIONS);
    if (!reading->roles || !reading->versions ||
        run->count > GOSSIP_MEMBERS_MAX)
        return false;
    for (uint32_t i = 0; i < run->count; i++) {
        uint32_t roles[MEMBER_ROLES_MAX];
        uint32_t role_count;
        struct raw_member raw;
        struct gossip_member *added = &raw.member;
        struct named *named;

        if (!read_raw_member(reading, next_of(run, FIELD_MEMBERS), &raw) ||
            !read_roles(reading, &raw, roles, &role_count))
            return false;
        named = &reading->named[raw.address];
        if (!is_behind(last, named))
            return false;
        last = named;
        added->profile = named->profile
                             ? profile_hold(named->profile)
                             : make_profile(reading, named->node, &raw, roles,
                                            role_count);
        if (!added->profile)
            return false;
        if (!named->profile && before)
            profile_share(added->profile, before);
        before = added->profile;
        reading->new_count += !named->profile;
        vec_push(&reading->gossip->members, *added);
        named->member = reading->gossip->members.count;
    }
    return true;
}

/* ---- the overview ---- */

/* Index of the member + 1; 0: none. */
static uint32_t member_named(const struct reading *reading, uint64_t address)
{
    return address < reading->named_count ? reading->named[address].member : 0;
}

static bool read_rows(struct reading *reading, struct cursor rows,
                      uint32_t count, struct observer *observer)
{
    const struct gossip_member *members = reading->gossip->members.items;
    uint32_t last = 0;

    reading->rows += count;
    if (reading->rows > MEMBER_ROWS_MAX)
        return false;
    if (!count)
        return true;
    observer->rows.items = mem_alloc(count * sizeof *observer->rows.items);
    observer->rows.capacity = count;
    for (uint32_t i = 0; i < count; i++) {
        struct cursor row = cursor_of(bytes_of(&rows, 2));
        uint32_t subject = member_named(reading, number_of(&row, 1));
        uint64_t status = number_of(&row, 3);
        uint64_t version = number_of(&row, 4);

        if (!is_done(&row) || subject <= last || status > TERMINATED ||
            version > (uint64_t)observer->version ||
            members[subject - 1].profile == observer->profile)
            return false;
        last = subject;
        observer->rows.items[observer->rows.count++] = (struct observation){
            .subject = profile_hold(members[subject - 1].profile),
            .version = (int64_t)version,
            .status = (enum reach)status,
        };
    }
    return true;
}

static bool read_observer(struct reading *reading, struct slice bytes,
                          uint32_t *last)
{
    struct reachability *table = &reading->gossip->reachability;
    struct cursor cursor = cursor_of(bytes);
    uint32_t member = member_named(reading, number_of(&cursor, 1));
    struct cursor rows = cursor;
    uint32_t count = 0;
    uint64_t version;

    while (is_field(&cursor, 2, BYTES)) {
        (void)take_bytes(&cursor);
        count++;
    }
    rows.end = cursor.at;
    version = number_of(&cursor, 4);
    if (!is_done(&cursor) || member <= *last || version > COUNT_MAX)
        return false;
    *last = member;
    vec_push(&table->observers,
             ((struct observer){
                 .profile = profile_hold(
                     reading->gossip->members.items[member - 1].profile),
                 .version = (int64_t)version }));
    return read_rows(reading, rows, count,
                     &table->observers.items[table->observers.count - 1]);
}

static bool read_overviews(struct reading *reading)
{
    uint32_t last = 0;

    for (uint32_t i = 0; i < reading->overview_count; i++) {
        struct cursor cursor = reading->overviews[i];

        while (is_field(&cursor, 1, VARINT)) {
            uint32_t member = member_named(reading, take_number(&cursor));

            if (cursor.failed || !member)
                return false;
            reading->gossip->members.items[member - 1].seen = true;
        }
        while (is_field(&cursor, 2, BYTES))
            if (!read_observer(reading, take_bytes(&cursor), &last))
                return false;
        if (!is_done(&cursor))
            return false;
    }
    return true;
}

/* ---- clock and tombstones ---- */

#define HEX_WRONG 128

/* Value of a digit; lower-case letters only. */
static uint8_t hex_digit(uint8_t c)
{
    static const uint8_t digits[128] = {
        ['0'] = 1, ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
        ['6'] = 7, ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
        ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    };

    return (uint8_t)(digits[c & 127] - 1) | (c & HEX_WRONG);
}

static bool key_of(struct clock_key *key, struct slice text)
{
    uint8_t wrong = 0;

    if (text.size != 2 * CLOCK_KEY_SIZE)
        return false;
    for (size_t i = 0; i < CLOCK_KEY_SIZE; i++) {
        uint8_t high = hex_digit(text.data[2 * i]);
        uint8_t low = hex_digit(text.data[2 * i + 1]);

        wrong |= high | low;
        key->bytes[i] = (uint8_t)(high << 4 | low);
    }
    return !(wrong & HEX_WRONG);
}

/* This node's clock has keys of its members. With equal members, its keys need no search. at: place
 * of the previous key. */
static bool is_known_key(const struct clock *known, const struct clock_key *key,
                         uint32_t *at)
{
    while (*at < known->entries.count) {
        int order = memcmp(known->entries.items[*at].key.bytes, key->bytes,
                           CLOCK_KEY_SIZE);

        if (order >= 0)
            return !order;
        ++*at;
    }
    return false;
}

/* Versions refer to hashes in order. */
static bool read_clock(struct reading *reading)
{
    struct run *hashes = &reading->runs[FIELD_HASHES];
    struct clock *clock = &reading->gossip->clock;
    struct cursor cursor =
        cursor_of(next_of(&reading->runs[FIELD_CLOCK], FIELD_CLOCK));
    uint32_t max = reading->gossip->members.count;
    uint32_t known_at = 0;
    bool all_known = reading->known->keys_checked && !reading->new_count &&
                     max == reading->known->members.count;

    if (is_field(&cursor, 1, VARINT))
        (void)take_number(&cursor);
    if (hashes->count > max)
        return false;
    clock->entries.items = mem_alloc((max + 1) * sizeof *clock->entries.items);
    clock->entries.capacity = max + 1;
    for (uint32_t i = 0; i < hashes->count; i++) {
        struct clock_entry *entry = &clock->entries.items[i];
        struct cursor version = cursor_of(bytes_of(&cursor, 2));
        uint64_t hash = number_of(&version, 1);
        uint64_t count = number_of(&version, 2);

        if (!is_done(&version) || hash != i || count > COUNT_MAX ||
            !key_of(&entry->key, next_of(hashes, FIELD_HASHES)) ||
            (i && memcmp(entry[-1].key.bytes, entry->key.bytes,
                         CLOCK_KEY_SIZE) >= 0))
            return false;
        entry->count = (int64_t)count;
        clock->entries.count++;
        all_known = all_known && is_known_key(&reading->known->clock,
                                              &entry->key, &known_at);
    }
    reading->gossip->keys_checked = all_known;
    return is_done(&cursor);
}

/* No node is both: a known tombstone is of no known member. */
static bool is_member_too(const struct reading *reading,
                          const struct named *named)
{
    const struct node_id node = node_of(named);

    return named->member || ((!named->gone || reading->new_count) &&
                             gossip_find(reading->gossip, &node));
}

static bool read_tombstones(struct reading *reading)
{
    struct run *run = &reading->runs[FIELD_TOMBSTONES];
    const struct named *last = NULL;

    if (run->count > MEMBER_TOMBSTONES_MAX)
        return false;
    reading->gossip->tombstones.items = mem_alloc(
        (run->count + 1) * sizeof *reading->gossip->tombstones.items);
    reading->gossip->tombstones.capacity = run->count + 1;
    for (uint32_t i = 0; i < run->count; i++) {
        struct cursor cursor = cursor_of(next_of(run, FIELD_TOMBSTONES));
        uint64_t address = number_of(&cursor, 1);
        uint64_t at = number_of(&cursor, 2);
        const struct named *named;

        if (!is_done(&cursor) || address >= reading->named_count ||
            at > INT64_MAX)
            return false;
        named = &reading->named[address];
        if (is_member_too(reading, named) ||
            (last && compare_named(last, named) >= 0))
            return false;
        last = named;
        vec_push(&reading->gossip->tombstones,
                 ((struct tombstone){ node_of(named), at }));
    }
    return true;
}

bool gossip_read(struct arena *arena, const struct identity *identity,
                 struct slice bytes, const struct given_names *given,
                 const struct gossip *known, struct gossip *gossip)
{
    struct reading reading = {
        .arena = arena,
        .identity = identity,
        .known = known,
        .gossip = gossip,
    };
    bool good = find_runs(&reading, bytes) &&
                (given ? take_names(&reading, given) : read_names(&reading)) &&
                read_members(&reading) && read_overviews(&reading) &&
                read_clock(&reading) && read_tombstones(&reading);

    if (!good)
        gossip_fini(gossip);
    return good;
}
