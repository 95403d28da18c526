/* Tests the limits of settings: at each, and one above. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "config/config.h"

static struct config_problem problem;

static bool read_all(struct buf *buf)
{
    struct config *config = config_new();
    bool good;

    memset(&problem, 0, sizeof problem);
    good = config_read(config, buf_slice(buf), "t", &problem) &&
           config_finish(config, &problem);
    config_free(config);
    buf_clear(buf);
    return good;
}

static void put(struct buf *buf, const char *format, int a, int b)
{
    char line[64];

    snprintf(line, sizeof line, format, a, b);
    buf_put_text(buf, line);
}

static void refused(struct buf *buf, const char *words)
{
    assert_false(read_all(buf));
    if (!strstr(problem.text, words) || strncmp(problem.text, "t:", 2) != 0)
        fail_msg("wanted t:...%s, got %s", words, problem.text);
}

/* "deeper" includes itself that often. */
static bool include(void *user, const char *name, const char *from,
                    struct slice *text)
{
    int *deeper = user;

    (void)from;
    if (strcmp(name, "deeper.conf") == 0 && --*deeper > 0)
        *text = slice_text("include \"deeper.conf\"");
    else
        *text = slice_text("app.a = 1");
    return true;
}

static bool read_including(struct buf *buf, int deeper)
{
    struct config *config = config_new();
    bool good;

    config_set_include(config, include, &deeper);
    good = config_read(config, buf_slice(buf), "t", &problem) &&
           config_finish(config, &problem);
    config_free(config);
    return good;
}

static void includes_have_a_limit(void **state)
{
    struct buf buf = { 0 };
    (void)state;

    for (int i = 0; i < CONFIG_INCLUDES_MAX; i++)
        buf_put_text(&buf, "include \"x\"\n");
    assert_true(read_including(&buf, 0));
    buf_put_text(&buf, "include \"x\"\n");
    assert_false(read_including(&buf, 0));
    assert_non_null(strstr(problem.text, "more than 64 includes"));
    buf_clear(&buf);
    buf_put_text(&buf, "include \"deeper.conf\"");
    assert_true(read_including(&buf, CONFIG_INCLUDE_DEPTH_MAX));
    assert_false(read_including(&buf, CONFIG_INCLUDE_DEPTH_MAX + 1));
    assert_non_null(strstr(problem.text, "nest deeper than 8"));
    buf_fini(&buf);
}

static void overrides_have_a_limit(void **state)
{
    (void)state;

    for (int extra = 0; extra < 2; extra++) {
        struct config *config = config_new();

        for (int i = 0; i < CONFIG_OVERRIDES_MAX + extra; i++)
            config_set(config, "cluster.sharding.number-of-shards", "7",
                       "code");
        assert_int_equal(config_finish(config, &problem), extra == 0);
        config_free(config);
    }
    assert_non_null(strstr(problem.text, "more than 4096 keys set by"));
}

/* Each item of a list needs two; the rest of the text takes a few. */
static void values_have_a_limit(void **state)
{
    struct buf buf = { 0 };
    (void)state;

    for (int extra = 0; extra < 2; extra++) {
        buf_put_text(&buf, "app.a = [1");
        for (int i = 1; i < CONFIG_NODES_MAX / 2 - 16 + 32 * extra; i++)
            buf_put_text(&buf, ",1");
        buf_put_text(&buf, "]");
        if (extra)
            refused(&buf, "65536 values");
        else if (!read_all(&buf))
            fail_msg("%s", problem.text);
    }
    buf_fini(&buf);
}

/* Read from its far end: resolved values are not looked up again. */
static void chains_have_a_limit(void **state)
{
    struct buf buf = { 0 };
    (void)state;

    for (int extra = 0; extra < 2; extra++) {
        int links = extra ? 2 * CONFIG_LINKS_MAX : CONFIG_LINKS_MAX / 4;

        for (int i = links; i > 0; i--)
            put(&buf, "app.k%d = ${app.k%d}\n", i, i - 1);
        put(&buf, "app.k0 = %d\nakka.system-name = ${app.k%d}\n", 1, links);
        if (extra)
            refused(&buf, "nest deeper than 96");
        else if (!read_all(&buf))
            fail_msg("%s", problem.text);
    }
    buf_fini(&buf);
}

/* Long joined texts: few keys and values, much memory. */
static void memory_has_a_limit(void **state)
{
    struct buf buf = { 0 };
    (void)state;

    for (int extra = 0; extra < 2; extra++) {
        int copies = extra ? CONFIG_MEMORY_MAX / 60000 + 8 : 64;

        buf_put_text(&buf, "app.k = \"");
        for (int i = 0; i < 60000; i++)
            buf_put_u8(&buf, 'x');
        buf_put_text(&buf, "\"\n");
        for (int i = 0; i < copies; i++)
            put(&buf, "app.a%d = \"%d\"${app.k}\n", i, i);
        for (int i = 0; i < copies; i++)
            put(&buf, "akka.cluster.roles += ${app.a%d}\n", i, i);
        if (extra)
            refused(&buf, "or memory; check whether they multiply");
        else if (!read_all(&buf))
            fail_msg("%s", problem.text);
    }
    buf_fini(&buf);
}

/* Sections of an application are listed up to a limit, and none of them is an error. */
static void the_list_of_unread_sections_has_a_limit(void **state)
{
    struct config *config = config_new();
    struct config_unread unread;
    struct buf buf = { 0 };
    uint32_t at = 0;
    (void)state;

    for (int i = 0; i <= CONFIG_UNREAD_MAX; i++)
        put(&buf, "own%d.a = %d\n", i, i);
    assert_true(config_read(config, buf_slice(&buf), "t", &problem));
    assert_true(config_finish(config, &problem));
    while (config_next_unread(config, &at, &unread))
        assert_int_equal(unread.kind, CONFIG_OWN);
    assert_int_equal(at, CONFIG_UNREAD_MAX);
    config_free(config);
    buf_fini(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(includes_have_a_limit),
        cmocka_unit_test(overrides_have_a_limit),
        cmocka_unit_test(values_have_a_limit),
        cmocka_unit_test(chains_have_a_limit),
        cmocka_unit_test(memory_has_a_limit),
        cmocka_unit_test(the_list_of_unread_sections_has_a_limit),
    };

    return cmocka_run_group_tests_name("config_limits", tests, NULL, NULL);
}
