/* Compares answers to clients, replicas and disks with what they must be. */
#include "sim/workload/workload_data_inside.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/sort.h"
#include "base/timers.h"
#include "ddata/face.h"
#include "ddata/message.h"
#include "ddata/opaque.h"
#include "sim/check/check_member.h"
#include "sim/world/durable.h"
#include "sim/world/verdict.h"

/* ---- values as numbers ---- */

/* A visible value with its elements. */
struct shown {
    struct check_data_value value;
    VEC(int64_t) elements;
    bool is_set;
};

static int by_number(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

static void show_map(struct shown *shown, const struct sherd_value *value)
{
    struct sherd_item key, item;

    for (uint32_t at = 0; sherd_value_next(value, &at, &key);) {
        if (sherd_value_type(value) == SHERD_PN_COUNTER_MAP)
            shown->value.count += sherd_value_count(value, &key);
        else if (sherd_value_type(value) == SHERD_LWW_MAP &&
                 sherd_value_get(value, &key, &item))
            vec_push(&shown->elements, item.number);
        for (uint32_t in = 0;
             sherd_value_type(value) == SHERD_OR_MULTIMAP &&
             sherd_value_next_of(value, &key, &in, &item);)
            vec_push(&shown->elements, item.number);
    }
}

static void show(struct shown *shown, const struct sherd_value *value)
{
    struct sherd_item item;

    shown->value.is_on = sherd_value_flag(value);
    switch (sherd_value_type(value)) {
    case SHERD_FLAG:
        break;
    case SHERD_G_COUNTER:
    case SHERD_PN_COUNTER:
        shown->value.count = sherd_value_count(value, NULL);
        break;
    case SHERD_G_SET:
    case SHERD_OR_SET:
        shown->is_set = true;
        for (uint32_t at = 0; sherd_value_next(value, &at, &item);)
            vec_push(&shown->elements, item.number);
        break;
    case SHERD_LWW_REGISTER:
        if (sherd_value_get(value, NULL, &item))
            vec_push(&shown->elements, item.number);
        break;
    case SHERD_LWW_MAP:
    case SHERD_PN_COUNTER_MAP:
    case SHERD_OR_MULTIMAP:
        show_map(shown, value);
        break;
    case SHERD_OR_MULTIMAP_DELTAS: /* not used */
    case SHERD_OR_MAP:
    case SHERD_CUSTOM:
        break;
    }
}

/* Several values of a set are one to the checks. */
static void show_end(struct shown *shown)
{
    uint32_t kept = 0;

    sort_stable(shown->elements.items, shown->elements.count,
                sizeof(int64_t), by_number);
    for (uint32_t i = 0; shown->is_set && i < shown->elements.count; i++)
        if (!kept || shown->elements.items[kept - 1] != shown->elements.items[i])
            shown->elements.items[kept++] = shown->elements.items[i];
    if (shown->is_set)
        shown->elements.count = kept;
    shown->value.size = shown->elements.count;
    shown->value.elements = shown->elements.items;
}

/* False: the body is unreadable, or has another type than the key. */
static bool show_body(struct data_load *load, uint32_t key, uint32_t node,
                      struct sherd_bytes body, struct shown *shown)
{
    const struct sherd_msg msg = { .kind = SHERD_DATA,
                                   .msg = SHERD_DATA_FOUND,
                                   .body = body };
    struct sherd_value *value;
    uint32_t at = 0, count = 0;
    bool good = true;

    *shown = (struct shown){ .is_set = false };
    for (; (value = sherd_data_next_value(&msg, &at)) && good; count++) {
        good = sherd_value_type(value) == check_data_type(load->check, key);
        if (good)
            show(shown, value);
        sherd_value_free(value);
    }
    good = good && count;
    if (good)
        show_end(shown);
    else
        violation(load->verdict, "value-integrity", node, "key %s has another type, or no value",
                  data_key_text(load, key));
    return good;
}

static const struct check_data_value deleted = { .is_deleted = true };

void data_read(struct data_load *load, const struct check_data_read *read,
               const struct sherd_msg *msg)
{
    struct shown shown;

    switch ((enum sherd_data_message)msg->msg) {
    case SHERD_DATA_FOUND:
    case SHERD_DATA_CHANGED:
        if (!show_body(load, read->key, read->node, msg->body, &shown))
            break;
        check_data_seen(load->check, read, &shown.value);
        vec_fini(&shown.elements);
        break;
    case SHERD_DATA_DELETED:
        check_data_seen(load->check, read, &deleted);
        break;
    case SHERD_DATA_NOT_FOUND:
        check_data_seen(load->check, read, NULL);
        break;
    default:
        break;
    }
}

void data_notice(struct data_load *load, const struct client *client,
                 struct follow *follow, const struct sherd_msg *msg)
{
    const struct check_data_read read = { .key = follow->key,
                                          .node = client->node,
                                          .client = client->number };

    if (msg->msg == SHERD_DATA_EXPIRED)
        follow->is_told = false; /* the expired value is void */
    if (msg->msg != SHERD_DATA_CHANGED && msg->msg != SHERD_DATA_DELETED)
        return;
    follow->is_told = true;
    follow->is_deleted = msg->msg == SHERD_DATA_DELETED;
    buf_clear(&follow->last);
    buf_put(&follow->last, msg->body.data, msg->body.size);
    data_read(load, &read, msg);
}

/* ---- replicas ---- */

const struct replicator *workload_replicator(const struct data_load *load,
                                         uint32_t node)
{
    const struct world_node *place = world_node(load->world, node);

    return place->node ? machine_data(node_machine(place->node, 0)) : NULL;
}

static struct slice key_slice(const struct data_load *load, uint32_t key)
{
    return slice_text(data_key_text(load, key));
}

bool data_put_body(const struct replicator *replicator, struct slice key,
                   struct buf *body)
{
    const struct dd_value *value = replicator_look(replicator, key);

    face_put_body(body, key, value);
    for (uint32_t i = 1; value && replicator_look_at(replicator, key, i); i++)
        face_put_value(body, replicator_look_at(replicator, key, i));
    return value != NULL;
}

/* A node may not know the type. */
static bool set_has(const struct dd_value *value,
                    const struct dd_element *element)
{
    struct buf unused = { 0 };
    struct dd_value *known;
    bool is_there;

    if (dd_kind_of(value) != DD_OPAQUE)
        return dd_set_has(value, element);
    check(dd_decode(dd_encode(value, &unused), &known) == DD_OK);
    is_there = dd_set_has(known, element);
    dd_free(known);
    return is_there;
}

static bool has_element(const struct data_load *load, uint32_t node,
                        const struct call *call)
{
    const struct replicator *replicator = workload_replicator(load, node);
    struct dd_element element = dd_long(call->element);
    struct buf bytes = { 0 };
    const struct dd_value *value;
    bool is_there;
    uint32_t at = 0;

    if (!replicator)
        return false;
    while ((value = replicator_look_at(replicator, key_slice(load, call->key), at++)))
        if (set_has(value, &element))
            return true;
    if (at > 1)
        return false;
    is_there = replicator_bytes(replicator, key_slice(load, call->key), &bytes);
    buf_fini(&bytes);
    return is_there; /* deleted since */
}

/* A node of another cluster in a node's place has no disk. */
static bool is_durable_at(const struct data_load *load, uint32_t node,
                          uint32_t key)
{
    return load->settings.is_durable && data_key_is_durable(load, key) &&
           world_node(load->world, node)->settings.durable_key_count;
}

static bool has_stored(const struct data_load *load, uint32_t node,
                       const struct call *call)
{
    struct dd_element element = dd_long(call->element);
    struct envelope envelope = { 0 };
    struct slice bytes;
    bool is_there;

    if (!world_durable_value(load->world, node, key_slice(load, call->key),
                             &bytes) ||
        !envelope_decode_stored(bytes, &envelope))
        return false;
    is_there = envelope_is_deleted(&envelope);
    for (uint32_t i = 0; !is_there && i < opaque_count(&envelope); i++)
        is_there = dd_set_has(opaque_look(&envelope, i)->value, &element);
    envelope_fini(&envelope);
    return is_there;
}

static void remember_stored(struct data_load *load, const struct call *call)
{
    struct stored stored = { .call = *call };

    for (uint32_t i = 0;
         i < world_node_count(load->world) && i < DATA_DISKS_MAX; i++)
        stored.has[i] = has_stored(load, i, call);
    if (load->stored.count < STORED_MAX)
        vec_push(&load->stored, stored);
    else
        load->stored.items[load->stored_next++ % STORED_MAX] = stored;
}

/* no-lost-update: an acknowledged durable write outlives errors, crashes and losses of power. */
static void look_for_stored(struct data_load *load)
{
    for (uint32_t i = 0; i < load->settings.slots && load->stored.count; i++) {
        const struct stored *stored =
            &load->stored.items[load->stored_looked++ % load->stored.count];

        for (uint32_t node = 0; node < DATA_DISKS_MAX; node++) {
            if (!stored->has[node] ||
                !check_data_must_stay(load->check, stored->call.number))
                continue;
            load->counts.kept++;
            if (!has_stored(load, node, &stored->call))
                violation(load->verdict, "no-lost-update", node,
                          "write %llu of key %s was acknowledged, and this disk had it: it has it no more",
                          (unsigned long long)stored->call.number,
                          data_key_text(load, stored->call.key));
        }
    }
}

void data_look_up(struct data_load *load, const struct call *call,
                  uint32_t node)
{
    enum sherd_data_type type = check_data_type(load->check, call->key);
    uint64_t have = check_data_ends_since(load->check, call->number);
    bool is_durable = is_durable_at(load, node, call->key);

    if ((type != SHERD_G_SET && type != SHERD_OR_SET) ||
        !check_data_is_firm(load->check, call->number))
        return;
    load->counts.firm++;
    load->counts.on_disks += is_durable;
    if (is_durable)
        remember_stored(load, call);
    for (uint32_t i = 0; i < world_node_count(load->world); i++)
        have += has_element(load, i, call) &&
                (!is_durable || has_stored(load, i, call));
    if (have < call->replicas)
        violation(load->verdict, "no-lost-update", node,
                  "write %llu of key %s is acknowledged: %u replicas have it%s, and %llu do",
                  (unsigned long long)call->number,
                  data_key_text(load, call->key), call->replicas,
                  is_durable ? " on disk" : "", (unsigned long long)have);
}

typedef VEC(struct check_replica) replica_list;

static void list_replicas(const struct data_load *load, replica_list *list)
{
    for (uint32_t i = 0; i < world_node_count(load->world); i++) {
        const struct world_node *place = world_node(load->world, i);
        struct check_replica replica = {
            .index = i,
            .node = place->settings.identity.node,
            .replicator = workload_replicator(load, i),
        };

        if (place->node)
            vec_push(list, replica);
    }
}

/* value-integrity, for three replicas in turn. */
static void look_at_laws(struct data_load *load, const replica_list *list,
                         uint32_t key)
{
    const struct dd_value *values[3] = { NULL };
    uint32_t found = 0;

    for (uint32_t i = 0; i < list->count && found < 3; i++) {
        const struct check_replica *replica =
            &list->items[(i + load->looked) % list->count];

        if (replica->replicator)
            values[found] =
                replicator_look(replica->replicator, key_slice(load, key));
        if (values[found] && dd_kind_of(values[found]) == DD_OPAQUE)
            values[found] = NULL; /* it does not merge there */
        found += values[found] != NULL;
    }
    if (found)
        check_replica_laws(load->verdict,
                           list->items[load->looked % list->count].index,
                           values);
}

static bool is_here(const struct replicator *replicator, struct slice key)
{
    struct buf bytes = { 0 };
    bool is_there = replicator && replicator_bytes(replicator, key, &bytes);

    buf_fini(&bytes);
    return is_there;
}

static void look_at_disk(struct data_load *load,
                         const struct check_replica *replica, uint32_t key)
{
    struct slice bytes;

    if (check_data_has_forgotten(load->check, replica->index, key))
        return; /* its older entry may not be erased yet */
    if (!is_durable_at(load, replica->index, key) ||
        !world_durable_value(load->world, replica->index, key_slice(load, key),
                             &bytes))
        return;
    load->counts.disks++;
    check_replica_disk(load->verdict, replica, key_slice(load, key), bytes);
}

/* One of the leaders prunes that live node, which is no member for it. */
static bool is_pruned(const struct data_load *load,
                      const replica_list *leaders,
                      const struct check_replica *other)
{
    for (uint32_t i = 0; i < leaders->count; i++) {
        const struct check_replica *replica = &leaders->items[i];

        if (replicator_prunes(replica->replicator, &other->node) &&
            !check_member_sees(load->members, replica->index,
                               other->node.uid))
            return true;
    }
    return false;
}

static void look_for_pruned(struct data_load *load, const replica_list *list)
{
    replica_list leaders = { 0 }; /* inside: few */

    if (!load->safety)
        return;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct check_replica *replica = &list->items[i];

        if (replica->replicator && !load->safety->outside[replica->index] &&
            replicator_leads(replica->replicator))
            vec_push(&leaders, *replica);
    }
    for (uint32_t i = 0; i < list->count; i++)
        check_data_node_pruned(load->check, list->items[i].index,
                               is_pruned(load, &leaders, &list->items[i]));
    vec_fini(&leaders);
}

void data_load_sample(struct data_load *load)
{
    replica_list list = { 0 };

    list_replicas(load, &list);
    look_for_pruned(load, &list);
    look_for_stored(load);
    for (uint32_t i = 0; i < load->settings.slots && list.count; i++) {
        uint32_t key = load->looked++ % load->keys.count;

        for (uint32_t k = 0; k < list.count; k++) {
            check_replica_marks(load->verdict, &list.items[k],
                                key_slice(load, key));
            look_at_disk(load, &list.items[k], key);
        }
        if (!i)
            look_at_laws(load, &list, key);
    }
    vec_fini(&list);
}

/* ---- quiet phase ---- */

/* The subscriber got the value of its node's replica. */
static bool is_told(const struct data_load *load, const struct client *client,
                    const struct follow *follow)
{
    const struct replicator *replicator =
        workload_replicator(load, client->node);
    struct slice key = key_slice(load, follow->key);
    struct buf body = { 0 };
    bool good, has_value;

    if (!replicator || !replicator_bytes(replicator, key, &body)) {
        buf_fini(&body);
        return true; /* there is nothing to report */
    }
    buf_clear(&body);
    has_value = data_put_body(replicator, key, &body);
    good = follow->is_told && follow->is_deleted == !has_value &&
           slice_equal(buf_slice(&body), buf_slice(&follow->last));
    buf_fini(&body);
    return good;
}

static bool all_told(const struct data_load *load, char *text, size_t size)
{
    for (uint32_t i = 0; i < load->clients.count; i++) {
        const struct client *client = load->clients.items[i];

        for (uint32_t k = 0; !client->is_gone && k < client->follows.count;
             k++) {
            if (is_told(load, client, &client->follows.items[k]))
                continue;
            (void)snprintf(
                text, size, "n%u: a follower of %s was not told the last of it",
                client->node,
                data_key_text(load, client->follows.items[k].key)); /* cut at size */
            return false;
        }
    }
    return true;
}

/* An expiring key that no client uses is absent everywhere. */
static bool has_expired(const struct data_load *load, const replica_list *list,
                        uint32_t key, char *text, size_t size)
{
    for (uint32_t i = 0; i < list->count && data_key_expires(load, key); i++) {
        const struct check_replica *replica = &list->items[i];
        struct slice bytes;

        if (!is_here(replica->replicator, key_slice(load, key)) &&
            !world_durable_value(load->world, replica->index,
                                 key_slice(load, key), &bytes))
            continue;
        (void)snprintf(text, size, "n%u has %s still, which nobody uses",
                       replica->index, data_key_text(load, key)); /* cut at size */
        return false;
    }
    return true;
}

bool data_load_settled(struct data_load *load, char *text, size_t size)
{
    replica_list list = { 0 };
    bool good = true;

    list_replicas(load, &list);
    for (uint32_t i = 0; i < load->keys.count && good; i++)
        good = has_expired(load, &list, i, text, size) &&
               check_replica_equal(list.items, list.count, key_slice(load, i),
                                   text, size) &&
               check_replica_clean(list.items, list.count, key_slice(load, i),
                                   text, size);
    vec_fini(&list);
    return good && all_told(load, text, size);
}

uint64_t data_load_bound(const struct data_load *load, uint32_t nodes,
                         const struct replicator_settings *settings)
{
    uint64_t chunks = load->keys.count / settings->max_delta_elements + 1;
    uint64_t cycle = (chunks / 10 + 1) * settings->gossip_interval_ms * MS;
    uint64_t rounds = 20;

    for (; nodes > 1; nodes = (nodes + 1) / 2)
        rounds += 6;
    /* Values spread; then, from a member's removal on, its marks and their results. */
    return 60 * SECOND + 3 * rounds * cycle +
           2 * load->settings.expire_after_ms * MS +
           (settings->pruning_dissemination_ms +
            4 * settings->pruning_interval_ms) *
               MS * 5 / 4;
}

void data_load_judge(struct data_load *load)
{
    replica_list list = { 0 };
    struct slice key;
    struct buf body = { 0 };
    struct shown shown;

    list_replicas(load, &list);
    for (uint32_t i = 0; i < load->keys.count && list.count; i++) {
        const struct replicator *replicator = list.items[0].replicator;

        key = key_slice(load, i);
        buf_clear(&body);
        if (!replicator || !data_put_body(replicator, key, &body)) {
            bool is_there =
                replicator && replicator_bytes(replicator, key, &body);

            check_data_settled(load->check, i, is_there ? &deleted : NULL);
            continue;
        }
        if (!show_body(load, i, list.items[0].index,
                       (struct sherd_bytes){ body.data, body.size }, &shown))
            continue;
        check_data_settled(load->check, i, &shown.value);
        vec_fini(&shown.elements);
    }
    buf_fini(&body);
    vec_fini(&list);
}

/* ---- durable keys ---- */

void data_forget_noted(struct data_load *load)
{
    for (uint32_t i = 0; i < load->noted.count; i++)
        vec_fini(&load->noted.items[i].elements);
    load->noted.count = 0;
}

/* Stores what a replica shows of a key; false: nothing. */
static bool note(const struct replicator *replicator, struct slice key,
                 struct noted *noted)
{
    struct buf body = { 0 };
    struct sherd_msg msg = { .kind = SHERD_DATA, .msg = SHERD_DATA_FOUND };
    struct sherd_value *face;
    struct shown shown = { .is_set = false };
    bool is_there = replicator && replicator_bytes(replicator, key, &body);
    bool has_value;
    uint32_t at = 0;

    buf_clear(&body);
    has_value = is_there && data_put_body(replicator, key, &body);
    noted->is_deleted = is_there && !has_value;
    if (has_value) {
        msg.body = (struct sherd_bytes){ body.data, body.size };
        for (; (face = sherd_data_next_value(&msg, &at)); sherd_value_free(face))
            show(&shown, face);
        show_end(&shown);
        noted->count = shown.value.count;
        noted->is_on = shown.value.is_on;
        for (uint32_t i = 0; i < shown.elements.count; i++)
            vec_push(&noted->elements, shown.elements.items[i]);
        vec_fini(&shown.elements);
    }
    buf_fini(&body);
    return is_there;
}

void data_load_note(struct data_load *load)
{
    replica_list list = { 0 };

    data_forget_noted(load);
    list_replicas(load, &list);
    for (uint32_t i = 0; i < load->keys.count && list.count; i++) {
        struct noted noted = { .key = i };

        if (data_key_is_durable(load, i) && !data_key_expires(load, i) &&
            note(list.items[0].replicator, key_slice(load, i), &noted))
            vec_push(&load->noted, noted);
    }
    load->counts.durable += load->noted.count;
    vec_fini(&list);
}

static bool is_as_noted(const struct data_load *load,
                        const struct replicator *replicator,
                        const struct noted *noted)
{
    struct noted now = { .key = noted->key };
    bool good = note(replicator, key_slice(load, noted->key), &now) &&
                now.is_deleted == noted->is_deleted &&
                now.count == noted->count && now.is_on == noted->is_on &&
                now.elements.count == noted->elements.count;

    for (uint32_t i = 0; good && i < now.elements.count; i++)
        good = now.elements.items[i] == noted->elements.items[i];
    vec_fini(&now.elements);
    return good;
}

bool data_load_is_kept(struct data_load *load, char *text, size_t size)
{
    replica_list list = { 0 };
    bool good = true;

    list_replicas(load, &list);
    for (uint32_t i = 0; i < load->noted.count * list.count && good; i++) {
        const struct check_replica *replica = &list.items[i % list.count];
        const struct noted *noted = &load->noted.items[i / list.count];

        good = is_as_noted(load, replica->replicator, noted);
        if (!good)
            (void)snprintf(text, size, "n%u does not show of %s what all had",
                           replica->index,
                           data_key_text(load, noted->key)); /* cut at size */
    }
    vec_fini(&list);
    return good;
}

/* Counts values that all live nodes have sent. */
static uint64_t said(const struct data_load *load)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < world_node_count(load->world); i++) {
        const struct replicator *replicator = workload_replicator(load, i);
        const struct replicator_counters *counters =
            replicator ? replicator_counters(replicator) : NULL;

        if (counters)
            sum += counters->gossips + counters->merges +
                   counters->delta_gaps + counters->deltas_repeated;
    }
    return sum;
}

void data_load_silence_begins(struct data_load *load)
{
    load->said = said(load);
}

void data_load_silence_ends(struct data_load *load)
{
    uint64_t more = said(load) - load->said;

    if (more && !load->settings.speaks_late)
        violation(load->verdict, "quiet-cluster-rests", VERDICT_NO_NODE,
                  "in a silent cluster values of distributed data came %llu times",
                  (unsigned long long)more);
}
