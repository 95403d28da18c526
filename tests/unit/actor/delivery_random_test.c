/* Checks that no money is lost or made by accounts that pay each other, while the network loses and
 * doubles deliveries and the process dies. */
#include "bank.h"

static void pay_at_random(struct rng *rng)
{
    char from[] = "a0", to[] = "a0";

    from[1] = (char)('0' + rng_below(rng, BANK_ACCOUNTS));
    to[1] = (char)('0' + rng_below(rng, BANK_ACCOUNTS));
    bank_pay(from, to, (int64_t)rng_below(rng, 100), BANK_MONEY, 0);
}

static int64_t total(void)
{
    char id[] = "a0";
    int64_t sum = 0;

    for (int i = 0; i < BANK_ACCOUNTS; i++) {
        id[1] = (char)('0' + i);
        sum += bank_balance(id);
    }
    return sum;
}

/* Until no delivery is open. */
static void settle(void)
{
    bank.drop = bank.twice = 0;
    bank.commits = true;
    bank_run();
    for (int i = 0; i < 5; i++) {
        bank_start_all();
        bank_advance(60000);
    }
    assert_int_equal(bank_status().deliveries_open, 0);
    assert_int_equal(bank_in_transit(), 0);
    assert_int_equal(total(), BANK_ACCOUNTS * BANK_FIRST);
}

static void live(uint64_t seed, bool snapshots)
{
    struct rng rng;

    bank.snapshots = snapshots;
    bank_open();
    rng_init(&rng, seed);
    bank.rng = rng;
    bank.drop = (uint32_t)rng_below(&rng, 60);
    bank.twice = (uint32_t)rng_below(&rng, 30);
    for (int step = 0; step < 300; step++) {
        bank.commits = rng_below(&rng, 3) > 0;
        for (uint64_t i = rng_below(&rng, 4); i > 0; i--)
            pay_at_random(&rng);
        bank_run();
        if (rng_below(&rng, 4) == 0)
            bank_advance(rng_below(&rng, 8000));
        if (rng_below(&rng, 12) == 0) {
            bank_crash();
            bank_start_all();
        }
    }
    settle();
    assert_true(bank.received > 100);
    bank_close();
}

static void no_money_is_lost_or_made_through_losses_and_crashes_RDL043(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++)
        live(seed, false);
}

static void no_money_is_lost_or_made_with_snapshots(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++)
        live(seed, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_money_is_lost_or_made_through_losses_and_crashes_RDL043),
        cmocka_unit_test(no_money_is_lost_or_made_with_snapshots),
    };

    return cmocka_run_group_tests_name("delivery at random", tests, NULL, NULL);
}
