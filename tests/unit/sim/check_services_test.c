/* Tests check_services with allowed histories and broken rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "judged.h"
#include "sim/check/check_services.h"

static struct check_services *check;
static struct check_safety safety;
static char why[200];

static void begin(uint32_t centers)
{
    judge();
    memset(&safety, 0, sizeof safety);
    check = check_services_new(verdict, centers);
    check_services_safety(check, &safety);
}

static void end(void)
{
    check_services_free(check);
    verdict_free(verdict);
}

static void instances_may_follow_each_other(void **state)
{
    (void)state;
    begin(1);
    check_services_started(check, 0, SERVICE_SINGLETON);
    assert_int_equal(check_services_live(check, 0, SERVICE_SINGLETON), 1);
    check_services_ended(check, 0, SERVICE_SINGLETON);
    check_services_started(check, 1, SERVICE_SINGLETON);
    check_services_node_ended(check, 1);
    check_services_started(check, 2, SERVICE_SINGLETON);
    assert_int_equal(check_services_counts(check).moves, 2);
    expect_only(NULL);
    end();
}

static void two_instances_break_the_rule(void **state)
{
    (void)state;
    begin(1);
    check_services_started(check, 0, SERVICE_SINGLETON);
    check_services_started(check, 1, SERVICE_SINGLETON);
    expect_only("one-singleton");
    end();
}

static bool has_lease(void *user, uint32_t node)
{
    return *(const uint32_t *)user == node;
}

static void an_instance_without_its_lease_breaks_the_rule(void **state)
{
    uint32_t holder = 1;

    (void)state;
    begin(1);
    check_services_leases(check, has_lease, &holder);
    check_services_started(check, 1, SERVICE_SINGLETON);
    check_services_runs(check, 1);
    expect_only(NULL);
    holder = 2;
    check_services_runs(check, 1);
    expect_only("leased-singletons");
    end();
}

static void two_instances_on_one_node_break_the_rule(void **state)
{
    (void)state;
    begin(1);
    safety.outside[0] = true;
    check_services_started(check, 0, SERVICE_SINGLETON);
    check_services_started(check, 0, SERVICE_SINGLETON);
    expect_only("one-singleton");
    end();
}

static void a_node_outside_is_excused_until_it_is_late(void **state)
{
    (void)state;
    begin(1);
    safety.outside[0] = true;
    check_services_started(check, 0, SERVICE_SINGLETON);
    check_services_started(check, 1, SERVICE_SINGLETON);
    expect_only(NULL);
    assert_int_equal(check_services_counts(check).excused, 1);
    check_services_ended(check, 1, SERVICE_SINGLETON);
    safety.late[0] = true;
    check_services_started(check, 1, SERVICE_SINGLETON);
    expect_only("one-singleton");
    end();
}

static void each_data_center_may_have_one(void **state)
{
    (void)state;
    begin(2);
    check_services_started(check, 0, SERVICE_SINGLETON);
    check_services_started(check, 1, SERVICE_SINGLETON);
    expect_only(NULL);
    check_services_started(check, 2, SERVICE_SINGLETON);
    expect_only("one-singleton");
    end();
}

static void each_daemon_must_run_once(void **state)
{
    (void)state;
    begin(1);
    assert_false(check_services_daemons(check, 0, 2, why, sizeof why));
    check_services_started(check, 0, SERVICE_DAEMON);
    check_services_started(check, 1, SERVICE_DAEMON + 1);
    assert_true(check_services_daemons(check, 0, 2, why, sizeof why));
    assert_false(check_services_daemons(check, 0, 1, why, sizeof why)); /* one too many */
    check_services_started(check, 2, SERVICE_DAEMON + 1);
    assert_false(check_services_daemons(check, 0, 2, why, sizeof why)); /* one twice */
    assert_string_equal(why, "daemon 1 of 2 runs 2 times");
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instances_may_follow_each_other),
        cmocka_unit_test(two_instances_break_the_rule),
        cmocka_unit_test(an_instance_without_its_lease_breaks_the_rule),
        cmocka_unit_test(two_instances_on_one_node_break_the_rule),
        cmocka_unit_test(a_node_outside_is_excused_until_it_is_late),
        cmocka_unit_test(each_data_center_may_have_one),
        cmocka_unit_test(each_daemon_must_run_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
