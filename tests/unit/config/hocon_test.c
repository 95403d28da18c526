/* Tests texts as lightbend/config 1.4.3 reads them: white space, separators, numbers, includes,
 * references in included texts, cycles, properties. tests/hocon compares random texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "config/config.h"

struct file {
    const char *name;
    const char *text;
};

static struct config_problem problem;

/* Finds a file by its whole name, which is relative to the including one. */
static bool include(void *user, const char *name, const char *from,
                    struct slice *text)
{
    const char *slash = strrchr(from, '/');
    char path[256];

    (void)snprintf(path, sizeof path, "%.*s%s",
                   slash && name[0] != '/' ? (int)(slash - from) + 1 : 0, from,
                   name);
    for (const struct file *file = user; file->name; file++) {
        if (strcmp(file->name, path) != 0)
            continue;
        *text = slice_text(file->text);
        return true;
    }
    return false;
}

static struct config *read_files(const char *name, const char *text,
                                 const struct file *files)
{
    static const char *const variables[] = { "HOME=/home/x", NULL };
    struct config *config = config_new();

    config_environment(config, variables);
    config_set_include(config, include, (void *)(uintptr_t)files);
    if (config_read(config, slice_text(text), name, &problem) &&
        config_finish(config, &problem))
        return config;
    config_free(config);
    return NULL;
}

static const struct file no_files[] = { { NULL, NULL } };

static void has_text(const char *text, const struct file *files,
                     const char *wanted)
{
    struct config *config = read_files("etc/node.conf", text, files);

    if (!config)
        fail_msg("%s: %s", text, problem.text);
    if (strcmp(config_text(config, "system-name"), wanted) != 0)
        fail_msg("%s: wanted %s, got %s", text, wanted,
                 config_text(config, "system-name"));
    config_free(config);
}

static void is_refused(const char *text, const struct file *files,
                       const char *words)
{
    struct config *config = read_files("etc/node.conf", text, files);

    if (config)
        fail_msg("accepted: %s", text);
    if (!strstr(problem.text, words))
        fail_msg("wanted %s, got %s", words, problem.text);
}

static void all_white_space_of_unicode_separates(void **state)
{
    static const char *const spaces[] = {
        " ", "\t", "\r", "\f", "\v", "\x1c", "\x1d", "\x1e", "\x1f",
        "\xc2\xa0", "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x87",
        "\xe2\x80\x8a", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf",
        "\xe2\x81\x9f", "\xe3\x80\x80", "\xef\xbb\xbf",
    };
    static const char *const others[] = { "\xc2\x85", "\xe2\x80\x8b",
                                          "\xe1\xa0\x8e", "\xe2\x81\xa0" };
    char text[256];
    (void)state;

    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        const char *s = spaces[i];

        (void)snprintf(text, sizeof text,
                       "%sakka%s{%s\n%ssystem-name%s=%sa%s#%s\n%s}%s", s, s, s,
                       s, s, s, s, s, s, s);
        has_text(text, no_files, "a");
        (void)snprintf(text, sizeof text, "akka.system-name = a%sb", s);
        (void)snprintf(text + 100, 100, "a%sb", s);
        has_text(text, no_files, text + 100);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        (void)snprintf(text, sizeof text, "akka.system-name = %sa", others[i]);
        has_text(text, no_files, text + 19);
    }
}

static void lines_and_commas_separate(void **state)
{
    (void)state;
    has_text("akka {\n log-info = 1\n , system-name = a\n\n,\n x-y.z = 2\n}"
             "\nignored = 1",
             no_files, "a");
    has_text("{ \"x\": [ \"a\"\n, \"b\" ]\n, \"akka\": { \"system-name\": \"a\" } }",
             no_files, "a");
    has_text("x = [ # first\n 1 // one\n, 2,\n]\nakka.system-name\n=\n\na",
             no_files, "a");
    has_text("akka\n{ system-name\n# note\n: a }", no_files, "a");
    is_refused("akka.system-name = a,,x = 1", no_files, "expected a key");
    is_refused("x = [1,\n,2]", no_files, "expected a value");
    is_refused("x = [,]", no_files, "expected a value");
    is_refused("x {} {}", no_files, "expected the end of the line");
}

static void words_are_read_as_hocons_tokens(void **state)
{
    (void)state;
    has_text("akka.system-name = 1e+5 x", no_files, "1e+5 x");
    has_text("akka.system-name = -1.5E+3x", no_files, "-1.5E+3x");
    has_text("akka.system-name = null1e+5", no_files, "null1e+5");
    has_text("akka.system-name = .5", no_files, ".5");
    has_text("x y . z = a\nakka.system-name = ${ x y . z }", no_files, "a");
    has_text("1e+5 = a\nakka.system-name = ${1e+5}", no_files, "a");
    has_text("akka.\"system-\"name = a", no_files, "a");
    has_text("akka.system-name = ${\"HOME\"}", no_files, "/home/x");
    is_refused("akka.system-name = 1+2", no_files, "\"1+2\" is not a number");
    is_refused("akka.system-name = a1e+5", no_files, "the sign +");
    is_refused("akka.system-name = \"a\tb\"", no_files,
               "control character 0x09 in a quoted text; write \\u0009, or \\t");
    is_refused("akka.system-name = \"\\u0000\"", no_files, "remove it");
    is_refused("include = 1", no_files, "a key of this name needs quotes");
    is_refused("x = [1] a", no_files, "cannot join");
}

static void references_in_included_texts_mean_their_place_first(void **state)
{
    static const struct file files[] = {
        { "etc/foo.conf", "x = inner\ny = ${x}\nz = ${w}\nhome = ${HOME}" },
        { "etc/outer.conf", "q { include \"foo\" }\nx = middle" },
        { NULL, NULL },
    };
    (void)state;

    has_text("p.a { include \"foo.conf\" }\nx = outer\n"
             "akka.system-name = ${p.a.y}",
             files, "inner");
    has_text("p.a { include \"foo.conf\" }\np.a.x = later\n"
             "akka.system-name = ${p.a.y}",
             files, "later");
    has_text("p.a { include \"foo.conf\" }\nw = outer\n"
             "akka.system-name = ${p.a.z}",
             files, "outer");
    has_text("w = 1\np { include \"foo\" }\nakka.system-name = ${p.home}",
             files, "/home/x");
    has_text("w = 1\np { include \"outer\" }\nakka.system-name = ${p.q.y}",
             files, "inner");
    /* Below akka the prefix of the place is the same by each of its names. */
    has_text("akka { include \"name.conf\" }\nw = 1",
             (const struct file[]){
                 { "etc/name.conf", "system-name = ${akka.log.format}" },
                 { NULL, NULL } },
             "logfmt");
}

static void an_include_without_an_ending_means_three_files(void **state)
{
    static const struct file files[] = {
        { "etc/all.conf", "akka.system-name = conf" },
        { "etc/all.json", "{ \"akka\": { \"system-name\": \"json\" }, \"b\": \"json\" }" },
        { "etc/all.properties", "akka.system-name=properties\nb=properties\nc=properties" },
        { "etc/plain", "akka.system-name = plain" },
        { "etc/braces.conf", "\n{ akka.system-name = braces }\n# end" },
        { "etc/wrong.conf", "{ a = 1 } b" },
        { "there.conf", "akka.system-name = there" },
        { "/abs.json", "{ \"akka\": { \"system-name\": \"abs\" } }" },
        { NULL, NULL },
    };
    struct config *config;
    const char *name, *why;
    struct config_origin origin;
    uint32_t at = 0;
    (void)state;

    has_text("include \"all\"", files, "conf");
    has_text("include \"all\"\nakka.system-name = ${b}${c}", files,
             "jsonproperties");
    has_text("include \"plain\"", files, "plain");
    has_text("include\"braces\"", files, "braces");
    has_text("include required( \"braces.conf\" )", files, "braces");
    has_text("include file(\"there\")", files, "there");
    has_text("include required(file(\"/abs\"))", files, "abs");
    has_text("include url(\"file:///abs.json\")", files, "abs");
    has_text("include classpath(\"/braces\")", files, "braces");
    is_refused("include \"wrong\"", files,
               "etc/wrong.conf:1:11: nothing may follow");
    is_refused("include required(\"none\")", files,
               "cannot read the include etc/none: there is no such file");
    is_refused("include \"http://x/y.conf\"", files,
               "\"http://x/y.conf\" is not a file");
    is_refused("include url(\"z\")", files, "is not a file");
    config = read_files("etc/node.conf", "include \"none\"\nlog = 1", files);
    assert_non_null(config);
    assert_true(config_next_missing(config, &at, &name, &why, &origin));
    assert_string_equal(name, "etc/none");
    config_free(config);
}

static void properties_are_texts_with_dotted_keys(void **state)
{
    static const char text[] =
        "# comment\n! another\n\n"
        "akka.system-name : a\\\n    b\\tc \\u00e9\\ud834\\udd1e\n"
        "akka.cluster.roles.0=x\r\nakka.cluster.roles.1 y = z\r\n"
        "x=hidden\nx.y=1\nx=hidden again\n"
        "w\\ ord\\:=1\n..=odd\n"
        "akka.cluster.log-info off";
    struct config *config = read_files("node.properties", text, no_files);
    (void)state;

    if (!config)
        fail_msg("%s", problem.text);
    assert_string_equal(config_text(config, "system-name"),
                        "ab\tc \xc3\xa9\xf0\x9d\x84\x9e");
    assert_int_equal(config_list(config, "cluster.roles"), 2);
    assert_string_equal(config_list_at(config, "cluster.roles", 1), "y = z");
    assert_false(config_bool(config, "cluster.log-info"));
    assert_string_equal(config_origin(config, "cluster.log-info").prefix,
                        "akka.");
    assert_int_equal(config_origin(config, "cluster.log-info").line, 13);
    config_free(config);
    assert_null(read_files("a.properties", "x=\\u12g4", no_files));
    assert_non_null(strstr(problem.text, "a.properties:1:1: a wrong \\u"));
    assert_null(read_files("a.properties", "\nakka.lanes=many", no_files));
    assert_non_null(strstr(problem.text, "a.properties:2:1: akka.lanes wants"));
}

/* Each answer is that of lightbend/config, except where the environment ends the cycle. */
static void cycles_end_at_an_earlier_value_or_are_errors(void **state)
{
    (void)state;
    has_text("a = 1\na = ${b}2\nb = ${a}\nakka.system-name = ${a}", no_files,
             "12");
    has_text("f : { a : { c : 1 } }\nf : ${f.a}\nf : { a : 2 }\n"
             "akka.system-name = ${f.a}${f.c}",
             no_files, "21");
    has_text("b : { f : 42, z : ${b.f} }\nb : { f : 43 }\n"
             "akka.system-name = ${b.z}",
             no_files, "43");
    has_text("a = ${?b}\nb = ${?a}\nakka.system-name = ${?a}x", no_files, "x");
    has_text("a { b = ${?a} }\na.c = x\nakka.system-name = ${a.c}", no_files,
             "x");
    has_text("a = ${?a} x\nakka.system-name = ${a}", no_files, " x");
    has_text("a = [1]\na += 2\na += ${a}\nb = { 0 = x, k = 1 } [ y ]\n"
             "akka.system-name = ok",
             no_files, "ok");
    has_text("c.d = ${?c.d.e}y\nakka.system-name = ${?c.d.f.g}${c.d}", no_files,
             "y");
    has_text("HOME = ${HOME}/y\nakka.system-name = ${HOME}", no_files,
             "/home/x/y");
    has_text("a = { x = ${none} } { x = 1 } ${?b}\nakka.system-name = ${a.x}",
             no_files, "1");
    is_refused("a = ${b}\nb = ${a}\nakka.system-name = ${a}", no_files,
               "break the cycle");
    is_refused("a.b = ${a}\nakka.system-name = ${a.b}", no_files,
               "break the cycle");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_white_space_of_unicode_separates),
        cmocka_unit_test(lines_and_commas_separate),
        cmocka_unit_test(words_are_read_as_hocons_tokens),
        cmocka_unit_test(references_in_included_texts_mean_their_place_first),
        cmocka_unit_test(an_include_without_an_ending_means_three_files),
        cmocka_unit_test(properties_are_texts_with_dotted_keys),
        cmocka_unit_test(cycles_end_at_an_earlier_value_or_are_errors),
    };

    return cmocka_run_group_tests_name("hocon", tests, NULL, NULL);
}
