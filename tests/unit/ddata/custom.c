/* Implements the type that only some nodes know. */
#include "custom.h"

#include <sha1.h>
#include <stdio.h>

#include "base/check.h"
#include "ddata/inside.h"
#include "ddata/message.h"
#include "ddata/replicator_inside.h"

#define MAP_KEY "k"
#define NAME_SIZE 16

static struct custom *running;

/* ---- the type, here and elsewhere ---- */

/* Its manifest is that of the set after an x; unsteady bytes begin with the encoder's number. */
static struct dd_value *disguised(const struct dd_value *set, uint32_t encoder)
{
    struct buf bytes = { 0 }, room = { 0 }, manifest = { 0 };
    struct dd_other other = dd_encode(set, &room);
    struct dd_value *value;

    buf_put_text(&manifest, "x");
    buf_put_slice(&manifest, other.manifest);
    buf_put_u8(&bytes, running->is_unsteady ? (uint8_t)encoder : 0);
    buf_put_slice(&bytes, other.bytes);
    check(dd_decode((struct dd_other){ CUSTOM_SERIALIZER, buf_slice(&manifest), buf_slice(&bytes) },
                    &value) == DD_OK);
    check(dd_kind_of(value) == DD_OPAQUE);
    buf_fini(&bytes);
    buf_fini(&room);
    buf_fini(&manifest);
    return value;
}

static struct dd_value *known(const struct dd_value *opaque)
{
    struct buf unused = { 0 };
    struct dd_other other = dd_encode(opaque, &unused);
    struct dd_value *value;

    check(other.serializer == CUSTOM_SERIALIZER && other.manifest.size > 1 && other.bytes.size);
    check(dd_decode((struct dd_other){ DD_SERIALIZER,
                                       slice_of(other.manifest.data + 1, other.manifest.size - 1),
                                       slice_of(other.bytes.data + 1, other.bytes.size - 1) },
                    &value) == DD_OK);
    return value;
}

static bool is_custom(const struct dd_value *value)
{
    enum dd_kind kind = dd_kind_of(value);

    return kind == DD_GSET || kind == DD_ORSET || kind == DD_ORSET_DELTA;
}

/* Replaces the value by its other form if it is of the type. */
static void turn(struct dd_value **value, bool to_jvm, uint32_t encoder)
{
    struct dd_value *turned = NULL;

    if (to_jvm && dd_kind_of(*value) == DD_OPAQUE)
        turned = known(*value);
    else if (!to_jvm && is_custom(*value))
        turned = disguised(*value, encoder);
    if (!turned)
        return;
    dd_free(*value);
    *value = turned;
}

static void turn_items(struct elements *items, bool to_jvm, uint32_t encoder)
{
    for (uint32_t i = 0; i < items->list.count; i++) {
        struct ormap_item *item = ormap_item_at(items, i);

        if (item->value)
            turn(&item->value, to_jvm, encoder);
    }
}

static void turn_all(struct dd_value **value, bool to_jvm, uint32_t encoder)
{
    struct ormap_ops *ops = &(*value)->is.ormap_ops;

    if (dd_kind_of(*value) == DD_ORMAP)
        turn_items(&(*value)->is.map.items, to_jvm, encoder);
    else if (dd_kind_of(*value) == DD_ORMAP_DELTA)
        for (uint32_t i = 0; i < ops->list.count; i++)
            turn_items(&ops->list.items[i].items, to_jvm, encoder);
    else
        turn(value, to_jvm, encoder);
    value_touch(*value);
}

enum turn { TURN_NOT, TURN_TO_JVM, TURN_FROM_JVM };

/* A JVM skips the fields of this library. versions: those that come with the value; may be null. */
static void turn_envelope(struct slice bytes, enum turn way, uint32_t encoder,
                          const struct versions *versions,
                          enum envelope_form form, struct buf *turned)
{
    struct envelope envelope = { 0 };

    check(envelope_decode(bytes, &envelope));
    if (way == TURN_TO_JVM) {
        origin_free(envelope.origin);
        envelope.origin = NULL;
    }
    if (versions)
        versions_copy(&envelope.versions, versions);
    if (way != TURN_NOT)
        turn_all(&envelope.value, way == TURN_TO_JVM, encoder);
    envelope_encode(turned, &envelope, NULL, form);
    envelope_fini(&envelope);
}

/* ---- messages ---- */

static void turned_digest(const struct custom *custom, uint32_t index,
                          struct slice key, uint8_t digest[DIGEST_SIZE])
{
    struct buf bytes = { 0 }, turned = { 0 };
    SHA1_CTX sha1;

    memset(digest, 0, DIGEST_SIZE);
    if (!replicator_bytes(custom->cluster->nodes[index].replicator, key, &bytes) || !bytes.size)
        return;
    turn_envelope(buf_slice(&bytes), TURN_FROM_JVM, index, NULL, ENVELOPE_PLAIN, &turned);
    SHA1Init(&sha1);
    SHA1Update(&sha1, turned.data, turned.size);
    SHA1Final(digest, &sha1);
    buf_fini(&bytes);
    buf_fini(&turned);
}

/* Digests cover the bytes that nodes exchange. */
static void turn_digest(const struct custom *custom, uint32_t jvm, bool to_jvm,
                        struct message_entry *entry,
                        uint8_t digest[DIGEST_SIZE])
{
    struct entry *own = entry_find(custom->cluster->nodes[jvm].replicator, entry->key);

    if (entry->bytes.size != DIGEST_SIZE || !own)
        return;
    turned_digest(custom, jvm, entry->key, digest);
    if (!to_jvm)
        entry->bytes = slice_of(digest, DIGEST_SIZE);
    else if (slice_equal(entry->bytes, slice_of(digest, DIGEST_SIZE)))
        entry->bytes = entry_digest(custom->cluster->nodes[jvm].replicator, own);
}

/* A JVM sends all its versions beside a change, too. This library does not. */
static const struct versions *versions_beside(const struct custom *custom,
                                              uint32_t from,
                                              enum message_kind kind,
                                              struct slice key)
{
    const struct entry *entry =
        entry_find(custom->cluster->nodes[from].replicator, key);

    return custom->is_jvm[from] && custom->sort == CUSTOM_DELTAS && entry &&
                   (kind == MESSAGE_WRITE || kind == MESSAGE_DELTAS)
               ? &entry->envelope.versions
               : NULL;
}

/* The message as the other kind of node sends or reads it. */
static void turn_message(const struct custom *custom, uint32_t from,
                         uint32_t to, const struct inbound *inbound,
                         struct buf *payload)
{
    enum message_kind kind = message_kind_of(inbound->manifest);
    uint32_t jvm = custom->is_jvm[from] ? from : to;
    enum turn way = custom->is_jvm[from] == custom->is_jvm[to] ? TURN_NOT
                    : custom->is_jvm[to]                       ? TURN_TO_JVM
                                                               : TURN_FROM_JVM;
    struct message message;
    struct buf *parts;
    uint8_t(*digests)[DIGEST_SIZE];

    check(message_get(kind, inbound->payload, &message));
    parts = mem_alloc((message.count + 1) * sizeof *parts);
    digests = mem_alloc((message.count + 1) * sizeof *digests);
    memset(parts, 0, (message.count + 1) * sizeof *parts);
    for (uint32_t i = 0; i < message.count; i++) {
        if (kind == MESSAGE_STATUS && way != TURN_NOT) {
            turn_digest(custom, jvm, way == TURN_TO_JVM, &message.entries[i], digests[i]);
        } else if (kind != MESSAGE_STATUS && message.entries[i].bytes.size) {
            turn_envelope(message.entries[i].bytes, way, jvm,
                          versions_beside(custom, from, kind, message.entries[i].key),
                          ENVELOPE_WHOLE, &parts[i]);
            message.entries[i].bytes = buf_slice(&parts[i]);
        }
    }
    message_put(payload, &message);
    for (uint32_t i = 0; i < message.count; i++)
        buf_fini(&parts[i]);
    mem_free(parts);
    mem_free(digests);
    message_fini(&message);
}

static uint32_t index_of(const struct cluster *cluster, const struct node_id *node)
{
    for (uint32_t i = 0; i < cluster->count; i++)
        if (address_equal(&cluster->nodes[i].identity.node.address, &node->address))
            return i;
    check(!"a node");
    return 0;
}

/* A node that acknowledges a write has it from now on. */
static void note_promise(struct custom *custom, uint32_t from, uint32_t to,
                         const struct inbound *inbound)
{
    uint64_t id;

    if (message_kind_of(inbound->manifest) != MESSAGE_WRITE_ACK)
        return;
    check(aggregator_id_of(custom->cluster->nodes[to].replicator, inbound->recipient, &id));
    if (id < custom->ids[to] && inbound->from.uid == custom->nodes[from])
        custom->promised[from].has[custom->added[to][id]] = true;
}

static void free_late(struct custom *custom, uint32_t at)
{
    buf_fini(&custom->late.items[at].sender);
    buf_fini(&custom->late.items[at].payload);
    vec_remove(&custom->late, at);
}

static void keep_late(struct custom *custom, uint32_t to,
                      const struct inbound *inbound)
{
    struct late_write late = {
        .due = custom->cluster->now + rng_below(&custom->cluster->rng, 1000) * MS,
        .to = to,
        .from = inbound->from,
    };

    buf_put_slice(&late.sender, inbound->sender);
    buf_put_slice(&late.payload, inbound->payload);
    vec_push(&custom->late, late);
}

/* Late writes arrive before a later message of their sender. */
static void send_late(struct custom *custom, uint32_t to, const struct node_id *from)
{
    for (uint32_t i = custom->late.count; i-- > 0;) {
        const struct late_write *late = &custom->late.items[i];

        if (late->to != to || !node_equal(&late->from, from) ||
            late->due > custom->cluster->now)
            continue;
        cluster_hand_over(custom->cluster, to,
                          &(struct inbound){ .from = late->from,
                                             .sender = buf_slice(&late->sender),
                                             .recipient = slice_text(CLUSTER_PATH),
                                             .manifest = slice_text("I"),
                                             .payload = buf_slice(&late->payload),
                                             .serializer = REPLICATOR_SERIALIZER });
        free_late(custom, i);
    }
}

static void deliver(struct cluster *cluster, uint32_t index,
                    const struct inbound *inbound)
{
    struct custom *custom = running;
    uint32_t from = index_of(cluster, &inbound->from);
    struct inbound turned = *inbound;
    struct buf payload = { 0 };

    if (custom->are_apart && custom->is_jvm[from] && custom->is_jvm[index])
        return;
    send_late(custom, index, &inbound->from);

    if (custom->is_jvm[index] && !custom->is_jvm[from])
        note_promise(custom, from, index, inbound);
    if (!custom->is_jvm[from] && !custom->is_jvm[index]) {
        cluster_hand_over(cluster, index, inbound);
        return;
    }
    turn_message(custom, from, index, inbound, &payload);
    turned.payload = buf_slice(&payload);
    if (custom->is_jvm[from] && !custom->is_jvm[index] &&
        message_kind_of(inbound->manifest) == MESSAGE_WRITE &&
        rng_below(&cluster->rng, 100) < custom->late_percent)
        keep_late(custom, index, &turned);
    cluster_hand_over(cluster, index, &turned);
    buf_fini(&payload);
}

/* ---- nodes ---- */

static void note_life(struct custom *custom, uint32_t index)
{
    custom->nodes[index] = custom->cluster->nodes[index].identity.node.uid;
    custom->ids[index] = 0;
}

static void set(struct custom *custom, bool is_jvm)
{
    static const char *const durable[] = { CUSTOM_KEY };

    custom->cluster->settings.deltas_off = is_jvm && custom->sort == CUSTOM_WHOLE;
    custom->cluster->durable_keys = durable;
    custom->cluster->durable_key_count = !is_jvm && custom->is_durable;
}

struct custom *custom_new(uint64_t seed, enum custom_sort sort, uint32_t jvms,
                          uint32_t others, bool is_durable)
{
    struct custom *custom = mem_alloc(sizeof *custom);

    running = custom;
    custom->sort = sort;
    custom->is_durable = is_durable;
    custom->cluster = cluster_new(seed);
    custom->cluster->deliver = deliver;
    custom->cluster->is_ordered = true;
    custom->cluster->settings.pruning_interval_ms = 1000;
    custom->cluster->settings.pruning_dissemination_ms = 4000;
    for (uint32_t i = 0; i < jvms + others; i++) {
        custom->is_jvm[i] = i < jvms;
        set(custom, i < jvms);
        (void)cluster_add(custom->cluster);
        note_life(custom, i);
    }
    return custom;
}

void custom_free(struct custom *custom)
{
    cluster_free(custom->cluster);
    while (custom->late.count)
        free_late(custom, 0);
    vec_fini(&custom->late);
    mem_free(custom);
    running = NULL;
}

void custom_restart(struct custom *custom, uint32_t index)
{
    set(custom, custom->is_jvm[index]);
    cluster_restart(custom->cluster, index);
    note_life(custom, index);
    if (!custom->is_durable)
        memset(&custom->promised[index], 0, sizeof custom->promised[index]);
}

/* ---- changes ---- */

static struct dd_element name_of(uint32_t number, char text[NAME_SIZE])
{
    (void)snprintf(text, NAME_SIZE, "n%u", (unsigned)number);
    return dd_text(text);
}

static void add_to_set(struct dd_value *set, struct dd_writer *writer,
                       const struct dd_element *name)
{
    if (dd_kind_of(set) == DD_GSET)
        dd_gset_add(set, name);
    else
        dd_orset_add(set, writer, name);
}

static void add_to_map(struct dd_value *map, struct dd_writer *writer,
                       const struct dd_element *name)
{
    struct dd_element key = dd_text(MAP_KEY);
    const struct dd_value *old = dd_map_get(map, &key);
    struct dd_value *set = old ? dd_copy(old) : dd_new(DD_GSET);

    dd_gset_add(set, name);
    dd_ormap_update(map, writer, &key, set);
}

static void add_as_jvm(struct dd_value *value, struct dd_writer *writer,
                       uint32_t number)
{
    char text[NAME_SIZE];
    struct dd_element name = name_of(number, text);

    if (dd_kind_of(value) == DD_ORMAP)
        add_to_map(value, writer, &name);
    else
        add_to_set(value, writer, &name);
}

static void add_flag(struct dd_value *map, struct dd_writer *writer,
                     uint32_t number)
{
    char text[NAME_SIZE];
    struct dd_element name = name_of(number, text);

    check(dd_ormap_put(map, writer, &name, dd_new(DD_FLAG)));
}

static bool is_alone(const struct custom *custom, struct consistency consistency)
{
    return consistency.level == CONSISTENCY_LOCAL || custom->cluster->count < 2;
}

uint64_t custom_add(struct custom *custom, uint32_t index, uint32_t number,
                    struct consistency consistency)
{
    static const enum dd_kind kinds[] = {
        [CUSTOM_WHOLE] = DD_GSET, [CUSTOM_DELTAS] = DD_GSET,
        [CUSTOM_CAUSAL] = DD_ORSET, [CUSTOM_MAP] = DD_ORMAP,
    };

    check(number < CUSTOM_ITEMS_MAX);
    if (!is_alone(custom, consistency)) {
        check(custom->ids[index] < 1024);
        custom->added[index][custom->ids[index]++] = number;
    }
    return do_change(custom->cluster, index, CUSTOM_KEY, kinds[custom->sort],
                     custom->is_jvm[index] ? add_as_jvm : add_flag, number,
                     consistency);
}

uint64_t custom_get(struct custom *custom, uint32_t index,
                    struct consistency consistency)
{
    if (!is_alone(custom, consistency))
        custom->added[index][custom->ids[index]++] = CUSTOM_ITEMS_MAX - 1;
    return do_get(custom->cluster, index, CUSTOM_KEY, consistency);
}

/* ---- values ---- */

static void note_item(const struct dd_element *name, struct custom_items *items)
{
    uint32_t number = 0;

    for (size_t i = 1; i < name->text.size; i++)
        number = number * 10 + (uint32_t)(name->text.data[i] - '0');
    check(number < CUSTOM_ITEMS_MAX);
    items->has[number] = true;
}

static void look(const struct dd_value *value, struct custom_items *items)
{
    struct dd_value *turned = dd_copy(value);
    const struct dd_value *inside;
    struct dd_element key;
    uint32_t at = 0;

    turn_all(&turned, true, 0);
    if (dd_kind_of(turned) == DD_ORMAP) {
        while (dd_map_next(turned, &at, &key, &inside)) {
            if (dd_kind_of(inside) == DD_GSET)
                look(inside, items);
            else
                note_item(&key, items);
        }
    } else {
        while (dd_set_next(turned, &at, &key))
            note_item(&key, items);
    }
    dd_free(turned);
}

struct custom_items custom_items_of(const struct custom *custom,
                                    const struct dd_value *value)
{
    struct custom_items items = { 0 };

    (void)custom;
    if (value)
        look(value, &items);
    return items;
}

uint32_t custom_count(const struct custom *custom, uint32_t index)
{
    uint32_t count = 0;

    while (replicator_look_at(custom->cluster->nodes[index].replicator,
                              slice_text(CUSTOM_KEY), count))
        count++;
    return count;
}

struct custom_items custom_items(const struct custom *custom, uint32_t index)
{
    struct custom_items items = { 0 };

    for (uint32_t i = 0; i < custom_count(custom, index); i++)
        look(replicator_look_at(custom->cluster->nodes[index].replicator,
                                slice_text(CUSTOM_KEY), i),
             &items);
    return items;
}

static bool is_life(const struct cluster *cluster, const struct node_id *node)
{
    for (uint32_t i = 0; i < cluster->count; i++)
        if (cluster->nodes[i].replicator &&
            node_equal(&cluster->nodes[i].identity.node, node))
            return true;
    return false;
}

bool custom_has_removed(const struct custom *custom, uint32_t index)
{
    bool has_removed = false;

    for (uint32_t i = 0; i < custom_count(custom, index); i++) {
        struct dd_value *turned = dd_copy(replicator_look_at(
            custom->cluster->nodes[index].replicator, slice_text(CUSTOM_KEY), i));
        struct dd_nodes nodes = { 0 };

        turn_all(&turned, true, 0);
        dd_add_modified_by(turned, &nodes);
        for (uint32_t k = 0; k < nodes.items.count; k++)
            has_removed |= !is_life(custom->cluster, &nodes.items.items[k]);
        vec_fini(&nodes.items);
        dd_free(turned);
    }
    return has_removed;
}

bool custom_has_all(const struct custom_items *items,
                    const struct custom_items *wanted)
{
    for (uint32_t i = 0; i < CUSTOM_ITEMS_MAX; i++)
        if (wanted->has[i] && !items->has[i])
            return false;
    return true;
}
