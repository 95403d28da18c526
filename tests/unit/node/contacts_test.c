/* Tests which incarnation a peer's entry has, for any order of handshakes and events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "node/peers/contacts.h"

static struct node_id life(uint64_t uid)
{
    return (struct node_id){ .address = { "n1", 2551 }, .uid = uid };
}

struct scene {
    struct trace *trace;
    uint64_t now;
    struct contacts contacts;
    struct node_id first, second, third; /* incarnations, one after the other */
};

static struct scene *scene_new(void)
{
    static const struct node_settings settings = { .lanes = 1 };
    static const struct identity self = { "akka", "sys",
                                          { { "n0", 2551 }, 9 } };
    struct scene *scene = mem_alloc(sizeof *scene);

    scene->trace = trace_new(TRACE_ERROR);
    contacts_init(&scene->contacts,
                  &(struct contacts_options){ .settings = &settings,
                                              .self = &self,
                                              .now = &scene->now,
                                              .trace = scene->trace });
    scene->first = life(1);
    scene->second = life(2);
    scene->third = life(3);
    return scene;
}

static void scene_free(struct scene *scene)
{
    contacts_fini(&scene->contacts);
    trace_free(scene->trace);
    mem_free(scene);
}

static uint64_t learned(struct scene *scene, const struct node_id *node)
{
    return contacts_learn(&scene->contacts, node, 0)->uid;
}

static void a_newer_incarnation_is_learned(void **state)
{
    struct scene *scene = scene_new();
    (void)state;

    assert_int_equal(learned(scene, &scene->first), 1);
    assert_int_equal(learned(scene, &scene->second), 2);
    assert_int_equal(learned(scene, &scene->first), 2);
    assert_null(contacts_meant(&scene->contacts, &scene->first));
    scene_free(scene);
}

/* On two connections, the former incarnation's handshake came last. */
static void a_removed_incarnation_makes_room_for_the_one_it_replaced(void **state)
{
    struct scene *scene = scene_new();
    struct contact *contact;
    (void)state;

    assert_int_equal(learned(scene, &scene->second), 2);
    assert_int_equal(learned(scene, &scene->first), 1);
    assert_null(contacts_meant(&scene->contacts, &scene->second));
    contacts_gone(&scene->contacts, &scene->first);
    contact = contacts_meant(&scene->contacts, &scene->second);
    assert_non_null(contact);
    assert_int_equal(contact->uid, 2);
    assert_int_equal(learned(scene, &scene->first), 2);
    assert_int_equal(learned(scene, &scene->second), 2);
    assert_int_equal(learned(scene, &scene->third), 3);
    scene_free(scene);
}

static void a_handshake_after_a_removal_restores_the_replaced_incarnation(void **state)
{
    struct scene *scene = scene_new();
    (void)state;

    assert_int_equal(learned(scene, &scene->second), 2);
    assert_int_equal(learned(scene, &scene->first), 1);
    contacts_gone(&scene->contacts, &scene->first);
    assert_int_equal(learned(scene, &scene->second), 2);
    assert_int_equal(learned(scene, &scene->first), 2);
    scene_free(scene);
}

static uint64_t learned_by(struct scene *scene, const struct node_id *node,
                           uint64_t order)
{
    return contacts_learn(&scene->contacts, node, order)->uid;
}

/* Connections come in the order of incarnations, and are read in any order. */
static void the_incarnation_with_the_later_connection_stays(void **state)
{
    struct scene *scene = scene_new();
    (void)state;

    assert_int_equal(learned_by(scene, &scene->second, 7), 2);
    assert_int_equal(learned_by(scene, &scene->first, 6), 2);
    assert_null(contacts_meant(&scene->contacts, &scene->first));
    /* an earlier connection of its own */
    assert_int_equal(learned_by(scene, &scene->second, 5), 2);
    assert_int_equal(learned_by(scene, &scene->first, 6), 2);
    assert_int_equal(learned_by(scene, &scene->third, 8), 3);
    assert_int_equal(learned_by(scene, &scene->second, 7), 3);
    scene_free(scene);
}

/* The order of the first connection was unknown. */
static void a_later_connection_restores_an_incarnation(void **state)
{
    struct scene *scene = scene_new();
    (void)state;

    assert_int_equal(learned(scene, &scene->second), 2);
    assert_int_equal(learned_by(scene, &scene->first, 6), 1);
    assert_int_equal(learned(scene, &scene->second), 1);
    assert_int_equal(learned_by(scene, &scene->second, 7), 2);
    assert_int_equal(learned_by(scene, &scene->first, 6), 2);
    scene_free(scene);
}

/* The lane has read the former incarnation's handshake. */
static void control_sends_the_later_incarnation_to_a_lane(void **state)
{
    struct scene *scene = scene_new();
    const struct known_node second = { scene->second, 3, 4 };
    (void)state;

    contacts_heard(&scene->contacts, &second, 7);
    assert_int_equal(learned_by(scene, &scene->first, 6), 1);
    contacts_heard(&scene->contacts, &second, 7);
    assert_int_equal(contacts_at(&scene->contacts, &scene->first.address)->uid, 2);
    assert_non_null(contacts_meant(&scene->contacts, &scene->second));
    scene_free(scene);
}

static void a_removed_incarnation_is_not_learned(void **state)
{
    struct scene *scene = scene_new();
    (void)state;

    assert_int_equal(learned(scene, &scene->second), 2);
    contacts_gone(&scene->contacts, &scene->first);
    assert_int_equal(learned(scene, &scene->first), 2);
    assert_null(contacts_meant(&scene->contacts, &scene->first));
    scene_free(scene);
}

/* ---- known nodes ---- */

#define MANY 300

static struct known_node heard_of(uint32_t number, uint64_t uid)
{
    struct known_node one = { .capabilities = uid * 1000, .lanes = 4 };
    char host[HOST_MAX + 1] = { 0 };

    /* of all lengths */
    memset(host, 'a', 1 + number % (HOST_MAX - 8));
    (void)snprintf(host + strlen(host), 8, "%u", number);
    assert_true(address_set(&one.node.address, host, strlen(host),
                            2000 + number));
    one.node.uid = uid;
    return one;
}

static void assert_same(const struct known_node *one,
                        const struct known_node *other)
{
    assert_true(node_equal(&one->node, &other->node));
    assert_int_equal(one->capabilities, other->capabilities);
    assert_int_equal(one->lanes, other->lanes);
}

static void known_nodes_are_found_by_uid_and_by_address(void **state)
{
    struct known_nodes all = { 0 };
    struct known_node one, found;
    (void)state;

    for (uint32_t i = 0; i < MANY; i++) {
        one = heard_of(i, i + 1);
        known_nodes_put(&all, &one);
    }
    for (uint32_t i = 0; i < MANY; i++) {
        uint32_t number = i * 7 % MANY;

        one = heard_of(number, number + 1);
        assert_true(i % 2 ? known_nodes_take(&all, number + 1, &found)
                          : known_nodes_take_at(&all, &one.node.address,
                                                  &found));
        assert_same(&found, &one);
        assert_false(known_nodes_take(&all, number + 1, &found));
        assert_false(
            known_nodes_take_at(&all, &one.node.address, &found));
        assert_true(all.texts.size <= 2 * (all.texts.size - all.unused) + 1024);
    }
    assert_int_equal(all.uids.count, 0);
    known_nodes_fini(&all);
}

static void a_known_node_has_no_entry(void **state)
{
    struct scene *scene = scene_new();
    const struct known_node one = heard_of(1, 11), two = heard_of(2, 12);
    const struct contact *contact;
    (void)state;

    contacts_heard(&scene->contacts, &one, 0);
    contacts_heard(&scene->contacts, &two, 0);
    contacts_heard(&scene->contacts, &one, 0);
    assert_int_equal(scene->contacts.all.count, 0);
    contact = contacts_uid(&scene->contacts, 12);
    assert_non_null(contact);
    assert_int_equal(contact->uid, two.node.uid);
    assert_true(kept_address_equal(contact->address, &two.node.address));
    assert_true(contact->met);
    assert_int_equal(contact->capabilities, two.capabilities);
    assert_int_equal(contact->lanes, two.lanes);
    contact = contacts_find(&scene->contacts, &one.node.address);
    assert_non_null(contact);
    assert_int_equal(contact->uid, 11);
    assert_ptr_equal(contacts_at(&scene->contacts, &one.node.address), contact);
    assert_int_equal(scene->contacts.all.count, 2);
    assert_int_equal(scene->contacts.heard.uids.count, 0);
    scene_free(scene);
}

/* A known node acts as if it always had an entry. */
static void a_known_node_counts_as_learned(void **state)
{
    struct scene *scene = scene_new();
    const struct known_node first = { scene->first, 1, 2 };
    const struct known_node second = { scene->second, 3, 4 };
    const struct contact *contact;
    (void)state;

    contacts_heard(&scene->contacts, &first, 0);
    assert_null(contacts_meant(&scene->contacts, &scene->second));
    contacts_heard(&scene->contacts, &second, 0);
    contact = contacts_find(&scene->contacts, &scene->first.address);
    assert_int_equal(contact->uid, 2);
    assert_int_equal(contact->former, 1);
    assert_int_equal(contact->capabilities, 3);
    assert_int_equal(contact->lanes, 4);
    scene_free(scene);
}

static void a_newer_incarnation_replaces_a_known_node(void **state)
{
    struct scene *scene = scene_new();
    const struct known_node first = { scene->first, 1, 2 };
    const struct known_node second = { scene->second, 3, 4 };
    (void)state;

    contacts_heard(&scene->contacts, &first, 0);
    contacts_heard(&scene->contacts, &second, 0);
    assert_int_equal(learned(scene, &scene->first), 2);
    assert_null(contacts_meant(&scene->contacts, &scene->first));
    scene_free(scene);
}

static void a_known_node_may_be_removed(void **state)
{
    struct scene *scene = scene_new();
    const struct known_node first = { scene->first, 1, 2 };
    (void)state;

    contacts_heard(&scene->contacts, &first, 0);
    contacts_gone(&scene->contacts, &scene->first);
    assert_int_equal(
        contacts_meant(&scene->contacts, &scene->second)->uid, 2);
    assert_int_equal(learned(scene, &scene->first), 2);
    scene_free(scene);
}

static uint32_t sent(struct scene *scene, const struct node_id *to,
                     enum stream stream)
{
    const struct outbound message = { .to = *to,
                                      .stream = stream,
                                      .recipient = slice_text("/a"),
                                      .sender = slice_text("/b") };
    struct contact *contact = contacts_at(&scene->contacts, &to->address);
    struct link *link = contact_link(&scene->contacts, contact, stream);
    uint32_t before = link_waiting(link);

    contacts_send(&scene->contacts, &message);
    return link_waiting(link) - before;
}

static uint64_t stale(struct scene *scene)
{
    return link_counts(
               contact_link(&scene->contacts,
                            contacts_at(&scene->contacts, &scene->first.address),
                            STREAM_ORDINARY))
        .stale;
}

/* The next incarnation has no connection yet. */
static void messages_for_an_ended_incarnation_do_not_wait_for_the_next(void **state)
{
    struct scene *scene = scene_new();
    (void)state;

    assert_int_equal(learned(scene, &scene->first), 1);
    assert_int_equal(sent(scene, &scene->first, STREAM_ORDINARY), 1);
    assert_int_equal(learned(scene, &scene->second), 2);
    assert_int_equal(stale(scene), 1); /* the waiting message */
    assert_int_equal(sent(scene, &scene->first, STREAM_ORDINARY), 0);
    assert_int_equal(stale(scene), 2);
    assert_int_equal(sent(scene, &scene->second, STREAM_ORDINARY), 1);
    /* its handshake may be read later */
    assert_int_equal(sent(scene, &scene->third, STREAM_ORDINARY), 1);
    scene->third.uid = 0;
    assert_int_equal(sent(scene, &scene->third, STREAM_ORDINARY), 1); /* any incarnation there */
    assert_int_equal(sent(scene, &scene->first, STREAM_CONTROL), 1); /* these name their receiver */
    assert_int_equal(stale(scene), 2);
    scene_free(scene);
}

/* Several incarnations may end before messages for the first one stop. */
static void messages_for_an_earlier_incarnation_are_not_sent(void **state)
{
    struct scene *scene = scene_new();
    (void)state;

    assert_int_equal(learned(scene, &scene->first), 1);
    assert_int_equal(learned(scene, &scene->second), 2);
    assert_int_equal(learned(scene, &scene->third), 3);
    assert_int_equal(sent(scene, &scene->first, STREAM_ORDINARY), 0);
    assert_int_equal(sent(scene, &scene->second, STREAM_ORDINARY), 0);
    assert_int_equal(stale(scene), 2);
    assert_int_equal(sent(scene, &scene->third, STREAM_ORDINARY), 1);
    scene_free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_newer_incarnation_is_learned),
        cmocka_unit_test(
            a_removed_incarnation_makes_room_for_the_one_it_replaced),
        cmocka_unit_test(
            a_handshake_after_a_removal_restores_the_replaced_incarnation),
        cmocka_unit_test(
            messages_for_an_ended_incarnation_do_not_wait_for_the_next),
        cmocka_unit_test(messages_for_an_earlier_incarnation_are_not_sent),
        cmocka_unit_test(the_incarnation_with_the_later_connection_stays),
        cmocka_unit_test(a_later_connection_restores_an_incarnation),
        cmocka_unit_test(control_sends_the_later_incarnation_to_a_lane),
        cmocka_unit_test(a_removed_incarnation_is_not_learned),
        cmocka_unit_test(known_nodes_are_found_by_uid_and_by_address),
        cmocka_unit_test(a_known_node_has_no_entry),
        cmocka_unit_test(a_known_node_counts_as_learned),
        cmocka_unit_test(a_newer_incarnation_replaces_a_known_node),
        cmocka_unit_test(a_known_node_may_be_removed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
