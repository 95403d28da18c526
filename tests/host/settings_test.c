/* What options and configuration make of the settings that a node is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "host/settings.h"

static void a_memory_journal_takes_terms_from_the_clock(void **state)
{
    struct sherd_options options = { .journal = "memory" };
    struct settings settings;
    char error[512];

    (void)state;
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_false(settings.sqlite);
    assert_true(settings.node.terms_by_clock);
    settings_fini(&settings);
    options.journal = "sqlite:/nowhere/journal.db";
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_true(settings.sqlite);
    assert_string_equal(settings.sqlite_path, "/nowhere/journal.db");
    assert_false(settings.node.terms_by_clock);
    settings_fini(&settings);
}

static void a_wrong_journal_is_an_error(void **state)
{
    struct sherd_options options = { .journal = "sqlite:" };
    struct settings settings;
    char error[512];

    (void)state;
    assert_int_equal(settings_read(&settings, &options, error, sizeof error),
                     SHERD_EINVAL);
    assert_non_null(strstr(error, "sqlite:PATH"));
    settings_fini(&settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_memory_journal_takes_terms_from_the_clock),
        cmocka_unit_test(a_wrong_journal_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
