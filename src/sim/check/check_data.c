/* Keeps the writes of each key in the order of their begin, and compares values with the writes
 * that they must and may show. */
#include "sim/check/check_data.h"

#include "base/check.h"
#include "base/vec.h"
#include "sim/check/facts.h"
#include "sim/world/verdict.h"

struct write {
    struct check_data_write what;
    uint64_t number;
    uint64_t life; /* of its node */
    uint64_t begun;
    uint64_t ended; /* 0: open */
    enum check_data_end end;
    uint64_t epoch; /* at its begin */
    bool is_steady; /* the epoch was the same at its end */
    bool is_void;   /* its node became a outsider before its end */
    uint64_t ends;  /* incarnations that had ended at its begin */
};

/* The last value that a client saw. */
struct told {
    uint32_t client;
    struct check_data_value value; /* without elements */
};

struct forgotten {
    uint32_t node;
    uint64_t at;
};

struct key {
    enum sherd_data_type type;
    bool expires;
    bool is_stored; /* on each node's disk */
    VEC(struct forgotten) forgotten; /* in the order of forgetting */
    VEC(struct write) writes;
    VEC(uint32_t) removals; /* indexes in writes */
    VEC(struct told) told;
    bool is_deletable; /* a deletion has begun */
};

struct place {
    uint64_t life; /* the last incarnation */
    bool lives;
    bool is_pruned;
};

struct check_data {
    struct verdict *verdict;
    const struct check_safety *safety; /* may be null */
    bool has_strays; /* some node has been one */
    VEC(bool) outsiders; /* by incarnation, from 1: it was outside */
    uint32_t nodes;   /* all node indexes are below it */
    VEC(struct key *) keys;
    VEC(uint32_t) key_of; /* by number of a write, from 1 */
    struct place places[CHECK_NODES_MAX];
    uint64_t lives;
    uint64_t ends;
    uint64_t epoch;
    uint64_t time;
    uint64_t started; /* start of the last node */
    struct check_data_counts counts;
};

struct check_data *check_data_new(struct verdict *verdict)
{
    struct check_data *check = mem_alloc(sizeof *check);

    check->verdict = verdict;
    return check;
}

void check_data_free(struct check_data *check)
{
    if (!check)
        return;
    for (uint32_t i = 0; i < check->keys.count; i++) {
        vec_fini(&check->keys.items[i]->writes);
        vec_fini(&check->keys.items[i]->removals);
        vec_fini(&check->keys.items[i]->told);
        vec_fini(&check->keys.items[i]->forgotten);
        mem_free(check->keys.items[i]);
    }
    vec_fini(&check->keys);
    vec_fini(&check->key_of);
    vec_fini(&check->outsiders);
    mem_free(check);
}

void check_data_safety(struct check_data *check,
                       const struct check_safety *safety)
{
    check->safety = safety;
}

static bool is_outside(const struct check_data *check, uint32_t node)
{
    return check->safety && check->safety->outside[node];
}

static bool is_astray(const struct check_data *check, uint32_t node)
{
    return is_outside(check, node) || check->places[node].is_pruned;
}

static void look_for_strays(struct check_data *check)
{
    for (uint32_t i = 0; check->safety && i < check->nodes; i++) {
        const struct place *place = &check->places[i];

        if (!place->lives || !is_outside(check, i))
            continue;
        check->outsiders.items[place->life - 1] = true;
        check->has_strays = true;
    }
}

uint32_t check_data_key(struct check_data *check, enum sherd_data_type type)
{
    struct key *key = mem_alloc(sizeof *key);

    key->type = type;
    vec_push(&check->keys, key);
    return check->keys.count - 1;
}

enum sherd_data_type check_data_type(const struct check_data *check,
                                     uint32_t key)
{
    return check->keys.items[key]->type;
}

void check_data_expires(struct check_data *check, uint32_t key)
{
    check->keys.items[key]->expires = true;
}

void check_data_stored(struct check_data *check, uint32_t key)
{
    check->keys.items[key]->is_stored = true;
}

uint64_t check_data_epoch(const struct check_data *check)
{
    return check->epoch;
}

uint64_t check_data_time(struct check_data *check)
{
    return ++check->time;
}

struct check_data_counts check_data_counts(const struct check_data *check)
{
    return check->counts;
}

/* ---- nodes ---- */

void check_data_node_started(struct check_data *check, uint32_t node)
{
    check(node < CHECK_NODES_MAX);
    check->places[node] = (struct place){ ++check->lives, true, false };
    vec_push(&check->outsiders, false);
    if (check->nodes <= node)
        check->nodes = node + 1;
    check->epoch++;
    check->started = check_data_time(check);
}

/* Its open writes were done by now, or never; their results are unknown. */
void check_data_node_ended(struct check_data *check, uint32_t node)
{
    uint64_t now = check_data_time(check);

    check->places[node].lives = false;
    check->ends++;
    check->epoch++;
    for (uint32_t i = 0; i < check->keys.count; i++) {
        struct key *key = check->keys.items[i];

        for (uint32_t k = 0; k < key->writes.count; k++) {
            struct write *write = &key->writes.items[k];

            if (write->what.node != node || write->ended)
                continue;
            write->ended = now;
            write->end = CHECK_DATA_DOUBTFUL;
        }
    }
}

void check_data_node_pruned(struct check_data *check, uint32_t node,
                            bool is_pruned)
{
    check->places[node].is_pruned = is_pruned;
    check->has_strays |= is_pruned;
}

void check_data_forgotten(struct check_data *check, uint32_t node,
                          uint32_t index)
{
    struct forgotten forgotten = { node, check_data_time(check) };
    struct key *key = check->keys.items[index];

    if (!key->expires)
        violation(check->verdict, "no-lost-update", node,
                  "key %u is forgotten, and none that expires", index);
    vec_push(&key->forgotten, forgotten);
}

bool check_data_has_forgotten(const struct check_data *check, uint32_t node,
                              uint32_t index)
{
    const struct key *key = check->keys.items[index];

    for (uint32_t i = 0; i < key->forgotten.count; i++)
        if (key->forgotten.items[i].node == node)
            return true;
    return false;
}

/* How often replicas forgot the key since the write began: that of `node`, or all with
 * CHECK_NODES_MAX. */
static uint64_t forgotten_since(const struct key *key,
                                const struct write *write, uint32_t node)
{
    uint64_t count = 0;

    for (uint32_t i = key->forgotten.count;
         i-- > 0 && key->forgotten.items[i].at > write->begun;)
        count += node == CHECK_NODES_MAX ||
                 key->forgotten.items[i].node == node;
    return count;
}

void check_data_members_changed(struct check_data *check)
{
    check->epoch++;
}

/* ---- writes ---- */

uint64_t check_data_begun(struct check_data *check,
                          const struct check_data_write *what)
{
    struct key *key = check->keys.items[what->key];
    struct write write = { .what = *what,
                           .number = ++check->counts.writes,
                           .life = check->places[what->node].life,
                           .begun = check_data_time(check),
                           .epoch = check->epoch,
                           .is_void = is_astray(check, what->node),
                           .ends = check->ends };

    if (what->act == CHECK_DATA_ADD && !what->element)
        write.what.element = (int64_t)write.number;
    if (what->act == CHECK_DATA_REMOVE)
        vec_push(&key->removals, key->writes.count);
    if (what->act == CHECK_DATA_DELETE)
        key->is_deletable = true;
    vec_push(&key->writes, write);
    vec_push(&check->key_of, what->key);
    return write.number;
}

static struct write *write_of(const struct check_data *check, uint64_t number)
{
    const struct key *key = check->keys.items[check->key_of.items[number - 1]];
    uint32_t low = 0;
    uint32_t high = key->writes.count;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;

        if (key->writes.items[middle].number <= number)
            low = middle;
        else
            high = middle;
    }
    return &key->writes.items[low];
}

void check_data_ended(struct check_data *check, uint64_t number,
                      enum check_data_end end)
{
    struct write *write = write_of(check, number);

    check(!write->ended);
    write->ended = check_data_time(check);
    write->end = end;
    write->is_steady = write->epoch == check->epoch;
    write->is_void |= is_astray(check, write->what.node);
    check->counts.acknowledged += end == CHECK_DATA_DONE;
    check->counts.doubtful += end == CHECK_DATA_DOUBTFUL;
    check->counts.refused += end == CHECK_DATA_REFUSED;
}

uint64_t check_data_ends_since(const struct check_data *check, uint64_t number)
{
    return check->ends - write_of(check, number)->ends;
}

/* ---- writes that must be visible ---- */

/* Whether merges keep all elements that were added and not removed. */
static bool keeps_elements(enum sherd_data_type type)
{
    return type == SHERD_G_SET || type == SHERD_OR_SET ||
           type == SHERD_OR_MULTIMAP;
}

/* Whether merges keep removed elements away. A map that removes a key forgets what its value had
 * seen. */
static bool keeps_removals(enum sherd_data_type type)
{
    return type == SHERD_OR_SET;
}

static bool concerns(const struct write *removal, int64_t element)
{
    int64_t what = removal->what.element;

    return what == CHECK_DATA_ALL || what == element ||
           what == CHECK_DATA_GROUP(element % CHECK_DATA_GROUPS);
}

/* Whether a removal may have covered this addition: not an earlier one of its client, nor one that
 * ended before. */
static bool may_be_removed(const struct key *key, const struct write *add)
{
    for (uint32_t i = 0; i < key->removals.count; i++) {
        const struct write *removal =
            &key->writes.items[key->removals.items[i]];
        bool is_before = removal->what.client == add->what.client
                             ? removal->number < add->number
                             : removal->ended && removal->ended < add->begun;

        if (!is_before && removal->end != CHECK_DATA_REFUSED &&
            concerns(removal, add->what.element))
            return true;
    }
    return false;
}

/* Whether its client has removed it since. The removal saw all that the client had added. */
static bool is_removed_again(const struct key *key, const struct write *add,
                             const struct write **removal)
{
    for (uint32_t i = key->removals.count; i-- > 0;) {
        *removal = &key->writes.items[key->removals.items[i]];
        if ((*removal)->what.client == add->what.client &&
            (*removal)->number > add->number &&
            (*removal)->end != CHECK_DATA_REFUSED &&
            concerns(*removal, add->what.element))
            return true;
    }
    return false;
}

/* The last write of its element; others are of the same client. */
static bool is_last(const struct key *key, const struct write *add)
{
    const struct write *end = key->writes.items + key->writes.count;

    for (const struct write *later = add + 1; later < end; later++)
        if (later->what.act == CHECK_DATA_ADD &&
            later->what.element == add->what.element &&
            later->end != CHECK_DATA_REFUSED)
            return false;
    return true;
}

bool check_data_is_firm(const struct check_data *check, uint64_t number)
{
    const struct write *write = write_of(check, number);
    const struct key *key = check->keys.items[write->what.key];

    return write->ended && write->end == CHECK_DATA_DONE && write->is_steady &&
           !write->is_void && !key->is_deletable &&
           !forgotten_since(key, write, CHECK_NODES_MAX) &&
           keeps_elements(key->type) &&
           write->what.act == CHECK_DATA_ADD && !may_be_removed(key, write);
}

/* The judging of one value: read is null in the quiet phase. */
struct judgement {
    struct check_data *check;
    const struct key *key;
    const struct check_data_read *read;
    const struct check_data_value *value;
    uint32_t index; /* of the key */
};

static bool lives(const struct check_data *check, const struct write *write)
{
    const struct place *place = &check->places[write->what.node];

    return place->lives && place->life == write->life;
}

static bool is_kept(const struct check_data *check, const struct write *write)
{
    return lives(check, write) ||
           (write->end == CHECK_DATA_DONE && write->is_steady &&
            check->ends - write->ends < write->what.replicas);
}

/* Types in which several writes may put the same map key. */
static bool has_groups(enum sherd_data_type type)
{
    return type == SHERD_OR_MULTIMAP || type == SHERD_PN_COUNTER_MAP;
}

static int64_t group_of(const struct write *write)
{
    return write->what.element % CHECK_DATA_GROUPS;
}

/* No node inside knew the write for certain when its own node was outside. */
static bool is_stray(const struct check_data *check, const struct write *write)
{
    bool is_known = write->what.replicas > 1 &&
                    write->end == CHECK_DATA_DONE && write->is_steady &&
                    check->ends - write->ends < write->what.replicas;

    return write->is_void ||
           (check->outsiders.items[write->life - 1] && !is_known);
}

bool check_data_must_stay(const struct check_data *check, uint64_t number)
{
    const struct write *write = write_of(check, number);

    return check->keys.items[write->what.key]->type == SHERD_G_SET &&
           check_data_is_firm(check, number) && !is_stray(check, write);
}

/* Whether pruning a outsider may take the write along. A map key that the outsider put covers what it
 * knew, and is pruned as its own: others' entries under it go, and a counter begins anew. Later
 * entries stay. */
static bool may_go_with_a_stray(const struct judgement *judgement,
                                const struct write *write)
{
    const struct check_data *check = judgement->check;
    const struct key *key = judgement->key;
    bool counts = write->what.act == CHECK_DATA_COUNT;

    if (!check->has_strays || !has_groups(key->type))
        return false;
    for (uint32_t i = 0; i < key->writes.count; i++) {
        const struct write *other = &key->writes.items[i];
        bool is_before = other->ended && other->ended < write->begun;

        /* A removal of one element puts the map key, too. */
        if (other->what.act != CHECK_DATA_DELETE && other->what.element >= 0 &&
            (counts || !is_before) && group_of(other) == group_of(write) &&
            !(other->ended && other->end == CHECK_DATA_REFUSED) &&
            is_stray(check, other))
            return true;
    }
    return false;
}

/* Replicas may have forgotten it since. */
static bool meets(struct check_data *check, const struct check_data_read *read,
                  const struct write *write)
{
    const struct key *key = check->keys.items[read->key];
    bool good = write->ended && write->end == CHECK_DATA_DONE &&
                write->ended < read->begun && read->members &&
                write->epoch == check->epoch && read->epoch == check->epoch &&
                write->what.signature == read->signature &&
                write->what.replicas + read->replicas >
                    read->members +
                        forgotten_since(key, write, CHECK_NODES_MAX);

    check->counts.quorums += good && write->what.node != read->node;
    return good;
}

static bool must_show(const struct judgement *judgement,
                      const struct write *write)
{
    const struct check_data_read *read = judgement->read;

    if (write->is_void || (write->ended && write->end == CHECK_DATA_REFUSED))
        return false;
    if (!read)
        return is_kept(judgement->check, write);
    /* Only going back is judged: a notice may be older than the newest writes. */
    if (!read->replicas || is_outside(judgement->check, read->node))
        return false;
    if (write->what.client == read->client && write->ended &&
        write->ended < read->begun &&
        !forgotten_since(judgement->key, write, read->node))
        return true;
    return meets(judgement->check, read, write);
}

/* ---- judging ---- */

static uint32_t node_of(const struct judgement *judgement)
{
    return judgement->read ? judgement->read->node : VERDICT_NO_NODE;
}

static bool has_element(const struct check_data_value *value, int64_t element)
{
    uint32_t low = 0;
    uint32_t high = value->size;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (value->elements[middle] == element)
            return true;
        if (value->elements[middle] < element)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static const char *where(const struct judgement *judgement)
{
    if (!judgement->read)
        return "in the quiet";
    return judgement->read->replicas ? "in a read" : "in a notice";
}

static void judge_elements(const struct judgement *judgement)
{
    const struct key *key = judgement->key;

    for (uint32_t i = 0; i < key->writes.count; i++) {
        const struct write *write = &key->writes.items[i];
        const struct write *removal;
        int64_t element = write->what.element;
        bool is_there, must;

        if (write->what.act != CHECK_DATA_ADD ||
            (write->ended && write->end == CHECK_DATA_REFUSED))
            continue;
        is_there = has_element(judgement->value, element);
        must = must_show(judgement, write);
        if (!is_there && must && !may_be_removed(key, write) &&
            !may_go_with_a_stray(judgement, write))
            violation(judgement->check->verdict, "no-lost-update", node_of(judgement),
                      "%s of key %u element %lld of write %llu, node %u, is missing",
                      where(judgement), judgement->index, (long long)element,
                      (unsigned long long)write->number, write->what.node);
        if (is_there && keeps_removals(key->type) && is_last(key, write) &&
            is_removed_again(key, write, &removal) &&
            must_show(judgement, removal))
            violation(judgement->check->verdict, "no-lost-update", node_of(judgement),
                      "%s of key %u element %lld is there again, which write %llu, node %u, removed",
                      where(judgement), judgement->index, (long long)element,
                      (unsigned long long)removal->number,
                      removal->what.node);
    }
}

/* No two writes add the same element, so numbers suffice. */
static void judge_strangers(const struct judgement *judgement)
{
    const struct check_data *check = judgement->check;

    for (uint32_t i = 0; i < judgement->value->size; i++) {
        int64_t element = judgement->value->elements[i];
        const struct write *write = NULL;

        if (element > 0 && (uint64_t)element <= check->key_of.count &&
            check->key_of.items[element - 1] == judgement->index)
            write = write_of(check, (uint64_t)element);
        if (!write || write->what.act != CHECK_DATA_ADD ||
            (write->ended && write->end == CHECK_DATA_REFUSED))
            violation(check->verdict, "value-integrity", node_of(judgement),
                      "%s of key %u is element %lld, which nobody added",
                      where(judgement), judgement->index, (long long)element);
    }
}

static bool is_counter(enum sherd_data_type type)
{
    return type == SHERD_G_COUNTER || type == SHERD_PN_COUNTER ||
           type == SHERD_PN_COUNTER_MAP;
}

/* A disk may restore a removed member's count. The next pruner counts it as its own, and another
 * disk may hold it as an earlier pruner's. The mark was forgotten with the key. */
static bool may_count_twice(const struct judgement *judgement)
{
    const struct key *key = judgement->key;

    return key->is_stored && key->forgotten.count &&
           key->forgotten.items[0].at < judgement->check->started;
}

static void judge_count(const struct judgement *judgement)
{
    const struct key *key = judgement->key;
    int64_t least = 0, most = 0;
    int64_t count = judgement->value->count;

    if (!is_counter(key->type))
        return;
    for (uint32_t i = 0; i < key->writes.count; i++) {
        const struct write *write = &key->writes.items[i];
        int64_t amount = write->what.amount;
        bool must;

        if (write->what.act != CHECK_DATA_COUNT ||
            (write->ended && write->end == CHECK_DATA_REFUSED))
            continue;
        must = must_show(judgement, write) &&
               !may_go_with_a_stray(judgement, write);
        most += amount > 0 || must ? amount : 0;
        least += amount < 0 || must ? amount : 0;
    }
    /* Removed counts may count in part. */
    if (key->removals.count || may_count_twice(judgement)) {
        least = INT64_MIN;
        most = INT64_MAX;
    }
    if (count < least)
        violation(judgement->check->verdict, "no-lost-update", node_of(judgement),
                  "%s of key %u the count is %lld, and must be %lld at least",
                  where(judgement), judgement->index, (long long)count,
                  (long long)least);
    if (count > most)
        violation(judgement->check->verdict, "value-integrity", node_of(judgement),
                  "%s of key %u the count is %lld, and only %lld can have been counted",
                  where(judgement), judgement->index, (long long)count,
                  (long long)most);
}

/* Flags and deletions stay on, and go on only by a client's write. */
static void judge_switch(const struct judgement *judgement,
                         enum check_data_act act, bool is_on, const char *name)
{
    const struct key *key = judgement->key;
    bool may = false;

    for (uint32_t i = 0; i < key->writes.count; i++) {
        const struct write *write = &key->writes.items[i];

        if (write->what.act != act ||
            (write->ended && write->end == CHECK_DATA_REFUSED))
            continue;
        may = true;
        if (!is_on && must_show(judgement, write)) {
            violation(judgement->check->verdict, "no-lost-update", node_of(judgement),
                      "%s key %u is not %s, as write %llu, node %u, made it",
                      where(judgement), judgement->index, name,
                      (unsigned long long)write->number, write->what.node);
            return;
        }
    }
    if (is_on && !may)
        violation(judgement->check->verdict, "value-integrity", node_of(judgement),
                  "%s key %u is %s, which nobody made it", where(judgement),
                  judgement->index, name);
}

/* Looks for a write that must be visible; removals do not create a key. */
static void judge_missing(const struct judgement *judgement)
{
    const struct key *key = judgement->key;

    for (uint32_t i = 0; i < key->writes.count; i++) {
        const struct write *write = &key->writes.items[i];

        if (!must_show(judgement, write))
            continue;
        violation(judgement->check->verdict, "no-lost-update", node_of(judgement),
                  "%s key %u is not there, and write %llu, node %u, is to be seen",
                  where(judgement), judgement->index,
                  (unsigned long long)write->number, write->what.node);
        return;
    }
}

static void judge(const struct judgement *judgement)
{
    const struct check_data_value *value = judgement->value;
    const struct key *key = judgement->key;

    if (!value) {
        judge_missing(judgement);
        return;
    }
    judge_switch(judgement, CHECK_DATA_DELETE, value->is_deleted, "deleted");
    if (value->is_deleted)
        return;
    judge_strangers(judgement);
    if (keeps_elements(key->type))
        judge_elements(judgement);
    judge_count(judgement);
    if (key->type == SHERD_FLAG)
        judge_switch(judgement, CHECK_DATA_ON, value->is_on, "on");
}

/* ---- values that go back ---- */

static struct told *told_of(struct key *key, uint32_t client)
{
    struct told told = { .client = client };

    for (uint32_t i = 0; i < key->told.count; i++)
        if (key->told.items[i].client == client)
            return &key->told.items[i];
    vec_push(&key->told, told);
    return &key->told.items[key->told.count - 1];
}

static void judge_progress(const struct judgement *judgement,
                           struct told *told)
{
    static const struct check_data_value nothing;
    const struct check_data_value *before = &told->value;
    const struct check_data_value *value =
        judgement->value ? judgement->value : &nothing;
    enum sherd_data_type type = judgement->key->type;
    bool goes_back = before->is_deleted && !value->is_deleted;

    if (!value->is_deleted) {
        goes_back |= before->is_on && !value->is_on;
        goes_back |= type == SHERD_G_COUNTER && value->count < before->count &&
                     !judgement->check->has_strays;
        goes_back |= type == SHERD_G_SET && value->size < before->size;
    }
    if (goes_back && !judgement->key->forgotten.count &&
        !is_outside(judgement->check, judgement->read->node))
        violation(judgement->check->verdict, "no-lost-update", node_of(judgement),
                  "%s of key %u a client is told less than before: %lld, %u elements%s, after %lld, %u elements%s",
                  where(judgement), judgement->index, (long long)value->count,
                  value->size, value->is_deleted ? ", deleted" : "",
                  (long long)before->count, before->size,
                  before->is_deleted ? ", deleted" : "");
    told->value = *value;
    told->value.elements = NULL;
}

void check_data_seen(struct check_data *check,
                     const struct check_data_read *read,
                     const struct check_data_value *value)
{
    struct key *key = check->keys.items[read->key];
    const struct judgement judgement = { check, key, read, value, read->key };

    check->counts.reads++;
    look_for_strays(check);
    judge(&judgement);
    judge_progress(&judgement, told_of(key, read->client));
}

void check_data_settled(struct check_data *check, uint32_t key,
                        const struct check_data_value *value)
{
    const struct judgement judgement = { check, check->keys.items[key], NULL,
                                         value, key };

    look_for_strays(check);
    if (!judgement.key->expires)
        judge(&judgement);
    else if (value)
        violation(check->verdict, "no-lost-update", VERDICT_NO_NODE,
                  "in the quiet key %u is there, and nobody has used it", key);
}
