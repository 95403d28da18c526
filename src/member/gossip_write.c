/* Writes the gossip message without the general encoder. A gossip of a thousand members is written
 * for each version, and filling structs took half of the time.
 *
 * Fields and numbers are those of cluster.proto. The bytes equal those of the general encoder
 * (wire_test compares them). */
#include "base/check.h"
#include "base/map.h"
#include "base/vec.h"
#include "member/wire_parts.h"

enum { VARINT = 0, BYTES = 2 };

#define VARINT_MAX 10 /* bytes */
#define NUMBER_MAX (1 + VARINT_MAX)

static size_t varint_size(uint64_t value)
{
    size_t size = 1;

    while ((value >>= 7) != 0)
        size++;
    return size;
}

static uint8_t *put_varint(uint8_t *at, uint64_t value)
{
    for (; value > 127; value >>= 7)
        *at++ = (uint8_t)(value | 128);
    *at++ = (uint8_t)value;
    return at;
}

static uint8_t *put_number(uint8_t *at, unsigned field, uint64_t value)
{
    *at++ = (uint8_t)(field << 3 | VARINT);
    return put_varint(at, value);
}

/* Writes a field's number and size. */
static uint8_t *put_size(uint8_t *at, unsigned field, size_t size)
{
    *at++ = (uint8_t)(field << 3 | BYTES);
    return put_varint(at, size);
}

static uint8_t *put_bytes(uint8_t *at, unsigned field, const void *bytes,
                          size_t size)
{
    at = put_size(at, field, size);
    memcpy(at, bytes, size);
    return at + size;
}

static size_t bytes_size(size_t size)
{
    return 1 + varint_size(size) + size;
}

/* Ends the buffer at `at`, up to which bytes were written. */
static void advance(struct buf *buf, const uint8_t *at)
{
    buf->size = (size_t)(at - buf->data);
}

/* ---- names ---- */

static void put_node(struct buf *buf, const struct identity *identity,
                     const struct node_id *node)
{
    size_t system = strlen(identity->system);
    size_t protocol = strlen(identity->protocol);
    size_t host = strlen(node->address.host);
    uint32_t low = (uint32_t)node->uid;
    uint32_t high = (uint32_t)(node->uid >> 32);
    size_t address = bytes_size(system) + bytes_size(host) + 1 +
                     varint_size(node->address.port) + bytes_size(protocol);
    size_t size = bytes_size(address) + 1 + varint_size(low) + 1 +
                  varint_size(high);
    uint8_t *at = buf_reserve(buf, bytes_size(size));

    at = put_size(at, 1, size);
    at = put_size(at, 1, address);
    at = put_bytes(at, 1, identity->system, system);
    at = put_bytes(at, 2, node->address.host, host);
    at = put_number(at, 3, node->address.port);
    at = put_bytes(at, 4, identity->protocol, protocol);
    at = put_number(at, 2, low);
    at = put_number(at, 3, high);
    advance(buf, at);
}

void gossip_write_names(struct buf *buf, const struct identity *identity,
                        const struct gossip *gossip)
{
    for (uint32_t i = 0; i < gossip->members.count; i++)
        put_node(buf, identity, PROFILE_NODE(gossip->members.items[i].profile));
    for (uint32_t i = 0; i < gossip->tombstones.count; i++)
        put_node(buf, identity, &gossip->tombstones.items[i].node);
}

/* ---- members ---- */

/* The distinct texts of a gossip, numbered in order of appearance. */
struct table {
    struct map indexes;      /* text -> its index + 1, as a pointer's value */
    VEC(const char *) texts; /* lent from profiles */
    uint32_t last;           /* last index used */
};

static uint32_t table_index(struct table *table, const char *text)
{
    uintptr_t index;

    if (table->texts.count &&
        strcmp(table->texts.items[table->last], text) == 0)
        return table->last;
    index = (uintptr_t)map_get(&table->indexes, slice_text(text));
    if (!index) {
        vec_push(&table->texts, text);
        index = table->texts.count;
        (void)map_put(&table->indexes, slice_text(text), (void *)index);
    }
    return table->last = (uint32_t)index - 1;
}

static void put_table(struct buf *buf, unsigned field, struct table *table)
{
    for (uint32_t i = 0; i < table->texts.count; i++) {
        const char *text = table->texts.items[i];
        size_t size = strlen(text);
        uint8_t *at = buf_reserve(buf, bytes_size(size));

        advance(buf, put_bytes(at, field, text, size));
    }
    vec_fini(&table->texts);
    map_fini(&table->indexes);
}

/* The members and their texts. */
struct members_part {
    struct table roles;
    struct table versions;
    struct buf bytes;
};

static void put_member(struct members_part *part,
                       const struct gossip_member *member, uint32_t index)
{
    const struct traits *traits = member->profile->traits;
    size_t roles_max = traits->role_count * (size_t)VARINT_MAX;
    uint8_t *whole = buf_reserve(&part->bytes, 6 * NUMBER_MAX + 2 * roles_max);
    uint8_t *fields = whole + NUMBER_MAX; /* after room for the size */
    uint8_t *roles = fields + 5 * NUMBER_MAX + roles_max;
    uint8_t *roles_end = roles;
    uint8_t *at = fields;

    for (uint32_t i = 0; i < traits->role_count; i++)
        roles_end = put_varint(roles_end,
                               table_index(&part->roles, traits->roles[i]));
    at = put_number(at, 1, index);
    at = put_number(at, 2, (uint32_t)member->up_number);
    at = put_number(at, 3, (uint32_t)member->status);
    if (traits->role_count)
        at = put_bytes(at, 4, roles, (size_t)(roles_end - roles));
    at = put_number(at, 5, table_index(&part->versions, traits->app_version));
    whole = put_size(whole, 4, (size_t)(at - fields));
    memmove(whole, fields, (size_t)(at - fields));
    advance(&part->bytes, whole + (at - fields));
}

static void make_members(struct members_part *part, const struct gossip *gossip)
{
    for (uint32_t i = 0; i < gossip->members.count; i++)
        put_member(part, &gossip->members.items[i], i);
}

/* ---- clock and tombstones ---- */

static void put_hashes(struct buf *buf, const struct clock *clock)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t *at =
        buf_reserve(buf, clock->entries.count * (2 + 2 * CLOCK_KEY_SIZE) + 1);

    for (uint32_t i = 0; i < clock->entries.count; i++) {
        const uint8_t *key = clock->entries.items[i].key.bytes;

        at = put_size(at, 3, 2 * CLOCK_KEY_SIZE);
        for (int k = 0; k < CLOCK_KEY_SIZE; k++) {
            *at++ = (uint8_t)digits[key[k] >> 4];
            *at++ = (uint8_t)digits[key[k] & 15];
        }
    }
    advance(buf, at);
}

static size_t version_size(const struct clock *clock, uint32_t index)
{
    return 2 + varint_size(index) +
           varint_size((uint64_t)clock->entries.items[index].count);
}

static void put_clock(struct buf *buf, const struct clock *clock)
{
    size_t size = 2; /* a time, which Akka writes as 0 */
    uint8_t *at;

    for (uint32_t i = 0; i < clock->entries.count; i++)
        size += bytes_size(version_size(clock, i));
    at = buf_reserve(buf, bytes_size(size));
    at = put_size(at, 6, size);
    at = put_number(at, 1, 0);
    for (uint32_t i = 0; i < clock->entries.count; i++) {
        at = put_size(at, 2, version_size(clock, i));
        at = put_number(at, 1, i);
        at = put_number(at, 2, (uint64_t)clock->entries.items[i].count);
    }
    advance(buf, at);
}

static void put_tombstones(struct buf *buf, const struct gossip *gossip)
{
    uint32_t count = gossip->tombstones.count;
    uint8_t *at = buf_reserve(buf, count * (size_t)(3 * NUMBER_MAX) + 1);

    for (uint32_t i = 0; i < count; i++) {
        uint32_t address = gossip->members.count + i;
        uint64_t at_ms = gossip->tombstones.items[i].at_ms;

        at = put_size(at, 7, 2 + varint_size(address) + varint_size(at_ms));
        at = put_number(at, 1, address);
        at = put_number(at, 2, at_ms);
    }
    advance(buf, at);
}

void gossip_write_hashes(struct buf *buf, const struct gossip *gossip)
{
    put_hashes(buf, &gossip->clock);
}

void gossip_write_rest(struct buf *buf, const struct gossip *gossip)
{
    struct members_part members = { .bytes = { 0 } };

    make_members(&members, gossip);
    put_table(buf, 2, &members.roles);
    buf_put_slice(buf, buf_slice(&members.bytes));
    put_clock(buf, &gossip->clock);
    put_tombstones(buf, gossip);
    put_table(buf, 8, &members.versions);
    buf_fini(&members.bytes);
}

/* ---- the overview ---- */

static size_t row_size(uint32_t subject, const struct observation *row)
{
    return 3 + varint_size(subject) + varint_size((uint64_t)row->status) +
           varint_size((uint64_t)row->version);
}

/* Index of a member in the address table. All nodes in a gossip are members (gossip_valid). */
static uint32_t index_of(const struct gossip *gossip,
                         const struct profile *profile)
{
    uint32_t at = gossip_index(gossip, profile);

    check(at < gossip->members.count);
    return at;
}

static void put_observer(struct buf *buf, const struct gossip *gossip,
                         const struct observer *observer)
{
    uint32_t address = index_of(gossip, observer->profile);
    size_t size = 1 + varint_size(address) + 1 +
                  varint_size((uint64_t)observer->version);
    uint8_t *at;

    for (uint32_t i = 0; i < observer->rows.count; i++) {
        const struct observation *row = &observer->rows.items[i];

        size += bytes_size(row_size(index_of(gossip, row->subject), row));
    }
    at = buf_reserve(buf, bytes_size(size));
    at = put_size(at, 2, size);
    at = put_number(at, 1, address);
    for (uint32_t i = 0; i < observer->rows.count; i++) {
        const struct observation *row = &observer->rows.items[i];
        uint32_t subject = index_of(gossip, row->subject);

        at = put_size(at, 2, row_size(subject, row));
        at = put_number(at, 1, subject);
        at = put_number(at, 3, (uint64_t)row->status);
        at = put_number(at, 4, (uint64_t)row->version);
    }
    at = put_number(at, 4, (uint64_t)observer->version);
    advance(buf, at);
}

static void put_observers(struct buf *buf, const struct gossip *gossip)
{
    const struct reachability *table = &gossip->reachability;

    for (uint32_t i = 0; i < table->observers.count; i++)
        put_observer(buf, gossip, &table->observers.items[i]);
}

static void put_seen(struct buf *buf, const struct gossip *gossip)
{
    uint8_t *at = buf_reserve(
        buf, gossip->members.count * (size_t)NUMBER_MAX + 1);

    for (uint32_t i = 0; i < gossip->members.count; i++)
        if (gossip->members.items[i].seen)
            at = put_number(at, 1, i);
    advance(buf, at);
}

static void put_overview(struct buf *buf, const struct buf *overview)
{
    uint8_t *at = buf_reserve(buf, bytes_size(overview->size));

    at = put_size(at, 5, overview->size);
    advance(buf, at);
    buf_put_slice(buf, buf_slice(overview));
}

void gossip_write_observations(struct buf *buf, const struct gossip *gossip)
{
    struct buf overview = { 0 };

    put_observers(&overview, gossip);
    if (overview.size)
        put_overview(buf, &overview);
    buf_fini(&overview);
}

void gossip_write_seen(struct buf *buf, const struct gossip *gossip)
{
    struct buf overview = { 0 };

    put_seen(&overview, gossip);
    put_overview(buf, &overview);
    buf_fini(&overview);
}

void gossip_write(struct buf *buf, const struct identity *identity,
                  const struct gossip *gossip)
{
    struct members_part members = { .bytes = { 0 } };
    struct buf overview = { 0 };

    make_members(&members, gossip);
    put_seen(&overview, gossip);
    put_observers(&overview, gossip);
    gossip_write_names(buf, identity, gossip);
    put_table(buf, 2, &members.roles);
    put_hashes(buf, &gossip->clock);
    buf_put_slice(buf, buf_slice(&members.bytes));
    put_overview(buf, &overview);
    put_clock(buf, &gossip->clock);
    put_tombstones(buf, gossip);
    put_table(buf, 8, &members.versions);
    buf_fini(&members.bytes);
    buf_fini(&overview);
}
