/* Stores the durable keys of distributed data, on control. */
#include "node/control/data_durable.h"

#include <stdio.h>

#include <sherd/system.h>

#include "base/check.h"
#include "base/limits.h"
#include "ddata/durable.h"
#include "node/control/control.h"

#define AGAIN SECOND /* after a refusal without a caller */
#define LOAD_AGAIN (5 * SECOND)
#define LOAD_STEP_SIZE (256 * 1024) /* bytes for the replicator in one step */
#define LOAD_STEP_COUNT 256
#define MARK 0xff /* before and after the role in a key of sharding */

/* The last change of a key, and the tickets that wait for it. */
struct store_change {
    char *key;
    uint32_t key_size;
    bool is_erased;
    struct buf value;
    VEC(struct store_ticket) tickets;
};

static void free_change(struct store_change *change)
{
    mem_free(change->key);
    buf_fini(&change->value);
    vec_fini(&change->tickets);
    mem_free(change);
}

/* ---- owners of keys ---- */

static uint32_t owner_count(const struct control *control)
{
    return 1 + control->shard_data.replicators.count;
}

/* Returns a replicator and wires its events next. Null without durable keys. */
static struct replicator *replicator_at(struct control *control,
                                        uint32_t index)
{
    struct replicator *replicator;

    if (index)
        return shard_data_durable(control, index - 1);
    if (!control->machine->settings->durable_key_count ||
        !data_has_role(control))
        return NULL;
    replicator = data_replicator(control);
    replicator_wall(replicator, control->machine->wall_ms);
    control->data.is_stirred = true;
    return replicator;
}

static void key_put(const struct control *control, uint32_t index,
                    struct slice key, struct buf *stored)
{
    if (index) {
        buf_put_u8(stored, MARK);
        buf_put_text(stored,
                     control->shard_data.replicators.items[index - 1].role);
        buf_put_u8(stored, MARK);
    }
    buf_put_slice(stored, key);
}

/* Finds the replicator of a stored key; *key becomes its own name. Returns owner_count if it is not
 * here. */
static uint32_t key_owner(const struct control *control, struct slice *key)
{
    uint32_t count = owner_count(control);

    if (!key->size || key->data[0] != MARK)
        return 0;
    for (uint32_t i = 1; i < count; i++) {
        const char *role = control->shard_data.replicators.items[i - 1].role;
        size_t size = strlen(role);

        if (key->size < size + 2 || key->data[size + 1] != MARK ||
            memcmp(key->data + 1, role, size) != 0)
            continue;
        *key = slice_of(key->data + size + 2, key->size - size - 2);
        return i;
    }
    return count;
}

void data_durable_start(struct control *control)
{
    struct machine *machine = control->machine;
    struct driver_request request = { .kind = DRIVER_DURABLE };
    bool any = false;

    for (uint32_t i = 0; i < owner_count(control); i++)
        any |= replicator_at(control, i) != NULL;
    if (!any)
        return;
    request.durable = durable_request_new(DURABLE_LOAD);
    control->data.store.is_away = true;
    outputs_request(&machine->outputs, &request);
}

void data_durable_fini(struct control *control)
{
    struct data_durable_store *store = &control->data.store;

    for (uint32_t i = 0; i < store->order.count; i++)
        free_change(store->order.items[i]);
    for (uint32_t i = 0; i < store->damaged.count; i++)
        mem_free(store->damaged.items[i]);
    map_fini(&store->changes);
    vec_fini(&store->order);
    vec_fini(&store->tickets);
    vec_fini(&store->damaged);
    durable_request_free(store->loading);
}

static struct store_change *change_of(struct data_durable_store *store,
                                      struct slice key)
{
    struct store_change *change = map_get(&store->changes, key);

    if (change)
        return change;
    change = mem_alloc(sizeof *change);
    change->key = mem_copy(key.data, key.size);
    change->key_size = (uint32_t)key.size;
    (void)map_put(&store->changes, key, change);
    vec_push(&store->order, change);
    return change;
}

/* ---- storing ---- */

static void answer(struct control *control, struct store_ticket ticket,
                   bool is_good)
{
    struct machine *machine = control->machine;

    replicator_stored(replicator_at(control, ticket.replicator), machine->now,
                      ticket.ticket, is_good, &machine->outbox);
}

void data_durable_put(struct control *control, uint32_t replicator,
                    const struct replicator_news *news)
{
    struct data_durable_store *store = &control->data.store;
    struct store_ticket ticket = { replicator, news->ticket };
    struct store_change *change;
    struct buf key = { 0 };

    key_put(control, replicator, news->key, &key);
    if (!durable_key_is_good(buf_slice(&key)) ||
        news->bytes.size > DURABLE_VALUE_MAX) {
        store->failures++;
        trace_put(control->machine->trace, TRACE_ERROR, "ddata",
                  "durable key not stored: a key has 1 to %d bytes, its value "
                  "at most %d key-bytes=%zu value-bytes=%zu "
                  "hint=\"split the value into several keys\"",
                  DURABLE_KEY_MAX, DURABLE_VALUE_MAX, news->key.size,
                  news->bytes.size);
        buf_fini(&key);
        if (news->ticket)
            answer(control, ticket, false);
        return;
    }
    change = change_of(store, buf_slice(&key));
    buf_fini(&key);
    change->is_erased = false;
    buf_clear(&change->value);
    buf_put_slice(&change->value, news->bytes);
    if (news->ticket) {
        vec_push(&change->tickets, ticket);
        store->again_at = 0; /* a caller waits */
    }
}

void data_durable_erase(struct control *control, uint32_t replicator,
                      struct slice name)
{
    struct store_change *change;
    struct buf key = { 0 };

    key_put(control, replicator, name, &key);
    if (durable_key_is_good(buf_slice(&key))) { /* else it was not stored */
        change = change_of(&control->data.store, buf_slice(&key));
        change->is_erased = true;
        buf_clear(&change->value);
    }
    buf_fini(&key);
}

/* Takes changes for one transaction: only writes, or only erasures. */
static struct durable_request *gather(struct data_durable_store *store)
{
    bool erases = store->order.items[0]->is_erased;
    struct durable_request *request =
        durable_request_new(erases ? DURABLE_ERASE : DURABLE_STORE);
    uint32_t count = 0;

    while (count < store->order.count &&
           store->order.items[count]->is_erased == erases &&
           request->bytes.size < DURABLE_PENDING_SIZE_MAX) {
        struct store_change *change = store->order.items[count++];
        struct slice key = slice_of(change->key, change->key_size);

        durable_request_add(request, key, buf_slice(&change->value));
        for (uint32_t i = 0; i < change->tickets.count; i++)
            vec_push(&store->tickets, change->tickets.items[i]);
        (void)map_take(&store->changes, key);
        free_change(change);
    }
    memmove(store->order.items, store->order.items + count,
            (store->order.count - count) * sizeof store->order.items[0]);
    store->order.count -= count;
    return request;
}

void data_durable_wire(struct control *control)
{
    struct data_durable_store *store = &control->data.store;
    struct driver_request request = { .kind = DRIVER_DURABLE };

    if (store->is_away || !store->is_loaded || !store->order.count ||
        store->again_at > control->machine->now)
        return;
    request.durable = gather(store);
    store->is_away = true;
    outputs_request(&control->machine->outputs, &request);
}

/* Keeps refused changes that have no later one, to try them again. */
static void keep(struct data_durable_store *store,
                 const struct durable_request *request)
{
    for (uint32_t i = 0; i < request->entries.count; i++) {
        const struct durable_entry *entry = &request->entries.items[i];
        struct slice key = durable_slice(request, entry->key);

        struct store_change *change;

        if (map_get(&store->changes, key))
            continue;
        change = change_of(store, key);
        change->is_erased = request->verb == DURABLE_ERASE;
        buf_put_slice(&change->value, durable_slice(request, entry->value));
    }
}

static bool somebody_waits(const struct data_durable_store *store)
{
    for (uint32_t i = 0; i < store->order.count; i++)
        if (store->order.items[i]->tickets.count)
            return true;
    return false;
}

/* Logs the first failure, and the end of the failures. */
static void note_result(struct control *control, bool is_good,
                        const char *error)
{
    struct data_durable_store *store = &control->data.store;

    store->failures += !is_good;
    if (store->is_failing == !is_good)
        return;
    store->is_failing = !is_good;
    if (is_good)
        trace_put(control->machine->trace, TRACE_INFO, "ddata",
                  "durable keys are stored again");
    else
        trace_put(control->machine->trace, TRACE_ERROR, "ddata",
                  "durable keys are not stored, and their changes not "
                  "acknowledged error=\"%s\" hint=\"check the disk's space and rights\"",
                  error);
}

static void stored(struct control *control,
                   const struct durable_request *request)
{
    struct data_durable_store *store = &control->data.store;
    bool is_good = request->result == DURABLE_DONE;

    note_result(control, is_good, request->error);
    for (uint32_t i = 0; i < store->tickets.count; i++)
        answer(control, store->tickets.items[i], is_good);
    store->tickets.count = 0;
    store->again_at = 0;
    if (is_good)
        return;
    keep(store, request);
    if (!somebody_waits(store))
        store->again_at = control->machine->now + AGAIN;
}

/* ---- loading ---- */

/* key: as that replicator calls it. */
static void note_damage(struct control *control, uint32_t index,
                        struct slice key, bool is_lost, bool is_held)
{
    struct data_durable_store *store = &control->data.store;
    struct buf text = { 0 };

    store->lost += is_lost;
    store->stale += !is_lost;
    trace_put(control->machine->trace, TRACE_ERROR, "ddata",
              "durable key damaged: %s action=\"%s\"%s key=\"%.*s\"",
              is_lost ? "value lost" : "earlier value used",
              is_held   ? "not served until half of all members have sent theirs; or release it"
              : is_lost ? "other members' value is used"
                        : "none needed",
              index ? " of=sharding" : "", (int)key.size, (const char *)key.data);
    if (store->damaged.count >= DATA_DAMAGED_KEYS_MAX)
        return;
    buf_put_u8(&text, is_lost ? 'L' : 'S');
    if (index)
        buf_put_text(&text, "sharding: ");
    buf_put_slice(&text, key);
    buf_put_u8(&text, 0);
    vec_push(&store->damaged, (char *)text.data);
}

static void all_loaded(struct control *control, bool is_good)
{
    struct machine *machine = control->machine;

    for (uint32_t i = 0; i < owner_count(control); i++) {
        struct replicator *replicator = replicator_at(control, i);

        if (replicator)
            replicator_loaded(replicator, machine->now, is_good,
                              &machine->outbox);
    }
}

static uint64_t unreadable(struct control *control)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < owner_count(control); i++) {
        const struct replicator *replicator = replicator_at(control, i);

        count += replicator ? replicator_counters(replicator)->unloaded : 0;
    }
    return count;
}

static void not_loaded(struct control *control,
                       const struct durable_request *request)
{
    struct machine *machine = control->machine;
    struct data_durable_store *store = &control->data.store;

    store->failures++;
    if (!store->is_failing || request->is_refused)
        trace_put(machine->trace, TRACE_ERROR, "ddata",
                  "durable keys are not loaded%s error=\"%s\" "
                  "hint=\"check the durable directory and its disk\"",
                  request->is_refused
                      ? ": the node ends"
                      : ", and distributed data waits for them",
                  request->error);
    store->is_failing = true;
    store->again_at = request->is_refused ? 0 : machine->now + LOAD_AGAIN;
    if (!request->is_refused)
        return;
    all_loaded(control, false);
    control_stop(control, SHERD_ESTORE);
}

/* Passes on some entries in each step: a file may hold a gigabyte. */
static void load_some(struct control *control)
{
    struct machine *machine = control->machine;
    struct data_durable_store *store = &control->data.store;
    struct durable_request *request = store->loading;
    uint32_t last = store->loaded + LOAD_STEP_COUNT;
    size_t size = 0;

    while (store->loaded < request->entries.count && store->loaded < last &&
           size < LOAD_STEP_SIZE) {
        const struct durable_entry *entry =
            &request->entries.items[store->loaded++];
        struct slice key = durable_slice(request, entry->key);
        uint32_t index = key_owner(control, &key);
        struct replicator *replicator =
            index < owner_count(control) ? replicator_at(control, index)
                                              : NULL;

        size += entry->value.size;
        if (!replicator) /* former configuration: it stays there */
            continue;
        /* likewise; and it is old, because later changes were not stored */
        if (!replicator_is_durable(replicator, key)) {
            store->left++;
            continue;
        }
        if (entry->is_lost || entry->is_stale)
            note_damage(control, index, key, entry->is_lost,
                        entry->is_held && !index);
        if (entry->is_held && !index) /* users cannot release sharding's */
            replicator_hold(replicator, machine->now, key,
                            durable_slice(request, entry->value));
        else if (!entry->is_lost)
            replicator_load(replicator, machine->now, key,
                            durable_slice(request, entry->value));
    }
    if (store->loaded < request->entries.count)
        return;
    note_result(control, true, "");
    if (store->left)
        trace_put(machine->trace, TRACE_WARNING, "ddata",
                  "keys on disk not loaded, since they are not durable by "
                  "configuration keys=%llu hint=\"add them to durable.keys to load them\"",
                  (unsigned long long)store->left);
    trace_put(machine->trace,
              request->may_lack_keys ? TRACE_ERROR
              : request->was_damaged ? TRACE_WARNING
                                     : TRACE_INFO,
              "ddata",
              "durable keys are loaded%s%s keys=%u lost=%llu stale=%llu "
              "unreadable=%llu%s",
              request->was_damaged ? ", and damaged files are set aside" : "",
              request->may_lack_keys ? "; keys may be missing" : "",
              request->entries.count, (unsigned long long)store->lost,
              (unsigned long long)store->stale,
              (unsigned long long)unreadable(control),
              request->was_damaged || request->may_lack_keys
                  ? " hint=\"check the disk; compare the keys with other members\""
                  : "");
    durable_request_free(request);
    store->loading = NULL;
    store->is_loaded = true;
    all_loaded(control, true);
}

void control_durable(struct control *control, struct durable_request *request)
{
    struct data_durable_store *store = &control->data.store;

    check(store->is_away && request->result != DURABLE_PENDING);
    store->is_away = false;
    if (request->verb == DURABLE_LOAD && request->result == DURABLE_DONE) {
        store->loading = request;
        return;
    }
    if (request->verb == DURABLE_LOAD)
        not_loaded(control, request);
    else
        stored(control, request);
    durable_request_free(request);
}

void data_durable_step(struct control *control)
{
    struct data_durable_store *store = &control->data.store;

    if (data_durable_deadline(control) > control->machine->now)
        return;
    if (store->loading)
        load_some(control);
    else if (!store->is_loaded)
        data_durable_start(control);
}

/* Control wires after every step, so writes need no deadline. */
uint64_t data_durable_deadline(const struct control *control)
{
    const struct data_durable_store *store = &control->data.store;

    if (store->loading)
        return 0;
    if (store->is_away || (store->is_loaded && !store->order.count) ||
        (!store->is_loaded && !store->again_at))
        return NEVER;
    return store->again_at;
}

void data_durable_status(const struct control *control,
                       struct sherd_status *status)
{
    const struct data_durable_store *store = &control->data.store;
    const struct replicator *replicator = control->data.replicator;
    uint32_t count = store->damaged.count;

    status->counters[SHERD_DURABLE_LOST] = store->lost;
    status->counters[SHERD_DURABLE_STALE] = store->stale;
    status->counters[SHERD_DURABLE_FAILED] = store->failures;
    status->damaged_key_count = count;
    status->damaged_keys =
        count ? mem_alloc(count * sizeof *status->damaged_keys) : NULL;
    for (uint32_t i = 0; i < count; i++) {
        struct sherd_damaged_key *to = &status->damaged_keys[i];

        to->is_lost = store->damaged.items[i][0] == 'L';
        to->is_held = replicator && replicator_is_held(
                                        replicator,
                                        slice_text(store->damaged.items[i] + 1));
        (void)snprintf(to->key, sizeof to->key, "%s",
                       store->damaged.items[i] + 1); /* truncation is fine */
    }
}
