/* Tests that brokers publish their refs, also after a first refusal. */
#include "../actor/lab.h"

#include "kvstore/broker.h"

static struct sherd_ref broker;
static uint32_t tag; /* of the last update */

static int setup(void **state)
{
    const struct sherd_store_settings settings = { .name = "x" };
    struct sherd_store_settings full;
    struct buf init = { 0 };

    assert_true(broker_settings(&settings, &full));
    broker_settings_put(&full, &init);
    lab_setup(state);
    broker = actors_spawn(lab.actors, broker_behavior(), buf_slice(&init));
    buf_fini(&init);
    lab_run();
    return 0;
}

/* Returns the number of distributed data calls since the last time; a broker makes no others. */
static uint32_t updates(void)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < lab.out_count; i++) {
        if (lab.out[i]->kind != MESSAGE_CALL)
            continue;
        tag = (uint32_t)lab.out[i]->ask;
        count++;
    }
    lab_free_out();
    return count;
}

static void answer(enum sherd_data_message what)
{
    actors_data(lab.actors, broker.actor, what, tag,
                slice_of("sherd-store-x", 14));
    lab_run();
}

static void a_refused_update_is_repeated(void **state)
{
    (void)state;
    assert_int_equal(updates(), 1);
    for (uint64_t wait = KVSTORE_REFS_RETRY_MS; wait < KVSTORE_REFS_RETRY_MS_MAX;
         wait *= 2) {
        answer(SHERD_DATA_REFUSED);
        lab_advance(wait - 100);
        assert_int_equal(updates(), 0);
        lab_advance(200);
        assert_int_equal(updates(), 1);
    }
    for (int i = 0; i < 2; i++) { /* and no later */
        answer(SHERD_DATA_REFUSED);
        lab_advance(KVSTORE_REFS_RETRY_MS_MAX + 100);
        assert_int_equal(updates(), 1);
    }
    answer(SHERD_DATA_UPDATED);
    lab_advance(10 * KVSTORE_REFS_RETRY_MS_MAX);
    assert_int_equal(updates(), 0);
    answer(SHERD_DATA_REFUSED); /* a later refusal waits as long as the first */
    lab_advance(KVSTORE_REFS_RETRY_MS + 100);
    assert_int_equal(updates(), 1);
}

/* An unused key may expire. The broker must not treat that as a refusal: after one it would forget
 * its peers and ask for them again. */
static void an_expired_ref_is_published_again(void **state)
{
    (void)state;
    assert_int_equal(updates(), 1);
    answer(SHERD_DATA_UPDATED);
    for (int i = 0; i < 3; i++) {
        tag = 2; /* of the subscription to the key */
        answer(SHERD_DATA_EXPIRED);
        assert_int_equal(updates(), 1);
        answer(SHERD_DATA_UPDATED);
    }
    lab_advance(10 * KVSTORE_REFS_RETRY_MS_MAX);
    assert_int_equal(updates(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_refused_update_is_repeated, setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(an_expired_ref_is_published_again, setup,
                                        lab_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
