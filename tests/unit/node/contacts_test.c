/* Which incarnation a contact stands for, when handshakes and the word of the cluster come in any order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "node/contacts.h"
#include "node/machine.h"

static struct node_id life(uint64_t uid)
{
    return (struct node_id){ .address = { "n1", 2551 }, .uid = uid };
}

struct scene {
    struct machine machine;
    struct contacts contacts;
    struct node_id first, second, third; /* lives, one after the other */
};

static struct scene *scene_new(void)
{
    struct scene *scene = mem_alloc(sizeof *scene);

    contacts_init(&scene->contacts, &scene->machine);
    scene->first = life(1);
    scene->second = life(2);
    scene->third = life(3);
    return scene;
}

static void scene_free(struct scene *scene)
{
    contacts_fini(&scene->contacts);
    mem_free(scene);
}

static uint64_t learned(struct scene *scene, const struct node_id *node)
{
    return contacts_learn(&scene->contacts, node)->node.uid;
}

static void a_newer_life_is_learned(void **state)
{
    struct scene *scene = scene_new();
    (void)state;

    assert_int_equal(learned(scene, &scene->first), 1);
    assert_int_equal(learned(scene, &scene->second), 2);
    assert_int_equal(learned(scene, &scene->first), 2);
    assert_null(contacts_meant(&scene->contacts, &scene->first));
    scene_free(scene);
}

/* By two connections the handshake of the life before came after that of the one that lives. */
static void who_is_gone_makes_room_for_whom_it_replaced(void **state)
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
    assert_int_equal(contact->node.uid, 2);
    assert_int_equal(learned(scene, &scene->first), 2);
    assert_int_equal(learned(scene, &scene->second), 2);
    assert_int_equal(learned(scene, &scene->third), 3);
    scene_free(scene);
}

static void a_handshake_may_make_that_room_too(void **state)
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

static void who_is_gone_already_is_not_learned(void **state)
{
    struct scene *scene = scene_new();
    (void)state;

    assert_int_equal(learned(scene, &scene->second), 2);
    contacts_gone(&scene->contacts, &scene->first);
    assert_int_equal(learned(scene, &scene->first), 2);
    assert_null(contacts_meant(&scene->contacts, &scene->first));
    scene_free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_newer_life_is_learned),
        cmocka_unit_test(who_is_gone_makes_room_for_whom_it_replaced),
        cmocka_unit_test(a_handshake_may_make_that_room_too),
        cmocka_unit_test(who_is_gone_already_is_not_learned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
