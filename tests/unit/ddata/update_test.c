/* Checks updates that replace a set or change a value in place: results equal a merge to the byte,
 * with as many notices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/rng.h"
#include "ddata/envelope.h"
#include "ddata/item.h"
#include "lone.h"

#define SECOND_NS UINT64_C(1000000000)
#define ROUNDS 400

static const struct replicator_settings quiet = { .gossip_off = true };
static const struct consistency here = { .level = CONSISTENCY_LOCAL };

/* Two replicators of one node: only one learns from which value an update was made. */
struct pair {
    struct lone *made;
    struct lone *merged;
    struct dd_value *theirs; /* of the peer */
    struct dd_writer peer;
    struct rng rng;
    uint64_t now;
};

static struct pair pair_new(uint64_t seed, enum dd_kind kind)
{
    struct pair pair = { .made = lone_new(&quiet), .merged = lone_new(&quiet) };

    pair.theirs = dd_new(kind);
    pair.peer.node = pair.made->peer;
    rng_init(&pair.rng, seed);
    replicator_subscribe(pair.made->replicator, 9, slice_text("set"));
    replicator_subscribe(pair.merged->replicator, 9, slice_text("set"));
    return pair;
}

static void pair_free(struct pair *pair)
{
    dd_free(pair->theirs);
    lone_free(pair->made);
    lone_free(pair->merged);
}

static bool is_map(enum dd_kind kind)
{
    return kind == DD_LWWMAP || kind == DD_PNCOUNTERMAP || kind == DD_MULTIMAP;
}

static bool is_add(uint64_t what)
{
    return what % 7 < 4;
}

static void change_map(struct dd_value *map, struct dd_writer *writer,
                       const struct dd_element *key, uint64_t what)
{
    struct sherd_item item = sherd_long((int64_t)what);
    struct dd_element element = dd_long((int64_t)what % 5);
    struct dd_other state;
    uint8_t room[8];

    if (!is_add(what)) {
        dd_map_remove(map, writer, key);
        return;
    }
    switch (dd_kind_of(map)) {
    case DD_LWWMAP:
        assert_true(item_to_other(&item, room, &state));
        dd_lwwmap_put(map, writer, key, state, (int64_t)what, DD_CLOCK_LAST);
        break;
    case DD_PNCOUNTERMAP:
        dd_countermap_add(map, writer, key, (int64_t)(what % 50) - 25);
        break;
    default:
        dd_multimap_add(map, writer, key, &element);
        break;
    }
}

static void change(struct dd_value *value, struct dd_writer *writer,
                   uint64_t what)
{
    char text[16];
    struct dd_element element = { .kind = DD_TEXT };

    (void)snprintf(text, sizeof text, "e%u", (unsigned)(what % 23));
    element.text = slice_text(text);
    if (dd_kind_of(value) == DD_GSET)
        dd_gset_add(value, &element);
    else if (is_map(dd_kind_of(value)))
        change_map(value, writer, &element, what);
    else if (is_add(what))
        dd_orset_add(value, writer, &element);
    else if (what % 97)
        dd_orset_remove(value, writer, &element);
    else
        dd_orset_clear(value);
}

enum way { MERGED, MADE, IN_PLACE };

/* The same changes; without a merge, names the current value or changes it. */
static void update(struct lone *lone, enum dd_kind kind, enum way way,
                   const uint64_t *what, uint32_t count)
{
    const struct dd_value *current;
    struct dd_value *value = NULL;
    struct slice key = slice_text("set");

    check(replicator_update_begin(lone->replicator, 0, 1, key, &current,
                                  &lone->outbox) == REPLICATOR_MODIFY);
    for (uint32_t i = 0; i < count; i++)
        if (is_map(kind) && !is_add(what[i]))
            way = MERGED; /* a key is removed and put again */
    if (way == IN_PLACE)
        value = replicator_update_in_place(lone->replicator, key, 1000, &here);
    if (way == IN_PLACE)
        assert_ptr_equal(value, current);
    if (!value)
        value = current ? dd_copy(current) : dd_new(kind);
    for (uint32_t i = 0; i < count; i++)
        change(value, &lone->writer, what[i]);
    if (way != MERGED)
        replicator_update_made(lone->replicator, 0, 1, key, current, value,
                               &here, &lone->outbox);
    else
        replicator_update(lone->replicator, 0, 1, key, value, &here,
                          &lone->outbox);
}

/* Receives the peer's whole value. */
static void receive(struct lone *lone, const struct dd_value *theirs)
{
    struct envelope envelope = { .value = dd_copy(theirs) };
    struct message_entry part = { .key = slice_text("set") };
    struct message write = { .kind = MESSAGE_WRITE, .count = 1 };
    struct buf bytes = { 0 };

    envelope_encode(&bytes, &envelope, NULL, ENVELOPE_WHOLE);
    envelope_fini(&envelope);
    part.bytes = buf_slice(&bytes);
    write.entries = &part;
    lone_receive(lone, &write);
    (void)lone_next_kind(lone);
    buf_fini(&bytes);
}

/* Subscribers get as many notices with the same content. */
static uint32_t told(struct lone *lone, uint64_t now, struct buf *content)
{
    struct replicator_news news;
    uint32_t count = 0;

    replicator_step(lone->replicator, now, &lone->outbox);
    while (replicator_next_news(lone->replicator, &news)) {
        if (news.kind != REPLICATOR_NEWS_CHANGED)
            continue;
        count++;
        (void)dd_encode(news.value, content);
    }
    return count;
}

static void assert_same(struct pair *pair)
{
    struct buf made = { 0 };
    struct buf merged = { 0 };

    pair->now += SECOND_NS;
    assert_int_equal(told(pair->made, pair->now, &made),
                     told(pair->merged, pair->now, &merged));
    (void)replicator_bytes(pair->made->replicator, slice_text("set"), &made);
    (void)replicator_bytes(pair->merged->replicator, slice_text("set"),
                           &merged);
    assert_int_equal(made.size, merged.size);
    if (made.size)
        assert_memory_equal(made.data, merged.data, made.size);
    buf_fini(&made);
    buf_fini(&merged);
    for (enum message_kind kind; (kind = lone_next_kind(pair->made)) !=
                                 MESSAGE_UNKNOWN;)
        assert_int_equal(kind, lone_next_kind(pair->merged));
    assert_int_equal(lone_next_kind(pair->merged), MESSAGE_UNKNOWN);
}

static void play(enum dd_kind kind, uint64_t seed)
{
    struct pair pair = pair_new(seed, kind);
    uint64_t what[4];

    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t count = (uint32_t)rng_below(&pair.rng, 4);

        if (rng_below(&pair.rng, 5) == 0) {
            change(pair.theirs, &pair.peer, rng_below(&pair.rng, 10000));
            dd_reset_delta(pair.theirs);
            receive(pair.made, pair.theirs);
            receive(pair.merged, pair.theirs);
        }
        for (uint32_t i = 0; i < count; i++)
            what[i] = rng_below(&pair.rng, 10000);
        update(pair.made, kind, rng_below(&pair.rng, 2) ? MADE : IN_PLACE,
               what, count);
        update(pair.merged, kind, MERGED, what, count);
        assert_same(&pair);
    }
    pair_free(&pair);
}

static void a_map_is_changed_in_place(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        play(DD_LWWMAP, seed);
        play(DD_PNCOUNTERMAP, seed);
        play(DD_MULTIMAP, seed);
    }
}

static void a_set_replaces_the_value_it_was_made_from(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        play(DD_ORSET, seed);
        play(DD_GSET, seed);
    }
}

static struct dd_element text_of(const char *text)
{
    return (struct dd_element){ .kind = DD_TEXT, .text = slice_text(text) };
}

/* A value that is no longer the current one, or another key's. */
static void a_value_made_from_another_one_is_merged(void **state)
{
    struct lone *lone = lone_new(&quiet);
    struct dd_writer peer = { .node = lone->peer };
    struct dd_element one = text_of("one"), two = text_of("two");
    struct dd_value *strange = dd_new(DD_ORSET);
    struct dd_value *value = dd_new(DD_ORSET);
    struct slice key = slice_text("set");
    (void)state;

    dd_orset_add(value, &lone->writer, &one);
    lone_update(lone, key, value, &here);
    value = dd_copy(strange);
    dd_orset_add(value, &peer, &two);
    replicator_update_made(lone->replicator, 0, 2, key, strange, value, &here,
                           &lone->outbox);
    assert_true(dd_set_has(replicator_look(lone->replicator, key), &one));
    assert_true(dd_set_has(replicator_look(lone->replicator, key), &two));
    dd_free(strange);
    lone_free(lone);
}

#define TEXT_SIZE 32

/* A text that compresses badly. */
static void text_of_number(uint32_t number, char text[TEXT_SIZE + 1])
{
    struct rng rng;

    rng_init(&rng, number + 1);
    for (uint32_t i = 0; i < TEXT_SIZE; i++)
        text[i] = (char)('a' + rng_below(&rng, 26));
    text[TEXT_SIZE] = '\0';
}

/* Adds the text to the set, or removes it. */
static enum replicator_answer change_text(struct lone *lone, uint32_t number,
                                          bool is_added)
{
    struct slice key = slice_text("set");
    struct replicator_news news;
    const struct dd_value *current;
    struct dd_value *value;
    struct dd_element element;
    char text[TEXT_SIZE + 1];

    text_of_number(number, text);
    element = text_of(text);
    check(replicator_update_begin(lone->replicator, 0, 1, key, &current,
                                  &lone->outbox) == REPLICATOR_MODIFY);
    value = current ? dd_copy(current) : dd_new(DD_ORSET);
    if (is_added)
        dd_orset_add(value, &lone->writer, &element);
    else
        dd_orset_remove(value, &lone->writer, &element);
    replicator_update_made(lone->replicator, 0, 1, key, current, value, &here,
                           &lone->outbox);
    assert_true(replicator_next_news(lone->replicator, &news));
    return news.answer;
}

/* An entry without room keeps its value. */
static void a_too_large_update_changes_nothing(void **state)
{
    (void)state;

    for (int is_update = 0; is_update < 2; is_update++) {
        struct lone *lone = lone_new(&(struct replicator_settings){
            .gossip_off = true,
            .entry_size_max = is_update ? 0 : 300,
            .update_size_max = is_update ? 300 : 0 });
        uint32_t count = 0;
        enum replicator_answer answer;

        do {
            answer = change_text(lone, count, true);
            count += answer == REPLICATOR_SUCCESS;
            assert_int_equal(dd_set_count(replicator_look(lone->replicator,
                                                          slice_text("set"))),
                             count);
        } while (answer == REPLICATOR_SUCCESS && count < 100);
        assert_int_equal(answer, REPLICATOR_TOO_LARGE);
        assert_in_range(count, 3, 12);
        lone_free(lone);
    }
}

/* An entry that others made larger may become smaller by updates, not larger. */
static void the_update_limit_does_not_apply_to_received_values(void **state)
{
    const uint32_t count = 20;
    struct lone *lone = lone_new(&(struct replicator_settings){
        .gossip_off = true, .update_size_max = 300 });
    struct envelope envelope = { .value = dd_new(DD_ORSET) };
    struct dd_writer peer = { lone->peer, 0 };
    struct buf bytes = { 0 };
    struct message_entry entry = { .key = slice_text("set") };
    struct message gossip = { .kind = MESSAGE_GOSSIP,
                              .entries = &entry,
                              .count = 1 };
    uint32_t removed = 0;
    (void)state;

    for (uint32_t i = 0; i < count; i++) {
        char text[TEXT_SIZE + 1];
        struct dd_element element;

        text_of_number(i, text);
        element = text_of(text);
        dd_orset_add(envelope.value, &peer, &element);
    }
    envelope_encode(&bytes, &envelope, NULL, ENVELOPE_WHOLE);
    assert_in_range(bytes.size, 500, 2000);
    entry.bytes = buf_slice(&bytes);
    lone_receive(lone, &gossip);
    for (; change_text(lone, count, true) == REPLICATOR_TOO_LARGE; removed++) {
        assert_int_equal(dd_set_count(replicator_look(lone->replicator,
                                                      slice_text("set"))),
                         count - removed);
        assert_in_range(removed, 0, count - 3);
        assert_int_equal(change_text(lone, removed, false),
                         REPLICATOR_SUCCESS);
    }
    assert_in_range(removed, count - 12, count - 3);
    buf_fini(&bytes);
    envelope_fini(&envelope);
    lone_free(lone);
}

/* Sizes that are not measured at once must not pass it. */
static void small_updates_do_not_pass_the_limit(void **state)
{
    struct lone *lone = lone_new(&(struct replicator_settings){
        .gossip_off = true, .update_size_max = 1000 });
    uint32_t last = 0;
    (void)state;

    for (uint32_t number = 0; number < 500; number++)
        if (change_text(lone, number, true) == REPLICATOR_SUCCESS)
            last = number;
    assert_in_range(last, 10, 60);
    lone_free(lone);
}

/* Under another key or as another element each time: the texts are alike and compress to almost
 * nothing. */
static enum replicator_answer change_long(struct lone *lone, enum dd_kind kind,
                                          uint32_t number, uint32_t size)
{
    struct slice key = slice_text("long");
    struct replicator_news news;
    const struct dd_value *current;
    struct dd_value *value;
    struct dd_element element;
    char name[16];
    char *text = mem_alloc(size + 1);

    memset(text, 'x', size);
    (void)snprintf(name, sizeof name, "%u", number);
    memcpy(text, name, strlen(name));
    check(replicator_update_begin(lone->replicator, 0, 1, key, &current,
                                  &lone->outbox) == REPLICATOR_MODIFY);
    value = current ? dd_copy(current) : dd_new(kind);
    if (kind == DD_LWWMAP) {
        element = text_of(name);
        dd_lwwmap_put(value, &lone->writer, &element,
                      (struct dd_other){ 4, slice_of(NULL, 0),
                                         slice_text(text) },
                      number, DD_CLOCK_LAST);
    } else {
        element = text_of(text);
        dd_orset_add(value, &lone->writer, &element);
    }
    replicator_update_made(lone->replicator, 0, 1, key, current, value, &here,
                           &lone->outbox);
    mem_free(text);
    assert_true(replicator_next_news(lone->replicator, &news));
    return news.answer;
}

/* Readers unpack it. An acknowledged value can be read again, by others and from disk. */
static void compressible_values_stay_readable(void **state)
{
    static const struct {
        enum dd_kind kind;
        uint32_t size;
        uint32_t most;
    } cases[] = { { DD_LWWMAP, 1000000, 20 },
                  { DD_ORSET, 1000000, 20 },
                  { DD_LWWMAP, 300000, 60 } };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lone *lone =
            lone_new(&(struct replicator_settings){ .gossip_off = true });
        struct dd_value *read = NULL;
        const struct dd_value *held;
        struct buf bytes = { 0 };
        uint32_t count = 0;

        while (count < cases[i].most &&
               change_long(lone, cases[i].kind, count, cases[i].size) ==
                   REPLICATOR_SUCCESS)
            count++;
        assert_in_range(count, 5000000 / cases[i].size, cases[i].most - 1);
        held = replicator_look(lone->replicator, slice_text("long"));
        assert_int_equal(dd_decode(dd_encode(held, &bytes), &read), DD_OK);
        assert_true(dd_equal(read, held));
        assert_in_range(dd_weight(held), DDATA_WEIGHT_MAX / 2,
                        DDATA_WEIGHT_MAX);
        dd_free(read);
        buf_fini(&bytes);
        lone_free(lone);
    }
}

/* Which is more than an update may use. */
static void received_values_may_use_the_whole_entry_limit(void **state)
{
    struct buf bytes = { 0 };
    struct message_entry entry = { .key = slice_text("set") };
    struct message gossip = { .kind = MESSAGE_GOSSIP,
                              .entries = &entry,
                              .count = 1 };
    uint32_t size = REPLICATOR_UPDATE_SIZE_MAX;
    (void)state;

    for (int more = 1; more >= 0; more--) {
        struct lone *lone =
            lone_new(&(struct replicator_settings){ .gossip_off = true });

        while (bytes.size != REPLICATOR_ENTRY_SIZE_MAX + (size_t)more) {
            struct envelope envelope = { .value = dd_new(DD_GSET) };
            char *text = mem_alloc(size + 1);
            struct dd_element element;

            memset(text, 'x', size);
            element = text_of(text);
            dd_gset_add(envelope.value, &element);
            buf_clear(&bytes);
            envelope_encode(&bytes, &envelope, NULL, ENVELOPE_WHOLE);
            size += (uint32_t)(REPLICATOR_ENTRY_SIZE_MAX + more) -
                    (uint32_t)bytes.size;
            envelope_fini(&envelope);
            mem_free(text);
        }
        entry.bytes = buf_slice(&bytes);
        lone_receive(lone, &gossip);
        assert_int_equal(
            replicator_look(lone->replicator, slice_text("set")) != NULL,
            !more);
        lone_free(lone);
    }
    buf_fini(&bytes);
}

/* An update used all its room, and members are pruned elsewhere. */
static void an_updated_value_has_room_for_markers(void **state)
{
    const struct replicator_settings settings = { .gossip_off = true,
                                                  .frame_size = 32 * 1024 };
    struct lone *lone = lone_new(&settings);
    struct lone *other = lone_new(&settings);
    struct envelope envelope = { 0 };
    struct buf bytes = { 0 };
    struct message_entry entry = { .key = slice_text("set") };
    struct message gossip = { .kind = MESSAGE_GOSSIP,
                              .entries = &entry,
                              .count = 1 };
    uint32_t count = 0;
    (void)state;

    while (change_text(lone, count, true) == REPLICATOR_SUCCESS)
        count++;
    envelope.value =
        dd_copy(replicator_look(lone->replicator, slice_text("set")));
    for (uint64_t uid = 1; uid <= 30; uid++)
        envelope_prune_begin(&envelope,
                             &(struct node_id){ lone->peer.address, uid },
                             &lone->peer);
    envelope_encode(&bytes, &envelope, NULL, ENVELOPE_WHOLE);
    entry.bytes = buf_slice(&bytes);
    lone_receive(other, &gossip);
    assert_true(count > 500);
    assert_non_null(replicator_look(other->replicator, slice_text("set")));
    assert_int_equal(dd_set_count(replicator_look(other->replicator,
                                                  slice_text("set"))),
                     count);
    buf_fini(&bytes);
    envelope_fini(&envelope);
    lone_free(other);
    lone_free(lone);
}

static struct dd_value *in_place(struct lone *lone, const char *key,
                                 size_t growth_max)
{
    return replicator_update_in_place(lone->replicator, slice_text(key),
                                      growth_max, &here);
}

static void only_accepted_changes_are_made_in_place(void **state)
{
    struct lone *lone = lone_new(&(struct replicator_settings){
        .gossip_off = true, .update_size_max = 1000 });
    (void)state;

    assert_null(in_place(lone, "set", 10));
    assert_int_equal(change_text(lone, 1, true), REPLICATOR_SUCCESS);
    assert_ptr_equal(in_place(lone, "set", 10),
                     replicator_look(lone->replicator, slice_text("set")));
    assert_non_null(in_place(lone, "set", 800));
    assert_null(in_place(lone, "set", 1000));
    lone_put(lone, slice_text("counter"));
    assert_null(in_place(lone, "counter", 10));
    lone_update(lone, slice_text("map"), dd_multimap_new(false), &here);
    assert_non_null(in_place(lone, "map", 10));
    lone_update(lone, slice_text("deltas"), dd_multimap_new(true), &here);
    assert_null(in_place(lone, "deltas", 10));
    replicator_delete(lone->replicator, 0, 1, slice_text("set"), &here,
                      &lone->outbox);
    assert_null(in_place(lone, "set", 10));
    lone_free(lone);
}

/* Delta versions are sent with a value, and of many members they take more than a limit leaves. */
static void an_accepted_value_can_be_sent(void **state)
{
    const struct replicator_settings small = { .gossip_off = true,
                                               .frame_size = 32 * 1024 };
    struct lone *lone = lone_new(&small);
    struct envelope envelope = { .value = dd_new(DD_ORSET) };
    struct message_entry entry = { .key = slice_text("set") };
    struct buf bytes = { 0 };
    uint32_t count = 0;
    (void)state;

    for (uint16_t i = 0; i < 200; i++)
        versions_set(&envelope.versions,
                     &(struct node_id){ { "member.example.com", (uint16_t)(3000 + i) }, 1000u + i },
                     1000);
    envelope_encode(&bytes, &envelope, NULL, ENVELOPE_WHOLE);
    entry.bytes = buf_slice(&bytes);
    lone_receive(lone, &(struct message){ .kind = MESSAGE_WRITE,
                                          .entries = &entry,
                                          .count = 1,
                                          .from = lone->peer });
    assert_int_equal(lone_next_kind(lone), MESSAGE_WRITE_ACK);
    while (count < 2000 &&
           change_text(lone, count, true) == REPLICATOR_SUCCESS)
        count++;
    assert_in_range(count, 100, 1999);
    lone_receive(lone, &(struct message){ .kind = MESSAGE_READ,
                                          .entries = &entry,
                                          .count = 1,
                                          .from = lone->peer });
    assert_int_equal(lone_next_kind(lone), MESSAGE_READ_RESULT);
    envelope_fini(&envelope);
    buf_fini(&bytes);
    lone_free(lone);
}

/* The whole value, compressed, fits into a message, and is sent at once. */
static void a_change_above_a_message_sends_the_whole_value(void **state)
{
    static char text[100 * 1024];
    const struct consistency all = { .level = CONSISTENCY_ALL,
                                     .timeout_ms = 5000 };
    struct lone *lone = lone_new(&quiet);
    struct dd_value *set = dd_new(DD_ORSET);
    struct dd_element element = dd_long(1);
    struct message message;
    (void)state;

    dd_orset_add(set, &lone->writer, &element);
    lone_update(lone, slice_text("k"), dd_copy(set), &here);
    dd_reset_delta(set);
    for (uint32_t i = 0; i < 3; i++) {
        memset(text, 'a' + (int)i, sizeof text - 1);
        element = dd_text(text);
        dd_orset_add(set, &lone->writer, &element);
    }
    lone_update(lone, slice_text("k"), set, &all);
    assert_true(lone_next(lone, &message));
    assert_int_equal(message.kind, MESSAGE_WRITE);
    message_fini(&message);
    lone_free(lone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_replaces_the_value_it_was_made_from),
        cmocka_unit_test(a_map_is_changed_in_place),
        cmocka_unit_test(a_value_made_from_another_one_is_merged),
        cmocka_unit_test(a_too_large_update_changes_nothing),
        cmocka_unit_test(the_update_limit_does_not_apply_to_received_values),
        cmocka_unit_test(small_updates_do_not_pass_the_limit),
        cmocka_unit_test(received_values_may_use_the_whole_entry_limit),
        cmocka_unit_test(an_updated_value_has_room_for_markers),
        cmocka_unit_test(compressible_values_stay_readable),
        cmocka_unit_test(only_accepted_changes_are_made_in_place),
        cmocka_unit_test(a_change_above_a_message_sends_the_whole_value),
        cmocka_unit_test(an_accepted_value_can_be_sent),
    };

    return cmocka_run_group_tests_name("ddata_update", tests, NULL, NULL);
}
